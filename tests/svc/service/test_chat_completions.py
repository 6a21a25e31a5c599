"""/chat/completions and /models as OpenAI's own client, LangChain's, and a bare HTTP client see them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import openai
import pydantic
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

from svc.assistant.analyst import Analyst
from svc.assistant.turn import Answer, Assistant, Step, Turn
from tests.support.live import StartService, ThreadService


class Told(Assistant):
    """Answers with its whole input as JSON."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        yield Step(content="reading")
        told = {
            "prompt": turn.prompt,
            "instructions": turn.instructions,
            "history": [[e.prompt, e.answer] for e in turn.history],
            "model": turn.model,
        }
        yield Answer(markdown=json.dumps(told))


@pytest.fixture
def told(start_service: StartService) -> ThreadService:
    return start_service(Told)


@pytest.fixture
def client(told: ThreadService) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key=told.key, base_url=told.base_url, max_retries=0) as made:
        yield made


CONVERSATION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "who?"},
    {"role": "assistant", "content": "root"},
    {"role": "developer", "content": "In French."},
    {"role": "user", "content": [{"type": "text", "text": "since"}, {"type": "text", "text": "when?"}]},
]


def test_the_openai_client_gets_an_answer_with_usage(client: openai.OpenAI):
    completion = client.chat.completions.create(model="stable", messages=CONVERSATION, temperature=0.2)

    [choice] = completion.choices
    assert (completion.object, completion.model, choice.finish_reason) == ("chat.completion", "svc-1.1", "stop")
    assert json.loads(choice.message.content) == {
        "prompt": "since\nwhen?",
        "instructions": "Be brief.\n\nIn French.",
        "history": [["who?", "root"]],
        "model": "svc-1.1",
    }
    assert completion.usage.prompt_tokens > 0
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens


def test_each_request_is_a_session_that_can_be_read_and_resumed(client: openai.OpenAI, told: ThreadService):
    raw = client.chat.completions.with_raw_response.create(model="svc-1.1", messages=CONVERSATION)
    session_id = raw.headers["x-session-id"]

    with told.http() as http:
        session = http.get("/session/get", params={"session_id": session_id}).json()
        assert [s["id"] for s in http.get("/session/list").json()] == [session_id]
        query = {"message_type": "query", "content": "and now?"}
        again = http.post("/session/generate", json={"id": session_id, "messages": [query]}).json()

    assert (session["ttl"], session["turns"]) == (300, 2)
    assert session["agents_config"] == {"assistant": {"instructions": "Be brief.\n\nIn French."}}
    assert [m["seq"] for m in session["messages"]] == list(range(1, len(session["messages"]) + 1))
    kinds = [m["message_type"] for m in session["messages"]]
    assert kinds == ["query", "result", "info", "query", "info", "result", "info"]
    answer = json.loads(next(m["content"] for m in again["messages"] if m["message_type"] == "result"))
    assert [prompt for prompt, _ in answer["history"]] == ["who?", "since\nwhen?"]
    assert answer["instructions"] == "Be brief.\n\nIn French."


async def test_the_asynchronous_client_asks_in_parallel(told: ThreadService):
    async with openai.AsyncOpenAI(api_key=told.key, base_url=told.base_url, max_retries=0) as client:
        ask = [
            client.chat.completions.create(model="stable", messages=[{"role": "user", "content": f"question {n}"}])
            for n in range(20)
        ]
        answers = await asyncio.gather(*ask)

    prompts = [json.loads(a.choices[0].message.content)["prompt"] for a in answers]
    assert prompts == [f"question {n}" for n in range(20)]


def test_langchain_works_unchanged(told: ThreadService):
    model = ChatOpenAI(model="stable", api_key=told.key, base_url=told.base_url, max_retries=0)

    reply = model.invoke([SystemMessage("Be brief."), HumanMessage("who?"), AIMessage("root"), HumanMessage("when?")])

    assert json.loads(reply.content)["history"] == [["who?", "root"]]
    assert reply.usage_metadata["total_tokens"] > 0
    assert reply.response_metadata["finish_reason"] == "stop"


def test_models_are_listed_in_the_openai_format(client: openai.OpenAI):
    assert [m.id for m in client.models.list().data] == ["svc-1.1", "svc-1.2-experimental"]


REFUSALS = [
    pytest.param({"model": "gpt-4o"}, openai.NotFoundError, "model_not_found", "model", id="unknown-model"),
    pytest.param({"stream": True}, openai.BadRequestError, "stream_unsupported", "stream", id="stream"),
    pytest.param({"n": 2}, openai.BadRequestError, "invalid_request", "n", id="two-choices"),
    pytest.param(
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]},
        openai.BadRequestError, "invalid_request", "tools", id="tools",
    ),
    pytest.param(
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]},
        openai.BadRequestError, "invalid_request", "messages[0].content[0]", id="image",
    ),
    pytest.param(
        {"messages": [{"role": "tool", "tool_call_id": "1", "content": "x"}]},
        openai.BadRequestError, "invalid_request", "messages[0].role", id="tool-message",
    ),
    pytest.param(
        {"response_format": {"type": "grammar"}},
        openai.BadRequestError, "invalid_request", "response_format.type", id="unknown-response-format",
    ),
    pytest.param(
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
        openai.BadRequestError, "invalid_request", "response_format.json_schema.schema", id="no-schema",
    ),
    pytest.param(
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "text"}}}},
        openai.BadRequestError, "invalid_request", "response_format.json_schema.schema", id="invalid-schema",
    ),
    pytest.param(
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"$ref": "#"}}}},
        openai.BadRequestError, "invalid_request", "response_format.json_schema.schema", id="recursive-schema",
    ),
    pytest.param({"messages": []}, openai.BadRequestError, "invalid_request", "messages", id="no-messages"),
    pytest.param(
        {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
        openai.BadRequestError, "invalid_request", "messages", id="nothing-asked-last",
    ),
    pytest.param(
        {"messages": [{"role": "user", "content": "x" * 1_000_001}]},
        openai.APIStatusError, "too_large", "content", id="too-large",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "error", "code", "param"), REFUSALS)
