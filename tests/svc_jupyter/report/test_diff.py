"""What changed between two runs: answers by key and question, findings by what they are."""

from __future__ import annotations

import json

import pytest
from bs4 import BeautifulSoup

from svc_jupyter.answers.finding_identity import identity, summaries
from svc_jupyter.report import diff_page
from svc_jupyter.report.diff import Change, compare
from svc_jupyter.report.record import AnswerRecord


def finding(name: str, title: str = "t") -> dict[str, object]:
    return {"id": name, "kind": "k", "severity": "high", "title": title}


def answer(key: str, question: str = "who?", text: str = "yes", *found: str) -> AnswerRecord:
    return AnswerRecord(key, question, "svc-1", text, "s", 1.0, False, [finding(name) for name in found])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param([answer("a")], [answer("a")], [(Change.SAME, True)], id="same"),
        pytest.param([answer("a")], [answer("a", text="no")], [(Change.CHANGED, True)], id="another answer"),
        pytest.param([answer("a")], [answer("b")], [(Change.SAME, False)], id="other evidence, same answer"),
        pytest.param([answer("a")], [answer("b", text="no")], [(Change.CHANGED, False)], id="other evidence"),
        pytest.param([], [answer("a")], [(Change.NEW, False)], id="new"),
        pytest.param([answer("a")], [], [(Change.GONE, False)], id="gone"),
        pytest.param(
            [answer("a"), answer("b")],
            [answer("b"), answer("c"), answer("d", "where?")],
            [(Change.SAME, True), (Change.SAME, False), (Change.NEW, False)],
            id="the key counts before the question",
        ),
    ],
)
def test_answers_are_paired(old: list[AnswerRecord], new: list[AnswerRecord], expected: list[tuple[Change, bool]]):
    found = compare({"x": old}, {"x": new})

    assert [(a.change, a.is_same_evidence) for a in found.answers] == expected
    assert found.has_changes == any(change != Change.SAME for change, _ in expected)


def test_findings_are_added_and_removed_by_what_they_are():
    (changed,) = compare({"x": [answer("a", "q", "t", "1", "2")]}, {"x": [answer("a", "q", "t", "2", "3")]}).answers

    assert changed.change == Change.CHANGED
    assert [f.id for f in changed.added] == ["3"]
    assert [f.id for f in changed.removed] == ["1"]


def test_cases_come_and_go_but_a_single_one_is_the_same_whatever_its_name():
    assert compare({"": [answer("a")]}, {"nightly": [answer("a")]}).gone_cases == []
    both = compare({"a": [answer("1")], "b": [answer("2")]}, {"b": [answer("2")], "c": [answer("3")]})

    assert (both.new_cases, both.gone_cases) == (["c"], ["a"])
    assert [(a.case, a.change) for a in both.answers] == [("b", "same"), ("c", "new"), ("a", "gone")]


ROW = {"kind": "login", "severity": "high", "title": "3 logins from 192.0.2.1", "why": "w", "source": "192.0.2.1"}


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        pytest.param({"title": "9 logins from 192.0.2.1"}, True, id="other words"),
        pytest.param({"count": 9}, True, id="a count"),
        pytest.param({"first": "2026-11-20 08:12:40"}, True, id="a moment"),
        pytest.param({"why": "because"}, True, id="another reason"),
        pytest.param({"source": "192.0.2.2"}, False, id="another source"),
        pytest.param({"kind": "guess"}, False, id="another kind"),
    ],
)
def test_a_finding_is_the_same_by_its_kind_and_names(other: dict[str, object], is_same: bool):
    assert (identity(ROW) == identity({**ROW, **other})) is is_same


def test_a_finding_without_names_is_known_by_its_title_without_figures():
    nameless = {"kind": "k", "severity": "info", "title": "1,201 lines, 3 skipped"}

    assert identity(nameless) == identity({**nameless, "title": "9 lines, 14 skipped"})
    assert len(summaries([nameless, nameless, ROW])) == 2


HOSTILE = "<script>x</script> `](http://evil.example) ``"


def test_pages_keep_hostile_text_text():
    changed = compare({"x": [answer("a", HOSTILE)]}, {"x": [answer("a", HOSTILE, "no")], HOSTILE: []})

    page = BeautifulSoup(diff_page.as_html(changed, "old", HOSTILE), "html.parser")
    markdown = diff_page.as_markdown(changed, "old", HOSTILE)
    assert page(["script", "a"]) == []
    assert "## Changed: ``` x: <script>" in markdown
    assert json.loads(diff_page.as_json(changed))["answers"][0]["question"] == HOSTILE
