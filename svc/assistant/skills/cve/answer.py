"""The answer about CVEs: which are known to be exploited, or that nothing is known offline. Kinds: ``tools/cve.py``."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import InputKind
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import code_span, escape, plural, table

NAMED = 5


def verdict(findings: Sequence[Finding]) -> str:
    """How many of the CVEs are known to be exploited; that there is no data where there is none."""
    exploited = [finding for finding in findings if finding.attributes["is_exploited"]]
    if all(finding.attributes["is_exploited"] is None for finding in findings):
        names = ", ".join(code_span(str(finding.attributes["id"])) for finding in findings[:NAMED])
        return f"**No data about {names} offline.** `svc rules update --kev FILE` loads which are exploited."
    if not exploited:
        return f"**Not known to be exploited:** none of {plural(len(findings), 'CVE')} is in the catalogue."
    names = ", ".join(code_span(str(finding.attributes["id"])) for finding in exploited[:NAMED])
    return f"**Known to be exploited:** {names} ({len(exploited):,} of {plural(len(findings), 'CVE')})."


def section(findings: Sequence[Finding]) -> str:
    """One table, a row a CVE, with what the catalogue says; nothing where there is no catalogue."""
    known = [finding for finding in findings if finding.attributes["is_exploited"] is not None]
    if not known:
        return ""
    rows = [_row(finding) for finding in known]
    first = known[0].attributes
    origin = (
        f"Catalogue of exploited vulnerabilities: version {escape(str(first['table_version']))}, {first['table_date']}."
    )
    headers = ["CVE", "Exploited", "Since", "Vulnerability", "Ransomware", "Action", "Line"]
    return f"{table(headers, rows)}\n\n{origin}"


def _row(finding: Finding) -> list[str]:
    attributes = finding.attributes
    is_exploited = bool(attributes["is_exploited"])
    name = f"{attributes['vendor']} {attributes['product']}: {attributes['description']}" if is_exploited else ""
    return [
        code_span(str(attributes["id"])),
        "yes" if is_exploited else "not listed",
        str(attributes["added"] or ""),
        escape(name),
        escape(str(attributes["ransomware"] or "")),
        escape(str(attributes["action"] or "")),
        str(finding.evidence[0].line if finding.evidence else ""),
    ]


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """What to do about exploited ones, and where to learn about the rest."""
    steps = []
    if any(finding.attributes["is_exploited"] for finding in findings):
        steps.append("Patch what is exploited first, and look for its traces from before the patch.")
    if any(finding.attributes["is_exploited"] is None for finding in findings):
        steps.append("Load CISA's catalogue where there is a network: `svc rules update --kev FILE|URL`.")
    return steps


SECTION = Section(
    skill=Skill(
        name="cve",
        tool="svc.assistant.skills.cve.tool:look_up",
        input=InputKind.TEXT,
        title="CVEs",
        can="say whether a CVE is known to be exploited, from the catalogue that was loaded",
        loose_kinds=("cve",),
        strong=words(
            r"\b(?:what (?:is|about)|about|on|for|is|explain|look up|details (?:of|on|about)|tell me about) CVE-\d",
            r"\bexploited\b[^.?!\n]{0,60}\bCVE|\bCVEs?\b[^.?!\n]{0,60}\bexploit\w*",
            r"\bKEV\b",
            r"\bknown exploited\b",
            r"\b(?:which|any)\b[^.?!\n]{0,20}\b(?:vulnerabilities|CVEs)\b[^.?!\n]{0,60}\b(?:exploit|ransom)",
        ),
        content=words(r"\bCVE-\d{4}-\d{4,}"),
        looks=words(r"\A\s*CVE-\d{4}-\d{4,19}\b[^\n]{0,30}\Z"),
    ),
    verdict=verdict,
    body=section,
    next_steps=next_steps,
)
