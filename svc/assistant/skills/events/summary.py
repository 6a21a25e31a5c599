"""What is in an event log: counts by log and id with our words, hosts, accounts, first and last time. Pure.

Finding kind: see ``events``.
"""

from __future__ import annotations

from collections import Counter

from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.findings import Scalar
from svc.assistant.log_readers.windows import windows_events, words_for
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.evidence import Place

MAX_KINDS = 100  # of events in the summary
MAX_NAMES = 50  # hosts and accounts in it
MAX_TRACKED = 20_000  # different accounts or hosts; more are a flood and say no more
_ACCOUNT_FIELDS = ("TargetUserName", "SubjectUserName", "User", "user", "userIdentity.arn")
_NOBODY = frozenset({"-", "", "system", "local service", "network service", "anonymous logon", "nt authority\\system"})


class Overview:
    """Counts of everything that was read."""

    def __init__(self) -> None:
        self.count = 0
        self.first = self.last = ""
        self.kinds: Counter[tuple[str, str, int | None]] = Counter()
        self.hosts: Counter[str] = Counter()
        self.accounts: Counter[str] = Counter()

    def add(self, event: Event) -> None:
        """Count it."""
        self.count += 1
        time = event.time
        if time:
            if not self.first or time < self.first:
                self.first = time
            if time > self.last:
                self.last = time
        log = event.fields.get("Channel") or event.service if event.product == "windows" else event.service
        self.kinds[log or event.category or event.product, event.service, event.event_id] += 1
        if event.host and (event.host in self.hosts or len(self.hosts) < MAX_TRACKED):
            self.hosts[event.host] += 1
        for field in _ACCOUNT_FIELDS:
            name = event.fields.get(field)
            if name and not name.endswith("$") and name.lower() not in _NOBODY:
                short = name.rpartition("\\")[2].lower()
                if short in self.accounts or len(self.accounts) < MAX_TRACKED:
                    self.accounts[short] += 1

    def finding(self, place: Place, *, form: str, rules: int, window: tuple[str, str]) -> Finding:
        """The one ``events_summary``."""
        kinds = self.kinds.most_common()
        hosts, accounts = self.hosts.most_common(MAX_NAMES), self.accounts.most_common(MAX_NAMES)
        table = windows_events()
        attributes: dict[str, Scalar | list[Scalar]] = {
            "events": self.count,
            "form": form,
            "first": self.first or None,
            "last": self.last or None,
            "kinds": len(kinds),
            "logs": [log for (log, _, _), _ in kinds[:MAX_KINDS]],
            "ids": [event_id for (_, _, event_id), _ in kinds[:MAX_KINDS]],
            "counts": [count for _, count in kinds[:MAX_KINDS]],
            "words": [words_for(service, event_id) for (_, service, event_id), _ in kinds[:MAX_KINDS]],
            "hosts": [host for host, _ in hosts],
            "host_counts": [count for _, count in hosts],
            "accounts": [account for account, _ in accounts],
            "account_counts": [count for _, count in accounts],
            "rules": rules,
            "after": window[0] or None,
            "before": window[1] or None,
            "table_version": table.version,
            "table_date": table.date.isoformat(),
        }
        return Finding(kind="events_summary", title=f"{self.count:,} events in {place.source}", attributes=attributes)
