"""Questions about who failed to log in and never succeeded: "which accounts did not log in successfully?". Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, with_facts
from svc.assistant.skills.events.findings import Logon, LogonAccount
from svc.assistant.skills.logins.findings import AuthAccount, AuthSuccess
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, plural

SHOWN = 6
_LOGIN = r"(?:log(?:ged)?[ -]?(?:in|on)|sign(?:ed)?[ -]?(?:in|on)|get in|got in|authenticat\w*|succe+d\w*)"
_ASKS = re.compile(
    rf"\b(?:who|(?:which|what|list|show) (?:\w+ )?(?:users?|accounts?|people|names?))\b[^?]{{0,40}}"
    r"\b(?:(?:did|could|has|have|do|does) ?n[o'\u2019]?t|never|not|failed to|fail to|unable to)\b"
    rf"[^?]{{0,20}}\b{_LOGIN}\b"
    r"(?! (?:with|using|via|over|from|to|on|at|after|before|between|since)\b)",
    re.IGNORECASE,
)


def unsuccessful_answer(clause: str, findings: Sequence[AnyFinding]) -> str:
    """The accounts with failed and without accepted logins; "" if a clause asks for no such accounts."""
    if not _ASKS.search(clause):
        return ""
    failed: dict[str, int] = {}
    linux = [(one.facts.account, one.facts.failures) for one in with_facts(findings, AuthAccount)]
    windows = [(one.facts.account, one.facts.failures) for one in with_facts(findings, LogonAccount)]
    for name, count in (*linux, *windows):
        if name:
            failed[name] = max(failed.get(name, 0), count)
    if not failed:
        return ""
    accepted = {_short(one.facts.account) for one in with_facts(findings, AuthSuccess)}
    accepted |= {_short(one.facts.account) for one in with_facts(findings, Logon)}
    never = sorted(((name, count) for name, count in failed.items() if _short(name) not in accepted), key=_most)
    if not never:
        return f"**None:** each of the {plural(len(failed), 'account')} with failed logins also has an accepted one."
    listed = "; ".join(f"{code_span(defang_text(name), limit=80)} ({count:,})" for name, count in never[:SHOWN])
    more = f" and {len(never) - SHOWN:,} more" if len(never) > SHOWN else ""
    return (
        f"**{plural(len(never), 'account')} with failed logins and no accepted one: {listed}{more}.** "
        "Accounts that did not try are not in the log."
    )


def _most(one: tuple[str, int]) -> tuple[int, str]:
    return -one[1], one[0]


def _short(account: str) -> str:
    return account.lower().rpartition("\\")[2].partition("@")[0]
