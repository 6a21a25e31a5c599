"""What a mail's own text asks of its recipient, by theme, and words obfuscated to evade filters. Pure.

Quoted lines are somebody else's words and are left out. Themes and their patterns: ``words.toml``.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from functools import cache
from itertools import pairwise

import msgspec

from svc.assistant.knowledge import load
from svc.assistant.skills.mail.brands import folded
from svc.assistant.skills.mail.findings import MailNature

MAX_WORDS_CHARS = 30_000  # of the text that is searched: a mail states its purpose earlier
POINTS = {"strong": 2.0, "medium": 1.0, "weak": 0.5}
MAX_PHRASES = 12  # shown of one theme
_LONE_WORDS = 1.0  # most that a theme can have from weak words alone

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")  # in a pattern: letters, to be folded as the text is
_ZERO_WIDTH = re.compile(r"\w[\u200b-\u200d\u2060\ufeff]+\w")
_LATIN = re.compile(r"[a-z]", re.IGNORECASE)
_LIKE_LATIN = re.compile(r"[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\uff21-\uff5a]|[\U0001d400-\U0001d7ff]")
_REPLY_HEAD = re.compile(
    r"^[^\S\n]*+(?:-{3,} ?(?:original message|urspr\w+ nachricht|message d'origine|mensaje original"
    r"|mensagem original) ?-{3,}"
    r"|on .{5,120} wrote:[^\S\n]*+$|am .{5,120} schrieb.{0,80}:[^\S\n]*+$"
    r"|le .{5,120} a .crit\s{0,8}:[^\S\n]*+$|_{20,200}[^\S\n]*+$)",
    re.IGNORECASE | re.MULTILINE,
)


class _Theme(msgspec.Struct, frozen=True):
    name: str
    what: str
    kind: MailNature
    most: float
    strong: tuple[str, ...] = ()
    medium: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()


class _Business(msgspec.Struct, frozen=True):
    what: str
    patterns: tuple[str, ...]


class _Lexicon(msgspec.Struct, frozen=True):
    source: str
    version: str
    date: date
    themes: tuple[_Theme, ...]
    business: tuple[_Business, ...]


class ThemeHit(msgspec.Struct, frozen=True, kw_only=True):
    """A theme that a mail's words match. ``solid`` counts the different strong and medium phrases."""

    name: str
    what: str
    nature: MailNature
    points: float
    strong: int
    solid: int
    phrases: tuple[str, ...]


@cache
def _lexicon() -> _Lexicon:
    return load("words.toml", _Lexicon, __package__)


@cache
def _patterns() -> list[tuple[_Theme, str, re.Pattern[str]]]:
    return [
        (theme, level, re.compile(_NOT_ASCII.sub(lambda found: folded(found.group()), pattern)))
        for theme in _lexicon().themes
        for level in POINTS
        for pattern in getattr(theme, level)
    ]


def version() -> str:
    """Version and date of the word list."""
    return f"{_lexicon().version} of {_lexicon().date.isoformat()}"


def own_text(text: str, *, is_reply: bool) -> str:
    """Return the text without quoted lines, and in a reply without everything below the quoted mail's header."""
    if is_reply and (head := _REPLY_HEAD.search(text)):
        text = text[: head.start()]
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith((">", "|")))


def quoted_lines(text: str) -> int:
    """Count the lines that quote another mail."""
    return sum(1 for line in text.split("\n") if line.lstrip().startswith(">"))


def searchable(text: str) -> str:
    """Folded, on one line, no longer than MAX_WORDS_CHARS."""
    return " ".join(folded(text[:MAX_WORDS_CHARS]).replace("\u2019", "'").split())


def read_words(text: str) -> list[ThemeHit]:
    """Return the themes of a ``searchable`` text, strongest first."""
    found: dict[str, dict[str, list[str]]] = {}
    taken: dict[str, list[tuple[int, int]]] = {}
    for theme, level, pattern in _patterns():
        spans = taken.setdefault(theme.name, [])
        match = pattern.search(text)
        if match is None or any(start < match.end() and match.start() < end for start, end in spans):
            continue  # the same words count once, by the stronger pattern
        spans.append(match.span())
        found.setdefault(theme.name, {}).setdefault(level, []).append(match.group()[:120])
    hits = [_hit(theme, found[theme.name]) for theme in _lexicon().themes if theme.name in found]
    return sorted(hits, key=lambda hit: -hit.points)


def _hit(theme: _Theme, by_level: dict[str, list[str]]) -> ThemeHit:
    strong, medium, weak = (by_level.get(level, []) for level in POINTS)
    solid = len(strong) + len(medium)
    loose = min(_LONE_WORDS, POINTS["weak"] * len(weak))
    points = POINTS["strong"] * len(strong) + POINTS["medium"] * len(medium) + loose
    return ThemeHit(
        name=theme.name, what=theme.what, nature=theme.kind, points=min(theme.most, points), strong=len(strong),
        solid=solid, phrases=tuple([*strong, *medium, *weak][:MAX_PHRASES]),
    )  # fmt: skip


@cache
def _business_patterns() -> list[tuple[str, re.Pattern[str]]]:
    return [(one.what, re.compile("|".join(one.patterns))) for one in _lexicon().business]


def business_subjects(text: str) -> tuple[str, ...]:
    """Return what a ``searchable`` text is about, of the subjects by which a stranger gets something opened."""
    return tuple(what for what, pattern in _business_patterns() if pattern.search(text))


def disguised_words(text: str) -> list[str]:
    """Return the words that mix Latin letters with look-alikes of another script, or contain invisible characters."""
    text = text[:MAX_WORDS_CHARS]
    if text.isascii():
        return []
    found = [match.group() for match in _ZERO_WIDTH.finditer(text)]
    found += [word for word in text.split() if _LIKE_LATIN.search(word) and _LATIN.search(word) and _mixes(word)]
    return found


def _mixes(word: str) -> bool:
    """Whether letters of two scripts are adjacent (a hyphen between them is ordinary)."""
    return any(
        (_LATIN.match(left) and _LIKE_LATIN.match(right)) or (_LIKE_LATIN.match(left) and _LATIN.match(right))
        for left, right in pairwise(word)
        if unicodedata.category(left).startswith("L") and unicodedata.category(right).startswith("L")
    )
