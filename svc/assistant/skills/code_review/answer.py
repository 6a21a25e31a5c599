"""The answer about code, configurations and HTTP headers: weaknesses, the worst first, and their fixes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, InputKind, Severity, with_facts
from svc.assistant.skills.answer_parts import MAX_FACTS, as_folds, short_place, worst_findings
from svc.assistant.skills.code_review.findings import CodeReview, CodeWeakness
from svc.assistant.skills.code_review.languages import LANGUAGE_NAMES
from svc.assistant.skills.skill import READABLE_LABELS, RECORD_LABELS, Section, Skill, words
from svc.untrusted.markup import bullets, code_span, escape, plural, table

_SEVERITIES = tuple(Severity)  # the worst first


def verdict(findings: Sequence[AnyFinding]) -> str:
    """How many weaknesses of which severity, and the worst of them."""
    reviews, weaknesses = with_facts(findings, CodeReview), _worst_first(findings)
    if not reviews:
        return "**Not examined:** no code, configuration or HTTP headers in a supported language."
    what = ", ".join(dict.fromkeys(LANGUAGE_NAMES[finding.facts.language] for finding in reviews))
    if not weaknesses:
        lines = plural(sum(finding.facts.lines for finding in reviews), "line")
        patterns = max(finding.facts.patterns for finding in reviews)
        return (
            f"**None of {plural(patterns, 'weakness pattern')} matched** in {lines} ({what}). "
            "Other weaknesses were not checked."
        )
    counts = Counter(finding.severity for finding in weaknesses)
    listed = ", ".join(f"{counts[severity]:,} {severity}" for severity in _SEVERITIES if counts[severity])
    worst = weaknesses[0]
    location = f"{escape(worst.title)} ({worst.facts.cwe}, line {worst.evidence[0].line:,})"
    return f"**{plural(len(weaknesses), 'weakness', 'weaknesses')}** ({what}): {listed}. Most severe: {location}."


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """The weaknesses that the verdict does not name, and how to fix the worst."""
    weaknesses = _worst_first(findings)
    if not weaknesses:
        return []
    worst = weaknesses[0]
    place = f"{worst.facts.cwe}, {short_place(worst.evidence[0])}"
    excerpt = code_span(worst.evidence[0].excerpt, limit=90)
    told = [f"**{escape(worst.title)}** ({worst.severity.value}, {place}): {excerpt} {escape(worst.facts.fix)}"]
    return told + worst_findings(weaknesses[1:])[: MAX_FACTS - 1]


def body(findings: Sequence[AnyFinding]) -> str:
    """One table, the worst first; then each fix once."""
    reviews, weaknesses = with_facts(findings, CodeReview), _worst_first(findings)
    if not weaknesses or not reviews:
        return ""
    has_files = len({finding.evidence[0].source for finding in weaknesses}) > 1
    headers = ("Severity", "CWE", "Line", "Weakness", "Code", "Why it matters")
    fixes = dict.fromkeys(
        f"**{escape(finding.title)}** ({finding.facts.cwe}): {escape(finding.facts.fix)}" for finding in weaknesses
    )
    version = f"version {reviews[0].facts.table_version} of {reviews[0].facts.table_date}"
    origin = f"Table of weaknesses: {version}. Each file was reviewed on its own; nothing was executed."
    rows = [_row(finding, has_file=has_files) for finding in weaknesses]
    return "\n\n".join(["**Weaknesses**", table(headers, rows), "**Fixes**", bullets(list(fixes)), origin])


def _row(finding: Finding[CodeWeakness], *, has_file: bool) -> tuple[str, ...]:
    evidence = finding.evidence[0]
    return (
        str(finding.severity),
        finding.facts.cwe,
        (f"{code_span(evidence.source, limit=40)} " if has_file else "") + f"{evidence.line:,}",
        escape(finding.title) + (" (from user input)" if finding.facts.from_input else ""),
        code_span(evidence.excerpt, limit=100),
        escape(finding.why),
    )


def _worst_first(findings: Sequence[AnyFinding]) -> list[Finding[CodeWeakness]]:
    weaknesses = with_facts(findings, CodeWeakness)
    return sorted(weaknesses, key=lambda one: (_SEVERITIES.index(one.severity), not one.facts.from_input))


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do first, by what was found."""
    weaknesses = [finding.facts for finding in with_facts(findings, CodeWeakness)]
    rules = {facts.rule for facts in weaknesses}
    steps = []
    if any(rule.startswith("secret-") for rule in rules):
        steps.append("Rotate every secret in the text, then search the repository's history for more.")
    if any(facts.from_input for facts in weaknesses):
        steps.append("Fix the weaknesses that user input reaches first; add a test that sends such input.")
    if {"deserialise", "code-run", "command-built"} & rules:
        steps.append("If it was in production, search its logs for shell metacharacters and serialised objects.")
    return steps


