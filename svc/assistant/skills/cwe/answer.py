"""The answer about weaknesses: the most likely CWE of each text with its rivals, or an explanation of one."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Confidence, Finding, InputKind, with_facts
from svc.assistant.skills.answer_parts import MAX_FACTS, Fold, as_folds, listed, short_place
from svc.assistant.skills.cwe.findings import CweCandidate, CweEntry
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import bullets, code_span, escape, plural, table

MAX_EXPLAINED = 3  # CWEs in the verdict
MAX_TEXTS = 25  # whose candidates are listed
CANDIDATES_PER_TEXT = 5


def verdict(findings: Sequence[AnyFinding]) -> str:
    """The CWE and how clear it is, how many texts have one, or what the CWE in question is."""
    entries = with_facts(findings, CweEntry)
    likeliest = [finding for finding in with_facts(findings, CweCandidate) if finding.facts.rank == 1]
    if entries:
        return " ".join(
            f"**{escape(finding.title)}.** {escape(finding.facts.what or '')}".rstrip()
            for finding in entries[:MAX_EXPLAINED]
        )
    if not likeliest:
        return "**Not examined:** the text does not describe a known weakness."
    if len(likeliest) > 1:
        return f"**A CWE for {plural(len(likeliest), 'text')}:** see the most likely candidates of each below."
    best = likeliest[0]
    doubt = "" if best.confidence is Confidence.HIGH else " (another candidate is close)"
    evidence = ", ".join(code_span(word, limit=60) for word in best.facts.words[:3])
    return f"**{escape(best.title)}**{doubt}. Evidence: {evidence}. {escape(best.facts.what)}".rstrip()


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """How to mitigate the CWE in question and its relatives; the candidates of a text, most likely first."""
    entries, candidates = with_facts(findings, CweEntry), with_facts(findings, CweCandidate)
    if entries:
        return [fact for finding in entries for fact in _about(finding.facts)][:MAX_FACTS]
    first = [one for one in candidates if one.facts.rank == 1] if candidates and _texts(candidates) > 1 else candidates
    told = [_candidate(one, has_text=_texts(candidates) > 1) for one in first[: MAX_FACTS - 1]]
    if candidates and candidates[0].facts.fix and _texts(candidates) == 1:
        told.append(f"**Mitigations of the first**: {listed([escape(fix) for fix in candidates[0].facts.fix])}.")
    return told


def _texts(candidates: Sequence[Finding[CweCandidate]]) -> int:
    return len({one.facts.block for one in candidates})


def _candidate(finding: Finding[CweCandidate], *, has_text: bool) -> str:
    words_of = ", ".join(code_span(word, limit=40) for word in finding.facts.words[:3])
    text = f"Text {finding.facts.block}: " if has_text else ""
    return f"{text}**{escape(finding.title)}** ({short_place(finding.evidence[0])}): {words_of}"


def _about(facts: CweEntry) -> list[str]:
    lists = (
        (f"Mitigations of {escape(facts.id)}", facts.fix),
        ("More general", facts.parents),
        ("More specific", facts.children),
    )
    return [f"**{title}**: {listed([escape(one) for one in values])}." for title, values in lists if values]


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """Everything about the CWEs in question, all candidates, and the version of the table."""
    return as_folds(_details)(findings)


def _details(findings: Sequence[AnyFinding]) -> str:
    entries, candidates = with_facts(findings, CweEntry), with_facts(findings, CweCandidate)
    blocks = [_explained(finding) for finding in entries]
    if candidates:
        rows = [_row(finding) for finding in candidates if finding.facts.block <= MAX_TEXTS]
        headers = ["Text", "Rank", "CWE", "Score", "Words", "Line"]
        blocks.append("**Candidates**")
        blocks.append(table(headers, rows, limit=MAX_TEXTS * CANDIDATES_PER_TEXT))
        if candidates[0].facts.fix:
            blocks.append("**Mitigations**\n\n" + bullets([escape(fix) for fix in candidates[0].facts.fix]))
    facts: list[CweEntry | CweCandidate] = [*(one.facts for one in entries), *(one.facts for one in candidates)]
    if facts:
        dated = f" of {facts[0].table_date}" if facts[0].table_date else ""
        blocks.append(f"CWE version {escape(facts[0].table_version)}{dated}; descriptions are our own.")
    return "\n\n".join(blocks)


def _row(finding: Finding[CweCandidate]) -> list[str]:
    facts = finding.facts
    evidence = ", ".join(code_span(word, limit=40) for word in facts.words[:4])
    line = str(finding.evidence[0].line)
    return [str(facts.block), str(facts.rank), escape(finding.title), str(facts.score), evidence, line]


def _explained(finding: Finding[CweEntry]) -> str:
    facts = finding.facts
    level = escape(facts.level) or "the shipped table does not have it, nor parents"
    lines = [f"Level: {level}; status: {escape(facts.status)}."]
    if facts.parents:
        lines.append("Parents: " + ", ".join(map(escape, facts.parents)) + ".")
    if facts.children:
        lines.append("Children: " + ", ".join(map(escape, facts.children)) + ".")
    lines += [f"Mitigation: {escape(fix)}." for fix in facts.fix]
    return f"**{escape(finding.title)}**\n\n" + bullets(lines)


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """A manual check if the candidates of a text are close."""
    candidates = with_facts(findings, CweCandidate)
    if all(finding.facts.rank > 1 or finding.confidence is Confidence.HIGH for finding in candidates):
        return []
    return ["Check the code or the vendor's advisory before you assign the CWE: the wording alone fits several."]


SECTION = Section(
    skill=Skill(
        name="weakness",
        tool="svc.assistant.skills.cwe.tool:inspect",
        input=InputKind.TEXT,
        title="Weaknesses",
        can="explain a CWE, or find the CWE that a text describes",
        facts=(CweCandidate, CweEntry),
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
        reads_question=True,
    ),
    verdict=verdict,
    facts=facts,
    folds=folds,
    next_steps=next_steps,
)
