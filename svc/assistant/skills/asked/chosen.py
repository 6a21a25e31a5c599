"""Collect the records that fulfil the conditions of a question exactly: all of its words, no excluded one, a limit.

Unlike ``records``, which takes the records with the most words, nothing here is approximate: a word that no record has
is reported, and the answer says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from svc.assistant.findings import Confidence, Evidence, Facts, Finding, Severity
from svc.assistant.sigma.event import Event, without_fields
from svc.assistant.skills.asked.evidence import Place
from svc.assistant.skills.asked.findings import ChosenRecords, RecordConditions, RecordValue
from svc.assistant.skills.asked.largest import amount_of, source_of
from svc.assistant.skills.asked.moments import FirstMoments, Moments
from svc.assistant.skills.asked.records import STATES, HeldBy, RecordColumns, has_word, outcome_of, word_pattern
from svc.untrusted.markup import plural

MAX_VALUES = 5_000  # different ones of a column; more are counted as cut
SHOWN = 500
MAX_SHOWN = 8  # records as evidence
MAX_BUCKETS = 2_000
MAX_STATED = 1_000
HOST_OF_ACT = "at host"  # the name for the column of the host in a question who did something
_EQUAL = "="  # in place of what a column holds: of the one that must have a value
_STATUS = re.compile(r"(?:^|\.)(?:scstatus|statuscode|httpstatus|status|http\.status|responsestatus)$")
_IS_STATUS = re.compile(r"[1-5]\d\d\Z")
_IS_EVENT_ID = re.compile(r"\d{2,5}\Z")
_FAILED_IDS, _ACCEPTED_IDS = frozenset({4625, 4771, 4776}), frozenset({4624})  # Windows Security auditing
_FAILURE = re.compile(r"fail|den(?:y|ied)|reject|invalid|block|refus", re.IGNORECASE)
_SUCCESS = re.compile(r"success|allow|accept|grant|^0$", re.IGNORECASE)


class ChosenCollector:
    """Collects the records of one clause with conditions."""

    def __init__(self, clause: str, conditions: RecordConditions, source: str = "") -> None:
        """``source``: the name of the log; its words are of all of its records ("vpn" of ``vpn.csv``)."""
        self._clause, self._asked = clause, conditions
        self._of_name = frozenset(conditions.words) & frozenset(re.findall(r"[a-z]{3,40}", source.lower()))
        self._words = [(word, word_pattern(word)) for word in conditions.words]
        self._excluded = [(word, word_pattern(word)) for word in conditions.excluded]
        equal = {_EQUAL: conditions.equals[1]} if conditions.equals is not None else {}
        self._columns = RecordColumns({**conditions.columns, **conditions.spread, **equal})
        self._total = self._count = self._left_out = self._logins = self._failed = self._measured = 0
        self._seen: set[str] = set()
        self._values: dict[str, Counter[str]] = {}
        self._others: dict[str, Counter[str]] = {}
        self._buckets: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._sums: Counter[str] = Counter()
        self._is_cut = False
        self._first = self._last = ""
        self._ends: dict[str, Event] = {}
        self._shown: list[Event] = []
        self._moments: Moments | FirstMoments = FirstMoments() if conditions.distinct else Moments()
        self._stated: Counter[str] = Counter()
        self._second: dict[str, Counter[str]] = {}
        self._pairs: Counter[tuple[str, str]] = Counter()

    def add(self, event: Event, times: int = 1) -> None:
        """Count a record; ``times`` if it stands for several."""
        state = login_state(event) if self._asked.logins else ""
        self._logins += times if state else 0
        self._total += times
        layout = self._columns.of(event)
        text = "\n".join((*event.fields.values(), event.host, event.excerpt))
        found = {word for word, pattern in self._words if _has(word, pattern, text, event, layout)} | self._of_name
        self._seen |= found
        has_words = len(found) == len(self._words)
        chosen = has_words and self._fits(event, state, layout.named)
        self._failed += times if has_words and state == "failed" else 0
        if chosen and any(_has(word, pattern, text, event, layout) for word, pattern in self._excluded):
            self._left_out += times
            return
        held = [
            (what, value)
            for what, names in layout.columns.items()
            if what in self._asked.columns
            for value in layout.values(event, what, names)
        ]
        if chosen and not (self._asked.needs_value and not any(what != HOST_OF_ACT for what, _ in held)):
            self._choose(event, held, times)
        if has_words and self._asked.other is not None and self._is_other(event, self._asked.other):
            self._note(self._second, held, times)
        elif chosen:
            pass
        elif self._asked.is_complement or (state and state == self._asked.logins):
            self._note(self._others, held, times)

    def _fits(self, event: Event, state: str, named: Sequence[tuple[str, str]]) -> bool:
        """Whether a record fulfils every condition other than the words."""
        asked = self._asked
        if asked.logins and (not state or asked.logins not in ("any", state)):
            return False
        if asked.equals is not None and not self._is_equal(event, asked.equals[2]):
            return False
        if asked.outcome and outcome_of(event, self._columns.of(event)).partition(":")[0] not in STATES[asked.outcome]:
            return False
        if asked.days and not any(_day(event.time).endswith(day) for day in asked.days):
            return False
        if asked.ports and not any(event.fields[name] in asked.ports for name in self._columns.of(event).ports):
            return False
        if not asked.measure:
            return True
        amount, _ = amount_of(asked.measure, event, named)
        if amount is None:
            return False
        self._measured += 1
        source = source_of(event) if asked.measure != "seconds" else ""
        if source and (source in self._sums or len(self._sums) < MAX_VALUES):
            self._sums[source] += amount
        return amount > asked.more if asked.more >= 0 else amount < asked.less

    def _is_other(self, event: Event, other: tuple[str, str]) -> bool:
        """Whether a record has the second outcome; one that states none has none."""
        sort, outcome = other
        stated = outcome_of(event, self._columns.of(event)).partition(":")[0]
        return bool(stated) and (stated in STATES[outcome]) is not (sort == "only")

    def _is_equal(self, event: Event, wanted: str) -> bool:
        """Whether a record states the value that is asked for; what it states is counted."""
        layout = self._columns.of(event)
        stated = [event.fields[name] for name in layout.columns[_EQUAL] if event.fields[name]]
        if stated and (stated[0] in self._stated or len(self._stated) < MAX_STATED):
            self._stated[stated[0]] += 1
        return wanted in stated

    def _choose(self, event: Event, held: Sequence[tuple[str, str]], times: int) -> None:
        self._count += times
        self._note(self._values, held, times)
        if self._asked.per and (bucket := _bucket(event.time, self._asked.per)):
            if bucket in self._buckets or len(self._buckets) < MAX_BUCKETS:
                self._buckets[bucket] += times
            else:
                self._is_cut = True
        if self._asked.spread:
            self._pair(event, held)
        if self._asked.is_timed:
            stated = {what for what, _ in held}
            named = (what for what in self._asked.columns if what in stated and what != HOST_OF_ACT)
            wanted = self._asked.distinct or next(named, "")
            labels = dict.fromkeys(value for what, value in held if what == wanted)
            self._moments.add(event, ", ".join(list(labels)[:1] if self._asked.distinct else labels))
        elif len(self._shown) < MAX_SHOWN:
            self._shown.append(without_fields(event))
        if event.time:
            self._place_in_time(event)
        if outcome := outcome_of(event, self._columns.of(event)):
            self._outcomes[outcome] += times

    def _pair(self, event: Event, held: Sequence[tuple[str, str]]) -> None:
        """Count the values that are asked for with those of the other columns."""
        layout = self._columns.of(event)
        others = [value for what in self._asked.spread for value in layout.values(event, what, layout.columns[what])]
        for what, value in held:
            for other in others if what == next(iter(self._asked.columns)) else ():
                if (value, other) in self._pairs or len(self._pairs) < MAX_VALUES:
                    self._pairs[value, other] += 1
                else:
                    self._is_cut = True

    def _place_in_time(self, event: Event) -> None:
        """Remember the first and the last time, and the records that have them if these are asked for."""
        if not self._first or event.time < self._first:
            self._first = event.time
            if self._asked.ends:
                self._ends["first"] = without_fields(event)
        if event.time >= self._last:
            self._last = event.time
            if self._asked.ends:
                self._ends["last"] = without_fields(event)

    def _note(self, where: dict[str, Counter[str]], held: Sequence[tuple[str, str]], times: int) -> None:
        for what, value in held:
            counts = where.setdefault(what, Counter())
            if value in counts or len(counts) < MAX_VALUES:
                counts[value] += times
            else:
                self._is_cut = True

    def findings(self, place: Place) -> Iterator[Finding[Facts]]:
        """Yield what the chosen records hold; nothing of a log without a login if logins are asked for."""
        if not self._total or (self._asked.logins and not self._logins):
            return
        timed = self._moments.labelled
        chosen = (
            [event for event, _ in timed]
            or [self._ends[end] for end in ("first", "last") if end in self._ends]
            or self._shown
        )
        evidence: tuple[Evidence, ...] = tuple(place.evidence(event) for event in chosen)
        others = {
            what: Counter({value: n for value, n in each.items() if value not in self._values.get(what, {})})
            for what, each in self._others.items()
        }
        facts = ChosenRecords(
            clause=self._clause,
            conditions=self._asked,
            total=self._logins if self._asked.logins else self._total,
            count=self._count,
            left_out=self._left_out,
            failed=self._failed,
            absent=[word for word, _ in self._words if word not in self._seen],
            values=_ranked(self._values),
            others=_ranked(others),
            buckets=[RecordValue(self._asked.per, name, n) for name, n in sorted(self._buckets.items())],
            outcomes=[RecordValue(*one.partition(": ")[::2], n) for one, n in self._outcomes.most_common(SHOWN)],
            is_measured=bool(self._measured),
            sums=[
                RecordValue("source", name, amount)
                for name, amount in self._sums.most_common(MAX_SHOWN)
                if amount > self._asked.more >= 0
            ],
            is_cut=self._is_cut or any(len(each) > SHOWN for each in (*self._values.values(), *others.values())),
            first=self._first or None,
            last=self._last or None,
            times=[event.time for event, _ in timed],
            labels=[label for _, label in timed],
            stated=[RecordValue("stated", value, n) for value, n in self._stated.most_common(MAX_SHOWN)],
            second=_ranked(self._second),
            pairs=[RecordValue(value, other, n) for (value, other), n in sorted(self._pairs.items())],
        )
        yield Finding(
            title=f"{plural(self._count, 'record')} with what the question names",
            severity=Severity.INFO,
            confidence=Confidence.HIGH,
            why="the question asks for these records",
            evidence=evidence,
            facts=facts,
        )


def _ranked(values: dict[str, Counter[str]]) -> list[RecordValue]:
    return [
        RecordValue(what, value, count)
        for what, each in values.items()
        for value, count in sorted(each.items(), key=lambda one: (-one[1], one[0]))[:SHOWN]
    ]


def login_state(event: Event) -> str:
    """``failed`` or ``accepted`` for a record of a login; "" for any other."""
    if event.event_id in _FAILED_IDS and event.product == "windows":
        return "failed"
    if event.event_id in _ACCEPTED_IDS and event.product == "windows":
        return "accepted"
    if event.category != "authentication":
        return ""
    stated = event.fields.get("Outcome", "")
    if _FAILURE.search(stated):
        return "failed"
    return "accepted" if _SUCCESS.search(stated) else ""


def _has(word: str, pattern: re.Pattern[str], text: str, event: Event, layout: HeldBy) -> bool:
    """Whether a record has a word; a status and an event's number count only in the columns for them."""
    if _IS_STATUS.match(word) and (
        statuses := [event.fields[name] for name, plain in layout.named if _STATUS.search(plain)]
    ):
        return word in statuses
    if event.event_id is not None and _IS_EVENT_ID.match(word):
        return str(event.event_id) == word
    if word in _LEVELS:
        ratings = [*map(event.fields.get, _RATINGS), event.verdict.level if event.verdict is not None else ""]
        if any(value.lower().startswith(word[:3]) for value in ratings if value):
            return True
    if word == "rdp" and event.fields.get("LogonType") == "10":
        return True
    return has_word(word, pattern, text, event, layout)


_LEVELS = frozenset({"info", "informational", "low", "medium", "med", "high", "crit", "critical"})
_RATINGS = ("Severity", "Level", "severity", "level")


def _day(time: str) -> str:
    """``2026-11-21`` or, of a log without a year, ``11-21``."""
    return time[2:7] if time.startswith("--") else time[:10]


def _bucket(time: str, per: str) -> str:
    day = _day(time)
    if per == "day" or len(day) == len(time):
        return day
    at = time.find("T")
    return f"{day} {time[at + 1 : at + 3]}:00" if at > 0 else ""


def conditions_in(text: str) -> list[tuple[str, RecordConditions]]:
    """The conditions of the clauses of a question, from the option of a tool."""
    return (
        [(one.clause, one.conditions) for one in msgspec.json.decode(text, type=list[_WithConditions])] if text else []
    )


class _WithConditions(msgspec.Struct, frozen=True):
    clause: str
    conditions: RecordConditions
