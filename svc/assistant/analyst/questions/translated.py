"""Put a question of another language into English words, so that it is planned and answered as an English one is. Pure.

Phrase by phrase, in the order of the question: the analyst looks for words, not for grammar. Names and other values
stay as they are. A question with too many unknown words is not translated: its meaning may be in them. The table is
``phrases.toml``.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache

import msgspec

from svc.assistant.knowledge import load

MAX_CHARS = 400
MAX_UNKNOWN = 1  # words, for each whole ``WORDS_FOR_UNKNOWN`` known ones: a name has no mark of its own
WORDS_FOR_UNKNOWN = 3
_VALUE = re.compile(
    r"[`'\"\u201c\u201e][^`'\"\u201c\u201d\u201e\n]{2,80}[`'\"\u201d\u201c]"
    r"|[\w$@\\/:%+.#*-]{0,80}[\d@\\/_$](?:[\w$@\\/:%+.#*-]{0,120}\w)?|[\w-]{1,80}\.\w[\w.-]{0,120}"
    r"|[a-zA-Z]{0,40}[A-Z][a-zA-Z]{0,40}[A-Z][a-zA-Z]{0,40}|\d+"
)
_ASCII = re.compile(r"[A-Za-z][\w.@-]*")
_WORD = re.compile(r"[^\W\d_][\w'\u2019]*")
_KANJI = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_NEXT_ASKS = re.compile(r"(?:し|り|き|て|で|み|い|れ|ち)?、")
_FULL_STOPS = str.maketrans({"？": "?", "。": ".", "！": "!", "　": " ", "¿": " ", "¡": " "})  # noqa: RUF001


class _Language(msgspec.Struct, frozen=True):
    interrogatives: str
    table: list[tuple[str, str]]


class _Phrases(msgspec.Struct, frozen=True):
    """``phrases.toml``."""

    source: str
    version: str
    date: date
    phrases: dict[str, _Language]


class _PhraseTable(msgspec.Struct, frozen=True):
    """The patterns of one language: those of the beginning of a question, and all others."""

    interrogatives: re.Pattern[str]
    first: list[tuple[re.Pattern[str], str]]
    others: list[tuple[re.Pattern[str], str]]


@cache
def _tables() -> dict[str, _PhraseTable]:
    found = load("phrases.toml", _Phrases, __package__).phrases
    return {language: _compiled(language, one) for language, one in found.items()}


def _compiled(language: str, one: _Language) -> _PhraseTable:
    end = "" if language == "ja" else r"(?:(?<=['\u2019 ])|(?![\w]))"
    rows = [
        (first, re.compile(rf"(?:{pattern.removeprefix('=')}){end}", re.IGNORECASE), english)
        for pattern, english in one.table
        for first in [pattern.startswith("=")]
    ]
    return _PhraseTable(
        interrogatives=re.compile(one.interrogatives, re.IGNORECASE),
        first=[(pattern, english) for first, pattern, english in rows if first],
        others=[(pattern, english) for first, pattern, english in rows if not first],
    )


def translated(text: str, language: str) -> str:
    """The question in English words; "" if too few of its words are known, or if it is not in one of the languages."""
    table = _tables().get(re.split(r"[-_]", language, maxsplit=1)[0].lower())
    if table is None or len(text) > MAX_CHARS:
        return ""
    plain = text.translate(_FULL_STOPS).strip()
    if _KANJI.search(plain):
        plain = _NEXT_ASKS.sub(lambda found: f"{found[0][:-1]}, and ", plain)
    return _QuestionReading(plain, table).english()


def parts_asked(text: str, language: str) -> int:
    """How many words of a question ask something: "wer", "welche", and "gibt es" at its beginning."""
    table = _tables().get(re.split(r"[-_]", language, maxsplit=1)[0].lower())
    if table is None:
        return 0
    plain = text.translate(_FULL_STOPS).strip()
    asked = len(table.interrogatives.findall(plain))
    return asked + (asked > 0 and _matched(table.first, plain, 0) is not None)


class _QuestionReading:
    """A question that is read from its beginning to its end."""

    def __init__(self, text: str, table: _PhraseTable) -> None:
        self._text = text
        self._table = table
        self._words: list[str] = []
        self._known = self._unknown = 0

    def english(self) -> str:
        """What was read; "" if it is not understood well enough."""
        at = 0
        while at < len(self._text):
            at = self._step(at)
        asks_what = self._table.interrogatives.search(self._text) is not None
        if not asks_what and (self._unknown or _matched(self._table.first, self._text, 0) is None):
            return ""  # of a question for yes or no, each word counts
        if self._unknown > MAX_UNKNOWN * (self._known // WORDS_FOR_UNKNOWN):
            return ""
        return _tidied(" ".join(filter(None, self._words)))

    def _step(self, at: int) -> int:
        """Read one word or phrase; returns where the next one begins."""
        text = self._text
        if text[at].isspace():
            return at + 1
        if at == 0 and (first := _matched(self._table.first, text, at)) is not None:
            return self._take(*first)
        value = _VALUE.match(text, at)
        phrase = _matched(self._table.others, text, at)
        if phrase is not None and (value is None or phrase[0] >= value.end()):
            return self._take(*phrase)
        if value is not None:
            self._words.append(value[0])
            return value.end()
        word = (_ASCII if _KANJI.search(text) else _WORD).match(text, at)
        if word is None:
            self._unknown += _KANJI.match(text, at) is not None
            self._words.append(text[at])
            return at + 1
        self._unknown += not _KANJI.search(text)  # ASCII between Japanese words is a name
        self._words.append(word[0])
        return word.end()

    def _take(self, end: int, english: str) -> int:
        self._known += 1
        self._words.append(english)
        return end


def _matched(rows: list[tuple[re.Pattern[str], str]], text: str, at: int) -> tuple[int, str] | None:
    found = ((row.match(text, at), english) for row, english in rows)
    return next(((match.end(), english) for match, english in found if match is not None), None)


_TIDY = (
    (re.compile(r"\s+"), " "),
    (re.compile(r" ([,.;:?!])"), r"\1"),
    (re.compile(r"-\s*(?=[a-z])"), " "),
    (re.compile(r"\b(the|a|was|of) (?:the |a |was )+"), r"\1 "),
    (re.compile(r"\bwho was (?=logged in|created|deleted|used|sent|connected|tried)"), "who "),
)


def _tidied(text: str) -> str:
    for pattern, new in _TIDY:
        text = pattern.sub(new, text)
    return text.strip()
