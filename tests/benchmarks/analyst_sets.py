"""Labelled sets by their paths: what is asked about each item, and what an answer's findings say of its label.

A file of JSON lines has ``text`` or ``command`` beside ``technique``, or ``text`` beside ``cwe``. A folder has files of
one kind; a file's label is what its name has before ``__``, or its folder. Mail is ``suspicious`` where its name, or
its folder's, begins with spam or phish, ``ordinary`` where it begins with nice, ham or easy.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from svc.assistant.file_types.identify import HEAD_BYTES, identify
from svc.assistant.findings import AnyFinding, columns, with_facts
from svc.assistant.knowledge.attack_names import tactic
from svc.assistant.skills.attack_mapping.findings import BehaviourSentence, BehaviourTechnique
from svc.assistant.skills.cwe.findings import CweCandidate
from svc.assistant.skills.events.findings import EventTactics
from svc.assistant.skills.script.findings import ScriptSummary
from svc.assistant.turn import TurnFile

Read = Callable[[Sequence[AnyFinding]], tuple[str, ...]]
"""From an answer's findings to the labels that they name, likeliest first."""

_MAIL = re.compile(r"(?P<bad>spam|phish|scam|fraud)|(?P<good>nice|ham|easy|hard)", re.IGNORECASE)


@dataclass(frozen=True)
class Kind:
    """One kind of set: what is asked, and how an answer is read. ``has_parents``: labels are techniques."""

    name: str
    question: str
    read: Read
    has_parents: bool = False


@dataclass(frozen=True)
class Item:
    """One thing to ask about: ``text`` is below the question, or ``file`` comes with it."""

    name: str
    label: str
    text: str = ""
    file: Path | None = None

    def turn_file(self) -> TurnFile | None:
        """The file as the service would hand it on."""
        if self.file is None:
            return None
        with self.file.open("rb") as content:
            head = content.read(HEAD_BYTES)
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        name = "evidence" + self.file.suffix  # the label must not reach the analyst
        mime_type, label = identify(head, name)
        size = self.file.stat().st_size
        return TurnFile(name=name, size=size, sha256=digest, mime_type=mime_type, label=label, source=self.file)


@dataclass(frozen=True)
class LabelledSet:
    """Items of one kind, in a fixed order."""

    path: Path
    kind: Kind
    items: tuple[Item, ...]


def sentence_techniques(findings: Sequence[AnyFinding]) -> tuple[str, ...]:
    """The candidates of the first sentence that has some, then what else the text shows."""
    ranked = [one.id for finding in with_facts(findings, BehaviourSentence) for one in finding.facts.candidates]
    counted = [finding.facts.id for finding in with_facts(findings, BehaviourTechnique)]
    return tuple(dict.fromkeys(ranked + counted))


def command_techniques(findings: Sequence[AnyFinding]) -> tuple[str, ...]:
    """The techniques of the script as a whole."""
    scripts = with_facts(findings, ScriptSummary)
    return tuple(one.id for one in scripts[0].facts.ranked) if scripts else ()


def weaknesses(findings: Sequence[AnyFinding]) -> tuple[str, ...]:
    """The candidates, likeliest first."""
    candidates = [finding.facts for finding in with_facts(findings, CweCandidate)]
    return tuple(facts.id for facts in sorted(candidates, key=lambda facts: facts.rank))


def tactics(findings: Sequence[AnyFinding]) -> tuple[str, ...]:
    """The tactics of the log, strongest first, with the names of earlier versions of ATT&CK, as the sets have them."""
    found = with_facts(findings, EventTactics)
    return tuple(dict.fromkeys(_earlier(row.tactic) for row in found[0].facts.by_tactic)) if found else ()


def _earlier(name: str) -> str:
    known = tactic(name)
    return known.formerly.lower().replace(" ", "-") if known and known.formerly else name


def mail_verdict(findings: Sequence[AnyFinding]) -> tuple[str, ...]:
    """``suspicious`` or ``ordinary``, by the first verdict."""
    verdicts = [str(columns(finding)["verdict"]) for finding in findings if finding.kind == "mail_verdict"]
    return ("ordinary" if verdicts[0] == "ordinary" else "suspicious",) if verdicts else ()


KINDS = {
    "sentences": Kind("sentences", "Which ATT&CK techniques does this show?", sentence_techniques, has_parents=True),
    "commands": Kind("commands", "What does this command do?", command_techniques, has_parents=True),
    "weaknesses": Kind("weaknesses", "Which CWE is this?", weaknesses),
    "events": Kind("events", "What happened on this host?", tactics),
    "mail": Kind("mail", "Is this mail phishing?", mail_verdict),
}


def load(path: Path, *, limit: int | None = None) -> LabelledSet:
    """The set at ``path``, evenly thinned to ``limit`` items. Raises ValueError if nothing in it has a label."""
    found = list(_lines(path) if path.is_file() else _files(path))
    if not found:
        raise ValueError(f"{path}: nothing here has a label; see the head of {Path(__file__).name}.")
    kind = found[0][0]
    items = [item for one, item in found if one == kind]
    step = max(1, -(-len(items) // limit)) if limit else 1
    return LabelledSet(path=path, kind=KINDS[kind], items=tuple(items[::step]))


def _lines(path: Path) -> Iterator[tuple[str, Item]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        row = json.loads(line)
        kind = "weaknesses" if "cwe" in row else "commands" if "command" in row else "sentences"
        label = str(row.get("cwe") or row.get("technique") or "")
        text = row.get("command") or row.get("text") or ""
        if label and text:
            yield kind, Item(name=f"line {number}", label=_cwe(label) if kind == "weaknesses" else label, text=text)


def _cwe(label: str) -> str:
    return label if label.upper().startswith("CWE-") else f"CWE-{label}"


def _files(folder: Path) -> Iterator[tuple[str, Item]]:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        within = path.parent.name if path.parent != folder else ""
        name = str(path.relative_to(folder))
        if path.suffix.lower() in (".evtx", ".json", ".jsonl"):
            label = _tactic(path.name.partition("__")[0]) or _tactic(within) or _tactic(path.name)
            kind = "events"
        else:
            match = _MAIL.match(path.name) or _MAIL.search(within)
            label = "" if match is None else "suspicious" if match["bad"] else "ordinary"
            kind = "mail"
        if label:
            yield kind, Item(name=name, label=label, file=path)


def _tactic(words: str) -> str:
    """A tactic's short name (``lateral-movement``) where ``words`` begin with or, without ``__``, have one; else ""."""
    plain = words.lower().replace("_", "-").replace(" ", "-")
    return next((name for name in TACTICS if plain == name), next((name for name in TACTICS if name in plain), ""))


TACTICS = (
    "reconnaissance",
    "resource-development",
    "initial-access",
    "execution",
    "persistence",
    "privilege-escalation",
    "defense-evasion",
    "credential-access",
    "discovery",
    "lateral-movement",
    "collection",
    "command-and-control",
    "exfiltration",
    "impact",
)
