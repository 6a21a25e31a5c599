"""An answer shows itself in three forms, and what varies stands beside them."""

from __future__ import annotations

from svc import Message, MessageType, Role
from svc_jupyter.answer import MIME_TYPE, Answer


def answer(session_id: str = "s1", created_at: float = 1.0) -> Answer:
    def message(kind: MessageType, content: str) -> Message:
        return Message(message_type=kind, content=content, role=Role.AGENT, turn="t1", created_at=created_at)

    return Answer(
        (message(MessageType.INFO, "read"), message(MessageType.RESULT, "# Yes\n\nfrom 203.0.113.9 <b>x</b>")),
        "svc-1.1",
        session_id,
    )


def test_markdown_and_text_are_safe_and_the_raw_answer_is_kept():
    assert answer().markdown == "# Yes\n\nfrom `203[.]0[.]113[.]9` `<b>`x`</b>`"
    assert answer().text == "# Yes\n\nfrom 203[.]0[.]113[.]9 <b>x</b>"
    assert answer().raw == "# Yes\n\nfrom 203.0.113.9 <b>x</b>"
    assert len(answer().messages) == 2


def test_what_is_shown_depends_on_the_answer_alone():
    first, beside_first = answer("s1", 1.0)._repr_mimebundle_()
    second, beside_second = answer("s2", 2.0)._repr_mimebundle_()

    assert first == second
    assert first[MIME_TYPE] == {"model": "svc-1.1", "text": "# Yes\n\nfrom 203.0.113.9 <b>x</b>"}
    assert beside_first != beside_second
    assert beside_first[MIME_TYPE]["session_id"] == "s1"


def test_its_repr_is_one_line():
    assert repr(answer()) == "<Answer, 2 messages: # Yes>"
