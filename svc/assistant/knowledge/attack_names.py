"""What ATT&CK calls things: the name, parent and tactics of a technique, by its id. Pure; for any tool that names one.

Facts: ``knowledge/attack.json``. An id that ATT&CK has withdrawn keeps its name and has a successor.
"""

from __future__ import annotations

import re
from functools import cache

from svc.assistant.knowledge import load
from svc.assistant.knowledge.attack import FILE_NAME, AttackTable, Moved, Tactic, Technique

TECHNIQUE_ID = re.compile(r"\bT\d{4}(?:\.\d{3})?(?![\d.]*\d)\b", re.IGNORECASE)


@cache
def attack_table() -> AttackTable:
    """The table in use."""
    return load(FILE_NAME, AttackTable)


def attack_version() -> str:
    """``ATT&CK 17.0 of 2025-04-22``: what an answer names."""
    table = attack_table()
    return f"ATT&CK {table.version} of {table.date.isoformat()}"


@cache
def techniques_by_id() -> dict[str, Technique]:
    """Every technique and sub-technique that is in force."""
    return {technique.id: technique for technique in attack_table().techniques}


@cache
def moved_by_id() -> dict[str, Moved]:
    """Every withdrawn identifier that has a successor."""
    return {moved.id: moved for moved in attack_table().moved}


def parent_of(technique_id: str) -> str:
    """``T1003`` for ``T1003.001`` and for ``T1003``."""
    return technique_id.partition(".")[0]


def attack_name(technique_id: str) -> str:
    """``OS Credential Dumping: LSASS Memory``; the old name of a withdrawn id; "" for an id that is not known."""
    technique = techniques_by_id().get(technique_id)
    if technique is None:
        moved = moved_by_id().get(technique_id)
        return moved.name if moved else ""
    parent = techniques_by_id().get(parent_of(technique_id))
    return technique.name if parent is None or parent is technique else f"{parent.name}: {technique.name}"


def successor_of(technique_id: str) -> str | None:
    """The id in force for a withdrawn one, through several changes; None for one that is in force or not known."""
    seen = {technique_id}
    while technique_id not in techniques_by_id() and (moved := moved_by_id().get(technique_id)) is not None:
        technique_id = moved.to
        if technique_id in seen:
            return None
        seen.add(technique_id)
    return technique_id if len(seen) > 1 and technique_id in techniques_by_id() else None


def tactics_of(technique_id: str) -> tuple[str, ...]:
    """Short names (``credential-access``) in the matrix's order; of the successor for a withdrawn id; () if unknown."""
    technique = techniques_by_id().get(technique_id) or techniques_by_id().get(successor_of(technique_id) or "")
    return tuple(technique.tactics) if technique else ()


@cache
def _tactics() -> dict[str, Tactic]:
    tactics = attack_table().tactics
    by_alias = {_short(alias): tactic for tactic in tactics for alias in tactic.aliases}
    return by_alias | {key: tactic for tactic in tactics for key in (tactic.short, _short(tactic.id))}


def _short(name: str) -> str:
    return re.sub(r"[\s_]+", "-", name.strip().lower())


def tactic(name: str) -> Tactic | None:
    """The tactic of an id, a name in any spelling (``Lateral Movement``, ``lateral_movement``) or an alias."""
    return _tactics().get(_short(name))


def tactic_name(name: str) -> str:
    """``Lateral Movement`` for ``lateral-movement``; the words themselves where no tactic has them."""
    found = tactic(name)
    return found.name if found else name
