"""Update a session by one of its messages. Pure; counts as the service does (docs/wire.md, "Session").

Changes that no message shows (a file that the service adds, another client's update) need a new fetch.
"""

from __future__ import annotations

import msgspec

from svc.messages import Message, MessageType, Session, State, title_of


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
