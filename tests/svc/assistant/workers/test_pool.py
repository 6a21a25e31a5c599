"""Tools run in processes of their own: what they yield arrives, what kills them is a finding, cancel kills them."""

import asyncio
import bz2
import gzip
import multiprocessing.process
import os
import subprocess
import sys
from contextlib import AsyncExitStack, aclosing

import psutil
import pytest

from svc.assistant.findings import Finding, Gap, InputKind, Progress
from svc.assistant.skills.cvss.findings import AllowedRow, CvssBroken
from svc.assistant.workers import pool
from svc.assistant.workers.payer import PAYER, STOP, TURN_END, Payer, StopRequest
from svc.assistant.workers.pool import Job, Limits, Workers
from svc.assistant.workers.reading_budget import TURN_LIMIT
from svc.errors import UnavailableError

TOOLS = """
import os, signal, time
from svc.assistant import knowledge
from svc.assistant.findings import Coverage, Finding, Gap, Progress
from svc.assistant.skills.cvss.findings import AllowedRow, CvssBroken

def facts(text):
    row = AllowedRow("AC", "L, H")
    return CvssBroken(vector=text, version="3.1", problems=["a"], at_fault=[row], lowest_score=None,
                      highest_score=2.5, count=1)

def echo(text, *, source):
    yield Progress(text=f"{source}: {text}")
    yield Finding(title=text, facts=facts(text))

def stream(binary, *, source):
    binary.seek(-4, 2)
    yield Progress(text=f"{binary.tell() + 4} bytes end in {binary.read()!r}")

def size(binary, *, source):
    yield Progress(text=f"{len(binary.read())} bytes")

def table(text, *, source):
    yield Progress(text=knowledge.read("facts.toml").decode())

def count(lines, *, source):
    for number, line in enumerate(lines, start=1):
        yield Progress(text=f"{number} {len(line)} {line[:20]}")

def slowly_counted(lines, *, source):
    for number, line in enumerate(lines, start=1):
        time.sleep(0.001)
        if number % 1_000 == 1:
            yield Progress(text=f"line {number}")
    yield Finding(title=str(number), facts=facts(""))
    yield Coverage(read_as="log", unit="line", understood=number, total=number, looked_for="x")

def slowly(lines, *, source):
    number = 0
    for number, line in enumerate(lines, start=1):
        time.sleep(0.001)
    yield Finding(title=str(number), facts=facts(""))
    yield Coverage(read_as="log", unit="line", understood=number, total=number, looked_for="x")

def raises(text, *, source):
    yield Finding(title="found before", facts=facts(""))
    raise ValueError("bad\\nthing")

def killed(text, *, source):
    yield Progress(text="started")
    os.kill(os.getpid(), signal.SIGSEGV)

def hungry(text, *, source):
    yield Progress(text="started")
    held = []
    while True:
        held.append(bytearray(8_000_000))

def endless(text, *, source):
    yield Progress(text=str(os.getpid()))
    while True:
        sum(range(1000))

def asleep(text, *, source):
    yield Progress(text=str(os.getpid()))
    while True:
        time.sleep(60)

def flood(text, *, source):
    for number in range(10_000):
        yield Finding(title=str(number), facts=facts(""))

def writes(text, *, source):
    with open(text, "w") as file:
        file.write("x" * 10)
    yield Progress(text="written")

def environment(text, *, source):
    yield Progress(text=repr(dict(os.environ)))
"""


@pytest.fixture(autouse=True)
def tools(tmp_path, monkeypatch):
    (tmp_path / "scripted_tools.py").write_text(TOOLS)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.fixture
async def workers():
    made = Workers()
    await made.start()
    yield made
    await made.close()


FACTS = CvssBroken(
    vector="grüße",
    version="3.1",
    problems=["a"],
    at_fault=[AllowedRow("AC", "L, H")],
    lowest_score=None,
    highest_score=2.5,
    count=1,
)


def job(function, source=b"x", kind=InputKind.TEXT):
    return Job(tool=f"scripted_tools:{function}", input=kind, name="evidence", source=source, facts=(CvssBroken,))


