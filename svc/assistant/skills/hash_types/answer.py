"""The answer about hashes: the types that each may be of, most likely first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, InputKind, with_facts
from svc.assistant.skills.answer_parts import MAX_FACTS, as_folds, short_place
from svc.assistant.skills.hash_types.findings import HashType
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import code_span, plural, table


def verdict(findings: Sequence[AnyFinding]) -> str:
    """The type of a single hash, or how many hashes of which types."""
    hashes = [finding.facts for finding in with_facts(findings, HashType)]
    if not hashes:
        return "**Not examined:** the text has no hash of a known format."
    if len(hashes) == 1:
        likeliest, *others = [candidate.name for candidate in hashes[0].candidates]
        if hashes[0].known:
            return f"**{hashes[0].known}.**"
        alternatives = f" It could also be {', '.join(others)}: the format is the same." if others else ""
        return f"**{likeliest}.**{alternatives}"
    counts = Counter(facts.candidates[0].name for facts in hashes)
    listed = ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
    return f"**{plural(len(hashes), 'different hash', 'different hashes')}:** {listed} (the most likely type of each)."


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """Each hash with its types, what is known of the likeliest, and its line."""
    return [
        f"{code_span(one.facts.value, limit=70)} ({short_place(one.evidence[0])}): "
        f"**{one.facts.known or one.facts.candidates[0].name}**"
        + (f"; {one.facts.candidates[0].note}" if one.facts.candidates[0].note else "")
        + ("; may be of a password" if one.facts.is_password else "")
        for one in with_facts(findings, HashType)[:MAX_FACTS]
    ]


def body(findings: Sequence[AnyFinding]) -> str:
    """One table with a row for each hash."""
    hashes = with_facts(findings, HashType)
    if not hashes:
        return ""
    rows = [
        [
            code_span(finding.facts.value),
            finding.facts.known or ", ".join(candidate.name for candidate in finding.facts.candidates),
            "yes" if finding.facts.is_password else "no",
            finding.facts.candidates[0].note,
            str(finding.evidence[0].line),
        ]
        for finding in hashes
    ]
    first = hashes[0].facts
    origin = f"Formats: own table, version {first.table_version} of {first.table_date}."
    headers = ("Hash", "Type, most likely first", "May be a password", "Note", "Line")
    return f"**Hashes**\n\n{table(headers, rows)}\n\n{origin}"


SECTION = Section(
    skill=Skill(
        name="hash_kind",
        tool="svc.assistant.skills.hash_types.tool:inspect",
        input=InputKind.TEXT,
        title="Hashes",
        can="identify the type of a hash by its format",
        facts=(HashType,),
        strong=words(
            r"\bwhat (?:(?:kind|type|sort) of )?hash(?:es)?\b",
            r"\bidentify (?:this|the|these|those) hash(?:es)?\b",
            r"\bhash (?:kinds?|types?)\b",
        ),
        weak=words(r"\bkind of hash\b"),
        content=words(r"\b[0-9a-f]{32,128}\b", r"\$(?:2[aby]|1|5|6|y|7|apr1|argon2\w*)\$"),
        looks=words(
            r"\A\s*+(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})\s*+\??\s*+\Z",
            r"\A\s*+\$(?:2[aby]|1|5|6|y|7|apr1|argon2\w*)\$\S++\s*+\Z",
        ),
    ),
    verdict=verdict,
    facts=facts,
    folds=as_folds(body),
)
