"""Map a text to ATT&CK: the techniques that each sentence may describe, ranked, with the words that suggest them.

The wording decides (``attack/lexicon.py``), if the sentence or those around it report what an attacker did
(``reported.py``); a manual and a novel have such words as well. Advice and denials are recognised by their common forms
(``statements.py``), and two techniques that reports describe in the same words are both listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from svc.assistant.file_types.text_shape import data_form, readable_lines, word_share
from svc.assistant.findings import Confidence, Coverage, Evidence, Finding, Gap, Progress, ToolEvent
from svc.assistant.knowledge.attack_names import (
    TECHNIQUE_ID,
    attack_name,
    attack_version,
    parent_of,
    successor_of,
    tactic_name,
    tactics_of,
)
from svc.assistant.skills.attack.lexicon import CLEAR_SCORE, NAMED_SCORE, Candidate, candidates, what_of
from svc.assistant.skills.attack.phrases import words_of
from svc.assistant.skills.attack_mapping.actors import LEAST_TOPIC_WEIGHT
from svc.assistant.skills.attack_mapping.findings import BehaviourSentence, BehaviourTechnique, RankedTechnique
from svc.assistant.skills.attack_mapping.reported import has_trace, weigh
from svc.assistant.skills.attack_mapping.sentences import sentences_of
from svc.assistant.skills.attack_mapping.statements import denied_words, is_advice, is_english, without_request

MAX_SENTENCES = 100_000  # 10 MB of prose; 0.1 ms each
WORDLESS_SHARE = 0.2
MAX_TRACE_CHARS = 200  # of a single program, call or registry key
LEAST_WORD_SHARE = 0.7  # of a text in words, in which weak hints count; less is code or a list
MAX_EVIDENCE = 4  # sentences shown for one technique
MAX_RANKED = 5
SHORT_TEXT = 25  # sentences up to which weak hints count as well: the question is about these very words
HIGH_SCORE = 12.0  # from which a technique without a close rival is certain
LEAST_SCORE = 2.0  # of a weak hint
CLOSE_SHARE = 0.9  # of a score, from which another technique that the same words suggest is a close rival
PROGRESS_SENTENCES = 5_000
LEAST_BESIDE_ATTACK = -1.6  # weight of a sentence together with what neighbours lend that report an attack
NEIGHBOURS = 2  # sentences on each side whose attacker is also that of a sentence
_NEIGHBOUR_SHARE = 2.0  # of the weight of the words about an attack in a neighbour
_MAX_NEIGHBOUR_WEIGHT = 4.5


def inspect(content: str, /, *, source: str, question: str = "") -> Iterator[ToolEvent]:
    """Yield a BehaviourSentence for each sentence, then a BehaviourTechnique for each technique, best first.

    ``question`` is the part of a prompt that asks; it is not examined if the prompt has anything else.
    """
    yield Progress(text=f"reading {source}")
    form = data_form(content)
    if (
        content.strip()
        and word_share(content) < WORDLESS_SHARE
        and not (TECHNIQUE_ID.search(content) or _is_trace(content))
    ):
        form = form or "a list without words"
    if form and form != "a mail":
        yield Gap(text=f"{form}, not a text that describes behaviour: this tool reads sentences")
        yield _coverage(form.removeprefix("an ").removeprefix("a "), 0, readable_lines(content)[1], unit="line")
        return
    sentences = [(line, without_request(sentence)) for line, sentence in sentences_of(content, without=question)]
    total = len(sentences)
    if len(sentences) > MAX_SENTENCES:
        yield Gap(
            text=f"only the first {MAX_SENTENCES:,} of {len(sentences):,} sentences were examined", in_headline=True
        )
        sentences = sentences[:MAX_SENTENCES]
    has_weak_hints = len(sentences) <= SHORT_TEXT and word_share(content) >= LEAST_WORD_SHARE
    reading = _TextReading([sentence for _, sentence in sentences], LEAST_SCORE if has_weak_hints else CLEAR_SCORE)
    found: dict[str, TechniqueTally] = {}
    for number, (line, sentence) in enumerate(sentences):
        if number and number % PROGRESS_SENTENCES == 0:
            yield Progress(text=f"sentences read: {number:,} of {len(sentences):,}; techniques: {len(found)}")
            yield Progress.of(source, number, len(sentences), "sentence")
        if ranked := reading.techniques(number):
            evidence = Evidence(source=source, excerpt=sentence, line=line)
            observed = _observed(sentence, ranked)
            _count(found, observed, evidence)
            yield _sentence_finding(observed or ranked, evidence, is_denied=not observed)
    yield from (tally.finding() for tally in sorted(found.values(), key=lambda tally: (-tally.score, tally.id)))
    yield Progress(text=f"sentences read: {len(sentences):,}; techniques: {len(found)}")
    if not found and not reading.left_out and content.strip() == question.strip():
        yield Gap(text="there is nothing but the question to read: paste the text, or attach it")
        yield _coverage("text", 0, total)
        return
    yield from reading.gaps()
    yield _coverage("text", reading.understood, total)


def _is_trace(content: str) -> bool:
    """Whether all there is is one program, call or registry key that has a technique of its own: ``whoami.exe``."""
    line = content.strip()
    if "\n" in line or len(line) > MAX_TRACE_CHARS or not has_trace(line):
        return False
    ranked = candidates(line)
    return bool(ranked) and ranked[0].score >= CLEAR_SCORE


class _TextReading:
    """The sentences of a text, and what was left out of them.

    A sentence with words of a technique counts if it reports an attack, alone or with its neighbours.
    """

    def __init__(self, sentences: Sequence[str], least_score: float) -> None:
        self.understood = 0
        self._sentences, self._least_score = sentences, least_score
        self._attack_weights: dict[int, float] = {}
        self._unreported, self._advice = list[str](), 0

    def techniques(self, number: int) -> list[Candidate]:
        """Return the techniques that sentence ``number`` reports, best first."""
        sentence = self._sentences[number]
        ranked = [one for one in candidates(sentence) if one.score >= self._least_score]
        self.understood += bool(ranked) or is_english(sentence)
        if not ranked or ranked[0].score >= NAMED_SCORE:
            return ranked
        if is_advice(sentence):
            self._advice += 1
            return []
        weighed = weigh(sentence, ranked[0].score)
        is_apart = weighed.least >= LEAST_TOPIC_WEIGHT  # it says itself that no attacker did it
        lent = 0.0 if weighed.is_report or is_apart else self._neighbours(number)
        if weighed.is_report or (lent > 0 and weighed.weight + lent >= LEAST_BESIDE_ATTACK):
            return ranked
        self._unreported.append(ranked[0].why)
        return []

    @property
    def left_out(self) -> int:
        """How many sentences have words of a technique and were not counted."""
        return len(self._unreported) + self._advice

    def gaps(self) -> Iterator[Gap]:
        """Yield what has words of a technique and was not counted."""
        if count := len(self._unreported):
            words = ", ".join(f"“{one}”" for one in list(dict.fromkeys(self._unreported))[:MAX_EVIDENCE])
            if count == 1:
                yield Gap(text=f"1 sentence has words of a technique ({words}) but reports no attack: not counted")
            else:
                yield Gap(
                    text=f"{count:,} sentences have words of a technique ({words}) but report no attack: not counted"
                )
        if self._advice == 1:
            yield Gap(text="1 sentence is advice or describes a defence: not counted")
        elif self._advice:
            yield Gap(text=f"{self._advice:,} sentences are advice or describe a defence: not counted")
        if not self.understood:
            yield Gap(text="no sentence is English or has words of a known technique")

    def _neighbours(self, number: int) -> float:
        around = range(max(0, number - NEIGHBOURS), min(len(self._sentences), number + NEIGHBOURS + 1))
        best = max((self._attack_weight(one) for one in around if one != number), default=0.0)
        return min(best * _NEIGHBOUR_SHARE, _MAX_NEIGHBOUR_WEIGHT)

    def _attack_weight(self, number: int) -> float:
        if number not in self._attack_weights:
            self._attack_weights[number] = self._lent_by(self._sentences[number])
        return self._attack_weights[number]

    def _lent_by(self, sentence: str) -> float:
        """Return the weight of a sentence's words about an attack, if it reports one."""
        if is_advice(sentence):
            return 0.0
        ranked = candidates(sentence)
        weighed = weigh(sentence, ranked[0].score if ranked else 0.0)
        return max(0.0, weighed.attack_weight) if weighed.is_report else 0.0


