"""The command under its three names: its help, its advice and its errors name it as the user did."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = "ask|bundle|chat|completion|doctor|help|keys|man|open|report|rules|serve|sessions|status|stop"
OTHER_NAME = re.compile(rf"(?<![\w./-])svc(?= (?:{COMMANDS})\b)")


def run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command as it is called by this name: of a console script, argv[0] is its path."""
    start = ["-m", "svc"] if name == "python -m svc" else ["-c", f"import sys; sys.argv[0] = '/opt/bin/{name}'; {CALL}"]
    environment = {**os.environ, "PYTHONUTF8": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *start, *words], env=environment, capture_output=True, text=True, timeout=60)


CALL = "from svc.cli.main import main; main()"
HELPS = [["--help"], ["ask", "--help"], ["sessions", "list", "--help"], ["report", "run", "--help"], ["bundle", "-h"]]
ERRORS = [["rules", "remove", "nope"], ["ask", ""], ["nope"], ["rules", "update"]]


@pytest.mark.parametrize("name", ["svc", "svc-jupyter", "python -m svc"])
def test_help_and_advice_name_the_command_as_it_was_called(name: str):
    for words in HELPS[:3] + ERRORS[:2]:
        done = run(name, *words)
        said = " ".join((done.stdout + done.stderr).split())  # help is wrapped
        if name != "svc":
            assert not OTHER_NAME.search(said.replace(name, "")), said
        assert name in said, (words, said)


@pytest.mark.slow
@pytest.mark.parametrize("words", [*HELPS[3:], *ERRORS[2:]], ids=" ".join)
def test_every_text_names_it(words: list[str]):
    said = run("svc-jupyter", *words)
    assert not OTHER_NAME.search(said.stdout + said.stderr)


def test_both_scripts_are_the_same_command():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert scripts == dict.fromkeys(("svc", "svc-jupyter"), "svc.cli.main:main")


def test_an_unknown_name_is_not_repeated():
    """A script that calls us is not a command that the user can run again."""
    assert "List them with: svc rules list" in run("evil; rm -rf x", "rules", "remove", "nope").stderr
