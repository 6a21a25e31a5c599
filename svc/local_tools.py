"""A client's own tools on the wire: what a query offers, what is asked of a call, what answers that.

A query frame may carry ``local_tools`` (``LocalTool``). They are the turn's, and the session shows the last query's; an
assistant need not use them. What is asked and answered is JSON in the content of messages that are kept like any other:

    confirmation_request {tool, description, arguments}   confirmation_response {is_allowed, is_once?}
    local_tool_call {name, arguments}                     local_tool_result {ok: true, value} or {ok: false, error}

The service asks one thing at a time in a turn; an answer names by ``parent_id`` what it answers. A tool is confirmed
before its first call in a session (with ``is_once`` before the next again); a refusal is for the turn. The first answer
of the session's user counts, on whichever connection; the same again (the same id) is no error; any other is refused
with ``invalid_request``, seq 0 and ``parent_id`` the answer's id, which ends no turn. Where none comes in time, the
model is told so. An answer that was not seen in the history is sent again after a lost connection.

Decides names, types and how a message's content is read; not limits, nor who may answer (``service/local_calls.py``).
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
    """A tool that the asker runs itself. ``parameters`` is a JSON schema of type ``object``.

    ``version`` is any text that differs where the tool behind the same words does: it is asked for again then.
    """

    name: str
    description: str = ""
    parameters: dict[str, object] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    version: str = ""


class QueryFrame(Message, kw_only=True):
    """What a client sends: a message and, with a query, the tools that it runs itself."""

    local_tools: list[LocalTool] = msgspec.field(default_factory=list)


class ConfirmationRequest(msgspec.Struct, kw_only=True, frozen=True):
    """Asks whether the model may call ``tool``; these are the arguments of the call that waits."""

    tool: str
    arguments: dict[str, object]
    description: str = ""

    @classmethod
    def of(cls, message: Message) -> Self:
        """What a ``confirmation_request`` asks; raises ProtocolError."""
        return _read(message, cls)


class ConfirmationResponse(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Answers it: for the tool in this session or, where ``is_once``, for this call. A refusal is for the turn."""

    is_allowed: bool
    is_once: bool = False


class LocalToolCall(msgspec.Struct, kw_only=True, frozen=True):
    """The call: to be run where the tool is."""

    name: str
    arguments: dict[str, object]

    @classmethod
    def of(cls, message: Message) -> Self:
        """What a ``local_tool_call`` asks; raises ProtocolError."""
        return _read(message, cls)


class LocalToolResult(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What came of a call: ``value``, any JSON, where ``ok``; else ``error`` says why not."""

    ok: bool
    value: msgspec.Raw = NOTHING
    error: str = ""


ANSWERS: Final = {
    MessageType.CONFIRMATION_REQUEST: MessageType.CONFIRMATION_RESPONSE,
    MessageType.LOCAL_TOOL_CALL: MessageType.LOCAL_TOOL_RESULT,
}
"""The type of the message that answers a message of this type."""


def build_query(query: Message, tools: Sequence[LocalTool]) -> Message:
    """The query as it is sent, with the tools where there are any."""
    if not tools:
        return query
    fields = {name: getattr(query, name) for name in Message.__struct_fields__}
    return QueryFrame(**fields, local_tools=list(tools))


def build_answer(asked: Message, content: ConfirmationResponse | LocalToolResult) -> Message:
    """The message that answers ``asked``. Raises InvalidRequestError where that asks nothing of the kind."""
    wanted = ANSWERS.get(asked.message_type)
    is_result = isinstance(content, LocalToolResult)
    if wanted is None or is_result != (wanted == MessageType.LOCAL_TOOL_RESULT):
        raise InvalidRequestError(
            f"a message of type {asked.message_type} is not answered so: confirm() answers a confirmation_request, "
            "answer() a local_tool_call.",
            param="message_type",
        )
    return Message(
        message_type=wanted,
        parent_id=asked.id,
        turn=asked.turn,
        state=State.TOOL_RESULT if is_result else State.UNDEFINED,
        content=msgspec.json.encode(content).decode(),
        mime_type=MimeType.JSON,
    )


def build_result(value: object = None, error: str | None = None) -> LocalToolResult:
    """The result that carries a value of JSON's types, or the error; one that no message carries is an error, too."""
    if error is not None:
        told = error[: MAX_CONTENT_BYTES // 8].encode("utf-8", errors="replace").decode()  # half a pair cannot travel
        return LocalToolResult(ok=False, error=told)
    try:
        encoded = msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as problem:
        return LocalToolResult(ok=False, error=f"the value is no JSON: {str(problem)[:500]}")
    room = MAX_CONTENT_BYTES // 2  # the message holds it as a text within JSON: each quote and backslash counts double
    if len(encoded) > room:
        return LocalToolResult(ok=False, error=f"the value is {len(encoded):,} bytes of JSON; a call takes {room:,}")
    return LocalToolResult(ok=True, value=msgspec.Raw(encoded))


def _read(message: Message, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(message.content or "", type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ProtocolError(f"message {message.id} is no {message.message_type} ({error})") from error
