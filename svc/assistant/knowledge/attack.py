"""The form of the ATT&CK table: ``attack.json``, ours or the one that ``attack_update`` reads from the official file.

Facts alone: identifiers, names, relations. What people call a behaviour is in ``lexicon.toml``.
"""

from __future__ import annotations

from datetime import date

import msgspec

FILE_NAME = "attack.json"


class Tactic(msgspec.Struct, frozen=True, kw_only=True):
    """``short`` is the name in STIX and Sigma (``lateral-movement``); ``aliases`` are others in the same form."""

    id: str
    name: str
    short: str
    aliases: list[str] = []


class Technique(msgspec.Struct, frozen=True, kw_only=True):
    """A technique (``T1003``) or sub-technique (``T1003.001``); ``tactics`` are short names, in the matrix's order.

    ``since`` is the version that brought it where that is later than the table's own; ``platforms`` may be empty.
    """

    id: str
    name: str
    tactics: list[str]
    platforms: list[str] = []
    since: str = ""


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """An identifier that was withdrawn, and the one that took its place; ``version`` is ATT&CK's that did so, or ""."""

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
    moved: list[Moved] = []
