"""Read OpenAI-style requests as conversations. Pure.

Facts: docs/wire.md, "Chat completions". System messages are instructions, earlier turns are history, the user's last
messages are the prompt, and file parts are evidence. A parameter that changes what an answer is made of is honoured or
refused by name; the others, such as sampling parameters, are named in the response.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Raw

from svc.assistant.response_format import (
    REQUIRED_OBJECT,
    REQUIRED_SCHEMA,
    UnsupportedSchemaError,
    read_schema,
)
from svc.errors import InvalidRequestError, StreamUnsupportedError
from svc.service.chat.parts import ChatFile, ChatPart, read_parts

_INSTRUCTION_ROLES = {"system", "developer"}
MAX_STOPS = 4  # stop sequences, as in OpenAI's API


def _documented(**rule: bool | int | str | Sequence[str]) -> Meta:
    """A rule for the OpenAPI document. ``read_conversation`` checks it, because its errors say what to do instead."""
    return Meta(extra_json_schema=rule)


class CalledFunction(msgspec.Struct, kw_only=True):
    """The name and the JSON arguments of a called function."""

    name: str
    arguments: str


class ToolCall(msgspec.Struct, kw_only=True):
    """A call in an assistant's message, with OpenAI's field names."""

    id: str
    function: CalledFunction
    type: str = "function"


class ChatMessage(msgspec.Struct, kw_only=True):
    """One message of the conversation, with OpenAI's field names."""

    role: Annotated[str, _documented(enum=["assistant", "developer", "system", "tool", "user"])]
    content: str | list[ChatPart] | None = None
    tool_calls: list[ToolCall] | None = None


class OfferedFunction(msgspec.Struct, kw_only=True):
    """A function that the client offers; ``parameters`` is its JSON schema."""

    name: str
    parameters: dict[str, Raw] | None = None


class OfferedTool(msgspec.Struct, kw_only=True):
    """A tool that the client offers."""

    type: Annotated[str, _documented(const="function")] = "function"
    function: OfferedFunction | None = None


class StreamOptions(msgspec.Struct, kw_only=True):
    """Options of a streamed response."""

    include_usage: bool | None = None


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
    """The body of POST /chat/completions. Other parameters have no effect; the response names them."""

    model: str
    messages: Annotated[list[ChatMessage], _documented(minItems=1)]
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Annotated[int, _documented(const=1)] | None = 1
    tools: list[OfferedTool] | None = None
    tool_choice: str | dict[str, Raw] | None = None
    functions: Annotated[list[Raw], _documented(maxItems=0)] | None = None
    response_format: ResponseFormat | None = None
    max_tokens: Annotated[int, _documented(minimum=1)] | None = None
    max_completion_tokens: Annotated[int, _documented(minimum=1)] | None = None
    stop: str | list[str] | None = None
    logprobs: Annotated[bool, _documented(const=False)] | None = None
    modalities: list[str] | None = None
    audio: Annotated[Raw, _documented(const=None)] | None = None
    web_search_options: Annotated[Raw, _documented(const=None)] | None = None
    logit_bias: Annotated[dict[str, Raw], _documented(maxProperties=0)] | None = None


