"""Report who did what in an AWS account by its CloudTrail: identities, addresses, denied and risky calls.

Risky calls and their techniques: ``cloud_calls.toml``.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from functools import cache
from typing import NamedTuple

import msgspec

from svc.assistant.findings import Facts, Finding, Severity
from svc.assistant.knowledge import load
from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.evidence import Place, Span
from svc.assistant.skills.events.findings import CloudCall, CloudIdentity, CloudLogin, CloudRefusals
from svc.assistant.skills.events.matches.attempts import Milder, is_deployment

MAX_IDENTITIES = 10_000
REFUSED = 10  # denied calls of one identity: someone is testing its permissions
REFUSED_KINDS = 5  # different ones of them
_FEDERATED = frozenset({"AssumedRole", "FederatedUser", "SAMLUser", "WebIdentityUser"})
"""Identities whose second factor is a matter of another provider, so that AWS records none."""
_READ_ONLY = re.compile(r"::aws:policy/(?:[\w-]{1,80}/){0,3}[\w-]{0,80}(?:ReadOnlyAccess|ViewOnlyAccess|ReadOnly)\Z")
"""Policies of the provider that only allow reading."""
_REFUSALS = ("AccessDenied", "UnauthorizedOperation", "Client.UnauthorizedOperation", "AccessDeniedException")


class RiskyCall(msgspec.Struct, frozen=True):
    """What a call does, and how risky it is by itself."""

    what: str
    severity: Severity
    techniques: list[str]


class CloudCalls(msgspec.Struct, frozen=True):
    """``cloud_calls.toml``: calls by ``service:name``."""

    source: str
    version: str
    date: date
    calls: dict[str, RiskyCall]


@cache
def _table() -> CloudCalls:
    return load("cloud_calls.toml", CloudCalls, __package__)


class _Identity(msgspec.Struct):
    span: Span = msgspec.field(default_factory=lambda: Span(limit=1))
    calls: Counter[str] = msgspec.field(default_factory=Counter)
    addresses: Counter[str] = msgspec.field(default_factory=Counter)
    errors: Counter[str] = msgspec.field(default_factory=Counter)
    refused: Counter[str] = msgspec.field(default_factory=Counter)


class _Call(NamedTuple):
    """A risky call of an identity; ``is_deployment``: by the agent of a tool that deploys configuration."""

    identity: str
    call: str
    is_refused: bool
    is_deployment: bool


class CloudActivity:
    """Counts CloudTrail records; ignores other logs."""

    def __init__(self) -> None:
        self.count: int = 0
        self._identities: dict[str, _Identity] = {}
        self._risky: dict[_Call, Span] = {}
        self._consoles: dict[tuple[str, str, str], Span] = {}

    def add(self, event: Event) -> None:
        """Count a record; other events are ignored."""
        if event.service != "cloudtrail":
            return
        self.count += 1
        fields = event.fields
        name = identity_of(fields)
        identity = self._identities.get(name)
        if identity is None:
            if len(self._identities) >= MAX_IDENTITIES:
                return
            identity = self._identities[name] = _Identity()
        call = f"{fields.get('eventSource', '').partition('.')[0]}:{fields.get('eventName', '')}"
        error = fields.get("errorCode", "")
        identity.span.add(event)
        _count(identity.calls, call)
        _count(identity.addresses, fields.get("sourceIPAddress", ""))
        if error:
            _count(identity.errors, error)
        if error in _REFUSALS:
            _count(identity.refused, call)
        is_harmless = _READ_ONLY.search(fields.get("requestParameters.policyArn", "")) is not None
        if call in _table().calls and not is_harmless and len(self._risky) < MAX_IDENTITIES:
            called = _Call(name, call, is_refused=bool(error), is_deployment=is_deployment(fields))
            self._risky.setdefault(called, Span()).add(event)
        if call == "signin:ConsoleLogin" and len(self._consoles) < MAX_IDENTITIES:
            result = fields.get("responseElements.ConsoleLogin", "")
            mfa = fields.get("additionalEventData.MFAUsed", "")
            if fields.get("userIdentity.type") in _FEDERATED:
                mfa = "by the identity provider"
            self._consoles.setdefault((name, result, mfa), Span()).add(event)

    def findings(self, place: Place) -> list[Finding[Facts]]:
        """Return risky calls, logins, denied calls, then each identity."""
        if not self.count:
            return []
        found: list[Finding[Facts]] = [self._call(key, span, place) for key, span in self._risky.items()]
        found += [self._login(key, span, place) for key, span in self._consoles.items()]
        found += [self._refused(name, one, place) for name, one in self._identities.items() if _is_probing(one)]
        order = list(Severity)
        found.sort(key=lambda finding: order.index(finding.severity))
        ranked = sorted(self._identities.items(), key=lambda item: -item[1].span.count)
        return [*found, *(self._who(name, identity, place) for name, identity in ranked)]

    @staticmethod
    def _call(key: _Call, span: Span, place: Place) -> Finding[CloudCall]:
        name, call, is_refused, is_deployed = key
        known = _table().calls[call]
        is_milder = is_refused or (is_deployed and known.severity is Severity.MEDIUM)
        by = " by a deployment tool" if is_deployed else ""
        return Finding(
            title=f"{name} {'was denied' if is_refused else 'called'} {call}{by} ({known.what})",
            severity=Severity.LOW if is_milder and known.severity is not Severity.INFO else known.severity,
            why="The call was denied." if is_refused else Milder.DEPLOYMENT.value if is_milder else "",
            evidence=tuple(place.evidence(event) for event in span.events),
            techniques=tuple(known.techniques),
            facts=CloudCall(
                identity=name,
                call=call,
                what=known.what,
                is_refused=is_refused,
                count=span.count,
                addresses=list(dict.fromkeys(event.fields.get("sourceIPAddress", "") for event in span.events)),
                first=span.first or None,
                last=span.last or None,
            ),
        )

    @staticmethod
    def _login(key: tuple[str, str, str], span: Span, place: Place) -> Finding[CloudLogin]:
        name, result, mfa = key
        is_bare = result == "Success" and mfa == "No"
        is_guessed = result == "Failure" and span.count >= REFUSED
        severity = Severity.MEDIUM if is_bare or is_guessed else Severity.INFO
        words = f"{result or 'not stated'}, {span.count:,} times{', without MFA' if is_bare else ''}"
        return Finding(
            title=f"console login by {name}: {words}",
            severity=Severity.HIGH if name.startswith("root") and result == "Success" else severity,
            evidence=tuple(place.evidence(event) for event in span.events),
            techniques=("T1110",) if is_guessed else ("T1078.004",),
            facts=CloudLogin(
                identity=name,
                result=result,
                mfa=mfa,
                count=span.count,
                first=span.first or None,
                last=span.last or None,
            ),
        )

    @staticmethod
    def _refused(name: str, identity: _Identity, place: Place) -> Finding[CloudRefusals]:
        return Finding(
            title=f"{name} was denied {identity.refused.total():,} times on {len(identity.refused):,} different calls",
            severity=Severity.MEDIUM,
            why="Someone is testing what these credentials can do, or a program lacks a permission.",
            evidence=tuple(place.evidence(event) for event in identity.span.events),
            techniques=("T1580", "T1526"),
            facts=CloudRefusals(
                identity=name,
                count=identity.refused.total(),
                calls=[call for call, _ in identity.refused.most_common(20)],
                addresses=[address for address, _ in identity.addresses.most_common(10)],
            ),
        )

    @staticmethod
    def _who(name: str, identity: _Identity, place: Place) -> Finding[CloudIdentity]:
        return Finding(
            title=f"{name}: {identity.span.count:,} calls from {len(identity.addresses):,} addresses",
            evidence=tuple(place.evidence(event) for event in identity.span.events),
            facts=CloudIdentity(
                identity=name,
                count=identity.span.count,
                calls=[call for call, _ in identity.calls.most_common(10)],
                addresses=[address for address, _ in identity.addresses.most_common(10)],
                errors=identity.errors.total(),
                first=identity.span.first or None,
                last=identity.span.last or None,
            ),
        )


def _is_probing(identity: _Identity) -> bool:
    return identity.refused.total() >= REFUSED and len(identity.refused) >= REFUSED_KINDS


def _count(counter: Counter[str], name: str) -> None:
    if name in counter or len(counter) < MAX_IDENTITIES:
        counter[name] += 1


def identity_of(fields: dict[str, str]) -> str:
    """Return a readable name of the caller."""
    kind = fields.get("userIdentity.type", "")
    if kind == "Root":
        return f"root of {fields.get('userIdentity.accountId', 'the account')}"
    name = fields.get("userIdentity.userName") or fields.get("userIdentity.arn", "").rpartition(":")[2]
    return name or fields.get("userIdentity.invokedBy") or fields.get("userIdentity.principalId") or kind or "(unknown)"
