"""What findings about ATT&CK hold. Names and relations are MITRE's; descriptions are our own."""

from __future__ import annotations

from svc.assistant.findings import Facts


class AttackTechnique(Facts, frozen=True, kw_only=True, tag="attack_technique"):
    """A technique or sub-technique that the question asks about."""

    id: str
    is_known: bool
    """Whether ATT&CK has this ID, in force or withdrawn."""
    is_withdrawn: bool = False
    withdrawn_in: str = ""
    """The version of ATT&CK that withdrew it, if known."""
    name: str
    formerly: str = ""
    """Its earlier name."""
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
    successor_name: str = ""
    near: list[str]
    """``T1595 Active Scanning`` of each similar ID, if this one is unknown."""
    version: str
    """``ATT&CK 19.0 of 2026-04-28``"""
    licence: str


class AttackTactic(Facts, frozen=True, kw_only=True, tag="attack_tactic"):
    """A tactic that the question asks about."""

    id: str
    name: str
    formerly: str = ""
    """The tactic that it was, or was a part of, in earlier versions."""
    split_with: list[str]
    """``TA0112 Defense Impairment``: the other parts of that tactic."""
    aliases: list[str]
    techniques: list[str]
    """``T1003 OS Credential Dumping`` of each technique."""
    subs: int
    """How many sub-techniques these have."""
    version: str
    """``ATT&CK 19.0 of 2026-04-28``"""
    licence: str
