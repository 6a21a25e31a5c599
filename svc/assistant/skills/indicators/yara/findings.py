"""What YARA rules find in a file."""

from __future__ import annotations

import msgspec

from svc.assistant.findings import Facts


class YaraString(msgspec.Struct, frozen=True):
    """One place where a rule's string is."""

    name: str
    offset: int
    """In bytes, from 0."""
    length: int
    text: str
    """What the file has there, with unprintable bytes as dots."""


class YaraMatch(Facts, frozen=True, kw_only=True, tag="yara_match"):
    """A rule that matches a file."""

    rule: str
    input: str
    tags: list[str]
    description: str
    author: str
    strings: list[YaraString]
    """The first ones; none if the condition needs no string."""


class YaraScan(Facts, frozen=True, kw_only=True, tag="yara_scan"):
    """The scan of one file."""

    input: str
    rules: int
    """Rules that compile."""
    matched: int
    scanned: bool
    reason: str
    """Why it was not scanned, or not to its end; "" if it was."""
    rejected: int
    """Rules that do not compile."""
    unread: list[str]
    """Files of the question that were not scanned."""
