"""Build messages from what an assistant yields: actor, role, and content cut to the wire's limits. Pure.

Facts: docs/wire.md, "Message", "Limits". Tokens are estimated at four bytes of UTF-8 each, rounded up, which is close
to common tokenizers on English text. An assistant that counts for itself sets ``Answer.usage``.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from svc.assistant.turn import Answer, Exchange, Step
from svc.errors import ServiceError
from svc.messages import PARTIAL_ANSWER_TITLE, Message, MessageType, MimeType, Role, State, Usage, new_id
from svc.service.settings import Settings
from svc.service.store.records import HistoryRow

SERVICE_ACTOR = "service"  # the actor of what the service itself says
ELSEWHERE_ACTOR = "assistant"  # the actor of answers that a client brought along
TOKEN_BYTES = 4  # that count as one token
_STEP_TYPES = {MessageType.INFO, MessageType.THINKING, MessageType.SOURCE, MessageType.DEBUG}
_CUT = "… [cut: the whole answer is the session's file "
_FIELDS_BYTES = 4_096  # the other fields of an encoded message


class MessageBuilder:
    """Builds the messages of one run of a turn: all answer the query and share one group."""

    def __init__(self, query: Message, settings: Settings) -> None:
        self.query = query
        self.group: str = new_id()
        self._settings = settings
        self._number = 0

    def fits(self, content: str) -> bool:
        """Whether the content fits into one message."""
        limit = min(self._settings.max_content_bytes, self._settings.max_message_bytes - _FIELDS_BYTES)
        if len(content) * 6 <= limit:  # cheap test first: no character takes more than six bytes in JSON
            return True
        is_small = len(content.encode()) <= self._settings.max_content_bytes
        return is_small and len(msgspec.json.encode(content)) <= self._settings.max_message_bytes - _FIELDS_BYTES

    def cut(self, content: str, note: str) -> str:
        """Return the content, or the longest start of it that fits together with the note."""
        if self.fits(content):
            return content
        start = content[: self._settings.max_content_bytes]
        while not self.fits(start + note):
            start = start[: len(start) * 9 // 10]
        return start + note

    def step(self, step: Step, now: float) -> Message:
        """Build the message of a step. Raises TypeError for a message type that steps may not have."""
        if step.message_type not in _STEP_TYPES:
            raise TypeError(f"an assistant yields info, thinking, source or debug steps, not {step.message_type}")
        role = Role.AGENT if step.message_type == MessageType.SOURCE else Role.SYSTEM
        state = State.UNDEFINED if step.state == State.END else step.state  # only the service ends a turn
        content = self.cut(step.content, "… [cut]") if step.mime_type.is_text else step.content
        message = self._message(step.message_type, role, step.actor, state, content, now)
        message.title = step.title
        message.mime_type = step.mime_type
        if step.progress is not None:
            message.progress = step.progress
        return message

    def info(self, content: str, now: float) -> Message:
        """Build a progress message of the service itself."""
        return self._message(MessageType.INFO, Role.SYSTEM, SERVICE_ACTOR, State.UNDEFINED, content, now)

    def request(self, kind: MessageType, content: str, now: float) -> Message:
        """Build a request to the client; ``content`` is JSON that fits into a message."""
        message = self._message(kind, Role.SYSTEM, SERVICE_ACTOR, State.CALLING_TOOL, content, now)
        message.mime_type = MimeType.JSON
        return message

    def reply(self, answer: Message, now: float) -> Message:
        """Build the stored form of a client's answer; it keeps the client's id."""
        message = self._message(answer.message_type, Role.USER, "user", State.TOOL_RESULT, answer.content or "", now)
        message.id, message.parent_id, message.mime_type = answer.id, answer.parent_id, MimeType.JSON
        return message

    def answer(self, answer: Answer, usage: Usage, now: float, *, full_text_file: str | None) -> list[Message]:
        """Build the RESULT and the ``info`` that ends the turn.

        Args:
            answer: The assistant's answer.
            usage: The tokens that the turn cost.
            now: Seconds since the epoch.
            full_text_file: Name of the session file with the whole answer, if the message has to cut it.
        """
        note = f"\n\n{_CUT}{full_text_file}]"
        content = self.cut(answer.markdown, note)
        result = self._message(MessageType.RESULT, Role.AGENT, answer.actor, State.AGENT_DONE, content, now)
        result.usage = usage
        result.answer_status = answer.status
        seconds = max(0.0, now - self.query.created_at)
        closing = self._message(
            MessageType.INFO, Role.SYSTEM, SERVICE_ACTOR, State.END, f"Answered after {seconds:.1f} s.", now
        )
        return [result, closing]

    def partial_answer(self, answer: Answer, now: float, *, full_text_file: str | None) -> Message:
        """Build the ``info`` with what a cancelled turn found in the part that it read."""
        content = self.cut(answer.markdown, f"\n\n{_CUT}{full_text_file}]")
        message = self._message(MessageType.INFO, Role.AGENT, answer.actor, State.AGENT_DONE, content, now)
        message.title, message.mime_type = PARTIAL_ANSWER_TITLE, MimeType.MARKDOWN
        message.answer_status = answer.status
        return message

    def failure(self, error: ServiceError, usage: Usage, now: float) -> Message:
        """Build the error that ends the turn."""
        content = self.cut(error.message, "… [cut]")
        message = self._message(MessageType.ERROR, Role.AGENT, SERVICE_ACTOR, State.END, content, now)
        message.status_code = error.status
        message.status_message = error.code
        message.usage = usage
        return message

    def _message(self, kind: MessageType, role: Role, actor: str, state: State, content: str, now: float) -> Message:
        self._number += 1
        return Message(
            message_type=kind,
            id=f"{self.group[:24]}{self._number:08x}",  # the group is random; a counter saves a system call per message
            parent_id=self.query.id,
            turn=self.query.turn,
            group=self.group,
            actor=actor,
            role=role,
            created_at=now,
            state=state,
            content=content,
        )


def refusal(error: ServiceError, *, now: float, query: Message | None = None) -> Message:
    """Build the error that refuses a query or an unreadable frame. It is not stored, so its seq is 0."""
    message = Message(
        message_type=MessageType.ERROR,
        actor=SERVICE_ACTOR,
        role=Role.AGENT,
        created_at=now,
        state=State.END,
        content=error.message,
        status_code=error.status,
        status_message=error.code,
    )
    if error.retry_after is not None:
        message.retry_after = error.retry_after
    if query is not None:
        message.parent_id = query.id[:64]
        message.turn = query.turn[:64]
    return message


def is_cut(answer: str) -> bool:
    """Whether an answer was cut to the size of a message: its last line says so."""
    return answer.rpartition("\n")[2].startswith(_CUT)


def count_tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    return -(-len(text.encode()) // TOKEN_BYTES)


def count_usage(prompt: str, answer: Answer | None) -> Usage:
    """The assistant's own count, or an estimate from prompt and answer."""
    if answer is not None and answer.usage is not None:
        return answer.usage
    prompt_tokens = count_tokens(prompt)
    generated = count_tokens(answer.markdown) if answer is not None else 0
    return Usage(prompt_tokens=prompt_tokens, generated_tokens=generated, total_tokens=prompt_tokens + generated)


def exchanges_of(messages: Sequence[HistoryRow | Message]) -> tuple[Exchange, ...]:
    """Collect answered turns from their queries, sources and results, in order; for a turn that ran twice, the sources
    of
    the last run.
    """
    exchanges = []
    prompt, asked = "", 0.0
    files: tuple[str, ...] = ()
    sources: dict[str, list[str]] = {}
    for message in messages:
        if message.message_type == MessageType.QUERY:
            prompt, sources = message.content or "", {}
            asked, files = message.created_at, tuple(message.files or ())
        elif message.message_type == MessageType.SOURCE and message.mime_type == MimeType.JSON:
            sources.setdefault(message.group, []).append(message.content or "")
        elif message.message_type == MessageType.RESULT:
            run_sources = tuple(sources.get(message.group, ()))
            exchange = Exchange(
                prompt=prompt, answer=message.content or "", sources=run_sources, asked=asked, files=files
            )
            is_elsewhere = isinstance(message, Message) and message.actor == ELSEWHERE_ACTOR
            exchanges.append(msgspec.structs.replace(exchange, is_elsewhere=is_elsewhere))
    return tuple(exchanges)
