"""What the analyst can do and what it cannot yet: each tool with the words that ask for it and the files it reads.

A new tool is one entry here, one module in ``tools/`` and one in ``sections/`` (named in ``render.py``). Kinds of
question: the analyst page.
"""

from __future__ import annotations

import re

import msgspec

from svc.assistant.file_types import TEXT_LABELS
from svc.assistant.turn import TurnFile
from svc.assistant.workers import Feed
from svc.messages import Toolset, Vendor

PACKED_LABELS = frozenset({"gzip", "gz", "bzip2", "bz2", "xz"})  # a rotated log; the worker unpacks it
_TEXT_TYPES = ("text/", "message/rfc822", "application/json", "application/x-pem-file")
_LOG_NAME = re.compile(r"(?:auth|secure|sshd?)\b.*|.*\b(?:auth|secure)\.log.*", re.IGNORECASE)


def is_readable(file: TurnFile) -> bool:
    """Whether the tools here can read it: text, or packed text."""
    return file.label in TEXT_LABELS | PACKED_LABELS or file.mime_type.startswith(_TEXT_TYPES)


def is_login_log(file: TurnFile) -> bool:
    """Whether its content, or a name like ``auth.log.2.gz`` where only unpacking tells, is a log of logins."""
    is_unsure = file.label in PACKED_LABELS | {"txt", "log"}
    return file.label == "authlog" or (is_unsure and _LOG_NAME.fullmatch(file.name) is not None)


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """One tool as the plan sees it.

    ``strong`` words ask for it wherever they stand; ``weak`` ones only in a clause that asks for nothing else.
    ``content`` is the look of a text that it is for. ``kinds`` are the findings that its section shows.
    """

    name: str
    tool: str
    feed: Feed
    title: str
    can: str
    kinds: tuple[str, ...]
    strong: re.Pattern[str]
    weak: re.Pattern[str]
    content: re.Pattern[str]
    is_experimental: bool = False  # only the experimental model has it


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


