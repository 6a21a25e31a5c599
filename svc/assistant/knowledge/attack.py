"""The schema of ``attack.json``, whether shipped or made from the official file by ``attack_update``.

It has facts only: IDs, names and relations. The words that people use for a behaviour are in ``lexicon.toml``.
"""

from __future__ import annotations

from datetime import date

import msgspec

FILE_NAME = "attack.json"


class Tactic(msgspec.Struct, frozen=True, kw_only=True):
    """A tactic; ``short`` is its name in STIX and Sigma (``lateral-movement``), ``aliases`` are other such names.

    ``formerly`` is the tactic that it was, or was a part of, in the version before its own renaming or splitting.
    """

    id: str
    name: str
    short: str
    aliases: list[str] = []
    formerly: str = ""


class Technique(msgspec.Struct, frozen=True, kw_only=True):
    """A technique (``T1003``) or sub-technique (``T1003.001``); ``tactics`` are short names, in the matrix's order.

    ``formerly`` is its earlier name, or ""; ``platforms`` may be empty.
    """

    id: str
    name: str
    tactics: list[str]
    platforms: list[str] = []
    formerly: str = ""


class WithdrawnTechnique(msgspec.Struct, frozen=True, kw_only=True):
    """A withdrawn ID and the one that replaced it, or ""; ``version`` is the version of ATT&CK that did so, or ""."""

    id: str
    name: str
    to: str
    version: str = ""


class AttackTable(msgspec.Struct, frozen=True, kw_only=True):
    """``attack.json``."""

    source: str
    licence: str
    version: str
    date: date
    tactics: list[Tactic]
    techniques: list[Technique]
    moved: list[WithdrawnTechnique] = []
