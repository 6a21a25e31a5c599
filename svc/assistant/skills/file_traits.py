"""What the inspectors of files share: the structs of their findings, digests, entropy, and the verdict.

An inspector yields findings of one family (``program``, ``pdf``, ``office``, ``shortcut``): the facts of the file, its
parts, its traits, and a verdict, which comes last. The verdict is a sum of points for the traits and says so: it proves
nothing.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import BinaryIO, TypedDict

import msgspec

from svc.assistant.findings import Confidence, Evidence, Facts, Finding, Gap, Progress, Severity

MAX_BYTES = 128 * 1024 * 1024  # of one file; parsers hold it two or three times over within a worker's 1 GiB
ENTROPY_BYTES = 4 * 1024 * 1024  # of one part; more does not change the result
TEXT_CHARS = 6_000  # of one macro or script in a finding
EXCERPT_CHARS = 300
MAX_TRAITS = 200  # of one file: hostile files repeat themselves
POINTS = {Severity.CRITICAL: 12, Severity.HIGH: 6, Severity.MEDIUM: 3, Severity.LOW: 1, Severity.INFO: 0}

DAMAGED_TRAIT = "damaged_"
"""How the names of traits begin that say which part could not be read."""
DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    MemoryError,
)
"""What third-party parsers raise on a damaged file, besides their own errors."""


class VerdictLevel(StrEnum):
    """What the traits of a file add up to."""

    MALICIOUS = "malicious"
    SUSPICIOUS = "suspicious"
    UNUSUAL = "unusual"
    ORDINARY = "ordinary"


_LEAST_POINTS = (
    (VerdictLevel.MALICIOUS, 12),
    (VerdictLevel.SUSPICIOUS, 6),
    (VerdictLevel.UNUSUAL, 3),
    (VerdictLevel.ORDINARY, 0),
)
_SEVERITIES = {
    VerdictLevel.MALICIOUS: Severity.CRITICAL,
    VerdictLevel.SUSPICIOUS: Severity.HIGH,
    VerdictLevel.UNUSUAL: Severity.LOW,
    VerdictLevel.ORDINARY: Severity.INFO,
}


class FileFacts(Facts, frozen=True, kw_only=True):
    """Base of what a file says about itself; one finding for each file."""

    format: str
    size: int
    """Bytes."""
    md5: str
    sha1: str
    sha256: str

    @property
    def is_locked(self) -> bool:
        """Whether a password kept the content from being examined."""
        return False


class FilePart(Facts, frozen=True, kw_only=True):
    """Base of something inside a file."""

    part: str
    """Its type, for example section, import, macro, link or embedded file."""
    name: str
    size: int | None = None
    """Bytes; for imports and exports the number of functions."""
    note: str = ""
    text: str = ""
    """A script, a macro or a command, at most 6,000 characters."""


class FileTrait(Facts, frozen=True, kw_only=True):
    """Base of a property that counts for the verdict."""

    trait: str
    """For example ``packed_code``."""
    points: int
    """By severity: critical 12, high 6, medium 3, low 1, info 0. A trait counts once, with its highest points."""
    value: str
    """What shows the trait, at most 300 characters."""


class FileVerdict(Facts, frozen=True, kw_only=True):
    """Base of the sum of the traits; one finding for each file."""

    verdict: VerdictLevel
    points: int
    reasons: list[str]
    """Titles of the traits that counted, most points first."""


class FileFamily(msgspec.Struct, frozen=True, kw_only=True):
    """The structs that the findings of one family hold."""

    part: type[FilePart]
    trait: type[FileTrait]
    verdict: type[FileVerdict]


class TraitEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A trait as a table describes it; tables add how it is recognised."""

    name: str
    title: str
    severity: Severity
    techniques: tuple[str, ...]
    why: str


