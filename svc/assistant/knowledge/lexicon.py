"""The schema of ``lexicon.toml``, our own lexicon of how reports describe each ATT&CK technique.

A phrase is a set of words that are close to each other in any order. ``dump*`` is any word with this beginning,
``run_key*`` is a sequence of adjacent words, ``a|b`` is either, ``@name`` is any word of the group ``name``.
"""

from __future__ import annotations

from datetime import date

import msgspec

FILE_NAME = "lexicon.toml"


class LexiconEntry(msgspec.Struct, frozen=True, kw_only=True):
    """How reports describe one technique.

    ``what`` is a one-line description. ``sure`` phrases always mean the technique, ``says`` phrases usually do,
    ``hints`` fit several techniques. A phrase of ``unless`` in the same sentence shows that something else is meant.
    ``common``, 0 to 3, is how often reports mention the technique; it decides between equal scores.
    """

    id: str
    what: str
    common: int = 0
    sure: list[str] = []
    says: list[str] = []
    hints: list[str] = []
    unless: list[str] = []


class Lexicon(msgspec.Struct, frozen=True, kw_only=True):
    """``lexicon.toml``; ``groups`` are synonyms by the name that phrases use."""

    source: str
    version: str
    date: date
    groups: dict[str, list[str]]
    techniques: list[LexiconEntry]
