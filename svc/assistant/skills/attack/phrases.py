"""Find the phrases of a lexicon in a sentence: words near each other, weighted by how few techniques share them.

Notation: ``knowledge/lexicon.py``. Weights come from the lexicon alone: a word in the phrases of one technique is
stronger evidence than a word in the phrases of fifty.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import log

import msgspec

WINDOW_WORDS = 8  # between the words of a phrase: about a clause of a report
MAX_SENTENCE_WORDS = 400  # longer "sentences" are tables or code; the rest is ignored
_WORD = re.compile(r"(?:admin|ipc|[cd])\$(?![a-z0-9])|[a-z0-9]+")  # administrative shares have a dollar sign
_CONTROL_SERVER = re.compile(r"\b(?:c ?& ?c|c&amp;c|cnc|command[- ]and[- ]control|command ?& ?control)\b")
_DISTANCE_LOSS = 0.03  # of a phrase's weight for each word between its words
_NEIGHBOUR_BONUS = 0.25  # of the weight, for each further word of a fixed sequence, which is rarer than its words


class Phrase(msgspec.Struct, frozen=True, kw_only=True):
    """A phrase for ``technique`` in the lexicon's notation; its weight is multiplied by ``factor``."""

    technique: str
    text: str
    factor: float


class PhraseMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A phrase found in a sentence: its weight there, and the numbers of its words in the sentence."""

    technique: str
    weight: float
    words: tuple[int, ...]


_Term = tuple[str, ...]  # a fixed sequence; each part is a word, or a stem that ends in "*"


class _PhraseRule(msgspec.Struct, frozen=True):
    phrase: Phrase
    slots: tuple[frozenset[_Term], ...]  # the sentence must have a term of each


def words_of(sentence: str) -> list[tuple[str, int, int]]:
    """Return the words in lower case with their start and end in ``sentence``; variants of "C&C" become ``c2``."""
    lowered = sentence.lower()
    if len(lowered) != len(sentence):  # a few capitals are longer in lower case, which would shift all positions
        lowered = "".join(char.lower() if len(char.lower()) == 1 else char for char in sentence)
    lowered = _CONTROL_SERVER.sub(lambda match: "c2".ljust(len(match.group())), lowered)
    found = []
    for match in _WORD.finditer(lowered):
        found.append((match.group(), match.start(), match.end()))
        if len(found) >= MAX_SENTENCE_WORDS:
            break
    return found


class PhraseIndex:
    """All phrases, indexed by their rarest word.

    Raises:
        ValueError: A phrase names an unknown group.
    """

    def __init__(self, phrases: Iterable[Phrase], groups: Mapping[str, Sequence[str]]) -> None:
        rules = [_PhraseRule(phrase, _slots(phrase.text, groups)) for phrase in phrases]
        self._weights = _weights(rules)
        self._exact: dict[str, list[_Term]] = defaultdict(list)
        self._stems: dict[str, list[_Term]] = defaultdict(list)
        for term in self._weights:
            (self._stems if term[0].endswith("*") else self._exact)[term[0].rstrip("*")].append(term)
        self._rules_by_term: dict[_Term, list[_PhraseRule]] = defaultdict(list)
        for rule in rules:
            for term in min(rule.slots, key=len):  # the slot with the fewest terms
                self._rules_by_term[term].append(rule)
        self._terms_of = lru_cache(maxsize=65_536)(self._starting_with)

    def matches(self, words: Sequence[str]) -> list[PhraseMatch]:
        """Return every phrase that is in ``words``."""
        positions: dict[_Term, list[int]] = defaultdict(list)
        for number, word in enumerate(words):
            for term in self._terms_of(word):
                if len(term) == 1 or _is_at(term, words, number):
                    positions[term].append(number)
        present = frozenset(positions)
        rules = {id(rule): rule for term in present for rule in self._rules_by_term.get(term, ())}
        filled = (rule for rule in rules.values() if not any(slot.isdisjoint(present) for slot in rule.slots))
        found = (self._best_match(rule, positions) for rule in filled)
        return [match for match in found if match is not None]

    def _starting_with(self, word: str) -> tuple[_Term, ...]:
        terms = list(self._exact.get(word, ()))
        for length in range(2, len(word) + 1):
            terms += self._stems.get(word[:length], ())
        return tuple(terms)

    def _best_match(self, rule: _PhraseRule, positions: Mapping[_Term, Sequence[int]]) -> PhraseMatch | None:
        present = positions.keys()
        ways = [[(number, term) for term in slot & present for number in positions[term]] for slot in rule.slots]
        best: PhraseMatch | None = None
        for start in ways[0]:
            chosen = _nearest(start, ways[1:])
            match = self._weighted(rule, chosen) if chosen else None
            if match is not None and (best is None or (match.weight, best.words) > (best.weight, match.words)):
                best = match
        return best

    def _weighted(self, rule: _PhraseRule, chosen: Sequence[tuple[int, _Term]]) -> PhraseMatch | None:
        numbers = sorted({number + step for number, term in chosen for step in range(len(term))})
        between = numbers[-1] - numbers[0] + 1 - len(numbers)
        if between > WINDOW_WORDS:
            return None
        weight = sum(self._weights[term] for _, term in chosen) * (1 - _DISTANCE_LOSS * between)
        return PhraseMatch(technique=rule.phrase.technique, weight=weight * rule.phrase.factor, words=tuple(numbers))


def _nearest(start: tuple[int, _Term], others: Sequence[Sequence[tuple[int, _Term]]]) -> list[tuple[int, _Term]] | None:
    """Return ``start`` with the nearest term for each other slot, using no word twice; None if a slot stays empty."""
    chosen, used = [start], set(range(start[0], start[0] + len(start[1])))
    for ways in others:
        free = [way for way in ways if used.isdisjoint(range(way[0], way[0] + len(way[1])))]
        if not free:
            return None
        way = min(free, key=lambda one: (abs(one[0] - start[0]), one))
        chosen.append(way)
        used.update(range(way[0], way[0] + len(way[1])))
    return chosen


def _is_at(term: _Term, words: Sequence[str], number: int) -> bool:
    if number + len(term) > len(words):
        return False
    return all(
        words[number + step].startswith(part[:-1]) if part.endswith("*") else words[number + step] == part
        for step, part in enumerate(term)
    )


def _slots(text: str, groups: Mapping[str, Sequence[str]]) -> tuple[frozenset[_Term], ...]:
    slots = []
    for written in text.split():
        terms = set[_Term]()
        for choice in written.split("|"):
            if choice.startswith("@") and choice[1:] not in groups:
                raise ValueError(f"the phrase {text!r} names the unknown group {choice}")
            for one in groups[choice[1:]] if choice.startswith("@") else (choice,):
                terms.add(tuple(one.split("_")))
        slots.append(frozenset(terms))
    return tuple(slots)


def _weights(rules: Sequence[_PhraseRule]) -> dict[_Term, float]:
    """Return the weight of each term: the fewer techniques use it, the more it weighs."""
    users: dict[_Term, set[str]] = defaultdict(set)
    for rule in rules:
        for slot in rule.slots:
            for term in slot:
                users[term].add(rule.phrase.technique)
    total = len({rule.phrase.technique for rule in rules})
    return {
        term: log(1 + total / len(techniques)) * (1 + _NEIGHBOUR_BONUS * (len(term) - 1))
        for term, techniques in users.items()
    }
