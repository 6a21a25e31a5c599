"""Traps and newsletters of many kinds in two halves, with and without filters' verdicts; an mbox takes linear time."""

from __future__ import annotations

import io
from collections.abc import Iterable

import pytest

from svc.assistant.findings import Coverage, Progress
from svc.assistant.skills.mail.mailbox import PIECE_BYTES, split_mails
from svc.assistant.skills.mail.tool import inspect, judge_mail
from tests.support.growth import times_as_long
from tests.support.mail_variety.build import HALVES, hard_ham, lures
from tests.support.mail_variety.messy import messy_ham, messy_lures
from tests.support.mail_variety.structures import structured

FLAGGED = ("phishing", "fraud", "suspicious")


def share(mails: Iterable[tuple[str, bytes]], verdicts: tuple[str, ...] = FLAGGED) -> float:
    names = [judge_mail(raw).name for _, raw in mails]
    return sum(name in verdicts for name in names) / len(names)


@pytest.mark.parametrize("half", HALVES)
def test_traps_of_many_kinds_are_flagged(half: str):
    assert share(lures(half, is_marked=True)) >= 0.9
    assert share(lures(half, is_marked=False)) >= 0.85


@pytest.mark.parametrize("half", HALVES)
def test_newsletters_and_notices_are_not_flagged(half: str):
    assert share(hard_ham(half), (*FLAGGED, "spam")) <= 0.05


@pytest.mark.parametrize(
    ("half", "least"), [*((half, 0.85) for half in (*HALVES, "late", "fresh_open")), ("fresh_held", 0.8)]
)
def test_messy_traps_are_flagged_and_messy_ordinary_mails_are_not(half: str, least: float):
    assert share(messy_lures(half)) >= least
    assert share(messy_ham(half), (*FLAGGED, "spam")) <= 0.05


@pytest.mark.parametrize("half", HALVES)
def test_mails_of_many_structures_are_told_apart(half: str):
    assert share(structured("lures", half)) >= 0.85
    assert share(structured("ham", half), (*FLAGGED, "spam")) <= 0.05


LINE = b"From a@b.example Tue Mar 11 09:30:00 2025\n"


def box(count: int, *, lines: int = 20) -> bytes:
    head = LINE + b"From: a@b.example\nTo: c@d.example\nSubject: s\n\n"
    return (head + b"The minutes of the meeting.\n" * lines + b"\n") * count


MOST_GROWTH = 10  # for four times the size; quadratic work would take sixteen times as long


def test_splitting_an_mbox_grows_with_its_size():
    boxes = [box(count) for count in (4_000, 16_000)]
    assert times_as_long([lambda raw=raw: split_mails(raw) for raw in boxes], most=MOST_GROWTH) < MOST_GROWTH


def test_examining_an_mbox_grows_with_its_size():
    def examine(raw: bytes) -> None:
        list(inspect(io.BytesIO(raw), source="a.mbox"))

    examine(box(5))
    boxes = [box(count) for count in (50, 200)]
    assert times_as_long([lambda raw=raw: examine(raw) for raw in boxes], most=MOST_GROWTH) < MOST_GROWTH


def test_every_mail_of_a_large_mbox_is_read_with_progress():
    items = list(inspect(io.BytesIO(box(300)), source="a.mbox"))
    assert items[-1] == next(item for item in items if isinstance(item, Coverage))
    assert (items[-1].understood, items[-1].total) == (300, 300)
    assert [item.text for item in items if isinstance(item, Progress)][:3] == [
        "reading a.mbox", "mail 1", "mail 21",
    ]  # fmt: skip


def test_lines_are_those_of_the_file():
    numbers = [line for line, _ in split_mails(b"\n\n" + box(3))]
    assert numbers == [3, 29, 55]


class _Stopping(io.BytesIO):
    """A file of which reading ends early, as when the job's time is used up."""

    def read(self, size: int | None = -1, /) -> bytes:
        return b"" if self.tell() >= 1_500_000 else super().read(size)


def test_mails_are_examined_while_an_mbox_is_read():
    items = list(inspect(_Stopping(box(100, lines=1_000)), source="a.mbox"))
    [coverage] = [item for item in items if isinstance(item, Coverage)]
    assert 40 < coverage.understood == coverage.total < 100


def test_a_from_line_at_the_end_of_a_piece_is_found():
    one = box(1)
    for shift in range(0, len(LINE) + 40, 7):
        padded = one[:-1] + b"x" * (PIECE_BYTES - len(one) - shift) + b"\n\n"
        assert len(split_mails(padded + one)) == 2
