"""Render text addressed to an analyst or a model as a sentence and a fold. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import Finding, InstructionText, Severity
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, fold, plural, table

SHOWN_ROWS = 5
ADDRESSED = "addressed to an analyst or a model"


def distinct(findings: Sequence[Finding[InstructionText]]) -> list[Finding[InstructionText]]:
    """The findings without those that another one of the same input repeats: several tools may show the same text."""
    kept: dict[tuple[str, str], Finding[InstructionText]] = {}
    for finding in findings:
        key = (finding.facts.source, _key(finding))
        if key not in kept:
            kept[key] = finding
    return list(kept.values())


def instruction_note(findings: Sequence[Finding[InstructionText]]) -> str:
    """The sentence for the opening, or "" if nothing of severity medium or above was found."""
    count = len(_worth_naming(findings))
    if not count:
        return ""
    they, tries = ("It", "tries") if count == 1 else ("They", "try")
    return (
        f"**{plural(count, 'text')} in the evidence {tries} to influence the analysis** (medium). "
        f"{they} changed nothing in this answer. Find out who wrote {'it' if count == 1 else 'them'}."
    )


def instruction_fold(findings: Sequence[Finding[InstructionText]]) -> str:
    """The texts with their places, as a fold; "" without any."""
    rows = [_row(finding) for finding in _worth_naming(findings)]
    if not rows:
        return ""
    shown = table(("Where", "Text", "How", "Times"), rows[:SHOWN_ROWS])
    left = len(rows) - SHOWN_ROWS
    rest = f"\n\n{left:,} more in `answer.findings`." if left > 0 else ""
    return fold(f"{plural(len(rows), 'text')} {ADDRESSED}", shown + rest)


def _worth_naming(findings: Sequence[Finding[InstructionText]]) -> list[Finding[InstructionText]]:
    return [finding for finding in findings if finding.severity is not Severity.LOW]


def _row(finding: Finding[InstructionText]) -> tuple[str, ...]:
    facts = finding.facts
    place = finding.evidence[0]
    number = f" line {place.line:,}" if place.line else f" offset {place.offset:,}" if place.offset is not None else ""
    channel = f" ({escape(facts.channel)})" if facts.channel != "text" else ""
    where = f"{code_span(place.source, limit=80)}{number}{channel}"
    text = code_span(defang_text(facts.hidden_text or facts.text))
    return where, text, escape(", ".join(facts.methods)), f"{facts.count:,}"


def _key(finding: Finding[InstructionText]) -> str:
    return "".join(filter(str.isalnum, finding.facts.hidden_text or finding.facts.text)).casefold()
