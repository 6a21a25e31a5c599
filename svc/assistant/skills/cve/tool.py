"""Look up CVEs in the local catalog of known exploited vulnerabilities (CISA KEV).

The catalog is the user's (``svc rules update --kev``); none ships with the package. Without it nothing is claimed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from svc.assistant import knowledge
from svc.assistant.findings import Coverage, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.knowledge.kev import FILE_NAME, KevEntry, KevTable
from svc.assistant.skills.cve.findings import CveStatus

MAX_CVES = 1_000_000
EXCERPT_CHARS = 80  # before and after a CVE
_CVE = re.compile(r"\bCVE-(\d{4})-(\d{4,19})\b", re.IGNORECASE)


def inspect(content: str, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield a CveStatus for each CVE in ``content``, those known to be exploited first."""
    table = _table()
    yield Progress(text=f"reading {source} " + (f"with {_origin(table)}" if table else "without a catalog"))
    first_seen: dict[str, tuple[int, str]] = {}
    counts: dict[str, int] = {}
    for number, line in enumerate(content.split("\n"), start=1):
        for match in _CVE.finditer(line):
            identifier = match.group().upper()
            first_seen.setdefault(
                identifier, (number, line[max(0, match.start() - EXCERPT_CHARS) : match.end() + EXCERPT_CHARS])
            )
            counts[identifier] = counts.get(identifier, 0) + 1
    known = _by_cve()
    ranked = sorted(first_seen, key=lambda identifier: identifier not in known)
    for identifier in ranked[:MAX_CVES]:
        line_number, excerpt = first_seen[identifier]
        evidence = Evidence(source=source, excerpt=excerpt, line=line_number)
        yield _finding(identifier, known.get(identifier), evidence, counts[identifier], table)
    if len(ranked) > MAX_CVES:
        yield Gap(text=f"only the first {MAX_CVES:,} of {len(ranked):,} CVEs were looked up", in_headline=True)
    yield Gap(text=_limitation(table) if first_seen else "no CVE ID was found")
    yield Progress(
        text=f"found {len(first_seen):,} CVEs, {sum(1 for one in first_seen if one in known):,} known to be exploited"
    )
    yield _coverage(len(first_seen), table)


def _coverage(count: int, table: KevTable | None) -> Coverage:
    """Without a catalog nothing is looked up, so that no CVE counts as understood."""
    return Coverage(
        read_as="text with CVE IDs" if count else "text without a CVE ID",
        unit="CVE",
        understood=min(count, MAX_CVES) if table is not None else 0,
        total=count,
        looked_for="entries of CISA's catalog of known exploited vulnerabilities" + ("" if table else " (not loaded)"),
        not_covered="descriptions, scores, affected products and patches are not known offline",
    )


def _origin(table: KevTable) -> str:
    return f"{table.source}, version {table.version} of {table.date.isoformat()}"


def _limitation(table: KevTable | None) -> str:
    if table is None:
        return (
            "CVE descriptions, scores, affected versions and exploitation are not known offline: attach the advisory, "
            "or load CISA's catalog of known exploited vulnerabilities (svc rules update --kev FILE)"
        )
    return f"descriptions and scores of CVEs are not available offline, only whether they are in the {_origin(table)}"


def _finding(
    identifier: str, entry: KevEntry | None, evidence: Evidence, count: int, table: KevTable | None
) -> Finding[CveStatus]:
    title = f"{identifier}: no data offline"
    if table is not None:
        title = f"{identifier}: {'known to be exploited' if entry else 'not in the KEV catalog'}"
    return Finding(
        title=title,
        severity=Severity.HIGH if entry else Severity.INFO,
        why=f"in the KEV catalog since {entry.added}" if entry else "",
        evidence=(evidence,),
        facts=CveStatus(
            id=identifier,
            is_exploited=None if table is None else entry is not None,
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
            table_version=table.version if table else None,
            table_date=table.date.isoformat() if table else None,
        ),
    )


@cache
def _table() -> KevTable | None:
    """Return the user's catalog, or None if there is none."""
    try:
        return knowledge.load(FILE_NAME, KevTable)
    except FileNotFoundError:
        return None


@cache
def _by_cve() -> dict[str, KevEntry]:
    table = _table()
    return {entry.cve: entry for entry in table.vulnerabilities} if table else {}
