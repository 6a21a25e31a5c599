"""Look for values in a file: lines of text, events of an event log, packets of a capture, decoded parts of a mail.

A tool like those of the skills: it runs in a worker process, and hostile input ends the process, not the service. Its
findings answer a further question and are not stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import BinaryIO

import msgspec

from svc.assistant.analyst.questions.things import mention_pattern
from svc.assistant.findings import Coverage, Evidence, Facts, Finding, Gap, Progress, ToolEvent
from svc.assistant.log_readers.evtx import MAGIC as EVTX_MAGIC
from svc.assistant.log_readers.lines import split_lines
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.tool import read_events
from svc.assistant.skills.mail.message import parse_mail
from svc.assistant.skills.pcap.capture_file import read_records
from svc.assistant.skills.pcap.fragments import Fragments
from svc.assistant.skills.pcap.packets import Packet, read_packet

TOOL = f"{__name__}:inspect"
MAX_TEXT_BYTES = 256 << 20
MAX_MAIL_BYTES = 32 << 20
KEPT = 5  # places shown
NAME_LINE = "\n"  # between names in the option
_PCAP = (b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1", b"\x0a\x0d\x0d\x0a")
_MAIL = re.compile(rb"\A(?:[A-Za-z][A-Za-z0-9-]{1,40}:[^\n]{0,998}\r?\n(?:[ \t][^\n]{0,998}\r?\n)*+){3}")
_RECORDS = re.compile(rb"\A\s*+[\[{]")


class Mentions(Facts, frozen=True, kw_only=True, tag="mentions"):
    """In how much of an input a value is: as a word of its own, and within longer words."""

    name: str
    unit: str
    count: int
    within: int
    total: int
    first: str | None
    last: str | None


class _Hits(msgspec.Struct):
    name: str
    word: re.Pattern[str]
    count: int = 0
    within: int = 0
    first: str | None = None
    last: str | None = None
    places: list[Evidence] = []
    loose: list[Evidence] = []

    def add(self, text: str, evidence: Evidence, time: str) -> None:
        number = evidence.line or evidence.record
        if self.word.search(text) or (self.name.startswith("#") and self.name == f"#{number}"):
            self.count += 1
            self.first = self.first or time or None
            self.last = time or self.last
            if len(self.places) < KEPT:
                self.places.append(evidence)
        elif self.name.lower() in text.lower():
            self.within += 1
            if len(self.loose) < KEPT:
                self.loose.append(evidence)


_Unit = tuple[str, Evidence, str]
"""A text, its place, and its time if it has one."""


def inspect(content: BinaryIO, /, *, source: str, names: str) -> Iterator[ToolEvent]:
    """Yield one finding for each of the names, which are separated by line breaks, then the coverage."""
    yield Progress(text=f"searching {source}")
    unit, items = units(content, source)
    hits = [_Hits(name, mention_pattern(name), places=[], loose=[]) for name in names.split(NAME_LINE)]
    total = 0
    for item in items:
        if isinstance(item, Gap):
            yield item
            continue
        total += 1
        for one in hits:
            one.add(*item)
    for one in hits:
        facts = Mentions(
            name=one.name, unit=unit, count=one.count, within=one.within, total=total, first=one.first, last=one.last
        )
        yield Finding(title=one.name, facts=facts, evidence=tuple(one.places or one.loose))
    yield Coverage(
        read_as=f"{unit}s", unit=unit, understood=total, total=total, looked_for=", ".join(names.split("\n"))
    )


def units(content: BinaryIO, source: str) -> tuple[str, Iterator[_Unit | Gap]]:
    """The unit of the file, and its texts."""
    head = content.read(16_384)
    content.seek(0)
    if head.startswith(EVTX_MAGIC):
        return "event", _events(content, source)
    if head.startswith(_PCAP):
        return "packet", _packets(content, source)
    if _MAIL.match(head):
        return "line", _mail(content, source)
    if _RECORDS.match(head) and head.count(b"\n") < 2:  # one document: its lines are no records
        return "record", _events(content, source)
    return "line", lines_of_file(content, source)


def _events(content: BinaryIO, source: str) -> Iterator[_Unit | Gap]:
    for event in read_events(content):
        if isinstance(event, Event):
            text = "\n".join([event.excerpt, event.time, event.host, str(event.event_id), *event.fields.values()])
            yield text, Evidence(source=source, record=event.number, excerpt=event.excerpt), event.time
        else:
            yield event


def _packets(content: BinaryIO, source: str) -> Iterator[_Unit | Gap]:
    fragments = Fragments()
    for number, record in enumerate(read_records(content), start=1):
        if isinstance(record, Gap):
            yield record
            continue
        packet = read_packet(record, fragments)
        if isinstance(packet, Packet):
            ends = [str(ip_address(packet.source)), str(ip_address(packet.target))]
            excerpt = f"{ends[0]}:{packet.source_port} → {ends[1]}:{packet.target_port}"
            text = "\n".join([*ends, excerpt, _readable(packet.payload)])
        elif packet is not None:
            text = excerpt = f"ARP {ip_address(packet.address)} {packet.hardware.hex(':')}"
        else:
            text, excerpt = _readable(record.data), "a frame that is no IP packet"
        time = f"{datetime.fromtimestamp(record.seconds, UTC):%Y-%m-%dT%H:%M:%S}Z" if record.seconds else ""
        yield text, Evidence(source=source, record=number, excerpt=excerpt), time


def _readable(payload: bytes) -> str:
    """The payload as text; a name of the DNS also with dots between its labels."""
    text = payload.decode("latin-1")
    labels = re.sub(r"[\x01-\x3f](?=[\w-])", ".", text)
    return f"{text}\n{labels}\n{re.sub(r'[^ -~]+', ' ', labels)}"


def _mail(content: BinaryIO, source: str) -> Iterator[_Unit | Gap]:
    """The mail's lines as they are, then the decoded lines of its parts that are not in it as they are."""
    raw = content.read(MAX_MAIL_BYTES)
    lines = split_lines(raw.decode("utf-8", "replace"))
    for number, line in enumerate(lines, start=1):
        yield line, Evidence(source=source, line=number, excerpt=line), ""
    known = set(lines)
    mail = parse_mail(raw)
    decoded = [attachment.data.decode("utf-8", "replace") for attachment in mail.attachments]
    for text in (*(value for _, value in mail.fields), mail.plain, mail.html, *decoded):
        for line in split_lines(text):
            if line not in known:
                yield line, Evidence(source=f"{source}, decoded part", excerpt=line), ""


def lines_of_file(content: BinaryIO, source: str) -> Iterator[_Unit | Gap]:
    """The lines of a text; those of a binary file hold whatever is between two line breaks."""
    mark = content.read(2)
    content.seek(0)
    if mark in (b"\xff\xfe", b"\xfe\xff"):
        wide = content.read(MAX_TEXT_BYTES).decode("utf-16", "replace")
        for number, line in enumerate(split_lines(wide), start=1):
            yield line, Evidence(source=source, line=number, excerpt=line), ""
        return
    left = MAX_TEXT_BYTES
    number = 0
    while left > 0 and (raw := content.readline(1 << 20)):
        left -= len(raw)
        number += 1
        text = raw.decode("utf-8", "replace").rstrip("\r\n")
        yield text.replace("\0", ""), Evidence(source=source, line=number, excerpt=text[:2_000]), ""
    if left <= 0:
        yield Gap(text=f"only the first {MAX_TEXT_BYTES >> 20} MiB were searched")
