"""Answer a general question about one input by what was found in it alone: "anything odd in b.log?". Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.clauses import CLAUSE_CHARS, Clause, ClauseState, input_names
from svc.assistant.analyst.contract import SkillResult, extent
from svc.assistant.analyst.particulars import Particular, general
from svc.assistant.findings import AnyFinding
from svc.assistant.spool import collected
from svc.untrusted.markup import code_span

NAMED = 4
_ANYTHING = re.compile(r"(?:any|some)thing\b|any\b", re.IGNORECASE)
_PARTS = re.compile(r"[/\\:\s]+")


def of_one_input(
    clause: Clause, findings: Sequence[AnyFinding], examined: Sequence[SkillResult], inputs: Sequence[str]
) -> Particular | None:
    """The answer by the inputs that a clause names; None if it names none, or asks for something in particular.

    Args:
        clause: What is asked.
        findings: Everything that was found.
        examined: What was examined.
        inputs: The names of all inputs, also of those that were not examined.
    """
    wanted = input_names(clause.text)
    if not wanted or not clause.is_general or not (clause.is_yes_no or _ANYTHING.match(clause.english)):
        return None
    quoted = code_span(clause.text, limit=CLAUSE_CHARS)
    chosen = {name for name in inputs for one in wanted if _is_same(name, one)}
    if not chosen:
        there = ", ".join(code_span(name, limit=80) for name in inputs[:NAMED])
        reason = f"no input is named {', '.join(wanted[:NAMED])}"
        sentence = f"**Cannot tell** {quoted}: {reason}. The question is about {there}."
        return Particular(clause=clause, sentence=sentence, state=ClauseState.CANNOT_TELL, reason=reason)
    listed = ", ".join(code_span(name, limit=80) for name in sorted(chosen)[:NAMED])
    read = [one for result in examined for name, one in result.coverage if one.understood and name in chosen]
    if not read:
        reason = f"no tool for its kind of content read {', '.join(sorted(chosen)[:NAMED])}"
        sentence = f"**Cannot tell** {quoted}: no tool for its kind of content read {listed}."
        return Particular(clause=clause, sentence=sentence, state=ClauseState.CANNOT_TELL, reason=reason)
    within = collected(one for one in findings if any(evidence.source in chosen for evidence in one.evidence))
    searched = "; ".join(dict.fromkeys(f"{one.looked_for} in {extent(one)}" for one in read))
    text = clause.text
    for one in wanted:
        text = re.sub(rf"(?:\b(?:in|of|from|within|inside|about|at) )?(?:the )?{re.escape(one)}", " ", text)
    sentence = general(msgspec.structs.replace(clause, text=" ".join(text.split())), within, searched)
    is_told = not sentence.startswith("**Cannot tell")
    return Particular(
        clause=clause,
        sentence=f"{sentence} This is about {listed} alone.",
        state=ClauseState.ANSWERED if is_told else ClauseState.CANNOT_TELL,
        reason="" if is_told else "what was found does not tell",
    )


def _is_same(name: str, wanted: str) -> bool:
    """Whether an input, perhaps in a folder or an archive, has the name that a question uses."""
    return (
        name.casefold() == wanted.casefold() or _PARTS.split(name.casefold())[-1] == _PARTS.split(wanted.casefold())[-1]
    )
