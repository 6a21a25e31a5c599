"""The readable strings of a program with their offsets, and the indicators among them.

Bounded: the first MAX_STRINGS different strings of at least MIN_CHARS characters, ASCII and UTF-16LE.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from svc.assistant.findings import Evidence, Finding, Gap, ToolEvent
from svc.assistant.skills.indicators import tool as indicators
from svc.assistant.skills.indicators.findings import IndicatorFacts

MIN_CHARS = 5
MAX_CHARS = 600  # of one string: longer ones are data
MAX_STRINGS = 60_000
MAX_TEXT_CHARS = 3_000_000  # of all of them: searching for indicators takes 0.3 s per million
MAX_INDICATORS = 60  # of one program
_ASCII = re.compile(rb"[\x09\x20-\x7e]{%d,%d}" % (MIN_CHARS, MAX_CHARS))
_WIDE = re.compile(rb"(?:[\x09\x20-\x7e]\x00){%d,%d}" % (MIN_CHARS, MAX_CHARS))
_TYPES = frozenset(
    [
        "url",
        "ipv4",
        "email",
        "bitcoin",
        "monero",
        "ethereum",
        "domain",
        "registry_key",
        "named_pipe",
        "mutex",
        "user_agent",
    ]
)
_QUIET = frozenset(["common", "documentation", "loopback", "netmask", "unspecified", "reserved", "multicast"])
_HOST_ALONE = re.compile(
    r"(?:[a-z0-9-]{2,63}\.)+(?:com|net|org|info|biz|ru|cn|top|xyz|io|me|cc|su|tk|pw|onion|club|site|online|eu|de|uk|br|in|ir|kr|jp|fr|pl|ua|nl|it)"
)


class ProgramStrings(msgspec.Struct, frozen=True):
    """``text`` has one string on each line; ``offsets`` are their offsets in the file."""

    text: str
    offsets: list[int]
    is_whole: bool


def extract_strings(data: bytes) -> ProgramStrings:
    """Return the different strings of ``data``, UTF-16 before ASCII, each in the order of the file."""
    lines: dict[str, int] = {}
    total = 0
    for offset, line in _found(data):
        if line in lines:
            continue
        if len(lines) >= MAX_STRINGS or total > MAX_TEXT_CHARS:
            return ProgramStrings("\n".join(lines), list(lines.values()), is_whole=False)
        lines[line] = offset
        total += len(line) + 1
    return ProgramStrings("\n".join(lines), list(lines.values()), is_whole=True)


def _found(data: bytes) -> Iterator[tuple[int, str]]:
    """Wide strings first: there are fewer, and on Windows they are the ones that users see."""
    for match in _WIDE.finditer(data):
        yield match.start(), match[0].decode("utf-16-le").strip()
    for match in _ASCII.finditer(data):
        yield match.start(), match[0].decode("ascii").strip()


def indicators_in(strings: ProgramStrings, *, source: str) -> Iterator[ToolEvent]:
    """Yield the relevant indicators among the strings with their offsets; at most MAX_INDICATORS."""
    kept = 0
    lines = strings.text.split("\n")
    for item in indicators.indicators_of(strings.text, source=source):
        if not _is_relevant(item, lines):
            continue
        kept += 1
        if kept > MAX_INDICATORS:
            yield Gap(text=f"only the first {MAX_INDICATORS} indicators in its strings are listed", in_headline=True)
            return
        yield _with_offset(item, lines, strings.offsets, source)
    if not strings.is_whole:
        yield Gap(text=f"only the first {MAX_STRINGS:,} strings, or {MAX_TEXT_CHARS:,} characters, were examined")


def _is_relevant(finding: Finding[IndicatorFacts], lines: list[str]) -> bool:
    facts = finding.facts
    kind, value = facts.type, facts.value
    if kind not in _TYPES or facts.scope in _QUIET or facts.within:
        return False
    line = _line(finding, lines)
    if kind == "domain":
        return _HOST_ALONE.fullmatch(value) is not None and value in line.split()
    if kind == "ipv4":
        return value in line.replace(":", " ").split() and not value.endswith(".0") and int(value.split(".")[0]) > 9
    return kind != "url" or "." in value


def _line(finding: Finding[IndicatorFacts], lines: list[str]) -> str:
    number = finding.evidence[0].line or 1
    return lines[number - 1] if number <= len(lines) else ""


def _with_offset(
    finding: Finding[IndicatorFacts], lines: list[str], offsets: list[int], source: str
) -> Finding[IndicatorFacts]:
    """Return the finding with its offset in the file instead of a line, which a program does not have."""
    number = finding.evidence[0].line or 1
    offset = offsets[number - 1] if number <= len(offsets) else None
    evidence = Evidence(source=source, excerpt=_line(finding, lines)[:300], offset=offset)
    return msgspec.structs.replace(finding, evidence=(evidence,))
