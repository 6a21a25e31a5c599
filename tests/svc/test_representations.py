"""Responses and messages as programs store them and as people see them."""

from __future__ import annotations

import json

import msgspec
import pytest

from svc import Message, MessageType, MimeType, SessionResponse, Usage

ANSWER = "**Compromised.** See `web-3`, ![x](https://evil.example/pixel.png) <script>alert(1)</script> [go](http://evil.example)"


def made(kind: MessageType, content: str | None, **fields: object) -> Message:
    return Message(message_type=kind, id="m", seq=1, actor="analyst", content=content, **fields)


def response(*messages: Message) -> SessionResponse:
    return SessionResponse(id="s", messages=list(messages), usage=Usage(total_tokens=3))


@pytest.mark.parametrize("value", [made(MessageType.RESULT, ANSWER), response(made(MessageType.RESULT, ANSWER))])
def test_it_is_the_wires_json_and_can_be_read_again(value: Message | SessionResponse):
    assert json.loads(value.to_json()) == value.to_dict() == json.loads(msgspec.json.encode(value))
    assert value.to_json(indent=2).count("\n") > 5
    assert json.loads(value.to_json(indent=2)) == value.to_dict()
    assert msgspec.convert(value.to_dict(), type(value)) == value
    assert msgspec.json.decode(value.to_json(), type=type(value)) == value


def test_it_is_short():
    long = response(*[made(MessageType.INFO, "x" * 10_000) for _ in range(500)], made(MessageType.RESULT, ANSWER * 100))
    assert repr(long) == f"SessionResponse(id='s', status=None, messages=501, text={ANSWER[:79] + '…'!r})"
    assert len(repr(long.messages[0])) < 200
    assert repr(made(MessageType.INFO, None)) == "Message(seq=1, message_type='info', actor='analyst', content='')"


def test_it_has_one_line_without_control_characters():
    shown = repr(made(MessageType.INFO, "a\nb\x1b[31m\u202ec", title="t"))
    assert shown.isprintable()
    assert len(shown.splitlines()) == 1


def test_a_notebook_shows_the_answer_without_what_loads_or_runs_anything():
    shown = response(made(MessageType.INFO, "reading"), made(MessageType.RESULT, ANSWER))._repr_markdown_()
    assert shown.startswith("**Compromised.**")
    assert made(MessageType.RESULT, ANSWER)._repr_markdown_() == shown
    assert "![" not in shown
    assert "](http" not in shown
    assert "`<script>`" in shown
    assert "<script" not in shown.replace("`<script>`", "")


def test_what_is_no_answer_is_shown_by_its_repr():
    assert made(MessageType.INFO, ANSWER)._repr_markdown_() is None
    assert made(MessageType.SOURCE, "aGk=", mime_type=MimeType.PNG)._repr_markdown_() is None
    assert response()._repr_markdown_() == ""
