"""The contents of attached files: on disk, or in memory for sessions that may not be logged.

A file is stored under a generated id; the user's name for it never becomes a path. Uploads are streamed, with at most
``CHUNK_BYTES`` of each in memory. Facts: docs/wire.md, "Limits".
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from pathlib import Path
from typing import IO

import msgspec

from svc.errors import ConfigError, SessionFileNotFoundError, TooLargeError, UnavailableError
from svc.messages import new_id
from svc.service.sessions.file_type import HEAD_BYTES
from svc.service.settings import MIB

CHUNK_BYTES = MIB  # per write, which runs in a thread


class ReceivedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A stored upload: its id, size, digest and first bytes."""

    id: str
    size: int
    sha256: str
    head: bytes


class OpenFile(msgspec.Struct, frozen=True, kw_only=True):
    """A stored file that is being read: its size, and its content in pieces. Iterate over these, or close them."""

    size: int
    chunks: AsyncGenerator[bytes, None]


class DiskFiles:
    """Files of logged sessions, in a folder of mode 0700."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def open(self, known: set[str]) -> None:
        """Create the folder, and delete files that no session knows (left behind by a killed process)."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            orphans = [path.name for path in self._folder.iterdir() if path.name not in known]
        except OSError as error:
            raise ConfigError(f"the folder for attached files {self._folder} cannot be used: {error}") from error
        await self.remove(orphans)

    async def receive(self, chunks: AsyncIterator[bytes], limit_bytes: int) -> ReceivedFile:
        """Write a stream to disk; the file is durable on return.

        Raises:
            TooLargeError: The stream is larger than ``limit_bytes``.
            UnavailableError: The disk is full or cannot be written.
        """
        file_id = new_id()
        path = self._folder / file_id
        try:
            descriptor = await asyncio.to_thread(os.open, path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with open(descriptor, "wb", buffering=0) as sink:  # noqa: ASYNC230, PTH123  # a descriptor, not a path
                return await _copy(chunks, sink, file_id, limit_bytes)
        except OSError as error:
            await self.remove([file_id])
            raise UnavailableError(
                f"the file could not be written ({error.strerror}); free space on the disk of the service's database",
                retry_after=60,
            ) from error
        except BaseException:
            await self.remove([file_id])
            raise

    async def open_file(self, file_id: str, size: int) -> OpenFile:
        """Open the file for reading; raises SessionFileNotFoundError if it was detached."""
        try:
            file = await asyncio.to_thread(open, self._folder / file_id, "rb")
        except FileNotFoundError as error:
            raise _detached() from error
        except OSError as error:
            raise UnavailableError(f"the file could not be read ({error.strerror})", retry_after=60) from error
        return OpenFile(size=size, chunks=_chunks_of_file(file))

    def source(self, file_id: str) -> Path:
        """The path of the file."""
        return self._folder / file_id

    async def remove(self, file_ids: Iterable[str]) -> None:
        """Delete the files."""
        await asyncio.to_thread(_unlink, [self._folder / file_id for file_id in file_ids])


async def _copy(chunks: AsyncIterator[bytes], sink: IO[bytes], file_id: str, limit_bytes: int) -> ReceivedFile:
    digest, size, head = hashlib.sha256(), 0, b""
    buffer = bytearray()
    async for chunk in chunks:
        size += len(chunk)
        check_size(size, limit_bytes)
        buffer += chunk
        if len(buffer) >= CHUNK_BYTES:
            head = head or bytes(buffer[:HEAD_BYTES])
            await asyncio.to_thread(_write, sink, digest, bytes(buffer))
            buffer.clear()
    head = head or bytes(buffer[:HEAD_BYTES])
    await asyncio.to_thread(_write, sink, digest, bytes(buffer))
    await asyncio.to_thread(os.fsync, sink.fileno())
    return ReceivedFile(id=file_id, size=size, sha256=digest.hexdigest(), head=head)


def _write(sink: IO[bytes], digest: hashlib._Hash, data: bytes) -> None:
    digest.update(data)
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[sink.write(remaining) :]


def _unlink(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


class MemoryFiles:
    """Files of sessions that may not be logged, in memory, with one limit for all of them."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._files: dict[str, bytes] = {}
        self._used = 0

    @property
    def used_bytes(self) -> int:
        """The memory that files take, those that are being received included."""
        return self._used

    async def receive(self, chunks: AsyncIterator[bytes], limit_bytes: int) -> ReceivedFile:
        """Keep a stream in memory; raises TooLargeError over either limit."""
        buffer = bytearray()
        try:
            async for chunk in chunks:
                check_size(len(buffer) + len(chunk), limit_bytes)
                self._check_room(len(chunk))
                self._used += len(chunk)
                buffer += chunk
        except BaseException:
            self._used -= len(buffer)
            raise
        file_id, data = new_id(), bytes(buffer)
        self._files[file_id] = data
        return ReceivedFile(id=file_id, size=len(data), sha256=hashlib.sha256(data).hexdigest(), head=data[:HEAD_BYTES])

    def _check_room(self, more: int) -> None:
        if self._used + more > self._limit_bytes:
            raise TooLargeError(
                f"the files of unlogged sessions would take {self._used + more:,} bytes of memory; the limit is "
                f"{self._limit_bytes:,} for all of them. Detach some, or use a logged session"
            )

    async def open_file(self, file_id: str, size: int) -> OpenFile:
        """Open the file for reading; raises SessionFileNotFoundError if it was detached."""
        return OpenFile(size=size, chunks=_chunks_of_file(io.BytesIO(self.source(file_id))))

    def source(self, file_id: str) -> bytes:
        """The content of the file; raises SessionFileNotFoundError if it was detached."""
        if file_id not in self._files:
            raise _detached()
        return self._files[file_id]

    async def remove(self, file_ids: Iterable[str]) -> None:
        """Delete the files."""
        for file_id in file_ids:
            self._used -= len(self._files.pop(file_id, b""))


async def _chunks_of_file(file: IO[bytes]) -> AsyncGenerator[bytes, None]:
    with file:
        while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield chunk


def _detached() -> SessionFileNotFoundError:
    return SessionFileNotFoundError("the file was detached while it was being read; ask again")


def check_size(size: int, limit_bytes: int) -> None:
    """Raise TooLargeError, with both figures, if a file is over its limit."""
    if size > limit_bytes:
        raise TooLargeError(
            f"the file is at least {size:,} bytes; the limit is {limit_bytes:,}. Send only the relevant part, "
            "or raise SVC_MAX_UPLOAD_BYTES"
        )


async def chunks_of(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Yield data that is in memory already, for ``receive``."""
    for piece in pieces:
        yield piece
