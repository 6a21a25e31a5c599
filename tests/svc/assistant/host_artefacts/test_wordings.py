"""Signs in commands and autostarts: attacks are found and ordinary lines are not, also on unseen lines."""

from __future__ import annotations

import io
import tomllib
from pathlib import Path

import pytest

from svc.assistant.findings import Finding, Severity
from svc.assistant.skills.host_artefacts.tool import inspect
from tests.support import host_files as made

WORDINGS = tomllib.loads(Path(__file__).with_name("wordings.toml").read_text())
GRAVE = (Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL)
RUN = r"Software\Microsoft\Windows\CurrentVersion\Run"


def content_of(kind: str, line: str) -> tuple[str, bytes]:
    """A file with this line."""
    if kind == "commands":
        return ".bash_history", f"#1795154000\n{line}\n".encode()
    if kind == "cron":
        return "tab", f"{line}\n".encode()
    return "NTUSER.DAT", made.hive(made.keys({RUN: ("2026-11-20 03:12:45", {"Name": line})}))


def titles(kind: str, line: str) -> list[str]:
    """The findings of severity medium or above."""
    name, content = content_of(kind, line)
    found = [one for one in inspect(io.BytesIO(content), source=name) if isinstance(one, Finding)]
    assert found, line
    return [one.title for one in found if one.severity in GRAVE]


@pytest.mark.parametrize("half", ["open", "held"])
@pytest.mark.parametrize("kind", ["commands", "cron", "autostart"])
def test_attacks_are_found_and_ordinary_lines_are_not(half: str, kind: str) -> None:
    lines = WORDINGS[half][kind]
    missed = [line for line in lines["attack"] if not titles(kind, line)]
    false = {line: found for line in lines["benign"] if (found := titles(kind, line))}
    assert (missed, false) == ([], {})
