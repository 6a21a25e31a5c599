"""The condition of a compiled Sigma rule as a tree, and the predicate made from it.

A predicate gets an event's values in the slots numbered by a ``Layout``. Semantics: the Sigma specification
(sigmahq.io/docs/basics/rules). Text is compared case-insensitively unless the rule says ``cased``. A field that the
event lacks is empty, so it fails every test except ``null``, and ``not`` inverts that. All tests take linear time in
the value, except ``re`` without google-re2 (part of the extra ``sigma``), which gets at most MAX_REGEX_CHARS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Literal, Protocol

import msgspec

from svc.assistant.sigma.expression_words import Clause, clauses_of_any

try:
    import re2 as engine
except ImportError:
    engine = re

MAX_REGEX_CHARS = 16_384  # of one value; script blocks are logged in parts of 16,000 to 32,000

LONG_CHARS = 256  # in longer values, three letters of a word are looked up before the word: measured, 6 times faster
MAX_TRIED = 16  # words before an expression: measured, a search takes as long as some 25
_COMMON = " etaoinsrlhdcmpu"  # the most frequent letters, in order; others are rarer

ValueForm = Literal["lower", "unchanged", "exists"]
Trigram = tuple[str, str, str]


class Values(list[str]):
    """An event's values by slot, and the trigrams of long ones."""

    __slots__ = ("_trigrams",)

    def __init__(self, values: Iterable[str]) -> None:
        super().__init__(values)
        self._trigrams: dict[int, frozenset[Trigram]] = {}

    def trigrams(self, slot: int) -> frozenset[Trigram]:
        """Return the trigrams of one value; computed once."""
        known = self._trigrams.get(slot)
        if known is None:
            text = self[slot]
            known = self._trigrams[slot] = frozenset(zip(text, text[1:], text[2:], strict=False))
        return known


Predicate = Callable[[Values], bool]
Comparison = Literal[
    "equals", "contains", "startswith", "endswith", "parts", "re", "cidr", "null", "exists",
    "lt", "lte", "gt", "gte", "minute", "hour", "day", "week", "month", "year",
    "same as", "starts with field", "ends with field", "contains field",
]  # fmt: skip


class Every(msgspec.Struct, frozen=True, array_like=True, tag="every"):
    """All conditions hold."""

    nodes: tuple[Node, ...]


class Some(msgspec.Struct, frozen=True, array_like=True, tag="some"):
    """At least one condition holds."""

    nodes: tuple[Node, ...]


class Not(msgspec.Struct, frozen=True, array_like=True, tag="not"):
    """The condition does not hold."""

    node: Node


class Check(msgspec.Struct, frozen=True, array_like=True, tag="check"):
    """Compare one field with values, of which one must match; ``parts`` must all occur in this order.

    ``field`` "" is all of the event's values: a keyword search. ``parts`` are the texts between a pattern's ``*``.
    """

    field: str
    comparison: Comparison
    values: tuple[str, ...] = ()
    is_cased: bool = False


Node = Every | Some | Not | Check


UNUSABLE: tuple[type[Exception], ...] = (re.error, engine.error, ValueError, IndexError)
"""Raised by ``predicate``."""


class Layout:
    """Numbers the slots, each a field in one form; predicates ask for slots while they are built."""

    def __init__(self) -> None:
        self.slots: dict[tuple[str, ValueForm], int] = {}

    def slot(self, field: str, form: ValueForm) -> int:
        """Return the number of a slot, a new one if it is not known yet."""
        return self.slots.setdefault((field, form), len(self.slots))


def predicate(node: Node, layout: Layout) -> Predicate:
    """Return ``node`` as a function of an event's values.

    Raises:
        UNUSABLE: A regular expression, network or number in it is invalid.
    """
    match node:
        case Every(nodes):
            return _every([predicate(child, layout) for child in sorted(nodes, key=_has_expression)])
        case Some(nodes):
            return _some([predicate(child, layout) for child in sorted(nodes, key=_has_expression)])
        case Not(child):
            inner = predicate(child, layout)
            return lambda values: not inner(values)
        case Check():
            return _check(node, layout)


