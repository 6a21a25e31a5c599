"""A TCP link that a test cuts, or holds and delivers late; with several targets it is a balancer, round robin."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit

from svc.service.store.address import PostgresAddress
from tests.support.live import wait_until


class _Connection:
    """Both ends of a connection through the link, and what its client has sent to make it special."""

    def __init__(self, near: asyncio.StreamWriter, far: asyncio.StreamWriter) -> None:
        self.ends = (near, far)
        self.is_listener = False

    def cut(self) -> None:
        for end in self.ends:
            end.transport.abort()


class TcpLink:
    """Runs in a thread of its own and leads to each of the targets in turn; one that refuses is passed over."""

    def __init__(self, targets: Sequence[tuple[str, int]], tls: ssl.SSLContext | None = None) -> None:
        """``tls``: clients speak TLS with the link."""
        self._targets = list(targets)
        self._next = 0
        self._tls = tls
        self.port: int = 0
        self.led: set[int] = set()  # to which of the targets it has led
        self.placed: dict[int, int] = {}  # to which of the targets each open connection leads, by its client's port
        self._connections: set[_Connection] = set()
        self._is_cut = False
        self._loses_answers = False
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        wait_until(lambda: self.port, "the link to listen")

    def lead_to(self, targets: Sequence[tuple[str, int]]) -> None:
        """Lead new connections to these."""
        self._do(lambda: setattr(self, "_targets", list(targets)))

    def cut(self) -> None:
        """Reset every connection, and each new one, until `mend`."""
        self._do(self._cut)

    def cut_once(self) -> None:
        """Reset every connection; new ones are let through."""
        self._do(self._cut_all)

    def cut_listeners(self) -> None:
        """Reset the connections that listen for PostgreSQL's notifications; the others go on."""
        self._do(lambda: self._cut_all(only_listeners=True))

    def hold(self) -> None:
        """Deliver nothing, either way, until `mend`."""
        self._do(self._passes.clear)

    def lose_answers(self) -> None:
        """Deliver what clients send, but drop what is sent to them, until `mend`; cut their connections afterwards."""
        self._do(lambda: setattr(self, "_loses_answers", True))

    def mend(self) -> None:
        """What was held is delivered, and new connections are let through."""
        self._do(self._mend)

    def close(self) -> None:
        """End the link and its thread, if it has not ended."""
        if not self._thread.is_alive():
            return
        self._do(self._mend)
        self._do(self._stopped.set)
        self._thread.join(20)

    def _do(self, action: Callable[[], None]) -> None:
        done = threading.Event()
        self._loop.call_soon_threadsafe(lambda: (action(), done.set()))
        assert done.wait(20)

    def _cut(self) -> None:
        self._is_cut = True
        self._cut_all()

    def _cut_all(self, *, only_listeners: bool = False) -> None:
        for connection in self._connections:
            if connection.is_listener or not only_listeners:
                connection.cut()

    def _mend(self) -> None:
        self._is_cut = self._loses_answers = False
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
        found = None if self._is_cut else await self._reach()
        if found is None:
            writer.transport.abort()
            return
        number, far_reader, far_writer = found
        if self._is_cut:  # while the target was being reached
            _Connection(writer, far_writer).cut()
            return
        client = writer.get_extra_info("peername")[1]
        self.placed[client] = number
        self.led.add(number)
        connection = _Connection(writer, far_writer)
        self._connections.add(connection)
        with contextlib.suppress(ConnectionError):
            ways = (self._ask(connection, reader, far_writer), self._answer(far_reader, writer))
            await asyncio.wait([asyncio.create_task(way) for way in ways], return_when=asyncio.FIRST_COMPLETED)
        connection.cut()
        self._connections.discard(connection)
        if self.placed.get(client) == number:
            del self.placed[client]

    async def _reach(self) -> tuple[int, asyncio.StreamReader, asyncio.StreamWriter] | None:
        """The next target that accepts a connection; None if all refuse."""
        for _ in self._targets:
            number = self._next % len(self._targets)
            self._next += 1
            with contextlib.suppress(OSError):
                if await self._is_usable(self._targets[number]):
                    return number, *await asyncio.open_connection(*self._targets[number])
        return None

    async def _is_usable(self, target: tuple[str, int]) -> bool:
        """Whether connections go to this target; raises OSError if it refuses them."""
        return True

    async def _ask(self, connection: _Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                connection.is_listener |= b"LISTEN" in data
                await self._passes.wait()
                writer.write(data)
                await writer.drain()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                await self._passes.wait()
                if not self._loses_answers:
                    writer.write(data)
                    await writer.drain()


class Balancer(TcpLink):
    """Each connection goes to the next service that is ready, as ``GET /ready`` says."""

    async def _reach(self) -> tuple[int, asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Waits until a service is ready."""
        while (found := await super()._reach()) is None:
            await asyncio.sleep(0.05)
        return found

    async def _is_usable(self, target: tuple[str, int]) -> bool:
        return await _is_ready(target)


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
