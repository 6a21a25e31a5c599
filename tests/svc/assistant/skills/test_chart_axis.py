"""Axes have 5 to 10 labelled, round times for any span, and round values."""

import random
import re
from datetime import datetime, timedelta
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.assistant.skills.charts.axis import (
    LEAST_TICKS,
    MOST_TICKS,
    TimeAxis,
    moment,
    range_words,
    value_ticks,
    value_words,
)

MINUTE, HOUR, DAY, YEAR = 60, 3_600, 86_400, 31_556_952
OPEN = [1, 2.5, 10, 59, MINUTE, 7 * MINUTE, HOUR, 5 * HOUR, DAY, 3 * DAY, 30 * DAY, YEAR, 5 * YEAR]
HELD = [
    0.4,
    4,
    21,
    100,
    23 * MINUTE,
    2.2 * HOUR,
    11 * HOUR,
    2 * DAY,
    9 * DAY,
    20 * DAY,
    90 * DAY,
    2.5 * YEAR,
    90 * YEAR,
]


def labels(axis):
    """The first row: what a wide and what a narrow place shows."""
    row = ElementTree.fromstring(f"<svg>{axis.drawn(0, 100)}</svg>").findall("text[@y='115']")
    only = {"w": [], "n": []}
    for element in row:
        names = (element.get("class") or "").split()
        for place in only:
            if not ({"w", "n"} - {place}) & set(names):
                only[place].append(element.text)
    return only["w"], only["n"]


@pytest.mark.parametrize("seconds", [*OPEN, *HELD])
@pytest.mark.parametrize("seed", range(3))
def test_a_span_has_enough_round_times(seconds, seed):
    first = datetime(2021, 1, 1) + timedelta(seconds=random.Random(seed).random() * YEAR)
    axis = TimeAxis(first, first + timedelta(seconds=seconds))
    assert LEAST_TICKS <= len(axis.ticks) <= MOST_TICKS
    assert axis.first <= first
    assert axis.first <= axis.ticks[0] < axis.ticks[-1] <= axis.last
    wide, narrow = labels(axis)
    assert len(wide) >= LEAST_TICKS
    assert len(narrow) >= 2
    assert len(set(axis.ticks)) == len(axis.ticks)


@given(st.datetimes(), st.datetimes())
def test_any_two_times_have_an_axis(one, other):
    first, last = min(one, other), max(one, other)
    if last.year < 9_998:
        axis = TimeAxis(first, last)
        assert len(axis.ticks) <= MOST_TICKS
        assert 0 <= axis.share(first) <= axis.share(last) <= 1


def test_the_day_is_written_where_it_changes():
    drawn = TimeAxis(datetime(2026, 11, 20, 21, 10), datetime(2026, 11, 21, 2, 50)).drawn(0, 100)
    assert re.findall(r">([^<]+)</text>", drawn)[-2:] == ["Nov 20", "Nov 21"]


def test_the_year_is_written_only_if_the_log_has_one():
    known = TimeAxis(datetime(2025, 12, 20), datetime(2026, 1, 20)).drawn(0, 100)
    assert [year in known for year in ("2025", "2026")] == [True, True]
    unknown = TimeAxis(moment("--11-20T00:00:00"), moment("--11-28T00:00:00")).drawn(0, 100)
    assert not re.search(r">\d+<", unknown)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("2026-11-20T01:00:00Z", "2026-11-20T02:00:00Z", "Nov 20, 2026"),
        ("2026-11-20T01:00:00", "2026-12-01T02:00:00", "Nov 20 to Dec 1, 2026"),
        ("2025-11-20T01:00:00", "2026-12-01T02:00:00", "Nov 20, 2025 to Dec 1, 2026"),
        ("--02-29T01:00:00", "--02-29T02:00:00", "Feb 29"),
    ],
)
def test_range(first, last, expected):
    assert range_words(moment(first), moment(last)) == expected


@pytest.mark.parametrize("text", [None, "", "Nov 20", "--13-20T00:00:00", "2026-02-30T00:00:00"])
def test_an_unclear_time_is_none(text):
    assert moment(text) is None


@given(st.integers(1, 10**15))
def test_values_are_round_and_cover_the_largest(most):
    ticks = value_ticks(most)
    assert ticks[0] == 0
    assert ticks[-1] >= most
    assert 2 <= len(ticks) <= 6
    assert all(len(value_words(value)) <= 6 for value in ticks)
    assert len({value_words(value) for value in ticks}) == len(ticks)


@pytest.mark.parametrize(
    ("value", "expected"), [(0, "0"), (950, "950"), (1_200, "1,200"), (15_000, "15k"), (2.5e6, "2.5M")]
)
def test_value_words(value, expected):
    assert value_words(value) == expected
