"""A stored answer that was edited, or that another machine stored, is not believed: in stores, notebooks and runs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import nbformat
import pytest
from bs4 import BeautifulSoup
from click.testing import CliRunner
from nbformat import NotebookNode

from svc import Message, MessageType
from svc_jupyter.answers import signing
from svc_jupyter.answers import store as answer_store
from svc_jupyter.answers.answer import MIME_TYPE, Answer, Origin
from svc_jupyter.answers.status_mark import UNVERIFIED, pinned_note
from svc_jupyter.answers.store import Entry
from svc_jupyter.report import folder as report_folder
from svc_jupyter.report.command import report
from svc_jupyter.report.diff import Change, compare
from svc_jupyter.report.index_page import build as build_index
from svc_jupyter.report.page import build
from svc_jupyter.report.read_answers import load
from svc_jupyter.report.record import CaseRecord, RunRecord, answers_of, status_of_answers
from tests.support import IS_ROOT

KEY = "ab" * 32
NOTEBOOKS = Path(__file__).parents[3] / "notebooks"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv(signing.VARIABLE, raising=False)
    return tmp_path / "state"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    message = Message(message_type=MessageType.RESULT, content="Compromised: deploy", turn="t")
    entry = Entry(
        key=KEY, before="", question="who?", asked_model="", language="en", files=[("a.log", "00")], model="svc-1",
        session_id="s", saved=86_400.0, notes=["n"], messages=[message],
    )  # fmt: skip
    answer_store.save(tmp_path / "store", entry)
    return tmp_path / "store"


def is_verified(store: Path) -> bool:
    stored = answer_store.load(store, KEY)
    assert stored is not None
    return stored.is_verified


def file_of(store: Path) -> Path:
    return store / KEY[:2] / f"{KEY}.json"


def edit(path: Path, change: Callable[[dict], object]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def test_the_key_is_made_once_and_is_only_the_users(store: Path, state: Path):
    assert is_verified(store)
    assert (state / "answers.key").stat().st_mode & 0o777 == 0o600
    assert len((state / "answers.key").read_text().strip()) == 64
    assert (state / "answers.key").read_text().strip() not in file_of(store).read_text()


EDITS: dict[str, Callable[[dict], object]] = {
    "open: the answer": lambda v: v["messages"][0].update(content="No compromise found."),
    "open: the date": lambda v: v.update(saved=2e9),
    "open: the question": lambda v: v.update(question="who else?"),
    "open: the evidence": lambda v: v["files"][0].__setitem__(1, "11"),
    "open: no signature": lambda v: v.pop("signature"),
    "open: an empty signature": lambda v: v.update(signature=""),
    "open: another signature": lambda v: v.update(signature="0" * 64),
    "held: the session": lambda v: v.update(session_id="t"),
    "held: the model": lambda v: v.update(model="svc-2"),
    "held: the requested model": lambda v: v.update(asked_model="stable"),
    "held: the language": lambda v: v.update(language="de"),
    "held: a note": lambda v: v["notes"].append("all is well"),
    "held: a second result": lambda v: v["messages"].append(dict(v["messages"][0], content="; nothing else")),
    "held: no message": lambda v: v["messages"].clear(),
    "held: the status": lambda v: v["messages"][0].update(answer_status="answered"),
    "held: the evidence's name": lambda v: v["files"][0].__setitem__(0, "b.log"),
    "held: more evidence": lambda v: v["files"].append(["c.log", "22"]),
    "held: the question before": lambda v: v.update(before="cd" * 32),
    "held: a field that is not known": lambda v: v.update(extra=1),
    "held: a findings file": lambda v: v.update(findings_sha256="0" * 64),
    "held: a signature of another type": lambda v: v.update(signature=["x"]),
    "held: a signature that is not ASCII": lambda v: v.update(signature="é" * 64),
    "held: the signature in capitals": lambda v: v.update(signature=v["signature"].upper()),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_answer_is_not_verified(name: str, store: Path):
    edit(file_of(store), EDITS[name])

    assert not is_verified(store)


def test_spaces_and_order_are_no_edit(store: Path):
    value = json.loads(file_of(store).read_text())
    file_of(store).write_text(json.dumps(dict(reversed(value.items()))))

    assert is_verified(store)


def test_a_field_that_is_written_twice_is_read_as_it_was_signed(store: Path):
    text = file_of(store).read_text()
    file_of(store).write_text(text.replace('"question": "who?"', '"question": "else?", "question": "who?"'))
    assert is_verified(store)
    file_of(store).write_text(text.replace('"question": "who?"', '"question": "who?", "question": "else?"'))
    assert not is_verified(store)


def test_an_answer_under_another_key_is_no_answer(store: Path):
    other = "cd" * 32
    (store / other[:2]).mkdir()
    shutil.copy(file_of(store), store / other[:2] / f"{other}.json")

    assert answer_store.load(store, other) is None


def test_a_findings_file_that_was_edited_put_in_or_taken_away_is_noticed(store: Path):
    path = file_of(store).with_suffix(".findings.jsonl.gz")
    path.write_bytes(b"x")
    assert not is_verified(store)
    path.unlink()
    entry = answer_store.load(store, KEY).entry
    digest = answer_store.hashlib.sha256(b"x").hexdigest()
    path.write_bytes(b"x")
    answer_store.save(store, msgspec.structs.replace(entry, findings_sha256=digest))
    assert is_verified(store)
    path.write_bytes(b"y")
    assert not is_verified(store)
    path.unlink()
    assert not is_verified(store)


def test_another_machines_answer_is_not_verified_without_a_shared_key(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    own = (tmp_path / "state" / "answers.key").read_text()
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path / "another"))
    assert not is_verified(store)
    assert not (tmp_path / "another").exists()  # reading makes no key

    shared = tmp_path / "team.key"
    shared.write_text(f"{'n' * 40}\n{own}")
    shared.chmod(0o640)
    monkeypatch.setenv(signing.VARIABLE, str(shared))
    assert is_verified(store)  # by the second line

    answer_store.save(store, answer_store.load(store, KEY).entry)  # signed by the first
    shared.write_text("n" * 40)
    assert is_verified(store)
    shared.write_text(own)
    assert not is_verified(store)


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        pytest.param(None, 0o600, "cannot be read", id="missing"),
        pytest.param("", 0o600, "needs one key of at least 32 characters", id="empty"),
        pytest.param("short", 0o600, "needs one key of at least 32 characters", id="short"),
        pytest.param("x" * 32 + "\nshort", 0o600, "needs one key of at least 32 characters", id="one is short"),
        pytest.param("x" * 32, 0o644, "others can read or change", id="everybody can read it"),
        pytest.param("x" * 32, 0o660, "others can read or change", id="the group can change it"),
    ],
)
def test_a_key_file_that_cannot_be_used_is_an_error_that_says_why(
    content: str | None, mode: int, message: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "team.key"
    if content is not None:
        path.write_text(content)
        path.chmod(mode)
    monkeypatch.setenv(signing.VARIABLE, str(path))

    with pytest.raises(signing.KeyFileError, match=message) as caught:
        signing.sign("p", 1)
    assert "x" * 32 not in str(caught.value)
    assert not is_verified(store)
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "n.ipynb")
    done = CliRunner().invoke(report, ["run", str(tmp_path / "n.ipynb"), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


def test_a_signature_counts_for_one_purpose():
    assert signing.is_signed("a", {"x": 1}, signing.sign("a", {"x": 1}))
    assert not signing.is_signed("b", {"x": 1}, signing.sign("a", {"x": 1}))


def test_without_a_place_for_a_key_answers_are_stored_and_not_verified(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path / "file" / "state"))

    answer_store.save(store, answer_store.load(store, KEY).entry)

    assert not is_verified(store)


def test_the_shipped_answers_are_verified_for_everybody_and_an_edited_one_is_not(tmp_path: Path):
    shutil.copytree(NOTEBOOKS / ".answers", tmp_path / "answers")
    found = list(answer_store.stored_answers(tmp_path / "answers"))
    assert found
    assert all(stored.is_verified for stored in found)

    for path in (tmp_path / "answers").rglob("*.json"):
        edit(path, lambda value: value.update(saved=value["saved"] + 1))
    assert not any(stored.is_verified for stored in answer_store.stored_answers(tmp_path / "answers"))


def shown(*, is_stored: bool = True, verified: bool = True, text: str = "Compromised: deploy") -> NotebookNode:
    message = Message(message_type=MessageType.RESULT, content=text, turn="t", created_at=86_400.0)
    origin = Origin(key=KEY, question="who?", is_stored=is_stored, stored_at=86_400.0, is_verified=verified)
    data, metadata = Answer((message,), "svc-1", "s", origin)._repr_mimebundle_()
    output = nbformat.v4.new_output("display_data", data=data, metadata=metadata)
    cell = nbformat.v4.new_code_cell("%svc who?", outputs=[output])
    return nbformat.from_dict(json.loads(json.dumps(nbformat.v4.new_notebook(cells=[cell]))))


def page_of(notebook: NotebookNode, *, template: str = "svc", is_fresh: bool = False) -> str:
    page = build(notebook, title="t", template=template, is_fresh=is_fresh)
    return " ".join(BeautifulSoup(page, "html.parser").get_text(" ").split())


@pytest.mark.parametrize("template", ["svc", "brief"])
def test_a_page_says_which_answers_are_pinned(template: str):
    pinned = page_of(shown(), template=template)

    assert pinned.count("pinned answer of 1970-01-02 00:00 UTC, not asked again") == 2  # at the top and at the answer
    assert UNVERIFIED not in pinned
    assert "pinned" not in page_of(shown(is_stored=False), template=template)


def test_an_answer_that_is_not_verified_is_marked_wherever_it_is_shown():
    notebook = shown(verified=False)
    data = notebook.cells[0].outputs[0].data

    assert data["text/plain"].startswith("⚠ Not verified: edited or from another machine.")
    assert data["text/markdown"].startswith("⚠ **Not verified: edited or from another machine.**")
    assert status_of_answers(answers_of(notebook)) == "not verified"
    page = page_of(notebook, is_fresh=True)
    assert "⚠ Not every answer of this page is verified: 1 not verified: edited or from another machine." in page


NOTEBOOK_EDITS: dict[str, Callable[[NotebookNode], object]] = {
    "open: the text that is shown": lambda o: o.data.update({"text/markdown": "No compromise."}),
    "open: the raw text": lambda o: o.data[MIME_TYPE].update(text="No compromise."),
    "open: asked, not pinned": lambda o: o.metadata[MIME_TYPE].update(is_stored=False),
    "open: the plain text": lambda o: o.data.update({"text/plain": "No compromise."}),
    "held: the date": lambda o: o.metadata[MIME_TYPE].update(stored_at=2e9),
    "held: the time": lambda o: o.metadata[MIME_TYPE].update(time=2e9),
    "held: the model": lambda o: o.data[MIME_TYPE].update(model="svc-9"),
    "held: a finding": lambda o: o.data[MIME_TYPE]["findings"].append({"id": "x"}),
    "held: a status": lambda o: o.data[MIME_TYPE].update(status="answered"),
    "held: the question": lambda o: o.metadata[MIME_TYPE].update(question="else?"),
    "held: no provenance": lambda o: o.metadata.clear(),
    "held: no signature": lambda o: o.metadata[MIME_TYPE].pop("signature"),
    "held: the key": lambda o: o.data[MIME_TYPE].update(key="cd" * 32),
}


@pytest.mark.parametrize("name", NOTEBOOK_EDITS)
def test_an_edited_output_is_not_verified(name: str, tmp_path: Path):
    nbformat.write(shown(), tmp_path / "old.ipynb")
    notebook = nbformat.read(tmp_path / "old.ipynb", as_version=4)
    assert UNVERIFIED not in page_of(notebook)
    NOTEBOOK_EDITS[name](notebook.cells[0].outputs[0])
    nbformat.write(notebook, tmp_path / "new.ipynb")

    found = compare(load(tmp_path / "old.ipynb"), load(tmp_path / "new.ipynb"))

    assert found.has_changes
    assert not all(answer.is_verified for answer in found.answers)
    done = CliRunner().invoke(
        report, ["diff", str(tmp_path / "old.ipynb"), str(tmp_path / "new.ipynb"), "--fail-on-change"]
    )
    assert done.exit_code == 3
    assert f"⚠ 1 {UNVERIFIED}." in done.output or f"⚠ 2 {UNVERIFIED}." in done.output
    if "text/markdown" in notebook.cells[0].outputs[0].data:
        assert UNVERIFIED in page_of(notebook)


def test_the_same_notebook_from_another_machine_is_not_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    nbformat.write(shown(), tmp_path / "n.ipynb")
    one = load(tmp_path / "n.ipynb")
    assert [answer.change for answer in compare(one, one).answers] == [Change.SAME]

    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path / "another"))
    other = load(tmp_path / "n.ipynb")

    assert [answer.change for answer in compare(one, other).answers] == [Change.UNVERIFIED]


def record_of(notebook: NotebookNode) -> RunRecord:
    case = CaseRecord(name="web-3", fingerprint="f", parameters={"n": 1}, answers=answers_of(notebook))
    case.sign()
    return RunRecord(
        svc="1", notebook="n.ipynb", notebook_sha256="", formats=["html"], answers="pin", started=1.0, cases=[case]
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda case: case["answers"][0].update(text="No compromise."), id="open: the answer"),
        pytest.param(lambda case: case.update(status="ok"), id="open: the status"),
        pytest.param(lambda case: case.pop("signature"), id="held: no signature"),
        pytest.param(lambda case: case.update(verdict="fine"), id="held: the verdict"),
        pytest.param(lambda case: case.update(files={"x": "00"}), id="held: the files"),
        pytest.param(lambda case: case["answers"][0].update(is_stored=False), id="held: asked, not pinned"),
        pytest.param(lambda case: case.update(fingerprint="g"), id="held: the fingerprint"),
    ],
)
def test_an_edited_record_of_a_run_is_not_verified(change: Callable[[dict], object], tmp_path: Path):
    with report_folder.ReportFolder(tmp_path / "out") as out:
        out.write_record(record_of(shown()))
    assert report_folder.load(tmp_path / "out").cases[0].is_signed
    assert all(answer.is_verified for answer in load(tmp_path / "out")["web-3"])

    edit(tmp_path / "out" / "run.json", lambda record: change(record["cases"][0]))

    assert not report_folder.load(tmp_path / "out").cases[0].is_signed
    assert not any(answer.is_verified for answer in load(tmp_path / "out")["web-3"])


def test_the_index_says_what_is_pinned_and_what_is_not_verified():
    text = build_index(record_of(shown()))
    assert "1 is a pinned answer of 1970-01-02 00:00 UTC, not asked again" in text

    assert f"1 {UNVERIFIED}" in build_index(record_of(shown(verified=False)))


@pytest.mark.parametrize("moment", [float("nan"), float("inf"), -1e30, 1e300])
def test_a_date_that_no_calendar_has_is_unknown(moment: float):
    assert pinned_note(moment) == "pinned answer of unknown date, not asked again"


def test_the_store_is_listed_with_what_is_verified(store: Path):
    def run(*arguments: str) -> str:
        done = CliRunner().invoke(report, ["answers", *arguments, "--store", str(store)])
        assert done.exit_code == 0
        return done.output

    assert UNVERIFIED not in run("list")
    assert "verified  yes" in run("show", "ab")
    edit(file_of(store), lambda value: value.update(saved=5))
    assert UNVERIFIED in run("list")
    assert json.loads(run("list", "--json"))["is_verified"] is False
    assert f"verified  {UNVERIFIED}" in run("show", "ab")


@pytest.mark.skipif(not IS_ROOT, reason="needs root to make a file of another user's")
def test_a_key_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "team.key"
    path.write_text("x" * 40)
    path.chmod(0o600)
    os.chown(path, 12345, -1)
    monkeypatch.setenv(signing.VARIABLE, str(path))

    with pytest.raises(signing.KeyFileError, match="belongs to another user"):
        signing.sign("p", 1)
