"""The words of a clause that say what it is about, without the common words of questions. Pure."""

from __future__ import annotations

import re

GENERAL_WORDS = re.compile(
    r"\b(?:compromis\w+|malicious|suspicious|attack(?:s|ed|er|ers)?|infect\w+|hack\w*|breach\w*|intru\w+|unusual"
    r"|abnormal|anomal\w+|odd|strange|weird|dangerous|harmful|wrong|bad|phish\w*|safe|clean|interesting|notable|worr\w+"
    r"|concern\w*|incidents?|threats?|malware|evil|damag\w*|trust\w*|ordinary|normal|impact\w*|pwn\w*|popped|healthy|unexpected|benign|legit\w*|harmless)\b",
    re.IGNORECASE,
)
"""Words that ask if anything is wrong, without saying what."""
_WORD = re.compile(r"[A-Za-z][A-Za-z-]{2,}")
_COMMON_WORDS = """
able about advice affected after all also and any anybody anyone anything are attached away been before being break
briefly but can case computer concern could dear data did does doing done down during each else enough entries ever
every everybody everyone everything event events evidence explain fast file files find first following for from get
getting give given going got had happen happened has have hello help her here hey him his host how into its just kindly
know known last least let like list log logs look looking lot machine made main make may mean me might mine more most
much must need network next not now off once one our out over overview part people picture place please point possible
problem question quick quickly ran really recommend record records report run said say see seem seen sense serious
server shall short should show shown sign signs simple some somebody someone something start step steps still stands
story such summary sure system take taken tell than thank thanks that the their them then there these they thing things
think this those thought thoughts through time times too understand until upon urgent use used user using very via walk
want was way were what whats when where whether which while who whose why will with within without word words worry
would you your answer check end ins ons only
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_SYNONYMS = {
    "wip": "clear",
    "eras": "clear",
    "purg": "clear",
    "disabl": "stop",
    "auth": "authentic",
    "administrator": "admin",
    "steal": "dump",
    "stol": "dump",
}
_PLACE = re.compile(r"\b(?:in|on|from|of|by|within) (?:the|this|these|that|my|our|any)(?: \w+)? \w+", re.IGNORECASE)
_OBJECTS = frozenset(
    {"event", "events", "file", "files", "log", "logs", "network", "record", "records", "user", "users"}
)
_ENDINGS = re.compile(r"(?:ations?|ings?|ied|ies|ed|es|s|ion|ions|e|y)$")
_DOUBLED = re.compile(r"([bdgmnprt])\1$")


def content_words(text: str) -> list[str]:
    """The words that are not common in questions, in lower case; the parts of a word with hyphens one by one."""
    words = [word.lower() for whole in _WORD.findall(text) for word in whole.split("-")]
    return list(dict.fromkeys(word for word in words if len(word) > 2 and word not in _COMMON))


def stems(text: str) -> frozenset[str]:
    """The stems of the content words: ``stop`` of ``stopped`` and of ``StopLogging``, beside its own."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    words = {*content_words(text), *content_words(parts)}
    cut = (_DOUBLED.sub(r"\1", _ENDINGS.sub("", word)) for word in words)
    return frozenset(_SYNONYMS.get(stem, stem) for stem in cut if len(stem) > 2)


def objects(text: str) -> frozenset[str]:
    """The common nouns that a clause is about: the log in "was the log wiped", not in "was it in this log"."""
    words = {word.lower() for word in _WORD.findall(_PLACE.sub(" ", text))}
    return frozenset(word.rstrip("s") for word in words & _OBJECTS)
