"""What findings about CVEs hold. Source: CISA's catalog of known exploited vulnerabilities (KEV)."""

from __future__ import annotations

from svc.assistant.findings import Facts


class CveStatus(Facts, frozen=True, kw_only=True, tag="cve"):
    """A CVE in the input, and what the KEV catalog says of it; if it does not list the CVE, most fields are None."""

    id: str
    is_exploited: bool
    """Whether the catalog lists it; exploitation of others is not ruled out."""
    vendor: str | None
    product: str | None
    name: str | None
    description: str | None
    action: str | None
    """What CISA requires agencies to do."""
    added: str | None
    """Date on which the catalog listed it."""
    due: str | None
    """Date by which agencies must have acted."""
    ransomware: str | None
    """Use in ransomware campaigns: "Known" or "Unknown"."""
    cwes: list[str]
    count: int
    """How often it appears in the input."""
    table_version: str
    """Version of the catalog."""
    table_date: str
