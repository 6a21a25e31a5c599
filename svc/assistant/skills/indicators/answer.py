"""The answer about indicators: how many of which type, then a defanged table for each type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import nsmallest
from typing import cast

from svc.assistant.findings import AnyFinding, InputKind, kind_of, with_facts
from svc.assistant.skills.answer_parts import MAX_FACTS, Fold, as_folds, listed
from svc.assistant.skills.indicators.findings import IndicatorFacts, XmlAttack
from svc.assistant.skills.indicators.pictures import pictures
from svc.assistant.skills.indicators.tables import folds_by_type, is_quiet, search_steps, type_name
from svc.assistant.skills.skill import Section, Skill, words
from svc.assistant.spool import facts_values, of_kind
from svc.untrusted.markup import code_span, escape, plural, table

MAX_TYPES = 6  # named in the verdict
NAMED = 3  # of each type, among the facts
VALUE_CHARS = 80


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
            else "**No address, domain, URL, hash, path or ID** in a known form was found in the text."
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


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """The most common types, each with its first values that may matter and the line of the first."""
    by_type: dict[str, list[tuple[bool, int, str, int]]] = {}
    for index, (name, scope, defanged, line) in enumerate(
        facts_values(of_kind(findings, kind_of(IndicatorFacts)), IndicatorFacts, "type", "scope", "defanged", "line")
    ):
        by_type.setdefault(str(name), []).append((is_quiet(scope), index, str(defanged), cast("int", line)))
    told = []
    for name, found in sorted(by_type.items(), key=lambda one: (min(one[1])[0], -len(one[1])))[:MAX_FACTS]:
        first = nsmallest(NAMED, found)
        values = [code_span(value, limit=VALUE_CHARS) + f" (line {line:,})" for _, _, value, line in first]
        more = len(found) - len(first)
        rest = f" and {more:,} more" if more else ""
        rest += _exploited(findings) if name == "cve" else ""
        told.append(f"**{len(found):,} {type_name(name, count=len(found))}**: {listed(values)}{rest}.")
    return told


def _exploited(findings: Sequence[AnyFinding]) -> str:
    """The CVEs that CISA's KEV catalog lists; "" if it lists none."""
    values = facts_values(of_kind(findings, kind_of(IndicatorFacts)), IndicatorFacts, "type", "defanged", "note")
    listed_ones = [str(value) for name, value, note in values if name == "cve" and note]
    if not listed_ones:
        return ""
    more = len(listed_ones) - NAMED
    rest = f" and {more:,} more" if more > 0 else ""
    return f"; in CISA's KEV catalog: {', '.join(map(code_span, listed_ones[:NAMED]))}{rest}"


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """The attacks on an XML parser, then a fold for each type of indicator."""
    return [*as_folds(_attacks)(findings), *folds_by_type(findings)]


def _attacks(findings: Sequence[AnyFinding]) -> str:
    attacks = with_facts(of_kind(findings, kind_of(XmlAttack)), XmlAttack)
    rows = [
        (escape(attack.title), escape(attack.why), code_span(attack.facts.value, limit=120), f"{attack.facts.line:,}")
        for attack in attacks
    ]
    headers = ("Attack", "What it does", "Shown by", "Line")
    return "**Attacks on an XML parser**\n\n" + table(headers, rows) if rows else ""


SECTION = Section(
    skill=Skill(
        name="indicators",
        tool="svc.assistant.skills.indicators.tool:inspect",
        input=InputKind.TEXT,
        title="Indicators",
        can="extract indicators from a report or a log, defanged, with context",
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
    facts=facts,
    folds=folds,
    next_steps=search_steps,
    pictures=pictures,
)
