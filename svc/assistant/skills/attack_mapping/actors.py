"""Decide how much a sentence must show on its own to count as a report of an attack.

A report says who acted, or what was done. Three forms of ordinary text say neither: a description of what a product
does ("The vault rotates passwords."), an account of daily work ("copied the scans to the server"), and a note that
begins with a thing instead of an action ("proxy settings for the branch"). Where no attacker, malware or tool of theirs
is named, these need more than other sentences. What the sentences around it lend is not weighed here.
"""

from __future__ import annotations

import re
from collections.abc import Collection

LEAST_NAMED_WEIGHT = -1.6  # of a sentence that names an attacker, or goes on about one
LEAST_WEIGHT = -0.8
LEAST_NOTE_WEIGHT = 1.0
LEAST_DESCRIPTION_WEIGHT = 1.2
_NAMED_CLASSES = frozenset({"attacker", "malware", "tool"})
_NAMED_FORMS = frozenset({"has_group_name", "is_about_it"})
_TRACE_FORMS = frozenset({"has_group_name", "has_api_call", "has_windows_path", "has_program"})

_SUBORDINATE = re.compile(r",? ?\b(?:which|that|who|whose|where|so|because|until|when|if|while|before|after)\b.*")
_PARTICIPLE = re.compile(r"\b(?:is|are|be|a|an|the) (?:\w{2,20}ly )?[a-z]{2,20}ed\b")
_PAST = re.compile(r"\b(?:was|were|had|been|did|ran|used|sent|stole|took|made|wrote|began|[a-z]{3,14}ed)\b")
_DESCRIBED = re.compile(
    r"(?:(?:The|An?|Each|Every|Its|Our|This) )?(?:[\w.'-]{1,30} ){0,3}?[\w.'-]{1,30} "
    r"(?:(?:can|may|will|must|also|then|never|only|is|are|does|do|has|have) |[a-z]{2,18}s (?!of\b)|"
    r"(?:open|list|lose|run|use|read|keep|send|let|query|covers?|match|store|copy|leave|need|expire) )"
)
_DETERMINER = r"(?:the|an?|two|three|\d{1,4}|all|our|my|her|his|some|it|them|him|their|old|new)"
_DAILY = re.compile(
    r"(?:the|our|my|her|his|we|i|she|he) |"
    r"(?:[a-z]{3,16}ed|ran|sent|took|put|set|got|made|wrote|moved|hid|stole|gave|found) "
    rf"(?:{_DETERMINER} |\w{{1,30}} (?:the|an?|and|from|on|to|for|with) \w)"
)
_ACTION = re.compile(
    r"(?:(?:and|also|then|can|will|may|has|have|is|was|are|were|it|they|this|to|by|not only) )?(?:\w{2,20}ly )?"
    r"(?:[a-z]{2,20}(?:[tdnlpkrgymwb]s|es|ed|ing)|ran|sent|steal|stole|use|took|dump|collect|gather|download|upload|execute|"
    r"inject|capture|encrypt|decrypt|obtain|exfiltrate|enumerate|get|create|delete|set|modify|disable) ",
)


def least_weight(sentence: str, classes: Collection[str], forms: Collection[str]) -> float:
    """Return the weight that a sentence needs if nothing around it reports an attack.

    Args:
        sentence: The sentence.
        classes: The names of the classes of words in it.
        forms: The names of its forms.
    """
    if not _NAMED_CLASSES.isdisjoint(classes) or not _NAMED_FORMS.isdisjoint(forms):
        return LEAST_NAMED_WEIGHT
    has_stop = sentence.rstrip().endswith(".")
    if sentence[:1].isupper() and has_stop:
        return LEAST_DESCRIPTION_WEIGHT if _is_description(sentence) else LEAST_WEIGHT
    if not sentence[:1].islower() or has_stop:
        return LEAST_WEIGHT
    is_thing = _TRACE_FORMS.isdisjoint(forms) and _ACTION.match(sentence) is None
    return LEAST_NOTE_WEIGHT if is_thing or _DAILY.match(sentence) else LEAST_WEIGHT


def _is_description(sentence: str) -> bool:
    """Whether a sentence says in the present tense what something does or is."""
    if not _DESCRIBED.match(sentence):
        return False
    main = _PARTICIPLE.sub(" ", _SUBORDINATE.sub("", sentence)).lower()
    return _PAST.search(main) is None
