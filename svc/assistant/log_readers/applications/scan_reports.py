"""Read what scanners of a Linux host print: ClamAV (``clamscan``), Rootkit Hunter's log, ``chkrootkit``.

A finding keeps the scanner's own words as its verdict; other lines are counted as read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.lines import Lines, ReadAs, ReadItem, split_lines
from svc.assistant.log_readers.messages.program_messages import found_by_clamav
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS, Event, Verdict

HEAD_LINES = 100
_CLAMAV = re.compile(r".{1,4096}: (?:OK|Empty file|Excluded|\S{1,200} FOUND)$|-{5,40} SCAN SUMMARY -{5,40}$")
_RKHUNTER = re.compile(r"\[\d\d:\d\d:\d\d\]")
_RKHUNTER_SAYS = "Warning: "
_RKHUNTER_WARNING = "[ Warning ]"
_CHKROOTKIT = re.compile(r"(?:Checking `|Searching for |ROOTDIR is `)")
_CHKROOTKIT_FOUND = re.compile(
    r"Checking `(?P<what>[^']{1,100})'\.{3} {0,40}(?P<text>INFECTED\b.{0,300}|Vulnerable\b.{0,300}|Warning: .{1,300})"
)


def _clamav(event: Event, line: str) -> Verdict | None:
    return found_by_clamav(event, line)


def _rkhunter(_event: Event, line: str) -> Verdict | None:
    text = line.partition("]")[2].strip()
    if not text.startswith(_RKHUNTER_SAYS) and not text.endswith(_RKHUNTER_WARNING):
        return None
    return Verdict(
        "Rootkit Hunter", text.removesuffix(_RKHUNTER_WARNING).removeprefix(_RKHUNTER_SAYS).strip(), "medium"
    )


def _chkrootkit(_event: Event, line: str) -> Verdict | None:
    found = _CHKROOTKIT_FOUND.match(line)
    if found is None:
        return None
    return Verdict(
        "chkrootkit", f"{found['what']}: {found['text']}", "high" if "INFECTED" in found["text"] else "medium"
    )


_SCANNERS: tuple[tuple[str, Callable[[str], bool], Callable[[Event, str], Verdict | None]], ...] = (
    ("ClamAV", lambda line: _CLAMAV.match(line) is not None, _clamav),
    ("Rootkit Hunter", lambda line: _RKHUNTER.match(line) is not None, _rkhunter),
    ("chkrootkit", lambda line: _CHKROOTKIT.match(line) is not None, _chkrootkit),
)
_SHARES = {"ClamAV": 0.3, "Rootkit Hunter": 0.9, "chkrootkit": 0.5}
"""Of the first lines that are not empty; ClamAV's report has a summary of twelve lines."""
_NAMED = {"Rootkit Hunter": re.compile(r"rootkit|rkhunter", re.IGNORECASE)}
"""Words that the first lines must contain: others write a time of day in brackets, too."""


def scanner_of(head: bytes) -> str:
    """Return the scanner whose report a file begins with; "" if it is no report."""
    text = head.decode("utf-8-sig", errors="replace")
    lines = [line for line in split_lines(text)[:HEAD_LINES] if line.strip()]
    for name, is_mine, _ in _SCANNERS:
        has_words = name not in _NAMED or _NAMED[name].search(text) is not None
        if lines and has_words and sum(map(is_mine, lines)) >= max(1, _SHARES[name] * len(lines)):
            return name
    return ""


def is_scan_report(head: bytes) -> bool:
    """Return whether a file's first bytes are the report of a known scanner."""
    return scanner_of(head) != ""


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the report's lines; those of a finding have the scanner's verdict."""
    name = scanner_of(content.read(65_536))
    verdict_of = next(verdict for scanner, _, verdict in _SCANNERS if scanner == name)
    lines = Lines(content)
    is_first = True
    for number, offset, line in lines:
        event = Event(
            number=number,
            offset=offset,
            time="",
            product="",
            service="",
            category="scan",
            host="",
            event_id=None,
            fields={"message": line},
            excerpt=line[:MAX_EXCERPT_CHARS],
        )
        event.verdict = verdict_of(event, line.rstrip())
        if is_first:
            yield ReadAs(f"report of {name}")
            is_first = False
        yield event
    yield Gap(text=f"what {name} did not look for, or skipped, is not known")
    yield from lines.gaps("lines of a report")
