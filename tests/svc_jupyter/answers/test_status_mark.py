"""An unanswered question is marked in words, at the start, and its headline is not repeated."""

from __future__ import annotations

import pytest

from svc import AnswerStatus, Message, MessageType, MimeType
from svc_jupyter.answers import transcript
from svc_jupyter.answers.answer import MIME_TYPE, Answer
from svc_jupyter.answers.last_answer import last_answer
from svc_jupyter.answers.status_mark import headline, label, marked_markdown, marked_text

EXAMINED = AnswerStatus.NOT_EXAMINED
ANSWERED = AnswerStatus.NOT_ANSWERED
NOTICE = "⚠ **Not examined.** The evidence was not read: this is not a negative result.\n\n"


@pytest.mark.parametrize(
    ("markdown", "status", "shown"),
    [
        pytest.param("**No failed login.**", EXAMINED, f"{NOTICE}**No failed login.**", id="another headline"),
        pytest.param("**Not examined: a.log**", EXAMINED, "⚠ **Not examined: a.log**", id="the same headline"),
        pytest.param("## Not examined\n\nx", EXAMINED, "## ⚠ Not examined\n\nx", id="a heading"),
        pytest.param("> *Not examined:* x", EXAMINED, "> ⚠ *Not examined:* x", id="a quote"),
        pytest.param("\nNOT EXAMINED, x", EXAMINED, "\n⚠ NOT EXAMINED, x", id="capitals after an empty line"),
        pytest.param("- Not examined: x", EXAMINED, f"{NOTICE}- Not examined: x", id="a list stays a list"),
        pytest.param("```json\n{}\n```", EXAMINED, f"{NOTICE}```json\n{{}}\n```", id="code stays code"),
        pytest.param("| a |\n|---|", EXAMINED, f"{NOTICE}| a |\n|---|", id="a table stays a table"),
        pytest.param("", EXAMINED, NOTICE, id="empty"),
        pytest.param("It was not examined.", EXAMINED, f"{NOTICE}It was not examined.", id="said later is not first"),
        pytest.param("Not answered.", EXAMINED, f"{NOTICE}Not answered.", id="the other status"),
        pytest.param("x", ANSWERED, "⚠ **Not answered.** This is not a negative result.\n\nx", id="not answered"),
        pytest.param("Not answered: x", ANSWERED, "⚠ Not answered: x", id="not answered, said"),
        pytest.param("x", AnswerStatus.ANSWERED, "x", id="answered"),
        pytest.param("x", AnswerStatus.PARTLY_ANSWERED, "x", id="partly"),
        pytest.param("x", AnswerStatus("zork"), "x", id="of a newer service"),
        pytest.param("Not examined", None, "Not examined", id="unknown"),
    ],
)
def test_the_mark_is_the_first_thing_in_the_answer(markdown: str, status: AnswerStatus | None, shown: str):
    assert marked_markdown(markdown, status) == shown


SAID = (
    "***Not examined:*** x", "__Not examined__: x", "**NOT EXAMINED**", "### **Not examined**, x", ">> Not examined",
    "  **Not examined:** x", "\n\n# *Not examined*", "_Not examined_, because x",
)  # fmt: skip
NOT_SAID = (
    "1. Not examined", "<b>Not examined</b>", "`Not examined`", "Nicht untersucht: x", "Yes. Not examined: b.log",
    "Not exam", '{"answer": null}',
)  # fmt: skip


@pytest.mark.parametrize("markdown", [*SAID, *NOT_SAID])
def test_a_headline_is_kept_as_it_is(markdown: str):
    shown = marked_markdown(markdown, EXAMINED)

    if markdown in SAID:
        assert shown.replace("⚠ ", "", 1) == markdown
    else:
        assert shown == f"{NOTICE}{markdown}"


def test_plain_text_is_marked_without_markup():
    text = marked_text("Nothing found.", EXAMINED)

    assert text == "⚠ Not examined. The evidence was not read: this is not a negative result.\n\nNothing found."
    assert headline(text) == "Nothing found."
    assert headline(marked_text("Not examined: a.log", EXAMINED)) == "⚠ Not examined: a.log"
    assert headline("\n\n") == ""
    assert headline("- Yes: one.\n- No: two.") == "Yes: one."


@pytest.mark.parametrize("status", [None, "", "zork", "<b>"])
def test_only_known_statuses_are_shown(status: str | None):
    assert label(status) == "unknown"


COVERAGE = """{"status": "not_examined", "inputs": [{"name": "a.log", "state": "not examined", "total": 4,
"reason": "no line is known"}], "clauses": [{"text": "who?", "state": "cannot tell"}]}"""


def turn(status: AnswerStatus | None, content: str = "**Nothing stands out.**") -> list[Message]:
    source = {"title": "coverage", "mime_type": MimeType.JSON, "content": COVERAGE}
    return [
        Message(message_type=MessageType.QUERY, content="who?", turn="t"),
        Message(message_type=MessageType.SOURCE, turn="t", group="g", **source),
        Message(message_type=MessageType.RESULT, content=content, turn="t", group="g", answer_status=status),
        Message(message_type=MessageType.INFO, state="end", turn="t", group="g"),
    ]


@pytest.mark.parametrize("status", [None, *AnswerStatus])
def test_everything_that_shows_an_answer_shows_the_mark(status: AnswerStatus | None):
    answer = Answer(tuple(turn(status)), "svc-1", "s1")
    data, _ = answer._repr_mimebundle_()
    told = transcript.bundle(turn(status), css_class="")
    texts = (answer.text, data["text/plain"], told["text/plain"], repr(answer))
    pages = (answer.markdown, data["text/markdown"], told["text/markdown"], last_answer(turn(status)).markdown)

    mark = {EXAMINED: "⚠ Not examined.", ANSWERED: "⚠ Not answered."}.get(status, "⚠")
    is_marked = status in (EXAMINED, ANSWERED)
    assert [mark in text for text in texts] == [is_marked] * 4
    assert [mark in page.replace("**", "") for page in pages] == [is_marked] * 4
    assert answer.raw == "**Nothing stands out.**"
    assert answer.status == status
    assert data[MIME_TYPE].get("status") == status
    assert ("status" in data[MIME_TYPE]) is (status is not None)


def test_the_coverage_is_a_table_of_the_inputs():
    frame = Answer(tuple(turn(EXAMINED)), "svc-1", "s1").coverage.to_pandas()

    assert list(frame.columns) == [
        "name", "state", "read_as", "unit", "understood", "total", "looked_for", "not_covered", "reason", "skill",
        "findings", "size", "label", "total_is_minimum",
    ]  # fmt: skip
    assert frame.iloc[0].to_dict() == {
        "name": "a.log", "state": "not examined", "read_as": "", "unit": "", "understood": 0, "total": 4,
        "looked_for": "", "not_covered": "", "reason": "no line is known", "skill": "", "findings": 0, "size": 0,
        "label": "", "total_is_minimum": False,
    }  # fmt: skip
    without = Answer(tuple(turn(EXAMINED)[2:]), "svc-1", "s1").coverage.to_polars()
    assert (len(without), list(without.columns)) == (0, list(frame.columns))
