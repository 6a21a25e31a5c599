"""Calls of one turn to tools that its client runs: asked one after the other, allowed by the user before the first.

Decides what is asked, which answer counts, and what the assistant is told where none comes in time. Does no I/O: what
is said goes into the turn's production, as all that the assistant says. Facts: ``svc/local_tools.py``.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from svc.errors import InvalidRequestError
from svc.local_tools import (
    ANSWERS,
    ConfirmationRequest,
    ConfirmationResponse,
    LocalTool,
    LocalToolCall,
    LocalToolResult,
)
from svc.messages import Message, MessageType
from svc.service.sessions.rules import check_content_size, check_id
from svc.service.settings import Settings
from svc.service.turns.step_buffer import StepBuffer
from svc.service.validation import decode

MAX_ARGUMENTS_BYTES = 100_000  # of one call, as JSON: what a model writes is bounded, a message is, too
MAX_SESSIONS = 10_000  # whose consents are kept; others are asked again
_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")


def check_local_tools(tools: Sequence[LocalTool], settings: Settings) -> tuple[LocalTool, ...]:
    """The tools, where they can be offered; raises InvalidRequestError, which names the field."""
    if len(tools) > settings.max_local_tools:
        raise InvalidRequestError(
            f"local_tools has {len(tools)} tools; a query takes {settings.max_local_tools}. Offer fewer",
            param="local_tools",
        )
    size = len(msgspec.json.encode(tools)) if tools else 0
    if size > settings.max_local_tools_bytes:
        raise InvalidRequestError(
            f"local_tools is {size:,} bytes; a query takes {settings.max_local_tools_bytes:,}. Describe them in less",
            param="local_tools",
        )
    names: set[str] = set()
    for index, tool in enumerate(tools):
        where = f"local_tools[{index}]"
        if not _NAME.fullmatch(tool.name):
            raise InvalidRequestError(
                f"{where}.name is {tool.name[:80]!r}; it must be 1 to 64 of A-Z a-z 0-9 _", param=f"{where}.name"
            )
        if tool.name in names:
            raise InvalidRequestError(f"{where}.name is {tool.name!r}, as another one's", param=f"{where}.name")
        if tool.parameters.get("type") != "object":
            raise InvalidRequestError(
                f"{where}.parameters must be a JSON schema whose type is object", param=f"{where}.parameters"
            )
        names.add(tool.name)
    return tuple(tools)


class Consents:
    """Which tools the users of the sessions used last have allowed. One that is offered in another form is another."""

    def __init__(self) -> None:
        self._allowed: OrderedDict[str, set[bytes]] = OrderedDict()

    def has(self, session_id: str, tool: LocalTool) -> bool:
        """Whether the session's user has allowed it for the session."""
        return _digest(tool) in self._allowed.get(session_id, ())

    def add(self, session_id: str, tool: LocalTool) -> None:
        """It is allowed from now on."""
        self._allowed.setdefault(session_id, set()).add(_digest(tool))
        self._allowed.move_to_end(session_id)
        while len(self._allowed) > MAX_SESSIONS:
            self._allowed.popitem(last=False)

    def forget(self, session_ids: Iterable[str]) -> None:
        """These sessions are over."""
        for session_id in session_ids:
            self._allowed.pop(session_id, None)

    @property
    def session_ids(self) -> set[str]:
        """Whose consents are kept."""
        return set(self._allowed)


def _digest(tool: LocalTool) -> bytes:
    return hashlib.sha256(msgspec.json.encode(tool)).digest()


@dataclass(frozen=True)
class _PendingToolCall:
    """What waits for an answer."""

    message: Message
    answer: asyncio.Future[ConfirmationResponse | LocalToolResult]


