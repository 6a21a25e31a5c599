"""Scores of ranked answers against one label each. Pure: what is right is decided here, once, for every set."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

TOPS = (1, 3, 5)


class Miss(StrEnum):
    """In what way an answer is not right."""

    NOTHING = "nothing named"
    RELATED = "the parent or a sibling first"
    LATER = "right, but not first"
    BEYOND = "right, but beyond the fifth"
    WRONG = "others only"


@dataclass(frozen=True)
class Answered:
    """One item of a set: the label that it has, and those that the answer names, likeliest first.

    ``seconds``: the whole turn; ``first_seconds``: until the first INFO.
    """

    name: str
    wanted: str
    ranked: tuple[str, ...]
    seconds: float = 0.0
    first_seconds: float = 0.0

    @property
    def place(self) -> int | None:
        """The rank of the expected label, from 1; None if it is missing."""
        return self.ranked.index(self.wanted) + 1 if self.wanted in self.ranked else None


@dataclass(frozen=True)
class Scores:
    """Of one set. ``precision``: how many of the first answers are right; ``recall``: how many labels are named at all.

    ``tops``: the share of items whose label is among the first 1, 3, 5.
    """

    items: int
    answered: int
    precision: float
    recall: float
    tops: dict[int, float]
    median_seconds: float
    longest_seconds: float
    first_seconds: float


def parent(label: str) -> str:
    """A technique without its sub-technique."""
    return label.partition(".")[0]


def in_terms_of(answered: Iterable[Answered], change: Callable[[str], str]) -> list[Answered]:
    """The same with every label changed; of labels that become equal the first stands."""
    return [
        Answered(
            name=one.name,
            wanted=change(one.wanted),
            ranked=tuple(dict.fromkeys(change(label) for label in one.ranked)),
            seconds=one.seconds,
            first_seconds=one.first_seconds,
        )
        for one in answered
    ]


def scores(answered: Sequence[Answered]) -> Scores:
    """Raises ValueError for none: nothing was measured."""
    if not answered:
        raise ValueError("no items: nothing was measured")
    places = [one.place for one in answered]
    named = [one for one in answered if one.ranked]
    first = sum(place == 1 for place in places)
    return Scores(
        items=len(answered),
        answered=len(named),
        precision=first / len(named) if named else 0.0,
        recall=sum(place is not None for place in places) / len(answered),
        tops={top: sum(place is not None and place <= top for place in places) / len(answered) for top in TOPS},
        median_seconds=statistics.median(one.seconds for one in answered),
        longest_seconds=max(one.seconds for one in answered),
        first_seconds=statistics.median(one.first_seconds for one in answered),
    )


@dataclass(frozen=True)
class LabelScores:
    """Of one label against all others, by the first answer."""

    items: int
    precision: float | None
    recall: float


def by_label(answered: Sequence[Answered]) -> dict[str, LabelScores]:
    """Each label that the set has; precision is None for one that no answer names first."""
    wanted = Counter(one.wanted for one in answered)
    said = Counter(one.ranked[0] for one in answered if one.ranked)
    right = Counter(one.wanted for one in answered if one.place == 1)
    return {
        label: LabelScores(
            items=count,
            precision=right[label] / said[label] if said[label] else None,
            recall=right[label] / count,
        )
        for label, count in sorted(wanted.items())
    }


def miss_of(one: Answered) -> Miss | None:
    """The kind of error; None if the expected label is first."""
    match one.place:
        case 1:
            return None
        case int(place) if place > TOPS[-1]:
            return Miss.BEYOND
        case int():
            return Miss.LATER
    if not one.ranked:
        return Miss.NOTHING
    is_related = parent(one.ranked[0]) == parent(one.wanted) and "." in one.ranked[0] + one.wanted
    return Miss.RELATED if is_related else Miss.WRONG


def misses(answered: Iterable[Answered]) -> dict[Miss, list[Answered]]:
    """What is not right, by its way, in the order of ``Miss``."""
    found = [(miss_of(one), one) for one in answered]
    return {kind: mine for kind in Miss for mine in [[one for miss, one in found if miss is kind]] if mine}
