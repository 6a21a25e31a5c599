"""Summarise a web server's log: the busiest clients, failures, and clients that probe, attack or guess passwords.

A client probes if it requests many different missing paths, sends attacks (``knowledge/network.toml``), or has a
scanner's user agent. An attack that got a 2xx response may have worked.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import msgspec

from svc.assistant.findings import Confidence, Facts, Finding, Severity
from svc.assistant.knowledge.network import Mark, mark_of_agent, mark_of_request
from svc.assistant.log_readers.web_errors import WebErrorKind, web_error
from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.evidence import Place, Span
from svc.assistant.skills.events.findings import (
    AttackCount,
    ClientTraffic,
    MethodCount,
    PathCount,
    StatusCount,
    WebClient,
    WebSummary,
)
from svc.assistant.skills.events.matches.rule_hits import REFUSED

MAX_CLIENTS = 50_000
MAX_PATHS = 2_000  # different ones kept per client
MAX_LISTED = 100
PROBED_PATHS = 20  # different missing ones: more than from a page with broken links
PROBE_SHARE = 0.3  # of all requests of that client
GUESSED_LOGINS = 20  # POSTs to one path, or 401 responses: more than from a person who mistypes
DENIED_LOGINS = 5  # wrong names or passwords in the error log
HASTY_LOGINS = 5  # POSTs to a login path within HASTY_SECONDS: faster than a person types
HASTY_SECONDS = 10.0
_SCANNER = "a scanner"


class _ClientCounts(msgspec.Struct):
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
    is_unclear: bool = False
    """Whether an attack was neither refused nor answered: a redirection, a server error."""
    agents: Counter[str] = msgspec.field(default_factory=Counter)
    span: Span = msgspec.field(default_factory=lambda: Span(limit=1))


class WebActivity:
    """Counts the requests and errors of a web server's log; ignores other logs."""

    requests: int
    errors: int
    left_out: int

    def __init__(self) -> None:
        self.requests = self.errors = self.left_out = 0
        self._clients: dict[str, _ClientCounts] = {}
        self._statuses: Counter[str] = Counter()
        self._methods: Counter[str] = Counter()
        self._paths: Counter[str] = Counter()
        self._marks: dict[str, Mark | None] = {}
        self._agents: dict[str, Mark | None] = {}
        self._all = Span(limit=1)

    def add(self, event: Event) -> None:
        """Count a request or an error; other events are ignored."""
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

    def _client(self, address: str) -> _ClientCounts | None:
        client = self._clients.get(address)
        if client is None:
            if len(self._clients) >= MAX_CLIENTS:
                self.left_out += 1
                return None
            client = self._clients[address] = _ClientCounts()
        return client

    def _count_error(self, event: Event) -> None:
        """Count a line of an error log: rejected logins, missing paths, refused requests and attacks."""
        self.errors += 1
        self._all.add(event)
        client = self._client(event.fields["c-ip"]) if event.fields.get("c-ip") else None
        problem = web_error(event.fields.get("message", ""))
        if client is None or problem is None:
            return
        client.requests += 1
        client.failed += 1
        client.span.add(event)
        match problem.kind:
            case WebErrorKind.LOGIN:
                client.denied[problem.account if len(client.denied) < MAX_LISTED else ""] += 1
            case WebErrorKind.MISSING if len(client.missing) < MAX_PATHS:
                client.missing.add(problem.path)
            case _:
                client.refused += 1
        if (mark := self._mark(_target(event) or problem.path)) is not None:
            client.attacks.setdefault(mark.what, Span(limit=2)).add(event)

    def _count(self, client: _ClientCounts, event: Event, status: str, method: str, path: str) -> None:
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
            client.is_unclear |= status not in REFUSED
            if status[:1] == "2":
                client.worked.setdefault(mark.what, Span(limit=2)).add(event)

    def _mark(self, target: str) -> Mark | None:
        """Return the attack that a request target shows; remembered, because targets repeat."""
        if target in self._marks:
            return self._marks[target]
        if len(self._marks) >= MAX_CLIENTS:
            self._marks.clear()
        mark = self._marks[target] = mark_of_request(target[:2_000])
        return mark

    def findings(self, place: Place) -> list[Finding[Facts]]:
        """Return the summary, then the clients that probe or attack, the most severe first."""
        if not self.requests and not self.errors:
            return []
        assessed = [
            finding for address, client in self._clients.items() for finding in self._assess(address, client, place)
        ]
        order = list(Severity)
        assessed.sort(key=lambda finding: (order.index(finding.severity), -finding.facts.requests))
        return [self._summary(place), *assessed]

    def _assess(self, address: str, client: _ClientCounts, place: Place) -> list[Finding[WebClient]]:
        is_scanner = any((mark := self._agent(name)) and mark.what == _SCANNER for name in client.agents)
        is_probing = len(client.missing) >= PROBED_PATHS and len(client.missing) >= PROBE_SHARE * client.requests
        guessing = _guessing(client)
        if not (is_scanner or is_probing or client.attacks or guessing):
            return []
        probing = "probes for paths" if is_probing else ""
        scanning = "has a scanner's user agent" if is_scanner else ""
        what = [*client.attacks, *(word for word in (probing, scanning, guessing) if word)]
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

    def _severity(self, client: _ClientCounts, *, is_guessing: bool, is_scan: bool) -> Severity:
        """Return the severity of the worst attack: higher if one was answered, medium at most if all were refused."""
        order = list(Severity)
        marks = [self._mark(_target(span.events[0])) for span in client.attacks.values() if span.events]
        worst = min((order.index(mark.severity) for mark in marks if mark), default=order.index(Severity.LOW))
        if client.worked:
            worst = max(1, worst - 1)
        elif not client.is_unclear:
            worst = max(worst, order.index(Severity.MEDIUM))
        if is_guessing or is_scan:
            worst = min(worst, order.index(Severity.MEDIUM))
        return order[worst]

    def _summary(self, place: Place) -> Finding[WebSummary]:
        clients = sorted(self._clients.items(), key=lambda item: -item[1].requests)[:20]
        counted = f"{self.requests:,} requests" if self.requests else f"{self.errors:,} errors"
        return Finding(
            title=f"{counted} from {len(self._clients):,} clients",
            evidence=tuple(place.evidence(event) for event in self._all.events),
            facts=WebSummary(
                requests=self.requests,
                errors=self.errors,
                clients=len(self._clients),
                first=self._all.first or None,
                last=self._all.last or None,
                by_status=[StatusCount(*item) for item in self._statuses.most_common(20)],
                by_method=[MethodCount(*item) for item in self._methods.most_common(10)],
                by_path=[PathCount(*item) for item in self._paths.most_common(20)],
                by_client=[
                    ClientTraffic(address, client.requests, client.failed, client.size) for address, client in clients
                ],
                not_listed=self.left_out,
            ),
        )


