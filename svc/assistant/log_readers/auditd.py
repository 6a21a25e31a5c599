"""Read Linux's audit log: the records of one event are joined by serial number, and hex values are decoded.

Every record becomes an event with the fields that Sigma's auditd rules use (``type``, ``a0``, …) and the fields about
the program from the event's SYSCALL record (``exe``, ``comm``, ``key``, ``uid``, ``auid``, ``success``). EXECVE is
also a process creation with Sigma's names for that. Format: the Linux audit project's message types and fields.
auditd's ENRICHED format, lines forwarded by a syslog daemon, and ``ausearch -i`` are supported, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

import msgspec

from svc.assistant.log_readers.lines import Lines, ReadItem, split_lines
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS, Event

MAX_OPEN = 64  # events whose records may still follow: only a few interleave
MAX_RECORDS = 512  # of one event: a large rename's PATH records, a long EXECVE
MAX_FIELDS = 300
MAX_VALUE_CHARS = 16_384
MAX_HEAD_CHARS = 600  # in which a record's head must start, after a syslog header
_HEAD = re.compile(
    r"(?:.{0,300}?\bnode=(?P<node>\S{1,300}) )?.{0,300}?\btype=(?P<type>[A-Z0-9_]{2,40}(?:\[\d{1,20}\])?) "
    r"msg=audit\((?P<time>[^)]{1,40}):(?P<serial>\d{1,20})\) ?: ?"
)
_SYSLOG_HOST = re.compile(r"[A-Z][a-z]{2} +\d{1,2} [\d:]{8} (\S+) |\d{4}-\d\d-\d\dT\S+ (\S+) ")
_FIELD = re.compile(r"""([\w\[\]-]{1,40})=("[^"]*"|'[^']*'|[^\s"']\S*|)""")
_HEX = re.compile(r"(?:[0-9A-F]{2})+")
_ENCODED = frozenset(
    {
        "exe",
        "comm",
        "name",
        "cwd",
        "proctitle",
        "key",
        "acct",
        "data",
        "cmd",
        "path",
        "dir",
        "file",
        "vm",
        "ocomm",
        "new_name",
    }
)
_ARGUMENT = re.compile(r"a(\d{1,4})(?:\[(\d{1,4})\])?")
_SHARED = (
    "exe", "comm", "key", "uid", "auid", "euid", "gid", "pid", "ppid", "ses", "tty", "success", "exit", "syscall",
    "UID", "AUID", "EUID", "SYSCALL", "cwd",
)  # fmt: skip
_USERS = {"UID": "uid", "AUID": "auid", "EUID": "euid", "GID": "gid", "OUID": "ouid", "SYSCALL": "syscall"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Record(msgspec.Struct):
    number: int
    offset: int
    line: str
    kind: str
    time: str
    host: str
    fields: dict[str, str]


def is_audit_log(head: bytes) -> bool:
    """Return whether a file's first lines are audit records."""
    lines = [line for line in split_lines(head.decode("utf-8", errors="replace"))[:50] if line.strip("-\r ")]
    mine = sum(1 for line in lines if "msg=audit(" in line or line.startswith("time->"))
    return bool(lines) and mine >= 0.6 * len(lines)


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the records in the file's order, those of one event together."""
    lines = Lines(content)
    waiting: dict[tuple[str, str], list[_Record]] = {}
    for number, offset, line in lines:
        found = _HEAD.match(line, 0, MAX_HEAD_CHARS)
        if found is None:
            if not line.startswith(("----", "time->")):  # ausearch's
                lines.foreign.append(number)
            continue
        serial = found["node"] or "", f"{found['time']}:{found['serial']}"
        record = _record(line, number, offset, found)
        if record.kind == "EOE":
            yield from _events(waiting.pop(serial, []))
            continue
        records = waiting.setdefault(serial, [])
        records.append(record)
        if len(records) >= MAX_RECORDS:
            yield from _events(waiting.pop(serial))
        elif len(waiting) > MAX_OPEN:
            yield from _events(waiting.pop(next(iter(waiting))))
    for records in waiting.values():
        yield from _events(records)
    yield from lines.gaps("audit records")


def _record(line: str, number: int, offset: int, found: re.Match[str]) -> _Record:
    host = found["node"] or ""
    if not host and not line.startswith("type=") and (written := _SYSLOG_HOST.match(line)) is not None:
        host = written[1] or written[2]
    return _Record(number, offset, line, found["type"], _time(found["time"]), host, _fields(line[found.end() :]))


def _time(text: str) -> str:
    """Return seconds since 1970 as ISO 8601; a time of ``ausearch -i``, which is local, is unchanged."""
    try:
        return (_EPOCH + timedelta(seconds=float(text))).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError):
        return text


