"""Report the alerts that other products raised: sensors, endpoint and cloud security, detection tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from svc.assistant.findings import Confidence, Finding, Severity
from svc.assistant.sigma.event import Event, Verdict
from svc.assistant.skills.asked.evidence import Place, Span
from svc.assistant.skills.events.activity_findings import ProductAlert

MAX_ALERTS = 10_000
MAX_LISTED = 1_000
MAX_VALUES = 20  # hosts, users and addresses of an alert
MAX_TITLE_CHARS = 200
_SEVERITIES = (
    (("crit", "very-high", "very high", "emerg", "fatal", "severe"), Severity.HIGH),
    (("high", "alert"), Severity.HIGH),
    (("med", "moderate", "warn", "error"), Severity.MEDIUM),
    (("low", "minor"), Severity.LOW),
    (("info", "notice", "unknown", "none", "debug"), Severity.INFO),
)
"""Another product's rating is not evidence of a compromise, so that nothing is critical by itself."""


class _Alert(msgspec.Struct):
    span: Span = msgspec.field(default_factory=Span)
    hosts: Counter[str] = msgspec.field(default_factory=Counter)
    users: Counter[str] = msgspec.field(default_factory=Counter)
    addresses: Counter[str] = msgspec.field(default_factory=Counter)


class ProductAlerts:
    """Counts alerts; other events are ignored."""

    def __init__(self) -> None:
        self._alerts: dict[tuple[str, str, str, bool], _Alert] = {}

    def add(self, event: Event) -> None:
        """Count an alert, or an event on which the exporting product has a verdict."""
        if event.category != "alert" and event.verdict is None:
            return
        fields = event.fields
        said = event.verdict or Verdict("", fields.get("Alert", "").replace("\n", ", "), fields.get("Severity", ""))
        name = said.name[:MAX_TITLE_CHARS] or "alert without a name"
        key = said.product, name, said.level.partition("\n")[0].lower()[:40], said.is_denied
        alert = self._alerts.get(key)
        if alert is None:
            if len(self._alerts) >= MAX_ALERTS:
                return
            alert = self._alerts[key] = _Alert()
        alert.span.add(event)
        for counter, value in (
            (alert.hosts, event.host),
            (alert.users, fields.get("User", "")),
            (alert.addresses, fields.get("SourceIp", "")),
            (alert.addresses, fields.get("c-ip", "")),
            (alert.addresses, fields.get("DestinationIp", "")),
        ):
            if value and (value in counter or len(counter) < MAX_VALUES):
                counter[value] += 1

    def findings(self, place: Place) -> Iterator[Finding[ProductAlert]]:
        """Yield the alerts, the most severe first."""
        order = list(Severity)
        ranked = sorted(
            self._alerts.items(),
            key=lambda item: (order.index(severity_of(item[0][2], is_denied=item[0][3])), -item[1].span.count),
        )
        for (product, name, level, is_denied), alert in ranked[:MAX_LISTED]:
            denied = " (denied)" if is_denied else ""
            yield Finding(
                title=f"{product} alert: {name}{denied}" if product else f"alert of another product: {name}{denied}",
                severity=severity_of(level, is_denied=is_denied),
                confidence=Confidence.MEDIUM,
                why=_why(product, level),
                evidence=tuple(place.evidence(event) for event in alert.span.events),
                facts=ProductAlert(
                    alert=name,
                    product=product,
                    level=level,
                    count=alert.span.count,
                    hosts=list(alert.hosts),
                    users=list(alert.users),
                    addresses=list(alert.addresses),
                    first=alert.span.first or None,
                    last=alert.span.last or None,
                ),
            )


def _why(product: str, level: str) -> str:
    if not product:
        return "The severity is that product's rating; what it saw was not examined here."
    return f"{product} rates it {level}." if level else f"{product} reports it without a rating."


def severity_of(level: str, *, is_denied: bool = False) -> Severity:
    """Return the severity of another product's rating: LOW if it has none, at most MEDIUM if it denied the attack."""
    found = next((severity for words, severity in _SEVERITIES if level.startswith(words)), Severity.LOW)
    return Severity.MEDIUM if is_denied and found is Severity.HIGH else found
