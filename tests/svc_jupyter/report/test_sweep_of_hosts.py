"""A sweep of twelve hosts as an executive reads it: worst first, nothing reassuring about what was not read."""

# ruff: noqa: E501 - one case per line

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup, Tag
from nbformat import NotebookNode

from svc import Message, MessageType, MimeType
from svc.assistant.findings import Finding
from svc.assistant.skills.logins.tool import inspect
from svc_jupyter.answers.answer import Answer, Origin
from svc_jupyter.report import batch, index_page, parameters
from svc_jupyter.report.cases import Case
from svc_jupyter.report.content.severity import Level, counts, level_of_answer, level_of_case
from svc_jupyter.report.executor import Job, Report
from svc_jupyter.report.outcome import CellRun, Run, Status
from svc_jupyter.report.record import AnswerRecord, CaseRecord
from tests.support import sweep_hosts
from tests.support.reports import assert_whole, cases_in, run_report

QUESTION = "Which accounts were brute-forced, and did anyone get in?"
FAILURE = "AskError: no such file: logs/mail-1.example.org.log"


def finding(kind: str, severity: str, name: str = "x") -> dict[str, object]:
    return {"title": f"{kind} {name}", "severity": severity, "facts": {"kind": kind, "name": name}}


def answer_to(question: str, text: str, status: str, *found: dict[str, object], turn: str = "t") -> NotebookNode:
    """The output of a question."""
    shared = {"turn": turn, "created_at": 86_400.0}
    source = Message(
        message_type=MessageType.SOURCE, content=json.dumps(list(found)), mime_type=MimeType.JSON, **shared
    )
    result = Message(message_type=MessageType.RESULT, content=text, answer_status=status, **shared)
    data, metadata = Answer(
        (source, result), "svc-1", "s", Origin(key=turn * 64, question=question)
    )._repr_mimebundle_()
    return nbformat.v4.new_output("display_data", data=data, metadata=metadata)


