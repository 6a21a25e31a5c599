"""List an archive, opened one level deep: members with type by content and hashes, and what is dangerous. Pure.

ZIP and TAR (``members.py``); a compressed TAR arrives unpacked. The members of 7z are listed, not opened. Members that
are archives themselves are listed, not opened. No path of a member is ever used. RAR, CAB and ISO are reported as a
Gap: no library under a permissive licence reads them without an external program.

What the members contain is read by the tools for their kinds (``svc/assistant/collections``), not here.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from svc.assistant.file_types import identify as file_types
from svc.assistant.file_types.signatures import starts_as
from svc.assistant.findings import Confidence, Coverage, Evidence, Facts, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.skills.archive.dangerous_names import Danger, dangers, is_archive
from svc.assistant.skills.archive.findings import ArchiveMember, ArchiveSign, ArchiveSummary, LabelCount, MemberDanger
from svc.assistant.skills.archive.members import MAX_MEMBER_BYTES, Member, is_zip, read_sevenzip, read_tar, read_zip

BOMB_RATIO = 100.0  # deflate ends at 1,032 to 1; text seldom passes 20
BOMB_BYTES = 10 * 1024 * 1024  # a smaller file of zeros is harmless
TOTAL_RATIO = 200.0
MAX_SIGNS = 1_000_000
MAX_LABELS = 20
PROGRESS_MEMBERS = 200
TREE_MEMBERS = 20  # files of a software tree; a lure brings few
_PACKAGES = frozenset(["jar", "apk"])  # programs are what they are for
_ESCAPES = re.compile(r"(?:^|[/\\])\.\.(?:[/\\]|$)|^[/\\]|^[A-Za-z]:")
_SET_ID = 0o6000
_UNREAD = {"rar": "RAR", "cab": "CAB", "iso": "ISO 9660"}


class _Totals(msgspec.Struct):
    """Sums over the members so far."""

    members: int = 0
    folders: int = 0
    size: int = 0
    packed: int = 0
    encrypted: int = 0
    opened: int = 0
    dangerous: int = 0
    nested: int = 0
    unopened: int = 0
    cut: int = 0
    times: list[str] = msgspec.field(default_factory=list)
    labels: Counter[str] = msgspec.field(default_factory=Counter)
    names: Counter[str] = msgspec.field(default_factory=Counter)

    @property
    def files(self) -> int:
        """Members that are not folders."""
        return self.members - self.folders


def inspect(content: BinaryIO, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield each member with its signs, the signs of the whole archive, and the summary."""
    yield Progress(text=f"reading {source}")
    head = content.read(file_types.HEAD_BYTES)
    label = file_types.identify(head, source)[1]
    notes: list[str] = []
    if label in _UNREAD:
        yield Gap(text=f"{_UNREAD[label]} archives are not supported")
        yield _coverage(f"{_UNREAD[label]} archive", 0, 0)
        return
    if label == "tar":
        form, members = "TAR", read_tar(content, notes)
    elif label == "sevenzip":
        form, members = "7z", read_sevenzip(content, notes)
    elif starts_as(head, "zip_start") or is_zip(content):
        form, members = "ZIP", read_zip(content, notes)
    else:
        yield Gap(text="not an archive" if head else "the file is empty")
        yield _coverage("archive", 0, 0)
        return
    totals, signs = _Totals(), 0
    held: list[Finding[Facts]] = []  # of the first members: how grave they are depends on how many follow
    for member in members:
        for finding in _inspected(member, source, totals):
            is_sign = isinstance(finding.facts, ArchiveSign)
            signs += is_sign
            if is_sign and signs <= MAX_SIGNS and _is_program(finding):
                held.append(finding)
            elif not is_sign or signs <= MAX_SIGNS:
                yield finding
        if held and totals.files >= TREE_MEMBERS:
            yield from (_in_context(one, totals, label) for one in held)
            held.clear()
        if totals.members % PROGRESS_MEMBERS == 0:
            yield Progress(text=f"{totals.members:,} members, {totals.size:,} bytes")
    yield from (_in_context(finding, totals, label) for finding in held)
    size = content.seek(0, io.SEEK_END)
    yield from _whole(totals, size, form, source)
    yield _summary(totals, size, form, label, source)
    yield from _gaps(totals, notes)
    yield _coverage(f"{form} archive", totals.members, totals.members + len(notes))  # at least one more for each note


