"""Read what a Unix system starts by itself: crontabs and systemd units. Pure.

Formats: crontab(5) of Vixie cron and cronie, systemd.unit(5), systemd.service(5), systemd.timer(5).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.commands import command_fields
from svc.assistant.log_readers.host.record import MAX_TEXT_CHARS, Artefact, HostNote, Item, TraceKind
from svc.assistant.log_readers.lines import Lines, Unread, split_lines

MAX_LINES = 100_000
_FIELD = r"(?:[\d*][\d,*/\-~]{0,100}|(?:[a-zA-Z]{3}[,\-]?){1,12})"
_CRON = re.compile(
    rf"\s{{0,20}}-?(?P<when>@(?:reboot|yearly|annually|monthly|weekly|daily|midnight|hourly)|{_FIELD}(?:[ "
    rf"\t]{{1,20}}{_FIELD}){{4}})"
    r"[ \t]{1,40}(?P<rest>\S.{0,4000})"
)
_CRON_SET = re.compile(r"\s{0,20}\"?([A-Za-z_]\w{0,60})\"?\s{0,20}=\s{0,20}(.{0,400})")
_USER = re.compile(r"([a-z_][a-z0-9_-]{0,31}\$?)[ \t]{1,40}(\S.*)", re.DOTALL)
_COMMAND_LIKE = re.compile(r"[/.~$\"'(\[]")
_SYSTEM_TABLE = re.compile(r"(?:^|[/\\])(?:crontab|cron\.d[/\\][^/\\]+|anacrontab)$", re.IGNORECASE)
_PROGRAMS = frozenset(
    [
        "test",
        "cd",
        "run-parts",
        "sh",
        "bash",
        "python3",
        "python",
        "perl",
        "curl",
        "wget",
        "nice",
        "ionice",
        "command",
        "echo",
        "rm",
        "find",
        "root/",
    ]
)
_UNIT_KEY = re.compile(r"\s{0,20}([A-Za-z]{2,40})\s{0,20}=\s{0,20}(.{0,4000})", re.DOTALL)
_SECTION = re.compile(r"\[([A-Za-z-]{2,40})\]\s*")
_UNIT_SECTIONS = frozenset(
    ["Unit", "Service", "Timer", "Socket", "Install", "Path", "Mount", "Automount", "Swap", "Slice", "Scope", "Target"]
)
_RUNS = frozenset(
    ["ExecStart", "ExecStartPre", "ExecStartPost", "ExecStop", "ExecStopPost", "ExecReload", "ExecCondition"]
)
_STARTS = frozenset(["OnCalendar", "OnBootSec", "OnStartupSec", "OnUnitActiveSec", "OnActiveSec", "WantedBy", "Alias"])
_TOLD = frozenset(["Description", "User", "WantedBy", "Unit", "Restart", "Type", "OnCalendar", "OnBootSec"])
_PREFIXES = "-@:+!|"


def is_crontab(head: bytes) -> bool:
    """Whether every line is a comment, a setting or a job, and at least one is a job."""
    text = head.decode("utf-8", errors="replace")
    lines = split_lines(text)[:400]
    if len(head) >= 65_536:
        lines = lines[:-1]
    used = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    jobs = sum(_CRON.match(line) is not None for line in used)
    settings = sum(_CRON_SET.fullmatch(line) is not None and _CRON.match(line) is None for line in used)
    return jobs > 0 and jobs + settings == len(used) and jobs >= 0.3 * len(used)


def is_unit(head: bytes) -> bool:
    """Whether it is a systemd unit: known sections with at least one setting of theirs."""
    names = {
        match[1] for line in split_lines(head.decode("utf-8", errors="replace")) if (match := _SECTION.fullmatch(line))
    }
    is_own = bool(names & {"Service", "Timer", "Socket", "Path"}) or {"Unit", "Install"} <= names
    return bool(names) and is_own and all(name in _UNIT_SECTIONS or name.startswith("X-") for name in names)


def read_crontab(content: BinaryIO, name: str = "") -> Iterator[Item]:
    """Yield the jobs of a user's crontab, or of a system's, which names the user of each job."""
    lines = Lines(content)
    rows = [
        (number, offset, line) for number, (number, offset, line) in zip(range(MAX_LINES), _used(lines), strict=False)
    ]
    jobs = [(number, offset, line, found) for number, offset, line in rows if (found := _CRON.match(line))]
    has_users = _names_users([found["rest"] for *_, found in jobs], name)
    settings = {
        found[1]: found[2].strip("\"' ")
        for *_, line in rows
        if (found := _CRON_SET.fullmatch(line)) and not _CRON.match(line)
    }
    for key in ("SHELL", "MAILTO", "PATH", "LD_PRELOAD"):
        if key in settings:
            yield HostNote(key, settings[key])
    matched = {number for number, *_ in jobs}
    for number, _, line in rows:
        if number not in matched and not _CRON_SET.fullmatch(line):
            lines.foreign.append(number)
    for number, offset, line, found in jobs:
        rest, user = found["rest"], ""
        named = _USER.match(rest) if has_users else None
        if named:
            user, rest = named[1], named[2]
        preload = f"LD_PRELOAD={settings['LD_PRELOAD']} " if "LD_PRELOAD" in settings else ""
        yield _started(number, offset, preload + rest, user=user, where=f"cron {found['when']}", excerpt=line)
    if jobs:
        yield Gap(
            text="a crontab says what cron starts and when; it records neither when the job was made nor whether it ran"
        )
    yield from lines.gaps("cron jobs or settings")


def _used(lines: Lines) -> Iterator[tuple[int, int, str]]:
    return (
        (number, offset, line) for number, offset, line in lines if line.strip() and not line.lstrip().startswith("#")
    )


def _names_users(commands: list[str], name: str) -> bool:
    """A system's table has a user before each command: by its name, or if each command begins with a bare word."""
    if _SYSTEM_TABLE.search(name):
        return True
    firsts = [found[1] if (found := _USER.match(command)) else "" for command in commands]
    if not firsts or not all(firsts) or any(first in _PROGRAMS for first in firsts):
        return False
    seconds = [found[2] for command in commands if (found := _USER.match(command))]
    return "root" in firsts or all(_COMMAND_LIKE.match(second) or second.split()[0] in _PROGRAMS for second in seconds)


