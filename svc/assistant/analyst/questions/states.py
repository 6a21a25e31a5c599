"""Questions about a state or a setting: "is root login disabled?", "was the attack stopped?". Pure.

A log shows what happened, not how something is set, so findings about the same words are never a "yes".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from svc.assistant.analyst.clause_words import stems
from svc.assistant.analyst.topics import is_of
from svc.assistant.findings import AnyFinding, Severity, columns
from svc.assistant.skills.logins.findings import AuthSuccess, LoginAccess
from svc.assistant.spool import of_kind, worst_first
from svc.untrusted.markup import code_span

_SHOWN = 2  # findings or files in one sentence
_LOGS = frozenset({"auth_log", "events", "pcap", "indicators", "decode"})
_SEVERE = (Severity.CRITICAL, Severity.HIGH)
_START = re.compile(
    r"\W*(?:(?:please|so|and|then|also|now|but|ok)\W+){0,3}"
    r"(?:(?:tell me|say|check|confirm|verify|know|determine|find out|see) (?:if|whether)\b"
    r"|(?:is|are|was|were|did|do|does|has|have|had|can|could|will|would)(?:n['\u2019]t)?\b)",
    re.IGNORECASE,
)
_ENDED = (
    r"(?:dis|de-?)(?:abled|activated)|(?:un)?locked(?: out)?|blocked|banned|black-?listed|stopped|prevented|averted"
    r"|contained|thwarted|prohibited|forbidden|denied|refused|rejected|dropped|filtered|closed|shut(?: down| off| out)?"
    r"|kicked out|thrown out|evicted|expelled|removed|deleted|gone|(?<!taken )over|finished|off|isolated|quarantined"
    r"|restricted|revoked|suspended|limited|throttled|not (?:allowed|permitted|possible|reachable|exposed|open)"
)
_STATES = (
    rf"{_ENDED}|(?:re-?)?enabled|activated|allowed|permitted|possible|required|mandatory|enforced|configured|set up"
    r"|installed|running|up to date|outdated|updated|upgraded|(?:un)?patched|fixed|mended|mitigated|remediated|resolved"
    r"|solved|hardened|(?:in)?secured?|(?:un)?protected|covered|exposed|reachable|open|changed|rotated|reset"
    r"|(?:un)?encrypted|monitored|backed up|cleaned(?: up)?|recovered|restored|back to normal"
    r"|still (?:active|valid|connected|there|ongoing|logged in)"
)
_IS = re.compile(
    rf"\b(?:is|are|was|were|be|been|being|get|got|has|have)(?:n['\u2019]t)?\b[^?\n]{{0,200}}\b(?:{_STATES}|on(?=\s*(?:\?|\Z|for\b)))\b",
    re.IGNORECASE,
)
_DOES = re.compile(
    r"\W*(?:\w+\W+){0,2}?(?:do|does|did|can|could|will|would|have|has)(?:n['\u2019]t)?\b[^?\n]{1,120}?\b"
    r"(?:need|require|enforce|use|support|allow|permit|forbid|block|stop|prevent|deny|drop|contain|fix|patch|mitigate"
    r"|still|protect|lock|disable|enable|ban)(?:s|ed|ped|ped)?\b",
    re.IGNORECASE,
)
_OF_LOGINS = re.compile(
    r"\blog-?ins?\b|\blog-?ons?\b|\blogged\b|\blog in\b|\bsign-?ins?\b|\bssh\b|\baccounts?\b|\busers?\b|\bpasswords?\b"
    r"|\bsources?\b|\baddress\w*|\battack\w*|\bintru\w+|\baccess\b|\bport\b|\bhack\w*|\bbrute\b|\bbreak-?ins?\b",
    re.IGNORECASE,
)
_ENDING = re.compile(rf"\b(?:{_ENDED}|block|stop|prevent|deny|drop|lock|ban|contain)\b", re.IGNORECASE)
_PAST = re.compile(r"\W*(?:\w+\W+){0,4}?(?:was|were|did|has|have|had)\b", re.IGNORECASE)
_NEGATED = re.compile(r"\bnot\b|n['\u2019]t\b|\bnever\b|\bno longer\b", re.IGNORECASE)
_OF_ATTACK = re.compile(r"\battack|\bintru|\bhack|\bbrute|\bbreak", re.IGNORECASE)
_REMOTE = (LoginAccess.NETWORK, LoginAccess.CONSOLE)


_CONTROL = re.compile(
    r"\b(?:mfa|2fa|(?:two|multi)[- ]?factor|protections?|defen[cs]es|counter-?measures?|safeguards?|fail2ban"
    r"|rate[- ]?limit\w*|captcha|(?:allow|white|black|block|deny)-?lists?|vpn|anti-?virus|edr|selinux"
    r"|(?:password|lock-?out|access) polic(?:y|ies)|firewall(?! ?logs?\b))\b",
    re.IGNORECASE,
)
_NO_ONE = re.compile(r"\b(?:not|no|nobody|no one|none|nothing|never|neither|without)\b|n['\u2019]t\b", re.IGNORECASE)


def is_polar(text: str) -> bool:
    """Whether a text begins as a question that yes or no answers."""
    return _START.match(text) is not None


def asks_to_whom(text: str) -> bool:
    """Whether a text asks to whom something was done: who did it is then no answer."""
    return _TO_WHOM.search(text) is not None


_NOT_PLACED = (
    r"(?! (?:\w+ )?(?:on|in|at|into|onto|using|connected|logged|signed|active|online|there|behind|responsible|through"
    r"|\w+ing)\b)"
)
_TO_WHOM = re.compile(
    rf"\bwho (?:was|were|has been|had been|got|gets|gained|received|became|is now)\b{_NOT_PLACED}"
    r"|\bwhose\b|\b(?:to|on|for) whom\b|\bfor (?:which|what) (?:\w+ )?(?:users?|accounts?|persons?)\b"
    r"|\b(?:which|what) (?:new )?(?:users?|accounts?|roles?|persons?|members?|employees?)"
    r" (?:was|were|has been|have been|got|gained|received|became)\b",
    re.IGNORECASE,
)


def is_negated(text: str) -> bool:
    """Whether a question is put in the negative: "did nobody get in?", to which a yes would say the opposite."""
    return _NO_ONE.search(text) is not None


def asks_state(text: str, skills: Sequence[str] = ()) -> bool:
    """Whether a question asks how something is, or is set; ``skills`` are those that its words name."""
    if not _LOGS.issuperset(skills) or _START.match(text) is None:
        return False
    return any((_IS.search(text), _DOES.match(text), _CONTROL.search(text)))


def recorded(text: str, findings: Sequence[AnyFinding], names: Sequence[str]) -> list[AnyFinding]:
    """The findings whose own words say that it became so: "Logging stopped" for "was logging stopped?"."""
    if _NEGATED.search(text):
        return []
    wanted = stems(" ".join(word for word in text.split() if not any(name.lower() in word.lower() for name in names)))
    about = [one for one in findings if not names or any(is_of(one, name) for name in names)]
    return [one for one in worst_first(about) if wanted and wanted <= stems(f"{one.title} {one.why}")]


def is_past(text: str) -> bool:
    """Whether it asks about something that happened, which a log may record."""
    return _PAST.match(text) is not None


def unknown_state(text: str, quoted: str, findings: Sequence[AnyFinding], names: Sequence[str]) -> str:
    """The sentence that a log does not show it, with what the findings show against it."""
    sources = list(dict.fromkeys(one.evidence[0].source for one in findings if one.evidence))
    where = ", ".join(code_span(source, limit=80) for source in sources[:_SHOWN]) or "the evidence"
    lead = f"**Cannot tell** {quoted} from {where}: it records what happened, not how something is set or is now."
    against = _logins_against(text, findings, names)
    if against:
        listed = "; ".join(map(_placed, against[:_SHOWN]))
        return f"{lead} But {listed}, so this was not the case at that time."
    severe = [one for one in worst_first(findings) if one.severity in _SEVERE]
    named = [one for one in severe if any(is_of(one, name) for name in names)]
    shown = "; ".join(map(_placed, (named or severe)[:_SHOWN]))
    return f"{lead} It does record: {shown}." if shown else lead


def _logins_against(text: str, findings: Sequence[AnyFinding], names: Sequence[str]) -> list[AnyFinding]:
    """The accepted logins that show that logins were not stopped by what the question asks about."""
    if _ENDING.search(text) is None or not (names or _OF_LOGINS.search(text)):
        return []
    found = [one for one in worst_first(of_kind(findings, "auth_success", "logon_success", "logon")) if _is_entry(one)]
    if "password" in text.lower():
        found = [one for one in found if columns(one).get("method") == "password"]
    if names:
        return [one for one in found if any(is_of(one, name) for name in names)]
    return [one for one in found if one.severity in _SEVERE] if _OF_ATTACK.search(text) else found


def _is_entry(finding: AnyFinding) -> bool:
    facts = finding.facts
    return facts.access in _REMOTE if isinstance(facts, AuthSuccess) else True


def _placed(finding: AnyFinding) -> str:
    place = ""
    if finding.evidence and finding.evidence[0].line is not None:
        place = f", line {finding.evidence[0].line:,}"
    return f"{code_span(finding.title, limit=120)} ({finding.severity.value}{place})"
