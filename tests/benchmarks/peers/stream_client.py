"""The picows client of every WebSocket measurement, so that its cost is small and the same for each server.

``python stream_client.py ACTION`` with a job as JSON on stdin, the result as JSON on stdout:

- ``push``: send one text, count ``frames`` frames: seconds until the last of them.
- ``first``: send each of the ``texts`` once the turn before has ended (after ``frames`` frames): for each the seconds
  from sending until the first frame that holds ``marker``.
- ``idle``: open each of the ``urls``, write a line with how many are open, hold them until stdin ends, write how many
  are open still.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

import picows
import uvloop

OPENING_AT_ONCE = 50


@dataclass(kw_only=True)
class Job:
    urls: list[str]
    key: str = ""
    texts: tuple[str, ...] = ()
    frames: int = 0
    marker: str = ""


class Counting(picows.WSListener):
    """Counts frames until there are as many as wanted; notes when the first with the marker came."""

    def __init__(self) -> None:
        super().__init__()
        self.want(1)

    def want(self, frames: int, marker: bytes = b"") -> None:
        self._left = frames
        self._marker = marker
        self.marked = 0.0
        self.finished: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    def on_ws_frame(self, transport: picows.WSTransport, frame: picows.WSFrame) -> None:
        if frame.msg_type != picows.WSMsgType.TEXT:
            if frame.msg_type == picows.WSMsgType.CLOSE:
                transport.disconnect()
            return
        if self._marker and not self.marked and self._marker in frame.get_payload_as_bytes():
            self.marked = time.perf_counter()
        self._left -= 1
        if self._left == 0:
            self.finished.set_result(time.perf_counter())

    def on_ws_disconnected(self, transport: picows.WSTransport) -> None:
        if not self.finished.done():
            self.finished.set_exception(ConnectionError(f"closed with {self._left} frames missing"))


async def connect(url: str, key: str) -> tuple[picows.WSTransport, Counting]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    transport, listener = await picows.ws_connect(Counting, url, extra_headers=headers, websocket_handshake_timeout=30)
    assert isinstance(listener, Counting)
    return transport, listener


async def push(job: Job) -> float:
    transport, listener = await connect(job.urls[0], job.key)
    listener.want(job.frames)
    started = time.perf_counter()
    transport.send(picows.WSMsgType.TEXT, job.texts[0].encode())
    ended = await listener.finished
    transport.disconnect()
    return ended - started


async def first(job: Job) -> list[float]:
    transport, listener = await connect(job.urls[0], job.key)
    seconds = []
    for text in job.texts:
        listener.want(job.frames, job.marker.encode())
        started = time.perf_counter()
        transport.send(picows.WSMsgType.TEXT, text.encode())
        await listener.finished
        seconds.append(listener.marked - started)
    transport.disconnect()
    return seconds


async def idle(job: Job) -> int:
    opened: list[Counting] = []
    for start in range(0, len(job.urls), OPENING_AT_ONCE):
        some = job.urls[start : start + OPENING_AT_ONCE]
        opened += [listener for _, listener in await asyncio.gather(*(connect(url, job.key) for url in some))]
    print(len(_open(opened)), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    return len(_open(opened))


def _open(listeners: Iterable[Counting]) -> list[Counting]:
    return [listener for listener in listeners if not listener.finished.done()]


ACTIONS = {"push": push, "first": first, "idle": idle}

if __name__ == "__main__":
    result = uvloop.run(ACTIONS[sys.argv[1]](Job(**json.loads(sys.stdin.readline()))))
    print(json.dumps(result), flush=True)
