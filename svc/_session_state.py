"""Update a session by one of its messages. Pure; counts as the service does (docs/wire.md, "Session").

Changes that no message shows (a file that the service adds, another client's update) need a new fetch.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from svc.messages import Message, MessageType, Session, State, Usage, title_of


class SeenMessages:
    """Which messages of a session were seen, so that none is shown again if its history is read from the beginning.

    Args:
        session: Its messages count as seen. If it has none although they are counted, those up to its last update do.
            None if no message was seen.
    """

    def __init__(self, session: Session | None = None) -> None:
        self._hashes: set[int] = set()  # of ids: a set of the ids themselves would be three times as large
        self._known_until = 0
        if session is not None and session.num_messages and not session.messages:
            self._known_until = session.update_time + 1
        elif session is not None:
            self.add(session.messages)

    def __contains__(self, message: Message) -> bool:
        return hash(message.id) in self._hashes or message.created_at < self._known_until

    def add(self, messages: Iterable[Message]) -> None:
        """Count messages as seen."""
        self._hashes.update(hash(message.id) for message in messages)


def without_history(session: Session) -> Session:
    """The session before its first message: what ``with_message`` counts from when the history is read again."""
    return msgspec.structs.replace(session, num_messages=0, turns=0, usage=Usage(), title="", state=State.START)


def with_message(session: Session, message: Message) -> Session:
    """The session after ``message``; unchanged if the message was counted already or one before it is missing."""
    if message.seq != session.num_messages + 1:
        return session
    is_query = message.message_type == MessageType.QUERY
    state = State.RUNNING_AGENT if is_query else State.AGENT_DONE if message.ends_turn else session.state
    return msgspec.structs.replace(
        session,
        num_messages=message.seq,
        turns=session.turns + is_query,
        update_time=max(session.update_time, message.timestamp),
        usage=session.usage if message.usage is None else session.usage + message.usage,
        state=state,
        title=title_of(message.content) if is_query and not session.title else session.title,
    )


def without_messages(session: Session) -> Session:
    """The session without its messages, which may be many megabytes."""
    return msgspec.structs.replace(session, messages=[])
