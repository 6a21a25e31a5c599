"""The rules that run: our own, which ship compiled, and the sets that the user added with ``svc rules add``.

A set is one JSON file in the user's knowledge folder, ``rules/<name>.json``, replaced atomically.
"""

from __future__ import annotations

from functools import cache

import msgspec

from svc.assistant.knowledge import load, user_folder
from svc.assistant.sigma.engine import LEVELS, Filter, Rule, filtered

OURS = "compiled"
"""Name of our own set; no user's set may have it."""


class RuleTable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One set. ``source`` is its author or the folder it came from; ``version`` a digest of its content."""

    source: str
    version: str
    date: str
    rules: tuple[Rule, ...]
    filters: tuple[Filter, ...] = ()
    """They limit the rules of all sets."""


class UnreadableSet(msgspec.Struct, frozen=True):
    """A user's set that cannot be read, and why; the other sets still run."""

    name: str
    reason: str


@cache
def _ours() -> RuleTable:
    return load(f"rules/{OURS}.json", RuleTable, __package__)


def load_tables() -> dict[str, RuleTable | UnreadableSet]:
    """Return every set by name, our own first."""
    tables: dict[str, RuleTable | UnreadableSet] = {OURS: _ours()}
    for file in sorted((user_folder() / "rules").glob("*.json")):
        if file.stem == OURS:
            continue
        try:
            tables[file.stem] = msgspec.json.decode(file.read_bytes(), type=RuleTable)
        except (OSError, msgspec.DecodeError) as error:
            tables[file.stem] = UnreadableSet(file.stem, f"{type(error).__name__}: {error}")
    return tables


class LoadedRules(msgspec.Struct, frozen=True):
    """All rules that run, and the sets that could not be read."""

    rules: tuple[Rule, ...]
    unreadable: tuple[UnreadableSet, ...] = ()


def load_rules() -> LoadedRules:
    """Return all readable rules, the most severe first; a rule in several sets (same ID) runs once."""
    seen: dict[str, Rule] = {}
    filters: list[Filter] = []
    unreadable: list[UnreadableSet] = []
    for table in load_tables().values():
        if isinstance(table, UnreadableSet):
            unreadable.append(table)
            continue
        filters += table.filters
        for rule in table.rules:
            seen.setdefault(rule.id or f"{rule.title} {rule.author}", rule)
    ranked = sorted(filtered(seen.values(), filters), key=lambda rule: LEVELS.index(rule.level))
    return LoadedRules(tuple(ranked), tuple(unreadable))
