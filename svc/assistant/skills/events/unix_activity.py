"""Report what was done on a Unix host by its audit log and syslog: commands, sudo, accounts, jobs, services.

Message texts: shadow-utils (useradd, usermod, …), sudo, su, cron; record types of the audit daemon.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from svc.assistant.findings import Facts, Finding, Severity
from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.evidence import Place, Span
from svc.assistant.skills.events.findings import CommandCount, ProgramCount, SudoCommand, UnixChange, UnixSummary

MAX_CHANGES = 5_000  # different ones
MAX_LISTED = 200
MAX_COMMANDS = 20_000
MAX_MESSAGE_CHARS = 2_000  # searched in one line
_USER_CREATED = "user created"
_SUDO = re.compile(
    r"^\s{0,20}(\S{1,300}) : (?:.{0,300}?; )??TTY=(\S{1,300}) ; PWD=(.{0,300}?) ; USER=(\S{1,300}) ;"
    r".{0,300}?COMMAND=(.*)$"
)
_REFUSED = re.compile(r"^\s*(\S+) : (.*?(?:NOT in sudoers|not allowed|incorrect password)[^;]*);.*?COMMAND=(.*)$")
_MESSAGES = (
    (re.compile(r"^new user: name=([^,]+), UID=[1-9]\d{0,9}\b[^\n]{0,300}shell=/\S{0,20}bin/(?:nologin|false)\b"),
     "account without a shell created", Severity.LOW, ("T1136.001",)),
    (re.compile(r"^new user: name=([^,]+)(?:, UID=0\b)?"), _USER_CREATED, Severity.MEDIUM, ("T1136.001",)),
    (re.compile(r"^delete user '?([^']+)'?"), "user deleted", Severity.MEDIUM, ("T1531",)),
    (re.compile(r"^add '([^']+)' to (?:shadow )?group '(?:sudo|wheel|root|admin)'"),
     "user added to an administrators' group", Severity.HIGH, ("T1098.007",)),
    (re.compile(r"^add '([^']+)' to (?:shadow )?group '(?:docker|adm)'"),
     "user added to a group with extended rights", Severity.MEDIUM, ("T1098.007",)),
    (re.compile(r"^add '([^']+)' to (?:shadow )?group"), "user added to a group", Severity.LOW, ("T1098.007",)),
    (re.compile(r"^(?:pam_unix\(passwd:chauthtok\): )?password changed for (\S+)"), "password changed", Severity.LOW,
     ("T1098",)),
    (re.compile(r"^\((\S+)\) (?:BEGIN EDIT|REPLACE|EDIT|RELOAD)"), "crontab edited", Severity.LOW,
     ("T1053.003",)),
    (re.compile(r"^(?:\[[\d. ]+\] )?(\S+): loading out-of-tree module"), "kernel module loaded", Severity.MEDIUM,
     ("T1547.006",)),
    (re.compile(r"^(?:\[[\d. ]+\] )?device (\S+) entered promiscuous mode"), "promiscuous mode enabled",
     Severity.MEDIUM, ("T1040",)),
    (re.compile(r"^(?:rsyslogd|syslogd)?.*\bexiting on signal (\d+)"), "syslog daemon stopped by signal", Severity.LOW,
     ("T1562.001",)),
    (re.compile(r"^Accepted \S+ for (\S+ from \S+)"), "SSH login", Severity.INFO, ()),
    (re.compile(r"^(\(\S+\) CMD \(.{0,200})"), "cron job run", Severity.INFO, ()),
)  # fmt: skip
_AUDIT_RECORDS = {
    "ADD_USER": (_USER_CREATED, Severity.MEDIUM, ("T1136.001",)),
    "DEL_USER": ("user deleted", Severity.MEDIUM, ("T1531",)),
    "ADD_GROUP": ("group created", Severity.LOW, ("T1136.001",)),
    "USER_CHAUTHTOK": ("password or account changed", Severity.LOW, ("T1098",)),
    "DAEMON_END": ("audit daemon stopped", Severity.MEDIUM, ("T1562.012",)),
    "CONFIG_CHANGE": ("audit configuration changed", Severity.LOW, ("T1562.012",)),
    "KERN_MODULE": ("kernel module loaded", Severity.MEDIUM, ("T1547.006",)),
    "ANOM_PROMISCUOUS": ("promiscuous mode enabled", Severity.MEDIUM, ("T1040",)),
    "ANOM_ABEND": ("process crashed", Severity.LOW, ()),
}
_RUN_AS_ROOT = frozenset({"root", "0"})


class _Change(msgspec.Struct):
    severity: Severity
    techniques: tuple[str, ...]
    span: Span


class UnixActivity:
    """Counts what users and programs did on Linux hosts; ignores other logs."""

    count: int
    left_out: int

    def __init__(self) -> None:
        self.count = self.left_out = 0
        self._changes: dict[tuple[str, str, str], _Change] = {}
        self._programs: Counter[str] = Counter()
        self._commands: Counter[tuple[str, str]] = Counter()
        self._sudo: dict[tuple[str, str, str], Span] = {}
        self._all = Span(limit=1)

    def add(self, event: Event) -> None:
        """Count an event of a Linux host; others are ignored."""
        if event.product != "linux":
            return
        self.count += 1
        self._all.add(event)
        if event.service == "auditd":
            self._audit(event)
            return
        program = event.fields.get("program", "")
        if program in self._programs or len(self._programs) < MAX_CHANGES:
            self._programs[program] += 1
        message = event.fields.get("message", "")[:MAX_MESSAGE_CHARS]
        if event.service == "sudo":
            self._run_as(event, message)
            return
        for shape, what, severity, techniques in _MESSAGES:
            found = shape.match(message)
            if found is not None:
                is_root = what == _USER_CREATED and re.search(r"\bUID=0\b", message)
                self._note(event, what, found[1], Severity.HIGH if is_root else severity, techniques)
                return

    def _run_as(self, event: Event, message: str) -> None:
        if (refused := _REFUSED.match(message)) is not None:
            self._note(event, "denied by sudo", f"{refused[1]}: {refused[3][:200]}", Severity.MEDIUM, ("T1548.003",))
        elif (found := _SUDO.match(message)) is not None:
            key = found[1], found[4], found[5][:500]
            if key in self._sudo or len(self._sudo) < MAX_CHANGES:
                self._sudo.setdefault(key, Span(limit=1)).add(event)
            else:
                self.left_out += 1

    def _audit(self, event: Event) -> None:
        fields = event.fields
        kind = fields.get("type", "")
        if kind == "EXECVE":
            key = fields.get("auid", fields.get("uid", "")), fields.get("CommandLine", "")[:500]
            if key in self._commands or len(self._commands) < MAX_COMMANDS:
                self._commands[key] += 1
            else:
                self.left_out += 1
        elif kind in _AUDIT_RECORDS:
            what, severity, techniques = _AUDIT_RECORDS[kind]
            whom = next((fields[name] for name in ("acct", "id", "name", "comm", "op", "dev") if fields.get(name)), "")
            self._note(event, what, whom, severity, techniques)

    def _note(self, event: Event, what: str, whom: str, severity: Severity, techniques: tuple[str, ...]) -> None:
        key = what, whom, event.host
        if key not in self._changes:
            if len(self._changes) >= MAX_CHANGES:
                self.left_out += 1
                return
            self._changes[key] = _Change(severity, techniques, Span(limit=2))
        self._changes[key].span.add(event)

    def findings(self, place: Place) -> list[Finding[Facts]]:
        """Return the summary, then the changes, the most severe first."""
        if not self.count:
            return []
        order = list(Severity)
        changes = sorted(self._changes.items(), key=lambda item: (order.index(item[1].severity), -item[1].span.count))
        return [self._summary(place), *(self._change(key, change, place) for key, change in changes)]

    @staticmethod
    def _change(key: tuple[str, str, str], change: _Change, place: Place) -> Finding[UnixChange]:
        what, whom, host = key
        return Finding(
            title=f"{what}: {whom}" if whom else what,
            severity=change.severity,
            evidence=tuple(place.evidence(event) for event in change.span.events),
            techniques=change.techniques,
            facts=UnixChange(
                what=what,
                whom=whom,
                host=host,
                count=change.span.count,
                first=change.span.first or None,
                last=change.span.last or None,
            ),
        )

    def _summary(self, place: Place) -> Finding[UnixSummary]:
        by_count = sorted(self._commands.items(), key=lambda item: item[1])[:MAX_LISTED]
        sudo = sorted(self._sudo.items(), key=lambda item: (item[0][1] not in _RUN_AS_ROOT, item[1].count))[:MAX_LISTED]
        return Finding(
            title=f"{self.count:,} Linux events: {len(self._commands):,} commands, {len(self._sudo):,} with sudo",
            evidence=tuple(place.evidence(event) for event in self._all.events),
            facts=UnixSummary(
                events=self.count,
                by_program=[ProgramCount(*item) for item in self._programs.most_common(20)],
                commands=[
                    CommandCount(user, command, count)
                    for (user, command), count in self._commands.most_common(MAX_LISTED)
                ],
                rare_commands=[command for (_, command), count in by_count if count == 1],
                sudo=[
                    SudoCommand(user, target, command, span.count, span.events[0].number)
                    for (user, target, command), span in sudo
                ],
                not_listed=self.left_out,
            ),
        )
