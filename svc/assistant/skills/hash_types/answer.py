"""The answer about hashes: what each could be, likeliest first. Kinds: ``tools/hash_kind``."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import InputKind, Scalar
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import code_span, plural, table


def verdict(findings: Sequence[Finding]) -> str:
    """The kind of the one hash, or how many of which kinds."""
    if not findings:
        return "**No hash that is known by its form.**"
    if len(findings) == 1:
        finding = findings[0]
        known = finding.attributes["known"]
        names = _names(finding)
        if known:
            return f"**{known}.**"
        others = f" It could also be {', '.join(names[1:])}: the form does not tell them apart." if names[1:] else ""
        return f"**{names[0]}.**{others}"
    counts: dict[str, int] = {}
    for finding in findings:
        counts[_names(finding)[0]] = counts.get(_names(finding)[0], 0) + 1
    listed = ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))
    return f"**{plural(len(findings), 'different hash', 'different hashes')}:** {listed} (the likeliest kind of each)."


def section(findings: Sequence[Finding]) -> str:
    """One table, a row a hash."""
    if not findings:
        return ""
    rows = [
        [
            code_span(str(finding.attributes["value"])),
            str(finding.attributes["known"] or ", ".join(_names(finding))),
            "yes" if finding.attributes["is_password"] else "no",
            str(_list(finding, "notes")[0]),
            str(finding.evidence[0].line),
        ]
        for finding in findings
    ]
    first = findings[0].attributes
    origin = f"Forms: own table, version {first['table_version']} of {first['table_date']}."
    return f"{table(['Hash', 'Kind, likeliest first', 'May be a password', 'Note', 'Line'], rows)}\n\n{origin}"


def _names(finding: Finding) -> list[str]:
    return [str(name) for name in _list(finding, "candidates")]


def _list(finding: Finding, name: str) -> list[Scalar]:
    value = finding.attributes[name]
    return value if isinstance(value, list) else []


SECTION = Section(
    skill=Skill(
        name="hash_kind",
        tool="svc.assistant.skills.hash_types.tool:identify",
        input=InputKind.TEXT,
        title="Hashes",
        can="say what kind of hash something is, by its form",
        loose_kinds=("hash_kind",),
        strong=words(
            r"\bwhat (?:(?:kind|type|sort) of )?hash(?:es)?\b",
            r"\bidentify (?:this|the|these|those) hash(?:es)?\b",
            r"\bhash (?:kinds?|types?)\b",
        ),
        weak=words(r"\bkind of hash\b"),
        content=words(r"\b[0-9a-f]{32,128}\b", r"\$(?:2[aby]|1|5|6|y|7|apr1|argon2\w*)\$"),
        looks=words(
            r"\A\s*(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})\s*\??\s*\Z",
            r"\A\s*\$(?:2[aby]|1|5|6|y|7|apr1|argon2\w*)\$\S+\s*\Z",
        ),
    ),
    verdict=verdict,
    body=section,
)
