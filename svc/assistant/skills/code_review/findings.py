"""What findings about code, configurations and HTTP headers hold."""

from __future__ import annotations

from svc.assistant.findings import Facts


class CodeWeakness(Facts, frozen=True, kw_only=True, tag="code_weakness"):
    """A weakness in one statement, setting or header."""

    rule: str
    """Name of the rule in the table of weaknesses."""
    cwe: str
    """``CWE-89``"""
    language: str
    """python, nginx, dockerfile, headers, …"""
    fix: str
    from_input: bool
    """Whether user input reaches it."""


class CodeReview(Facts, frozen=True, kw_only=True, tag="code_review"):
    """A text that was reviewed."""

    language: str
    lines: int
    weaknesses: int
    patterns: int
    """Patterns of weaknesses that exist for its language."""
    table_version: str
    """Version of the table of weaknesses."""
    table_date: str
