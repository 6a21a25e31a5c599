"""A TCP proxy that delays, cuts and half-opens connections on their way to a real service."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Literal
from urllib.parse import urlsplit

from svc.config import Config

Fault = Literal["pass", "delay", "half", "cut", "swallow"]
"""half: of the chunk, then a cut; swallow: a half-open connection."""

DELAY_SECONDS = 0.15  # most of what the tests' streams wait before they take a connection for dead


class FaultProxy:
    """A TCP proxy on a free port. ``fault`` decides, for each chunk on its way, what becomes of it."""

    def __init__(self, target: str) -> None:
        self.base_url = ""
        self.connections = 0
        self.fault: Callable[[Chunk], Fault] = lambda chunk: "pass"
        self.most_bytes = 65_536  # of a chunk; how much comes at once depends on what else the machine does
        self._target = urlsplit(target)
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return server

    def config(self, service: Config) -> Config:
        """How to reach the service through the proxy."""
        end = self._target.netloc
        return replace(service, base_url=self.base_url, ws_url=self.base_url.replace("http", "ws"), tunnel_to=end)

    def cut_all(self) -> None:
        """Every open connection is reset."""
        for writer in self._writers:
            writer.transport.abort()

    async def close(self) -> None:
        self.cut_all()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        upstream_reader, upstream_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        self._writers |= {writer, upstream_writer}
        pumps = [
            self._pump(reader, upstream_writer, Chunk(number, is_from_service=False)),
            self._pump(upstream_reader, writer, Chunk(number, is_from_service=True)),
        ]
        self._tasks |= (tasks := {asyncio.create_task(pump) for pump in pumps})
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for end in (writer, upstream_writer):
            end.transport.abort()
            self._writers.discard(end)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chunk: Chunk) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(self.most_bytes):
                chunk.number += 1
                chunk.data = data
                match self.fault(chunk):
                    case "pass":
                        writer.write(chunk.data)
                        await writer.drain()
                    case "delay":
                        await asyncio.sleep(DELAY_SECONDS)
                        writer.write(chunk.data)
                        await writer.drain()
                    case "half":
                        writer.write(chunk.data[: len(chunk.data) // 2])
                        await writer.drain()
                        return
                    case "cut":
                        return
                    case "swallow":
                        continue


class Chunk:
    """A piece of a connection on its way: which connection, which way, the how-manieth after the proof, which is 0."""

    def __init__(self, connection: int, *, is_from_service: bool) -> None:
        self.connection = connection
        self.is_from_service = is_from_service
        self.number = -1
        self.data = b""
