"""Nothing is imported from the notebook's folder: neither when the chat connects nor when it is used."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

from svc_jupyter import trusted_imports
from svc_jupyter.report.kernels import _SET_SECRETS
from svc_jupyter.trusted_imports import Places, as_usual, install, trusted
from tests.support.kernels import ipc
from tests.support.local_services import stop_local_service
from tests.svc_jupyter.conftest import NOT_CONFIGURED, SCRIPTED
from tests.svc_jupyter.panel.test_widget import Comm

SCRIPT = Path(trusted_imports.__file__).read_text()
CONNECT = (
    f"(lambda names: (exec({json.dumps(SCRIPT)}, names), names['connect']()))({{'__name__': 'svc_trusted_imports'}})"
)
HOSTILE = """
import os, pathlib
pathlib.Path(os.environ["SVC_TEST_RAN"], __name__).touch()
raise ImportError("hostile")
"""
LIBRARIES = [
    "httpx2", "httpcore2", "httpx", "websockets", "msgspec", "anywidget", "ipywidgets", "filelock", "comm", "json",
    "idna", "stringprep", "_strptime", "brotli", "brotlicffi", "zstandard", "socksio", "h2", "uvloop", "truststore",
    "certifi", "docstring_parser", "click", "keyring", "pandas", "polars", "rich", "h11", "anyio", "sniffio", "netrc",
    "svc_jupyter_extra", "python_socks", "chardet", "charset_normalizer", "_decimal_", "orjson", "simplejson", "lxml",
]  # fmt: skip


TOOL = """
import svc_jupyter
@svc_jupyter.tool
def lookup() -> str:
    import inventory
    return inventory.owner()
"""


class FolderKernel:
    """A kernel in a folder of somebody else's, in which nothing was run yet."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient, ran: Path) -> None:
        self.manager = manager
        self.client = client
        self._ran = ran

    def connect(self) -> dict[str, str]:
        """Do what the page does when the user presses Connect."""
        parent = self.client.execute("", silent=True, store_history=False, user_expressions={"svc": CONNECT})
        while True:
            reply = self.client.get_shell_msg(timeout=60)
            if reply["parent_header"].get("msg_id") == parent:
                found: dict[str, str] = reply["content"]["user_expressions"]["svc"]
                return found

    def run(self, code: str) -> str:
        parts: list[str] = []

        def note(message: dict[str, dict[str, object]]) -> None:
            parts.append(str(message["content"].get("text", "")) + str(message["content"].get("evalue", "")))

        self.client.execute_interactive(code, output_hook=note, timeout=60)
        return "".join(parts)

    @property
    def ran(self) -> list[str]:
        """The hostile modules that were imported."""
        return sorted(path.name for path in self._ran.iterdir())


@contextmanager
def kernel_in(folder: Path, state: Path, **environment: str) -> Iterator[FolderKernel]:
    ran = folder.parent / "ran"
    ran.mkdir(exist_ok=True)
    manager = KernelManager(kernel_name="python3", connection_file=str(folder.parent / "k.json"), **ipc(folder.parent))
    names = {**SCRIPTED, **NOT_CONFIGURED, "SVC_STATE_DIR": str(state), "SVC_TEST_RAN": str(ran), **environment}
    manager.start_kernel(cwd=str(folder), env={**trusted_imports.os.environ, **names})
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=60)
        yield FolderKernel(manager, client, ran)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "case"
    folder.mkdir()
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "state"
    stop_local_service(tmp_path / "state")


def test_connecting_and_asking_imports_nothing_from_the_folder(folder: Path, state: Path):
    for name in ("svc_jupyter", "svc", *LIBRARIES):
        (folder / f"{name}.py").write_text(HOSTILE)
    with kernel_in(folder, state) as kernel:
        assert kernel.connect()["status"] == "ok"
        comm = Comm(kernel)  # type: ignore[arg-type]
        comm.post(id="1", do="send", content="echo hello")
        comm.wait_for("is_busy", False)
        comm.post(id="2", do="user")
        comm.wait_for("id", "2")  # that it was read
        assert "ok" in comm.wait_for("id", "2")
        results = [m["content"] for e in comm.told for m in e.get("messages", []) if m["message_type"] == "result"]
        assert results == ["echo hello (after 0)"], comm.told
        assert kernel.connect()["status"] == "ok"
        assert kernel.ran == []
        assert "hostile" in kernel.run("import svc_jupyter_extra")  # the user's own cells import as ever
        assert kernel.ran == ["svc_jupyter_extra"]


@pytest.mark.parametrize("kind", ["package", "namespace", "link"])
def test_packages_of_the_folder_are_not_imported_either(folder: Path, state: Path, kind: str):
    for name in ("svc_jupyter", "svc", "websockets"):
        where = folder if kind == "package" else folder / "elsewhere"
        (where / name / "panel").mkdir(parents=True)
        for module in ("__init__", "trusted_imports", "panel/comm_target"):
            if kind != "namespace" or module != "__init__":
                (where / name / f"{module}.py").write_text(HOSTILE)
        if kind == "link":
            (folder / name).symlink_to(where / name)
        elif kind == "namespace":
            (where / name).rename(folder / name)
    with kernel_in(folder, state) as kernel:
        assert kernel.connect()["status"] == "ok"
        assert kernel.ran == []


