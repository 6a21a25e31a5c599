"""Match events against rules: events in, hits out, in the events' order.

A rule is evaluated only for events of its log source and, if it names event IDs, for these. Events repeat, so the
result for the values that a log source's rules look at is remembered, which makes it fast. Rules are compiled
beforehand (``compile.py``); running them needs the standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from svc.assistant.findings import Severity
from svc.assistant.sigma.condition import (
    UNUSABLE,
    Check,
    Every,
    Layout,
    Node,
    Predicate,
    Some,
    ValueForm,
    Values,
    predicate,
)
from svc.assistant.sigma.event import Event

MAX_REMEMBERED = 20_000  # results per log source; at the limit they are dropped and computed again
MAX_REMEMBERED_CHARS = 2_000  # of an event's values together: long ones seldom repeat and take memory

Level = Literal["critical", "high", "medium", "low", "informational"]
LEVELS: tuple[Level, ...] = ("critical", "high", "medium", "low", "informational")
_NARROWER = {
    "registry_event": frozenset({"registry_add", "registry_set", "registry_delete", "registry_rename"}),
}  # categories that Sigma's taxonomy has as a whole and in parts


class LogSource(msgspec.Struct, frozen=True):
    """The events that a rule applies to; "" is any."""

    product: str = ""
    service: str = ""
    category: str = ""

    def covers(self, event: LogSource) -> bool:
        """Return whether this source includes events of another one."""
        return (
            self.product in ("", event.product)
            and self.service in ("", event.service)
            and (self.category in ("", event.category) or event.category in _NARROWER.get(self.category, ()))
        )


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A compiled rule. ``tactics`` are ATT&CK's short names (``credential-access``), ``techniques`` its IDs."""

    id: str
    title: str
    level: Level
    author: str = ""
    license: str = ""
    description: str = ""
    false_positives: tuple[str, ...] = ()
    tactics: tuple[str, ...] = ()
    techniques: tuple[str, ...] = ()
    source: LogSource = LogSource()
    condition: Node

    @property
    def severity(self) -> Severity:
        """The level as a severity."""
        return Severity.INFO if self.level == "informational" else Severity(self.level)


class Hit(msgspec.Struct, frozen=True):
    """A rule and an event that it matched."""

    rule: Rule
    event: Event


class RuleEngine:
    """Runs rules on the events of a log, fed in batches in any order; keeps no events.

    ``unusable`` are rules that cannot run, because a regular expression or network in them is invalid.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.unusable: list[Rule] = []
        self._rules: list[tuple[Rule, frozenset[str] | None]] = []
        for rule in rules:
            if _is_usable(rule):
                self._rules.append((rule, event_ids(rule.condition)))
            else:
                self.unusable.append(rule)
        self._partitions: dict[tuple[str, str, str, int | None], _Partition] = {}

    def feed(self, batch: Sequence[Event]) -> Iterator[Hit]:
        """Yield the hits among these events."""
        for event in batch:
            key = (event.product, event.service, event.category, event.event_id)
            partition = self._partitions.get(key)
            if partition is None:
                partition = self._partitions[key] = self._partition(*key)
            for rule in partition.matching(event):
                yield Hit(rule, event)

    @property
    def applicable(self) -> int:
        """How many rules could apply to the events so far, by their log source and event ID."""
        return len({id(rule) for partition in self._partitions.values() for rule in partition.rules})

    def covered(self) -> set[tuple[str, str, str]]:
        """Return product, service and category of the events so far to which any rule could apply."""
        return {key[:3] for key, partition in self._partitions.items() if partition.rules}

    def finish(self) -> Iterator[Hit]:
        """Yield the hits known only after the last event: none, because every rule looks at a single event."""
        yield from ()

    def _partition(self, product: str, service: str, category: str, event_id: int | None) -> _Partition:
        source = LogSource(product, service, category)
        return _Partition(
            [rule for rule, ids in self._rules if rule.source.covers(source) and (ids is None or str(event_id) in ids)]
        )


class _Partition:
    """The rules for one type of event."""

    def __init__(self, rules: list[Rule]) -> None:
        layout = Layout()
        self.rules = rules
        self._rules: list[tuple[Predicate, Rule]] = [(predicate(rule.condition, layout), rule) for rule in rules]
        self._slots: list[tuple[str, ValueForm]] = list(layout.slots)
        self._fields = sorted({field for field, _ in self._slots})
        self._remembered: dict[tuple[str | None, ...], tuple[Rule, ...]] = {}

    def matching(self, event: Event) -> tuple[Rule, ...]:
        if not self._rules:
            return ()
        raw = tuple([_value(event, field) for field in self._fields])
        found = self._remembered.get(raw)
        if found is not None:
            return found
        values = self._values(dict(zip(self._fields, raw, strict=True)))
        found = tuple([rule for holds, rule in self._rules if holds(values)])
        if sum(map(len, filter(None, raw))) <= MAX_REMEMBERED_CHARS:
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
            self._remembered[raw] = found
        return found

    def _values(self, raw: dict[str, str | None]) -> Values:
        return Values([_in_form(raw[field], form) for field, form in self._slots])


def _value(event: Event, field: str) -> str | None:
    """Return the value of a field; None if the event has none. The field "" is all values together."""
    value = event.fields.get(field)
    if value is not None:
        return value
    match field:
        case "":
            return "\n".join(event.fields.values())
        case "EventID":
            return None if event.event_id is None else str(event.event_id)
        case "Computer" | "ComputerName":
            return event.host or None
        case _:
            return None


def _in_form(value: str | None, form: ValueForm) -> str:
    match form:
        case "exists":
            return "" if value is None else "yes"
        case "lower":
            return (value or "").lower()
        case "unchanged":
            return value or ""


def _is_usable(rule: Rule) -> bool:
    try:
        predicate(rule.condition, Layout())
    except UNUSABLE:
        return False
    return True


def event_ids(node: Node) -> frozenset[str] | None:
    """Return the only event IDs for which the condition can hold; None if it names none."""
    match node:
        case Check(field="EventID", comparison="equals", values=values):
            return frozenset(values)
        case Every(nodes):
            named = [ids for ids in map(event_ids, nodes) if ids is not None]
            return frozenset.intersection(*named) if named else None
        case Some(nodes):
            each = [event_ids(child) for child in nodes]
            return None if None in each else frozenset().union(*(ids for ids in each if ids is not None))
        case _:
            return None
