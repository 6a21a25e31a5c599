"""Attached files of logged sessions in an object store that all services of the database use.

An object has the file's id as its name below the prefix. It is whole or not there, so a file needs no other name while
it arrives. It is stored before its row in the database and erased after it; the journal in the database names what is
between. What tools read comes from a cache on this machine, and so does what they found: it is not worth a request.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import IO

from svc.assistant.collections.request import CLOSED_CONTAINERS, CONTAINERS
from svc.assistant.turn import FileUnreadableError, KeptResults
from svc.errors import ConfigError, InsufficientStorageError, SessionFileNotFoundError, UnavailableError
from svc.messages import new_id
from svc.service.sessions.database_mark import MARK, MARK_BYTES, check_mark, has_mark
from svc.service.sessions.file_folder import FILE_NAME
from svc.service.sessions.files import (
    ORPHAN_SECONDS,
    SWEEP_SECONDS,
    SWEEP_SHARE,
    FileJournal,
    OpenFile,
    ReceivedFile,
)
from svc.service.sessions.kept_results import DiskResults
from svc.service.sessions.objects.bucket import Bucket, BucketError, Failure
from svc.service.sessions.objects.cache import FileCache
from svc.service.sessions.objects.upload import upload
from svc.service.store.disk_space import FULL_ERRNOS, DiskSpace
from svc.service.store.records import FileRecord

log: logging.Logger = logging.getLogger("svc.files")
RETRY_SECONDS = 5.0
REFUSED_RETRY_SECONDS = 60.0  # until an operator has changed something
WAIT_SECONDS = 5.0  # between two looks at a store that cannot be reached at the start
_PROBE = ".probe-"
_PASSING: tuple[Failure, ...] = ("unreachable",)


class _FileGoneError(FileUnreadableError):
    """The object is not there."""


class ObjectFiles:
    """Files of logged sessions in a bucket, each content of a user once; several services may use it.

    Args:
        bucket: Where the files are.
        journal: The database.
        cache: Where files are fetched to.
        space: The free space of the cache's disk.
        results_bytes: The room for what tools found.
    """

    def __init__(
        self, bucket: Bucket, journal: FileJournal, cache: FileCache, space: DiskSpace, *, results_bytes: int = 0
    ) -> None:
        self._bucket = bucket
        self._journal = journal
        self._cache = cache
        self._space = space
        self._results_bytes = results_bytes
        self._results = DiskResults(cache.results_folder, 0, _always, space)  # until it is open
        self._missing: set[str] = set()
        self._trouble = ""  # why the latest request failed; "" if it did not

    async def open(self) -> None:
        """Look for the mark of the database, and at what an earlier process left; erases nothing in the store.

        Raises:
            ConfigError: The bucket or the cache cannot be used, or the bucket is another database's.
        """
        await asyncio.to_thread(self._cache.open)
        await self._wait_for_store()
        await check_mark(_MarkedBucket(self._bucket), self._journal)
        results = self._cache.results_folder
        left = {entry.name for entry in os.scandir(results)} if results.is_dir() else set()
        attached = await self._journal.attached(left)
        self._results = DiskResults(results, self._results_bytes, _always, self._space)
        await asyncio.to_thread(self._results.open)
        await asyncio.to_thread(self._results.erase, left - attached)
        await self.forget_detached()

    async def _wait_for_store(self) -> None:
        """Store, read, list and erase an object, which finds a missing right; wait for a store that is away."""
        waited = False
        while True:
            try:
                await self._probe()
                return
            except BucketError as error:
                if error.kind not in _PASSING:
                    raise _config_error(self._bucket, error) from None
                if not waited:
                    log.warning(
                        "waiting for the object store", extra={"store": self._bucket.label, "reason": str(error)}
                    )
                waited = True
            await asyncio.sleep(WAIT_SECONDS)

    async def _probe(self) -> float:
        """The time by the store's own clock."""
        key = f"{_PROBE}{new_id()}"
        await self._bucket.put(key, b"svc")
        found = await self._bucket.find(key)
        async for _ in self._bucket.listed():
            break
        await self._bucket.delete([key])
        if found is None:
            raise BucketError("refused", "what was just stored in it is not there")
        return found.stored

    def close(self) -> None:
        """Let another service use the cache."""
        self._cache.close()

    async def warnings(self) -> list[str]:
        """What an operator should look at."""
        found = []
        if self._missing:
            found.append(
                f"the content of {len(self._missing)} attached files is missing in {self._bucket.label}: restore the "
                "objects, or delete the sessions"
            )
        if self._trouble:
            found.append(
                f"attached files cannot be stored or fetched at the moment: {self._bucket.label}: {self._trouble}"
            )
        return found

    # uploads

    async def receive(self, chunks: AsyncIterator[bytes], limit_bytes: int) -> ReceivedFile:
        """Store a stream; it is durable on return.

        Raises:
            TooLargeError: The stream is larger than ``limit_bytes``.
            UnavailableError: The store cannot be reached or refuses it.
        """
        file_id = new_id()
        await self._journal.begin_file(file_id)
        try:
            with self._noted():
                return await upload(self._bucket, file_id, chunks, limit_bytes)
        except BucketError as error:
            await self.remove([file_id])
            raise UnavailableError(
                f"the file could not be stored in the object store: {error}; {_advice(error)}",
                retry_after=_retry_after(error),
            ) from None
        except BaseException:
            await self.remove([file_id])
            raise

    async def publish(self, received_id: str, stored: FileRecord) -> None:
        """Drop a received file whose record shares another, or replace that one if it was lost."""
        if stored.id == received_id:
            return
        with contextlib.suppress(BucketError):  # then what was received is dropped: the other was there before
            found = await self._bucket.find(stored.id)
            if found is None or found.size != stored.size:
                await self._bucket.copy(received_id, stored.id)
        await self.remove([received_id, stored.id])  # the latter if it was detached meanwhile

    # reading

    async def open_file(self, file: FileRecord) -> OpenFile:
        """Open the file for reading; its last piece comes only if all of it is what was attached.

        Raises:
            SessionFileNotFoundError: It was detached, or the store has lost it.
            UnavailableError: The store cannot be reached or refuses.
        """
        checked = self._checked(file)
        first = b""
        try:
            first = await anext(checked, b"")
        except _FileGoneError as error:
            raise SessionFileNotFoundError(str(error)) from None
        return OpenFile(size=file.size, chunks=_joined(first, checked))

    async def _checked(self, file: FileRecord) -> AsyncGenerator[bytes, None]:
        """The content, compared with its SHA-256 before the last piece is passed on; raises FileUnreadableError."""
        digest = hashlib.sha256()
        size = 0
        try:
            with self._noted():
                async for piece in self._bucket.pieces(file.id, file.size):
                    size += len(piece)
                    await asyncio.to_thread(digest.update, piece)
                    if size < file.size:
                        yield piece
        except BucketError as error:
            raise await self._unreadable(file, error) from None
        if size != file.size or digest.hexdigest() != file.sha256:
            log.error("object is not what was attached", extra={"file": file.id, "store": self._bucket.label})
            raise FileUnreadableError(
                f"the content of {file.name} in the object store is not what was attached: its SHA-256 differs. It was "
                "not read; attach the file again",
                retry_after=REFUSED_RETRY_SECONDS,
            )
        if size:
            yield piece

    def source(self, file: FileRecord) -> FetchedFile:
        """The file for tools; it is fetched when one opens it."""
        return FetchedFile(self, file)

    def has(self, file: FileRecord) -> bool:
        """Whether the file is in the cache."""
        return self._cache.has(file)

    def pinned(self, file: FileRecord) -> AbstractAsyncContextManager[Path]:
        """The file in the cache, until the context ends."""
        return self._cache.pinned(file, self._fetch)

    async def _fetch(self, file: FileRecord, path: Path) -> None:
        """Write the content to a new file, durably."""
        descriptor = await asyncio.to_thread(os.open, path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with open(descriptor, "wb", buffering=0) as sink:  # noqa: ASYNC230, PTH123  # a descriptor, not a path
            async with contextlib.aclosing(self._checked(file)) as pieces:
                async for piece in pieces:
                    await asyncio.to_thread(_write, sink, piece)
            await asyncio.to_thread(os.fsync, sink.fileno())

    def results(self, file_id: str) -> KeptResults | None:
        """What tools found in the file; None if nothing is kept."""
        return self._results.of(file_id)

    # erasing

    async def remove(self, file_ids: Iterable[str]) -> None:
        """Erase those of the files that no session has; what cannot be erased now is erased by a sweep."""
        removed = [file_id for file_id in file_ids if FILE_NAME.fullmatch(file_id)]
        try:
            attached = await self._journal.attached(removed) if removed else set()
        except (InsufficientStorageError, UnavailableError):  # it is in the journal
            return
        removed = [file_id for file_id in removed if file_id not in attached]
        if not removed:
            return
        await self._forget(removed)
        try:
            await self._bucket.delete(removed)
        except BucketError as error:
            log.error("attached files not erased yet", extra={"count": len(removed), "reason": str(error)})
            return
        with contextlib.suppress(InsufficientStorageError, UnavailableError):
            await self._journal.forget_files(removed)

    async def _forget(self, file_ids: Iterable[str]) -> None:
        """Erase what this machine has of files that no session has any more."""
        gone = [*file_ids]
        self._missing.difference_update(gone)
        self._cache.erase(gone)
        await asyncio.to_thread(self._results.erase, gone)

    async def forget_detached(self) -> None:
        """Erase what this machine has of files that no session has any more: another service may have removed them."""
        here = self._results.file_ids | self._cache.file_ids
        if gone := here - await self._journal.attached(here):
            await self._forget(gone)

    async def sweep(self) -> None:
        """Erase files that were to be removed, and old ones that no session has; one service of all does it."""
        if not await self._journal.claim_sweep(SWEEP_SECONDS * SWEEP_SHARE):
            return
        try:
            if not await has_mark(_MarkedBucket(self._bucket), self._journal):
                return
            latest = await self._probe() - ORPHAN_SECONDS
            async for page in self._bucket.listed():
                await self._sweep_page({one.key for one in page if one.stored <= latest})
        except (BucketError, ConfigError) as error:
            log.warning("objects not swept", extra={"store": self._bucket.label, "reason": str(error)})
            return
        journal = await self._journal.journaled_files()
        stalled = await self._journal.stalled_files(ORPHAN_SECONDS)  # their service was killed
        await self.remove(stalled | {file_id for file_id, state in journal.items() if state == "removing"})

    async def _sweep_page(self, old: set[str]) -> None:
        probes = [key for key in old if key.startswith(_PROBE)]  # of a process that was killed
        files = {key for key in old if FILE_NAME.fullmatch(key)}
        if probes:
            await self._bucket.delete(probes)
        if orphans := files - await self._journal.attached(files):
            log.warning("files that no session has are erased", extra={"count": len(orphans)})
            await self.remove(orphans)

    # failures

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        """Remember whether the store works."""
        try:
            yield
            self._trouble = ""
        except BucketError as error:
            if error.kind != "gone":
                self._trouble = str(error)
                log.warning("object store failed", extra={"store": self._bucket.label, "reason": str(error)})
            raise

    async def _unreadable(self, file: FileRecord, error: BucketError) -> FileUnreadableError:
        if error.kind != "gone":
            return FileUnreadableError(
                f"{file.name} could not be fetched from the object store: {error}; {_advice(error)}",
                retry_after=_retry_after(error),
            )
        if not await self._journal.attached([file.id]):
            return _FileGoneError(f"{file.name} was detached while it was being read; ask again", retry_after=1)
        self._missing.add(file.id)
        return _FileGoneError(
            f"the content of {file.name} is missing in the object store. Attach the file again",
            retry_after=REFUSED_RETRY_SECONDS,
        )


class FetchedFile:
    """A file of a session (``StoredFile``)."""

    def __init__(self, files: ObjectFiles, file: FileRecord) -> None:
        self._files = files
        self._file = file
        self._loop = asyncio.get_running_loop()
        self.size: int = file.size
        self.is_packed: bool = file.label in CONTAINERS or file.label in CLOSED_CONTAINERS

    def __repr__(self) -> str:
        return f"FetchedFile({self._file.id})"

    @property
    def is_here(self) -> bool:
        """Whether it has been fetched already."""
        return self._files.has(self._file)

    @contextlib.asynccontextmanager
    async def fetched(self) -> AsyncIterator[Path]:
        """Fetch it; the path may be read until the context ends."""
        async with contextlib.AsyncExitStack() as stack:
            try:
                path = await stack.enter_async_context(self._files.pinned(self._file))
            except (OSError, InsufficientStorageError) as error:
                raise _no_room(self._file.name, error) from error
            yield path

    def open(self) -> IO[bytes]:
        """Fetch it and open it. Blocks."""
        return asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()

    async def _open(self) -> IO[bytes]:
        async with self.fetched() as path:
            return await asyncio.to_thread(path.open, "rb")  # what is open can be read after it was erased


class _MarkedBucket:
    """A bucket as a ``MarkedPlace``."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self.title: str = f"the place for attached files {bucket.label}"
        self.advice: str = "Give the bucket and prefix that the other services use"
        self.loss: str = "it is another bucket or prefix"

    async def read_mark(self) -> bytes | None:
        """The mark; None if there is none."""
        try:
            mark = await self._bucket.read(MARK, limit_bytes=MARK_BYTES)
        except BucketError as error:
            raise _config_error(self._bucket, error) from None
        return None if mark is None else mark.strip()

    async def write_mark(self, mark: bytes) -> bool:
        """Write the mark; False if there is one."""
        try:
            return await self._bucket.create(MARK, mark + b"\n")
        except BucketError as error:
            raise _config_error(self._bucket, error) from None

    async def remove_mark(self) -> None:
        """Remove the mark that was just written."""
        with contextlib.suppress(BucketError):
            await self._bucket.delete([MARK])

    async def has_one(self, file_ids: set[str]) -> bool:
        """Whether one of these files is there."""
        try:
            async for page in self._bucket.listed():
                if any(one.key in file_ids for one in page):
                    return True
        except BucketError as error:
            raise _config_error(self._bucket, error) from None
        return False


async def _joined(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with contextlib.aclosing(rest):
        if first:
            yield first
        async for piece in rest:
            yield piece


def _write(sink: IO[bytes], data: bytes) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[sink.write(remaining) :]


def _always(file_id: str) -> bool:
    """Whether a file exists: what was kept of one that does not any more is erased by ``forget_detached``."""
    return bool(file_id)


def _retry_after(error: BucketError) -> float:
    return RETRY_SECONDS if error.kind in _PASSING else REFUSED_RETRY_SECONDS


def _advice(error: BucketError) -> str:
    return "try again" if error.kind in _PASSING else "the operator must check the bucket and the service's rights"


def _no_room(name: str, error: OSError | InsufficientStorageError) -> FileUnreadableError:
    if isinstance(error, OSError) and error.errno not in FULL_ERRNOS:
        reason = f"the service's folder for fetched files cannot be used ({error.strerror})"
    else:
        reason = "the disk for fetched files is full"
    return FileUnreadableError(f"{name} could not be fetched: {reason}", retry_after=REFUSED_RETRY_SECONDS)


def _config_error(bucket: Bucket, error: BucketError) -> ConfigError:
    advice = {
        "no_bucket": "Create the bucket, or give the right one with --files",
        "denied": "Give the service the rights to list, read, write and delete objects there",
        "unreachable": "Check the endpoint and the network",
    }.get(error.kind, "Check the endpoint, the region and the bucket")
    return ConfigError(f"{bucket.label} cannot be used for attached files: {error}. {advice}")
