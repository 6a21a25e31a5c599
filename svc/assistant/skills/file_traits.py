"""What the inspectors of files share: digests, entropy, the traits of a file and what they add up to. Pure.

An inspector yields findings of four kinds, named after its family (``program_facts``, ``pdf_trait``, …):

``<family>_facts``: ``format`` (str), ``size`` (int), ``md5``, ``sha1``, ``sha256`` (str), then what the format says of
itself, each a scalar or a list of str. One a file.
``<family>_part``: something inside: ``part`` (str: section, import, macro, stream, link, …), ``name`` (str), ``size``
(int or null), ``note`` (str), ``text`` (str: what it says, where it is worth reading; bounded by TEXT_CHARS).
``<family>_trait``: something that counts: ``trait`` (str), ``points`` (int), ``value`` (str).
``<family>_verdict``: ``verdict`` (str, see Verdict), ``points`` (int), ``reasons`` (list of str). One a file, last.
Beside them ``indicator``, as ``indicators.py`` has it. A verdict is a sum of points and says so: it proves nothing.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Confidence, Evidence, Gap, Progress, Scalar, Severity
from svc.assistant.findings import LooseFinding as Finding

MAX_BYTES = 128 * 1024 * 1024  # of one file; parsers hold it two or three times over within a worker's 1 GiB
ENTROPY_BYTES = 4 * 1024 * 1024  # of one part: more does not change the figure
TEXT_CHARS = 6_000  # of one macro or script in a finding
EXCERPT_CHARS = 300
MAX_TRAITS = 200  # of one file: hostile files repeat themselves
POINTS = {Severity.CRITICAL: 12, Severity.HIGH: 6, Severity.MEDIUM: 3, Severity.LOW: 1, Severity.INFO: 0}

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
"""What parsers of other people's make raise on a damaged file, beside their own errors."""


class Verdict(StrEnum):
    """What the traits of a file add up to."""

    MALICIOUS = "malicious"
    SUSPICIOUS = "suspicious"
    UNUSUAL = "unusual"
    ORDINARY = "ordinary"


_LEAST = ((Verdict.MALICIOUS, 12), (Verdict.SUSPICIOUS, 6), (Verdict.UNUSUAL, 3), (Verdict.ORDINARY, 0))


class TraitFact(msgspec.Struct, frozen=True, kw_only=True):
    """What a table says of a trait; tables add what it is recognised by."""

    name: str
    title: str
    severity: Severity
    techniques: tuple[str, ...]
    why: str


class Inspection:
    """Makes one file's findings and keeps the count of its traits; a trait counts once, however often it stands."""

    def __init__(self, family: str, source: str) -> None:
        self.family = family
        self.source = source
        self._points: dict[str, tuple[int, str]] = {}
        self._traits = 0

    def facts(self, title: str, attributes: dict[str, Scalar | list[Scalar]]) -> Finding:
        """What the file says of itself."""
        return Finding(
            kind=f"{self.family}_facts",
            title=title,
            evidence=(Evidence(source=self.source, excerpt=title, offset=0),),
            attributes=attributes,
        )

    def part(
        self,
        part: str,
        name: str,
        *,
        size: int | None = None,
        note: str = "",
        text: str = "",
        offset: int | None = None,
        severity: Severity = Severity.INFO,
    ) -> Finding:
        """Something inside the file, as a fact."""
        return Finding(
            kind=f"{self.family}_part",
            title=f"{part} {name}"[:EXCERPT_CHARS],
            severity=severity,
            evidence=(Evidence(source=self.source, excerpt=(text or name)[:EXCERPT_CHARS], offset=offset),),
            attributes={
                "part": part,
                "name": name[:EXCERPT_CHARS],
                "size": size,
                "note": note[:EXCERPT_CHARS],
                "text": text[:TEXT_CHARS],
            },
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
    ) -> Iterator[Finding]:
        """Something that counts; nothing once MAX_TRAITS are told, though it counts still."""
        points = POINTS[severity]
        if points > self._points.get(trait, (-1, ""))[0]:
            self._points[trait] = (points, title)
        self._traits += 1
        if self._traits > MAX_TRAITS:
            return
        yield Finding(
            kind=f"{self.family}_trait",
            title=title,
            severity=severity,
            confidence=confidence,
            why=why,
            evidence=(Evidence(source=self.source, excerpt=(value or title)[:EXCERPT_CHARS], offset=offset),),
            techniques=techniques,
            attributes={"trait": trait, "points": points, "value": value[:EXCERPT_CHARS]},
        )

    def known(
        self,
        fact: TraitFact,
        *,
        name: str = "",
        value: str = "",
        why: str = "",
        offset: int | None = None,
        confidence: Confidence = Confidence.HIGH,
    ) -> Iterator[Finding]:
        """A trait that a table of facts describes; ``name`` and ``why`` in place of the table's where given."""
        yield from self.trait(
            name or fact.name,
            fact.title,
            severity=fact.severity,
            why=why or fact.why,
            value=value,
            techniques=fact.techniques,
            offset=offset,
            confidence=confidence,
        )

    def damaged(self, what: str, error: BaseException | str, *, offset: int | None = None) -> Iterator[Finding]:
        """A part that could not be read; the others still are."""
        reason = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        yield from self.trait(
            f"damaged_{what.replace(' ', '_')}",
            f"Damaged at the {what}",
            severity=Severity.LOW,
            why="this part does not follow its format; what it holds was not read",
            value=" ".join(reason.split()),
            offset=offset,
        )

    def verdict(self) -> Finding:
        """The sum. ``reasons`` are the titles of what counted, heaviest first."""
        counted = sorted((entry for entry in self._points.values() if entry[0]), reverse=True)
        points = sum(entry[0] for entry in counted)
        verdict = next(name for name, least in _LEAST if points >= least)
        severities = {
            Verdict.MALICIOUS: Severity.CRITICAL,
            Verdict.SUSPICIOUS: Severity.HIGH,
            Verdict.UNUSUAL: Severity.LOW,
            Verdict.ORDINARY: Severity.INFO,
        }
        return Finding(
            kind=f"{self.family}_verdict",
            title=f"{self.source}: {verdict.value}",
            severity=severities[verdict],
            confidence=Confidence.MEDIUM,
            why=f"the traits add up to {points} points (12 and more: malicious; 6: suspicious; 3: unusual)",
            evidence=(Evidence(source=self.source, excerpt=", ".join(title for _, title in counted)[:EXCERPT_CHARS]),),
            attributes={"verdict": verdict.value, "points": points, "reasons": [title for _, title in counted]},
        )


