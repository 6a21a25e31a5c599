"""The answer about weaknesses: the likeliest CWE with its rivals, or what one is. Kinds: ``tools/weakness.py``."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import Confidence, InputKind, Scalar
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import bullets, code_span, escape, plural, table

SHOWN_TEXTS = 25


def verdict(findings: Sequence[Finding]) -> str:
    """The CWE and how sure it is, how many texts were named, or what the one asked for is."""
    asked, first = _of(findings, "cwe"), [f for f in _of(findings, "weakness") if f.attributes["rank"] == 1]
    if asked:
        return " ".join(f"**{escape(f.title)}.** {escape(str(f.attributes['what'] or ''))}".rstrip() for f in asked[:3])
    if not first:
        return "**No weakness recognised:** the text uses none of the words that the table has."
    if len(first) > 1:
        return f"**A CWE for {plural(len(first), 'text')}:** the likeliest of each stands first below."
    best = first[0]
    sure = "" if best.confidence is Confidence.HIGH else " (the next candidate is close)"
    led = ", ".join(code_span(str(word), limit=60) for word in _list(best, "words")[:3])
    return f"**{escape(best.title)}**{sure}. The text says {led}. {escape(str(best.attributes['what']))}".rstrip()


def section(findings: Sequence[Finding]) -> str:
    """What was asked for as a list; the candidates of each text as a table."""
    blocks = [_explained(finding) for finding in _of(findings, "cwe")]
    candidates = _of(findings, "weakness")
    if candidates:
        rows = [_row(finding) for finding in candidates if finding.attributes["block"] in range(1, SHOWN_TEXTS + 1)]
        blocks.append(table(["Text", "Rank", "CWE", "Score", "Words", "Line"], rows, limit=SHOWN_TEXTS * 5))
        best = candidates[0]
        if _list(best, "fix"):
            blocks.append("**Mitigations**\n\n" + bullets([escape(str(fix)) for fix in _list(best, "fix")]))
    blocks.append(_origin(findings))
    return "\n\n".join(block for block in blocks if block)


def _row(finding: Finding) -> list[str]:
    attributes = finding.attributes
    led = ", ".join(code_span(str(word), limit=40) for word in _list(finding, "words")[:4])
    line = finding.evidence[0].line if finding.evidence else None
    title = escape(finding.title)
    return [str(attributes["block"]), str(attributes["rank"]), title, str(attributes["score"]), led, str(line or "")]


def _explained(finding: Finding) -> str:
    attributes = finding.attributes
    lines = [f"Level: {escape(str(attributes['level']))}; status: {escape(str(attributes['status']))}."]
    if _list(finding, "parents"):
        lines.append("Is a kind of: " + ", ".join(escape(str(one)) for one in _list(finding, "parents")) + ".")
    if _list(finding, "children"):
        lines.append("Kinds of it: " + ", ".join(escape(str(one)) for one in _list(finding, "children")) + ".")
    lines += [f"Mitigation: {escape(str(one))}." for one in _list(finding, "fix")]
    return f"**{escape(finding.title)}**\n\n" + bullets(lines)


def _origin(findings: Sequence[Finding]) -> str:
    for finding in findings:
        version, dated = finding.attributes.get("table_version"), finding.attributes.get("table_date")
        return f"CWE version {escape(str(version))}" + (f" of {dated}" if dated else "") + "; descriptions are our own."
    return ""


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """A check by a person where the candidates are close."""
    close = [f for f in _of(findings, "weakness") if f.attributes["rank"] == 1 and f.confidence is not Confidence.HIGH]
    if not close:
        return []
    return ["Read the code or the vendor's advisory before you assign the CWE: the words alone leave a choice."]


def _of(findings: Sequence[Finding], kind: str) -> list[Finding]:
    return [finding for finding in findings if finding.kind == kind]


def _list(finding: Finding, name: str) -> list[Scalar]:
    value = finding.attributes.get(name)
    return value if isinstance(value, list) else []


SECTION = Section(
    skill=Skill(
        name="weakness",
        tool="svc.assistant.skills.cwe.tool:weigh",
        input=InputKind.TEXT,
        title="Weaknesses",
        can="say what a CWE is, or which CWE a text describes",
        loose_kinds=("weakness", "cwe"),
        strong=words(
            r"\bCWEs?\b",
            r"\bcommon weakness\b",
            r"\b(?:which|what|(?:name|identify|classify) the) (?:(?:kind|type|class) of )?(?:software )?weakness",
            r"\broot cause (?:weakness|mapping)\b",
            r"\b(?:classify|categori[sz]e|which (?:kind|type|class) of|what (?:kind|type|class) of)\b[^.?!\n:]{0,20}"
            r"\b(?:vulnerability|flaw|bug)\b",
        ),
        content=words(r"\bCWE-\d", r"\bvulnerabilit\w+\b[^.]{0,200}\b(?:attackers?|allows?)\b"),
        takes=frozenset({"question"}),
    ),
    verdict=verdict,
    body=section,
    next_steps=next_steps,
)
