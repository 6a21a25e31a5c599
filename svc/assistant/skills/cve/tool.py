"""What the local catalogue knows of a CVE: whether it is known to be exploited. Pure; no guess where there is no data.

The catalogue is the user's (``svc rules update --kev``); none ships. Kinds: ``cve`` with ``id``, ``is_exploited``
(bool, or null where there is no catalogue), ``vendor``, ``product``, ``name``, ``description``, ``action``,
``added`` and ``due`` (dates), ``ransomware`` ("Known" or "Unknown"), ``cwes`` (list of str), ``count`` (times it stands
in the text), ``table_version``, ``table_date`` (null where there is no catalogue).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from svc.assistant import knowledge
from svc.assistant.findings import Evidence, Gap, Progress, Severity, ToolEvent
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.knowledge.kev import FILE_NAME, Exploited, KevTable

MAX_CVES = 2_000
_CVE = re.compile(r"\bCVE-(\d{4})-(\d{4,19})\b", re.IGNORECASE)


def look_up(text: str, *, source: str) -> Iterator[ToolEvent]:
    """One finding for each CVE in the text, those known to be exploited first."""
    table = _table()
    yield Progress(text=f"reading {source} " + (f"with {_origin(table)}" if table else "without a catalogue"))
    places: dict[str, tuple[int, str]] = {}
    counts: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        for match in _CVE.finditer(line):
            identifier = match.group().upper()
            places.setdefault(identifier, (number, line[max(0, match.start() - 80) : match.end() + 80]))
            counts[identifier] = counts.get(identifier, 0) + 1
    known = _by_cve()
    ranked = sorted(places, key=lambda identifier: identifier not in known)
    for identifier in ranked[:MAX_CVES]:
        line_number, excerpt = places[identifier]
        evidence = Evidence(source=source, excerpt=excerpt, line=line_number)
        yield _finding(identifier, known.get(identifier), evidence, counts[identifier], table)
    if len(ranked) > MAX_CVES:
        yield Gap(text=f"only the first {MAX_CVES:,} of {len(ranked):,} CVEs were looked up")
    if places:
        yield Gap(text=_limit_of(table))
    yield Progress(
        text=f"found {len(places):,} CVEs, {sum(1 for one in places if one in known):,} known to be exploited"
    )


def _origin(table: KevTable) -> str:
    return f"{table.source}, version {table.version} of {table.date.isoformat()}"


def _limit_of(table: KevTable | None) -> str:
    if table is None:
        return (
            "no data about CVEs offline: no catalogue was loaded (svc rules update --kev FILE reads CISA's list of "
            "vulnerabilities that are known to be exploited)"
        )
    return f"descriptions and scores of CVEs are not known offline, only whether they are in the {_origin(table)}"


def _finding(
    identifier: str, entry: Exploited | None, evidence: Evidence, count: int, table: KevTable | None
) -> Finding:
    title = f"{identifier}: no data offline"
    if table is not None:
        title = f"{identifier}: {'exploited' if entry else 'not in the catalogue of exploited vulnerabilities'}"
    return Finding(
        kind="cve",
        title=title,
        severity=Severity.HIGH if entry else Severity.INFO,
        why=f"in the catalogue since {entry.added}" if entry else "",
        evidence=(evidence,),
        attributes={
            "id": identifier,
            "is_exploited": None if table is None else entry is not None,
            "vendor": entry.vendor if entry else None,
            "product": entry.product if entry else None,
            "name": entry.name if entry else None,
            "description": entry.description if entry else None,
            "action": entry.action if entry else None,
            "added": entry.added if entry else None,
            "due": entry.due if entry else None,
            "ransomware": entry.ransomware if entry else None,
            "cwes": list(entry.cwes) if entry else [],
            "count": count,
            "table_version": table.version if table else None,
            "table_date": table.date.isoformat() if table else None,
        },
    )


@cache
def _table() -> KevTable | None:
    """The user's catalogue, or None where there is none."""
    try:
        return knowledge.load(FILE_NAME, KevTable)
    except FileNotFoundError:
        return None


@cache
def _by_cve() -> dict[str, Exploited]:
    table = _table()
    return {entry.cve: entry for entry in table.vulnerabilities} if table else {}
