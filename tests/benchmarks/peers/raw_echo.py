"""A websocket echo as bare as uvicorn can serve one: an ASGI function, websockets-sansio, uvloop, no compression.

``python raw_echo.py PORT``.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, MutableMapping

import uvicorn

Event = MutableMapping[str, object]


async def echo(scope: Event, receive: Callable[[], Awaitable[Event]], send: Callable[[Event], Awaitable[None]]) -> None:
    assert scope["type"] == "websocket"
    await receive()
    await send({"type": "websocket.accept"})
    while (event := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": event["text"]})


if __name__ == "__main__":
    uvicorn.run(
        echo,  # type: ignore[arg-type]
        port=int(sys.argv[1]),
        ws="websockets-sansio",
        loop="uvloop",
        ws_per_message_deflate=False,
        lifespan="off",
        log_level="warning",
    )
