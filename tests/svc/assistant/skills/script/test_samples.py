"""Malicious and harmless scripts are distinguished, also in the half that the rules were not made with."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from svc.assistant.findings import Finding, with_facts
from svc.assistant.skills.script.findings import ScriptSummary
from svc.assistant.skills.script.tool import inspect
from tests.support.script_variety import obfuscated

ENDINGS = {"javascript": "js", "powershell": "ps1"}
LEAST_FOUND = 0.8  # of the malicious ones
MOST_FALSE = 0.1  # of the benign ones


def flagged(text: str, source: str) -> bool:
    findings = [one for one in inspect(text, source=source) if isinstance(one, Finding)]
    return any(one.facts.verdict in ("malicious", "suspicious") for one in with_facts(findings, ScriptSummary))


@pytest.mark.parametrize("half", ["open", "held", "fresh_open", "fresh_held", "further_open", "further_held"])
@pytest.mark.parametrize("language", ENDINGS)
def test_malicious_scripts_are_flagged_and_benign_ones_are_not(language: str, half: str):
    path = files(__package__).joinpath("samples", f"{language}_{half}.toml")
    samples = tomllib.loads(path.read_text(encoding="utf-8"))
    share = {}
    for kind, texts in samples.items():
        share[kind] = {name for name, text in texts.items() if flagged(text, f"{name}.{ENDINGS[language]}")}
    missed = samples["malicious"].keys() - share["malicious"]
    assert len(share["malicious"]) >= LEAST_FOUND * len(samples["malicious"]), missed
    assert len(share["benign"]) <= MOST_FALSE * len(samples["benign"]), share["benign"]


@pytest.mark.parametrize(
    ("name", "most"), [("admin_open", 0.0), ("admin_held", 0.14), ("daily_open", 0.07), ("daily_held", 0.07)]
)
def test_administration_is_not_flagged(name: str, most: float):
    text = files(__package__).joinpath("samples", f"powershell_{name}.toml").read_text(encoding="utf-8")
    scripts = tomllib.loads(text)["benign"]
    found = [title for title, script in scripts.items() if flagged(script, f"{title}.ps1")]
    assert len(found) <= most * len(scripts), found


@pytest.mark.parametrize(
    "script",
    [
        "Add-MpPreference -ExclusionPath 'C:\\'",
        "Add-MpPreference -ExclusionPath $env:TEMP",
        "Add-MpPreference -ExclusionExtension '.exe'",
        "Add-MpPreference -ExclusionProcess 'powershell.exe'",
        "wevtutil cl Security",
        r"Set-ItemProperty HKCU:\Software\Microsoft\Windows\CurrentVersion\Run -Name a -Value C:\Users\Public\a.exe",
    ],
)
def test_what_attackers_do_is_flagged_beside_what_administrators_do(script: str):
    assert flagged(script, "a.ps1")


@pytest.mark.parametrize("half", ["open", "held"])
@pytest.mark.parametrize("language", ENDINGS)
def test_obfuscated_scripts_are_flagged(language: str, half: str):
    missed = [name for name, text in obfuscated(language, half) if not flagged(text, f"{name}.{ENDINGS[language]}")]
    assert missed == []
