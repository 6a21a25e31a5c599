"""Render text addressed to an analyst or a model under a heading of its own. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import Finding, InstructionText, Severity
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural, table

HEADING = "Text addressed to an analyst or a model"
SHOWN_ROWS = 10


def distinct(findings: Sequence[Finding[InstructionText]]) -> list[Finding[InstructionText]]:
    """The findings without those that another one of the same input repeats: several tools may show the same text."""
    kept: dict[tuple[str, str], Finding[InstructionText]] = {}
    for finding in findings:
        key = (finding.facts.source, _key(finding))
        if key not in kept:
            kept[key] = finding
    return list(kept.values())


def instruction_section(findings: Sequence[Finding[InstructionText]]) -> str:
    """The section with heading, or "" if nothing of severity medium or above was found."""
    worth_naming = [finding for finding in findings if finding.severity is not Severity.LOW]
    if not worth_naming:
        return ""
    count = len(worth_naming)
    is_one = count == 1
    lead = (
        f"**{plural(count, 'text')} in the evidence {'tries' if is_one else 'try'} to influence the analysis** "
        "(medium). "
        f"{'It' if is_one else 'They'} changed nothing in this answer. "
        f"Find out who wrote {'it' if is_one else 'them'}."
    )
    rows = [_row(finding) for finding in worth_naming]
    return f"### {HEADING}\n\n{lead}\n\n" + table(("Where", "Text", "How", "Times"), rows, limit=SHOWN_ROWS)


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