AUTH_LOG = Skill(
    name="auth_log",
    tool="svc.assistant.tools.auth_log:brute_force",
    feed=Feed.LINES,
    title="Logins",
    can="say which accounts were brute-forced in an auth.log, from where, and whether it worked",
    kinds=("auth_source", "auth_account", "auth_success", "auth_summary"),
    strong=_words(
        r"\bbrut(?:e|ed)[- ]?forc\w*",
        r"\bfailed (?:ssh |password )?(?:log-?ins?|log-?ons?|passwords?|attempts?|auth\w*|sign-?ins?)\b",
        r"\b(?:log-?in|log-?on|authentication|password) (?:failures?|attempts?)\b",
        r"\bpassword[- ](?:spray|guess)\w*",
        r"\bcredential stuffing\b",
        r"\bwho (?:has |was |had )?(?:logged|got|gotten|let|broke|broken|tried to (?:log|get)) ?(?:on|in)\b",
        r"\b(?:log-?ins?|log-?ons?|success(?:es)?|logged in)\b[^.?!\n]{0,30}\bafter (?:\w+ )?(?:failures?|failed)",
        r"\bssh\b[^.?!\n]{0,40}\b(?:attack|attempt|fail|log-?in|intru)\w*",
        r"\baccounts?\b[^.?!\n]{0,40}\b(?:attack|compromis|broken into|taken over|target|guess)\w*",
    ),
    weak=_words(r"\bauth(?:\.log\b|\w* logs?\b)", r"\blog-?ins?\b", r"\bsshd?\b", r"\bsuccess(?:ful)? log"),
    content=_words(r"\bsshd(?:-session)?(?:\[\d+\])?: ", r"\bpam_\w+\([\w.-]+:auth\)", r"\bFailed password for "),
)
CVSS = Skill(
    name="cvss",
    tool="svc.assistant.tools.cvss:score",
    feed=Feed.TEXT,
    title="CVSS",
    can="score and explain a CVSS vector (2, 3.0, 3.1, 4.0), or say which metric of it is wrong",
    kinds=("cvss_score", "cvss_broken"),
    strong=_words(r"\bcvss\b"),
    weak=_words(r"\bvectors?\b", r"\bseverity score\b", r"\bbase score\b"),
    content=_words(r"\bCVSS:[234]", r"\bA[VC]:[A-Z]/A[UCT]:[A-Z]"),
)
INDICATORS = Skill(
    name="indicators",
    tool="svc.assistant.tools.indicators:extract",
    feed=Feed.TEXT,
    title="Indicators",
    can="extract the indicators of a report or a log, defanged, with context",
    kinds=("indicator",),
    strong=_words(r"\bindicators?\b", r"\bIOCs?\b", r"\bobservables?\b", r"\bdefang\w*"),
    weak=_words(
        r"\b(?:extract|list|find|pull|get|collect|give|show|which|what|any|all|every)\b[^.?!\n]{0,60}?"
        r"\b(?:ips?|ip addresses|addresses|domains?|urls?|links|hashes|host ?names|e-?mail addresses|cves|file ?paths|"
        r"registry keys|wallets)\b"
    ),
    content=_words(
        r"hxxps?\b",
        r"\[\.\]",
        r"\bhttps?://",
        r"\b(?:\d{1,3}\.){3}\d{1,3}\b",
        r"\b[0-9a-f]{32,128}\b",
        r"\bCVE-\d{4}-\d{4,}",
    ),
)
DECODE = Skill(
    name="decode",
    tool="svc.assistant.tools.decode:unwrap",
    feed=Feed.TEXT,
    title="Decoding",
    can="decode what is wrapped in layers (base64, hex, gzip, XOR, PowerShell -EncodedCommand, …)",
    kinds=("decoded", "decoded_layer"),
    strong=_words(
        r"\b(?:de-?cod(?:e|es|ed|ing)|de-?obfuscat\w+|unwrap\w*|decipher\w*|decrypt\w*|un-?encode)\b",
        r"\bwhat (?:does|do) (?:this|that|it|the \w+)(?: \w+)? (?:say|decode|mean)\b",
    ),
    weak=_words(r"\bbase-?64\b", r"\s-e(?:nc?|ncodedcommand)?\s+[A-Za-z0-9+/=]{8,}", r"\bencoded\b", r"\bobfuscated\b"),
    content=_words(
        r"(?<![A-Za-z0-9+/_=.-])(?=[A-Za-z0-9+/_-]*\d)(?=[A-Za-z0-9+/_-]*[A-Z])[A-Za-z0-9+/_-]{16,}={0,2}(?![A-Za-z0-9+/_.-])",
        r"(?:%[0-9A-F]{2}){3}",
        r"(?:\\x[0-9A-F]{2}){3}",
        r"\bFromBase64String\b|\bfromCharCode\b|-enc\b",
        r"\b(?:[0-9a-f]{2}[ :]){8,}",
        r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{6,}={1,2}(?![A-Za-z0-9=])",
    ),
)
HASH_KIND = Skill(
    name="hash_kind",
    tool="svc.assistant.tools.hash_kind:identify",
    feed=Feed.TEXT,
    title="Hashes",
    can="say what kind of hash something is, by its form",
    kinds=("hash_kind",),
    strong=_words(
        r"\bwhat (?:(?:kind|type|sort) of )?hash(?:es)?\b",
        r"\bidentify (?:this|the|these|those) hash(?:es)?\b",
        r"\bhash (?:kinds?|types?)\b",
    ),
    weak=_words(r"\bkind of hash\b"),
    content=_words(r"\b[0-9a-f]{32,128}\b", r"\$(?:2[aby]|1|5|6|y|7|apr1|argon2\w*)\$"),
    is_experimental=True,
)
SKILLS = (AUTH_LOG, INDICATORS, DECODE, CVSS, HASH_KIND)
"""In the order in which asks of one prompt are answered where the prompt itself has none."""

