"""Questions, folds, paper and evidence: the parts of a page that notebooks, parameters and answers decide."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat import NotebookNode

from svc_jupyter.answers.answer import MIME_TYPE
from svc_jupyter.answers.finding_identity import MAX_SUMMARIES, summaries
from svc_jupyter.report import folder as report_folder
from svc_jupyter.report.cases import load
from svc_jupyter.report.content import paper
from svc_jupyter.report.content.evidence import UNVERIFIED, EvidenceBook, describe
from svc_jupyter.report.content.questions import FOLD_CHARACTERS, fold
from svc_jupyter.report.folder import ReportFolder
from svc_jupyter.report.page import build, for_print
from svc_jupyter.report.record import AnswerRecord, answers_of
from svc_jupyter.report.sanitize import clean, clean_body, open_folds, with_scrolling_tables


def output(question: str, markdown: str, *, key: str = "k", evidence: object = ()) -> NotebookNode:
    data = {"text/markdown": markdown, "text/plain": markdown, MIME_TYPE: {"key": key, "text": markdown}}
    provenance = {"question": question, "session_id": "s", "turn": key, "evidence": evidence}
    return nbformat.v4.new_output("display_data", data=data, metadata={MIME_TYPE: provenance})


def notebook(*cells: NotebookNode, svc: dict[str, object] | None = None) -> NotebookNode:
    return nbformat.v4.new_notebook(cells=list(cells), metadata={"svc": svc} if svc else {})


def code(source: str, *outputs: NotebookNode) -> NotebookNode:
    return nbformat.v4.new_code_cell(source, outputs=list(outputs))


def text(source: str) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(source)


def soup_of(node: NotebookNode, **options: object) -> BeautifulSoup:
    return BeautifulSoup(build(node, title="report", is_fresh=True, **options), "html.parser")


# Questions


def test_an_answer_that_is_displayed_again_appears_once():
    first = output("Who got in?", "**Nobody at all.**")
    page = soup_of(notebook(text("# T"), code("%%svc\nWho got in?", first), code("answer", first)))

    assert page.get_text().count("Nobody at all.") == 1
    assert page.find("a", href="#svc-question-1").get_text() == "Who got in?"
    assert len(page(id="svc-question-1")) == 1
    assert len(answers_of(notebook(code("a", first), code("b", first)))) == 1


def test_the_same_words_about_something_else_are_another_answer():
    pair = output("Who got in?", "**Nobody.**"), output("Who got in?", "**Nobody.**", key="other")
    page = soup_of(notebook(text("# T"), code("a", pair[0]), code("b", pair[1])))

    assert page.get_text().count("Nobody.") == 4  # in the summary, too
    assert [page.find(id=f"svc-question-{n}").get_text() for n in (1, 2)] == ["Who got in?"] * 2


def test_several_answers_of_a_cell_have_a_heading_each():
    steps = nbformat.v4.new_output("display_data", data={"text/html": "<details><summary>2 steps</summary></details>"})
    cell = code("%svc one?\n%svc two?", steps, output("one?", "**A.**"), steps, output("two?", "**B.**", key="2"))
    page = soup_of(notebook(text("# T\n\n## Logins"), cell))

    summary = page.find(class_="svc-summary").extract()
    order = [tag.get_text(strip=True) for tag in page(["h2", "h3", "strong", "summary"]) if not tag.find_parent("nav")]
    assert order == ["Logins¶", "one?", "%svc one?", "2 steps", "A.", "two?", "2 steps", "B."]
    assert page.find(id="svc-question-2").name == "h3"
    rows = [[cell.get_text() for cell in row("td")][1:3] for row in summary.tbody("tr")]
    assert rows == [["one?", "**A.**"], ["two?", "**B.**"]]


def test_a_long_answer_opens_with_its_verdict_and_folds_the_rest():
    long = "**Compromised: `deploy`.**\n\n" + "line of evidence\n\n" * 400 + "the last line"
    page = soup_of(notebook(text("# T"), code("%%svc\nq", output("q", long))))

    folded = page.find("details", class_=None)
    assert folded.find("summary").get_text() == "Details"
    assert "the last line" in folded.get_text()
    assert "Compromised" not in folded.get_text()
    assert page.find("hr").find_next("code").get_text().split("session ")[1][:1] == "s"  # the footer is not folded
    assert page.find("hr").find_parent("details") is None
    assert fold("x" * FOLD_CHARACTERS) == "x" * FOLD_CHARACTERS


def test_marks_and_verdict_of_a_long_answer_are_never_folded():
    marks = "⚠ **Not verified.** Ask again.\n\n⚠ **Not examined.** Not negative.\n\n**The log is empty.**"

    lead, _, rest = fold(f"{marks}\n\n{'x ' * FOLD_CHARACTERS}").partition("<details>")

    assert lead.strip() == marks
    assert rest


def test_a_notebook_that_claims_to_be_fine_is_not_believed():
    data = {"key": "k", "text": "x", "status": "answered", "findings": [{"severity": "info", "kind": "x", "id": "1"}]}
    edited = nbformat.v4.new_output("display_data", data={"text/markdown": "x", MIME_TYPE: data})
    claimed = {"case": "web-1", "status": "ok"}
    page = build(notebook(text("# T"), code("q", edited), svc=claimed), title="t")

    top = BeautifulSoup(page, "html.parser").find(class_="svc-header")
    assert top.find(class_="svc-level").get_text() == "Not verified"


def test_of_too_many_findings_the_most_severe_are_kept():
    rows = [{"kind": "x", "severity": "info", "title": f"t{chr(n)}", "name": f"n{n}"} for n in range(33, 33 + 1_200)]
    rows.append({"kind": "auth_success", "severity": "critical", "title": "in", "name": "deploy"})

    kept = summaries(rows)

    assert len(kept) == MAX_SUMMARIES
    assert kept[0]["severity"] == "critical"


HOSTILE = {
    "open: script": "<script>alert(1)</script>",
    "open: end of style": "</style><script>alert(1)</script>",
    "held: string": '"; } @import "https://evil.example/x.css"; x { content: "',
    "held: escape": "\\22 ; } body { display: none } \\",
    "held: line break": 'a\n} @page { size: 1px } "\r\n\f\u2028',
    "held: hidden": "\u202eexe.txt\u0000\ud7ff",
    "held: Jinja": "{{ resources }}{% include '/etc/passwd' %}",
}


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
def test_parameters_stay_text_on_every_page(value: str):
    recorded = {"case": value, "title": value, "status": "failed", "parameters": {value: value, "host": "web-1"},
                "failure": value, "failed_cell": value, "notebook": value, "svc": value, "started": 1.0}  # fmt: skip
    page = build(notebook(text(f"# {value}"), code("1"), svc=recorded), title=value)

    soup = BeautifulSoup(page, "html.parser")
    assert soup("script") == []
    assert len(soup("style")) == 1
    style = str(soup.find("style"))
    assert "@import" not in style
    assert "display: none }\n@page" not in style
    rules = style[style.rindex("@page {") :]
    strings = re.findall(r'content: ("[^"\n]*");', rules)
    assert len(strings) == 2
    assert all(re.fullmatch(r'"(?:[A-Za-z0-9 .,:/=_-]|\\[0-9a-f]+ )*"', string) for string in strings)
    assert "web-1" in soup.find(class_="svc-header").get_text()


# Folds

FOLDS = {
    "open: whole": ("<details>\n<summary>a</summary>\nb</details>", True),
    "open: not closed": ("<details><summary>a</summary>b", False),
    "open: closed twice": ("<details><summary>a</summary>b</details></details>", False),
    "held: nested": ("<details><summary>a</summary><details><summary>b</summary>c</details></details>", True),
    "held: crossed": ("<details><summary>a</details></summary>", False),
    "held: summary alone": ("<summary>a</summary>", False),
    "held: in capitals": ("<DETAILS><SUMMARY>a</SUMMARY>b", False),
    "held: in a comment": ("<details><summary>a</summary><!-- </details> -->b", False),
    "held: in an attribute": ('<details><summary>a</summary><p title="</details>">b</p>', False),
    "held: with attributes": ('<details open class="x"><summary>a</summary>b</details>', True),
    "held: nothing": ("<p>details and summary</p>", None),
}


@pytest.mark.parametrize(("fragment", "is_fold"), FOLDS.values(), ids=FOLDS)
def test_only_whole_folds_are_folds(fragment: str, is_fold: bool | None):
    soup = BeautifulSoup(clean(fragment), "html.parser")

    assert bool(soup("details")) is bool(is_fold)
    if is_fold is False:
        assert "details" in soup.get_text().lower() or "summary" in soup.get_text().lower()


def test_folds_of_answers_are_open_on_paper_and_code_and_steps_are_not():
    steps = nbformat.v4.new_output(
        "display_data", data={"text/html": "<details><summary>4 steps</summary><pre>x</pre></details>"}
    )
    folds = "**V.**\n\n<details>\n<summary>3 accounts</summary>\n\n| a |\n|---|\n| b |\n\n</details>\n"
    page = build(notebook(text("# T"), code("%%svc\nq", steps, output("q", folds))), title="t", is_fresh=True)

    assert "open" not in BeautifulSoup(page, "html.parser").find("summary", string="3 accounts").parent.attrs
    printed = BeautifulSoup(for_print(page), "html.parser")
    is_open = {fold.summary.get_text(): fold.has_attr("open") for fold in printed("details")}
    assert is_open == {"%%svc": False, "4 steps": False, "3 accounts": True}
    assert printed.find("summary", string="3 accounts").parent.find("td").get_text() == "b"


TABLES = {
    "open: one": "<table><tr><td>a</td></tr></table>",
    "open: two": "<table><tr><td>a</td></tr></table><p>x</p><table></table>",
    "held: nested": "<table><tr><td><table><tr><td>a</td></tr></table></td></tr></table>",
    "held: in an attribute": '<p title="<table onclick=x y=">a</p><table></table>',
    "held: not closed": "<table><tr><td>a",
    "held: closed alone": "</table><p>a</p></table>",
}


@pytest.mark.parametrize("markup", TABLES.values(), ids=TABLES)
def test_tables_scroll_and_nothing_else_changes(markup: str):
    body = clean_body(markup)
    soup = BeautifulSoup(with_scrolling_tables(body), "html.parser")

    outermost = [table for table in soup("table") if not table.find_parent("table")]
    assert [table.parent.get("class") for table in outermost] == [["svc-scroll"]] * len(outermost)
    assert len(soup(class_="svc-scroll")) == len(outermost)
    assert not [tag for tag in soup() if any(name.startswith("on") for name in tag.attrs)]
    assert soup.get_text() == BeautifulSoup(body, "html.parser").get_text()
    assert open_folds(body) == body


# Names

NAMES = {
    "open: hosts": ("host,log\nweb-1.example.org,a\nweb-2.example.org,b\n", ["web-1.example.org", "web-2.example.org"]),
    "open: a host twice": ("host,log\nweb-1,a\nweb-1,b\n", ["web-1-a", "web-1-b"]),
    "held: other letters": ("host,log\nсервер-1,a\nmünchen,b\n", ["сервер-1", "münchen"]),  # noqa: RUF001
    "held: reserved": ("host,log\nCON,a\nlpt1.log,b\n", ["case-CON", "case-lpt1.log"]),
    "held: a path": ("host,log\n../../etc,a\n..\\x,b\n", ["etc", "x"]),
    "held: equal but for case": ("host,log\nWEB,a\nweb,b\n", ["WEB-a", "web-b"]),
    "held: without a host": ("host,log\n,a\nweb,b\n", ["a", "web-b"]),
    "held: right to left": ("host,log\n\u202egpj.exe,a\nb,b\n", ["gpj.exe", "b"]),
}


@pytest.mark.parametrize(("rows", "names"), NAMES.values(), ids=NAMES)
def test_cases_are_named_after_their_hosts(rows: str, names: list[str], tmp_path: Path):
    (tmp_path / "s.csv").write_text(rows, encoding="utf-8")

    cases = load(tmp_path / "s.csv", {}, ["host", "log"], tmp_path)

    assert [case.name for case in cases] == names
    assert all(len(case.name.encode()) <= 160 for case in cases)


# Files


class FullDiskError(OSError):
    def __init__(self) -> None:
        super().__init__(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("failing", range(6))
def test_a_case_keeps_its_earlier_files_until_the_new_ones_are_complete(
    failing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    old, new = ({ending: f"{age} {ending}".encode() for ending in (".html", ".pdf", ".md")} for age in ("old", "new"))
    with ReportFolder(tmp_path / "out") as out:
        out.write_case("cases/web-1", old)
        count = 0
        original, replace = report_folder.write_atomic, Path.replace

        def step() -> None:
            nonlocal count
            count += 1
            if count == failing + 1:
                raise FullDiskError

        def write(path: Path, content: bytes, *, mode: int | None) -> None:
            step()
            original(path, content, mode=mode)

        def moved(self: Path, target: Path) -> Path:
            if self.suffix == ".new":
                step()
            return replace(self, target)

        monkeypatch.setattr(report_folder, "write_atomic", write)
        monkeypatch.setattr(Path, "replace", moved)
        with pytest.raises(OSError, match="No space left"):
            out.write_case("cases/web-1", new)
        monkeypatch.undo()

        there = {path.name: path.read_bytes() for path in (tmp_path / "out" / "cases").iterdir()}
        assert there == {f"web-1{ending}": content for ending, content in old.items()}
        out.write_case("cases/web-1", new)
    assert (tmp_path / "out/cases/web-1.md").read_bytes() == b"new .md"


# Evidence

CHANGES = {
    "open: same": ([("a", "1")], [("a", "1")], []),
    "open: changed": ([("a", "1")], [("a", "2")], ["a changed"]),
    "held: another name for the same content": ([("a", "1")], [("b", "1")], []),
    "held: more and less": ([("a", "1"), ("b", "2")], [("b", "2"), ("c", "3")], ["c is new", "a is gone"]),
    "held: one of two equal ones": ([("a", "1"), ("b", "1")], [("a", "1")], ["b is gone"]),
    "held: contents exchanged": ([("a", "1"), ("b", "2")], [("a", "2"), ("b", "1")], []),
    "held: nothing before": ([], [("a", "1")], ["a is new"]),
}


@pytest.mark.parametrize(("before", "now", "changes"), CHANGES.values(), ids=CHANGES)
def test_evidence_is_compared_by_content(before: list[tuple[str, str]], now: list[tuple[str, str]], changes: list[str]):
    assert describe(before, now) == changes


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvidenceBook:
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path / "state"))
    return EvidenceBook(tmp_path / ".answers", tmp_path / "n.ipynb", is_compared=True)


def asked(question: str, digest: str, key: str = "k") -> NotebookNode:
    return notebook(code("q", output(question, "x", key=key, evidence=[["auth.log", digest]])))


def marked(book: EvidenceBook, node: NotebookNode, case: str = "web-1") -> list[AnswerRecord]:
    book.mark(case, node)
    return answers_of(node)


def test_a_refresh_says_which_evidence_changed(book: EvidenceBook):
    assert [a.changed_evidence for a in marked(book, asked("q", "1"))] == [[]]
    book.remember("web-1", answers_of(asked("q", "1")))

    assert [a.changed_evidence for a in marked(book, asked("q", "1"))] == [[]]
    assert [a.changed_evidence for a in marked(book, asked("q", "2"))] == [["auth.log changed"]]
    assert [a.changed_evidence for a in marked(book, asked("q on 23 November", "2"))] == [["auth.log changed"]]
    assert [a.changed_evidence for a in marked(book, asked("q", "2"), "web-2")] == [[]]
    node = asked("q", "2")
    book.mark("web-1", node)
    page = soup_of(node)
    assert "The evidence changed since the last run: auth.log changed." in page.get_text()


@pytest.mark.parametrize("edit", [("auth.log", "auto.log"), ("{", ""), ('"version":1', '"version":9')])
def test_an_edited_record_of_evidence_counts_as_a_change(edit: tuple[str, str], book: EvidenceBook, tmp_path: Path):
    book.remember("web-1", answers_of(asked("q", "1")))
    (path,) = (tmp_path / ".answers" / "evidence").iterdir()
    path.write_text(path.read_text().replace(*edit))

    assert [a.changed_evidence for a in marked(book, asked("q", "1"))] == [[UNVERIFIED]]


# Paper


@pytest.mark.parametrize(
    ("variable", "value", "size"),
    [
        ("LANG", "en_US.UTF-8", "letter"),
        ("LC_ALL", "fr_CA", "letter"),
        ("LC_PAPER", "en_GB.UTF-8", "a4"),
        ("LANG", "C.UTF-8", "a4"),
        ("LANG", "de_DE@euro", "a4"),
        ("LANG", "nonsense" * 99, "a4"),
    ],
)
def test_the_paper_is_that_of_the_country(variable: str, value: str, size: str, monkeypatch: pytest.MonkeyPatch):
    for name in ("LC_ALL", "LC_PAPER", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)

    assert paper.default() == size
