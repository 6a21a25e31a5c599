"""Read what a question demands of records by a number: "severity 1", "the 2nd account", "more than once". Pure."""

from __future__ import annotations

import re

_ORDINALS = {"second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5}
_RANK = re.compile(
    rf"(?<!on the )\b(?P<rank>{'|'.join(_ORDINALS)})\b(?= [a-z])"
    r"(?! (?:of|and|or|to|from|between|at|in|on|was|is|factor|stage|level|party|half|opinion|ago|later|screen)\b)",
    re.IGNORECASE,
)
_COLUMNS = {
    "severity": (r"sev(?:erity)?|rating", ("severity", "sev", "level")),
    "level": ("level", ("level", "severity")),
    "priority": ("prio(?:rity)?", ("priority", "prio")),
    "logon type": ("(?:log-?on |log-?in )?type", ("logontype", "logon_type", "type")),
    "risk": ("risk(?: level| score)?", ("riskscore", "risk_?level", "risk")),
    "score": ("score", ("score", "[a-z]{0,30}score")),
    "zone": ("zone", ("zone",)),
    "VLAN": ("vlan", ("vlan", "vlanid")),
}
"""What a number can be of: its words, and the names of the columns."""
_NOUNS = {what: re.compile(words, re.IGNORECASE) for what, (words, _) in _COLUMNS.items()}
_EQUALS = re.compile(
    rf"\b(?P<noun>{'|'.join(words for words, _ in _COLUMNS.values())})s?(?: is| of|[:=#])? ?(?P<number>\d{{1,3}})\b"
    r"(?!\.\d| ?(?:or|and) (?:higher|above|more|up|worse|lower|below|less|better))",
    re.IGNORECASE,
)
_NUMBERS = {"once": 1, "one": 1, "twice": 2, "two": 2, "three": 3, "four": 4, "five": 5, "ten": 10}
_NUMBER = rf"\d{{1,6}}|{'|'.join(_NUMBERS)}"
_OFTEN = re.compile(
    rf"\b(?:(?P<more>more (?:often )?than|over)|(?P<least>at least)) (?P<number>{_NUMBER})(?: times?)?\b(?! \w+s\b)"
    rf"|\b(?P<bare>{_NUMBER}) (?:or more times|times or more)\b|\b(?P<many>repeatedly|multiple times|several times)\b",
    re.IGNORECASE,
)
_SPREAD = re.compile(
    rf"\b(?:(?:more than (?P<more>{_NUMBER})|at least (?P<least>{_NUMBER})) (?:different |distinct )?"
    r"|(?P<many>several|multiple|different|two|both)(?: different)? )(?P<noun>[a-z]{3,15})\b",
    re.IGNORECASE,
)


_RELATION = re.compile(
    r"\bthe same [a-z]{2,20}(?: [a-z]{2,20})? as\b(?: [\w.@-]{1,40})?"
    r"|\b(?:more|less|fewer|[a-z]{2,12}er|worse) (?:[a-z]{2,20} )?than\b(?! \d)(?: [\w.@-]{1,40})?"
    r"|\b(?:longer|shorter|sooner)\b|\bnever\b|\bbut (?:not|never|did|didn['\u2019]?t|was|no)\b"
    r"|\bwho (?:\w+ )?(?:first|last)\b|\b(?:normal|usual|expected|typical) (?:that|for|to)\b",
    re.IGNORECASE,
)
_LET = r"(?:allow\w*|accept\w*|permit\w*|let (?:in|through)|(?:got|get|gets) (?:in|through)|succe\w+|connected|allows)"
_STOPPED = r"(?:block\w*|den(?:y|ied|ies)|drop\w*|reject\w*|refus\w*|stopped|fail\w*)"
_ONLY = re.compile(
    rf"\b(?:only|just|nothing but|always|exclusively)(?: (?:was|were|got|had|has|have|ever|be|been|by))?"
    rf" (?:(?P<let>{_LET})|(?P<stopped>{_STOPPED}))\b",
    re.IGNORECASE,
)
_BE = r"(?:was|were|is|are|has|have|had|did|does)"
_BUT_NOT = rf"(?:but|and) (?:{_BE} )?(?:not|never|no)|(?:but |and )?(?:did|was|were|has|have|had)n['\u2019]?t"
_AND_LATER = (
    rf"(?:and|but)(?: then)? (?:later|then|also|afterwards|finally|eventually)(?: {_BE}| got| been){{0,2}}|and then"
)
_BUT_OTHER = re.compile(
    rf"\b(?:(?P<without>{_BUT_NOT})(?: (?:been|be|get|got|ever|once|later)){{0,2}}|{_AND_LATER})"
    rf" (?:(?P<let>{_LET})|(?P<stopped>{_STOPPED}))\b",
    re.IGNORECASE,
)
_FINE = re.compile(
    r"\A\W*(?:and )?(?:which|what|who)\b[^?]{0,40}\b(?:is|are|was|were|still|looks?)\b(?: still| all)?"
    r" (?:ok(?:ay)?|fine|safe|clean|good|healthy|un\w{4,20}ed|not (?:affected|infected|compromised|involved|hit))\W*\Z",
    re.IGNORECASE,
)


def relation_in(text: str) -> str:
    """The words of a text that compare or deny, which only an answer made for them may pass over; "" if it has none."""
    match = _RELATION.search(text)
    return match[0] if match is not None else ""


def asks_for_harmless(text: str) -> bool:
    """Whether a text asks which hosts or accounts are unharmed: "which users are ok?"."""
    return _FINE.match(text) is not None


def only_in(text: str) -> re.Match[str] | None:
    """That values must have records of one outcome alone: "only allowed"; groups ``let`` and ``stopped``."""
    return _ONLY.search(text)


def other_in(text: str) -> re.Match[str] | None:
    """A second outcome that values must, or must not (``without``), have: "blocked but never allowed"."""
    return _BUT_OTHER.search(text)


def rank_in(text: str) -> re.Match[str] | None:
    """The ordinal from the second on that a text asks for; the first is no rank."""
    return _RANK.search(text)


def rank_of(match: re.Match[str]) -> int:
    """Its number."""
    return _ORDINALS[match["rank"].lower()]


def equal_in(text: str) -> re.Match[str] | None:
    """The column and the number that it must have: "severity 1"."""
    return _EQUALS.search(text)


def equal_of(match: re.Match[str]) -> tuple[str, tuple[str, ...], str]:
    """What the number is of, the patterns of the names of its columns, and the number."""
    what = next(what for what, words in _NOUNS.items() if words.fullmatch(match["noun"]))
    return what, _COLUMNS[what][1], match["number"]


def often_in(text: str) -> re.Match[str] | None:
    """How often a value must be recorded: "more than once"."""
    return _OFTEN.search(text)


def spread_in(text: str) -> re.Match[str] | None:
    """Of how many different values of another column a value must have records: "from more than one country"."""
    return _SPREAD.search(text)


def least_of(match: re.Match[str]) -> int:
    """The smallest number that fulfils it."""
    held = match.groupdict()
    if more := held.get("more"):
        return 1 + (_number(more) if more.lower() in _NUMBERS or more.isdecimal() else _number(match["number"]))
    if held.get("many"):
        return 2
    return _number(held.get("bare") or held.get("number") or held["least"])


def _number(words: str) -> int:
    return _NUMBERS.get(words.lower()) or int(words)
