"""The answer about ATT&CK itself: what a technique or tactic is, and which techniques a tactic has."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Confidence, Finding, InputKind, with_facts
from svc.assistant.skills.answer_parts import MAX_FACTS, Fold, listed
from svc.assistant.skills.attack.findings import AttackTactic, AttackTechnique
from svc.assistant.skills.attack.wording import ID, ID_OF, IN_TACTIC, NOT_USED, TACTIC, technique_label
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import escape, plural

MAX_SENTENCES = 3  # in the verdict; the body has an entry for each finding
TACTIC_ROWS = 60  # the longest tactic has 46 techniques


def verdict(findings: Sequence[AnyFinding]) -> str:
    """A sentence for each technique and tactic."""
    techniques, tactics = with_facts(findings, AttackTechnique), with_facts(findings, AttackTactic)
    sentences = [*map(_technique_sentence, techniques), *(_tactic_sentence(finding.facts) for finding in tactics)]
    if not sentences:
        return "**Not answered:** the question matches no technique or tactic of the ATT&CK table."
    return " ".join(sentences[:MAX_SENTENCES])


def _technique_sentence(finding: Finding[AttackTechnique]) -> str:
    facts = finding.facts
    label = technique_label(facts.id, facts.name)
    if not facts.is_known:
        return f"**{label} is not in {facts.version}.**"
    doubt = "" if finding.confidence is Confidence.HIGH else " (matched by wording: the question names no technique)"
    return " ".join(filter(None, [f"**{label}**{doubt}.", escape(facts.what), *_changes(facts)]))


def _changes(facts: AttackTechnique) -> list[str]:
    """What became of a withdrawn ID, and the earlier name of a renamed technique."""
    changes = []
    if facts.is_withdrawn:
        now = f"replaced by {technique_label(facts.successor, facts.successor_name)}" if facts.successor else ""
        withdrawn = f"Withdrawn in ATT&CK {escape(facts.withdrawn_in)}" if facts.withdrawn_in else "Withdrawn"
        changes.append(f"{withdrawn}; {now}." if now else f"{withdrawn} without a successor.")
    if facts.formerly:
        changes.append(f"Earlier versions call it {escape(facts.formerly)}.")
    return changes


def _tactic_sentence(facts: AttackTactic) -> str:
    label = technique_label(facts.id, facts.name)
    counted = f"**{label}** has {len(facts.techniques)} techniques and {facts.subs} sub-techniques."
    if not facts.formerly:
        return counted
    parts = " and ".join(["It", *map(escape, facts.split_with)])
    return f"{counted} {parts} {'were' if facts.split_with else 'was'} {escape(facts.formerly)} in earlier versions."


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """Of one technique its tactics, platforms and relatives; of several a line each."""
    techniques = [finding.facts for finding in with_facts(findings, AttackTechnique)]
    if len(techniques) == 1:
        return [
            f"**{title}**: {listed([escape(name) for name in names], limit=8)}."
            for title, names in _lists(techniques[0])
        ][:MAX_FACTS]
    return [
        f"**{technique_label(one.id, one.name)}**: {'; '.join(escape(name) for name in one.tactics)}"
        for one in techniques[:MAX_FACTS]
    ]


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """The techniques of each tactic, everything about each of several techniques, and the source."""
    techniques = [finding.facts for finding in with_facts(findings, AttackTechnique)]
    tactics = [finding.facts for finding in with_facts(findings, AttackTactic)]
    first: list[AttackTechnique | AttackTactic] = [*techniques[:1], *tactics[:1]]
    if not first:
        return []
    origin = f"{first[0].version}. {escape(first[0].licence)} Descriptions are our own."
    several = [_technique_fold(one) for one in techniques] if len(techniques) > 1 else []
    return [*several, *map(_tactic_fold, tactics), Fold(title="Source and licence", text=origin)]


def _technique_fold(facts: AttackTechnique) -> Fold:
    rows = [(f"{title}: {', '.join(map(escape, names))}",) for title, names in _lists(facts)]
    return Fold(title=technique_label(facts.id, facts.name), rows=rows)


def _lists(facts: AttackTechnique) -> list[tuple[str, list[str]]]:
    lists = {
        "Tactics": facts.tactics,
        "Platforms": facts.platforms,
        "Sub-techniques": facts.subs,
        "Sub-technique of": [facts.parent] if facts.parent else [],
        "Similar IDs": facts.near,
    }
    return [(title, list(names)) for title, names in lists.items() if names]


def _tactic_fold(facts: AttackTactic) -> Fold:
    rows = [(technique_id, escape(name)) for technique_id, _, name in (one.partition(" ") for one in facts.techniques)]
    also = f"Also called: {', '.join(map(escape, facts.aliases))}." if facts.aliases else ""
    title = f"{plural(len(rows), 'technique')} of {technique_label(facts.id, facts.name)}"
    return Fold(title=title, headers=("ID", "Technique"), rows=rows, text=also, limit=TACTIC_ROWS)


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """A newer table, if an ID is unknown."""
    if all(finding.facts.is_known for finding in with_facts(findings, AttackTechnique)):
        return []
    return ["If the ID is new, load a newer ATT&CK with `svc rules update --attack FILE|URL`."]


_KNOWN_BY_NAME = (
    r"kerberoasting|dcsync|phishing|pass[- ]the[- ](?:hash|ticket)|timestomp\w*|process (?:injection|hollowing)|"
    r"dll side-?loading|password spraying|credential (?:stuffing|dumping)|golden tickets?|silver tickets?|"
    r"domain fronting|as-?rep roasting|masquerading|steganography"
)

SECTION = Section(
    skill=Skill(
        name="attack",
        tool="svc.assistant.skills.attack.tool:inspect",
        input=InputKind.TEXT,
        title="ATT&CK",
        can="explain an ATT&CK technique or tactic, and list a tactic's techniques",
        facts=(AttackTechnique, AttackTactic),
        strong=words(
            rf"\b(?:what(?:'s| is| are| does| do)|explain|describe|define|tell me about|look ?up|name of|meaning of)\b"
            rf"[^.?!\n]{{0,40}}{ID}",
            rf"\btactics?\b[^.?!\n]{{0,40}}{ID}",
            rf"{ID}[^.?!\n]{{0,30}}\b(?:mean|means|stand|stands|tactics?|belong\w*)\b",
            rf"\b(?:techniques?|ttps?)\b{NOT_USED}{{0,30}}{IN_TACTIC}",
            rf"\b(?:ATT&?CK|MITRE|techniques?)\b[^.?!\n]{{0,20}}{ID_OF}",
            rf"\b(?:list|show|which|what)\b[^.?!\n]{{0,20}}\b{TACTIC} (?:techniques?|ttps?)\b",
            r"\b(?:detect|spot|prevent|stop|mitigate|hunt for|defend against|explain)\b"
            rf"[^.?!\n]{{0,20}}\b(?:{_KNOWN_BY_NAME})\b",
        ),
        weak=words(
            ID,
            rf"\bwhat(?:'s| is) (?:an? |the )?(?:{_KNOWN_BY_NAME})\b",
        ),
        labels=frozenset(),
        takes=frozenset({"question"}),
        reads_question=True,
    ),
    verdict=verdict,
    facts=facts,
    folds=folds,
    next_steps=next_steps,
)
