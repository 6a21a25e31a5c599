"""Read what commands print about a host's files, sessions, kernel and containers, as parts of a file of listings. Pure.

Forms: ``ls -l`` and ``find -ls`` with whole paths, ``getcap -r``, ``w``, ``quser`` (English Windows), ``lsmod``,
``docker ps`` (also Podman's), ``Get-Process`` as a table.
"""

from __future__ import annotations

import re
from typing import ClassVar

from svc.assistant.log_readers.host.blocks import Block, row_of
from svc.assistant.log_readers.host.commands import command_fields
from svc.assistant.log_readers.host.record import Artefact, TraceKind

_MODE = r"[bcdlps-](?:[r-][w-][xsStT-]){2}[r-][w-][xtT-][.+@]?"
_FILE_TIME = (
    r"[A-Z][a-z]{2} {1,2}\d{1,2} {1,2}(?:\d\d:\d\d|\d{4})|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d\S{0,12})?(?: [+-]\d{4})?"
)
_INODE = r"(?:\s{0,12}\d{1,12}\s{1,12}\d{1,12} )?"


class Files(Block):
    """``ls -l`` of whole paths, ``find -ls``."""

    name = "files"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.PRESENT,)
    begins: ClassVar[re.Pattern[str]] = re.compile(
        rf"{_INODE}{_MODE}\s{{1,9}}\d{{1,6}}\s{{1,9}}\S{{1,64}}\s{{1,20}}\S{{1,64}}\s{{1,20}}"
        rf"\d{{1,16}}\s{{1,9}}(?:{_FILE_TIME}) \.?/"
    )
    _line = re.compile(
        rf"{_INODE}(?P<mode>{_MODE})\s{{1,9}}\d{{1,6}}\s{{1,9}}(?P<user>\S{{1,64}})\s{{1,20}}"
        rf"(?P<group>\S{{1,64}})\s{{1,20}}(?P<size>\d{{1,16}}|\d{{1,6}},\s{{1,6}}\d{{1,6}})\s{{1,9}}"
        rf"(?P<time>{_FILE_TIME}) "
        r"(?P<path>\S.{0,4000})"
    )

    def row(self, line: str) -> Artefact | bool | None:
        """Read a file."""
        found = self._line.match(line)
        if found is None:
            return True if line.startswith(("total ", "find: ", "ls: ")) else None
        size = found["size"] if "," in found["size"] else f"{int(found['size']):,} bytes"
        detail = f"{found['mode']} {found['user']}:{found['group']}, {size}, changed {found['time']}"
        path = found["path"].partition(" -> ")[0].rstrip()
        return row_of(TraceKind.PRESENT, path, user=found["user"], where=found["mode"], detail=detail)


class Capabilities(Block):
    """``getcap -r``."""

    name = "capabilities of files"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.RIGHT,)
    begins: ClassVar[re.Pattern[str]] = re.compile(
        r"/\S{1,1000} (?:= )?cap_[a-z_]{2,30}(?:,cap_[a-z_]{2,30}){0,50}[=+][eip]{1,3}"
    )
    _line = re.compile(r"(?P<path>/\S{1,1000}) (?:= )?(?P<rights>cap_\S{3,1000})")

    def row(self, line: str) -> Artefact | bool | None:
        """Read a file with its capabilities."""
        found = self._line.match(line)
        return row_of(TraceKind.RIGHT, found["path"], where=found["rights"]) if found is not None else None


class Sessions(Block):
    """``w``: who is logged in, and what runs there."""

    name = "sessions"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.LOGIN, TraceKind.RUNNING)
    begins: ClassVar[re.Pattern[str]] = re.compile(
        r"USER\s{1,20}TTY\s{1,20}(?:FROM\s{1,40})?LOGIN@\s{1,20}IDLE\s{1,20}(?:JCPU\s{1,20}PCPU\s{1,20})?WHAT"
    )
    _line = re.compile(
        r"(?P<user>\S{1,64})\s{1,20}(?P<line>\S{1,32})\s{1,20}(?P<source>\S{1,256})\s{1,40}(?P<since>\d\S{3,8}|[A-Z][a-z]{2}\S{2,4})"
        r"\s{1,20}(?P<idle>\S{1,10})\s{1,20}\S{1,10}\s{1,20}\S{1,10}\s{1,20}(?P<what>\S.{0,2000})"
    )

    def __init__(self) -> None:
        self._others: list[Artefact] = []

    def row(self, line: str) -> Artefact | bool | None:
        """Read a session; what it runs is a row of its own."""
        if self.begins.match(line):
            return True
        found = self._line.match(line)
        if found is None:
            return None
        command, user = found["what"].strip(), found["user"]
        running = row_of(TraceKind.RUNNING, command, user=user, where=f"terminal {found['line']}")
        running.product, running.category = "linux", "process_creation"
        running.fields = command_fields(command, is_windows=False, user=user)
        self._others = [running] if command != "-" else []
        source = "" if found["source"] in ("-", ":0") else found["source"]
        detail = f"since {found['since']}, idle {found['idle']}"
        return row_of(TraceKind.LOGIN, user, user=user, source=source, where=found["line"], detail=detail)

    def others(self) -> list[Artefact]:
        """What the session runs."""
        others, self._others = self._others, []
        return others


