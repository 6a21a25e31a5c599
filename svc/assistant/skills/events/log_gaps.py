"""What is missing from a log: clearing, record numbers that are left out, silences, clocks that went back. Pure.

A log that was filtered on its way out has holes everywhere: that is said once and does not count as tampering. Finding
kind: see ``events``.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from svc.assistant.findings import Confidence, Scalar, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.sigma.event import Event, seconds_of
from svc.assistant.skills.events.evidence import Place, account_of

SILENCE_SECONDS = 3_600.0  # shorter ones are nothing to look at
SILENCE_FACTOR = 10.0  # times what 99 of 100 pauses of this log stay under
LEAST_EVENTS = 200  # of a log whose rhythm is to be known
BACK_SECONDS = 300.0  # Kerberos' tolerance: a clock that is further off is put right
FILTERED_SHARE = 0.05  # of the steps from record to record; more holes than that come from an export
MAX_LISTED = 5  # a kind and log
BEGINNING = 2  # events of a log, after which a clearing is no longer what it begins with
MAX_PAUSES = 1_000_000


class _Log:
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
    """Follows each log of each host; needs events in the order of their logs."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._logs: dict[tuple[str, str], _Log] = {}
        self._cleared: list[tuple[Event, bool]] = []

    def add(self, event: Event) -> None:
        """Compare it with the one before it in its log."""
        key = event.host, event.fields.get("Channel", event.service)
        log = self._logs.get(key)
        if log is None:
            log = self._logs[key] = _Log()
        if event.event_id in (104, 1102) and event.service in ("security", "system"):
            self._cleared.append((event, log.count <= BEGINNING))
        seconds = seconds_of(event.time) if event.time else None
        before, log.count = log.last, log.count + 1
        if before is not None:
            self._compare(log, before, event, seconds)
        log.last = event
        log.last_seconds = seconds if seconds is not None else log.last_seconds

    def _compare(self, log: _Log, before: Event, event: Event, seconds: float | None) -> None:
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
        """Whether each clearing is the first thing that its log tells: what a log looks like that was begun anew."""
        return all(is_first for _, is_first in self._cleared)

    def findings(self) -> Iterator[Finding]:
        """Clearings first, then what is left out, silences, clocks."""
        for event, is_first in self._cleared[:MAX_LISTED]:
            yield self._clearing(event, is_first=is_first)
        for (host, name), log in self._logs.items():
            yield from self._left_out(host, name, log)
            yield from self._silences(host, name, log)
            for pause, before, event in log.back:
                yield self._finding(
                    "clock went back", f"the clock of {host} went back by {-pause:,.0f} s", before, event, name,
                    severity=Severity.LOW, techniques=("T1070.006",), seconds=round(pause),
                    why=f"record {event.number:,} is earlier than record {before.number:,}",
                )  # fmt: skip

    def _clearing(self, event: Event, *, is_first: bool) -> Finding:
        channel = "Security" if event.event_id == 1102 else event.fields.get("Channel", "a log")
        who = account_of(event, "Subject") or "somebody"
        return self._finding(
            "cleared", f"the log {channel} was cleared by {who}", None, event, channel,
            severity=Severity.MEDIUM if is_first else Severity.HIGH, techniques=("T1070.001",), account=who,
            why="what was in the log before that is not in it any more"
            + ("; this log begins with it" if is_first else ""),
        )  # fmt: skip

    def _left_out(self, host: str, name: str, log: _Log) -> Iterator[Finding]:
        if not log.hole_count:
            return
        is_filtered = log.hole_count > max(3, FILTERED_SHARE * log.count)
        before, event = log.holes[0]
        why = f"record {event.number:,} follows record {before.number:,}" + (
            "; so many holes come from a filter or a selection when the log was exported" if is_filtered else ""
        )
        is_telling = not is_filtered and log.count >= LEAST_EVENTS
        yield self._finding(
            "records missing", f"{log.missing:,} records are missing in {log.hole_count:,} places of {name}",
            before, event, name, severity=Severity.MEDIUM if is_telling else Severity.INFO,
            techniques=("T1070.001",) if is_telling else (), missing=log.missing, places=log.hole_count,
            is_filtered=is_filtered, why=why, host=host,
        )  # fmt: skip

    def _silences(self, host: str, name: str, log: _Log) -> Iterator[Finding]:
        if log.count < LEAST_EVENTS or not log.longest:
            return
        usual = sorted(log.pauses)[int(len(log.pauses) * 0.99)] if log.pauses else 0.0
        for pause, before, event in log.longest:
            if pause >= SILENCE_FACTOR * usual:
                yield self._finding(
                    "silence", f"{name} of {host} is silent for {pause / 3600:,.1f} hours", before, event, name,
                    severity=Severity.LOW, confidence=Confidence.LOW, seconds=round(pause),
                    why=f"99 of 100 pauses of this log are shorter than {usual:,.0f} s; a machine that was off looks "
                    "the same",
                )  # fmt: skip

    def _finding(
        self,
        gap: str,
        title: str,
        before: Event | None,
        event: Event,
        log: str,
        *,
        severity: Severity,
        why: str,
        confidence: Confidence = Confidence.HIGH,
        techniques: tuple[str, ...] = (),
        **more: Scalar,
    ) -> Finding:
        events = [event] if before is None else [before, event]
        return Finding(
            kind="log_gap",
            title=title,
            severity=severity,
            confidence=confidence,
            why=why,
            evidence=tuple(self._place.evidence(one) for one in events),
            techniques=techniques,
            attributes={
                "gap": gap,
                "log": log,
                "host": event.host,
                "from": before.time if before else None,
                "to": event.time or None,
                **more,
            },
        )
