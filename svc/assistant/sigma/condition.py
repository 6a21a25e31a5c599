"""What a compiled Sigma rule asks of an event, as a tree, and the predicate that a tree becomes. Pure.

A predicate sees an event's values in the slots that a ``Layout`` numbered. Meanings after the Sigma specification
(sigmahq.io/docs/basics/rules): text is compared without case unless the rule says ``cased``; a field that the event
does not have is empty, so that it fails every test but ``null`` and ``not`` inverts that. Nothing here is slower than
linear in a value but ``re`` without google-re2 (which comes with the extra ``sigma``), and it sees MAX_REGEX_CHARS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Literal, Protocol

import msgspec

try:
    import re2 as engine
except ImportError:
    engine = re

MAX_REGEX_CHARS = 16_384  # of one value; script blocks are logged in parts of 16,000 to 32,000

LONG_CHARS = 256  # from here on, three letters of a word are looked up before the word is: measured, six times faster
_COMMON = " etaoinsrlhdcmpu"  # the commonest letters, commonest first: what is not in it tells most

Form = Literal["lower", "as it stands", "is there"]
_Three = tuple[str, str, str]


class Values(list[str]):
    """An event's values by slot, and, of long ones, every three letters that stand side by side."""

    __slots__ = ("_threes",)

    def __init__(self, values: Iterable[str]) -> None:
        super().__init__(values)
        self._threes: dict[int, frozenset[_Three]] = {}

    def threes(self, slot: int) -> frozenset[_Three]:
        """Those of one value; made once."""
        known = self._threes.get(slot)
        if known is None:
            text = self[slot]
            known = self._threes[slot] = frozenset(zip(text, text[1:], text[2:], strict=False))
        return known


Predicate = Callable[[Values], bool]
Comparison = Literal[
    "equals", "contains", "startswith", "endswith", "parts", "re", "cidr", "null", "exists",
    "lt", "lte", "gt", "gte", "same as", "starts with field", "ends with field",
]  # fmt: skip


class Every(msgspec.Struct, frozen=True, array_like=True, tag="every"):
    """All of them hold."""

    nodes: tuple[Node, ...]


class Some(msgspec.Struct, frozen=True, array_like=True, tag="some"):
    """At least one of them holds."""

    nodes: tuple[Node, ...]


class Not(msgspec.Struct, frozen=True, array_like=True, tag="not"):
    """It does not hold."""

    node: Node


class Check(msgspec.Struct, frozen=True, array_like=True, tag="check"):
    """One field against one or more values: one of them is enough, but for ``parts``, which stand in this order.

    ``field`` "" is all of the event's values, a keyword search. ``parts`` are what stands between a pattern's ``*``.
    """

    field: str
    comparison: Comparison
    values: tuple[str, ...] = ()
    is_cased: bool = False


Node = Every | Some | Not | Check


UNUSABLE: tuple[type[Exception], ...] = (re.error, engine.error, ValueError, IndexError)
"""What ``predicate`` raises."""


class Layout:
    """Which slot holds which field in which form; predicates ask for slots while they are built."""

    def __init__(self) -> None:
        self.slots: dict[tuple[str, Form], int] = {}

    def slot(self, field: str, form: Form) -> int:
        """The number of the slot; a new one where nobody asked for it before."""
        return self.slots.setdefault((field, form), len(self.slots))


def predicate(node: Node, layout: Layout) -> Predicate:
    """``node`` as a function of an event's values. Raises ``UNUSABLE`` for what is no expression, network or number."""
    match node:
        case Every(nodes):
            return _every([predicate(child, layout) for child in nodes])
        case Some(nodes):
            return _some([predicate(child, layout) for child in nodes])
        case Not(child):
            inner = predicate(child, layout)
            return lambda values: not inner(values)
        case Check():
            return _check(node, layout)


def _every(inner: list[Predicate]) -> Predicate:
    if len(inner) == 2:
        first, second = inner
        return lambda values: first(values) and second(values)

    def every(values: Values) -> bool:
        for holds in inner:  # noqa: SIM110 - all() over a generator takes twice as long
            if not holds(values):
                return False
        return True

    return every


def _some(inner: list[Predicate]) -> Predicate:
    def some(values: Values) -> bool:
        for holds in inner:  # noqa: SIM110 - as above
            if holds(values):
                return True
        return False

    return some


