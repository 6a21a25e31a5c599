"""What a text must contain for a pattern to match: looking for literals is a hundred times faster than a pattern. Pure.

Read from the pattern's own syntax tree (``re``'s parser), so it cannot disagree with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_Item = tuple[Any, Any]  # of the parser: what it is, and its parts

SHORTEST = 2  # a shorter one is in every text


def required_literals(pattern: str) -> list[frozenset[str]]:
    """Return sets of literals, in lower case, of each of which every match contains one; the best set first."""
    sets = {frozenset(map(str.casefold, one)) for one in _of_sequence(parser.parse(pattern)) if _is_usable(one)}
    return sorted(sets, key=lambda one: (_worth(one), sorted(one)), reverse=True)


def _of_sequence(items: Sequence[_Item]) -> Iterator[frozenset[str]]:
    """Every set of which one literal must be in the text, in the order of the pattern's parts."""
    run = ""
    for kind, value in items:
        if kind is sre.LITERAL:
            run += chr(value)
            continue
        yield frozenset([run])
        run = ""
        yield from _of_item((kind, value))
    yield frozenset([run])


def _of_item(item: _Item) -> Iterator[frozenset[str]]:
    kind, value = item
    if kind is sre.SUBPATTERN:
        yield from _of_sequence(value[3])
    elif kind is sre.BRANCH:
        choices = [_best(_of_sequence(choice)) for choice in value[1]]
        if all(choices):
            yield frozenset().union(*choices)
    elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT) and value[0] > 0:
        yield from _of_sequence(value[2])
    elif kind is sre.ATOMIC_GROUP:
        yield from _of_sequence(value)


def _best(sets: Iterator[frozenset[str]]) -> frozenset[str]:
    """The set whose shortest literal is longest."""
    return max(filter(_is_usable, sets), key=_worth, default=frozenset())


def _is_usable(literals: frozenset[str]) -> bool:
    return bool(literals) and min(map(len, literals)) >= SHORTEST


def _worth(literals: frozenset[str]) -> tuple[int, int]:
    return min(map(len, literals)), -len(literals)
