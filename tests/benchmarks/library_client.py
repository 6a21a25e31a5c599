"""The client that users of the SDK have: the ``websockets`` library. The same jobs as ``peers/stream_client.py``.

``python library_client.py push|first`` with a job as JSON on stdin, seconds as JSON on stdout.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

import msgspec
from websockets.asyncio.client import connect


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What to send where, and how many frames come back to each text."""

    urls: tuple[str, ...]
    texts: tuple[str, ...]
    frames: int
    key: str = ""
    marker: str = ""


async def push(job: Job) -> float:
    async with connect(job.urls[0], additional_headers=_headers(job), compression=None, proxy=None) as stream:
        started = time.perf_counter()
        await stream.send(job.texts[0])
        for _ in range(job.frames):
            await stream.recv()
        return time.perf_counter() - started


async def first(job: Job) -> list[float]:
    seconds = []
    async with connect(job.urls[0], additional_headers=_headers(job), compression=None, proxy=None) as stream:
        for text in job.texts:
            started = time.perf_counter()
            await stream.send(text)
            found = 0.0
            for _ in range(job.frames):
                if job.marker in str(await stream.recv()) and not found:
                    found = time.perf_counter() - started
            seconds.append(found)
    return seconds


def _headers(job: Job) -> dict[str, str]:
    return {"Authorization": f"Bearer {job.key}"} if job.key else {}


if __name__ == "__main__":
    job = msgspec.json.decode(sys.stdin.readline(), type=Job)
    print(json.dumps(asyncio.run(push(job)) if sys.argv[1] == "push" else asyncio.run(first(job))))
