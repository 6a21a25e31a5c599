"""kill -9 in the middle of turns: nothing that a client saw is lost, doubled or moved, and every turn ends once."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
from collections import Counter
from pathlib import Path

import pytest
from websockets.exceptions import WebSocketException

from svc.messages import State
from tests.support.live import ProcessService, live_process, wait_until
from tests.support.wire_client import Frame, opened, read, register, send

STEPS = 60
AGAIN = "started again after a restart"


class Client:
    """Asks one question after the other, comes back after every cut with its last seq, and keeps what it saw."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.seen: list[Frame] = []
        self.answered = 0

    async def run(self, service: ProcessService) -> None:
        """Until the service dies."""
        with contextlib.suppress(OSError, WebSocketException, TimeoutError):
            async with opened(service, self.session_id, len(self.seen), max_queue=None) as socket:
                while True:
                    query = {"id": f"q{self.answered}", "message_type": "query", "content": str(STEPS)}
                    await send(socket, **query)
                    await self._read_turn(socket, query["id"])
                    self.answered += 1

    async def _read_turn(self, socket, query_id: str) -> None:
        while True:
            frame = await read(socket)
            if frame["seq"] == 0:  # the turn of this query runs already
                continue
            self.seen.append(frame)
            ends = frame["state"] == "end" and frame["message_type"] in ("info", "error")
            if ends and frame["parent_id"] == query_id:
                return


def figures_of(client: Client, stored: list[Frame]) -> Counter[str]:
    """What was seen against what is stored; lost is what was seen and is not stored, or differs."""
    seen = [frame["seq"] for frame in client.seen]
    seqs = [frame["seq"] for frame in stored]
    by_seq = {frame["seq"]: frame for frame in stored}
    return Counter(
        turns=sum(frame["message_type"] == "query" for frame in stored),
        taken_up=sum(frame["content"] == AGAIN for frame in stored),
        died_twice=sum(frame["status_message"] == "internal_error" for frame in stored),
        stored=len(stored),
        seen=len(seen),
        lost=sum(by_seq.get(frame["seq"]) != frame for frame in client.seen),
        doubled=len(seen) - len(set(seen)) + len(stored) - len({frame["id"] for frame in stored}),
        out_of_order=sum(later <= earlier for earlier, later in itertools.pairwise(seen)),
        gaps=sum(seq != at for at, seq in enumerate(seen, 1)) + sum(seq != at for at, seq in enumerate(seqs, 1)),
    )


def check_history(client: Client, stored: list[Frame]) -> None:
    """What was seen is what is stored, to the letter; seq has no gap; every query has one end, one RESULT at most."""
    assert [frame["seq"] for frame in stored] == list(range(1, len(stored) + 1))
    assert client.seen == stored[: len(client.seen)]
    for query in [frame for frame in stored if frame["message_type"] == "query"]:
        of_turn = [frame for frame in stored if frame["turn"] == query["turn"]]
        ends = [f for f in of_turn if f["state"] == "end" and f["message_type"] in ("info", "error")]
        results = [f for f in of_turn if f["message_type"] == "result"]
        assert (len(ends), of_turn[-1]) == (1, ends[0])
        assert len(results) == (1 if ends[0]["message_type"] == "info" else 0)
        check_runs(of_turn)


def check_runs(of_turn: list[Frame]) -> None:
    """Each run's steps count from 0 without a gap, and a later run says that it is one."""
    groups = list(dict.fromkeys(frame["group"] for frame in of_turn[1:]))
    for number, group in enumerate(groups):
        contents = [f["content"] for f in of_turn if f["group"] == group and f["message_type"] == "info"]
        assert not number or contents[:1] in ([], [AGAIN])
        steps = [content for content in contents if content.startswith("step ")]
        assert steps == [f"step {n}" for n in range(len(steps))]
    assert len(groups) <= 3
    assert [frame["content"] for frame in of_turn].count(AGAIN) <= 1


async def kill_again_and_again(folder: Path, kills: int, clients: int, seed: int) -> None:
    figures = Counter(kills=kills)
    chance = random.Random(seed)
    with live_process(folder, "Steady") as service:
        everyone = [Client(register(service)) for _ in range(clients)]
        for _ in range(kills):
            running = [asyncio.create_task(client.run(service)) for client in everyone]
            await asyncio.sleep(chance.uniform(0.02, 0.6))  # the moment of the kill is what is varied
            service.kill()
            await asyncio.gather(*running)
            service.__init__(folder, "Steady")
        with service.http() as http:
            for client in everyone:
                figures.update(await asyncio.to_thread(finish_and_check, http, client))
    print(dict(figures))  # the long form's result: pytest -s, or -rP
    assert sum(client.answered for client in everyone) > 0
    assert figures["taken_up"] > 0, "no kill hit a turn"


def finish_and_check(http, client: Client) -> Counter[str]:
    def session() -> Frame:
        return http.get("/session/get", params={"session_id": client.session_id}).json()

    wait_until(lambda: session()["state"] != State.RUNNING_AGENT, "the last turn's end", 60)
    stored = session()["messages"]
    figures = figures_of(client, stored)
    assert not [figures[wrong] for wrong in ("lost", "doubled", "out_of_order", "gaps") if figures[wrong]], figures
    check_history(client, stored)
    return figures


async def test_a_few_kills_lose_nothing(tmp_path: Path):
    await kill_again_and_again(tmp_path, kills=4, clients=5, seed=1)


@pytest.mark.long
@pytest.mark.timeout(3_600)
async def test_two_hundred_kills_under_twenty_concurrent_turns_lose_nothing(tmp_path: Path):
    await kill_again_and_again(tmp_path, kills=200, clients=20, seed=2)