def read(feed: BinaryIO) -> tuple[bytes, Gap | None]:
    """The file's bytes, at most MAX_BYTES, and the Gap that says so."""
    data = feed.read(MAX_BYTES + 1)
    if len(data) <= MAX_BYTES:
        return data, None
    return data[:MAX_BYTES], Gap(text=f"only the first {MAX_BYTES:,} bytes were looked at")


def digests(data: bytes) -> dict[str, Scalar | list[Scalar]]:
    """``size`` and the three digests by which files are looked up."""
    return {
        "size": len(data),
        "md5": hashlib.md5(data, usedforsecurity=False).hexdigest(),
        "sha1": hashlib.sha1(data, usedforsecurity=False).hexdigest(),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def entropy(data: bytes) -> float:
    """Shannon's, in bits a byte, of the first ENTROPY_BYTES: 0 for nothing or one value, 8 for noise."""
    sample = data[:ENTROPY_BYTES]
    total = len(sample)
    if not total:
        return 0.0
    return max(0.0, -sum(n / total * math.log2(n / total) for n in Counter(sample).values()))


def started(source: str, data: bytes, what: str) -> Progress:
    """The first word of an inspection."""
    return Progress(text=f"reading {source} as {what}: {len(data):,} bytes")


_EMBEDDED = (
    (b"%PDF-", "PDF"),
    (b"\x7fELF", "ELF program"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (b"MSCF", "Cabinet archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "OLE document"),
    (b"{\\rtf", "RTF document"),
    (b"\x1f\x8b\x08", "gzip data"),
    (b"L\x00\x00\x00\x01\x14\x02\x00", "shortcut (LNK)"),
    (b"\x89PNG", "PNG picture"),
    (b"\xff\xd8\xff", "JPEG picture"),
    (b"GIF8", "GIF picture"),
    (b"BM", "bitmap"),
)


def kind_of(data: bytes) -> str:
    """What an embedded piece is by its first bytes, in words; ``""`` where they say nothing."""
    if is_windows_program(data):
        return "Windows program"
    return next((name for magic, name in _EMBEDDED if data.startswith(magic)), "")


_RUNNABLE_KINDS = ("Windows program", "ELF program", "shortcut (LNK)")
_RUNS = re.compile(
    r"\.(?:exe|scr|pif|com|cpl|dll|msi|msp|js|jse|vbs|vbe|wsf|wsh|hta|ps1|psm1|bat|cmd|lnk|url|jar|reg|inf|sct|chm"
    r"|iso|img|vhdx?|docm|xlsm|pptm|xlam|dotm|settingcontent-ms|library-ms|application|appref-ms|gadget|one)\W*$",
    re.IGNORECASE,
)


def is_runnable(name: str, held: str) -> bool:
    """Whether a file of this name, or of this kind (``kind_of``), does something when it is opened."""
    return held in _RUNNABLE_KINDS or _RUNS.search(name) is not None


def is_windows_program(data: bytes) -> bool:
    """MZ, and PE where its header points."""
    if data[:2] != b"MZ" or len(data) < 64:
        return False
    at = int.from_bytes(data[60:64], "little")
    return data[at : at + 4] == b"PE\x00\x00"


def clean_text(data: bytes) -> str:
    """Bytes of a name or a short text for people: UTF-8, else Latin-1; without what follows a zero."""
    head = data.split(b"\x00", 1)[0]
    try:
        return head.decode()
    except UnicodeDecodeError:
        return head.decode("latin-1")
