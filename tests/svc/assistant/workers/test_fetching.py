"""A job on a file of an object store: fetched first, given up with its turn, and told if that is impossible."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

import pytest

from svc.assistant.findings import Finding, Gap, Progress, ToolEvent, ToolFailure
from svc.assistant.skills.catalogue import skill_named
from svc.assistant.turn import FileUnreadableError
from svc.assistant.workers.fetching import ANNOUNCED_BYTES
from svc.assistant.workers.payer import STOP, TURN_END, StopRequest
from svc.assistant.workers.pool import Job, Workers

LOG = b"Nov 20 03:00:00 h sshd[7]: Failed password for root from 203.0.113.9 port 22 ssh2\n" * 30


class Stored:
    """A file that is fetched when ``gate`` opens, or cannot be fetched."""

    def __init__(self, path: Path, *, size: int = len(LOG), problem: str = "") -> None:
        self.path = path
        self.size = size
        self.is_packed = False
        self.is_here = False
        self.problem = problem
        self.gate = asyncio.Event()
        self.readers = self.fetches = 0

    @asynccontextmanager
    async def fetched(self) -> AsyncIterator[Path]:
        self.fetches += 1
        await self.gate.wait()
        if self.problem:
            raise FileUnreadableError(self.problem)
        self.path.write_bytes(LOG)
        self.readers += 1
        try:
            yield self.path
        finally:
            self.readers -= 1

    def open(self) -> IO[bytes]:
        raise NotImplementedError


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    pool = Workers(slots=1)
    await pool.start()
    yield pool
    await pool.close()


def job(source: Stored) -> Job:
    skill = skill_named("auth_log")
    return Job(tool=skill.tool, input=skill.input, name="auth.log", source=source, facts=skill.facts)


async def run(workers: Workers, source: Stored) -> list[ToolEvent]:
    return [item async for item in workers.run(job(source))]


async def test_a_file_is_fetched_read_and_let_go(workers: Workers, tmp_path: Path):
    source = Stored(tmp_path / "fetched", size=ANNOUNCED_BYTES)
    source.gate.set()
    items = await run(workers, source)
    assert items[0] == Progress(text="auth.log: fetching 67 MB from the object store")
    assert any(isinstance(item, Finding) and not isinstance(item.facts, ToolFailure) for item in items)
    assert (source.fetches, source.readers) == (1, 0)


async def test_a_file_that_cannot_be_fetched_is_a_failure_of_the_tool(workers: Workers, tmp_path: Path):
    source = Stored(tmp_path / "fetched", problem="auth.log could not be fetched: it cannot be reached")
    source.gate.set()
    (failure,) = await run(workers, source)
    assert isinstance(failure, Finding)
    assert failure.facts.reason == "auth.log could not be fetched: it cannot be reached"
    assert "was not examined" in failure.why


async def test_a_fetch_ends_with_its_turn(workers: Workers, tmp_path: Path):
    TURN_END.set(asyncio.get_running_loop().time() + 0.05)
    source = Stored(tmp_path / "fetched")
    (failure,) = await run(workers, source)
    assert isinstance(failure, Finding)
    assert failure.facts.reason == "the time limit of the turn was reached before it was fetched"
    assert source.readers == 0


async def test_a_fetch_ends_when_the_turn_is_stopped(workers: Workers, tmp_path: Path):
    STOP.set(stop := StopRequest())
    source = Stored(tmp_path / "fetched")
    reading = asyncio.create_task(run(workers, source))
    await asyncio.sleep(0.05)
    stop.request()
    (gap,) = await reading
    assert isinstance(gap, Gap)
    assert "before it was read" in gap.text
    assert gap.in_headline


async def test_a_cancelled_job_leaves_no_fetch(workers: Workers, tmp_path: Path):
    source = Stored(tmp_path / "fetched")
    reading = asyncio.create_task(run(workers, source))
    await asyncio.sleep(0.05)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert (source.fetches, source.readers) == (1, 0)
    assert not source.path.exists()