_THINGS = (
    r"code|source|functions?|snippet|configs?|configurations?|settings|headers?|dockerfile|compose(?: file)?|manifest|"
    r"terraform|sshd_config|nginx(?:\.conf)?|playbook|\.env|python|javascript|php|java|golang"
)
_STATES = "safe|secure|ok|vulnerable|hardened"
_FAULTS = r"vulnerabilit\w+|weakness\w*|security (?:issues?|problems?|holes?|bugs?|flaws?)|insecure|what is wrong"
SECTION = Section(
    skill=Skill(
        name="code_review",
        tool="svc.assistant.skills.code_review.tool:inspect",
        input=InputKind.TEXT,
        title="Code and configuration",
        can="review code, configuration files or HTTP headers: each weakness with CWE, line and fix",
        facts=(CodeWeakness, CodeReview),
        strong=words(
            rf"\b(?:review|audit|check|harden|inspect|scan|assess|look at)\b[^.?!\n:]{{0,40}}\b(?:{_THINGS})\b",
            rf"\b(?:is|are) (?:this|that|the|these|my)\b[^.?!\n:]{{0,30}}\b(?:{_THINGS})\b[^.?!\n:]{{0,30}}"
            rf"\b(?:{_STATES})\b",
            rf"\b(?:{_FAULTS})\b[^.?!\n:]{{0,40}}\b(?:{_THINGS})\b",
            r"\b(?:code|security) review\b|\bmisconfigur\w+|\bhard-?coded (?:secrets?|passwords?|keys?)\b",
            r"\b(?:security|response|http) headers?\b",
        ),
        weak=words(
            r"\breview\b",
            r"\b(?:find|any|list|which|what|are there|has|have)\b[^.?!\n]{0,30}\bvulnerabilit\w+",
            r"\binsecure\b",
            r"\b(?:any|find|list|which|what)\b[^.?!\n]{0,20}\b(?:problems|issues|weaknesses)\b",
        ),
        content=words(
            r"^\s*(?:def |import |from \w+ import|class \w+|#include|package \w+|public class|<\?php|function \w+\()",
            r"^HTTP/\d|^(?:content-security-policy|strict-transport-security|set-cookie|x-frame-options|server): ",
            r"\bPermitRootLogin\b|^\s*FROM \w|^services:|^apiVersion:|\bresource \"|^\s*server \{",
            r"\$_(?:GET|POST)\b|\breq\.(?:query|body|params)\b|\brequest\.(?:args|form|GET|POST)\b|\bgetParameter\(",
        ),
        looks=words(
            r"\AHTTP/\d(?:\.\d)? \d{3}\b",
            r"\A\s*<\?php\b|\A\s*#\s*include\s*[<\"]|\A\s*package main\b|\A\s*FROM [\w./-]+(?::[\w.-]+)?\s*\n",
            r"\A\s*(?:from [\w.]+ import |import [\w.]+\s*\n)",
        ),
        labels=READABLE_LABELS - RECORD_LABELS - {"eml"},
        claims=frozenset({"python"}),
        file_names=words(
            r"sshd?_config(?:\.\w+)?|(?:[\w.-]{1,255}\.)?Dockerfile|Containerfile|\.env(?:\.\w+)?|nginx\.conf|httpd\.conf"
            r"|apache2\.conf|\.htaccess|php\.ini|my\.cnf|redis\.conf|sudoers|smb\.conf|vsftpd\.conf"
        ),
    ),
    verdict=verdict,
    facts=facts,
    folds=as_folds(body),
    next_steps=next_steps,
)
