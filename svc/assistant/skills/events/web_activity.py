"""What a web server's log shows as a whole: who asks most, what fails, who probes, and what answered an attack. Pure.

Decides: a client probes when it asks for many different things that are not there, or sends attacks
(``knowledge/network.toml``), or calls itself a scanner; an attack that was answered with 2xx may have worked. Finding
kinds: ``events``.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import msgspec

from svc.assistant.findings import Confidence, Scalar, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.knowledge.network import Mark, mark_of_agent, mark_of_request
from svc.assistant.log_readers.web_errors import ComplaintKind, complaint
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.evidence import Place, Span

MAX_CLIENTS = 50_000
MAX_PATHS = 2_000  # different ones kept of one client
MAX_LISTED = 100
PROBED_PATHS = 20  # different ones that are not there: more than a page with broken links
PROBE_SHARE = 0.3  # of all requests of that client
GUESSED_LOGINS = 20  # POSTs to one path, or refusals with 401: more than a person who mistypes
DENIED_LOGINS = 5  # names and passwords that the error log says were wrong
HASTY_LOGINS = 5  # POSTs to a login path within HASTY_SECONDS: faster than a person types
HASTY_SECONDS = 10.0
_SCANNER = "a scanner"


class _Client(msgspec.Struct):
    requests: int = 0
    failed: int = 0
    missing: set[str] = msgspec.field(default_factory=set)
    posts: Counter[str] = msgspec.field(default_factory=Counter)
    logins: list[float] = msgspec.field(default_factory=list)
    is_hasty: bool = False
    refused: int = 0
    denied: Counter[str] = msgspec.field(default_factory=Counter)
    size: int = 0
    attacks: dict[str, Span] = msgspec.field(default_factory=dict)
    worked: dict[str, Span] = msgspec.field(default_factory=dict)
    agents: Counter[str] = msgspec.field(default_factory=Counter)
    span: Span = msgspec.field(default_factory=lambda: Span(limit=1))


class WebActivity:
    """Counts of a web server's log; tells nothing about other logs."""

    def __init__(self) -> None:
        self.requests = self.errors = self.untold = 0
        self._clients: dict[str, _Client] = {}
        self._statuses: Counter[str] = Counter()
        self._methods: Counter[str] = Counter()
        self._paths: Counter[str] = Counter()
        self._marks: dict[str, Mark | None] = {}
        self._agents: dict[str, Mark | None] = {}
        self._all = Span(limit=1)

    def add(self, event: Event) -> None:
        """Count a request; other events are not looked at."""
        if event.category != "webserver":
            return
        if event.service == "error":
            self._count_error(event)
            return
        fields = event.fields
        self.requests += 1
        self._all.add(event)
        status, method = fields.get("sc-status", ""), fields.get("cs-method", "")
        self._statuses[status] += 1
        self._methods[method] += 1
        path = fields.get("cs-uri-stem", "")
        if path in self._paths or len(self._paths) < MAX_CLIENTS:
            self._paths[path] += 1
        if (client := self._client(fields.get("c-ip", ""))) is not None:
            self._count(client, event, status, method, path)

    def _client(self, address: str) -> _Client | None:
        client = self._clients.get(address)
        if client is None:
            if len(self._clients) >= MAX_CLIENTS:
                self.untold += 1
                return None
            client = self._clients[address] = _Client()
        return client

    def _count_error(self, event: Event) -> None:
        """A line of an error log: whom it refused, what was not there, and what was tried."""
        self.errors += 1
        self._all.add(event)
        client = self._client(event.fields["c-ip"]) if event.fields.get("c-ip") else None
        said = complaint(event.fields.get("message", ""))
        if client is None or said is None:
            return
        client.requests += 1
        client.failed += 1
        client.span.add(event)
        match said.kind:
            case ComplaintKind.LOGIN:
                client.denied[said.account if len(client.denied) < MAX_LISTED else ""] += 1
            case ComplaintKind.MISSING if len(client.missing) < MAX_PATHS:
                client.missing.add(said.path)
            case _:
                client.refused += 1
        if (mark := self._mark(_target(event) or said.path)) is not None:
            client.attacks.setdefault(mark.what, Span(limit=2)).add(event)

    def _count(self, client: _Client, event: Event, status: str, method: str, path: str) -> None:
        client.requests += 1
        client.span.add(event)
        size = event.fields.get("sc-bytes", "")
        client.size += int(size) if size.isascii() and size.isdigit() and len(size) < 16 else 0
        if status[:1] in ("4", "5"):
            client.failed += 1
        if status == "404" and len(client.missing) < MAX_PATHS:
            client.missing.add(path)
        client.refused += status in ("401", "403")
        if method == "POST" and (path in client.posts or len(client.posts) < MAX_PATHS):
            client.posts[path] += 1
            if not client.is_hasty and _is_login(path):
                _hasten(client, event)
        agent = event.fields.get("cs-user-agent", "")
        if agent in client.agents or len(client.agents) < MAX_LISTED:
            client.agents[agent] += 1
        mark = self._mark(_target(event))
        if mark is not None:
            client.attacks.setdefault(mark.what, Span(limit=2)).add(event)
            if status[:1] == "2":
                client.worked.setdefault(mark.what, Span(limit=2)).add(event)

    def _mark(self, target: str) -> Mark | None:
        """What attack a target is a sign of; targets repeat."""
        if target in self._marks:
            return self._marks[target]
        if len(self._marks) >= MAX_CLIENTS:
            self._marks.clear()
        mark = self._marks[target] = mark_of_request(target[:2_000])
        return mark

    def findings(self, place: Place) -> list[Finding]:
        """The summary, then clients that probe or attack, the worst first."""
        if not self.requests and not self.errors:
            return []
        judged = [
            finding for address, client in self._clients.items() for finding in self._judged(address, client, place)
        ]
        order = list(Severity)
        judged.sort(key=lambda finding: (order.index(finding.severity), -int(str(finding.attributes["requests"]))))
        return [self._summary(place), *judged[:MAX_LISTED]]

    def _judged(self, address: str, client: _Client, place: Place) -> list[Finding]:
        is_scanner = any((mark := self._agent(name)) and mark.what == _SCANNER for name in client.agents)
        is_probing = len(client.missing) >= PROBED_PATHS and len(client.missing) >= PROBE_SHARE * client.requests
        guessing = _guessing(client)
        if not (is_scanner or is_probing or client.attacks or guessing):
            return []
        looks = "looks for what is there" if is_probing else ""
        calls = "calls itself a scanner" if is_scanner else ""
        what = [*client.attacks, *(word for word in (looks, calls, guessing) if word)]
        techniques = dict.fromkeys(
            technique
            for span in client.attacks.values()
            for event in span.events[:1]
            if (mark := self._mark(_target(event)))
            for technique in mark.techniques
        )
        if is_probing or is_scanner:
            techniques["T1595.002"] = None
        if guessing:
            techniques["T1110"] = None
        severity = self._severity(client, is_guessing=bool(guessing), is_scan=is_probing or is_scanner)
        return [_finding(address, client, place, what=what, techniques=tuple(techniques), severity=severity)]

    def _agent(self, name: str) -> Mark | None:
        if name not in self._agents:
            if len(self._agents) >= MAX_CLIENTS:
                self._agents.clear()
            self._agents[name] = mark_of_agent(name[:500])
        return self._agents[name]

    def _severity(self, client: _Client, *, is_guessing: bool, is_scan: bool) -> Severity:
        """The worst of the attacks; one step up where they were answered."""
        order = list(Severity)
        marks = [self._mark(_target(span.events[0])) for span in client.attacks.values() if span.events]
        worst = min((order.index(mark.severity) for mark in marks if mark), default=order.index(Severity.LOW))
        if client.worked:
            worst = max(1, worst - 1)
        if is_guessing or is_scan:
            worst = min(worst, order.index(Severity.MEDIUM))
        return order[worst]

    def _summary(self, place: Place) -> Finding:
        clients = sorted(self._clients.items(), key=lambda item: -item[1].requests)[:MAX_LISTED]
        statuses, paths = self._statuses.most_common(20), self._paths.most_common(20)
        methods = self._methods.most_common(10)
        return Finding(
            kind="web_summary",
            title=f"{self.requests:,} requests of {len(self._clients):,} clients"
            if self.requests
            else f"{self.errors:,} errors, of {len(self._clients):,} clients",
            evidence=tuple(place.evidence(event) for event in self._all.events),
            attributes={
                "requests": self.requests,
                "errors": self.errors,
                "clients": len(self._clients),
                "first": self._all.first or None,
                "last": self._all.last or None,
                "statuses": [name for name, _ in statuses],
                "status_counts": [count for _, count in statuses],
                "methods": [name for name, _ in methods],
                "method_counts": [count for _, count in methods],
                "paths": [name for name, _ in paths],
                "path_counts": [count for _, count in paths],
                "client_names": [name for name, _ in clients[:20]],
                "client_requests": [client.requests for _, client in clients[:20]],
                "client_failed": [client.failed for _, client in clients[:20]],
                "client_bytes": [client.size for _, client in clients[:20]],
                "untold": self.untold,
            },
        )


