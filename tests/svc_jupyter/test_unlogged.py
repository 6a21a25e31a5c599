"""The content of a session that is not logged is in no file afterwards, except for what the user's cells show."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest

from tests.support.kernels import Kernel
from tests.svc_jupyter.panel.test_widget import Comm

WORD = "zanzibar" + "quokka"  # never in one piece in a file of ours


def files_with(word: str, *folders: Path) -> list[str]:
    """The files below the folders that hold the word, also in UTF-16."""
    found = []
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                content = path.read_bytes()
                if any(word.encode(code) in content for code in ("utf-8", "utf-16-le")):
                    found.append(str(path))
    return found


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Everywhere that the kernel and the service may write."""
    for name in ("TMPDIR", "HOME", "IPYTHONDIR", "JUPYTER_DATA_DIR", "XDG_CACHE_HOME"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("SVC_ANSWERS", "replay")
    monkeypatch.setenv("SVC_ANSWERS_STORE", str(tmp_path / "answers"))
    return [tmp_path]


def test_a_panels_unlogged_question_is_in_no_file(places: list[Path], kernel: Kernel, scripted_local: Path):
    shown = kernel.run("from svc_jupyter import ChatPanel\npanel = ChatPanel()\npanel")
    outputs = list(shown.displays)
    kernel.run("import svc_jupyter.panel.comm_target as t; t.register()")
    comm = Comm(kernel)
    comm.post(id="1", do="new", log_session=False, name="quiet")
    comm.wait_for("id", "1")
    assert comm.wait_for("id", "1")["ok"]["session"]["can_log"] is False
    comm.post(id="2", do="send", content=f"echo {WORD}")
    comm.wait_for("is_busy", False)
    answers = [m["content"] for e in comm.told for m in e.get("messages", []) if m["message_type"] == "result"]
    assert answers == [f"echo {WORD} (after 0)"]
    again = kernel.run("panel")
    outputs += again.displays
    assert any("not logged, so the notebook keeps no transcript" in str(output["data"]) for output in outputs)
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell("panel", outputs=[
        nbformat.v4.new_output("display_data", data=output["data"], metadata=output["metadata"]) for output in outputs
    ])]  # fmt: skip
    for name in ("case.ipynb", ".ipynb_checkpoints/case-checkpoint.ipynb"):
        (places[0] / name).parent.mkdir(exist_ok=True)
        nbformat.write(notebook, places[0] / name)
    state = kernel.run("print({**panel.get_state(), '_esm': ''})").text
    assert WORD not in state
    assert files_with(WORD, *places) == []
    assert files_with("quiet", scripted_local) == []  # the service keeps nothing of the session either


def test_a_cell_keeps_the_visible_answer_alone_and_nothing_else_is_stored(places: list[Path], kernel: Kernel):
    kernel.run("%config SvcMagics.log_session = False")
    (places[0] / "evidence.txt").write_text("nothing")
    shown = kernel.run(
        f"word = 'zanzibar' + 'quokka'\n%svc --fill --into answer --attach {places[0]}/evidence.txt echo {{word}}"
    )
    assert shown.error == ""
    answer = shown.displays[-1]
    assert set(answer["data"]) == {"text/markdown", "text/plain"}
    assert answer["metadata"] == {}
    assert WORD in answer["data"]["text/plain"]
    kernel.run("answer.findings, answer.coverage, answer.text")
    kernel.run("%svc history")
    assert files_with(WORD, *places) == []


def test_a_session_that_a_panel_made_unlogged_is_not_stored_by_a_cell(places: list[Path], kernel: Kernel):
    kernel.run("import svc_jupyter.panel.comm_target as t; t.register()")
    comm = Comm(kernel)
    comm.post(id="1", do="new", log_session=False)
    comm.wait_for("id", "1")
    comm.wait_for("id", "1")
    kernel.run("word = 'zanzibar' + 'quokka'\n%svc --fill echo {word}")
    assert files_with(WORD, *places) == []


def test_a_logged_session_has_a_transcript_and_data(places: list[Path], kernel: Kernel):
    kernel.run("from svc_jupyter import ChatPanel\npanel = ChatPanel()")
    shown = kernel.run(f"%svc echo {WORD}")
    assert "application/vnd.svc.answer+json" in shown.displays[-1]["data"]
    assert WORD in kernel.run("panel").displays[-1]["data"]["text/markdown"]
    assert files_with(WORD, *places) != []  # the search finds what is stored


@pytest.mark.skipif(not hasattr(os, "fork"), reason="core dumps of POSIX")
def test_the_local_service_leaves_no_core_dump(kernel: Kernel, scripted_local: Path):
    kernel.run("%svc echo hello")
    pid = int(
        kernel.run(
            "import svc.local, json; print(json.load(open(svc.local.state_folder() / 'service.json'))['pid'])"
        ).text
    )
    limits = Path(f"/proc/{pid}/limits").read_text()
    line = next(line for line in limits.splitlines() if line.startswith("Max core file size"))
    assert line.split()[4:6] == ["0", "0"]
