"""Decide whether a version of a package is in an affected range, and show each comparison that led there.

The versions in question and the ranges come from one text: a question, an advisory, or an advisory with the question
next to it. Ranges are parsed in ``ranges.py`` and ``advisories.py``, versions ordered in ``order.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from svc.assistant.file_types.text_shape import data_form, is_log
from svc.assistant.findings import Confidence, Coverage, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.skills.versions.advisories import ranges_in_json
from svc.assistant.skills.versions.findings import VersionAffected
from svc.assistant.skills.versions.order import (
    GENERIC,
    ORDER_NAMES,
    compare,
    ecosystem_by_format,
    ecosystem_named,
    ecosystem_of,
    others_disagree,
)
from svc.assistant.skills.versions.ranges import VERSION, Range, excluded_spans, ranges_in

MAX_TEXT_CHARS = 200_000
MAX_QUERIES = 50
MAX_PAIRS = 1_000
MAX_COMPARISONS = 40  # listed for one range
MAX_RANGE_CHARS = 300
MAX_READING_CHARS = 500
_PURL = re.compile(r"\bpkg:([a-z.]+)/(\S{1,200}?)@([\w.+~:-]+)")
_LONG_WORD = re.compile(r"\S{300,}")  # longer than any version or range
_ADVISORY_ID = re.compile(r"\b(?:CVE|CWE|GHSA|RHSA|DSA|USN|TEMP)-[\w-]+", re.IGNORECASE)
_AT = re.compile(r"(?<![\w@/.-])(@?[\w.-]{1,100}(?:/[\w.-]{1,100}){0,8})@(v?\d[\w.+~:-]*)")
_PINNED = re.compile(r"(?<![\w.-])([A-Za-z][\w.-]*)(?:\[[\w,]+\])?\s?={2,3}\s?(v?\d[\w.+!-]*)")
_COORDINATE = re.compile(r"(?<![\w.:/-])([\w.-]+:[\w.-]+):(v?\d[\w.-]*)")
_NAME = r"(@?[A-Za-z][\w+-]{0,60}(?:[./:][\w+-]{1,60}){0,6})"
_VERSION_OF = re.compile(
    rf"\b(?:version|release)\s+(v?\d[\w.+~:-]*)\s+of\s+(?:the\s+)?(?:package\s+)?{_NAME}", re.IGNORECASE
)
_NAME_AT_END = re.compile(
    rf"{_NAME}[\s/:,(]{{1,3}}(?:(?:package|library|module|in|at|with|is|on|running|our)\s{{1,8}}){{0,6}}"
    r"(?:versions?|release|ver\.?|v\.?)?\s{0,8}$",
    re.IGNORECASE,
)
_NOT_A_NAME = re.compile(
    r"is|are|version|versions|release|by|the|a|an|of|and|or|in|affected|vulnerable|if|my|our|we|"
    r"have|run|running|use|using|does|do|this|range|before|through|from|to|for|with|at|on|package|library",
    re.IGNORECASE,
)


class VersionQuery(msgspec.Struct, frozen=True):
    """A version in question; ``package`` and ``ecosystem`` are set if the text names them."""

    version: str
    package: str = ""
    ecosystem: str | None = None


def inspect(content: str, /, *, source: str, question: str = "") -> Iterator[ToolEvent]:
    """Yield a VersionAffected for each version in question and each range that may apply to it."""
    yield Progress(text=f"looking for versions and ranges in {source}")
    form = data_form(content)
    if is_log(form) or form.startswith(("binary", "a file of another")):
        yield Gap(text=f"{form}, not a text with versions and ranges")
        yield _coverage(0, 0)
        return
    body = _without_fields(content) if form == "a mail" else content
    ranges, plain = ranges_in_json(body[:MAX_TEXT_CHARS])
    plain, question = _without_lookalikes(plain), _without_lookalikes(question[:MAX_TEXT_CHARS])
    ranges += ranges_in(_PURL.sub(_blank, plain))
    is_separate = bool(question) and question.strip() not in content
    queries = _queries(question if is_separate else plain)
    if not queries and is_separate:
        queries = _queries(plain)
    yield Progress(text=f"versions: {len(queries):,}, ranges: {len(ranges):,}")
    if len(content) > MAX_TEXT_CHARS:
        yield Gap(text=f"only the first {MAX_TEXT_CHARS:,} characters were examined")
    if not ranges:
        yield Gap(text="no version range was found, such as “>=2.0,<2.15”, “before 1.2.3” or an advisory in JSON")
    elif not queries:
        yield Gap(text="no version to compare was found, such as “log4j-core 2.14.1”")
    compared: set[VersionQuery] = set()
    named = ecosystem_named(question or plain) or ecosystem_named(plain)
    pairs = ((query, candidate) for query in queries for candidate in (_ranges_for(query, ranges) if ranges else ()))
    for number, (query, candidate) in enumerate(pairs):
        if number >= MAX_PAIRS:
            yield Gap(text=f"only the first {MAX_PAIRS:,} comparisons were made")
            break
        finding = _finding(query, candidate, named, source, content)
        if finding.facts.is_affected is not None:
            compared.add(query)
        yield finding
    yield _coverage(len(compared), len(queries))


def _coverage(compared: int, versions: int) -> Coverage:
    return Coverage(
        read_as="versions and affected ranges" if compared else "text without a version and a range to compare",
        unit="version",
        understood=compared,
        total=versions,
        looked_for="affected ranges in the given text",
        not_covered="advisories that are not in the text, and fixes that a distributor backported, are not known",
    )


def _without_fields(mail: str) -> str:
    """Blank the header fields of a mail, whose dates and IDs look like versions; positions stay valid."""
    end = mail.find("\n\n", len(mail) - len(mail.lstrip()))
    end = len(mail) if end < 0 else end
    return re.sub(r"[^\n]", " ", mail[:end]) + mail[end:]


def _blank(match: re.Match[str]) -> str:
    """Replace a match without moving what follows, so that positions stay valid."""
    return " " * len(match[0])


def _without_lookalikes(text: str) -> str:
    """Return the text with blanks for what only looks like versions: numbers of advisories, and endless words."""
    for pattern in (_LONG_WORD, _ADVISORY_ID):
        text = pattern.sub(_blank, text)
    return text


def _queries(text: str) -> list[VersionQuery]:
    """Return the versions outside of ranges, with the package names next to them."""
    found: dict[tuple[str, str], VersionQuery] = {}
    left = text
    for pattern, ecosystem in ((_PURL, None), (_PINNED, "pypi"), (_COORDINATE, "maven"), (_AT, "npm")):
        for match in pattern.finditer(left):
            groups = match.groups()
            package, version = groups[-2], groups[-1].rstrip(".,:")
            named = ecosystem_of(groups[0]) if pattern is _PURL else ecosystem
            found.setdefault((package, version), VersionQuery(version, package, named))
        left = pattern.sub(_blank, left)
    spans = [(one.start, one.end) for one in ranges_in(left)] + excluded_spans(left)
    for match in _VERSION_OF.finditer(left):
        if not any(start <= match.start(1) < end for start, end in spans):
            found.setdefault((match[2], match[1]), VersionQuery(match[1], match[2]))
            spans.append(match.span())
    for match in VERSION.finditer(left):
        version = match[0].rstrip(".")
        is_taken = any(start < match.end() and match.start() < end for start, end in spans)
        if is_taken or not _is_version(version, left, match.start()):
            continue
        package = _name_before(left[: match.start()])
        found.setdefault((package, version), VersionQuery(version, package, ecosystem_by_format(version)))
    return list(found.values())[:MAX_QUERIES]


def _is_version(version: str, text: str, start: int) -> bool:
    """Whether it is a dotted number, or a plain number that the text calls a version."""
    before = text[max(0, start - 12) : start].lower()
    return "." in version or "-" in version or re.search(r"\bversions?\s*$|\bv$", before) is not None


def _name_before(text: str) -> str:
    match = _NAME_AT_END.search(text[-120:])
    return "" if match is None or _NOT_A_NAME.fullmatch(match[1]) else match[1]


def _ranges_for(query: VersionQuery, ranges: list[Range]) -> list[Range]:
    """Return the ranges that name the package, or all of them if none does."""
    name = query.package.lower().rsplit(":", 1)[-1].rsplit("/", 1)[-1]
    own = [one for one in ranges if name and name in one.package.lower()]
    return own or ranges


def _finding(
    query: VersionQuery, candidate: Range, named: str | None, source: str, text: str
) -> Finding[VersionAffected]:
    known = query.ecosystem or candidate.ecosystem or named or ecosystem_by_format(query.version)
    ecosystem = known or GENERIC
    comparisons, is_affected = _decide(query.version, candidate, ecosystem)
    doubts = []
    if is_affected is None and ecosystem != GENERIC:
        rules = f"{ORDER_NAMES[ecosystem]} cannot parse a version written like this"
        doubts.append(f"{rules}: {ORDER_NAMES[GENERIC]}")
        ecosystem = GENERIC
        comparisons, is_affected = _decide(query.version, candidate, ecosystem)
    if ecosystem == GENERIC:
        doubts += [
            f"{other} orders {query.version} and {bound.version} differently"
            for bounds in candidate.alternatives
            for bound in bounds
            for other in others_disagree(query.version, bound.version)
        ]
    outcome = {True: "affected", False: "not affected", None: "cannot be compared"}[is_affected]
    line = text.count("\n", 0, candidate.start) + 1 if 0 <= candidate.start < len(text) else None
    wording = candidate.text[:MAX_RANGE_CHARS]
    title = f"{query.package or 'version'} {query.version}: {outcome} ({candidate.text})"
    return Finding(
        title=title[:MAX_RANGE_CHARS],
        severity=Severity.MEDIUM if is_affected else Severity.INFO,
        confidence=Confidence.MEDIUM if doubts or candidate.reading else Confidence.HIGH,
        why="; ".join(comparisons),
        evidence=(Evidence(source=source, excerpt=wording, line=line),),
        facts=VersionAffected(
            package=query.package or candidate.package,
            version=query.version,
            range=wording,
            read_as=candidate.shown()[:MAX_READING_CHARS],
            is_affected=is_affected,
            ecosystem=ecosystem,
            rules=ORDER_NAMES[ecosystem],
            is_ecosystem_guessed=known is None,
            comparisons=comparisons[:MAX_COMPARISONS],
            reading=candidate.reading,
            doubts=list(dict.fromkeys(doubts)),
        ),
    )


def _decide(version: str, candidate: Range, ecosystem: str) -> tuple[list[str], bool | None]:
    """Return every comparison as text, and whether the version satisfies any alternative; None if undetermined."""
    comparisons: list[str] = []
    outcomes: list[bool | None] = []
    for bounds in candidate.alternatives:
        results = [bound.holds(ecosystem, version) for bound in bounds]
        for bound, result in zip(bounds, results, strict=True):
            relation = {-1: "<", 0: "=", 1: ">", None: "?"}[compare(ecosystem, version, bound.version)]
            outcome = {True: "true", False: "false", None: "unknown"}[result]
            comparisons.append(f"{version} {relation} {bound.version} ({bound.operator}: {outcome})")
        outcomes.append(None if None in results and False not in results else all(results))
    if True in outcomes:
        return comparisons, True
    return comparisons, None if None in outcomes else False
