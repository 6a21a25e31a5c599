"""The rules that run: ours, which ship compiled, and the sets that the user added with ``svc rules add``.

A set is one JSON file in the user's knowledge folder, ``rules/<name>.json``, written whole or not at all.
"""

from __future__ import annotations

import msgspec

from svc.assistant.knowledge import load, user_folder
from svc.assistant.sigma.engine import LEVELS, Rule

OURS = "compiled"
"""Our own set's name; no user's set may have it."""


class RuleTable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One set. ``source`` is who made it, or the folder that it came from; ``version`` a digest of what was read."""

    source: str
    version: str
    date: str
    rules: tuple[Rule, ...]


class UnreadableSet(msgspec.Struct, frozen=True):
    """A user's set that cannot be read, and why: the others run all the same."""

    name: str
    reason: str


def load_tables() -> dict[str, RuleTable | UnreadableSet]:
    """Every set by its name, ours first."""
    tables: dict[str, RuleTable | UnreadableSet] = {OURS: load(f"rules/{OURS}.json", RuleTable)}
    for file in sorted((user_folder() / "rules").glob("*.json")):
        if file.stem == OURS:
            continue
        try:
            tables[file.stem] = msgspec.json.decode(file.read_bytes(), type=RuleTable)
        except (OSError, msgspec.DecodeError) as error:
            tables[file.stem] = UnreadableSet(file.stem, f"{type(error).__name__}: {error}")
    return tables


class LoadedRules(msgspec.Struct, frozen=True):
    """What a log is run through, and the sets that could not be read."""

    rules: tuple[Rule, ...]
    unreadable: tuple[UnreadableSet, ...] = ()


def load_rules() -> LoadedRules:
    """All rules that can be read, the severest first; a rule that several sets have (by id) runs once."""
    seen: dict[str, Rule] = {}
    unreadable: list[UnreadableSet] = []
    for table in load_tables().values():
        if isinstance(table, UnreadableSet):
            unreadable.append(table)
            continue
        for rule in table.rules:
            seen.setdefault(rule.id or f"{rule.title} {rule.author}", rule)
    ranked = sorted(seen.values(), key=lambda rule: LEVELS.index(rule.level))
    return LoadedRules(tuple(ranked), tuple(unreadable))
