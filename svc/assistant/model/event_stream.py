"""Read a response within limits, and an event stream to its end.

A model's endpoint may be hostile or broken: a line that does not end, a body that does not end, a small body that
unpacks to a huge one, a redirect to another host. So a line and a body have a limit in bytes, and compressed bodies and
redirects are refused.

No suspended generator is left to the garbage collector either.

The client library stops reading at the event ``[DONE]`` and abandons the generators that read the body (the HTTP
library's ``aiter_bytes``, ``aiter_raw`` and those below). The garbage collector then closes them in any order, each in
a task of its own, even while another task is closing the same one ("async generator already executing"). So the body
ends here before ``[DONE]``, and closing the response closes the generator that reads it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from types import AsyncGeneratorType
from typing import Protocol

MAX_LINE_BYTES = 1_048_576  # an event: all tool arguments of a turn at once, with their escapes
MAX_EVENTS_BYTES = 67_108_864  # an event has some 250 bytes around each word
MAX_BODY_BYTES = 4_194_304  # of any other response: a list of models, an error
DRAIN_SECONDS = 0.1  # for what follows the last event, so that the connection can be used again
_DONE = re.compile(rb"(?:\A|(?<=[\r\n]))data: ?\[DONE\]")


class RefusedResponseError(Exception):
    """A response is not read, or not further; the text says why."""


class StreamedResponse(Protocol):
    """What is used of the HTTP library's response."""

    status_code: int
    headers: Mapping[str, str]
    aiter_bytes: Callable[[], AsyncGeneratorType[bytes, None]]
    aclose: Callable[[], Awaitable[None]]


class EventBody:
    """The body as an iterator over whole lines that ends before the last event, and that can be closed.

    Raises RefusedResponseError if a line or the body is too long.
    """

    def __init__(self, chunks: AsyncGeneratorType[bytes, None], limit_bytes: int) -> None:
        self._chunks = chunks
        self._limit_bytes = limit_bytes
        self._bytes = 0
        self._line: list[bytes] = []  # the pieces of the line that is not complete yet
        self._line_bytes = 0
        self._has_ended = False

    def __aiter__(self) -> EventBody:
        """The iterator itself: a body is read once."""
        return self

    async def __anext__(self) -> bytes:
        """The next complete lines; at the end also an incomplete one."""
        while not self._has_ended:
            chunk = await anext(self._chunks, None)
            if chunk is None:
                self._has_ended = True
                return b"".join(self._line)
            lines = self._whole_lines(chunk)
            if done := _DONE.search(lines):
                self._has_ended = True
                await self._drain()
                return lines[: done.start()]
            if lines:
                return lines
        raise StopAsyncIteration

    def _whole_lines(self, chunk: bytes) -> bytes:
        """The lines that the chunk completes; what follows them is kept."""
        self._bytes += len(chunk)
        if self._bytes > self._limit_bytes:
            raise RefusedResponseError(f"it sent more than {self._limit_bytes:,} bytes")
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
        self._line.append(chunk[:end] if end else chunk)
        self._line_bytes = len(chunk) - end if end else self._line_bytes + len(chunk)
        if self._line_bytes > MAX_LINE_BYTES:
            self._line = []
            raise RefusedResponseError(f"it sent a line of more than {MAX_LINE_BYTES:,} bytes")
        if not end:
            return b""
        lines, self._line = b"".join(self._line), [chunk[end:]]
        return lines

    async def aclose(self) -> None:
        """Close the generator below, unless it is closing the response itself."""
        if not self._chunks.ag_running:
            self._has_ended = True
            await self._chunks.aclose()

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                async for _ in self._chunks:
                    pass
        except TimeoutError:
            await self._chunks.aclose()


async def end_with_last_event(response: StreamedResponse) -> None:
    """Response hook of the HTTP client: have the body read as an ``EventBody`` that is closed with the response.

    Raises RefusedResponseError for a compressed body, which could unpack to any size, and for a redirect.
    """
    if 300 <= response.status_code < 400:
        await response.aclose()
        raise RefusedResponseError(f"it redirects to another address ({response.status_code}), which is not followed")
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        await response.aclose()
        raise RefusedResponseError("its response is compressed, although an uncompressed one was requested")
    is_events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    limit_bytes = MAX_EVENTS_BYTES if is_events else MAX_BODY_BYTES
    read, close = response.aiter_bytes, response.aclose
    bodies: list[EventBody] = []

    def aiter_bytes() -> EventBody:
        bodies.append(EventBody(read(), limit_bytes))
        return bodies[-1]

    async def aclose() -> None:
        for body in bodies:
            await body.aclose()
        await close()

    response.aiter_bytes, response.aclose = aiter_bytes, aclose  # type: ignore[assignment]
