"""Decide which skills can read a file and which are made for it; words for files and triage. Pure."""

from __future__ import annotations

import re

from svc.assistant.skills.catalogue import SKILLS
from svc.assistant.skills.skill import PACKED_LABELS, READABLE_LABELS, Skill, words
from svc.assistant.turn import TurnFile

_TEXT_TYPES = ("text/", "message/rfc822", "application/json", "application/x-pem-file")
_UNSURE_LABELS = PACKED_LABELS | {"txt", "log"}  # the content decides only after unpacking or further reading


def reads(skill: Skill, file: TurnFile) -> bool:
    """Whether the skill's tool can read the file; a tool for text reads every kind of text."""
    return file.label in skill.labels or (skill.labels >= READABLE_LABELS and file.mime_type.startswith(_TEXT_TYPES))


def fits(skill: Skill, file: TurnFile) -> bool:
    """Whether the skill is made for the file, or reads it in addition to the skill that is."""
    return file.label in skill.also or is_for(skill, file)


def is_for(skill: Skill, file: TurnFile) -> bool:
    """Whether the file is what the skill is made for: by content, or by name if the content does not decide."""
    return file.label in skill.claims or (
        file.label in _UNSURE_LABELS and skill.file_names.fullmatch(file.name.rpartition("/")[2]) is not None
    )


def is_readable(file: TurnFile) -> bool:
    """Whether any tool can read the file."""
    return any(reads(skill, file) for skill in SKILLS)


GREETING = re.compile(
    r"\s*(?:hi|hello|hey|thanks?(?: you)?|help|good (?:morning|afternoon|evening))\b"
    r"(?:[ ,!.]{1,3}(?:there|all|everyone|everybody|team|folks|svc|analyst|assistant|again|so|very|much|a lot|you|me"
    r"|please|in advance|for (?:the|your|this|that|all|everything)\b[^?,;:\n]{0,30})\b){0,5}[ !.?]{0,5}\s*"
    r"|.{0,20}\b(?:what can (?:you|i)\b|who are you|what are you\b|how do (?:you|i use)\b).{0,60}",
    re.IGNORECASE,
)
"""Prompts that ask nothing about evidence."""

FILE_WORDS = words(r"\b(?:files?|attach\w*|logs?|reports?|documents?|uploads?)\b")
"""A clause with one of these means the files, even if the prompt contains material."""

_FOR_OTHERS = (
    r"\b(?:explain|describe|present|break) (?:this|it|that|everything|all of (?:this|it))(?: down)?"
    r" (?:to|for) (?:my|our|the|an?|him|her|them|me|management|non-?\w+)\b"
)
LOOK = words(
    _FOR_OTHERS,
    r"\b(?:analy[sz]e|analysis|look|check|triage|summari[sz]e|investigate|examine|inspect|review|suspicious|interesting)\b",
    r"\bwhat (?:has |had )?(?:happened|went on|was going on|is going on|took place)\b",
    r"\b(?:anything|something) (?:suspicious|malicious|unusual|wrong|bad|odd|strange|interesting|notable)\b",
    r"\btl;? ?dr\b|\bstor(?:y|ies)\b|\boverview\b|\bsummar(?:y|ies)\b(?! (?:of|by|per|table)\b)",
    r"\bwhat (?:do )?you see\b|\bstands? out\b",
    r"\bwhat(?:'s| is| do you see| happened| went on)\b[^.?!\n]{0,30}\b(?:in|here|this|that|on|happen\w*)\b",
)
"""Requests for whatever fits the content."""

WHOLE = words(r"\bwhat (?:do )?you see\b|\bwhat happened here\b", _FOR_OTHERS)
"""Requests for the whole story although one of their words also names a skill ("explain what you see")."""

GENERAL = words(
    r"\b(?:what(?:'s| is| are)|what does [^.?!\n]{1,60} mean|explain|define|describe|meaning of|tell me about)\b",
    r"\bhow (?:does|do|did) [^.?!\n]{1,60} work\b",
)
"""Questions about a subject; without evidence, the knowledge tables may answer them."""

_ADDRESS = (
    r"\b(?:ips?|ip address(?:es)?|address(?:es)?|domains?|urls?|web ?sites?|hash(?:es)?)\b"
    r"|(?<![\w.])(?:\d{1,3}\[?\.\]?){3}\d{1,3}\b|[\w-]\[?\.\]?(?:com|net|org|info|ru|cn|io|top|xyz|example)\b|\b[0-9a-f]{32,64}\b"
)
UNSUPPORTED = (
    (
        "say who owns an address or whether it is known as malicious (no data offline)",
        words(
            r"\breputation\b",
            r"\bknown (?:bad|malicious)\b",
            r"\bwhois\b",
            rf"\b(?:is|are)\b[^?!`\n]{{0,60}}(?:{_ADDRESS})[^?!`\n]{{0,40}}\bmalicious\b",
            r"\bgeo-?locat\w*",
        ),
    ),
)
"""Requests that no tool can answer yet, as verb phrases that complete "the analyst cannot yet …"."""
