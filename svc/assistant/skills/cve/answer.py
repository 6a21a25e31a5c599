"""The answer about CVEs: which are known to be exploited, or that no catalog is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, InputKind, with_facts
from svc.assistant.skills.answer_parts import MAX_FACTS, as_folds, short_place
from svc.assistant.skills.cve.findings import CveStatus
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import code_span, escape, plural, table

MAX_NAMED = 5  # CVEs in the verdict


def verdict(findings: Sequence[AnyFinding]) -> str:
    """How many of the CVEs are known to be exploited; without a catalog, what is not known and what would help."""
    cves = [finding.facts for finding in with_facts(findings, CveStatus)]
    exploited = [facts for facts in cves if facts.is_exploited]
    if not cves:
        return "**Not examined:** the text names no CVE."
    if all(facts.is_exploited is None for facts in cves):
        names = ", ".join(code_span(facts.id) for facts in cves[:MAX_NAMED])
        return (
            f"**Not answered: nothing about {names} is known offline**, neither what the vulnerability is, nor its "
            "score, nor whether it is exploited. Attach the advisory (text or JSON), or load CISA's catalog of "
            "exploited vulnerabilities with `svc rules update --kev FILE`."
        )
    if not exploited:
        dated = f" of {cves[0].table_date}" if cves[0].table_date else ""
        return (
            f"**Not listed as exploited:** none of {plural(len(cves), 'CVE')} is in CISA's catalog{dated}. "
            "That does not show that they are not exploited."
        )
    names = ", ".join(code_span(facts.id) for facts in exploited[:MAX_NAMED])
    return f"**Known to be exploited:** {names} ({len(exploited):,} of {plural(len(cves), 'CVE')})."


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """The exploited CVEs, with what the catalog says of each."""
    exploited = [finding for finding in with_facts(findings, CveStatus) if finding.facts.is_exploited]
    return [
        f"{code_span(one.facts.id)} ({short_place(one.evidence[0])}), exploited since {one.facts.added}: "
        f"{escape(f'{one.facts.vendor} {one.facts.product}: {one.facts.description}')}"
        for one in exploited[:MAX_FACTS]
    ]


def body(findings: Sequence[AnyFinding]) -> str:
    """One table with a row for each CVE and what the catalog says; "" without a catalog."""
    known = [finding for finding in with_facts(findings, CveStatus) if finding.facts.is_exploited is not None]
    if not known:
        return ""
    first = known[0].facts
    origin = f"CISA KEV catalog: version {escape(str(first.table_version))}, {first.table_date}."
    headers = ["CVE", "Exploited", "Since", "Vulnerability", "Ransomware", "Action", "Line"]
    return f"**CVEs**\n\n{table(headers, [_row(finding) for finding in known])}\n\n{origin}"


def _row(finding: Finding[CveStatus]) -> list[str]:
    facts = finding.facts
    return [
        code_span(facts.id),
        "yes" if facts.is_exploited else "not listed",
        facts.added or "",
        escape(f"{facts.vendor} {facts.product}: {facts.description}") if facts.is_exploited else "",
        escape(facts.ransomware or ""),
        escape(facts.action or ""),
        str(finding.evidence[0].line),
    ]


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do about exploited CVEs, and how to load the catalog."""
    cves = [finding.facts for finding in with_facts(findings, CveStatus)]
    steps = []
    if any(facts.is_exploited for facts in cves):
        steps.append("Patch the exploited vulnerabilities first, and look for signs of exploitation before the patch.")
    if any(facts.is_exploited is None for facts in cves):
        steps.append("Load CISA's catalog on a computer with network access: `svc rules update --kev FILE|URL`.")
    return steps


SECTION = Section(
    skill=Skill(
        name="cve",
        tool="svc.assistant.skills.cve.tool:inspect",
        input=InputKind.TEXT,
        title="CVEs",
        can="check whether a CVE is known to be exploited (CISA KEV, after it has been loaded)",
        facts=(CveStatus,),
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
    facts=facts,
    folds=as_folds(body),
    next_steps=next_steps,
)
