"""Long logs need little memory: wide text comes line by line, evidence is kept without what rules read."""

import io
import random

import pytest

from svc.assistant.log_readers.json_objects import Skipped, read_objects
from svc.assistant.log_readers.lines import Lines, Places, wide_lines
from svc.assistant.log_readers.timestamps import Stamps
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.network_activity import NetworkActivity

ALPHABET = "ab\r\u00e9\u4e2d\U0001f600 "


def text_of(seed: int) -> str:
    draw = random.Random(seed)
    return "\n".join("".join(draw.choices(ALPHABET, k=draw.choice((0, 1, 7, 300)))) for _ in range(900))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("seed", [pytest.param(1, id="open"), pytest.param(2, id="held")])
def test_lines_in_utf_16_are_those_of_the_whole_text(seed: int, encoding: str, monkeypatch):
    monkeypatch.setattr("svc.assistant.log_readers.lines._WIDE_PIECE_BYTES", 1_001)  # also within a character
    text = text_of(seed)
    content = text.encode(encoding) if encoding == "utf-16" else b"\xfe\xff" + text.encode(encoding)
    found = list(wide_lines(io.BytesIO(content)))
    assert [line for line, _, _ in found] == text.split("\n")[: len(found)]
    assert len(found) >= text.count("\n")
    read = list(Lines(io.BytesIO(content)))
    assert [line for *_, line in read] == [line.rstrip("\r") for line in text.split("\n") if line.strip()]
    places = [content[at:].decode(encoding if encoding != "utf-16" else "utf-16-le")[:1] for _, at, _ in read[:50]]
    assert places == [line[:1] for *_, line in read[:50]]


def test_a_long_line_in_utf_16_is_cut_and_said_so():
    lines = Lines(io.BytesIO(("a\n" + "b" * 200_000 + "\nc\n").encode("utf-16")))
    assert [len(line) for *_, line in lines] == [1, 65_536, 1]
    assert "1 lines are longer than 65,536 bytes (the first is line 2)" in next(iter(lines.gaps("x"))).text


@pytest.mark.parametrize("is_by_line", [True, False])
def test_objects_in_utf_16_are_those_of_the_text(is_by_line: bool):
    rows = [f'{{"n": {at}, "t": "\U0001f600{"x" * (at % 50)}"}}' for at in range(5_000)]
    text = "\n".join(rows) if is_by_line else "[\n" + ",\n".join(rows) + "\n]"
    skipped = Skipped()
    found = [value["n"] for _, value in read_objects(io.BytesIO(text.encode("utf-16")), skipped)]
    assert found == list(range(5_000))
    assert list(skipped.gaps("x")) == []


def test_places_are_counted():
    places = Places()
    for number in (7, 9):
        places.append(number)
    assert (places.count, places.first) == (2, 7)


STAMPS = ("Nov 20 03:12:45", "Nov  2 03:12:45", "Dec 31 23:59:59", "Jan  1 00:00:00", "Nov 20 03:12:45.5", "Jun 30 1:1")
RESTS = (" web sshd[1]: x", " 2026 web", " 2026", "", "x", " 10.0.0.1 web", ".25 web", "\tweb")


@pytest.mark.parametrize("seed", [pytest.param(3, id="open"), pytest.param(4, id="held")])
def test_times_are_the_same_whichever_line_precedes(seed: int, monkeypatch):
    draw = random.Random(seed)
    lines = [draw.choice(STAMPS) + draw.choice(RESTS) for _ in range(3_000)]
    lines = [line for line in lines for _ in range(draw.choice((1, 1, 3)))]
    quick = Stamps()
    found = [quick.read(line) for line in lines]
    slow = Stamps()
    monkeypatch.setattr("svc.assistant.log_readers.timestamps._BSD_CHARS", 0)  # nothing is remembered
    assert found == [slow.read(line) for line in lines]


def connection(number: int) -> Event:
    return Event(
        number=number, offset=None, time=f"2026-11-20T03:12:{number % 60:02}Z", product="zeek", service="conn",
        category="firewall", host="", event_id=None, excerpt=f"line {number}",
        fields={"SourceIp": f"10.0.0.{number % 9}", "DestinationIp": f"198.51.100.{number % 250}", "Outcome": "failure",
                "DestinationPort": str(number % 999)},
    )  # fmt: skip


def test_evidence_of_connections_is_kept_without_fields():
    activity = NetworkActivity()
    for number in range(2_000):
        activity.add(connection(number))
    kept = [event for pair in activity._pairs.values() for event in pair.span.events]
    kept += [event for sweep in activity._sweeps.values() for event in sweep.span.events]
    assert len(kept) > 2_000
    assert not any(event.fields for event in kept)
