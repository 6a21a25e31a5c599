"""Questions about logins from outside or inside: "which external addresses got in?". Pure.

Only accepted logins answer them: an address that only tried, or that a command names, did not get in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from svc.assistant.analyst.questions.record_answers import is_public
from svc.assistant.analyst.questions.record_questions import words_about
from svc.assistant.analyst.questions.states import is_polar
from svc.assistant.analyst.questions.time_words import window_of
from svc.assistant.findings import AnyFinding, with_facts
from svc.assistant.skills.events.findings import Logon
from svc.assistant.skills.logins.findings import AuthSuccess, AuthSummary
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, plural

SHOWN = 8
_BY_WHO_IS_IN = ("sudo", "su")  # their sessions are opened by somebody who is logged in
_SIDE = re.compile(
    r"\b(?:(?P<external>external(?:ly)?|(?:from )?(?:the )?outside|(?:from )?(?:the )?internet|public)"
    r"|(?P<internal>internal(?:ly)?|(?:from )?(?:the )?inside|private|lan))\b",
    re.IGNORECASE,
)
_LOGGED_IN = re.compile(
    r"\b(?:log(?:ged|s|ging)?[ -]?(?:in|on)s?|sign(?:ed|s|ing)?[ -]?(?:in|on)s?|g[oe]t in|authenticated)\b",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(r"\b(?:fail\w*|not|never|tried|attempt\w*|brute|n['\u2019]t|denied|reject\w*)\b", re.IGNORECASE)


def login_side(clause: str) -> str:
    """``external`` or ``internal`` if a clause asks for logins from there; "" for any other clause."""
    side = _SIDE.search(clause)
    if side is None or _LOGGED_IN.search(clause) is None or _OTHERWISE.search(clause) is not None:
        return ""
    if window_of(clause) or words_about(_SIDE.sub(" ", _LOGGED_IN.sub(" ", clause))):
        return ""  # a time, an account or a host limits it, which the list would leave out
    return "external" if side["external"] else "internal"


def login_side_answer(clause: str, findings: Sequence[AnyFinding]) -> str:
    """The accepted logins from outside or from inside; "" if a clause asks for none, or no logins were read."""
    side = login_side(clause)
    if not side or not any(isinstance(one.facts, AuthSummary | Logon) for one in findings):
        return ""
    logins: Counter[tuple[str, str]] = Counter()
    for linux in with_facts(findings, AuthSuccess):
        if linux.facts.service not in _BY_WHO_IS_IN:
            logins[linux.facts.account, linux.facts.source] += linux.facts.count
    for windows in with_facts(findings, Logon):
        logins[windows.facts.account, windows.facts.source] += windows.facts.count
    placed = {pair: count for pair, count in logins.items() if is_public(pair[1]) is not None}
    mine = Counter({pair: count for pair, count in placed.items() if is_public(pair[1]) is (side == "external")})
    others = Counter({pair: count for pair, count in placed.items() if pair not in mine})
    unplaced = sum(logins.values()) - sum(placed.values())
    rest = f" Of {plural(unplaced, 'other login')} no address is recorded." if unplaced else ""
    accepted = plural(sum(placed.values()), "accepted login")
    if not mine:
        from_where = f": {_listed(others)}" if others else ""
        return f"**None from {side} addresses** ({accepted} with an address{from_where}).{rest}"
    lead = "Yes: " if is_polar(clause) else ""
    own = plural(sum(mine.values()), "accepted login")
    return f"**{lead}{own} from {side} addresses: {_listed(mine)}** (of {accepted} with an address).{rest}"


def _listed(logins: Counter[tuple[str, str]]) -> str:
    named = [
        f"{code_span(account, limit=80)} from {code_span(defang_text(source), limit=80)}{_times(count)}"
        for (account, source), count in logins.most_common(SHOWN)
    ]
    return f"{', '.join(named)}{f' and {len(logins) - SHOWN:,} more' if len(logins) > SHOWN else ''}"


def _times(count: int) -> str:
    return f" ({count:,} times)" if count > 1 else ""
