"""Report actions in cloud services that attackers use, too (``notable_actions.toml``): roles, keys, mailbox rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from functools import cache

import msgspec

from svc.assistant.findings import Confidence, Finding, Severity
from svc.assistant.knowledge import load
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.activity_findings import NotableAction
from svc.assistant.skills.events.evidence import Place, Span

MAX_ACTIONS = 10_000
MAX_LISTED = 500
MAX_VALUES = 20
MAX_REMEMBERED = 20_000
_TARGETS = ("objectRef.name", "target.displayName", "targetResources.displayName", "Target1DisplayName", "ObjectId",
            "protoPayload.resourceName", "repo", "Parameters.Value")  # fmt: skip


class ListedAction(msgspec.Struct, frozen=True):
    """Actions of some products, what they do, and how notable they are."""

    products: list[str]
    action: str
    what: str
    severity: Severity
    techniques: list[str]


class _NotableActionTable(msgspec.Struct, frozen=True):
    """``notable_actions.toml``."""

    source: str
    version: str
    date: date
    actions: list[ListedAction]


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], ListedAction], ...]:
    table = load("notable_actions.toml", _NotableActionTable, __package__)
    return tuple((re.compile(action.action), action) for action in table.actions)


def covered_products() -> frozenset[str]:
    """Return the products whose actions are known."""
    return frozenset(product for _, action in _patterns() for product in action.products)


class _SeenAction(msgspec.Struct):
    listed: ListedAction
    span: Span = msgspec.field(default_factory=Span)
    addresses: Counter[str] = msgspec.field(default_factory=Counter)
    targets: Counter[str] = msgspec.field(default_factory=Counter)


class NotableActions:
    """Counts the actions of accounts; other events are ignored."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, str], _SeenAction] = {}
        self._known: dict[tuple[str, str], ListedAction | None] = {}

    def add(self, event: Event) -> None:
        """Count an action."""
        action = event.fields.get("Action", "")
        if not action or event.category:
            return
        listed = self._listed(event.product, action)
        if listed is None:
            return
        fields = event.fields
        key = action, fields.get("User", ""), fields.get("Outcome", "")
        seen = self._seen.get(key)
        if seen is None:
            if len(self._seen) >= MAX_ACTIONS:
                return
            seen = self._seen[key] = _SeenAction(listed)
        seen.span.add(event)
        targets = (fields.get(name, "").replace("\n", ", ") for name in _TARGETS)
        for counter, value in (
            (seen.addresses, fields.get("SourceIp", "")),
            (seen.targets, next(filter(None, targets), "")),
        ):
            if value and (value in counter or len(counter) < MAX_VALUES):
                counter[value] += 1

    def _listed(self, product: str, action: str) -> ListedAction | None:
        key = product, action
        if key not in self._known:
            if len(self._known) >= MAX_REMEMBERED:
                self._known.clear()
            found = (listed for shape, listed in _patterns() if product in listed.products and shape.search(action))
            self._known[key] = next(found, None)
        return self._known[key]

    def findings(self, place: Place) -> Iterator[Finding[NotableAction]]:
        """Yield the actions, the most severe first."""
        order = list(Severity)
        ranked = sorted(
            self._seen.items(), key=lambda item: (order.index(_severity(item[0][2], item[1])), -item[1].span.count)
        )
        for (action, account, outcome), seen in ranked[:MAX_LISTED]:
            who = account or "an unnamed account"
            yield Finding(
                title=f"{seen.listed.what}: {action} by {who}" + (" (failed)" if outcome == "failure" else ""),
                severity=_severity(outcome, seen),
                confidence=Confidence.MEDIUM,
                why="Administrators do this, too: confirm it with the account's owner.",
                evidence=tuple(place.evidence(event) for event in seen.span.events),
                techniques=tuple(seen.listed.techniques),
                facts=NotableAction(
                    action=action,
                    what=seen.listed.what,
                    account=account,
                    outcome=outcome,
                    count=seen.span.count,
                    addresses=list(seen.addresses),
                    targets=list(seen.targets),
                    first=seen.span.first or None,
                    last=seen.span.last or None,
                ),
            )


def _severity(outcome: str, seen: _SeenAction) -> Severity:
    return Severity.LOW if outcome == "failure" else seen.listed.severity
