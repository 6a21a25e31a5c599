"""Every code block of README and of the pages runs as it stands, or says why it cannot."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.docs import examples, pages
from tests.support.local_services import stop_local_service

PAGES = ("README.md", *pages.names())
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
LOGIN = "Nov 20 03:12:45 web1 sshd[1]: Accepted password for root from 192.0.2.7 port 2 ssh2\n"
CELLS = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for cell in json.load(sys.stdin):
    shell.run_cell(cell).raise_error()
"""


class Folder:
    """The folder in which the examples run, with one local service for all of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        named = {name: str(path / name) for name in ("SVC_STATE_DIR", "SVC_KNOWLEDGE_DIR", "IPYTHONDIR")}
        ours = {name: text for name, text in os.environ.items() if not name.startswith("SVC_")}
        self.environment = {**ours, **named, "PATH": tools, "PYTHONUTF8": "1"}
        self._done: dict[str, str] = {}

    def run(self, *command: str, given: str = "") -> str:
        """Return what the command prints; one that ran before is not run again."""
        key = json.dumps([command, given])
        if key not in self._done:
            done = subprocess.run(
                command, cwd=self.path, env=self.environment, input=given, capture_output=True, text=True, timeout=100
            )
            assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
            self._done[key] = done.stdout
        return self._done[key]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    path = tmp_path_factory.mktemp("examples")
    (path / "auth.log").write_text(LOGIN)
    (path / "evidence").mkdir()
    (path / "evidence" / "auth.log").write_text(LOGIN)
    with zipfile.ZipFile(path / "case.zip", "w") as archive:
        archive.writestr("auth.log", LOGIN)
    (path / "my-rules").mkdir()
    (path / "my-rules" / "root.yml").write_text(RULE)
    (path / "known_exploited_vulnerabilities.json").write_text(CATALOGUE)
    (path / "notebooks").symlink_to(pages.ROOT / "notebooks")
    yield Folder(path)
    stop_local_service(path / "SVC_STATE_DIR")


def _of(language: str) -> list[str]:
    return [page for page in PAGES if any(block.language == language for block in examples.to_run(page))]


def _quick(page: str, language: str) -> list[str]:
    return [block.text for block in examples.to_run(page) if block.language == language and not block.reason]


@pytest.mark.parametrize("page", _of("python"))
def test_python_examples_run_one_after_the_other(page: str, folder: Folder):
    assert folder.run(sys.executable, "-c", "\n".join(_quick(page, "python"))).strip()


def test_python_examples_answer(folder: Folder):
    printed = folder.run(sys.executable, "-c", "\n".join(_quick("how_to/python.md", "python")))

    assert "9.8" in printed
    assert "203[.]0[.]113[.]9" in printed


@pytest.mark.parametrize("page", _of("ipython"))
def test_cells_run_one_after_the_other(page: str, folder: Folder):
    folder.run(sys.executable, "-c", CELLS, given=json.dumps(_quick(page, "ipython")))


def _commands(text: str) -> list[str]:
    return re.findall(r"^\$ (.*)$", text, flags=re.MULTILINE)


@pytest.mark.parametrize("page", _of("console"))
def test_commands_run_one_after_the_other(page: str, folder: Folder):
    for command in (found for text in _quick(page, "console") for found in _commands(text)):
        assert folder.run("sh", "-c", command).strip(), command


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if any(row.reason == "slow" for row in examples.to_run(page))])
def test_slow_commands_run_one_after_the_other(page: str, folder: Folder):
    for text in (block.text for block in examples.to_run(page) if block.reason == "slow"):
        for command in _commands(text):
            folder.run("sh", "-c", command)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs_or_says_why_not(page: str):
    for block in examples.blocks(page):
        if block.reason:
            assert block.reason in examples.REASONS, block
        elif (page, block.language) in examples.ELSEWHERE:
            assert (pages.ROOT / examples.ELSEWHERE[page, block.language]).is_file()
        else:
            assert block.language in (*examples.RUN, *examples.NO_CODE), block


@pytest.mark.parametrize("page", PAGES)
def test_blocks_that_cannot_run_are_at_least_well_formed(page: str):
    for block in examples.blocks(page):
        if block.language == "json":
            json.loads(block.text)
        if block.language == "bash":
            subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)
        if block.language == "console":
            assert _commands(block.text), block


def test_the_hub_gives_each_user_their_own_key(tmp_path: Path):
    (tmp_path / "svc_keys.json").write_text('{"alice": "svc_a", "bob": "svc_b"}')
    (program,) = examples.texts("how_to/jupyterhub.md", "python")
    names: dict[str, object] = {"c": SimpleNamespace(Spawner=SimpleNamespace())}
    exec(program.replace("/srv/jupyterhub", str(tmp_path)), names)
    spawned = {name: SimpleNamespace(user=SimpleNamespace(name=name), environment={}) for name in ("alice", "eve")}
    for spawner in spawned.values():
        names["c"].Spawner.pre_spawn_hook(spawner)

    assert spawned["alice"].environment == {"SVC_BASE_URL": "https://svc.example.org", "SVC_API_KEY": "svc_a"}
    assert spawned["eve"].environment == {}
