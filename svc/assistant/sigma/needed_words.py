"""Decide from a value's letters which rules can match it, so that only these are evaluated.

Most rules need one of a few words in one field, a regular expression one of those that each match contains
(``expression_words.py``). Each word is looked up by three of its letters in a row, the rarest; a value's triples name
the words that may be in it, and those that are name rules; a word that must be the whole value is looked up as it is.
What is left out cannot match; what is not is evaluated. A set of rules is an integer with a bit for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from svc.assistant.sigma.condition import Check, Every, Layout, Node, Some, Trigram, rarest_trigram
from svc.assistant.sigma.expression_words import clauses_of_any, rank

MAX_CHARS = 4_000  # of a value; longer ones are left to the rules themselves
MAX_REMEMBERED = 5_000  # values of one field
MAX_REMEMBERED_CHARS = 300
MAX_REMEMBERED_SETS = 500  # of rules
_HOLDS: dict[str, Callable[[str, str], bool]] = {
    "equals": str.__eq__, "contains": str.__contains__, "startswith": str.startswith, "endswith": str.endswith,
}  # fmt: skip


class NeededWord(msgspec.Struct, frozen=True):
    """A word that must be in a field's value, as ``comparison`` says where; ``trigram`` is part of it.

    A whole value has no trigram; a word ``of_expression`` is only needed in ASCII.
    """

    slot: int
    trigram: Trigram | None
    comparison: str
    word: str
    of_expression: bool = False


class FieldWords:
    """The rules that need a word in one field, by the words, by their triples."""

    def __init__(self) -> None:
        self._by_trigram: dict[Trigram, dict[tuple[Callable[[str, str], bool], str], int]] = {}
        self._by_value: dict[str, int] = {}
        self._all = self._of_expressions = 0
        self._remembered: dict[str, int] = {}

    def add(self, word: NeededWord, rule: int) -> None:
        """Add a rule, by the number of its bit."""
        self._all |= 1 << rule
        if word.of_expression:
            self._of_expressions |= 1 << rule
        if word.trigram is None:
            self._by_value[word.word] = self._by_value.get(word.word, 0) | 1 << rule
            return
        words = self._by_trigram.setdefault(word.trigram, {})
        key = _HOLDS[word.comparison], word.word
        words[key] = words.get(key, 0) | 1 << rule

    def candidates(self, value: str) -> int:
        """Return the rules one of whose words may be in the value, which is in the form that they compare."""
        known = self._remembered.get(value)
        if known is not None:
            return known
        if len(value) > MAX_CHARS:
            return self._all
        found, by_trigram = self._by_value.get(value, 0), self._by_trigram
        if not value.isascii():
            found |= self._of_expressions
        if by_trigram:
            for trigram in by_trigram.keys() & set(zip(value, value[1:], value[2:], strict=False)):
                for (holds, word), rules in by_trigram[trigram].items():
                    if holds(value, word):
                        found |= rules
        if len(value) <= MAX_REMEMBERED_CHARS:
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
            self._remembered[value] = found
        return found


def needed_words(node: Node, layout: Layout) -> tuple[NeededWord, ...] | None:
    """Return words of which at least one is needed for the condition to hold; None if that is not known."""
    match node:
        case Check(comparison=comparison) if comparison in _HOLDS or comparison == "parts":
            return _of_check(node, layout)
        case Check(comparison="re"):
            return _of_expression(node, layout)
        case Every(nodes):
            each = [words for child in nodes if (words := needed_words(child, layout)) is not None]
            return min(each, key=lambda words: _rank(words, layout), default=None)
        case Some(nodes):
            found: list[NeededWord] = []
            for child in nodes:
                words = needed_words(child, layout)
                if words is None:
                    return None
                found += words
            return tuple(dict.fromkeys(found))
        case _:
            return None


def _of_check(check: Check, layout: Layout) -> tuple[NeededWord, ...] | None:
    is_in_parts, is_whole = check.comparison == "parts", check.comparison == "equals"
    values = (max(check.values, key=len),) if is_in_parts else check.values
    slot = layout.slot(check.field, "unchanged" if check.is_cased else "lower")
    words = []
    for value in values:
        trigram = None if is_whole else rarest_trigram(value)
        if trigram is None and not (is_whole and value):  # a word of two letters has none
            return None
        words.append(NeededWord(slot, trigram, "contains" if is_in_parts else check.comparison, value))
    return tuple(words)


def _of_expression(check: Check, layout: Layout) -> tuple[NeededWord, ...] | None:
    slot = layout.slot(check.field, "lower")
    for words in clauses_of_any(check.values):
        trigrams = [rarest_trigram(word) for word in words]
        if None not in trigrams:
            return tuple(
                NeededWord(slot, trigram, "contains", word, of_expression=True)
                for trigram, word in zip(trigrams, words, strict=True)
            )
    return None


def _rank(words: tuple[NeededWord, ...], layout: Layout) -> tuple[bool, int, int]:
    """Return a key to sort by: the smaller, the fewer events have one of the words."""
    event_id = layout.slots.get(("EventID", "lower"))
    if any(word.slot == event_id for word in words):  # the events of a type all have it
        return True, len(words), 0
    is_usual, letters, _ = rank(tuple(word.word for word in words))
    return is_usual, len(words), letters


class Candidates:
    """Which of some conditions can hold for an event's values."""

    def __init__(self, conditions: Sequence[Node], layout: Layout) -> None:
        self.count: int = len(conditions)
        self._always = 0
        fields: dict[int, FieldWords] = {}
        for number, condition in enumerate(conditions):
            words = needed_words(condition, layout)
            if words is None:
                self._always |= 1 << number
                continue
            for word in words:
                fields.setdefault(word.slot, FieldWords()).add(word, number)
        self._fields: list[tuple[int, Callable[[str], int]]] = [(slot, one.candidates) for slot, one in fields.items()]
        self._numbers: dict[int, list[int]] = {}

    def of(self, values: Sequence[str]) -> list[int]:
        """Return the numbers of the conditions that can hold, in their order."""
        found = self._always
        for slot, candidates in self._fields:
            if value := values[slot]:
                found |= candidates(value)
        numbers = self._numbers.get(found)
        if numbers is None:
            if len(self._numbers) >= MAX_REMEMBERED_SETS:
                self._numbers.clear()
            numbers = self._numbers[found] = _numbers(found)
        return numbers


def _numbers(rules: int) -> list[int]:
    """Return the numbers of the bits that are set, in their order."""
    numbers = []
    while rules:
        lowest = rules & -rules
        numbers.append(lowest.bit_length() - 1)
        rules ^= lowest
    return numbers
