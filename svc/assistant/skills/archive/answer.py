"""The answer about archives: what is in it, what is wrong with it. Kinds: ``tools/archive``."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import InputKind, Scalar, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.skill import PACKED_LABELS, Section, Skill, words
from svc.untrusted.markup import code_span, escape, plural, table

_WORST_FIRST = list(Severity)
_SIGNS_SHOWN = 25


def verdict(findings: Sequence[Finding]) -> str:
    """How much of it is dangerous, and the worst."""
    summaries, signs = _of(findings, "archive_summary"), _signs(findings)
    count = sum(int(str(summary.attributes["members"])) for summary in summaries)
    held = f"{plural(count, 'member')}, {_bytes(summaries)} unpacked"
    severe = [sign for sign in signs if sign.severity in (Severity.HIGH, Severity.CRITICAL)]
    if severe:
        worst = severe[0]
        name = code_span(str(worst.attributes["member"]), limit=80)
        what = escape(str(worst.attributes["words"]))
        return f"**Dangerous:** {plural(len(severe), 'sign')} among {held}; {name}: {what}."
    if signs:
        return f"**Worth a look:** {plural(len(signs), 'sign')} among {held}; none of them is proof of harm."
    return f"**Nothing dangerous by name, kind or structure** among {held}."


def _bytes(summaries: Sequence[Finding]) -> str:
    return f"{sum(int(str(summary.attributes['size'])) for summary in summaries):,} bytes"


def section(findings: Sequence[Finding]) -> str:
    """The archive, what is wrong with it, its members."""
    blocks = [_summary(summary) for summary in _of(findings, "archive_summary")]
    signs = _signs(findings)
    if signs:
        rows = [
            [
                sign.severity.value,
                code_span(str(sign.attributes["member"]), limit=100),
                escape(str(sign.attributes["words"])),
                str(sign.evidence[0].record or ""),
            ]
            for sign in signs
        ]
        blocks.append(
            "**What is wrong**\n\n" + table(["Severity", "Member", "What", "Entry"], rows, limit=_SIGNS_SHOWN)
        )
    members = sorted(_of(findings, "archive_member"), key=lambda member: not _list(member, "dangers"))
    if members:
        rows = [_row(member) for member in members]
        headers = ["Name", "Kind by content", "Bytes", "Ratio", "Changed", "SHA-256", "Note"]
        blocks.append("**Members**\n\n" + table(headers, rows))
    return "\n\n".join(blocks)


def _summary(summary: Finding) -> str:
    given = summary.attributes
    ratio = f", {given['ratio']} times its own size" if given["ratio"] else ""
    times = f" Changed between {given['oldest']} and {given['newest']}." if given["oldest"] else ""
    kinds = ", ".join(str(label) for label in _list(summary, "labels"))
    held = f"{plural(int(str(given['members'])), 'member')}, {int(str(given['size'])):,} bytes{ratio}"
    return f"{given['format']}: {held}; {given['opened']:,} opened, {given['encrypted']:,} with a password.{times}" + (
        f" Kinds: {escape(kinds)}." if kinds else ""
    )


def _row(member: Finding) -> list[str]:
    given = member.attributes
    note = "password" if given["is_encrypted"] else str(given["note"])
    return [
        code_span(str(given["name"]), limit=100),
        code_span(str(given["label"])) if given["label"] else str(given["kind"]),
        f"{given['size']:,}",
        str(given["ratio"] or ""),
        str(given["modified"]),
        code_span(str(given["sha256"])) if given["sha256"] else "",
        escape(note or (f"to {given['link']}" if given["link"] else "")),
    ]


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """What to do with what it holds."""
    steps = []
    signs = {str(sign.attributes["sign"]) for sign in _signs(findings)}
    if signs & {"executable", "script", "macros", "double_ending", "disguise"}:
        steps.append(
            "Attach the members that run by themselves: programs, scripts and documents are inspected one by one."
        )
    if "password" in signs:
        steps.append(
            "Ask who sent it for the password, or look for it in the mail that brought it; unpack in isolation."
        )
    if signs & {"traversal", "link"}:
        steps.append(
            "Do not unpack it with a program that follows such names; look on hosts for files written outside."
        )
    return steps


def _of(findings: Sequence[Finding], kind: str) -> list[Finding]:
    return [finding for finding in findings if finding.kind == kind]


def _signs(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(_of(findings, "archive_sign"), key=lambda sign: _WORST_FIRST.index(sign.severity))


def _list(finding: Finding, name: str) -> list[Scalar]:
    value = finding.attributes[name]
    return value if isinstance(value, list) else []


SECTION = Section(
    skill=Skill(
        name="archive",
        tool="svc.assistant.skills.archive.tool:inspect",
        input=InputKind.BINARY,
        title="Archive",
        can="list an archive (ZIP, TAR), open it one level and say which members are dangerous",
        loose_kinds=("archive_summary", "archive_member", "archive_sign"),
        strong=words(
            r"\barchives?\b",
            r"\b(?:zip|tar|tarball|tgz|7z|rar) ?(?:files?|archives?|bombs?)?\b",
            r"\bzip-?bombs?\b",
        ),
        labels=frozenset({"zip", "tar", "jar", "apk", "epub"}) | PACKED_LABELS,
        claims=frozenset({"zip", "tar", "jar", "apk"}),
        file_names=words(r".*\.(?:tar\.(?:gz|bz2|xz)|tgz|tbz2?|txz)"),
    ),
    verdict=verdict,
    body=section,
    next_steps=next_steps,
)
