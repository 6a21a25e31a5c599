"""Pass an upload on to an object store while it arrives: hashed, in pieces, and undone if its sender goes away.

A small file is one request. A larger one is sent in parts, of which a few are in memory; it exists once all are there.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator

from svc.service.sessions.file_type import HEAD_BYTES
from svc.service.sessions.files import CHUNK_BYTES, ReceivedFile, check_size
from svc.service.sessions.objects.bucket import PART_BYTES, Bucket

_QUEUED = 2  # pieces of CHUNK_BYTES that wait for the store
_UNDO_SECONDS = 10.0  # for the store to drop the parts of an upload that is given up


class _GivenUpError(Exception):
    """Ends an upload in the middle, so that the store drops its parts."""


async def upload(bucket: Bucket, file_id: str, chunks: AsyncIterator[bytes], limit_bytes: int) -> ReceivedFile:
    """Store a stream as an object.

    Raises:
        TooLargeError: The stream is larger than ``limit_bytes``.
        BucketError: It cannot be stored.
    """
    file = _Receiving(file_id, limit_bytes)
    pieces = file.pieces(chunks)
    first = bytearray()
    async with contextlib.aclosing(pieces):
        async for piece in pieces:
            first += piece
            if len(first) >= PART_BYTES:
                break
        else:
            await bucket.put(file_id, bytes(first))
            return file.received
        await _in_parts(bucket, file_id, bytes(first), pieces, limit_bytes)
    return file.received


async def _in_parts(bucket: Bucket, key: str, first: bytes, rest: AsyncIterator[bytes], limit_bytes: int) -> None:
    """Store ``first`` and the rest. The store gets them from a queue: cancelled itself, it would leave parts behind."""
    queue: asyncio.Queue[bytes | _GivenUpError | None] = asyncio.Queue(_QUEUED)
    storing = asyncio.ensure_future(bucket.upload(key, _taken(queue), limit_bytes))
    try:
        await _give(queue, first, storing)
        async for piece in rest:
            await _give(queue, piece, storing)
        await _give(queue, None, storing)
        await asyncio.shield(storing)
    except BaseException:
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(_GivenUpError())
        await asyncio.wait({storing}, timeout=_UNDO_SECONDS)
        if storing.done() and not storing.cancelled():
            storing.exception()  # the one that is raised is the first
        raise


async def _give(
    queue: asyncio.Queue[bytes | _GivenUpError | None], piece: bytes | None, storing: asyncio.Future[None]
) -> None:
    """Put a piece into the queue, or raise what ended the upload."""
    putting = asyncio.ensure_future(queue.put(piece))
    try:
        await asyncio.wait({putting, storing}, return_when=asyncio.FIRST_COMPLETED)
        if storing.done():
            storing.result()
    finally:
        putting.cancel()


async def _taken(queue: asyncio.Queue[bytes | _GivenUpError | None]) -> AsyncIterator[bytes]:
    while (piece := await queue.get()) is not None:
        if isinstance(piece, _GivenUpError):
            raise piece
        yield piece


class _Receiving:
    """A file that arrives: its size, digest and first bytes so far."""

    def __init__(self, file_id: str, limit_bytes: int) -> None:
        self._id = file_id
        self._limit_bytes = limit_bytes
        self._digest = hashlib.sha256()
        self._size = 0
        self._head = b""

    @property
    def received(self) -> ReceivedFile:
        """The whole file."""
        return ReceivedFile(id=self._id, size=self._size, sha256=self._digest.hexdigest(), head=self._head)

    async def pieces(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        """The chunks as pieces of CHUNK_BYTES or a little more."""
        buffer = bytearray()
        async for chunk in chunks:
            self._size += len(chunk)
            check_size(self._size, self._limit_bytes)
            buffer += chunk
            if len(buffer) >= CHUNK_BYTES:
                yield await self._taken_in(buffer)
        if buffer or not self._size:
            yield await self._taken_in(buffer)

    async def _taken_in(self, buffer: bytearray) -> bytes:
        piece = bytes(buffer)
        buffer.clear()
        self._head = self._head or piece[:HEAD_BYTES]
        await asyncio.to_thread(self._digest.update, piece)
        return piece
