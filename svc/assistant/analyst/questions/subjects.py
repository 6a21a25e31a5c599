"""Questions without evidence: about a subject by its usual name, about a value, or about general knowledge. Pure.

A subject ("what is CSRF?") is looked up in ``subjects.toml``, which gives the entries of CWE and ATT&CK that it means.
A value ("is 8.8.8.8 malicious?") is read for what is known offline. The rest is not answered, as the answer says.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache

import msgspec

from svc.assistant.analyst.clause_words import content_words, stems
from svc.assistant.knowledge import load
from svc.assistant.skills.catalogue import SKILLS
from svc.assistant.skills.skill import Skill
from svc.untrusted.markup import bullets, code_span

MAX_SUBJECTS = 3
MAX_QUESTION_CHARS = 300
MAX_VALUES_CHARS = 20_000
MAX_WORDS = 14  # beside the values
SUGGESTIONS = 3
_ASKS = re.compile(
    r"\b(?:what(?:'s|s| is| are| do(?:es)?)|explain|define|describe|definition of|meaning of|tell me|teach me|info"
    r"|information|know about|learn about|overview of|introduction to|how (?:do|does|can|should|to|would))\b"
    r"|\A\W*[\w&/ -]{2,40}\?*\W*\Z",
    re.IGNORECASE,
)
_OF_EVIDENCE = re.compile(
    r"\b(?:this|these|those|my|our|attached|above|below|following)\b|\bthat(?: \w+)?\s*\?"
    r"|\bthe (?:logs?|mails?|e-?mails?|files?|captures?|reports?|hosts?|servers?|message|attachments?"
    r"|evidence|archive)\b"
    r"|\b(?:was|were|did|has|have|had)\b",
    re.IGNORECASE,
)
_KNOWLEDGE = re.compile(
    r"\A\W*(?:(?:please|can you|could you|hi|hello|hey|so|and|ok|now)\W+){0,3}"
    r"(?:explain|describe|define|write|create|generate|draft|compose|compare|recommend|suggest|teach|tell me|translate"
    r"|how (?:do|does|can|could|should|to|would|is|are)\b|who (?:is|are|won|invented|made)\b|why\b|difference"
    r"|what(?:'s|s| is| are)? (?:the |a |an )?(?:\w+ ){0,2}(?:differen\w+|default|best|capital|latest|port"
    r"|purpose|name)"
    r"|what (?:port|protocol)\b|is \w[\w.-]* (?:still )?(?:dangerous|safe|bad|good|a risk|secure|vulnerable)\b"
    r"|when (?:is|was)\b|should i\b|which (?:is|one is)\b)",
    re.IGNORECASE,
)
_HASH = r"(?<![\w.])(?:[0-9a-f]{128}|[0-9a-f]{96}|[0-9a-f]{64}|[0-9a-f]{56}|[0-9a-f]{40}|[0-9a-f]{32})(?![\w-]|\.\w)"
_FILE_ENDINGS = (
    "log|txt|pdf|exe|dll|js|py|sh|zip|eml|docx?|xlsx?|pptx?|json|csv|tsv|evtx?|pcap|pcapng|ps1|bat|cmd|conf|cfg|xml|html?"
    "|php|md|so|bin|gz|tar|lnk|img|iso|jar|vbs|hta|msg|ya?ml|toml|ini|service|tmp|db|sql|rtf|asp|aspx|jsp|dat|sys"
)
_ADDRESS = (
    r"hxxps?://[^\s,;'\"<>]{3,300}|https?://[^\s,;'\"<>]{3,300}|(?<![\w.])(?:\d{1,3}\[?\.\]?){3}\d{1,3}(?![\w.]*\w)"
    rf"|(?<![\w.@/-])(?:[a-z0-9-]{{1,63}}\[?\.\]?){{1,6}}(?!(?:{_FILE_ENDINGS})\b)[a-z]{{2,24}}(?![\w-]|\.\w)"
)
_HASHES, _ADDRESSES = re.compile(_HASH, re.IGNORECASE), re.compile(_ADDRESS, re.IGNORECASE)
_KIND_ONLY = re.compile(r"\bwhat (?:kind|type|sort)\b|\bidentify\b|\bhash types?\b", re.IGNORECASE)
_OF_VALUE = re.compile(
    r"\b(?:check|malicious|malware|safe|bad|dangerous|harmful|evil|reputation|look ?up|look|visit|open|click|trust\w*"
    r"|known|know|info\w*|analy[sz]e|scan|clean|suspicious|benign|legit\w*|seen|what|who|phishing|threat|ioc|infected"
    r"|compromised|investigate|about|related)\b",
    re.IGNORECASE,
)
_VERDICT = re.compile(
    r"\b(?:malicious|malware|safe|bad|dangerous|harmful|evil|reputation|clean|suspicious|benign|legit\w*|trust\w*)\b",
    re.IGNORECASE,
)
_NEW_TASK = re.compile(
    r"\b(?:de-?cod\w*|de-?obfuscat\w*|extract|list|defang|count|convert|crack|hash of|encode|base64|cvss|compare"
    r"|whois|owns?|owner|registered|registrar|geo-?locat\w*|command|script|code|macro|got in|logged)\b",
    re.IGNORECASE,
)


class _Subjects(msgspec.Struct, frozen=True):
    """``subjects.toml``: names by the entry, or by the CVE, that they mean."""

    source: str
    version: str
    date: date
    entries: dict[str, list[str]]
    vulnerabilities: dict[str, list[str]]


class Subject(msgspec.Struct, frozen=True):
    """A name in a question, and the entry that it means: ``csrf``, ``CWE-352``."""

    name: str
    entry: str

    @property
    def skill(self) -> str:
        """The skill that looks the entry up."""
        return "weakness" if self.entry.startswith("CWE-") else "attack"


class Named(msgspec.Struct, frozen=True):
    """The skill that reads the values of a question.

    ``asks_reputation``: whether it asks what is known about them; ``is_verdict``: whether it asks just that.
    """

    skill: str
    asks_reputation: bool
    is_verdict: bool


def origin() -> str:
    """Which table gives the meaning of a name."""
    return f"own table of names and abbreviations, version {_table().version} of {_table().date.isoformat()}"


def subjects_of(question: str) -> list[Subject]:
    """The entries that a question about a subject names; none if it is about evidence."""
    if len(question) > MAX_QUESTION_CHARS or not _ASKS.search(question) or _OF_EVIDENCE.search(question):
        return []
    return _named(question, "entries")


def _named(question: str, kind: str) -> list[Subject]:
    """The names of a question, the longest first; a name within a longer one does not count."""
    rest, found = " ".join(question.lower().replace("-", " ").split()), list[Subject]()
    for name, entry, pattern in _patterns()[kind]:
        if name in rest and pattern.search(rest):
            rest = pattern.sub(" ", rest)
            found.append(Subject(name, entry))
    return list({one.entry: one for one in found}.values())[:MAX_SUBJECTS]


def values_of(prompt: str) -> Named | None:
    """What reads a prompt that consists of hashes, addresses, domains or URLs and a short question about them."""
    if len(prompt) > MAX_VALUES_CHARS or _NEW_TASK.search(prompt[:MAX_QUESTION_CHARS]):
        return None
    for skill, pattern in (("hash_kind", _HASHES), ("indicators", _ADDRESSES)):
        rest, count = pattern.subn(" ", prompt)
        words = rest.split()
        is_plain = len(words) <= MAX_WORDS and all(map(_PLAIN_WORD.fullmatch, words))
        if not count or not is_plain or _OF_EVIDENCE_FILES.search(rest):
            continue
        asks = _OF_VALUE.search(rest) is not None
        if skill == "indicators" and not asks:
            return None
        asks_more = bool(words) and not _KIND_ONLY.search(rest)
        return Named(skill, asks_reputation=asks_more, is_verdict=_VERDICT.search(rest) is not None)
    return None


_PLAIN_WORD = re.compile(r"[\"'(]?[A-Za-z0-9][\w'\u2019-]*[\"').,:;?!]*|[\"'()?!:;,.&-]+|`+")
_OF_EVIDENCE_FILES = re.compile(
    r"\b(?:logs?|captures?|mails?|reports?|attached|attachments?|evidence|archive|logged|logins?|accounts?|"
    r"(?:was|were|did)\b)",
    re.IGNORECASE,
)


def is_general_knowledge(question: str) -> bool:
    """Whether a question in which a skill is named asks for knowledge, not for evidence: "how do I harden SSH?"."""
    return _KNOWLEDGE.search(question) is not None and _OF_EVIDENCE.search(question) is None


def general_answer(question: str) -> str:
    """The honest answer to a question of general knowledge, with at most three things that can be done instead."""
    return (
        "**Not answered:** the embedded analyst has no general knowledge. It reads evidence that you attach or paste, "
        "and looks up entries of ATT&CK, CWE, CVE and CVSS. A configured language model can answer this question "
        f"(`SVC_MODEL_URL`).\n\nInstead, you can:\n\n{bullets(_suggestions(question))}\n"
    )


def _suggestions(question: str) -> list[str]:
    known = [
        f"ask about {one.entry} ({code_span(one.name)} usually means it): “explain {one.entry}”"
        for one in _named(question[:MAX_QUESTION_CHARS], "vulnerabilities")
    ]
    known += [
        f"ask about {one.entry}: “explain {one.entry}”" for one in _named(question[:MAX_QUESTION_CHARS], "entries")
    ]
    wanted = stems(question[:MAX_QUESTION_CHARS])
    ranked = sorted(((_overlap(skill, question, wanted), -number) for number, skill in enumerate(SKILLS)), reverse=True)
    abilities = [f"attach or paste evidence, to {SKILLS[-number].can}" for score, number in ranked if score]
    return [*known, *abilities, *_ALWAYS][:SUGGESTIONS]


_ALWAYS = (
    "attach a log, a mail or a capture and ask “what happened?”",
    "ask about an entry: “what is T1558.003?”, “explain CWE-79”, “explain CVE-2021-44228”",
    "paste a hash, a CVSS vector, a list of package versions or encoded text",
)


def _overlap(skill: Skill, question: str, wanted: frozenset[str]) -> int:
    """How much a skill has to do with the words of a question."""
    if skill.is_experimental:
        return 0
    is_named = bool(skill.strong.search(question) or skill.weak.search(question))
    return 2 * is_named + len(wanted & stems(f"{skill.title} {skill.can}"))


def may_describe(question: str) -> bool:
    """Whether a question can describe an entry of a table: not "explain TLS", nor "the difference of TCP and UDP"."""
    return len(content_words(question)) > 1 and _NO_DESCRIPTION.search(question) is None


_NO_DESCRIPTION = re.compile(
    r"\bdiffer\w*|\bcompar\w*|\bvs\b|\bversus\b|\bdefault\b|\bbest\b|\bbetter\b|\bports?\b|\bcapital\b|\blatest\b"
    r"|\brecommend\w*|\bweather\b|\bversion of\b|\bstands? for\b",
    re.IGNORECASE,
)


@cache
def _table() -> _Subjects:
    return load("subjects.toml", _Subjects, __package__)


@cache
def _patterns() -> dict[str, list[tuple[str, str, re.Pattern[str]]]]:
    """By kind: each name with its entry, the longest first."""
    tables = {"entries": _table().entries, "vulnerabilities": _table().vulnerabilities}
    return {
        kind: [
            (name, entry, re.compile(rf"(?<![\w&]){re.escape(name)}(?:s|es)?(?!\w)"))
            for name, entry in sorted(
                ((name, entry) for entry, names in entries.items() for name in names), key=lambda pair: -len(pair[0])
            )
        ]
        for kind, entries in tables.items()
    }
