"""Where answers come from, in real kernels on a real service: asked, replayed, pinned, refreshed."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from svc_jupyter.answers import store as answer_store
from svc_jupyter.answers.answer import MIME_TYPE
from tests.support.kernels import execute, notebook_of
from tests.support.local_services import stop_local_service
from tests.support.made_keys import UNKNOWN_KEY
from tests.svc_jupyter.conftest import NOT_CONFIGURED, SCRIPTED


@pytest.fixture
def folder(scripted_local: Path, tmp_path: Path) -> Path:
    work = tmp_path / "w"
    work.mkdir()
    return work


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch):
    """The network is cut: nothing listens at the service's address."""

    def cut_now() -> None:
        monkeypatch.setenv("SVC_API_KEY", UNKNOWN_KEY)
        monkeypatch.setenv("SVC_BASE_URL", "http://127.0.0.1:9")

    return cut_now


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of a service, ``state``, and of a notebook that asked it "count 2", ``w``: the answer is stored."""
    folder = tmp_path_factory.mktemp("counted")
    (folder / "w").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**SCRIPTED, "SVC_STATE_DIR": str(folder / "state")}.items():
            patch.setenv(name, value)
        for name in NOT_CONFIGURED:
            patch.delenv(name, raising=False)
        asked = run(folder / "w", "%svc --answers replay count 2")
    stop_local_service(folder / "state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SVC_STATE_DIR", str(folder / "state"))
        assert texts_of(run(folder / "w", "%svc --answers pin count 2")) == texts_of(asked) == ["count 2 (after 0)"]
    return folder


def run(folder: Path, *cells: str) -> NotebookNode:
    return execute(notebook_of(*cells), folder)


def answers_of(notebook: NotebookNode) -> list[NotebookNode]:
    return [o for cell in notebook.cells for o in cell.outputs if MIME_TYPE in o.get("data", {})]


def texts_of(notebook: NotebookNode) -> list[str]:
    return [answer.data["text/plain"] for answer in answers_of(notebook)]


def data_of(notebook: NotebookNode) -> list[object]:
    """What nbval compares."""
    return [[o.get("data") for o in cell.outputs] for cell in notebook.cells]


def test_pinned_answers_need_no_service_and_show_the_same(folder: Path, cut, monkeypatch: pytest.MonkeyPatch):
    (folder / "a.log").write_text("one line")
    cells = ("%%svc --attach a.log\ncount 2", "%svc count 3")
    monkeypatch.setenv("SVC_ANSWERS", "replay")
    asked = run(folder, *cells)
    cut()
    monkeypatch.setenv("SVC_ANSWERS", "pin")

    pinned = run(folder, *cells)

    assert texts_of(asked) == ["count 2 (after 0)", "count 3 (after 1)"]
    assert data_of(pinned) == data_of(asked)
    assert [a.metadata[MIME_TYPE]["is_stored"] for a in answers_of(pinned)] == [True, True]


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param(("%svc count 3",), id="another question"),
        pytest.param(("%svc count 2", "%svc count 2"), id="asked again, after itself"),
        pytest.param(("%svc --model experimental count 2",), id="another model"),
        pytest.param(("%config SvcMagics.language = 'de'", "%svc count 2"), id="another language"),
        pytest.param(("a = b'1'", "%svc --attach {a} count 2"), id="a file"),
    ],
)
def test_what_is_not_pinned_fails_and_is_never_asked(
    cells: tuple[str, ...], counted: Path, tmp_path: Path, cut, monkeypatch: pytest.MonkeyPatch
):
    folder = shutil.copytree(counted / "w", tmp_path / "w")
    monkeypatch.setenv("SVC_STATE_DIR", str(counted / "state"))
    cut()
    monkeypatch.setenv("SVC_ANSWERS", "pin")

    with pytest.raises(CellExecutionError) as caught:
        run(folder, *cells)

    assert caught.value.ename == "AnswerMissingError"
    assert "no stored answer for this question ('count" in caught.value.evalue


@pytest.mark.slow
def test_replay_asks_only_what_is_new_and_the_session_knows_what_was_replayed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SVC_ANSWERS", "replay")
    first = run(folder, "%svc count 2")

    second = run(folder, "%svc count 2", "%svc count 3")

    sessions = [a.metadata[MIME_TYPE]["session_id"] for a in answers_of(second)]
    assert texts_of(second) == ["count 2 (after 0)", "count 3 (after 1)"]
    assert sessions[0] == answers_of(first)[0].metadata[MIME_TYPE]["session_id"] != sessions[1]
    assert [a.metadata[MIME_TYPE]["is_stored"] for a in answers_of(second)] == [True, False]
    assert "asking again what was answered from the store: count 2" in str(second)


@pytest.mark.slow
def test_refresh_asks_all_and_says_what_changed(folder: Path, monkeypatch: pytest.MonkeyPatch):
    run(folder, "%svc --answers replay count 2")
    store = folder / ".answers"
    (known,) = answer_store.entries(store)
    known.messages[-2 if known.messages[-1].message_type != "result" else -1].content = "something else"
    answer_store.save(store, known)
    monkeypatch.setenv("SVC_ANSWERS", "refresh")

    fresh = run(folder, "%svc count 2", "%svc --new count 5")

    assert texts_of(fresh) == ["count 2 (after 0)", "count 5 (after 0)"]
    assert [a.metadata[MIME_TYPE]["has_changed"] for a in answers_of(fresh)] == [True, False]
    assert {entry.text for entry in answer_store.entries(store)} == {"count 2 (after 0)", "count 5 (after 0)"}


@pytest.mark.slow
def test_live_leaves_the_store_alone(folder: Path):
    notebook = run(folder, "%svc count 2")

    assert not (folder / ".answers").exists()
    assert len(answers_of(notebook)[0].data[MIME_TYPE]["key"]) == 64
    nbformat.validate(notebook)


@pytest.mark.slow
@pytest.mark.parametrize(("keeps", "stored"), [("", 0), ("1", 1)], ids=["not stored", "unless wanted"])
def test_answers_of_sessions_that_may_not_be_logged(
    keeps: str, stored: int, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SVC_ANSWERS_KEEP_UNLOGGED", keeps)

    run(folder, "%config SvcMagics.log_session = False", "%svc --answers replay count 2")

    assert len(list(answer_store.entries(folder / ".answers"))) == stored


def test_a_mode_that_is_none_says_which_there_are(folder: Path):
    with pytest.raises(CellExecutionError, match="unknown mode stale"):
        run(folder, "%svc --answers stale count 2")


@pytest.mark.slow
def test_what_fills_a_question_is_not_stored_and_still_tells_it_from_others(folder: Path, cut):
    first = run(folder, "n = 2", "%svc --fill --answers replay count {n}")
    cut()

    (stored,) = answer_store.entries(folder / ".answers")
    assert stored.question == "count {n}"
    assert texts_of(run(folder, "n = 2", "%svc --fill --answers pin count {n}")) == texts_of(first)
    with pytest.raises(CellExecutionError, match="no stored answer for this question"):
        run(folder, "n = 3", "%svc --fill --answers pin count {n}")
