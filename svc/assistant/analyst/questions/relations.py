"""Questions about a relation that records may state, or not: whose an address is, who manages or owns something. Pure.

"Which user owns 10.0.0.5" is answered from a column with the owner alone. That records mention the address does not
answer it: then the answer is that no record states it, with what these records do name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from svc.assistant.analyst.clause_words import GENERAL_WORDS
from svc.assistant.findings import AnyFinding, Finding, kind_of, with_facts
from svc.assistant.skills.answer_parts import place_words
from svc.assistant.skills.asked.findings import AskedRecords
from svc.assistant.spool import of_kind
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, plural

SHOWN = 4
RELATIONS: Mapping[str, tuple[str, ...]] = {
    "owner": (r"owner(?:name|id|email|alternateid)?", r"(?:registered|assigned|device|resource)(?:owner|user)"),
    "manager": (r"manager(?:name|id|email)?", r"supervisor"),
    "department": (r"department", r"dept", r"division", r"businessunit"),
    "parent": (
        r"parent(?:image|process|processname|basefilename|commandline|name|path)?", r"initiatingprocess(?:file)?name",
        r"processparentname", r"parentprocess(?:name|path)", r"parent\.(?:name|executable)", r"ppid",
        r"parentprocessid", r"parentpid",
    ),
    "group": (r"groups?(?:_?name)?", r"targetgroup", r"memberof", r"groupmembership"),
    "host name": (
        r"hostname", r"srchost(?:name)?", r"src_?name", r"client(?:host)?name", r"workstation(?:name)?", r"machinename",
        r"query(?:name)?",
    ),
    "MAC address": (r"mac(?:addr(?:ess)?)?", r"(?:src|source|client)mac"),
    "e-mail address": (r"e?mail(?:address)?", r"useremail", r"userprincipalname", r"upn"),
    "phone number": (r"phone(?:number)?", r"mobile"),
    "serial number": (r"serial(?:number)?",),
    "kind": (r"devicetype", r"(?:host|server|computer|asset)role", r"assettype"),
}  # fmt: skip
"""What may be related, and the columns that state it (lower case, without what stands between words)."""
_NOUNS = {
    "owner": r"owners?", "manager": r"managers?|boss|supervisors?|line managers?", "department": r"departments?|teams?",
    "parent": r"parents?(?: process(?:es)?)?", "group": r"groups?",
    "host name": r"host ?-?names?|computer names?|device names?|machine names?",
    "MAC address": r"macs?(?: address(?:es)?)?",
    "e-mail address": r"e-?mails?(?: address(?:es)?)?", "phone number": r"phones?(?: numbers?)?|mobile numbers?",
    "serial number": r"serials?(?: numbers?)?",
}  # fmt: skip
_VALUE = r"[`'\"]?(?P<value>[\w$@\\:.*+-]{0,120}[\w$])[`'\"]?"
_DONE = (
    r"(?:reset|stolen|taken|hit|put|set|sent|lost|broken|read|\w{2,20}ed)\b"  # "whose MFA was reset" asks for no owner
)
_VERBS = (
    (
        re.compile(rf"\b(?:own(?:s|ed)?|belong(?:s|ed)? to|(?:is|was) assigned)(?: the)? {_VALUE}", re.IGNORECASE),
        "owner",
    ),
    (re.compile(rf"\bto whom (?:does|did) {_VALUE} belong\b", re.IGNORECASE), "owner"),
    (re.compile(rf"\bwhose (?:\w+ )?(?:is|was) (?!{_DONE}){_VALUE}", re.IGNORECASE), "owner"),
    (re.compile(rf"\bwho (?:does|did) {_VALUE} (?:report|belong) to\b", re.IGNORECASE), "manager"),
)
_STARTED = re.compile(
    rf"\b(?:what|which (?:process|program)) (?:\w+ )?(?:started|spawned|launched) (?:the )?{_VALUE}", re.IGNORECASE
)
_IS_A = re.compile(
    rf"\A\W*(?:is|was) {_VALUE} (?:really |actually )?(?:a|an|the|our) (?P<other>[\w -]{{3,40}})\W*\Z", re.IGNORECASE
)
_MEMBER = (
    re.compile(
        rf"\b(?:which|what) groups? (?:is|was|are|were|does|did) {_VALUE} (?:a )?"
        r"(?:members? of|in|belong to|part of)\b",
        re.IGNORECASE,
    ),
    re.compile(rf"\b(?:is|was) {_VALUE} (?:a )?(?:member|part) of (?:the )?(?P<other>[\w -]{{2,40}})", re.IGNORECASE),
)
_IN_DEPARTMENT = re.compile(
    rf"\b(?:which|what) (?:departments?|teams?) (?:is|was|does|did) {_VALUE} (?:in|from|belong to|work (?:in|for))\b",
    re.IGNORECASE,
)
_OF = [
    (what, re.compile(form, re.IGNORECASE))
    for what, nouns in _NOUNS.items()
    for form in (
        rf"\b(?:{nouns}) (?:of|for)(?: the| this)? {_VALUE}",
        rf"\b{_VALUE}['\u2019]s (?:{nouns})\b",
        rf"\b(?:which|what) (?:{nouns}) (?:does|did|has|had) {_VALUE} (?:have|use|got)\b",
    )
]
_WORD = re.compile(r"[\w$@\\:.-]+")
_SORT_WORDS = """
( the this that it bucket host ip address file process user account machine device server event attack incident log
logs attacker rule them these those all box
"""
_SORTS = frozenset(_SORT_WORDS.split())
_NAME = re.compile(r"[\d.\\@_-]")
_ASKS_WHO = re.compile(
    r"\b(?:who\w*|(?:which|what) (?:\w+ )?(?:users?|accounts?|persons?|employees?))\b", re.IGNORECASE
)


class Relation(msgspec.Struct, frozen=True):
    """What a question asks for, and of which value."""

    what: str
    value: str
    other: str = ""
    """What the value is asked to be related to: the group in "is nora a member of Domain Admins"."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that state it."""
        return RELATIONS[self.what]


_CHANGES = re.compile(r"\b(?:bec[ao]me|made|added|created|granted|changed|removed|got|new)\b", re.IGNORECASE)


def relation_of(clause: str) -> Relation | None:
    """The relation that a clause asks for; None if it asks for none, or does not say of what."""
    if _CHANGES.search(clause):
        return None  # of what was done, not of how something is
    for verb, what in _VERBS:
        if (match := verb.search(clause)) and _ASKS_WHO.search(clause):
            return _related(what, match, clause)
    if (match := _STARTED.search(clause)) is not None:
        return _related("parent", match, clause)
    if (match := _IS_A.match(clause)) is not None and not GENERAL_WORDS.search(match["other"]):
        return _related("kind", match, clause, match["other"].strip()) if _NAME.search(match["value"]) else None
    for member in _MEMBER:
        if (match := member.search(clause)) is not None:
            other = match["other"].strip() if "other" in member.groupindex else ""
            return _related("group", match, clause, other)
    if (match := _IN_DEPARTMENT.search(clause)) is not None:
        return _related("department", match, clause)
    for what, pattern in _OF:
        if (match := pattern.search(clause)) is not None:
            return _related(what, match, clause)
    return None


def relation_answer(clause: str, findings: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    """The sentence about the relation that a clause asks for, and whether a record states it; None for other clauses.

    None, too, if no records were read in which a column could state it.
    """
    asked = relation_of(clause)
    if asked is None:
        return None
    held = with_facts(of_kind(findings, kind_of(AskedRecords)), AskedRecords)
    mine = [one for one in held if one.facts.clause == clause]
    if not mine:
        return None
    quoted, value = code_span(clause, limit=160), code_span(defang_text(asked.value), limit=80)
    total = plural(sum(one.facts.total for one in mine), "record")
    mentioning = [one for one in mine if one.facts.words and one.facts.count]
    if not mentioning:
        return f"**Cannot tell** {quoted}: none of the {total} mentions {value}.", False
    count = sum(one.facts.count for one in mentioning)
    place = f"; {place_words(mentioning[0].evidence[0])}" if mentioning[0].evidence else ""
    about = f"{count:,} of {total}, those with {value}{place}"
    stated = _named_as(asked.what, mentioning)
    if stated and not asked.other:
        too = _named_as("account", mentioning) if _TOO.search(clause) and asked.what != "owner" else []
        who = f"; account: {'; '.join(too)}" if too else ""
        return f"**{asked.what}: {'; '.join(stated)}{who}** ({about}).", True
    if stated and any(asked.other.lower() in one.lower() for one in stated):
        return f"**Yes:** {asked.what} {'; '.join(stated)} ({about}).", True
    if any(_nouns(asked.what).search(one.excerpt) for found in mentioning for one in found.evidence):
        shown = "; ".join(
            code_span(defang_text(one.excerpt), limit=240) for found in mentioning[:2] for one in found.evidence[:1]
        )
        return f"**Possibly:** no column states it, but the text of {about}, does: {shown}.", True
    also = [f"{what} {', '.join(named)}" for what in ("account", "host") if (named := _named_as(what, mentioning))]
    if stated:
        also.insert(0, f"{asked.what} {', '.join(stated)}")
    if asked.what == "kind":
        other = code_span(asked.other, limit=60)
        return f"**Cannot tell** {quoted}: no record states whether {value} is {other} ({about}).", False
    a = "an" if asked.what[0] in "aeio" else "a"
    names = f" What they do name: {'; '.join(also)}." if also else ""
    other = f" {code_span(asked.other, limit=60)}" if asked.other else ""
    return f"**Cannot tell** {quoted}: no record states {a} {asked.what}{other} of {value} ({about}).{names}", False


_TOO = re.compile(r"\b(?:and|,) [^?]{0,20}\b(?:users?|accounts?|who\w*)\b", re.IGNORECASE)


def _nouns(what: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_NOUNS.get(what, re.escape(what))})\b", re.IGNORECASE)


def _named_as(what: str, found: Sequence[Finding[AskedRecords]]) -> list[str]:
    values = dict.fromkeys(value.value for one in found for value in one.facts.values if value.what == what)
    return [code_span(defang_text(value), limit=80) for value in list(values)[:SHOWN]]


def _related(what: str, match: re.Match[str], clause: str, other: str = "") -> Relation | None:
    named = match["value"].strip(".")
    if named.lower() in _SORTS:  # "the owner of the bucket hr-data": the value is the next word, or the one before
        rest: Sequence[str] = _WORD.findall(clause[match.end("value") :])
        named = next((word.strip(".:") for word in rest if word.strip(".:").lower() not in _SORTS), "")
    return Relation(what, named, other) if named else None
