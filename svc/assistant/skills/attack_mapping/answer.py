"""The answer that maps a text to ATT&CK: the techniques, and the sentences that describe them."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Confidence, Finding, InputKind, with_facts
from svc.assistant.knowledge.attack_names import parent_of
from svc.assistant.skills.answer_parts import MAX_FACTS, as_folds, short_place
from svc.assistant.skills.attack.wording import NO_LOOKUP, technique_label
from svc.assistant.skills.attack_mapping.findings import BehaviourSentence, BehaviourTechnique
from svc.assistant.skills.attack_mapping.pictures import pictures
from svc.assistant.skills.skill import READABLE_LABELS, RECORD_LABELS, Section, Skill, words
from svc.untrusted.markup import code_span, escape, plural, table

SENTENCE_CHARS = 140
MAX_NAMED = 4  # techniques in the verdict
MAX_SENTENCES = 10  # up to which a text's sentences are listed with their candidates
MAX_CANDIDATES = 3  # of a sentence in the table; the findings have five
WHOLE_INTRUSION = 4  # techniques from which on a missing initial access is worth mentioning
INITIAL_ACCESS = "Initial Access"


def verdict(findings: Sequence[AnyFinding]) -> str:
    """The technique of a single sentence, or how many techniques of which tactics, and how clear they are."""
    techniques, sentences = with_facts(findings, BehaviourTechnique), with_facts(findings, BehaviourSentence)
    if not techniques:
        if not sentences:
            return "**Not examined:** no sentence describes a known technique."
        denials = plural(len(sentences), "sentence says", "sentences say")
        return f"**No technique is reported as observed:** {denials} that something was not observed."
    clear = [finding for finding in techniques if finding.confidence is not Confidence.LOW]
    if not clear:
        weak = ", ".join(_label(finding.facts) for finding in techniques[:MAX_NAMED])
        return f"**No clear technique.** The wording hints at {weak}."
    if len(clear) == 1:
        facts = clear[0].facts
        doubt = "" if clear[0].confidence is Confidence.HIGH else " (likely; the wording also fits other techniques)"
        return f"**{_label(facts)}**{doubt}. {escape(facts.what)}".rstrip()
    tactics = {name for finding in clear for name in finding.facts.tactics[:1]}
    named = ", ".join(_label(finding.facts) for finding in clear[:MAX_NAMED])
    more = f" and {len(clear) - MAX_NAMED} more" if len(clear) > MAX_NAMED else ""
    return f"**{len(clear)} techniques of {plural(len(tactics), 'tactic')}:** {named}{more}."


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """The techniques with the sentence that shows each, the surest first."""
    ranked = sorted(with_facts(findings, BehaviourTechnique), key=lambda one: list(Confidence).index(one.confidence))
    return [
        f"**{_label(one.facts)}** ({one.confidence.value} confidence), {short_place(one.evidence[0])}: "
        + code_span(one.evidence[0].excerpt, limit=SENTENCE_CHARS)
        for one in ranked[:MAX_FACTS]
    ]


def body(findings: Sequence[AnyFinding]) -> str:
    """The techniques with their evidence, the candidates of each sentence if the text is short, and the source."""
    techniques, sentences = with_facts(findings, BehaviourTechnique), with_facts(findings, BehaviourSentence)
    blocks = []
    if techniques:
        headers = ["Technique", "Tactics", "Sentence", "Words", "Sentences", "Confidence"]
        blocks.append("**Techniques**\n\n" + table(headers, [_technique_row(finding) for finding in techniques]))
    if sentences and len(sentences) <= MAX_SENTENCES:
        rows = [_sentence_row(finding) for finding in sentences]
        blocks.append("**Sentences with their candidates, most likely first**")
        blocks.append(table(["Sentence", "Candidates"], rows))
    if techniques:
        blocks.append(f"{techniques[0].facts.version}, © The MITRE Corporation; mapped by our own lexicon.")
    return "\n\n".join(blocks)


def _technique_row(finding: Finding[BehaviourTechnique]) -> list[str]:
    facts, first = finding.facts, finding.evidence[0]
    return [
        _label(facts) + (f" (now {facts.successor})" if facts.successor else ""),
        ", ".join(map(escape, facts.tactics)),
        f"{code_span(first.excerpt, limit=SENTENCE_CHARS)} ({code_span(first.source)}, line {first.line})",
        code_span(facts.words[0]),
        str(facts.sentences),
        finding.confidence.value,
    ]


def _sentence_row(finding: Finding[BehaviourSentence]) -> list[str]:
    likeliest: dict[str, str] = {}  # of a technique and its sub-techniques
    for one in finding.facts.candidates:
        likeliest.setdefault(parent_of(one.id), technique_label(one.id, one.name))
    listed = "; ".join(list(likeliest.values())[:MAX_CANDIDATES])
    denied = "not observed: " if finding.facts.is_denied else ""
    return [code_span(finding.evidence[0].excerpt, limit=SENTENCE_CHARS), denied + listed]


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """Reading ambiguous sentences, asking for what the text leaves out, and proof in the logs."""
    techniques = [one for one in with_facts(findings, BehaviourTechnique) if one.confidence is not Confidence.LOW]
    steps = []
    ambiguous = [finding.facts.id for finding in techniques if finding.confidence is Confidence.MEDIUM]
    if ambiguous:
        listed = ", ".join(ambiguous[:MAX_NAMED])
        steps.append(f"Review the sentences behind {listed}: their wording also fits other techniques.")
    tactics = {name for finding in techniques for name in finding.facts.tactics}
    if len(techniques) >= WHOLE_INTRUSION and INITIAL_ACCESS not in tactics:
        steps.append("The text does not describe the initial access: ask for it, or check mail, VPN and web servers.")
    if techniques:
        steps.append("Attach the hosts' logs (EVTX, JSON lines): the rules show which of these techniques left traces.")
    return steps


def _label(facts: BehaviourTechnique) -> str:
    return technique_label(facts.id, facts.name)


_ATTACK = r"\b(?:ATT&?CK|MITRE|TTPs?)\b"
_ACTOR = (
    r"(?:\bthreat actors?|\badversar(?:y|ies)|\battackers?|\bintruders?|"
    r"\bthe (?:malware|actors?|operators?|backdoor|implant))\b"
)
_DID = (  # reported, not merely possible: "allows attackers to execute" is about a flaw
    r"\b(?:us(?:es|ed|ing)|(?:dump|download|inject|exfiltrat|execut|creat|deploy|encrypt|obtain|escalat|disabl|gain|"
    r"leverag|collect|establish|install|delet|scann?|mov)(?:es|ed|s|ing)|steals|stole|ran|runs)\b"
)
SECTION = Section(
    skill=Skill(
        name="behaviours",
        tool="svc.assistant.skills.attack_mapping.tool:inspect",
        input=InputKind.TEXT,
        title="Behaviours",
        can="map the behaviours that a report or a sentence describes to ATT&CK techniques",
        facts=(BehaviourSentence, BehaviourTechnique),
        strong=words(
            rf"\b(?:map|mapping|mapped|tag|label|classify|translate)\b[^.?!\n]{{0,80}}(?:{_ATTACK}|\btechniques?\b|\btactics?\b)",
            rf"\b(?:which|what|identify|extract|find|name|list|give|show|any|all)\b{NO_LOOKUP}[^.?!\n]{{0,40}}{_ATTACK}",
            rf"\b(?:which|what|identify|extract|find|name)\b{NO_LOOKUP}[^.?!\n]{{0,30}}\btechniques?\b[^.?!\n]{{0,40}}"
            r"\b(?:used|use|uses|is|are|does|do|did|describe[sd]?|shown?|text|report|sentences?|paragraph|here|this|that)\b",
            r"\bbehaviou?rs?\b[^.?!\n]{0,40}\b(?:map|techniques?|ATT&?CK)\b",
        ),
        weak=words(_ATTACK, r"\bbehaviou?rs?\b"),
        content=words(rf"{_ACTOR}[^.\n]{{0,80}}{_DID}", r"\b(?:dumped|exfiltrated|moved laterally|phishing)\b"),
        looks=words(rf"{_ACTOR}[^.\n]{{0,60}}{_DID}"),
        labels=READABLE_LABELS - RECORD_LABELS,  # prose; log records are matched by rules instead
        takes=frozenset({"question"}),
        reads_question=True,
    ),
    verdict=verdict,
    facts=facts,
    folds=as_folds(body),
    next_steps=next_steps,
    pictures=pictures,
)
