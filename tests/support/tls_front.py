"""TLS in front of a PostgreSQL server whose build has none: it answers the request for TLS, and passes the rest on."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Iterator

_REQUEST_BYTES = 8  # of the client's request for TLS


class _Front:
    def __init__(self, context: ssl.SSLContext, port: int) -> None:
        self._context = context
        self._port = port
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readexactly(_REQUEST_BYTES)
            writer.write(b"S")
            await writer.start_tls(self._context)
            upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self._port)
            await asyncio.gather(_pump(reader, upstream_writer), _pump(upstream_reader, writer))
        writer.close()
        self._tasks.discard(task)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(65_536):
            writer.write(chunk)
            await writer.drain()
    writer.close()


@contextlib.contextmanager
def tls_front(context: ssl.SSLContext, port: int) -> Iterator[int]:
    """The port on which the server at ``port`` speaks TLS."""
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = []
    is_started = threading.Event()

    async def run() -> None:
        front, end = _Front(context, port), asyncio.Event()
        server = await asyncio.start_server(front.serve, "127.0.0.1", 0)
        started.append((asyncio.get_running_loop(), end, server.sockets[0].getsockname()[1]))
        is_started.set()
        await end.wait()
        server.close()
        await front.close()

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    assert is_started.wait(20)
    loop, end, own_port = started[0]
    try:
        yield own_port
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(20)
