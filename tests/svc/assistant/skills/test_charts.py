"""Charts are well-formed, hold no script, show labels as text, and are left out if a table reads faster."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.assistant.findings import Severity
from svc.assistant.skills.charts import Bar, Branch, ChartEvent, ChartMark, Periods, Series, bars, columns, lanes, tree
from svc.assistant.skills.charts.drawing import MAX_ASK
from svc.assistant.skills.charts.palette import CARD, DIM, GRID, INK, MARKS, STYLE
from svc.assistant.skills.charts.tree import MAX_NODES

NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)
HOSTILE = "</text><script>alert(1)</script><image href='http://evil.example/x'/>\x00\x1b\u202e&amp;\ud7ff\"'"
NAMESPACE = "{http://www.w3.org/2000/svg}"
ALLOWED = {NAMESPACE + name for name in ("svg", "style", "title", "g", "rect", "text", "line", "circle", "path")}
PERIODS = Periods(start=NOW, seconds=600, unit="failures", zone="UTC")
BACKGROUNDS = {"light": ("#ffffff", "#f8f9fa", CARD.light), "dark": ("#111111", "#212121", "#1e2329", CARD.dark)}


def chain(depth):
    branch = Branch(label="leaf")
    for number in range(depth):
        branch = Branch(label=f"p{number}", children=(branch,))
    return branch


def elements(pictures):
    return list(ElementTree.fromstring(pictures[0].svg).iter())


def texts(pictures, name="text"):
    return [element.text for element in elements(pictures) if element.tag == NAMESPACE + name]


def all_kinds(word):
    return [
        bars(word, [Bar(label=word, value=number, note=word, ask=word) for number in range(8)], unit=word),
        lanes(word, [ChartMark(time=NOW + timedelta(minutes=n), lane=word, label=word, ask=word) for n in range(8)]),
        columns(
            word,
            PERIODS,
            [Series(label=word, counts=[1, 2, 3], ask=word)] * 5,
            [ChartEvent(time=NOW, label=word, tip=word, value=word, ask=word)],
            event_words=word,
        ),
        tree(word, [Branch(label=word, note=word, ask=word, children=(Branch(label=word),) * 6)]),
    ]


@given(st.text(max_size=60))
def test_any_labels_give_a_well_formed_drawing_of_shapes_and_text_only(word):
    for pictures in all_kinds(word):
        assert {element.tag for element in elements(pictures)} <= ALLOWED


def test_hostile_labels_stay_text():
    for pictures in all_kinds(HOSTILE):
        assert {element.tag for element in elements(pictures)} <= ALLOWED
        names = {name for element in elements(pictures) for name in element.attrib}
        assert not [name for name in names if "href" in name or name[:2] == "on" or name in ("style", "id")]
        assert texts(pictures, "style") == [STYLE]


@pytest.mark.parametrize(
    "pictures",
    [
        pytest.param(bars("x", [Bar(label="a", value=1)] * 2), id="two bars"),
        pytest.param(bars("x", [Bar(label="a", value=0)] * 9), id="nothing counted"),
        pytest.param(lanes("x", [ChartMark(time=NOW, lane="a")] * 100), id="all at one moment"),
        pytest.param(lanes("x", [ChartMark(time=NOW + timedelta(n), lane="a") for n in range(5)]), id="five events"),
        pytest.param(columns("x", PERIODS, [Series(label="a", counts=[100])]), id="one period"),
        pytest.param(columns("x", PERIODS, [Series(label="a", counts=[1, 1])]), id="two counted"),
        pytest.param(columns("x", PERIODS, []), id="no series"),
        pytest.param(tree("x", [Branch(label="a")] * 2), id="two processes"),
    ],
)
def test_few_items_are_not_drawn(pictures):
    assert pictures == []


def test_a_long_chain_is_drawn_up_to_one_screen_with_a_note():
    pictures = tree("Processes", [chain(900)])
    assert f"{MAX_NODES} of 901 shown, the most severe with" in " ".join(texts(pictures))


def test_the_flagged_process_of_a_large_tree_is_drawn_with_its_parents():
    flagged = Branch(label="mimikatz.exe", severity=Severity.CRITICAL, note="LSASS dump")
    quiet = tuple(Branch(label=f"quiet-{number}.exe") for number in range(300))
    shown = texts(
        tree("x", [Branch(label="explorer.exe", children=(*quiet, Branch(label="cmd.exe", children=(flagged,))))])
    )
    assert {"explorer.exe", "cmd.exe", "mimikatz.exe", "LSASS dump"} <= set(shown)


def test_columns_count_everything_once_and_name_the_period():
    pictures = columns("Failures", PERIODS, [Series(label=f"10.0.0.{n}", counts=[n, 0, 7]) for n in range(1, 7)])
    tips = texts(pictures, "title")[1:]
    assert sum(int(tip.split(": ")[1].split(" ")[0]) for tip in tips) == sum(range(1, 7)) + 6 * 7
    assert "others: 21 failures, Nov 20 03:20:00 to 03:30:00" in tips


def test_the_most_severe_event_is_labelled_and_all_are_marked():
    events = [
        ChartEvent(time=NOW + timedelta(minutes=n), label=f"user{n}", tip=f"accepted user{n}") for n in range(0, 30, 10)
    ]
    events.append(
        ChartEvent(time=NOW + timedelta(minutes=25), label="root", tip="accepted root", severity=Severity.CRITICAL)
    )
    pictures = columns("x", PERIODS, [Series(label="a", counts=[9, 9, 9])], events, event_words="accepted login")
    assert {"root", "accepted login"} <= set(texts(pictures))
    assert not {"user0", "user10"} & set(texts(pictures))
    assert "accepted user10" in texts(pictures, "title")


def test_the_most_severe_of_many_marks_are_kept():
    marks = [ChartMark(time=NOW + timedelta(seconds=n), lane=f"low {n % 20}") for n in range(5_000)]
    worst = ChartMark(
        time=NOW + timedelta(seconds=9), lane="credential access", label="LSASS", severity=Severity.CRITICAL
    )
    pictures = lanes("What happened", [*marks, worst])
    assert "LSASS" in pictures[0].svg
    assert "8 of 21 kinds, the most severe" in texts(pictures)
    assert len(pictures[0].svg) < 150_000


@pytest.mark.parametrize("severities", [[Severity.HIGH], [Severity.INFO, Severity.LOW], list(Severity)])
def test_colours_have_a_legend(severities):
    rows = [Bar(label=f"{n}", value=1, severity=severities[n % len(severities)]) for n in range(6)]
    marks = [ChartMark(time=NOW + timedelta(n), lane="a", severity=severities[n % len(severities)]) for n in range(6)]
    for pictures in (bars("x", rows), lanes("x", marks)):
        assert {one.value for one in severities} <= set(texts(pictures))


def test_one_colour_without_a_judgement_needs_no_legend():
    assert "info" not in texts(bars("x", [Bar(label="a", value=1)] * 5))


def luminance(colour):
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", BACKGROUNDS)
def test_text_and_marks_are_visible_on_the_backgrounds_of_each_theme(theme):
    for background in BACKGROUNDS[theme]:
        for colour in (INK, DIM):
            assert contrast(getattr(colour, theme), background) >= 4.5
        for name, colour in MARKS.items():
            assert contrast(getattr(colour, theme), background) >= 3, name


@pytest.mark.parametrize("theme", BACKGROUNDS)
def test_severities_differ_in_lightness_or_hue_and_none_is_another(theme):
    assert len({getattr(MARKS[severity.value], theme) for severity in Severity}) == len(Severity)


def test_a_question_that_would_be_cut_is_not_offered():
    name = "x" * MAX_ASK
    (shown,) = bars("x", [Bar(label=name, value=1, ask=f"What did {name} do?")] * 3)
    assert "data-ask" not in shown.svg
    assert "data-value" in shown.svg


def test_the_page_colours_a_chart_as_the_image_does():
    css = (Path(__file__).parents[4] / "labextension" / "packages" / "chat" / "src" / "chart.css").read_text()
    colours = {**{f".{name}": colour for name, colour in MARKS.items()}, "text": INK, ".dim": DIM, ".grid": GRID}
    for name, colour in {**colours, ".axis": DIM, ".track": GRID}.items():
        _, _, rule = css.partition(f".svc-chart {name}")
        assert f": light-dark({colour.light}, {colour.dark});" in rule.partition("}")[0], name
