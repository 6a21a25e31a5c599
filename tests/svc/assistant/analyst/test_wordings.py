"""Questions as people word them, half of them held out while the analyst was developed."""

from __future__ import annotations

import re

import pytest

from svc.messages import AnswerStatus
from tests.support.inline_analyst import Asked, ask
from tests.support.sampling import sampled
from tests.support.wording_evidence import EVIDENCE
from tests.support.wordings import CASES, SOFT, UNKNOWN, YES, Wording
from tests.svc.assistant.analyst.test_matrix import headline

UNANSWERED = (AnswerStatus.NOT_ANSWERED, AnswerStatus.NOT_EXAMINED)
_YES = r"yes\b"
_UNKNOWN = "(?:no sign|nothing found|cannot tell|not examined|not answered|only searched)"
_FIRST = {YES: _YES, SOFT: f"(?:{_YES}|possibly)", UNKNOWN: _UNKNOWN}
_OPEN_LEAD = "not examined|not answered|only searched|cannot tell"
SKILL_NAMES = {"decode": "Decoding", "auth_log": "Logins"}
ALL = [
    pytest.param(wording, id=f"{case}-{half}-{number}")
    for case, halves in CASES.items()
    for half, wordings in halves.items()
    for number, wording in enumerate(wordings, start=1)
]


def lead_of(asked: Asked) -> str:
    """The headline without the notice in another language, and with its defanged addresses restored."""
    text = re.sub(r"\\?\[\\?\.\\?\]", ".", headline(asked))
    return re.sub(r"\A\*(?!\*)[^\n]*\*\n+", "", text)


@pytest.mark.parametrize("wording", sampled(ALL, 60))
async def test_wording(wording: Wording):
    files = [EVIDENCE[wording.evidence]] if wording.evidence else []
    asked = await ask(wording.question, *files, language=wording.language)
    lead, clauses = lead_of(asked), asked.coverage["clauses"]
    assert asked.coverage["status"] == asked.answer.status
    if wording.is_open:
        check_unanswered(asked, wording, lead)
        return
    for pattern in wording.lead:
        assert re.search(pattern, lead, re.IGNORECASE), f"no {pattern}: {lead}"
    for pattern in wording.body:
        assert re.search(pattern, asked.markdown, re.IGNORECASE), f"no {pattern}: {asked.markdown}"
    if wording.never:
        assert not re.search(wording.never, lead, re.IGNORECASE), lead
    if wording.first:
        assert re.match(rf"\W*{_FIRST[wording.first]}", lead, re.IGNORECASE), f"not {wording.first}: {lead}"
    if wording.clauses:
        assert len(clauses) == wording.clauses, clauses
        assert all(one["reason"] for one in clauses if one["state"] != "answered"), clauses
    ran = {step.actor for step in asked.steps}
    assert set(wording.skills) <= ran
    is_unknown = wording.first == UNKNOWN or any(pattern.startswith("no finding") for pattern in wording.lead)
    if wording.first in (YES, SOFT) or (wording.lead and not is_unknown):
        assert asked.answer.status in (AnswerStatus.ANSWERED, AnswerStatus.PARTLY_ANSWERED), (clauses, lead)


def check_unanswered(asked: Asked, wording: Wording, lead: str) -> None:
    """Nothing was read that could answer: it says so, and makes no findings of the words of the question."""
    assert asked.findings == [], asked.findings
    assert re.search(rf"\A\W*(?:{_OPEN_LEAD})", lead, re.IGNORECASE), lead
    is_searched = wording.evidence == "listing"  # a text: it was at least searched for indicators
    assert asked.answer.status in (*UNANSWERED, *([AnswerStatus.PARTLY_ANSWERED] if is_searched else []))


@pytest.mark.parametrize("case", CASES)
def test_half_of_thirty_are_held(case):
    assert [len(CASES[case][half]) for half in ("open", "held")] == [15, 15]


@pytest.mark.parametrize(
    ("question", "evidence", "first"),
    [
        ("Is this machine safe?", "auth", "No:"),
        ("Is everything normal?", "windows", "No:"),
        ("Is it clean?", "quiet", "Cannot tell"),
        ("Is anything out of the ordinary?", "windows", "Yes:"),
        ("Did anyone log in as root?", "auth", "Cannot tell"),
        ("Did anyone log in as mara?", "auth", "Yes:"),
        ("Did anyone log in from 203.0.113.5?", "auth", "No sign"),
        ("Did anyone log in from Brazil?", "auth", "Cannot tell"),
    ],
)
async def test_the_first_word_is_about_what_was_asked(question, evidence, first):
    asked = await ask(question, EVIDENCE[evidence])
    assert re.match(rf"\W*{first}", lead_of(asked)), lead_of(asked)[:300]


async def test_a_value_that_no_worse_finding_mentions_is_searched_in_the_lines():
    asked = await ask("What did 198.51.100.9 request?", EVIDENCE["web"])
    assert "30 of 36 lines mention it, first line 1 of access.log" in lead_of(asked)
    asked = await ask("What did 10.9.8.7 request?", EVIDENCE["web"])
    assert "none of 36 lines mentions it" in lead_of(asked)
