"""Functions in processes of their own: results, errors, files, and an end for what takes too long."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from svc.assistant.skills.catalogue import SKILLS, skill_named
from svc.assistant.skills.skill import Skill
from svc.assistant.turn import TurnFile
from svc.assistant.workers.functions import FunctionProcesses
from svc.errors import InvalidRequestError, TooLargeError

CPU_SECONDS = 1.0


def doubled(text: str, *, times: int = 2) -> str:
    return text * times


def matched(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def backtracking() -> bool:
    """Holds the interpreter's lock for longer than anybody waits."""
    return matched(r"(?:a|aa)+b", "a" * 60)


def reversed_files(files: Sequence[TurnFile]) -> tuple[list[TurnFile], int]:
    return list(reversed(files)), sum(len(file.source) for file in files if isinstance(file.source, bytes))


def first_skill(skills: Sequence[Skill]) -> Skill:
    return skills[0]


def refused(text: str) -> None:
    raise InvalidRequestError(f"{text} is refused", param="text")


class _OddError(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def oddly_refused() -> None:
    raise _OddError("cannot be", "made again")


@pytest.fixture
async def functions(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FunctionProcesses]:
    monkeypatch.syspath_prepend(Path(__file__).parents[4])  # the processes import this module for its functions
    processes = FunctionProcesses(cpu_seconds=CPU_SECONDS)
    yield processes
    await processes.close()


async def test_a_call_returns_what_the_function_returns(functions: FunctionProcesses):
    assert await functions.call(doubled, "ab", times=3) == "ababab"
    assert [await functions.call(doubled, text) for text in ("a", "é\0", "x" * 3_000_000)] == [
        "aa",
        "é\0" * 2,
        "x" * 6_000_000,
    ]


async def test_a_call_raises_what_the_function_raises(functions: FunctionProcesses):
    with pytest.raises(InvalidRequestError, match="this is refused") as caught:
        await functions.call(refused, "this")
    assert (caught.value.param, caught.value.status) == ("text", 400)
    with pytest.raises(RuntimeError, match="_OddError: cannot be made again"):
        await functions.call(oddly_refused)


async def test_the_content_of_files_stays_here(functions: FunctionProcesses):
    files = [
        TurnFile(name=name, size=3, sha256="", mime_type="text/plain", label="txt", source=b"abc", is_new=False)
        for name in ("a", "b")
    ]
    back, content_bytes = await functions.call(reversed_files, files)
    assert content_bytes == 0
    assert [one is other for one, other in zip(back, reversed(files), strict=True)] == [True, True]


async def test_a_skill_comes_back_as_itself(functions: FunctionProcesses):
    assert await functions.call(first_skill, [skill_named("decode"), *SKILLS]) is skill_named("decode")


async def test_a_search_that_never_ends_is_stopped_and_the_loop_goes_on(functions: FunctionProcesses):
    await functions.call(doubled, "warm")
    delays: list[float] = []

    async def watch() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.01)
            delays.append(time.thread_time() - before)

    watching = asyncio.create_task(watch())
    with pytest.raises(TooLargeError, match=r"the question took too long to read .* Shorten it, or attach"):
        await functions.call(backtracking)
    watching.cancel()
    assert len(delays) >= 10  # the loop ran while the search did
    assert max(delays) < CPU_SECONDS / 2  # and did none of its work
    assert await functions.call(doubled, "after") == "afterafter"


async def test_calls_wait_for_a_process(functions: FunctionProcesses):
    results = await asyncio.gather(
        *(functions.call(backtracking) for _ in range(3)),
        *(functions.call(doubled, str(number)) for number in range(20)),
        return_exceptions=True,
    )
    assert [type(one) for one in results[:3]] == [TooLargeError] * 3
    assert results[3:] == [str(number) * 2 for number in range(20)]


async def test_a_cancelled_call_ends_its_process(functions: FunctionProcesses):
    call = asyncio.create_task(functions.call(time.sleep, 600.0))
    await asyncio.sleep(1.0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await functions.call(doubled, "b") == "bb"


async def test_closing_ends_a_call(functions: FunctionProcesses):
    assert await functions.call(doubled, "a") == "aa"
    await functions.close()
    assert not functions._idle


async def test_a_process_that_was_killed_while_it_waited_is_replaced(functions: FunctionProcesses):
    assert await functions.call(doubled, "a") == "aa"
    [waiting] = functions._idle
    waiting._process.kill()

    assert await functions.call(doubled, "b") == "bb"


async def test_calls_that_are_cancelled_while_a_process_starts_leave_the_others_alone(functions: FunctionProcesses):
    for number in range(12):
        call = asyncio.create_task(functions.call(doubled, "a"))
        await asyncio.sleep(0.002 * number)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)

    assert await functions.call(doubled, "b") == "bb"
