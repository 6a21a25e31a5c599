"""From a sentence to the ATT&CK techniques that it speaks of, ranked, with the words that led there. Pure.

Own lexicon (``knowledge/lexicon.toml``), else the words of a technique's name, else its id in the text itself. A score
is the sum of the phrases' weights, later ones counting less; scores of one sentence compare, those of two roughly do.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from svc.assistant.knowledge import load
from svc.assistant.knowledge.attack_names import TECHNIQUE_ID, attack_table, moved_by_id, parent_of, techniques_by_id
from svc.assistant.knowledge.lexicon import FILE_NAME, Behaviour, Lexicon
from svc.assistant.skills.attack.phrases import Hit, Phrase, PhraseIndex, words_of

MAX_CHARS = 20_000  # of one text; a sentence has 200
SURE_FACTOR, SAYS_FACTOR, HINT_FACTOR, NAME_FACTOR = 1.5, 1.0, 0.45, 0.9
NAMED_SCORE = 30.0  # the text gives the id itself
CLEAR_SCORE = 7.0  # measured: below it every second best one is right, above it three in four
_NEXT_COUNTS = (1.0, 0.35, 0.2, 0.1)  # of a technique's best phrases, those with words of their own
_PARENT_SHARE = 0.6  # of a sub-technique's score goes to its parent, which is true as well
_NEARLY = 0.9
_COMMON_GAIN = 0.35  # for each step of ``common``: what decides between near equals
_UNLESS_SHARE = 0.25  # what is left where something else is meant
_EMPTY_WORDS = re.compile("an?|and|at|by|for|from|in|into|of|on|or|other|over|s|the|through|to|via|with")
_ENDING = re.compile(r"(?:ations?|ions?|ing|ers?|ed|es|s|ies|y)$")


@cache
def lexicon() -> Lexicon:
    """The lexicon in use."""
    return load(FILE_NAME, Lexicon)


@cache
def behaviours_by_id() -> dict[str, Behaviour]:
    """The lexicon's entry of each technique that has one."""
    return {entry.id: entry for entry in lexicon().techniques}


def what_of(technique_id: str) -> str:
    """Our one line about the technique, or ""."""
    entry = behaviours_by_id().get(technique_id)
    return entry.what if entry else ""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A technique that a text may speak of.

    ``why`` is the words of the text that led there, as they stand in it; ``words`` are their numbers, () where the text
    gives the id itself.
    """

    id: str
    score: float
    why: str
    words: frozenset[int] = frozenset()


def techniques_of(text: str) -> list[tuple[str, float, str]]:
    """``(id, score, why)`` of each candidate, best first."""
    return [(one.id, one.score, one.why) for one in candidates(text)]


def candidates(text: str) -> list[Candidate]:
    """The techniques that ``text``, a sentence, may speak of, best first; of a longer one the first ``MAX_CHARS``.

    A technique of which only weak hints stand in the text comes with a low score.
    """
    text = text[:MAX_CHARS]
    found = words_of(text)
    words = [word for word, _, _ in found]
    by_technique: dict[str, list[Hit]] = defaultdict(list)
    for hit in _phrases().hits(words):
        by_technique[hit.technique].append(hit)
    stopped = {hit.technique for hit in _stops().hits(words)}
    scores: dict[str, float] = {}
    used: dict[str, set[int]] = {}
    for technique, hits in by_technique.items():
        score, used[technique] = _sum(hits)
        scores[technique] = (score + _common(technique)) * (_UNLESS_SHARE if technique in stopped else 1.0)
    _give_to_parents(scores, used)
    _put_before_parents(scores)
    named = _named(text)
    for technique in named:
        scores[technique] = NAMED_SCORE + scores.get(technique, 0.0)
    return [
        Candidate(
            id=technique,
            score=round(scores[technique], 2),
            why=technique if technique in named else _excerpts(text, found, sorted(used[technique])),
            words=frozenset() if technique in named else frozenset(used[technique]),
        )
        for technique in sorted(scores, key=lambda one: (-scores[one], "." not in one, one))
    ]


def _sum(hits: Sequence[Hit]) -> tuple[float, set[int]]:
    """The score of one technique's hits, and the words that count: a phrase within a better one adds nothing."""
    score, used, counted = 0.0, set[int](), 0
    for hit in sorted(hits, key=lambda hit: -hit.weight):
        if used.issuperset(hit.words) or counted == len(_NEXT_COUNTS):
            continue
        score += hit.weight * _NEXT_COUNTS[counted]
        used.update(hit.words)
        counted += 1
    return score, used