def _target(event: Event) -> str:
    """Return the request target for the table of attacks, marked if the client uses the web server as a proxy."""
    target = event.fields.get("cs-uri", "")
    if event.fields.get("cs-method") == "CONNECT":
        return f"CONNECT {target}"
    return f"via a proxy: {target}" if target[:8].lower().startswith(("http://", "https://")) else target


def _guessing(client: _ClientCounts) -> str:
    """Describe how a client guesses passwords, with the count; "" if it does not."""
    if (denied := client.denied.total()) >= DENIED_LOGINS:
        names = ", ".join(name[:40] for name, _ in client.denied.most_common(3) if name)
        return f"guesses passwords ({denied:,} rejected{f': {names}' if names else ''})"
    path, posts = client.posts.most_common(1)[0] if client.posts else ("", 0)
    is_login = _is_login(path)
    if client.is_hasty or (posts >= GUESSED_LOGINS and is_login) or client.refused >= GUESSED_LOGINS:
        return f"guesses passwords at {path[:80]} ({posts:,} times)" if is_login else "was refused many times"
    return ""


def _finding(
    address: str,
    client: _ClientCounts,
    place: Place,
    *,
    what: list[str],
    techniques: tuple[str, ...],
    severity: Severity,
) -> Finding[WebClient]:
    answered = sum(span.count for span in client.worked.values())
    attacks = [event for span in (*client.worked.values(), *client.attacks.values()) for event in span.events]
    return Finding(
        title=f"{address}: {', '.join(what)}",
        severity=severity,
        confidence=Confidence.MEDIUM,
        why=f"{answered:,} attacks got a 2xx response: check what was returned."
        if answered
        else "No attack got a 2xx response.",
        evidence=tuple(place.evidence(event) for event in [*attacks, *client.span.events][:4]),
        techniques=techniques,
        facts=WebClient(
            client=address,
            what=what,
            by_attack=[AttackCount(attack, span.count) for attack, span in client.attacks.items()],
            answered=answered,
            requests=client.requests,
            failed=client.failed,
            missing=len(client.missing),
            refused=client.refused,
            denied=client.denied.total(),
            accounts=[name for name, _ in client.denied.most_common(10) if name],
            bytes=client.size,
            first=client.span.first or None,
            last=client.span.last or None,
            agents=[name for name, _ in client.agents.most_common(3)],
        ),
    )


def _hasten(client: _ClientCounts, event: Event) -> None:
    """Remember when a client sent a login; several within a few seconds come from a program."""
    try:
        seconds = datetime.fromisoformat(event.time).timestamp()
    except ValueError:
        return
    client.logins = [*client.logins, seconds][-HASTY_LOGINS:]
    client.is_hasty = len(client.logins) == HASTY_LOGINS and abs(seconds - client.logins[0]) <= HASTY_SECONDS


def _is_login(path: str) -> bool:
    return any(word in path.lower() for word in ("login", "signin", "sign-in", "auth", "xmlrpc", "session", "token"))
