"""Questions with several clauses: each is answered as it would be alone, or the answer says that it is not."""

from __future__ import annotations

import pytest

from svc.assistant.analyst.clauses import pieces_of
from svc.assistant.analyst.compound.clause_plans import plan_of
from svc.assistant.analyst.plan import make_plan, read_question
from tests.support.inline_analyst import ask, turn_file
from tests.svc.assistant.analyst.as_analysts_ask.pairs import plain
from tests.svc.assistant.analyst.compound.evidence import OPEN, auth_log, connections
from tests.svc.assistant.analyst.compound.sets import Asked, Outcome, answer_of, asked_of, judged

MOST_SILENT = {"open": 0.02, "held": 0.07}
"""The share of clauses of which the answer says neither what was asked nor that it cannot tell it."""
MOST_FOR_NOTHING = {"open": 0.0, "held": 0.06}
"""The share of clauses that are counted as answered although the answer does not say what was asked."""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("half", ["open", "held"])
async def test_each_clause_is_answered_or_said_not_to_be(half: str):
    found = [(asked, one) for asked in asked_of(half) for one in judged(asked, *await answer_of(asked))]
    silent = [f"{asked} [{words}]" for asked, (words, outcome, _) in found if outcome is Outcome.SILENT]
    for_nothing = [f"{asked} [{words}]" for asked, (words, _, is_counted) in found if is_counted]
    print(f"{half}: {len(found)} clauses, {len(silent)} silent, {len(for_nothing)} counted for nothing")
    assert len(silent) <= MOST_SILENT[half] * len(found), "\n".join(silent)
    assert len(for_nothing) <= MOST_FOR_NOTHING[half] * len(found), "\n".join(for_nothing)


async def _asked(question: str) -> str:
    asked = await ask(question, ("auth.log", auth_log(OPEN).encode()))
    return plain(asked.markdown.partition("<details>")[0])


@pytest.mark.parametrize(
    "question",
    [
        "Who got in, and which IPs are external?",
        "who got in? which ips are external?",
        "who got in which ips are external",
        "who got in as well as which ips are external",
    ],
)
async def test_a_clause_takes_no_tool_from_another(question: str):
    text = await _asked(question)
    assert "`which ips are external`: **1 external address:** `203.0.113.23`" in text.replace("IPs", "ips")
    assert "Compromised account: `deploy`" in text


async def test_a_clause_that_the_report_says_nothing_about_is_not_answered():
    asked = await ask("who logged in over rdp and who failed to log in", ("auth.log", auth_log(OPEN).encode()))
    states = {one["text"]: one["state"] for one in asked.coverage["clauses"]}
    assert states == {"who logged in over rdp": "cannot tell", "who failed to log in": "answered"}
    assert "none of the 7 logins read names `rdp`" in asked.markdown


async def test_nobody_is_named_where_no_account_is():
    asked = await ask("was data exfiltrated and which user did it", ("conns.csv", connections(OPEN).encode()))
    assert asked.coverage["clauses"][1]["state"] == "cannot tell"
    assert "**Cannot tell** `which user did it`" in asked.markdown


@pytest.mark.parametrize(
    "question", ["which ips are external and was sudo used", "who got in, and which ips are external?"]
)
async def test_the_parts_of_a_further_question_are_answered_one_by_one(question: str):
    text, states = await answer_of(Asked("auth.log", auth_log(OPEN).encode(), ("who got in", question), ()))
    assert "**1 external address:** `203.0.113.23`" in plain(text.partition("<details>")[0])
    assert set(states.values()) == {"answered"}


def test_the_plan_of_a_compound_question_has_what_each_clause_needs_alone():
    file = turn_file("auth.log", auth_log(OPEN).encode())
    question = read_question("Who got in, and which IPs are external?", (file,))
    alone = make_plan(read_question("which IPs are external?", (file,)))
    names = {planned.skill.name for planned in plan_of(question).skills}
    assert names > {planned.skill.name for planned in alone.skills}
    assert {call.options.get("question") for one in plan_of(question).skills for call in one.calls} <= {
        None,
        question.text,
    }


def test_a_tool_that_several_clauses_need_runs_once():
    file = turn_file("auth.log", auth_log(OPEN).encode())
    plan = plan_of(read_question("Who got in? Who was brute-forced? Who failed to log in?", (file,)))
    names = [(planned.skill.name, call.name) for planned in plan.skills for call in planned.calls]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("who got in which ips are external", ["who got in", "which ips are external"]),
        ("what was run as well as when did it start", ["what was run", "when did it start"]),
        ("do you know which ips are external", ["do you know which ips are external"]),
        ("which user was in which group", ["which user was in which group"]),
        ("show the users as well as the hosts", ["show the users as well as the hosts"]),
    ],
)
def test_clauses_are_found_without_marks_between_them(text: str, pieces: list[str]):
    assert [text[start:stop].strip() for start, stop in pieces_of(text)] == pieces
