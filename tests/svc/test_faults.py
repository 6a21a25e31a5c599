"""Turns through a network that cuts, halves and swallows: every one ends with exactly one answer, whole."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from svc import InteractiveSession, MessageType, Svc
from svc._transport import StreamSettings, Transport
from svc.config import Config
from tests.support.doubling_proxy import doubling_proxy
from tests.support.fault_proxy import Fault, FaultProxy

QUICK = StreamSettings(open_seconds=2.0, ping_seconds=0.2, pong_seconds=0.2, close_seconds=0.2)
STEPS = 25
SESSIONS = 8


async def through_faults(client: Svc, config: Config, proxy: FaultProxy, wanted: int, seed: int) -> None:
    """Ask until so many faults have happened, then look at what the service kept."""
    chance = random.Random(seed)
    figures: Counter[str] = Counter()

    def fault(chunk: object) -> Fault:
        (chosen,) = chance.choices(("pass", "cut", "half", "swallow", "delay"), (100, 5, 4, 1, 3))
        figures[chosen] += 1
        return chosen

    def faults() -> int:
        return figures["cut"] + figures["half"] + figures["swallow"]

    proxied = proxy.config(config)
    sessions = [InteractiveSession(Transport(proxied, settings=QUICK), client.create_session().info)
                for _ in range(SESSIONS)]  # fmt: skip
    proxy.fault = fault

    async def asking(session: InteractiveSession) -> int:
        turns = 0
        while faults() < wanted:
            messages = [message async for message in session.stream(f"count {STEPS} 2")]
            said = [message.content for message in messages[:-1]]
            assert said == [*map(str, range(1, STEPS + 1)), f"count {STEPS} 2 (after {turns})"]
            assert messages[-1].ends_turn
            seqs = [message.seq for message in messages]
            assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
            turns += 1
        return turns

    turns = await asyncio.gather(*[asking(session) for session in sessions])
    for session, asked in zip(sessions, turns, strict=True):
        await asyncio.to_thread(check_kept, client.resume_session(session.session_id), asked)
    print({"turns": sum(turns), "messages": sum(turns) * (STEPS + 2), "connections": proxy.connections, **figures})
    assert faults() >= wanted


def check_kept(session: InteractiveSession, asked: int) -> None:
    """Each question was run once and answered once."""
    history = session.history()
    kinds = Counter(message.message_type for message in history)
    assert (kinds[MessageType.QUERY], kinds[MessageType.RESULT], kinds[MessageType.ERROR]) == (asked, asked, 0)
    assert [message.seq for message in history] == list(range(1, len(history) + 1))


async def test_turns_through_dozens_of_faults_end_with_one_answer_each(
    client: Svc, scripted_service: Config, proxy: FaultProxy
):
    await through_faults(client, scripted_service, proxy, wanted=60, seed=1)


async def test_duplicate_messages_are_seen_once_and_duplicate_questions_run_once(
    client: Svc, scripted_service: Config, monkeypatch: pytest.MonkeyPatch
):
    async def open_unproven(config: Config, seconds: float) -> None:
        """The proxy speaks websocket only."""

    monkeypatch.setattr("svc._transport._open_proven", open_unproven)
    async with doubling_proxy(scripted_service.ws_url) as address:
        config = Config(base_url=scripted_service.base_url, ws_url=address, api_key=scripted_service.api_key)
        session = InteractiveSession(Transport(config, settings=QUICK), client.create_session().info)
        for turn in range(5):
            said = [message.content async for message in session.stream(f"count {STEPS}")]
            assert said[:-1] == [*map(str, range(1, STEPS + 1)), f"count {STEPS} (after {turn})"]
    await asyncio.to_thread(check_kept, client.resume_session(session.session_id), 5)


@pytest.mark.long
@pytest.mark.timeout(3_600)
async def test_turns_through_thousands_of_faults_end_with_one_answer_each(
    client: Svc, scripted_service: Config, proxy: FaultProxy
):
    await through_faults(client, scripted_service, proxy, wanted=3_000, seed=2)
