"""Map OpenAI-style requests to turns, and answers to OpenAI-style responses. Pure.

Facts: docs/wire.md, "Chat completions". System messages are instructions, earlier turns are history, the user's last
messages are the prompt. Features that this service lacks (streaming, tools, images, several choices) are refused by
name, never ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from svc.assistant.response_format import (
    REQUIRED_OBJECT,
    REQUIRED_SCHEMA,
    UnsupportedSchemaError,
    answer_problem,
    read_schema,
)
from svc.errors import InvalidRequestError, StreamUnsupportedError
from svc.messages import AnswerStatus, SessionResponse
from svc.service.turns.message_builder import is_cut

_INSTRUCTION_ROLES = {"system", "developer"}


def _documented(**rule: bool | int | str | Sequence[str]) -> Meta:
    """A rule for the OpenAPI document. ``read_conversation`` checks it, because its errors say what to do instead."""
    return Meta(extra_json_schema=rule)


_EmptyList = Annotated[list[msgspec.Raw], _documented(maxItems=0)]


class ChatPart(msgspec.Struct, kw_only=True):
    """One part of a message's content; only ``text`` parts are supported."""

    type: Annotated[str, _documented(const="text")]
    text: str = ""


class ChatMessage(msgspec.Struct, kw_only=True):
    """One message of the conversation, with OpenAI's field names."""

    role: Annotated[str, _documented(enum=["assistant", "developer", "system", "user"])]
    content: str | list[ChatPart] | None = None
    tool_calls: _EmptyList | None = None


class ChatSchema(msgspec.Struct, kw_only=True):
    """The ``json_schema`` of a response format; ``name`` and ``strict`` are accepted, an answer always matches."""

    schema: dict[str, msgspec.Raw] | None = None
    name: str = ""
    strict: bool | None = None


class ResponseFormat(msgspec.Struct, kw_only=True):
    """The form of the answer: ``text``, any JSON object, or JSON that matches a schema."""

    type: Annotated[str, _documented(enum=["json_object", "json_schema", "text"])]
    json_schema: ChatSchema | None = None


class ChatRequest(msgspec.Struct, kw_only=True):
    """The body of POST /chat/completions. Unknown fields, such as sampling parameters, are ignored."""

    model: str
    messages: Annotated[list[ChatMessage], _documented(minItems=1)]
    stream: Annotated[bool, _documented(const=False)] | None = False
    n: Annotated[int, _documented(const=1)] | None = 1
    tools: _EmptyList | None = None
    functions: _EmptyList | None = None
    response_format: ResponseFormat | None = None


class ChatReply(msgspec.Struct, kw_only=True):
    """The assistant's message; ``refusal`` says why there is no ``content`` in the required format."""

    content: str | None
    refusal: str | None = None
    role: Literal["assistant"] = "assistant"


class ChatChoice(msgspec.Struct, kw_only=True):
    """The only choice; ``finish_reason`` is ``length`` if the answer was cut at the size limit of a message."""

    message: ChatReply
    finish_reason: Literal["stop", "length"]
    index: int = 0


class ChatUsage(msgspec.Struct, kw_only=True):
    """Token counts, with OpenAI's field names."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletion(msgspec.Struct, kw_only=True):
    """The response of POST /chat/completions. ``answer_status`` is not OpenAI's; their clients ignore it.

    It is not in the choice's message, because clients send that back as history, also to services that refuse unknown
    fields.
    """

    id: str
    created: int
    model: str
    choices: list[ChatChoice]
    usage: ChatUsage
    answer_status: AnswerStatus | None = None
    object: Literal["chat.completion"] = "chat.completion"


class ChatConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A request as a turn needs it: instructions, (prompt, answer) pairs oldest first, and the prompt.

    A ``response_format`` other than text ends the instructions.
    """

    instructions: str
    exchanges: tuple[tuple[str, str], ...]
    prompt: str


