"""Look for many listed indicators in one file of any kind: its records, its lines, its decoded parts, and itself.

A tool like those of the skills, which runs in a worker process; ``follow_ups/listed.py`` gives it the indicators.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import BinaryIO

import msgspec

from svc.assistant.analyst.follow_ups.search import lines_of_file, units
from svc.assistant.file_types.identify import HEAD_BYTES, identify
from svc.assistant.file_types.signatures import starts_as
from svc.assistant.findings import Coverage, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.log_readers.timestamps import Stamps
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.tool import read_events
from svc.assistant.skills.indicators.intel.tool import Wanted
from svc.assistant.skills.indicators.intel.values import Listed
from svc.assistant.skills.indicators.search.findings import IndicatorMatch, IndicatorSearch, MatchPlace
from svc.assistant.skills.indicators.search.matcher import EXACT, HOST_ONLY, Hit, Matcher
from svc.assistant.skills.indicators.tables import type_name
from svc.untrusted.defang import defang

BATCH = 256  # records that are searched together; most have no match
PROGRESS_EVERY = 100_000
KEPT = 50  # places of one indicator
EXCERPT_CHARS = 400
BLOCK = 1 << 20
MAX_PART_BYTES = 32 << 20
MAX_PARTS_BYTES = 128 << 20
MAX_PARTS = 2_000
_PACKED = frozenset(
    ["gzip", "bzip2", "xz", "zst", "sevenzip", "rar", "cab", "png", "jpeg", "gif", "webp", "parquet", "prefetch"]
)
"""Labels of files whose stored bytes show nothing of their content."""
_STREAM = re.compile(rb"stream\r?\n")
_TAG = re.compile(r"<[^<>]{0,2000}>")
_HASHES = ("md5", "sha1", "sha256", "sha512")

_Unit = tuple[str, Evidence, str]


class _FoundMatch(msgspec.Struct):
    """Where one indicator is in the input."""

    how: str
    count: int = 0
    first: str = ""
    last: str = ""
    last_line: int | None = None
    places: list[tuple[Evidence, str, str]] = []


class _SearchLedger:
    """The matches in one input."""

    def __init__(self, matcher: Matcher, source: str) -> None:
        self.matcher, self.source = matcher, source
        self.found: dict[int, _FoundMatch] = {}
        self.searched = 0
        self._stamps = Stamps()

    def search(self, batch: Iterable[_Unit]) -> None:
        """Search records together, and one by one only if anything is in them."""
        records = list(batch)
        self.searched += len(records)
        if not self.matcher.find("\n".join(text for text, _, _ in records)):
            return
        for text, evidence, time in records:
            for hit in self.matcher.find(text):
                self.add(hit, evidence, time or self._stamp(text))

    def _stamp(self, text: str) -> str:
        stamp, _ = self._stamps.read(text)
        return stamp.text if stamp is not None else ""

    def add(self, hit: Hit, evidence: Evidence, time: str) -> None:
        index, matched, how = hit
        known = self.found.get(index)
        if known is None or (known.how == HOST_ONLY and how != HOST_ONLY):
            known = self.found[index] = _FoundMatch(how, places=[])
        elif known.how != HOST_ONLY and how == HOST_ONLY:
            return
        known.how = EXACT if how == EXACT else known.how
        known.count += 1
        known.last_line = evidence.line or known.last_line
        known.first, known.last = known.first or time, time or known.last
        if len(known.places) < KEPT:
            known.places.append((evidence, matched, time))


def inspect(content: BinaryIO, /, *, source: str, wanted: str = "", is_opened: str = "") -> Iterator[ToolEvent]:
    """Yield a match for each indicator that the input contains, then what was searched.

    Args:
        content: The input, decompressed.
        source: Its name.
        wanted: The indicators as JSON (``Wanted``).
        is_opened: ``yes`` for an archive whose members are inputs of their own.
    """
    yield Progress(text=f"searching {source}")
    request = msgspec.json.decode(wanted, type=Wanted) if wanted else Wanted([])
    if not request.values:
        yield Gap(text="no list with indicators was given")
        yield Coverage(read_as="file", unit="byte", understood=0, total=0, looked_for="listed indicators")
        return
    matcher = Matcher([Listed(*one) for one in request.values])
    ledger = _SearchLedger(matcher, source)
    _search_itself(content, ledger)
    unit, items = ("file", iter(())) if is_opened else _texts(content, source)
    gaps = 0
    while batch := list(islice(items, BATCH)):
        for item in batch:
            if isinstance(item, Gap):
                gaps += 1
                yield item
        before = ledger.searched
        ledger.search(item for item in batch if not isinstance(item, Gap))
        if before // PROGRESS_EVERY != ledger.searched // PROGRESS_EVERY:
            yield Progress(text=f"searched {ledger.searched:,} {unit}s of {source}")
    if is_opened:
        ledger.searched = 1
    elif unit == "record":
        ledger.searched = max(ledger.searched, _search_rest(content, ledger))
    elif unit in _BINARY_UNITS and not ledger.searched:
        _search_rest(content, ledger)
        gaps += 1
        yield Gap(text=f"no {unit} of it could be read; only its bytes were searched as stored", in_headline=True)
    elif unit != "file" and not ledger.searched:
        unit, ledger.searched = "line", _search_rest(content, ledger)
    elif unit == "file" and ledger.found:
        ledger.searched = 1  # the file as such
    if not ledger.searched and not gaps:
        yield Gap(text="the file is empty")
    _add_times(content, ledger)
    yield from _findings(ledger, request, unit)
    yield Coverage(
        read_as=f"{unit}s",
        unit=unit,
        understood=ledger.searched,
        total=ledger.searched + gaps,
        looked_for=f"{len(request.values):,} listed indicators",
        not_covered="values that are encrypted, encoded or written in another form are not found",
    )


_BINARY_UNITS = frozenset(["event", "packet"])
"""Units of formats whose values are not stored as text, so that searching the bytes proves nothing."""


def _search_rest(content: BinaryIO, ledger: _SearchLedger) -> int:
    """Search the stored text, too: a reader may leave out records, or know nothing of the form; the pieces searched."""
    known, pieces = set(ledger.found), 0
    content.seek(0)
    for item in lines_of_file(content, ledger.source):
        if isinstance(item, Gap):
            continue
        pieces += 1
        text, evidence, _ = item
        for hit in ledger.matcher.find(text):
            if hit[0] not in known:
                ledger.add(hit, evidence, "")
    return pieces


def _search_itself(content: BinaryIO, ledger: _SearchLedger) -> None:
    """Compare the file's own name and hashes."""
    sums = [hashlib.new(name, usedforsecurity=False) for name in _HASHES]
    content.seek(0)
    while block := content.read(BLOCK):
        for one in sums:
            one.update(block)
    content.seek(0)
    texts = [("its name", ledger.source.rpartition("/")[2])]
    texts += [(f"its {name.upper()}", one.hexdigest()) for name, one in zip(_HASHES, sums, strict=True)]
    for what, text in texts:
        for index, matched, _ in ledger.matcher.find(text):
            is_value = ledger.matcher.listed[index].type in (*_HASHES, "file_name")
            if is_value:
                ledger.add((index, matched, "the file itself"), Evidence(source=ledger.source, excerpt=what), "")


