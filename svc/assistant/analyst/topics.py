"""Yes/no questions whose answer is a certain kind of finding: who got in, password attacks, scans, beacons. Pure.

"Yes" needs such a finding, about the value that the clause names if it names one. "No sign" needs evidence in which
such findings would have been seen; without it, this module decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from svc.assistant.findings import AnyFinding, Severity, columns
from svc.assistant.skills.events.activity_findings import Beaconing, BeaconSearch
from svc.assistant.skills.logins.findings import AuthSuccess, AuthSummary, LoginAccess
from svc.assistant.skills.logins.questions import named_accounts
from svc.assistant.spool import of_kind

_LOGINS = ("auth_success", "logon_success", "logon")
_SOURCES = ("auth_source", "logon_source")
_LOGIN_LOGS = ("auth_summary", *_LOGINS, "logon_source", "logon_account")
_OF_ACCOUNTS = (*_LOGINS, "auth_account", "logon_account", "unusual_login")
_LOCAL = (LoginAccess.SUDO, LoginAccess.SU)
_SEVERE = (Severity.CRITICAL, Severity.HIGH)


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """What a clause asks for, which findings prove it, and which show that it would have been seen.

    Of a million findings only those of ``kinds`` and ``shown_by`` are read.
    """

    words: re.Pattern[str]
    unless: re.Pattern[str] = re.compile(r"(?!)")
    kinds: tuple[str, ...]
    proves: Callable[[AnyFinding], bool] = lambda _finding: True
    hints: Callable[[AnyFinding], bool] = lambda _finding: False
    """Weaker than proof, but more than no sign."""
    shown_by: tuple[str, ...]
    shows: Callable[[AnyFinding], bool] = lambda _finding: True
    looked_for: str
    is_certain: bool = True


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE)


def _is_login(finding: AnyFinding) -> bool:
    if isinstance(finding.facts, AuthSuccess):
        return finding.facts.access not in _LOCAL
    return True


def _follows_failures(finding: AnyFinding) -> bool:
    """Whether a login was accepted after failures of the same source."""
    return isinstance(finding.facts, AuthSuccess) and finding.facts.failures_before > 0


def _records_logins(finding: AnyFinding) -> bool:
    if isinstance(finding.facts, AuthSummary):
        return finding.facts.records_logins
    return True


def _is_guessing(finding: AnyFinding) -> bool:
    return any(technique.startswith("T1110") for technique in finding.techniques)


def _is_unexplained(finding: AnyFinding) -> bool:
    """Whether regular contacts have no ordinary reason."""
    return not (isinstance(finding.facts, Beaconing) and finding.facts.reason)


def _has_searched(finding: AnyFinding) -> bool:
    """Whether there were enough contacts to tell."""
    return not isinstance(finding.facts, BeaconSearch) or finding.facts.judged > 0


TOPICS = (
    Topic(
        words=_pattern(r"\b(?:attack\w*|brut\w*|guess\w*|spray\w*|it|they)\b[^?]{0,60}\b(?:succe\w+|work(?:ed)?)\b"),
        kinds=_LOGINS,
        proves=lambda finding: _is_login(finding) and finding.severity in _SEVERE,
        hints=lambda finding: _is_login(finding) and _follows_failures(finding),
        shown_by=_LOGIN_LOGS,
        shows=_records_logins,
        looked_for="accepted logins after failed ones",
    ),
    Topic(
        words=_pattern(r"\bbrut\w*|\bpasswords?[- ](?:guess|spray|attack)\w*|\bspray\w*|\bcredential stuffing"),
        kinds=(*_SOURCES, "pcap_activity"),
        proves=_is_guessing,
        shown_by=_LOGIN_LOGS,
        shows=_records_logins,
        looked_for="many failed logins of one source",
    ),
    Topic(
        words=_pattern(r"\bport ?-?scan\w*|\bports?\b[^?]{0,30}\bscan\w*|\bscan\w*\b[^?]{0,30}\bports?\b"),
        kinds=("port_scan", "pcap_scan"),
        shown_by=("network_summary", "pcap_summary"),
        looked_for="sources that tried many ports or hosts",
    ),
    Topic(
        words=_pattern(r"\bbeacon\w*|\b(?:call|phon)(?:s|e|es|ed|ing)? home\b"),
        kinds=("pcap_beacon", "beaconing"),
        proves=_is_unexplained,
        shown_by=("pcap_summary", "beacon_search"),
        shows=_has_searched,
        looked_for="contacts at regular intervals without an ordinary reason",
        is_certain=False,
    ),
    Topic(
        words=_pattern(
            r"\b(?:got|gets?|getting|gotten|made it|broke|break|broken|let|log(?:ged|s)?|sign(?:ed|s)?|came)"
            r" ?-?(?:back )?(?:in|on|into|inside)\b|\bsucceed\w*"
            r"|\bsuccessful(?:ly)? (?:log|sign|auth|connect|access)\w*|\bgain\w* (?:\w+ )?access\b"
            r"|\bentered\b|\bbreak-?in\b"
        ),
        unless=_pattern(
            r"\bfail\w*|\bunusual\b|\bsuspicious\b|\battempt\w*|\btr(?:y|ied)\b"
            r"|\b(?:that|which|who) (?:(?:has|have|had) )?(?:never|not)\b|\bwithout (?:ever )?(?:log|sign)"
        ),
        kinds=_LOGINS,
        proves=_is_login,
        shown_by=_LOGIN_LOGS,
        shows=_records_logins,
        looked_for="accepted logins",
    ),
)


def topic_of(text: str) -> Topic | None:
    """The first topic that a clause is about."""
    return next((one for one in TOPICS if one.words.search(text) and not one.unless.search(text)), None)


def is_of(finding: AnyFinding, name: str) -> bool:
    """Whether a finding is about ``name``: its account, source or host, not something that its evidence mentions."""
    values = [value for held in columns(finding).values() for value in (held if isinstance(held, list) else [held])]
    texts = [value.lower() for value in values if isinstance(value, str)]
    return any(text == name.lower() or text.endswith(f"\\{name.lower()}") for text in texts)


def accounts_in(findings: Sequence[AnyFinding]) -> frozenset[str]:
    """The accounts that findings are about, in lower case and without their domain."""
    held = (getattr(finding.facts, "account", None) for finding in of_kind(findings, *_OF_ACCOUNTS))
    return frozenset(account.lower().rpartition("\\")[2] for account in held if isinstance(account, str))


def unknown_person(text: str, words: Sequence[str]) -> list[str]:
    """The name in "did zoe get in?", which no finding needs to mention; ``words`` are the clause's content words."""
    return [name for name in named_accounts(text) if name.lower() in words][:1]
