"""Workers where the platform has no forkserver, or does not limit a process: the parent measures and kills."""

import asyncio
import os
import subprocess
import sys

import pytest

from svc.assistant.findings import InputKind
from svc.assistant.workers import own_limits, starting, watch
from svc.assistant.workers.functions import FunctionProcesses
from svc.assistant.workers.machine import memory_bytes, processors
from svc.assistant.workers.pool import Job, Limits, Workers
from svc.errors import ConfigError, TooLargeError

TOOLS = """
import time

def hungry(text, *, source):
    held = []
    while True:
        held.append(bytearray(8_000_000))
        time.sleep(0.001)
    yield

def endless(text, *, source):
    while True:
        sum(range(1000))
    yield

def searching(seconds):
    import re
    re.fullmatch(r"(?:a|aa)+b", "a" * 60)
"""


@pytest.fixture(autouse=True)
def tools(tmp_path, monkeypatch):
    (tmp_path / "platform_tools.py").write_text(TOOLS)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize(
    ("named", "methods", "chosen"),
    [
        pytest.param("", ["fork", "spawn", "forkserver"], "forkserver", id="Linux"),
        pytest.param("4", ["fork", "spawn", "forkserver"], "forkserver", id="a count"),
        pytest.param(" spawn ", ["fork", "spawn", "forkserver"], "spawn", id="chosen"),
        pytest.param("", ["spawn"], "spawn", id="Windows"),
        pytest.param("spawn", ["spawn"], "spawn", id="Windows, chosen"),
    ],
)
def test_processes_start_as_the_setting_says_or_as_the_platform_can(monkeypatch, named, methods, chosen):
    monkeypatch.setattr(starting, "available_methods", lambda: methods)
    assert starting.start_method({"SVC_WORKERS": named}) == chosen


def test_a_method_that_the_platform_lacks_is_refused(monkeypatch):
    monkeypatch.setattr(starting, "available_methods", lambda: ["spawn"])
    with pytest.raises(ConfigError, match="SVC_WORKERS=forkserver is not possible on this platform; it must be spawn"):
        starting.start_method({"SVC_WORKERS": "forkserver"})


@pytest.fixture
def unlimited(monkeypatch):
    """Processes that limit nothing themselves, as the parent sees it: they get limits that are too high."""
    for name in ("limits_memory", "limits_calls", "has_resource_limits"):
        monkeypatch.setattr(own_limits, name, lambda: False)


async def failure_of(function, limits):
    workers = Workers(slots=1, limits=limits)
    await workers.start()
    job = Job(tool=f"platform_tools:{function}", input=InputKind.TEXT, name="evidence", source=b"x", facts=())
    items = [item async for item in workers.run(job)]
    await workers.close()
    return items[-1].facts.reason


async def test_a_process_that_takes_too_much_memory_is_stopped_from_outside(unlimited, monkeypatch):
    monkeypatch.setattr(watch, "_memory_bytes", lambda process: process.memory_info().rss * 4)  # before its own limit
    assert await failure_of("hungry", Limits(memory_bytes=1_000_000_000)) == (
        "the parser was stopped when it needed more than 1,000,000,000 bytes of memory"
    )


async def test_a_process_that_takes_too_much_processor_time_is_stopped_from_outside(unlimited, monkeypatch):
    monkeypatch.setattr(watch, "_cpu_seconds", lambda process: sum(process.cpu_times()[:2]) * 20)
    assert await failure_of("endless", Limits(cpu_seconds=10)) == "the parser was stopped after 10 s of CPU time"


async def test_a_search_that_never_ends_is_stopped_from_outside(unlimited, monkeypatch):
    monkeypatch.setattr(watch, "_cpu_seconds", lambda process: sum(process.cpu_times()[:2]) * 20)
    import platform_tools

    processes = FunctionProcesses(cpu_seconds=20)
    with pytest.raises(TooLargeError, match="took too long to read"):
        await processes.call(platform_tools.searching, 1)
    await processes.close()


async def test_a_process_that_ended_is_not_watched_any_more(unlimited):
    starter = starting.Starter()
    starter.prepare()
    process = starter.process(os.getcwd)
    await asyncio.to_thread(starting.start, process)
    watched = watch.Watch(process, memory_bytes=1, cpu_seconds=1)
    await starting.exit_code(process, 20)
    await asyncio.wait([watched._task], timeout=30)
    assert watched._task.done()
    watched.stop()


async def test_an_exit_is_seen_on_a_loop_without_readers(monkeypatch):
    loop = asyncio.get_running_loop()

    def refused(*_):
        raise NotImplementedError

    starter = starting.Starter()
    starter.prepare()
    process = starter.process(os._exit, 7)
    await asyncio.to_thread(starting.start, process)
    monkeypatch.setattr(loop, "add_reader", refused)
    assert await starting.exit_code(process, 20) == 7


@pytest.mark.posix("priorities are others on Windows")
def test_a_long_job_gives_way_without_setpriority(monkeypatch):
    import psutil

    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        monkeypatch.delattr(os, "setpriority")
        watch.give_way(process.pid)
        assert psutil.Process(process.pid).nice() == watch.LONG_JOB_NICE
        process.kill()
    with pytest.raises(OSError, match=r".+"):
        watch.give_way(process.pid)


@pytest.mark.posix("Linux counts the processors of a process")
def test_the_machine_is_measured_without_what_linux_has(monkeypatch, tmp_path):
    with_all = memory_bytes(tmp_path)
    monkeypatch.delattr(os, "sysconf")
    monkeypatch.delattr(os, "sched_getaffinity")
    assert memory_bytes(tmp_path) == pytest.approx(with_all, rel=0.01)
    assert processors(tmp_path) == os.cpu_count()


@pytest.mark.parametrize(
    ("cpu_max", "expected"),
    [
        ("max 100000", 16),
        ("200000 100000", 2),
        ("150000 100000", 2),
        ("10000 100000", 1),
        ("9900000 100000", 16),
        ("0 0", 16),
        ("", 16),
        ("nonsense", 16),
    ],
)
@pytest.mark.posix("Linux counts the processors of a process")
def test_a_container_gives_as_many_processors_as_it_has_time_for(monkeypatch, tmp_path, cpu_max: str, expected: int):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)))
    (tmp_path / "cpu.max").write_text(f"{cpu_max}\n")
    assert processors(tmp_path) == expected
