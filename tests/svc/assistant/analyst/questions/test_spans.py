"""The time between two records, what came after or before a record, and numbers that a question demands."""

from __future__ import annotations

import pytest

from svc.assistant.analyst.clauses import pieces_of
from svc.assistant.analyst.questions.conditions import conditions_of, demands_in
from svc.assistant.analyst.questions.spans.answers import is_before, span_words
from svc.assistant.analyst.questions.spans.reading import lacks_an_end, span_of
from svc.assistant.analyst.questions.spans.relative import relative_of
from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.moments import KEPT, Moments
from svc.messages import AnswerStatus
from tests.support.inline_analyst import ask

LOG = b"""\
Nov 24 00:10:00 jump-2 sshd[100]: Failed password for invalid user oracle from 203.0.113.210 port 41001 ssh2
Nov 24 00:12:30 jump-2 sshd[101]: Failed password for greta from 203.0.113.210 port 41002 ssh2
Nov 24 00:19:45 jump-2 sshd[103]: Accepted password for greta from 203.0.113.210 port 41004 ssh2
Nov 24 01:02:00 jump-2 sshd[104]: Accepted password for ines from 203.0.113.215 port 41005 ssh2
Nov 24 07:30:00 jump-2 sshd[105]: Accepted publickey for henk from 10.9.0.4 port 41006 ssh2: ED25519 SHA256:abc
"""


def event(number: int, time: str) -> Event:
    return Event(
        number=number, offset=None, time=time, product="", service="", category="", host="", event_id=None, fields={},
        excerpt="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("clause", "first", "second"),
    [
        ("how long between the first failure and the login", "the first failure", "the login"),
        ("time from the vpn connect to the sudo?", "the vpn connect", "the sudo"),
        ("how many minutes after the visit was the file opened", "the visit", "the file opened"),
        ("how long did it take them to get in after the first probe", "the first probe", "them to get in"),
    ],
)
def test_both_ends_of_a_time_are_read(clause: str, first: str, second: str):
    found = span_of(clause)
    assert found is not None
    assert (found.first.text, found.second.text) == (first, second)


@pytest.mark.parametrize("clause", ["how long was ann connected", "what happened between 2 and 3", "who logged in"])
def test_other_questions_ask_for_no_time_between(clause: str):
    assert span_of(clause) is None
    assert not lacks_an_end(clause)


def test_the_and_between_two_ends_does_not_split_a_question():
    text = "how long between the failure and when she got in, and who is she"
    assert [text[start:stop].strip() for start, stop in pieces_of(text)] == [
        "how long between the failure and when she got in", "who is she",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.25, "0.25 s"), (59, "59 s"), (435, "7 min 15 s (435 seconds)"), (90_000, "1 d 1 h (90,000 seconds)")],
)
def test_a_time_is_said_in_words_and_in_seconds(seconds: float, words: str):
    assert span_words(seconds) == words


def test_times_without_a_year_are_compared_with_those_that_have_one():
    assert is_before("2026-11-24T00:30:00", "--11-24T00:41:00")
    assert not is_before("--11-24T00:41:00", "2026-11-24T00:30:00")


def test_the_earliest_and_the_latest_of_many_records_are_kept():
    moments = Moments()
    for number in range(3 * KEPT):
        moments.add(event(number=number, time=f"2026-11-24T{number // 60:02}:{number % 60:02}:00Z"))
    kept = [one.number for one, _ in moments.labelled]
    assert kept == [*range(KEPT), *range(2 * KEPT, 3 * KEPT)]


@pytest.mark.parametrize(
    ("clause", "field", "value"),
    [
        ("how many severity 1", "equals", ("severity", ("severity", "sev", "level"), "1")),
        ("what was the 2nd account to log in", "rank", 2),
        ("which accounts failed more than once", "least", 2),
        ("which ports were blocked but never allowed", "other", ("without", "allowed")),
        ("which hosts were only blocked", "other", ("only", "blocked")),
        ("who logged in first", "ends", "first"),
    ],
)
def test_what_a_question_demands_is_read(clause: str, field: str, value: object):
    found = conditions_of(clause)
    assert found is not None
    assert getattr(found, field) == value


def test_a_date_is_no_rank():
    found = conditions_of("how many failed logins on the 2nd")
    assert found is not None
    assert (found.rank, found.days) == (0, ("-02",))


@pytest.mark.parametrize(
    "clause", ["did she log in from the same country as him", "who was on longer", "is it normal that he logs in"]
)
def test_a_comparison_that_no_answer_makes_is_noticed(clause: str):
    assert demands_in(clause)


def test_what_came_after_failures_in_general_is_left_to_the_report_on_logins():
    assert relative_of("who logged in after failures?") is None
    assert relative_of("who logged in after ines logged in") is not None


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("how long between gretas first failed login and when she got in", "**7 min 15 s (435 seconds)**"),
        ("who logged in after ines logged in", "**`henk`**"),
        ("what was the 2nd account to log in", "account `ines`"),
    ],
)
async def test_answers_are_calculated_from_the_records(question: str, says: str):
    asked = await ask(question, ("auth.log", LOG))
    assert says in asked.markdown.partition("<details>")[0]
    assert asked.answer.status is AnswerStatus.ANSWERED


async def test_a_time_with_an_end_that_nothing_is_about_is_not_told():
    asked = await ask("how long between the login of greta and the reboot", ("auth.log", LOG))
    assert "**Cannot tell**" in asked.markdown
    assert "nothing with a time that was read is about `the reboot`" in asked.markdown
    assert asked.answer.status is AnswerStatus.NOT_ANSWERED
