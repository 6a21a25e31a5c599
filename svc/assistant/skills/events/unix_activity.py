"""What people did on a Unix host by its audit log and syslog: commands, sudo, accounts made, jobs, services. Pure.

Finding kinds: ``events``. Texts: shadow-utils (useradd, usermod …), sudo, su, cron; audit's record types.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.findings import Scalar, Severity
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.evidence import Place, Span

MAX_DEEDS = 5_000  # different things
MAX_LISTED = 200
MAX_COMMANDS = 20_000
MAX_MESSAGE_CHARS = 2_000  # of one line that are looked at
_SUDO = re.compile(r"^\s*(\S+) : (?:.*?; )??TTY=(\S+) ; PWD=(.*?) ; USER=(\S+) ;.*?COMMAND=(.*)$")
_REFUSED = re.compile(r"^\s*(\S+) : (.*?(?:NOT in sudoers|not allowed|incorrect password)[^;]*);.*?COMMAND=(.*)$")
_DEEDS = (
    (re.compile(r"^new user: name=([^,]+)(?:, UID=0\b)?"), "made the account", Severity.MEDIUM, ("T1136.001",)),
    (re.compile(r"^delete user '?([^']+)'?"), "deleted the account", Severity.MEDIUM, ("T1531",)),
    (re.compile(r"^add '([^']+)' to (?:shadow )?group '(?:sudo|wheel|root|admin|docker|adm)'"),
     "joined an administrators' group:", Severity.HIGH, ("T1098.007",)),
    (re.compile(r"^add '([^']+)' to (?:shadow )?group"), "joined a group:", Severity.LOW, ("T1098.007",)),
    (re.compile(r"^(?:pam_unix\(passwd:chauthtok\): )?password changed for (\S+)"), "got a new password:", Severity.LOW,
     ("T1098",)),
    (re.compile(r"^\((\S+)\) (?:BEGIN EDIT|REPLACE|EDIT|RELOAD)"), "edited the timetable (cron) of", Severity.LOW,
     ("T1053.003",)),
    (re.compile(r"^(?:\[[\d. ]+\] )?(\S+): loading out-of-tree module"), "loaded the kernel module", Severity.MEDIUM,
     ("T1547.006",)),
    (re.compile(r"^(?:\[[\d. ]+\] )?device (\S+) entered promiscuous mode"), "listens to all traffic:", Severity.MEDIUM,
     ("T1040",)),
    (re.compile(r"^(?:rsyslogd|syslogd)?.*\bexiting on signal (\d+)"), "stopped the system's log, signal", Severity.LOW,
     ("T1562.001",)),
    (re.compile(r"^Accepted \S+ for (\S+ from \S+)"), "logged in by SSH:", Severity.INFO, ()),
    (re.compile(r"^(\(\S+\) CMD \(.{0,200})"), "was run by cron:", Severity.INFO, ()),
)  # fmt: skip
_AUDIT_DEEDS = {
    "ADD_USER": ("made the account", Severity.MEDIUM, ("T1136.001",)),
    "DEL_USER": ("deleted the account", Severity.MEDIUM, ("T1531",)),
    "ADD_GROUP": ("made the group", Severity.LOW, ("T1136.001",)),
    "USER_CHAUTHTOK": ("changed a password or account:", Severity.LOW, ("T1098",)),
    "DAEMON_END": ("stopped the audit daemon", Severity.MEDIUM, ("T1562.012",)),
    "CONFIG_CHANGE": ("changed what is audited", Severity.LOW, ("T1562.012",)),
    "KERN_MODULE": ("loaded the kernel module", Severity.MEDIUM, ("T1547.006",)),
    "ANOM_PROMISCUOUS": ("listens to all traffic:", Severity.MEDIUM, ("T1040",)),
    "ANOM_ABEND": ("crashed:", Severity.LOW, ()),
}
_RUN_AS_ROOT = frozenset({"root", "0"})


class _Deed(msgspec.Struct):
    severity: Severity
    techniques: tuple[str, ...]
    span: Span


class UnixActivity:
    """Counts what users and programs did; tells nothing about other logs."""

    def __init__(self) -> None:
        self.count = self.untold = 0
        self._deeds: dict[tuple[str, str, str], _Deed] = {}
        self._programs: Counter[str] = Counter()
        self._commands: Counter[tuple[str, str]] = Counter()
        self._sudo: dict[tuple[str, str, str], Span] = {}
        self._all = Span(limit=1)

    def add(self, event: Event) -> None:
        """Count an event of Linux; others are not looked at."""
        if event.product != "linux":
            return
        self.count += 1
        self._all.add(event)
        if event.service == "auditd":
            self._audit(event)
            return
        program = event.fields.get("program", "")
        if program in self._programs or len(self._programs) < MAX_DEEDS:
            self._programs[program] += 1
        message = event.fields.get("message", "")[:MAX_MESSAGE_CHARS]
        if event.service == "sudo":
            self._run_as(event, message)
            return
        for shape, what, severity, techniques in _DEEDS:
            found = shape.match(message)
            if found is not None:
                is_root = what == "made the account" and re.search(r"\bUID=0\b", message)
                self._note(event, what, found[1], Severity.HIGH if is_root else severity, techniques)
                return

    def _run_as(self, event: Event, message: str) -> None:
        if (refused := _REFUSED.match(message)) is not None:
            self._note(
                event, "was refused by sudo:", f"{refused[1]}: {refused[3][:200]}", Severity.MEDIUM, ("T1548.003",)
            )
        elif (found := _SUDO.match(message)) is not None:
            key = found[1], found[4], found[5][:500]
            if key in self._sudo or len(self._sudo) < MAX_DEEDS:
                self._sudo.setdefault(key, Span(limit=1)).add(event)
            else:
                self.untold += 1

    def _audit(self, event: Event) -> None:
        fields = event.fields
        kind = fields.get("type", "")
        if kind == "EXECVE":
            key = fields.get("auid", fields.get("uid", "")), fields.get("CommandLine", "")[:500]
            if key in self._commands or len(self._commands) < MAX_COMMANDS:
                self._commands[key] += 1
            else:
                self.untold += 1
        elif kind in _AUDIT_DEEDS:
            what, severity, techniques = _AUDIT_DEEDS[kind]
            whom = next((fields[name] for name in ("acct", "id", "name", "comm", "op", "dev") if fields.get(name)), "")
            self._note(event, what, whom, severity, techniques)

    def _note(self, event: Event, what: str, whom: str, severity: Severity, techniques: tuple[str, ...]) -> None:
        key = what, whom, event.host
        if key not in self._deeds:
            if len(self._deeds) >= MAX_DEEDS:
                self.untold += 1
                return
            self._deeds[key] = _Deed(severity, techniques, Span(limit=2))
        self._deeds[key].span.add(event)

    def findings(self, place: Place) -> list[Finding]:
        """The summary, then what was done, the worst first."""
        if not self.count:
            return []
        order = list(Severity)
        deeds = sorted(self._deeds.items(), key=lambda item: (order.index(item[1].severity), -item[1].span.count))
        return [self._summary(place), *(self._deed(key, deed, place) for key, deed in deeds[:MAX_LISTED])]

    @staticmethod
    def _deed(key: tuple[str, str, str], deed: _Deed, place: Place) -> Finding:
        what, whom, host = key
        return Finding(
            kind="unix_deed",
            title=f"{what} {whom}".strip(),
            severity=deed.severity,
            evidence=tuple(place.evidence(event) for event in deed.span.events),
            techniques=deed.techniques,
            attributes={
                "what": what,
                "whom": whom,
                "host": host,
                "count": deed.span.count,
                "first": deed.span.first or None,
                "last": deed.span.last or None,
            },
        )

    def _summary(self, place: Place) -> Finding:
        commands = self._commands.most_common(MAX_LISTED)
        rare = sorted(self._commands.items(), key=lambda item: item[1])[:MAX_LISTED]
        sudo = sorted(self._sudo.items(), key=lambda item: (item[0][1] not in _RUN_AS_ROOT, item[1].count))[:MAX_LISTED]
        programs = self._programs.most_common(20)
        attributes: dict[str, Scalar | list[Scalar]] = {
            "events": self.count,
            "programs": [name for name, _ in programs],
            "program_counts": [count for _, count in programs],
            "command_users": [user for (user, _), _ in commands],
            "commands": [command for (_, command), _ in commands],
            "command_counts": [count for _, count in commands],
            "rare_commands": [command for (_, command), count in rare if count == 1],
            "sudo_users": [user for (user, _, _), _ in sudo],
            "sudo_targets": [target for (_, target, _), _ in sudo],
            "sudo_commands": [command for (_, _, command), _ in sudo],
            "sudo_counts": [span.count for _, span in sudo],
            "sudo_lines": [span.events[0].number for _, span in sudo],
            "untold": self.untold,
        }
        return Finding(
            kind="unix_summary",
            title=f"{self.count:,} events of Linux: {len(self._commands):,} commands, {len(self._sudo):,} by sudo",
            evidence=tuple(place.evidence(event) for event in self._all.events),
            attributes=attributes,
        )