def read_conversation(request: ChatRequest) -> ChatConversation:
    """Read the conversation from a request.

    Raises:
        StreamUnsupportedError: ``stream`` is true.
        InvalidRequestError: Another feature is not supported, or the last message is not the user's; ``param`` names
            the field.
    """
    _refuse_unsupported(request)
    instructions: list[str] = []
    exchanges: list[tuple[str, str]] = []
    pending: list[str] = []
    for index, message in enumerate(request.messages):
        text = _text(message, f"messages[{index}]")
        if message.role in _INSTRUCTION_ROLES:
            instructions.append(text)
        elif message.role == "user":
            pending.append(text)
        elif message.role == "assistant":
            exchanges.append(("\n\n".join(pending), text))
            pending = []
        else:
            raise InvalidRequestError(
                f"messages[{index}].role is {message.role!r}; it must be system, developer, user or assistant",
                param=f"messages[{index}].role",
            )
    prompt = "\n\n".join(pending)
    if not prompt.strip():
        raise InvalidRequestError("the last message must be the user's and contain text", param="messages")
    if required := _required_format(request.response_format):
        instructions.append(required)
    return ChatConversation(instructions="\n\n".join(instructions), exchanges=tuple(exchanges), prompt=prompt)


def _required_format(response_format: ResponseFormat | None) -> str:
    """The instruction that requires the format; "" for text."""
    if response_format is None or response_format.type == "text":
        return ""
    if response_format.type == "json_object":
        return REQUIRED_OBJECT
    if response_format.type != "json_schema":
        raise InvalidRequestError(
            f"response_format.type is {response_format.type[:40]!r}; it must be text, json_object or json_schema",
            param="response_format.type",
        )
    stated = response_format.json_schema
    if stated is None or stated.schema is None:
        raise InvalidRequestError(
            "response_format.json_schema.schema is missing; it must hold a JSON schema",
            param="response_format.json_schema.schema",
        )
    schema = msgspec.json.encode(stated.schema)
    try:
        read_schema(schema.decode())
    except UnsupportedSchemaError as error:
        raise InvalidRequestError(
            f"response_format.json_schema.schema cannot be used: {error}", param="response_format.json_schema.schema"
        ) from error
    return f"{REQUIRED_SCHEMA}\n{schema.decode()}"


def _refuse_unsupported(request: ChatRequest) -> None:
    if request.stream:
        raise StreamUnsupportedError(
            "stream: true is not supported; send stream: false, or use the websocket /stream", param="stream"
        )
    if request.n not in (None, 1):
        raise InvalidRequestError(f"n is {request.n}; this service returns one choice: send n: 1", param="n")
    for name, value in (("tools", request.tools), ("functions", request.functions)):
        if value:
            raise InvalidRequestError(
                f"{name} are not supported: the service uses its own tools. Leave {name} out", param=name
            )


def _text(message: ChatMessage, where: str) -> str:
    if message.tool_calls:
        raise InvalidRequestError(f"{where}.tool_calls are not supported", param=f"{where}.tool_calls")
    if message.content is None:
        raise InvalidRequestError(f"{where}.content is missing; it must hold text", param=f"{where}.content")
    if isinstance(message.content, str):
        return message.content
    for index, part in enumerate(message.content):
        if part.type != "text":
            place = f"{where}.content[{index}]"
            raise InvalidRequestError(
                f"{place} is of type {part.type!r}; only text parts are supported. Attach files to a session instead",
                param=place,
            )
    return "\n".join(part.text for part in message.content)


def build_completion(
    *, session_id: str, created: int, model: str, response: SessionResponse, instructions: str = ""
) -> ChatCompletion:
    """Build the response from the turn's RESULT.

    If the instructions require a format and the answer does not have it, it becomes the ``refusal``.
    """
    answer, usage = response.text(), response.usage
    is_refused = not is_cut(answer) and bool(answer_problem(instructions, answer))
    reply = ChatReply(content=None, refusal=answer) if is_refused else ChatReply(content=answer)
    return ChatCompletion(
        id=f"chatcmpl-{session_id}",
        created=created,
        model=model,
        choices=[ChatChoice(message=reply, finish_reason="length" if is_cut(answer) else "stop")],
        usage=ChatUsage(
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.generated_tokens,
            total_tokens=usage.total_tokens,
        ),
        answer_status=response.status,
    )