FILE_WORDS = _words(r"\b(?:files?|attach\w*|logs?|reports?|documents?|uploads?)\b")
"""A clause with one of these means the files, though the prompt brings material of its own."""

LOOK = _words(
    r"\b(?:analy[sz]e|analysis|look|check|triage|summari[sz]e|investigate|examine|inspect|review|suspicious|interesting)\b",
    r"\bwhat(?:'s| is| do you see| happened| went on)\b[^.?!\n]{0,30}\b(?:in|here|this|that|on|happen\w*)\b",
)
"""Asks for whatever fits the content."""

NOT_YET = (
    (
        "triage a mail",
        _words(
            r"\bphish\w*",
            r"\.eml\b",
            r"\b(?:mail|message) headers?\b",
            r"\b(?:SPF|DKIM|DMARC)\b",
            r"\btriage \w+ e?-?mail",
        ),
    ),
    (
        "explain what a script or command does",
        _words(r"\bexplain\b[^.?!\n]{0,40}\b(?:powershell|script|command|one-?liner|shell|macro|code)\b"),
    ),
    ("look up a CWE or name the weakness in a text", _words(r"\bCWE\b")),
    (
        "look up a CVE or whether it is exploited (no data offline)",
        _words(r"\b(?:what is|about|on|for|is|explain) CVE-\d", r"\bexploited\b", r"\bKEV\b"),
    ),
    ("map behaviour to ATT&CK", _words(r"\bATT&?CK\b", r"\bMITRE\b", r"\bTTPs?\b")),
    ("read Windows event logs (EVTX)", _words(r"\bevtx\b", r"\blateral movement\b", r"\bevent logs?\b")),
    ("check a token or a certificate", _words(r"\bJWT\b", r"\bcertificates?\b", r"\bx\.?509\b")),
    (
        "inspect programs and documents",
        _words(r"\b(?:PE|ELF) (?:file|binary|header)\b", r"\bmacros?\b", r"\bmalware sample\b"),
    ),
    ("read packet captures", _words(r"\bpcap\w*\b", r"\bpacket captures?\b", r"\bbeacon\w*")),
    (
        "review code, a configuration or HTTP headers",
        _words(r"\breview (?:this|the|my) (?:code|config\w*|headers?|function|source)\b"),
    ),
    (
        "tell whether a package version is affected",
        _words(
            r"\b(?:affected|vulnerable)\b[^.?!\n]{0,60}\bversions?\b",
            r"\bversions?\b[^.?!\n]{0,60}\b(?:affected|vulnerable)\b",
        ),
    ),
    (
        "say who owns an address or whether it is known as malicious (no data offline)",
        _words(
            r"\breputation\b",
            r"\bknown (?:bad|malicious)\b",
            r"\bwhois\b",
            r"\b(?:is|are)\b[^?!\n]{0,80}\bmalicious\b",
            r"\bgeo-?locat\w*",
        ),
    ),
)
"""What people ask that no tool here does yet, in words that end "it cannot yet …"."""


def skill_of_kind(kind: str) -> Skill | None:
    """The skill whose section shows findings of ``kind``; None for one that no section knows."""
    return next((skill for skill in SKILLS if kind in skill.kinds), None)


def enabled(*, use_experimental: bool) -> tuple[Skill, ...]:
    """The skills that a model has."""
    return tuple(skill for skill in SKILLS if use_experimental or not skill.is_experimental)


def abilities() -> list[str]:
    """What the analyst can do, as sentences' ends."""
    return [skill.can + (" (the experimental model)" if skill.is_experimental else "") for skill in SKILLS]


def toolsets() -> tuple[Toolset, ...]:
    """The skills as the wire lists them with a model."""
    vendor = Vendor(name="svc-jupyter", description="The embedded analyst's own tools.")
    return tuple(
        Toolset(name=skill.name, description=f"Can {skill.can}.", vendor=vendor, is_experimental=skill.is_experimental)
        for skill in SKILLS
    )
