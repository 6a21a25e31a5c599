"""A TCP link that a test cuts, or holds and delivers late; with several targets it is a balancer, round robin."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit

from svc.service.store.address import PostgresAddress
from tests.support.live import wait_until


class TcpLink:
    """Runs in a thread of its own and leads to each of the targets in turn."""

    def __init__(self, targets: Sequence[tuple[str, int]], tls: ssl.SSLContext | None = None) -> None:
        """``tls``: clients speak TLS with the link."""
        self._targets = itertools.cycle(targets)
        self._tls = tls
        self.port: int = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_cut = False
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        wait_until(lambda: self.port, "the link to listen")

    def cut(self) -> None:
        """Reset every connection, and each new one, until `mend`."""
        self._do(self._cut)

    def hold(self) -> None:
        """Deliver nothing, either way, until `mend`."""
        self._do(self._passes.clear)

    def mend(self) -> None:
        """What was held is delivered, and new connections are let through."""
        self._do(self._mend)

    def close(self) -> None:
        """End the link and its thread."""
        self._do(self._mend)
        self._do(self._stopped.set)
        self._thread.join(20)

    def _do(self, action: Callable[[], None]) -> None:
        done = threading.Event()
        self._loop.call_soon_threadsafe(lambda: (action(), done.set()))
        assert done.wait(20)

    def _cut(self) -> None:
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()

    def _mend(self) -> None:
        self._is_cut = False
        self._passes.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._passes, self._stopped = asyncio.Event(), asyncio.Event()
        self._passes.set()
        async with await asyncio.start_server(self._connect, "127.0.0.1", 0, ssl=self._tls) as server:
            self.port = server.sockets[0].getsockname()[1]
            await self._stopped.wait()
            self._cut()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        far_reader, far_writer = await self._dial()
        ends = {writer, far_writer}
        self._writers |= ends
        with contextlib.suppress(ConnectionError):
            pumps = [asyncio.create_task(self._pump(*way)) for way in ((reader, far_writer), (far_reader, writer))]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.transport.abort()
        self._writers -= ends

    async def _dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the next target."""
        return await asyncio.open_connection(*next(self._targets))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                await self._passes.wait()
                writer.write(data)
                await writer.drain()


class Balancer(TcpLink):
    """Each connection goes to the next service that is ready, as ``GET /ready`` says."""

    async def _dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        while True:
            target = next(self._targets)
            with contextlib.suppress(OSError):
                if await _is_ready(target):
                    return await asyncio.open_connection(*target)
            await asyncio.sleep(0.05)


async def _is_ready(target: tuple[str, int]) -> bool:
    reader, writer = await asyncio.open_connection(*target)
    try:
        writer.write(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return (await reader.readline()).split()[1:2] == [b"200"]
    finally:
        writer.close()


class DatabaseLink(TcpLink):
    """A link to PostgreSQL; ``address`` leads through it."""

    def __init__(self, database: PostgresAddress) -> None:
        target = urlsplit(database.url)
        super().__init__([(target.hostname or "", target.port or 0)])
        self.address = PostgresAddress(database.url.replace(f":{target.port}/", f":{self.port}/"))


@contextlib.contextmanager
def database_link(database: PostgresAddress) -> Iterator[DatabaseLink]:
    """A link until the end of the context."""
    link = DatabaseLink(database)
    try:
        yield link
    finally:
        link.close()
