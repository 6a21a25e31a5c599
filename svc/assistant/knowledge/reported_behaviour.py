"""The schema of ``reported_behaviour.toml``: words that tell a report of an attack from other texts, with weights.

Phrases are written as in the lexicon (``lexicon.py``). Weights are logarithms of odds, fitted by
``tests/benchmarks/reported_behaviour.py`` on labelled sentences and on documentation that describes no attack.
"""

from __future__ import annotations

from datetime import date

import msgspec

FILE_NAME = "reported_behaviour.toml"


class WordClass(msgspec.Struct, frozen=True, kw_only=True):
    """Words that show the same thing: ``weight`` is that of the first match, ``more`` that of each of the next two."""

    name: str
    shows: str
    phrases: list[str]
    weight: float = 0.0
    more: float = 0.0


class ReportedBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """``reported_behaviour.toml``. ``forms`` are the weights of a sentence's form by its name."""

    source: str
    version: str
    date: date
    start: float
    """The weight before any evidence."""
    technique: float
    """What a point of the technique's own score adds."""
    unfamiliar: float
    """What each word adds that no technique and no class about attacks or computers has."""
    common: str
    """Words without a subject, which are neither familiar nor unfamiliar."""
    forms: dict[str, float]
    words: dict[str, str]
    """Words by their weight in tenths: what single words add besides the classes that they may be in."""
    groups: dict[str, list[str]]
    classes: list[WordClass]
