"""README keeps its word: its two commands stand where they are promised, and its examples run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_first_two_sh_blocks_are_the_two_commands():
    assert [block.strip() for block in blocks("sh")] == [
        "pip install . && svc report run notebooks/01_ask.ipynb",
        'pip install ".[test]" && pytest',
    ]


def test_python_examples_run_one_after_the_other(local_state: Path):
    program = "\n".join(blocks("python"))

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    assert "9.8" in done.stdout
    assert "203[.]0[.]113[.]9" in done.stdout


RULE = """title: Root logs in
id: 3f1c9a52-6d2e-4b7e-9b0a-5d1f6f0c2a11
status: experimental
author: A team
level: low
logsource: {product: linux, service: sshd}
detection:
  login:
    - 'Accepted password for root'
  condition: login
"""
CATALOGUE = '{"catalogVersion": "1", "dateReleased": "2026-11-20", "vulnerabilities": []}'


@pytest.fixture
def examples_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the examples name."""
    monkeypatch.setenv("SVC_KNOWLEDGE_DIR", str(tmp_path / "knowledge"))
    (tmp_path / "auth.log").write_text(
        "Nov 20 03:12:45 web1 sshd[1]: Accepted password for root from 192.0.2.7 port 2 ssh2\n"
    )
    (tmp_path / "my-rules").mkdir()
    (tmp_path / "my-rules" / "root.yml").write_text(RULE)
    (tmp_path / "known_exploited_vulnerabilities.json").write_text(CATALOGUE)
    return tmp_path


@pytest.mark.parametrize("block", blocks("console"), ids=lambda block: block.splitlines()[0].removeprefix("$ "))
def test_console_examples_run_one_after_the_other(block: str, local_state: Path, examples_folder: Path):
    for line in re.findall(r"^\$ (.*)$", block, flags=re.MULTILINE):
        command = [str(Path(sys.executable).with_name("svc")), *shlex.split(line)[1:]]

        done = subprocess.run(command, cwd=examples_folder, env=os.environ, capture_output=True, text=True, timeout=60)

        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()


def test_pictures_and_files_that_readme_names_are_there():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).is_file(), target
