"""Answer a further question that only the plan understands: "were any shadow copies deleted?". Pure.

It is answered from what is known unless its words name a tool that has not read the evidence yet.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.clauses import Clause, ClauseKind, ClauseState
from svc.assistant.analyst.contract import extent
from svc.assistant.analyst.follow_ups.conversation import not_understood
from svc.assistant.analyst.follow_ups.known import Known
from svc.assistant.analyst.follow_ups.reading import Ask, AskKind
from svc.assistant.analyst.follow_ups.replies import reply_to, verdicts
from svc.assistant.analyst.follow_ups.scene import Scene, ShortAnswer
from svc.assistant.analyst.follow_ups.wording import bulleted
from svc.assistant.analyst.particulars import answered, general, matchable_rules, names_in, of_behaviour, of_name
from svc.assistant.analyst.plan import BY_WORDS, Plan
from svc.assistant.analyst.questions.conditions import CONDITIONS
from svc.assistant.analyst.questions.following import FOLLOWING
from svc.assistant.analyst.questions.record_questions import RECORDS
from svc.assistant.analyst.questions.things import about
from svc.assistant.findings import AnyFinding
from svc.assistant.skills.catalogue import skill_of_kind
from svc.assistant.skills.skill import Skill
from svc.assistant.spool import worst_first
from svc.messages import AnswerStatus
from svc.untrusted.markup import escape


def skills_that_ran(known: Known) -> set[str]:
    """The names of the skills that read the evidence."""
    found = {skill.name for one in known.findings for skill in [skill_of_kind(one.kind)] if skill is not None}
    titles = {one.skill for one in known.read}
    return found | titles


def names_new_task(plan: Plan, known: Known) -> bool:
    """Whether the words of the question name a tool that has not read the evidence yet and needs evidence."""
    ran = skills_that_ran(known)
    return any(
        not planned.skill.reads_question
        and planned.reason.startswith(BY_WORDS)
        and not ({planned.skill.name, planned.skill.title} & ran)
        and planned.calls
        for planned in plan.skills
    )


def lacks_disabled(plan: Plan, known: Known, *, is_answered: bool) -> bool:
    """Whether a disabled tool is missing for the answer: one that the words name; without an answer, any that fits."""
    ran = skills_that_ran(known)
    missing = [one for one in plan.disabled if not ({one.skill.name, one.skill.title} & ran)]
    return any(one.is_named or not is_answered for one in missing)


def without_known(plan: Plan, known: Known) -> Plan:
    """The plan without the tools that have read the evidence: their report is known, but not each of the records."""
    ran = skills_that_ran(known)
    kept = [
        one
        for one in plan.skills
        if any({CONDITIONS, FOLLOWING} & call.options.keys() for call in one.calls)
        or (
            (one.reason.startswith(BY_WORDS) or any(RECORDS in call.options for call in one.calls))
            and not {one.skill.name, one.skill.title} & ran
        )
    ]
    skills = tuple(kept)
    return msgspec.structs.replace(plan, skills=skills)


def planned_reply(question: str, plan: Plan, known: Known) -> ShortAnswer:
    """The answer to each clause of the question, from the findings; or that it was not understood."""
    if plan.unsupported:
        listed = "; it also cannot ".join(map(escape, plan.unsupported))
        text = f"**Not answered.** This analyst works offline and cannot yet {listed}."
        known_of = [one for name in named_in(plan, known) for one in about(known.findings, name)]
        if not known_of:
            return ShortAnswer(markdown=text, status=AnswerStatus.NOT_ANSWERED)
        text += "\n\nWhat was found about it here:\n\n" + "\n".join(bulleted(list(worst_first(known_of)), 3))
        return ShortAnswer(markdown=text, findings=known_of, status=AnswerStatus.PARTLY_ANSWERED)
    replies = [_clause_reply(clause, plan, known) for clause in plan.clauses[:3]]
    if not replies or all(one is None for one in replies):
        is_covered = not any(clause.is_yes_no and clause.is_understood for clause in plan.clauses)
        return not_understood(question, known, is_covered=is_covered)
    made = [one for one in replies if one is not None]
    search = tuple(dict.fromkeys(name for one in made for name in one.search))
    states = {one.status for one in made}
    status = AnswerStatus.ANSWERED if states == {AnswerStatus.ANSWERED} else AnswerStatus.PARTLY_ANSWERED
    return ShortAnswer(
        markdown="\n\n".join(one.markdown for one in made if one.markdown),
        findings=[finding for one in made for finding in one.findings],
        status=made[0].status if len(made) == 1 else status,
        search=search,
    )


def named_in(plan: Plan, known: Known) -> tuple[str, ...]:
    """The values that the clauses of a question name."""
    return tuple(dict.fromkeys(name for clause in plan.clauses for name in names_in(clause, known.findings)))


def _clause_reply(clause: Clause, plan: Plan, known: Known) -> ShortAnswer | None:
    names = names_in(clause, known.findings)
    unknown = [name for name in names if not about(known.findings, name)]
    if clause.is_state:
        found = answered(clause, known.findings, (), events="")
        is_known = found.state is ClauseState.ANSWERED
        return ShortAnswer(
            markdown=found.sentence, status=AnswerStatus.ANSWERED if is_known else AnswerStatus.NOT_ANSWERED
        )
    if unknown:
        return ShortAnswer(search=tuple(unknown))
    if clause.kind is ClauseKind.OPEN and clause.is_yes_no and clause.is_general:
        return ShortAnswer(markdown=general(clause, known.findings, _searched(known)), findings=_severe(known.findings))
    if clause.kind is ClauseKind.OPEN:
        is_open = clause.is_general or any(word in clause.english.lower() for word in _OPEN_WORDS)
        return reply_to(Ask(kind=AskKind.SUMMARY, text=clause.text), Scene(known=known)) if is_open else None
    rules, events = matchable_rules(known.findings)
    if not names and (named := of_name(clause, known.findings, rules, events, _searched(known))) is not None:
        is_told = named.state is ClauseState.ANSWERED
        return ShortAnswer(
            markdown=named.sentence, status=AnswerStatus.ANSWERED if is_told else AnswerStatus.NOT_ANSWERED
        )
    if (searched := of_behaviour(clause, known.findings)) is not None:
        is_told = searched.state is ClauseState.ANSWERED
        return ShortAnswer(
            markdown=searched.sentence, status=AnswerStatus.ANSWERED if is_told else AnswerStatus.NOT_ANSWERED
        )
    particular = answered(clause, known.findings, rules, events=events)
    if particular.state is ClauseState.CANNOT_TELL and not names and clause.kind is ClauseKind.PARTICULAR:
        return None
    if particular.state is ClauseState.CANNOT_TELL and clause.kind is ClauseKind.NAMED:
        return _by_skill(clause, known)
    status = {ClauseState.ANSWERED: AnswerStatus.ANSWERED, ClauseState.PARTLY_ANSWERED: AnswerStatus.PARTLY_ANSWERED}
    return ShortAnswer(markdown=particular.sentence, status=status.get(particular.state, AnswerStatus.NOT_ANSWERED))


_OPEN_WORDS = ("happen", "analy", "summar", "look", "check", "investigat", "triage", "story", "overview", "suspicious")


def _by_skill(clause: Clause, known: Known) -> ShortAnswer | None:
    """The verdict of the skills that a clause names."""
    findings = [one for one in known.findings if _is_of(skill_of_kind(one.kind), clause)]
    texts = verdicts(findings)
    return ShortAnswer(markdown="\n\n".join(texts), findings=_severe(findings)) if texts else None


def _is_of(skill: Skill | None, clause: Clause) -> bool:
    return skill is not None and skill.name in clause.skills


def _severe(findings: Sequence[AnyFinding]) -> list[AnyFinding]:
    return [one for one in findings if one.severity.value != "info"]


def _searched(known: Known) -> str:
    listed = dict.fromkeys(f"{one.looked_for} in {extent(one)}" for one in known.read)
    return "; ".join(list(listed)[:3])
