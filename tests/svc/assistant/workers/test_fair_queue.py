"""Whose job is next."""

from __future__ import annotations

import asyncio
import random

import pytest

from svc.assistant.workers.fair_queue import FairQueue


class Desk:
    """A queue, and the order in which jobs started."""

    def __init__(self, *, slots: int = 2, lanes: int = 2) -> None:
        self.queue = FairQueue(slots, lanes)
        self.started: list[str] = []
        self.small: list[tuple[str, bool]] = []  # as they started
        self.tasks: list[asyncio.Task[None]] = []

    async def ask(self, *accounts: str, is_small: bool = False) -> None:
        for account in accounts:
            self.tasks.append(asyncio.create_task(self._start(account, is_small=is_small)))
            await asyncio.sleep(0)

    async def _start(self, account: str, *, is_small: bool) -> None:
        await self.queue.acquire(account, is_small=is_small)
        self.started.append(account)
        self.small.append((account, is_small))

    async def end(self, *accounts: str) -> None:
        for account in accounts:
            is_small = next(is_small for started, is_small in self.small if started == account)
            self.small.remove((account, is_small))
            self.queue.release(account, is_small=is_small)
            await asyncio.sleep(0)


async def test_one_account_alone_has_exactly_the_slots():
    desk = Desk()
    await desk.ask("a", "a", "a", is_small=True)
    assert desk.started == ["a", "a"]
    await desk.end("a")
    assert desk.started == ["a", "a", "a"]


async def test_an_account_with_nothing_running_need_not_wait_for_one_that_has_all_slots():
    desk = Desk()
    await desk.ask("a", "a", "a", "b")
    assert desk.started == ["a", "a", "b"]


async def test_the_last_lane_is_for_small_jobs():
    desk = Desk()
    await desk.ask("a", "a", "b", "c")
    await desk.ask("d", is_small=True)
    assert desk.started == ["a", "a", "b", "d"]


async def test_a_lane_is_for_accounts_that_have_no_job():
    desk = Desk()
    await desk.ask("a", "a", "b", "b", "b", is_small=True)
    assert desk.started == ["a", "a", "b"]


async def test_a_small_job_does_not_wait_for_the_large_ones_of_its_own_account():
    desk = Desk()
    await desk.ask("a", "a", "a", "a")
    await desk.ask("a", is_small=True)
    assert desk.small == [("a", False), ("a", False), ("a", True)]
    assert desk.queue.is_full_for("a", is_small=True), "one small job at a time uses a lane"
    await desk.end("a")
    assert desk.small == [("a", False), ("a", True)], "the slots are still full: the large jobs wait"


async def test_a_small_job_goes_before_the_large_ones_of_its_account_that_wait():
    desk = Desk(slots=1, lanes=0)
    await desk.ask("a", "a", "a")
    await desk.ask("a", is_small=True)
    await desk.end("a")
    assert desk.small == [("a", True)]


async def test_small_jobs_of_one_account_leave_a_lane_to_another():
    desk = Desk()
    await desk.ask("a", "a")
    await desk.ask("a", "a", "b", is_small=True)
    assert desk.small[2:] == [("a", True), ("b", True)]


async def test_accounts_take_turns_however_many_jobs_each_has():
    desk = Desk(slots=1, lanes=0)
    await desk.ask(*"aaaaabbc")
    while desk.queue.running:
        await desk.end(desk.started[-1])
    assert desk.started == list("abcabaaa")


async def test_a_freed_slot_goes_to_who_has_least():
    desk = Desk(slots=3, lanes=0)
    await desk.ask(*"aaaaab")
    await desk.end("a")
    assert desk.started == list("aaab")


async def test_a_cancelled_job_does_not_keep_its_place():
    desk = Desk(slots=1, lanes=0)
    await desk.ask("a", "b", "c")
    desk.tasks[1].cancel()
    await asyncio.gather(desk.tasks[1], return_exceptions=True)
    await desk.end("a")
    assert desk.started == ["a", "c"]
    await desk.end("c")
    assert (desk.queue.running, desk.queue.waiting) == (0, 0)


async def test_a_job_that_is_cancelled_as_it_is_granted_gives_its_slot_on():
    desk = Desk(slots=1, lanes=0)
    await desk.ask("a", "b", "c")
    desk.queue.release("a", is_small=False)  # grants b's, whose task has not run yet
    desk.tasks[1].cancel()
    await asyncio.gather(desk.tasks[1], return_exceptions=True)
    await asyncio.sleep(0)
    assert desk.started == ["a", "c"]


@pytest.mark.parametrize("seed", range(30))
async def test_any_order_of_events_keeps_the_promises(seed: int):
    choose = random.Random(seed)
    queue = FairQueue(2, 2)
    running: list[tuple[str, bool]] = []
    waiting: dict[asyncio.Task[None], str] = {}

    async def start(account: str, *, is_small: bool) -> None:
        await queue.acquire(account, is_small=is_small)
        running.append((account, is_small))

    for _ in range(300):
        event = choose.random()
        if event < 0.5:
            account = choose.choice("abcde")
            waiting[asyncio.create_task(start(account, is_small=choose.random() < 0.5))] = account
        elif event < 0.8 and running:
            account, is_small = running.pop(choose.randrange(len(running)))
            queue.release(account, is_small=is_small)
        elif waiting:
            choose.choice([*waiting]).cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting = {task: account for task, account in waiting.items() if not task.done()}
        assert len(running) == queue.running <= 4
        assert queue.waiting == len(waiting)
        assert not waiting or queue.running >= 2, "a slot is idle while a job waits"
        accounts = [account for account, _ in running]
        idle = set(waiting.values()) - set(accounts)
        assert not idle or len(set(accounts)) > 1 or len(running) > 2, "one account has every slot while another waits"
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for account, is_small in running:
        queue.release(account, is_small=is_small)
    assert (queue.running, queue.waiting, queue._served, queue._small) == (0, 0, {}, {})


async def test_a_job_waits_no_longer_than_its_turn_lasts():
    queue, is_over = FairQueue(1, 0), asyncio.Event()

    async def ends() -> None:
        await is_over.wait()

    assert await queue.acquire("a", is_small=False, ends=ends)
    waiting = asyncio.create_task(queue.acquire("a", is_small=False, ends=ends))
    await asyncio.sleep(0)
    is_over.set()
    assert not await waiting
    assert (queue.running, queue.waiting) == (1, 0)
    async with queue.slot("b", is_small=False, ends=ends) as has_slot:
        assert not has_slot
    queue.release("a", is_small=False)
    assert (queue.running, queue.waiting) == (0, 0)


async def test_a_job_that_is_given_a_slot_while_it_is_cancelled_gives_it_back():
    queue = FairQueue(1, 0)
    await queue.acquire("a", is_small=False)
    waiting = asyncio.create_task(queue.acquire("a", is_small=False, ends=asyncio.Event().wait))
    await asyncio.sleep(0)
    queue.release("a", is_small=False)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert (queue.running, queue.waiting) == (0, 0)
