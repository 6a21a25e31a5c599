"""Derive from a regular expression the words that every match contains, so that most values need no search.

The expression is read with Python's parser. Words are ASCII and in lower case, whether or not the expression ignores
case: look for them in the value's lower case, and only if that is ASCII, since other letters may fold to these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

MAX_WORDS = 40  # of one clause
MAX_CLASS = 4  # letters of a class that are tried one by one
MAX_LETTERS = 64  # of one word, about
_DIFFERENT = ("[:", "[[", "{,", "--", "&&", "~~", "||")  # RE2 reads these otherwise, or Python will
_USUAL = (
    r"c:\windows\system32 c:\program files\ (x86) c:\programdata\ c:\users\appdata\local\temp\ \windows\explorer.exe "
    r"\cmd.exe \powershell.exe \svchost.exe .dll .com http://www. https:// /usr/bin/ /bin/ "
)
"""What many ordinary values contain: a word of it excludes few of them."""

Clause = tuple[str, ...]
"""Words of which at least one is in every match."""

_parser: Any = re._parser  # type: ignore[attr-defined]


@lru_cache(maxsize=1_000)
def clauses(expression: str) -> tuple[Clause, ...]:
    """Return clauses that every match meets, the most telling first; none if nothing is known."""
    if any(one in expression for one in _DIFFERENT):
        return ()
    try:
        words = _read(_parser.parse(expression))
    except (re.error, ValueError, OverflowError, RecursionError):  # RE2 may know it
        return ()
    words.end()
    return tuple(sorted(set(words.clauses), key=rank))


def clauses_of_any(expressions: Sequence[str]) -> tuple[Clause, ...]:
    """Return clauses that every match of at least one of the expressions meets."""
    each = [clauses(one) for one in expressions]
    if len(each) == 1:
        return each[0]
    together = _together(each)
    return (together,) if together else ()


def rank(words: Clause) -> tuple[bool, int, int]:
    """Return a key to sort by: the smaller, the fewer ordinary values have one of the words."""
    return any(word in _USUAL for word in words), -min(map(len, words), default=0), len(words)


def _together(each: Iterable[Sequence[Clause]]) -> Clause | None:
    """Return one clause for several alternatives; None if there is none or it is too long."""
    words: set[str] = set()
    for known in each:
        if not known:
            return None
        best: Clause = min(known, key=rank)
        words.update(best)
    return tuple(sorted(words)) if len(words) <= MAX_WORDS else None


class _RequiredWords:
    """Reads a sequence: ``_run`` are the texts that the part just read can be, ``clauses`` what is required so far."""

    def __init__(self) -> None:
        self.clauses: list[Clause] = []
        self._run: frozenset[str] = frozenset({""})
        self._is_whole = True

    def exact(self) -> frozenset[str] | None:
        """Return all texts that the sequence matches, None if these are too many or unknown."""
        return self._run if self._is_whole else None

    def end(self) -> None:
        """Turn the last run into a clause, unless it can be empty."""
        if "" not in self._run:
            self.clauses.append(tuple(sorted(self._run)))
        self._run = frozenset({""})
        self._is_whole = False

    def read(self, tree: Iterable[tuple[object, Any]]) -> None:
        """Read the items of a sequence."""
        for item in tree:
            self._item(item)

    def _item(self, item: tuple[object, Any]) -> None:
        kind, argument = item
        match str(kind):
            case "LITERAL":
                self._append(_letters([argument]))
            case "IN":
                self._append(_letters_of_class(argument))
            case "SUBPATTERN":
                self._part(_read(argument[-1]))
            case "ATOMIC_GROUP":
                self._part(_read(argument))
            case "BRANCH":
                self._branch(argument[1])
            case "AT":  # takes no letter, so what is before and after it is adjacent
                return
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                self._repeat(*argument)
            case _:
                self.end()

    def _append(self, texts: frozenset[str] | None) -> None:
        if texts is None:
            self.end()
            return
        if len(self._run) * len(texts) > MAX_WORDS or max(map(len, self._run)) > MAX_LETTERS:
            self.end()
        if len(texts) <= MAX_WORDS:
            self._run = frozenset(before + text for before in self._run for text in texts)

    def _part(self, inner: _RequiredWords) -> None:
        if (texts := inner.exact()) is not None:
            self._append(texts)
            return
        self.end()
        inner.end()
        self.clauses += inner.clauses

    def _branch(self, branches: Sequence[Iterable[tuple[object, Any]]]) -> None:
        each = [_read(branch) for branch in branches]
        texts = [one.exact() for one in each]
        if None not in texts:
            self._append(frozenset().union(*(one for one in texts if one is not None)))
            return
        self.end()
        for one in each:
            one.end()
        if together := _together([one.clauses for one in each]):
            self.clauses.append(together)

    def _repeat(self, least: int, most: int, tree: Iterable[tuple[object, Any]]) -> None:
        inner = _read(tree)
        texts = inner.exact()
        if least == 0:
            self._append(texts | {""} if most == 1 and texts is not None else None)
            return
        self._part(inner)  # at least once
        if most > 1:
            self.end()


def _read(tree: Iterable[tuple[object, Any]]) -> _RequiredWords:
    words = _RequiredWords()
    words.read(tree)
    return words


def _letters(codes: Sequence[int]) -> frozenset[str] | None:
    return frozenset(chr(code).lower() for code in codes) if all(code < 128 for code in codes) else None


def _letters_of_class(items: Sequence[tuple[object, Any]]) -> frozenset[str] | None:
    """Return the letters of a small class such as ``[DR]``."""
    if len(items) > MAX_CLASS or any(str(kind) != "LITERAL" for kind, _ in items):
        return None
    return _letters([code for _, code in items])
