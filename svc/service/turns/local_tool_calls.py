"""Calls of one turn to tools that its client runs. Facts: docs/wire.md, "Local tools".

Calls run one after the other, and the user allows each tool before its first call. Decides what the client is asked,
which answer counts, and what the assistant gets if no answer arrives in time. Does no I/O: requests and answers are
messages in the turn's ``StepBuffer``.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from svc.errors import InvalidRequestError, ServiceError
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
from svc.service.store import Store
from svc.service.turns.step_buffer import StepBuffer
from svc.service.validation import decode

MAX_ARGUMENTS_BYTES = 100_000  # of one call, as JSON; keeps the message that carries them below its own limit
log: logging.Logger = logging.getLogger("svc.turns")


class SessionConsents:
    """The tools that a session's user has allowed, kept with the session.

    A tool that is offered in a different form (schema, description, version) needs permission again.
    """

    def __init__(self, store: Store, session_id: str) -> None:
        self._store = store
        self._session_id = session_id

    async def is_granted(self, tool: LocalTool) -> bool:
        """Whether the user has allowed the tool; not, if that cannot be read."""
        try:
            return _digest(tool) in await self._store.consents(self._session_id)
        except ServiceError as error:
            log.warning("permissions of local tools not read", extra={"reason": error.message})
            return False

    async def grant(self, tool: LocalTool) -> None:
        """Allow the tool for the rest of the session."""
        try:
            await self._store.add_consent(self._session_id, _digest(tool))
        except ServiceError as error:  # the user is asked again
            log.warning("permission of a local tool not kept", extra={"reason": error.message})


def _digest(tool: LocalTool) -> str:
    return hashlib.sha256(msgspec.json.encode(tool)).hexdigest()


@dataclass(frozen=True)
class _PendingToolCall:
    """A request to the client that has no answer yet."""

    message: Message
    answer: asyncio.Future[ConfirmationResponse | LocalToolResult]


class LocalToolCalls:
    """The local tool calls of one turn; used only in the service's event loop."""

    def __init__(
        self,
        tools: Sequence[LocalTool],
        step_buffer: StepBuffer,
        *,
        consents: SessionConsents,
        settings: Settings,
    ) -> None:
        self.offered: tuple[LocalTool, ...] = tuple(tools)
        self._consents = consents
        self._step_buffer = step_buffer
        self._settings = settings
        self._request_lock = asyncio.Lock()
        self._pending_call: _PendingToolCall | None = None
        self._answer_ids: dict[str, str] = {}  # request id -> id of the message that answered it
        self._refused: set[str] = set()  # names of tools that the user refused in this turn

    async def call(self, name: str, arguments: Mapping[str, object]) -> LocalToolResult:
        """Have the client run a tool that it offered, if its user allows it.

        Returns:
            The client's result. A refusal, a timeout or arguments that are too large give a result with ``ok`` false.
        """
        tool = next(tool for tool in self.offered if tool.name == name)
        size = len(msgspec.json.encode(arguments))
        if size > MAX_ARGUMENTS_BYTES:
            return LocalToolResult(
                ok=False, error=f"the arguments are {size:,} bytes; the limit is {MAX_ARGUMENTS_BYTES:,}"
            )
        async with self._request_lock:
            refusal = await self._refusal(tool, dict(arguments))
            if refusal:
                return LocalToolResult(ok=False, error=refusal)
            call = LocalToolCall(name=name, arguments=dict(arguments))
            seconds = self._settings.local_call_seconds
            result = await self._request(MessageType.LOCAL_TOOL_CALL, call, seconds)
        if isinstance(result, LocalToolResult):
            return result
        return LocalToolResult(ok=False, error=f"no result within {seconds:g} s")

    def answer(self, message: Message) -> None:
        """Accept the client's answer to the pending request.

        The first answer counts. Repeating it with the same id is allowed, since a client may resend after a lost
        connection.

        Raises:
            InvalidRequestError: No request is pending for it, or it cannot be decoded.
            TooLargeError: It does not fit into a message.
        """
        check_id(message.id, "id")
        if self._answer_ids.get(message.parent_id) == message.id:
            return
        if message.id == self._step_buffer.query.id or message.id in self._answer_ids.values():
            raise InvalidRequestError(
                f"another message of the turn has the id {message.id}; choose a new id", param="id"
            )
        pending_call = self._pending_call
        is_over = pending_call is None or pending_call.answer.done()  # its time ended at this very moment
        if pending_call is None or is_over or pending_call.message.id != message.parent_id:
            raise not_pending(message)
        expected = ANSWERS[pending_call.message.message_type]
        if message.message_type != expected:
            raise InvalidRequestError(
                f"message_type is {message.message_type}; the request needs a {expected}",
                param="message_type",
            )
        check_content_size(message.content or "", self._settings)
        parsed = _parse_answer(
            message, ConfirmationResponse if expected == MessageType.CONFIRMATION_RESPONSE else LocalToolResult
        )
        self._answer_ids[message.parent_id] = message.id
        self._pending_call = None
        self._step_buffer.add_reply(message)
        pending_call.answer.set_result(parsed)

    async def _refusal(self, tool: LocalTool, arguments: dict[str, object]) -> str:
        """Why the tool may not be called; empty if the user allows it."""
        if await self._consents.is_granted(tool):
            return ""
        if tool.name not in self._refused:
            request = ConfirmationRequest(tool=tool.name, description=tool.description, arguments=arguments)
            seconds = self._settings.confirmation_seconds
            response = await self._request(MessageType.CONFIRMATION_REQUEST, request, seconds)
            if isinstance(response, ConfirmationResponse) and response.is_allowed:
                if not response.is_once:
                    await self._consents.grant(tool)
                return ""
            self._refused.add(tool.name)
            if response is None:
                return f"the user did not answer within {seconds:g} s to the confirmation request"
        return "the user denied the call; do not repeat it in this turn"

    async def _request(
        self, kind: MessageType, content: ConfirmationRequest | LocalToolCall, seconds: float
    ) -> ConfirmationResponse | LocalToolResult | None:
        """Send a request to the client; None if no answer arrives in time."""
        text = msgspec.json.encode(content).decode()
        pending_call = _PendingToolCall(
            self._step_buffer.add_request(kind, text), asyncio.get_running_loop().create_future()
        )
        self._pending_call = pending_call
        try:
            async with asyncio.timeout(seconds):
                return await pending_call.answer
        except TimeoutError:
            return None
        finally:
            if self._pending_call is pending_call:
                self._pending_call = None


def not_pending(message: Message) -> InvalidRequestError:
    """The error for an answer to a request that is not pending."""
    return InvalidRequestError(
        f"no request {message.parent_id[:64]!r} is pending: it was answered, timed out or never existed",
        param="parent_id",
    )


def _parse_answer(
    message: Message, kind: type[ConfirmationResponse] | type[LocalToolResult]
) -> ConfirmationResponse | LocalToolResult:
    try:
        return decode((message.content or "").encode(), kind)
    except InvalidRequestError as error:
        field = f"content.{error.param}" if error.param else "content"
        raise InvalidRequestError(f"{field}: {error.message}", param=field) from error
