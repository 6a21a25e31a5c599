"""Figures of a service among others: what was taken over, lost, in doubt or healed, and what waits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from svc.assistant.turn import Assistant
from svc.service.bus.shared import SharedBus
from svc.service.observability.answering import AnsweringDigest
from svc.service.settings import Settings
from svc.service.store.address import PostgresAddress
from svc.service.store.postgres.hints import PostgresHints
from tests.support.assistants.scripted import Slow, Steady
from tests.support.live import ThreadService, wait_until
from tests.support.postgres import PostgresServer
from tests.support.wire_client import ask, opened, read, read_turn, register, send
from tests.svc.service.observability.test_metrics import figures

NAMES = (
    "svc_turns_taken_over_total", "svc_leases_lost_total", "svc_appends_in_doubt_total",
    "svc_database_turns_waiting", "svc_database_oldest_waiting_turn_seconds",
)  # fmt: skip


class Two:
    """Two services of one database, that are started one after the other."""

    def __init__(self, folder: Path, database: PostgresAddress) -> None:
        self._folder = folder
        self._database = database
        self.started: list[ThreadService] = []

    def start(self, assistant: Assistant, **settings: object) -> ThreadService:
        chosen = {"lease_seconds": 1.0, "stop_seconds": 0.1, "drain_seconds": 0.0, "metrics": True} | settings
        service = ThreadService(
            self._folder, assistant, Settings(shared_database=True, **chosen), database=self._database
        )
        self.started.append(service)
        return service


@pytest.fixture
def two(postgres: PostgresServer, tmp_path: Path) -> Iterator[Two]:
    made = Two(tmp_path, PostgresAddress(postgres.new_schema()))
    yield made
    for service in made.started:
        service.stop()


async def test_nothing_is_counted_while_nothing_fails(two: Two):
    first, second = two.start(Steady(), lease_seconds=60.0), two.start(Steady(), lease_seconds=60.0)
    session_id = register(first)
    async with opened(first, session_id) as asked, opened(second, session_id, max_queue=None) as elsewhere:
        await ask(asked, "500")
        await read_turn(elsewhere)
    for service in (first, second):
        found = figures(service)
        assert {name: found[f"{name}[]"] for name in NAMES} == dict.fromkeys(NAMES, 0)


def test_services_that_would_answer_differently_are_counted_and_warned_of(two: Two):
    first, second = two.start(Steady()), two.start(Steady())

    def unlike(service: ThreadService) -> float:
        return figures(service)["svc_services_unlike[]"]

    def health(service: ThreadService) -> tuple[str, str]:
        with service.http() as http:
            found = http.get("/health").json()
        return found["status"], " ".join(found.get("warnings", []))

    with pytest.raises(AssertionError):
        wait_until(lambda: unlike(first) or unlike(second), "a difference", 1.5)
    assert health(first) == ("ok", "")
    other = two.start(Slow())
    wait_until(lambda: (unlike(first), unlike(second), unlike(other)) == (1, 1, 2), "the differences")
    assert health(first)[0] == "degraded"
    assert "1 other process of this database answers" in health(first)[1]


def test_what_decides_how_a_service_answers_is_its_assistant_its_model_and_the_rules(tmp_path: Path):
    model = {"SVC_MODEL_URL": "http://127.0.0.1:1/v1", "SVC_MODEL_NAME": "small"}
    digest = AnsweringDigest(Steady(), model, tmp_path)
    before = digest()
    assert before == digest() == AnsweringDigest(Steady(), model | {"SVC_MODEL_KEY": "secret"}, tmp_path)()
    assert before != AnsweringDigest(Slow(), model, tmp_path)()
    assert before != AnsweringDigest(Steady(), model | {"SVC_MODEL_NAME": "large"}, tmp_path)()
    (tmp_path / "own.yml").write_text("title: A rule")
    assert before != digest()
    (tmp_path / "own.yml").unlink()
    assert before == digest()


async def test_a_hint_that_was_lost_is_counted_once_it_is_healed(two: Two, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(PostgresHints, "_receive", lambda *_: None)
    first, second = two.start(Steady()), two.start(Steady())
    session_id = register(first)
    async with opened(first, session_id) as asked, opened(second, session_id, max_queue=None) as elsewhere:
        await ask(asked, "1500")
        await read_turn(elsewhere)
    assert figures(second)["svc_hints_healed_total[]"] > 0
    assert figures(first)["svc_hints_healed_total[]"] == 0


async def test_turns_that_nobody_has_room_for_are_counted_with_their_age(two: Two):
    first = two.start(Slow(), turns_at_once=1)

    def figure(name: str) -> float:
        return figures(first)[f"svc_database_{name}[]"]

    async with contextlib.AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(opened(first, register(first))) for _ in range(3)]
        for socket in sockets:
            await send(socket, message_type="query", content="q")
            await read(socket)
        await asyncio.to_thread(wait_until, lambda: figure("turns_waiting") == 2, "two turns to be counted")
        older = max(figure("oldest_waiting_turn_seconds"), 1)
        await asyncio.to_thread(wait_until, lambda: figure("oldest_waiting_turn_seconds") > older, "it to grow older")
        for socket in reversed(sockets):
            await send(socket, message_type="cancel")
            await read_turn(socket)
        await asyncio.to_thread(wait_until, lambda: figure("turns_waiting") == 0, "none to wait")
        assert figure("oldest_waiting_turn_seconds") == 0


class TestHealing:
    """Which hints count as lost. ``s`` has a listener here."""

    def bus(self) -> SharedBus:
        bus = SharedBus(NoHints())
        bus.subscribe("s", Deaf())
        return bus

    def test_one_that_comes_before_the_next_look_was_late(self):
        bus = self.bus()
        assert bus.heal({"s": 3}) == 0
        assert bus.heal({"s": 5}) == 0
        bus._note("s", 5)
        assert bus.heal({"s": 5}) == 0

    def test_one_that_never_comes_is_counted_once(self):
        bus = self.bus()
        assert [bus.heal({"s": seq}) for seq in (3, 5, 5, 5)] == [0, 0, 1, 0]

    def test_a_session_that_nobody_listens_to_any_more_is_not_counted(self):
        bus = self.bus()
        (listener,) = bus._listeners["s"]
        bus.heal({"s": 3})
        bus.heal({"s": 5})
        bus.unsubscribe("s", listener)
        assert bus.heal({}) == 0


class NoHints:
    """``Hints`` that nobody hears."""

    def tell_stored(self, session_id: str, seq: int) -> None: ...


class Deaf:
    """A ``Listener`` that does nothing."""

    def catch_up(self, seq: int) -> None: ...
