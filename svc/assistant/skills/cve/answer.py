"""The answer about CVEs: which are known to be exploited, by CISA's catalog of a date."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, InputKind, with_facts
from svc.assistant.skills.answer_parts import MAX_FACTS, as_folds, short_place
from svc.assistant.skills.cve.findings import CveStatus
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import code_span, escape, plural, table

MAX_NAMED = 5  # CVEs in the verdict


def verdict(findings: Sequence[AnyFinding]) -> str:
    """Which of the CVEs are known to be exploited, since when, and by which catalog."""
    cves = [finding.facts for finding in with_facts(findings, CveStatus)]
    exploited = [facts for facts in cves if facts.is_exploited]
    if not cves:
        return "**Not examined:** the text names no CVE."
    dated = f"CISA's KEV catalog of {escape(cves[0].table_date)}"
    if not exploited:
        what = code_span(cves[0].id) if len(cves) == 1 else f"none of {plural(len(cves), 'CVE')}"
        denial = f"{what} is not in {dated}" if len(cves) == 1 else f"{what} is in {dated}"
        return f"**Not listed as exploited:** {denial}. Absence from the catalog does not rule out exploitation."
    if len(exploited) == 1:
        named = f"{code_span(exploited[0].id)}, {_listing(exploited[0])}"
    else:
        rest = f" and {len(exploited) - MAX_NAMED:,} more" if len(exploited) > MAX_NAMED else ""
        named = ", ".join(code_span(facts.id) for facts in exploited[:MAX_NAMED]) + rest
    of_all = f"{len(exploited):,} of {plural(len(cves), 'CVE')} in {dated}"
    ransomware = sum(facts.ransomware == "Known" for facts in exploited)
    used = f", {ransomware:,} of them in ransomware campaigns" if ransomware and len(exploited) > 1 else ""
    return f"**Known to be exploited:** {named} ({of_all}{used})."


def _listing(facts: CveStatus) -> str:
    """``listed since 2021-12-10, used in ransomware campaigns``."""
    ransomware = ", used in ransomware campaigns" if facts.ransomware == "Known" else ""
    return f"listed since {escape(facts.added or '')}{ransomware}"


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """The exploited CVEs, with what the catalog says of each."""
    exploited = [finding for finding in with_facts(findings, CveStatus) if finding.facts.is_exploited]
    return [
        f"{code_span(one.facts.id)} ({short_place(one.evidence[0])}), {_listing(one.facts)}: {_what(one.facts)}"
        for one in exploited[:MAX_FACTS]
    ]


def _what(facts: CveStatus) -> str:
    """Vendor and product, and the description if the catalog has one."""
    product = f"{facts.vendor} {facts.product}"
    return escape(f"{product}: {facts.description}" if facts.description else product)


def body(findings: Sequence[AnyFinding]) -> str:
    """One table with a row for each CVE and what the catalog says."""
    found = with_facts(findings, CveStatus)
    if not found:
        return ""
    first = found[0].facts
    origin = f"CISA KEV catalog: version {escape(first.table_version)}, {escape(first.table_date)}."
    headers = ["CVE", "Exploited", "Since", "Due", "Product", "Ransomware", "Action", "Line"]
    return f"**CVEs**\n\n{table(headers, [_row(finding) for finding in found])}\n\n{origin}"


def _row(finding: Finding[CveStatus]) -> list[str]:
    facts = finding.facts
    return [
        code_span(facts.id),
        "yes" if facts.is_exploited else "not listed",
        escape(facts.added or ""),
        escape(facts.due or ""),
        _what(facts) if facts.is_exploited else "",
        escape(facts.ransomware or ""),
        escape(facts.action or ""),
        str(finding.evidence[0].line),
    ]


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do about exploited CVEs, and how to get a newer catalog."""
    cves = [finding.facts for finding in with_facts(findings, CveStatus)]
    steps = []
    if any(facts.is_exploited for facts in cves):
        steps.append("Patch the exploited vulnerabilities first, and look for signs of exploitation before the patch.")
    if any(not facts.is_exploited for facts in cves):
        steps.append("CISA adds CVEs every week: load the current catalog with `svc rules update --kev FILE|URL`.")
    return steps


SECTION = Section(
    skill=Skill(
        name="cve",
        tool="svc.assistant.skills.cve.tool:inspect",
        input=InputKind.TEXT,
        title="CVEs",
        can="check whether a CVE is known to be exploited (CISA KEV)",
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
