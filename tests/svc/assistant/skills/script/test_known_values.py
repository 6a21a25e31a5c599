"""Known values of PowerShell's variables decide what a script does with them."""

from __future__ import annotations

import pytest

from svc.assistant.skills.script.known_values import with_values
from tests.svc.assistant.skills.script.test_samples import flagged

RUN = r"Set-ItemProperty HKLM:\Software\Microsoft\Windows\CurrentVersion\Run -Name Agent -Value "


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ("$a = 'x'\nuse $a", "$a = 'x'\nuse 'x'"),
        ("$a = 'x', 'y'\nforeach ($b in $a) { use $b }", "use 'x', 'y'"),
        ("foreach ($b in 'x', 'y') { use ${b} }", "use 'x', 'y'"),
        ("$a = 'x'\n$a = 'y'\nuse $a", "use $a"),
        ("$a = 'x'\n$a += 'y'\nuse $a", "use $a"),
        ("$a = Get-Item x\nuse $a", "use $a"),
        ("$a = 'x'\nSet-Variable a 'y'\nuse $a", "use $a"),
        ("$a = 'x'\n$a, $b = 'y', 'z'\nuse $a", "use $a"),
        ("$a = 'x'\n$script:a = 'y'\nuse $a", "use $a"),
        ("$a = 'x'\nuse $a.Length $env:a", "use $a.Length $env:a"),
    ],
)
def test_values_that_are_written_once_are_put_in(script: str, shown: str) -> None:
    assert shown in with_values(script)


@pytest.mark.parametrize(
    ("script", "is_flagged"),
    [
        ("$exe = 'C:\\Program Files\\Tray\\tray.exe'\n" + RUN + '"`"$exe`" --minimized"', False),
        ("$exe = 'C:\\Users\\Public\\tray.exe'\n" + RUN + "$exe", True),
        ("$exe = 'C:\\Program Files\\a.exe'\n$exe = 'C:\\Users\\Public\\a.exe'\n" + RUN + "$exe", True),
        (RUN + "$unknown", True),
        ("$p = 'D:\\Data', 'E:\\Logs'\nforeach ($d in $p) { Add-MpPreference -ExclusionPath $d }", False),
        ("$p = 'D:\\Data', 'C:\\Users'\nforeach ($d in $p) { Add-MpPreference -ExclusionPath $d }", True),
        ("cat a.pub | ssh host true; cat x >> ~/.ssh/authorized_keys", True),
        ("echo 'ssh-ed25519 AAAA x' >> ~/.ssh/authorized_keys", True),
    ],
)
def test_where_a_program_or_key_comes_from_decides(script: str, is_flagged: bool) -> None:
    assert flagged(script, "a.ps1") is is_flagged