async def run(workers, *args, **kwargs):
    return [item async for item in workers.run(job(*args, **kwargs))]


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_what_a_tool_yields_arrives_in_order(workers):
    assert await run(workers, "echo", "grüße".encode()) == [
        Progress(text="evidence: grüße"),
        Finding(title="grüße", facts=FACTS),
    ]


async def test_a_path_is_read_by_the_worker(workers, tmp_path):
    (tmp_path / "log").write_bytes(b"one\r\ntwo")
    told = [item.text for item in await run(workers, "count", tmp_path / "log", InputKind.LINES)]
    assert told == ["1 3 one", "2 3 two"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(b"", [], id="empty"),
        pytest.param(b"\n\n", ["1 0 ", "2 0 "], id="empty lines"),
        pytest.param(gzip.compress(b"a\nb\n"), ["1 1 a", "2 1 b"], id="gzip"),
        pytest.param("ab\ncd".encode("utf-16"), ["1 2 ab", "2 2 cd"], id="utf-16"),
        pytest.param(b"\xef\xbb\xbfab", ["1 2 ab"], id="byte order mark"),
        pytest.param(b"a\xffb", ["1 3 a\ufffdb"], id="broken utf-8"),
    ],
)
async def test_lines_of_many_encodings(workers, content, told):
    assert [item.text for item in await run(workers, "count", content, InputKind.LINES)] == told


async def test_the_rest_of_a_huge_line_is_skipped_and_reported(workers):
    items = await run(workers, "count", b"x" * 1_000_000 + b"\nnext\n", InputKind.LINES)
    assert [item.text for item in items if isinstance(item, Progress)] == [f"1 65536 {'x' * 20}", "2 4 next"]
    assert "longer than 65,536 bytes (the first is line 1)" in items[-1].text


