"""The key is nowhere: not in a notebook, a repr, a traceback, the history, a log, a process list, the state folder."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from svc_jupyter.kernel.session_file import key_id
from tests.support.kernels import Kernel, execute, notebook_of
from tests.support.live import ThreadService
from tests.support.made_keys import UNKNOWN_KEY

CELLS = (
    "%%svc --into answer\nis this a question?",
    "print(repr(answer), answer.messages[0])",
    "import svc; client = svc.Svc(); print(repr(client), vars(client))",
    "%history",
    "%config SvcMagics",
)
FAILING = "%xmode Verbose\n%svc --model nonesuch q"


@pytest.fixture
def remote(service: ThreadService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ThreadService:
    """A service with a key that the kernel gets through the environment."""
    for name, value in {"SVC_API_KEY": service.key, "SVC_BASE_URL": service.base_url}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("SVC_WS_URL", raising=False)
    return service


def texts(folder: Path) -> dict[str, str]:
    return {str(p): p.read_bytes().decode("latin-1") for p in folder.rglob("*") if p.is_file()}


def test_the_key_is_not_in_a_notebook_nor_beside_it(remote: ThreadService, tmp_path: Path):
    folder = tmp_path / "work"
    folder.mkdir()
    notebook = notebook_of(*CELLS, FAILING)
    with pytest.raises(CellExecutionError) as caught:
        execute(notebook, folder)
    nbformat.write(notebook, folder / "saved.ipynb")

    found = texts(folder) | texts(tmp_path / "state") | {"error": str(caught.value)}

    assert "kernels.json" in " ".join(found)
    assert [name for name, text in found.items() if remote.key in text] == []
    assert key_id(remote.key) in "".join(found.values())


def test_the_key_is_in_no_process_list_while_a_kernel_asks(remote: ThreadService, tmp_path: Path):
    listed: list[str] = []

    def look() -> None:
        listed.append(subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, timeout=20).stdout)

    with Kernel(tmp_path / "kernel") as kernel:
        seen = kernel.run("%svc is this a question?", when=always, then=look)

    assert seen.status == "ok"
    assert "ipykernel" in listed[0]
    assert remote.key not in listed[0]


def test_a_wrong_key_is_said_in_one_line_that_does_not_show_it(
    remote: ThreadService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    wrong = UNKNOWN_KEY
    monkeypatch.setenv("SVC_API_KEY", wrong)
    notebook = notebook_of("%svc is this a question?")

    with pytest.raises(CellExecutionError):
        execute(notebook, tmp_path)

    error = notebook.cells[1].outputs[-1]
    assert error.ename == "AskError"
    assert "key" in error.evalue
    assert wrong not in str(notebook)


STORE = """
import json, pathlib
from keyring.backend import KeyringBackend

PATH = pathlib.Path(__file__).with_name("store.json")


class Store(KeyringBackend):
    priority = 1

    def get_password(self, service, username):
        return json.loads(PATH.read_text()).get(username) if PATH.exists() else None

    def set_password(self, service, username, password):
        PATH.write_text(json.dumps({username: password}))
"""


def test_a_typed_key_is_in_the_store_and_nowhere_else(
    remote: ThreadService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "typed_store.py").write_text(STORE)
    monkeypatch.delenv("SVC_API_KEY")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "store"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "typed_store.Store")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))

    with Kernel(tmp_path / "kernel") as kernel:
        without = kernel.run("%svc is this a question?")
        typed = kernel.run("%svc key", typed=remote.key)
        kernel.restart()
        after = [kernel.run(cell) for cell in ("%xmode Verbose\n%svc --model nonesuch q", "%history", *CELLS)]

    assert without.error.startswith(f"AskError: {remote.base_url} needs an API key. Enter it with `%svc key`")
    assert [prompt["password"] for prompt in typed.prompts] == [True]
    assert "is saved in the system keyring" in typed.text
    assert after[2].status == "ok"
    assert remote.key not in str([without, typed, *after])
    found = [texts(tmp_path / folder) for folder in ("store", "state", "ipython", "kernel")]
    assert [Path(name).name for part in found for name, text in part.items() if remote.key in text] == ["store.json"]


always: Callable[[object], bool] = lambda _: True  # noqa: E731
