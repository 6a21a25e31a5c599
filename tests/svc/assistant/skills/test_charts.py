"""Charts are well-formed, hold no script, show labels as text, and are left out if a table reads faster."""

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.assistant.findings import Severity
from svc.assistant.skills.charts import MAX_ROWS, Bar, Branch, ChartMark, activity, bars, lanes, tree

NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)
HOSTILE = "</text><script>alert(1)</script><image href='http://evil.example/x'/>\x00\x1b\u202e&amp;\ud7ff"
NAMESPACE = "{http://www.w3.org/2000/svg}"
ALLOWED = {NAMESPACE + name for name in ("svg", "title", "rect", "text", "line", "circle", "path")}


def chain(depth):
    branch = Branch(label="leaf")
    for number in range(depth):
        branch = Branch(label=f"p{number}", children=(branch,))
    return branch


def elements(pictures):
    return list(ElementTree.fromstring(pictures[0].svg).iter())


def all_kinds(word):
    return [
        bars(word, [Bar(label=word, value=number, note=word) for number in range(8)]),
        lanes(word, [ChartMark(time=NOW + timedelta(minutes=n), lane=word, label=word) for n in range(8)]),
        activity(word, [NOW + timedelta(minutes=n) for n in range(8)]),
        tree(word, [Branch(label=word, note=word, children=(Branch(label=word),) * 6)]),
    ]


@given(st.text(max_size=60))
def test_any_labels_give_a_well_formed_drawing_of_shapes_and_text_only(word):
    for pictures in all_kinds(word):
        assert {element.tag for element in elements(pictures)} <= ALLOWED


def test_hostile_labels_stay_text():
    for pictures in all_kinds(HOSTILE):
        assert {element.tag for element in elements(pictures)} <= ALLOWED
        assert not [
            name for element in elements(pictures) for name in element.attrib if "href" in name or name[:2] == "on"
        ]


@pytest.mark.parametrize(
    "pictures",
    [
        pytest.param(bars("x", [Bar(label="a", value=1)] * 5), id="five bars"),
        pytest.param(lanes("x", [ChartMark(time=NOW, lane="a")] * 100), id="all at one moment"),
        pytest.param(activity("x", [NOW] * 100), id="activity at one moment"),
        pytest.param(activity("x", [NOW, NOW + timedelta(1)]), id="two events"),
        pytest.param(tree("x", [Branch(label="a")] * 5), id="five processes"),
    ],
)
def test_few_items_are_not_drawn(pictures):
    assert pictures == []


def test_a_long_chain_is_drawn_up_to_the_page_size_with_a_note():
    pictures = tree("Processes", [chain(900)])
    assert pictures[0].title == f"Processes (the first {MAX_ROWS} of 901)"


def test_activity_counts_every_event_once():
    times = [NOW + timedelta(seconds=7 * n) for n in range(1_000)]
    told = [element.text for element in elements(activity("Logins", times)) if element.tag == NAMESPACE + "title"]
    assert sum(int(text.replace(",", "")) for text in told[1:]) == 1_000


def test_the_most_severe_of_many_marks_are_kept():
    marks = [ChartMark(time=NOW + timedelta(seconds=n), lane="low", severity=Severity.INFO) for n in range(5_000)]
    worst = ChartMark(
        time=NOW + timedelta(seconds=9), lane="credential access", label="LSASS", severity=Severity.CRITICAL
    )
    assert "LSASS" in lanes("What happened", [*marks, worst])[0].svg
