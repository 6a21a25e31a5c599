"""Look up CVEs in the catalog of known exploited vulnerabilities (CISA KEV): the user's, or the one that is shipped."""

from __future__ import annotations

import re
from collections.abc import Iterator

from svc.assistant.findings import Coverage, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.knowledge.kev import KevEntry, KevTable, kev_by_cve, kev_note, kev_table
from svc.assistant.skills.cve.findings import CveStatus

MAX_CVES = 1_000_000
EXCERPT_CHARS = 80  # before and after a CVE
_CVE = re.compile(r"\bCVE-(\d{4})-(\d{4,19})\b", re.IGNORECASE)


def inspect(content: str, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield a CveStatus for each CVE in ``content``, those known to be exploited first."""
    table, known = kev_table(), kev_by_cve()
    yield Progress(text=f"reading {source} with {_origin(table)}")
    first_seen: dict[str, tuple[int, str]] = {}
    counts: dict[str, int] = {}
    for number, line in enumerate(content.split("\n"), start=1):
        for match in _CVE.finditer(line):
            identifier = match.group().upper()
            first_seen.setdefault(
                identifier, (number, line[max(0, match.start() - EXCERPT_CHARS) : match.end() + EXCERPT_CHARS])
            )
            counts[identifier] = counts.get(identifier, 0) + 1
    ranked = sorted(first_seen, key=lambda identifier: identifier not in known)
    for identifier in ranked[:MAX_CVES]:
        line_number, excerpt = first_seen[identifier]
        evidence = Evidence(source=source, excerpt=excerpt, line=line_number)
        yield _finding(identifier, known.get(identifier), (evidence,), counts[identifier], table)
    if len(ranked) > MAX_CVES:
        yield Gap(text=f"only the first {MAX_CVES:,} of {len(ranked):,} CVEs were looked up", in_headline=True)
    yield Gap(text=_limitation(table) if first_seen else "no CVE ID was found")
    yield Progress(
        text=f"found {len(first_seen):,} CVEs, {sum(1 for one in first_seen if one in known):,} known to be exploited"
    )
    yield _coverage(len(first_seen))


def status_of(identifier: str, count: int = 1) -> Finding[CveStatus]:
    """What the catalog says of one CVE, without evidence."""
    return _finding(identifier.upper(), kev_by_cve().get(identifier.upper()), (), count, kev_table())


def _coverage(count: int) -> Coverage:
    return Coverage(
        read_as="text with CVE IDs" if count else "text without a CVE ID",
        unit="CVE",
        understood=min(count, MAX_CVES),
        total=count,
        looked_for="entries of CISA's catalog of known exploited vulnerabilities",
        not_covered="descriptions, scores, affected products and patches are not known offline",
    )


def _origin(table: KevTable) -> str:
    return f"{table.source}, version {table.version} of {table.date.isoformat()}"


def _limitation(table: KevTable) -> str:
    return f"descriptions and scores of CVEs are not available offline, only whether they are in the {_origin(table)}"


def _finding(
    identifier: str, entry: KevEntry | None, evidence: tuple[Evidence, ...], count: int, table: KevTable
) -> Finding[CveStatus]:
    return Finding(
        title=f"{identifier}: {'known to be exploited' if entry else 'not in the KEV catalog'}",
        severity=Severity.HIGH if entry else Severity.INFO,
        why=kev_note(identifier),
        evidence=evidence,
        facts=CveStatus(
            id=identifier,
            is_exploited=entry is not None,
            vendor=entry.vendor if entry else None,
            product=entry.product if entry else None,
            name=entry.name if entry else None,
            description=entry.description if entry else None,
            action=entry.action if entry else None,
            added=entry.added if entry else None,
            due=entry.due if entry else None,
            ransomware=entry.ransomware if entry else None,
            cwes=list(entry.cwes) if entry else [],
            count=count,
            table_version=table.version,
            table_date=table.date.isoformat(),
        ),
    )
