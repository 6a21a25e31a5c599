"""The answer about YARA rules that were run over files."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, InputKind, with_facts
from svc.assistant.skills.answer_parts import MAX_FACTS, Fold, listed
from svc.assistant.skills.indicators.yara.findings import YaraMatch, YaraScan
from svc.assistant.skills.skill import NEVER, READABLE_LABELS, Section, Skill
from svc.untrusted.markup import code_span, escape, plural

NAMED = 5


def verdict(findings: Sequence[AnyFinding]) -> str:
    """How many rules match which files, and which files were not scanned."""
    scans = [one.facts for one in with_facts(findings, YaraScan)]
    scanned = [one for one in scans if one.scanned]
    if not scanned:
        reason = next((one.reason for one in scans if one.reason), "no file could be scanned")
        return f"**Not examined:** the YARA rules were not run: {escape(reason)}."
    matches = [one.facts for one in with_facts(findings, YaraMatch)]
    rules = max(one.rules for one in scanned)
    unread = list(dict.fromkeys([*(name for one in scans for name in one.unread)]))
    unread += [f"{one.input} ({one.reason})" for one in scans if one.reason]
    said = f" Not scanned to the end: {listed([escape(name) for name in unread], limit=NAMED)}." if unread else ""
    rejected = max(one.rejected for one in scanned)
    said += f" {plural(rejected, 'rule')} did not compile and could not be run." if rejected else ""
    if not matches:
        return f"**None of {plural(rules, 'YARA rule')} matches in {plural(len(scanned), 'file')}.**{said}"
    names = dict.fromkeys(one.rule for one in matches)
    where = listed([code_span(name, limit=60) for name in dict.fromkeys(one.input for one in matches)], limit=NAMED)
    verb = "matches" if len(names) == 1 else "match"
    return f"**Yes: {len(names):,} of {plural(rules, 'YARA rule')} {verb} in {where}.**{said}"


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """Each rule with the file and the first offset."""
    return [_fact(one.facts) for one in with_facts(findings, YaraMatch)[:MAX_FACTS]]


def _fact(match: YaraMatch) -> str:
    said = f": {escape(match.description)}" if match.description else ""
    place = ""
    if match.strings:
        first = match.strings[0]
        place = f", offset {first.offset:,}: {code_span(first.text, limit=60)}"
    return f"**{escape(match.rule)}** in {code_span(match.input, limit=60)}{said}{place}"


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """Every string of every match."""
    rows = [
        (
            escape(one.facts.rule),
            code_span(one.facts.input, limit=60),
            escape(place.name),
            f"{place.offset:,}",
            code_span(place.text, limit=80),
        )
        for one in with_facts(findings, YaraMatch)
        for place in one.facts.strings
    ]
    return [
        Fold(
            title=plural(len(rows), "matching string"), headers=("Rule", "File", "String", "Offset", "Bytes"), rows=rows
        )
    ]


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do about a match."""
    if not with_facts(findings, YaraMatch):
        return []
    return ["Check each match by hand: a rule can match harmless files that share its strings."]


SECTION = Section(
    skill=Skill(
        name="yara",
        tool="svc.assistant.skills.indicators.yara.tool:inspect",
        input=InputKind.RAW,
        title="YARA scan",
        can="run attached YARA rules over the other files (extra yara)",
        facts=(YaraMatch, YaraScan),
        strong=NEVER,
        labels=READABLE_LABELS,
        leads=frozenset({"threat_intel"}),
    ),
    verdict=verdict,
    facts=facts,
    folds=folds,
    next_steps=next_steps,
)
