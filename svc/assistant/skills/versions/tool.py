"""Is this version of a package in this range: yes or no, and each comparison that led there. Pure.

The versions that are asked about and the ranges come out of one text: a question, an advisory, or an advisory with the
question beside it. Forms of ranges: ``versions_ranges.py``, ``versions_json.py``; orders: ``versions_order.py``.
Kinds: ``version_affected`` with package (str), version (str), range (str, as it stands), read_as (str, in signs),
is_affected (bool or null where the versions cannot be compared), place (str), rules (str), is_place_guessed (bool),
comparisons (list of str), reading (str: how words were taken, or ""), doubts (list of str).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from svc.assistant.findings import Confidence, Evidence, Gap, Progress, Severity, ToolEvent
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.versions.advisories import ranges_in_json
from svc.assistant.skills.versions.order import (
    GENERIC,
    NAMES,
    compare,
    others_disagree,
    place_by_look,
    place_named,
    place_of,
)
from svc.assistant.skills.versions.ranges import VERSION, Range, excluded_spans, ranges_in

MAX_TEXT_CHARS = 200_000
MAX_ASKED = 50
MAX_PAIRS = 1_000
_PURL = re.compile(r"\bpkg:([a-z.]+)/(\S+?)@([\w.+~:-]+)")
_LONG_WORD = re.compile(r"\S{300,}")  # no version has as many characters, and no range in signs
_NAMED = re.compile(r"\b(?:CVE|CWE|GHSA|RHSA|DSA|USN|TEMP)-[\w-]+", re.IGNORECASE)
_AT = re.compile(r"(?<![\w@/])(@?[\w.-]+(?:/[\w.-]+)*)@(v?\d[\w.+~:-]*)")
_PINNED = re.compile(r"(?<![\w.-])([A-Za-z][\w.-]*)(?:\[[\w,]+\])?\s?={2,3}\s?(v?\d[\w.+!-]*)")
_COORDINATE = re.compile(r"(?<![\w.:/-])([\w.-]+:[\w.-]+):(v?\d[\w.-]*)")
_NAME = r"(@?[A-Za-z][\w+-]*(?:[./:][\w+-]+)*)"
_OF = re.compile(rf"\b(?:version|release)\s+(v?\d[\w.+~:-]*)\s+of\s+(?:the\s+)?(?:package\s+)?{_NAME}", re.IGNORECASE)
_BEHIND = re.compile(
    rf"{_NAME}[\s/:,(]{{1,3}}(?:(?:package|library|module|in|at|with|is|on|running|our)\s+)*"
    r"(?:versions?|release|ver\.?|v\.?)?\s*$",
    re.IGNORECASE,
)
_NO_NAMES = frozenset(
    [
        "is",
        "are",
        "version",
        "versions",
        "release",
        "by",
        "the",
        "a",
        "an",
        "of",
        "and",
        "or",
        "in",
        "affected",
        "vulnerable",
        "if",
        "my",
        "our",
        "we",
        "have",
        "run",
        "running",
        "use",
        "using",
        "does",
        "do",
        "this",
        "range",
        "before",
        "through",
        "from",
        "to",
        "for",
        "with",
        "at",
        "on",
        "package",
        "library",
    ]
)


class _Asked(msgspec.Struct, frozen=True):
    """A version that is asked about; ``package`` and ``place`` where the text names them."""

    version: str
    package: str = ""
    place: str | None = None


def compare_ranges(text: str, /, *, source: str, question: str = "") -> Iterator[ToolEvent]:
    """Each version that is asked about against each range that may be for it."""
    yield Progress(text=f"looking for versions and ranges in {source}")
    ranges, plain = ranges_in_json(text[:MAX_TEXT_CHARS])
    plain, question = _readable(plain), _readable(question[:MAX_TEXT_CHARS])
    ranges += ranges_in(_PURL.sub(lambda m: " " * len(m[0]), plain))
    is_beside = bool(question) and question.strip() not in text
    asked = _asked(question if is_beside else plain)
    if not asked and is_beside:
        asked = _asked(plain)
    yield Progress(text=f"versions: {len(asked):,}, ranges: {len(ranges):,}")
    if len(text) > MAX_TEXT_CHARS:
        yield Gap(text=f"only the first {MAX_TEXT_CHARS:,} characters were looked at")
    if not ranges:
        yield Gap(text="no range of versions was found, such as “>=2.0,<2.15”, “before 1.2.3” or an advisory in JSON")
        return
    if not asked:
        yield Gap(text="no version to compare was found, such as “log4j-core 2.14.1”")
        return
    place = place_named(question or plain) or place_named(plain)
    pairs = 0
    for one in asked:
        for candidate in _fitting(one, ranges):
            pairs += 1
            if pairs > MAX_PAIRS:
                yield Gap(text=f"only the first {MAX_PAIRS:,} comparisons were made")
                return
            yield _finding(one, candidate, place, source, text)


def _readable(text: str) -> str:
    """The text, with blanks for what only looks like versions: numbers of advisories, and words of no end."""
    for pattern in (_LONG_WORD, _NAMED):
        text = pattern.sub(lambda m: " " * len(m[0]), text)
    return text


def _asked(text: str) -> list[_Asked]:
    """The versions outside of ranges, with the names that stand by them."""
    found: dict[tuple[str, str], _Asked] = {}
    left = text
    for pattern, place in ((_PURL, None), (_PINNED, "pypi"), (_COORDINATE, "maven"), (_AT, "npm")):
        for match in pattern.finditer(left):
            groups = match.groups()
            package, version = groups[-2], groups[-1].rstrip(".,:")
            named = place_of(groups[0]) if pattern is _PURL else place
            found.setdefault((package, version), _Asked(version, package, named))
        left = pattern.sub(lambda m: " " * len(m[0]), left)
    spans = [(one.start, one.end) for one in ranges_in(left)] + excluded_spans(left)
    for match in _OF.finditer(left):
        if not any(start <= match.start(1) < end for start, end in spans):
            found.setdefault((match[2], match[1]), _Asked(match[1], match[2]))
            spans.append(match.span())
    for match in VERSION.finditer(left):
        version = match[0].rstrip(".")
        is_taken = any(start < match.end() and match.start() < end for start, end in spans)
        if is_taken or not _is_version(version, left, match.start()):
            continue
        package = _name_before(left[: match.start()])
        found.setdefault((package, version), _Asked(version, package, place_by_look(version)))
    return list(found.values())[:MAX_ASKED]


def _is_version(version: str, text: str, start: int) -> bool:
    """A dotted number, or a bare one that is called a version."""
    before = text[max(0, start - 12) : start].lower()
    return "." in version or "-" in version or re.search(r"\bversions?\s*$|\bv$", before) is not None


def _name_before(text: str) -> str:
    match = _BEHIND.search(text[-120:])
    if match is None:
        return ""
    return "" if match[1].lower() in _NO_NAMES else match[1]


def _fitting(asked: _Asked, ranges: list[Range]) -> list[Range]:
    """The ranges for the package where they name theirs, else all."""
    name = asked.package.lower().rsplit(":", 1)[-1].rsplit("/", 1)[-1]
    own = [one for one in ranges if name and name in one.package.lower()]
    return own or ranges


def _finding(asked: _Asked, candidate: Range, named: str | None, source: str, text: str) -> Finding:
    known = asked.place or candidate.place or named or place_by_look(asked.version)
    place = known or GENERIC
    comparisons, is_affected = _decide(asked.version, candidate, place)
    doubts = []
    if is_affected is None and place != GENERIC:
        doubts.append(f"{NAMES[place]} does not know a version written like this: compared as {NAMES[GENERIC]}")
        place = GENERIC
        comparisons, is_affected = _decide(asked.version, candidate, place)
    bounds = [bound for bounds in candidate.alternatives for bound in bounds]
    if place == GENERIC:
        for bound in bounds:
            for other in others_disagree(asked.version, bound.version):
                doubts.append(f"by the rules of {other}, {asked.version} and {bound.version} stand in another order")
    words = {True: "affected", False: "not affected", None: "cannot be compared"}
    line = text.count("\n", 0, candidate.start) + 1 if 0 <= candidate.start < len(text) else None
    return Finding(
        kind="version_affected",
        title=f"{asked.package or 'version'} {asked.version}: {words[is_affected]} by {candidate.text}"[:300],
        severity=Severity.MEDIUM if is_affected else Severity.INFO,
        confidence=Confidence.MEDIUM if doubts or candidate.reading else Confidence.HIGH,
        why="; ".join(comparisons),
        evidence=(Evidence(source=source, excerpt=candidate.text[:300], line=line),),
        attributes={
            "package": asked.package or candidate.package,
            "version": asked.version,
            "range": candidate.text[:300],
            "read_as": candidate.shown()[:500],
            "is_affected": is_affected,
            "place": place,
            "rules": NAMES[place],
            "is_place_guessed": known is None,
            "comparisons": [*comparisons[:40]],
            "reading": candidate.reading,
            "doubts": [*dict.fromkeys(doubts)],
        },
    )


def _decide(version: str, candidate: Range, place: str) -> tuple[list[str], bool | None]:
    """Every comparison in words, and whether any alternative holds whole."""
    shown: list[str] = []
    outcomes: list[bool | None] = []
    for bounds in candidate.alternatives:
        results = [bound.holds(place, version) for bound in bounds]
        for bound, result in zip(bounds, results, strict=True):
            shown.append(
                f"{version} {_sign(place, version, bound.version)} {bound.version} ({bound.operator}: {_word(result)})"
            )
        outcomes.append(None if None in results and False not in results else all(results))
    if True in outcomes:
        return shown, True
    return shown, None if None in outcomes else False


def _sign(place: str, left: str, right: str) -> str:
    return {-1: "<", 0: "=", 1: ">", None: "?"}[compare(place, left, right)]


def _word(result: bool | None) -> str:  # noqa: FBT001
    return "unknown" if result is None else "holds" if result else "does not hold"
