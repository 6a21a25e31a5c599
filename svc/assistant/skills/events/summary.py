"""Count the events of a log by log and ID, host and account, with the first and last time."""

from __future__ import annotations

from collections import Counter

from svc.assistant.findings import Finding
from svc.assistant.log_readers.lines import ReadAs
from svc.assistant.log_readers.windows import windows_events, words_for
from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.evidence import Place
from svc.assistant.skills.events.findings import AccountEvents, EventsSummary, HostEvents, KindCount, SourceEvents

MAX_KINDS = 100  # of events in the summary
MAX_NAMES = 50  # hosts and accounts in it
MAX_ACTIONS = 1_000  # different actions of a log; texts of commands are more, and are not told apart then
MAX_ACTION_CHARS = 80
MAX_TRACKED = 20_000  # different accounts or hosts; more are a flood and add nothing
_ACCOUNT_FIELDS = ("TargetUserName", "SubjectUserName", "User", "user", "userIdentity.arn")
_NOBODY = frozenset({"-", "", "system", "local service", "network service", "anonymous logon", "nt authority\\system"})


class EventCounts:
    """Counts of all events that were read."""

    def __init__(self) -> None:
        self.count: int = 0
        self.first: str = ""
        self.last: str = ""
        self.kinds: Counter[tuple[str, str, int | None, str]] = Counter()
        self.log_sources: Counter[tuple[str, str, str]] = Counter()
        self.hosts: Counter[str] = Counter()
        self.accounts: Counter[str] = Counter()

    def add(self, event: Event) -> None:
        """Count an event."""
        self.count += 1
        time = event.time
        if time:
            if not self.first or time < self.first:
                self.first = time
            if time > self.last:
                self.last = time
        self.log_sources[event.product, event.service, event.category] += 1
        self.kinds[self._kind(event)] += 1
        if event.host and (event.host in self.hosts or len(self.hosts) < MAX_TRACKED):
            self.hosts[event.host] += 1
        for field in _ACCOUNT_FIELDS:
            name = event.fields.get(field)
            if name and not name.endswith("$") and name.lower() not in _NOBODY:
                short = name.rpartition("\\")[2].lower()
                if short in self.accounts or len(self.accounts) < MAX_TRACKED:
                    self.accounts[short] += 1

    def _kind(self, event: Event) -> tuple[str, str, int | None, str]:
        """Return an event's log, service, ID, and its action if it has no ID: the actions of an audit log are kinds."""
        service = event.service
        if event.product == "windows":
            return event.fields.get("Channel") or service or event.category, service, event.event_id, ""
        log = service or event.category or event.product
        action = "" if event.category or event.event_id is not None else event.fields.get("Action", "")
        if not action:
            return log, service, event.event_id, ""
        product = event.product
        kind = (
            log if not product or product in service else f"{product} {log}",
            service,
            None,
            action.partition("\n")[0][:MAX_ACTION_CHARS],
        )
        return kind if kind in self.kinds or len(self.kinds) < MAX_ACTIONS else (*kind[:3], "")

    def finding(
        self, place: Place, *, read_as: ReadAs, rules: tuple[int, int], window: tuple[str, str, str], outside: int
    ) -> Finding[EventsSummary]:
        """Return the summary of the log.

        Args:
            place: The log.
            read_as: What the log was read as.
            rules: How many rules ran, and how many of them could apply.
            window: Start and end of the time of day that was asked for, or ""; and all of it in words.
            outside: How many events are outside of that time.
        """
        kinds = self.kinds.most_common()
        table = windows_events()
        return Finding(
            title=f"{self.count:,} events in {place.source}",
            facts=EventsSummary(
                events=self.count,
                form=read_as.form,
                columns=list(read_as.columns),
                unused_columns=list(read_as.unused[:MAX_NAMES]),
                first=self.first or None,
                last=self.last or None,
                kinds=len(kinds),
                by_kind=[
                    KindCount(log, event_id, action or words_for(service, event_id), count)
                    for (log, service, event_id, action), count in kinds[:MAX_KINDS]
                ],
                by_host=[HostEvents(*item) for item in self.hosts.most_common(MAX_NAMES)],
                by_account=[AccountEvents(*item) for item in self.accounts.most_common(MAX_NAMES)],
                by_log_source=[
                    SourceEvents(*source, count) for source, count in self.log_sources.most_common(MAX_KINDS)
                ],
                rules=rules[0],
                applicable_rules=rules[1],
                after=window[0] or None,
                before=window[1] or None,
                window=window[2],
                outside=outside,
                table_version=table.version,
                table_date=table.date.isoformat(),
            ),
        )
