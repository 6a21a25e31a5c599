"""Collect the events that correlation rules relate, and find the groups in which the rules hold.

The events of a log come in any order, so they are kept until its end and then sorted. What is kept is bounded: at
MAX_MOMENTS the windows seen so far are judged, and only events near the latest one stay, which changes nothing for a
log in order, whichever way it runs. At MAX_GROUPS the groups with the fewest events go. What was lost is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter

import msgspec

from svc.assistant.sigma.correlation import NUMERIC, Correlation, MatchedEvent, Stretch, best_figure, stretches
from svc.assistant.sigma.event import Event, seconds_of, without_fields

MAX_MOMENTS = 300_000  # kept for all correlations together: about 100 MB
MAX_GROUPS = 20_000  # of one correlation
MAX_EXCERPT_BYTES = 32 * 1024 * 1024  # of all excerpts kept; later events are evidence by their number alone
MAX_CARRIED = 1_000  # different values that one match hands on to an outer correlation
MAX_EPISODES = 1_000  # of one correlation
MAX_EVIDENCE = 5
MAX_KEY_CHARS = 300
_HALF_YEAR = 183 * 86_400.0
_LEAP_YEAR = 366 * 86_400.0
_NO_YEAR = re.compile(r"--\d\d-\d\dT")

FieldReader = Callable[[Event], str | None]


class Episode(msgspec.Struct, frozen=True):
    """A stretch of time in which a correlation held for one group. ``figure`` is the highest that a window reached."""

    group: tuple[tuple[str, str], ...]
    count: int
    figure: float
    first: str
    last: str
    events: tuple[Event, ...]


class Losses(msgspec.Struct):
    """What a correlation rule could not judge, in events."""

    judged: int = 0
    untimed: int = 0
    ungrouped: int = 0
    unvalued: int = 0
    left_out: int = 0


class _Clock:
    """Times as seconds; those without a year are counted on from December to January."""

    def __init__(self) -> None:
        self._year = 0
        self._last: float | None = None

    def seconds(self, text: str) -> float | None:
        if not text.startswith("--") or not _NO_YEAR.match(text):
            return seconds_of(text)
        found = seconds_of(f"2000-{text[2:]}")
        if found is None:
            return None
        if self._last is not None:
            if self._last - found > _HALF_YEAR:
                self._year += 1
            elif found - self._last > _HALF_YEAR:
                self._year -= 1
        self._last = found
        return found + self._year * _LEAP_YEAR


class _SlimEvent(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of an event without its fields."""

    number: int
    offset: int | None
    time: str
    product: str
    service: str
    category: str
    host: str
    event_id: int | None
    excerpt: str


_PackedGroup = tuple[tuple[str, ...], list[tuple[float, int, str, tuple[str, ...], int]]]
_encoder = msgspec.msgpack.Encoder()
_places = msgspec.msgpack.Decoder(list[_SlimEvent])
_groups = msgspec.msgpack.Decoder(list[list[_PackedGroup]])


class _PackedMoments(msgspec.Struct, frozen=True):
    """The moments of all correlations as bytes, each event once: pickle would take seconds for MAX_MOMENTS."""

    events: bytes
    groups: bytes

    @classmethod
    def of(cls, all_groups: Iterable[_Groups]) -> _PackedMoments:
        """Pack them."""
        events: list[_SlimEvent] = []
        places: dict[int, int] = {}

        def place(event: Event) -> int:
            known = places.get(id(event))
            if known is None:
                known = places[id(event)] = len(events)
                events.append(
                    _SlimEvent(
                        event.number,
                        event.offset,
                        event.time,
                        event.product,
                        event.service,
                        event.category,
                        event.host,
                        event.event_id,
                        event.excerpt,
                    )
                )
            return known

        packed = [
            [
                (key, [(one.seconds, one.stage, one.value, one.carried, place(one.event)) for one in moments])
                for key, moments in groups.items()
            ]
            for groups in all_groups
        ]
        return cls(_encoder.encode(events), _encoder.encode(packed))

    def unpacked(self) -> Iterator[_Groups]:
        """Return the groups of each correlation."""
        events = [Event(fields={}, **msgspec.structs.asdict(one)) for one in _places.decode(self.events)]
        for groups in _groups.decode(self.groups):
            yield {
                key: [
                    MatchedEvent(seconds, events[at].number, stage, value, carried, events[at])
                    for seconds, stage, value, carried, at in moments
                ]
                for key, moments in groups
            }


