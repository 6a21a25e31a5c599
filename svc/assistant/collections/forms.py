"""The forms of archives: each is opened as a run of members whose content is read piece by piece. Pure.

What the libraries raise on damaged or hostile input becomes a note or a reason; an encrypted member raises
PermissionError when it is read, unless the usual password opens it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol, cast

import msgspec
import pyzipper

from svc.assistant.collections.request import USUAL_PASSWORD
from svc.assistant.collections.sevenzip import SevenZipProblem, read_sevenzip
from svc.assistant.file_types.signatures import starts_as
from svc.untrusted.markup import plural

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_TAR_HEAD = 512
_DAMAGE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile, pyzipper.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, zstd.ZstdError, EOFError,
    OSError, ValueError, RuntimeError, NotImplementedError, KeyError, IndexError, AttributeError, TypeError,
    OverflowError, struct.error, SevenZipProblem,
)  # fmt: skip
"""What the libraries are known to raise: RuntimeError for a password, NotImplementedError for a method."""
UNREADABLE_FIELD = "SVC.unreadable"
"""PAX field by which the client says why it could not read a file of an attached folder."""

Read = Callable[[int], bytes]


class _ReadableStream(Protocol):
    """A decompressed stream."""

    def read(self, size: int = -1, /) -> bytes: ...


class Unpacked(msgspec.Struct, frozen=True, kw_only=True):
    """One file of an archive. ``open`` gives its content; ``reason`` says why it cannot be read, or is ""."""

    name: str
    size: int
    open: Callable[[], Read]
    packed: int | None = None
    is_encrypted: bool = False
    reason: str = ""
    damage: tuple[type[Exception], ...] = _DAMAGE


class Opened(msgspec.Struct, kw_only=True):
    """An archive: its form in words, its members in order, and what is known of it when they are exhausted.

    ``unfinished`` says why further members cannot be read.
    """

    form: str
    members: Iterator[Unpacked] = iter(())
    unfinished: str = ""
    links: int = 0
    is_listed: bool = False
    """Whether the names of further members can be read without unpacking."""


_PACKED_OPENERS: dict[str, tuple[str, Callable[[BinaryIO], _ReadableStream]]] = {
    "gzip": ("gzip", lambda stream: gzip.open(stream, "rb")),  # noqa: SIM115
    "bzip2": ("bzip2", lambda stream: bz2.open(stream, "rb")),  # noqa: SIM115
    "xz": ("xz", lambda stream: lzma.open(stream, "rb")),  # noqa: SIM115
    "zst": ("Zstandard", lambda stream: zstd.open(stream, "rb")),
}


def open_archive(content: BinaryIO, label: str) -> Opened | None:
    """Open an archive by its label; None if it is not one."""
    match label:
        case "zip":
            return _zip(content)
        case "tar":
            return _tar(content, "TAR", is_seekable=True)
        case "sevenzip":
            return _sevenzip(content)
        case _ if label in _PACKED_OPENERS:
            return _compressed(content, label)
        case _:
            return None


def _compressed(content: BinaryIO, label: str) -> Opened | None:
    words, opener = _PACKED_OPENERS[label]
    try:
        head = opener(content).read(_TAR_HEAD)
    except _DAMAGE:
        head = b""
    content.seek(0)
    if starts_as(head, "tar"):
        return _tar(cast(BinaryIO, opener(content)), f"TAR, compressed with {words}", is_seekable=False)
    return None  # one compressed file, which the tools decompress themselves


def _zip(content: BinaryIO) -> Opened:
    opened = Opened(form="ZIP", is_listed=True)
    opened.members = _zip_members(content, opened)
    return opened


def _zip_members(content: BinaryIO, opened: Opened) -> Iterator[Unpacked]:
    try:
        archive = pyzipper.AESZipFile(content)
        entries = archive.infolist()
    except _DAMAGE as error:
        opened.unfinished = f"damaged: the ZIP's directory cannot be read ({type(error).__name__})"
        return
    for entry in entries:
        mode = entry.external_attr >> 16
        if entry.filename.endswith("/"):
            continue
        if mode & 0o170000 == 0o120000:
            opened.links += 1
            continue
        yield Unpacked(
            name=entry.filename,
            size=entry.file_size,
            packed=entry.compress_size,
            is_encrypted=bool(entry.flag_bits & 1),
            open=_zip_opener(archive, entry),
        )


def _zip_opener(archive: pyzipper.AESZipFile, entry: pyzipper.zipfile.ZipInfo) -> Callable[[], Read]:
    is_encrypted = bool(entry.flag_bits & 1)

    def opened() -> Read:
        if not is_encrypted:
            return cast(Read, archive.open(entry).read)
        try:
            read = archive.open(entry, pwd=USUAL_PASSWORD.encode()).read
        except RuntimeError as error:  # a wrong password; NotImplementedError, a subclass, is an unknown method
            if isinstance(error, NotImplementedError):
                raise
            raise PermissionError from error
        return _checked(read)

    return opened


def _checked(read: Read) -> Read:
    """Content whose password one byte in 256 does not refute: damage means that the password is wrong."""

    def checked(size: int) -> bytes:
        try:
            return read(size)
        except _DAMAGE as error:
            raise PermissionError from error

    return checked


def _tar(content: BinaryIO, form: str, *, is_seekable: bool) -> Opened:
    opened = Opened(form=form)
    opened.members = _tar_members(content, opened, "r:" if is_seekable else "r|")
    return opened


def _tar_members(content: BinaryIO, opened: Opened, mode: str) -> Iterator[Unpacked]:
    count = 0
    try:
        with tarfile.open(fileobj=content, mode=mode, errorlevel=0) as archive:  # type: ignore[call-overload]
            for entry in archive:
                archive.members.clear()  # keeps memory bounded: entries are used once
                if entry.isdir():
                    continue
                if not entry.isfile():
                    opened.links += 1
                    continue
                count += 1
                yield _tar_member(archive, entry)
    except _DAMAGE as error:
        opened.unfinished = f"the archive is damaged after {plural(count, 'member')} ({type(error).__name__})"


def _tar_member(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> Unpacked:
    unreadable = entry.pax_headers.get(UNREADABLE_FIELD, "")
    return Unpacked(
        name=entry.name,
        size=entry.size,
        reason=f"it could not be read when it was attached ({unreadable[:100]})" if unreadable else "",
        open=lambda: (archive.extractfile(entry) or io.BytesIO()).read,
    )


def _sevenzip(content: BinaryIO) -> Opened:
    opened = Opened(form="7z")
    opened.members = _sevenzip_members(content, opened)
    return opened


def _sevenzip_members(content: BinaryIO, opened: Opened) -> Iterator[Unpacked]:
    try:
        for member in read_sevenzip(content):
            yield Unpacked(
                name=member.name,
                size=member.size,
                is_encrypted=member.is_encrypted,
                reason=member.reason,
                open=lambda member=member: member.read,  # type: ignore[misc]
            )
    except SevenZipProblem as problem:
        opened.unfinished = str(problem)
