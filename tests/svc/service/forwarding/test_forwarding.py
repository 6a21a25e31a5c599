"""Unlogged sessions of one service, used at another one of the same database."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import asyncpg
import httpx2
import pytest
from websockets.exceptions import InvalidStatus

from svc import ConfigError
from svc.assistant.turn import Assistant
from svc.service.access.key_admin import revoke_key
from svc.service.app import build
from svc.service.settings import Settings
from svc.service.store.address import PostgresAddress
from svc.service.store.homes import session_digest, user_digest
from tests.support.assistants.scripted import Calling, Echo, Slow, Steady
from tests.support.live import ThreadService, free_port, wait_until
from tests.support.postgres import PostgresServer
from tests.support.wire_client import ask, opened, read, read_turn, register, send, seqs, until_closed
from tests.svc.service.access.test_stream_tickets import stream, ticket_for
from tests.svc.service.turns.test_local_tool_calls import allow, answer, offer

StartServices = Callable[..., tuple[ThreadService, ThreadService]]


@pytest.fixture
def start_services(postgres: PostgresServer, tmp_path: Path) -> Iterator[StartServices]:
    """Start two services on one database, which know each other's addresses."""
    with ExitStack() as stack:

        def start(
            assistant: Callable[[], Assistant] = Echo, *, is_advertised: bool = True, **settings: object
        ) -> tuple[ThreadService, ThreadService]:
            database = PostgresAddress(postgres.new_schema())
            chosen = Settings(**{"stop_seconds": 0.3, "drain_seconds": 0.0, "shared_database": True} | settings)
            options = {"database": database, "files": tmp_path / "files", "is_advertised": is_advertised}
            found = []
            for name in ("first", "second"):
                folder = tmp_path / name
                folder.mkdir()
                found.append(ThreadService(folder, assistant(), chosen, **options))
                stack.callback(found[-1].stop)
            return found[0], found[1]

        yield start


def get(service: ThreadService, session_id: str, key: str | None = None) -> httpx2.Response:
    with service.http(key) as http:
        return http.get("/session/get", params={"session_id": session_id})


def of_database(service: ThreadService, sql: str, *values: object) -> list[asyncpg.Record]:
    async def fetch() -> list[asyncpg.Record]:
        connection = await asyncpg.connect(service.database.url)
        try:
            return await connection.fetch(sql, *values)
        finally:
            await connection.close()

    return asyncio.run(fetch())


def test_every_operation_over_http_works_at_the_other_service(start_services: StartServices):
    first, second = start_services()
    session_id = register(first, can_log=False, name="hushed")
    with second.http() as http:
        session = get(second, session_id).json()
        assert (session["name"], session["can_log"]) == ("hushed", False)

        upload = {"session_id": session_id, "filename": "a.log"}
        evidence = b"evidence " * 300_000
        sent = http.post("/session/upload_file", params=upload, content=evidence).json()["data"]
        assert (sent["name"], sent["sha256"]) == ("a.log", hashlib.sha256(evidence).hexdigest())
        content = base64.b64encode(b"a note").decode()
        attach = {"session_id": session_id, "filename": "b.txt", "content": content}
        note = http.post("/session/attach_file", json=attach).json()["data"]
        for file, expected in ((sent, evidence), (note, b"a note")):
            read = http.get("/session/file", params={"session_id": session_id, "sha256": file["sha256"]})
            assert read.content == expected
            assert read.headers["content-disposition"] == "attachment"
        assert http.post("/session/detach_file", json={"session_id": session_id, "file_idx": 0}).is_success
        assert [file["name"] for file in get(first, session_id).json()["files"]] == ["b.txt"]

        body = {"id": session_id, "messages": [{"message_type": "query", "content": "who?"}]}
        answered = http.post("/session/generate", json=body)
        assert answered.is_success, answered.text
        assert answered.json()["messages"][-2]["content"].startswith("who?")
        assert get(second, session_id).json()["messages"] == get(first, session_id).json()["messages"]

        update = http.post("/session/update", json={"id": session_id, "name": "renamed"})
        assert update.json()["data"]["name"] == "renamed"
        comment = {"session_id": session_id, "type": "bug_report", "comment": "no"}
        assert http.post("/session/feedback", json=comment).is_success
        again = http.post("/session/register", json={"id": session_id, "can_log": False})
        assert again.json()["data"]["name"] == "renamed"

        assert http.post("/session/delete", json={"id": session_id}).is_success
    for service in (first, second):
        gone = get(service, session_id)
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "session_not_found")
    assert of_database(first, "SELECT * FROM unlogged_homes") == []


