"""The form of the lexicon of behaviours, ``lexicon.toml``: how reports speak of each technique. Our own work.

A phrase is words of which all must stand close to each other, in any order. ``dump*`` is any word that begins so,
``run_key*`` are neighbours in this order, ``a|b`` is either, ``@name`` is the group of that name.
"""

from __future__ import annotations

from datetime import date

import msgspec

FILE_NAME = "lexicon.toml"


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """One technique as reports speak of it.

    ``what`` says in one line what the adversary does. ``sure`` phrases mean it wherever they stand, ``says`` phrases
    speak of it, ``hints`` fit it beside others. Where one of ``unless`` stands beside them, something else is meant.
    ``common``, 0 to 3, is how often reports speak of it: what decides between equals.
    """

    id: str
    what: str
    common: int = 0
    sure: list[str] = []
    says: list[str] = []
    hints: list[str] = []
    unless: list[str] = []


class Lexicon(msgspec.Struct, frozen=True, kw_only=True):
    """``lexicon.toml``. ``groups`` are words that stand for each other, by the name that phrases use."""

    source: str
    version: str
    date: date
    groups: dict[str, list[str]]
    techniques: list[Behaviour]
