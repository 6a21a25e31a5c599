"""Tables of indicators, for the indicators' own answer and for the answers of skills that find indicators."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import cast

import msgspec

from svc.assistant.findings import AnyFinding, Finding, kind_of, with_facts
from svc.assistant.skills.answer_parts import FOLD_ROWS, Fold
from svc.assistant.skills.indicators.findings import IndicatorFacts, Scope
from svc.assistant.spool import facts_values, of_kind
from svc.untrusted.markup import code_span, escape, table

VALUE_CHARS = 200
EXCERPT_CHARS = 100
COMPACT_ROWS = 40
_QUIET_SCOPES: frozenset[Scope] = frozenset(
    [
        "private",
        "loopback",
        "link-local",
        "multicast",
        "unspecified",
        "reserved",
        "netmask",
        "documentation",
        "internal",
        "common",
    ]
)
_OUTSIDE: frozenset[Scope] = frozenset(["public", "", "tor"])
_WITHIN = {"url": "host of a URL", "email": "host of a mail address", "cidr": "written with a mask"}
_NAMES = {
    "url": ("URL", "URLs"),
    "domain": ("domain", "domains"),
    "ipv4": ("IPv4 address", "IPv4 addresses"),
    "ipv6": ("IPv6 address", "IPv6 addresses"),
    "ipv4_cidr": ("IPv4 range", "IPv4 ranges"),
    "ipv6_cidr": ("IPv6 range", "IPv6 ranges"),
    "email": ("mail address", "mail addresses"),
    "xmpp": ("XMPP address", "XMPP addresses"),
    "cve": ("CVE", "CVEs"),
    "md5": ("MD5", "MD5"),
    "sha1": ("SHA-1", "SHA-1"),
    "sha224": ("SHA-224", "SHA-224"),
    "sha256": ("SHA-256", "SHA-256"),
    "sha384": ("SHA-384", "SHA-384"),
    "sha512": ("SHA-512", "SHA-512"),
    "attack_technique": ("ATT&CK technique", "ATT&CK techniques"),
    "attack_tactic": ("ATT&CK tactic", "ATT&CK tactics"),
    "attack_software": ("ATT&CK software", "ATT&CK software"),
    "attack_group": ("ATT&CK group", "ATT&CK groups"),
    "attack_mitigation": ("ATT&CK mitigation", "ATT&CK mitigations"),
    "mutex": ("mutex", "mutexes"),
    "asn": ("AS number", "AS numbers"),
    "mac": ("MAC address", "MAC addresses"),
    "bitcoin": ("Bitcoin address", "Bitcoin addresses"),
    "ethereum": ("Ethereum address", "Ethereum addresses"),
    "monero": ("Monero address", "Monero addresses"),
    "tlp": ("TLP label", "TLP labels"),
}


def type_name(indicator_type: str, *, count: int) -> str:
    """Return the type's name for people, in the plural unless ``count`` is 1."""
    one, many = _NAMES.get(indicator_type, (indicator_type.replace("_", " "), f"{indicator_type.replace('_', ' ')}s"))
    return one if count == 1 else many


def is_quiet(scope: object) -> bool:
    """Whether an indicator of this scope rarely matters by itself; its ``note`` says why."""
    return scope in _QUIET_SCOPES


def folds_by_type(findings: Sequence[AnyFinding]) -> list[Fold]:
    """A fold for each type, in the order of the findings, with the indicators that may matter on top."""
    found = of_kind(findings, kind_of(IndicatorFacts))
    by_type: dict[str, _Top] = {}
    for index, (name, *fields) in enumerate(
        facts_values(found, IndicatorFacts, "type", "scope", "count", "note", "ports", "within")
    ):
        by_type.setdefault(str(name), _Top()).add(index, *fields)
    return [_type_fold(name, top, found) for name, top in by_type.items()]


def compact_table(findings: Sequence[AnyFinding]) -> str:
    """Render the indicators of one inspected file as a single table; "" if there are none."""
    found = with_facts(findings, IndicatorFacts)
    if not found:
        return ""
    rows = [
        (
            escape(finding.facts.type.replace("_", " ")),
            code_span(finding.facts.defanged, limit=VALUE_CHARS),
            _place_in_file(finding),
        )
        for finding in found
    ]
    return table(("Indicator", "Value", "Location"), rows, limit=COMPACT_ROWS)


def search_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """Recommend a search in logs if any indicator is of an outside host or has no scope."""
    if not any(scope in _OUTSIDE for (scope,) in facts_values(findings, IndicatorFacts, "scope")):
        return []
    return ["Search proxy, DNS and endpoint logs for the indicators; no reputation data was used (none offline)."]


class _Top(msgspec.Struct):
    """The findings of one type that its fold shows, as a heap of their ranks, and what is true of all of them."""

    count: int = 0
    has_notes: bool = False
    ranks: list[tuple[bool, int, int]] = []

    def add(self, index: int, scope: object, count: object, note: object, ports: object, within: object) -> None:
        """Count a finding; it is kept if it ranks among the first FOLD_ROWS."""
        self.count += 1
        self.has_notes = self.has_notes or bool(note or ports or within)
        rank = (not is_quiet(scope), cast("int", count), -index)  # the heap's smallest is the last row of the table
        if len(self.ranks) < FOLD_ROWS:
            heapq.heappush(self.ranks, rank)
        elif rank > self.ranks[0]:
            heapq.heapreplace(self.ranks, rank)

    def rows(self, findings: Sequence[AnyFinding]) -> list[Finding[IndicatorFacts]]:
        """The findings, the first row first."""
        return with_facts([findings[-index] for _, _, index in sorted(self.ranks, reverse=True)], IndicatorFacts)


def _type_fold(indicator_type: str, top: _Top, findings: Sequence[AnyFinding]) -> Fold:
    has_notes = top.has_notes
    headers = ("Indicator", "Count", "First seen", "Context", *(("Note",) if has_notes else ()))
    rows = [
        (
            code_span(finding.facts.defanged, limit=VALUE_CHARS),
            f"{finding.facts.count:,}",
            _place(finding),
            code_span(_context(finding), limit=EXCERPT_CHARS),
            *((_note(finding.facts),) if has_notes else ()),
        )
        for finding in top.rows(findings)
    ]
    title = f"{top.count:,} {type_name(indicator_type, count=top.count)}"
    return Fold(title=title, headers=headers, rows=rows, total=top.count)


def _note(facts: IndicatorFacts) -> str:
    ports = f"port {', '.join(map(str, facts.ports[:5]))}" if facts.ports else ""
    parts = (facts.note, ports, _WITHIN.get(facts.within, ""))
    return escape("; ".join(part for part in parts if part))


def _context(finding: Finding[IndicatorFacts]) -> str:
    """The line with the indicator in it; if it is long, the part around the indicator."""
    excerpt = finding.evidence[0].excerpt
    place = max(0, excerpt.find(finding.facts.value[:12]))
    start = max(0, min(place - EXCERPT_CHARS // 3, len(excerpt) - EXCERPT_CHARS + 1))
    cut = excerpt[start : start + EXCERPT_CHARS - 2]
    return f"{'…' if start else ''}{cut}{'…' if start + len(cut) < len(excerpt) else ''}"


def _place(finding: Finding[IndicatorFacts]) -> str:
    evidence = finding.evidence[0]
    return f"{code_span(evidence.source, limit=60)} line {evidence.line:,}"


def _place_in_file(finding: Finding[IndicatorFacts]) -> str:
    offset = finding.evidence[0].offset
    return "in its texts" if offset is None else f"offset {offset:,}"
