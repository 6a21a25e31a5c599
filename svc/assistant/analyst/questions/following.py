"""Questions for what came after somebody got in: "what did the attacker do after the login?". Pure.

They are answered with the records after the login, never with the login itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.questions.orders import order_of
from svc.assistant.analyst.questions.time_words import window_of
from svc.assistant.findings import AnyFinding, Evidence, Finding, kind_of, with_facts
from svc.assistant.skills.answer_parts import place_words
from svc.assistant.skills.asked.findings import FollowingRecords
from svc.assistant.skills.asked.following import FollowingQuestion
from svc.assistant.skills.events.answer_tables import time_words
from svc.assistant.spool import of_kind
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, plural

FOLLOWING = "following"  # the option of the tools for events and for logins
MAX_CLAUSE_CHARS = 300
SHOWN_OTHERS = 5
EXCERPT_CHARS = 220
_LOGGED_IN = (
    r"(?:log(?:ged|ging|s)?[- ]?(?:in|on)s?|sign(?:ed|ing|s)?[- ]?(?:in|on)s?|authenticat\w{1,4}"
    r"|g(?:ot|et|etting|ain(?:ed|ing)?) (?:in(?:side|to)?|access|a foothold|a shell|entry)|bro(?:ke|ken) in(?:to)?"
    r"|break(?:ing)?[- ]?in(?:to)?|compromis\w{1,4}|breach\w{0,3}|intrusion|initial access|unauthori[sz]ed access"
    r"|foothold)"
)
_AFTER = re.compile(
    r"\b(?:after(?:wards)?|since|once|following|upon|from) (?:(?!after\b)[\w'\u2019.@\\-]{1,60} ){0,4}?"
    rf"(?:{_LOGGED_IN}\b|(?<=once )(?:he|she|they|it) (?:was|were) (?:in|inside)\b|(?<=once )in(?:side)?\b)",
    re.IGNORECASE,
)
_ASKS_WHAT = re.compile(
    r"\b(?:do|does|did|done|doing|happen\w{0,3}|next|ran|run|execut\w{1,4}|commands?|activit(?:y|ies)|actions?|steps"
    r"|went on|go on|going on|changed?|behavio(?:u)?r|up to)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\A\W*(?:(?:and|so|ok|but|then|please|can you|could you) ){0,3}"
    r"(?:what|which|list|show|tell|give|describe|summari[sz]e|any(?:thing)?|did|was|were|ha(?:s|ve)|how many)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?<![\w.])(?:\d{1,3}(?:\.\d{1,3}){3}|[\w.-]{1,60}@[\w.-]{1,60}|[a-z]\w*[\d$_]\w*)(?![\w])", re.IGNORECASE
)
_BY = re.compile(
    r"\b(?:by|of|as|did|has|had|user|account|after) `?(?P<name>[a-z][\w.-]{1,40})`?(?= |\W*\Z)", re.IGNORECASE
)
_NO_NAMES = re.compile(
    r"(?:an?|the|th(?:is|at|eir|ey|em)|its?|s?he|his|her|who|user|account|attackers?|intruders?|hackers?|adversary|actor"
    r"|threat|any(?:one|body)|some(?:one|body)|getting|logging|signing|log[io]n|access|being|was|were|had|gaining"
    r"|breaking|compromise|breach|intrusion|successful|first|initial|accepted)\Z",
    re.IGNORECASE,
)


def following_question(clause: str) -> FollowingQuestion | None:
    """What a clause asks about the time after a login; None if it asks something else."""
    if len(clause) > MAX_CLAUSE_CHARS or _OPEN.match(clause) is None or order_of(clause) or window_of(clause):
        return None
    match = _AFTER.search(clause)
    if match is None or _ASKS_WHAT.search(clause) is None:
        return None
    around = f"{clause[: match.start()]} {match[0]} {clause[match.end() :]}"
    named = {found[0].rstrip(".") for found in _NAME.finditer(around)}
    named |= {found["name"] for found in _BY.finditer(around) if not _NO_NAMES.match(found["name"])}
    return FollowingQuestion(clause, tuple(sorted(named)))


def following_questions(clauses: Sequence[str]) -> str:
    """The clauses that ask for what came after a login, as the option of a tool; "" if none does."""
    found = [one for clause in clauses if (one := following_question(clause)) is not None]
    return msgspec.json.encode(found).decode() if found else ""


def following_answer(clause: str, findings: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    """The sentence about what followed the login, and whether it is known; None if the clause does not ask for it."""
    if following_question(clause) is None:
        return None
    held = with_facts(of_kind(findings, kind_of(FollowingRecords)), FollowingRecords)
    mine = [one for one in held if one.facts.clause == clause]
    quoted = code_span(clause, limit=160)
    if not mine:
        return f"**Cannot tell** {quoted}: nothing that was read records logins.", False
    if any(one.facts.is_newest_first for one in mine):
        return f"**Cannot tell** {quoted}: the newest record comes first. Attach the log sorted by time.", False
    found = [one for one in mine if one.facts.is_found]
    if not found:
        read = plural(sum(one.facts.total for one in mine), "record")
        others = ", in which others got in" if any(one.facts.accepted for one in mine) else ""
        names = ", ".join(code_span(defang_text(name), limit=80) for name in mine[0].facts.names)
        whose = f"No login of {names} is recorded" if names else "Nobody is recorded to have got in"
        return f"**{whose}** in the {read} read{others}; so nothing follows one.", True
    return "\n\n".join(map(_of_log, found)), True


def _of_log(found: Finding[FollowingRecords]) -> str:
    """What one log has after the login."""
    facts = found.facts
    start, *records = found.evidence
    who = code_span(facts.account, limit=80) if facts.account else "somebody"
    place = f" from {code_span(defang_text(facts.source), limit=80)}" if facts.source else ""
    when = f"{time_words(facts.first)}, " if facts.first else ""
    attacked = ", after failed logins" if facts.failures else ""
    login = f"the login of {who}{place} ({when}{place_words(start)}{attacked})"
    what = " or ".join(code_span(defang_text(name), limit=80) for name in (facts.account, facts.source) if name)
    own, others = records[: facts.own_shown], records[facts.own_shown :]
    if not facts.own and not facts.others:
        sessions = f", but {plural(facts.sessions, 'record')} of logins and sessions" if facts.sessions else ""
        return f"**Nothing is recorded after {login}{sessions}** ({_read(facts)}). What was done is not in this log."
    parts = [f"**{plural(facts.own, 'record')} with {what or 'it'} after {login}**"]
    parts[0] += _listed(own, facts.own) if facts.own else "."
    if facts.others:
        parts.append(f"{plural(facts.others, 'other record')} after it{_listed(others[:SHOWN_OTHERS], facts.others)}")
    if facts.sessions:
        parts.append(f"{plural(facts.sessions, 'record')} of logins and sessions not listed ({_read(facts)}).")
    return " ".join(parts) + " What this log does not record is not known."


def _listed(evidence: Sequence[Evidence], count: int) -> str:
    listed = "; ".join(code_span(defang_text(one.excerpt), limit=EXCERPT_CHARS) for one in evidence)
    more = f" and {count - len(evidence):,} more" if count > len(evidence) else ""
    return f": {listed}{more}."


def _read(facts: FollowingRecords) -> str:
    return f"{plural(facts.total, 'record')} read"
