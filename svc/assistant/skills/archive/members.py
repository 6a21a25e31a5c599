"""The members of an archive, one by one, opened within limits. Pure: reads the given stream and writes nothing.

ZIP and TAR are parsed by the standard library, 7z by py7zr; a compressed TAR arrives here unpacked. Names are data:
nothing is ever extracted to a path. What the library raises on damaged input becomes a note.
"""

from __future__ import annotations

import contextlib
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import IO, BinaryIO

import msgspec
import py7zr
from py7zr.exceptions import PasswordRequired

from svc.assistant.skills.archive.findings import MemberType

MAX_MEMBERS = 10_000  # that are listed
MAX_MEMBER_BYTES = 32 * 1024 * 1024  # of one member that is opened
MAX_TOTAL_BYTES = 128 * 1024 * 1024  # of all: with hashing, a few seconds on one core
_DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError,
    NotImplementedError, KeyError, IndexError, AttributeError, TypeError, OverflowError, struct.error,
)  # fmt: skip
"""What zipfile and tarfile are known to raise: RuntimeError for a password, NotImplementedError for a method."""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One entry. ``data`` is None if it was not opened, and ``note`` says why; ``link`` is the target of a link."""

    name: str
    size: int
    packed: int | None
    kind: MemberType
    modified: str = ""
    is_encrypted: bool = False
    link: str = ""
    data: bytes | None = None
    is_whole: bool = True
    note: str = ""
    mode: int = 0


class Budget:
    """How many bytes of one archive may still be unpacked."""

    def __init__(self, total: int = MAX_TOTAL_BYTES) -> None:
        self.left: int = total

    def read(self, stream: IO[bytes]) -> tuple[bytes, bool]:
        """Return the content within the limits, and whether it is complete."""
        limit = min(MAX_MEMBER_BYTES, self.left)
        data = stream.read(limit + 1)
        self.left -= min(len(data), limit)
        return data[:limit], len(data) <= limit


def is_zip(stream: BinaryIO) -> bool:
    """Whether the stream ends with a ZIP directory."""
    with contextlib.suppress(*_DAMAGE):
        stream.seek(0)
        return zipfile.is_zipfile(stream)
    return False


def read_zip(stream: BinaryIO, notes: list[str], budget: Budget | None = None) -> Iterator[Member]:
    """Yield the members of a ZIP; damage of the whole is added to ``notes``."""
    budget = budget or Budget()
    stream.seek(0)
    try:
        archive = zipfile.ZipFile(stream)
    except _DAMAGE as error:
        notes.append(f"damaged: the ZIP's directory cannot be read ({type(error).__name__})")
        return
    entries = archive.infolist()
    if len(entries) > MAX_MEMBERS:
        notes.append(f"only the first {MAX_MEMBERS:,} of {len(entries):,} members were examined")
    for entry in entries[:MAX_MEMBERS]:
        yield _zip_member(archive, entry, budget)


def _zip_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, budget: Budget) -> Member:
    mode = entry.external_attr >> 16
    is_link = (mode & 0o170000) == 0o120000
    is_folder = entry.filename.endswith("/")  # ZipInfo.is_dir raises IndexError for an empty name
    is_encrypted = bool(entry.flag_bits & 1)
    modified = ""
    with contextlib.suppress(ValueError):
        modified = datetime(*entry.date_time).isoformat()  # noqa: DTZ001 - a ZIP's stamp has no zone
    member = Member(
        name=entry.orig_filename.replace("\x00", "\\0"), size=entry.file_size, packed=entry.compress_size,
        kind="folder" if is_folder else "link" if is_link else "file", modified=modified,
        is_encrypted=is_encrypted, mode=mode & 0o7777,
    )  # fmt: skip
    if is_folder or is_encrypted:
        return member
    if budget.left <= 0:
        return msgspec.structs.replace(member, note=f"not opened: {MAX_TOTAL_BYTES:,} bytes were unpacked before it")
    try:
        with archive.open(entry) as content:
            data, is_whole = budget.read(content)
    except _DAMAGE as error:
        return msgspec.structs.replace(
            member, note=f"damaged, or compressed with an unknown method ({type(error).__name__})"
        )
    link = data.decode("utf-8", "replace")[:500] if is_link else ""
    return msgspec.structs.replace(member, data=data, is_whole=is_whole, link=link)


def read_tar(stream: BinaryIO, notes: list[str]) -> Iterator[Member]:
    """Yield the members of a TAR; damage of the whole is added to ``notes``."""
    budget = Budget()
    stream.seek(0)
    try:
        with tarfile.open(fileobj=stream, mode="r:") as archive:
            for count, entry in enumerate(archive):
                if count >= MAX_MEMBERS:
                    notes.append(f"only the first {MAX_MEMBERS:,} members were examined")
                    return
                yield _tar_member(archive, entry, budget)
    except _DAMAGE as error:
        notes.append(f"damaged after byte {_position(stream):,} ({type(error).__name__}); the rest was not examined")


def _tar_member(archive: tarfile.TarFile, entry: tarfile.TarInfo, budget: Budget) -> Member:
    modified = ""
    with contextlib.suppress(ValueError, OverflowError, OSError):
        modified = datetime.fromtimestamp(entry.mtime, UTC).isoformat()
    kind = _member_type(entry)
    member = Member(
        name=entry.name, size=entry.size, packed=None, kind=kind, modified=modified, link=entry.linkname,
        mode=entry.mode & 0o7777,
    )  # fmt: skip
    if kind != "file":
        return member
    if budget.left <= 0:
        return msgspec.structs.replace(member, note=f"not opened: {MAX_TOTAL_BYTES:,} bytes were unpacked before it")
    content = archive.extractfile(entry)
    if content is None:
        return member
    data, is_whole = budget.read(content)
    return msgspec.structs.replace(member, data=data, is_whole=is_whole)


def _member_type(entry: tarfile.TarInfo) -> MemberType:
    if entry.isdir():
        return "folder"
    if entry.islnk() or entry.issym():
        return "link"
    return "file" if entry.isfile() else "device"


def _position(stream: BinaryIO) -> int:
    try:
        return stream.tell()
    except (OSError, ValueError):
        return 0


def read_sevenzip(stream: BinaryIO, notes: list[str]) -> Iterator[Member]:
    """Yield the members of a 7z archive, unopened: its blocks hold many files, which a collection's reader unpacks."""
    stream.seek(0)
    try:
        archive = py7zr.SevenZipFile(stream)
        entries, is_encrypted = archive.list(), archive.needs_password()
    except PasswordRequired:
        notes.append("the list of members is encrypted")
        return
    except Exception as error:  # noqa: BLE001 - hostile input can make the library raise anything
        notes.append(f"damaged: the list of members cannot be read ({type(error).__name__})")
        return
    if len(entries) > MAX_MEMBERS:
        notes.append(f"only the first {MAX_MEMBERS:,} of {len(entries):,} members were examined")
    for entry in entries[:MAX_MEMBERS]:
        yield Member(
            name=entry.filename,
            size=int(entry.uncompressed or 0),
            packed=None,
            kind="folder" if entry.is_directory else "file",
            modified=entry.creationtime.isoformat() if entry.creationtime else "",
            is_encrypted=is_encrypted and not entry.is_directory,
        )
