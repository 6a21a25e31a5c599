"""Make messages of what an assistant yields: who speaks, in what role, cut to the wire's size. Pure.

Facts: docs/wire.md, "Message", "Limits". Tokens are counted roughly: four bytes of UTF-8 are one, rounded up, which is
what common tokenizers make of English text; an assistant that counts for itself says so in its Answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from svc.assistant.turn import Answer, Exchange, Step
from svc.errors import ServiceError
from svc.messages import Message, MessageType, MimeType, Role, State, Usage, new_id
from svc.service.settings import Settings
from svc.service.store.records import HistoryRow

SPEAKER = "service"  # the actor of what the service itself says
_STEP_TYPES = {MessageType.INFO, MessageType.THINKING, MessageType.SOURCE, MessageType.DEBUG}
_CUT = "… [cut: the whole answer is the session's file "
_FIELDS_BYTES = 4_096  # room for the fields beside content in an encoded message


class MessageBuilder:
    """Writes the messages of one run of a turn: all answer the query, all in one group."""

    def __init__(self, query: Message, settings: Settings) -> None:
        self.query = query
        self.group = new_id()
        self._settings = settings
        self._number = 0

    def fits(self, content: str) -> bool:
        """Whether a message can carry the content whole."""
        limit = min(self._settings.max_content_bytes, self._settings.max_message_bytes - _FIELDS_BYTES)
        if len(content) * 6 <= limit:  # no character takes more than six bytes in JSON
            return True
        is_small = len(content.encode()) <= self._settings.max_content_bytes
        return is_small and len(msgspec.json.encode(content)) <= self._settings.max_message_bytes - _FIELDS_BYTES

    def cut(self, content: str, note: str) -> str:
        """The content, or the start of it that fits together with the note."""
        if self.fits(content):
            return content
        kept = content[: self._settings.max_content_bytes]
        while not self.fits(kept + note):
            kept = kept[: len(kept) * 9 // 10]
        return kept + note

    def step(self, step: Step, now: float) -> Message:
        """The message of a step that fits. Raises TypeError for a type that is not a step's."""
        if step.message_type not in _STEP_TYPES:
            raise TypeError(f"an assistant yields info, thinking, source or debug steps, not {step.message_type}")
        role = Role.AGENT if step.message_type == MessageType.SOURCE else Role.SYSTEM
        state = State.UNDEFINED if step.state == State.END else step.state  # `end` closes a turn: the service's to say
        content = self.cut(step.content, "… [cut]") if step.mime_type.is_text else step.content
        message = self._message(step.message_type, role, step.actor, state, content, now)
        message.title = step.title
        message.mime_type = step.mime_type
        return message

    def info(self, content: str, now: float) -> Message:
        """Something that the service itself says while the turn runs."""
        return self._message(MessageType.INFO, Role.SYSTEM, SPEAKER, State.UNDEFINED, content, now)

    def request(self, kind: MessageType, content: str, now: float) -> Message:
        """What the service asks of the client while the turn runs: JSON that fits."""
        message = self._message(kind, Role.SYSTEM, SPEAKER, State.CALLING_TOOL, content, now)
        message.mime_type = MimeType.JSON
        return message

    def reply(self, answer: Message, now: float) -> Message:
        """What the client answered to that; the id is the client's."""
        message = self._message(answer.message_type, Role.USER, "user", State.TOOL_RESULT, answer.content or "", now)
        message.id, message.parent_id, message.mime_type = answer.id, answer.parent_id, MimeType.JSON
        return message

    def answer(self, answer: Answer, usage: Usage, now: float, *, whole_is_in: str | None) -> list[Message]:
        """The RESULT and the ``info`` that closes the turn; ``whole_is_in`` names the file with all of a cut answer."""
        note = f"\n\n{_CUT}{whole_is_in}]"
        content = self.cut(answer.markdown, note)
        result = self._message(MessageType.RESULT, Role.AGENT, answer.actor, State.AGENT_DONE, content, now)
        result.usage = usage
        seconds = max(0.0, now - self.query.created_at)
        closing = self._message(
            MessageType.INFO, Role.SYSTEM, SPEAKER, State.END, f"Answered after {seconds:.1f} s.", now
        )
        return [result, closing]

    def failure(self, error: ServiceError, usage: Usage, now: float) -> Message:
        """The error that ends the turn."""
        content = self.cut(error.message, "… [cut]")
        message = self._message(MessageType.ERROR, Role.AGENT, SPEAKER, State.END, content, now)
        message.status_code = error.status
        message.status_message = error.code
        message.usage = usage
        return message

    def _message(self, kind: MessageType, role: Role, actor: str, state: State, content: str, now: float) -> Message:
        self._number += 1
        return Message(
            message_type=kind,
            id=f"{self.group[:24]}{self._number:08x}",  # unique as its group is, without asking the system each time
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
    """The error that refuses a query or an unreadable frame: not kept, so its seq is 0."""
    message = Message(
        message_type=MessageType.ERROR,
        actor=SPEAKER,
        role=Role.AGENT,
        created_at=now,
        state=State.END,
        content=error.message,
        status_code=error.status,
        status_message=error.code,
    )
    if query is not None:
        message.parent_id = query.id[:64]
        message.turn = query.turn[:64]
    return message


def is_cut(answer: str) -> bool:
    """Whether an answer was cut to the size of a message: its last line says so."""
    return answer.rpartition("\n")[2].startswith(_CUT)


def count_tokens(text: str) -> int:
    """Roughly how many tokens the text is."""
    return -(-len(text.encode()) // 4)


def count_usage(prompt: str, answer: Answer | None) -> Usage:
    """The assistant's own count, or the rough one of prompt and answer."""
    if answer is not None and answer.usage is not None:
        return answer.usage
    prompt_tokens = count_tokens(prompt)
    generated = count_tokens(answer.markdown) if answer is not None else 0
    return Usage(prompt_tokens=prompt_tokens, generated_tokens=generated, total_tokens=prompt_tokens + generated)


def exchanges_of(messages: Sequence[HistoryRow | Message]) -> tuple[Exchange, ...]:
    """Earlier answered turns from their queries, sources and results, in order; of a turn run twice the last run."""
    exchanges = []
    prompt = ""
    sources: dict[str, list[str]] = {}
    for message in messages:
        if message.message_type == MessageType.QUERY:
            prompt, sources = message.content or "", {}
        elif message.message_type == MessageType.SOURCE and message.mime_type == MimeType.JSON:
            sources.setdefault(message.group, []).append(message.content or "")
        elif message.message_type == MessageType.RESULT:
            of_this_run = tuple(sources.get(message.group, ()))
            exchanges.append(Exchange(prompt=prompt, answer=message.content or "", sources=of_this_run))
    return tuple(exchanges)
