"""Look up the names, parents and tactics of ATT&CK techniques by their ID.

A withdrawn ID keeps its name and has a successor. Facts: ``attack.json``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from svc.assistant.knowledge import load
from svc.assistant.knowledge.attack import FILE_NAME, AttackTable, Tactic, Technique, WithdrawnTechnique

TECHNIQUE_ID = re.compile(r"\bT\d{4}(?:\.\d{3})?(?![\d.]*\d)\b", re.IGNORECASE)


@cache
def attack_table() -> AttackTable:
    """Return the table in use: the user's, or the one that is shipped."""
    return load(FILE_NAME, AttackTable)


def attack_version() -> str:
    """Return the version for answers: ``ATT&CK 19.0 of 2026-04-28``."""
    table = attack_table()
    return f"ATT&CK {table.version} of {table.date.isoformat()}"


@cache
def techniques_by_id() -> dict[str, Technique]:
    """Return every technique and sub-technique in force by its ID."""
    return {technique.id: technique for technique in attack_table().techniques}


@cache
def moved_by_id() -> dict[str, WithdrawnTechnique]:
    """Return every withdrawn technique by its old ID, those without a successor too."""
    return {moved.id: moved for moved in attack_table().moved}


def parent_of(technique_id: str) -> str:
    """Return ``T1003`` for ``T1003.001`` and for ``T1003``."""
    return technique_id.partition(".")[0]


def attack_name(technique_id: str) -> str:
    """Return ``OS Credential Dumping: LSASS Memory``; the old name of a withdrawn ID; "" for an unknown ID."""
    name, parent_id = _own_name(technique_id), parent_of(technique_id)
    parent = _own_name(parent_id) if name and parent_id != technique_id else ""
    return f"{parent}: {name}" if parent else name


def _own_name(technique_id: str) -> str:
    entry = techniques_by_id().get(technique_id) or moved_by_id().get(technique_id)
    return entry.name if entry else ""


def successor_of(technique_id: str) -> str | None:
    """Return the ID that replaced a withdrawn one, following several changes; None for other IDs."""
    seen = {technique_id}
    while technique_id not in techniques_by_id() and (moved := moved_by_id().get(technique_id)) is not None:
        technique_id = moved.to
        if technique_id in seen:
            return None
        seen.add(technique_id)
    return technique_id if len(seen) > 1 and technique_id in techniques_by_id() else None


def tactics_of(technique_id: str) -> tuple[str, ...]:
    """Return short names (``credential-access``) in the matrix's order; for a withdrawn ID, those of its successor."""
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
    """Return the tactic with an ID, a name in any spelling (``Lateral Movement``, ``lateral_movement``) or an alias."""
    return _tactics().get(_short(name))


def tactic_name(name: str) -> str:
    """Return ``Lateral Movement`` for ``lateral-movement``; an unknown name is returned as it is."""
    found = tactic(name)
    return found.name if found else name


def tactic_label(name: str) -> str:
    """Return the name as ``tactic_name`` does, with the one that reports and rules still use: ``… (formerly …)``."""
    found = tactic(name)
    return f"{found.name} (formerly {found.formerly})" if found and found.formerly else tactic_name(name)


def current_tactics(names: Iterable[str], techniques: Iterable[str]) -> tuple[str, ...]:
    """Return the short names of tactics that a rule or a table names, in the terms of the table in use.

    A tactic that was split becomes those of its parts that ``techniques`` belong to; if they belong to none, it is left
    out if the rule has another tactic, and else replaced by the techniques' own. Unknown names are kept.
    """
    own = [short for technique in techniques for short in tactics_of(technique)]
    kept, split = list[str](), list[str]()
    for name in names:
        found = tactic(name)
        parts = _parts_of(name) if found and _short(name) != found.short else ()
        if len(parts) < 2:
            kept.append(found.short if found else name)
            continue
        fitting = [short for short in own if short in parts]
        kept += fitting
        split += [] if fitting else [name]
    if split and not kept:
        kept = own[:1] or [found.short for name in split if (found := tactic(name))]
    return tuple(dict.fromkeys(kept))


def _parts_of(former_name: str) -> tuple[str, ...]:
    """Return the short names of the tactics that were once one; its name may have British spelling."""
    plain = _short(former_name).replace("defence", "defense")
    return tuple(one.short for one in attack_table().tactics if _short(one.formerly) == plain)
