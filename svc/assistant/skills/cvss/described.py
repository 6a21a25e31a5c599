"""Find the descriptions of vulnerabilities in a text: one, or several that each begin with a CVE. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from svc.assistant.skills.cvss.estimate import describes_vulnerability

_CVE = re.compile(r"\bCVE-\d{4}-\d{4,19}\b", re.IGNORECASE)
_START = re.compile(r"[ \t]{0,20}(?:[-*•#>|]|\d{1,3}[.)])?[ \t]{0,20}[*_`]{0,2}CVE-\d{4}-\d{4,19}\b", re.IGNORECASE)
_LABEL = re.compile(
    r"(?:\b(?:CVE|vulnerability|the)\s{1,3})?\bdescription(?: of the vulnerability)?\s{0,3}[:=]\s{0,3}", re.IGNORECASE
)
_OPTION = re.compile(r"\((?:AV|AC|PR|UI|S|C|I|A)\)\s{0,3}:|\bAV\b[^\n]{0,20}\bAC\b[^\n]{0,20}\bPR\b")
"""A line of an instruction that lists the metrics and their values."""


class Description(msgspec.Struct, frozen=True):
    """A description, its first line (from 1), and the CVE that it begins with, or ""."""

    text: str
    line: int
    subject: str


def descriptions(content: str, question: str) -> Iterator[Description]:
    """Yield what describes a vulnerability in ``content``, without ``question`` unless that is all there is."""
    rest = content.replace(question, re.sub(r"[^\n]", " ", question), 1) if question else content
    text = rest if describes_vulnerability(rest) else content
    label = _LABEL.search(text)
    start = label.end() if label and describes_vulnerability(text[label.end() :]) else 0
    line = 1 + text.count("\n", 0, start)
    for first, block in _blocks(text[start:]):
        described = "\n".join(one for one in block.split("\n") if not _OPTION.search(one)).strip()
        if described and describes_vulnerability(described):
            found = _CVE.search(described)
            yield Description(described, line + first, found[0].upper() if found else "")


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the position in lines and the text of each part that begins with a CVE, or the whole text."""
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if _START.match(line)]
    if len(starts) < 2:
        first = next((number for number, line in enumerate(lines) if line.strip()), 0)
        yield first, text
        return
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield start, "\n".join(lines[start:end])
