"""Messages of what an assistant yields: sizes, roles, counted tokens, the history they make."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.assistant.turn import Answer, Exchange, Step
from svc.errors import UpstreamError
from svc.messages import Message, MessageType, MimeType, Usage
from svc.service.settings import Settings
from svc.service.turns.message_builder import MessageBuilder, count_tokens, count_usage, exchanges_of

QUERY = Message(message_type=MessageType.QUERY, id="q", turn="t", content="who?", created_at=100.0)
SMALL = Settings(max_content_bytes=2_000, max_message_bytes=4_096 + 3_000)


@given(st.text(max_size=3_000), st.text(alphabet='\x00\x1b\n"\\€𝄞a', max_size=3_000))
def test_any_content_fits_its_frame_and_is_kept_if_it_fits(text: str, nasty: str):
    transcript = MessageBuilder(QUERY, SMALL)
    for content in (text, nasty):
        message = transcript.step(Step(content=content), 101.0)
        assert len((message.content or "").encode()) <= SMALL.max_content_bytes
        assert len(msgspec.json.encode(message)) <= SMALL.max_message_bytes
        if transcript.fits(content):
            assert message.content == content
        else:
            assert message.content.endswith("… [cut]")
            assert content.startswith(message.content.removesuffix("… [cut]"))


def test_an_answer_is_a_plain_text_result_and_the_closing_info():
    result, closing = MessageBuilder(QUERY, SMALL).answer(
        Answer(markdown="# it"), Usage(total_tokens=3), 101.5, full_text_file=None
    )
    assert (result.message_type, result.mime_type, result.content) == ("result", MimeType.TEXT, "# it")
    assert result.usage == Usage(total_tokens=3)
    assert closing.ends_turn
    assert closing.content == "Answered after 1.5 s."


def test_a_failure_is_an_error_with_its_wire_code():
    message = MessageBuilder(QUERY, SMALL).failure(UpstreamError("the model is gone"), Usage(total_tokens=3), 101.0)
    assert (message.status_code, message.status_message, message.content) == (
        502,
        "upstream_error",
        "the model is gone",
    )
    assert message.ends_turn


@pytest.mark.parametrize("kind", [MessageType.RESULT, MessageType.ERROR, MessageType.QUERY, MessageType.CANCEL])
def test_a_step_with_an_invalid_type_is_an_internal_error(kind: MessageType):
    with pytest.raises(TypeError):
        MessageBuilder(QUERY, SMALL).step(Step(content="x", message_type=kind), 101.0)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("€€", 2)])
def test_four_bytes_are_a_token(text: str, tokens: int):
    assert count_tokens(text) == tokens


def test_a_token_count_of_the_assistant_takes_precedence():
    own = Usage(prompt_tokens=1, generated_tokens=2, total_tokens=3)
    assert count_usage("a" * 40, Answer(markdown="b" * 40, usage=own)) == own
    assert count_usage("a" * 40, Answer(markdown="b" * 80)).total_tokens == 30


def test_only_the_answered_run_of_a_repeated_turn_is_history():
    def said(kind: MessageType, group: str, content: str, mime: MimeType = MimeType.TEXT) -> Message:
        return Message(message_type=kind, group=group, content=content, mime_type=mime)

    messages = [
        said(MessageType.QUERY, "q1", "one"),
        said(MessageType.SOURCE, "g1", "1", MimeType.JSON),
        said(MessageType.SOURCE, "g2", "2", MimeType.JSON),
        said(MessageType.SOURCE, "g2", "a page", MimeType.TEXT),
        said(MessageType.RESULT, "g2", "answer"),
    ]
    assert exchanges_of(messages) == (
        Exchange(prompt="one", answer="answer", sources=("2",), asked=messages[0].created_at),
    )