def _texts(content: BinaryIO, source: str) -> tuple[str, Iterator[_Unit | Gap]]:
    head = content.read(HEAD_BYTES)
    content.seek(0)
    if starts_as(head, "zip"):
        return "part", _parts(content, source)
    if starts_as(head, "pdf"):
        return "part", _pdf(content, source)
    if identify(head)[1] in _PACKED:
        text = "its content is compressed; only its name and hashes were compared"
        return "file", iter([Gap(text=text, in_headline=True)])
    return units(content, source)


def _parts(content: BinaryIO, source: str) -> Iterator[_Unit | Gap]:
    """The parts of an Office document, or the members of an archive that is not opened otherwise."""
    left = MAX_PARTS_BYTES
    try:
        with zipfile.ZipFile(content) as archive:
            for info in archive.infolist()[:MAX_PARTS]:
                if info.file_size > min(left, MAX_PART_BYTES) or info.flag_bits & 1:
                    yield Gap(
                        text=f"part {info.filename[:120]} is encrypted or too large; not searched", in_headline=True
                    )
                    continue
                data = archive.read(info)
                left -= len(data)
                text = data.decode("utf-8", "replace").replace("\0", "")
                text = f"{text}\n{_TAG.sub('', text)}" if data.lstrip()[:1] == b"<" else text
                excerpt = f"part {info.filename[:200]}"
                yield text, Evidence(source=source, excerpt=excerpt), ""
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError, OSError) as error:
        yield Gap(text=f"its parts cannot be read: {str(error)[:200]}", in_headline=True)