class Kernels:
    """Answers about each host without a kernel."""

    def __init__(self, job: Job, **_: object) -> None:
        self.jobs = 2
        self._job = job

    async def __aenter__(self) -> Kernels:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def run(self, case: Case, report: Report) -> Run:
        await asyncio.sleep(0)
        host = str(case.parameters.values["host"])
        notebook = parameters.inject(self._job.notebook, case.parameters.values)
        asking = next(cell for cell in notebook.cells if cell.source.startswith("%%svc"))
        if host == sweep_hosts.MISSING:
            report(CellRun(3, 6, "%%svc --attach {evidence}", 0.1, is_ok=False))
            asking.outputs = [nbformat.v4.new_output("error", ename="AskError", evalue="x", traceback=[FAILURE])]
            return Run(notebook, 0.1, Status.FAILED, FAILURE)
        if host == sweep_hosts.EMPTY:
            asking.outputs = [answer_to(QUESTION, "**Not examined: the file is empty.**", "not_examined")]
        elif host == sweep_hosts.COMPROMISED:
            found = [
                finding("auth_success", "critical"),
                finding("auth_account", "medium"),
                finding("indicator", "info"),
            ]
            asking.outputs = [answer_to(QUESTION, "**Yes: `deploy`.**", "answered", *found)]
        else:
            asking.outputs = [answer_to(QUESTION, "**Yes: 6 logins.**", "answered", finding("auth_success", "info"))]
        return Run(notebook, 0.1, Status.OK)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = sweep_hosts.write(tmp_path_factory.mktemp("hosts"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SVC_STATE_DIR", str(work / "state"))
        patch.setattr(batch, "LocalExecutor", Kernels)
        done = run_report("run", "nightly.ipynb", "--sweep", "hosts.csv", "--out", "out", folder=work)
    assert done.returncode == 1
    return work


@pytest.fixture(scope="module")
def index(folder: Path) -> BeautifulSoup:
    return BeautifulSoup((folder / "out" / "index.html").read_text(), "html.parser")


def page_of(folder: Path, host: str) -> BeautifulSoup:
    return BeautifulSoup((folder / "out" / "cases" / f"{host}.html").read_text(), "html.parser")


def test_the_index_opens_with_what_matters(index: BeautifulSoup):
    assert index.find("h1").get_text() == "Logins of the night: 12 hosts"
    assert index.find("p", class_="summary").get_text() == "1 of 12 hosts compromised, 1 failed, 1 without data."
    assert [item.get_text() for item in index("li")] == [
        f"Compromised: {sweep_hosts.COMPROMISED}",
        f"No result: {sweep_hosts.MISSING}",
        f"No data: {sweep_hosts.EMPTY}",
        "Findings on all hosts: 1 critical, 1 medium",
    ]


def test_the_worst_host_is_first_and_the_unknown_come_before_the_harmless(index: BeautifulSoup):
    rows = [[cell.get_text(" ", strip=True) for cell in row("td")] for row in index.tbody("tr")]

    assert [row[0] for row in rows] == [
        "Compromised", "No result failed", "No data ⚠ not examined", *["No findings above info"] * 9,
    ]  # fmt: skip
    names = [sweep_hosts.COMPROMISED, sweep_hosts.MISSING, sweep_hosts.EMPTY]
    assert [row[1].split()[0] for row in rows[:4]] == [*names, "web-1.dmz.example.org"]
    assert rows[0][3] == "1 critical 1 medium"
    assert FAILURE in rows[1][2]
    assert "In code cell 3: %%svc --attach {evidence}." in rows[1][2]
    assert "--resume" in rows[1][2]
    text = index.get_text().lower()
    assert "nothing found" not in text
    assert "green" not in str(index).lower()


def test_the_links_lead_to_pages_named_after_the_hosts(folder: Path, index: BeautifulSoup):
    links = [str(link["href"]) for link in index("a")]

    assert f"cases/{sweep_hosts.COMPROMISED}.html" in links
    assert all((folder / "out" / link).is_file() for link in links)
    assert_whole(folder / "out")


def test_a_page_begins_with_its_host_its_parameters_and_its_level(folder: Path):
    page = page_of(folder, sweep_hosts.COMPROMISED)

    top = page.find(class_="svc-header").get_text(" ", strip=True)
    assert top.startswith(f"{sweep_hosts.COMPROMISED} Compromised host {sweep_hosts.COMPROMISED} log logs/")
    assert "nightly.ipynb · run 20" in top
    assert page.find("h1").get_text().startswith("Logins of the night")


def test_the_question_is_a_heading_above_its_answer(folder: Path):
    page = page_of(folder, sweep_hosts.COMPROMISED)

    heading = page.find(id="svc-question-1")
    assert (heading.name, heading.get_text()) == ("h2", QUESTION)
    assert "deploy" in heading.find_next("strong").get_text()


def test_a_failed_page_says_what_happened_where_and_what_to_do(folder: Path):
    page = page_of(folder, sweep_hosts.MISSING)

    notice = page.find(class_="svc-failure")
    assert [term.get_text() for term in notice("dt")] == ["What happened", "Where", "What to do"]
    assert FAILURE in notice.get_text()
    target = notice.find("a")["href"]
    assert target == "#svc-error"
    heading = page.find(id=target[1:])
    assert isinstance(heading, Tag)
    assert heading.get_text() == QUESTION
    assert FAILURE in heading.find_next("pre", string=lambda text: text and FAILURE in text).get_text()


def test_an_earlier_page_stays_until_the_host_has_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(batch, "LocalExecutor", Kernels)
    work = sweep_hosts.write(tmp_path / "work")
    arguments = ("run", "nightly.ipynb", "--sweep", "hosts.csv", "--out", "out")
    run_report(*arguments, folder=work)
    name = f"cases/{sweep_hosts.COMPROMISED}.html"
    before = (work / "out" / name).read_bytes()

    async def broken(self: Kernels, case: Case, report: Report) -> Run:
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr(Kernels, "run", broken)
    run_report(*arguments, folder=work)

    assert (work / "out" / name).read_bytes() == before
    case = cases_in(work / "out")[sweep_hosts.COMPROMISED]
    assert (case["status"], list(case["files"])) == ("failed", [name])
    page = (work / "out" / "index.html").read_text()
    assert "earlier run of 20" in page
    assert "No result for any of 12 hosts, 12 failed." in page
    assert_whole(work / "out")


def test_the_levels_agree_with_the_analysts_findings():
    def level(log: str) -> Level:
        events = inspect(log.splitlines(), source="auth.log")
        findings = [event for event in events if isinstance(event, Finding)]
        found: list[dict[str, object]] = [
            {"kind": f.kind, "severity": f.severity.value, "title": f.title} for f in findings
        ]
        return level_of_answer(record_of("answered", *found))

    assert level(sweep_hosts.log_of(sweep_hosts.COMPROMISED, 2)) is Level.COMPROMISED
    assert level(sweep_hosts.log_of(sweep_hosts.HOSTS[0], 0)) is Level.INFO


def record_of(status: str, *found: dict[str, object], verified: bool = True) -> AnswerRecord:
    return AnswerRecord("k", "q", "m", "t", "s", 1.0, False, list(found), status, is_verified=verified)


def known(kind: str, severity: str) -> dict[str, object]:
    return {"kind": kind, "severity": severity, "title": kind, "id": f"{kind} {severity}"}


BREACH, LOGIN = known("auth_success", "critical"), known("auth_success", "info")
LEVELS = {
    "open: a break-in": (Status.OK, [record_of("answered", BREACH)], Level.COMPROMISED),
    "open: ordinary logins": (Status.OK, [record_of("answered", LOGIN)], Level.INFO),
    "open: an empty file": (Status.NOT_EXAMINED, [record_of("not_examined")], Level.NO_DATA),
    "open: a failure": (Status.FAILED, [], Level.NO_RESULT),
    "open: a key without a password": (Status.OK, [record_of("answered", known("private_key", "critical"))], Level.CRITICAL),
    "open: no findings": (Status.OK, [record_of("answered")], Level.NOT_RATED),
    "held: a break-in before a failure": (Status.KERNEL_DIED, [record_of("answered", BREACH)], Level.COMPROMISED),
    "held: harmless before a failure": (Status.TIMEOUT, [record_of("answered", LOGIN)], Level.NO_RESULT),
    "held: one of two not examined": (
        Status.NOT_EXAMINED, [record_of("answered", LOGIN), record_of("not_examined")], Level.INCOMPLETE,
    ),
    "held: half an answer": (Status.OK, [record_of("partly_answered", LOGIN)], Level.INCOMPLETE),
    "held: half an answer with something": (
        Status.OK, [record_of("partly_answered", known("pcap_scan", "medium"))], Level.MEDIUM,
    ),
    "held: an edited answer that is harmless": (Status.NOT_VERIFIED, [record_of("answered", LOGIN, verified=False)], Level.NOT_VERIFIED),
    "held: an edited answer that is not": (Status.NOT_VERIFIED, [record_of("answered", BREACH, verified=False)], Level.COMPROMISED),
    "held: a malicious document": (Status.OK, [record_of("answered", known("office_verdict", "critical"))], Level.CRITICAL),
    "held: a rule of critical severity": (Status.OK, [record_of("answered", known("rule_hit", "critical"))], Level.COMPROMISED),
    "held: a login after guessing, short": (Status.OK, [record_of("answered", known("logon_success", "high"))], Level.COMPROMISED),
    "held: a severity that nobody knows": (Status.OK, [record_of("answered", known("x", "harmless"))], Level.NOT_RATED),
    "held: nothing in a finding": (Status.OK, [record_of("answered", {})], Level.NOT_RATED),
    "held: a status that nobody knows": (Status.OK, [record_of("done", LOGIN)], Level.INFO),
    "held: not run": (Status.NOT_RUN, [], Level.WAITING),
    "held: not answered": (Status.NOT_ANSWERED, [record_of("not_answered")], Level.NOT_ANSWERED),
}  # fmt: skip


@pytest.mark.parametrize(("status", "answers", "level"), LEVELS.values(), ids=LEVELS)
def test_the_level_comes_from_findings_and_statuses(status: Status, answers: list[AnswerRecord], level: Level):
    assert level_of_case(answers, status) is level


def test_a_finding_of_two_answers_counts_once():
    twice = [record_of("answered", BREACH, LOGIN), record_of("answered", BREACH)]

    assert counts(twice) == {"critical": 1, "info": 1}


def case_of(name: str, status: Status, *answers: AnswerRecord, **values: object) -> CaseRecord:
    return CaseRecord(name=name, fingerprint=name, parameters=values, status=status, answers=list(answers))


SUMMARIES = {
    "open: nothing severe": (
        [case_of("a", Status.OK, record_of("answered", LOGIN), host="a"), case_of("b", Status.TIMEOUT, host="b")],
        "Nothing severe found on 1 of 2 hosts, 1 failed.",
    ),
    "open: one case": ([case_of("a", Status.OK, record_of("answered", BREACH), log="a")], "1 of 1 case compromised."),
    "held: a failure after a break-in is both": (
        [case_of("a", Status.FAILED, record_of("answered", BREACH), host="a")], "1 of 1 host compromised, 1 failed.",
    ),
    "held: nothing was rated": (
        [case_of("a", Status.OK, record_of("answered"), host="a")], "No result for any of 1 host, 1 not rated.",
    ),
    "held: while it runs": (
        [case_of("a", Status.NOT_RUN, host="a"), case_of("b", Status.OK, record_of("answered", LOGIN), host="b")],
        "Nothing severe found on 1 of 2 hosts, 1 not run.",
    ),
    "held: critical without a break-in": (
        [case_of("a", Status.OK, record_of("answered", known("private_key", "critical")), host="a")],
        "1 of 1 host with critical findings.",
    ),
    "held: not every row has a host": (
        [case_of("a", Status.OK, record_of("answered", BREACH), host="a"), case_of("b", Status.OK, record_of("answered", LOGIN))],
        "1 of 2 cases compromised.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("cases", "text"), SUMMARIES.values(), ids=SUMMARIES)
def test_the_summary_concludes_nothing_of_what_was_not_read(cases: list[CaseRecord], text: str):
    assert index_page.summary(cases) == text
