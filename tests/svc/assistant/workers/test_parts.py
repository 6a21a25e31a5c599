"""A log that is read in parts gives the same findings as one that is read at once, wherever the parts end."""

from __future__ import annotations

import asyncio
import gzip
import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from svc.assistant.findings import Coverage, Finding, Gap, InputKind, Progress, ToolFailure
from svc.assistant.sigma.engine import RuleEngine
from svc.assistant.sigma.event import Event
from svc.assistant.sigma.tables import load_rules
from svc.assistant.skills.cvss.findings import CvssBroken
from svc.assistant.skills.events import answer as events
from svc.assistant.skills.events.tool import read_events
from svc.assistant.skills.logins import answer as logins
from svc.assistant.workers import process
from svc.assistant.workers.frames import PartEnd, PartPlan
from svc.assistant.workers.part_runs import begin
from svc.assistant.workers.payer import STOP, TURN_END, StopRequest
from svc.assistant.workers.pool import Job, Workers
from svc.assistant.workers.process import JobRequest, Limits
from tests.support.part_logs import SHAPES, log_of

RECORDS = 1_500
LOGINS = "svc.assistant.skills.logins.tool:inspect"
EVENTS = "svc.assistant.skills.events.tool:inspect"


def request(name: str, path: Path, *, part: PartPlan | None = None) -> JobRequest:
    is_auth = name == "auth.log"
    return JobRequest(
        tool=LOGINS if is_auth else EVENTS,
        input=InputKind.LINES if is_auth else InputKind.BINARY,
        name=name,
        limits=Limits(),
        path=str(path),
        part=part,
    )


def at_once(name: str, path: Path) -> list[object]:
    one = request(name, path)
    return kept(process._events(process._load(one.tool), one, b"", lambda _: None))


def kept(items: Iterator[object]) -> list[object]:
    return [item for item in items if not isinstance(item, Progress)]


def in_parts(name: str, path: Path, sizes: Iterator[int]) -> tuple[list[object], list[int]]:
    """What the tool yields over all parts, and where they ended."""
    found: list[object] = []
    ends: list[int] = []
    state, plan = b"", PartPlan(size=next(sizes))
    while True:
        one = request(name, path, part=plan)
        ended = None
        for item in kept(process._events(process._load(one.tool), one, b"", lambda _: None, lambda: False, state)):
            if isinstance(item, PartEnd):
                ended = item
            else:
                found.append(item)
        if ended is None:
            return found, ends
        ends.append(ended.start)
        state = ended.state
        plan = PartPlan(size=next(sizes), start=ended.start, has_state=True)


def encoded(items: Sequence[object]) -> list[bytes]:
    return [msgspec.msgpack.encode(item) for item in items]


def check(name: str, path: Path, sizes: Iterator[int], least: int) -> None:
    whole = at_once(name, path)
    found, ends = in_parts(name, path, sizes)
    assert len(ends) >= least
    assert encoded(found) == encoded(whole)


