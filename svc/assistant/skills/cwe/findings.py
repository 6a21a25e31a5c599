"""What findings about weaknesses hold. Names and relations are those of the CWE list; descriptions are our own."""

from __future__ import annotations

from svc.assistant.findings import Facts


class CweCandidate(Facts, frozen=True, kw_only=True, tag="weakness"):
    """A CWE that a text may describe."""

    block: int
    """Number of the text in the input, from 1."""
    rank: int
    """1 is the most likely candidate of the text."""
    id: str
    """``CWE-79``"""
    name: str
    score: float
    words: list[str]
    """The words of the text that suggest it, the strongest first."""
    what: str
    """A one-line description, or ""."""
    fix: list[str]
    """Mitigations."""
    parents: list[str]
    """``CWE-74 name`` of each CWE that it is a kind of."""
    table_version: str
    table_date: str | None
    """None if the CWE list does not state its date."""


class CweEntry(Facts, frozen=True, kw_only=True, tag="cwe"):
    """A CWE that the question asks about."""

    id: str
    name: str
    level: str
    """Abstraction: pillar, class, base, variant or compound."""
    status: str
    """draft, incomplete, stable, …"""
    what: str | None
    """A one-line description; None if we have none."""
    fix: list[str]
    """Mitigations."""
    parents: list[str]
    """``CWE-74 name`` of each CWE that it is a kind of."""
    children: list[str]
    """``CWE-80 name`` of each kind of it."""
    table_version: str
    table_date: str | None
    """None if the CWE list does not state its date."""