async def test_a_truncated_archive_is_read_as_far_as_possible_and_reported(workers):
    packed = gzip.compress(b"".join(os.urandom(20).hex().encode() + b"\n" for _ in range(2_000)))
    items = await run(workers, "count", packed[: len(packed) // 2], InputKind.LINES)
    assert len(items) > 500
    assert isinstance(items[-1], Gap)
    assert "damaged" in items[-1].text


@pytest.mark.parametrize("kind", [kind for kind in InputKind if kind is not InputKind.RAW])
async def test_an_archive_damaged_from_its_start_is_reported(workers, kind):
    packed = bytearray(gzip.compress(b"Failed password\n" * 9))
    packed[10:14] = b"\xff\xff\xff\xff"
    function = {InputKind.TEXT: "echo", InputKind.LINES: "count", InputKind.BINARY: "size"}[kind]
    items = await run(workers, function, bytes(packed), kind)
    assert not [item for item in items if isinstance(item, Finding) and item.kind == "tool_failed"]
    assert "damaged" in items[-1].text


@pytest.mark.parametrize("kind", [kind for kind in InputKind if kind is not InputKind.RAW])
async def test_a_bzip2_file_with_a_damaged_first_block_is_reported(workers, kind):
    packed = bytearray(bz2.compress(b"Failed password\n" * 9))
    packed[63] ^= 0xFF  # in the data: libbz2 refuses the block, and then any further call
    function = {InputKind.TEXT: "echo", InputKind.LINES: "count", InputKind.BINARY: "size"}[kind]
    items = await run(workers, function, bytes(packed) + bytes(20_000), kind)
    assert not [item for item in items if isinstance(item, Finding) and item.kind == "tool_failed"]
    assert "damaged" in items[-1].text


@pytest.mark.parametrize(
    ("function", "limits", "reason"),
    [
        pytest.param("raises", Limits(), "ValueError: bad thing", id="raises"),
        pytest.param("killed", Limits(), "SIGSEGV", id="segmentation fault"),
        pytest.param("hungry", Limits(memory_bytes=300_000_000), "300,000,000 bytes of memory", id="memory"),
        pytest.param("endless", Limits(cpu_seconds=1), "1 s of CPU time", id="processor time"),
        pytest.param("asleep", Limits(wall_seconds=5), "after 5 s", id="wall time"),
        pytest.param("missing", Limits(), "missing", id="no such tool"),
    ],
)
async def test_a_tool_that_dies_is_a_finding_and_the_next_one_works(function, limits, reason):
    workers = Workers(limits=limits)
    await workers.start()
    failure = (await run(workers, function))[-1]
    assert failure.kind == "tool_failed"
    assert reason in failure.facts.reason
    assert len(await run(workers, "echo")) == 2
    await workers.close()


async def test_findings_before_a_crash_are_kept(workers):
    assert [item.kind for item in await run(workers, "raises")] == ["cvss_broken", "tool_failed"]


async def test_a_tool_that_cannot_read_all_before_the_turns_end_reports_what_it_found(workers):
    token = TURN_END.set(asyncio.get_running_loop().time() + 6)
    content = b"x" * 999 + b"\n"  # the time is looked at after every 64 KiB
    items = await run(workers, "slowly", content * 10_000, InputKind.LINES)
    TURN_END.reset(token)
    finding, coverage, gap = [item for item in items if not isinstance(item, Progress)]
    assert 0 < int(finding.title) == coverage.understood < coverage.total == 10_000
    assert coverage.is_cut
    assert gap.text.startswith("only the first ")
    assert gap.text.endswith("was read: the limit of 6 s")
    assert gap.in_headline
    assert gap.is_passing


async def test_after_the_turns_time_no_tool_begins(workers):
    token = TURN_END.set(asyncio.get_running_loop().time())
    [failure] = await run(workers, "echo")
    TURN_END.reset(token)
    assert failure.facts.reason == "the time limit of the turn was reached before it began"
    assert "It had reported no finding before that" in failure.why


@pytest.fixture
def stop():
    request = StopRequest()
    token = STOP.set(request)
    yield request
    STOP.reset(token)


async def run_until_stopped(workers, stop, given):
    """What a job yields if it is stopped once it has yielded something."""
    items = []
    async for item in workers.run(given):
        if not items:
            stop.request()
        items.append(item)
    return [item for item in items if not isinstance(item, Progress)]


async def test_a_stopped_tool_reports_what_it_found_and_how_far_it_read(workers, stop):
    content = (b"x" * 999 + b"\n") * 20_000
    items = await run_until_stopped(workers, stop, job("slowly_counted", content, InputKind.LINES))
    finding, coverage, gap = items
    assert 0 < int(finding.title) == coverage.understood < coverage.total == 20_000
    assert coverage.is_cut
    assert gap.text.startswith("only the first ")
    assert gap.text.endswith("was read: the question was cancelled")
    assert gap.in_headline
    assert gap.is_passing


async def test_a_tool_that_is_stopped_at_the_turns_time_limit_says_so(workers, stop):
    items = []
    async for item in workers.run(job("slowly_counted", (b"x" * 999 + b"\n") * 20_000, InputKind.LINES)):
        if not items:
            stop.request(TURN_LIMIT)
        items.append(item)
    gap = items[-1]
    assert gap.text.endswith("was read: the time limit of the turn was reached")


async def test_a_stopped_tool_that_does_not_end_is_killed_and_said_so(workers, stop, monkeypatch):
    monkeypatch.setattr(pool, "STOP_SECONDS", 0.1)
    [gap] = await run_until_stopped(workers, stop, job("endless"))
    assert gap.text.startswith("not examined to its end: the question was cancelled")
    assert gap.is_passing


async def test_a_stopped_turn_begins_no_tool(workers, stop):
    stop.request()
    [gap] = await run(workers, "echo")
    assert gap.text == "not examined: the question was cancelled before it was read"
    assert gap.in_headline


async def test_an_unreadable_file_does_not_reveal_its_path(workers, tmp_path):
    [failure] = await run(workers, "echo", tmp_path / "gone")
    assert "No such file" in failure.facts.reason
    assert str(tmp_path) not in str(failure)


async def test_closing_the_iterator_kills_the_process(workers):
    async with aclosing(workers.run(job("asleep"))) as items:
        pid = int((await anext(items)).text)
        assert psutil.pid_exists(pid)
    await until(lambda: not psutil.pid_exists(pid))


async def test_cancelling_the_task_kills_the_process(workers):
    started = asyncio.get_running_loop().create_future()

    async def turn():
        async with aclosing(workers.run(job("endless"))) as items:
            async for item in items:
                started.set_result(int(item.text))

    task = asyncio.create_task(turn())
    pid = await asyncio.wait_for(started, 20)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await until(lambda: not psutil.pid_exists(pid))


async def test_closing_the_pool_leaves_no_process(workers):
    async with aclosing(workers.run(job("asleep"))) as items:
        parent = psutil.Process(int((await anext(items)).text)).parent()  # the forkserver, or this process
        await until(lambda: workers.idle == 2)
        others = {child.pid for child in parent.children()}
    await workers.close()
    await until(lambda: not others & {child.pid for child in parent.children()})


async def test_too_many_findings_stop_the_tool():
    workers = Workers(limits=Limits(findings=100))
    await workers.start()
    items = await run(workers, "flood")
    await workers.close()
    assert len(items) == 101
    assert "100 findings" in items[-1].text


async def test_a_queued_job_says_so_and_a_full_queue_rejects_jobs():
    workers = Workers(slots=1, queue=1)
    await workers.start()
    async with aclosing(workers.run(job("asleep"))) as first, aclosing(workers.run(job("echo"))) as second:
        await anext(first)
        assert "queued: 1 worker busy, 0 jobs ahead" in (await anext(second)).text
        waiting = asyncio.create_task(anext(second))
        await until(lambda: workers.waiting == 1)
        with pytest.raises(UnavailableError, match=r"the workers are busy \(1\) and the queue is full \(1 job\)"):
            await anext(workers.run(job("echo")))
        await first.aclose()
        assert (await waiting).text == "evidence: x"
    await workers.close()


@pytest.mark.posix("Windows has no limit on written files")
async def test_tools_write_nothing(workers, tmp_path):
    failure = (await run(workers, "writes", str(tmp_path / "made").encode()))[-1]
    assert failure.kind == "tool_failed"
    assert not (tmp_path / "made").exists() or (tmp_path / "made").read_bytes() == b""


async def test_tools_see_no_secret_of_the_environment(monkeypatch):
    monkeypatch.setenv("SVC_API_KEY", "svc_secret")
    workers = Workers()
    await workers.start()
    [told] = await run(workers, "environment")
    await workers.close()
    assert told.text == "{}"


def test_tools_run_with_a_long_temporary_folder_name(tmp_path):
    folder = tmp_path / ("long" * 20)
    folder.mkdir()
    program = (
        "import asyncio\n"
        "from svc.assistant.workers.pool import Job, Workers\n"
        "async def main():\n"
        "    workers = Workers(slots=1)\n"
        "    await workers.start()\n"
        "    job = Job(tool='svc.assistant.skills.cvss.tool:inspect', input='text', name='p', source=b'no')\n"
        "    print([type(item).__name__ async for item in workers.run(job)])\n"
        "    await workers.close()\n"
        "if __name__ == '__main__':\n"
        "    asyncio.run(main())\n"
    )
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")], env=environment, capture_output=True, text=True, timeout=60
    )
    assert "Gap" in done.stdout, done.stderr


@pytest.mark.parametrize("packing", [bytes, gzip.compress], ids=["plain", "packed"])
async def test_a_binary_tool_gets_a_stream_of_the_unpacked_bytes(workers, packing):
    content = bytes(range(256)) * 1000
    assert await run(workers, "stream", packing(content), InputKind.BINARY) == [
        Progress(text="256000 bytes end in b'\\xfc\\xfd\\xfe\\xff'")
    ]


async def test_a_worker_reads_the_users_own_tables_first(workers, tmp_path, monkeypatch):
    (tmp_path / "facts.toml").write_text("version = 'mine'")
    monkeypatch.setenv("SVC_KNOWLEDGE_DIR", str(tmp_path))
    assert await run(workers, "table", b"", InputKind.TEXT) == [Progress(text="version = 'mine'")]


async def test_a_daemonic_process_cannot_start_workers(monkeypatch):
    monkeypatch.setitem(multiprocessing.process.current_process()._config, "daemon", True)
    async with AsyncExitStack() as stack:
        workers = Workers()
        await workers.start()
        stack.push_async_callback(workers.close)
        with pytest.raises(UnavailableError, match=r"a daemonic process cannot start others; run this in one that"):
            await asyncio.wait_for(run(workers, "echo"), 20)


MAIN = """
import asyncio, sys
from pathlib import Path
with Path(sys.argv[1]).open("a") as file:
    file.write("imported ")

async def main():
    from svc.assistant.findings import InputKind
    from svc.assistant.workers.pool import Job, Workers
    workers = Workers()
    await workers.start()
    job = Job(tool="scripted_tools:echo", input=InputKind.TEXT, name="a", source=b"x")
    async for item in workers.run(job):
        print(item.text if hasattr(item, "text") else item.title)
        break
    await workers.close()

if __name__ == "__main__":
    asyncio.run(main())
"""


def test_a_worker_does_not_import_the_main_module_of_the_program(tmp_path):
    (tmp_path / "program.py").write_text(MAIN)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path / "log")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "a: x\n", done.stderr
    assert (tmp_path / "log").read_text() == "imported "


