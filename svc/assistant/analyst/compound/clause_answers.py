"""Answer each clause of a question from what was found, in the first way that answers it. Pure.

The most particular way comes first: what the form of a clause asks for, then what was not read, then records, then
findings. What mentions the words of a clause is an answer only if nothing better is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from svc.assistant.analyst import render
from svc.assistant.analyst.clauses import Clause, ClauseState
from svc.assistant.analyst.compound.one_input import of_one_input
from svc.assistant.analyst.compound.unaddressed import unaddressed
from svc.assistant.analyst.contract import SkillResult
from svc.assistant.analyst.particulars import (
    Particular,
    answered,
    for_clause,
    matchable_rules,
    named_values,
    of_absent,
    of_account,
    of_behaviour,
    of_demands,
    of_events,
    of_everything,
    of_form,
    of_host,
    of_inputs,
    of_name,
    of_records,
    of_unread,
    of_validity,
    with_mentions,
    with_targets,
    without_account,
    without_days,
)
from svc.assistant.analyst.plan import EVENTS, Plan
from svc.assistant.analyst.questions.event_answers import is_plain
from svc.assistant.analyst.questions.record_questions import measured_by
from svc.assistant.findings import AnyFinding, kind_of, with_facts
from svc.assistant.sigma.engine import Rule
from svc.assistant.skills.asked.findings import AskedRecords, ChosenRecords, FollowingRecords
from svc.assistant.skills.events.findings import EventsSummary
from svc.assistant.spool import collected, of_kind
from svc.assistant.workers.mentions import mentioning_lines


def clause_answers(
    plan: Plan, examined: Sequence[SkillResult], everything: Sequence[AnyFinding]
) -> dict[Clause, Particular]:
    """The answers to the clauses that need one beside the verdicts of the tools.

    Args:
        plan: What was planned for the question.
        examined: What was examined for it.
        everything: All that was found in it, with the records that the question asks for.
    """
    findings = collected(
        one for one in everything if not isinstance(one.facts, AskedRecords | ChosenRecords | FollowingRecords)
    )
    read_as = _read_as(examined, everything)
    searched = render.searched(examined)
    rules, events = matchable_rules(findings)
    lines = mentioning_lines(plan.files, named_values(plan.clauses, findings))
    names = [name for result in examined for name in result.inputs]
    left_out = [gap for result in examined for gap in result.left_out]
    understood = sorted({name for result in examined for name in result.understood})
    unread = dict(plan.unread) | {
        name: "; ".join(text for of, text in result.gaps if of == name) or "no tool understood it"
        for result in examined
        for name in result.inputs
        if name not in understood
    }
    inputs = list(dict.fromkeys([*names, *(file.name for file in plan.files)]))
    told: dict[Clause, Particular] = {}
    for clause in plan.clauses:
        answer_of = partial(answered, clause, findings, rules, events=events, lines=lines)
        formed = (
            without_days(clause, left_out)
            or of_inputs(clause, unread, findings, understood)
            or of_one_input(clause, findings, examined, inputs)
            or of_form(clause, everything)
        )
        particular = (
            formed
            or of_unread(clause, read_as, names)
            or of_validity(clause, findings)
            or of_name(clause, everything, rules, events, searched)
            or _plain_answer(clause, findings, rules, events)
            or of_records(clause, everything, is_whole=True)
            or of_behaviour(clause, findings)
            or of_host(clause, findings)
            or of_events(clause, findings, rules, events)
            or for_clause(clause, answer_of, [result.skill for result in examined], findings)
        )
        if formed is None and (particular is None or particular.is_open):
            particular = _from_records(clause, particular, examined, everything)
        if formed is None:
            particular = of_demands(clause, particular, everything)
        if particular is None:
            named = [result for result in examined if result.skill.name in clause.skills]
            particular = unaddressed(clause, named, is_only=len(plan.clauses) == 1)
        if particular is not None:
            is_later = formed is None and clause is not plan.clauses[0]
            told[clause] = _completed(particular, everything, is_later=is_later)
    return told


def _completed(particular: Particular, everything: Sequence[AnyFinding], *, is_later: bool) -> Particular:
    """The answer with what the records add to it, and with what it leaves open."""
    particular = without_account(with_targets(particular, everything), everything)
    if is_later:
        particular = of_everything(particular, everything)
    return particular if particular.state is ClauseState.ANSWERED else with_mentions(particular, everything)


def _from_records(
    clause: Clause, open_answer: Particular | None, examined: Sequence[SkillResult], findings: Sequence[AnyFinding]
) -> Particular | None:
    """What the records tell of a clause that no finding answers, or else that they do not state it."""
    is_log = all(result.skill.name == EVENTS for result in examined)
    absent = of_absent(clause, findings) if is_log else None
    of_findings = [
        one for one in findings if not isinstance(one.facts, AskedRecords | ChosenRecords | FollowingRecords)
    ]
    nobody = of_account(clause, of_findings)
    if open_answer is not None and open_answer.is_mention:
        open_answer = nobody or open_answer
    return of_records(clause, findings, is_whole=False) or absent or open_answer or nobody


def _plain_answer(
    clause: Clause, findings: Sequence[AnyFinding], rules: Sequence[Rule], events: str
) -> Particular | None:
    """The answer to what every log can be asked, if what was found answers it."""
    asked = is_plain(clause.english) and not measured_by(clause.english)
    found = of_events(clause, findings, rules, events) if asked else None
    return found if found is not None and found.state is ClauseState.ANSWERED else None


def _read_as(results: Sequence[SkillResult], findings: Sequence[AnyFinding]) -> list[str]:
    """What shows which kinds of evidence were read: names, forms, columns and kinds of events."""
    forms = [f"{name} {one.read_as} {result.skill.title}" for result in results for name, one in result.coverage]
    for found in with_facts(of_kind(findings, kind_of(EventsSummary)), EventsSummary):
        forms += found.facts.columns
        forms += [f"{one.product} {one.service} {one.category}" for one in found.facts.by_log_source]
    return forms
