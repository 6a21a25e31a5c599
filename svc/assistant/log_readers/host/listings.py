"""Read what a responder's commands print: running processes, open ports and connections, logins. Pure.

Such a listing shows one moment, as the system's own tools see it: a rootkit hides from them. Forms: ``ps`` with a
header (procps, BusyBox, BSD), ``tasklist`` as table and as CSV, ``netstat`` of Linux, macOS and Windows, ``ss``,
``last`` and ``lastb`` (util-linux), and those of ``blocks.py`` and ``state_blocks.py``.
"""

from __future__ import annotations

import csv
import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.blocks import BLOCKS, Block, OpenFiles
from svc.assistant.log_readers.host.commands import command_fields
from svc.assistant.log_readers.host.record import MAX_TEXT_CHARS, Artefact, HostNote, Item, Records, TraceKind
from svc.assistant.log_readers.host.state_blocks import STATE_BLOCKS
from svc.assistant.log_readers.lines import Lines, Unread, split_lines

MAX_ROWS = 300_000
HEADER_WITHIN = 40  # lines: a prompt, a banner, the date
_PS_COLUMN = re.compile(r"[%A-Z][\w%:.+-]{0,20}", re.ASCII)
_PS_LAST = frozenset({"COMMAND", "CMD", "ARGS"})
_TASKS = re.compile(r"(?:={2,80} ){1,9}={2,80}\s{0,40}")
_TASK_CSV = re.compile(r'"[^"\n]{1,60}","PID",|"[^"\n]{1,60}","\d{1,7}","(?:Services|Console|RDP-Tcp#\d{1,3})",')
_NETSTAT = re.compile(
    r"\s{0,9}Proto\s{1,40}(?:Recv-Q\s{1,40}Send-Q\s{1,40})?Local Address\s{1,40}Foreign Address\s{1,40}"
    r"(?:\(?state\)?|.{0,40}PID)",
    re.I,
)
_SS = re.compile(
    r"(?:Netid\s{1,40})?State\s{1,40}Recv-Q\s{1,40}Send-Q\s{1,40}Local Address:Port\s{1,40}Peer Address:Port",
    re.I,
)
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_LAST = re.compile(
    rf"(?P<user>\S{{1,64}})\s{{1,40}}(?P<line>system boot|~|\S{{1,32}})\s{{1,40}}(?:(?P<source>\S{{1,256}})\s{{1,40}})?"
    rf"(?P<time>{_DAY} {_MONTH} [ \d]\d \d\d:\d\d(?::\d\d)?(?: \d{{4}})?)(?P<rest>(?: |$).{{0,80}})"
)
_LAST_END = re.compile(r"(?P<file>[\w./-]{0,60}(?:wtmp|btmp)[\w.-]{0,20}) begins ")
_LINUX_PROGRAM = re.compile(r"(?P<pid>\d{1,7})/(?P<name>\S.{0,200})")
_SS_PROGRAM = re.compile(r'\(\("(?P<name>[^"]{1,200})",pid=(?P<pid>\d{1,7})')
_WINDOWS_PROGRAM = re.compile(r"\s\[([^\]\s]{1,200})\]\s{0,40}")
_PROTOCOL = re.compile(r"(?:tcp|udp|udplite|raw|icmp)(?:4|6|46)?", re.I)
_STATES = frozenset(
    [
        "LISTEN",
        "LISTENING",
        "ESTABLISHED",
        "ESTAB",
        "TIME_WAIT",
        "TIME-WAIT",
        "CLOSE_WAIT",
        "CLOSE-WAIT",
        "SYN_SENT",
        "SYN-SENT",
        "SYN_RECV",
        "SYN-RECV",
        "SYN_RECEIVED",
        "FIN_WAIT1",
        "FIN_WAIT2",
        "FIN-WAIT-1",
        "FIN-WAIT-2",
        "FIN_WAIT_1",
        "FIN_WAIT_2",
        "LAST_ACK",
        "LAST-ACK",
        "CLOSING",
        "CLOSED",
        "UNCONN",
        "BOUND",
    ]
)
_LISTENS = frozenset({"LISTEN", "LISTENING"})
_PROMPT = re.compile(r"(?:PS )?[A-Z]:\\[^>]{0,200}>|[$#] \S")
_MOMENT = "a listing shows one moment as the system's own tools saw it: what a rootkit hides is not in it"


