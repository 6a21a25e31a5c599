"""Questions about whose logins failed, and who never succeeded. Pure.

"Which accounts failed to log in?" asks for every account with a failed login, "which did not log in?" only for those
without an accepted one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, with_facts
from svc.assistant.skills.events.findings import Logon, LogonAccount
from svc.assistant.skills.logins.findings import AuthAccount, AuthSuccess
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, plural

SHOWN = 6
SHOWN_SOURCES = 3  # of one account
_LOGIN = r"(?:log(?:ged)?[ -]?(?:in|on)|sign(?:ed)?[ -]?(?:in|on)|get in|got in|authenticat\w*|succe+d\w*)"
_ACCOUNTS = r"\b(?:who|(?:which|what|list|show) (?:\w+ )?(?:users?|accounts?|people|names?))\b"
_WITHOUT_LIMITS = r"(?! (?:with|using|via|over|to|on|at|after|before|between|since)\b)"
_NEVER = re.compile(
    rf"{_ACCOUNTS}[^?]{{0,40}}\b(?:(?:did|could|has|have|do|does) ?n[o'\u2019]?t|never|not|unable to)\b"
    rf"[^?]{{0,20}}\b{_LOGIN}\b{_WITHOUT_LIMITS}(?! from\b)",
    re.IGNORECASE,
)
_FAILED = re.compile(
    rf"{_ACCOUNTS}(?:(?!\b(?:never|not?|without|zero)\b|n['\u2019]t\b)[^?]){{0,30}}"
    rf"\b(?:fail(?:ed|s)? to {_LOGIN}|failed log-?(?:in|on)s?\b"
    r"|failed(?=$|[ ]?[?!.,;]| and\b| from (?:where|which|what)\b))"
    rf"{_WITHOUT_LIMITS}(?! from (?!where|which|what))",
    re.IGNORECASE,
)


def unsuccessful_answer(clause: str, findings: Sequence[AnyFinding]) -> str:
    """The accounts whose logins failed, all or those that never succeeded; "" if a clause asks for no such accounts."""
    never_asked, failed_asked = _NEVER.search(clause), _FAILED.search(clause)
    failed = _failed(findings) if never_asked or failed_asked else {}
    if not failed:
        return ""
    accepted = {_short(one.facts.account) for one in with_facts(findings, AuthSuccess)}
    accepted |= {_short(one.facts.account) for one in with_facts(findings, Logon)}
    return _never(failed, accepted) if never_asked else _all(failed, accepted)


def _failed(findings: Sequence[AnyFinding]) -> dict[str, AuthAccount | LogonAccount]:
    """The accounts with failed logins; of two findings about one account, the one with more."""
    failed: dict[str, AuthAccount | LogonAccount] = {}
    linux = [one.facts for one in with_facts(findings, AuthAccount)]
    windows = [one.facts for one in with_facts(findings, LogonAccount)]
    accounts: list[AuthAccount | LogonAccount] = [*linux, *windows]
    for facts in sorted(accounts, key=lambda facts: facts.failures):
        if facts.account and facts.failures:
            failed[facts.account] = facts
    return failed


def _all(failed: dict[str, AuthAccount | LogonAccount], accepted: set[str]) -> str:
    listed = [
        f"{code_span(defang_text(name), limit=80)} ({facts.failures:,}{_from([row.source for row in facts.by_source])}"
        f"{'; it also has an accepted login' if _short(name) in accepted else ''})"
        for name, facts in sorted(failed.items(), key=_most)
    ]
    more = f" and {len(listed) - SHOWN:,} more" if len(listed) > SHOWN else ""
    return f"**{plural(len(listed), 'account')} with failed logins: {'; '.join(listed[:SHOWN])}{more}.**"


def _from(sources: Sequence[str]) -> str:
    if not sources:
        return ""
    named = ", ".join(code_span(defang_text(source), limit=60) for source in sources[:SHOWN_SOURCES])
    more = len(sources) - SHOWN_SOURCES
    return f" from {named}" + (f" and {plural(more, 'other source')}" if more > 0 else "")


def _never(failed: dict[str, AuthAccount | LogonAccount], accepted: set[str]) -> str:
    never = [(name, facts) for name, facts in sorted(failed.items(), key=_most) if _short(name) not in accepted]
    if not never:
        return f"**None:** each of the {plural(len(failed), 'account')} with failed logins also has an accepted one."
    listed = "; ".join(
        f"{code_span(defang_text(name), limit=80)} ({facts.failures:,})" for name, facts in never[:SHOWN]
    )
    more = f" and {len(never) - SHOWN:,} more" if len(never) > SHOWN else ""
    return (
        f"**{plural(len(never), 'account')} with failed logins and no accepted one: {listed}{more}.** "
        "Accounts that did not try are not in the log."
    )


def _most(one: tuple[str, AuthAccount | LogonAccount]) -> tuple[int, str]:
    return -one[1].failures, one[0]


def _short(account: str) -> str:
    return account.lower().rpartition("\\")[2].partition("@")[0]
