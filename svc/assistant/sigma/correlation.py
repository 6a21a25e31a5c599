"""A Sigma correlation as data, and the windows of time in which it holds.

Specification: sigmahq.io, "Sigma Correlation Rules". A window slides over a group's events in the order of time. A
condition with only lower bounds holds from the event that reaches it; any other one is judged on windows that cannot
grow, so that the first event of a flood is not "fewer than five". Linear in the events but for a sort and a logarithm.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

from svc.assistant.sigma.condition import Layout, Node, Values, predicate
from svc.assistant.sigma.event import Event

CorrelationType = Literal[
    "event_count", "value_count", "temporal", "temporal_ordered",
    "value_sum", "value_avg", "value_percentile", "value_median", "value_min", "value_max",
]  # fmt: skip
Operator = Literal["gt", "gte", "lt", "lte", "eq", "neq"]
_HOLDS: dict[Operator, Callable[[float, float], bool]] = {
    "gt": float.__gt__, "gte": float.__ge__, "lt": float.__lt__,
    "lte": float.__le__, "eq": float.__eq__, "neq": float.__ne__,
}  # fmt: skip
_GROWING = frozenset({"event_count", "value_count", "temporal", "temporal_ordered", "value_sum", "value_max"})
NUMERIC = frozenset({"value_sum", "value_avg", "value_percentile", "value_median", "value_min", "value_max"})


class Correlation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What relates events that other rules match.

    ``rules`` are the IDs of those rules, in order; ``timespan`` is in seconds. All ``bounds`` must hold for the figure
    that the type counts. ``aliases`` give for a name in ``group_by`` the field in the events of each rule (by ID).
    ``expression`` of a temporal correlation combines rules: a check of the field named by the rule's ID.
    """

    type: CorrelationType
    rules: tuple[str, ...]
    timespan: int
    group_by: tuple[str, ...] = ()
    bounds: tuple[tuple[Operator, float], ...] = ()
    fields: tuple[str, ...] = ()
    percentile: float = 50.0
    aliases: dict[str, dict[str, str]] = {}
    expression: Node | None = None

    def field_of(self, name: str, rule: str) -> str:
        """Return the field that ``name`` means in the events of a rule."""
        return self.aliases.get(name, {}).get(rule, name)

    def is_met(self, figure: float) -> bool:
        """Return whether the figure of a window is within all bounds."""
        return all(_HOLDS[operator](float(figure), float(bound)) for operator, bound in self.bounds)

    @property
    def is_growing(self) -> bool:
        """Whether a window that meets the condition still meets it with more events."""
        return (
            self.type in _GROWING
            and self.expression is None
            and all(operator in ("gt", "gte") for operator, _ in self.bounds)
        )


class MatchedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event that one of the rules matched: the ``stage`` is the rule's place; ``carried`` is for outer rules."""

    seconds: float
    number: int
    stage: int
    value: str
    carried: tuple[str, ...]
    event: Event


class Stretch(NamedTuple):
    """Consecutive windows that meet the condition, as places of moments: it begins, is met, and ends there."""

    first: int
    met: int
    last: int
    figure: float


class _Tally(Protocol):
    """The figure of a window that slides."""

    def add(self, moment: MatchedEvent) -> None: ...
    def remove(self, moment: MatchedEvent) -> None: ...
    def figure(self) -> float: ...


class _EventCount:
    def __init__(self) -> None:
        self._count = 0

    def add(self, moment: MatchedEvent) -> None:
        self._count += 1

    def remove(self, moment: MatchedEvent) -> None:
        self._count -= 1

    def figure(self) -> float:
        return self._count


class _Distinct:
    """Counts different values, or different stages, and whether an expression over the stages holds."""

    def __init__(self, correlation: Correlation) -> None:
        self._counts: Counter[str] = Counter()
        self._is_temporal = correlation.type == "temporal"
        self._rules = correlation.rules
        self._holds: Callable[[Values], bool] | None = None
        if correlation.expression is not None:
            layout = Layout()
            self._holds = predicate(correlation.expression, layout)
            self._slots = [field for field, _ in layout.slots]

    def _key(self, moment: MatchedEvent) -> str:
        return self._rules[moment.stage] if self._is_temporal else moment.value

    def add(self, moment: MatchedEvent) -> None:
        self._counts[self._key(moment)] += 1

    def remove(self, moment: MatchedEvent) -> None:
        key = self._key(moment)
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]

    def figure(self) -> float:
        if self._holds is None:
            return len(self._counts)
        return float(self._holds(Values("yes" if rule in self._counts else "" for rule in self._slots)))


