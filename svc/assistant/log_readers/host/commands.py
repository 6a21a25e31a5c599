"""A command as the fields of Sigma's process creation, and commands of a shell's history. Pure.

A history has what was typed, not what ran: a command may have failed. Sources: bash(1) HISTTIMEFORMAT, zsh's
EXTENDED_HISTORY, fish's history file, PSReadLine's ConsoleHost_history.txt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.record import MAX_TEXT_CHARS, Artefact, Item, TraceKind, from_unix
from svc.assistant.log_readers.lines import Lines, Unread, split_lines

MAX_COMMANDS = 200_000
MAX_CONTINUED_LINES = 200  # of one command
_FIRST = re.compile(
    r"\s{0,20}(?:[A-Z_]{1,40}=\S{0,400}\s{1,9}){0,9}(?:sudo\s{1,9}(?:-\w{1,9}\s{1,9}){0,9})?(?:\"([^\"]{1,400})\"|'([^']{1,400})'|([^\s;|&<>]{1,400}))"
)
_BASH_TIME = re.compile(r"#(\d{9,10})\s*")
_ZSH = re.compile(r": {1,2}(\d{9,10}):(\d{1,9});(.*)", re.DOTALL)
_FISH = re.compile(r"- cmd: (.*)")
_FISH_TIME = re.compile(r"\s{1,9}when: (\d{9,10})\s*")
_NAMED = re.compile(
    r"(?:^|[/\\._-])(?:(?:bash|zsh|sh|ash|ksh|csh|tcsh|fish|consolehost)_history|(?<=[/\\]\.)history|(?<=^\.)history)"
    r"(?:\.(?:txt|log|old|bak|\d{1,4})|[_-][\w-]{1,40})?$",
    re.IGNORECASE,
)
_POWERSHELL = re.compile(r"consolehost_history", re.IGNORECASE)


def command_fields(command: str, *, is_windows: bool, user: str = "") -> dict[str, str]:
    """Return ``Image``, ``CommandLine`` and ``User``; a program without a folder gets none."""
    found = _FIRST.match(command)
    program = next(filter(None, found.groups()), "") if found else ""
    slash = "\\" if is_windows else "/"
    image = program if slash in program else slash + program
    if is_windows and "." not in image.rpartition("\\")[2]:
        image += ".exe"
    fields = {"Image": image, "CommandLine": command[:MAX_TEXT_CHARS]}
    return fields | ({"User": user} if user else {})


def is_shell_history(head: bytes, name: str = "") -> bool:
    """Whether it is a history with times, or a text named as one."""
    lines = [line for line in split_lines(head[:8192].decode("utf-8", errors="replace")) if line.strip()][:40]
    if not lines:
        return False
    zsh = sum(_ZSH.match(line) is not None for line in lines)
    if (zsh and _ZSH.match(lines[0])) or (_FISH.match(lines[0]) and any(map(_FISH_TIME.match, lines))):
        return True
    if _BASH_TIME.fullmatch(lines[0]) and len(lines) > 1 and not _BASH_TIME.fullmatch(lines[1]):
        return True
    return _NAMED.search(name) is not None and not lines[0].lstrip().startswith(("<", "{"))


def read(content: BinaryIO, name: str = "") -> Iterator[Item]:
    """Yield the commands in the file's order."""
    is_windows = _POWERSHELL.search(name) is not None
    lines = Lines(content)
    count = untimed = 0
    for number, offset, time, command in _joined(lines, is_windows=is_windows):
        count += 1
        if count > MAX_COMMANDS:
            yield Gap(text=f"only the first {MAX_COMMANDS:,} commands were read", in_headline=True)
            yield Unread(1)
            break
        untimed += not time
        yield Artefact(
            number=number,
            offset=offset,
            activity=TraceKind.COMMAND,
            what=command[:MAX_TEXT_CHARS],
            time=time,
            time_means="typed" if time else "",
            excerpt=command,
            product="windows" if is_windows else "linux",
            category="process_creation",
            fields=command_fields(command, is_windows=is_windows),
        )
    if untimed:
        yield Gap(text=f"{untimed:,} of {count:,} commands have no time; they are in the order of the file")
    if count:
        yield Gap(text="a history records what was typed, not whether it worked, and can be edited by its owner")
    yield from lines.gaps("commands")


def _joined(lines: Lines, *, is_windows: bool) -> Iterator[tuple[int, int, str, str]]:
    """Number, offset, time and text of each command; it continues after a backslash (PowerShell: a backtick)."""
    mark = "`" if is_windows else "\\"
    time, begun, parts = "", (0, 0), list[str]()
    pending: tuple[int, int, str] | None = None  # of fish, whose time follows the command
    for number, offset, line in lines:
        if fish := _FISH.match(line):
            if pending:
                yield pending[0], pending[1], "", pending[2]
            pending = number, offset, fish[1]
            continue
        if pending:
            if when := _FISH_TIME.match(line):
                yield pending[0], pending[1], from_unix(int(when[1])), pending[2]
                pending = None
            continue
        if not parts and (stamped := _BASH_TIME.fullmatch(line)):
            time = from_unix(int(stamped[1]))
            continue
        if not parts and (zsh := _ZSH.match(line)):
            time, line = from_unix(int(zsh[1])), zsh[3]  # noqa: PLW2901 - the rest of it
        begun = begun if parts else (number, offset)
        parts.append(line)
        if line.endswith(mark) and len(parts) < MAX_CONTINUED_LINES:
            continue
        command = "\n".join(parts)
        if command.strip():
            yield *begun, time, command
        time, parts = "", []
    if pending:
        yield pending[0], pending[1], "", pending[2]
    if parts:
        yield *begun, time, "\n".join(parts)
