"""Fetch a job's input from an object store before a worker opens it, and say why if that is impossible.

It is fetched before the job waits for a worker, so that a slow store keeps none; the turn's end and a cancellation end
it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec

from svc.assistant.findings import Finding, Gap, Progress, ToolFailure
from svc.assistant.turn import FileUnreadableError, StoredFile
from svc.assistant.workers.failures import failure
from svc.assistant.workers.job import Job
from svc.assistant.workers.payer import stop_reason, until_end
from svc.assistant.workers.reading_budget import TURN_LIMIT

ANNOUNCED_BYTES = 64 << 20  # from this size on, a message says that the file is being fetched

Fetched = Job | Progress | Gap | Finding[ToolFailure]


async def fetched(job: Job) -> AsyncGenerator[Fetched, None]:
    """Yield progress, then the job with a path or bytes as its source; or why its input cannot be read.

    The path is valid until the generator is closed.
    """
    source = job.source
    if isinstance(source, Path | bytes):
        yield job
        return
    if source.size >= ANNOUNCED_BYTES and not source.is_here:
        yield Progress(text=f"{job.name}: fetching {source.size // 1_000_000:,} MB from the object store")
    async with contextlib.AsyncExitStack() as stack:
        try:
            path = await _entered(source, stack)
        except FileUnreadableError as error:
            yield failure(job, str(error), findings=0)
            return
        if path is not None:
            yield msgspec.structs.replace(job, source=path)
        elif reason := stop_reason():
            yield Gap(text=f"not examined: {reason} before it was read", in_headline=True, is_passing=True)
        else:
            yield failure(job, f"{TURN_LIMIT} before it was fetched", findings=0)


async def _entered(source: StoredFile, stack: contextlib.AsyncExitStack) -> Path | None:
    """The path of the fetched file; None if the turn should end before that."""
    fetching = asyncio.ensure_future(stack.enter_async_context(source.fetched()))
    ending = asyncio.ensure_future(until_end())
    try:
        await asyncio.wait({fetching, ending}, return_when=asyncio.FIRST_COMPLETED)
        return fetching.result() if fetching.done() else None
    finally:
        for task in (fetching, ending):
            task.cancel()
        await asyncio.wait({fetching, ending})
        if not fetching.cancelled():
            fetching.exception()  # nobody else looks at it if the turn ends
