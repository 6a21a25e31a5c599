"""/chat/completions and /models as OpenAI's own client, LangChain's, and a bare HTTP client see them."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator

import openai
import pydantic
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from svc.assistant.analyst import Analyst
from svc.assistant.turn import Answer, Assistant, Step, Turn
from svc.errors import UpstreamError
from tests.support.live import StartService, ThreadService, wait_until


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
    assert client.models.retrieve("svc-1.1") == client.models.retrieve("stable") == client.models.list().data[0]
    with pytest.raises(openai.NotFoundError, match="no such model: 'gpt-4o'"):
        client.models.retrieve("gpt-4o")


def test_an_address_that_ends_in_v1_works_for_clients_of_openais_api(told: ThreadService):
    with openai.OpenAI(api_key=told.key, base_url=f"{told.base_url}/v1", max_retries=0) as client:
        message = [{"role": "user", "content": "who?"}]
        assert client.chat.completions.create(model="stable", messages=message).choices[0].finish_reason == "stop"
        assert client.models.retrieve("stable").id == "svc-1.1"
    with told.http() as http:
        error = http.get("/v1/session/list").json()["error"]
    assert (error["code"], "Leave /v1 out of the address" in error["message"]) == ("not_found", True)


REFUSALS = [
    pytest.param({"model": "gpt-4o"}, openai.NotFoundError, "model_not_found", "model", id="unknown-model"),
    pytest.param({"stream": True}, openai.BadRequestError, "stream_unsupported", "stream", id="stream"),
    pytest.param({"n": 2}, openai.BadRequestError, "invalid_request", "n", id="two-choices"),
    pytest.param(
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]},
        openai.BadRequestError, "invalid_request", "tools", id="tools",
    ),
    pytest.param(
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x.example/a"}}]}]},
        openai.BadRequestError, "invalid_request", "messages[0].content[0].image_url.url", id="linked-image",
    ),
    pytest.param(
        {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": ""}}]}]},
        openai.BadRequestError, "invalid_request", "messages[0].content[0]", id="audio-part",
    ),
    pytest.param(
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_data": "data:x;base64,?"}}]}]},
        openai.BadRequestError, "invalid_request", "messages[0].content[0].file.file_data", id="broken-file",
    ),
    pytest.param(
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}]},
        openai.BadRequestError, "invalid_request", "messages[0].content[0].file.file_data", id="stored-file",
    ),
    pytest.param(
        {"messages": [{"role": "user", "content": [
            {"type": "text", "text": "read"}, {"type": "file", "file": {"filename": "a/b", "file_data": "QUJD"}},
        ]}]},
        openai.BadRequestError, "invalid_request", "filename", id="file-name",
    ),
    pytest.param({"logprobs": True}, openai.BadRequestError, "invalid_request", "logprobs", id="logprobs"),
    pytest.param({"logit_bias": {"1": 2}}, openai.BadRequestError, "invalid_request", "logit_bias", id="bias"),
    pytest.param({"max_tokens": 0}, openai.BadRequestError, "invalid_request", "max_tokens", id="no-tokens"),
    pytest.param({"stop": list("abcde")}, openai.BadRequestError, "invalid_request", "stop", id="many-stops"),
    pytest.param({"stop": [""]}, openai.BadRequestError, "invalid_request", "stop", id="empty-stop"),
    pytest.param({"tool_choice": "required"}, openai.BadRequestError, "invalid_request", "tool_choice", id="no-tool"),
    pytest.param(
        {"modalities": ["text", "audio"]}, openai.BadRequestError, "invalid_request", "modalities", id="modalities"
    ),
    pytest.param(
        {"stream_options": {"include_usage": True}},
        openai.BadRequestError, "invalid_request", "stream_options", id="stream-options",
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


def test_parameters_without_effect_are_named(client: openai.OpenAI):
    message = [{"role": "user", "content": "who?"}]
    create = client.chat.completions.with_raw_response.create

    named = create(model="stable", messages=message, temperature=0, seed=7, user=None, extra_body={"tømp,\n": 1})
    plain = create(model="stable", messages=message, max_tokens=100_000, stop=None, n=1)

    assert sorted(named.headers["x-ignored-parameters"].split(", ")) == ["seed", "t\\xf8mp", "temperature"]
    assert "x-ignored-parameters" not in plain.headers


def test_the_limits_of_a_key_are_in_the_response(start_service: StartService):
    service = start_service(Told, key_requests_per_minute=50, key_tokens_per_minute=0)
    with openai.OpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as client:
        create = client.chat.completions.with_raw_response.create
        first, second = (create(model="stable", messages=[{"role": "user", "content": "who?"}]) for _ in range(2))

    limits = {name: value for name, value in second.headers.items() if name.startswith("x-ratelimit-")}
    assert limits.keys() == {f"x-ratelimit-{what}-requests" for what in ("limit", "remaining", "reset")}
    assert limits["x-ratelimit-limit-requests"] == "50"
    assert int(first.headers["x-ratelimit-remaining-requests"]) - int(limits["x-ratelimit-remaining-requests"]) == 1
    assert limits["x-ratelimit-reset-requests"].endswith("s")


@pytest.mark.parametrize(
    ("limits", "content", "reason"),
    [
        ({"max_tokens": 2}, "áb cd e"[:7], "length"),
        ({"max_completion_tokens": 1, "max_tokens": 5}, "áb ", "length"),
        ({"max_tokens": 50}, "áb cd ef gh", "stop"),
        ({"stop": " ef"}, "áb cd", "stop"),
        ({"stop": ["gh", "cd", "zz"]}, "áb ", "stop"),
        ({"stop": "áb"}, "", "stop"),
    ],
)
def test_an_answer_ends_where_the_client_says(start_service: StartService, limits: dict, content: str, reason: str):
    class Fixed(Assistant):
        async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
            yield Answer(markdown="áb cd ef gh")

    service = start_service(Fixed)
    with openai.OpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as client:
        message = [{"role": "user", "content": "go"}]
        [choice] = client.chat.completions.create(model="stable", messages=message, **limits).choices
    assert (choice.message.content, choice.finish_reason) == (content, reason)


AUTH_LOG = (
    "".join(
        f"Nov 20 03:14:{second:02} web1 sshd[811]: Failed password for root from 203.0.113.77 port 4022 ssh2\n"
        for second in range(30)
    )
    + "Nov 20 03:15:15 web1 sshd[811]: Accepted password for root from 203.0.113.77 port 4022 ssh2\n"
)


def file_part(name: str, content: str) -> dict:
    data = b64encode(content.encode()).decode()
    return {"type": "file", "file": {"filename": name, "file_data": f"data:text/plain;base64,{data}"}}


def test_a_file_of_a_message_is_evidence_and_so_is_an_earlier_one(start_service: StartService):
    service = start_service(Analyst)
    asked = {"role": "user", "content": [{"type": "text", "text": "Who got in?"}, file_part("auth.log", AUTH_LOG)]}
    with openai.OpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as client:

        def ask(*messages: dict) -> str:
            raw = client.chat.completions.with_raw_response.create(model="stable", messages=messages)
            with service.http() as http:
                session = http.get("/session/get", params={"session_id": raw.headers["x-session-id"]}).json()
            assert [file["name"] for file in session["files"]] == ["auth.log"]
            return raw.parse().choices[0].message.content

        first = ask(asked)
        follow_up = ask(
            asked, {"role": "assistant", "content": first}, {"role": "user", "content": "When did the attack start?"}
        )
    assert "Compromised account: `root`" in first
    assert "03:14:00" in follow_up
    assert "Compromised account" not in follow_up


def test_a_question_about_a_log_of_an_earlier_message_is_answered_from_it(start_service: StartService):
    service = start_service(Analyst)
    with openai.OpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as client:
        messages = [
            {"role": "user", "content": f"Any attacks?\n{AUTH_LOG}"},
            {"role": "assistant", "content": "Yes, root."},
            {"role": "user", "content": "how many failed logins came from 203.0.113.77?"},
        ]
        content = client.chat.completions.create(model="stable", messages=messages).choices[0].message.content
    assert "30" in content.splitlines()[0]


def test_a_refused_request_with_files_leaves_nothing(start_service: StartService):
    service = start_service(Told, key_disk_bytes=50_000)
    content = [{"type": "text", "text": "read"}, file_part("a.log", "x" * 10_000), file_part("b.log", "y" * 90_000)]
    with (
        openai.OpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as client,
        pytest.raises(openai.APIStatusError) as caught,
    ):
        client.chat.completions.create(model="stable", messages=[{"role": "user", "content": content}])
    assert caught.value.code == "quota_exceeded"
    with service.http() as http:
        assert http.get("/session/list").json() == []


def test_a_required_function_gets_its_arguments(start_service: StartService):
    service = start_service(Analyst)
    function = {"name": "map", "parameters": Weakness.model_json_schema()}
    with openai.OpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as client:
        for choice in ("required", {"type": "function", "function": {"name": "map"}}):
            [answer] = client.chat.completions.create(
                model="stable", messages=[{"role": "user", "content": FLAW}], tool_choice=choice,
                tools=[{"type": "function", "function": function}],
            ).choices  # fmt: skip
            [call] = answer.message.tool_calls
            assert (answer.finish_reason, answer.message.content, call.function.name) == ("tool_calls", None, "map")
            assert Weakness.model_validate_json(call.function.arguments).cwe == "CWE-89"


async def test_structured_output_of_other_clients(start_service: StartService):
    service = start_service(Analyst)
    model = ChatOpenAI(model="stable", api_key=service.key, base_url=service.base_url, max_retries=0)
    for method in ("json_schema", "function_calling"):
        shaped = model.with_structured_output(Weakness, method=method)
        assert (await shaped.ainvoke(FLAW)).cwe == "CWE-89"
    async with openai.AsyncOpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as client:
        chat = OpenAIChatModel("stable", provider=OpenAIProvider(openai_client=client))
        for shape in (Weakness, NativeOutput(Weakness)):
            agent = Agent(chat, output_type=shape)
            first = await agent.run(FLAW)
            assert first.output.cwe == "CWE-89"
            assert (await agent.run(FLAW, message_history=first.all_messages())).output.cwe == "CWE-89"


def test_a_streamed_answer_is_the_whole_one(start_service: StartService):
    service = start_service(Analyst, chat_streaming=True)
    message = [{"role": "user", "content": f"Any attacks?\n{AUTH_LOG}"}]
    with openai.OpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as client:
        whole = client.chat.completions.create(model="stable", messages=message)
        chunks = list(
            client.chat.completions.create(
                model="stable", messages=message, stream=True, stream_options={"include_usage": True}
            )
        )
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(model="gpt-4o", messages=message, stream=True)
        short = client.chat.completions.create(model="stable", messages=message, stream=True, max_tokens=3)
        pieces = [chunk.choices[0] for chunk in short if chunk.choices]

    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == whole.choices[0].message.content
    assert "reading" in "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas)
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert (chunks[-1].choices, chunks[-1].usage) == ([], whole.usage)
    assert chunks[-2].answer_status == whole.answer_status == "answered"
    assert (len("".join(piece.delta.content or "" for piece in pieces)), pieces[-1].finish_reason) == (12, "length")


async def test_langchain_streams_and_a_client_that_leaves_cancels_the_turn(start_service: StartService):
    class Slow(Assistant):
        async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
            yield Step(content="working")
            if turn.prompt == "wait":
                await asyncio.sleep(60)
            yield Answer(markdown="done " * 300)

    service = start_service(Slow, chat_streaming=True)
    model = ChatOpenAI(model="stable", api_key=service.key, base_url=service.base_url, max_retries=0)
    pieces = [chunk.content async for chunk in model.astream("go")]
    assert "".join(pieces) == "done " * 300
    assert len(pieces) > 3
    async with openai.AsyncOpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as client:
        stream = await client.chat.completions.create(
            model="stable", messages=[{"role": "user", "content": "wait"}], stream=True
        )
        await anext(aiter(stream))
        await stream.close()

    def states() -> list[str]:
        with service.http() as http:
            return [session["state"] for session in http.get("/session/list").json()]

    await asyncio.to_thread(wait_until, lambda: "running_agent" not in states(), "the turn's end")


def test_an_error_in_a_stream_is_an_error(start_service: StartService):
    class Failing(Assistant):
        async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
            yield Step(content="working")
            await asyncio.sleep(0.1)
            raise UpstreamError("the model is down")

    service = start_service(Failing, chat_streaming=True)
    with openai.OpenAI(api_key=service.key, base_url=service.base_url, max_retries=0) as client:
        stream = client.chat.completions.create(
            model="stable", messages=[{"role": "user", "content": "go"}], stream=True
        )
        with pytest.raises(openai.APIError, match="the model is down"):
            list(stream)


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
