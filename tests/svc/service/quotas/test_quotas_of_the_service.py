"""The quotas in use: a real service, one key over its limit, another that is not affected."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import socket as sockets
import threading
from pathlib import Path

import httpx2
import pytest
from websockets.exceptions import InvalidStatus

from svc.service.quotas.table import QuotaName
from svc.service.sessions.database_mark import MARK
from svc.service.settings import Settings
from tests.support.assistants.scripted import Echo, Long, Slow
from tests.support.live import StartService, ThreadService, wait_until
from tests.support.wire_client import opened, read, register, send, until_closed

MIB = 1_048_576


def ask(http: httpx2.Client, session_id: str, content: str) -> httpx2.Response:
    query = {"message_type": "query", "content": content}
    return http.post("/session/generate", json={"id": session_id, "messages": [query]})


def chat(http: httpx2.Client, *contents: str) -> httpx2.Response:
    messages = [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(contents)]
    return http.post("/chat/completions", json={"model": "stable", "messages": messages})


def upload(http: httpx2.Client, session_id: str, size: int, name: str = "a") -> httpx2.Response:
    params = {"session_id": session_id, "filename": name}
    return http.post("/session/upload_file", params=params, content=name.encode() * size)


def refused(reply: httpx2.Response, status: int, *words: str) -> None:
    error = reply.json()["error"]
    assert set(error) == {"code", "message", "type", "param"}
    assert (reply.status_code, error["code"]) == (status, {429: "rate_limited", 507: "quota_exceeded"}[status])
    assert int(reply.headers["Retry-After"]) >= 1
    for word in words:
        assert word in error["message"]


@contextlib.contextmanager
def two_users(service: ThreadService):
    with service.http(service.make_key("eve")[1]) as eve, service.http(service.make_key("bob")[1]) as bob:
        yield eve, bob


def new_session(http: httpx2.Client, **fields: object) -> str:
    reply = http.post("/session/register", json=fields)
    assert reply.status_code == 200, reply.text
    return reply.json()["data"]["id"]


def test_requests_of_keys_without_a_limit_of_their_own(start_service: StartService):
    service = start_service(Echo, key_requests_per_minute=3)
    with two_users(service) as (eve, bob):
        assert [eve.get("/session/list").status_code for _ in range(4)] == [200, 200, 200, 429]
        refused(eve.get("/session/list"), 429, "3 requests per minute", "SVC_KEY_REQUESTS_PER_MINUTE")
        assert bob.get("/session/list").status_code == 200


def test_page_keys_and_other_derived_keys_count_to_their_original(start_service: StartService):
    service = start_service(Echo, key_requests_per_minute=6)
    _, key = service.make_key("eve")
    with service.http(key) as http:
        derived = http.post("/key/create", json={"name": "child"}).json()["data"]["api_key"]
    with service.http(derived) as http:
        grandchild = http.post("/key/create", json={"name": "grandchild"}).json()["data"]["api_key"]
        code = http.post("/page/code").json()["code"]
        page = http.post("/", data={"code": code})
        assert page.status_code == 200
    with service.http(grandchild) as http:
        assert [http.get("/session/list").status_code for _ in range(4)] == [200, 200, 200, 429]


def test_the_whole_conversation_of_a_chat_completion_counts(start_service: StartService):
    service = start_service(Echo, key_tokens_per_day=1_000)
    with two_users(service) as (eve, bob):
        assert chat(eve, "x" * 4_000, "answer", "and now?").status_code == 200
        refused(chat(eve, "hello"), 429, "1,000 tokens per day", "SVC_KEY_TOKENS_PER_DAY")
        assert chat(bob, "hello").status_code == 200


def test_tokens_of_an_answer_count(start_service: StartService):
    service = start_service(Long, key_tokens_per_minute=1_000)
    with two_users(service) as (eve, bob):
        assert chat(eve, "9000").status_code == 200
        wait_until(lambda: chat(eve, "30").status_code == 429, "the tokens to be counted")
        refused(chat(eve, "30"), 429, "1,000 tokens per minute", "SVC_KEY_TOKENS_PER_MINUTE")
        assert chat(bob, "30").status_code == 200


def test_bytes_of_bodies_and_files(start_service: StartService):
    service = start_service(Echo, key_bytes_per_day=100_000)
    with two_users(service) as (eve, bob):
        session_id, other = new_session(eve), new_session(bob)
        assert upload(eve, session_id, 60_000).status_code == 200
        refused(upload(eve, session_id, 60_000, "b"), 429, "100,000 bytes", "SVC_KEY_BYTES_PER_DAY")
        assert len(eve.get("/session/get", params={"session_id": session_id}).json()["files"]) == 1
        assert upload(bob, other, 60_000).status_code == 200


@pytest.mark.sqlite  # it reads the keys of a file
def test_seconds_of_workers(start_service: StartService):
    service = start_service(Echo, key_worker_seconds_per_day=100)
    key_id, key = service.make_key("eve")
    with service.http(key) as eve, service.http(service.make_key("bob")[1]) as bob:
        session_id = new_session(eve)
        record = next(k for k in asyncio.run(keys_of(service)) if k.id == key_id)
        service.running.service.quotas.count(QuotaName.WORKER_SECONDS, record, 101)
        refused(ask(eve, session_id, "x"), 429, "100 seconds of workers per day", "SVC_KEY_WORKER_SECONDS_PER_DAY")
        refused(chat(eve, "x"), 429, "100 seconds of workers per day")
        assert chat(bob, "x").status_code == 200


async def keys_of(service: ThreadService):
    from svc.service.store.sqlite import SqliteStore

    store = SqliteStore(service.database)
    await store.open()
    try:
        return await store.keys()
    finally:
        await store.close()


def open_request(service: ThreadService, key: str, size: int, sent: int) -> sockets.socket:
    """A POST of ``size`` bytes of which ``sent`` come."""
    host, _, port = service.base_url.removeprefix("http://").partition(":")
    connection = sockets.create_connection((host, int(port)))
    head = f"POST /session/attach_file HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
    connection.sendall(f"{head}Content-Length: {size}\r\n\r\n".encode() + b"x" * sent)
    return connection


def held(service: ThreadService, name: QuotaName) -> float:
    figures = service.running.service.metrics.exposition().decode()
    lines = [line for line in figures.splitlines() if line.startswith("svc_quota_held{") and f'"{name}"' in line]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


@pytest.mark.one_service("counted by each service")
def test_requests_at_once_and_their_bodies(start_service: StartService):
    service = start_service(Echo, key_requests_at_once=3, key_body_bytes=250_000)
    _, key = service.make_key("eve")
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(open_request(service, key, 1_000_000, 100_000))
        wait_until(lambda: held(service, QuotaName.BODIES) == 200_000, "the bodies to arrive")
        with service.http(key) as eve:
            body = {"session_id": "x", "filename": "x", "content": "x" * 100_000}
            refused(eve.post("/session/attach_file", json=body), 429, "bytes of request bodies in memory")
            stack.enter_context(open_request(service, key, 1_000_000, 0))
            wait_until(lambda: held(service, QuotaName.REQUESTS_AT_ONCE) == 3, "the third request")
            refused(eve.get("/session/list"), 429, "this key has 3 requests in progress", "SVC_KEY_REQUESTS_AT_ONCE")
        with service.http(service.make_key("bob")[1]) as bob:
            assert bob.get("/session/list").status_code == 200
    wait_until(lambda: not held(service, QuotaName.REQUESTS_AT_ONCE), "the requests to end")
    assert held(service, QuotaName.BODIES) == 0
    with service.http(key) as eve:
        assert eve.get("/session/list").status_code == 200


async def test_streams(start_service: StartService):
    service = start_service(Echo, key_streams=2)
    _, key = service.make_key("eve")
    _, other = service.make_key("bob")
    session_id, bobs = register(service, key), register(service, other)
    async with opened(service, session_id, key=key), opened(service, session_id, key=key):
        with pytest.raises(InvalidStatus) as upgrade:
            async with opened(service, session_id, key=key):
                pass
        response = upgrade.value.response
        assert response.status_code == 429
        assert "this key has 2 open streams" in json.loads(response.body)["error"]["message"]
        with service.http(key) as eve:
            refused(eve.post("/stream/ticket", json={"session_id": session_id}), 429, "Close one", "SVC_KEY_STREAMS")
        async with opened(service, bobs, key=other):
            pass
    with service.http(key) as eve:
        ask = functools.partial(eve.post, "/stream/ticket", json={"session_id": session_id})
        wait_until(lambda: ask().is_success, "the streams to be closed, as every service knows it")
    async with opened(service, session_id, key=key):
        pass


async def test_a_stream_that_goes_on_over_its_limit_is_closed(start_service: StartService):
    service = start_service(Echo, key_requests_per_minute=20)
    _, key = service.make_key("eve")
    async with opened(service, register(service, key), key=key) as socket:
        for _ in range(200):
            with contextlib.suppress(Exception):
                await socket.send('{"message_type": 7}')
        await until_closed(socket)
    assert socket.close_code == 4429


async def test_a_cancel_is_never_refused(start_service: StartService):
    service = start_service(Slow, key_requests_per_minute=3)
    _, key = service.make_key("eve")
    async with opened(service, register(service, key), key=key) as socket:
        await send(socket, message_type="query", content="x")
        assert (await read(socket))["message_type"] == "query"
        await send(socket, message_type="cancel")
        frames = [await read(socket)]
        while frames[-1]["state"] != "end":
            frames.append(await read(socket))
        assert frames[-1]["status_message"] == "cancelled"


@pytest.mark.one_service("looks into one service")
def test_running_turns(start_service: StartService):
    service = start_service(Slow, key_turns=2)
    with two_users(service) as (eve, bob):
        busy, other, bobs = [new_session(eve), new_session(eve)], new_session(eve), new_session(bob)
        threads = [threading.Thread(target=ask, args=(eve, one, "x")) for one in busy]
        threads.append(threading.Thread(target=ask, args=(bob, bobs, "x")))
        for thread in threads:
            thread.start()
        wait_until(lambda: len(service.running.service.turns.running) == 3, "the turns of both")
        refused(ask(eve, other, "x"), 429, "this key has 2 running turns", "SVC_KEY_TURNS")
        refused(chat(eve, "x"), 429, "this key has 2 running turns")
        for http, session_id in ((eve, busy[0]), (eve, busy[1]), (bob, bobs)):
            http.post("/session/delete", json={"id": session_id})
        for thread in threads:
            thread.join(20)
        wait_until(lambda: not held(service, QuotaName.TURNS), "the turns to end")


def test_a_refused_or_repeated_query_holds_no_turn(start_service: StartService):
    service = start_service(Echo, key_turns=1)
    with two_users(service) as (eve, _):
        session_id = new_session(eve)
        query = {"message_type": "query", "content": "x", "id": "one"}
        for _ in range(3):
            reply = eve.post("/session/generate", json={"id": session_id, "messages": [query]})
            assert reply.status_code == 200
            wait_until(lambda: not held(service, QuotaName.TURNS), "the turn to end")


@pytest.mark.one_service("each service counts the unlogged sessions that it holds")
def test_sessions(start_service: StartService):
    service = start_service(Echo, key_sessions=2)
    with two_users(service) as (eve, bob):
        first = new_session(eve, id="first")
        new_session(eve, can_log=False)
        refused(eve.post("/session/register", json={}), 507, "2 live sessions", "SVC_KEY_SESSIONS", "Delete some")
        refused(chat(eve, "x"), 507, "2 live sessions")
        assert new_session(eve, id="first") == first  # a retry is safe
        new_session(bob)
        eve.post("/session/delete", json={"id": first})
        new_session(eve)


@pytest.mark.parametrize(("setting", "is_logged"), [("key_disk_bytes", True), ("key_memory_bytes", False)])
def test_what_sessions_keep(start_service: StartService, setting: str, is_logged: bool):
    service = start_service(Echo, **{setting: 100_000})
    variable = f"SVC_{setting.upper()}"
    with two_users(service) as (eve, bob):
        session_id, other = new_session(eve, can_log=is_logged), new_session(bob, can_log=is_logged)
        assert upload(eve, session_id, 90_000).status_code == 200
        refused(upload(eve, session_id, 20_000, "b"), 507, "100,000", variable, "Delete sessions or detach files")
        refused(ask(eve, session_id, "x" * 20_000), 507, variable)
        feedback = {"session_id": session_id, "type": "bug_report", "comment": "x" * 20_000}
        refused(eve.post("/session/feedback", json=feedback), 507, variable)
        assert upload(bob, other, 90_000).status_code == 200
        if is_logged:
            files = [path for path in folder_of(service).iterdir() if path.name != MARK]
            assert [path.stat().st_size for path in files] == [90_000, 90_000]
        eve.post("/session/detach_file", json={"session_id": session_id, "file_idx": 0})
        assert upload(eve, session_id, 20_000, "b").status_code == 200


def folder_of(service: ThreadService) -> Path:
    return service.files


def test_uploads_at_the_same_time_do_not_exceed_the_disk_quota(start_service: StartService):
    service = start_service(Echo, key_disk_bytes=MIB)
    with two_users(service) as (eve, _):
        session_id = new_session(eve)
        replies: list[int] = []

        def send_one(name: str) -> None:
            replies.append(upload(eve, session_id, 400_000, name).status_code)

        threads = [threading.Thread(target=send_one, args=(name,)) for name in "abcdef"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(replies) == {200, 507}
        assert sum(path.stat().st_size for path in folder_of(service).iterdir()) <= MIB


@pytest.mark.one_service("each service counts the unlogged sessions that it holds")
def test_the_memory_of_all_unlogged_sessions_together(start_service: StartService):
    service = start_service(Echo, max_memory_message_bytes=50_000)
    with two_users(service) as (eve, bob):
        mine, other, logged = new_session(eve, can_log=False), new_session(bob, can_log=False), new_session(bob)
        assert ask(eve, mine, "x" * 20_000).status_code == 200
        full = ask(bob, other, "x" * 30_000)
        assert (full.status_code, full.json()["error"]["code"]) == (503, "unavailable")
        assert "SVC_MAX_MEMORY_MESSAGE_BYTES" in full.json()["error"]["message"]
        assert ask(bob, logged, "x" * 30_000).status_code == 200
        eve.post("/session/delete", json={"id": mine})
        assert ask(bob, other, "x" * 10_000).status_code == 200


def test_what_is_kept_is_known_after_a_restart(start_service: StartService, tmp_path: Path):
    first = ThreadService(tmp_path, Echo(), Settings(key_disk_bytes=100_000))
    session_id = register(first)
    with first.http() as http:
        assert upload(http, session_id, 90_000).status_code == 200
    first.stop()
    again = ThreadService(tmp_path, Echo(), Settings(key_disk_bytes=100_000))
    with again.http() as http:
        refused(upload(http, session_id, 20_000, "b"), 507, "SVC_KEY_DISK_BYTES")
    again.stop()


@pytest.mark.one_service("counted by each service")
def test_metrics_name_no_key_and_no_user(start_service: StartService):
    service = start_service(Echo, metrics=True, key_requests_per_minute=2, key_sessions=1)
    key_id, key = service.make_key("a-user-whose-name-is-private")
    with service.http(key) as http:
        new_session(http)
        http.get("/session/list")
        refused(http.get("/session/list"), 429)
    text = service.running.service.metrics.exposition().decode()
    assert f'svc_quota_refused_total{{key="{key_id}",quota="requests_per_minute"}} 1.0' in text
    assert f'svc_quota_used_total{{key="{key_id}",quota="requests_per_minute"}} 2.0' in text
    assert "private" not in text
    assert key not in text