def _target(event: Event) -> str:
    """What was asked for, as the table of attacks reads it; said before it where it asks a web server to be a proxy."""
    target = event.fields.get("cs-uri", "")
    if event.fields.get("cs-method") == "CONNECT":
        return f"CONNECT {target}"
    return f"via a proxy: {target}" if target[:8].lower().startswith(("http://", "https://")) else target


def _guessing(client: _Client) -> str:
    """How a client guesses passwords, with the count; "" where it does not."""
    if (denied := client.denied.total()) >= DENIED_LOGINS:
        names = ", ".join(name[:40] for name, _ in client.denied.most_common(3) if name)
        return f"guesses passwords ({denied:,} refused{f': {names}' if names else ''})"
    path, posts = client.posts.most_common(1)[0] if client.posts else ("", 0)
    is_login = _is_login(path)
    if client.is_hasty or (posts >= GUESSED_LOGINS and is_login) or client.refused >= GUESSED_LOGINS:
        return f"guesses passwords at {path[:80]} ({posts:,} times)" if is_login else "was refused often"
    return ""


def _finding(
    address: str, client: _Client, place: Place, *, what: list[str], techniques: tuple[str, ...], severity: Severity
) -> Finding:
    answered = sum(span.count for span in client.worked.values())
    seen = [event for span in (*client.worked.values(), *client.attacks.values()) for event in span.events]
    return Finding(
        kind="web_client",
        title=f"{address}: {', '.join(what)}",
        severity=severity,
        confidence=Confidence.MEDIUM,
        why=f"{answered:,} attacks were answered with 2xx: look at what came back."
        if answered
        else "None of its attacks was answered with 2xx.",
        evidence=tuple(place.evidence(event) for event in [*seen, *client.span.events][:4]),
        techniques=techniques,
        attributes=_figures(address, client)
        | {
            "what": [*what],
            "attacks": [*client.attacks],
            "attack_counts": [span.count for span in client.attacks.values()],
            "answered": answered,
        },
    )


def _figures(address: str, client: _Client) -> dict[str, Scalar | list[Scalar]]:
    return {
        "client": address,
        "requests": client.requests,
        "failed": client.failed,
        "missing": len(client.missing),
        "refused": client.refused,
        "denied": client.denied.total(),
        "accounts": [name for name, _ in client.denied.most_common(10) if name],
        "bytes": client.size,
        "first": client.span.first or None,
        "last": client.span.last or None,
        "agents": [name for name, _ in client.agents.most_common(3)],
    }


def _hasten(client: _Client, event: Event) -> None:
    """Remember when a client sent a login; several within a few seconds are a program's."""
    try:
        seconds = datetime.fromisoformat(event.time).timestamp()
    except ValueError:
        return
    client.logins = [*client.logins, seconds][-HASTY_LOGINS:]
    client.is_hasty = len(client.logins) == HASTY_LOGINS and abs(seconds - client.logins[0]) <= HASTY_SECONDS


def _is_login(path: str) -> bool:
    return any(word in path.lower() for word in ("login", "signin", "sign-in", "auth", "xmlrpc", "session", "token"))
