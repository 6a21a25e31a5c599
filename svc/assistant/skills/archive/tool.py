"""What an archive holds, opened one level: members with kind by content and hashes, and what is wrong with them. Pure.

ZIP and TAR (``archive_members.py``); a compressed TAR arrives unpacked. Members that are archives themselves are named,
not opened. No path of a member is ever used. 7z, RAR, CAB and ISO have no library under a permissive licence that needs
no program beside it: a Gap says so.

Finding kinds and their attributes:

``archive_summary``: format, label (str), members, folders, size, packed, encrypted, opened, dangerous (int), ratio
(float or null), oldest, newest (str: ISO 8601 or ""), labels (list of str: kinds by content with their number).
``archive_member``: name, kind (file, folder, link, device), label, modified, link, sha256, md5, note (str), size (int),
packed (int or null), ratio (float or null), is_encrypted (bool), dangers, danger_names (list of str).
``archive_sign``: sign (str: traversal, link, bomb, overlap, duplicate, password, set_id, device, or a danger of
``file_danger.py``), member, words (str).
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
from svc.assistant.findings import Confidence, Evidence, Gap, Progress, Scalar, Severity, ToolEvent
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.archive.dangerous_names import Danger, dangers, is_archive
from svc.assistant.skills.archive.members import MAX_MEMBER_BYTES, Member, is_zip, read_tar, read_zip

BOMB_RATIO = 100.0  # deflate ends at 1,032 to 1; text seldom passes 20
BOMB_BYTES = 10 * 1024 * 1024  # a small file of zeros is no bomb
TOTAL_RATIO = 200.0
MAX_SIGNS = 500
PROGRESS_MEMBERS = 200
_ESCAPES = re.compile(r"(?:^|[/\\])\.\.(?:[/\\]|$)|^[/\\]|^[A-Za-z]:")
_SET_ID = 0o6000
_UNREAD = {"sevenzip": "7z", "rar": "RAR", "cab": "CAB", "iso": "ISO 9660", "zst": "Zstandard"}


class _Seen(msgspec.Struct):
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


def inspect(stream: BinaryIO, /, *, source: str) -> Iterator[ToolEvent]:
    """The members as findings, what is wrong with them, and a summary last."""
    yield Progress(text=f"reading {source}")
    head = stream.read(file_types.HEAD_BYTES)
    label = file_types.identify(head, source)[1]
    notes: list[str] = []
    if label in _UNREAD:
        yield Gap(
            text=f"{_UNREAD[label]} archives are not opened: no library with a permissive licence reads them here"
        )
        return
    if label == "tar":
        form, members = "TAR", read_tar(stream, notes)
    elif starts_as(head, "zip_start") or is_zip(stream):
        form, members = "ZIP", read_zip(stream, notes)
    else:
        yield Gap(text="no archive" if head else "an empty file")
        return
    seen, signs = _Seen(), 0
    for member in members:
        for finding in _look(member, source, seen):
            signs += finding.kind == "archive_sign"
            if finding.kind != "archive_sign" or signs <= MAX_SIGNS:
                yield finding
        if seen.members % PROGRESS_MEMBERS == 0:
            yield Progress(text=f"{seen.members:,} members, {seen.size:,} bytes")
    size = stream.seek(0, io.SEEK_END)
    yield from _whole(seen, size, form, source)
    yield _summary(seen, size, form, label, source)
    yield from _gaps(seen, notes)


def _look(member: Member, source: str, seen: _Seen) -> Iterator[Finding]:
    """One member as a finding, then its signs."""
    head = member.data[: file_types.HEAD_BYTES] if member.data else b""
    label = file_types.identify(head, member.name)[1] if member.data is not None else ""
    found = dangers(member.name, label, member.data) if member.kind == "file" else []
    seen.members += 1
    seen.folders += member.kind == "folder"
    seen.size += member.size
    seen.packed += member.packed or 0
    seen.encrypted += member.is_encrypted
    seen.opened += member.data is not None
    seen.dangerous += bool(found)
    seen.nested += is_archive(label)
    seen.unopened += bool(member.note)
    seen.cut += not member.is_whole
    seen.names[member.name] += 1
    if member.modified:
        seen.times = [min([*seen.times, member.modified]), max([*seen.times, member.modified])]
    if label:
        seen.labels[label] += 1
    evidence = (Evidence(source=source, excerpt=member.name[:300], record=seen.members),)
    yield _member(member, label, found, evidence)
    for sign, words, severity in _signs(member, found):
        yield _sign(sign, words, severity, member.name, evidence)
    if seen.names[member.name] == 2:
        words = "the name stands in the archive twice: which one is unpacked depends on the program"
        yield _sign("duplicate", words, Severity.MEDIUM, member.name, evidence)


def _ratio(member: Member) -> float | None:
    return round(member.size / member.packed, 1) if member.packed else None


def _member(member: Member, label: str, found: list[Danger], evidence: tuple[Evidence, ...]) -> Finding:
    is_whole = member.data is not None and member.is_whole
    data = member.data or b""
    attributes: dict[str, Scalar | list[Scalar]] = {
        "name": member.name, "kind": member.kind, "label": label, "modified": member.modified, "link": member.link,
        "sha256": hashlib.sha256(data).hexdigest() if is_whole else "",
        "md5": hashlib.md5(data, usedforsecurity=False).hexdigest() if is_whole else "", "note": member.note,
        "size": member.size, "packed": member.packed, "ratio": _ratio(member), "is_encrypted": member.is_encrypted,
        "dangers": [danger.words for danger in found], "danger_names": [danger.name for danger in found],
    }  # fmt: skip
    return Finding(
        kind="archive_member",
        title=f"{member.name[:120]} ({label or member.kind})",
        evidence=evidence,
        attributes=attributes,
    )


def _signs(member: Member, found: list[Danger]) -> Iterator[tuple[str, str, Severity]]:
    """What is wrong with one member, with its severity."""
    if _ESCAPES.search(member.name):
        yield "traversal", "its name leads out of the folder that it is unpacked to", Severity.HIGH
    if member.kind == "link" and _ESCAPES.search(member.link):
        yield "link", f"a link that leads out, to {member.link[:120]}", Severity.HIGH
    ratio = _ratio(member)
    if ratio is not None and ratio >= BOMB_RATIO and member.size >= BOMB_BYTES:
        yield "bomb", f"{member.packed:,} bytes that become {member.size:,}", Severity.HIGH
    if member.kind == "device":
        yield "device", "a device, not a file", Severity.MEDIUM
    if member.kind == "file" and member.mode & _SET_ID:
        yield "set_id", "runs with the rights of its owner or group (set-id)", Severity.MEDIUM
    for danger in found:
        yield danger.name, danger.words, danger.severity


def _sign(sign: str, words: str, severity: Severity, member: str, evidence: tuple[Evidence, ...]) -> Finding:
    return Finding(
        kind="archive_sign",
        title=f"{member[:120]}: {words}",
        severity=severity,
        confidence=Confidence.HIGH if sign in ("traversal", "link", "bomb", "double_ending") else Confidence.MEDIUM,
        evidence=evidence,
        techniques=("T1036.007",) if sign == "double_ending" else (),
        attributes={"sign": sign, "member": member, "words": words},
    )


def _whole(seen: _Seen, size: int, form: str, source: str) -> Iterator[Finding]:
    """What is wrong with the archive as a whole."""
    evidence = (Evidence(source=source, excerpt=f"{form}, {size:,} bytes, {seen.members:,} members"),)
    if seen.encrypted:
        words = f"{seen.encrypted:,} of {seen.members:,} members have a password: their content was not looked at"
        yield _sign("password", words, Severity.MEDIUM, source, evidence)
    if form == "ZIP" and seen.packed > size:
        words = f"its members take {seen.packed:,} bytes of a file of {size:,}: they overlap"
        yield _sign("overlap", words, Severity.HIGH, source, evidence)
    if size and seen.size >= 10 * BOMB_BYTES and seen.size / size >= TOTAL_RATIO:
        yield _sign("bomb", f"{size:,} bytes that become {seen.size:,}", Severity.HIGH, source, evidence)


def _summary(seen: _Seen, size: int, form: str, label: str, source: str) -> Finding:
    return Finding(
        kind="archive_summary",
        title=f"{form} of {seen.members:,} members, {seen.size:,} bytes unpacked",
        evidence=(Evidence(source=source, excerpt=f"{form}, {size:,} bytes", offset=0),),
        attributes={
            "format": form, "label": label, "members": seen.members, "folders": seen.folders, "size": seen.size,
            "packed": size, "encrypted": seen.encrypted, "opened": seen.opened, "dangerous": seen.dangerous,
            "ratio": round(seen.size / size, 1) if size else None, "oldest": seen.times[0] if seen.times else "",
            "newest": seen.times[-1] if seen.times else "",
            "labels": [f"{count:,} {name}" for name, count in seen.labels.most_common(20)],
        },
    )  # fmt: skip


def _gaps(seen: _Seen, notes: list[str]) -> Iterator[Gap]:
    for note in notes:
        yield Gap(text=note)
    if seen.nested:
        yield Gap(text=f"{seen.nested:,} archives in it were not opened: one level is; attach them by themselves")
    if seen.unopened:
        yield Gap(text=f"{seen.unopened:,} members could not be opened (the table says why)")
    if seen.cut:
        yield Gap(text=f"of {seen.cut:,} members only the first {MAX_MEMBER_BYTES:,} bytes were looked at")
