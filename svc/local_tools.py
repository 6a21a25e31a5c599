"""The client's own tools: how a query offers them, and how the service's calls are read and answered.

A query frame may carry ``local_tools`` (``LocalTool``). They belong to the turn, and the session shows those of its
last query; an assistant need not use them. Requests and answers are JSON in the content of ordinary messages:

    confirmation_request {tool, description, arguments}   confirmation_response {is_allowed, is_once?}
    local_tool_call {name, arguments}                     local_tool_result {ok: true, value} or {ok: false, error}

The service sends one request at a time in a turn; an answer's ``parent_id`` is the request's id. A tool is confirmed
before its first call in a session (after ``is_once``, before the next call again); a refusal holds for the turn. The
first answer of the session's user counts, on any connection; repeating it (with the same id) is not an error; any other
answer is refused with ``invalid_request``, seq 0 and the answer's id as ``parent_id``, which does not end the turn. If
no answer comes in time, the model gets a timeout as the result. An answer not yet seen in the history is sent again
after a lost connection.

Limits and rights are the service's (``service/turns/local_tool_calls.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self, TypeVar

import msgspec

from svc.errors import InvalidRequestError, ProtocolError
from svc.messages import MAX_CONTENT_BYTES, Message, MessageType, MimeType, State

T = TypeVar("T", bound=msgspec.Struct)
NOTHING = msgspec.Raw(b"null")


class LocalTool(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A tool that the client runs itself. ``parameters`` is a JSON schema of type ``object``.

    ``version`` is any text that changes with the tool's code: a changed tool must be confirmed again.
    """

    name: str
    description: str = ""
    parameters: dict[str, object] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    version: str = ""


class QueryFrame(Message, kw_only=True):
    """A message as a client sends it: a query may carry the tools that the client runs itself."""

    local_tools: list[LocalTool] | None = None


class ConfirmationRequest(msgspec.Struct, kw_only=True, frozen=True):
    """Asks whether the model may call ``tool`` with these ``arguments``."""

    tool: str
    arguments: dict[str, object]
    description: str = ""

    @classmethod
    def of(cls, message: Message) -> Self:
        """Read a ``confirmation_request`` message. Raises ProtocolError if its content is invalid.

        Args:
            message: The message, as ``stream`` yields it.

        Returns:
            The request.
        """
        return _read(message, cls)


class ConfirmationResponse(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Allows the tool in this session or, with ``is_once``, for this call; a refusal holds for the turn."""

    is_allowed: bool
    is_once: bool = False


class LocalToolCall(msgspec.Struct, kw_only=True, frozen=True):
    """Asks the client to run a tool."""

    name: str
    arguments: dict[str, object]

    @classmethod
    def of(cls, message: Message) -> Self:
        """Read a ``local_tool_call`` message. Raises ProtocolError if its content is invalid.

        Args:
            message: The message, as ``stream`` yields it.

        Returns:
            The call.
        """
        return _read(message, cls)


class LocalToolResult(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The result of a call: ``value``, any JSON, if ``ok``; otherwise ``error`` says why there is none."""

    ok: bool
    value: msgspec.Raw = NOTHING
    error: str = ""


ANSWERS: Final = {
    MessageType.CONFIRMATION_REQUEST: MessageType.CONFIRMATION_RESPONSE,
    MessageType.LOCAL_TOOL_CALL: MessageType.LOCAL_TOOL_RESULT,
}
"""Maps the type of a request to the type of its answer."""


def build_query(query: Message, tools: Sequence[LocalTool]) -> Message:
    """Build the query as it is sent: with the tools, if any."""
    if not tools:
        return query
    fields = {name: getattr(query, name) for name in Message.__struct_fields__}
    return QueryFrame(**fields, local_tools=list(tools))


def build_answer(request: Message, content: ConfirmationResponse | LocalToolResult) -> Message:
    """Build the message that answers ``request``. Raises InvalidRequestError if it cannot be answered so."""
    kind = ANSWERS.get(request.message_type)
    is_result = isinstance(content, LocalToolResult)
    if kind is None or is_result != (kind == MessageType.LOCAL_TOOL_RESULT):
        raise InvalidRequestError(
            f"a message of type {request.message_type} cannot be answered this way: confirm() answers a "
            "confirmation_request, answer() a local_tool_call.",
            param="message_type",
        )
    return Message(
        message_type=kind,
        parent_id=request.id,
        turn=request.turn,
        state=State.TOOL_RESULT if is_result else State.UNDEFINED,
        content=msgspec.json.encode(content).decode(),
        mime_type=MimeType.JSON,
    )


def build_result(value: object = None, error: str | None = None) -> LocalToolResult:
    """Build the result from a value of JSON's types, or from an error. A value that cannot be sent becomes an error."""
    if error is not None:
        text = error[: MAX_CONTENT_BYTES // 8].encode("utf-8", errors="replace").decode()
        return LocalToolResult(ok=False, error=text)
    try:
        encoded = msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as problem:
        return LocalToolResult(ok=False, error=f"the value is not JSON: {str(problem)[:500]}")
    room = MAX_CONTENT_BYTES // 2  # it becomes a string within JSON, where each quote and backslash takes two bytes
    if len(encoded) > room:
        return LocalToolResult(ok=False, error=f"the value is {len(encoded):,} bytes of JSON; the limit is {room:,}")
    return LocalToolResult(ok=True, value=msgspec.Raw(encoded))


def _read(message: Message, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(message.content or "", type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ProtocolError(f"message {message.id} is not a valid {message.message_type} ({error})") from error