def _started(
    number: int, offset: int, command: str, *, user: str, where: str, excerpt: str, detail: str = ""
) -> Artefact:
    return Artefact(
        number=number,
        offset=offset,
        activity=TraceKind.PERSISTS,
        what=command[:MAX_TEXT_CHARS],
        user=user,
        where=where,
        detail=detail,
        excerpt=excerpt,
        product="linux",
        category="process_creation",
        fields=command_fields(command, is_windows=False, user=user),
    )


def read_unit(content: BinaryIO, name: str = "") -> Iterator[Item]:
    """Yield each command of a unit, with the account and what starts it."""
    lines = Lines(content)
    settings: list[tuple[int, int, str, str]] = []
    open_line: tuple[int, int, str] | None = None
    for number, offset, line in lines:
        if number > MAX_LINES:
            yield Gap(text=f"only the first {MAX_LINES:,} lines were read", in_headline=True)
            yield Unread(1)
            break
        if line.lstrip().startswith(("#", ";")) or _SECTION.fullmatch(line):
            continue
        begun = open_line or (number, offset, "")
        text = begun[2] + line
        if text.endswith("\\"):
            open_line = (begun[0], begun[1], text[:-1] + " ")
            continue
        open_line = None
        if found := _UNIT_KEY.fullmatch(text):
            settings.append((begun[0], begun[1], found[1], found[2].strip()))
        elif line.strip():
            lines.foreign.append(number)
    yield from _unit_rows(settings, name.replace("\\", "/").rpartition("/")[2])
    yield from lines.gaps("settings of a unit")


def _unit_rows(settings: list[tuple[int, int, str, str]], unit: str) -> Iterator[Item]:
    values = {key: value for _, _, key, value in settings}
    for key in _TOLD & values.keys():
        yield HostNote(key, values[key])
    starts = ", ".join(f"{key}={value}" for _, _, key, value in settings if key in _STARTS)
    environment = " ".join(value for _, _, key, value in settings if key == "Environment" and "LD_PRELOAD" in value)
    runs = [row for row in settings if row[2] in _RUNS and row[3]]
    for number, offset, key, value in runs:
        command = " ".join(filter(None, [environment, value.lstrip(_PREFIXES)]))
        yield _started(
            number,
            offset,
            command,
            user=values.get("User", "root"),
            where=f"{unit} {key}".strip(),
            excerpt=f"{key}={value}",
            detail=starts,
        )
    if not runs and (what := values.get("Unit") or values.get("ListenStream") or starts):
        number, offset, key, value = next((row for row in settings if row[2] in _STARTS), settings[0])
        yield Artefact(
            number=number,
            offset=offset,
            activity=TraceKind.PERSISTS,
            what=f"starts {what}",
            where=unit,
            detail=starts,
            excerpt=f"{key}={value}",
        )
    if not values.get("WantedBy") and not any(key.startswith("On") for key in values):
        yield Gap(
            text="the unit has no [Install] section and no timer: whether and when it is started is not in this file"
        )
    yield Gap(text="a unit says what systemd starts; whether it is enabled and when it was made is not in this file")
