"""Keep the tools' findings in a model's answer: what it does not mention is added, what it denies goes first. Pure.

A finding is mentioned if the text contains the values by which the finding's title names what was found, or most of the
title's words. Whether the text says the right thing about it is not checked, except that it must not reassure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from svc.assistant.findings import AnyFinding, Severity, columns
from svc.untrusted.defang import defang_text, plain, refang
from svc.untrusted.markup import bullets, code_span, escape, plural

NOT_MENTIONED = "Findings of the tools that the text above does not mention"
SHOWN = 20
LEAD_SHOWN = 5
MENTIONED_SHARE = 0.6  # of the words of a title
FEW_WORDS = 4  # of a title; all of them must be there, because two of three occur in many texts
VERDICT_CHARS = 400  # at the beginning of a text, which hold its verdict
_RANK = {severity: rank for rank, severity in enumerate(Severity)}
_WORD = re.compile(r"[^\W_]{3,}")
_REASSURING = re.compile(
    r"\b(?:no|not any|without|zero)\s(?:\w+\s){0,3}?(?:threats?|malicious|suspicious|compromise|attacks?|intrusions?"
    r"|findings?|malware|incidents?|anomal(?:y|ies)|detections?)\b"
    r"|\bnothing\s(?:\w+\s){0,2}?(?:suspicious|malicious|unusual|found|to report|stands out|dangerous|wrong)\b"
    r"|\b(?:is|are|was|were|looks?|appears?|seems?|as)\s(?:\w+\s){0,2}?(?:benign|clean|safe|harmless|legitimate|normal|fine"
    r"|false positives?)\b"
    r"|\bnot\s(?:\w+\s)?(?:compromised|malicious|suspicious|dangerous|breached)\b|\ball (?:good|clear|is well)\b"
    r"|\bkeine?\w*\s(?:\w+\s){0,2}?(?:bedrohung|hinweise|auffällig|angriff|funde)\w*|\b(?:harmlos|unbedenklich|unauffällig)\b"
    r"|\baucune?\s(?:\w+\s)?(?:menace|attaque|compromission|activité)|\brien (?:de suspect|à signaler)"
    r"|\b(?:no hay|ninguna?|sin)\s(?:\w+\s)?(?:amenaza|ataque|actividad|compromiso)\w*"
    r"|(?:脅威|問題|異常|不審な点|侵害)(?:は|が)?(?:あり?ません|ない|なし|見つかりません|検出されません)",
    re.IGNORECASE,
)
_ONLY_REASSURING = re.compile(
    r"\W*(?:benign|clean|safe|harmless|legitimate|no|false positive|ok|okay)\W*", re.IGNORECASE
)


def unmentioned(text: str, findings: Sequence[AnyFinding]) -> list[AnyFinding]:
    """The findings of severity medium or above that ``text`` does not mention, worst first, each title once."""
    seen = _searchable(text)
    worst_first = sorted(findings, key=lambda finding: _RANK[finding.severity])
    left = {
        finding.title: finding
        for finding in reversed(worst_first)
        if _RANK[finding.severity] <= _RANK[Severity.MEDIUM] and not _mentions(seen, finding)
    }
    return list(left.values())[::-1]


def denied(text: str, findings: Sequence[AnyFinding]) -> list[AnyFinding]:
    """The findings of severity high or above if ``text`` reassures in spite of them, worst first."""
    high = [finding for finding in findings if _RANK[finding.severity] <= _RANK[Severity.HIGH]]
    if not high:
        return []
    missing = unmentioned(text, high)
    reassures = _ONLY_REASSURING.fullmatch(text) or _REASSURING.search(text[:VERDICT_CHARS])
    if reassures or (len(missing) == len({finding.title for finding in high}) and _REASSURING.search(text)):
        return sorted(high, key=lambda finding: _RANK[finding.severity])
    return []


def with_findings(markdown: str, findings: Sequence[AnyFinding]) -> str:
    """The model's answer with the tools' verdict before it if it denies that, and what it does not mention after it."""
    blocks = [markdown.rstrip()]
    if high := denied(markdown, findings):
        blocks.insert(0, _lead(high))
    shown = {finding.title for finding in high[:LEAD_SHOWN]}
    left = [finding for finding in unmentioned(markdown, findings) if finding.title not in shown]
    if left:
        rows = [_row(finding) for finding in left[:SHOWN]]
        more = f"\n\n… and {len(left) - SHOWN:,} more in the attached findings." if len(left) > SHOWN else ""
        blocks.append(f"**{NOT_MENTIONED}** ({len(left):,})\n\n{bullets(rows)}{more}")
    return "\n\n".join(blocks) + "\n"


def _lead(high: Sequence[AnyFinding]) -> str:
    titles = list(dict.fromkeys(finding.title for finding in high))
    named = bullets(
        [_row(finding) for finding in {one.title: one for one in reversed(high)}.values()][::-1][:LEAD_SHOWN]
    )
    more = f"\n\n… and {len(titles) - LEAD_SHOWN:,} more in the attached findings." if len(titles) > LEAD_SHOWN else ""
    return (
        f"**{plural(len(titles), 'finding')} of severity high or above. The model's text below disagrees; the tools' "
        f"findings stand, with their evidence.**\n\n{named}{more}\n\n**Text of the model**"
    )


def _row(finding: AnyFinding) -> str:
    evidence = finding.evidence[0] if finding.evidence else None
    where = ""
    if evidence is not None:
        number = evidence.line or evidence.record
        where = f": {code_span(evidence.source, limit=80)}" + (f" line {number:,}" if number else "")
        where += f" {code_span(defang_text(evidence.excerpt))}" if evidence.excerpt.strip() else ""
    return f"**{finding.severity.value}**: {escape(finding.title)}{where}"


def _mentions(searchable: str, finding: AnyFinding) -> bool:
    title = _searchable(finding.title)
    if title in searchable:
        return True
    values = [value for value in map(_searchable, _values(finding)) if len(value) > 2 and value in title]
    if len(set(values)) > 1:  # one alone, such as "root", occurs in many texts
        return all(value in searchable for value in values)
    words = set(_WORD.findall(title))
    found = len(words & set(_WORD.findall(searchable)))
    return found == len(words) > 0 if len(words) <= FEW_WORDS else found / len(words) >= MENTIONED_SHARE


def _values(finding: AnyFinding) -> Iterator[str]:
    for value in columns(finding).values():
        yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))


def _searchable(text: str) -> str:
    return " ".join(plain(refang(text.replace("`", " ").replace("*", ""))).lower().split())
