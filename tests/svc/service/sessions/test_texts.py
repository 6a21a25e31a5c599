"""Texts of sessions that not every database can store are refused, with what to do."""

from __future__ import annotations

import pytest

from tests.support.live import ThreadService
from tests.support.wire_client import register


@pytest.mark.parametrize("field", ["name", "description"])
@pytest.mark.parametrize("text", ["\0", "a\0b", "end\0"])
def test_u0000_is_refused_in_names_and_descriptions(service: ThreadService, field: str, text: str):
    session_id = register(service)
    with service.http() as http:
        replies = [
            http.post("/session/register", json={field: text}),
            http.post("/session/update", json={"id": session_id, field: text}),
        ]
        kept = http.get("/session/get", params={"session_id": session_id}).json()[field]

    for reply in replies:
        assert reply.status_code == 400
        assert reply.json()["error"]["message"] == f"{field} contains the character U+0000; remove it"
        assert reply.json()["error"]["param"] == field
    assert "\0" not in kept


@pytest.mark.parametrize("field", ["comment", "group_id"])
def test_u0000_is_refused_in_feedback(service: ThreadService, field: str):
    body = {"session_id": register(service), "type": "user_feedback", field: "a\0"}
    with service.http() as http:
        reply = http.post("/session/feedback", json=body)

    assert (reply.status_code, reply.json()["error"]["param"]) == (400, field)


def test_other_unusual_characters_are_kept(service: ThreadService):
    text = "\u0001 \u2028 \U0001f600 \ufffd"
    with service.http() as http:
        assert http.post("/session/register", json={"name": text}).json()["data"]["name"] == text
