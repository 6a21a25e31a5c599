"""Strings in the forms that PowerShell's obfuscators write, and expressions that stay as they are."""

from __future__ import annotations

import pytest

from svc.assistant.skills.script.behaviours import behaviours_in
from svc.assistant.skills.script.language import Language, is_documented
from svc.assistant.skills.script.stages import evaluated


def plain(text: str) -> str:
    return evaluated(text, Language.POWERSHELL).text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("iex ([regex]::Matches('elif-daolnwod', '.', 'RightToLeft') | % {$_.Value})", "download-file"),
        ("$k='0987654321'.ToCharArray(); [array]::Reverse($k); iex (-join $k)", "1234567890"),
        ("[Text.Encoding]::ASCII.GetString([byte[]](104,101,108,108,111))", "hello"),
        ("-join ('72G101'.Split('G',[StringSplitOptions]::RemoveEmptyEntries) | % {[char][int]$_})", "He"),
        ("sal q Invoke-Expression; q ('Get' + '-Date')", "Invoke-Expression"),
        ("$a = 'etad'; $a = -join $a[-1..-($a.Length)]; iex $a", "date"),
    ],
)
def test_forms_of_strings_are_evaluated(text: str, shown: str):
    assert shown in plain(text)


@pytest.mark.parametrize("text", ["$q = $list -join ','", "Set-Alias ll Get-ChildItem", "$x = 'a'; $x = Get-Date; $x"])
def test_what_is_not_understood_stays(text: str):
    assert "Invoke-Expression" not in plain(text)


DOWNLOAD = "Invoke-WebRequest https://vendor.example/a.exe -OutFile a.exe\n"


def names(text: str) -> set[str]:
    return {match.behaviour.name for match in behaviours_in(text, Language.POWERSHELL)}


def test_a_download_whose_checksum_is_compared_is_ordinary():
    assert "downloads a file and runs it" in names(DOWNLOAD + "Start-Process a.exe")
    checked = "if ((Get-FileHash a.exe).Hash -ne $known) { throw 'checksum' }\n"
    assert "downloads a file and runs it" not in names(DOWNLOAD + checked + "Start-Process a.exe")


def test_scripts_for_others_are_documented():
    assert is_documented("<# .SYNOPSIS Lists users. #>\nGet-ADUser -Filter *")
    assert is_documented("param([string]$Path)\nGet-Item $Path")
    assert not is_documented("# x\niex $a")
