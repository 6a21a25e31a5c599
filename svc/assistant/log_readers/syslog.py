"""Read syslog lines and journald's JSON: program, process ID, message, and Sigma's service.

Formats: RFC 3164, RFC 5424 and rsyslog's ISO timestamps (``timestamps.py``); ``journalctl -o json``. A timestamp
without a time zone is left unchanged, because its zone is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Gap
from svc.assistant.log_readers.lines import Lines, ReadItem, split_lines
from svc.assistant.log_readers.messages.dns_lines import dns_message
from svc.assistant.log_readers.messages.firewall_lines import firewall_message
from svc.assistant.log_readers.messages.program_messages import describe
from svc.assistant.log_readers.parts import part_of
from svc.assistant.log_readers.timestamps import Stamps
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS, Event

MAX_MESSAGE_CHARS = 16_384
_HEADER = re.compile(
    r"\s*(?P<host>\S+)\s+(?=[^\s:\[]{0,99}[A-Za-z])(?P<program>[^\s:\[]{1,100})(?:\[(?P<pid>\d+)\])?:\s?"
)
_HEADER_5424 = re.compile(r"\s*(?P<host>\S+) (?P<program>\S+) (?P<pid>\d+|-) \S+ (?:-|\[.*?\](?= |$)) ?\ufeff?")
_HEADER_DEVICE = re.compile(r"\s*(?P<host>\S+)\s+(?::\s)?(?=%[A-Z]|\d,\d{4}/\d\d/\d\d )(?P<program>)(?P<pid>)")
"""Of firewalls that name no program: Cisco's and Palo Alto Networks'."""
_SERVICES = {
    "sshd": "sshd", "sudo": "sudo", "cron": "cron", "crond": "cron", "anacron": "cron", "vsftpd": "vsftpd",
    "su": "auth", "login": "auth", "useradd": "auth", "usermod": "auth", "userdel": "auth", "groupadd": "auth",
    "passwd": "auth", "chpasswd": "auth", "gpasswd": "auth", "systemd-logind": "auth", "polkitd": "auth",
    "pkexec": "auth", "gdm-password": "auth", "guacd": "guacamole", "clamd": "clamav", "freshclam": "clamav",
}  # fmt: skip
_COMMANDS = {
    "sudo": (
        re.compile(
            r" {0,20}(?P<by>[^ ]{1,300}) : (?:TTY=[^;]{1,300} ; )?PWD=[^;]{0,1000}; USER=(?P<user>[^ ;]{1,300}) ;"
            r"(?: (?:GROUP|TSID|ENV)=[^;]{0,1000} ;){0,3} COMMAND=(?P<command>.+)"
        ),
        "/usr/bin/sudo",
    ),
    "cron": (re.compile(r"\((?P<user>[^)]{1,300})\) CMD \((?P<command>.+)"), "/usr/sbin/cron"),
}
"""Lines about a command that was run: sudo's, as ``sudoers(5)`` gives it without what was refused, and cron's."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_JOURNAL_FIELDS = {
    "_EXE": "exe", "_COMM": "comm", "_CMDLINE": "CommandLine", "_UID": "uid", "_SYSTEMD_UNIT": "unit",
    "PRIORITY": "priority", "_AUDIT_LOGINUID": "auid",
}  # fmt: skip


def is_journal(head: bytes) -> bool:
    """Return whether a file's first bytes are a journal entry as JSON."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b'"__REALTIME_TIMESTAMP"' in head[:4_096]


def is_syslog(head: bytes) -> bool:
    """Return whether most of a file's first lines have a timestamp, a host and a program."""
    stamps = Stamps()
    lines = [line for line in split_lines(head.decode("utf-8", errors="replace"))[:50] if line.strip()]
    mine = sum(1 for line in lines if _header(stamps, line) is not None)
    return bool(lines) and mine >= 0.6 * len(lines)


def _header(stamps: Stamps, line: str) -> tuple[str, re.Match[str]] | None:
    stamp, end = stamps.read(line)
    if stamp is None:
        return None
    found = _HEADER_DEVICE.match(line, end) or _HEADER.match(line, end) or _HEADER_5424.match(line, end)
    return (stamp.text, found) if found is not None else None


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the events in the file's order."""
    part = part_of(content)
    lines, stamps = Lines.in_parts(content), part.carry(Stamps)
    for number, offset, line in lines:
        if line.startswith("{"):
            event = journal_event(journal_entry(line), line, number, offset)
        else:
            header = _header(stamps, line)
            event = None if header is None else _syslog_event(header, line, number, offset)
        if event is None:
            lines.foreign.append(number)
        else:
            yield event
    if part.is_paused:
        return
    yield from lines.gaps("syslog lines")
    if stamps.lacks_year:
        yield Gap(text="the timestamps have no year")


