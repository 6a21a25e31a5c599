"""How bad a case is, from the findings and statuses of its answers, never from their wording.

Without a result nothing is known of a case, so it comes before harmless ones, and no level says that all is well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

from svc import AnswerStatus
from svc_jupyter.report.outcome import Status
from svc_jupyter.report.record import AnswerRecord, status_of_answers

SEVERITIES = ("critical", "high", "medium", "low", "info")
_BAD = SEVERITIES[:2]
_ENTERED = ("auth_success", "logon_success")
"""Kinds of findings about an accepted login: one that is critical or high is of an attacker."""
_ACTIVITY = (
    *("auth_account", "auth_source", "logon_account", "logon_source", "cloud_login", "cloud_identity", "remote_access"),
    *("event_tactics", "process_tree", "rule_hit", "unix_change", "notable_action", "web_client"),
)
"""Kinds about what happened on a host: critical means that an attack succeeded. A file or a key can be critical, too,
which does not mean that somebody used it."""


class Level(StrEnum):
    """The level of a case, worst first; its value is the label."""

    COMPROMISED = "Compromised"
    CRITICAL = "Critical"
    HIGH = "High"
    NO_RESULT = "No result"
    NOT_VERIFIED = "Not verified"
    NO_DATA = "No data"
    NOT_ANSWERED = "Not answered"
    INCOMPLETE = "Incomplete"
    MEDIUM = "Medium"
    LOW = "Low"
    NOT_RATED = "Not rated"
    INFO = "No findings above info"
    WAITING = "Not run"

    @property
    def rank(self) -> int:
        """The position in an index: 0 comes first."""
        return list(Level).index(self)

    @property
    def is_examined(self) -> bool:
        """Whether the evidence was read and rated."""
        return self in (Level.COMPROMISED, Level.CRITICAL, Level.HIGH, Level.MEDIUM, Level.LOW, Level.INFO)


_OF_SEVERITY = dict(zip(SEVERITIES, (Level.CRITICAL, Level.HIGH, Level.MEDIUM, Level.LOW, Level.INFO), strict=True))
_WITHOUT_RESULT = {
    Status.NOT_VERIFIED: Level.NOT_VERIFIED,
    Status.NOT_EXAMINED: Level.NO_DATA,
    Status.NOT_ANSWERED: Level.NOT_ANSWERED,
}


def counts(answers: Iterable[AnswerRecord]) -> dict[str, int]:
    """Count the findings by severity, worst first; a finding that several answers have counts once."""
    found = {str(_identity(finding)): str(finding.get("severity", "")) for finding in _findings(answers)}
    number = Counter(found.values())
    return {severity: number[severity] for severity in SEVERITIES if number[severity]}


def level_of_case(answers: Sequence[AnswerRecord], status: Status) -> Level:
    """Return the level of a case with these answers. What was found before a failure counts."""
    worst = _level_of_findings(answers)
    if worst in (Level.COMPROMISED, Level.CRITICAL, Level.HIGH):
        return worst
    if status == Status.NOT_RUN:
        return Level.WAITING
    if not status.is_complete:
        return Level.NO_RESULT
    return _level(answers, status, worst)


def level_of_answer(answer: AnswerRecord) -> Level:
    """Return the level of one answer."""
    return level_of_case([answer], status_of_answers([answer]))


def _level(answers: Sequence[AnswerRecord], status: Status, worst: Level) -> Level:
    """The level if nothing severe was found. A question without an answer outweighs harmless findings."""
    level = _WITHOUT_RESULT.get(status, worst)
    if level in (Level.NO_DATA, Level.NOT_ANSWERED) and any(_has_result(answer) for answer in answers):
        return Level.INCOMPLETE
    is_partial = any(answer.status == AnswerStatus.PARTLY_ANSWERED for answer in answers)
    return Level.INCOMPLETE if is_partial and level in (Level.INFO, Level.NOT_RATED) else level


def _has_result(answer: AnswerRecord) -> bool:
    return answer.status in (AnswerStatus.ANSWERED, AnswerStatus.PARTLY_ANSWERED)


def _level_of_findings(answers: Iterable[AnswerRecord]) -> Level:
    """The worst level of the findings alone; NOT_RATED if there are none."""
    levels = [_level_of_finding(finding) for finding in _findings(answers)]
    return min(levels, key=lambda level: level.rank, default=Level.NOT_RATED)


def _level_of_finding(finding: dict[str, object]) -> Level:
    severity, kind = str(finding.get("severity", "")), str(finding.get("kind", ""))
    is_entry = kind in _ENTERED and severity in _BAD
    if is_entry or (kind in _ACTIVITY and severity == SEVERITIES[0]):
        return Level.COMPROMISED
    return _OF_SEVERITY.get(severity, Level.NOT_RATED)


def _findings(answers: Iterable[AnswerRecord]) -> list[dict[str, object]]:
    return [finding for answer in answers for finding in answer.findings]


def _identity(finding: dict[str, object]) -> object:
    return finding.get("id") or (finding.get("kind"), finding.get("title"))
