"""Each ticket opens one stream; without headers nothing else does."""

from __future__ import annotations

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from svc.service.access.key_admin import revoke_key
from tests.support.assistants.scripted import Echo
from tests.support.live import StartService, ThreadService
from tests.support.wire_client import ask, register


def ticket_for(service: ThreadService, session_id: str) -> str:
    with service.http() as http:
        reply = http.post("/stream/ticket", json={"session_id": session_id})
    assert reply.status_code == 200, reply.text
    assert reply.headers["cache-control"] == "no-store"
    assert reply.json()["expires_in"] == 30
    return reply.json()["ticket"]


def stream(service: ThreadService, session_id: str, ticket: str, **options: object) -> connect:
    return connect(
        f"{service.ws_url}/stream?session_id={session_id}",
        subprotocols=["svc", f"svc.ticket.{ticket}"],
        proxy=None,
        **options,
    )


async def test_a_ticket_opens_one_stream_and_is_never_echoed(service: ThreadService):
    session_id = register(service)

    async with stream(service, session_id, ticket_for(service, session_id)) as socket:
        assert socket.subprotocol == "svc"
        assert (await ask(socket, "who?"))[-2]["content"].startswith("who?")


LATE = pytest.param("late", marks=pytest.mark.sqlite, id="late")  # on PostgreSQL by the database's clock


@pytest.mark.parametrize("case", ["used", LATE, "other-session", "made-up", "revoked-key"])
async def test_any_other_ticket_is_refused_with_401(case: str, start_service: StartService):
    now = [1_800_000_000.0]
    service = start_service(Echo, clock=lambda: now[0])
    session_id, other = register(service), register(service)
    ticket = ticket_for(service, session_id)
    match case:
        case "used":
            async with stream(service, session_id, ticket):
                pass
        case "late":
            now[0] += 30
        case "other-session":
            session_id = other
        case "made-up":
            ticket = "A" * 43
        case "revoked-key":
            key_id, key = service.make_key("ann")
            session_id = register(service, key)
            with service.http(key) as http:
                ticket = http.post("/stream/ticket", json={"session_id": session_id}).json()["ticket"]
            await revoke_key(service.database, key_id)

    with pytest.raises(InvalidStatus) as refused:
        async with stream(service, session_id, ticket):
            pass

    assert refused.value.response.status_code == 401
    assert b"invalid_api_key" in refused.value.response.body


def test_no_ticket_is_issued_for_the_session_of_another_user(service: ThreadService):
    _, key = service.make_key("ann")
    session_id = register(service)
    with service.http(key) as http:
        reply = http.post("/stream/ticket", json={"session_id": session_id})
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "session_not_found")
