"""What clients of comparable services send and rely on: aliases, whole objects, tools at registration, streams.

``OLDER`` has rows of request and what comes of it; each field is kept, honoured, refused by name or named as ignored.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import pytest

from svc import ModelInfoInput, Svc, ToolsetChoice
from svc.service.settings import Settings
from svc.service.stream import endpoint
from tests.support.assistants.scripted import Calling, Configured, Crash, Echo, Slow
from tests.support.live import StartService, ThreadService
from tests.support.wire_client import ask, kinds, opened, read, read_turn, register, send, seqs

IGNORED = "x-ignored-parameters"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
GENERATED = {  # as a client's schema classes write it
    "name": "lookup",
    "description": "Looks it up.",
    "parameters": {
        "type": "object",
        "any_of": None,
        "items": None,
        "properties": {"text": {"type": "string", "enum": None, "description": None, "default": None}},
    },
    "returns": None,
    "version": None,
    "tags": None,
}
WHOLE_MODEL = {
    "model_name": "svc",
    "version": "1.1",
    "use_experimental": False,
    "model_string": "svc-1.1",
    "description": None,
    "toolsets": [
        {
            "name": name,
            "version": 1,
            "description": None,
            "vendor": {"name": "", "description": "", "url": "", "svg": ""},
            "is_enabled": name != "other",
            "is_enabled_by_default": True,
            "is_enabled_by_default_in_incognito": True,
            "is_experimental": False,
        }
        for name in ("plain", "other")
    ],
}


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadService]:
    """One service for all tests that only register and ask."""
    service = ThreadService(tmp_path_factory.mktemp("configured"), Configured(), Settings(stop_seconds=0.1))
    yield service
    service.stop()


@pytest.fixture
def short_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that came back need not wait for seconds."""
    monkeypatch.setattr(endpoint, "REJOIN_SECONDS", 0.05)


@pytest.mark.parametrize(
    ("alias", "model"),
    [
        ("stable", "svc-1.1"), ("svc-stable", "svc-1.1"), ("svc-1.1", "svc-1.1"), ("", "svc-1.1"),
        ("experimental", "svc-1.2-experimental"), ("svc-experimental", "svc-1.2-experimental"),
        ("svc-1.2-experimental", "svc-1.2-experimental"),
    ],
)  # fmt: skip
def test_a_model_has_the_same_names_everywhere(configured: ThreadService, alias: str, model: str):
    with configured.http() as http:
        registered = http.post("/session/register", json={"model": alias}).json()["data"]["model"]
        by_string = http.post("/session/register", json={"model": {"model_string": alias or "svc-1.1"}})
        by_name = http.post("/session/register", json={"model": {"model_name": alias.replace(model, "") or "stable"}})
        assert registered["model_string"] == model
        assert by_string.json()["data"]["model"] == registered
        assert alias == model == "svc-1.2-experimental" or by_name.json()["data"]["model"] == registered
        if alias:
            assert http.get(f"/models/{alias}").json()["id"] == model == http.get(f"/v1/models/{alias}").json()["id"]
            chat = {"model": alias, "messages": [{"role": "user", "content": "hi"}]}
            assert http.post("/chat/completions", json=chat).json()["model"] == model


@pytest.mark.parametrize("name", ["svc", "svc-", "Svc-Stable", "svc-stable-experimental", "stable ", "svc_stable"])
def test_a_name_that_only_resembles_an_alias_is_refused_with_the_names_there_are(configured: ThreadService, name: str):
    with configured.http() as http:
        refused = http.post("/session/register", json={"model": name})

    assert (refused.status_code, refused.json()["error"]["param"]) == (404, "model")
    assert "svc-experimental, svc-stable" in refused.json()["error"]["message"]


def test_an_experimental_alias_needs_the_right(configured: ThreadService):
    _, key = configured.make_key("ann")
    with configured.http(key) as http:
        refused = http.post("/session/register", json={"model": "svc-experimental"})

    assert refused.json()["error"]["code"] == "experimental_not_allowed"


class Row(NamedTuple):
    """A registration, what is ignored of it, and what the session's read shows."""

    fields: dict[str, object]
    ignored: str | None = None
    shown: Mapping[str, object] = MappingProxyType({})
    told: Mapping[str, object] = MappingProxyType({})


