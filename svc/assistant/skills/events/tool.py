"""What happened on a host: an event log through the rules, who logged on, what started what, what is missing. Pure.

Reads Windows events, Linux's audit log and syslog, web servers' logs and CloudTrail in the forms that ``_READERS``
lists, decided by content. ``after`` and ``before`` (a time of
day, ``03:00:00``, in UTC as the events have it) keep a part of each day.

Finding kinds and their attributes (times are ISO 8601 in UTC, None where there is none):

``events_summary``: events, form ("EVTX", "JSON"), first, last, kinds (int), logs, ids, counts, words (parallel, most
first, at most 100), hosts, host_counts, accounts, account_counts (parallel, at most 50), rules (how many ran), after,
before, table_version, table_date.

``event_tactics``: named (tactics in the verdict), tactics, scores (parallel), row_tactics, row_techniques, row_whats,
row_counts, row_firsts, row_severities, row_numbers, row_excerpts (parallel, strongest first), attack_version.

``rule_hit``: rule (id), level, author, license, tactics, false_positives, count, first, last, hosts, event_ids.

``log_gap``: gap ("cleared", "records missing", "silence", "clock went back"), log, host, from, to; account for a
clearing; missing, places, is_filtered for records; seconds for the others.

``logon_source``, ``logon_account``: failures, first, last, logon_types, reasons, reason_counts; of a source: source,
pattern, per_minute, accounts, account_names, account_failures, success_accounts; of an account: account, sources,
source_names, source_failures, is_brute_forced, lockouts, success_sources. ``logon_success``: source, account, time,
record, logon_type, failures_before, account_failures_before, streak. ``logon``: account, logon_type, type_words,
source, host, count, first, last, is_privileged. ``weak_tickets``: account, source, services, count, first, last.

``remote_access``: way, weight (1 to 4), account, source, host, detail, count, first, last.

``process_tree``: host, processes, flagged, depths, pids, images, commands, users, times, records, severities, rules
(parallel, a node each, parents first). ``rare``: what, value, count, total, first, host.

``web_summary``: requests, clients, first, last, statuses, methods, paths with their counts (``status_counts`` …),
client_names, client_requests, client_failed, client_bytes (parallel), untold. ``web_client``: client, what, attacks,
attack_counts, answered, requests, failed, missing, refused, bytes, first, last, agents.

``unix_summary``: events, programs, program_counts, command_users, commands, command_counts, rare_commands, sudo_users,
sudo_targets, sudo_commands, sudo_counts, sudo_lines (parallel), untold. ``unix_deed``: what, whom, host, count, first,
last.

``cloud_call``: identity, call, what, is_refused, count, addresses, first, last. ``cloud_login``: identity, result, mfa,
count, first, last. ``cloud_refused``: identity, count, calls, addresses. ``cloud_identity``: identity, count, calls,
addresses, errors, first, last.

``timeline``: times, severities, hosts, whats, counts (within a minute, of those that stand as evidence), numbers,
excerpts (parallel, in time), left_out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Gap, Progress, ToolEvent
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.log_readers import auditd as event_audit
from svc.assistant.log_readers import cloudtrail as event_cloud
from svc.assistant.log_readers import evtx as event_evtx
from svc.assistant.log_readers import syslog as event_syslog
from svc.assistant.log_readers import web_server as event_web
from svc.assistant.log_readers import windows_csv as event_csv
from svc.assistant.log_readers import windows_json as event_json
from svc.assistant.log_readers import windows_xml as event_xml
from svc.assistant.log_readers.timestamps import second_of_day
from svc.assistant.sigma.engine import RuleEngine
from svc.assistant.sigma.event import Event
from svc.assistant.sigma.tables import load_rules
from svc.assistant.skills.events.cloud_activity import CloudActivity
from svc.assistant.skills.events.evidence import Place
from svc.assistant.skills.events.log_gaps import Continuity
from svc.assistant.skills.events.logons import Logons
from svc.assistant.skills.events.process_tree import ProcessTree
from svc.assistant.skills.events.rare_values import RareValues
from svc.assistant.skills.events.remote_access import RemoteAccess
from svc.assistant.skills.events.rule_hits import RuleHits
from svc.assistant.skills.events.summary import Overview
from svc.assistant.skills.events.tactics import NotableEvents, signs, tactics_finding, timeline
from svc.assistant.skills.events.unix_activity import UnixActivity
from svc.assistant.skills.events.web_activity import WebActivity

BATCH = 2_000  # events at once through the rules
FIRST_BATCH = 200  # the first batch is small: a sign of life
PROGRESS_EVERY = 10_000  # events
MAX_EVENTS = 1_000_000  # at 10,000 a second within the worker's 120 s of processor time
HEAD_BYTES = 65_536


class Reader(msgspec.Struct, frozen=True):
    """One form of log: how its first bytes look and who reads it."""

    form: str
    fits: Callable[[bytes], bool]
    read: Callable[[BinaryIO], Iterator[Event | Gap]]
    has_records: bool = False


_JSON_EVENT = re.compile(
    rb'"(?:EventID|EventId|event_id|winlog|winlog\.event_id|EventRecordID|event_data|SourceName|ProviderName)"\s*:'
)


_JSON_START = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t\r]*[\[{]", re.MULTILINE)  # a question may stand before it


def _is_json_event(head: bytes) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", errors="replace").encode(errors="replace")
    return _JSON_START.search(head) is not None and _JSON_EVENT.search(head) is not None


_READERS = (
    Reader("EVTX", lambda head: head.startswith(b"ElfFile\x00"), event_evtx.read, has_records=True),
    Reader("XML", event_xml.is_event_xml, event_xml.read, has_records=True),
    Reader("CloudTrail", event_cloud.is_cloudtrail, event_cloud.read, has_records=True),
    Reader("journal", event_syslog.is_journal, event_syslog.read),
    Reader("JSON", _is_json_event, event_json.read),
    Reader("audit log", event_audit.is_audit_log, event_audit.read),
    Reader("web log", event_web.is_web_log, event_web.read),
    Reader("CSV", event_csv.is_event_csv, event_csv.read),
    Reader("syslog", event_syslog.is_syslog, event_syslog.read),
)
"""In the order in which they are asked; the first that fits reads."""


def investigate(feed: BinaryIO, /, *, source: str, after: str = "", before: str = "") -> Iterator[ToolEvent]:
    """Everything that the log tells; one Gap where it has a form that none of the readers knows."""
    yield Progress(text=f"reading {source}")
    reader = _reader(feed)
    if reader is None:
        yield _unknown_form()
        return
    log = _Log(Place(source, has_records=reader.has_records))
    yield from log.rule_gaps()
    window = _Window(after, before)
    yield from _read(reader, feed, log, window)
    yield from log.findings(form=reader.form, window=(after, before))
    if window.left_out:
        yield Gap(text=f"{window.left_out:,} events outside of the time of day asked for were not looked at")


def read_events(feed: BinaryIO) -> Iterator[Event | Gap]:
    """The events alone, for whoever tries rules on a log; one Gap where no reader knows its form."""
    reader = _reader(feed)
    if reader is None:
        yield _unknown_form()
        return
    yield from reader.read(feed)


def _reader(feed: BinaryIO) -> Reader | None:
    head = feed.read(HEAD_BYTES)
    feed.seek(0)
    return next((one for one in _READERS if one.fits(head)), None)


def _unknown_form() -> Gap:
    forms = ", ".join(one.form for one in _READERS)
    return Gap(text=f"no event log that can be read here ({forms}); nothing in it was looked at")


def _read(reader: Reader, feed: BinaryIO, log: _Log, window: _Window) -> Iterator[ToolEvent]:
    batch: list[Event] = []
    told, size = 0, FIRST_BATCH
    for item in reader.read(feed):
        if isinstance(item, Gap):
            yield item
            continue
        if not window.has(item):
            continue
        batch.append(item)
        if len(batch) < size:
            continue
        log.add(batch)
        batch, size = [], BATCH
        if log.overview.count >= told:
            yield Progress(text=log.progress())
            told = log.overview.count + PROGRESS_EVERY
        if log.overview.count >= MAX_EVENTS:
            yield Gap(text=f"only the first {log.overview.count:,} events were looked at")
            break
    log.add(batch)
    yield Progress(text=log.progress())


_CLOCK = re.compile(r"\d\d:\d\d:\d\d")


class _Window:
    """The part of each day that was asked for."""

    def __init__(self, after: str, before: str) -> None:
        self._start, self._stop = second_of_day(after), second_of_day(before)
        self.left_out = 0

    def has(self, event: Event) -> bool:
        """Whether the event is in it; everything is where nothing was asked."""
        start, stop = self._start, self._stop
        if start is None and stop is None:
            return True
        clock = _CLOCK.search(event.time)
        of_day = second_of_day(clock[0]) if clock is not None else None
        if of_day is None:
            is_in = False
        elif start is not None and stop is not None and start > stop:  # over midnight
            is_in = of_day >= start or of_day < stop
        else:
            is_in = (start is None or of_day >= start) and (stop is None or of_day < stop)
        self.left_out += not is_in
        return is_in


class _Log:
    """Everything that is counted while the log goes by."""

    def __init__(self, place: Place) -> None:
        loaded = load_rules()
        self.overview = Overview()
        self._place = place
        self._rule_count = len(loaded.rules)
        self._unreadable = loaded.unreadable
        self._engine = RuleEngine(loaded.rules)
        self._hits = RuleHits()
        self._continuity = Continuity(place)
        self._logons = Logons()
        self._remote = RemoteAccess()
        self._processes = ProcessTree()
        self._rare = RareValues()
        self._notable = NotableEvents()
        self._activities = (WebActivity(), UnixActivity(), CloudActivity())
        self._listeners = (
            self.overview, self._continuity, self._logons, self._remote, self._processes, self._rare, self._notable,
            *self._activities,
        )  # fmt: skip

    def rule_gaps(self) -> Iterator[Gap]:
        """Rules of the user's that do not run: sets that cannot be read, rules that are damaged."""
        for one in self._unreadable:
            yield Gap(text=f"the set of rules {one.name} cannot be read and did not run: {one.reason}")
        for rule in self._engine.unusable:
            yield Gap(text=f"the rule {rule.title} is damaged and did not run")

    def add(self, batch: Sequence[Event]) -> None:
        """Count these events and run the rules over them."""
        for listener in self._listeners:
            for event in batch:
                listener.add(event)
        for hit in self._engine.feed(batch):
            self._hits.add(hit)
            self._processes.mark(hit.event, hit.rule)

    def progress(self) -> str:
        """What is known so far, with figures."""
        return (
            f"read {self.overview.count:,} events: {len(self._hits):,} of {self._rule_count:,} rules matched, "
            f"{self._logons.failures:,} failed logons, {self._processes.count:,} processes"
        )

    def findings(self, *, form: str, window: tuple[str, str]) -> Iterator[Finding]:
        """The summary, the tactics, then all that they rest on."""
        for hit in self._engine.finish():
            self._hits.add(hit)
        self._logons.finish()
        yield self.overview.finding(self._place, form=form, rules=self._rule_count, window=window)
        found = [
            *self._hits.findings(self._place),
            *self._logons.findings(self._place),
            *self._continuity.findings(),
            *self._remote.findings(self._place),
            *(finding for activity in self._activities for finding in activity.findings(self._place)),
        ]
        uncovered = self._notable.uncovered(self._hits.covered)
        begins_cleared = self._continuity.is_cleared_first
        pointing = signs(found, uncovered, self._place, begins_cleared=begins_cleared)
        moments = [(event, rule.severity, rule.title) for event, rule in self._hits.events]
        for whole in (tactics_finding(pointing, self._place), timeline(moments, found, self._place)):
            if whole is not None:
                yield whole
        yield from found
        yield from self._processes.findings(self._place)
        yield from self._rare.findings(self._place)
