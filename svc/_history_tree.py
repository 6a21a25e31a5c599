"""Render a session's history as a tree: the session, its turns, and each message on one line. Pure.

A line has seq, type, actor, seconds since the turn began, size, and the beginning of the content. Message text is
untrusted, so it becomes ``rich.text.Text`` (rich parses no markup in it) of visible characters only. Facts:
docs/wire.md, "Message"; https://rich.readthedocs.io/en/stable/tree.html
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.text import Text
from rich.tree import Tree

from svc.messages import AnswerStatus, Message, MessageType, Session, Usage, status_of
from svc.untrusted.characters import one_line

CONTENT_CHARS = 200  # of one message; most consoles are narrower
NAME_CHARS = 80  # of a session's, a file's, a model's name
ACTOR_CHARS = 24  # of an actor, a type or a status, so that a long one leaves room for the rest of the line
_STYLES = {
    MessageType.QUERY: "bold cyan",
    MessageType.RESULT: "bold green",
    MessageType.ERROR: "bold red",
    MessageType.SOURCE: "magenta",
    MessageType.INFO: "blue",
}


_UNANSWERED = {
    AnswerStatus.PARTLY_ANSWERED: "partly answered",
    AnswerStatus.NOT_ANSWERED: "not answered",
    AnswerStatus.NOT_EXAMINED: "not examined",
}


def session_tree(session: Session, messages: Sequence[Message]) -> Tree:
    """Build the tree. ``messages`` are in the order of ``seq``; consecutive ones of the same ``turn`` form a turn."""
    tree = Tree(_session_label(session), guide_style="dim")
    for number, turn in enumerate(_turns(messages), start=1):
        branch = tree.add(_turn_label(number, turn))
        for message in turn:
            if message.progress:  # was one line that changed
                continue
            branch.add(_message_label(message, turn[0].created_at))
    if not messages:
        tree.add(Text("no messages yet", style="dim"))
    return tree


def content_bytes(message: Message) -> int:
    """The size of a message's content in bytes; that of base64 content is computed without decoding it."""
    content = message.content or ""
    if message.mime_type.is_text:
        return len(content.encode("utf-8", "surrogatepass"))
    return len(content) * 3 // 4 - content.count("=", -2)


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    turns: list[list[Message]] = []
    for message in messages:
        if turns and turns[-1][0].turn == message.turn:
            turns[-1].append(message)
        else:
            turns.append([message])
    return turns


def _session_label(session: Session) -> Text:
    files = f"\nfiles: {', '.join(one_line(f.name, NAME_CHARS) for f in session.files)}" if session.files else ""
    counts = (session.turns, "turn"), (session.num_messages, "message"), (session.usage.total_tokens, "token")
    end = f"expires {_day(session.expire_time)} {_clock(session.expire_time)} UTC"
    return _line(
        (one_line(session.name, NAME_CHARS), "bold"),
        (f"\n{session.id}  {one_line(session.model.model_string, NAME_CHARS)}", "dim"),
        (f"\n{', '.join(_count(*count) for count in counts)}, {end}{files}", ""),
    )


def _turn_label(number: int, turn: Sequence[Message]) -> Text:
    begin, last = turn[0].created_at, turn[-1]
    tokens = sum((m.usage for m in turn if m.usage), start=Usage()).total_tokens
    counts = f"{_count(len(turn), 'message')}, {_span(last.created_at - begin)}, {_count(tokens, 'token')}"
    return _line((f"turn {number:,} ", "bold"), _outcome(turn), (f"  {_day(begin)} {_clock(begin)} UTC, {counts}", ""))


def _outcome(turn: Sequence[Message]) -> tuple[str, str]:
    last = turn[-1]
    if not last.ends_turn:
        return "not ended", "yellow"
    if last.message_type == MessageType.ERROR:
        return one_line(last.status_message, ACTOR_CHARS), "red"
    if (status := status_of(turn)) in _UNANSWERED:
        return _UNANSWERED[status], "yellow"
    return "answered", "green"


def _message_label(message: Message, begin: float) -> Text:
    kind = one_line(message.message_type, ACTOR_CHARS)
    facts = f"+{_span(message.created_at - begin)} {content_bytes(message):,} B"
    return _line(
        (f"{message.seq:>4} ", "dim"),
        (kind, _STYLES.get(message.message_type, "")),
        (f" {one_line(message.actor, ACTOR_CHARS)} ", ""),
        (f"{facts}  ", "dim"),
        (_shown(message), ""),
    )


def _shown(message: Message) -> str:
    if not message.mime_type.is_text:
        return one_line(message.mime_type, NAME_CHARS)
    title = f"{message.title}: " if message.title else ""
    return one_line(f"{title}{message.content or ''}", CONTENT_CHARS)


def _line(*parts: tuple[str, str]) -> Text:
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def _time(seconds: float) -> datetime | None:
    """The time, or None if the number is out of range."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _clock(seconds: float) -> str:
    time = _time(seconds)
    return f"{time:%H:%M:%S}" if time else "no time"


def _day(seconds: float) -> str:
    time = _time(seconds)
    return f"{time:%Y-%m-%d}" if time else ""


def _span(seconds: float) -> str:
    return f"{seconds:.1f} s" if abs(seconds) < 100 else f"{seconds:,.0f} s"


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