def _check(check: Check, layout: Layout) -> Predicate:
    wanted = check.values
    match check.comparison:
        case "re":
            return _expression(wanted, layout.slot(check.field, "as it stands"))
        case "cidr":
            return _network(wanted, layout.slot(check.field, "as it stands"))
        case "exists":
            there = layout.slot(check.field, "is there")
            return lambda values: bool(values[there])
        case "lt" | "lte" | "gt" | "gte":
            return _number(check.comparison, float(wanted[0]), layout.slot(check.field, "as it stands"))
        case "same as" | "starts with field" | "ends with field":
            return _two_fields(check, layout)
        case "null":
            slot = layout.slot(check.field, "lower")
            return lambda values: not values[slot]
        case "equals" | "contains" | "startswith" | "endswith" | "parts":
            return _text(
                check.comparison, wanted, layout.slot(check.field, "as it stands" if check.is_cased else "lower")
            )


def _text(comparison: str, wanted: tuple[str, ...], slot: int) -> Predicate:
    first, is_one = wanted[0], len(wanted) == 1
    match comparison:
        case "equals" if is_one:
            return lambda values: values[slot] == first
        case "equals":
            table = frozenset(wanted)
            return lambda values: values[slot] in table
        case "contains":
            return _contains(wanted, slot)
        case "startswith":
            return lambda values: values[slot].startswith(wanted)
        case "endswith":
            return lambda values: values[slot].endswith(wanted)
        case _:
            return _parts(wanted, slot)


def _contains(wanted: tuple[str, ...], slot: int) -> Predicate:
    gated = [(part, _rarest(part)) for part in wanted]

    def contains(values: Values) -> bool:
        text = values[slot]
        if len(text) < LONG_CHARS:
            for part in wanted:  # noqa: SIM110 - as above
                if part in text:
                    return True
            return False
        threes = values.threes(slot)
        for part, three in gated:  # noqa: SIM110 - as above
            if (three is None or three in threes) and part in text:
                return True
        return False

    return contains


def _rarest(part: str) -> _Three | None:
    """The three letters side by side that few texts have; None for a shorter word."""
    threes = list(zip(part, part[1:], part[2:], strict=False))
    return max(threes, key=_rarity, default=None)


def _rarity(three: _Three) -> int:
    return sum(_COMMON.index(letter) if letter in _COMMON else len(_COMMON) for letter in three)


def _parts(parts: tuple[str, ...], slot: int) -> Predicate:
    first, *middle, last = parts

    def stand_in_order(values: Values) -> bool:
        text = values[slot]
        if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
            return False
        position, end = len(first), len(text) - len(last)
        for part in middle:
            found = text.find(part, position, end)
            if found < 0:
                return False
            position = found + len(part)
        return True

    return stand_in_order


class _Expression(Protocol):
    def search(self, text: str, /) -> object | None: ...


def _expression(wanted: tuple[str, ...], slot: int) -> Predicate:
    expressions: list[_Expression] = [engine.compile(one) for one in wanted]

    def found(values: Values) -> bool:
        text = values[slot][:MAX_REGEX_CHARS]
        if not text.isascii():  # half a character would be an error to re2
            text = text.encode("utf-8", "replace").decode()
        return any(expression.search(text) for expression in expressions)

    return found


def _network(wanted: tuple[str, ...], slot: int) -> Predicate:
    networks: list[IPv4Network | IPv6Network] = [ip_network(one) for one in wanted]

    def is_in(values: Values) -> bool:
        try:
            address = ip_address(values[slot])
        except ValueError:
            return False
        return any(address in network for network in networks)

    return is_in


def _number(comparison: str, bound: float, slot: int) -> Predicate:
    def compared(values: Values) -> bool:
        try:
            number = float(values[slot])
        except ValueError:
            return False
        match comparison:
            case "lt":
                return number < bound
            case "lte":
                return number <= bound
            case "gt":
                return number > bound
            case _:
                return number >= bound

    return compared


def _two_fields(check: Check, layout: Layout) -> Predicate:
    here, there = layout.slot(check.field, "lower"), layout.slot(check.values[0], "lower")
    match check.comparison:
        case "starts with field":
            return lambda values: bool(values[there]) and values[here].startswith(values[there])
        case "ends with field":
            return lambda values: bool(values[there]) and values[here].endswith(values[there])
        case _:
            return lambda values: bool(values[there]) and values[here] == values[there]
