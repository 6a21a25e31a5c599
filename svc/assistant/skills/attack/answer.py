"""The answer about ATT&CK itself: what an id or a name is, what a tactic has. Kinds: ``tools/attack.py``."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import Confidence, InputKind, Scalar
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.markup import bullets, escape, table

_NAMED = 3  # techniques in the verdict; all stand below it
TACTIC_ROWS = 60  # the longest tactic has 46 techniques
_ID = r"\bT(?:A\d{4}|\d{4}(?:\.\d{3})?)\b"
_TACTIC = (
    r"(?:reconnaissance|resource development|initial access|execution|persistence|privilege escalation|"
    r"(?:defen[cs]e )?(?:evasion|impairment)|stealth|credential access|discovery|lateral movement|collection|"
    r"command and control|c2|exfiltration|impact)"
)
_ID_OF = r"\b(?:id|ids|identifier|number)s? (?:of|for)\b"
_IN_TACTIC = rf"\b(?:in|of|under|for|to|has|have)\b[^.?!\n]{{0,20}}\b(?:tactics?\b|TA\d{{4}}|{_TACTIC}\b)"
_UNUSED = r"(?:(?!\bused?\b)[^.?!\n])"  # "which were used for persistence" asks about a text
NOT_LOOKED_UP = rf"(?!{_UNUSED}{{0,80}}(?:{_ID_OF}|{_IN_TACTIC}|{_ID}))"
"""What must not follow where ATT&CK's name asks for a mapping: words that ask what it has under an id or a tactic."""


def technique_label(technique_id: str, name: str) -> str:
    """``T1059.001 Command and …`` as Markdown; an id is letters, digits and a dot, and stays as people search it."""
    return f"{technique_id} {escape(name)}".rstrip()


def verdict(findings: Sequence[Finding]) -> str:
    """What each is, in a sentence."""
    if not findings:
        return "**Nothing in ATT&CK under these words.**"
    told = [_tactic_verdict(one) if one.kind == "attack_tactic" else _verdict(one) for one in findings[:_NAMED]]
    return " ".join(told)


def _verdict(finding: Finding) -> str:
    attributes = finding.attributes
    label = technique_label(str(attributes["id"]), str(attributes["name"]))
    if not attributes["is_known"]:
        return f"**{label} is not an id of {attributes['version']}.**"
    what = escape(str(attributes["what"]))
    likely = "" if finding.confidence is Confidence.HIGH else " (by the words: no id and no name was given)"
    moved = f" Withdrawn: today it is {attributes['successor']}." if attributes["successor"] else ""
    return f"**{label}**{likely}. {what}{moved}".rstrip()


def _tactic_verdict(finding: Finding) -> str:
    attributes = finding.attributes
    count = len(_list(finding, "techniques"))
    label = technique_label(str(attributes["id"]), str(attributes["name"]))
    return f"**{label}** has {count} techniques with {attributes['subs']} sub-techniques."


def body(findings: Sequence[Finding]) -> str:
    """A list for each technique, a table for each tactic, and where it comes from."""
    if not findings:
        return ""
    blocks = [_tactic(one) if one.kind == "attack_tactic" else _technique(one) for one in findings]
    first = findings[0].attributes
    origin = f"{first['version']}. {escape(str(first['licence']))} What a technique does is told in our own words."
    return "\n\n".join([*blocks, origin])


def _technique(finding: Finding) -> str:
    attributes = finding.attributes
    lines = []
    for title, name in (("Tactics", "tactics"), ("Platforms", "platforms"), ("Sub-techniques", "subs")):
        if _list(finding, name):
            lines.append(f"{title}: " + ", ".join(_item(one) for one in _list(finding, name)))
    if attributes["parent"]:
        lines.append(f"Sub-technique of {_item(attributes['parent'])}")
    if _list(finding, "near"):
        lines.append("Perhaps meant: " + ", ".join(_item(one) for one in _list(finding, "near")))
    label = technique_label(str(attributes["id"]), str(attributes["name"]))
    return f"**{label}**\n\n{bullets(lines)}" if lines else ""


def _tactic(finding: Finding) -> str:
    rows = [list(str(one).partition(" ")[::2]) for one in _list(finding, "techniques")]
    aliases = ", ".join(escape(str(one)) for one in _list(finding, "aliases"))
    also = f"Also called: {aliases}.\n\n" if aliases else ""
    return also + table(["Id", "Technique"], [[row[0], escape(row[1])] for row in rows], limit=TACTIC_ROWS)


def _item(value: Scalar | list[Scalar]) -> str:
    """``T1003 OS Credential Dumping``, or words without an id, as Markdown."""
    first, _, rest = str(value).partition(" ")
    return technique_label(first, rest) if first[:1] == "T" and first[1:2].isdigit() else escape(str(value))


def _list(finding: Finding, name: str) -> list[Scalar]:
    value = finding.attributes[name]
    return value if isinstance(value, list) else []


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """For an id that is not known: a newer table."""
    if all(one.attributes.get("is_known", True) for one in findings):
        return []
    return ["Read a newer ATT&CK with `svc rules update --attack FILE|URL` if the id is new."]


_COMMON = (
    r"kerberoasting|dcsync|phishing|pass[- ]the[- ](?:hash|ticket)|timestomp\w*|process (?:injection|hollowing)|"
    r"dll side-?loading|password spraying|credential (?:stuffing|dumping)|golden tickets?|silver tickets?|"
    r"domain fronting|as-?rep roasting|masquerading|steganography"
)

SECTION = Section(
    skill=Skill(
        name="attack",
        tool="svc.assistant.skills.attack.tool:look_up",
        input=InputKind.TEXT,
        title="ATT&CK",
        can="say what an ATT&CK technique or tactic is, and which techniques a tactic has",
        loose_kinds=("attack_technique", "attack_tactic"),
        strong=words(
            rf"\b(?:what(?:'s| is| are| does| do)|explain|describe|define|tell me about|look ?up|name of|meaning of)\b"
            rf"[^.?!\n]{{0,40}}{_ID}",
            rf"\btactics?\b[^.?!\n]{{0,40}}{_ID}",
            rf"{_ID}[^.?!\n]{{0,30}}\b(?:mean|means|stand|stands|tactics?|belong\w*)\b",
            rf"\b(?:techniques?|ttps?)\b{_UNUSED}{{0,30}}{_IN_TACTIC}",
            rf"\b(?:ATT&?CK|MITRE|techniques?)\b[^.?!\n]{{0,20}}{_ID_OF}",
            rf"\b(?:list|show|which|what)\b[^.?!\n]{{0,20}}\b{_TACTIC} (?:techniques?|ttps?)\b",
            r"\b(?:detect|spot|prevent|stop|mitigate|hunt for|defend against|explain)\b"
            rf"[^.?!\n]{{0,20}}\b(?:{_COMMON})\b",
        ),
        weak=words(
            _ID,
            rf"\bwhat(?:'s| is) (?:an? |the )?(?:{_COMMON})\b",
        ),
        labels=frozenset(),
        takes=frozenset({"question"}),
    ),
    verdict=verdict,
    body=body,
    next_steps=next_steps,
)
