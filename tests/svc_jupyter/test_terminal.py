"""Plain IPython in a terminal: lines as they come, then the answer as text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def ipython(*lines: str) -> subprocess.CompletedProcess[str]:
    program = "\n".join(lines)
    command = [
        sys.executable,
        "-m",
        "IPython",
        "--no-banner",
        "--colors=NoColor",
        "--quick",
        "--ext=svc_jupyter",
        "-c",
        program,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_terminal_shows_lines_and_the_answer(scripted_local: Path):
    done = ipython("%svc count 2", "%svc what now?")

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["  1", "  2"]
    assert lines[2].startswith("2 steps, ")
    assert "count 2 (after 0)" in lines
    assert "what now? (after 1)" in lines


def test_a_failure_is_one_line_and_fails_the_run(scripted_local: Path):
    done = ipython("%svc fail on purpose")

    assert done.returncode != 0
    assert "AskError: on purpose" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_terminal_has_no_panel_and_says_what_it_has():
    done = ipython("%svc panel")

    assert done.returncode != 0
    assert "AskError: the chat panel needs a notebook. Ask with %svc" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