def _coverage(read_as: str, understood: int, total: int) -> Coverage:
    return Coverage(
        read_as=read_as,
        unit="member",
        understood=understood,
        total=total,
        looked_for="dangerous names, types and structure of its members",
        not_covered="what the members contain is not part of this check",
    )


def _is_program(finding: Finding[Facts]) -> bool:
    return isinstance(finding.facts, ArchiveSign) and finding.facts.sign in ("executable", "script", "source_code")


def _in_context(finding: Finding[Facts], totals: _Totals, label: str) -> Finding[Facts]:
    """The severity is one step lower for a program or script in a package or a tree of files: it is expected there."""
    facts = finding.facts
    is_inside = isinstance(facts, ArchiveSign) and "/" in facts.member.strip("/")
    is_tree = totals.files >= TREE_MEMBERS and is_inside
    if not is_tree and label not in _PACKAGES:
        return finding
    is_source = isinstance(facts, ArchiveSign) and (facts.sign == "source_code" or facts.member.endswith(".js"))
    expected = Severity.LOW if is_source else Severity.MEDIUM
    return msgspec.structs.replace(finding, severity=expected)


def _inspected(member: Member, source: str, totals: _Totals) -> Iterator[Finding[Facts]]:
    """One member as a finding, then its signs."""
    head = member.data[: file_types.HEAD_BYTES] if member.data else b""
    label = file_types.identify(head, member.name)[1] if member.data is not None else ""
    found = dangers(member.name, label, member.data) if member.kind == "file" else []
    totals.members += 1
    totals.folders += member.kind == "folder"
    totals.size += member.size
    totals.packed += member.packed or 0
    totals.encrypted += member.is_encrypted
    totals.opened += member.data is not None
    totals.dangerous += bool(found)
    totals.nested += is_archive(label)
    totals.unopened += bool(member.note)
    totals.cut += not member.is_whole
    totals.names[member.name] += 1
    if member.modified:
        totals.times = [min([*totals.times, member.modified]), max([*totals.times, member.modified])]
    if label:
        totals.labels[label] += 1
    evidence = (Evidence(source=source, excerpt=member.name[:300], record=totals.members),)
    yield _member(member, label, found, evidence)
    for sign, words, severity in _signs(member, found):
        yield _sign(sign, words, severity, member.name, evidence)
    if totals.names[member.name] == 2:
        words = "the name occurs twice in the archive: which one is unpacked depends on the program"
        yield _sign("duplicate", words, Severity.MEDIUM, member.name, evidence)


def _ratio(member: Member) -> float | None:
    return round(member.size / member.packed, 1) if member.packed else None


def _member(member: Member, label: str, found: list[Danger], evidence: tuple[Evidence, ...]) -> Finding[ArchiveMember]:
    is_whole = member.data is not None and member.is_whole
    data = member.data or b""
    return Finding(
        title=f"{member.name[:120]} ({label or member.kind})",
        evidence=evidence,
        facts=ArchiveMember(
            name=member.name,
            member_type=member.kind,
            label=label,
            modified=member.modified,
            link=member.link,
            sha256=hashlib.sha256(data).hexdigest() if is_whole else "",
            md5=hashlib.md5(data, usedforsecurity=False).hexdigest() if is_whole else "",
            note=member.note,
            size=member.size,
            packed=member.packed,
            ratio=_ratio(member),
            is_encrypted=member.is_encrypted,
            dangers=[MemberDanger(danger.name, danger.description) for danger in found],
        ),
    )


