"""Explain why a rule matches an event, or which of its conditions the event fails."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from svc.assistant.sigma.condition import Check, Every, Node, Not, Some
from svc.assistant.sigma.correlation import Correlation
from svc.assistant.sigma.engine import matches, value_of
from svc.assistant.sigma.event import Event

MAX_VALUES = 5  # of a list that are shown
MAX_VALUE_CHARS = 120
_WORDS = {
    "equals": "is", "contains": "contains", "startswith": "starts with", "endswith": "ends with",
    "parts": "has in this order", "re": "matches the expression", "cidr": "is in the network", "null": "is empty",
    "exists": "exists", "lt": "is less than", "lte": "is at most", "gt": "is greater than", "gte": "is at least",
    "minute": "has the minute", "hour": "has the hour", "day": "has the day", "week": "has the week",
    "month": "has the month", "year": "has the year", "same as": "is the same as the field",
    "starts with field": "starts with the field", "ends with field": "ends with the field",
    "contains field": "contains the field",
}  # fmt: skip
_BOUNDS = {
    "gt": "more than", "gte": "at least", "lt": "fewer than", "lte": "at most", "eq": "exactly", "neq": "other than",
}  # fmt: skip
_COUNTED = {
    "event_count": "events", "temporal": "of the rules", "temporal_ordered": "of the rules in order",
    "value_count": "different values of", "value_sum": "as the sum of", "value_avg": "as the average of",
    "value_percentile": "as the percentile of", "value_median": "as the median of", "value_min": "as the minimum of",
    "value_max": "as the maximum of",
}  # fmt: skip


class Reason(msgspec.Struct, frozen=True):
    """One condition of a rule: whether it holds for the event, in words with the event's value."""

    depth: int
    holds: bool
    text: str


def reasons(node: Node, event: Event, depth: int = 0) -> Iterator[Reason]:
    """Yield the conditions of a rule in their order, each with whether the event meets it."""
    holds = matches(node, event)
    match node:
        case Check():
            yield Reason(depth, holds, f"{_in_words(node)}; {_actual(node, event)}")
        case Not(child):
            yield Reason(depth, holds, "not:")
            yield from reasons(child, event, depth + 1)
        case Every(nodes) | Some(nodes):
            yield Reason(depth, holds, "all of:" if isinstance(node, Every) else "any of:")
            for child in nodes:
                yield from reasons(child, event, depth + 1)


def closeness(node: Node, event: Event) -> float:
    """Return how much of a condition an event meets, from 0 to 1."""
    match node:
        case Every(nodes):
            return sum(closeness(child, event) for child in nodes) / len(nodes)
        case Some(nodes):
            return max((closeness(child, event) for child in nodes), default=0.0)
        case _:
            return float(matches(node, event))


def wanted(correlation: Correlation) -> str:
    """Return in words what a correlation rule asks of the events of a group."""
    if correlation.expression is not None:
        figure = "the combination of rules in its condition"
    else:
        bounds = " and ".join(f"{_BOUNDS[operator]} {bound:,g}" for operator, bound in correlation.bounds)
        figure = f"{bounds} {_COUNTED[correlation.type]} {', '.join(correlation.fields)}".rstrip()
    by = f" with the same {', '.join(correlation.group_by)}" if correlation.group_by else ""
    return f"{figure} within {_span(correlation.timespan)}{by}"


def _span(seconds: int) -> str:
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds % unit == 0:
            return f"{seconds // unit:,} {name}"
    return f"{seconds:,} s"


def _in_words(check: Check) -> str:
    shown = [repr(value[:MAX_VALUE_CHARS]) for value in check.values[:MAX_VALUES]]
    more = f" or one of {len(check.values) - MAX_VALUES:,} more" if len(check.values) > MAX_VALUES else ""
    link = ", then " if check.comparison == "parts" else " or "
    cased = " (case-sensitive)" if check.is_cased else ""
    return f"{check.field or 'any field'} {_WORDS[check.comparison]} {link.join(shown)}{more}".rstrip() + cased


def _actual(check: Check, event: Event) -> str:
    if not check.field:
        return "all fields were searched"
    value = value_of(event, check.field)
    if value is None:
        return "the event does not have this field"
    return f"the event has {value[:MAX_VALUE_CHARS]!r}"
