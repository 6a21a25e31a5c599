"""The tree of a history: complete, readable when long, and not to be forged by what a message says."""

from __future__ import annotations

import base64
import io
import math

import pytest
from rich.console import Console

from svc._history_tree import content_bytes, session_tree
from svc.messages import AnswerStatus, Message, MessageType, MimeType, SessionFile, State, Usage
from svc.untrusted.characters import one_line
from tests.support.session_facts import session


def shown(messages: list[Message], *, width: int = 120, **changes: object) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(session_tree(session(**changes), messages))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def turn(name: str, question: str, *, first: int, end: MessageType = MessageType.INFO) -> list[Message]:
    return [
        Message(message_type=MessageType.QUERY, turn=name, seq=first, content=question, created_at=1_000.0),
        Message(
            message_type=MessageType.RESULT, turn=name, seq=first + 1, content="done", actor="analyst",
            created_at=1_001.25, usage=Usage(total_tokens=1_234),
        ),
        Message(
            message_type=end, turn=name, seq=first + 2, state=State.END, created_at=1_001.5, actor="service",
            status_message="OK" if end == MessageType.INFO else "upstream_error",
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("status", "shown_as"),
    [
        (None, "answered"),
        ("answered", "answered"),
        ("partly_answered", "partly answered"),
        ("not_answered", "not answered"),
        ("not_examined", "not examined"),
        ("of_a_newer_service", "answered"),
    ],
)
def test_a_turn_has_the_status_of_its_answer(status: str | None, shown_as: str):
    messages = turn("t", "who?", first=1)
    messages[1].answer_status = AnswerStatus(status) if status else None

    assert f"turn 1 {shown_as}  1970" in "\n".join(shown(messages))


def test_the_tree_has_the_session_its_turns_and_every_message():
    file = SessionFile(name="a.log", size=1, sha256="0", mime_type="text/plain", content_type_label="txt")
    lines = shown(turn("t1", "who?", first=1) + turn("t2", "and now?", first=4, end=MessageType.ERROR), files=[file])

    assert lines == [
        "n",
        "s  svc-1.1",
        "1 turn, 2 messages, 10 tokens, expires 1970-01-01 00:05:01 UTC",
        "files: a.log",
        "├── turn 1 answered  1970-01-01 00:16:40 UTC, 3 messages, 1.5 s, 1,234 tokens",
        "│   ├──    1 query user +0.0 s 4 B  who?",
        "│   ├──    2 result analyst +1.2 s 4 B  done",
        "│   └──    3 info service +1.5 s 0 B  ",
        "└── turn 2 upstream_error  1970-01-01 00:16:40 UTC, 3 messages, 1.5 s, 1,234 tokens",
        "    ├──    4 query user +0.0 s 8 B  and now?",
        "    ├──    5 result analyst +1.2 s 4 B  done",
        "    └──    6 error service +1.5 s 0 B  ",
    ]


def test_an_empty_session_says_so():
    assert shown([])[-1] == "└── no messages yet"


def test_a_running_turn_is_not_shown_as_answered():
    assert shown(turn("t", "who?", first=1)[:2])[3].startswith("└── turn 1 not ended ")


@pytest.mark.parametrize("place", ["content", "title", "actor"])
@pytest.mark.parametrize(
    "text",
    ["[bold]x[/bold]", "[/]", "[link=//evil.top]x[/]", "a\n└── turn 9", "\x1b[2J\x1b]0;x\x07", ":skull:"],
    ids=["markup", "closing", "link", "line", "escape", "emoji"],
)  # fmt: skip
def test_the_content_of_a_message_stays_on_its_line(place: str, text: str):
    message = Message(message_type=MessageType.INFO, turn="t", seq=1, **{place: text})

    lines = shown([message], name=text, files=[])

    assert len(lines) == 5
    assert "\x1b" not in "".join(lines)
    assert one_line(text.split()[0]) in lines[4]


def test_a_thousand_long_messages_are_a_thousand_short_lines():
    messages = [
        Message(message_type=MessageType.INFO, turn=f"t{i // 100}", seq=i, content="word " * 50_000)
        for i in range(1_000)
    ]

    lines = shown(messages, width=100)

    assert len(lines) == 3 + 10 + 1_000
    assert max(map(len, lines)) <= 100
    assert lines[4].endswith("…")


@pytest.mark.parametrize(
    ("mime_type", "content", "size"),
    [
        pytest.param(MimeType.TEXT, "ä\ud800", 5, id="text"),
        pytest.param(MimeType.TEXT, None, 0, id="none"),
        *(pytest.param(MimeType.PNG, base64.b64encode(b"x" * n).decode(), n, id=f"base64-{n}") for n in range(5)),
    ],
)
def test_the_size_is_that_of_the_decoded_content(mime_type: MimeType, content: str | None, size: int):
    assert content_bytes(Message(message_type=MessageType.INFO, mime_type=mime_type, content=content)) == size


def test_a_picture_is_named_not_shown():
    message = Message(message_type=MessageType.INFO, turn="t", seq=1, mime_type=MimeType.PNG, content="AAAA")

    assert shown([message])[-1].endswith("3 B  image/png")


@pytest.mark.parametrize("time", [math.inf, math.nan, 1e300, -1e300])
def test_an_invalid_time_does_not_break_the_tree(time: float):
    message = Message(message_type=MessageType.INFO, turn="t", seq=1, created_at=time, timestamp=1)

    assert "no time" in shown([message])[3]


def test_a_long_actor_does_not_displace_the_content():
    message = Message(message_type=MessageType.INFO, turn="t", seq=1, actor="a" * 300, content="who?")

    assert shown([message], width=80)[-1].endswith("a… +0.0 s 4 B  who?")