def test_unsupported_parameters_are_rejected_by_name(
    client: openai.OpenAI, told: ThreadService, change: dict, error: type[openai.APIStatusError], code: str, param: str
):
    request = {"model": "stable", "messages": [{"role": "user", "content": "who?"}], **change}

    with pytest.raises(error) as caught:
        client.chat.completions.create(**request)

    assert (caught.value.code, caught.value.param) == (code, param)
    with told.http() as http:
        assert http.get("/session/list").json() == []  # a refused request leaves nothing


class Weakness(pydantic.BaseModel):
    """What a program asks for; a value may be unknown."""

    cwe: str | None
    reason: str


class Score(pydantic.BaseModel):
    """A shape in which nothing can say that it is unknown."""

    base_score: float


FLAW = "Map this to a CWE: the login form concatenates user input into an SQL query, which allows SQL injection."
NO_VECTOR = "Calculate the CVSS base score.\n\nDescription: a double free in the parser."


def ask_for(service: ThreadService, question: str, shape: type[pydantic.BaseModel]):
    with openai.OpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as client:
        message = {"role": "user", "content": question}
        completion = client.chat.completions.parse(model="stable", messages=[message], response_format=shape)
    return completion.choices[0].message


def test_an_answer_matches_the_schema_that_the_client_sends(start_service: StartService):
    service = start_service(Analyst)
    found = ask_for(service, FLAW, Weakness)
    assert found.parsed.cwe == "CWE-89"
    assert "SQL" in found.parsed.reason

    unknown = ask_for(service, NO_VECTOR, Weakness)
    assert unknown.parsed == Weakness(cwe=None, reason="not determined from the input")


def test_a_schema_without_room_for_unknown_is_refused_not_filled(start_service: StartService):
    message = ask_for(start_service(Analyst), NO_VECTOR, Score)
    assert (message.content, message.parsed) == (None, None)
    assert "`base_score` is not known, and the schema does not allow null there" in message.refusal


def test_json_object_is_one_object_without_a_fence(start_service: StartService):
    service = start_service(Analyst)
    asked = [FLAW, FLAW + ' Return JSON like {"cwe": "CWE-1", "name": "x"}', "What is the weather?"]
    with openai.OpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as client:
        contents = [
            client.chat.completions.create(
                model="stable",
                messages=[{"role": "user", "content": question}],
                response_format={"type": "json_object"},
            )
            .choices[0]
            .message.content
            for question in asked
        ]
        text = client.chat.completions.create(
            model="stable", messages=[{"role": "user", "content": FLAW}], response_format={"type": "text"}
        )
    plain, shaped, unknown = map(json.loads, contents)
    assert plain["findings"][0]["id"] == "CWE-89"
    assert shaped["cwe"] == "CWE-89"
    assert (list(shaped), unknown["findings"]) == (["cwe", "name"], None)
    assert text.choices[0].message.content.startswith("**CWE-89")


def test_an_assistant_that_ignores_the_format_is_not_taken_for_data(start_service: StartService):
    class Prose(Assistant):
        async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
            yield Answer(markdown="**No finding.**")

    message = ask_for(start_service(Prose), "who?", Weakness)
    assert (message.content, message.refusal) == (None, "**No finding.**")


def test_an_experimental_model_needs_an_authorised_key(told: ThreadService):
    _, key = told.make_key("ann")
    message = [{"role": "user", "content": "who?"}]
    with (
        openai.OpenAI(api_key=key, base_url=told.base_url, max_retries=0) as client,
        pytest.raises(openai.PermissionDeniedError, match=r"svc-1\.2-experimental"),
    ):
        client.chat.completions.create(model="experimental", messages=message)
    with openai.OpenAI(api_key=told.key, base_url=told.base_url, max_retries=0) as client:
        assert client.chat.completions.create(model="experimental", messages=message).model == "svc-1.2-experimental"


def test_a_truncated_answer_says_so(start_service: StartService):
    class Wordy(Assistant):
        async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
            yield Answer(markdown="x" * 1_200_000)

    service = start_service(Wordy)
    with openai.OpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as client:
        completion = client.chat.completions.create(model="stable", messages=[{"role": "user", "content": "go"}])

    assert completion.choices[0].finish_reason == "length"
    assert "the whole answer is the session's file" in completion.choices[0].message.content


def test_the_experimental_model_has_what_the_stable_one_leaves_to_it(start_service: StartService):
    service = start_service(Analyst)
    question = [{"role": "user", "content": "What does this shortcut do?"}]
    with openai.OpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as client:
        stable, experimental = (
            client.chat.completions.create(model=model, messages=question).choices[0].message.content
            for model in ("stable", "experimental")
        )
    with service.http() as http:
        models = http.get("/user/info").json()["available_models"]

    assert "only the experimental model can" in stable
    assert "only the experimental model can" not in experimental
    names = [{t["name"] for t in model["toolsets"]} for model in models]
    assert names[1] - names[0] == {"shortcut"}
    assert all(t["is_experimental"] == (t["name"] == "shortcut") for t in models[1]["toolsets"])
