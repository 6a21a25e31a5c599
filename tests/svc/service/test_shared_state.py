"""Several services on one PostgreSQL: what one of them knows, the others know, too."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import asyncpg
import httpx2
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect as sync_connect

from svc.assistant.turn import Assistant
from svc.service.access.key_admin import revoke_key
from svc.service.sessions.database_mark import MARK
from svc.service.settings import Settings
from svc.service.store.address import PostgresAddress
from svc.service.store.postgres.hints import PostgresHints
from svc.service.stream.open_streams import OpenStreams
from tests.support import ASSISTANTS
from tests.support.assistants.scripted import Calling, Echo
from tests.support.live import ThreadService, live_process, wait_until
from tests.support.postgres import PostgresServer
from tests.support.tcp_link import database_link
from tests.support.wire_client import ask, opened, read, read_turn, register, until_closed
from tests.svc.service.access.test_stream_tickets import stream, ticket_for
from tests.svc.service.http.test_page import code_of, enter, resume, start_of
from tests.svc.service.turns.test_local_tool_calls import allow, answer, offer

StartServices = Callable[..., tuple[ThreadService, ThreadService]]


@pytest.fixture
def start_services(postgres: PostgresServer, tmp_path: Path) -> Iterator[StartServices]:
    """Start two services on one database, with one folder of files."""
    with ExitStack() as stack:

        def start(assistant: Callable[[], Assistant] = Echo, **settings: object) -> tuple[ThreadService, ThreadService]:
            database, files = PostgresAddress(postgres.new_schema()), tmp_path / "files"
            chosen = Settings(**{"stop_seconds": 0.3, "shared_database": True} | settings)
            found = []
            for name in ("first", "second"):
                folder = tmp_path / name
                folder.mkdir()
                found.append(ThreadService(folder, assistant(), chosen, database=database, files=files))
                stack.callback(found[-1].stop)
            return found[0], found[1]

        yield start


def all_at_once(calls: list[Callable[[], httpx2.Response]]) -> list[int]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return sorted(reply.status_code for reply in pool.map(lambda call: call(), calls))


async def test_a_ticket_opens_one_stream_at_whichever_service(start_services: StartServices):
    first, second = start_services()
    session_id = register(first)
    ticket = ticket_for(first, session_id)
    async with stream(second, session_id, ticket) as socket:
        assert (await ask(socket, "who?"))[-2]["content"].startswith("who?")
    for service in (first, second):
        with pytest.raises(InvalidStatus):
            await stream(service, session_id, ticket)


async def test_of_many_who_redeem_a_ticket_at_the_same_time_one_gets_in(start_services: StartServices):
    services = start_services()
    session_id = register(services[0])
    for _ in range(5):
        ticket = ticket_for(services[0], session_id)
        tries = await asyncio.gather(
            *(stream(services[n % 2], session_id, ticket).__aenter__() for n in range(8)), return_exceptions=True
        )
        entered = [one for one in tries if not isinstance(one, BaseException)]
        assert len(entered) == 1
        assert all(isinstance(one, InvalidStatus) for one in tries if one is not entered[0])
        await entered[0].close()


def test_a_sign_in_goes_through_whichever_services(start_services: StartServices):
    first, second = start_services()
    code = code_of(first)
    start = start_of(enter(second, code).text)
    assert enter(first, code).status_code == 401
    again = resume(first, start["ticket"])
    assert again.json()["api_key"] == start["api_key"]
    assert resume(second, again.json()["ticket"]).json()["api_key"] == start["api_key"]


async def test_codes_are_kept_as_digests(start_services: StartServices):
    first, _ = start_services()
    codes = [code_of(first), ticket_for(first, register(first)), start_of(enter(first, code_of(first)).text)["ticket"]]
    connection = await asyncpg.connect(first.database.url)
    kept = [bytes(str(tuple(row)), "utf-8") for row in await connection.fetch("SELECT * FROM once_codes")]
    await connection.close()
    assert len(kept) == len(codes)
    for code in (*codes, first.key):
        assert not any(code.encode() in row for row in kept)


def test_a_limit_of_requests_is_exact_over_both(start_services: StartServices):
    services = start_services()
    _, key = services[0].make_key("bob", rpm=20)

    def get(number: int) -> Callable[[], httpx2.Response]:
        return lambda: httpx2.get(
            f"{services[number % 2].base_url}/user/info",
            headers={"Authorization": f"Bearer {key}"},
            trust_env=False,
            timeout=30,
        )

    statuses = all_at_once([get(number) for number in range(40)])
    assert (statuses.count(200), statuses.count(429)) == (20, 20)
    refused = get(1)()
    assert 1 <= int(refused.headers["retry-after"]) <= 60


def test_who_was_answered_by_one_may_ask_the_other_at_once(
    start_services: StartServices, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("svc.service.quotas.shared_counters.GATHER_SECONDS", 0.2)  # the turn's end is counted that late
    monkeypatch.setattr("svc.service.quotas.shared_counters.PostgresCounters.late_seconds", 0.6)
    services = start_services(key_turns=1)
    session_id = register(services[0])
    for number in range(2):
        body = {"id": session_id, "messages": [{"message_type": "query", "content": str(number)}]}
        with services[number % 2].http(services[0].key) as http:
            assert http.post("/session/generate", json=body).status_code == 200


async def test_the_others_are_told_of_a_session_from_its_second_commit_on(
    start_services: StartServices, monkeypatch: pytest.MonkeyPatch
):
    told: list[int] = []
    tell = PostgresHints.tell_stored
    monkeypatch.setattr(
        PostgresHints, "tell_stored", lambda self, session_id, seq: (told.append(seq), tell(self, session_id, seq))
    )
    first, second = start_services()
    body = {"model": "stable", "messages": [{"role": "user", "content": "one"}]}
    with first.http() as http:
        session_id = http.post("/chat/completions", json=body).raise_for_status().headers["x-session-id"]
    assert told == []
    async with opened(second, session_id, key=first.key) as reader:
        seen = len(await read_turn(reader))
        async with opened(first, session_id, seen) as asking:
            await ask(asking, "two")
        assert (await read_turn(reader))[-1]["seq"] == told[-1] > seen


def test_tokens_that_a_turn_used_at_one_count_at_the_other(start_services: StartServices):
    first, second = start_services()
    _, key = first.make_key("bob", tpm=40)
    body = {"model": "stable", "messages": [{"role": "user", "content": "word " * 50}]}
    with first.http(key) as here, second.http(key) as there:
        asked = here.post("/chat/completions", json=body)
        assert asked.status_code == 200, asked.text
        assert asked.headers["x-ratelimit-remaining-tokens"] == "0"
        assert there.post("/chat/completions", json=body).status_code == 429


async def test_open_streams_count_over_both_until_they_are_closed(start_services: StartServices):
    first, second = start_services(key_streams=2)
    session_id, key = register(first), first.key
    async with opened(first, session_id, key=key), opened(second, session_id, key=key):
        for service in (first, second):
            with pytest.raises(InvalidStatus) as refused:
                async with opened(service, session_id, key=key):
                    pass
            assert refused.value.response.status_code == 429

    async with asyncio.timeout(60):
        while True:  # until each service knows that they are closed
            with contextlib.suppress(InvalidStatus):
                async with opened(second, session_id, key=key), opened(second, session_id, key=key):
                    break
            await asyncio.sleep(0.05)


async def test_what_a_service_holds_ends_with_it(start_services: StartServices):
    first, second = start_services(key_streams=1)
    session_id = register(first)
    async with opened(first, session_id):
        await asyncio.to_thread(first.stop)
        async with opened(second, session_id):
            pass


async def test_a_revoked_key_is_refused_and_its_streams_close_at_both(start_services: StartServices):
    first, second = start_services()
    key_id, key = first.make_key("bob")
    session_id = register(first, key)
    async with opened(first, session_id, key=key) as here, opened(second, session_id, key=key) as there:
        await asyncio.to_thread(lambda: asyncio.run(revoke_key(first.database, key_id)))
        for socket in (here, there):
            await until_closed(socket)
            assert socket.close_code == 4401
    for service in (first, second):
        with service.http(key) as http:
            assert http.get("/user/info").status_code == 401


async def test_the_next_question_at_the_other_service_knows_what_was_said(start_services: StartServices):
    first, second = start_services()
    session_id = register(first)
    for number, service in enumerate((first, second, first, second)):
        async with opened(service, session_id, after=None) as socket:
            answer = (await ask(socket, f"question {number}"))[-2]["content"]
        assert answer.endswith(f"{number} earlier")


async def test_a_file_that_one_received_is_read_by_the_other(start_services: StartServices):
    first, second = start_services()
    session_id = register(first)
    with first.http() as here, second.http() as there:
        sent = here.post(
            "/session/upload_file", params={"session_id": session_id, "filename": "a.log"}, content=b"evidence"
        )
        assert sent.status_code == 200, sent.text
        sha256 = sent.json()["data"]["sha256"]
        read = there.get("/session/file", params={"session_id": session_id, "sha256": sha256})
        assert read.content == b"evidence"
        detached = there.post("/session/detach_file", json={"session_id": session_id, "file_idx": 0})
        assert detached.status_code == 200, detached.text
        assert here.get("/session/file", params={"session_id": session_id, "sha256": sha256}).status_code == 404
    assert {path.name for path in first.files.iterdir()} == {MARK}


async def test_a_local_tool_that_was_allowed_at_one_is_not_asked_about_at_the_other(start_services: StartServices):
    first, second = start_services(Calling)
    session_id = register(first)
    async with opened(first, session_id) as socket:
        await offer(socket, "lookup=x")
        await answer(socket, await allow(socket), ok=True, value=1)
        await read_turn(socket)
    async with opened(second, session_id, after=None) as socket:
        await offer(socket, "lookup=y")
        *_, call = [await read(socket) for _ in range(2)]
        assert json.loads(call["content"]) == {"name": "lookup", "arguments": {"text": "y"}}
        await answer(socket, call, ok=True, value=1)
        await read_turn(socket)


async def test_a_history_is_not_that_of_an_earlier_session_with_its_id(start_services: StartServices):
    first, second = start_services()
    session_id = register(first, id="the-id")
    async with opened(first, session_id, after=None) as socket:
        await ask(socket, "one")
    with second.http() as http:
        assert http.post("/session/delete", json={"id": session_id}).status_code == 200
    register(second, id="the-id")
    async with opened(second, session_id, after=None) as socket:
        await ask(socket, "two")
    async with opened(first, session_id, after=None) as socket:
        assert (await ask(socket, "three"))[-2]["content"].endswith("1 earlier")


SKEW = """
import time
real = time.time
time.time = lambda: real() + 600
"""


async def test_services_whose_clocks_are_ten_minutes_apart_agree_on_expiry(postgres: PostgresServer, tmp_path: Path):
    database, files = PostgresAddress(postgres.new_schema()), tmp_path / "fast" / "service.db.files"
    (tmp_path / "fast").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "fast" / "sitecustomize.py").write_text(SKEW, "utf-8")
    paths = f"{tmp_path / 'fast'}:{ASSISTANTS}"
    environment = {"PYTHONPATH": paths, "SVC_SHARED_DATABASE": "true"}
    with live_process(tmp_path / "fast", "Echo", database=database, **environment) as fast:
        settings = Settings(stop_seconds=0.3, shared_database=True)
        here = ThreadService(tmp_path / "here", Echo(), settings, database=database, files=files)
        try:
            _, key = here.make_key("bob", expires=time.time() + 300)
            session_id = register(fast, key, ttl=300)
            with fast.http(key) as there, here.http(key) as at_home:
                for http in (there, at_home):
                    session = http.get("/session/get", params={"session_id": session_id}).json()
                    assert abs(session["expire_time"] - time.time() - 300) < 60
            for issuer, redeemer in ((fast, here), (here, fast)):
                own = register(issuer)
                async with stream(redeemer, own, ticket_for(issuer, own)) as socket:
                    assert (await ask(socket, "who?"))[-2]["content"].startswith("who?")
        finally:
            here.stop()


async def _end_invalid_keys(streams: OpenStreams) -> None:
    await streams._service.auth.invalid_keys({"some key"})


def test_the_watch_says_once_that_the_database_is_away(
    postgres: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    # the stream may have ended before the watch looks; its key is looked up all the same
    monkeypatch.setattr(OpenStreams, "_end_invalid_keys", _end_invalid_keys)
    with database_link(PostgresAddress(postgres.new_schema())) as link:
        settings = Settings(stop_seconds=0.3, watch_seconds=0.05)
        service = ThreadService(tmp_path, Echo(), settings, database=link.address)
        try:
            caplog.set_level("INFO", "svc.stream")
            session_id = register(service)
            with sync_connect(
                f"{service.ws_url}/stream?session_id={session_id}", additional_headers=service.headers, proxy=None
            ):
                link.cut()
                wait_until(lambda: "watch failed" in caplog.messages, "the watch to fail")
                time.sleep(1)  # many looks that fail
                link.mend()
                wait_until(lambda: "watch goes on" in caplog.messages, "the watch to go on")
        finally:
            service.stop()
    assert caplog.messages.count("watch failed") == 1
