"""Analyse an event log: detection rules, logons, remote access, process trees, log gaps and rare values.

Reads Windows events, Linux's audit log and syslog, web servers' logs, CloudTrail and tables of events (other products'
exports, by their columns) in the formats of ``readers.py``, which are recognised by content. ``after`` and ``before``
(a time of day, ``03:00:00``, in UTC or the log's own zone as its events are) keep a part of each day.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO, cast

import msgspec

from svc.assistant.findings import Coverage, Facts, Finding, Gap, NamesSeen, Progress, ToolEvent
from svc.assistant.log_readers.lines import ReadAs, ReadItem, Unread
from svc.assistant.log_readers.parts import part_of
from svc.assistant.log_readers.tables import reader as tables
from svc.assistant.log_readers.time_window import WITHOUT_DAY, TimeWindow
from svc.assistant.sigma.engine import EngineSoFar, Hit, RuleEngine
from svc.assistant.sigma.event import Event
from svc.assistant.sigma.tables import load_rules
from svc.assistant.skills.asked.chosen import ChosenCollector, conditions_in
from svc.assistant.skills.asked.evidence import Place
from svc.assistant.skills.asked.following import FollowingCollector, following_in
from svc.assistant.skills.asked.plain_tables import counted_rows
from svc.assistant.skills.asked.records import AskedCollector, RecordQuestion
from svc.assistant.skills.events.beaconing import BeaconSeries
from svc.assistant.skills.events.cloud_activity import CloudActivity
from svc.assistant.skills.events.coverage import Coverages
from svc.assistant.skills.events.log_gaps import Continuity
from svc.assistant.skills.events.logons import LogonCounts
from svc.assistant.skills.events.matches.rule_hits import RuleHits, not_correlated
from svc.assistant.skills.events.names_seen import NameCollector
from svc.assistant.skills.events.network_activity import NetworkActivity
from svc.assistant.skills.events.process_tree import ProcessTreeBuilder
from svc.assistant.skills.events.product_alerts import ProductAlerts
from svc.assistant.skills.events.proxy_activity import ProxyActivity
from svc.assistant.skills.events.rare_values import RareValues
from svc.assistant.skills.events.readers import HEAD_BYTES, READERS, LogReader, reader_of
from svc.assistant.skills.events.remote_access import RemoteAccessCollector
from svc.assistant.skills.events.summary import EventCounts
from svc.assistant.skills.events.tactics import NotableEvents, scored_indicators, tactics_finding, timeline
from svc.assistant.skills.events.unix_activity import UnixActivity
from svc.assistant.skills.events.unusual_logins import UnusualLogins
from svc.assistant.skills.events.web_activity import WebActivity

BATCH = 2_000  # events that run through the rules at once
FIRST_BATCH = 200  # small, so that the first progress comes soon
PROGRESS_EVERY = 10_000  # events
MAX_WHOLE_EVENTS = 1_000_000  # of a form that cannot be read up to any place; the worker's time limits the others
_WHOLE_FORMS = frozenset({"Parquet"})


def inspect(
    content: BinaryIO,
    /,
    *,
    source: str,
    after: str = "",
    before: str = "",
    days: str = "",
    outside: str = "",
    records: str = "",
    conditions: str = "",
    following: str = "",
) -> Iterator[ToolEvent]:
    """Yield findings about an event log, or one Gap if its format is not supported.

    Args:
        content: The log.
        source: The log's name.
        after: Start of a time of day (``03:00``); earlier events of each day are not counted.
        before: End of a time of day.
        days: Days of the week as digits, 0 for Monday; events of other days are not counted.
        outside: ``yes`` to count all other events instead.
        records: Questions about the records, as JSON (``RecordQuestion``).
        conditions: Questions whose conditions records must fulfil exactly, as JSON (``RecordConditions``).
        following: Questions for what came after a login, as JSON (``FollowingQuestion``).
    """
    part = part_of(content)
    log = part.begin()
    if log is None:
        yield Progress(text=f"reading {source}")
    found = reader_of(content)
    collectors = _collectors(records, conditions, following, source)
    if found is None:
        yield from counted_rows(content, collectors, Place(source, has_records=False)) or _not_examined(content)
        return
    reader, items = found
    if not isinstance(log, _LogAnalysis):
        window = _Asked(TimeWindow(after, before, days, outside))
        log = _LogAnalysis(Place(source, has_records=reader.has_records), reader, window, collectors)
        yield from log.rule_gaps()
    yield from _read(content, items, log)
    if part.is_paused:
        part.state = log
        return
    log.add_waiting()
    yield Progress(text=log.progress())
    window = log.window
    yield from log.findings(window=(after, before, window.words))
    yield from log.correlation_gaps()
    if window.lacks_day:
        yield Gap(text=WITHOUT_DAY, in_headline=True)
    if window.left_out:
        yield Gap(text=f"{window.left_out:,} events outside the requested time were not examined")
    yield log.names_seen()
    yield log.coverage(window.left_out)


_Collectors = Sequence[AskedCollector | ChosenCollector | FollowingCollector]


def _collectors(records: str, conditions: str, following: str, source: str) -> _Collectors:
    """What collects the records that the question is about."""
    asked = msgspec.json.decode(records, type=list[RecordQuestion]) if records else []
    return [
        *map(AskedCollector, asked),
        *(ChosenCollector(clause, one, source) for clause, one in conditions_in(conditions)),
        *map(FollowingCollector, following_in(following)),
    ]


def read_events(content: BinaryIO) -> Iterator[Event | Gap]:
    """Yield the events alone, to try rules on a log; one Gap if its format is not supported."""
    found = reader_of(content)
    if found is None:
        yield _unsupported(content)
        return
    for item in found[1]:
        if isinstance(item, Event | Gap):
            yield item


def _unsupported(content: BinaryIO) -> Gap:
    head = content.read(HEAD_BYTES)
    content.seek(0)
    if (reason := tables.why_unread(head)) is not None:
        return Gap(text=f"{reason}; not examined")
    forms = ", ".join(one.form for one in READERS)
    return Gap(text=f"not a supported event log ({forms}); not examined")


def _not_examined(content: BinaryIO) -> Iterator[ToolEvent]:
    gap = _unsupported(content)
    head = content.read(HEAD_BYTES)
    content.seek(0)
    yield gap
    yield Coverage(
        read_as=tables.name_of(head) or "unknown format",
        unit="line",
        understood=0,
        total=_count_lines(content),
        looked_for="events",
    )


def _count_lines(content: BinaryIO) -> int:
    """Count the lines from here to the end."""
    lines, last = 0, b"\n"
    while piece := content.read(1024 * 1024):
        lines += piece.count(b"\n")
        last = piece[-1:]
    return lines + (last != b"\n")


_DAMAGED_FORM = "EVTX"
"""Its reader yields a gap for nothing but damage."""


def _read(content: BinaryIO, items: Iterator[ReadItem], log: _LogAnalysis) -> Iterator[ToolEvent]:
    window, waiting, is_whole = log.window, log.waiting, log.window.is_whole
    size = BATCH if log.counts.count else FIRST_BATCH
    next_progress = -(-log.counts.count // PROGRESS_EVERY) * PROGRESS_EVERY
    for item in items:
        if not isinstance(item, Event):
            if isinstance(item, Gap):
                log.is_cut |= log.reader.form == _DAMAGED_FORM  # what was not found may be in what is damaged
                yield item
            else:
                log.note(item)
            continue
        if not (is_whole or window.has(item)):
            continue
        waiting.append(item)
        if len(waiting) < size:
            continue
        log.add_waiting()
        size = BATCH
        if log.counts.count >= next_progress:
            yield Progress(text=log.progress())
            next_progress = log.counts.count + PROGRESS_EVERY
        if log.reader.form in _WHOLE_FORMS and log.counts.count >= MAX_WHOLE_EVENTS:
            yield Gap(text=f"only the first {log.counts.count:,} events were examined", in_headline=True)
            log.is_cut = True
            log.note(Unread(max(1, _count_lines(content)) if not log.reader.has_records else 1))
            break


class _Asked:
    """The part of the time that was asked for, and how many events are outside."""

    def __init__(self, window: TimeWindow) -> None:
        self._window = window
        self.left_out = 0

    @property
    def is_whole(self) -> bool:
        """Whether all of the time was asked for."""
        return self._window.is_whole

    @property
    def words(self) -> str:
        """The part of the time in words."""
        return self._window.words

    @property
    def lacks_day(self) -> bool:
        """Whether the day of the week of an event is not known."""
        return self._window.lacks_day

    def has(self, event: Event) -> bool:
        """Whether the event is in it; always true if no time was asked for."""
        is_in = self._window.has(event.time)
        self.left_out += not is_in
        return is_in


class _LogAnalysis:
    """Everything that is counted while a log is read; pickled, it goes on in another process with the next part."""

    def __init__(self, place: Place, reader: LogReader, window: _Asked, collectors: _Collectors) -> None:
        loaded = load_rules()
        self.reader = reader
        self.window = window
        self.waiting: list[Event] = []
        """Events that the rules will see together with the next ones."""
        self.counts = EventCounts()
        self._read_as = ReadAs(reader.form)
        self._unread = 0
        self.is_cut = False
        self._coverages = Coverages()
        self._place = place
        self._rule_count = sum(not rule.is_part for rule in loaded.rules)
        self._unreadable = loaded.unreadable
        self._engine = RuleEngine(loaded.rules)
        self._hits = RuleHits()
        self._continuity = Continuity(place)
        self._logons = LogonCounts()
        self._remote = RemoteAccessCollector()
        self._processes = ProcessTreeBuilder()
        self._rare = RareValues()
        self._notable = NotableEvents()
        self._names = NameCollector()
        self._activities = (
            WebActivity(), UnixActivity(), CloudActivity(), NetworkActivity(), ProxyActivity(), UnusualLogins(),
            ProductAlerts(), BeaconSeries(),
        )  # fmt: skip
        self._asked = tuple(collectors)
        self._listeners = (
            self.counts, self._coverages, self._continuity, self._logons, self._remote, self._processes, self._rare,
            self._notable, self._names, *self._activities,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_engine": self._engine.so_far()}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        so_far, self._engine = self._engine, RuleEngine(load_rules().rules)
        self._engine.go_on(cast("EngineSoFar", so_far))

    def rule_gaps(self) -> Iterator[Gap]:
        """Yield the user's rules that do not run: unreadable rule sets and damaged rules."""
        for one in self._unreadable:
            yield Gap(text=f"rule set {one.name} cannot be read and did not run: {one.reason}")
        for rule in self._engine.unusable:
            yield Gap(text=f"rule {rule.title} is damaged and did not run")

    def correlation_gaps(self) -> Iterator[Gap]:
        """Yield what correlation rules could not judge."""
        for text in not_correlated(self._engine.losses()):
            yield Gap(text=text)

    def note(self, item: ReadAs | Unread) -> None:
        """Remember how the log was read, and how much of it could not be."""
        if isinstance(item, Unread):
            self._unread += item.count
        else:
            self._read_as = item

    def add_waiting(self) -> None:
        """Count the events that wait, and run the rules over them."""
        self._add(self.waiting)
        self.waiting.clear()

    def _add(self, batch: Sequence[Event]) -> None:
        for listener in self._listeners:
            for event in batch:
                listener.add(event)
        for collector in self._asked:
            for event in batch:
                collector.add(event)
        for hit in self._engine.feed(batch):
            self._hits.add(hit)
            self._processes.mark(hit.event, hit.rule)
            self._note_names(hit)

    def progress(self) -> str:
        """Return what is known so far, with figures."""
        return (
            f"read {self.counts.count:,} events: {len(self._hits):,} of {self._rule_count:,} rules matched, "
            f"{self._logons.failures:,} failed logons, {self._processes.count:,} processes"
        )

    def _note_names(self, hit: Hit) -> None:
        group = hit.episode.group if hit.episode is not None else None
        self._names.detected(hit.event, hit.rule.severity, group)

    def names_seen(self) -> NamesSeen:
        """Return what the events name, for a comparison with other inputs."""
        return self._names.names_seen(self._place)

    def coverage(self, left_out: int) -> Coverage:
        """Return how far the log was read; ``left_out`` events were outside of what was asked for."""
        count = self.counts.count
        if left_out and not count:
            return Coverage(
                read_as=self.reader.read_as if self._read_as.form == self.reader.form else self._read_as.form,
                unit=self.reader.unit,
                understood=left_out,
                total=left_out + self._unread,
                looked_for="events of the requested time",
                is_cut=self.is_cut,
            )
        return Coverage(
            read_as=self.reader.read_as if self._read_as.form == self.reader.form else self._read_as.form,
            unit=self.reader.unit,
            understood=count,
            total=count + left_out + self._unread,
            looked_for=self._coverages.looked_for(self._engine.applicable, self._rule_count),
            not_covered=self._coverages.not_covered(self._engine),
            is_cut=self.is_cut,
        )

    def findings(self, *, window: tuple[str, str, str]) -> Iterator[Finding[Facts]]:
        """Yield the summary, the tactics, then the findings they are based on."""
        for hit in self._engine.finish():
            self._hits.add(hit)
            self._note_names(hit)
        self._logons.finish()
        rules = self._rule_count, self._engine.applicable
        outside = self.window.left_out
        yield self.counts.finding(self._place, read_as=self._read_as, rules=rules, window=window, outside=outside)
        found: list[Finding[Facts]] = [
            *self._hits.findings(self._place),
            *self._logons.findings(self._place),
            *self._continuity.findings(),
            *self._remote.findings(self._place),
            *(finding for activity in self._activities for finding in activity.findings(self._place)),
        ]
        uncovered = self._notable.uncovered(self._hits.covered)
        begins_cleared = self._continuity.is_cleared_first
        indicators = scored_indicators(found, uncovered, self._place, begins_cleared=begins_cleared)
        for whole in (tactics_finding(indicators, self._place), timeline(self._hits.events, found, self._place)):
            if whole is not None:
                yield whole
        yield from found
        yield from self._processes.findings(self._place)
        yield from self._rare.findings(self._place)
        for asked in self._asked:
            yield from asked.findings(self._place)
