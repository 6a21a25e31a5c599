"""Read a response's event stream to its end, so that no suspended generator is left to the garbage collector.

The client library stops reading at the event ``[DONE]`` and abandons the generators that read the body (the HTTP
library's ``aiter_bytes``, ``aiter_raw`` and those below). The garbage collector then closes them in any order, each in
a task of its own, even while another task is closing the same one ("async generator already executing"). So the body
ends here before ``[DONE]``, and closing the response closes the generator that reads it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from types import AsyncGeneratorType
from typing import Protocol

DRAIN_SECONDS = 0.1  # for what follows the last event, so that the connection can be used again
_DONE = re.compile(rb"(?:\A|(?<=[\r\n]))data: ?\[DONE\]")


class StreamedResponse(Protocol):
    """What is used of the HTTP library's response."""

    aiter_bytes: Callable[[], AsyncGeneratorType[bytes, None]]
    aclose: Callable[[], Awaitable[None]]


class EventBody:
    """The decoded body as an iterator over whole lines that ends before the last event, and that can be closed."""

    def __init__(self, chunks: AsyncGeneratorType[bytes, None]) -> None:
        self._chunks = chunks
        self._line: list[bytes] = []  # the pieces of the line that is not complete yet
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
            end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
            lines = b"".join([*self._line, chunk[:end]]) if end else b""
            self._line = [chunk[end:]] if end else [*self._line, chunk]
            if done := _DONE.search(lines):
                self._has_ended = True
                await self._drain()
                return lines[: done.start()]
            if lines:
                return lines
        raise StopAsyncIteration

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
    """Response hook of the HTTP client: have the body read as an ``EventBody`` that is closed with the response."""
    read, close = response.aiter_bytes, response.aclose
    bodies: list[EventBody] = []

    def aiter_bytes() -> EventBody:
        bodies.append(EventBody(read()))
        return bodies[-1]

    async def aclose() -> None:
        for body in bodies:
            await body.aclose()
        await close()

    response.aiter_bytes, response.aclose = aiter_bytes, aclose  # type: ignore[assignment]