def test_the_folder_in_pythonpath_is_not_used_and_what_ran_at_the_start_is_refused(folder: Path, state: Path):
    (folder / "svc_jupyter.py").write_text(HOSTILE)
    path = f".:{SCRIPTED['PYTHONPATH']}:{folder}/lib"
    (folder / "lib").mkdir()
    (folder / "lib" / "svc.py").write_text(HOSTILE)
    with kernel_in(folder, state, PYTHONPATH=path) as kernel:
        assert kernel.connect()["status"] == "ok"
        kernel.run("import os; os.chdir('/usr')")
        assert kernel.connect()["status"] == "ok"
        assert kernel.ran == []
    (folder / "sitecustomize.py").write_text("")
    with kernel_in(folder, state, PYTHONPATH=path) as kernel:
        refused = kernel.connect()
        assert refused["ename"] == "WorkingFolderError"
        assert f"Python ran {folder}/sitecustomize.py when the kernel started" in refused["evalue"]
        assert kernel.run("import sys; print('svc_jupyter' in sys.modules)") == "False\n"


@pytest.mark.parametrize("name", ["svc_jupyter", "svc", "websockets", "idna"])
def test_a_module_of_the_folder_that_a_cell_imported_is_not_used(folder: Path, state: Path, name: str):
    (folder / f"{name}.py").write_text("import sys; sys.note = 1")
    (folder / "helper.py").write_text("")
    with kernel_in(folder, state) as kernel:
        kernel.run(f"import {name}, helper")
        refused = kernel.connect()
        assert refused["ename"] == "WorkingFolderError"
        assert f"{name} was imported from {folder}/{name}.py" in refused["evalue"]


def test_a_module_that_is_nowhere_else_is_the_users_own(folder: Path, state: Path):
    (folder / "helper_of_the_case.py").write_text("")
    with kernel_in(folder, state) as kernel:
        kernel.run("import helper_of_the_case")
        assert kernel.connect()["status"] == "ok"


def test_svc_jupyter_that_is_only_in_the_folder_is_refused_with_what_to_do(folder: Path, state: Path):
    (folder / "svc_jupyter.py").write_text(HOSTILE)
    hide = "import sys; sys.path[:] = [p for p in sys.path if not __import__('os').path.exists(p + '/svc_jupyter')]"
    with kernel_in(folder, state) as kernel:
        kernel.run(hide)
        refused = kernel.connect()
        assert refused["ename"] == "WorkingFolderError"
        assert "svc_jupyter is only in this notebook's folder" in refused["evalue"]
        (folder / "svc_jupyter.py").unlink()
        refused = kernel.connect()
        assert (refused["ename"], refused["evalue"]) == ("ModuleNotFoundError", "No module named 'svc_jupyter'")
        assert kernel.ran == []


def test_a_tool_imports_from_the_folder_and_a_question_in_a_cell_does_not(folder: Path, state: Path):
    for name in LIBRARIES:
        (folder / f"{name}.py").write_text(HOSTILE)
    (folder / "inventory.py").write_text("def owner(): return 'ops'")
    with kernel_in(folder, state, SVC_ALLOW_TOOLS="lookup") as kernel:
        kernel.run("%load_ext svc_jupyter")
        kernel.run(TOOL)
        kernel.run("%svc --into answer call lookup {}")
        assert kernel.run("print(answer.raw)") == '"ops"\n'
        assert kernel.run("answer = await svc_jupyter.session.ask('call lookup {}'); print(answer.raw)").endswith(
            '"ops"\n'
        )
        kernel.run("%svc session list")
        kernel.run("%svc panel")
        assert kernel.ran == []


def test_folders_of_the_interpreter_count_as_installed_wherever_the_notebook_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.chdir("/")
    places = Places()
    assert places.allow(json.__file__)
    assert places.allow(sysconfig.get_path("purelib") + "/x.py")
    assert not places.allow(str(tmp_path / "x.py"))
    assert not places.allow("")
    assert not places.allow("lib/x.py")
    assert not places.allow(None)


def test_trust_is_of_the_block_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "only_here_k13.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    install()
    with trusted():
        assert importlib.util.find_spec("only_here_k13") is None  # as libraries look for optional modules
        with pytest.raises(ModuleNotFoundError):
            __import__("only_here_k13")
        with as_usual():
            __import__("only_here_k13")
    del sys.modules["only_here_k13"]
    __import__("only_here_k13")


TAKEN_AWAY = "from importlib.machinery import PathFinder; del PathFinder.find_distributions"
INSTALL = "from svc_jupyter.trusted_imports import install, FINDER; install()"


@pytest.mark.parametrize("steps", [(TAKEN_AWAY, INSTALL), (INSTALL, TAKEN_AWAY), (INSTALL,)])
def test_the_finder_has_what_the_import_system_has(steps: tuple[str, ...]):
    """``importlib_metadata``, which dask imports, takes ``find_distributions`` away from the import system's finder."""
    seen = "import importlib; importlib.invalidate_caches(); print(hasattr(FINDER, 'find_distributions'))"

    done = subprocess.run([sys.executable, "-c", "\n".join([*steps, seen])], capture_output=True, text=True, timeout=60)

    assert (done.stdout.strip(), done.stderr) == (str(TAKEN_AWAY not in steps), "")


def test_the_secrets_of_a_report_reach_what_stores_answers(tmp_path: Path):
    secrets = ["hush-1234", "'\"\\\n"]
    code = _SET_SECRETS.format(script=SCRIPT, values=secrets)
    seen = "import json; from svc_jupyter.answers.named_secrets import known; print(json.dumps(known()))"

    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{seen}"], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )

    assert json.loads(done.stdout or done.stderr) == secrets
