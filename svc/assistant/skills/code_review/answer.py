"""The answer about code, configurations and headers: weaknesses and their fixes. Kinds: ``tools/code_review``."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import InputKind, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.skill import READABLE_LABELS, RECORD_LABELS, Section, Skill, words
from svc.untrusted.markup import bullets, code_span, escape, plural, table

_ORDER = tuple(Severity)  # the worst first
_KINDS = {
    "headers": "HTTP headers", "sshd": "sshd configuration", "nginx": "nginx configuration", "env": "settings file",
    "apache": "Apache configuration", "dockerfile": "Dockerfile", "compose": "Compose file", "javascript": "JavaScript",
    "kubernetes": "Kubernetes manifest", "terraform": "Terraform", "python": "Python", "php": "PHP", "java": "Java",
    "csharp": "C#", "go": "Go", "ruby": "Ruby", "c": "C or C++", "shell": "shell script", "html": "HTML",
}  # fmt: skip


def verdict(findings: Sequence[Finding]) -> str:
    """How many weaknesses of which severity, and the worst of them."""
    reviews = [one for one in findings if one.kind == "code_review"]
    found = _worst_first(findings)
    if not reviews:
        return "**No code, configuration or headers of a known kind were found to review.**"
    what = ", ".join(dict.fromkeys(_KINDS[str(one.attributes["language"])] for one in reviews))
    if not found:
        return f"**None of the weaknesses that were looked for** ({what}). That does not show that there are none."
    counts = {level: sum(1 for one in found if one.severity is level) for level in _ORDER}
    listed = ", ".join(f"{count:,} {level}" for level, count in counts.items() if count)
    worst = found[0]
    where = f"{escape(worst.title)} ({worst.attributes['cwe']}, line {worst.evidence[0].line:,})"
    return f"**{plural(len(found), 'weakness', 'weaknesses')}** ({what}): {listed}. The worst: {where}."


def section(findings: Sequence[Finding]) -> str:
    """One table, the worst first; then the fixes, each once."""
    found = _worst_first(findings)
    if not found:
        return ""
    has_files = len({one.evidence[0].source for one in found}) > 1
    rows = [
        (
            str(one.severity),
            str(one.attributes["cwe"]),
            (f"{code_span(one.evidence[0].source, limit=40)} " if has_files else "") + f"{one.evidence[0].line:,}",
            escape(one.title) + (" (from a user's input)" if one.attributes["from_input"] else ""),
            code_span(one.evidence[0].excerpt, limit=100),
            escape(one.why),
        )
        for one in found
    ]
    fixes = dict.fromkeys(
        f"**{escape(one.title)}** ({one.attributes['cwe']}): {escape(str(one.attributes['fix']))}" for one in found
    )
    first = next(one for one in findings if one.kind == "code_review").attributes
    table_of = f"version {first['table_version']} of {first['table_date']}"
    origin = f"Table of weaknesses: {table_of}. One text at a time, nothing run."
    headers = ("Severity", "CWE", "Line", "What", "There", "Why it matters")
    return "\n\n".join([table(headers, rows), "**How to fix it**", bullets(list(fixes)), origin])


def _worst_first(findings: Sequence[Finding]) -> list[Finding]:
    found = [one for one in findings if one.kind == "code_weakness"]
    return sorted(found, key=lambda one: (_ORDER.index(one.severity), not one.attributes["from_input"]))


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """What to do first, by what was found."""
    rules = {str(one.attributes["rule"]) for one in findings if one.kind == "code_weakness"}
    steps = []
    if any(rule.startswith("secret-") for rule in rules):
        steps.append(
            "Change every secret that stands in the text, then look in the history of its repository for more."
        )
    if any(one.attributes["from_input"] for one in findings if one.kind == "code_weakness"):
        steps.append("Fix what a user's input reaches first; write a test that sends such an input.")
    if {"deserialise", "code-run", "command-built"} & rules:
        steps.append("If it was in service: look in its logs for requests with shell characters or encoded objects.")
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
        tool="svc.assistant.skills.code_review.tool:review",
        input=InputKind.TEXT,
        title="Code and configuration",
        can="review code, a configuration or HTTP headers, each weakness with CWE, line and fix",
        loose_kinds=("code_weakness", "code_review"),
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
            r"sshd?_config(?:\.\w+)?|(?:[\w.-]+\.)?Dockerfile|Containerfile|\.env(?:\.\w+)?|nginx\.conf|httpd\.conf"
            r"|apache2\.conf|\.htaccess|php\.ini|my\.cnf|redis\.conf|sudoers|smb\.conf|vsftpd\.conf"
        ),
    ),
    verdict=verdict,
    body=section,
    next_steps=next_steps,
)
