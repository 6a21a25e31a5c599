"""What the search for listed indicators finds."""

from __future__ import annotations

import msgspec

from svc.assistant.findings import Facts


class MatchPlace(msgspec.Struct, frozen=True):
    """One match: where, when, and what the input has there."""

    place: str
    """line 12, record 3, its name or its hash"""
    time: str
    """As in the input, or in UTC with a Z; "" if the record has none."""
    matched: str
    """What the input has: for a network the address, for a domain the subdomain."""


class IndicatorMatch(Facts, frozen=True, kw_only=True, tag="indicator_match"):
    """A listed indicator that an input contains."""

    type: str
    value: str
    defanged: str
    """As it is safe to show."""
    input: str
    how: str
    """exact, address in the network, subdomain, host and path in separate fields, name and domain in separate fields,
    the file itself, or host of the URL only, which is not counted as a match."""
    is_partial: bool
    """Whether only the host of a URL was found."""
    unit: str
    count: int
    """Records or lines that contain it."""
    first: str
    last: str
    """Of the records that have a time, in the order of the input."""
    places: list[MatchPlace]
    """The first ones."""


class IndicatorSearch(Facts, frozen=True, kw_only=True, tag="indicator_search"):
    """The search for all listed indicators in one input."""

    input: str
    indicators: int
    """Different values that were looked for."""
    found: int
    """How many of them the input contains."""
    unit: str
    searched: int
    by_type: list[str]
    """What was looked for: "3 domains"."""
    unsearchable: int
    """Entries of the lists that cannot be looked for."""
    unread: list[str]
    """Inputs of the question that were not searched, each with the reason."""
