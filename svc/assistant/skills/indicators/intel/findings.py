"""What findings about threat intelligence hold."""

from __future__ import annotations

import msgspec

from svc.assistant.findings import Facts


class TypeCount(msgspec.Struct, frozen=True):
    """How many there are of one type."""

    type: str
    count: int


class IntelSummary(Facts, frozen=True, kw_only=True, tag="intel_summary"):
    """What a file with threat intelligence contains."""

    form: str
    """STIX bundle, MISP event, OpenIOC, Sigma rules, YARA rules or list of indicators."""
    name: str
    """The title of the event or the report, or ""."""
    by_type: list[TypeCount]
    """Indicators by type."""
    indicators: int
    """Different values that can be looked for in other files."""
    objects: list[TypeCount]
    """Other objects by type: malware, attack-pattern, relationship, rule …"""
    tlp: list[str]
    """Markings of the Traffic Light Protocol, as in the file."""
    expired: int
    """Indicators that are revoked or whose `valid_until` is in the past."""


class ListedIndicator(Facts, frozen=True, kw_only=True, tag="listed_indicator"):
    """A value that a list, a bundle or an event names; it says nothing about whether the value is malicious."""

    type: str
    """ipv4, ipv6, ipv4_cidr, ipv6_cidr, domain, url, email, md5, sha1, sha224, sha256, sha384, sha512, file_name,
    file_path, registry_key, account, user_agent, mutex or text."""
    value: str
    """As it works, not defanged."""
    defanged: str
    """As it is safe to show."""
    note: str
    """The name or comment that the file gives it."""
    valid_from: str
    valid_until: str
    revoked: bool
    """Whether the file withdraws it."""
    expired: bool
    """Whether it is revoked, or was no longer valid at the time of the question."""


class IntelObject(Facts, frozen=True, kw_only=True, tag="intel_object"):
    """A malware, an attack pattern, an actor, a relationship or another object of a bundle or an event."""

    type: str
    name: str
    technique: str
    """Its ID in ATT&CK, or ""."""
    description: str
    """What the file says about it; of a relationship its source, type and target."""


class DetectionRule(Facts, frozen=True, kw_only=True, tag="detection_rule"):
    """A Sigma or YARA rule, in words."""

    language: str
    """Sigma or YARA."""
    name: str
    rule_id: str
    level: str
    author: str
    description: str
    log_source: str
    """Where a Sigma rule applies, in words."""
    must_match: list[str]
    """What each selection of a Sigma rule, or each string of a YARA rule, requires."""
    condition: str
    """As in the rule."""
    meaning: str
    """The condition in words, or ""."""
    false_positives: list[str]
    techniques: list[str]
    tactics: list[str]
    compiles: bool
    reason: str
    """Why it does not compile here, or why that was not tried; "" if it does."""
