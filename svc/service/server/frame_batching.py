"""A transport that writes all frames of one turn of the loop at once: a system call for each frame costs the most.

Messages that are ready together also come in one event (``stream/outbox.py``), because an event costs as much as a
frame. The websocket that uses this is in ``uvicorn_protocols.py``. Decides nothing about frames or flow: a buffer that
fills is written at once, so that the transport can say that it is full. When the connection closes, a peer that does
not read the rest is disconnected after ``close_seconds``.
"""

from __future__ import annotations

import asyncio

FULL_BYTES = 65_536  # the transport's own mark for "full", by default


class CoalescingTransport(asyncio.Transport):
    """A transport that writes later in the same turn of the loop, or before it closes."""

    __slots__ = ("_close_seconds", "_loop", "_parts", "_size", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, close_seconds: float) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._close_seconds = close_seconds
        self._parts: list[bytes | bytearray | memoryview] = []
        self._size = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Take data to be written; what is mutable must not change afterwards."""
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
        """Write what was taken, then close; what the peer has not taken in time is dropped."""
        if self._transport.is_closing():
            return
        self._flush()
        self._transport.close()
        if self._transport.get_write_buffer_size():
            self._loop.call_later(self._close_seconds, self._transport.abort)

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether it is closed or about to be."""
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        """Take nothing from the peer for now."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take from the peer again."""
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: object = None) -> object:
        """What the transport knows of itself."""
        return self._transport.get_extra_info(name, default)
