"""Which kind of hash something is, by its form alone: candidates, likeliest first, and the hashes of nothing. Pure.

A form is no proof: MD5 and NTLM look alike, and the finding says so. Facts: ``skills/hash_types/hashes.toml``.
Kinds: ``hash_kind`` with ``value`` (str), ``candidates`` (list of str, likeliest first), ``notes`` (list of str, one a
candidate), ``known`` (str or null: what this very value is), ``is_password`` (bool: the likeliest, or a close second,
stores a password), ``table_version``, ``table_date`` (str).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import cache

import msgspec

from svc.assistant.findings import Confidence, Evidence, Gap, Progress, Severity, ToolEvent
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.knowledge import load

MAX_FOUND = 200  # more tokens than that are a table of hashes: the first are enough to know the kind
MAX_TOKEN_CHARS = 4_096  # a roasted Kerberos ticket has 2,000
_AMBIGUOUS_SHORT = 14  # characters; below it a token counts only where the text is nothing but the token
_STRIP = "\"'`<>()[],;?!"  # what stands around a token in a sentence; a full stop is tried both ways
_TECHNIQUE_IN_NOTE = re.compile(r"T\d{4}(?:\.\d{3})?")


class Form(msgspec.Struct, frozen=True):
    """How one kind of hash is written."""

    name: str
    pattern: str
    rank: int
    note: str
    is_password: bool = False


class Known(msgspec.Struct, frozen=True):
    """A value that means something by itself."""

    value: str
    what: str


class Hashes(msgspec.Struct, frozen=True):
    """``skills/hash_types/hashes.toml``."""

    source: str
    version: str
    date: date
    forms: list[Form]
    known: list[Known]


def identify(text: str, *, source: str) -> Iterator[ToolEvent]:
    """The hashes in a text, each with its candidates; one Gap where there are more than MAX_FOUND."""
    yield Progress(text=f"reading {source}")
    seen: set[str] = set()
    whole = text.strip()
    for number, line in enumerate(text.split("\n"), start=1):
        for token in line.split():
            value = token.strip(_STRIP)
            candidates = _candidates(value, is_alone=value == whole)
            if not candidates and value.endswith("."):
                value = value.rstrip(".")
                candidates = _candidates(value, is_alone=False)
            if value in seen or not candidates:
                continue
            if len(seen) >= MAX_FOUND:
                yield Gap(text=f"only the first {MAX_FOUND} different hashes were looked at")
                return
            seen.add(value)
            yield _finding(value, candidates, Evidence(source=source, excerpt=value, line=number))
    yield Progress(text=f"found {len(seen)} different hashes")


def _candidates(value: str, *, is_alone: bool) -> list[Form]:
    if not 8 <= len(value) <= MAX_TOKEN_CHARS or (len(value) < _AMBIGUOUS_SHORT and not is_alone):
        return []
    return sorted((form for form, pattern in _patterns() if pattern.fullmatch(value)), key=lambda form: form.rank)


@cache
def _table() -> Hashes:
    return load("hashes.toml", Hashes, __package__)


@cache
def _patterns() -> list[tuple[Form, re.Pattern[str]]]:
    return [(form, re.compile(form.pattern)) for form in _table().forms]


def _finding(value: str, candidates: list[Form], evidence: Evidence) -> Finding:
    table = _table()
    known = next((entry.what for entry in table.known if entry.value == value.lower()), None)
    likely = [form for form in candidates if form.rank <= 2]
    techniques = {found for form in candidates[:1] for found in _TECHNIQUE_IN_NOTE.findall(form.note)}
    names = [form.name for form in candidates]
    return Finding(
        kind="hash_kind",
        title=known or (f"{names[0]}" if len(names) == 1 else f"{names[0]}, or {' or '.join(names[1:])}"),
        severity=Severity.MEDIUM if candidates[0].is_password and known is None else Severity.INFO,
        confidence=Confidence.HIGH if known or len(candidates) == 1 else Confidence.MEDIUM,
        why=f"{len(value)} characters in the form of {names[0]}",
        evidence=(evidence,),
        techniques=tuple(sorted(techniques)),
        attributes={
            "value": value,
            "candidates": list(names),
            "notes": [form.note for form in candidates],
            "known": known,
            "is_password": any(form.is_password for form in likely),
            "table_version": table.version,
            "table_date": table.date.isoformat(),
        },
    )
