"""A websocket proxy that delivers every message twice, both ways, as a network with too much zeal would."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed


@asynccontextmanager
async def doubling_proxy(ws_url: str) -> AsyncIterator[str]:
    """The proxy's address; ``ws_url`` is the service's."""

    async def pass_on(client: ServerConnection) -> None:
        assert client.request is not None
        headers = {"Authorization": client.request.headers["Authorization"]}
        address = f"ws://{urlsplit(ws_url).netloc}{client.request.path}"
        async with connect(address, additional_headers=headers, proxy=None, max_size=None) as service:
            ways = [asyncio.create_task(_double(client, service)), asyncio.create_task(_double(service, client))]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()

    async with serve(pass_on, "127.0.0.1", 0, max_size=None) as server:
        host, port = next(iter(server.sockets)).getsockname()
        yield f"ws://{host}:{port}"


async def _double(source: ServerConnection | ClientConnection, target: ServerConnection | ClientConnection) -> None:
    with contextlib.suppress(ConnectionClosed):
        async for message in source:
            await target.send(message)
            await target.send(message)