class WindowsSessions(Block):
    """``quser``, ``query user``."""

    name = "sessions of Windows"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.LOGIN,)
    begins: ClassVar[re.Pattern[str]] = re.compile(
        r"\s?USERNAME\s{1,40}SESSIONNAME\s{1,40}ID\s{1,9}STATE\s{1,20}IDLE TIME"
    )
    _line = re.compile(
        r"[\s>](?P<user>\S{1,64})\s{1,40}(?:(?P<line>[a-z]\S{1,40})\s{1,40})?(?P<id>\d{1,6})\s{1,9}(?P<state>[A-Z][a-z]{1,12})"
        r"\s{1,20}(?P<idle>\S{1,16})\s{1,20}(?P<since>\d.{5,30})"
    )

    def row(self, line: str) -> Artefact | bool | None:
        """Read a session."""
        if self.begins.match(line):
            return True
        found = self._line.match(line)
        if found is None:
            return None
        detail = f"{found['state'].lower()} since {found['since'].strip()}"
        return row_of(TraceKind.LOGIN, found["user"], user=found["user"], where=found["line"] or "", detail=detail)


class Modules(Block):
    """``lsmod``."""

    name = "kernel modules"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.MODULE,)
    begins: ClassVar[re.Pattern[str]] = re.compile(r"Module\s{1,60}Size\s{1,20}Used by")
    _line = re.compile(
        r"(?P<name>[\w-]{1,64})\s{1,60}(?P<size>\d{1,12})\s{1,20}(?P<count>\d{1,6})(?:\s(?P<by>\S{1,1000}))?\s{0,9}\Z"
    )

    def row(self, line: str) -> Artefact | bool | None:
        """Read a module."""
        if self.begins.match(line):
            return True
        found = self._line.match(line)
        if found is None:
            return None
        detail = f"{int(found['size']):,} bytes" + (f", used by {found['by']}" if found["by"] else "")
        return row_of(TraceKind.MODULE, found["name"], detail=detail)


class Containers(Block):
    """``docker ps``: the columns begin where their names do."""

    name = "containers"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.RUNNING,)
    begins: ClassVar[re.Pattern[str]] = re.compile(
        r"CONTAINER ID\s{1,20}IMAGE\s{1,120}COMMAND\s{1,60}CREATED\s{1,40}STATUS\b"
    )
    _column = re.compile(r"\S+(?: \S+)*")

    def __init__(self) -> None:
        self._columns: list[tuple[str, int]] = []

    def row(self, line: str) -> Artefact | bool | None:
        """Read a container: its image and what it runs."""
        if self.begins.match(line):
            self._columns = [(one[0], one.start()) for one in self._column.finditer(line)]
            return True
        ends = [start for _, start in self._columns[1:]] + [len(line)]
        cells = {name: line[start:end].strip() for (name, start), end in zip(self._columns, ends, strict=True)}
        if not re.fullmatch(r"[0-9a-f]{8,64}", cells.get("CONTAINER ID", "")):
            return None
        command = cells.get("COMMAND", "").strip('"')
        detail = ", ".join(filter(None, (cells.get("STATUS"), cells.get("PORTS"), f"image {cells.get('IMAGE')}")))
        where = f"container {cells.get('NAMES') or cells['CONTAINER ID']}"
        return row_of(TraceKind.RUNNING, f"{command} ({cells.get('IMAGE', '')})", where=where, detail=detail)


class PowerShellProcesses(Block):
    """``Get-Process``, whose table ends with the program's name."""

    name = "processes of Windows"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.RUNNING,)
    begins: ClassVar[re.Pattern[str]] = re.compile(
        r"\s{0,4}(?:Handles\s{1,9})?NPM\(K\)\s{1,20}PM\([KM]\)\s{1,20}WS\([KM]\)\s.{0,60}\bId\s{1,9}(?:SI\s{1,9})?ProcessName"
    )
    _line = re.compile(
        r"[\s\d.,]{8,200}?\s(?P<pid>\d{1,9})\s{1,9}(?:\d{1,4}\s{1,9})?(?P<name>[^\s\d-]\S{0,200})\s{0,200}\Z"
    )

    def row(self, line: str) -> Artefact | bool | None:
        """Read a process."""
        if self.begins.match(line) or not line.strip(" -"):
            return True
        found = self._line.match(line)
        return row_of(TraceKind.RUNNING, f"{found['name']}.exe", where=f"process {found['pid']}") if found else None


STATE_BLOCKS: tuple[type[Block], ...] = (
    Files, Capabilities, Sessions, WindowsSessions, Modules, Containers, PowerShellProcesses,
)  # fmt: skip
