"""The answer about archives: what is dangerous in them, and their members."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, InputKind, Severity, with_facts
from svc.assistant.skills.answer_parts import MAX_FACTS, as_folds, worst_findings
from svc.assistant.skills.archive.findings import ArchiveMember, ArchiveSign, ArchiveSummary
from svc.assistant.skills.skill import PACKED_LABELS, Section, Skill, words
from svc.untrusted.markup import bullets, code_span, escape, plural, table

_WORST_FIRST = list(Severity)
_SIGNS_SHOWN = 25
MAX_NAMED = 2  # archives among the facts


def verdict(findings: Sequence[AnyFinding]) -> str:
    """How many signs of danger there are among how many members, and the worst."""
    summaries, signs = [summary.facts for summary in with_facts(findings, ArchiveSummary)], _signs(findings)
    count, size = sum(summary.members for summary in summaries), sum(summary.size for summary in summaries)
    if not summaries and not signs:
        return "**Not examined:** no member of an archive could be read."
    extent = f"{plural(count, 'member')}, {size:,} bytes unpacked"
    severe = [sign for sign in signs if sign.severity in (Severity.HIGH, Severity.CRITICAL)]
    if severe:
        worst = severe[0].facts
        name = code_span(worst.member, limit=80)
        return f"**Dangerous:** {plural(len(severe), 'sign')} of danger in {extent}; {name}: {escape(worst.words)}."
    if signs:
        return f"**Suspicious:** {plural(len(signs), 'sign')} of danger in {extent}; none of them is conclusive."
    limits = "this says nothing about what the members contain"
    return f"**No sign of danger in names, types and structure** of {extent}; {limits}."


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """What each archive holds, and the worst signs of danger."""
    told = [f"**{summary.facts.format.upper()}**: {_extent(summary.facts)}" for summary in _summaries(findings)]
    return told + worst_findings(_signs(findings))[: MAX_FACTS - len(told)]


def _summaries(findings: Sequence[AnyFinding]) -> list[Finding[ArchiveSummary]]:
    """The first archives: the folds have all."""
    return with_facts(findings, ArchiveSummary)[:MAX_NAMED]


def body(findings: Sequence[AnyFinding]) -> str:
    """The archive, the signs of danger, the members."""
    summaries = [
        f"{summary.facts.format}: {_extent(summary.facts)}" for summary in with_facts(findings, ArchiveSummary)
    ]
    blocks = ["**Archives**", bullets(summaries)] if len(summaries) > MAX_NAMED else []
    signs = _signs(findings)
    if signs:
        rows = [
            [
                sign.severity.value,
                code_span(sign.facts.member, limit=100),
                escape(sign.facts.words),
                str(sign.evidence[0].record or ""),
            ]
            for sign in signs
        ]
        headers = ["Severity", "Member", "Indicator", "Entry"]
        blocks.append("**Indicators**\n\n" + table(headers, rows, limit=_SIGNS_SHOWN))
    members = sorted(with_facts(findings, ArchiveMember), key=lambda member: not member.facts.dangers)
    if members:
        headers = ["Name", "Type by content", "Bytes", "Ratio", "Modified", "SHA-256", "Note"]
        blocks.append("**Members**\n\n" + table(headers, [_row(member.facts) for member in members]))
    return "\n\n".join(blocks)


def _extent(facts: ArchiveSummary) -> str:
    ratio = f", {facts.ratio} times its own size" if facts.ratio else ""
    times = f" Changed between {facts.oldest} and {facts.newest}." if facts.oldest else ""
    types = ", ".join(f"{row.count:,} {row.label}" for row in facts.labels)
    extent = f"{plural(facts.members, 'member')}, {facts.size:,} bytes{ratio}"
    opened = f"{facts.opened:,} opened, {facts.encrypted:,} password-protected"
    return f"{extent}; {opened}.{times}" + (f" Types: {escape(types)}." if types else "")


def _row(facts: ArchiveMember) -> list[str]:
    note = "password-protected" if facts.is_encrypted else facts.note
    return [
        code_span(facts.name, limit=100),
        code_span(facts.label) if facts.label else facts.member_type,
        f"{facts.size:,}",
        str(facts.ratio or ""),
        facts.modified,
        code_span(facts.sha256) if facts.sha256 else "",
        escape(note or (f"to {facts.link}" if facts.link else "")),
    ]


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do with dangerous members."""
    steps = []
    signs = {sign.facts.sign for sign in _signs(findings)}
    if signs & {"executable", "script", "macros", "double_ending", "disguise"}:
        steps.append("Open the programs, scripts and documents in it only in isolation.")
    if "password" in signs:
        steps.append("Ask the sender for the password, or look for it in the mail; unpack only in isolation.")
    if signs & {"traversal", "link"}:
        steps.append("Do not unpack it with a program that follows such paths; check hosts for files put elsewhere.")
    return steps


def _signs(findings: Sequence[AnyFinding]) -> list[Finding[ArchiveSign]]:
    return sorted(with_facts(findings, ArchiveSign), key=lambda sign: _WORST_FIRST.index(sign.severity))


SECTION = Section(
    skill=Skill(
        name="archive",
        tool="svc.assistant.skills.archive.tool:inspect",
        input=InputKind.BINARY,
        title="Archive",
        can="list an archive (ZIP, TAR, 7z) or folder, report dangerous members, read each by the tool for its kind",
        facts=(ArchiveSummary, ArchiveMember, ArchiveSign),
        strong=words(
            r"\barchives?\b",
            r"\b(?:zip|tar|tarball|tgz|7z|rar) ?(?:files?|archives?|bombs?)?\b",
            r"\bzip-?bombs?\b",
        ),
        labels=frozenset({"zip", "tar", "jar", "apk", "epub", "sevenzip", "rar", "cab", "iso"}) | PACKED_LABELS,
        claims=frozenset({"zip", "tar", "jar", "apk", "sevenzip", "rar", "cab", "iso"}),
        file_names=words(r".{0,255}\.(?:tar\.(?:gz|bz2|xz|zst)|tgz|tbz2?|txz)"),
    ),
    verdict=verdict,
    facts=facts,
    folds=as_folds(body),
    next_steps=next_steps,
)
