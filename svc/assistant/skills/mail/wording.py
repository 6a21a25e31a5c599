"""What a mail's own text asks of its recipient, by theme, and words obfuscated to evade filters. Pure.

Quoted lines are somebody else's words and are left out. Themes and their patterns: ``words.toml``.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from datetime import date
from functools import cache
from itertools import islice, pairwise

import msgspec

from svc.assistant.knowledge import load
from svc.assistant.knowledge.word_patterns import FoldedPattern, is_plain, word_pattern
from svc.assistant.skills.mail.brands import folded
from svc.assistant.skills.mail.findings import MailNature
from svc.assistant.skills.mail.html import MARKS, marked_link
from svc.assistant.skills.mail.literals import required_literals

MAX_WORDS_CHARS = 30_000  # of the text that is searched: a mail states its purpose earlier
POINTS = {"strong": 2.0, "medium": 1.0, "weak": 0.5}
MAX_PHRASES = 12  # shown of one theme
WINDOW_CHARS = 450  # of a mail: the phrases of one part count together
WINDOW_LINKS = 3
_TAIL_CHARS = 10_000  # of a long text's end: what matters may follow padding
_MOST_SEARCHED = MAX_WORDS_CHARS + 2_000
_MAX_WINDOWS = 300
_MAX_REPEATS = 12  # of one pattern
_OWN_CHARS = 40
_NEVER_BY_ONE_PHRASE = frozenset(["extortion", "advance_fee"])  # "within 24 hours" is no threat
_SPAM_SHARE = 0.2
_GRAM = 3  # letters by which literals are looked up
_MAX_KNOWN_WORDS = 20_000  # of all mails, with the literals that they may belong to
_MAX_KNOWN_CHARS = 40  # of such a word
_LONE_WORDS = 1.0  # most that a theme can have from weak words alone

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")  # in a pattern: letters, to be folded as the text is
_ZERO_WIDTH = re.compile(r"\w[\u200b-\u200d\u2060\ufeff]+\w")
_LINK = re.compile("[\ue000-\uf8ff]|https?://|www\\.", re.IGNORECASE)
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
    return [(theme, level, word_pattern(pattern)) for theme, level, pattern in _texts()]


@cache
def _texts() -> list[tuple[_Theme, str, str]]:
    """The patterns as text, folded as the text of mails is."""
    return [
        (theme, level, _NOT_ASCII.sub(lambda found: folded(found.group()), pattern))
        for theme in _lexicon().themes
        for level in POINTS
        for pattern in getattr(theme, level)
    ]


@cache
def _folded_pattern(number: int) -> FoldedPattern:
    return FoldedPattern(_texts()[number][2])


class _LiteralIndex:
    """Finds the patterns of which a text has a needed literal, by the first three letters of a word of each literal.

    A text's words are looked at once instead of once for each of a thousand literals.
    """

    def __init__(self) -> None:
        self._needed = [required_literals(pattern) for _, _, pattern in _texts()]
        self._always: list[int] = []
        self._patterns: dict[str, list[int]] = {}
        for number, needed in enumerate(self._needed):
            if not needed or min(map(len, needed[0])) < _GRAM:
                self._always.append(number)
                continue
            for literal in needed[0]:
                self._patterns.setdefault(literal, []).append(number)
        self._words: dict[str, tuple[str, ...]] = {}
        self._by_gram: dict[str, list[str]] = {}
        for literal in self._patterns:
            self._by_gram.setdefault(_gram(literal), []).append(literal)

    def possible(self, text: str) -> list[int]:
        """The numbers of the patterns that may match, in their order."""
        found = set(self._always)
        candidates = set(self._by_gram.get("", ()))
        for word in set(text.split()):
            candidates.update(self._of_word(word))
        for literal in candidates:
            if literal in text:
                found.update(self._patterns[literal])
        return sorted(number for number in found if self._has_all(number, text))

    def _has_all(self, number: int, text: str) -> bool:
        """Whether a text has a literal of each part of the pattern."""
        for literals in self._needed[number]:
            for literal in literals:
                if literal in text:
                    break
            else:
                return False
        return True

    def _of_word(self, word: str) -> tuple[str, ...]:
        """The literals that a word may belong to: most words of a mail were in an earlier one, too."""
        known = self._words.get(word)
        if known is None:
            grams = {word[at : at + _GRAM] for at in range(len(word) - _GRAM + 1)}
            known = tuple(literal for gram in self._by_gram.keys() & grams for literal in self._by_gram[gram])
            if len(word) <= _MAX_KNOWN_CHARS:
                if len(self._words) >= _MAX_KNOWN_WORDS:
                    self._words.clear()
                self._words[word] = known
        return known


def _gram(literal: str) -> str:
    """The first letters of its longest word; "" if that is too short."""
    word = max(literal.split(), key=len, default="")
    return word[:_GRAM] if len(word) >= _GRAM else ""


@cache
def _literal_index() -> _LiteralIndex:
    return _LiteralIndex()


def version() -> str:
    """Version and date of the word list."""
    return f"{_lexicon().version} of {_lexicon().date.isoformat()}"


def own_text(text: str, *, is_reply: bool) -> str:
    """Return the text without quoted lines, and in a reply without everything below the quoted mail's header.

    A part with a link, and a mail that consists of quotations, are not left out: any sender can write their marks.
    """
    if is_reply and (head := _REPLY_HEAD.search(text)) and not _LINK.search(text, head.end()):
        text = text[: head.start()] if len(text[: head.start()].strip()) >= _OWN_CHARS else text
    own = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith((">", "|")))
    return own if len(own.strip()) >= _OWN_CHARS else text


def quoted_lines(text: str) -> int:
    """Count the lines that quote another mail."""
    return sum(1 for line in text.split("\n") if line.lstrip().startswith(">"))


def searchable(text: str) -> str:
    """Folded, on one line, no longer than MAX_WORDS_CHARS: of a longer text the beginning and the end."""
    if len(text) > MAX_WORDS_CHARS:
        text = f"{text[: MAX_WORDS_CHARS - _TAIL_CHARS]} {text[-_TAIL_CHARS:]}"
    return " ".join(folded(text).replace("\u2019", "'").split())


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What a mail says. ``core`` is its subject and the part with most phrases; ``themes`` are those of the core.

    ``links`` are the indices of the links in the core and of the next one.
    """

    text: str
    core: str
    themes: tuple[ThemeHit, ...]
    links: frozenset[int] = frozenset()


