"""What findings about indicators hold. Scopes: IANA special-purpose address registries, RFC 2606 and 6761 names."""

from __future__ import annotations

from typing import Literal

from svc.assistant.findings import Facts

Scope = Literal[
    "public",
    "private",
    "loopback",
    "link-local",
    "multicast",
    "unspecified",
    "reserved",
    "netmask",
    "documentation",
    "internal",
    "tor",
    "common",
    "",
]
"""The range or the zone of an address or a name; "" for an indicator that has none, such as a hash."""

Within = Literal["url", "email", "cidr", ""]
"""The longer indicator that this one was taken from; "" if it also occurs by itself."""


class IndicatorFacts(Facts, frozen=True, kw_only=True, tag="indicator"):
    """One indicator with its number of mentions; the evidence is the first of them."""

    type: str
    """url, domain, ipv4, ipv4_cidr, ipv6, ipv6_cidr, email, xmpp, md5, sha1, sha224, sha256, sha384, sha512, ssdeep,
    tlsh, imphash, authentihash, ja3, ja3s, jarm, pehash, vhash, telfhash, richhash,
    richheaderhash, cve, attack_technique, attack_tactic,
    attack_software, attack_group, attack_mitigation, file_path, file_name, registry_key, mutex, named_pipe, bitcoin,
    ethereum, monero, asn, mac, user_agent, analytics_id or tlp."""
    value: str
    """As it works, not defanged."""
    defanged: str
    """As it is safe to show."""
    count: int
    """How often it is mentioned."""
    line: int
    """First mention, from 1."""
    scope: Scope
    note: str
    """Why it rarely matters by itself, or what CISA's KEV catalog says of a CVE, or ""."""
    ports: list[int]
    was_defanged: bool
    """Whether the text had it defanged."""
    within: Within


class XmlAttack(Facts, frozen=True, kw_only=True, tag="xml_attack"):
    """What the document type of an XML, SVG or HTML text declares to attack its parser; nothing is expanded."""

    attack: str
    """expansion (billion laughs), recursion, external_entity (XXE) or external_dtd"""
    value: str
    """The entity that expands most, or the addresses that a parser would open."""
    line: int
    """Of the declaration, from 1."""
