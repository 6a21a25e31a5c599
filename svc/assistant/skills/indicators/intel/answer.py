"""The answer about threat intelligence alone: what it contains, and each rule in words."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, InputKind, with_facts
from svc.assistant.skills.answer_parts import Fold, listed
from svc.assistant.skills.indicators.intel.findings import (
    DetectionRule,
    IntelObject,
    IntelSummary,
    ListedIndicator,
    TypeCount,
)
from svc.assistant.skills.indicators.tables import type_name
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import code_span, escape, plural

VALUE_CHARS = 90
TEXT_CHARS = 300
MAX_EXPLAINED = 3  # rules in the opening
_LABELS = frozenset({"stix", "misp", "openioc", "sigmarule", "yararule"})


def verdict(findings: Sequence[AnyFinding]) -> str:
    """What the files contain; nothing in them is evidence of an attack."""
    said = [_contents(one) for one in with_facts(findings, IntelSummary)]
    said += [_rules_verdict(with_facts(findings, DetectionRule))] if with_facts(findings, DetectionRule) else []
    if not said:
        return "**Not examined:** no threat intelligence was found."
    return " ".join(said)


def _contents(finding: Finding[IntelSummary]) -> str:
    facts = finding.facts
    name = f" {code_span(facts.name, limit=80)}" if facts.name else ""
    article = "an" if facts.form[:1] in "AEIOU" else "a"
    types = ", ".join(f"{one.count:,} {type_name(one.type, count=one.count)}" for one in facts.by_type)
    objects = f"; it also describes {_named(facts.objects)}" if facts.objects else ""
    tlp = f"; marked {escape(', '.join(facts.tlp))}" if facts.tlp else ""
    source = code_span(finding.evidence[0].source, limit=60)
    return (
        f"**{source} is {article} {facts.form}{name} with {plural(facts.indicators, 'indicator')}"
        f"{': ' + types if types else ''}.** This is what others report, not evidence from your systems{objects}{tlp}."
    )


def _named(counts: Sequence[TypeCount]) -> str:
    return listed([escape(_amount(one)) for one in counts], limit=6)


def _amount(one: TypeCount) -> str:
    return f"{one.count:,} malware" if one.type == "malware" else plural(one.count, one.type.replace("-", " "))


def _rules_verdict(rules: Sequence[Finding[DetectionRule]]) -> str:
    languages = dict.fromkeys(one.facts.language for one in rules)
    said = []
    for language in languages:
        mine = [one.facts for one in rules if one.facts.language == language]
        good = sum(one.compiles for one in mine)
        if len(mine) == 1:
            first = mine[0]
            name = f"“{escape(first.name)}”"
            state = "it compiles here" if first.compiles else f"it does not compile here: {escape(first.reason)}"
            said.append(f"**{language} rule {name}, level {escape(first.level)}; {state}.**")
        else:
            said.append(f"**{plural(len(mine), f'{language} rule')}; {good:,} of {len(mine):,} compile here.**")
    return " ".join([*said, "A rule alone is no evidence: attach a log or a file to run it on."])


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """Of rules what each requires; of a bundle its first indicators by type, and what it describes."""
    rules = with_facts(findings, DetectionRule)
    if rules:
        return [line for one in rules[:MAX_EXPLAINED] for line in _explained(one.facts, is_only=len(rules) == 1)]
    by_type: dict[str, list[ListedIndicator]] = {}
    for one in with_facts(findings, ListedIndicator):
        by_type.setdefault(one.facts.type, []).append(one.facts)
    said = [
        f"**{len(mine):,} {type_name(kind, count=len(mine))}**: "
        + listed([code_span(one.defanged, limit=VALUE_CHARS) for one in mine])
        for kind, mine in sorted(by_type.items(), key=lambda item: -len(item[1]))[:3]
    ]
    techniques = [one.facts for one in with_facts(findings, IntelObject) if one.facts.technique]
    if techniques:
        shown = [f"{one.technique} {escape(one.name)}" for one in techniques]
        said.append(f"**ATT&CK**: {listed(shown, limit=5)}")
    malware = [escape(one.facts.name) for one in with_facts(findings, IntelObject) if "malware" in one.facts.type]
    if malware:
        said.append(f"**Malware**: {listed(malware, limit=5)}")
    return said


def _explained(rule: DetectionRule, *, is_only: bool) -> list[str]:
    """A rule in words; of several rules one line each."""
    parts = listed([code_span(one, limit=TEXT_CHARS) for one in rule.must_match], limit=6)
    condition = code_span(rule.condition, limit=TEXT_CHARS) if rule.condition else "not stated"
    meaning = f" ({escape(rule.meaning)})" if rule.meaning else ""
    if not is_only:
        broken = "" if rule.compiles else f"; does not compile here: {escape(rule.reason)}"
        return [f"**{escape(rule.name)}** ({escape(rule.log_source)}): {condition}{meaning}{broken}"]
    attack = [*rule.techniques, *(escape(one) for one in rule.tactics)]
    lines = [
        f"**Applies to**: {escape(rule.log_source)}"
        + (f". **Purpose**: {escape(rule.description)}" if rule.description else ""),
        f"**Must match**: {parts or 'nothing stated'}",
        f"**Condition**: {condition}{meaning}",
    ]
    positives = "; ".join(map(escape, rule.false_positives)) or "none stated"
    if rule.language == "Sigma" or rule.false_positives:
        lines.append(f"**False positives**: {positives}")
    lines.append(f"**ATT&CK**: {', '.join(attack) or 'none stated'}")
    return lines


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """All indicators, all other objects, all rules."""
    rows = [_row(one.facts) for one in with_facts(findings, ListedIndicator)]
    objects = [
        (escape(one.facts.type), escape(one.facts.name), one.facts.technique, escape(one.facts.description))
        for one in with_facts(findings, IntelObject)
    ]
    rules = [
        (
            escape(one.facts.name),
            one.facts.language,
            escape(one.facts.level),
            escape(one.facts.log_source),
            code_span(one.facts.condition, limit=TEXT_CHARS) if one.facts.condition else "",
            "yes" if one.facts.compiles else escape(one.facts.reason),
        )
        for one in with_facts(findings, DetectionRule)
    ]
    return [
        Fold(
            title=plural(len(rows), "indicator"),
            headers=("Type", "Value", "Note", "Valid from", "Valid until"),
            rows=rows,
        ),
        Fold(
            title=plural(len(objects), "other object"), headers=("Type", "Name", "ATT&CK", "Description"), rows=objects
        ),
        Fold(
            title=plural(len(rules), "rule"),
            headers=("Rule", "Language", "Level", "Applies to", "Condition", "Compiles here"),
            rows=rules,
        ),
    ]


def _row(one: ListedIndicator) -> tuple[str, ...]:
    until = "revoked" if one.revoked else f"{one.valid_until} (expired)" if one.expired else one.valid_until
    value = code_span(one.defanged, limit=VALUE_CHARS)
    return type_name(one.type, count=1), value, escape(one.note), escape(one.valid_from), escape(until)


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do with a list that has nothing to be searched in."""
    if not with_facts(findings, ListedIndicator):
        return []
    return ["Attach the logs and ask “Are any of these indicators in the logs?”."]