class _Match(msgspec.Struct, frozen=True):
    number: int  # of the pattern, in the order in which patterns have precedence
    start: int
    end: int


def read_words(subject: str, body: str) -> Words:
    """Read a mail's subject and own text, in which links are marked (``link_mark``).

    Newsletters have phrases of everything, spread over their items; a trap's are together. So only phrases of one
    part count: WINDOW_CHARS, or as much as has no more than WINDOW_LINKS links.
    """
    head = searchable(subject)
    marks = [marked_link(mark) for mark in MARKS.findall(body)]
    pieces = [searchable(piece) for piece in MARKS.split(body)]
    text = f"{head} {' '.join(pieces)}"
    ends: list[int] = []
    position = len(head) + 1
    for piece in pieces[:-1]:
        position += len(piece) + 1
        ends.append(position)
    text = text[:_MOST_SEARCHED]
    matches = _matches(text)
    starts = sorted({match.start for match in matches if match.start >= len(head)})
    windows = [(start, _window_end(start, ends, len(text))) for start in starts[:_MAX_WINDOWS]] or [
        (len(head), len(text))
    ]
    best: tuple[float, int, int, list[ThemeHit]] = (-1.0, 0, 0, [])
    reached = -1
    for start, end in windows:
        if end <= reached:
            continue  # a part of the window before it
        reached = max(reached, end) if end == len(text) else reached
        near = [one for one in matches if one.start < len(head) or (start <= one.start and one.end <= end)]
        hits = _hits(text, near)
        weight = sum(hit.points * (_SPAM_SHARE if hit.nature == "spam" else 1.0) for hit in hits)
        if weight > best[0]:
            best = (weight, start, end, hits)
    _, first, last, hits = best
    links = marks[bisect_left(ends, first) : bisect_left(ends, last) + 1]
    return Words(text=text, core=f"{head} {text[first:last]}", themes=tuple(hits), links=frozenset(links))


def _window_end(start: int, ends: list[int], length: int) -> int:
    after = bisect_right(ends, start) + WINDOW_LINKS
    return min(length, max(start + WINDOW_CHARS, ends[after] if after < len(ends) else length))


def _matches(text: str) -> list[_Match]:
    """The matches in the order of the patterns, then of the text."""
    found: list[_Match] = []
    is_folded = is_plain(text)
    for number in _literal_index().possible(text):
        pattern = _folded_pattern(number) if is_folded else _patterns()[number][2]
        found += [_Match(number, match.start(), match.end()) for match in islice(pattern.finditer(text), _MAX_REPEATS)]
    return found


def _hits(text: str, matches: list[_Match]) -> list[ThemeHit]:
    """The themes of these matches, which are in the order of the patterns, strongest first."""
    found: dict[str, dict[str, list[str]]] = {}
    taken: dict[str, list[tuple[int, int]]] = {}
    done: set[int] = set()
    for match in matches:
        theme, level, _ = _texts()[match.number]
        spans = taken.setdefault(theme.name, [])
        if match.number in done or any(start < match.end and match.start < end for start, end in spans):
            continue  # each pattern once, and the same words once, by the stronger pattern
        done.add(match.number)
        spans.append((match.start, match.end))
        found.setdefault(theme.name, {}).setdefault(level, []).append(text[match.start : match.end][:120])
    hits = [_hit(theme, found[theme.name]) for theme in _lexicon().themes if theme.name in found]
    hits = [hit for hit in hits if hit.solid > 1 or hit.name not in _NEVER_BY_ONE_PHRASE]
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
def _business_patterns() -> list[tuple[str, re.Pattern[str], frozenset[str]]]:
    return [
        (one.what, word_pattern(pattern), next(iter(required_literals(pattern)), frozenset()))
        for one in _lexicon().business
        for pattern in one.patterns
    ]


def business_subjects(text: str) -> tuple[str, ...]:
    """Return what a ``searchable`` text is about, of the subjects by which a stranger gets something opened."""
    found: list[str] = []
    for what, pattern, needed in _business_patterns():
        if what not in found and (not needed or any(one in text for one in needed)) and pattern.search(text):
            found.append(what)
    return tuple(found)


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
