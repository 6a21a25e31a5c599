"""A key that is revoked ends the turns that it started and their streams, within a second."""

from __future__ import annotations

import asyncio
import time

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from svc.service.access.key_admin import revoke_key
from svc.service.close_codes import BAD_KEY
from tests.support.assistants.scripted import Slow
from tests.support.live import StartService, ThreadService, wait_until


def running(service: ThreadService) -> int:
    return len(service.running.service.turns.running)


async def read_to_the_end(stream: ClientConnection) -> None:
    while True:
        await stream.recv()


@pytest.mark.one_service("looks into one service")
async def test_the_turn_of_a_revoked_key_ends_with_its_stream(start_service: StartService):
    service = start_service(Slow)
    key_id, key = service.make_key("ann")
    with service.http(key) as http:
        session_id = http.post("/session/register", json={}).json()["data"]["id"]
    headers = {"Authorization": f"Bearer {key}"}
    async with connect(
        f"{service.ws_url}/stream?session_id={session_id}", additional_headers=headers, proxy=None
    ) as stream:
        await stream.send('{"message_type": "query", "content": "hello", "id": "q1"}')
        await asyncio.to_thread(wait_until, lambda: running(service), "the turn to run")
        begin = time.monotonic()
        await revoke_key(service.database, key_id)
        with pytest.raises(ConnectionClosed) as caught:
            await asyncio.wait_for(read_to_the_end(stream), 10)
        await asyncio.to_thread(wait_until, lambda: not running(service), "the turn to end")

    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == BAD_KEY
    assert time.monotonic() - begin < 4  # a second, on a busy machine


async def test_a_request_that_waits_for_a_turn_gets_the_reason(start_service: StartService):
    service = start_service(Slow)
    key_id, key = service.make_key("ann")
    with service.http(key) as http:
        asking = asyncio.to_thread(http.post, "/chat/completions", json=CHAT)
        task = asyncio.create_task(asking)
        await asyncio.to_thread(wait_until, lambda: running(service), "the turn to run")
        await revoke_key(service.database, key_id)
        reply = await asyncio.wait_for(task, 10)

    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "invalid_api_key")


@pytest.mark.one_service("looks into one service")
async def test_the_turns_of_other_keys_go_on(start_service: StartService):
    service = start_service(Slow)
    key_id, key = service.make_key("ann")
    _, other = service.make_key("ann")
    with service.http(key) as first, service.http(other) as second:
        tasks = [
            asyncio.create_task(asyncio.to_thread(http.post, "/chat/completions", json=CHAT))
            for http in (first, second)
        ]
        await asyncio.to_thread(wait_until, lambda: running(service) == 2, "both turns to run")
        await revoke_key(service.database, key_id)
        await asyncio.wait(tasks, timeout=60, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(1)
        still = running(service)
        service.stop()
        await asyncio.wait(tasks, timeout=20)

    assert still == 1


CHAT = {"model": "svc-1.1", "messages": [{"role": "user", "content": "hello"}]}
