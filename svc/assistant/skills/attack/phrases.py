"""Finds phrases of a lexicon in a sentence: words near each other, weighted by how few techniques share them. Pure.

Notation: ``knowledge/lexicon.py``. Weights come from the lexicon alone: a word that stands in the phrases of one
technique says more than one that stands in those of fifty.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import log

import msgspec

WINDOW_WORDS = 8  # beyond the phrase's own words: a clause of a report
MAX_SENTENCE_WORDS = 400  # longer "sentences" are tables or code; the rest is not looked at
_WORD = re.compile(r"[a-z0-9]+")
_CONTROL_SERVER = re.compile(r"\b(?:c ?& ?c|c&amp;c|cnc|command[- ]and[- ]control|command ?& ?control)\b")
_CLOSE_LOSS = 0.03  # of a phrase's weight for each word between its words
_NEIGHBOUR_GAIN = 0.25  # neighbours in a given order are rarer than their words: for each further word


class Phrase(msgspec.Struct, frozen=True, kw_only=True):
    """``text`` in the lexicon's notation, for ``technique``; ``factor`` is what its weight is multiplied with."""

    technique: str
    text: str
    factor: float


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A phrase that stands in the sentence: its weight there, and the numbers of its words in the sentence."""

    technique: str
    weight: float
    words: tuple[int, ...]


_Term = tuple[str, ...]  # neighbours, each a word or a beginning that ends in "*"


class _Rule(msgspec.Struct, frozen=True):
    phrase: Phrase
    slots: tuple[frozenset[_Term], ...]  # each must be filled


def words_of(sentence: str) -> list[tuple[str, int, int]]:
    """The words in lower case with their start and end in ``sentence``; "C&C" and its like become ``c2``."""
    lowered = sentence.lower()
    if len(lowered) != len(sentence):  # a few capitals have longer small forms: positions would not fit
        lowered = "".join(char.lower() if len(char.lower()) == 1 else char for char in sentence)
    lowered = _CONTROL_SERVER.sub(lambda match: "c2".ljust(len(match.group())), lowered)
    found = []
    for match in _WORD.finditer(lowered):
        found.append((match.group(), match.start(), match.end()))
        if len(found) >= MAX_SENTENCE_WORDS:
            break
    return found


class PhraseIndex:
    """All phrases, ready to be looked for. Raises ValueError for a phrase that names an unknown group."""

    def __init__(self, phrases: Iterable[Phrase], groups: Mapping[str, Sequence[str]]) -> None:
        rules = [_Rule(phrase, _slots(phrase.text, groups)) for phrase in phrases]
        self._weights = _weights(rules)
        self._exact: dict[str, list[_Term]] = defaultdict(list)
        self._beginnings: dict[str, list[_Term]] = defaultdict(list)
        for term in self._weights:
            (self._beginnings if term[0].endswith("*") else self._exact)[term[0].rstrip("*")].append(term)
        self._rules: dict[_Term, list[_Rule]] = defaultdict(list)
        for rule in rules:
            for term in min(rule.slots, key=len):  # the slot with the fewest ways to be filled
                self._rules[term].append(rule)
        self._terms_of = lru_cache(maxsize=65_536)(self._starting_with)

    def hits(self, words: Sequence[str]) -> list[Hit]:
        """Every phrase that stands in ``words``."""
        places: dict[_Term, list[int]] = defaultdict(list)
        for number, word in enumerate(words):
            for term in self._terms_of(word):
                if len(term) == 1 or _stands_at(term, words, number):
                    places[term].append(number)
        present = frozenset(places)
        rules = {id(rule): rule for term in present for rule in self._rules.get(term, ())}
        filled = (rule for rule in rules.values() if not any(slot.isdisjoint(present) for slot in rule.slots))
        found = (self._hit(rule, places) for rule in filled)
        return [hit for hit in found if hit is not None]

    def _starting_with(self, word: str) -> tuple[_Term, ...]:
        terms = list(self._exact.get(word, ()))
        for length in range(2, len(word) + 1):
            terms += self._beginnings.get(word[:length], ())
        return tuple(terms)

    def _hit(self, rule: _Rule, places: Mapping[_Term, Sequence[int]]) -> Hit | None:
        present = places.keys()
        ways = [[(number, term) for term in slot & present for number in places[term]] for slot in rule.slots]
        best: Hit | None = None
        for start in ways[0]:
            chosen = _nearest(start, ways[1:])
            hit = self._weighed(rule, chosen) if chosen else None
            if hit is not None and (best is None or (hit.weight, best.words) > (best.weight, hit.words)):
                best = hit
        return best

    def _weighed(self, rule: _Rule, chosen: Sequence[tuple[int, _Term]]) -> Hit | None:
        numbers = sorted({number + step for number, term in chosen for step in range(len(term))})
        between = numbers[-1] - numbers[0] + 1 - len(numbers)
        if between > WINDOW_WORDS:
            return None
        weight = sum(self._weights[term] for _, term in chosen) * (1 - _CLOSE_LOSS * between)
        return Hit(technique=rule.phrase.technique, weight=weight * rule.phrase.factor, words=tuple(numbers))


def _nearest(start: tuple[int, _Term], others: Sequence[Sequence[tuple[int, _Term]]]) -> list[tuple[int, _Term]] | None:
    """For each other slot the way nearest to ``start`` that uses no word twice; None where there is none."""
    chosen, used = [start], set(range(start[0], start[0] + len(start[1])))
    for ways in others:
        free = [way for way in ways if used.isdisjoint(range(way[0], way[0] + len(way[1])))]
        if not free:
            return None
        way = min(free, key=lambda one: (abs(one[0] - start[0]), one))
        chosen.append(way)
        used.update(range(way[0], way[0] + len(way[1])))
    return chosen


def _stands_at(term: _Term, words: Sequence[str], number: int) -> bool:
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
                raise ValueError(f"the phrase {text!r} names the group {choice}, which the lexicon has not")
            for one in groups[choice[1:]] if choice.startswith("@") else (choice,):
                terms.add(tuple(one.split("_")))
        slots.append(frozenset(terms))
    return tuple(slots)


def _weights(rules: Sequence[_Rule]) -> dict[_Term, float]:
    """The weight of each term: the fewer techniques have it in a phrase, the more."""
    users: dict[_Term, set[str]] = defaultdict(set)
    for rule in rules:
        for slot in rule.slots:
            for term in slot:
                users[term].add(rule.phrase.technique)
    total = len({rule.phrase.technique for rule in rules})
    return {
        term: log(1 + total / len(techniques)) * (1 + _NEIGHBOUR_GAIN * (len(term) - 1))
        for term, techniques in users.items()
    }
