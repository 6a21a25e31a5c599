"""A transport that collects writes during one iteration of the event loop, because a system call per frame costs most.

Messages that are ready together also come in one event (``stream/outbox.py``), because an event costs as much as a
frame. The websocket that uses this is in ``uvicorn_protocols.py``. Flow control is unchanged: a full buffer is written
at once, so that the underlying transport can pause the writer. When the connection closes, a peer that does not read
the rest is disconnected after ``close_seconds``.
"""

from __future__ import annotations

import asyncio

FULL_BYTES = 65_536  # asyncio's default high-water mark of a transport


class CoalescingTransport(asyncio.Transport):
    """A transport that defers writes to the end of the current loop iteration, or until it closes."""

    __slots__ = ("_close_seconds", "_loop", "_parts", "_size", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, close_seconds: float) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._close_seconds = close_seconds
        self._parts: list[bytes | bytearray | memoryview] = []
        self._size = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Add data to the pending write; mutable data must not change afterwards."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size >= FULL_BYTES:
            self._flush()

    def _flush(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))

    def close(self) -> None:
        """Write pending data, then close; after ``close_seconds``, data that the peer has not read is dropped."""
        if self._transport.is_closing():
            return
        self._flush()
        self._transport.close()
        if self._transport.get_write_buffer_size():
            self._loop.call_later(self._close_seconds, self._transport.abort)

    def abort(self) -> None:
        """Close at once and drop pending data."""
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether it is closed or closing."""
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        """Stop reading from the peer."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read from the peer again."""
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: object = None) -> object:
        """Information about the underlying transport."""
        return self._transport.get_extra_info(name, default)
