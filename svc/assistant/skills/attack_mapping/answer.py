"""The answer that maps a text to ATT&CK: techniques with the sentences that show them. Kinds: ``tools/behaviours``."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import Confidence, InputKind, Scalar
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.knowledge.attack_names import parent_of
from svc.assistant.skills.attack.wording import NO_LOOKUP, technique_label
from svc.assistant.skills.skill import READABLE_LABELS, RECORD_LABELS, Section, Skill, words
from svc.untrusted.markup import code_span, escape, plural, table

SENTENCE_CHARS = 140
RANKED_SENTENCES = 10  # a text that short gets each sentence's candidates; a longer one the techniques alone
RANKED_CANDIDATES = 3  # of a sentence in the table; the findings have five
_NAMED = 4
_ENOUGH = 4  # techniques that make a story, in which a missing beginning is worth a word
_BEGINNING = "Initial Access"


def verdict(findings: Sequence[Finding]) -> str:
    """The technique of one sentence, or how many techniques of which tactics; says so where the words leave doubt."""
    techniques, sentences = _of(findings, "behaviour_technique"), _of(findings, "behaviour")
    if not techniques:
        denied = plural(len(sentences), "sentence says", "sentences say")
        return f"**No technique shown**; {denied} that something did not happen." if sentences else _NOTHING
    clear = [one for one in techniques if one.confidence is not Confidence.LOW]
    if not clear:
        weak = ", ".join(_label(one) for one in techniques[:_NAMED])
        return f"**No clear technique.** The words hint at {weak}."
    if len(clear) == 1:
        one = clear[0]
        doubt = "" if one.confidence is Confidence.HIGH else " (likely; other techniques are told in such words, too)"
        return f"**{_label(one)}**{doubt}. {escape(str(one.attributes['what']))}".rstrip()
    tactics = dict.fromkeys(str(name) for one in clear for name in _list(one, "tactics")[:1])
    sure = ", ".join(_label(one) for one in clear[:_NAMED])
    return f"**{len(clear)} techniques of {plural(len(tactics), 'tactic')}:** {sure}{_more(len(clear))}."


_NOTHING = "**No behaviour recognised:** the text has none of the words by which the lexicon knows techniques."


def _more(count: int) -> str:
    return f" and {count - _NAMED} more" if count > _NAMED else ""


def body(findings: Sequence[Finding]) -> str:
    """Techniques with their evidence; for a short text the candidates of each sentence; where the names come from."""
    techniques, sentences = _of(findings, "behaviour_technique"), _of(findings, "behaviour")
    blocks = []
    if techniques:
        headers = ["Technique", "Tactics", "Sentence", "Words", "Sentences", "Confidence"]
        blocks.append(table(headers, [_row(one) for one in techniques]))
    if sentences and len(sentences) <= RANKED_SENTENCES:
        rows = [_candidates(one) for one in sentences]
        blocks.append("Candidates of each sentence, likeliest first:\n\n" + table(["Sentence", "Candidates"], rows))
    if techniques:
        blocks.append(f"{techniques[0].attributes['version']}, © The MITRE Corporation; mapped by our own lexicon.")
    return "\n\n".join(blocks)


def _row(finding: Finding) -> list[str]:
    attributes, first = finding.attributes, finding.evidence[0]
    successor = f" (today {attributes['successor']})" if attributes["successor"] else ""
    return [
        _label(finding) + successor,
        ", ".join(escape(str(name)) for name in _list(finding, "tactics")),
        f"{code_span(first.excerpt, limit=SENTENCE_CHARS)} ({code_span(first.source)}, line {first.line})",
        code_span(str(_list(finding, "words")[0])),
        str(attributes["sentences"]),
        finding.confidence.value,
    ]


def _candidates(finding: Finding) -> list[str]:
    shown: dict[str, str] = {}  # of a technique and its sub-techniques the likeliest
    for technique, name in zip(_list(finding, "ids"), _list(finding, "names"), strict=True):
        shown.setdefault(parent_of(str(technique)), technique_label(str(technique), str(name)))
    listed = "; ".join(list(shown.values())[:RANKED_CANDIDATES])
    denied = "did not happen, it says: " if finding.attributes["is_denied"] else ""
    return [code_span(finding.evidence[0].excerpt, limit=SENTENCE_CHARS), denied + listed]


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """Reading where the words leave doubt, looking where the text tells nothing, and proof in the logs."""
    techniques = [one for one in _of(findings, "behaviour_technique") if one.confidence is not Confidence.LOW]
    steps = []
    unsure = [one for one in techniques if one.confidence is Confidence.MEDIUM]
    if unsure:
        listed = ", ".join(str(one.attributes["id"]) for one in unsure[:_NAMED])
        steps.append(f"Read the sentences of {listed}: their words fit other techniques as well.")
    tactics = {str(name) for one in techniques for name in _list(one, "tactics")}
    if len(techniques) >= _ENOUGH and _BEGINNING not in tactics:
        steps.append("The text does not tell how they got in: ask for it, or look at mail, VPN and web servers.")
    if techniques:
        steps.append("Attach the hosts' logs (EVTX, JSON lines): the rules show which of these techniques left traces.")
    return steps


def _label(finding: Finding) -> str:
    return technique_label(str(finding.attributes["id"]), str(finding.attributes["name"]))


def _of(findings: Sequence[Finding], kind: str) -> list[Finding]:
    return [finding for finding in findings if finding.kind == kind]


def _list(finding: Finding, name: str) -> list[Scalar]:
    value = finding.attributes[name]
    return value if isinstance(value, list) else []


_ASKED = r"\b(?:ATT&?CK|MITRE|TTPs?)\b"
_ACTOR = (
    r"(?:\bthreat actors?|\badversar(?:y|ies)|\battackers?|\bintruders?|"
    r"\bthe (?:malware|actors?|operators?|backdoor|implant))\b"
)
_DID = (  # told, not merely possible: "allows attackers to execute" is about a flaw
    r"\b(?:us(?:es|ed|ing)|(?:dump|download|inject|exfiltrat|execut|creat|deploy|encrypt|obtain|escalat|disabl|gain|"
    r"leverag|collect|establish|install|delet|scann?|mov)(?:es|ed|s|ing)|steals|stole|ran|runs)\b"
)
SECTION = Section(
    skill=Skill(
        name="behaviours",
        tool="svc.assistant.skills.attack_mapping.tool:map_text",
        input=InputKind.TEXT,
        title="Behaviours",
        can="map the behaviours that a report or a sentence tells to ATT&CK techniques",
        loose_kinds=("behaviour", "behaviour_technique"),
        strong=words(
            rf"\b(?:map|mapping|mapped|tag|label|classify|translate)\b[^.?!\n]{{0,80}}(?:{_ASKED}|\btechniques?\b|\btactics?\b)",
            rf"\b(?:which|what|identify|extract|find|name|list|give|show|any|all)\b{NO_LOOKUP}[^.?!\n]{{0,40}}{_ASKED}",
            rf"\b(?:which|what|identify|extract|find|name)\b{NO_LOOKUP}[^.?!\n]{{0,30}}\btechniques?\b[^.?!\n]{{0,40}}"
            r"\b(?:used|use|uses|is|are|does|do|did|describe[sd]?|shown?|text|report|sentences?|paragraph|here|this|that)\b",
            r"\bbehaviou?rs?\b[^.?!\n]{0,40}\b(?:map|techniques?|ATT&?CK)\b",
        ),
        weak=words(_ASKED, r"\bbehaviou?rs?\b"),
        content=words(rf"{_ACTOR}[^.\n]{{0,80}}{_DID}", r"\b(?:dumped|exfiltrated|moved laterally|phishing)\b"),
        looks=words(rf"{_ACTOR}[^.\n]{{0,60}}{_DID}"),
        labels=READABLE_LABELS - RECORD_LABELS,  # prose; records are for the rules
        takes=frozenset({"question"}),
    ),
    verdict=verdict,
    body=body,
    next_steps=next_steps,
)
