"""What the answer about logins draws: when failures came from which sources, and which login was accepted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from svc.assistant.findings import AnyFinding, Finding, with_facts
from svc.assistant.log_readers.shown_times import time_words, zone_words
from svc.assistant.skills.charts import Bar, ChartEvent, Periods, Series, bars, columns
from svc.assistant.skills.charts.axis import moment
from svc.assistant.skills.logins.findings import AuthSource, AuthSuccess, AuthSummary
from svc.assistant.skills.logins.verdicts import BAD, accepted_logins
from svc.assistant.skills.skill import Picture
from svc.untrusted.markup import plural


def pictures(findings: Sequence[AnyFinding]) -> list[Picture]:
    """Failures over time by source with the accepted logins, and the sources with the most failures."""
    drawn: list[Picture] = []
    for summary in with_facts(findings, AuthSummary):
        drawn += _over_time(summary.facts, accepted_logins(findings))
    return drawn + bars("Failed logins by source", _source_bars(with_facts(findings, AuthSource)), unit="failed logins")


def _over_time(summary: AuthSummary, logins: Sequence[Finding[AuthSuccess]]) -> list[Picture]:
    start = moment(summary.activity_start)
    if start is None:
        return []
    zone = zone_words([summary.zone]) or summary.zone
    periods = Periods(start=start, seconds=summary.activity_seconds, unit="failures logged", zone=zone)
    series = [
        Series(label=one.source, counts=one.counts, ask=_question(one.source)) for one in summary.activity_by_source
    ]
    rest = [
        total - sum(counts) for total, *counts in zip(summary.activity, *(one.counts for one in series), strict=True)
    ]
    if any(rest):
        series.append(Series(label="other sources", counts=rest))
    end = start + timedelta(seconds=summary.activity_seconds) * len(summary.activity)
    events = [event for event in map(_event, logins) if event and (event.severity in BAD or start <= event.time <= end)]
    return columns("Failed logins over time", periods, series, events, event_words="accepted login")


def _event(finding: Finding[AuthSuccess]) -> ChartEvent | None:
    login = finding.facts
    written = login.time or login.first
    time = moment(written)
    if time is None:
        return None
    clock = f"{time:%H:%M:%S}"
    return ChartEvent(
        time=time,
        label=f"{login.account} {clock}",
        tip=f"accepted login: {login.account} from {login.source} ({login.method}), {time_words(written)}, "
        f"line {login.line:,}",
        value=login.account,
        ask=_question(login.account),
        severity=finding.severity,
    )


def _source_bars(sources: Sequence[Finding[AuthSource]]) -> list[Bar]:
    return [
        Bar(
            label=finding.facts.source,
            value=finding.facts.failures,
            note=f"{finding.facts.failures:,}, {plural(finding.facts.accounts, 'account')}",
            severity=finding.severity,
            ask=_question(finding.facts.source),
        )
        for finding in sources
    ]


def _question(name: str) -> str:
    return f"What did {name} do?"
