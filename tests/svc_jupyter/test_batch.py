"""A notebook run with nobody watching, against the embedded analyst, as Jupyter's own commands run it."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import nbformat
import pytest

from tests.support.kernels import execute, notebook_of

LINES = 30_000
SOURCES = ("198.51.100.7", "198.51.100.8", "203.0.113.200")


def write_auth_log(path: Path) -> int:
    """A log in which three addresses guess and the second gets in at the end; returns the number of failures."""
    start, failures = datetime(2026, 3, 4, 0, 0, 0), 0
    with path.open("w") as file:
        for number in range(LINES - 1):
            moment = start + timedelta(seconds=number // 2)
            if number % 10 == 3:
                event = f"Failed password for root from {SOURCES[number // 10 % 3]} port {1024 + number % 60000} ssh2"
                failures += 1
            else:
                event = f"Accepted publickey for ana from 192.0.2.{number % 200 + 1} port 50000 ssh2"
            file.write(f"{moment:%b %d %H:%M:%S} host sshd[{number % 30000 + 1}]: {event}\n")
        file.write(f"{moment:%b %d %H:%M:%S} host sshd[77]: Accepted password for root from {SOURCES[1]} port 4 ssh2\n")
    return failures


def drawn(html: str) -> str:
    """The SVG of the picture in an output."""
    return base64.b64decode(re.search('base64,([^"]+)', html)[1]).decode()


@pytest.mark.slow
def test_thousands_of_lines_are_counted_and_both_displays_are_saved(local_state: Path, tmp_path: Path):
    failures = write_auth_log(tmp_path / "auth.log")
    notebook = notebook_of(
        "%%svc --attach auth.log --into who\nWhich accounts were brute-forced, and did anyone get in?"
    )

    execute(notebook, tmp_path)
    nbformat.write(notebook, tmp_path / "saved.ipynb")

    steps, answer, picture, more = nbformat.read(tmp_path / "saved.ipynb", as_version=4).cells[1].outputs
    assert [output.output_type for output in (steps, answer, picture, more)] == ["display_data"] * 4
    assert picture.data["text/plain"] == "[picture: Failed logins over time]"
    assert picture.data["text/html"].startswith("<img ")
    over_time = drawn(picture.data["text/html"])
    assert all(f">{source}<" in over_time for source in SOURCES)
    assert "failures logged, Mar 4 00:00:00 to 00:05:00<" in over_time
    assert ">root 04:09:59<" in over_time
    assert more.data["text/plain"] == "[picture: Failed logins by source]"
    assert more.data["text/html"].startswith("<details>\n<summary>1 more picture</summary>\n")
    by_source = drawn(more.data["text/html"])
    assert f"{LINES:,} lines" in steps.data["text/html"]
    assert set(answer.data) == {"text/markdown", "text/plain", "application/vnd.svc.answer+json"}
    markdown = answer.data["text/markdown"]
    assert f"{failures:,}" in markdown
    assert "`198[.]51[.]100[.]8`" in markdown
    assert "`root`" in markdown
    for index, source in enumerate(SOURCES):
        count = sum(1 for n in range(3, LINES - 1, 10) if n // 10 % 3 == index)
        assert f"`{source.replace('.', '[.]')}` {count:,} (" in markdown
        assert f">{source}: {count:,}, 1 account<" in by_source


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["execute"], id="jupyter execute"),
        pytest.param(["nbconvert", "--execute", "--to", "html"], id="jupyter nbconvert"),
    ],
)
def test_jupyters_commands_fail_where_a_question_fails(command: list[str], local_state: Path, tmp_path: Path):
    path = tmp_path / "failing.ipynb"
    nbformat.write(notebook_of("%svc --attach nowhere.log who?"), path)
    jupyter = str(Path(sys.executable).with_name("jupyter"))

    done = subprocess.run([jupyter, *command, str(path)], capture_output=True, text=True, timeout=100)

    assert done.returncode != 0
    assert "AskError: no such file: nowhere.log" in done.stderr
