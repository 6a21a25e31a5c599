"""A small client of the wire for the service's tests: it adds nothing, so that what is seen is what was sent."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.support.live import LiveService

Frame = dict[str, object]


def register(service: LiveService, key: str | None = None, **fields: object) -> str:
    """A new session's id."""
    with service.http(key) as http:
        reply = http.post("/session/register", json=fields)
    assert reply.status_code == 200, reply.text
    return reply.json()["data"]["id"]


@asynccontextmanager
async def opened(
    service: LiveService, session_id: str, after: int | None = 0, *, key: str | None = None, **options: object
) -> AsyncIterator[ClientConnection]:
    """A stream that sends everything after ``after``; None is a stream that does not resume."""
    address = f"{service.ws_url}/stream?session_id={session_id}" + ("" if after is None else f"&after={after}")
    headers = {"Authorization": f"Bearer {key or service.key}"}
    async with connect(address, additional_headers=headers, compression=None, proxy=None, **options) as socket:
        yield socket


async def send(socket: ClientConnection, **fields: object) -> None:
    await socket.send(json.dumps(fields))


async def ask(socket: ClientConnection, content: str, **fields: object) -> list[Frame]:
    """Send a query and read to its end."""
    await send(socket, message_type="query", content=content, **fields)
    return await read_turn(socket)


async def read(socket: ClientConnection) -> Frame:
    return json.loads(await asyncio.wait_for(socket.recv(), 20))


async def read_turn(socket: ClientConnection) -> list[Frame]:
    frames = [await read(socket)]
    while not (frames[-1]["state"] == "end" and frames[-1]["message_type"] in ("info", "error")):
        frames.append(await read(socket))
    return frames


async def until_closed(socket: ClientConnection) -> list[Frame]:
    """Everything that comes until the service closes; how it closed is then ``socket.close_code``."""
    frames = []
    with contextlib.suppress(ConnectionClosed):
        async with asyncio.timeout(30):
            async for frame in socket:
                frames.append(json.loads(frame))
    return frames


def seqs(frames: list[Frame]) -> list[object]:
    return [frame["seq"] for frame in frames]


def kinds(frames: list[Frame]) -> list[object]:
    return [frame["message_type"] for frame in frames]
