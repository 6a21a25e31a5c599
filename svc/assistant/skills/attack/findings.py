"""What findings about ATT&CK hold. Names and relations are MITRE's; descriptions are our own."""

from __future__ import annotations

from svc.assistant.findings import Facts


class AttackTechnique(Facts, frozen=True, kw_only=True, tag="attack_technique"):
    """A technique or sub-technique that the question asks about."""

    id: str
    is_known: bool
    """Whether ATT&CK has this ID, in force or withdrawn."""
    name: str
    parent: str
    """``T1003 OS Credential Dumping`` of a sub-technique, else ""."""
    what: str
    """A one-line description, or ""."""
    tactics: list[str]
    """Names, in the order of the matrix."""
    platforms: list[str]
    subs: list[str]
    """``T1003.001 LSASS Memory`` of each sub-technique."""
    successor: str | None
    """The ID that replaced a withdrawn one."""
    near: list[str]
    """``T1595 Active Scanning`` of each similar ID, if this one is unknown."""
    version: str
    """``ATT&CK 17.0 of 2025-04-22``"""
    licence: str


class AttackTactic(Facts, frozen=True, kw_only=True, tag="attack_tactic"):
    """A tactic that the question asks about."""

    id: str
    name: str
    aliases: list[str]
    techniques: list[str]
    """``T1003 OS Credential Dumping`` of each technique."""
    subs: int
    """How many sub-techniques these have."""
    version: str
    """``ATT&CK 17.0 of 2025-04-22``"""
    licence: str
