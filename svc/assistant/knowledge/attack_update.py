"""Convert the official ATT&CK bundle (STIX 2.1, ``enterprise-attack.json``) to our table.

IDs, names, tactics, platforms and the successors of withdrawn IDs come from the bundle, aliases and earlier names from
the table that is shipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from importlib import resources

import msgspec

from svc.assistant.knowledge.attack import FILE_NAME, AttackTable, Tactic, Technique, WithdrawnTechnique

MAX_BYTES = 256 * 1024 * 1024  # version 17 has 45 MB
MAX_NAME_CHARS = 200
_KILL_CHAIN = "mitre-attack"  # the enterprise matrix; others are mitre-mobile-attack, mitre-ics-attack
_TECHNIQUE_ID = re.compile(r"T\d{4}(?:\.\d{3})?")
_TACTIC_ID = re.compile(r"TA\d{4}")
_VERSION = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,2}")


class _Reference(msgspec.Struct, frozen=True):
    source_name: str = ""
    external_id: str = ""


class _Phase(msgspec.Struct, frozen=True):
    kill_chain_name: str = ""
    phase_name: str = ""


class _Object(msgspec.Struct, frozen=True):
    """The fields that are needed of any STIX object."""

    type: str
    id: str = ""
    name: str = ""
    modified: datetime | None = None
    revoked: bool = False
    x_mitre_deprecated: bool = False
    x_mitre_version: str = ""
    x_mitre_shortname: str = ""
    x_mitre_platforms: list[str] = []
    external_references: list[_Reference] = []
    kill_chain_phases: list[_Phase] = []
    tactic_refs: list[str] = []
    relationship_type: str = ""
    source_ref: str = ""
    target_ref: str = ""

    @property
    def attack_id(self) -> str:
        """The ATT&CK ID, or ""."""
        return next((one.external_id for one in self.external_references if one.source_name == _KILL_CHAIN), "")

    @property
    def is_in_force(self) -> bool:
        return not self.revoked and not self.x_mitre_deprecated


class _Bundle(msgspec.Struct, frozen=True, tag="bundle", tag_field="type"):
    objects: list[_Object]


def read(data: bytes) -> AttackTable:
    """Return the table in an official bundle.

    Raises:
        ValueError: The file is not an official bundle; the message says why.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"the file is {len(data):,} bytes; an ATT&CK bundle has at most {MAX_BYTES:,}.")
    try:
        objects = msgspec.json.decode(data, type=_Bundle).objects
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"not a STIX bundle ({error}); use MITRE's enterprise-attack.json.") from error
    tactics = _tactics(objects)
    techniques = _techniques(objects, [tactic.short for tactic in tactics])
    if not tactics or not techniques:
        raise ValueError(_why_not_enterprise(objects))
    collection = next((one for one in objects if one.type == "x-mitre-collection"), None)
    changed = (collection.modified if collection else None) or max(
        (one.modified for one in objects if one.modified), default=None
    )
    if collection is None or changed is None or not _VERSION.fullmatch(collection.x_mitre_version):
        raise ValueError("the bundle does not state its version; use the STIX 2.1 file, which has a collection object.")
    return AttackTable(
        source=f"MITRE ATT&CK Enterprise {collection.x_mitre_version}, the official STIX bundle",
        licence=_licence(changed.date()),
        version=collection.x_mitre_version,
        date=changed.date(),
        tactics=tactics,
        techniques=techniques,
        moved=_moved(objects, {technique.id for technique in techniques}),
    )


def _licence(changed: date) -> str:
    return (
        f"© {changed.year} The MITRE Corporation. This work is reproduced and distributed with the permission of "
        "The MITRE Corporation. ATT&CK is a registered trademark of The MITRE Corporation."
    )


def _why_not_enterprise(objects: list[_Object]) -> str:
    chains = {phase.kill_chain_name for one in objects for phase in one.kill_chain_phases} - {_KILL_CHAIN, ""}
    other = f"it has those of {', '.join(sorted(chains)[:3])}" if chains else f"it has {len(objects):,} other objects"
    return f"the bundle lacks techniques or tactics of the enterprise matrix; {other[:200]}."


def _tactics(objects: list[_Object]) -> list[Tactic]:
    """Return the tactics in the order of the matrix; those that no matrix lists come last."""
    order = [ref for one in objects if one.type == "x-mitre-matrix" for ref in one.tactic_refs]
    found = [
        one
        for one in objects
        if one.type == "x-mitre-tactic" and one.is_in_force and _TACTIC_ID.fullmatch(one.attack_id)
    ]
    found.sort(key=lambda one: order.index(one.id) if one.id in order else len(order))
    shorts = {one.x_mitre_shortname for one in found}
    shipped = {tactic.id: tactic for tactic in _shipped().tactics}
    return [
        Tactic(
            id=one.attack_id,
            name=one.name[:MAX_NAME_CHARS],
            short=one.x_mitre_shortname,
            aliases=[alias for alias in _other_names(shipped.get(one.attack_id)) if alias not in shorts],
            formerly=_former_name(one, shipped),
        )
        for one in found
    ]


def _shipped() -> AttackTable:
    """The table that is shipped: the newest one that knows earlier names."""
    return msgspec.json.decode(resources.files(__package__).joinpath(FILE_NAME).read_bytes(), type=AttackTable)


def _other_names(shipped: Tactic | None) -> Iterator[str]:
    """Yield the short name and aliases in the shipped table: after a renaming the old name becomes an alias."""
    if shipped is not None:
        yield from (shipped.short, *shipped.aliases)


def _former_name(one: _Object, shipped: Mapping[str, Tactic | Technique]) -> str:
    """The name in the shipped table if it is another one, else the one before that."""
    known = shipped.get(one.attack_id)
    if known is None:
        return ""
    return known.formerly if known.name == one.name else known.name


def _techniques(objects: list[_Object], order: list[str]) -> list[Technique]:
    shipped = {technique.id: technique for technique in _shipped().techniques}
    found = {
        one.attack_id: Technique(
            id=one.attack_id,
            name=one.name[:MAX_NAME_CHARS],
            tactics=sorted({p.phase_name for p in one.kill_chain_phases if p.phase_name in order}, key=order.index),
            platforms=one.x_mitre_platforms,
            formerly=_former_name(one, shipped),
        )
        for one in objects
        if one.type == "attack-pattern" and one.is_in_force and _TECHNIQUE_ID.fullmatch(one.attack_id)
    }
    return [found[one] for one in sorted(found) if found[one].tactics]


def _moved(objects: list[_Object], in_force: set[str]) -> list[WithdrawnTechnique]:
    """Return withdrawn IDs with the IDs in force that replaced them, following any number of changes.

    A deprecated ID has no successor.
    """
    patterns = {one.id: one for one in objects if one.type == "attack-pattern"}
    next_of = {one.source_ref: one.target_ref for one in objects if one.relationship_type == "revoked-by"}
    moved = {}
    for start, one in patterns.items():
        at, seen = start, {start}
        while at in next_of and next_of[at] not in seen:
            at = next_of[at]
            seen.add(at)
        to = patterns[at].attack_id if at in patterns else ""
        old = one.attack_id
        if old in in_force or not _TECHNIQUE_ID.fullmatch(old):
            continue
        if one.x_mitre_deprecated and not one.revoked:
            moved[old] = WithdrawnTechnique(id=old, name=one.name[:MAX_NAME_CHARS], to="")
        elif to in in_force:
            moved[old] = WithdrawnTechnique(id=old, name=one.name[:MAX_NAME_CHARS], to=to)
    return [moved[old] for old in sorted(moved)]
