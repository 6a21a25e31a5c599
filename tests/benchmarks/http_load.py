"""Load one HTTP address over connections that are kept: each sends its next request when the last is answered.

As little Python as can be, so that the server is what is measured: raw sockets on uvloop, answers read by httptools.
"""

from __future__ import annotations

import asyncio
import time
from typing import cast
from urllib.parse import urlsplit

import httptools
import msgspec
import uvloop

PATIENCE_SECONDS = 60.0  # for the answers that are under way at the deadline


class Load(msgspec.Struct, frozen=True):
    """What was answered with 200: requests a second, and how long each took, in seconds, in order of length."""

    rate: float
    seconds: list[float]

    @property
    def median(self) -> float:
        return self.seconds[len(self.seconds) // 2]


class _Connection(asyncio.Protocol):
    """Sends the request again and again until the deadline."""

    def __init__(self, request: bytes, deadline: float) -> None:
        self._request = request
        self._deadline = deadline
        self._parser = httptools.HttpResponseParser(self)
        self.seconds: list[float] = []
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not inherit from it
        self._send()

    def _send(self) -> None:
        self._started = time.perf_counter()
        self._body = b""
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        now = time.perf_counter()
        if self._parser.get_status_code() != 200:
            self._end(RuntimeError(f"answered {self._parser.get_status_code()}: {self._body[:500]!r}"))
            return
        self.seconds.append(now - self._started)
        if not self._parser.should_keep_alive():
            self._end(RuntimeError("the server does not keep connections: this load measures kept ones"))
        elif now >= self._deadline:
            self._end(None)
        else:
            self._send()

    def _end(self, error: Exception | None) -> None:
        self._transport.close()
        if not self.finished.done():
            self.finished.set_result(None) if error is None else self.finished.set_exception(error)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.finished.done():
            self.finished.set_exception(error or ConnectionError("closed before the answer"))


def post(url: str, body: bytes, *, key: str) -> bytes:
    """A request as it goes over the socket."""
    parts = urlsplit(url)
    head = (
        f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def load(url: str, request: bytes, *, connections: int, seconds: float) -> Load:
    """Send the request over so many connections for so long; raises where one answer is not a 200."""
    return uvloop.run(_load(url, request, connections, seconds))


async def _load(url: str, request: bytes, connections: int, seconds: float) -> Load:
    parts = urlsplit(url)
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    opened = [
        (await loop.create_connection(lambda: _Connection(request, started + seconds), parts.hostname, parts.port))[1]
        for _ in range(connections)
    ]
    async with asyncio.timeout(seconds + PATIENCE_SECONDS):
        await asyncio.gather(*(connection.finished for connection in opened))
    taken = sorted(one for connection in opened for one in connection.seconds)
    return Load(len(taken) / (time.perf_counter() - started), taken)