class Inspection:
    """Builds the findings of one file and adds up its traits."""

    def __init__(self, family: FileFamily, source: str) -> None:
        self.source = source
        self._family = family
        self.damages: set[str] = set()
        """What could not be read, by name."""
        self._points: dict[str, tuple[int, str]] = {}
        self._traits = 0

    def facts(self, title: str, facts: FileFacts) -> Finding[FileFacts]:
        """Return the finding with what the file says about itself."""
        return Finding(title=title, evidence=(Evidence(source=self.source, excerpt=title, offset=0),), facts=facts)

    def part(
        self,
        part: str,
        name: str,
        *,
        size: int | None = None,
        note: str = "",
        text: str = "",
        offset: int | None = None,
    ) -> Finding[FilePart]:
        """Return the finding for something inside the file."""
        return Finding(
            title=f"{part}: {name}"[:EXCERPT_CHARS],
            evidence=(Evidence(source=self.source, excerpt=(text or name)[:EXCERPT_CHARS], offset=offset),),
            facts=self._family.part(
                part=part,
                name=name[:EXCERPT_CHARS],
                size=size,
                note=note[:EXCERPT_CHARS],
                text=text[:TEXT_CHARS],
            ),
        )

    def trait(
        self,
        trait: str,
        title: str,
        *,
        severity: Severity,
        why: str,
        value: str = "",
        techniques: tuple[str, ...] = (),
        offset: int | None = None,
        confidence: Confidence = Confidence.HIGH,
    ) -> Iterator[Finding[FileTrait]]:
        """Count a trait, and yield its finding unless MAX_TRAITS were yielded before."""
        points = POINTS[severity]
        if points > self._points.get(trait, (-1, ""))[0]:
            self._points[trait] = (points, title)
        self._traits += 1
        if self._traits > MAX_TRAITS:
            return
        yield Finding(
            title=title,
            severity=severity,
            confidence=confidence,
            why=why,
            evidence=(Evidence(source=self.source, excerpt=(value or title)[:EXCERPT_CHARS], offset=offset),),
            techniques=techniques,
            facts=self._family.trait(trait=trait, points=points, value=value[:EXCERPT_CHARS]),
        )

    def listed_trait(
        self,
        entry: TraitEntry,
        *,
        name: str = "",
        value: str = "",
        why: str = "",
        offset: int | None = None,
        confidence: Confidence = Confidence.HIGH,
    ) -> Iterator[Finding[FileTrait]]:
        """Count a trait that a table describes; ``name`` and ``why``, if given, replace the table's."""
        yield from self.trait(
            name or entry.name,
            entry.title,
            severity=entry.severity,
            why=why or entry.why,
            value=value,
            techniques=entry.techniques,
            offset=offset,
            confidence=confidence,
        )

    def damaged(
        self, what: str, error: BaseException | str, *, offset: int | None = None
    ) -> Iterator[Finding[FileTrait]]:
        """Count a part that cannot be read; the other parts still are."""
        self.damages.add(what)
        reason = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        yield from self.trait(
            f"{DAMAGED_TRAIT}{what.replace(' ', '_')}",
            f"Damaged {what}",
            severity=Severity.LOW,
            why="this part violates its file format; its content was not examined",
            value=" ".join(reason.split()),
            offset=offset,
        )

    def verdict(self) -> Finding[FileVerdict]:
        """Return the finding with the sum of all traits counted so far."""
        counted = sorted((entry for entry in self._points.values() if entry[0]), reverse=True)
        points = sum(entry[0] for entry in counted)
        reasons = [title for _, title in counted]
        verdict = next(name for name, least in _LEAST_POINTS if points >= least)
        return Finding(
            title=f"{self.source}: {verdict.value}",
            severity=_SEVERITIES[verdict],
            confidence=Confidence.MEDIUM,
            why=f"the traits add up to {points} points (malicious from 12, suspicious from 6, unusual from 3)",
            evidence=(Evidence(source=self.source, excerpt=", ".join(reasons)[:EXCERPT_CHARS]),),
            facts=self._family.verdict(verdict=verdict, points=points, reasons=reasons),
        )


class Digests(TypedDict):
    """The size of a file and the digests by which files are looked up."""

    size: int
    md5: str
    sha1: str
    sha256: str


def read(content: BinaryIO) -> tuple[bytes, Gap | None]:
    """Return the file's bytes, at most MAX_BYTES, and a Gap if there are more."""
    data = content.read(MAX_BYTES + 1)
    if len(data) <= MAX_BYTES:
        return data, None
    return data[:MAX_BYTES], Gap(text=f"only the first {MAX_BYTES:,} bytes were examined")


def digests(data: bytes) -> Digests:
    """Return the size and the digests of ``data``."""
    return {
        "size": len(data),
        "md5": hashlib.md5(data, usedforsecurity=False).hexdigest(),
        "sha1": hashlib.sha1(data, usedforsecurity=False).hexdigest(),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def entropy(data: bytes) -> float:
    """Return Shannon's entropy of the first ENTROPY_BYTES in bits per byte, from 0 (one value) to 8 (noise)."""
    sample = data[:ENTROPY_BYTES]
    total = len(sample)
    if not total:
        return 0.0
    return max(0.0, -sum(n / total * math.log2(n / total) for n in Counter(sample).values()))


def reading(source: str, data: bytes, what: str) -> Progress:
    """Return the first progress of an inspection."""
    return Progress(text=f"reading {source} as {what}: {len(data):,} bytes")


_RUNNABLE_CONTENT = ("Windows program", "ELF program", "shortcut (LNK)")
_RUNS = re.compile(
    r"\.(?:exe|scr|pif|com|cpl|dll|msi|msp|js|jse|vbs|vbe|wsf|wsh|hta|ps1|psm1|bat|cmd|lnk|url|jar|reg|inf|sct|chm"
    r"|iso|img|vhdx?|docm|xlsm|pptm|xlam|dotm|settingcontent-ms|library-ms|application|appref-ms|gadget|one)\W*$",
    re.IGNORECASE,
)


def is_runnable(name: str, content_type: str) -> bool:
    """Whether a file of this name, or of this content (``describe_content``), runs something when it is opened."""
    return content_type in _RUNNABLE_CONTENT or _RUNS.search(name) is not None


def clean_text(data: bytes) -> str:
    """Decode a name or a short text up to its first zero byte: as UTF-8, or else as Latin-1."""
    head = data.split(b"\x00", 1)[0]
    try:
        return head.decode()
    except UnicodeDecodeError:
        return head.decode("latin-1")
