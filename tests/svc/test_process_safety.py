"""Processes of ours: no core dumps, and no imports from the folder that they run in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from svc.process_safety import child_environment
from tests.support import ROOT

HOSTILE = "import os, pathlib; (pathlib.Path(os.environ['SVC_TEST_RAN']) / __name__).touch()\n"
NAMES = ["multiprocessing", "json", "svc", "msgspec", "signal", "socket", "resource", "struct", "selectors", "ctypes"]
PROGRAM = "from svc.cli.main import main; main()"  # as pip's script has it


def test_children_do_not_search_folders_that_depend_on_where_they_run():
    path = os.pathsep.join([".", "", "/a", "lib", "/b"])
    assert child_environment({"PYTHONPATH": path, "A": "1"}) == {"PYTHONPATH": os.pathsep.join(["/a", "/b"]), "A": "1"}
    assert child_environment({"PYTHONPATH": "."}) == {}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_service_started_in_a_strangers_folder_runs_nothing_of_it_and_cannot_be_dumped(tmp_path: Path):
    folder, ran, script = tmp_path / "case", tmp_path / "ran", tmp_path / "bin" / "svc"
    for made in (folder, ran, script.parent):
        made.mkdir()
    script.write_text(PROGRAM)
    for name in NAMES:
        (folder / f"{name}.py").write_text(HOSTILE)
    connection = tmp_path / "service.json"
    command = [sys.executable, str(script), "serve", "--port", "0", "--connection-file", str(connection)]
    command += ["--database", f"sqlite:///{tmp_path}/svc.db", "--key-file", str(tmp_path / "key")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SVC_TEST_RAN": str(ran)}
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL) as service:
        try:
            deadline = time.monotonic() + 60
            while not connection.exists():
                assert service.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
            answer = ask(connection, tmp_path / "key", environment)
            assert "Hello, world" in answer
            pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
            children = [pid for pid in pids if ancestors(pid, service.pid)]
            workers = [pid for pid in children if not is_dumpable(pid)]
            assert not is_dumpable(service.pid)
            assert workers
        finally:
            service.terminate()
    assert sorted(path.name for path in ran.iterdir()) == []


def ask(connection: Path, key: Path, environment: dict[str, str]) -> str:
    base_url = json.loads(connection.read_text())["base_url"]
    names = {**environment, "SVC_BASE_URL": base_url, "SVC_API_KEY": key.read_text().strip()}
    command = [sys.executable, "-P", "-c", PROGRAM, "ask", "Decode SGVsbG8sIHdvcmxkISBIZWxsbywgd29ybGQh"]
    return subprocess.run(command, env=names, capture_output=True, text=True, check=True, timeout=60).stdout


def ancestors(pid: int, wanted: int) -> bool:
    """Whether the process descends from the wanted one."""
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
        if pid == wanted:
            return True
    return False


def is_dumpable(pid: int) -> bool:
    """Whether the process may write a core dump; what else keeps it from that can only be seen from inside."""
    limits = Path(f"/proc/{pid}/limits").read_text()
    return "Max core file size        0                    0" not in limits


@pytest.mark.skipif(sys.platform != "linux", reason="prctl")
def test_a_dump_cannot_be_piped_to_a_handler_either():
    code = (
        "import ctypes, resource; from svc.process_safety import forbid_core_dumps; forbid_core_dumps();"
        "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), resource.getrlimit(resource.RLIMIT_CORE))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 (0, 0)\n"