_Groups = dict[tuple[str, ...], list[MatchedEvent]]


class Correlators:
    """All correlation rules of an engine. ``reader`` returns what reads a field of an event."""

    def __init__(self, correlations: dict[str, Correlation], reader: Callable[[str], FieldReader]) -> None:
        self._reader = reader
        self._clock = _Clock()
        self._by_id = {name: _Correlator(correlations[name]) for name in _inner_first(correlations)}
        self.unusable: set[str] = set(correlations) - set(self._by_id)
        """Those that refer to themselves."""
        self._users: dict[str, list[tuple[_Correlator, int]]] = {}
        for correlator in self._by_id.values():
            for stage, rule in enumerate(correlator.correlation.rules):
                self._users.setdefault(rule, []).append((correlator, stage))
        for name in reversed(self._by_id):
            self._by_id[name].carries = tuple(
                dict.fromkeys(field for user, stage in self._users.get(name, ()) for field in user.needs(stage))
            )
        self._read_by: dict[str, list[tuple[_Correlator, int, list[FieldReader]]]] = {}
        self._moments = 0
        self._excerpts = 0

    def __getstate__(self) -> dict[str, object]:
        packed = _PackedMoments.of(one.groups for one in self._by_id.values())
        return {**self.__dict__, "_read_by": {}, "_packed": packed}

    def __setstate__(self, state: dict[str, object]) -> None:
        packed = state.pop("_packed")
        self.__dict__.update(state)
        if isinstance(packed, _PackedMoments):
            for one, groups in zip(self._by_id.values(), packed.unpacked(), strict=True):
                one.groups = groups

    @property
    def fed_by(self) -> frozenset[str]:
        """The IDs of the rules whose matches are correlated."""
        return frozenset(self._users)

    def add(self, event: Event, rules: Iterable[str]) -> None:
        """Remember an event for each correlation that refers to one of the rules that it matched."""
        seconds = self._clock.seconds(event.time)
        slim: Event | None = None
        counted: set[int] = set()
        for rule in rules:
            for correlator, stage, readers in self._read_by.get(rule) or self._readers(rule):
                if not correlator.is_temporal:  # an event that several of its rules match counts once
                    if id(correlator) in counted:
                        continue
                    counted.add(id(correlator))
                if seconds is None:
                    correlator.losses.untimed += 1
                    continue
                found = [read(event) or "" for read in readers]
                if correlator.lacks(found):
                    continue
                slim = slim or self._slim(event)
                self._moments += correlator.keep(slim, seconds, stage, found)

    def _readers(self, rule: str) -> list[tuple[_Correlator, int, list[FieldReader]]]:
        """Return the correlations that refer to a rule, with what reads the fields that they need."""
        found = self._read_by[rule] = [
            (correlator, stage, [self._reader(field) for field in correlator.needs(stage)])
            for correlator, stage in self._users.get(rule, ())
        ]
        return found

    def is_full(self) -> bool:
        """Whether so much is kept that ``judge`` must be called."""
        return self._moments >= MAX_MOMENTS

    def judge(self, *, is_last: bool) -> Iterator[tuple[str, Episode]]:
        """Yield the ID of a correlation and where it held; unless ``is_last``, keep what later events may join."""
        for name, correlator in self._by_id.items():
            for episode, handed_on in correlator.judge():
                for user, stage in self._users.get(name, ()):
                    for moment in handed_on:
                        user.take(moment, stage, correlator.carries)
                yield name, episode
        if not is_last:
            for correlator in self._by_id.values():
                correlator.forget(MAX_MOMENTS // (2 * len(self._by_id)))
            self._moments = sum(correlator.kept for correlator in self._by_id.values())
            self._excerpts = 0

    def losses(self) -> dict[str, Losses]:
        """Return for each correlation that got events what it could not judge."""
        return {name: correlator.losses for name, correlator in self._by_id.items()}

    def judged(self) -> dict[str, Correlation]:
        """Return the correlations that had events to judge; those in time had events of each of their rules."""
        return {name: correlator.correlation for name, correlator in self._by_id.items() if correlator.has_judged}

    def closest(self, name: str) -> tuple[tuple[tuple[str, str], ...], float, int] | None:
        """Return the group that comes closest to a correlation's condition, its figure, and how many groups are."""
        return self._by_id[name].closest() if name in self._by_id else None

    def _slim(self, event: Event) -> Event:
        self._excerpts += len(event.excerpt)
        is_kept = self._excerpts <= MAX_EXCERPT_BYTES
        return without_fields(event, has_excerpt=is_kept)


class _Correlator:
    """One correlation rule and its groups."""

    def __init__(self, correlation: Correlation) -> None:
        self.correlation = correlation
        self.is_temporal = correlation.type in ("temporal", "temporal_ordered")
        self._is_numeric = correlation.type in NUMERIC
        self._grouping = len(correlation.group_by)  # of the needed fields, the first ones
        self._measuring = self._grouping + len(correlation.fields)  # up to there; the others are carried
        self.carries: tuple[str, ...] = ()
        self.losses = Losses()
        self.kept = 0
        self.groups: _Groups = {}
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._keys: dict[tuple[str, ...], tuple[str, ...]] = {}
        """Keys of groups by the names in an event, for those seen last."""
        self._episodes = 0
        self._reported: dict[tuple[str, ...], float] = {}
        self._stages: set[int] = set()
        self._needs: dict[int, tuple[str, ...]] = {}
        self._first: float | None = None
        self._latest = 0.0
        self._cut: tuple[float, float] | None = None

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the groups, which all correlations pack together, and what only saves time."""
        return {**self.__dict__, "groups": {}, "_keys": {}}

    @property
    def has_judged(self) -> bool:
        """Whether there were events of one of its rules, or of each if it relates them in time."""
        return len(self._stages) >= (len(self.correlation.rules) if self.is_temporal else 1)

    def needs(self, stage: int) -> tuple[str, ...]:
        """Return the fields that it looks at in the events of one of its rules; ``carries`` must be known."""
        known = self._needs.get(stage)
        if known is None:
            wanted = self.correlation
            rule = wanted.rules[stage]
            own = [wanted.field_of(name, rule) for name in (*wanted.group_by, *wanted.fields)]
            known = self._needs[stage] = (*own, *self.carries)
        return known

    def lacks(self, found: Sequence[str]) -> bool:
        """Return whether the values of the needed fields lack what groups or measures events, and count it."""
        if "" in found[: self._grouping]:
            self.losses.ungrouped += 1
            return True
        measured = found[self._grouping : self._measuring]
        if measured and (not any(measured) or (self._is_numeric and not _is_number(measured[0]))):
            self.losses.unvalued += 1
            return True
        return False

    def take(self, moment: MatchedEvent, stage: int, carries: Sequence[str]) -> None:
        """Remember where an inner correlation held; ``carries`` are the fields of what it hands on."""
        by_field = dict(zip(carries, moment.carried, strict=True))
        found = [by_field[field] for field in self.needs(stage)]
        if not self.lacks(found):
            self.keep(moment.event, moment.seconds, stage, found)

    def keep(self, event: Event, seconds: float, stage: int, found: Sequence[str]) -> bool:
        """Remember an event with the values of the needed fields; return whether there was room."""
        if self._cut is not None and not self._cut[0] <= seconds <= self._cut[1]:
            self.losses.left_out += 1
            return False
        key = self._key(tuple(found[: self._grouping]))
        value = "\0".join(found[self._grouping : self._measuring]).lower()
        self.losses.judged += 1
        self._stages.add(stage)
        if self._first is None:
            self._first = seconds
        self._latest = seconds
        group = self.groups.get(key)
        if group is None:
            if len(self.groups) >= MAX_GROUPS:
                self._drop_small_groups()
            group = self.groups[key] = []
            self._names[key] = tuple([value[:MAX_KEY_CHARS] for value in found[: self._grouping]])
        carried = tuple(found[self._measuring :])
        group.append(MatchedEvent(seconds, event.number, stage, value, carried, event))
        self.kept += 1
        return True

    def _key(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the key of the group that has these names, in any case."""
        key = self._keys.get(names)
        if key is None:
            if len(self._keys) >= MAX_GROUPS:
                self._keys.clear()
            key = self._keys[names] = tuple([name[:MAX_KEY_CHARS].lower() for name in names])
        return key

    def _drop_small_groups(self) -> None:
        """Drop the smaller half of the groups: what repeats stays, and each event pays for a constant share of it."""
        ranked = sorted(self.groups.items(), key=lambda item: len(item[1]))
        for key, moments in ranked[: len(ranked) // 2]:
            self.losses.left_out += len(moments)
            self.kept -= len(moments)
            del self.groups[key], self._names[key]

    def judge(self) -> Iterator[tuple[Episode, list[MatchedEvent]]]:
        """Yield where the condition held, with the moments that outer correlations get."""
        is_backwards = self._first is not None and self._latest < self._first
        step = -1 if is_backwards else 1
        for key, moments in self.groups.items():
            # an event that several rules match must not follow itself: the later rule comes first
            moments.sort(key=lambda moment: (moment.seconds, step * moment.number, -moment.stage))
            for stretch in stretches(self.correlation, moments):
                if moments[stretch.last].seconds <= self._reported.get(key, float("-inf")):
                    continue
                self._reported[key] = moments[stretch.last].seconds
                self._episodes += 1
                if self._episodes > MAX_EPISODES:
                    self.losses.left_out += stretch.last - stretch.first + 1
                    continue
                yield self._episode(key, moments, stretch), self._handed_on(moments, stretch)

    def _episode(self, key: tuple[str, ...], moments: Sequence[MatchedEvent], stretch: Stretch) -> Episode:
        first, met, last, figure = stretch
        places = dict.fromkeys([first, met, last, *range(first, min(last, first + MAX_EVIDENCE))])
        shown = sorted(islice(places, MAX_EVIDENCE))
        return Episode(
            group=tuple(zip(self.correlation.group_by, self._names[key], strict=True)),
            count=last - first + 1,
            figure=figure,
            first=moments[first].event.time,
            last=moments[last].event.time,
            events=tuple(moments[place].event for place in shown),
        )

    def _handed_on(self, moments: Sequence[MatchedEvent], stretch: Stretch) -> list[MatchedEvent]:
        """Return what an outer correlation sees: each value of the window when the condition is met, then each event.

        So a success is near a password attack at any time of it, for each of its accounts.
        """
        if not self.carries:
            return []
        met = moments[stretch.met]
        values = dict.fromkeys(moment.carried for moment in moments[stretch.first : stretch.met + 1])
        window = [msgspec.structs.replace(met, carried=carried) for carried in islice(values, MAX_CARRIED)]
        return window + list(moments[stretch.met + 1 : stretch.last + 1])

    def forget(self, most: int) -> None:
        """Forget what no later event can join if the log goes on in its direction, and more if too much is left."""
        if self._first is None:
            return
        span = self.correlation.timespan
        low, high = self._latest - span, self._latest + span
        self._cut = (low, float("inf")) if self._latest >= self._first else (float("-inf"), high)
        groups = {}
        for key, moments in self.groups.items():
            near = [moment for moment in moments if low <= moment.seconds <= high]
            if near:
                groups[key] = near
        self.groups = groups
        self._names = {key: self._names[key] for key in groups}
        self._reported = {key: seconds for key, seconds in self._reported.items() if key in groups}
        self.kept = sum(map(len, groups.values()))
        while self.kept > most and len(self.groups) > 1:
            self._drop_small_groups()
        if self.kept > most:
            for moments in self.groups.values():
                self.losses.left_out += len(moments) // 2
                del moments[: len(moments) // 2]
            self.kept = sum(map(len, self.groups.values()))

    def closest(self) -> tuple[tuple[tuple[str, str], ...], float, int] | None:
        """Return the group with the highest figure, which ``judge`` has sorted."""
        figures = [(key, best_figure(self.correlation, moments)) for key, moments in self.groups.items()]
        if not figures:
            return None
        key, figure = max(figures, key=itemgetter(1))
        return tuple(zip(self.correlation.group_by, self._names[key], strict=True)), figure, len(figures)


def _is_number(text: str) -> bool:
    try:
        number = float(text)
    except ValueError:
        return False
    return number - number == 0  # neither infinite nor NaN


def _inner_first(correlations: dict[str, Correlation]) -> list[str]:
    """Return the IDs so that each comes after those that it refers to; those in a circle are left out."""
    waiting = {
        name: Counter(rule for rule in set(one.rules) if rule in correlations) for name, one in correlations.items()
    }
    ordered: list[str] = []
    while ready := [name for name, inner in waiting.items() if not inner]:
        ordered += ready
        for name in ready:
            del waiting[name]
        for inner in waiting.values():
            for name in ready:
                inner.pop(name, None)
    return ordered