def _coverage(read_as: str, matched: int, total: int, *, unit: str = "sentence") -> Coverage:
    """A sentence in another language is not understood."""
    return Coverage(
        read_as=read_as,
        unit=unit,
        understood=matched,
        total=total,
        looked_for=f"the wording of techniques of {attack_version()}",
        not_covered="behaviour described in other words, or in a language other than English, is not recognised",
    )


def _observed(sentence: str, ranked: list[Candidate]) -> list[Candidate]:
    """Return the techniques without those that the sentence denies; an ID in the text is denied with its sentence."""
    denied = denied_words(sentence)
    every = range(len(words_of(sentence)))
    return [one for one in ranked if not denied.issuperset(one.words or every)]


def _sentence_finding(ranked: list[Candidate], evidence: Evidence, *, is_denied: bool) -> Finding[BehaviourSentence]:
    best, listed = ranked[0], ranked[:MAX_RANKED]
    return Finding(
        title=f"{best.id} {attack_name(best.id)}",
        confidence=Confidence.LOW if is_denied else _confidence(best, ranked),
        why=("the sentence says that it was not observed; " if is_denied else "") + f"“{best.why}”",
        evidence=(evidence,),
        techniques=() if is_denied else tuple(one.id for one in listed),
        facts=BehaviourSentence(
            candidates=[RankedTechnique(one.id, attack_name(one.id), one.score, one.why) for one in listed],
            is_denied=is_denied,
        ),
    )


