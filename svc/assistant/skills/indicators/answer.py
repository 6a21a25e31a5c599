"""The answer about indicators: how many of which type, then a defanged table for each type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, InputKind, kind_of, with_facts
from svc.assistant.skills.answer_parts import as_folds
from svc.assistant.skills.indicators.findings import IndicatorFacts, XmlAttack
from svc.assistant.skills.indicators.pictures import pictures
from svc.assistant.skills.indicators.tables import is_quiet, search_steps, tables_by_type, type_name
from svc.assistant.skills.skill import Section, Skill, words
from svc.assistant.spool import facts_values, of_kind
from svc.untrusted.markup import code_span, escape, plural, table

MAX_TYPES = 6  # named in the verdict


def verdict(findings: Sequence[AnyFinding]) -> str:
    """Attacks on an XML parser; then how many indicators of which types, and how many rarely matter by themselves."""
    attacks = with_facts(of_kind(findings, kind_of(XmlAttack)), XmlAttack)
    named = ", ".join(dict.fromkeys(escape(attack.title) for attack in attacks))
    lead = f"**{named}:** do not open this file with a parser that expands entities or loads them." if named else ""
    return "\n\n".join(filter(None, [lead, _indicators(findings, is_alone=not lead)]))


def _indicators(findings: Sequence[AnyFinding], *, is_alone: bool) -> str:
    counts: Counter[str] = Counter()
    quiet = 0
    for indicator_type, scope in facts_values(findings, IndicatorFacts, "type", "scope"):
        counts[str(indicator_type)] += 1
        quiet += is_quiet(scope)
    if not counts:
        return (
            ""
            if not is_alone
            else "**No address, domain, URL, hash, path or ID** of a known form in the text that was read."
        )
    most = ", ".join(f"{count:,} {type_name(name, count=count)}" for name, count in counts.most_common(MAX_TYPES))
    rest = len(counts) - MAX_TYPES
    more = f" and {plural(rest, 'more type')}" if rest > 0 else ""
    lead = f"**{plural(counts.total(), 'indicator')}:** {most}{more}."
    if quiet:
        lead += (
            f" {plural(quiet, 'of them rarely matters by itself', 'of them rarely matter by themselves')}:"
            " private or reserved ranges, documentation names, widely used names."
        )
    return lead


def body(findings: Sequence[AnyFinding]) -> str:
    """A table of the attacks on an XML parser, then one table for each type of indicator."""
    attacks = with_facts(of_kind(findings, kind_of(XmlAttack)), XmlAttack)
    rows = [
        (escape(attack.title), escape(attack.why), code_span(attack.facts.value, limit=120), f"{attack.facts.line:,}")
        for attack in attacks
    ]
    shown = table(("Attack", "What it does", "Shown by", "Line"), rows) if rows else ""
    return "\n\n".join(filter(None, [shown, tables_by_type(findings)]))


SECTION = Section(
    skill=Skill(
        name="indicators",
        tool="svc.assistant.skills.indicators.tool:inspect",
        input=InputKind.TEXT,
        title="Indicators",
        can="extract the indicators of a report or a log, defanged, with context",
        facts=(IndicatorFacts, XmlAttack),
        strong=words(r"\bindicators?\b", r"\bIOCs?\b", r"\bobservables?\b", r"\bdefang\w*"),
        weak=words(
            r"\b(?:extract|list|find|pull|get|collect|give|show|which|what|any|all|every)\b[^.?!\n]{0,60}?"
            r"\b(?:ips?|ip addresses|addresses|domains?|urls?|links|hashes|host ?names|e-?mail addresses|cves|"
            r"file ?paths|registry keys|wallets)\b"
        ),
        content=words(
            r"hxxps?\b",
            r"\[\.\]",
            r"\bhttps?://",
            r"\b(?:\d{1,3}\.){3}\d{1,3}\b",
            r"\b[0-9a-f]{32,128}\b",
            r"\bCVE-\d{4}-\d{4,}",
        ),
    ),
    verdict=verdict,
    folds=as_folds(body),
    next_steps=search_steps,
    pictures=pictures,
)