async def test_jobs_run_as_many_at_a_time_as_there_are_workers_and_each_item_names_its_job(workers):
    jobs = [job("echo", f"{number}".encode()) for number in range(5)]
    items = [item async for item in workers.run_all(jobs)]
    assert [index for index, item in items if item is None] == [0, 1, 2, 3, 4]
    texts = {(index, item.text) for index, item in items if isinstance(item, Progress) and "queued" not in item.text}
    assert texts == {(number, f"evidence: {number}") for number in range(5)}


async def test_leaving_many_jobs_stops_those_that_run_and_those_that_wait(workers):
    async with aclosing(workers.run_all([job("asleep") for _ in range(5)])) as items:
        async for _, item in items:
            if isinstance(item, Progress):
                pid = int(item.text)
                break
    await until(lambda: not psutil.pid_exists(pid))
    assert workers.waiting == 0
    assert [item.text for item in await run(workers, "echo") if isinstance(item, Progress)] == ["evidence: x"]


async def test_what_a_job_of_many_raises_is_raised(workers, monkeypatch):
    monkeypatch.setattr(workers, "_queue", 0)
    with pytest.raises(UnavailableError):
        async for _ in workers.run_all([job("echo")]):
            pass


class Account:
    """An account whose jobs are charged to it."""

    def __init__(self, name: str) -> None:
        self.seconds: list[float] = []
        self._payer = Payer(name, self.seconds.append)

    async def first_item(self, workers, stack, *args, **kwargs):
        """Start a job that stays open as long as ``stack``, and return the first thing that it yields."""
        PAYER.set(self._payer)
        items = await stack.enter_async_context(aclosing(workers.run(job(*args, **kwargs))))
        return await anext(items)