def _pdf(content: BinaryIO, source: str) -> Iterator[_Unit | Gap]:
    """The objects of a PDF as they are, and its compressed streams."""
    data = content.read(MAX_PARTS_BYTES)
    yield data.decode("latin-1"), Evidence(source=source, excerpt="its objects"), ""
    left = MAX_PARTS_BYTES
    for number, match in enumerate(_STREAM.finditer(data), start=1):
        if number > MAX_PARTS or left <= 0:
            break
        unpacker = zlib.decompressobj()
        try:
            plain = unpacker.decompress(data[match.end() : match.end() + MAX_PART_BYTES], min(left, MAX_PART_BYTES))
        except zlib.error:
            continue
        left -= len(plain)
        yield plain.decode("latin-1"), Evidence(source=source, excerpt=f"stream {number:,}"), ""
    yield Gap(text="the text of its pages was searched only as it is stored, which can split words", in_headline=True)


def _add_times(content: BinaryIO, ledger: _SearchLedger) -> None:
    """The times of matching lines, by the reader of the log: a column or a field can hold them."""
    wanted = {
        evidence.line for one in ledger.found.values() for evidence, _, time in one.places if evidence.line and not time
    }
    content.seek(0)
    start = content.read(BLOCK).lstrip()
    content.seek(0)
    if not wanted or start[:1] == b"[" or (start[:1] == b"{" and b"}\n" not in start and b"}\r\n" not in start):
        return  # positions in a document are no lines
    wanted |= {one.last_line for one in ledger.found.values() if one.last_line}
    last = max(wanted)
    times: dict[int, str] = {}
    for event in read_events(content):
        if isinstance(event, Event):
            if event.number in wanted:
                times[event.number] = event.time
            if event.number > last:
                break
    for one in ledger.found.values():
        one.places = [
            (evidence, matched, time or times.get(evidence.line or 0, "")) for evidence, matched, time in one.places
        ]
        known = [time for _, _, time in one.places if time]
        if known and not one.first:
            one.first = known[0]
            one.last = times.get(one.last_line or 0, "") or known[-1]


def _findings(
    ledger: _SearchLedger, request: Wanted, unit: str
) -> Iterator[Finding[IndicatorMatch] | Finding[IndicatorSearch]]:
    for index, one in sorted(ledger.found.items()):
        yield _match(ledger.matcher.listed[index], one, ledger.source, unit)
    counts = Counter(kind for kind, _ in request.values)
    found = sum(one.how != HOST_ONLY for one in ledger.found.values())
    yield Finding(
        title=f"{found:,} of {len(request.values):,} indicators found in {ledger.searched:,} {unit}s",
        evidence=(Evidence(source=ledger.source, excerpt=""),),
        facts=IndicatorSearch(
            input=ledger.source,
            indicators=len(request.values),
            found=found,
            unit=unit,
            searched=ledger.searched,
            by_type=[f"{count:,} {type_name(kind, count=count)}" for kind, count in counts.most_common()],
            unsearchable=request.unsearchable,
            unread=request.unread,
        ),
    )


def _match(listed: Listed, one: _FoundMatch, source: str, unit: str) -> Finding[IndicatorMatch]:
    safe = defang(listed.value, listed.type)
    is_partial = one.how == HOST_ONLY
    evidence = tuple(place for place, _, _ in one.places)
    return Finding(
        title=f"host of a listed URL: {safe}" if is_partial else f"listed {type_name(listed.type, count=1)} {safe}",
        severity=Severity.LOW if is_partial else Severity.MEDIUM,
        why="the list names it; whether it is malicious here is not known",
        evidence=tuple(msgspec.structs.replace(place, excerpt=place.excerpt[:EXCERPT_CHARS]) for place in evidence),
        facts=IndicatorMatch(
            type=listed.type,
            value=listed.value,
            defanged=safe,
            input=source,
            how=one.how,
            is_partial=is_partial,
            unit=unit,
            count=one.count,
            first=one.first,
            last=one.last,
            places=[MatchPlace(_place(place), time, matched[:200]) for place, matched, time in one.places],
        ),
    )


def _place(evidence: Evidence) -> str:
    if evidence.line is not None:
        return f"line {evidence.line:,}"
    return f"record {evidence.record:,}" if evidence.record is not None else evidence.excerpt[:120] or "decoded part"