def _confidence(one: Candidate, ranked: list[Candidate]) -> Confidence:
    if one.score < CLEAR_SCORE:
        return Confidence.LOW
    rivals = [other.score for other in ranked if other.words & one.words and parent_of(other.id) != parent_of(one.id)]
    is_clear = one.score >= NAMED_SCORE or not rivals or one.score * CLOSE_SHARE > max(rivals)
    return Confidence.HIGH if one.score >= HIGH_SCORE and is_clear else Confidence.MEDIUM


class TechniqueTally:
    """What the sentences read so far say about one technique."""

    def __init__(self, technique_id: str) -> None:
        self.id = technique_id
        self.score: float = 0.0
        self._sentences = 0
        self._confidence = Confidence.LOW
        self._evidence: list[tuple[float, str, Evidence]] = []

    def add(self, one: Candidate, confidence: Confidence, evidence: Evidence) -> None:
        """Count a sentence that describes the technique; the evidence of the best MAX_EVIDENCE is kept."""
        self._sentences += 1
        if one.score > self.score:
            self.score, self._confidence = one.score, confidence
        if all(entry.excerpt != evidence.excerpt for _, _, entry in self._evidence):
            self._evidence.append((one.score, one.why, evidence))
            self._evidence.sort(key=lambda entry: -entry[0])
            del self._evidence[MAX_EVIDENCE:]

    def finding(self) -> Finding[BehaviourTechnique]:
        """Return the finding about the technique."""
        return Finding(
            title=f"{self.id} {attack_name(self.id)}",
            confidence=self._confidence,
            why=f"“{self._evidence[0][1]}”",
            evidence=tuple(entry for _, _, entry in self._evidence),
            techniques=(self.id,),
            facts=BehaviourTechnique(
                id=self.id,
                name=attack_name(self.id),
                what=what_of(self.id),
                tactics=[tactic_name(short) for short in tactics_of(self.id)],
                score=self.score,
                sentences=self._sentences,
                words=[words for _, words, _ in self._evidence],
                successor=successor_of(self.id),
                version=attack_version(),
            ),
        )


def _count(found: dict[str, TechniqueTally], ranked: list[Candidate], evidence: Evidence) -> None:
    """Count the sentence's best technique, and each clear one that mostly other words suggest.

    A clear sub-technique counts instead of its parent.
    """
    parents = {parent_of(one.id) for one in ranked if "." in one.id and one.score >= CLEAR_SCORE}
    used, families = set[int](), set[str]()
    for one in ranked:
        is_other = one.score >= CLEAR_SCORE and len(one.words & used) * 2 <= len(one.words)
        if one.id in parents or parent_of(one.id) in families or (used and not is_other):
            continue
        families.add(parent_of(one.id))
        used |= one.words
        found.setdefault(one.id, TechniqueTally(one.id)).add(one, _confidence(one, ranked), evidence)