async def test_a_stream_is_asked_resumed_and_cancelled_at_the_other_service(start_services: StartServices):
    first, second = start_services(Steady)
    session_id = register(first, can_log=False)
    async with opened(first, session_id) as here, opened(second, session_id) as there:
        frames = await ask(there, "300")
        assert await read_turn(here) == frames
        assert seqs(frames) == list(range(1, len(frames) + 1))
    async with opened(second, session_id, after=150) as resumed:
        assert await read_turn(resumed) == frames[150:]
        await send(resumed, message_type="query", content="100000")
        while (await read(resumed))["content"] != "step 3":
            pass
    async with opened(second, session_id, after=None) as again:
        await read(again)
        await send(again, message_type="cancel")
        assert (await read_turn(again))[-1]["status_message"] == "cancelled"
    async with opened(second, session_id, after=10**6) as lost:
        assert [frame["status_message"] for frame in await until_closed(lost)] == ["history_lost"]
        assert lost.close_code == 4409


async def test_local_tools_answer_through_the_other_service(start_services: StartServices):
    first, second = start_services(Calling)
    session_id = register(first, can_log=False)
    async with opened(second, session_id) as there:
        await offer(there, "lookup=x")
        await answer(there, await allow(there), ok=True, value=1)
        assert "1" in (await read_turn(there))[-2]["content"]


async def test_a_ticket_for_an_unlogged_session_is_redeemed_at_either_service(start_services: StartServices):
    services = start_services()
    session_id = register(services[0], can_log=False)
    for issuer in services:
        for redeemer in services:
            async with stream(redeemer, session_id, ticket_for(issuer, session_id)) as socket_:
                assert socket_.subprotocol == "svc"
                assert (await ask(socket_, "who?"))[-2]["content"].startswith("who?")


async def test_streams_of_a_deleted_session_and_of_a_revoked_key_close_at_the_other_service(
    start_services: StartServices,
):
    first, second = start_services()
    session_id = register(first, can_log=False)
    async with opened(second, session_id) as there:
        with second.http() as http:
            assert http.post("/session/delete", json={"id": session_id}).is_success
        await until_closed(there)
        assert there.close_code == 4410
    key_id, key = first.make_key("bob")
    session_id = register(first, key, can_log=False)
    async with opened(second, session_id, key=key) as there:
        await asyncio.to_thread(lambda: asyncio.run(revoke_key(first.database, key_id)))
        await until_closed(there)
        assert there.close_code == 4401


async def test_a_passed_stream_lives_longer_than_a_watch_and_ends_with_the_service_that_passes_it(
    start_services: StartServices,
):
    first, second = start_services(watch_seconds=0.05)
    session_id = register(first, can_log=False)
    async with opened(second, session_id) as there:
        await asyncio.sleep(0.5)
        await ask(there, "who?")
        await asyncio.to_thread(second.stop)
        await until_closed(there)
        assert there.close_code == 1001
    assert get(first, session_id).is_success


def test_a_list_has_the_unlogged_sessions_of_both_services_in_order(start_services: StartServices):
    first, second = start_services()
    ids = [register(service, can_log=is_logged) for service in (first, second) for is_logged in (False, True, False)]
    register(first, first.make_key("ann")[1], can_log=False)
    for service in (first, second):
        with service.http() as http:
            whole = http.get("/session/list").json()
            assert sorted(one["id"] for one in whole) == sorted(ids)
            assert sorted(one["id"] for one in http.get("/user/info").json()["sessions"]) == sorted(ids)
            times = [one["create_time"] for one in whole]
            assert times == sorted(times)
            paged: list[str] = []
            while page := http.get("/session/list", params={"limit": 4} | after(paged)).json():
                paged += [one["id"] for one in page]
            assert paged == [one["id"] for one in whole]


def after(paged: list[str]) -> dict[str, str]:
    return {"after_id": paged[-1]} if paged else {}