def _common(technique: str) -> float:
    entry = behaviours_by_id().get(technique)
    return _COMMON_GAIN * entry.common if entry else 0.0


def _give_to_parents(scores: dict[str, float], used: dict[str, set[int]]) -> None:
    for technique in [one for one in scores if "." in one]:
        parent, share = parent_of(technique), scores[technique] * _PARENT_SHARE
        if parent not in techniques_by_id() and parent not in behaviours_by_id():
            continue
        if scores.get(parent, 0.0) < share + _common(parent):
            scores[parent] = share + _common(parent)
            used[parent] = used.get(parent, set()) | used[technique]


def _put_before_parents(scores: dict[str, float]) -> None:
    """A clear sub-technique that is nearly as likely as its parent says more: it gets the parent's score."""
    for technique, score in scores.items():
        above = scores.get(parent_of(technique), 0.0)
        if "." in technique and score >= CLEAR_SCORE and score >= above * _NEARLY:
            scores[technique] = max(score, above)


def _named(text: str) -> set[str]:
    found = {match.group().upper() for match in TECHNIQUE_ID.finditer(text)}
    return {one for one in found if one in techniques_by_id() or one in moved_by_id()}


def _excerpts(text: str, found: Sequence[tuple[str, int, int]], numbers: Sequence[int]) -> str:
    """The words as they stand in the text, neighbours together: ``dumped … LSASS memory``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " … ".join(text[found[first][1] : found[last][2]] for first, last in runs)


@cache
def _phrases() -> PhraseIndex:
    return PhraseIndex([*_written(), *_from_names()], lexicon().groups)


@cache
def _stops() -> PhraseIndex:
    stops = (Phrase(technique=e.id, text=text, factor=1.0) for e in lexicon().techniques for text in e.unless)
    return PhraseIndex(stops, lexicon().groups)


def _written() -> Iterator[Phrase]:
    for entry in lexicon().techniques:
        for phrases, factor in (
            (entry.sure, SURE_FACTOR),
            (entry.says, SAYS_FACTOR),
            (entry.hints, HINT_FACTOR),
        ):
            yield from (Phrase(technique=entry.id, text=text, factor=factor) for text in phrases)


def _from_names() -> Iterator[Phrase]:
    """Each name's words; a sub-technique's single word with one of its parent's, since alone it says too little.

    Names of techniques that came after the lexicon's are read all the same: the table may be newer.
    """
    table = techniques_by_id()
    worded = {entry.id for entry in lexicon().techniques if entry.sure or entry.says}
    renamed = {moved.to for moved in attack_table().moved if moved.id in worded or moved.id in table}
    for technique in attack_table().techniques:
        if technique.id in renamed and technique.id not in worded:
            continue  # it would stand beside the same thing under the id that reports and the lexicon use
        text = _name_phrase(technique.name)
        is_short = " " not in text
        parent = table.get(parent_of(technique.id), technique)
        if is_short and parent is not technique:
            rest = "|".join(_name_phrase(parent.name).split())
            text = f"{text} {rest}" if text not in rest.split("|") else ""
        if text and not (is_short and technique.id in worded):
            yield Phrase(technique=technique.id, text=text, factor=NAME_FACTOR)


def _name_phrase(name: str) -> str:
    words = [word for word in re.findall(r"[a-z0-9]+", name.lower()) if not _EMPTY_WORDS.fullmatch(word)]
    return " ".join(dict.fromkeys(_beginning(word) for word in words))


def _beginning(word: str) -> str:
    """``discovery`` to ``discover*``: the same word in other forms; short words and numbers stay whole."""
    stem = _ENDING.sub("", word)
    return f"{stem}*" if len(stem) >= 4 else word if len(word) < 4 else f"{word}*"
