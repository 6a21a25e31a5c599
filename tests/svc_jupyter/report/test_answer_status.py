"""A report says which questions were not answered: in its page, index, record, exit code and comparison."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import nbformat
import pytest
from bs4 import BeautifulSoup

from svc import AnswerStatus
from svc_jupyter.answers import store as answer_store
from svc_jupyter.answers.answer import MIME_TYPE
from svc_jupyter.report import diff_page, folder
from svc_jupyter.report.diff import Change, compare
from svc_jupyter.report.outcome import Status
from svc_jupyter.report.page import build
from svc_jupyter.report.record import AnswerRecord, count_statuses, status_of_answers
from tests.support.reports import assert_whole, cases_in, run_report, save_notebook

LOAD = "%load_ext svc_jupyter"
ASK = "%svc --fill status {status} {text}"


@pytest.fixture
def work(scripted_local: Path, tmp_path: Path) -> Path:
    save_notebook(tmp_path / "n.ipynb", 'status = "answered"\ntext = "**Two logins.**"', LOAD, "%svc count 1", ASK)
    return tmp_path


def cases_of(work: Path, *rows: str) -> None:
    (work / "cases.csv").write_text("case,status,text\n" + "".join(f"{row}\n" for row in rows))


def sweep(work: Path, *arguments: str, out: str = "out"):
    return run_report("run", "n.ipynb", "--sweep", "cases.csv", "--out", out, *arguments, folder=work)


@pytest.mark.slow
def test_a_sweep_tells_unanswered_cases_from_ok_ones(work: Path):
    cases_of(
        work,
        "web-1,answered,**Two logins.**",
        "web-2,not_examined,**Not examined: auth.log is empty.**",
        "web-3,not_answered,**No failed login.**",
        "web-4,partly_answered,**Two logins.**",
    )

    done = sweep(work, "--to", "html,md,ipynb", "--jobs", "2", "--max-failures", "1")

    assert done.returncode == 6, done.stderr
    assert "4 cases: 2 ok, 1 not answered, 1 not examined" in done.stderr
    assert "not examined  web-2  ⚠ Not examined: auth.log is empty." in done.stderr
    cases = cases_in(work / "out")
    assert [case["status"] for case in cases.values()] == ["ok", "not examined", "not answered", "ok"]
    assert [case["failure"] for case in cases.values()] == [""] * 4
    assert [case["answers"][1]["status"] for case in cases.values()] == [
        "answered", "not_examined", "not_answered", "partly_answered",
    ]  # fmt: skip
    assert cases["web-3"]["verdict"] == "No failed login."
    assert_whole(work / "out")

    index = BeautifulSoup((work / "out" / "index.html").read_text(), "html.parser")
    rows = [[cell.get_text() for cell in row("td")] for row in index("tr")[1:]]
    assert [row[0] for row in rows] == [
        "No data⚠ not examined", "Not answered", "Incomplete", "Not rated",
    ]  # fmt: skip
    assert [row[1].partition("status=")[0] for row in rows] == ["web-2", "web-3", "web-4", "web-1"]
    assert [row[4] for row in rows] == [
        "1 unknown, 1 not examined", "1 unknown, 1 not answered", "1 unknown, 1 partly answered",
        "1 unknown, 1 answered",
    ]  # fmt: skip
    heads = ["Result", "Case", "Verdict", "Findings", "Answers", "Seconds", "Report"]
    assert [head.get_text() for head in index("th")] == heads

    page = (work / "out/cases/web-3.html").read_text()
    assert "⚠ Not every question of this page was answered: 1 unknown, 1 not answered." in page
    assert "⚠ <strong>Not answered.</strong>" in page
    assert "svc-notice" not in (work / "out/cases/web-1.html").read_text().partition("</style>")[2]
    assert "⚠ **Not examined: auth.log is empty.**" in (work / "out/cases/web-2.md").read_text()
    saved = nbformat.read(work / "out/cases/web-2.ipynb", as_version=4)
    assert (saved.metadata.svc.status, saved.metadata.papermill.exception) == ("not examined", None)

    again = sweep(work, "--to", "html,md,ipynb", "--resume")
    assert (again.returncode, "2 of 4 cases are already done" in again.stderr) == (6, True)


def test_a_failed_case_goes_first_in_the_exit_code(work: Path):
    save_notebook(work / "n.ipynb", 'status = ""\ntext = ""', LOAD, f"if not status: 1 / 0\n{ASK}")
    cases_of(work, "a,not_examined,x", "b,,x")

    done = sweep(work)

    assert done.returncode == 1
    assert [case["status"] for case in cases_in(work / "out").values()] == ["not examined", "failed"]


@pytest.mark.parametrize(("status", "code"), [("not_examined", 6), ("not_answered", 6), ("answered", 0)])
def test_one_notebook_exits_with_its_status(work: Path, status: str, code: int):
    done = run_report("run", "n.ipynb", "-p", f"status={status}", "--json", folder=work)

    assert done.returncode == code, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    shown = status.replace("_", " ")
    assert events[-1]["status"] == (shown if code else "ok")
    assert (f"{shown}: Two logins." in done.stderr) is bool(code)
    assert (work / "n.html").exists()


@pytest.mark.slow
def test_pinned_answers_keep_their_status_and_old_ones_are_unknown(work: Path, monkeypatch: pytest.MonkeyPatch):
    stored = ("--answers", "replay", "-p", "status=not_examined")
    assert run_report("run", "n.ipynb", *stored, folder=work).returncode == 6
    pinned = ("--answers", "pin", "-p", "status=not_examined", "--out", "pinned")
    assert run_report("run", "n.ipynb", *pinned, folder=work).returncode == 6
    assert cases_in(work / "pinned")["n"]["status"] == "not examined"

    for path in (work / ".answers").glob("??/*.json"):  # as they were stored before they had a status and a signature
        entry = json.loads(path.read_text())
        del entry["signature"]
        for message in entry["messages"]:
            del message["answer_status"]
        path.write_text(json.dumps(entry))

    assert_unknown(work, pinned, code=7, status="not verified")
    for known in answer_store.entries(work / ".answers"):
        answer_store.save(work / ".answers", known)  # as a service without statuses answers today
    assert_unknown(work, pinned, code=0, status="ok")


def assert_unknown(work: Path, arguments: tuple[str, ...], *, code: int, status: str) -> None:
    """Run the notebook: the status of the case is as given, that of its two answers unknown."""
    assert run_report("run", "n.ipynb", *arguments, folder=work).returncode == code
    case = cases_in(work / "pinned")["n"]
    assert (case["status"], [answer["status"] for answer in case["answers"]]) == (status, ["", ""])
    assert [answer["is_verified"] for answer in case["answers"]] == [code == 0] * 2
    notebook = run_report("run", "n.ipynb", *arguments, "--to", "ipynb", folder=work)
    assert notebook.returncode == code
    outputs = [o for c in nbformat.read(work / "pinned/n.ipynb", as_version=4).cells for o in c.get("outputs", ())]
    assert [sorted(o.data[MIME_TYPE]) for o in outputs if MIME_TYPE in o.get("data", {})] == [
        ["findings", "key", "model", "text"]
    ] * 2


@pytest.mark.slow
def test_refresh_reports_a_changed_status_of_the_same_text(work: Path):
    arguments = ("-p", "status=not_examined", "--fail-on-change")
    run_report("run", "n.ipynb", "--answers", "replay", *arguments, folder=work)
    store = work / ".answers"
    for known in answer_store.entries(store):
        for message in known.messages:
            message.answer_status = message.answer_status and AnswerStatus.ANSWERED
        answer_store.save(store, known)

    done = run_report("run", "n.ipynb", "--answers", "refresh", *arguments, folder=work)

    assert done.returncode == 6
    assert "1 answer changed" in done.stderr


def test_an_empty_log_or_one_of_an_unknown_kind_is_never_ok(local_state: Path, tmp_path: Path):
    """With the real analyst."""
    attach = "from pathlib import Path\npath = Path(log)\n%svc --new --attach {path} who got in?"
    save_notebook(tmp_path / "n.ipynb", 'log = ""', LOAD, attach)
    (tmp_path / "empty.log").touch()
    (tmp_path / "noise.log").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "cases.csv").write_text("log\nempty.log\nnoise.log\n")

    done = sweep(tmp_path, "--jobs", "2")

    assert done.returncode == 6, done.stderr
    assert {case["status"] for case in cases_in(tmp_path / "out").values()} <= {"not examined", "not answered"}


def answer(status: str, text: str = "t") -> AnswerRecord:
    return AnswerRecord("k", "who?", "svc-1", text, "s", 1.0, False, [], status)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([], Status.OK),
        (["", "zork"], Status.OK),
        (["answered", "partly_answered"], Status.OK),
        (["answered", "not_answered"], Status.NOT_ANSWERED),
        (["not_answered", "not_examined", "answered"], Status.NOT_EXAMINED),
    ],
)
def test_one_unanswered_question_decides_the_status(statuses: list[str], expected: Status):
    assert status_of_answers([answer(status) for status in statuses]) == expected


def test_statuses_are_counted_in_words():
    assert count_statuses([answer("answered"), answer(""), answer("answered")]) == "2 answered, 1 unknown"


def test_records_without_statuses_are_read(tmp_path: Path):
    old = {"version": 1, "svc": "0", "notebook": "n", "notebook_sha256": "", "formats": [], "answers": "live",
           "started": 0.0, "cases": [{"name": "n", "fingerprint": "", "parameters": {}, "status": "ok", "answers": [
               {"key": "k", "question": "q", "model": "m", "text": "t", "session_id": "s", "time": 0.0,
                "has_changed": False, "findings": []}]}]}  # fmt: skip
    (tmp_path / "run.json").write_bytes(msgspec.json.encode(old))

    record = folder.load(tmp_path)

    assert record is not None
    assert record.cases[0].answers[0].status == ""


@pytest.mark.parametrize(
    ("old", "new", "change", "line"),
    [
        ("answered", "not_examined", Change.CHANGED, "⚠ Status: answered → not examined."),
        ("not_examined", "answered", Change.CHANGED, "Status: not examined → answered."),
        ("", "answered", Change.SAME, ""),
        ("", "not_examined", Change.SAME, ""),
        ("not_answered", "not_answered", Change.SAME, ""),
    ],
)
def test_a_comparison_shows_a_changed_status(old: str, new: str, change: Change, line: str):
    found = compare({"": [answer(old)]}, {"": [answer(new)]})

    assert found.answers[0].change == change
    markdown = diff_page.as_markdown(found, "a", "b")
    page = BeautifulSoup(diff_page.as_html(found, "a", "b"), "html.parser").get_text()
    assert (line in markdown.splitlines(), line in page) == (True, True)
    assert ("Status:" in markdown) is bool(line)
    told = json.loads(diff_page.as_json(found))["answers"][0]
    assert (told["old_status"], told["new_status"]) == (old, new)
    mark = {"not_examined": "⚠ 1 not examined.", "not_answered": "⚠ 1 not answered."}.get(new, "")
    assert diff_page.summary(found).endswith(f"0 removed. {mark}".rstrip())


def test_a_new_question_without_an_answer_is_marked_in_the_comparison():
    found = compare({"": []}, {"": [answer("not_examined")]})

    assert "⚠ Status: not examined." in diff_page.as_markdown(found, "a", "b").splitlines()


def test_a_footer_names_a_known_status_only():
    data = {"text/markdown": "x", MIME_TYPE: {"key": "", "model": "svc-1", "text": "x", "findings": []}}
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_code_cell("a", outputs=[nbformat.v4.new_output("display_data", data=shown)])
        for shown in (
            {**data, MIME_TYPE: {**data[MIME_TYPE], "status": "partly_answered"}},
            {**data, MIME_TYPE: {**data[MIME_TYPE], "status": "<script>"}},
            data,
        )
    ]

    soup = BeautifulSoup(build(notebook, title="t", is_fresh=True), "html.parser")

    assert [line.find_next("code").get_text() for line in soup("hr")] == [
        "svc-1 · partly answered", "svc-1 · unknown", "svc-1",
    ]  # fmt: skip