def test_a_session_of_a_chat_is_read_at_the_other_service(start_services: StartServices):
    first, second = start_services()
    _, key = first.make_key("discreet", logging="never")
    with first.http(key) as http:
        body = {"model": "stable", "messages": [{"role": "user", "content": "hello"}]}
        session_id = http.post("/chat/completions", json=body).headers["x-session-id"]
    assert get(second, session_id, key).json()["messages"][0]["content"] == "hello"


def test_an_id_is_one_session_wherever_it_is_registered(start_services: StartServices):
    first, second = start_services()
    register(first, id="the-id", can_log=False, name="here")
    for fields in ({"can_log": False}, {"can_log": True}, {}):
        with second.http() as http:
            again = http.post("/session/register", json={"id": "the-id", "name": "there"} | fields)
            assert (again.json()["data"]["name"], again.json()["data"]["can_log"]) == ("here", False)
    with second.http(second.make_key("bob")[1]) as http:
        taken = http.post("/session/register", json={"id": "the-id"})
        assert (taken.status_code, taken.json()["error"]["code"]) == (409, "session_id_taken")
        assert http.get("/session/get", params={"session_id": "the-id"}).status_code == 404


def test_an_expired_session_answers_410_at_the_other_service(start_services: StartServices):
    first, second = start_services(min_ttl_seconds=1, purge_interval_seconds=0.1)
    session_id = register(first, can_log=False)
    with first.http() as http:
        assert http.post("/session/update", json={"id": session_id, "ttl": 1}).is_success
    wait_until(lambda: get(second, session_id).status_code == 410, "the session's end")


def test_a_request_counts_once_for_its_key(start_services: StartServices):
    first, second = start_services()
    _, key = first.make_key("bob", rpm=20)
    session_id = register(first, key, can_log=False)
    statuses = [get(second, session_id, key).status_code for _ in range(22)]
    assert (statuses.count(200), statuses.count(429)) == (19, 3)


def test_a_turn_of_an_unlogged_session_is_left_alone_by_what_looks_after_shared_turns(start_services: StartServices):
    first, second = start_services(Slow, turns_at_once=1, lease_seconds=1)
    running, waiting = (register(first, can_log=False) for _ in range(2))
    turns = first.running.service.turns
    with contextlib.ExitStack() as stack:
        for session_id in (running, waiting):
            body = {"id": session_id, "messages": [{"message_type": "query", "content": "q"}]}
            http = stack.enter_context(second.http())
            threading.Thread(target=suppressed, args=(http, body), daemon=True).start()
            wait_until(lambda session_id=session_id: session_id in turns.unfinished, "the turn")
        with pytest.raises(AssertionError):
            wait_until(lambda: turns.unfinished != [running, waiting], "turns that are dropped", 1.5)
        assert turns.running == [running]
        assert second.running.service.turns.unfinished == []


def suppressed(http: httpx2.Client, body: object) -> None:
    with contextlib.suppress(httpx2.HTTPError):
        http.post("/session/generate", json=body, timeout=10)


def test_hints_say_nothing_of_an_unlogged_session(start_services: StartServices):
    first, second = start_services()
    heard: list[str] = []

    async def listen() -> None:
        connection = await asyncpg.connect(first.database.url)
        channel = await connection.fetchval("SELECT 'svc_' || md5(current_schema())")
        await connection.add_listener(channel, lambda *found: heard.append(found[3]))
        for is_logged in (False, True):
            session_id = await asyncio.to_thread(register, first, can_log=is_logged, id=f"logged-{is_logged}")
            async with opened(second, session_id) as socket_:
                await ask(socket_, "who?")
            with second.http() as http:
                await asyncio.to_thread(http.post, "/session/delete", json={"id": session_id})
        await asyncio.sleep(0.5)
        await connection.close()

    asyncio.run(listen())
    assert any("logged-True" in hint for hint in heard)
    assert not any("logged-False" in hint for hint in heard)


def test_without_an_address_they_are_refused_with_what_to_set(start_services: StartServices, tmp_path: Path):
    first, _ = start_services(is_advertised=False)
    with first.http() as http:
        refused = http.post("/session/register", json={"can_log": False})
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "can_log")
        assert "--advertise http://HOST:PORT" in refused.json()["error"]["message"]
    with pytest.raises(ConfigError, match="--shared-database true"):
        build(Echo(), database=tmp_path / "a.db", settings=Settings(advertise="http://10.0.0.5:8460"))