class _Numbers:
    """Sums and ranks of numbers; a binary indexed tree over the sorted values finds any rank."""

    def __init__(self, correlation: Correlation, moments: Sequence[MatchedEvent]) -> None:
        self._type = correlation.type
        self._share = {"value_median": 0.5, "value_min": 0.0, "value_max": 1.0}.get(
            correlation.type, correlation.percentile / 100
        )
        self._count, self._sum = 0, 0.0
        self._sorted = sorted({float(moment.value) for moment in moments})
        self._tree = [0] * (len(self._sorted) + 1)
        self._top = 1 << len(self._sorted).bit_length()

    def add(self, moment: MatchedEvent) -> None:
        self._change(float(moment.value), 1)

    def remove(self, moment: MatchedEvent) -> None:
        self._change(float(moment.value), -1)

    def _change(self, value: float, step: int) -> None:
        self._count += step
        self._sum = self._sum + step * value if self._count else 0.0
        if self._type in ("value_sum", "value_avg"):
            return
        place = bisect_left(self._sorted, value) + 1
        while place < len(self._tree):
            self._tree[place] += step
            place += place & -place

    def figure(self) -> float:
        if self._type == "value_sum":
            return self._sum
        if self._type == "value_avg":
            return self._sum / self._count
        position = self._share * (self._count - 1)
        below = int(position)
        low = self._ranked(below)
        return low if position == below else low + (self._ranked(below + 1) - low) * (position - below)

    def _ranked(self, rank: int) -> float:
        """Return the value of a rank, from 0."""
        place, step = 0, self._top
        while step:
            if place + step < len(self._tree) and self._tree[place + step] <= rank:
                place += step
                rank -= self._tree[place]
            step >>= 1
        return self._sorted[place]


def stretches(correlation: Correlation, moments: Sequence[MatchedEvent]) -> Iterator[Stretch]:
    """Yield where the condition holds among the moments of a group, which are in the order of time."""
    matches = (
        _ordered(correlation, moments) if correlation.type == "temporal_ordered" else _windows(correlation, moments)
    )
    current: Stretch | None = None
    for first, last, figure in matches:
        if not (correlation.is_met(figure) if correlation.expression is None else figure):
            continue
        if current is not None and first <= current.last:
            current = Stretch(current.first, current.met, last, max(figure, current.figure))
            continue
        if current is not None:
            yield current
        current = Stretch(first, last, last, figure)
    if current is not None:
        yield current


def best_figure(correlation: Correlation, moments: Sequence[MatchedEvent]) -> float:
    """Return the highest figure that a window reaches, to explain how far a rule is from matching."""
    matches = (
        _ordered(correlation, moments) if correlation.type == "temporal_ordered" else _windows(correlation, moments)
    )
    return max((figure for _, _, figure in matches), default=0.0)


def _windows(correlation: Correlation, moments: Sequence[MatchedEvent]) -> Iterator[tuple[int, int, float]]:
    tally: _Tally
    if correlation.type in NUMERIC:
        tally = _Numbers(correlation, moments)
    else:
        tally = _EventCount() if correlation.type == "event_count" else _Distinct(correlation)
    left, is_growing = 0, correlation.is_growing
    for right, moment in enumerate(moments):
        while moment.seconds - moments[left].seconds > correlation.timespan:
            tally.remove(moments[left])
            left += 1
        tally.add(moment)
        can_grow = (
            right + 1 < len(moments) and moments[right + 1].seconds - moments[left].seconds <= correlation.timespan
        )
        if is_growing or not can_grow:
            yield left, right, tally.figure()


def _ordered(correlation: Correlation, moments: Sequence[MatchedEvent]) -> Iterator[tuple[int, int, float]]:
    """Yield for each moment the longest chain of rules in order that ends there within the time span.

    ``starts[stage][length]`` is the latest first moment of a chain of so many rules that ends with this stage.
    """
    count = len(correlation.rules)
    starts: list[list[int]] = [[-1] * (count + 1) for _ in range(count)]
    for place, moment in enumerate(moments):
        reached = starts[moment.stage]
        reached[1] = place
        for length in range(2, moment.stage + 2):
            before = max((starts[stage][length - 1] for stage in range(moment.stage)), default=-1)
            reached[length] = max(reached[length], before)
        for length in range(moment.stage + 1, 0, -1):
            first = reached[length]
            if first >= 0 and moment.seconds - moments[first].seconds <= correlation.timespan:
                yield first, place, float(length)
                break