@pytest.mark.parametrize("name", SHAPES)
def test_parts_give_what_one_pass_gives(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(log_of(name, RECORDS, seed=1))
    size = path.stat().st_size
    whole = at_once(name, path)
    assert any(isinstance(item, Finding) and item.severity != "info" for item in whole)  # the attack was found
    check(name, path, iter(lambda: size // 5 + 13, 0), least=3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize("name", SHAPES)
def test_parts_may_end_anywhere(name: str, seed: int, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(log_of(name, RECORDS, seed))
    size, chance = path.stat().st_size, random.Random(seed)
    check(name, path, iter(lambda: chance.randrange(200, size // 3), 0), least=3)


def test_what_related_events_need_is_handed_on(tmp_path):
    path = tmp_path / "conn.log"
    path.write_bytes(log_of("conn.log", RECORDS, seed=1))
    engine = RuleEngine(load_rules().rules)
    with path.open("rb") as content:
        list(engine.feed([event for event in read_events(content) if isinstance(event, Event)]))
    correlators = engine.so_far().correlators
    handed_on = pickle.loads(pickle.dumps(correlators))
    before, after = ([one.groups for one in each._by_id.values()] for each in (correlators, handed_on))
    assert any(before)
    assert after == before


TOOL = """
import os, signal, time
from svc.assistant.findings import Coverage, Finding, Progress
from svc.assistant.log_readers.parts import part_of
from svc.assistant.skills.events import answer as events
from svc.assistant.skills.logins import answer as logins
from svc.assistant.skills.cvss.findings import AllowedRow, CvssBroken

def count(lines, *, source, slow=""):
    part = part_of(lines)
    number = part.begin() or 0
    pids = [os.getpid()]
    for line in lines:
        number += 1
        if line.startswith("die"):
            os.kill(os.getpid(), signal.SIGKILL)
        if line.startswith("raise"):
            raise ValueError("a line of the parser")
        if slow:
            time.sleep(0.0002)
        if number % 1_000 == 1:
            yield Progress(text=f"line {number} in {os.getpid()}")
    if part.is_paused:
        part.state = number
        return
    facts = CvssBroken(vector="", version="3.1", problems=["a"], at_fault=[AllowedRow("AC", "L, H")],
                       lowest_score=None, highest_score=2.5, count=number)
    yield Finding(title=f"{number} lines", facts=facts)
    yield Coverage(read_as="log", unit="line", understood=number, total=number, looked_for="x")

def hog(lines, *, source):
    yield Progress(text="has the worker")
    time.sleep(60)
"""
LINE = b"x" * 99 + b"\n"
PART = 100_000  # bytes: 1,000 lines


@pytest.fixture
async def workers(tmp_path, monkeypatch):
    (tmp_path / "counting_tool.py").write_text(TOOL)
    monkeypatch.syspath_prepend(str(tmp_path))
    made = Workers(slots=1, limits=Limits(part_bytes=PART))
    await made.start()
    yield made
    await made.close()


async def run(workers: Workers, path: Path, **options: str) -> list[object]:
    job = Job(
        tool="counting_tool:count", input=InputKind.LINES, name="log", source=path, facts=(CvssBroken,), options=options
    )
    return [item async for item in workers.run(job)]


async def test_each_part_has_a_process_of_its_own(workers, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(LINE * 4_500)
    items = await run(workers, path)
    told = [item.text for item in items if isinstance(item, Progress) and item.text.startswith("line ")]
    assert [text.split(" ")[1] for text in told] == ["1", "1001", "2001", "3001", "4001"]
    assert len({text.split(" ")[3] for text in told}) == 5
    finding, coverage = kept(items)
    assert finding.title == "4500 lines"
    assert not coverage.is_cut


@pytest.mark.parametrize(("word", "reason"), [(b"die", "SIGKILL"), (b"raise", "ValueError: a line of the parser")])
async def test_a_process_that_dies_loses_its_part_alone(word, reason, workers, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(LINE * 3_500 + word + b"\n" + LINE * 999)
    finding, coverage, gap, failed = kept(await run(workers, path))
    assert finding.title == "3000 lines"
    assert (coverage.understood, coverage.total, coverage.is_cut) == (3_000, 4_500, True)
    assert isinstance(gap, Gap)
    assert gap.text.startswith("only the first 66 % (300,000 of ")
    assert reason in gap.text
    assert isinstance(failed.facts, ToolFailure)
    assert "What it found before that is in this answer" in failed.why


async def test_a_process_that_dies_in_the_first_part_has_found_nothing(workers, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(LINE * 500 + b"die\n" + LINE * 3_000)
    [failed] = kept(await run(workers, path))
    assert "It had reported no finding before that" in failed.why


async def test_a_cancelled_question_is_answered_from_the_parts_that_were_read(workers, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(LINE * 30_000)
    request = StopRequest()
    token = STOP.set(request)
    items = []
    job = Job(
        tool="counting_tool:count", input=InputKind.LINES, name="log", source=path, facts=(CvssBroken,),
        options={"slow": "yes"},
    )  # fmt: skip
    async for item in workers.run(job):
        items.append(item)
        if isinstance(item, Progress) and item.text.startswith("line 3001 "):
            request.request()
    STOP.reset(token)
    finding, coverage, gap = kept(items)
    assert 3_000 < finding.facts.count < 30_000
    assert isinstance(coverage, Coverage)
    assert coverage.total == 30_000
    assert gap.text.endswith("was read: the question was cancelled")


async def read_until_the_worker_is_taken(workers: Workers, path: Path, end: Callable[[], None]) -> list[object]:
    """Read the log, with another job before its second part; call ``end`` while the second part waits."""
    path.write_bytes(LINE * 3_500)
    items: list[object] = []

    async def take_worker() -> None:
        job = Job(tool="counting_tool:hog", input=InputKind.LINES, name="hog", source=LINE * 700)
        async for item in workers.run(job):
            if isinstance(item, Progress) and item.text == "has the worker":
                end()

    job = Job(tool="counting_tool:count", input=InputKind.LINES, name="log", source=path, facts=(CvssBroken,))
    hog = None
    async for item in workers.run(job):
        items.append(item)
        hog = hog or asyncio.create_task(take_worker())
    assert hog is not None
    hog.cancel()
    await asyncio.gather(hog, return_exceptions=True)
    return items


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_what_was_read_is_reported_while_the_next_part_waits_for_a_worker(workers, tmp_path, is_cancelled):
    stop, loop = StopRequest(), asyncio.get_running_loop()
    tokens = STOP.set(stop), TURN_END.set(None if is_cancelled else loop.time() + 8)
    async with asyncio.timeout(40):
        items = await read_until_the_worker_is_taken(
            workers, tmp_path / "log", stop.request if is_cancelled else lambda: None
        )
    STOP.reset(tokens[0])
    TURN_END.reset(tokens[1])
    finding, coverage, gap = kept(items)
    assert 1_000 <= finding.facts.count < 3_500
    assert (coverage.total, coverage.is_cut) == (3_500, True)
    reason = "the question was cancelled" if is_cancelled else "the time limit of the turn was reached"
    assert gap.text.startswith("only the first ")
    assert gap.text.endswith(f"was read: {reason}")


async def test_a_job_that_was_accepted_goes_on_however_long_the_queue_is(workers, tmp_path, monkeypatch):
    path = tmp_path / "log"
    path.write_bytes(LINE * 3_500)
    items = []
    job = Job(tool="counting_tool:count", input=InputKind.LINES, name="log", source=path, facts=(CvssBroken,))
    async for item in workers.run(job):
        items.append(item)
        monkeypatch.setattr(workers, "_queue", 0)  # as if as many jobs were waiting as may
    assert [item.title for item in kept(items) if isinstance(item, Finding)] == ["3500 lines"]


async def test_a_job_that_waits_longer_than_its_turn_lasts_says_so(workers, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(LINE * 900)
    begun = asyncio.Event()

    async def hold() -> None:
        async for _ in workers.run(Job(tool="counting_tool:hog", input=InputKind.LINES, name="hog", source=path)):
            begun.set()

    hog = asyncio.create_task(hold())
    await begun.wait()
    token = TURN_END.set(asyncio.get_running_loop().time() + 0.2)
    async with asyncio.timeout(20):
        [failed] = kept(await run(workers, path))
    TURN_END.reset(token)
    assert "the time limit of the turn was reached before it began" in failed.why
    hog.cancel()
    await asyncio.gather(hog, return_exceptions=True)
    assert workers.load.busy == workers.waiting == 0


def test_the_time_in_the_queue_is_not_time_of_reading():
    source = Path("log")
    job = Job(tool="counting_tool:count", input=InputKind.LINES, name="log", source=source)
    parts = begin(job, 3 * PART, Limits(part_bytes=PART, wall_seconds=100.0))
    for number in range(2):
        parts.begin(1_000.0 * number, None)
        parts.go_on(PartEnd(state=b"s", start=PART * (number + 1), cpu_seconds=1.0), 1_000.0 * number + 20.0)
    parts.begin(2_000.0, None)
    assert parts.wall_seconds == 60.0
    parts.begin(2_000.0, 2_030.0)
    assert parts.wall_seconds == 30.0


@pytest.mark.parametrize("name", ["auth.log", "logins.csv"])
async def test_the_pool_reads_in_parts_as_at_once(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(log_of(name, RECORDS, seed=1))
    one = request(name, path)
    found = []
    for limits in (Limits(), Limits(part_bytes=path.stat().st_size // 3)):
        workers = Workers(slots=1, limits=limits)
        await workers.start()
        job = Job(
            tool=one.tool, input=one.input, name=name, source=path, looks_for_instructions=True,
            facts=(logins if name == "auth.log" else events).SECTION.skill.facts,
        )  # fmt: skip
        found.append(encoded(kept([item async for item in workers.run(job)])))
        await workers.close()
    assert found[0] == found[1]
    assert len(found[0]) > 3


async def test_a_compressed_log_is_read_at_once(workers, tmp_path):
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(random.Random(1).randbytes(3 * PART), 0))
    items = await run(workers, path)
    assert any(isinstance(item, Progress) and item.text.endswith("not in parts: it is compressed") for item in items)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[" + b",\n".join(b'{"EventID": 4625, "Channel": "Security", "time": "%d"}' % n for n in range(99)) + b"]",
         "its JSON objects are in a list or on several lines each"),
        ('{"EventID": 4625, "Channel": "Security"}\n'.encode("utf-16") * 2, "it is in UTF-16"),
    ],
)  # fmt: skip
def test_what_cannot_go_on_in_another_process_is_read_at_once_and_says_why(content, reason, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(content)
    told: list[object] = []
    one = request("log", path, part=PartPlan(size=50))
    items = list(process._events(process._load(one.tool), one, b"", told.append))
    assert any(isinstance(item, Coverage) for item in items)
    assert f"log is read at once, not in parts: {reason}" in [item.text for item in told if isinstance(item, Progress)]