OLDER = {
    "a whole object": Row(
        {
            "user_id": "x", "org_id": "y", "model": WHOLE_MODEL, "ttl": 86_400, "language": "en", "turns": 0,
            "name": "calm-otter", "description": "no description", "create_time": 1.5, "update_time": 1.5,
            "num_messages": 0, "messages": [], "usage": {"prompt_tokens": 0}, "can_log": True, "state": "start",
            "files": [], "logs_table": None, "local_tools": [], "agents_config": {},
        },
        shown={"name": "calm-otter", "user_id": "local", "local_tools": [], "agents_config": {}},
        told={"disabled": ["other"], "tools": [], "instructions": ""},
    ),
    "all null": Row(
        dict.fromkeys(("id", "model", "ttl", "name", "description", "language", "can_log", "local_tools",
                       "agents_config")),
        shown={"agents_config": {}, "local_tools": []},
    ),
    "instructions": Row(
        {"agents_config": {"assistant": {"instructions": "In one line."}}},
        shown={"agents_config": {"assistant": {"instructions": "In one line."}}},
        told={"instructions": "In one line."},
    ),
    "settings of unknown agents": Row(
        {"agents_config": {"assistant": {"instructions": None, "mood": 1}, "malware, agent": {"deep": {"a": None}},
                           "b": {}}},
        ignored="agents_config.assistant.mood, agents_config.malware agent.deep, agents_config.b",
        shown={"agents_config": {"assistant": {"instructions": None, "mood": 1},
                                 "malware, agent": {"deep": {"a": None}}, "b": {}}},
        told={"instructions": ""},
    ),
    "a generated tool": Row(
        {"local_tools": [GENERATED]},
        told={"tools": [["lookup", "Looks it up.", {"type": "object", "properties": {
            "text": {"type": "string", "default": None}}}, ""]]},
    ),
    "a toolset of another model": Row(
        {"model": {"toolsets": [{"name": "new", "is_enabled": True}, {"name": "plain", "is_enabled": None},
                                {"name": "gone", "is_enabled": False}]}},
        ignored="model.toolsets.new, model.toolsets.gone",
        told={"disabled": []},
    ),
    "an experimental toolset": Row(
        {"model": {"model_string": "svc-experimental", "toolsets": [{"name": "new", "is_enabled": False}]}},
        told={"disabled": ["new"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", OLDER.values(), ids=OLDER)
async def test_a_registration_is_kept_and_honoured(configured: ThreadService, row: Row):
    with configured.http() as http:
        reply = http.post("/session/register", json=row.fields)
        assert reply.status_code == 200, reply.text
        assert reply.headers.get(IGNORED) == row.ignored
        session_id = reply.json()["data"]["id"]
        async with opened(configured, session_id) as socket:
            told = json.loads((await ask(socket, "what?"))[-2]["content"])
        shown = http.get("/session/get", params={"session_id": session_id}).json()
        listed = next(one for one in http.get("/session/list").json() if one["id"] == session_id)

    assert {name: told[name] for name in row.told} == row.told
    for session in (reply.json()["data"], shown, listed):
        assert {name: session[name] for name in row.shown} == row.shown
        disabled = [one["name"] for one in session["model"]["toolsets"] if not one["is_enabled"]]
        assert disabled == told["disabled"]
    assert shown["local_tools"] == reply.json()["data"]["local_tools"] == listed["local_tools"]


REFUSED = {
    "instructions that are no text": (
        {"agents_config": {"assistant": {"instructions": {"a": 1}}}}, 400, "agents_config.assistant.instructions"),
    "an agent that is no object": ({"agents_config": {"assistant": "hi"}}, 400, "agents_config[...]"),
    "a large object": ({"agents_config": {"a": {"b": "x" * 65_536}}}, 413, "agents_config"),
    "a tool without a name": ({"local_tools": [{"description": "d"}]}, 400, "local_tools[0].name"),
    "a tool with a bad name": ({"local_tools": [{"name": "a b"}]}, 400, "local_tools[0].name"),
    "two tools of one name": ({"local_tools": [{"name": "a"}, {"name": "a"}]}, 400, "local_tools[1].name"),
    "a schema of another type": (
        {"local_tools": [{"name": "a", "parameters": {"type": "array"}}]}, 400, "local_tools[0].parameters"),
    "a schema without a type": (
        {"local_tools": [{"name": "a", "parameters": {"type": None}}]}, 400, "local_tools[0].parameters"),
    "too many tools": ({"local_tools": [{"name": f"a{n}"} for n in range(33)]}, 400, "local_tools"),
    "a toolset without a name": ({"model": {"toolsets": [{"is_enabled": False}]}}, 400, "model.toolsets[0].name"),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "status", "param"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_honoured_is_refused_by_name(
    configured: ThreadService, fields: dict[str, object], status: int, param: str
):
    with configured.http() as http:
        refused = http.post("/session/register", json=fields)

    assert (refused.status_code, refused.json()["error"]["param"]) == (status, param)


def test_the_sdk_disables_the_toolsets_of_a_model(configured: ThreadService):
    with Svc(configured.key, configured.base_url) as client:
        stable, experimental = client.get_user_info().available_models
        stable.toolsets[0].is_enabled = False
        session = client.create_session(model=stable)
        told = json.loads(session.query("what?").text())
        by_input = client.create_session(
            model=ModelInfoInput(model_string="stable", toolsets=[ToolsetChoice(name="other", is_enabled=False)])
        )

        assert told["disabled"] == ["plain"]
        assert [one.is_enabled for one in client.resume_session(session.session_id).model.toolsets] == [False, True]
        assert [one.is_enabled for one in by_input.model.toolsets] == [True, False]
        assert client.create_session(model=experimental).model == experimental


@pytest.mark.parametrize("depth", [100, 400, 900])
def test_a_deep_schema_is_kept_or_refused(configured: ThreadService, depth: int):
    schema = '{"a":' * depth + "1" + "}" * depth
    body = f'{{"local_tools":[{{"name":"a","parameters":{{"type":"object","properties":{schema}}}}}]}}'
    with configured.http() as http:
        reply = http.post("/session/register", content=body)
        assert reply.status_code in (200, 400), reply.text
        assert http.get("/session/list").status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b'{"agents_config":{"a":{"b":"\xff\xfe"}}}',
        b'{"agents_config":{"assistant":{"instructions":"\xff"}}}',
        b'{"agents_config":{"assistant":{"instructions":"\\ud800"}}}',
        b'{"agents_config":{"assistant":{"instructions":1e999}}}',
        b'{"agents_config":{"assistant":{"instructions":' + b"[" * 900 + b"]" * 900 + b"}}}",
        b'{"local_tools":[{"name":"a","parameters":{"type":"object","x":"\xff"}}]}',
        b'{"local_tools":[{"name":"a","parameters":{"type":"object","x":1e999}}]}',
    ],
)
def test_damaged_json_is_refused_and_not_a_fault(configured: ThreadService, body: bytes):
    with configured.http() as http:
        refused = http.post("/session/register", content=body)

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_request")


def test_the_size_of_agents_config_is_a_setting(start_service: StartService):
    service = start_service(Echo, max_agents_config_bytes=20)
    with service.http() as http:
        assert http.post("/session/register", json={"agents_config": {"a": {}}}).status_code == 200
        refused = http.post("/session/register", json={"agents_config": {"a": {"b": "longer text"}}})

    assert "agents_config is 25 bytes; the limit is 20" in refused.json()["error"]["message"]


async def test_tools_of_a_registration_can_be_called_and_those_of_a_query_come_first(start_service: StartService):
    service = start_service(Calling)
    session_id = register(service, local_tools=[{"name": "lookup", "parameters": SCHEMA}])

    def shown() -> list[str]:
        with service.http() as http:
            session = http.get("/session/get", params={"session_id": session_id}).json()
        return [tool["name"] for tool in session["local_tools"]]

    async with opened(service, session_id) as socket:
        await send(socket, message_type="query", content="lookup=x", id="q1")
        frames = [await read(socket) for _ in range(3)]
        assert json.loads(frames[-1]["content"])["tool"] == "lookup"
        allowed = {"message_type": "confirmation_response", "parent_id": frames[-1]["id"], "id": "yes"}
        await send(socket, **allowed, content='{"is_allowed":true}')
        call = [await read(socket) for _ in range(2)][-1]
        assert (call["message_type"], json.loads(call["content"])["arguments"]) == ("local_tool_call", {"text": "x"})
        answered = {"message_type": "local_tool_result", "parent_id": call["id"], "id": "value"}
        await send(socket, **answered, content='{"ok":true,"value":7}')
        assert (await read_turn(socket))[-2]["content"] == "7"

        assert (await ask(socket, "none", local_tools=[]))[-2]["content"] == "no tools"
        assert shown() == ["lookup"]
        await ask(socket, "other", local_tools=[{"name": "other"}])
        assert shown() == ["other"]
        await ask(socket, "again")
        assert shown() == ["lookup"]
    with service.http() as http:  # nobody could answer a call here
        query = {"message_type": "query", "content": "lookup=x"}
        answer = http.post("/session/generate", json={"id": session_id, "messages": [query]}).json()
    assert answer["messages"][-2]["content"] == "no tools"
    assert shown() == ["lookup"]


@pytest.mark.parametrize("group", ["", "the second answer", "c2f1…/3 ✓", "a" * 2_000, "x\ny"])
def test_the_group_of_feedback_is_any_text(configured: ThreadService, group: str):
    body = {"session_id": register(configured), "type": "user_feedback", "score": 1, "comment": "", "group_id": group}
    with configured.http() as http:
        assert http.post("/session/feedback", json=body).status_code == 200
        too_long = http.post("/session/feedback", json=body | {"group_id": "a" * 2_001})

    assert (too_long.status_code, too_long.json()["error"]["param"]) == (400, "group_id")


async def test_a_stream_without_after_does_not_get_its_own_query(start_service: StartService):
    service = start_service(Echo)
    session_id = register(service)
    async with opened(service, session_id, None) as asking, opened(service, session_id, None) as reading:
        first = await ask(asking, "one", id="q1")
        assert kinds(first) == ["info", "source", "info", "result", "info"]
        assert await read_turn(reading) == [*(await _stored(service, session_id))[:1], *first]
        second = await ask(reading, "two", id="q2")
        assert seqs(second) == [8, 9, 10, 11, 12]
        assert seqs(await read_turn(asking)) == [7, 8, 9, 10, 11, 12]
    async with opened(service, session_id, 12) as resuming:
        assert seqs(await ask(resuming, "three")) == [13, 14, 15, 16, 17, 18]


async def test_a_refused_query_is_not_taken_for_one_that_another_client_asks(start_service: StartService):
    service = start_service(Slow)
    session_id = register(service)
    async with opened(service, session_id, None) as first, opened(service, session_id, None) as second:
        await send(first, message_type="query", content="wait", id="q1")
        assert (await read(first))["message_type"] == "info"
        await read(second), await read(second)
        assert (await ask(second, "too early", id="q2"))[0]["status_message"] == "turn_in_progress"
        await send(first, message_type="cancel")
        await read(first), await read(second)
        await send(first, message_type="query", content="mine now", id="q2")
        assert (await read(second))["content"] == "mine now"
        assert (await read(first))["message_type"] == "info"


async def test_a_client_that_comes_back_after_the_end_gets_it(start_service: StartService, short_silence: None):
    service = start_service(Echo)
    session_id = register(service)
    async with opened(service, session_id, None) as lost:
        await send(lost, message_type="query", content="one", id="q1")
    await asyncio.to_thread(_wait_for_end, service, session_id)
    async with opened(service, session_id, None) as again:
        assert seqs(await read_turn(again)) == [1, 2, 3, 4, 5, 6]
        assert seqs(await ask(again, "two")) == [8, 9, 10, 11, 12]
    async with opened(service, session_id, None) as last:  # the last turn only
        assert seqs(await read_turn(last)) == [7, 8, 9, 10, 11, 12]


async def test_an_error_is_an_end_too(start_service: StartService, short_silence: None):
    service = start_service(Crash)
    session_id = register(service)
    async with opened(service, session_id, None) as socket:
        await ask(socket, "upstream")
    async with opened(service, session_id, None) as again:
        assert (await read_turn(again))[-1]["status_message"] == "upstream_error"


async def test_a_client_with_a_question_or_after_gets_no_earlier_end(start_service: StartService, short_silence: None):
    service = start_service(Echo)
    session_id = register(service)
    async with opened(service, session_id, None) as empty:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(empty.recv(), 0.3)
        await ask(empty, "one")
    async with opened(service, session_id, None) as asking:
        assert seqs(await ask(asking, "two")) == [8, 9, 10, 11, 12]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asking.recv(), 0.3)
    async with opened(service, session_id, 12) as resuming:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(resuming.recv(), 0.3)


async def test_an_end_of_long_ago_is_not_repeated(
    start_service: StartService, short_silence: None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(endpoint, "REJOIN_WINDOW_SECONDS", -10.0)
    service = start_service(Echo)
    session_id = register(service)
    async with opened(service, session_id, None) as socket:
        await ask(socket, "one")
    async with opened(service, session_id, None) as later:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(later.recv(), 0.3)


async def _stored(service: ThreadService, session_id: str) -> list[dict[str, object]]:
    with service.http() as http:
        return http.get("/session/get", params={"session_id": session_id}).json()["messages"]


def _wait_for_end(service: ThreadService, session_id: str) -> None:
    with service.http() as http:
        while http.get("/session/get", params={"session_id": session_id}).json()["state"] != "agent_done":
            pass
