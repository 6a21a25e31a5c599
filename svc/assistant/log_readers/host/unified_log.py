"""Read an export of macOS' unified log: ``log show`` as text, ``--style json`` or ``--style ndjson``. Pure.

Logins (sshd, screen sharing), uses of sudo and verdicts of XProtect and Gatekeeper become rows of their kind; all other
entries are counted and listed. Source of the forms: log(1) of macOS, and the messages of the named programs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.commands import command_fields
from svc.assistant.log_readers.host.record import MAX_TEXT_CHARS, Artefact, Item, TraceKind, basename, iso
from svc.assistant.log_readers.json_objects import Skipped, read_objects
from svc.assistant.log_readers.lines import Lines, Unread, split_lines

MAX_ENTRIES = 1_000_000
_HEADER = re.compile(r"Timestamp\s+(?:\(process\)|Thread\s+Type\s+Activity\s+PID)")
_LINE = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3,6}[+-]\d{4})\s{1,4}(?:0x[0-9a-f]{1,16}\s{1,20}"
    r"(?P<type>\w{2,12})\s{1,20}0x[0-9a-f]{1,16}\s{1,30}(?P<pid>\d{1,10})\s{1,9}\d{1,9}\s{1,9})"
    r"(?P<process>[^:]{1,200}): "
    r"(?P<message>.*)",
    re.DOTALL,
)
_KEYS = (b'"eventMessage"', b'"machTimestamp"', b'"processImagePath"')
_SSH = re.compile(r"(Accepted|Failed) (\S{1,40}) for (?:invalid user )?(\S{1,100}) from (\S{1,60})(?: port \d{1,5})?")
_SCREEN = re.compile(r"Authentication: (SUCCEEDED|FAILED) :: User Name: (.{0,100}?) :: Viewer Address: (\S{1,60})")
_SUDO = re.compile(r"\s{0,9}(\S{1,60}) : (?:.{0,100}?; )?TTY=.{0,400}?COMMAND=(.{1,4000})", re.DOTALL)
_CONSOLE = re.compile(r"\bUSER_PROCESS: \d{1,9} (\S{1,40})")


def is_unified_log(head: bytes) -> bool:
    """Whether it is the text form by its header or first entry, or JSON with the keys of the unified log."""
    if sum(key in head for key in _KEYS) == len(_KEYS):
        return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")
    lines = [line for line in split_lines(head.decode("utf-8", errors="replace"))[:20] if line.strip()]
    return (
        any(_HEADER.match(line) for line in lines[:4])
        or sum(_LINE.match(line) is not None for line in lines) > len(lines) // 2
    )


def read(content: BinaryIO) -> Iterator[Item]:
    """Yield the entries in the file's order."""
    head = content.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    content.seek(0)
    yield from _json(content) if head[:1] in (b"{", b"[") else _lines(content)


def _lines(content: BinaryIO) -> Iterator[Item]:
    lines = Lines(content)
    open_entry: tuple[int, int, re.Match[str], list[str]] | None = None
    count = 0
    for number, offset, line in lines:
        found = _LINE.match(line)
        if found is None:
            if open_entry is not None and len(open_entry[3]) < 200:
                open_entry[3].append(line)
            elif not _HEADER.match(line):
                lines.foreign.append(number)
            continue
        if open_entry is not None:
            yield _of_line(*open_entry)
        count += 1
        if count > MAX_ENTRIES:
            yield Gap(text=f"only the first {MAX_ENTRIES:,} entries were read", in_headline=True)
            yield Unread(1)
            open_entry = None
            break
        open_entry = number, offset, found, []
    if open_entry is not None:
        yield _of_line(*open_entry)
    yield from lines.gaps("entries of the unified log")
    yield _NOTED


_NOTED = Gap(
    text="entries that macOS redacted (<private>) are not known; entries below the exported level are not in the file"
)


def _of_line(number: int, offset: int, found: re.Match[str], more: list[str]) -> Artefact:
    process = found["process"].partition(" (")[0].strip()
    message = "\n".join([found["message"], *more])
    process = process.partition("[")[0].strip() or process
    return _entry(number, offset, found["time"], process, message, found["type"], found[0])


def _json(content: BinaryIO) -> Iterator[Item]:
    skipped = Skipped()
    for count, (number, fields) in enumerate(read_objects(content, skipped), start=1):
        if "eventMessage" not in fields and "machTimestamp" not in fields:
            skipped.foreign.append(number)
            continue
        if count > MAX_ENTRIES:
            yield Gap(text=f"only the first {MAX_ENTRIES:,} entries were read", in_headline=True)
            yield Unread(1)
            break
        message, process = str(fields.get("eventMessage") or ""), str(fields.get("processImagePath") or "")
        kind = str(fields.get("messageType") or fields.get("eventType") or "")
        excerpt = json.dumps(fields, ensure_ascii=False)
        yield _entry(number, None, str(fields.get("timestamp") or ""), basename(process), message, kind, excerpt)
    yield from skipped.gaps("entries of the unified log")
    yield _NOTED


def _entry(
    number: int, offset: int | None, stamp: str, process: str, message: str, kind: str, excerpt: str
) -> Artefact:
    activity, what, user, source, fields = TraceKind.ENTRY, f"{process}: {message}", "", "", {}
    if process.startswith("sshd") and (ssh := _SSH.search(message)):
        activity = TraceKind.LOGIN if ssh[1] == "Accepted" else TraceKind.FAILED_LOGIN
        what, user, source = ssh[3], ssh[3], ssh[4]
    elif process.startswith("screensharing") and (screen := _SCREEN.search(message)):
        activity = TraceKind.LOGIN if screen[1] == "SUCCEEDED" else TraceKind.FAILED_LOGIN
        what, user, source = screen[2], screen[2], screen[3]
    elif process == "sudo" and (sudo := _SUDO.match(message)):
        activity, what, user = TraceKind.COMMAND, sudo[2], sudo[1]
        fields = command_fields(sudo[2], is_windows=False, user=user)
    elif process in ("login", "loginwindow") and (console := _CONSOLE.search(message)):
        activity, what = TraceKind.LOGIN, console[1]
    return Artefact(
        number=number,
        offset=offset,
        activity=activity,
        what=what[:MAX_TEXT_CHARS],
        user=user,
        source=source,
        where=process,
        detail=kind,
        time=_time(stamp),
        time_means="logged",
        excerpt=excerpt,
        product="macos",
        category="process_creation" if fields else "",
        fields=fields,
    )


def _time(stamp: str) -> str:
    try:
        moment = datetime.fromisoformat(stamp.replace(" ", "T", 1))
    except ValueError:
        return ""
    return iso(moment) if moment.tzinfo else moment.isoformat()
