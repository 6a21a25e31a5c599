"""Refuse patterns of the user's definitions that could take more than linear time on a hostile value.

The check is conservative and looks at the pattern alone: a repeat without a limit needs ``^`` at the beginning and, if
there are several, after each something that it cannot match itself; repeats contain no choices and no other repeats;
there are no references.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MAX_CHARS = 1_000
MAX_STEPS = 5_000  # at one place of a text
MAX_ANCHORED_STEPS = 500_000  # of a pattern that is tried at one place only
MANY = 1_000  # repeats that count as without a limit
MAX_GROUP_REPEATS = 64
_OTHER = 256  # stands for all characters after the first 256
_ALL = (1 << (_OTHER + 1)) - 1
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_REFUSED = {
    sre.GROUPREF: "a reference to a group",
    sre.GROUPREF_EXISTS: "a condition on a group",
}
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_NOT_DIGIT: r"\D", sre.CATEGORY_SPACE: r"\s", sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w", sre.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


class PatternError(ValueError):
    """The pattern cannot be used; the text says why."""


def check_pattern(pattern: str, *, is_anchored: bool = False) -> None:
    """Check that a pattern takes linear time.

    Args:
        pattern: The pattern.
        is_anchored: Whether it is only tried at the beginning of a text.

    Raises:
        PatternError: It does not compile, is too long, or could take more than linear time.
    """
    if len(pattern) > MAX_CHARS:
        raise PatternError(f"it has {len(pattern):,} characters; the limit is {MAX_CHARS:,}")
    try:
        re.compile(pattern)
        tree = parser.parse(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"it is no valid regular expression: {error}") from error
    items = list(tree)
    branches = [list(one) for one in items[0][1][1]] if len(items) == 1 and items[0][0] is sre.BRANCH else [items]
    for branch in branches:
        starts = (sre.AT_BEGINNING_STRING,) if tree.state.flags & re.MULTILINE else _STARTS
        has_anchor = is_anchored or (bool(branch) and branch[0][0] is sre.AT and branch[0][1] in starts)
        _Checker(has_anchor=has_anchor).check(branch)


_STARTS = (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING)
_ENDS = (sre.AT_END, sre.AT_END_STRING)
_Op = Any  # the parser has no types
_Item = tuple[_Op, _Op]


class _Checker:
    """Counts the ways in which a pattern can match at one place, and the characters that are looked at in each."""

    def __init__(self, *, has_anchor: bool) -> None:
        self._has_anchor = has_anchor
        self._length = 1  # of all repeats with a limit
        self._unlimited = 0
        self._is_unlimited_ambiguous = False

    def check(self, items: Sequence[_Item]) -> None:
        """Check a pattern without outer choices. Raises PatternError."""
        steps = self.ways(items, 0, is_last=True) * self._length
        limit = MAX_ANCHORED_STEPS if self._has_anchor else MAX_STEPS
        if steps > limit:
            raise PatternError(f"its repeats take {steps:,} steps at one place; the limit is {limit:,}")
        if self._is_unlimited_ambiguous and self._unlimited > 1:
            raise PatternError("what follows a repeat without a limit can also be matched by it; write {0,100}")

    def ways(self, items: Sequence[_Item], after: int, *, is_last: bool) -> int:
        """Return the ways, at most, of a sequence; ``after`` are the characters that can follow it.

        ``is_last``: nothing has to follow the sequence.
        """
        ways = 1
        for position, (op, argument) in enumerate(items):
            rest = items[position + 1 :]
            ways *= self._ways(op, argument, _first(rest, after), is_last=is_last and not rest)
            if ways > MAX_ANCHORED_STEPS:
                break
        return ways

    def _ways(self, op: _Op, argument: _Op, following: int, *, is_last: bool) -> int:
        if op in _REFUSED:
            raise PatternError(f"it has {_REFUSED[op]}")
        if op is sre.SUBPATTERN:
            return self.ways(list(argument[3]), following, is_last=is_last)
        if op is sre.ATOMIC_GROUP:
            return self.ways(list(argument), following, is_last=is_last)
        if op is sre.BRANCH:
            return sum(self.ways(list(one), following, is_last=is_last) for one in argument[1])
        if op in (sre.ASSERT, sre.ASSERT_NOT):
            return self.ways(list(argument[1]), _ALL, is_last=False)
        if op in _REPEATS:
            low, high, body = argument
            return self._repeat(low, high, list(body), following, is_last=is_last)
        return 1

    def _repeat(self, low: int, high: int, body: Sequence[_Item], following: int, *, is_last: bool) -> int:
        inner = list(body)
        if high == 1:
            return 1 + self.ways(inner, following, is_last=is_last)
        if len(inner) != 1 or (chars := _set_of(*inner[0])) is None:
            if _is_varied(inner):
                raise PatternError("a repeat contains another repeat or a choice")
            self._length += int(high) * len(inner)
            if high > MAX_GROUP_REPEATS:
                raise PatternError(f"a group is repeated more than {MAX_GROUP_REPEATS} times")
            return int(high) - low + 1
        is_ambiguous = not is_last and bool(chars & following)
        if high < MANY:
            self._length += int(high)
            return int(high) - low + 1 if is_ambiguous else 1
        if not self._has_anchor:
            raise PatternError("a repeat without a limit needs ^ at the beginning of the pattern; or write {0,100}")
        self._unlimited += 1
        self._is_unlimited_ambiguous |= is_ambiguous
        return 1


def _is_varied(items: Sequence[_Item]) -> bool:
    """Whether a sequence can match in several ways."""
    for op, argument in items:
        if op is sre.BRANCH or op in _REFUSED or op in (sre.ASSERT, sre.ASSERT_NOT):
            return True
        if op in _REPEATS and (argument[0] != argument[1] or _is_varied(list(argument[2]))):
            return True
        if op is sre.SUBPATTERN and _is_varied(list(argument[3])):
            return True
    return False


def _first(items: Sequence[_Item], after: int) -> int:
    """Return the characters with which a sequence can begin, and ``after`` if it can be empty."""
    found = 0
    for op, argument in items:
        chars, is_optional = _begin(op, argument)
        found |= chars
        if not is_optional:
            return found
    return found | after


def _begin(op: _Op, argument: _Op) -> tuple[int, bool]:
    """Return the characters with which an item can begin, and whether it can be empty."""
    if (chars := _set_of(op, argument)) is not None:
        return chars, False
    if op in _REPEATS:
        low, _, body = argument
        inner = _first(list(body), 0)
        return inner, low == 0 or _is_empty(list(body))
    if op is sre.SUBPATTERN:
        return _first(list(argument[3]), 0), _is_empty(list(argument[3]))
    if op is sre.BRANCH:
        branches = [list(one) for one in argument[1]]
        begins = 0
        for branch in branches:
            begins |= _first(branch, 0)
        return begins, any(map(_is_empty, branches))
    if op is sre.AT and argument in _ENDS:
        return 1 << ord("\n"), False
    return _ALL, True


def _is_empty(items: Sequence[_Item]) -> bool:
    """Whether a sequence can match nothing."""
    return all(_begin(op, argument)[1] for op, argument in items)


def _set_of(op: _Op, argument: _Op) -> int | None:
    """Return the set of characters of an item that matches one; None if it is another item. Letters in both cases."""
    if op is sre.LITERAL:
        return _both_cases(1 << min(int(argument), _OTHER))
    if op is sre.ANY:
        return _ALL
    if op is sre.NOT_LITERAL:
        return _ALL & ~(1 << argument) if argument < _OTHER else _ALL
    if op is not sre.IN:
        return None
    found, is_negated = 0, False
    for kind, value in argument:
        if kind is sre.NEGATE:
            is_negated = True
        elif kind is sre.LITERAL:
            found |= 1 << min(value, _OTHER)
        elif kind is sre.RANGE:
            for code in range(value[0], min(value[1], _OTHER) + 1):
                found |= 1 << code
            found |= (value[1] >= _OTHER) << _OTHER
        else:
            found |= _category(value)
    if not is_negated:
        return _both_cases(found)
    return _ALL & ~(found & ~(1 << _OTHER))


def _both_cases(found: int) -> int:
    for code in range(_OTHER):
        if found >> code & 1:
            for form in (chr(code).lower(), chr(code).upper()):
                found |= 1 << min(ord(form[0]), _OTHER)
    return found


def _category(category: object) -> int:
    pattern = _CATEGORIES.get(category)
    if pattern is None:
        return _ALL
    one = re.compile(pattern)
    return sum(1 << code for code in range(_OTHER) if one.match(chr(code))) | 1 << _OTHER
