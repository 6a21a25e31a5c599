"""Find the words of which a text must have one for a regular expression to match, as a fast check before a slow one.

Supports the constructs that the tables use: escapes, classes, groups, quantifiers, alternatives, lookarounds. It never
returns a word that is not needed, and none if it is unsure. It prefers long words.
"""

from __future__ import annotations

MIN_WORD_CHARS = 3  # shorter words are in most texts


def needed_words(pattern: str) -> tuple[str, ...]:
    """Return words of which one is in every match of ``pattern``; none if that is not known."""
    words, _ = _alternatives(pattern, 0)
    return tuple(sorted(words))


def _alternatives(pattern: str, at: int) -> tuple[frozenset[str], int]:
    """Return the needed words of the alternatives from ``at`` to the group's end, and that position."""
    every: list[frozenset[str]] = []
    while True:
        words, at = _sequence(pattern, at)
        every.append(words)
        if at >= len(pattern) or pattern[at] == ")":
            break
        at += 1
    return (frozenset().union(*every) if all(every) else frozenset()), at


def _sequence(pattern: str, at: int) -> tuple[frozenset[str], int]:
    """Return the longest needed words of one alternative, and where it ends (``|``, ``)`` or the pattern's end)."""
    found: list[frozenset[str]] = []
    run = ""
    while at < len(pattern) and pattern[at] not in "|)":
        literal, words, at = _item(pattern, at)
        is_optional, is_repeated, at = _quantifier(pattern, at)
        if literal and not is_optional:
            run += literal
            if not is_repeated:
                continue
        found.append(frozenset([run]))
        run = ""
        if words and not is_optional:
            found.append(words)
    found.append(frozenset([run]))
    usable = [words for words in found if min(map(len, words)) >= MIN_WORD_CHARS]
    return max(usable, key=lambda words: (min(map(len, words)), -len(words)), default=frozenset()), at


def _item(pattern: str, at: int) -> tuple[str, frozenset[str], int]:
    """Return an item's character if it is fixed, the needed words of a group, and where the item ends."""
    char = pattern[at]
    if char == "\\":
        escaped = pattern[at + 1]
        return ("" if escaped.isalnum() else escaped), frozenset(), at + 2
    if char == "[":
        end = pattern.index("]", at + 2 if pattern[at + 1] != "^" else at + 3)
        while pattern[end - 1] == "\\":
            end = pattern.index("]", end + 1)
        return "", frozenset(), end + 1
    if char == "(":
        return _group(pattern, at)
    return ("" if char in ".^$" else char), frozenset(), at + 1


def _group(pattern: str, at: int) -> tuple[str, frozenset[str], int]:
    is_look = pattern.startswith(("(?=", "(?!", "(?<=", "(?<!"), at)
    start = at + 1
    if pattern.startswith("(?", at):
        start = at + 3 + (pattern.startswith(("(?<=", "(?<!"), at))
    words, end = _alternatives(pattern, start)
    return "", frozenset() if is_look else words, end + 1


def _quantifier(pattern: str, at: int) -> tuple[bool, bool, int]:
    """Return whether a quantifier makes the item optional, whether it repeats it, and where it ends."""
    if at >= len(pattern) or pattern[at] not in "?*+{":
        return False, False, at
    end = pattern.index("}", at) + 1 if pattern[at] == "{" else at + 1
    is_optional = pattern[at + 1] in "0," if pattern[at] == "{" else pattern[at] != "+"
    is_repeated = pattern[at] != "?"
    return is_optional, is_repeated, end + (pattern[end : end + 1] in ("?", "+"))  # lazy or possessive
