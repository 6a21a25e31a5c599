"""Each input and each clause has an outcome, and the headline says no more than the outcomes do."""

import msgspec
import pytest

from svc.assistant.analyst import render
from svc.assistant.analyst.clauses import Clause, ClauseKind
from svc.assistant.analyst.contract import SkillResult, contract_of
from svc.assistant.analyst.particulars import general
from svc.assistant.analyst.plan import Plan
from svc.assistant.findings import UNJUDGED, Coverage
from svc.assistant.skills.catalogue import skill_named
from svc.messages import AnswerStatus
from tests.support.inline_analyst import ask, turn_file

OPEN = Clause(text="What happened", kind=ClauseKind.OPEN)
WHO = Clause(text="Who got in", kind=ClauseKind.NAMED, skills=("auth_log",))
LOG = turn_file("auth.log", b"x\n" * 10)
FAILED = "Nov 20 03:12:{:02} web1 sshd[{}]: Failed password for root from 192.0.2.7 port 22 ssh2\n"
AUTH = "".join(FAILED.format(second, second + 100) for second in range(12)).encode()


def coverage(understood, total=10):
    return Coverage(
        read_as="Linux authentication log",
        unit="line",
        understood=understood,
        total=total,
        looked_for="failed and accepted logins",
        not_covered="logins of other programs are not looked for",
    )


def result(understood, *, name="auth.log", skill="auth_log", gaps=(), is_fallback=False):
    return SkillResult(
        skill=skill_named(skill),
        findings=(),
        inputs=(name,),
        gaps=tuple((name, gap) for gap in gaps),
        coverage=((name, coverage(understood)),),
        is_fallback=is_fallback,
    )


def answer_of(results, clauses, files):
    contract = contract_of(results, clauses, (), files)
    return contract, render.answer(results, Plan(), contract)


def test_looked_and_found_nothing_says_what_was_looked_for_in_how_much():
    contract, markdown = answer_of([result(10)], [WHO], [LOG])
    assert contract.status is AnswerStatus.ANSWERED
    assert markdown.startswith(
        "**Nothing found** in `auth.log`: looked for failed and accepted logins in 10 of 10 lines; "
        "logins of other programs are not looked for."
    )


@pytest.mark.parametrize("gaps", [(), ("the lines are not those of a log",)])
def test_nothing_understood_is_not_examined_and_never_nothing_found(gaps):
    contract, markdown = answer_of([result(0, gaps=gaps)], [WHO], [LOG])
    assert contract.status is AnswerStatus.NOT_EXAMINED
    assert contract.inputs[0].state == "not examined"
    assert contract.inputs[0].reason == (
        gaps[0] if gaps else "none of 10 lines could be read as Linux authentication log"
    )
    assert markdown.startswith("**Not examined:** `auth.log`, because")
    assert "Nothing found" not in markdown


def test_records_without_any_check_get_no_reassurance():
    unjudged = msgspec.structs.replace(coverage(10), looked_for=UNJUDGED)
    read = msgspec.structs.replace(result(10, skill="events"), coverage=(("auth.log", unjudged),))
    contract, _ = answer_of([read], [OPEN], [LOG])
    assert contract.status is AnswerStatus.PARTLY_ANSWERED
    assert contract.clauses[0].reason == "few or no checks for the records of 1 input"
    asked = Clause(text="Is anything suspicious", kind=ClauseKind.OPEN)
    assert general(asked, (), render.searched([read])).startswith(
        "**Cannot tell** `Is anything suspicious`: the records"
    )
    assert general(asked, (), render.searched([read, result(10)])).startswith("**No sign found of an attack:**")


def test_a_part_is_a_part():
    contract, _ = answer_of([result(4)], [WHO], [LOG])
    assert contract.inputs[0].state == "partly read"


def test_a_tool_that_did_not_report_its_coverage_examined_nothing():
    silent = msgspec.structs.replace(result(10), coverage=())
    contract, markdown = answer_of([silent], [OPEN], [LOG])
    assert contract.status is AnswerStatus.NOT_EXAMINED
    assert "Nothing found" not in markdown


def test_an_input_that_no_tool_reads_is_in_the_headline():
    disk = turn_file("disk.img", bytes(range(256)) * 9)
    contract, markdown = answer_of([result(10)], [OPEN], [LOG, disk])
    assert contract.status is AnswerStatus.PARTLY_ANSWERED
    assert {one.name: one.state for one in contract.inputs} == {"auth.log": "read", "disk.img": "not examined"}
    assert "**1 of 2 inputs not examined:** `disk.img` (no tool reads this kind of file)." in markdown.split("###")[0]


def test_a_fallback_does_not_answer():
    contract, markdown = answer_of([result(10, skill="indicators", is_fallback=True)], [OPEN], [LOG])
    assert contract.status is AnswerStatus.PARTLY_ANSWERED
    particular = Clause(text="Were shadow copies deleted", kind=ClauseKind.PARTICULAR)
    contract, _ = answer_of([result(10, skill="indicators", is_fallback=True)], [particular], [LOG])
    assert contract.status is AnswerStatus.NOT_EXAMINED
    assert contract.clauses[0].state == "cannot tell"
    assert markdown


def test_members_that_were_not_examined_are_inputs():
    contract = contract_of([result(10)], [OPEN], (), [LOG], [("case.zip/memory.raw", "memory images are not read")])
    assert contract.inputs[-1].reason == "memory images are not read"


async def test_the_contract_is_sent_with_the_answer():
    asked = await ask("Who got in?", ("auth.log", AUTH))
    assert asked.coverage["status"] == asked.answer.status
    assert [clause["text"] for clause in asked.coverage["clauses"]] == ["Who got in"]
    assert asked.state_of == {"auth.log": "read"}


@pytest.mark.parametrize(
    "question", ["Who got in?", "Which accounts were brute-forced?", "Were there beacons?", "Is this mail phishing?"]
)
async def test_the_words_of_a_question_are_no_evidence(question):
    asked = await ask(question)
    assert asked.answer.status is AnswerStatus.NOT_ANSWERED
    assert asked.markdown.startswith("**Not answered:** nothing that can be read for it was attached or pasted: “")
    assert not asked.findings


@pytest.mark.parametrize("question", ["Who got in?", "What happened?", "Is it clean?", "Were shadow copies deleted?"])
async def test_an_empty_file_is_not_examined(question):
    asked = await ask(question, ("auth.log", b""))
    assert asked.answer.status is AnswerStatus.NOT_EXAMINED
    assert asked.markdown.startswith("**Not examined:** `auth.log` (`empty`, 0 bytes): the file is empty.")


async def test_a_particular_question_is_not_answered_by_a_search_for_indicators():
    asked = await ask("Were any shadow copies deleted?", ("notes.txt", b"we met 10.0.0.1 and evil.com today\n" * 5))
    assert asked.answer.status is AnswerStatus.NOT_EXAMINED
    assert asked.markdown.startswith(
        "**Cannot tell** `Were any shadow copies deleted`: the input was only searched for indicators.\n\n"
        "**Only searched for IP addresses, domains, URLs"
    )
