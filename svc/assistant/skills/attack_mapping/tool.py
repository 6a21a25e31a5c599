"""Maps what a text tells to ATT&CK: each sentence's techniques, ranked, with the words that led there. Pure.

The words decide (``attack_lexicon``), so a sentence that denies is known only by its common forms, and two techniques
that reports tell in the same words come side by side. Kinds:
``behaviour``: a sentence with what it may show. ``ids``, ``names``, ``words`` (lists of str) and ``scores`` (list of
float), best first; ``is_denied`` (bool): the sentence says that it did not happen.
``behaviour_technique``: a technique that sentences show clearly, over the whole text. ``id``, ``name``, ``what`` (str),
``tactics`` (list of str, names in the matrix's order), ``score`` (float), ``sentences`` (int), ``words`` (list of str,
one for each piece of evidence), ``successor`` (str or null: the id in force where this one is withdrawn), ``version``
(str).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from svc.assistant.findings import Confidence, Evidence, Gap, Progress, ToolEvent
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.knowledge.attack_names import (
    attack_name,
    attack_version,
    parent_of,
    successor_of,
    tactic_name,
    tactics_of,
)
from svc.assistant.skills.attack.lexicon import CLEAR_SCORE, NAMED_SCORE, Candidate, candidates, what_of
from svc.assistant.skills.attack_mapping.sentences import sentences_of

MAX_SENTENCES = 100_000  # 10 MB of prose; 0.1 ms each
MAX_BEHAVIOURS = 500  # sentences told one by one; the techniques count all
MAX_EVIDENCE = 4  # sentences shown for one technique
MAX_RANKED = 5
FEW_SENTENCES = 25  # of a text that short, weak hints are told as well: somebody asks about these very words
HIGH_SCORE, LEAST_SCORE = 12.0, 2.0
CLOSE_SHARE = 0.9  # of the best score: another technique that the same words may mean
PROGRESS_SENTENCES = 5_000
_DENIED = re.compile(
    r"\bno (?:evidence|signs?|indications?|traces?) (?:of|that)\b|\bnever (?:observed|saw|seen|used)\b|"
    r"\b(?:did|do|does|was|were|is|are|has|have) not (?:been )?"
    r"(?:observed?|seen?|found|identif\w+|detect\w*|attempt\w*|used?|show|occur\w*)\b",
    re.IGNORECASE,
)


def map_text(text: str, /, *, source: str, question: str = "") -> Iterator[ToolEvent]:
    """The sentences' behaviours in the text's order, then the techniques, most certain first.

    ``question`` is the part of a prompt that asks: it is left out where something else stands beside it.
    """
    yield Progress(text=f"reading {source}")
    sentences = list(sentences_of(text, without=question))
    if len(sentences) > MAX_SENTENCES:
        yield Gap(text=f"only the first {MAX_SENTENCES:,} of {len(sentences):,} sentences were looked at")
        sentences = sentences[:MAX_SENTENCES]
    least = LEAST_SCORE if len(sentences) <= FEW_SENTENCES else CLEAR_SCORE
    found: dict[str, _Technique] = {}
    told = shown = 0
    for number, (line, sentence) in enumerate(sentences, start=1):
        if number % PROGRESS_SENTENCES == 0:
            yield Progress(text=f"sentences read: {number:,} of {len(sentences):,}; techniques: {len(found)}")
        ranked = [one for one in candidates(sentence) if one.score >= least]
        if not ranked:
            continue
        shown += 1
        finding = _behaviour(sentence, ranked, Evidence(source=source, excerpt=sentence, line=line))
        if not finding.attributes["is_denied"]:
            _count(found, ranked, finding.evidence[0])
        if told < MAX_BEHAVIOURS:
            told += 1
            yield finding
    if shown > told:
        yield Gap(text=f"{shown - told:,} further sentences are counted in the techniques, not told one by one")
    yield from (one.finding() for one in sorted(found.values(), key=lambda one: (-one.score, one.id)))
    yield Progress(text=f"sentences read: {len(sentences):,}; techniques: {len(found)}")


def _behaviour(sentence: str, ranked: list[Candidate], evidence: Evidence) -> Finding:
    best, is_denied = ranked[0], _DENIED.search(sentence) is not None
    shown = ranked[:MAX_RANKED]
    return Finding(
        kind="behaviour",
        title=f"{best.id} {attack_name(best.id)}",
        confidence=Confidence.LOW if is_denied else _confidence(best, ranked),
        why=("the sentence says that it did not happen; " if is_denied else "") + f"“{best.why}”",
        evidence=(evidence,),
        techniques=() if is_denied else tuple(one.id for one in shown),
        attributes={
            "ids": [one.id for one in shown],
            "names": [attack_name(one.id) for one in shown],
            "scores": [one.score for one in shown],
            "words": [one.why for one in shown],
            "is_denied": is_denied,
        },
    )


def _confidence(one: Candidate, ranked: list[Candidate]) -> Confidence:
    if one.score < CLEAR_SCORE:
        return Confidence.LOW
    rivals = [other.score for other in ranked if other.words & one.words and parent_of(other.id) != parent_of(one.id)]
    is_clear = one.score >= NAMED_SCORE or not rivals or one.score * CLOSE_SHARE > max(rivals)
    return Confidence.HIGH if one.score >= HIGH_SCORE and is_clear else Confidence.MEDIUM


class _Technique:
    """What the sentences said of one technique so far."""

    def __init__(self, technique_id: str) -> None:
        self.id = technique_id
        self.score = 0.0
        self.sentences = 0
        self.confidence = Confidence.LOW
        self._evidence: list[tuple[float, str, Evidence]] = []

    def add(self, one: Candidate, confidence: Confidence, evidence: Evidence) -> None:
        self.sentences += 1
        if one.score > self.score:
            self.score, self.confidence = one.score, confidence
        if all(entry.excerpt != evidence.excerpt for _, _, entry in self._evidence):
            self._evidence.append((one.score, one.why, evidence))
            self._evidence.sort(key=lambda entry: -entry[0])
            del self._evidence[MAX_EVIDENCE:]

    def finding(self) -> Finding:
        return Finding(
            kind="behaviour_technique",
            title=f"{self.id} {attack_name(self.id)}",
            confidence=self.confidence,
            why=f"“{self._evidence[0][1]}”",
            evidence=tuple(entry for _, _, entry in self._evidence),
            techniques=(self.id,),
            attributes={
                "id": self.id,
                "name": attack_name(self.id),
                "what": what_of(self.id),
                "tactics": [tactic_name(short) for short in tactics_of(self.id)],
                "score": self.score,
                "sentences": self.sentences,
                "words": [words for _, words, _ in self._evidence],
                "successor": successor_of(self.id),
                "version": attack_version(),
            },
        )


def _count(found: dict[str, _Technique], ranked: list[Candidate], evidence: Evidence) -> None:
    """The sentence's best technique, and each clear one that words of its own show; a sub-technique, not its parent."""
    parents = {parent_of(one.id) for one in ranked if "." in one.id and one.score >= CLEAR_SCORE}
    taken, families = set[int](), set[str]()
    for one in ranked:
        is_other = one.score >= CLEAR_SCORE and len(one.words & taken) * 2 <= len(one.words)
        if one.id in parents or parent_of(one.id) in families or (taken and not is_other):
            continue
        families.add(parent_of(one.id))
        taken |= one.words
        found.setdefault(one.id, _Technique(one.id)).add(one, _confidence(one, ranked), evidence)
