"""The websocket, as any client sees it: order, resume, cancel, refusals, close codes."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from svc.service.access.key_admin import revoke_key
from svc.service.stream import endpoint
from tests.support.assistants.scripted import Chatty, Crash, Echo, Long, Slow, Steady
from tests.support.live import ThreadService, wait_until
from tests.support.wire_client import ask, kinds, opened, read, read_turn, register, send, seqs, until_closed


@pytest.mark.several_services
async def test_a_turn_is_streamed_in_order_and_ends_with_result_and_closing_info(service: ThreadService):
    async with opened(service, register(service)) as socket:
        frames = await ask(socket, "who?", id="q1", turn="t1")

    assert kinds(frames) == ["query", "info", "source", "info", "result", "info"]
    assert seqs(frames) == [1, 2, 3, 4, 5, 6]
    assert {f["turn"] for f in frames} == {"t1"}
    assert [f["parent_id"] for f in frames] == ["3713"] + ["q1"] * 5
    assert [f["role"] for f in frames] == ["user", "system", "agent", "system", "agent", "system"]
    assert len({f["group"] for f in frames[1:]}) == 1
    assert (frames[4]["mime_type"], frames[4]["content"]) == ("text/plain", "who?\n\n0 files, 0 earlier")
    assert frames[5]["state"] == "end"


async def test_without_after_a_client_gets_only_new_messages(service: ThreadService):
    session_id = register(service)
    async with opened(service, session_id) as first:
        await ask(first, "one")
    async with opened(service, session_id, None) as second:
        frames = await ask(second, "two", id="q2")
        assert (seqs(frames)[0], frames[0]["message_type"], frames[0]["parent_id"]) == (8, "info", "q2")


@pytest.mark.several_services
async def test_without_after_a_client_gets_a_running_turn_from_its_query_on(start_service):
    service = start_service(Slow)
    session_id = register(service)
    async with opened(service, session_id) as first:
        await send(first, message_type="query", content="one", id="q1")
        await read(first), await read(first)
        async with opened(service, session_id, None) as second:
            assert [(await read(second))["seq"], (await read(second))["seq"]] == [1, 2]


@pytest.mark.parametrize("after", [0, 1, 3, 5])
async def test_after_gives_every_later_message_once(service: ThreadService, after: int):
    session_id = register(service)
    async with opened(service, session_id) as first:
        await ask(first, "one")
    async with opened(service, session_id, after) as second:
        assert seqs(await read_turn(second)) == list(range(after + 1, 7))
        assert seqs(await ask(second, "two")) == list(range(7, 13))


@pytest.mark.several_services
async def test_all_clients_of_a_session_receive_the_same_messages(service: ThreadService):
    session_id = register(service)
    async with opened(service, session_id) as first, opened(service, session_id) as second:
        assert await ask(first, "one") == await read_turn(second)


async def test_a_client_joining_a_fast_turn_anywhere_misses_and_repeats_nothing(start_service):
    service = start_service(Chatty)
    session_id = register(service)

    reached = {n: asyncio.Event() for n in (0, 1, 700, 1500)}  # ``after`` is a seq that was seen

    async def follow(after: int) -> list[object]:
        await reached[after].wait()
        async with opened(service, session_id, after, max_queue=None) as socket:
            return seqs(await read_turn(socket))

    async def read_all(socket: ClientConnection) -> list[object]:
        seen: list[object] = []
        while not seen or seen[-1] != 3003:
            reached.get(len(seen), asyncio.Event()).set()
            seen.append((await read(socket))["seq"])
        return seen

    async with opened(service, session_id, max_queue=None) as asking:
        await send(asking, message_type="query", content="3000")
        everything, *others = await asyncio.gather(read_all(asking), *map(follow, reached))

    assert everything == list(range(1, 3004))
    assert others == [list(range(n + 1, 3004)) for n in (0, 1, 700, 1500)]


@pytest.mark.several_services
async def test_a_repeated_query_is_not_run_again(service: ThreadService):
    session_id = register(service)
    async with opened(service, session_id) as socket:
        await ask(socket, "one", id="q1")
        await send(socket, message_type="query", content="one", id="q1")
        assert (await ask(socket, "two", id="q2"))[0]["seq"] == 7


async def test_a_client_that_lost_its_connection_before_any_answer_gets_it_by_repeating_the_query(
    service: ThreadService,
):
    session_id = register(service)
    async with opened(service, session_id) as first:
        await ask(first, "one", id="q1")
    async with opened(service, session_id, None) as second:
        assert seqs(await ask(second, "one", id="q1")) == [1, 2, 3, 4, 5, 6]


async def test_a_repeated_query_gets_its_answer_even_if_it_arrives_while_the_store_is_read(
    service: ThreadService, monkeypatch: pytest.MonkeyPatch
):
    session_id = register(service)
    async with opened(service, session_id) as first:
        await ask(first, "one", id="q1")
    is_asked = threading.Event()
    store = service.running.service.session_stores.logged
    read_store, ask_service = store.messages_after, service.running.service.ask

    async def read_slowly(*place: str | int, **limits: int) -> object:
        page = await read_store(*place, **limits)
        while not is_asked.is_set():
            await asyncio.sleep(0.01)
        return page

    async def ask_and_note(*query: object) -> object:
        start = await ask_service(*query)
        asyncio.get_running_loop().call_soon(is_asked.set)
        return start

    monkeypatch.setattr(store, "messages_after", read_slowly)
    monkeypatch.setattr(service.running.service, "ask", ask_and_note)
    async with opened(service, session_id, None) as second:
        assert seqs(await ask(second, "one", id="q1")) == [1, 2, 3, 4, 5, 6]


async def test_a_second_query_during_a_turn_is_rejected_and_not_stored(start_service):
    service = start_service(Slow)
    async with opened(service, register(service)) as socket:
        await send(socket, message_type="query", content="one", id="q1")
        await read(socket), await read(socket)
        (refusal,) = await ask(socket, "two", id="q2")

    assert (refusal["status_code"], refusal["status_message"], refusal["seq"]) == (409, "turn_in_progress", 0)
    assert refusal["parent_id"] == "q2"


@pytest.mark.several_services
async def test_cancel_ends_the_turn_closes_the_assistant_and_lets_the_next_query_in(start_service):
    Slow.closed = 0
    service = start_service(Slow)
    session_id = register(service)
    async with opened(service, session_id) as socket:
        await send(socket, message_type="query", content="one", id="q1", turn="t1")
        await read(socket), await read(socket)
        await send(socket, message_type="cancel", turn="t1")
        end = await read(socket)
        await send(socket, message_type="query", content="two")
        assert (await read(socket))["seq"] == 4

    assert (end["message_type"], end["status_code"], end["status_message"], end["state"], end["seq"]) == (
        "error", 499, "cancelled", "end", 3,
    )  # fmt: skip
    assert Slow.closed == 1


async def test_a_cancel_right_before_a_disconnect_takes_effect(start_service):
    service = start_service(Steady)
    for _ in range(5):
        session_id = register(service)
        async with opened(service, session_id) as socket:
            await send(socket, message_type="query", content="60000", turn="t1")
            await read(socket), await read(socket)
            await send(socket, message_type="cancel", turn="t1")
            await socket.close()  # a close frame right behind it, while messages are on their way
        await asyncio.to_thread(wait_until, lambda one=session_id: last_status(service, one) == "cancelled", "its end")


def last_status(service: ThreadService, session_id: str) -> str:
    with service.http() as http:
        return http.get("/session/get", params={"session_id": session_id}).json()["messages"][-1]["status_message"]


async def test_cancel_of_another_turn_changes_nothing(start_service):
    service = start_service(Slow)
    async with opened(service, register(service)) as socket:
        await send(socket, message_type="query", content="one", turn="t1")
        await read(socket), await read(socket)
        await send(socket, message_type="cancel", turn="t0")
        (refusal,) = await ask(socket, "two")

    assert refusal["status_message"] == "turn_in_progress"


async def test_a_turn_completes_without_a_connected_client(start_service):
    service = start_service(Steady)
    session_id = register(service)
    async with opened(service, session_id) as socket:
        await send(socket, message_type="query", content="200")
        await read(socket)
    async with opened(service, session_id, 0) as socket:
        assert seqs(await read_turn(socket)) == list(range(1, 204))


BAD_FRAMES = {
    "not json": ("{", "invalid_request"),
    "a list": ("[]", "invalid_request"),
    "no type": ('{"content": "x"}', "invalid_request"),
    "a result": ('{"message_type": "result", "content": "x"}', "invalid_request"),
    "no content": ('{"message_type": "query"}', "invalid_request"),
    "blank content": ('{"message_type": "query", "content": "  "}', "invalid_request"),
    "a picture": ('{"message_type": "query", "content": "eA==", "mime_type": "image/png"}', "invalid_request"),
    "a bad id": ('{"message_type": "query", "content": "x", "id": "../x"}', "invalid_request"),
    "an id of 65": (json.dumps({"message_type": "query", "content": "x", "id": "a" * 65}), "invalid_request"),
    "too much": (json.dumps({"message_type": "query", "content": "x" * 1_000_001}), "too_large"),
    "a lone surrogate": ('{"message_type": "query", "content": "\\ud800"}', "invalid_request"),
    "deep nesting": ('{"message_type":"query","x":' + "[" * 100_000, "invalid_request"),
    "binary": (b'{"message_type": "query", "content": "x"}', "invalid_request"),
}


@pytest.mark.parametrize(("frame", "code"), BAD_FRAMES.values(), ids=BAD_FRAMES)
async def test_an_unusable_frame_gets_an_error_and_the_stream_stays_open(
    service: ThreadService, frame: str | bytes, code: str
):
    async with opened(service, register(service)) as socket:
        await socket.send(frame)
        refusal = await read(socket)
        assert (refusal["status_message"], refusal["seq"], refusal["state"]) == (code, 0, "end")
        assert seqs(await ask(socket, "still there?")) == [1, 2, 3, 4, 5, 6]


async def test_a_query_of_the_maximum_size_is_accepted(service: ThreadService):
    async with opened(service, register(service)) as socket:
        frames = await ask(socket, "a" * 1_000_000)
    assert frames[-1]["message_type"] == "info"
    assert len(frames[0]["content"]) == 1_000_000


async def test_an_overlong_answer_is_cut_with_a_note_and_attached_in_full(start_service):
    service = start_service(Long)
    session_id = register(service)
    async with opened(service, session_id) as socket:
        frames = await ask(socket, "3000000")
    with service.http() as http:
        (file,) = http.get("/session/get", params={"session_id": session_id}).json()["files"]

    result = frames[-2]["content"]
    assert len(result.encode()) <= 1_000_000
    assert file["name"] in result[-100:]
    assert (file["size"], file["mime_type"]) == (3_000_001, "text/markdown")


FAILURES = {
    "upstream": ("upstream_error", 502, "500 three times"),
    "raise": ("internal_error", 500, "internal error"),
    "silent": ("internal_error", 500, "internal error"),
    "type": ("internal_error", 500, "internal error"),
}


@pytest.mark.parametrize(("prompt", "row"), FAILURES.items(), ids=FAILURES)
async def test_a_failing_assistant_ends_its_turn_with_one_error(start_service, prompt: str, row: tuple[str, int, str]):
    service = start_service(Crash)
    async with opened(service, register(service)) as socket:
        frames = await ask(socket, prompt)

    assert kinds(frames) == ["query", "info", "error"]
    assert (frames[-1]["status_message"], frames[-1]["status_code"]) == row[:2]
    assert row[2] in frames[-1]["content"]
    assert "secret" not in frames[-1]["content"]


async def test_a_step_cannot_close_the_turn(start_service):
    service = start_service(Crash)
    async with opened(service, register(service)) as socket:
        frames = await ask(socket, "end")
    assert kinds(frames) == ["query", "info", "info", "result", "info"]


async def test_a_turn_over_its_time_limit_is_ended(start_service):
    service = start_service(Slow, turn_seconds=0.2)
    async with opened(service, register(service)) as socket:
        end = (await ask(socket, "one"))[-1]
    assert (end["message_type"], end["status_message"]) == ("error", "cancelled")
    assert "SVC_TURN_SECONDS" in end["content"]


async def test_large_files_give_a_turn_more_time_up_to_a_limit(start_service):
    service = start_service(Slow, turn_seconds=0.2, turn_seconds_per_gib=1e9, max_turn_seconds=0.3)
    session_id = register(service)
    with service.http() as http:
        params = {"session_id": session_id, "filename": "large.log"}
        http.post("/session/upload_file", params=params, content=b"a line of a log\n" * 600_000).raise_for_status()
    async with opened(service, session_id) as socket:
        end = (await ask(socket, "one"))[-1]
    assert "the time limit of 0.005 minutes" in end["content"]


async def test_a_client_too_far_behind_is_disconnected_and_resumes_with_after(start_service):
    service = start_service(Chatty, stream_behind_messages=300, close_seconds=60.0)  # it reads once the turn has ended
    session_id = register(service)
    async with opened(service, session_id, max_queue=1) as slow:
        await send(slow, message_type="query", content="20000")
        with service.http() as http:
            while http.get("/session/get", params={"session_id": session_id}).json()["state"] != "agent_done":
                await asyncio.sleep(0)
        seen = seqs(await until_closed(slow))
        assert slow.close_code == 4408
    async with opened(service, session_id, seen[-1], max_queue=None) as again:
        rest = seqs(await read_turn(again))

    assert seen + rest == list(range(1, 20_004))


@pytest.mark.several_services
async def test_deleting_the_session_ends_its_turn_and_closes_its_streams(start_service):
    service = start_service(Slow)
    session_id = register(service)
    async with opened(service, session_id) as socket:
        await send(socket, message_type="query", content="one")
        await read(socket), await read(socket)
        with service.http() as http:
            assert http.post("/session/delete", json={"id": session_id}).status_code == 200
        assert (await read(socket))["status_message"] == "cancelled"
        await until_closed(socket)
    assert socket.close_code == 4410


@pytest.mark.several_services
async def test_a_revoked_key_closes_its_streams(service: ThreadService):
    key_id, key = service.make_key("eve")
    async with opened(service, register(service, key), key=key) as socket:
        await ask(socket, "one")
        await asyncio.to_thread(_revoke, service, key_id)
        await until_closed(socket)
    assert socket.close_code == 4401


def _revoke(service: ThreadService, key_id: str) -> None:
    asyncio.run(revoke_key(service.database, key_id))


@pytest.mark.one_service("stops one service; test_replicas.py has the others")
async def test_a_graceful_stop_closes_streams_with_1001(start_service):
    service = start_service(Echo)
    async with opened(service, register(service)) as socket:
        await ask(socket, "one")
        service.server.should_exit = True
        await until_closed(socket)
    assert socket.close_code == 1001


@pytest.mark.one_service("moves the clock of one service")
async def test_an_expired_session_closes_its_streams_and_ends_its_turn(start_service):
    service = start_service(Slow, min_ttl_seconds=1)
    session_id = register(service)
    async with opened(service, session_id) as socket:
        await send(socket, message_type="query", content="one")
        await read(socket)
        with service.http() as http:
            assert http.post("/session/update", json={"id": session_id, "ttl": 1}).is_success
        frames = await until_closed(socket)
    assert socket.close_code == 4410
    assert frames[-1]["status_message"] == "session_expired"


REFUSED_UPGRADES = {
    "no key": ({}, "session_id={id}", 401, "invalid_api_key"),
    "bad key": ({"Authorization": "Bearer svc_x"}, "session_id={id}", 401, "invalid_api_key"),
    "no session": (None, "session_id=nope", 404, "session_not_found"),
    "no session_id": (None, "", 400, "invalid_request"),
    "bad after": (None, "session_id={id}&after=-1", 400, "invalid_request"),
    "foreign origin": ({"Origin": "https://evil.example"}, "session_id={id}", 400, "invalid_request"),
    "key in the address": (None, "session_id={id}&key={key}", 400, "invalid_request"),
}


@pytest.mark.parametrize("row", REFUSED_UPGRADES.values(), ids=REFUSED_UPGRADES)
async def test_a_refused_upgrade_gets_the_http_error(service: ThreadService, row):
    headers, query, status, code = row
    chosen = service.headers if headers is None or "Origin" in headers else {}
    address = f"{service.ws_url}/stream?" + query.format(id=register(service), key=service.key)
    with pytest.raises(InvalidStatus) as caught:
        async with connect(address, additional_headers=chosen | (headers or {}), proxy=None):
            pass

    assert caught.value.response.status_code == status
    assert json.loads(caught.value.response.body)["error"]["code"] == code


async def test_the_same_origin_and_the_subprotocol_are_accepted(service: ThreadService):
    session_id = register(service)
    async with opened(service, session_id, origin=service.base_url, subprotocols=["svc"]) as socket:
        assert socket.subprotocol == "svc"
        assert len(await ask(socket, "one")) == 6


@pytest.mark.one_service("looks into one service")
async def test_a_client_that_leaves_before_its_handshake_is_answered_is_no_internal_error(
    service: ThreadService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    session_id = register(service)
    has_come, left, is_refused = threading.Event(), threading.Event(), threading.Event()
    live_session, accept = service.running.service.live_session, endpoint.accept

    async def slow(*arguments, **options):
        has_come.set()
        await asyncio.to_thread(left.wait, 60)
        return await live_session(*arguments, **options)

    async def accept_late(websocket):
        try:
            await accept(websocket)
        except endpoint.ClientGoneError:
            is_refused.set()
            raise

    monkeypatch.setattr(service.running.service, "live_session", slow)
    monkeypatch.setattr(endpoint, "accept", accept_late)
    opening = asyncio.create_task(opened(service, session_id).__aenter__())
    assert await asyncio.to_thread(has_come.wait, 60)
    opening.cancel()
    await asyncio.wait([opening])
    wait_until(lambda: len(service.server.server_state.connections) == 0, "the service to know that it has left")
    left.set()
    assert await asyncio.to_thread(is_refused.wait, 60)
    service.stop()
    assert "internal error" not in caplog.text
    assert "Exception in ASGI application" not in caplog.text