class ChatExchange(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier question with its files, and its answer."""

    prompt: str
    answer: str
    files: tuple[ChatFile, ...] = ()


class ChatConversation(msgspec.Struct, frozen=True, kw_only=True):
    """A request as a turn needs it: instructions, exchanges oldest first, the prompt and the files that come with it.

    A required format ends the instructions. ``function`` is the function whose arguments the answer must be; "" if none
    is required.
    """

    instructions: str
    exchanges: tuple[ChatExchange, ...]
    prompt: str
    files: tuple[ChatFile, ...] = ()
    function: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts of the conversation."""
        earlier = [text for exchange in self.exchanges for text in (exchange.prompt, exchange.answer)]
        return (self.instructions, *earlier, self.prompt)

    @property
    def all_files(self) -> tuple[ChatFile, ...]:
        """The files of the conversation, the oldest first."""
        return (*(file for exchange in self.exchanges for file in exchange.files), *self.files)


def unknown_parameters(body: bytes) -> list[str]:
    """The top-level names of a JSON object that have no effect here and are not null, in order."""
    fields = msgspec.json.decode(body, type=dict[str, Raw])
    known = ChatRequest.__struct_encode_fields__
    return [name for name, value in fields.items() if name not in known and bytes(value) != b"null"]


def read_conversation(request: ChatRequest, *, can_stream: bool) -> ChatConversation:
    """Read the conversation from a request.

    Raises:
        StreamUnsupportedError: ``stream`` is true, and the service does not offer it.
        InvalidRequestError: Another feature is not supported, or the last message is not the user's; ``param`` names
            the field.
    """
    _refuse_unsupported(request, can_stream=can_stream)
    instructions: list[str] = []
    exchanges: list[ChatExchange] = []
    pending: list[str] = []
    files: list[ChatFile] = []
    for index, message in enumerate(request.messages):
        where = f"messages[{index}]"
        text, attached = _content(message, where)
        if message.role in _INSTRUCTION_ROLES:
            instructions.append(text)
        elif message.role == "user":
            pending.append(text)
            files += attached
        elif message.role == "assistant":
            exchanges.append(ChatExchange(prompt="\n\n".join(pending), answer=text, files=tuple(files)))
            pending, files = [], []
        elif message.role != "tool" or not exchanges or pending:
            raise InvalidRequestError(
                f"{where}.role is {message.role!r}; it must be system, developer, user or assistant, or tool after an "
                "assistant's tool_calls",
                param=f"{where}.role",
            )
    prompt = "\n\n".join(pending)
    if not prompt.strip():
        raise InvalidRequestError("the last message must be the user's and contain text", param="messages")
    function, required = _required_function(request)
    if required := required or _required_format(request.response_format):
        instructions.append(required)
    return ChatConversation(
        instructions="\n\n".join(instructions),
        exchanges=tuple(exchanges),
        prompt=prompt,
        files=tuple(files),
        function=function,
    )


def stop_sequences(request: ChatRequest) -> tuple[str, ...]:
    """The texts before which the answer ends."""
    return (request.stop,) if isinstance(request.stop, str) else tuple(request.stop or ())


def max_tokens(request: ChatRequest) -> int | None:
    """How many tokens the answer may have; None if the request does not limit it."""
    return request.max_completion_tokens if request.max_completion_tokens is not None else request.max_tokens


def _required_function(request: ChatRequest) -> tuple[str, str]:
    """The only function, if the request requires a call of it, with the instruction; ("", "") if there are no tools.

    Clients that want structured output offer such a function: the answer is its arguments.
    """
    if not request.tools:
        return "", ""
    offered = [tool.function for tool in request.tools if tool.function is not None]
    chosen = request.tool_choice
    if isinstance(chosen, dict):
        named = msgspec.json.decode(chosen.get("function", Raw(b"{}")))
        name = named.get("name") if isinstance(named, dict) else None
        offered = [function for function in offered if function.name == name]
    is_required = isinstance(chosen, dict) or chosen == "required"
    if len(offered) != 1 or not is_required:
        raise InvalidRequestError(
            "tools are not called: the service uses its own. Leave tools out, or require a call of one function "
            '(tool_choice), whose arguments are then the answer; or use response_format with "json_schema"',
            param="tools",
        )
    schema = msgspec.json.encode(offered[0].parameters or {"type": "object"})
    return offered[0].name, _required_schema(schema, "tools[0].function.parameters")


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
    return _required_schema(msgspec.json.encode(stated.schema), "response_format.json_schema.schema")


def _required_schema(schema: bytes, where: str) -> str:
    try:
        read_schema(schema.decode())
    except UnsupportedSchemaError as error:
        raise InvalidRequestError(f"{where} cannot be used: {error}", param=where) from error
    return f"{REQUIRED_SCHEMA}\n{schema.decode()}"


def _refuse_unsupported(request: ChatRequest, *, can_stream: bool) -> None:
    if request.stream and not can_stream:
        raise StreamUnsupportedError(
            "stream: true is not supported; send stream: false, or use the websocket /stream. An operator can allow it "
            "with `svc serve --chat-streaming yes`",
            param="stream",
        )
    if request.stream_options is not None and not request.stream:
        raise InvalidRequestError("stream_options need stream: true", param="stream_options")
    if request.n not in (None, 1):
        raise InvalidRequestError(f"n is {request.n}; this service returns one choice: send n: 1", param="n")
    lacking = {
        "functions": (request.functions, "use response_format, or tools with tool_choice"),
        "logprobs": (request.logprobs, "answers have no token probabilities"),
        "audio": (request.audio is not None, "answers are text"),
        "modalities": (set(request.modalities or ()) - {"text"}, "answers are text"),
        "web_search_options": (request.web_search_options is not None, "the service does not search the web"),
        "logit_bias": (request.logit_bias, "answers have no token probabilities"),
    }
    for name, (value, reason) in lacking.items():
        if value:
            raise InvalidRequestError(f"{name} is not supported: {reason}. Leave {name} out", param=name)
    if not request.tools and request.tool_choice not in (None, "none", "auto"):
        raise InvalidRequestError("tool_choice requires a call, but there are no tools", param="tool_choice")
    _check_limits(request)


def _check_limits(request: ChatRequest) -> None:
    for name, limit in (("max_tokens", request.max_tokens), ("max_completion_tokens", request.max_completion_tokens)):
        if limit is not None and limit < 1:
            raise InvalidRequestError(f"{name} is {limit}; it must be at least 1", param=name)
    stops = stop_sequences(request)
    if len(stops) > MAX_STOPS or not all(stops):
        raise InvalidRequestError(f"stop must be at most {MAX_STOPS} texts, none of them empty", param="stop")


def _content(message: ChatMessage, where: str) -> tuple[str, list[ChatFile]]:
    """The text of a message, and its files; of an assistant that called a function, its arguments."""
    if message.tool_calls:
        if message.role != "assistant":
            raise InvalidRequestError(f"{where}.tool_calls: only assistants call tools", param=f"{where}.tool_calls")
        return "\n".join(call.function.arguments for call in message.tool_calls), []
    if message.content is None:
        raise InvalidRequestError(f"{where}.content is missing; it must hold text", param=f"{where}.content")
    if isinstance(message.content, str):
        return message.content, []
    return read_parts(message.content, where, may_have_files=message.role == "user")
