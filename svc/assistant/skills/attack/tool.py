"""Look ATT&CK up: what an ID or a name is, and which techniques a tactic has.

Facts: ``knowledge/attack.json``; the one-line description of a technique is our own (``knowledge/lexicon.toml``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache

from svc.assistant.file_types.text_shape import data_form, word_share
from svc.assistant.findings import Confidence, Coverage, Evidence, Finding, Gap, Progress, ToolEvent
from svc.assistant.knowledge.attack import Tactic
from svc.assistant.knowledge.attack_names import (
    TECHNIQUE_ID,
    attack_name,
    attack_table,
    attack_version,
    moved_by_id,
    parent_of,
    successor_of,
    tactic,
    tactic_name,
    tactics_of,
    techniques_by_id,
)
from svc.assistant.skills.attack.findings import AttackTactic, AttackTechnique
from svc.assistant.skills.attack.lexicon import CLEAR_SCORE, candidates, what_of

MAX_CHARS = 2_000  # of a question
LEAST_WORD_SHARE = 0.7  # of a question; less is code or a list
MAX_DESCRIPTION_CHARS = 200  # of a technique that a question describes; a longer text is for ``attack_mapping``
MAX_IDS = 50  # a question names a few; a report is for ``attack_mapping``
MAX_NEAR = 4
MIN_NAME_CHARS = 5  # "Tool" and "DLL" are ordinary words
_TACTIC_ID = re.compile(r"\bTA\d{4}\b", re.IGNORECASE)
_ASKS_FOR_TACTIC = re.compile(r"\b(?:techniques?|ttps?)\b|\btactics?\b(?! (?:of|for|does|is|are)\b)", re.IGNORECASE)


def inspect(content: str, /, *, source: str, question: str = "") -> Iterator[ToolEvent]:
    """Yield what ``question``, or else ``content``, names: IDs, tactics or techniques; else what its words describe."""
    asked = (question or content)[:MAX_CHARS]
    yield Progress(text=f"looking up in {attack_version()}")
    is_text = word_share(asked) >= LEAST_WORD_SHARE and not data_form(asked)
    ids = list(dict.fromkeys(match.group().upper() for match in TECHNIQUE_ID.finditer(asked)))
    tactics = _tactics_in(asked) if not ids or _TACTIC_ID.search(asked) else []
    named = _named_in(asked) if is_text and not (ids or tactics) else []
    evidence = (Evidence(source=source, excerpt=asked, line=1),)
    if len(ids) > MAX_IDS:
        yield Gap(text=f"only the first {MAX_IDS} of {len(ids)} IDs were looked up")
    for technique in ids[:MAX_IDS]:
        yield _technique(technique, evidence)
    for one in tactics:
        yield _tactic(one, evidence)
    for technique in named:
        yield _technique(technique, evidence)
    described = _described_in(asked) if is_text and not (ids or tactics or named) else []
    for technique in described:
        yield _technique(technique, evidence, confidence=Confidence.MEDIUM)
    looked_up = len(ids[:MAX_IDS]) + len(tactics) + len(named) + len(described)
    if not looked_up:
        yield Gap(text=f"no entry of {attack_version()} matches the question")
    if not question and len(content) > MAX_CHARS:
        yield Gap(text=f"only the first {MAX_CHARS:,} of {len(content):,} characters were searched for names and IDs")
    yield Coverage(
        read_as="question about ATT&CK" if looked_up else "text that names no ATT&CK entry",
        unit="ATT&CK name",
        understood=looked_up,
        total=max(1, len(ids) + len(tactics) + len(named) + len(described)),
        looked_for=f"techniques and tactics of {attack_version()}, by ID, by name and by wording",
        not_covered="groups, software and mitigations are not in the table",
    )


def describes(question: str) -> bool:
    """Whether a question names, or clearly describes, something that the table has."""
    return bool(_named_in(question) or _tactics_in(question) or _described_in(question))


def _described_in(asked: str) -> list[str]:
    """Return the techniques that the words describe without naming them."""
    if len(asked) > MAX_DESCRIPTION_CHARS:
        return []
    return [one.id for one in candidates(asked) if one.score >= CLEAR_SCORE][:MAX_NEAR]


def _tactics_in(asked: str) -> list[Tactic]:
    """Return tactics by ID, or by name if the question asks for a tactic or its techniques."""
    found = [tactic(match.group()) for match in _TACTIC_ID.finditer(asked)]
    if not found and _ASKS_FOR_TACTIC.search(asked):
        lowered = re.sub(r"[\s_-]+", " ", asked.lower())
        for one in attack_table().tactics:
            names = [one.name.lower(), one.formerly.lower(), *(alias.replace("-", " ") for alias in one.aliases)]
            if any(name and re.search(rf"(?<![\w&]){re.escape(name)}(?![\w&])", lowered) for name in names):
                found.append(one)
    return list({one.id: one for one in found if one is not None}.values())


@cache
def _names() -> dict[str, list[str]]:
    """Return IDs by their name in lower case, the long names first; a name may have several."""
    names: dict[str, list[str]] = {}
    for technique in attack_table().techniques:
        names.setdefault(technique.name.lower(), []).append(technique.id)
    for technique in attack_table().techniques:
        names.setdefault(technique.formerly.lower(), [technique.id])
    for moved in reversed(attack_table().moved):  # of two with the same name, the newer
        if moved.to:  # others are ordinary words, such as Source
            names.setdefault(moved.name.lower(), [moved.id])
    return dict(sorted(names.items(), key=lambda item: -len(item[0])))


def _named_in(asked: str) -> list[str]:
    """Return the techniques whose full name is in the question; a name within a longer one does not count."""
    rest, found = asked.lower().replace("-", " "), list[str]()
    for full, ids in _names().items():
        name = full.replace("-", " ")
        if len(name) >= MIN_NAME_CHARS and name in rest:
            pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
            if pattern.search(rest):
                rest = pattern.sub(" ", rest)
                found += ids
    return found[:MAX_NEAR]


def _technique(
    technique_id: str, evidence: tuple[Evidence, ...], confidence: Confidence = Confidence.HIGH
) -> Finding[AttackTechnique]:
    table = techniques_by_id()
    is_known = technique_id in table or technique_id in moved_by_id()
    entry, moved, successor = table.get(technique_id), moved_by_id().get(technique_id), successor_of(technique_id)
    is_withdrawn = is_known and entry is None
    parent = parent_of(technique_id)
    return Finding(
        title=f"{technique_id} {attack_name(technique_id)}" if is_known else f"{technique_id} is not in ATT&CK",
        confidence=confidence,
        evidence=evidence,
        techniques=(technique_id,) if is_known else (),
        facts=AttackTechnique(
            id=technique_id,
            is_known=is_known,
            is_withdrawn=is_withdrawn,
            withdrawn_in=moved.version if moved and is_withdrawn else "",
            name=attack_name(technique_id),
            formerly=entry.formerly if entry else "",
            parent=f"{parent} {attack_name(parent)}" if is_known and parent != technique_id else "",
            what=what_of(technique_id) or what_of(successor or ""),
            tactics=[tactic_name(short) for short in tactics_of(technique_id)],
            platforms=list(entry.platforms) if entry else [],
            subs=[f"{one} {found.name}" for one, found in table.items() if one.startswith(f"{technique_id}.")],
            successor=successor,
            successor_name=attack_name(successor) if successor else "",
            near=_similar(technique_id) if not is_known else [],
            version=attack_version(),
            licence=attack_table().licence,
        ),
    )


def _similar(technique_id: str) -> list[str]:
    """Return what somebody may have meant by an unknown ID: its parent, else IDs that differ in a digit."""
    parent = parent_of(technique_id)
    ids = [parent] if parent in techniques_by_id() else get_close_matches(technique_id, techniques_by_id(), MAX_NEAR)
    return [f"{one} {attack_name(one)}" for one in ids]


def _tactic(one: Tactic, evidence: tuple[Evidence, ...]) -> Finding[AttackTactic]:
    members = [entry for entry in attack_table().techniques if one.short in entry.tactics]
    return Finding(
        title=f"{one.id} {one.name}",
        evidence=evidence,
        facts=AttackTactic(
            id=one.id,
            name=one.name,
            formerly=one.formerly,
            split_with=[
                f"{other.id} {other.name}"
                for other in attack_table().tactics
                if one.formerly and other.formerly == one.formerly and other is not one
            ],
            aliases=list(one.aliases),
            techniques=[f"{entry.id} {entry.name}" for entry in members if "." not in entry.id],
            subs=sum("." in entry.id for entry in members),
            version=attack_version(),
            licence=attack_table().licence,
        ),
    )