def _syslog_event(header: tuple[str, re.Match[str]], line: str, number: int, offset: int) -> Event:
    time, found = header
    fields = {"program": found["program"], "message": line[found.end() :][:MAX_MESSAGE_CHARS]}
    if found["pid"] and found["pid"] != "-":
        fields["pid"] = found["pid"]
    event = _event(number, offset, line, in_utc(time), found["host"], fields)
    if _add_command(event):
        return event
    told = firewall_message(fields["program"], fields["message"])
    if told is not None:
        event.category, event.product = told.category, told.product
        event.fields |= told.fields
    elif (asked := dns_message(fields["program"], fields["message"])) is not None:
        event.category, event.product, event.service = "dns_query", asked.product, "dns"
        event.fields |= asked.fields
    elif event.service in ("syslog", "vsftpd"):
        describe(event)
    return event


def _add_command(event: Event) -> bool:
    """Make a line of sudo or cron about a command a process creation; returns whether it is one."""
    pattern, parent = _COMMANDS.get(event.service, (None, ""))
    found = pattern.match(event.fields["message"]) if pattern is not None else None
    if found is None:
        return False
    command = found["command"].strip()
    if event.service == "cron":
        command = command.removesuffix(")").strip()
    event.category = "process_creation"
    event.fields |= {"CommandLine": command, "User": found["user"], "ParentImage": parent}
    if command.startswith("/"):
        event.fields["Image"] = command.partition(" ")[0]
    return True


def _event(number: int, offset: int, line: str, time: str, host: str, fields: dict[str, str]) -> Event:
    return Event(
        number=number,
        offset=offset,
        time=time,
        product="linux",
        service=service_of(fields.get("program", "")),
        category="",
        host=host,
        event_id=None,
        fields=fields,
        excerpt=line[:MAX_EXCERPT_CHARS],
    )


def service_of(program: str) -> str:
    """Return Sigma's service for a program's lines."""
    name = program.rpartition("/")[2].lower().partition("(")[0]
    return "sshd" if name.startswith("sshd") else _SERVICES.get(name, "syslog")


def in_utc(stamp: str) -> str:
    """Return a timestamp with a time zone in UTC, any other unchanged."""
    if stamp.startswith("--") or not re.search(r"[+-]\d\d:?\d\d$|Z$", stamp):
        return stamp
    try:
        return datetime.fromisoformat(stamp).astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError):
        return stamp


def journal_message(entry: dict[str, object]) -> str:
    """Return the message of an entry; journald writes a message that is not text as a list of bytes."""
    message = entry.get("MESSAGE", "")
    if isinstance(message, list):
        numbers = [value for value in message if isinstance(value, int) and 0 <= value < 256]
        return bytes(numbers).decode("utf-8", errors="replace")
    return message if isinstance(message, str) else ""


def journal_entry(line: str) -> dict[str, object] | None:
    """Return the members of a journal entry; None if the line is not one."""
    try:
        entry = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return entry if isinstance(entry, dict) and "__REALTIME_TIMESTAMP" in entry else None


def journal_time(entry: dict[str, object]) -> str:
    """Return when an entry was written, as ISO 8601 in UTC; "" if that is not a time."""
    try:
        moment = _EPOCH + timedelta(microseconds=int(str(entry["__REALTIME_TIMESTAMP"])))
    except (ValueError, OverflowError):
        return ""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def journal_event(entry: dict[str, object] | None, line: str, number: int, offset: int) -> Event | None:
    """Return the event of an entry's members; None if there are none, or none says when it was."""
    if entry is None or "__REALTIME_TIMESTAMP" not in entry:
        return None
    program = entry.get("SYSLOG_IDENTIFIER") or entry.get("_COMM") or ""
    fields = {"program": str(program), "message": journal_message(entry)[:MAX_MESSAGE_CHARS]}
    pid = entry.get("_PID") or entry.get("SYSLOG_PID")
    if pid:
        fields["pid"] = str(pid)
    for name, mine in _JOURNAL_FIELDS.items():
        if isinstance(value := entry.get(name), str):
            fields[mine] = value[:MAX_MESSAGE_CHARS]
    host = entry.get("_HOSTNAME")
    event = _event(number, offset, line, journal_time(entry), host if isinstance(host, str) else "", fields)
    if not _add_command(event) and event.service in ("syslog", "vsftpd"):
        describe(event)
    return event
