"""An answer shows itself in three forms, and what varies is next to them."""

from __future__ import annotations

import re
from base64 import b64encode

from svc import Message, MessageType, MimeType, Role
from svc.assistant.skills.charts import Bar, bars
from svc_jupyter.answers.answer import MIME_TYPE, Answer
from svc_jupyter.report.sanitize import clean


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
    assert first[MIME_TYPE] == {
        "key": "",
        "model": "svc-1.1",
        "text": "# Yes\n\nfrom 203.0.113.9 <b>x</b>",
        "findings": [],
    }
    assert beside_first != beside_second
    assert beside_first[MIME_TYPE]["session_id"] == "s1"


def test_its_repr_is_one_line():
    assert repr(answer()) == "<Answer, 2 messages: # Yes>"


HOSTILE = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>alert(2)</script></svg>"


def drawn(mime_type: MimeType, content: bytes, title: str = "Processes") -> Answer:
    encoded = b64encode(content).decode()
    source = Message(
        message_type=MessageType.SOURCE, role=Role.AGENT, mime_type=mime_type, content=encoded, title=title
    )
    return Answer((source,), "svc-1.1", "s1")


def test_a_picture_is_an_image_and_never_markup_of_the_page():
    (picture,) = drawn(MimeType.SVG, HOSTILE, 'a "<b>" title').pictures

    assert picture._repr_mimebundle_() == {
        "application/vnd.svc.picture+json": {},
        "text/html": '<img alt="a &quot;&lt;b&gt;&quot; title" title="a &quot;&lt;b&gt;&quot; title" '
        f'src="data:image/svg+xml;base64,{b64encode(HOSTILE).decode()}" width="900">',
        "text/plain": '[picture: a "<b>" title]',
    }


def test_a_chart_fills_the_width_and_keeps_its_height():
    (drawing,) = bars("Sources", [Bar(label="10.0.0.1", value=1)] * 3)
    (picture,) = drawn(MimeType.SVG, drawing.svg.encode()).pictures

    shown = picture._repr_mimebundle_()["text/html"]
    height = re.search(r'height="(\d+)"', drawing.svg)[1]
    assert shown.endswith(f' width="100%" height="{height}">')
    assert "width" in clean(shown)


def test_a_page_is_no_picture():
    page = Message(message_type=MessageType.SOURCE, role=Role.AGENT, mime_type=MimeType.HTML, content="<b>x</b>")
    assert Answer((page,), "svc-1.1", "s1").pictures == ()
    assert drawn(MimeType.PDF, b"%PDF-1.7").pictures == ()
