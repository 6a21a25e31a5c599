"""Plan each clause of a question as it would be planned alone, so that one clause takes no tool from another. Pure.

The words of a whole question name the tools of all its clauses at once, and a tool that answers one of them may leave
out another that a second clause needs. What the clauses need beside the plan of the whole is added to it; a tool that
several need runs once.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from svc.assistant.analyst.clauses import Clause, ClauseKind
from svc.assistant.analyst.languages import glossed
from svc.assistant.analyst.plan import Plan, PlannedSkill, Question, has_paste, make_plan, merged, records_of
from svc.assistant.analyst.questions.record_questions import RECORDS

MAX_CLAUSES = 8  # planned one by one, the first; planning runs in the time of the question
_PLANNED = (ClauseKind.NAMED, ClauseKind.PARTICULAR)


def plan_of(question: Question) -> Plan:
    """Return what to run for a new question: for all of it, and for each of its clauses."""
    plan = make_plan(question)
    if len(plan.clauses) < 2 or not (question.files or has_paste(question)):
        return plan
    skills = list(plan.skills)
    for own in _alone(plan.clauses, question):
        skills = merged(skills, [_as_of(question, planned) for planned in make_plan(own).skills])
    files = dict.fromkeys([*plan.files, *(file for file in question.files if file.name in _read(skills))])
    return msgspec.structs.replace(plan, skills=tuple(skills), files=tuple(files))


def _alone(clauses: tuple[Clause, ...], question: Question) -> Iterator[Question]:
    """The questions that each consist of one of the clauses and of what is pasted below them."""
    if question.text not in question.prompt:
        return  # a part of it stands below the pasted material
    for clause in [one for one in clauses if one.kind in _PLANNED][:MAX_CLAUSES]:
        others = {name: value for name, value in question.options.items() if name != RECORDS}
        yield msgspec.structs.replace(
            question,
            prompt=question.prompt.replace(question.text, clause.text, 1),
            text=clause.text,
            glossed=glossed(clause.text, question.language),
            options=others | records_of(clause.text, question.language),
        )


def _as_of(question: Question, planned: PlannedSkill) -> PlannedSkill:
    """The plan of a skill for a clause with the prompt and the options of the whole question."""
    options = {name: value for name, value in question.options.items() if name in planned.skill.takes}
    calls = [
        msgspec.structs.replace(
            call, input=question.prompt if isinstance(call.input, str) else call.input, options=options
        )
        for call in planned.calls
    ]
    return msgspec.structs.replace(planned, calls=tuple(calls))


def _read(skills: list[PlannedSkill]) -> set[str]:
    """The names of the files that the skills read."""
    return {call.name for planned in skills for call in planned.calls if not isinstance(call.input, str)}
