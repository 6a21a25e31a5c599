"""What a text must contain for a pattern to match: looking for literals is a hundred times faster than a pattern. Pure.

Read from the pattern's own syntax tree (``re``'s parser), so it cannot disagree with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_Item = tuple[Any, Any]  # of the parser: what it is, and its parts

SHORTEST = 3  # a shorter one is in every text


def required_literals(pattern: str) -> frozenset[str]:
    """Return literals of which every match of the pattern contains one; empty if there is no such set."""
    return _best(_of_sequence(parser.parse(pattern)))


Has = Callable[[str], bool]
"""Whether a text contains a literal."""


def needs(pattern: str) -> Callable[[Has], bool]:
    """Return a check that every text passes in which the pattern matches: it needs a literal of each of its parts."""
    check = _check(parser.parse(pattern))
    return check or (lambda _: True)


def _check(items: Sequence[_Item]) -> Callable[[Has], bool] | None:
    """All parts of a sequence, the longest literals first; None if it has no literal."""
    parts: list[tuple[int, Callable[[Has], bool]]] = []
    run = ""
    for kind, value in [*items, (None, None)]:
        if kind is sre.LITERAL:
            run += chr(value)
            continue
        if run.strip():
            parts.append((-len(run), partial(_has, run.casefold())))
        run = ""
        if (part := _check_of_item((kind, value))) is not None:
            parts.append((0, part))
    checks = [check for _, check in sorted(parts, key=lambda part: part[0])]
    if len(checks) < 2:
        return checks[0] if checks else None
    return lambda has: all(check(has) for check in checks)


def _check_of_item(item: _Item) -> Callable[[Has], bool] | None:
    kind, value = item
    if kind is sre.SUBPATTERN:
        return _check(value[3])
    if kind is sre.BRANCH:
        choices = [_check(choice) for choice in value[1]]
        known = [choice for choice in choices if choice is not None]
        return (lambda has: any(choice(has) for choice in known)) if len(known) == len(choices) else None
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT) and value[0] > 0:
        return _check(value[2])
    return _check(value) if kind is sre.ATOMIC_GROUP else None


def _has(literal: str, has: Has) -> bool:
    return has(literal)


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
    usable = [one for one in sets if one and min(map(len, one)) >= SHORTEST]
    return max(usable, key=lambda one: (min(map(len, one)), -len(one)), default=frozenset())