_HEADERS = {"tasks": _TASKS, "task csv": _TASK_CSV, "connections": _NETSTAT, "sockets": _SS}
_HOLDS = {name: TraceKind.SOCKET if name in ("connections", "sockets") else TraceKind.RUNNING for name in _HEADERS}
_HOLDS["processes"] = TraceKind.RUNNING


def _block_begun_by(line: str) -> type[Block] | None:
    """Return the listing that begins with this line; None if it is not the first of one."""
    text = line[:600]
    return next((one for one in (*BLOCKS, *STATE_BLOCKS) if one.begins.match(text)), None)


def _text(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head[: len(head) & ~1].decode("utf-16", errors="replace")
    return head.decode("utf-8-sig", errors="replace")


def is_listing(head: bytes) -> bool:
    """Whether a header of such a listing is among the first lines, or the lines are logins of ``last``."""
    lines = [line for line in split_lines(_text(head[:16_384])) if line.strip()]
    return any(_form_of(line) or _block_begun_by(line) for line in lines[:HEADER_WITHIN]) or _is_last(lines)


def _form_of(line: str) -> str:
    """The kind of listing that begins with this line; "" if it is not a header."""
    if _is_process_header(line):
        return "processes"
    return next((name for name, header in _HEADERS.items() if header.match(line[:400])), "")


def _is_process_header(line: str) -> bool:
    columns = line[:400].split()
    return (
        3 <= len(columns) <= 25
        and columns[-1] in _PS_LAST
        and "PID" in columns
        and all(map(_PS_COLUMN.fullmatch, columns))
    )


def _is_last(lines: Sequence[str]) -> bool:
    """Logins have no header: three lines, or two and the closing line, must have the form."""
    logins = sum(_LAST.match(line) is not None for line in lines[:HEADER_WITHIN])
    is_ended = any(_LAST_END.match(line) for line in lines)
    return logins >= 3 or (is_ended and logins > 0)


def read(content: BinaryIO) -> Iterator[Item]:
    """Yield the rows of every listing in the file, in its order."""
    ends = _ends_of_logins(content)
    lines = Lines(content)
    reading = _Listing()
    latest: Artefact | None = None  # kept back: its program may be on the next line
    for number, offset, line in lines:
        for row in reading.rows(line):
            if row.activity is TraceKind.LOGIN and next((failed for end, failed in ends if end > number), False):
                row.activity = TraceKind.FAILED_LOGIN
                row.time_means = row.activity.value
            row.number, row.offset = number, offset
            yield from filter(None, [latest])
            latest = row
        if reading.count > MAX_ROWS:
            yield Gap(text=f"only the first {MAX_ROWS:,} rows were read", in_headline=True)
            yield Unread(1)
            break
    yield from filter(None, [latest])
    if "logins" in reading.named:
        yield from _about_logins(ends)
        kinds = {failed for _, failed in ends} or {False}
        reading.records += [TraceKind.FAILED_LOGIN] if True in kinds else []
        reading.records += [TraceKind.LOGIN, TraceKind.SYSTEM] if False in kinds else []
    yield Records(tuple(dict.fromkeys(reading.records)))
    for name in reading.named:
        yield HostNote("listing", name)
    if reading.unread:
        yield Gap(text=f"{reading.unread:,} lines of the listing were not understood")
        yield Unread(reading.unread)
    yield Gap(text=_MOMENT)
    yield from lines.gaps("lines of a listing")


def _ends_of_logins(content: BinaryIO) -> list[tuple[int, bool]]:
    """The lines that close a list of logins, each with whether the logins above it failed."""
    ends = [(number, "btmp" in found["file"]) for number, _, line in Lines(content) if (found := _LAST_END.match(line))]
    content.seek(0)
    return ends


def _about_logins(ends: Sequence[tuple[int, bool]]) -> Iterator[Gap]:
    yield Gap(text="the times of the logins state no zone, and some no year")
    if not ends:
        yield Gap(
            text="accepted and failed logins have the same form; these were read as accepted ones, because no line "
            "names the file that they come from (“wtmp begins …”)",
            in_headline=True,
        )


class _Listing:
    """Reads the rows below the latest header."""

    def __init__(self) -> None:
        self.count = self.unread = 0
        self.records: list[TraceKind] = []  # that the listings can hold
        self.named: list[str] = []
        self._form = ""
        self._columns: list[str] = []
        self._starts: list[tuple[int, int]] = []
        self._before = ""
        self._latest: Artefact | None = None
        self._block: Block | None = None
        self._previous = ""
        self._readers: dict[str, Callable[[str], Artefact | None]] = {
            "processes": self._process,
            "tasks": self._task,
            "task csv": self._task_csv,
            "connections": self._connection,
            "sockets": self._socket,
        }

    def rows(self, line: str) -> list[Artefact]:
        """Read one line: no row for a header, an empty line and one that is not understood."""
        before, self._previous = self._previous, line
        form = _form_of(line)
        is_in_block = form == "tasks" and self._block is not None and "PID" not in before  # a line of "=" of its own
        if is_in_block or (not form and (self._block is not None or _block_begun_by(line) is not None)):
            found = self._of_block(line)
            if found is not None:
                return found
        row = self._row(line)
        return [row] if row is not None else []

    def _of_block(self, line: str) -> list[Artefact] | None:
        """The rows of a line in a listing of ``blocks.py``; None if it may be a login."""
        kind = _block_begun_by(line)
        if kind is not None and type(self._block) is not kind:
            self._block = OpenFiles(_socket) if kind is OpenFiles else kind()
            self._form = ""
            self.records += [one for one in kind.records if one not in self.records]
            self.named += [kind.name] if kind.name not in self.named else []
        if self._block is None or not line.strip() or _PROMPT.match(line):
            return []
        if _LAST.match(line) is not None:
            return None
        row = self._block.row(line)
        if row is None and not self._is_prompt(line):
            self.unread += 1
        if row is None or isinstance(row, bool):
            return []
        made = [row, *self._block.others()]
        self.count += len(made)
        for one in made:
            one.excerpt = " ".join(line.split())[:MAX_TEXT_CHARS]
        return made

    @staticmethod
    def _is_prompt(line: str) -> bool:
        return line.lstrip().startswith(("$", "#", "PS ", "C:\\", ">"))

    def _row(self, line: str) -> Artefact | None:
        form = _form_of(line)
        if form and not (form == self._form == "task csv"):
            self._begin(form, line)
            if form != "task csv" or '"PID"' in line:
                return None
        self._before = line
        if not line.strip():
            return None
        found = self._login(line)
        if found is None and self._form:
            found = self._readers[self._form](line)
            if found is None and not self._is_aside(line):
                self.unread += 1
        if found is not None:
            self.count += 1
            found.excerpt = " ".join(line.split())[:MAX_TEXT_CHARS]
            self._latest = found
        return found

    def _begin(self, form: str, line: str) -> None:
        self._form, self._block = form, None
        if form == "processes":
            self._columns = line.split()
        elif form == "tasks":
            self._starts = [(one.start(), one.end()) for one in re.finditer(r"=+", line)]
            self._columns = [self._before[start:end].strip().casefold() for start, end in self._starts]
        elif form == "task csv":
            self._columns = _cells(line) if '"PID"' in line else []
        self.records += [_HOLDS[form]] if _HOLDS[form] not in self.records else []
        self.named += [form] if form not in self.named else []

    def _is_aside(self, line: str) -> bool:
        """A line that states no row: the program of the row before it, a title, a prompt, what follows a listing."""
        if self._form == "connections" and self._latest is not None:
            if (named := _WINDOWS_PROGRAM.fullmatch(line)) is not None:
                self._latest.detail = named[1]
                return True
            return not _PROTOCOL.match(line.strip())
        return self._form in ("tasks", "task csv", "sockets") or self._is_prompt(line)

    def _process(self, line: str) -> Artefact | None:
        cells = line.split(None, len(self._columns) - 1)
        if len(cells) < len(self._columns) or not cells[self._columns.index("PID")].isdigit():
            return None
        named = dict(zip(self._columns, cells, strict=True))
        command = cells[-1].strip()
        user = next((named[name] for name in ("USER", "UID", "EUSER", "RUSER") if name in named), "")
        return _running(command, user=user, pid=named["PID"], parent=named.get("PPID", ""), is_windows=False)

    def _task(self, line: str) -> Artefact | None:
        cells = [line[start:end].strip() for start, end in self._starts]
        named = dict(zip(self._columns, cells, strict=True))
        number = cells[1] if len(cells) > 1 else ""
        if not cells[0] or not number.isdigit():
            return None
        return _running(cells[0], user=_windows_user(named.get("user name", "")), pid=number, is_windows=True)

    def _task_csv(self, line: str) -> Artefact | None:
        cells = _cells(line)
        if len(cells) < 2 or not cells[1].isdigit():
            return None
        named = dict(zip((name.casefold() for name in self._columns), cells, strict=False))
        return _running(cells[0], user=_windows_user(named.get("user name", "")), pid=cells[1], is_windows=True)

    def _connection(self, line: str) -> Artefact | None:
        cells = line.split()
        if len(cells) < 3 or not _PROTOCOL.fullmatch(cells[0]):
            return None
        at = 3 if len(cells) > 4 and cells[1].isdigit() and cells[2].isdigit() else 1
        state = next((cell for cell in cells[at + 2 : at + 3] if cell.upper() in _STATES), "")
        program = _LINUX_PROGRAM.search(line)
        last = cells[-1] if cells[-1].isdigit() and at == 1 else ""
        return _socket(
            cells[0],
            cells[at],
            cells[at + 1] if len(cells) > at + 1 else "",
            state,
            program["name"].strip() if program else "",
            program["pid"] if program else last,
        )

    def _socket(self, line: str) -> Artefact | None:
        cells = line.split()
        at = 1 if cells and _PROTOCOL.fullmatch(cells[0]) else 0
        if len(cells) < at + 5 or cells[at].upper() not in _STATES or not cells[at + 1].isdigit():
            return None
        program = _SS_PROGRAM.search(line)
        return _socket(
            cells[0] if at else "tcp",
            cells[at + 3],
            cells[at + 4],
            cells[at],
            program["name"] if program else "",
            program["pid"] if program else "",
        )

    def _login(self, line: str) -> Artefact | None:
        if _LAST_END.match(line) is not None or (found := _LAST.match(line)) is None:
            return None
        user, source = found["user"], found["source"] or ""
        is_system = user in ("reboot", "shutdown", "runlevel")
        activity = TraceKind.SYSTEM if is_system else TraceKind.LOGIN
        if "logins" not in self.named:
            self.named.append("logins")
        return Artefact(
            number=0,
            activity=activity,
            what=user,
            user="" if is_system else user,
            source="" if is_system or source.startswith(":") else source,
            where=found["line"],
            detail=" ".join(filter(None, (found["time"], found["rest"].strip(" -")))),
            time_means=activity.value,
            excerpt="",
        )


def _cells(line: str) -> list[str]:
    """The cells of a line of CSV; none if it is damaged."""
    try:
        return next(csv.reader([line.replace("\r", "")]), [])
    except csv.Error:
        return []


def _running(command: str, *, user: str, pid: str, is_windows: bool, parent: str = "") -> Artefact:
    """A process; ``tasklist`` names its program without folder and arguments, on which no rule can decide."""
    return Artefact(
        number=0,
        activity=TraceKind.RUNNING,
        what=command[:MAX_TEXT_CHARS],
        user=user,
        where=f"process {pid}",
        detail=f"parent {parent}" if parent else "",
        excerpt="",
        product="linux",
        category="process_creation",
        fields={} if is_windows else command_fields(command, is_windows=False, user=user) | {"ProcessId": pid},
    )


def _windows_user(name: str) -> str:
    return "" if name in ("N/A", "n/a") else name


def _socket(protocol: str, local: str, remote: str, state: str, program: str, pid: str) -> Artefact:
    listens = state.upper() in _LISTENS or (not state and _is_any(remote))
    what = f"{protocol.lower()} {local} listening" if listens else f"{protocol.lower()} {local} to {remote}"
    return Artefact(
        number=0,
        activity=TraceKind.SOCKET,
        what=what,
        source="" if listens else _address(remote),
        where="" if listens else f"{state.lower()} {'outside' if _is_outside(remote) else 'inside'}".strip(),
        detail=program or (f"process {pid}" if pid else ""),
        excerpt="",
    )


def _address(endpoint: str) -> str:
    """The address of ``192.0.2.7:22``, ``[2001:db8::1]:22`` or macOS' ``192.0.2.7.22``."""
    host, _, port = endpoint.rpartition(":")
    if host.count(".") == 0 and ":" not in host and endpoint.count(".") == 4:
        host, _, port = endpoint.rpartition(".")
    return host.strip("[]").partition("%")[0] if port else endpoint


def _is_any(endpoint: str) -> bool:
    return endpoint in ("", "*.*") or _address(endpoint) in ("0.0.0.0", "*", "::", "")  # noqa: S104  # text of a listing


def _is_outside(endpoint: str) -> bool:
    try:
        address = ipaddress.ip_address(_address(endpoint).removeprefix("::ffff:"))
    except ValueError:
        return False
    documented = any(address in net for net in _DOCUMENTATION if net.version == address.version)
    return documented or not (
        address.is_private or address.is_unspecified or address.is_loopback or address.is_link_local
    )


_DOCUMENTATION = tuple(
    map(ipaddress.ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"))
)
"""Addresses of examples count as outside."""
