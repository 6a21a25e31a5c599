"""Signs of an attack in the rows of host artefacts: the table ``signs.toml``, and the detection rules. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from svc.assistant.findings import Evidence, Finding, Severity
from svc.assistant.knowledge import load
from svc.assistant.log_readers.host.record import Artefact, Tampering, TraceKind
from svc.assistant.sigma.engine import Hit
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS
from svc.assistant.skills.host_artefacts.findings import HostSign

MAX_EVIDENCE = 5
MAX_TEXT_CHARS = 4_000
MAX_USERS = 20
OUR_RULES = "The svc-jupyter maintainers"
_OF_EVENTS = "The rule is made for an event as it happens; that an entry exists or was typed is weaker evidence."
"""Why a rule that ships does not weigh more than low: each host has Run keys and administrators. A user's rule does."""
_RANK = {severity: place for place, severity in enumerate(Severity)}


class _SignRow(msgspec.Struct, frozen=True, kw_only=True):
    """One sign as written in the table; ``unless`` excludes rows, the other patterns must match as well."""

    id: str
    title: str
    severity: Severity
    activities: list[TraceKind]
    techniques: list[str]
    why: str
    pattern: str
    unless: str = r"(?!)"
    where: str = ""
    source: str = ""
    detail: str = ""
    user: str = ""


class _SignTable(msgspec.Struct, frozen=True):
    source: str
    version: str
    signs: list[_SignRow]


class _Sign:
    def __init__(self, row: _SignRow) -> None:
        self.row = row
        self._pattern = re.compile(row.pattern)
        self._unless = re.compile(row.unless)
        self._also = [
            (name, re.compile(pattern))
            for name in ("where", "source", "detail", "user")
            if (pattern := getattr(row, name))
        ]

    def fits(self, artefact: Artefact) -> bool:
        what = artefact.what[:MAX_TEXT_CHARS]
        return (
            self._pattern.search(what) is not None
            and all(pattern.search(getattr(artefact, name)[:MAX_TEXT_CHARS]) for name, pattern in self._also)
            and self._unless.search(what) is None
        )


@cache
def _by_activity() -> dict[TraceKind, list[_Sign]]:
    made: dict[TraceKind, list[_Sign]] = {}
    for row in load("signs.toml", _SignTable, __package__).signs:
        sign = _Sign(row)
        for activity in row.activities:
            made.setdefault(activity, []).append(sign)
    return made


def count_for(activities: set[TraceKind]) -> int:
    """How many signs are looked for in rows of these activities."""
    return len({sign.row.id for activity in activities for sign in _by_activity().get(activity, ())})


@cache
def _ids() -> frozenset[str]:
    return frozenset(sign.row.id for signs in _by_activity().values() for sign in signs)


class _FoundSign:
    """What matched one sign or rule."""

    def __init__(self, title: str, severity: Severity, why: str, techniques: tuple[str, ...]) -> None:
        self.title, self.severity, self.why, self.techniques = title, severity, why, techniques
        self.count = 0
        self.first = self.last = ""
        self.users: set[str] = set()
        self.rows: list[Artefact] = []

    def add(self, row: Artefact) -> None:
        self.count += 1
        if row.time:
            self.first = min(self.first, row.time) if self.first else row.time
            self.last = max(self.last, row.time)
        if row.user and len(self.users) < MAX_USERS:
            self.users.add(row.user)
        if len(self.rows) < MAX_EVIDENCE:
            self.rows.append(row)


class Signs:
    """Collects what matched, one finding for each sign, rule and way of tampering."""

    def __init__(self) -> None:
        self._found: dict[str, _FoundSign] = {}
        self._rows: dict[int, Artefact] = {}
        self._tampering: dict[str, tuple[Tampering, int]] = {}

    def add(self, row: Artefact) -> None:
        """Look at a row."""
        for sign in _by_activity().get(row.activity, ()):
            if sign.fits(row):
                made = sign.row
                found = self._found.setdefault(
                    made.id, _FoundSign(made.title, made.severity, made.why, tuple(made.techniques))
                )
                found.add(row)

    def hit(self, hit: Hit, row: Artefact) -> None:
        """Count the match of a detection rule."""
        rule = hit.rule
        severity, why = rule.severity, rule.description
        is_weaker = rule.author == OUR_RULES and row.activity is not TraceKind.RUNNING
        if is_weaker and _RANK[severity] < _RANK[Severity.LOW]:
            severity, why = Severity.LOW, f"{why} {_OF_EVENTS}".strip()
        found = self._found.setdefault(rule.id or rule.title, _FoundSign(rule.title, severity, why, rule.techniques))
        found.add(row)

    def tampered(self, tampering: Tampering) -> None:
        """Count a sign that the artefact was changed."""
        first, count = self._tampering.get(tampering.title, (tampering, 0))
        self._tampering[tampering.title] = first, count + 1

    def findings(self, source: str, *, by_line: bool) -> Iterator[Finding[HostSign]]:
        """Yield what was found, the most severe first."""
        for one, count in self._tampering.values():
            yield Finding(
                title=one.title,
                severity=Severity.MEDIUM,
                why=one.why,
                techniques=("T1070",),
                evidence=(Evidence(source=source, excerpt=one.evidence, record=one.record),),
                facts=HostSign(
                    sign="tampering",
                    is_rule=False,
                    activity=TraceKind.SYSTEM.value,
                    what=one.evidence,
                    count=count,
                    first=None,
                    last=None,
                    time_means="",
                    users=[],
                    where="",
                ),
            )
        for key, found in sorted(self._found.items(), key=lambda item: _RANK[item[1].severity]):
            yield _finding(key, found, source, by_line=by_line)


def _finding(key: str, found: _FoundSign, source: str, *, by_line: bool) -> Finding[HostSign]:
    first = found.rows[0]
    return Finding(
        title=found.title,
        severity=found.severity,
        why=found.why,
        techniques=found.techniques,
        evidence=tuple(
            Evidence(
                source=source,
                excerpt=row.excerpt[:MAX_EXCERPT_CHARS],
                line=row.number if by_line else None,
                record=None if by_line else row.number,
                offset=row.offset,
            )
            for row in found.rows
        ),
        facts=HostSign(
            sign=key,
            is_rule=key not in _ids(),
            activity=first.activity.value,
            what=first.what,
            count=found.count,
            first=found.first or None,
            last=found.last or None,
            time_means=first.time_means,
            users=sorted(found.users),
            where=first.where,
        ),
    )