def _signs(member: Member, found: list[Danger]) -> Iterator[tuple[str, str, Severity]]:
    """What is dangerous or suspicious about one member, with its severity."""
    if _ESCAPES.search(member.name):
        yield "traversal", "path traversal: the name leads out of the target folder", Severity.HIGH
    if member.kind == "link" and _ESCAPES.search(member.link):
        yield "link", f"a link out of the target folder, to {member.link[:120]}", Severity.HIGH
    ratio = _ratio(member)
    if ratio is not None and ratio >= BOMB_RATIO and member.size >= BOMB_BYTES:
        yield "bomb", f"decompression bomb: {member.packed:,} bytes expand to {member.size:,}", Severity.HIGH
    if member.kind == "device":
        yield "device", "a device, not a file", Severity.MEDIUM
    if member.kind == "file" and member.mode & _SET_ID:
        yield "set_id", "runs with the privileges of its owner or group (set-id)", Severity.MEDIUM
    for danger in found:
        yield danger.name, danger.description, danger.severity


def _sign(
    sign: str, words: str, severity: Severity, member: str, evidence: tuple[Evidence, ...]
) -> Finding[ArchiveSign]:
    return Finding(
        title=f"{member[:120]}: {words}",
        severity=severity,
        confidence=Confidence.HIGH if sign in ("traversal", "link", "bomb", "double_ending") else Confidence.MEDIUM,
        evidence=evidence,
        techniques=("T1036.007",) if sign == "double_ending" else (),
        facts=ArchiveSign(sign=sign, member=member, words=words),
    )


def _whole(totals: _Totals, size: int, form: str, source: str) -> Iterator[Finding[ArchiveSign]]:
    """What is dangerous or suspicious about the archive as a whole."""
    evidence = (Evidence(source=source, excerpt=f"{form}, {size:,} bytes, {totals.members:,} members"),)
    if totals.encrypted:
        words = (
            f"{totals.encrypted:,} of {totals.members:,} members are password-protected; their content was not examined"
        )
        yield _sign("password", words, Severity.MEDIUM, source, evidence)
    if form == "ZIP" and totals.packed > size:
        words = f"overlapping members: they take {totals.packed:,} bytes of a file of {size:,}"
        yield _sign("overlap", words, Severity.HIGH, source, evidence)
    if size and totals.size >= 10 * BOMB_BYTES and totals.size / size >= TOTAL_RATIO:
        yield _sign(
            "bomb", f"decompression bomb: {size:,} bytes expand to {totals.size:,}", Severity.HIGH, source, evidence
        )


def _summary(totals: _Totals, size: int, form: str, label: str, source: str) -> Finding[ArchiveSummary]:
    return Finding(
        title=f"{form} of {totals.members:,} members, {totals.size:,} bytes unpacked",
        evidence=(Evidence(source=source, excerpt=f"{form}, {size:,} bytes", offset=0),),
        facts=ArchiveSummary(
            format=form,
            label=label,
            members=totals.members,
            folders=totals.folders,
            size=totals.size,
            packed=size,
            encrypted=totals.encrypted,
            opened=totals.opened,
            dangerous=totals.dangerous,
            ratio=round(totals.size / size, 1) if size else None,
            oldest=totals.times[0] if totals.times else "",
            newest=totals.times[-1] if totals.times else "",
            labels=[LabelCount(name, count) for name, count in totals.labels.most_common(MAX_LABELS)],
        ),
    )


def _gaps(totals: _Totals, notes: list[str]) -> Iterator[Gap]:
    for note in notes:
        yield Gap(text=note)
    if totals.nested:
        yield Gap(text=f"the structure of nested archives was not checked: {totals.nested:,}")
    if totals.unopened:
        yield Gap(text=f"{totals.unopened:,} members could not be opened (the table says why)")
    if totals.cut:
        yield Gap(text=f"of {totals.cut:,} members only the first {MAX_MEMBER_BYTES:,} bytes were examined")
