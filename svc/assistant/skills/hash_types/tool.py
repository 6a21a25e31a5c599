"""Identify hashes by their format alone: the types that each may be of, and the hashes of empty input.

A format is no proof: MD5 and NTLM look alike, and the finding lists both. Formats: ``hashes.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import cache

import msgspec

from svc.assistant.findings import Confidence, Coverage, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.knowledge import load
from svc.assistant.skills.hash_types.findings import HashCandidate, HashType

MAX_FOUND = 1_000_000  # different ones
MAX_TOKEN_CHARS = 4_096  # a Kerberos ticket from roasting has about 2,000
SHORT_CHARS = 14  # shorter tokens are often words or numbers: they count only if the input is nothing else
CLOSE_RANK = 2  # of a type that is as common, or nearly as common, as the most likely one
_PUNCTUATION = "\"'`<>()[],;?!"  # what surrounds a token in a sentence; a full stop may belong to the hash
_TECHNIQUE_IN_NOTE = re.compile(r"T\d{4}(?:\.\d{3})?")


class HashFormat(msgspec.Struct, frozen=True):
    """How one type of hash is written; the lower ``rank`` is the more common type of those that look alike."""

    name: str
    pattern: str
    rank: int
    note: str
    is_password: bool = False


class KnownHash(msgspec.Struct, frozen=True):
    """A value that means something by itself."""

    value: str
    what: str


class HashTable(msgspec.Struct, frozen=True):
    """``hashes.toml``."""

    source: str
    version: str
    date: date
    forms: list[HashFormat]
    known: list[KnownHash]


def inspect(content: str, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield a HashType for each different hash in ``content``, and a Gap if there are more than MAX_FOUND."""
    yield Progress(text=f"reading {source}")
    seen: set[str] = set()
    for number, value, formats in _hashes_in(content):
        if value in seen:
            continue
        seen.add(value)
        if len(seen) <= MAX_FOUND:
            yield _finding(value, formats, Evidence(source=source, excerpt=value, line=number))
    if len(seen) > MAX_FOUND:
        text = f"only the first {MAX_FOUND:,} of {len(seen):,} different hashes were examined"
        yield Gap(text=text, in_headline=True)
    if not seen:
        yield Gap(text="no hash of a known format was found")
    yield Progress(text=f"found {len(seen):,} different hashes")
    yield Coverage(
        read_as="text with hashes" if seen else "text without a hash of a known format",
        unit="hash",
        understood=min(len(seen), MAX_FOUND),
        total=len(seen),
        looked_for=f"{len(_table().forms)} formats of hashes",
        not_covered="the input of a hash, and whether it is known as malicious, are not shown by its format",
    )


def _hashes_in(content: str) -> Iterator[tuple[int, str, list[HashFormat]]]:
    """Yield the line, the value and the formats of each word in the format of a hash."""
    whole = content.strip()
    for number, line in enumerate(content.split("\n"), start=1):
        for token in line.split():
            value = token.strip(_PUNCTUATION)
            formats = _matching_formats(value, is_alone=value == whole)
            if not formats and value.endswith("."):
                value = value.rstrip(".")
                formats = _matching_formats(value, is_alone=False)
            if formats:
                yield number, value, formats


def _matching_formats(value: str, *, is_alone: bool) -> list[HashFormat]:
    """Return the formats that ``value`` is written in, most common first."""
    if not 8 <= len(value) <= MAX_TOKEN_CHARS or (len(value) < SHORT_CHARS and not is_alone):
        return []
    return sorted((known for known, pattern in _patterns() if pattern.fullmatch(value)), key=lambda known: known.rank)


@cache
def _table() -> HashTable:
    return load("hashes.toml", HashTable, __package__)


@cache
def _patterns() -> list[tuple[HashFormat, re.Pattern[str]]]:
    return [(known, re.compile(known.pattern)) for known in _table().forms]


def _finding(value: str, formats: list[HashFormat], evidence: Evidence) -> Finding[HashType]:
    table = _table()
    known = next((entry.what for entry in table.known if entry.value == value.lower()), None)
    techniques = set(_TECHNIQUE_IN_NOTE.findall(formats[0].note))
    return Finding(
        title=known or ", or ".join(filter(None, [formats[0].name, " or ".join(one.name for one in formats[1:])])),
        severity=Severity.MEDIUM if formats[0].is_password and known is None else Severity.INFO,
        confidence=Confidence.HIGH if known or len(formats) == 1 else Confidence.MEDIUM,
        why=f"{len(value)} characters in the format of {formats[0].name}",
        evidence=(evidence,),
        techniques=tuple(sorted(techniques)),
        facts=HashType(
            value=value,
            candidates=[HashCandidate(one.name, one.note) for one in formats],
            known=known,
            is_password=any(one.is_password for one in formats if one.rank <= CLOSE_RANK),
            table_version=table.version,
            table_date=table.date.isoformat(),
        ),
    )
