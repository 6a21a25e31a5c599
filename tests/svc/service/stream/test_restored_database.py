"""A database that is restored from a backup while clients have seen more: they go on, and nothing is shown twice."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosedError

from svc import AsyncSvc, Svc
from svc.messages import Message
from tests.support.live import ProcessService, free_port
from tests.support.wire_client import ask, opened, register, send, seqs, until_closed


class Restorable:
    """A service at one address whose database can be copied, and put back."""

    def __init__(self, folder: Path, assistant: str) -> None:
        self._folder = folder
        self._assistant = assistant
        self._port = free_port()
        self.service = self._start()

    def _start(self) -> ProcessService:
        return ProcessService(self._folder, self._assistant, port=self._port)

    def copy(self) -> None:
        """A backup of the database in use, made as docs/wire.md describes."""
        source, target = sqlite3.connect(self.service.database), sqlite3.connect(self._folder / "backup.db")
        with closing(source), closing(target):
            source.backup(target)

    def restore(self) -> None:
        """Stop the service, put the copy back, start it."""
        self.service.terminate()
        for name in ("", "-wal", "-shm"):
            self.service.database.with_name(f"{self.service.database.name}{name}").unlink(missing_ok=True)
        shutil.copy(self._folder / "backup.db", self.service.database)
        self.service = self._start()

    def close(self) -> None:
        self.service.kill()


@pytest.fixture
def restorable(tmp_path: Path):
    made: list[Restorable] = []

    def make(assistant: str = "Echo") -> Restorable:
        made.append(Restorable(tmp_path, assistant))
        return made[-1]

    yield make
    for one in made:
        one.close()


async def test_after_beyond_the_end_is_answered_with_history_lost_and_4409(restorable):
    service = restorable().service
    session_id = register(service)
    async with opened(service, session_id) as socket:
        await ask(socket, "one")
    frames = []
    with contextlib.suppress(ConnectionClosedError):  # with 4409
        async with opened(service, session_id, 7) as refused:
            with contextlib.suppress(ConnectionClosedError):
                await send(refused, message_type="query", content="not to be run")
            frames = await until_closed(refused)
    async with opened(service, session_id, 6) as socket:  # the last seq is not beyond the end
        again = await ask(socket, "two")

    assert [(f["seq"], f["status_code"], f["status_message"]) for f in frames] == [(0, 409, "history_lost")]
    assert "after is 7, and the session has 6 messages" in str(frames[0]["content"])
    assert refused.close_code == 4409
    assert seqs(again) == list(range(7, 13))


def test_a_client_goes_on_after_its_session_went_back(restorable):
    place = restorable()
    with Svc(place.service.key, place.service.base_url) as client:
        session = client.create_session()
        watched: list[Message] = []
        session.watch(watched.append)
        session.query("one")
        place.copy()
        session.query("two")
        session.query("three")
        place.restore()
        answer = session.query("four")
        history = session.history()
        after = session.query("five")

    assert "four" in answer.text()
    assert [m.content for m in watched if m.message_type == "query"] == ["one", "two", "three", "four", "five"]
    assert len({message.id for message in watched}) == len(watched)
    assert [m.content for m in history if m.message_type == "query"] == ["one", "four"]
    assert [m.seq for m in history] == list(range(1, len(history) + 1))
    assert "five" in after.text()
    assert (session.turns, session.num_messages) == (3, len(history) + len(after.messages) + 1)


async def test_an_asynchronous_client_goes_on_in_the_middle_of_a_turn(restorable):
    place = restorable("Steady")
    async with AsyncSvc(place.service.key, place.service.base_url) as client:
        session = await client.create_session()
        seen: list[Message] = []
        turn = session.stream("40")
        async for message in turn:
            seen.append(message)
            if len(seen) == 3:
                await asyncio.to_thread(place.copy)
            if len(seen) == 12:
                await asyncio.to_thread(place.restore)

    assert len({message.id for message in seen}) == len(seen)
    assert [m.message_type for m in seen].count("result") == 1
    assert seen[-1].ends_turn


def test_a_session_that_was_resumed_shows_nothing_from_before(restorable):
    place = restorable()
    with Svc(place.service.key, place.service.base_url) as client:
        session_id = client.create_session().session_id
        client.resume_session(session_id).query("one")
        place.copy()
        client.resume_session(session_id).query("two")
        resumed = client.resume_session(session_id)
        watched: list[Message] = []
        resumed.watch(watched.append)
        place.restore()
        resumed.query("three")

    assert [m.content for m in watched if m.message_type == "query"] == ["three"]
