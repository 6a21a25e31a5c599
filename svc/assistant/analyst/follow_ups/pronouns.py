"""Put the account into "what did he do next", if what is known leaves only one that can be meant. Pure."""

from __future__ import annotations

import re

from svc.assistant.analyst.follow_ups.known import Known
from svc.assistant.analyst.questions.things import SUMMARIES
from svc.assistant.findings import Severity, columns, with_facts
from svc.assistant.skills.logins.findings import AuthSuccess

_NOTABLE = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM)
_DID = re.compile(
    r"\bwhat (?:else )?(?:did|has) (?:he|she|they|(?:the |that |this )?(?:attacker|intruder|user|account|guy|person))"
    r" (?:then )?(?:do|done)(?: (?P<next>next|then|after(?:wards?| that| logging in| the login)?|later))?",
    re.IGNORECASE,
)
_FIELDS = ("account", "identity", "user")


def asks_for_deeds(question: str) -> bool:
    """Whether a question asks what somebody did whom it names by a pronoun."""
    return _DID.search(question) is not None


def with_person(question: str, known: Known) -> str:
    """The question with the name of the account that "he" means; unchanged if there is none, or more than one."""
    match = _DID.search(question)
    if match is None:
        return question
    named = _logged_in(known) if match["next"] else []
    named = named or _accounts(known, notable=True) or _accounts(known, notable=False)
    if len(named) != 1:
        return question
    later = " after logging in" if match["next"] else ""
    return f"{question[: match.start()]}what did {named[0]} do{later}{question[match.end() :]}"


def _logged_in(known: Known) -> list[str]:
    """The accounts that logged in remotely, by the latest answer: after that, something can be done."""
    found = [one.facts.account for one in with_facts(known.latest or known.findings, AuthSuccess) if one.facts.account]
    return list(dict.fromkeys(found))


def _accounts(known: Known, *, notable: bool) -> list[str]:
    """The accounts of which a finding says that they did something."""
    found: dict[str, None] = {}
    for one in known.latest or known.findings:
        if one.kind in SUMMARIES or (notable and one.severity not in _NOTABLE):
            continue
        held = columns(one)
        found |= dict.fromkeys(str(held[name]) for name in _FIELDS if isinstance(held.get(name), str) and held[name])
    return list(found)
