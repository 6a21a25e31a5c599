"""Turns when the ground shakes: a full disk, a stop, a store that comes back."""

from __future__ import annotations

import asyncio
import gc

import pytest

from svc.errors import UnavailableError
from tests.support.assistants.scripted import Slow, Steady
from tests.support.live import ThreadService, wait_until
from tests.support.wire_client import kinds, opened, read, read_turn, register, send, seqs

STEPS = 2_000


async def read_until_silent(socket) -> list[dict[str, object]]:
    frames = []
    while True:
        try:
            frames.append(await asyncio.wait_for(read(socket), 0.5))
        except TimeoutError:
            return frames


@pytest.mark.one_service("the disk of one service")
@pytest.mark.sqlite  # it fills a file
@pytest.mark.parametrize("is_given_up", [False, True], ids=["free again in time", "free again too late"])
async def test_a_turn_waits_for_a_full_disk_and_ends_exactly_once(
    start_service, monkeypatch: pytest.MonkeyPatch, is_given_up: bool
):
    monkeypatch.setattr("svc.service.turns.turn_run.MAX_WRITE_TRIES", 1 if is_given_up else 100)
    service = start_service(Steady)
    async with opened(service, register(service), max_queue=None) as socket:
        await send(socket, message_type="query", content=str(STEPS))
        first = [await read(socket), await read(socket)]
        await service.limit_pages(1)
        first += await read_until_silent(socket)
        await service.limit_pages(1_000_000)
        frames = first + await read_turn(socket)

    notices = [(frame["status_code"], frame["status_message"]) for frame in frames if frame["seq"] == 0]
    frames = [frame for frame in frames if frame["seq"]]
    assert seqs(frames) == list(range(1, len(frames) + 1))
    assert notices == [(507, "insufficient_storage")] * is_given_up
    if is_given_up:
        assert (frames[-1]["message_type"], frames[-1]["status_message"]) == ("error", "insufficient_storage")
        assert len(frames) < STEPS
    else:
        assert kinds(frames) == ["query", *["info"] * STEPS, "result", "info"]
        assert [frame["content"] for frame in frames[1:-2]] == [f"step {n}" for n in range(STEPS)]


@pytest.mark.sqlite  # it fills a file
async def test_a_query_to_a_full_disk_gets_an_error_and_the_stream_stays_open(service: ThreadService):
    session_id = register(service)
    async with opened(service, session_id) as socket:
        await service.limit_pages(1)
        await send(socket, message_type="query", content="x" * 900_000)
        refusal = await read(socket)
        await service.limit_pages(1_000_000)
        await send(socket, message_type="query", content="again")
        assert (await read(socket))["seq"] == 1

    assert (refusal["status_code"], refusal["status_message"], refusal["seq"]) == (507, "insufficient_storage", 0)


@pytest.mark.one_service("stops one service; test_replicas.py has the others")
async def test_a_stopping_service_rejects_queries_and_lets_a_turn_finish(start_service):
    service = start_service(Slow, stop_seconds=20)
    first, second = register(service), register(service)
    async with opened(service, first) as running, opened(service, second) as asking:
        await send(running, message_type="query", content="one", turn="t1")
        await read(running), await read(running)
        service.server.should_exit = True
        await asyncio.to_thread(wait_for_drain, service)
        await send(asking, message_type="query", content="two")
        refusal = await read(asking)
        await send(running, message_type="cancel", turn="t1")
        end = await read(running)

    assert (refusal["status_message"], refusal["seq"]) == ("unavailable", 0)
    assert (end["status_message"], end["seq"]) == ("cancelled", 3)


def wait_for_drain(service: ThreadService) -> None:
    wait_until(lambda: service.running.service.turns.is_stopping, "the stop to begin")


@pytest.mark.one_service("the store of one service fails")
@pytest.mark.parametrize(
    ("error", "logged"), [(UnavailableError("away", retry_after=1), []), (KeyError("a bug"), ["internal error"])]
)
async def test_a_turn_that_fails_to_begin_after_its_stream_was_closed_is_logged_only_if_that_is_a_bug(
    start_service,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    logged: list[str],
):
    service = start_service(Steady)
    store = service.running.service.session_stores.logged
    begun, has_gone, failed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def begin_turn(*_: object, **__: object) -> None:
        begun.set()
        await has_gone.wait()
        failed.set()
        raise error

    monkeypatch.setattr(store, "begin_turn", begin_turn)
    async with opened(service, register(service)) as socket:
        await send(socket, message_type="query", content="1")
        await asyncio.to_thread(wait_until, begun.is_set, "the turn to begin")
        service.loop.call_soon_threadsafe(service.running.streams.leave)
        await asyncio.to_thread(wait_until, lambda: not len(service.running.streams), "the stream to end")
    service.loop.call_soon_threadsafe(has_gone.set)
    await asyncio.to_thread(wait_until, failed.is_set, "the turn to fail")
    service.run(asyncio.sleep(0))
    gc.collect()  # asyncio complains about an exception that nobody looked at once its task is gone
    assert [one.message for one in caplog.records if one.levelname == "ERROR"] == logged
