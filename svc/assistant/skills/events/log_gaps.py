"""Find what is missing from a log: clearings, missing record numbers, silences, clocks set back.

A log that was filtered on export has holes everywhere: that is reported once and does not count as tampering.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Literal

from svc.assistant.findings import Confidence, Finding, Severity
from svc.assistant.sigma.event import Event, seconds_of
from svc.assistant.skills.asked.evidence import Place, account_of
from svc.assistant.skills.events.findings import LogGap
from svc.untrusted.markup import plural

SILENCE_SECONDS = 3_600.0  # shorter ones are normal
SILENCE_FACTOR = 10.0  # times the 99th percentile of this log's pauses
MIN_EVENTS = 200  # fewer do not show a log's usual pauses
BACK_SECONDS = 300.0  # Kerberos' tolerance: a clock that is further off gets corrected
FILTERED_SHARE = 0.05  # of the steps from record to record; more holes than that are the export's
MAX_LISTED = 5  # per type of gap and log
BEGINNING = 2  # events; a clearing within them counts as the log's beginning
MAX_PAUSES = 1_000_000
MAX_LOGS = 20_000  # of different hosts
_SYSTEM = "S-1-5-18"
_TRACES = frozenset({"Security", "System"})  # logs that show what an intruder did; others are cleared to make room


class _HostLog:
    """One log of one host."""

    def __init__(self) -> None:
        self.count = 0
        self.last: Event | None = None
        self.last_seconds: float | None = None
        self.holes: list[tuple[Event, Event]] = []
        self.hole_count = 0
        self.missing = 0
        self.pauses = array("d")
        self.longest: list[tuple[float, Event, Event]] = []
        self.back: list[tuple[float, Event, Event]] = []


class Continuity:
    """Follows each log of each host; needs the events in the order of their logs."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._logs: dict[tuple[str, str], _HostLog] = {}
        self._cleared: list[tuple[Event, bool]] = []

    def add(self, event: Event) -> None:
        """Compare an event with the previous one of its log."""
        key = event.host, event.fields.get("Channel", event.service)
        log = self._logs.get(key)
        if log is None:
            if len(self._logs) >= MAX_LOGS:
                return
            log = self._logs[key] = _HostLog()
        if event.event_id in (104, 1102) and event.service in ("security", "system"):
            self._cleared.append((event, log.count <= BEGINNING))
        seconds = seconds_of(event.time) if event.time else None
        before, log.count = log.last, log.count + 1
        if before is not None:
            self._compare(log, before, event, seconds)
        log.last = event
        log.last_seconds = seconds if seconds is not None else log.last_seconds

    def _compare(self, log: _HostLog, before: Event, event: Event, seconds: float | None) -> None:
        step = event.number - before.number
        if self._place.has_records and step > 1:
            log.hole_count += 1
            log.missing += step - 1
            if len(log.holes) < MAX_LISTED:
                log.holes.append((before, event))
        if seconds is None or log.last_seconds is None:
            return
        pause = seconds - log.last_seconds
        if pause > 0 and len(log.pauses) < MAX_PAUSES:
            log.pauses.append(pause)
        if pause >= SILENCE_SECONDS:
            log.longest = sorted([*log.longest, (pause, before, event)], key=lambda item: -item[0])[:MAX_LISTED]
        if self._place.has_records and pause < -BACK_SECONDS and step == 1 and len(log.back) < MAX_LISTED:
            log.back.append((pause, before, event))

    @property
    def is_cleared_first(self) -> bool:
        """Whether every clearing is the first event of its log, as in a log that was restarted."""
        return all(is_first for _, is_first in self._cleared)

    def findings(self) -> Iterator[Finding[LogGap]]:
        """Yield clearings first, then missing records, silences and clock changes."""
        for event, is_first in self._cleared[:MAX_LISTED]:
            yield self._clearing(event, is_first=is_first)
        for (host, name), log in self._logs.items():
            yield from self._missing_records(name, log)
            yield from self._silences(host, name, log)
            for pause, before, event in log.back:
                yield self._finding(
                    "clock set back", f"clock of {host} set back by {-pause:,.0f} s", before, event, name,
                    severity=Severity.LOW, techniques=("T1070.006",), seconds=round(pause),
                    why=f"record {event.number:,} is earlier than record {before.number:,}",
                )  # fmt: skip

    def _clearing(self, event: Event, *, is_first: bool) -> Finding[LogGap]:
        channel = "Security" if event.event_id == 1102 else event.fields.get("Channel", "Unnamed")
        who = account_of(event, "Subject") or "an unknown account"
        is_known = event.event_id == 1102 or self._place.has_records  # flat JSON has the channel of the record itself
        severity = Severity.HIGH if is_known and channel in _TRACES and not is_first else Severity.MEDIUM
        if event.fields.get("SubjectUserSid") == _SYSTEM or who.rpartition("\\")[2].upper() == "SYSTEM":
            severity = Severity.LOW  # setup and generalisation of an image clear the logs
        return self._finding(
            "cleared", f"{channel} log cleared by {who}", None, event, channel,
            severity=severity, techniques=("T1070.001",), account=who,
            why="earlier events are gone" + ("; this log begins with the clear event" if is_first else ""),
        )  # fmt: skip

    def _missing_records(self, name: str, log: _HostLog) -> Iterator[Finding[LogGap]]:
        if not log.hole_count:
            return
        is_filtered = log.hole_count > max(3, FILTERED_SHARE * log.count)
        before, event = log.holes[0]
        why = f"record {event.number:,} follows record {before.number:,}" + (
            "; so many gaps suggest that the log was filtered on export" if is_filtered else ""
        )
        is_suspicious = not is_filtered and log.count >= MIN_EVENTS
        missing = f"{plural(log.missing, 'record')} missing at {plural(log.hole_count, 'place')}"
        yield self._finding(
            "records missing", f"{missing} in {name}",
            before, event, name, severity=Severity.MEDIUM if is_suspicious else Severity.INFO,
            techniques=("T1070.001",) if is_suspicious else (), missing=log.missing, places=log.hole_count,
            is_filtered=is_filtered, why=why,
        )  # fmt: skip

    def _silences(self, host: str, name: str, log: _HostLog) -> Iterator[Finding[LogGap]]:
        if log.count < MIN_EVENTS or not log.longest:
            return
        usual = sorted(log.pauses)[int(len(log.pauses) * 0.99)] if log.pauses else 0.0
        for pause, before, event in log.longest:
            if pause >= SILENCE_FACTOR * usual:
                yield self._finding(
                    "silence", f"no events in {name} on {host} for {pause / 3600:,.1f} hours", before, event, name,
                    severity=Severity.LOW, confidence=Confidence.LOW, seconds=round(pause),
                    why=f"99 % of the gaps in this log are shorter than {usual:,.0f} s; a host that was off looks "
                    "the same",
                )  # fmt: skip

    def _finding(
        self,
        gap: Literal["cleared", "records missing", "silence", "clock set back"],
        title: str,
        before: Event | None,
        event: Event,
        log: str,
        *,
        severity: Severity,
        why: str,
        confidence: Confidence = Confidence.HIGH,
        techniques: tuple[str, ...] = (),
        account: str | None = None,
        missing: int | None = None,
        places: int | None = None,
        is_filtered: bool | None = None,
        seconds: int | None = None,
    ) -> Finding[LogGap]:
        events = [event] if before is None else [before, event]
        return Finding(
            title=title,
            severity=severity,
            confidence=confidence,
            why=why,
            evidence=tuple(self._place.evidence(one) for one in events),
            techniques=techniques,
            facts=LogGap(
                gap=gap,
                log=log,
                host=event.host,
                start=before.time if before else None,
                end=event.time or None,
                account=account,
                missing=missing,
                places=places,
                is_filtered=is_filtered,
                seconds=seconds,
            ),
        )