def test_the_end_of_its_service_ends_a_session_at_the_other_one_at_once(start_services: StartServices):
    first, second = start_services()
    session_id = register(first, can_log=False)
    assert get(second, session_id).is_success
    first.stop()
    gone = get(second, session_id)
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "session_not_found")
    assert register(second, id=session_id, can_log=False) == session_id


class Impostor:
    """Listens where a service should be: reads a request, notes it, and closes without an answer."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection:
                    self.heads.append(connection.recv(65_536))

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def impostor() -> Iterator[Impostor]:
    found = Impostor()
    yield found
    found.close()


def let_be_home(service: ThreadService, session_id: str, address: str) -> None:
    of_database(service, "INSERT INTO replicas VALUES ('other', clock_timestamp() + interval '1 hour')")
    sql = "INSERT INTO unlogged_homes (digest, user_digest, replica, address) VALUES ($1, $2, 'other', $3)"
    of_database(service, sql, session_digest(session_id), user_digest("local"), address)


async def test_a_service_that_has_the_address_of_an_ended_one_has_none_of_its_sessions(start_services: StartServices):
    first, second = start_services()
    await asyncio.to_thread(let_be_home, first, "the-id", second.base_url)
    assert (await asyncio.to_thread(get, first, "the-id")).json()["error"]["code"] == "session_not_found"
    with pytest.raises(InvalidStatus) as refused:
        async with opened(first, "the-id"):
            pass
    assert refused.value.response.status_code == 404
    assert json.loads(refused.value.response.body)["error"]["code"] == "session_not_found"
    with first.http() as http:
        assert http.get("/session/list").json() == []


async def test_a_request_is_sent_once_and_without_the_key(start_services: StartServices, impostor: Impostor):
    first, _ = start_services()
    await asyncio.to_thread(let_be_home, first, "the-id", impostor.address)
    query = {"id": "the-id", "messages": [{"message_type": "query", "content": "who?"}]}

    def ask_all() -> list[tuple[int, str]]:
        with first.http() as http:
            upload = {"session_id": "the-id", "filename": "a"}
            answers = [
                http.post("/session/generate", json=query),
                http.post("/session/upload_file", params=upload, content=b"evidence"),
                http.get("/session/get", params={"session_id": "the-id"}),
            ]
        return [(one.status_code, one.json()["error"]["code"]) for one in answers]

    assert await asyncio.to_thread(ask_all) == [(502, "upstream_error")] * 3
    with pytest.raises(InvalidStatus) as refused:
        async with opened(first, "the-id"):
            pass
    assert refused.value.response.status_code == 503
    assert [head.split()[1].partition(b"?")[0] for head in impostor.heads] == [
        b"/session/generate",
        b"/session/upload_file",
        b"/session/get",
        b"/stream",
    ]
    assert first.key.encode() not in b"".join(impostor.heads)


def test_a_service_that_is_not_reached_answers_503_while_its_lease_lives(start_services: StartServices):
    first, _ = start_services()
    let_be_home(first, "the-id", f"http://127.0.0.1:{free_port()}")
    for path in ("/session/get?session_id=the-id", "/session/list", "/user/info"):
        with first.http() as http:
            refused = http.get(path)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1"), path
    of_database(first, "UPDATE replicas SET lease_until = clock_timestamp() WHERE id = 'other'")
    assert get(first, "the-id").status_code == 404
    with first.http() as http:
        assert http.get("/session/list").json() == []


def test_a_request_at_a_service_that_does_not_hold_the_session_is_not_passed_on_again(
    start_services: StartServices, impostor: Impostor
):
    first, second = start_services()
    let_be_home(first, "the-id", impostor.address)
    target = "/session/get?session_id=the-id"
    reply = passed(first, second, "GET", target)
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "session_not_found")
    assert "passed on only once" in reply.json()["error"]["message"]
    assert impostor.heads == []


def passed(signer: ThreadService, to: ThreadService, method: str, target: str, body: bytes = b"") -> httpx2.Response:
    """What ``to`` answers to a request that ``signer`` signed."""
    return send_signed(to, signature(signer, to, method, target, body), method, target, body)


def signature(signer: ThreadService, to: ThreadService, method: str, target: str, body: bytes = b"") -> str:
    service = signer.running.service
    key = asyncio.run_coroutine_threadsafe(service.session_stores.logged.keys(), signer.loop).result(20)[0]
    replica = to.running.service.turns.owner
    return service.auth._passed.sign(key, replica, method, target, body)


def send_signed(to: ThreadService, signed: str, method: str, target: str, body: bytes = b"") -> httpx2.Response:
    with httpx2.Client(trust_env=False, headers={"Authorization": signed}) as http:
        return http.request(method, f"{to.base_url}{target}", content=body)


def test_a_signature_holds_for_one_request_once(start_services: StartServices):
    first, second = start_services()
    session_id = register(first, can_log=False)
    target = f"/session/get?session_id={session_id}"
    signed = signature(second, first, "GET", target)
    assert send_signed(first, signed, "GET", target).is_success
    assert refusal(send_signed(first, signed, "GET", target)) == "invalid_api_key"  # replayed

    signed = signature(second, first, "GET", target)
    assert refusal(send_signed(first, signed, "GET", f"{target}&limit=1")) == "invalid_api_key"
    assert refusal(send_signed(first, signed, "POST", target)) == "method_not_allowed"
    delete = json.dumps({"id": session_id}).encode()
    assert refusal(send_signed(first, signed, "POST", "/session/delete", delete)) == "invalid_api_key"
    other = signature(second, second, "GET", target)
    assert refusal(send_signed(first, other, "GET", target)) == "session_not_found"  # for another service

    body = json.dumps({"id": session_id, "name": "signed"}).encode()
    forged = body.replace(b"signed", b"forged")
    signed = signature(second, first, "POST", "/session/update", body)
    assert refusal(send_signed(first, signed, "POST", "/session/update", forged)) == "invalid_api_key"
    assert passed(second, first, "POST", "/session/update", body).is_success
    assert get(first, session_id).json()["name"] == "signed"


def test_forged_signatures_and_other_paths_are_refused(start_services: StartServices):
    first, second = start_services()
    session_id = register(first, can_log=False)
    target = f"/session/get?session_id={session_id}"
    signed = signature(second, first, "GET", target)
    content, mac = signed.removeprefix("svc-passed ").split(".")
    fields = json.loads(base64.urlsafe_b64decode(content))
    other_key = base64.urlsafe_b64encode(json.dumps(fields | {"key_id": "other"}).encode()).decode()
    flipped = mac[:-1] + ("0" if mac[-1] != "0" else "1")
    for forged in (f"{content}.{flipped}", f"{other_key}.{mac}", content, ".", f"{content}.", "é.é"):
        headers = {b"Authorization": b"svc-passed " + forged.encode("latin-1")}
        reply = httpx2.get(f"{first.base_url}{target}", headers=headers, trust_env=False)
        assert refusal(reply) == "invalid_api_key", forged
    assert send_signed(first, signed, "GET", target).is_success
    for path in ("/user/info", "/key/list", "/metrics"):
        assert refusal(passed(second, first, "GET", path)) == "invalid_api_key"
    with first.http() as http:
        assert http.get("/session/unlogged").status_code == 404


async def test_a_stream_is_not_opened_by_a_replayed_signature(start_services: StartServices):
    first, second = start_services()
    session_id = register(first, can_log=False)
    target = f"/stream?session_id={session_id}"
    signed = await asyncio.to_thread(signature, second, first, "GET", target)

    def opened_with(header: str) -> stream:
        return stream(first, session_id, "none", additional_headers={"Authorization": header})

    async with opened_with(signed) as socket_:
        await ask(socket_, "who?")
    for header in (signed, f"{signed[:-1]}x"):
        with pytest.raises(InvalidStatus) as refused:
            async with opened_with(header):
                pass
        assert refused.value.response.status_code == 401


def test_a_revoked_key_is_refused_although_the_signature_is_valid(start_services: StartServices):
    first, second = start_services()
    session_id = register(first, can_log=False)
    target = f"/session/get?session_id={session_id}"
    signed = signature(second, first, "GET", target)
    of_database(first, "UPDATE keys SET revoked = 1")
    assert refusal(send_signed(first, signed, "GET", target)) == "invalid_api_key"


def refusal(reply: httpx2.Response) -> str:
    return reply.json()["error"]["code"]