def _fields(text: str) -> dict[str, str]:
    """Parse ``name=value`` pairs, and those inside a quoted message."""
    fields: dict[str, str] = {}
    plain, _, enriched = text.partition("\x1d")
    for name, value in _FIELD.findall(plain):
        if len(fields) >= MAX_FIELDS:
            break
        if name == "msg" and value.startswith("'"):
            for inner, content in _FIELD.findall(value[1:-1]):
                fields.setdefault(inner, _decoded(inner, content))
            continue
        fields[name] = _decoded(name, value)
    for name, value in _FIELD.findall(enriched):
        fields[_USERS.get(name, name)] = value.strip('"')
    return fields


def _decoded(name: str, value: str) -> str:
    """Return a value without quotes; hex is decoded in fields that the kernel encodes."""
    if value.startswith(('"', "'")):
        return value[1:-1][:MAX_VALUE_CHARS]
    is_encoded = name in _ENCODED or _ARGUMENT.fullmatch(name) is not None
    if is_encoded and len(value) >= 2 and _HEX.fullmatch(value):
        return bytes.fromhex(value).replace(b"\x00", b" ").decode("utf-8", errors="replace").strip()[:MAX_VALUE_CHARS]
    return value[:MAX_VALUE_CHARS]


def _events(records: list[_Record]) -> Iterator[Event]:
    """Yield the events of one serial number, each with the fields about the program from the other records."""
    shared: dict[str, str] = {}
    for record in records:
        if record.kind in ("SYSCALL", "CWD"):
            shared |= {name: record.fields[name] for name in _SHARED if name in record.fields}
    title = next((record.fields.get("proctitle", "") for record in records if record.kind == "PROCTITLE"), "")
    for record in records:
        fields = {"type": record.kind} | shared | record.fields
        category = ""
        if record.kind == "EXECVE":
            category = "process_creation"
            fields = _joined_arguments(fields)
            _add_process(fields, title)
        elif record.kind == "USER_LOGIN":
            category = "authentication"
            _add_login(fields)
        yield Event(
            number=record.number,
            offset=record.offset,
            time=record.time,
            product="linux",
            service="auditd",
            category=category,
            host=record.host,
            event_id=None,
            fields=fields,
            excerpt=record.line[:MAX_EXCERPT_CHARS],
        )


def _add_login(fields: dict[str, str]) -> None:
    """Add the field names of a login in a table; one of a known user may give only its number."""
    account = fields.get("acct") or fields.get("AUID") or fields.get("id") or fields.get("auid", "")
    fields["TargetUserName"] = "" if account in ("(unknown)", "4294967295", "unset") else account
    fields["IpAddress"] = next((fields[one] for one in ("addr", "hostname") if fields.get(one, "?") != "?"), "")
    fields["Outcome"] = "success" if fields.get("res") in ("success", "1") else "failure"


def _joined_arguments(fields: dict[str, str]) -> dict[str, str]:
    """Join the parts ``a1[0]``, ``a1[1]``, … of a long argument into one ``a1``."""
    joined: dict[str, str] = {}
    for name, value in fields.items():
        found = _ARGUMENT.fullmatch(name)
        if found is not None and found[2] is not None:
            joined[f"a{found[1]}"] = (joined.get(f"a{found[1]}", "") + value)[:MAX_VALUE_CHARS]
        else:
            joined[name] = value
    return joined


def _add_process(fields: dict[str, str], title: str) -> None:
    """Add Sigma's field names for a process creation."""
    arguments: list[str] = []
    while (value := fields.get(f"a{len(arguments)}")) is not None:
        arguments.append(value)
    fields["CommandLine"] = " ".join(arguments) or title
    fields["Image"] = fields.get("exe") or (arguments[0] if arguments else "")
    for name, sigma in (
        ("uid", "User"),
        ("pid", "ProcessId"),
        ("ppid", "ParentProcessId"),
        ("cwd", "CurrentDirectory"),
    ):
        if name in fields:
            fields[sigma] = fields[name]
