"""What every tool yields: Progress while it works, Findings with their evidence, Gaps for what it did not look at.

A tool is one module here, with one public generator over bytes or text; pure: it reads no file and no clock. It runs in
a worker process (``assistant/workers.py``). Hostile input gives a Finding or a Gap, never an exception.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

Scalar = str | int | float | bool | None
"""What an attribute of a finding may be; a time is an ISO 8601 string."""


class Severity(StrEnum):
    """How much it matters, in CVSS's words; INFO is a fact without a judgement."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


class Confidence(StrEnum):
    """How sure the tool is that the finding is what it says."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Where a finding stands. ``source`` is a file's name or ``prompt``; ``line`` and ``record`` count from 1.

    ``offset`` is in bytes from 0. ``excerpt`` is the text as it stands there: untrusted, shown in code spans alone.
    """

    source: str
    excerpt: str
    line: int | None = None
    record: int | None = None
    offset: int | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True, tag="finding"):
    """One thing found. ``kind`` says which ``attributes`` it has: each tool's module docstring lists its kinds."""

    kind: str
    title: str
    severity: Severity = Severity.INFO
    confidence: Confidence = Confidence.HIGH
    why: str = ""
    evidence: tuple[Evidence, ...] = ()
    techniques: tuple[str, ...] = ()
    attributes: dict[str, Scalar | list[Scalar]] = {}


class Progress(msgspec.Struct, frozen=True, kw_only=True, tag="progress"):
    """What the tool has done so far, with figures in it."""

    text: str


class Gap(msgspec.Struct, frozen=True, kw_only=True, tag="gap"):
    """Something that was not looked at, and why: a skipped part, a bound that was reached, a fact not known offline.

    It does not name its input: whoever shows it does.
    """

    text: str


Yielded = Progress | Finding | Gap
"""Everything that a tool may yield; ``msgspec`` tells them apart by their tag on the way out of the worker."""
