"""Rank the ATT&CK techniques that a sentence may describe, with the words that suggest them.

Sources: our lexicon (``knowledge/lexicon.toml``), the words of a technique's name, and its ID in the text. A score is
the sum of the phrases' weights, each further one counting less. Scores within one sentence are comparable; those of
different sentences only roughly.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from svc.assistant.knowledge import load
from svc.assistant.knowledge.attack_names import TECHNIQUE_ID, attack_table, moved_by_id, parent_of, techniques_by_id
from svc.assistant.knowledge.lexicon import FILE_NAME, Lexicon, LexiconEntry
from svc.assistant.skills.attack.phrases import Phrase, PhraseIndex, PhraseMatch, words_of

MAX_CHARS = 20_000  # of one text; a sentence has 200
SURE_FACTOR, SAYS_FACTOR, HINT_FACTOR, NAME_FACTOR = 1.5, 1.0, 0.45, 0.9
NAMED_SCORE = 30.0  # the text names the ID
CLEAR_SCORE = 7.0  # measured: the best candidate is right in half of the cases below it, in three of four above it
_PHRASE_SHARES = (1.0, 0.35, 0.2, 0.1)  # of their weights, that a technique's best, second, … phrase adds
_PARENT_SHARE = 0.6  # of a sub-technique's score, that its parent gets: the parent applies as well
_NEAR_PARENT = 0.9  # of its parent's score, from which a clear sub-technique ranks before the parent
_COMMON_BONUS = 0.35  # for each step of ``common``; decides between nearly equal techniques
_UNLESS_SHARE = 0.25  # of the score that remains if the sentence means something else
_EMPTY_WORDS = re.compile("an?|and|at|by|for|from|in|into|of|on|or|other|over|s|the|through|to|via|with")
_ENDING = re.compile(r"(?:ations?|ions?|ing|ers?|ed|es|s|ies|y)$")


@cache
def lexicon() -> Lexicon:
    """The lexicon in use."""
    return load(FILE_NAME, Lexicon)


@cache
def behaviours_by_id() -> dict[str, LexiconEntry]:
    """Return the lexicon's entries by technique ID."""
    return {entry.id: entry for entry in lexicon().techniques}


def what_of(technique_id: str) -> str:
    """Return the one-line description of a technique, or ""."""
    entry = behaviours_by_id().get(technique_id)
    return entry.what if entry else ""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A technique that a text may describe.

    ``why`` quotes the words of the text that suggest it; ``words`` are their numbers, none if the text names the ID.
    """

    id: str
    score: float
    why: str
    words: frozenset[int] = frozenset()


def candidates(text: str) -> list[Candidate]:
    """Return the techniques that a sentence may describe, best first; weak hints give a low score.

    Only the first ``MAX_CHARS`` of ``text`` are examined.
    """
    text = text[:MAX_CHARS]
    found = words_of(text)
    words = [word for word, _, _ in found]
    by_technique: dict[str, list[PhraseMatch]] = defaultdict(list)
    for match in _phrases().matches(words):
        by_technique[match.technique].append(match)
    excluded = {match.technique for match in _exclusions().matches(words)}
    scores: dict[str, float] = {}
    used: dict[str, set[int]] = {}
    for technique, matches in by_technique.items():
        score, used[technique] = _score(matches)
        scores[technique] = (score + _common(technique)) * (_UNLESS_SHARE if technique in excluded else 1.0)
    _add_parents(scores, used)
    _prefer_sub_techniques(scores)
    named = _named_in(text)
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


def _score(matches: Sequence[PhraseMatch]) -> tuple[float, set[int]]:
    """Return the score of one technique's matches and the words they use; a phrase within a better one adds nothing."""
    score, used, counted = 0.0, set[int](), 0
    for match in sorted(matches, key=lambda match: -match.weight):
        if used.issuperset(match.words) or counted == len(_PHRASE_SHARES):
            continue
        score += match.weight * _PHRASE_SHARES[counted]
        used.update(match.words)
        counted += 1
    return score, used


def _common(technique: str) -> float:
    entry = behaviours_by_id().get(technique)
    return _COMMON_BONUS * entry.common if entry else 0.0


def _add_parents(scores: dict[str, float], used: dict[str, set[int]]) -> None:
    for technique in [one for one in scores if "." in one]:
        parent, share = parent_of(technique), scores[technique] * _PARENT_SHARE
        if parent not in techniques_by_id() and parent not in behaviours_by_id():
            continue
        if scores.get(parent, 0.0) < share + _common(parent):
            scores[parent] = share + _common(parent)
            used[parent] = used.get(parent, set()) | used[technique]


def _prefer_sub_techniques(scores: dict[str, float]) -> None:
    """Give a clear sub-technique its parent's score if it is nearly as likely: it is the more precise answer."""
    for technique, score in scores.items():
        above = scores.get(parent_of(technique), 0.0)
        if "." in technique and score >= CLEAR_SCORE and score >= above * _NEAR_PARENT:
            scores[technique] = max(score, above)


def _named_in(text: str) -> set[str]:
    found = {match.group().upper() for match in TECHNIQUE_ID.finditer(text)}
    return {one for one in found if one in techniques_by_id() or one in moved_by_id()}


def _excerpts(text: str, found: Sequence[tuple[str, int, int]], numbers: Sequence[int]) -> str:
    """Quote the words from the text, with adjacent ones together: ``dumped … LSASS memory``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " … ".join(text[found[first][1] : found[last][2]] for first, last in runs)


@cache
def _phrases() -> PhraseIndex:
    return PhraseIndex([*_lexicon_phrases(), *_name_phrases()], lexicon().groups)


@cache
def _exclusions() -> PhraseIndex:
    exclusions = (Phrase(technique=e.id, text=text, factor=1.0) for e in lexicon().techniques for text in e.unless)
    return PhraseIndex(exclusions, lexicon().groups)


def _lexicon_phrases() -> Iterator[Phrase]:
    for entry in lexicon().techniques:
        for phrases, factor in (
            (entry.sure, SURE_FACTOR),
            (entry.says, SAYS_FACTOR),
            (entry.hints, HINT_FACTOR),
        ):
            yield from (Phrase(technique=entry.id, text=text, factor=factor) for text in phrases)


def _name_phrases() -> Iterator[Phrase]:
    """Yield a phrase of each technique's name; a one-word name also needs a word of the parent's.

    This covers techniques that the lexicon does not have, because the user's ATT&CK table may be newer.
    """
    table = techniques_by_id()
    worded = {entry.id for entry in lexicon().techniques if entry.sure or entry.says}
    renamed = {moved.to for moved in attack_table().moved if moved.id in worded or moved.id in table}
    for technique in attack_table().techniques:
        if technique.id in renamed and technique.id not in worded:
            continue  # reports and the lexicon use the old ID for the same technique
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
    return " ".join(dict.fromkeys(_stem(word) for word in words))


def _stem(word: str) -> str:
    """Turn ``discovery`` into ``discover*``, which matches its other forms; short words and numbers are kept."""
    stem = _ENDING.sub("", word)
    return f"{stem}*" if len(stem) >= 4 else word if len(word) < 4 else f"{word}*"
