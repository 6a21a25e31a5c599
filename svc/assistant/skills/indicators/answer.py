"""The answer about indicators: how many of what, worth acting on first, harmless to read. Kinds:
``tools/indicators``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from svc.assistant.findings import InputKind
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import code_span, escape, plural, table

VALUE_CHARS = 200
EXCERPT_CHARS = 100
_QUIET_SCOPES = frozenset(
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
_OUTSIDE = ("public", "", "tor")
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


def verdict(findings: Sequence[Finding]) -> str:
    """How many indicators of which types, and how many of them are marked as unlikely to matter."""
    found = [finding for finding in findings if finding.kind == "indicator"]
    quiet = [finding for finding in found if is_quiet(finding)]
    counts = Counter(_type(finding) for finding in found)
    most = ", ".join(f"{count:,} {_name(kind, count)}" for kind, count in counts.most_common(6))
    rest = len(counts) - 6
    more = f" and {plural(rest, 'more type')}" if rest > 0 else ""
    lead = f"**{plural(len(found), 'indicator')}:** {most}{more}."
    if quiet:
        lead += (
            f" Of these, {len(quiet):,} marked: private or reserved ranges, documentation names, names seen everywhere."
        )
    return lead


def is_quiet(finding: Finding) -> bool:
    """Whether an indicator is one that rarely is worth acting on by itself; its ``note`` says why."""
    return finding.attributes.get("scope") in _QUIET_SCOPES


def section(findings: Sequence[Finding]) -> str:
    """A table per type in the tool's order: the ones worth acting on first, the marked ones after them."""
    by_type: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.kind == "indicator":
            by_type.setdefault(_type(finding), []).append(finding)
    return "\n\n".join(_type_table(kind, found) for kind, found in by_type.items())


def _type_table(kind: str, found: list[Finding]) -> str:
    ordered = sorted(found, key=lambda finding: (is_quiet(finding), -_count(finding)))
    has_notes = any(_note(finding) for finding in found)
    headers = ("Indicator", "Times", "First", "Context", *(("Note",) if has_notes else ()))
    rows = [
        (
            code_span(str(finding.attributes["defanged"]), limit=VALUE_CHARS),
            f"{_count(finding):,}",
            _place(finding),
            code_span(_context(finding), limit=EXCERPT_CHARS),
            *((_note(finding),) if has_notes else ()),
        )
        for finding in ordered
    ]
    name = _name(kind, 2)
    return f"**{escape(name[0].upper() + name[1:])}** ({len(found):,})\n\n{table(headers, rows)}"


def _note(finding: Finding) -> str:
    parts = [str(finding.attributes["note"])]
    ports = finding.attributes["ports"]
    if isinstance(ports, list) and ports:
        parts.append(f"port {', '.join(map(str, ports[:5]))}")
    if finding.attributes["within"]:
        parts.append(_WITHIN[str(finding.attributes["within"])])
    return escape("; ".join(part for part in parts if part))


def _context(finding: Finding) -> str:
    """The line with the indicator in it; cut around it where it is long."""
    excerpt, value = finding.evidence[0].excerpt, str(finding.attributes["value"])
    place = max(0, excerpt.find(value[:12]))
    start = max(0, min(place - EXCERPT_CHARS // 3, len(excerpt) - EXCERPT_CHARS + 1))
    cut = excerpt[start : start + EXCERPT_CHARS - 2]
    return f"{'…' if start else ''}{cut}{'…' if start + len(cut) < len(excerpt) else ''}"


def _place(finding: Finding) -> str:
    evidence = finding.evidence[0]
    return f"{code_span(evidence.source, limit=60)} line {evidence.line:,}"


def _type(finding: Finding) -> str:
    return str(finding.attributes["type"])


def _name(kind: str, count: int) -> str:
    one, many = _NAMES.get(kind, (kind.replace("_", " "), f"{kind.replace('_', ' ')}s"))
    return one if count == 1 else many


def _count(finding: Finding) -> int:
    count = finding.attributes["count"]
    return count if isinstance(count, int) else 0


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """Where to search for indicators that lie outside."""
    if not any(f.kind == "indicator" and f.attributes.get("scope") in _OUTSIDE for f in findings):
        return []
    return ["Search proxy, DNS and endpoint logs for the indicators; no reputation data was used (none offline)."]


SECTION = Section(
    skill=Skill(
        name="indicators",
        tool="svc.assistant.skills.indicators.tool:extract",
        input=InputKind.TEXT,
        title="Indicators",
        can="extract the indicators of a report or a log, defanged, with context",
        loose_kinds=("indicator",),
        strong=words(r"\bindicators?\b", r"\bIOCs?\b", r"\bobservables?\b", r"\bdefang\w*"),
        weak=words(
            r"\b(?:extract|list|find|pull|get|collect|give|show|which|what|any|all|every)\b[^.?!\n]{0,60}?"
            r"\b(?:ips?|ip addresses|addresses|domains?|urls?|links|hashes|host ?names|e-?mail addresses|cves|"
            r"file ?paths|registry keys|wallets)\b"
        ),
        content=words(
            r"hxxps?\b",
            r"\[\.\]",
            r"\bhttps?://",
            r"\b(?:\d{1,3}\.){3}\d{1,3}\b",
            r"\b[0-9a-f]{32,128}\b",
            r"\bCVE-\d{4}-\d{4,}",
        ),
    ),
    verdict=verdict,
    body=section,
    next_steps=next_steps,
)