async def test_a_small_job_is_done_while_another_account_has_every_slot(workers):
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await Account("hog").first_item(workers, stack, "endless")
        said = await Account("hog").first_item(workers, stack, "echo")
        assert "queued: 2 workers busy, 0 jobs ahead" in said.text
        async with asyncio.timeout(10), AsyncExitStack() as own:
            assert (await Account("neighbour").first_item(workers, own, "echo")).text == "evidence: x"


async def test_one_accounts_queue_is_full_and_anothers_is_not():
    workers = Workers(slots=1, queue=1)
    await workers.start()
    async with AsyncExitStack() as stack:
        hog = Account("hog")
        await hog.first_item(workers, stack, "asleep")
        PAYER.set(Payer("hog"))
        waiting = asyncio.create_task(run(workers, "echo"))
        await until(lambda: workers.waiting == 1)
        with pytest.raises(UnavailableError, match="the queue is full"):
            await hog.first_item(workers, stack, "echo")
        assert (await Account("neighbour").first_item(workers, stack, "echo")).text == "evidence: x"
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    await workers.close()


async def test_the_seconds_of_a_job_are_charged_to_its_account(workers):
    account = Account("a")
    async with AsyncExitStack() as stack:
        await account.first_item(workers, stack, "asleep")
        await asyncio.sleep(0.2)
        assert account.seconds == []
    assert len(account.seconds) == 1
    assert account.seconds[0] >= 0.2


async def test_a_long_job_gives_way_to_younger_ones(workers):
    async with aclosing(workers.run(job("endless"))) as items:
        process = psutil.Process(int((await anext(items)).text))
        before = process.nice()
        await until(lambda: process.nice() == max(before, 10))