class LocalToolCalls:
    """The calls of one turn. Used from the service's loop alone."""

    def __init__(
        self,
        tools: Sequence[LocalTool],
        step_buffer: StepBuffer,
        *,
        session_id: str,
        consents: Consents,
        settings: Settings,
    ) -> None:
        self.offered = tuple(tools)
        self._session_id = session_id
        self._consents = consents
        self._production = step_buffer
        self._settings = settings
        self._one_at_a_time = asyncio.Lock()
        self._asked: _PendingToolCall | None = None
        self._answer_ids: dict[str, str] = {}  # what was asked, by id: which message answered it
        self._refused: set[str] = set()  # names of tools, for this turn

    async def call(self, name: str, arguments: Mapping[str, object]) -> LocalToolResult:
        """Have the client run a tool that it offered, where its user allows it. What goes wrong is an error's text."""
        tool = next(tool for tool in self.offered if tool.name == name)
        size = len(msgspec.json.encode(arguments))
        if size > MAX_ARGUMENTS_BYTES:
            return LocalToolResult(ok=False, error=f"the arguments are {size:,} bytes; {MAX_ARGUMENTS_BYTES:,} may be")
        async with self._one_at_a_time:
            refusal = await self._refusal(tool, dict(arguments))
            if refusal:
                return LocalToolResult(ok=False, error=refusal)
            called = LocalToolCall(name=name, arguments=dict(arguments))
            seconds = self._settings.local_call_seconds
            result = await self._ask(MessageType.LOCAL_TOOL_CALL, called, seconds)
        if isinstance(result, LocalToolResult):
            return result
        return LocalToolResult(ok=False, error=f"no result came within {seconds:g} s")

    def answer(self, message: Message) -> None:
        """Take the client's answer. Raises InvalidRequestError where nothing waits for it, or it cannot be read.

        The first answer counts. The same one again (the same id) is no error: a client may repeat it.
        """
        check_id(message.id, "id")
        if self._answer_ids.get(message.parent_id) == message.id:
            return
        if message.id == self._production.query.id or message.id in self._answer_ids.values():
            raise InvalidRequestError(
                f"another message of the turn has the id {message.id}; take a new one", param="id"
            )
        asked = self._asked
        if asked is None or asked.message.id != message.parent_id:
            raise nothing_waits(message)
        wanted = ANSWERS[asked.message.message_type]
        if message.message_type != wanted:
            raise InvalidRequestError(
                f"message_type is {message.message_type}; a {asked.message.message_type} is answered by a {wanted}",
                param="message_type",
            )
        check_content_size(message.content or "", self._settings)
        read = _read(message, ConfirmationResponse if wanted == MessageType.CONFIRMATION_RESPONSE else LocalToolResult)
        self._answer_ids[message.parent_id] = message.id
        self._asked = None
        self._production.keep_answer(message)
        asked.answer.set_result(read)

    async def _refusal(self, tool: LocalTool, arguments: dict[str, object]) -> str:
        """Why the tool is not called; empty where the user allows it."""
        if self._consents.has(self._session_id, tool):
            return ""
        if tool.name not in self._refused:
            request = ConfirmationRequest(tool=tool.name, description=tool.description, arguments=arguments)
            seconds = self._settings.confirmation_seconds
            response = await self._ask(MessageType.CONFIRMATION_REQUEST, request, seconds)
            if isinstance(response, ConfirmationResponse) and response.is_allowed:
                if not response.is_once:
                    self._consents.add(self._session_id, tool)
                return ""
            self._refused.add(tool.name)
            if response is None:
                return f"nobody said within {seconds:g} s whether it may be called"
        return "the user does not allow it; do not call it again in this turn"

    async def _ask(
        self, kind: MessageType, content: ConfirmationRequest | LocalToolCall, seconds: float
    ) -> ConfirmationResponse | LocalToolResult | None:
        """The answer, or None where none comes in time."""
        text = msgspec.json.encode(content).decode()
        asked = _PendingToolCall(self._production.ask_client(kind, text), asyncio.get_running_loop().create_future())
        self._asked = asked
        try:
            async with asyncio.timeout(seconds):
                return await asked.answer
        except TimeoutError:
            return None
        finally:
            if self._asked is asked:
                self._asked = None


def nothing_waits(message: Message) -> InvalidRequestError:
    """What refuses an answer to nothing."""
    return InvalidRequestError(
        f"nothing waits for an answer to {message.parent_id[:64]!r}: it was answered, is over, or never was",
        param="parent_id",
    )


def _read(
    message: Message, kind: type[ConfirmationResponse] | type[LocalToolResult]
) -> ConfirmationResponse | LocalToolResult:
    try:
        return decode((message.content or "").encode(), kind)
    except InvalidRequestError as error:
        field = f"content.{error.param}" if error.param else "content"
        raise InvalidRequestError(f"{field}: {error.message}", param=field) from error
