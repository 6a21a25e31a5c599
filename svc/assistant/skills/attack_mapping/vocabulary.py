"""Which words of a sentence the trade knows: those of techniques, of attacks and of computers.

A report is about computers from its first word to its last. A sentence that only borrows a technique's word ("The
goalkeeper kept persistence …") has mostly words that none of our tables on attacks and computing has. Nobody needs to
list these words: what counts is that they are unknown here. Names are left out, because a malware family has one, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from svc.assistant.knowledge import load
from svc.assistant.knowledge.reported_behaviour import FILE_NAME, ReportedBehaviour
from svc.assistant.skills.attack.lexicon import lexicon
from svc.assistant.skills.attack.phrases import words_of

MOST_UNFAMILIAR = 6  # words; more say no more
TRADE_CLASSES = frozenset(
    {"attacker", "malware", "part", "attack", "tool", "dual_use", "analysis", "windows", "computing", "account"}
)
_LEAST_CHARS, _LEAST_STEM = 3, 3
_SENTENCE_START = re.compile(r"(?:\A|[.:!?])[\s\"'(\[\u201c\u2018]*\Z")


def unfamiliar(sentence: str) -> int:
    """Count the words of a sentence that are outside the trade, at most MOST_UNFAMILIAR.

    Not counted: words of one or two letters, names, and those without a subject of their own.
    """
    known, common = _known(), _common()
    count = 0
    for word, start, end in words_of(sentence):
        if len(word) < _LEAST_CHARS or not word.isalpha() or word in common or known.has(word):
            continue
        count += not _is_name(sentence, start, end)
    return min(count, MOST_UNFAMILIAR)


def is_kind(words: str) -> bool:
    """Whether the trade knows all of a few words: "a remote access tool" is a kind of thing, "BrassLoader" is not."""
    known, common = _known(), _common()
    return all(word in common or known.has(word) for word, _, _ in words_of(words))


def _is_name(sentence: str, start: int, end: int) -> bool:
    """Whether a word has a capital, but for that of a word at the beginning of a sentence."""
    if not sentence[start].isupper() or sentence[start + 1 : end].lower() != sentence[start + 1 : end]:
        return sentence[start:end].lower() != sentence[start:end]
    return not _SENTENCE_START.search(sentence[max(0, start - 4) : start])


class _TradeWords(msgspec.Struct, frozen=True):
    whole: frozenset[str]
    beginnings: tuple[str, ...]

    def has(self, word: str) -> bool:
        return word in self.whole or word.startswith(self.beginnings)


@cache
def _common() -> frozenset[str]:
    return frozenset(load(FILE_NAME, ReportedBehaviour).common.split())


@cache
def _known() -> _TradeWords:
    table = load(FILE_NAME, ReportedBehaviour)
    phrases = [phrase for entry in lexicon().techniques for phrase in (*entry.sure, *entry.says, *entry.hints)]
    phrases += [phrase for one in table.classes if one.name in TRADE_CLASSES for phrase in one.phrases]
    terms = _terms(phrases, lexicon().groups) | _terms([], table.groups)
    whole = {term for term in terms if not term.endswith("*")}
    whole |= {word for tenths, words in table.words.items() if int(tenths) > 0 for word in words.split()}
    beginnings = {term[:-1] for term in terms if term.endswith("*") and len(term) > _LEAST_STEM}
    return _TradeWords(frozenset(whole), tuple(sorted(beginnings)))


def _terms(phrases: Sequence[str], groups: Mapping[str, Sequence[str]]) -> set[str]:
    written = [term for phrase in phrases for term in phrase.replace("|", " ").split() if not term.startswith("@")]
    written += [term for terms in groups.values() for term in terms]
    return {word for term in written for word in term.split("_")}
