"""What an answer owes its reader: an outcome for each input and for each clause of the question. Pure.

``Contract`` is made from what was planned and what the tools reported (``findings.Coverage``). The headline, the table
of inputs and the answer's status are rendered from it, and it is sent with the answer as JSON (docs/wire.md, "Answer
status"), so that a program and a test can check what the text says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from svc.assistant.analyst.clauses import Clause, ClauseKind, ClauseState
from svc.assistant.analyst.particulars import Particular
from svc.assistant.analyst.plan import PROMPT, DisabledSkill
from svc.assistant.findings import (
    AnyFinding,
    Coverage,
    Finding,
    InstructionText,
    NamesSeen,
    Severity,
    ToolFailure,
    kind_of,
)
from svc.assistant.skills.catalogue import skill_named
from svc.assistant.skills.skill import Skill
from svc.assistant.spool import of_kind, source_counts
from svc.assistant.turn import TurnFile
from svc.messages import AnswerStatus
from svc.untrusted.markup import plural

OF_PART = "In the part that was read"
"""Begins a sentence that denies something although a limit kept the end of an input from the tool."""


class InputState(StrEnum):
    """How far an input was examined."""

    READ = "read"
    PARTLY_READ = "partly read"
    NOT_EXAMINED = "not examined"


class InputOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What was done with one input: by which skill, read as what, and how much of it; or why it was not examined.

    Several skills may read one input; the outcome is that of the one that understood most of it. ``findings`` counts
    those of all.
    """

    name: str
    state: InputState
    skill: str = ""
    read_as: str = ""
    unit: str = ""
    understood: int = 0
    total: int = 0
    looked_for: str = ""
    not_covered: str = ""
    reason: str = ""
    findings: int = 0
    size: int = 0
    label: str = ""
    total_is_minimum: bool = False


class ClauseOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a clause is answered, and if not, why."""

    text: str
    state: ClauseState
    reason: str = ""


class SkillResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one skill found in its inputs.

    ``gaps`` are pairs of an input's name and what was not examined in it, ``coverage`` pairs of an input's name and
    how far it was read, ``names_seen`` what it names. ``left_out`` are those gaps that the headline must state
    (``Gap.in_headline``).
    ``is_fallback``: nothing else read these inputs, and the question did not ask for this skill.
    ``instruction_texts`` are kept apart from the findings, because they answer no question.
    """

    skill: Skill
    findings: Sequence[AnyFinding]
    inputs: tuple[str, ...]
    gaps: tuple[tuple[str, str], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    coverage: tuple[tuple[str, Coverage], ...] = ()
    names_seen: tuple[tuple[str, NamesSeen], ...] = ()
    is_fallback: bool = False
    instruction_texts: tuple[Finding[InstructionText], ...] = ()

    @property
    def is_broken(self) -> bool:
        """Whether the tool did not finish with one of its inputs."""
        return bool(of_kind(self.findings, kind_of(ToolFailure)))

    @property
    def is_examined(self) -> bool:
        """Whether the tool understood any of its inputs."""
        return any(one.understood for _, one in self.coverage)

    @property
    def unjudged(self) -> int:
        """How many inputs were read although the tool has few or no checks for their kind, and found nothing."""
        if any(one.severity is not Severity.INFO for one in self.findings):
            return 0
        return sum(1 for _, one in self.coverage if one.understood and not one.is_judged)

    @property
    def understood(self) -> frozenset[str]:
        """The names of the inputs of which the tool understood anything."""
        return frozenset(name for name, one in self.coverage if one.understood)


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of one question."""

    inputs: tuple[InputOutcome, ...]
    clauses: tuple[ClauseOutcome, ...]
    status: AnswerStatus


def contract_of(
    results: Sequence[SkillResult],
    clauses: Sequence[Clause],
    particulars: Sequence[Particular],
    files: Sequence[TurnFile],
    unread: Iterable[tuple[str, str]] = (),
    *,
    has_paste: bool = False,
) -> Contract:
    """Account for every input and every clause.

    Args:
        results: What ran, fallbacks included.
        clauses: What the question asks.
        particulars: The answers to its PARTICULAR clauses.
        files: The files that the question is about.
        has_paste: Whether the prompt contains material besides the question.
        unread: Names of further inputs (members of an archive), each with the reason why it was not examined.
    """
    names = dict.fromkeys([*(file.name for file in files), *(name for result in results for name in result.inputs)])
    by_name = {file.name: file for file in files}
    readings, counts = _readings(results), _finding_counts(results)
    run = {name for result in results for name in result.inputs}
    inputs = [
        _input_outcome(name, by_name.get(name), readings.get(name, []), counts[name], has_run=name in run)
        for name in names
    ]
    inputs += [InputOutcome(name=name, state=InputState.NOT_EXAMINED, reason=reason) for name, reason in unread]
    by_clause = {particular.clause: particular for particular in particulars}
    outcomes = [_clause_outcome(clause, results, by_clause.get(clause), inputs) for clause in clauses]
    if any(one.is_cut for result in results for _, one in result.coverage):
        outcomes = [_of_part(outcome) for outcome in outcomes]
    return Contract(
        inputs=tuple(inputs), clauses=tuple(outcomes), status=_status(results, inputs, outcomes, has_paste=has_paste)
    )


def with_disabled(contract: Contract, disabled: Sequence[DisabledSkill]) -> Contract:
    """The contract of a question for which disabled skills were left out: it is not answered as a whole."""
    if not disabled:
        return contract
    titles: dict[str, list[str]] = {}
    for one in disabled:
        for name in one.inputs:
            titles.setdefault(name, []).append(one.skill.title)
    inputs = tuple(
        msgspec.structs.replace(one, reason=f"its tool is disabled in this session ({' and '.join(titles[one.name])})")
        if one.state is InputState.NOT_EXAMINED and one.name in titles
        else one
        for one in contract.inputs
    )
    is_whole = contract.status is AnswerStatus.ANSWERED
    has_result = any(one.state is not InputState.NOT_EXAMINED for one in inputs)
    reduced = AnswerStatus.PARTLY_ANSWERED if has_result else AnswerStatus.NOT_ANSWERED
    return msgspec.structs.replace(contract, inputs=inputs, status=reduced if is_whole else contract.status)


_Reading = tuple[SkillResult, Coverage]


def _readings(results: Sequence[SkillResult]) -> dict[str, list[_Reading]]:
    """How each input was read, by its name: a collection has thousands."""
    readings: dict[str, list[_Reading]] = {}
    for result in results:
        for name, coverage in result.coverage:
            readings.setdefault(name, []).append((result, coverage))
    return readings


def _finding_counts(results: Sequence[SkillResult]) -> Counter[str]:
    """The number of findings of each input; those of tools that did not report on it do not count."""
    counts: Counter[str] = Counter()
    for result in results:
        reported = {name for name, _ in result.coverage}
        counts.update({name: count for name, count in source_counts(result.findings).items() if name in reported})
    return counts


def _input_outcome(
    name: str, file: TurnFile | None, mine: Sequence[_Reading], findings: int, *, has_run: bool
) -> InputOutcome:
    size, label = (file.size, file.label) if file is not None else (0, "")
    best = max(mine, key=lambda one: (one[1].understood > 0, not one[0].is_fallback, _share(one[1])), default=None)
    if best is None:
        reason = _why_unread(file, has_run=has_run)
        return InputOutcome(name=name, state=InputState.NOT_EXAMINED, reason=reason, size=size, label=label)
    result, coverage = best
    reason = ""
    if not coverage.understood:
        gaps = [text for input_name, text in result.gaps if input_name == name]
        reason = gaps[0] if gaps else unread_reason(coverage)
    elif result.is_fallback:
        reason = f"only searched for {coverage.looked_for}"
    return InputOutcome(
        name=name,
        state=_state(coverage),
        skill=result.skill.title,
        read_as=coverage.read_as,
        unit=coverage.unit,
        understood=coverage.understood,
        total=coverage.total,
        looked_for="; ".join(dict.fromkeys(one.looked_for for _, one in mine if one.understood)),
        not_covered="; ".join(dict.fromkeys(one.not_covered for _, one in mine if one.understood and one.not_covered)),
        reason=reason,
        findings=findings,
        size=size,
        label=label,
        total_is_minimum=coverage.total_is_minimum,
    )


def extent(read: Coverage | InputOutcome) -> str:
    """How far an input was read: ``1,204 of 1,300 lines``, ``1,204 of at least 5,000 lines``."""
    least = "at least " if read.total_is_minimum else ""
    return f"{read.understood:,} of {least}{plural(read.total, read.unit)}"


def unread_reason(coverage: Coverage) -> str:
    """Why a tool that understood nothing of an input did not examine it."""
    if not coverage.total:
        return f"it contains no {coverage.unit} that could be read as {coverage.read_as}"
    return f"none of {plural(coverage.total, coverage.unit)} could be read as {coverage.read_as}"


def _share(coverage: Coverage) -> float:
    return coverage.understood / coverage.total if coverage.total else 0.0


def _state(coverage: Coverage) -> InputState:
    if not coverage.understood:
        return InputState.NOT_EXAMINED
    return InputState.READ if coverage.understood >= coverage.total else InputState.PARTLY_READ


def _why_unread(file: TurnFile | None, *, has_run: bool) -> str:
    if has_run:
        return "the tool did not finish"
    if file is not None and not file.size:
        return "the file is empty"
    return "no tool reads this kind of file"


def _clause_outcome(
    clause: Clause, results: Sequence[SkillResult], particular: Particular | None, inputs: Sequence[InputOutcome]
) -> ClauseOutcome:
    def outcome(state: ClauseState, reason: str = "") -> ClauseOutcome:
        return ClauseOutcome(text=clause.text, state=state, reason=reason)

    match clause.kind:
        case ClauseKind.UNSUPPORTED:
            return outcome(ClauseState.CANNOT_TELL, "no tool has offline data for this")
        case ClauseKind.NAMED:
            mine = [
                result
                for result in results
                if result.skill.name in clause.skills or set(clause.skills) & result.skill.covers
            ]
            is_run = any(result.is_examined for result in mine)
            if particular is not None and not (is_run and particular.state is ClauseState.ANSWERED):
                return outcome(particular.state, particular.reason)
            return _named_outcome(clause, mine)
        case ClauseKind.PARTICULAR if particular is not None:
            return outcome(particular.state, particular.reason)
        case ClauseKind.PARTICULAR:
            return outcome(ClauseState.CANNOT_TELL, _unexamined(results, inputs))
        case ClauseKind.OPEN if particular is not None and particular.state is ClauseState.CANNOT_TELL:
            return outcome(particular.state, particular.reason)
        case _:
            return _open_outcome(clause, results, inputs)


def _of_part(outcome: ClauseOutcome) -> ClauseOutcome:
    """The outcome of a clause if a limit kept the end of an input from a tool."""
    if outcome.state is not ClauseState.ANSWERED:
        return outcome
    reason = "not all of the input was read"
    return msgspec.structs.replace(outcome, state=ClauseState.PARTLY_ANSWERED, reason=reason)


def _named_outcome(clause: Clause, mine: Sequence[SkillResult]) -> ClauseOutcome:
    if not any(result.is_examined for result in mine):
        return ClauseOutcome(text=clause.text, state=ClauseState.CANNOT_TELL, reason=_missing(clause, mine))
    names = dict.fromkeys(name for result in mine for name in result.inputs)
    understood = {name for result in mine for name in result.understood}
    unread = [name for name in names if name not in understood]
    if unread:
        reason = f"{plural(len(unread), 'input')} not examined"
        return ClauseOutcome(text=clause.text, state=ClauseState.PARTLY_ANSWERED, reason=reason)
    return ClauseOutcome(text=clause.text, state=ClauseState.ANSWERED)


def _missing(clause: Clause, ran: Sequence[SkillResult]) -> str:
    if not ran:
        titles = " or ".join(skill_named(name).title for name in clause.skills)
        return f"nothing that its tool ({titles}) can read was attached or pasted"
    if any(result.is_broken for result in ran):
        return "the tool for it did not finish"
    gaps = [text for result in ran for _, text in result.gaps]
    return gaps[0] if gaps else "none of the inputs could be read for it"


def _open_outcome(clause: Clause, results: Sequence[SkillResult], inputs: Sequence[InputOutcome]) -> ClauseOutcome:
    examined = [result for result in results if result.is_examined]
    if not examined:
        return ClauseOutcome(text=clause.text, state=ClauseState.CANNOT_TELL, reason=_unexamined(results, inputs))
    if all(result.is_fallback for result in examined):
        return ClauseOutcome(
            text=clause.text, state=ClauseState.PARTLY_ANSWERED, reason="the input was only searched for indicators"
        )
    unread = [one.name for one in inputs if one.state is InputState.NOT_EXAMINED]
    unjudged = sum(result.unjudged for result in examined)
    if unread or unjudged:
        reasons = [f"{plural(len(unread), 'input')} not examined"] if unread else []
        reasons += [f"few or no checks for the records of {plural(unjudged, 'input')}"] if unjudged else []
        return ClauseOutcome(text=clause.text, state=ClauseState.PARTLY_ANSWERED, reason=", ".join(reasons))
    return ClauseOutcome(text=clause.text, state=ClauseState.ANSWERED)


def _unexamined(results: Sequence[SkillResult], inputs: Sequence[InputOutcome]) -> str:
    if any(result.is_examined for result in results):
        return "the input was only searched for indicators"
    return inputs[0].reason if inputs else "nothing to examine was attached or pasted"


def _status(
    results: Sequence[SkillResult],
    inputs: Sequence[InputOutcome],
    clauses: Sequence[ClauseOutcome],
    *,
    has_paste: bool,
) -> AnswerStatus:
    if not any(result.is_examined for result in results):
        if not inputs and not clauses:
            return AnswerStatus.ANSWERED  # nothing was asked: a greeting
        has_evidence = has_paste or any(one.name != PROMPT for one in inputs)
        return AnswerStatus.NOT_EXAMINED if has_evidence else AnswerStatus.NOT_ANSWERED
    states = [clause.state for clause in clauses]
    if states and all(state is ClauseState.CANNOT_TELL for state in states):
        is_fallback = all(result.is_fallback for result in results if result.is_examined)
        return AnswerStatus.NOT_EXAMINED if is_fallback else AnswerStatus.NOT_ANSWERED
    is_whole = all(state is ClauseState.ANSWERED for state in states)
    is_read = bool(states) or all(one.state is not InputState.NOT_EXAMINED for one in inputs)
    return AnswerStatus.ANSWERED if is_whole and is_read else AnswerStatus.PARTLY_ANSWERED
