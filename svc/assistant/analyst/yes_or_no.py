"""Answer a question with yes or no from the findings, or say that they do not decide it. Pure.

"No" needs a finding that says so. The absence of findings is never a "no": nobody may have looked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from svc.assistant.analyst.questions.states import asks_state, is_negated
from svc.assistant.findings import AnyFinding, Severity, columns
from svc.assistant.skills.skill import Skill

_START = re.compile(
    r"(?:\A|(?<=[.!?:\n]))[^\S\n]{0,20}(?:and |so |please |now )?(?:is|are|was|were|did|does|do|has|have|had|can|"
    r"could|will|would|"
    r"should|am)\b[^\n?]{0,300}\?",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"\b(?:safe|benign|legit\w*|genuine|harmless|clean|ordinary|trustworthy|not malicious)\b", re.IGNORECASE
)
_BAD = re.compile(
    r"\b(?:malicious|dangerous|harmful|malware|phishing|spam|suspicious|fraud\w*|scam|attack\w*)\b", re.IGNORECASE
)
_COMPROMISED = re.compile(
    r"\b(?:broke|break) in(?:to)?\b|\bcompromise\w*|\bbreach\w*|\b(?:brute|attack\w*)\b[^?]{0,40}\bsucce\w+",
    re.IGNORECASE,
)
_GOT_IN = re.compile(r"\b(?:got|get|gets|let|logged|log) in(?:to)?\b|\bsucce\w+|\baccepted\b", re.IGNORECASE)
_FAILED = re.compile(r"\bfail\w*", re.IGNORECASE)
_ATTACKED = re.compile(r"\bbrute|\bguess\w*|\bspray\w*", re.IGNORECASE)
_EXPLOITED = re.compile(r"\bexploit\w*|\bKEV\b", re.IGNORECASE)
_EXPIRED = re.compile(r"\bexpired\b", re.IGNORECASE)
_AFFECTED = re.compile(r"\baffected\b|\bvulnerable\b|\bimpacted\b|\bin (?:the )?range\b", re.IGNORECASE)
_HIGH = (Severity.CRITICAL, Severity.HIGH)
_Facts = dict[str, object]


def is_yes_no_question(question: str) -> bool:
    """Whether a question can be answered with yes or no."""
    return _START.search(question) is not None


def decide(question: str, groups: Sequence[tuple[Skill, Sequence[AnyFinding]]], *, is_examined: bool) -> str | None:
    """Return ``yes``, ``no``, or None if the findings do not decide it."""
    findings = [finding for _, found in groups for finding in found]
    if not is_examined or not findings or asks_state(question):
        return None
    if is_negated(question) and not _GOOD.search(question):
        return None
    for reads, decision in _DECISIONS:
        facts = [columns(one) | {"severity": one.severity} for one in findings if reads(one.kind)]
        if facts and (said := decision(question, facts)) is not None:
            return "yes" if said else "no"
    if _BAD.search(question) and any(finding.severity in _HIGH for finding in findings):
        return "yes"
    return None


def said_in(headline: str) -> str | None:
    """The ``yes`` or ``no`` with which a headline starts."""
    match = re.match(r"\W{0,4}(yes|no)\b[:,.*]", headline, re.IGNORECASE)
    return match[1].lower() if match else None


def _affected(question: str, facts: list[_Facts]) -> bool | None:
    states = [fact["is_affected"] for fact in facts]
    return _any(states) if _AFFECTED.search(question) else None


def _any(states: Sequence[object]) -> bool | None:
    """True if any is; False if all are known not to be."""
    if True in states:
        return True
    return False if states and all(state is False for state in states) else None


def _verdict(question: str, facts: list[_Facts]) -> bool | None:
    """The verdict on a mail, a script, a program or a document."""
    verdicts = [str(fact["verdict"]) for fact in facts]
    asked = _BAD.search(question)
    if asked is not None and asked[0].lower() in ("phishing", "spam"):
        return _named_verdict(asked[0].lower(), verdicts)
    worst = _state_of(verdicts)
    if _GOOD.search(question):
        return None if worst is None else not worst
    if asked is None:
        return None
    if worst is None and asked[0].lower() == "suspicious":
        return True
    return worst


def _named_verdict(asked: str, verdicts: Sequence[str]) -> bool | None:
    if asked in verdicts:
        return True
    return None if "suspicious" in verdicts else False


def _state_of(verdicts: Sequence[str]) -> bool | None:
    """True if any is malicious, False if all are ordinary, None in between."""
    if any(verdict in ("malicious", "phishing") for verdict in verdicts):
        return True
    return False if all(verdict == "ordinary" for verdict in verdicts) else None


def _logins(question: str, facts: list[_Facts]) -> bool | None:
    totals = [fact for fact in facts if "login_lines" in fact]
    accepted = [fact for fact in facts if "failures_before" in fact]
    if _COMPROMISED.search(question):
        if any(fact["severity"] in _HIGH for fact in accepted):
            return True
        return False if totals and not any(fact["successes"] for fact in totals) else None
    if _GOT_IN.search(question):
        return bool(accepted or any(fact["successes"] for fact in totals)) if accepted or totals else None
    if _FAILED.search(question):
        return any(fact["failures"] for fact in totals) if totals else None
    if _ATTACKED.search(question):
        return any(fact.get("is_brute_forced") for fact in facts) if totals else None
    return None


def _exploited(question: str, facts: list[_Facts]) -> bool | None:
    """Yes, if the catalog lists one; that it lists none does not mean that none is exploited."""
    is_listed = any(fact["is_exploited"] for fact in facts)
    return True if is_listed and _EXPLOITED.search(question) else None


def _expired(question: str, facts: list[_Facts]) -> bool | None:
    return _any([fact["is_expired"] for fact in facts]) if _EXPIRED.search(question) else None


_DECISIONS: tuple[tuple[Callable[[str], bool], Callable[[str, list[_Facts]], bool | None]], ...] = (
    (lambda kind: kind == "version_affected", _affected),
    (lambda kind: kind.endswith("_verdict") or kind == "script", _verdict),
    (lambda kind: kind.startswith("auth_"), _logins),
    (lambda kind: kind == "cve", _exploited),
    (lambda kind: kind == "token", _expired),
)