SECTION = Section(
    skill=Skill(
        name="threat_intel",
        tool="svc.assistant.skills.indicators.intel.tool:inspect",
        input=InputKind.TEXT,
        title="Threat intelligence",
        can="list what a STIX bundle, a MISP event or OpenIOC contains, and explain Sigma and YARA rules",
        facts=(IntelSummary, ListedIndicator, IntelObject, DetectionRule),
        strong=words(
            r"\bstix\b", r"\bmisp\b", r"\bopenioc\b", r"\b(?:explain|describe|read)\b[^.?!\n]{0,40}\b(?:sigma|yara)\b"
        ),
        content=words(r"^logsource:", r"\"type\"\s{0,9}:\s{0,9}\"bundle\"", r"\brule \w{1,128}\s{0,20}\{"),
        looks=words(
            r"\A(?:[^\n]{0,200}\n){0,30}?(?:logsource|detection):\s",
            r"\A\s{0,99}(?:private |global )?rule \w{1,128}\s{0,20}\{",
        ),
        labels=_LABELS | {"indicatorlist", "txt", "csv", "tsv", "json", "yaml", "xml", "markdown", "log", "jsonl"},
        claims=_LABELS,
        takes=frozenset({"now"}),
    ),
    verdict=verdict,
    facts=facts,
    folds=folds,
    next_steps=next_steps,
)
