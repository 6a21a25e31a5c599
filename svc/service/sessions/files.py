"""The contents of attached files: on disk, or in memory for sessions that may not be logged.

A file is stored under a generated id; the user's name for it never becomes a path. Uploads are streamed, with at most
``CHUNK_BYTES`` of each in memory. Facts: docs/wire.md, "Limits".
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import IO, Protocol

import msgspec

from svc.assistant.turn import KeptResults, StoredFile
from svc.errors import (
    InsufficientStorageError,
    ServiceError,
    SessionFileNotFoundError,
    TooLargeError,
    UnavailableError,
)
from svc.messages import new_id
from svc.service.sessions.database_mark import MarkedFolder, check_mark, has_mark
from svc.service.sessions.file_folder import FILE_NAME, FileFolder, Manifest, delete
from svc.service.sessions.file_type import HEAD_BYTES
from svc.service.sessions.kept_results import DiskResults, MemoryResults
from svc.service.settings import MIB
from svc.service.store.disk_space import FULL_ERRNOS, DiskSpace
from svc.service.store.records import FileRecord, FileState
from svc.service.store.store_errors import storage_full

CHUNK_BYTES = MIB  # per write, which runs in a thread
SWEEP_SECONDS = 3_600.0
SWEEP_SHARE = 0.9  # of it, in which one service of several sweeps once: their hours begin at different times
ORPHAN_SECONDS = 86_400.0  # where services share the files: a file that is being received is written to all the time
log: logging.Logger = logging.getLogger("svc.files")


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


class FileJournal(Protocol):
    """What ``DiskFiles`` needs of the store of logged sessions."""

    async def file_ids(self) -> set[str]:
        """The ids of all attached files."""
        ...

    async def journaled_files(self) -> dict[str, FileState]:
        """The files that are being received or removed."""
        ...

    async def stalled_files(self, seconds: float) -> set[str]:
        """The files that have been being received for longer than this."""
        ...

    async def attached(self, file_ids: Iterable[str]) -> set[str]:
        """Those of the files that a session has."""
        ...

    async def duplicates(self) -> list[Sequence[FileRecord]]:
        """Files of one user with the same content that do not share it."""
        ...

    async def share_file(self, file_id: str, shared_id: str) -> None:
        """Let the records of a file share another with the same content."""

    async def begin_file(self, file_id: str) -> None:
        """Record that a file is being received."""

    async def forget_files(self, file_ids: Iterable[str]) -> None:
        """Drop files from the journal."""

    async def claim_sweep(self, seconds: float) -> bool:
        """Whether this service may sweep now: no other one may for so long after that."""
        ...

    async def meta(self, name: str) -> bytes | None:
        """A value that the service remembers."""
        ...

    async def first_meta(self, name: str, value: bytes) -> bytes:
        """Remember a value, unless there is one; returns that which is remembered."""
        ...


class FileStore(Protocol):
    """The contents of files of sessions, logged or not."""

    async def receive(self, chunks: AsyncIterator[bytes], limit_bytes: int) -> ReceivedFile:
        """Store a stream; raises TooLargeError, InsufficientStorageError or UnavailableError."""
        ...

    async def publish(self, received_id: str, stored: FileRecord) -> None:
        """Complete a received file whose record was stored, or drop it if the record shares another."""

    async def open_file(self, file: FileRecord) -> OpenFile:
        """Open the file for reading; raises SessionFileNotFoundError or UnavailableError."""
        ...

    def source(self, file: FileRecord) -> Path | bytes | StoredFile:
        """The file for tools; raises SessionFileNotFoundError."""
        ...

    def results(self, file_id: str) -> KeptResults | None:
        """What tools found in the file; None if nothing is kept."""
        ...

    async def remove(self, file_ids: Iterable[str]) -> None:
        """Erase those of the files that no session has."""


class LoggedFiles(FileStore, Protocol):
    """The contents of files of logged sessions."""

    async def open(self) -> None:
        """Begin to use the place; raises ConfigError if it cannot be used."""

    def close(self) -> None:
        """Let another service use it."""

    async def sweep(self) -> None:
        """Erase what nobody needs any more in a place that services share."""

    async def forget_detached(self) -> None:
        """Erase what only this machine has of files that other services removed."""

    async def warnings(self) -> list[str]:
        """What an operator should look at."""
        ...


class DiskFiles:
    """Files of logged sessions, in a folder of mode 0700, each content of a user once.

    A file is received under a name of its own (``.part``), attached in the database, and then renamed. If the user has
    its content already, the database names that file, and what was received is dropped. The journal in the database
    names what is between these steps, so that nothing else is ever deleted. A file that no session has any more is
    erased with its results, which have a folder of their own.

    Several services may share a folder (``is_shared``): then nothing is moved or erased at the start, since others are
    receiving files; what nobody knows is erased by its age (``sweep``).
    """

    def __init__(
        self,
        folder: Path,
        journal: FileJournal,
        space: DiskSpace,
        *,
        results_bytes: int = 0,
        is_shared: bool = False,
    ) -> None:
        self._folder = FileFolder(folder)
        self._is_shared = is_shared
        self._journal = journal
        self._space = space
        self._received: set[str] = set()  # complete, not renamed yet
        self._results = DiskResults(folder.with_suffix(".results"), results_bytes, self._folder.has, space)

    async def open(self) -> None:
        """Lock the folder and compare it with the database; raises ConfigError if it cannot be used."""
        await asyncio.to_thread(self._folder.open, is_shared=self._is_shared)
        if self._is_shared:
            await check_mark(MarkedFolder(self._folder.path), self._journal)
        else:
            await self._reconcile()
        await asyncio.to_thread(self._results.open)

    async def _reconcile(self) -> None:
        known = Manifest(frozenset(await self._journal.file_ids()), await self._journal.journaled_files())
        if settled := await asyncio.to_thread(self._folder.reconcile, known):
            await self._journal.forget_files(settled)
        await self._share_duplicates()

    async def sweep(self) -> None:
        """In a shared folder, erase what no session has: files that were to be removed, and old ones nobody knows."""
        if not self._is_shared or not await self._journal.claim_sweep(SWEEP_SECONDS * SWEEP_SHARE):
            return
        if not await has_mark(MarkedFolder(self._folder.path), self._journal):
            return
        old = await asyncio.to_thread(self._folder.left_behind, ORPHAN_SECONDS)
        attached = await self._journal.attached(old)
        for file_id in attached:
            await asyncio.to_thread(self._folder.name_received, file_id)
        removing = {
            file_id for file_id, state in (await self._journal.journaled_files()).items() if state == "removing"
        }
        if orphans := old - attached:
            log.warning("files that no session has are erased", extra={"count": len(orphans)})
        await self.remove(orphans | removing)
        stalled = await self._journal.stalled_files(ORPHAN_SECONDS)
        if gone := await asyncio.to_thread(lambda: {one for one in stalled if not self._folder.has_any(one)}):
            await self._journal.forget_files(gone)  # their service was killed

    async def _share_duplicates(self) -> None:
        """Keep one of the files with the same content, if it is whole, and remove the others."""
        for files in await self._journal.duplicates():
            whole = await asyncio.to_thread(self._first_whole, files)
            if whole is not None:
                for file in files:
                    await self._journal.share_file(file.id, whole)
                await self.remove(file.id for file in files)

    def _first_whole(self, files: Sequence[FileRecord]) -> str | None:
        return next((file.id for file in files if self._folder.is_whole(file)), None)

    async def forget_detached(self) -> None:
        """Nothing: all that is kept of a file is in the folder and beside it."""

    def close(self) -> None:
        """Let another service use the folder."""
        self._folder.close()

    async def warnings(self) -> list[str]:
        """What an operator should look at."""
        return await asyncio.to_thread(self._folder.warnings)

    async def receive(self, chunks: AsyncIterator[bytes], limit_bytes: int) -> ReceivedFile:
        """Write a stream to disk; the file is durable on return, and complete once it is published.

        Raises:
            TooLargeError: The stream is larger than ``limit_bytes``.
            InsufficientStorageError: The disk is full.
            UnavailableError: The disk cannot be written.
        """
        self._space.check()
        file_id = new_id()
        await self._journal.begin_file(file_id)
        path = self._folder.part(file_id)
        try:
            descriptor = await asyncio.to_thread(os.open, path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with open(descriptor, "wb", buffering=0) as sink:  # noqa: ASYNC230, PTH123  # a descriptor, not a path
                received = await _copy(chunks, sink, file_id, limit_bytes, self._space)
        except OSError as error:
            await self.remove([file_id])
            raise _write_error(error) from error
        except BaseException:
            await self.remove([file_id])
            raise
        self._received.add(file_id)
        return received

    async def publish(self, received_id: str, stored: FileRecord) -> None:
        """Give an attached file its name, or drop it if its record shares another file."""
        if stored.id == received_id:
            self._rename(received_id)
            return
        self._rename(stored.id)
        if not self._folder.has_size(stored):  # lost or cut; what was received is the same content
            with contextlib.suppress(OSError):
                self._folder.part(received_id).replace(self._folder.file(stored.id))
        await self.remove([received_id, stored.id])  # the latter if it was detached meanwhile

    def _rename(self, file_id: str) -> None:
        """Give a complete file its name; if that fails, the next start does it."""
        if file_id in self._received:
            with contextlib.suppress(OSError):
                self._folder.part(file_id).rename(self._folder.file(file_id))
            if self._folder.has_file(file_id):  # another service may have been first
                self._received.discard(file_id)

    async def open_file(self, file: FileRecord) -> OpenFile:
        """Open the file for reading; raises SessionFileNotFoundError if it was detached."""
        try:
            stream = await asyncio.to_thread(open, self.source(file), "rb")
        except FileNotFoundError as error:
            raise _detached() from error
        except OSError as error:
            raise UnavailableError(f"the file could not be read ({error.strerror})", retry_after=60) from error
        return OpenFile(size=file.size, chunks=_chunks_of_file(stream))

    def source(self, file: FileRecord) -> Path:
        """The path of an attached file."""
        file_id = file.id
        self._rename(file_id)  # its session names it already
        if file_id in self._received:
            return self._folder.part(file_id)
        if self._is_shared:
            self._folder.name_received(file_id)
        return self._folder.file(file_id)

    def results(self, file_id: str) -> KeptResults | None:
        """What tools found in the file; None if nothing is kept."""
        return self._results.of(file_id)

    async def remove(self, file_ids: Iterable[str]) -> None:
        """Delete those of the files that no session has; what cannot be deleted now is deleted at the next start."""
        removed = [file_id for file_id in file_ids if FILE_NAME.fullmatch(file_id)]
        try:
            attached = await self._journal.attached(removed) if removed else set()
        except (InsufficientStorageError, UnavailableError):  # it is in the journal
            return
        removed = [file_id for file_id in removed if file_id not in attached]
        if not removed:
            return
        self._received.difference_update(removed)
        self._folder.forget_missing(removed)
        gone = await asyncio.to_thread(self._unlink, removed)
        with contextlib.suppress(InsufficientStorageError, UnavailableError):
            await self._journal.forget_files(gone)

    def _unlink(self, file_ids: Sequence[str]) -> list[str]:
        gone = [id_ for id_ in file_ids if delete((self._folder.part(id_), self._folder.file(id_)))]
        self._results.erase(file_ids)
        return gone


def _write_error(error: OSError) -> ServiceError:
    if error.errno in FULL_ERRNOS:
        return storage_full(error.strerror or "no space")
    return UnavailableError(
        f"the file could not be written ({error.strerror}); the operator must check the service's disk",
        retry_after=60,
    )


async def _copy(
    chunks: AsyncIterator[bytes], sink: IO[bytes], file_id: str, limit_bytes: int, space: DiskSpace
) -> ReceivedFile:
    digest, size, head = hashlib.sha256(), 0, b""
    buffer = bytearray()
    async for chunk in chunks:
        size += len(chunk)
        check_size(size, limit_bytes)
        buffer += chunk
        if len(buffer) >= CHUNK_BYTES:
            space.check()
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


class MemoryFiles:
    """Files of sessions that may not be logged, in memory, with one limit for all of them."""

    def __init__(self, limit_bytes: int, *, results_bytes: int = 0) -> None:
        self._limit_bytes = limit_bytes
        self._files: dict[str, bytes] = {}
        self._results = MemoryResults(results_bytes, self._files.__contains__)
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

    async def publish(self, received_id: str, stored: FileRecord) -> None:
        """Drop a received file if its session had the same one already."""
        if stored.id != received_id:
            await self.remove([received_id])

    def results(self, file_id: str) -> KeptResults | None:
        """What tools found in the file; None if nothing is kept."""
        return self._results.of(file_id)

    async def open_file(self, file: FileRecord) -> OpenFile:
        """Open the file for reading; raises SessionFileNotFoundError if it was detached."""
        return OpenFile(size=file.size, chunks=_chunks_of_file(io.BytesIO(self.source(file))))

    def source(self, file: FileRecord) -> bytes:
        """The content of the file; raises SessionFileNotFoundError if it was detached."""
        if file.id not in self._files:
            raise _detached()
        return self._files[file.id]

    async def remove(self, file_ids: Iterable[str]) -> None:
        """Delete the files."""
        erased = [*file_ids]
        for file_id in erased:
            self._used -= len(self._files.pop(file_id, b""))
        self._results.erase(erased)


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