def _has_expression(node: Node) -> bool:
    """Return whether a condition searches with a regular expression: these cost most, so they come last."""
    match node:
        case Every(nodes) | Some(nodes):
            return any(map(_has_expression, nodes))
        case Not(child):
            return _has_expression(child)
        case Check(comparison=comparison):
            return comparison == "re"


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
            return _expression(wanted, layout.slot(check.field, "unchanged"), layout.slot(check.field, "lower"))
        case "cidr":
            return _network(wanted, layout.slot(check.field, "unchanged"))
        case "exists":
            there = layout.slot(check.field, "exists")
            return lambda values: bool(values[there])
        case "lt" | "lte" | "gt" | "gte":
            return _number(check.comparison, float(wanted[0]), layout.slot(check.field, "unchanged"))
        case "minute" | "hour" | "day" | "week" | "month" | "year":
            return _part_of_time(check.comparison, {int(one) for one in wanted}, layout.slot(check.field, "unchanged"))
        case "same as" | "starts with field" | "ends with field" | "contains field":
            return _two_fields(check, layout)
        case "null":
            slot = layout.slot(check.field, "lower")
            return lambda values: not values[slot]
        case "equals" | "contains" | "startswith" | "endswith" | "parts":
            return _text(check.comparison, wanted, layout.slot(check.field, "unchanged" if check.is_cased else "lower"))


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
    gated: list[tuple[str, Trigram | None]] = []  # made for the first long text: most rules never see one

    def contains(values: Values) -> bool:
        text = values[slot]
        if len(text) < LONG_CHARS:
            for part in wanted:  # noqa: SIM110 - as above
                if part in text:
                    return True
            return False
        if not gated:
            gated.extend((part, rarest_trigram(part)) for part in wanted)
        trigrams = values.trigrams(slot)
        for part, trigram in gated:  # noqa: SIM110 - as above
            if (trigram is None or trigram in trigrams) and part in text:
                return True
        return False

    return contains


def rarest_trigram(part: str) -> Trigram | None:
    """Return the rarest trigram of a word; None if it is shorter than that."""
    trigrams = list(zip(part, part[1:], part[2:], strict=False))
    return max(trigrams, key=_rarity, default=None)


def _rarity(trigram: Trigram) -> int:
    return sum(_COMMON.index(letter) if letter in _COMMON else len(_COMMON) for letter in trigram)


def _parts(parts: tuple[str, ...], slot: int) -> Predicate:
    first, *middle, last = parts

    def occur_in_order(values: Values) -> bool:
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

    return occur_in_order


class _Expression(Protocol):
    def search(self, text: str, /) -> object | None: ...


def _expression(wanted: tuple[str, ...], slot: int, lower: int) -> Predicate:
    expressions = _joined(wanted)
    needed: list[Clause] | None = None  # read for the first value, as above

    def found(values: Values) -> bool:
        nonlocal needed
        if needed is None:
            needed = [words for words in clauses_of_any(wanted) if len(words) <= MAX_TRIED]
        folded = values[lower]
        if folded.isascii():
            for words in needed:
                for word in words:
                    if word in folded:
                        break
                else:
                    return False
        text = values[slot][:MAX_REGEX_CHARS]
        if not text.isascii():  # re2 raises on lone surrogates
            text = text.encode("utf-8", "replace").decode()
        for expression in expressions:  # noqa: SIM110 - as above
            if expression.search(text):
                return True
        return False

    return found


def _joined(wanted: tuple[str, ...]) -> list[_Expression]:
    """Return the expressions as one, if that is possible: each search has its price."""
    each: list[_Expression] = [engine.compile(one) for one in wanted]  # raises for an invalid one
    if len(wanted) < 2:
        return each
    try:
        return [engine.compile("|".join(f"(?:{one})" for one in wanted))]
    except UNUSABLE:  # together they are too large
        return each


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


def _part_of_time(part: str, wanted: set[int], slot: int) -> Predicate:
    """Compare a part of a time as it is written, without converting its zone; without a year, neither week nor year."""

    def compared(values: Values) -> bool:
        text = values[slot]
        if lacks_year := text.startswith("--"):
            text = f"2000-{text[2:]}"
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return False
        if part in ("week", "year"):
            return not lacks_year and (moment.year if part == "year" else moment.isocalendar().week) in wanted
        return getattr(moment, part) in wanted

    return compared


def _two_fields(check: Check, layout: Layout) -> Predicate:
    here, there = layout.slot(check.field, "lower"), layout.slot(check.values[0], "lower")
    match check.comparison:
        case "starts with field":
            return lambda values: bool(values[there]) and values[here].startswith(values[there])
        case "ends with field":
            return lambda values: bool(values[there]) and values[here].endswith(values[there])
        case "contains field":
            return lambda values: bool(values[there]) and values[there] in values[here]
        case _:
            return lambda values: bool(values[there]) and values[here] == values[there]
