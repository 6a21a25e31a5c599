"""Read further listings that a responder's commands print, as parts of a file of listings. Pure.

A listing begins with a line of its own form and goes on until another begins. Where a row takes several lines, the
first makes it and the others complete it. Forms: ``lsof``, ``ip addr``, ``ip route``, ``ip neigh``, ``arp -a``,
``systemctl list-units``, ``sc query`` and ``sc qc``, ``schtasks /query``, ``net user``, ``net localgroup``,
``whoami /all``, ``ipconfig /all`` (English Windows), OpenVPN's status file.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from typing import ClassVar

from svc.assistant.log_readers.host.commands import command_fields
from svc.assistant.log_readers.host.record import MAX_TEXT_CHARS, Artefact, TraceKind

_ADDRESS = r"[0-9A-Fa-f:.]{2,45}"
_MAC = r"(?:[0-9A-Fa-f]{1,2}[:-]){5}[0-9A-Fa-f]{1,2}"
_BROADCAST = re.compile(r"(?:ff[:-]){5}ff|01[:-]00[:-]5e|33[:-]33|(?:00[:-]){5}00", re.IGNORECASE)
_RULE_LINE = re.compile(r"[-=\s]{5,200}")


def row_of(
    activity: TraceKind, what: str, *, user: str = "", source: str = "", where: str = "", detail: str = ""
) -> Artefact:
    """Return a row without a number; the reader of the file adds it, and the line."""
    return Artefact(
        number=0,
        activity=activity,
        what=what[:MAX_TEXT_CHARS],
        user=user,
        source=source,
        where=where,
        detail=detail[:MAX_TEXT_CHARS],
        excerpt="",
    )


class Block:
    """One listing. ``row`` returns a new row, True for a line that was understood without one, None for any other."""

    name: ClassVar[str] = ""
    records: ClassVar[tuple[TraceKind, ...]] = ()
    begins: ClassVar[re.Pattern[str]] = re.compile(r"(?!)")

    def row(self, line: str) -> Artefact | bool | None:
        """Read one line, also the first."""
        raise NotImplementedError

    def others(self) -> list[Artefact]:
        """The further rows of the last line, once."""
        return []


class OpenFiles(Block):
    """``lsof``."""

    name = "open files"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.SOCKET, TraceKind.RUNNING, TraceKind.OPENED)
    begins: ClassVar[re.Pattern[str]] = re.compile(
        r"COMMAND\s{1,20}PID\s{1,20}(?:\S{3,8}\s{1,20}){0,3}USER\s{1,20}FD\s{1,20}TYPE\b"
    )
    _line = re.compile(
        r"(?P<program>\S{1,64})\s{1,40}(?P<pid>\d{1,9})\s{1,40}(?:\d{1,9}\s{1,20}(?:\S{1,40}\s{1,20})?)?(?P<user>\S{1,64})"
        r"\s{1,20}(?P<fd>\d{1,6}[rwu]?[A-Za-z]?|cwd|rtd|txt|mem|mmap|DEL|NOFD|err|ltx|pd|twd)\s{1,40}"
        r"(?P<type>IPv4|IPv6|REG|DIR|CHR|BLK|FIFO|unix|sock|a_inode|KQUEUE|unknown|netlink|pack|raw6?|[A-Za-z0-9_]{2,10})"
        r"\s{1,40}(?P<rest>\S.{0,2000})"
    )
    _socket = re.compile(
        r"(?P<protocol>TCP|UDP|UDPLITE|SCTP)\s{1,20}(?P<local>\S{1,300}?)(?:->(?P<remote>\S{1,300}))?(?:\s{1,9}\((?P<state>\w{2,20})\))?\Z"
    )

    def __init__(self, socket_row: Callable[[str, str, str, str, str, str], Artefact]) -> None:
        self._socket_row = socket_row

    def row(self, line: str) -> Artefact | bool | None:
        """Read a file, or a socket."""
        if self.begins.match(line):
            return True
        found = self._line.match(line)
        if found is None:
            return None
        rest, program, user = found["rest"].strip(), found["program"], found["user"]
        if found["type"] in ("IPv4", "IPv6"):
            socket = self._socket.search(rest)
            if socket is None:
                return True
            state = socket["state"] or ""
            made = self._socket_row(
                socket["protocol"], socket["local"], socket["remote"] or "", state, program, found["pid"]
            )
            made.user = user
            return made
        path = rest.partition("/")[1] + rest.partition("/")[2] if "/" in rest else rest.rpartition(" ")[2]
        if found["fd"] == "txt":
            return row_of(TraceKind.RUNNING, path, user=user, where=f"process {found['pid']}", detail=program)
        return row_of(TraceKind.OPENED, path, user=user, where=f"process {found['pid']} {found['fd']}", detail=program)


class Interfaces(Block):
    """``ip addr`` and ``ifconfig``."""

    name = "network interfaces"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.ADDRESS,)
    begins: ClassVar[re.Pattern[str]] = re.compile(
        r"(?:\d{1,5}: (?P<new>[^:\s]{1,40}): <[A-Z0-9_,-]{1,200}> mtu \d|(?P<old>[\w.@-]{1,40}): flags=\d{1,6}<)"
    )
    _address = re.compile(rf"\s{{1,20}}inet6? (?P<address>{_ADDRESS})(?:/(?P<bits>\d{{1,3}}))?\b")
    _aside = re.compile(
        r"\s{1,20}(?:link/|valid_lft|ether |loop |RX |TX |altname|unspec|txqueuelen|nd6|options=|media:|status:|brd"
        r"|\S{1,30}: )"
    )

    def __init__(self) -> None:
        self._interface = self._flags = ""

    def row(self, line: str) -> Artefact | bool | None:
        """Read an interface's line, or an address."""
        if begun := self.begins.match(line):
            self._interface = begun["new"] or begun["old"]
            self._flags = "receives the traffic of others (PROMISC)" if "PROMISC" in line else ""
            return True
        if found := self._address.match(line):
            bits = f"/{found['bits']}" if found["bits"] else ""
            return row_of(TraceKind.ADDRESS, found["address"] + bits, where=self._interface, detail=self._flags)
        return True if self._aside.match(line) else None


class RouteTable(Block):
    """``ip route``, ``route -n``."""

    name = "routes"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.ROUTE,)
    begins: ClassVar[re.Pattern[str]] = re.compile(
        rf"(?:default|{_ADDRESS}/\d{{1,3}}) (?:via {_ADDRESS}|dev \S{{1,40}} (?:proto|scope|metric|src)\b)"
        r"|Destination\s{1,20}Gateway\s{1,20}(?:Genmask\s{1,20})?Flags"
    )
    _line = re.compile(
        rf"(?P<to>default|(?:unreachable |blackhole |prohibit )?{_ADDRESS}(?:/\d{{1,3}})?)"
        rf"(?: via (?P<via>{_ADDRESS}))?(?: dev (?P<dev>\S{{1,40}}))?\b"
    )
    _old = re.compile(
        rf"(?P<to>default|{_ADDRESS})\s{{1,20}}(?P<via>{_ADDRESS}|\*)\s{{1,20}}(?P<mask>{_ADDRESS})\s{{1,20}}[A-Z!]{{1,8}}\s.{{1,60}}\s(?P<dev>\S{{1,40}})\s{{0,9}}\Z"
    )

    def row(self, line: str) -> Artefact | bool | None:
        """Read a route."""
        if line.startswith(("Destination", "Kernel")):
            return True
        found = self._old.match(line) or self._line.match(line)
        if found is None:
            return None
        via = found["via"] or ""
        return row_of(
            TraceKind.ROUTE, found["to"], source=via, where=found["dev"] or "", detail=f"via {via}" if via else "direct"
        )


class Neighbours(Block):
    """``arp -a`` of Linux, macOS and Windows, ``arp -n``, ``ip neigh``."""

    name = "neighbours"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.NEIGHBOUR,)
    begins: ClassVar[re.Pattern[str]] = re.compile(
        rf"Interface: {_ADDRESS} --- 0x|\S{{1,253}} \({_ADDRESS}\) at (?:{_MAC}|<incomplete>|\(incomplete\))"
        rf"|{_ADDRESS} dev \S{{1,40}} (?:lladdr {_MAC} )?(?:router )?[A-Z]{{4,12}}\b"
        r"|Address\s{1,40}HWtype\s{1,40}HWaddress"
    )
    _line = re.compile(
        rf"(?:\S{{1,253}} \((?P<a>{_ADDRESS})\) at (?P<am>{_MAC}|<incomplete>|\(incomplete\))(?P<ar>.{{0,200}})"
        rf"|(?P<b>{_ADDRESS}) dev (?P<bd>\S{{1,40}}) (?:lladdr (?P<bm>{_MAC}) )?(?P<br>.{{0,100}})"
        rf"|\s{{0,10}}(?P<c>{_ADDRESS})\s{{1,40}}(?:ether\s{{1,40}})?(?P<cm>{_MAC}|\(incomplete\))\s{{0,40}}(?P<cr>.{{0,100}}))"
    )

    def __init__(self) -> None:
        self._by_mac: dict[str, Artefact] = {}

    def row(self, line: str) -> Artefact | bool | None:
        """Read an address with its hardware address."""
        if line.startswith(("Interface:", "Address ", "  Internet Address")) or "Physical Address" in line:
            return True
        found = self._line.match(line)
        if found is None:
            return None
        address = found["a"] or found["b"] or found["c"]
        mac = (found["am"] or found["bm"] or found["cm"] or "").lower().replace("-", ":").strip("<>()")
        made = row_of(TraceKind.NEIGHBOUR, address, source=address, where=mac or "no hardware address")
        if len(mac) > 10 and not _BROADCAST.match(mac):
            if (known := self._by_mac.get(mac)) is not None and known.what != address:
                made.detail = f"the same hardware address as {known.what}"
            self._by_mac.setdefault(mac, made)
        return made


class Units(Block):
    """``systemctl list-units`` and ``list-unit-files``."""

    name = "systemd units"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.SERVICE,)
    begins: ClassVar[re.Pattern[str]] = re.compile(
        r"\s{0,4}UNIT(?:\s{1,200}LOAD\s{1,40}ACTIVE\s{1,40}SUB\b| FILE\s{1,200}(?:STATE|PRESET)\b)"
    )
    _line = re.compile(
        r"[\s*\u25cf\u00d7\u25cb\u21bb]{0,4}(?P<unit>[^\s\u25cf]{1,250}\.[a-z]{4,9})\s{1,200}(?P<state>loaded|not-found|masked|error|bad-setting)\s{1,20}"
        r"(?P<active>\S{2,15})\s{1,20}(?P<sub>\S{2,20})\s{0,20}(?P<about>.{0,300})"
    )
    _file = re.compile(
        r"(?P<unit>[^\s\u25cf]{1,250}\.[a-z]{4,9})\s{1,200}(?P<state>[a-z-]{3,20})(?:\s{1,40}(?P<preset>\S{1,20}))?\s{0,9}\Z"
    )
    _aside = re.compile(
        r"\s{0,4}(?:LOAD|ACTIVE|SUB|JOB)\s{1,9}(?:=|→)|Legend:|\d{1,6} (?:loaded )?units?\b"
        r"|\d{1,6} unit files|To show all|lines \d"
    )

    def row(self, line: str) -> Artefact | bool | None:
        """Read a unit."""
        if self.begins.match(line) or self._aside.match(line):
            return True
        if found := self._line.fullmatch(line.rstrip()):
            detail = f"{found['state']} {found['active']} {found['sub']}"
            return row_of(TraceKind.SERVICE, found["unit"], where=found["about"].strip(), detail=detail)
        if found := self._file.fullmatch(line.rstrip()):
            return row_of(TraceKind.SERVICE, found["unit"], detail=found["state"])
        return None


class WindowsServices(Block):
    """``sc query``, ``sc queryex``, ``sc qc``."""

    name = "Windows services"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.SERVICE, TraceKind.PERSISTS)
    begins: ClassVar[re.Pattern[str]] = re.compile(r"\s{0,4}SERVICE_NAME\s?: \S")
    _line = re.compile(r"\s{0,12}(?P<name>[A-Z_0-9]{3,24})\s{0,24}:\s{0,3}(?P<value>.{0,1000})")
    _state = re.compile(r"\d{1,2}\s{1,4}([A-Z_]{4,20})")

    def __init__(self) -> None:
        self._latest: Artefact | None = None

    def row(self, line: str) -> Artefact | bool | None:
        """Read a line of a service."""
        found = self._line.match(line)
        if found is None:
            return True if line.strip().startswith(("(", "[SC]")) else None
        name, value = found["name"], found["value"].strip()
        if name == "SERVICE_NAME":
            self._latest = row_of(TraceKind.SERVICE, value)
            return self._latest
        if self._latest is None:
            return None
        if name == "DISPLAY_NAME":
            self._latest.where = self._latest.where or value
        elif name == "STATE" and (state := self._state.match(value)):
            self._latest.detail = state[1].lower().replace("_", " ")
        elif name == "BINARY_PATH_NAME":
            self._latest.activity = TraceKind.PERSISTS
            self._latest.where = f"\\Services\\{self._latest.what}"
            _runs(self._latest, value)
        elif name == "SERVICE_START_NAME":
            self._latest.user = value
        return True


def _runs(row: Artefact, command: str) -> None:
    """Make a row one of a command that something starts."""
    row.what = row.excerpt = command[:MAX_TEXT_CHARS]
    row.product, row.category = "windows", "process_creation"
    row.fields = command_fields(command, is_windows=True, user=row.user)


class Tasks(Block):
    """``schtasks /query`` as a list, as CSV and as a table."""

    name = "scheduled tasks"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.PERSISTS,)
    begins: ClassVar[re.Pattern[str]] = re.compile(
        r'Folder: \\|HostName:\s{1,40}\S|"HostName","TaskName",|"TaskName","Next Run Time","Status"'
        r"|TaskName\s{1,80}Next Run Time\s{1,40}Status"
    )
    _line = re.compile(r"(?P<name>[A-Z][A-Za-z :()/-]{2,40}?):\s{1,60}(?P<value>.{0,2000})")
    _table = re.compile(
        r"(?P<task>\S.{0,200}?)\s{1,80}"
        r"(?P<next>N/A|Disabled|\d[\d/.-]{5,9},? [\d:.]{4,8}(?: [AP]M)?)\s{1,40}"
        r"(?P<state>[A-Z][a-z]{2,12}(?: \w{1,12})?)\s{0,9}\Z"
    )

    def __init__(self) -> None:
        self._columns: list[str] = []
        self._latest: Artefact | None = None

    def row(self, line: str) -> Artefact | bool | None:
        """Read a line of a task, or a task on one line."""
        if line.startswith('"'):
            return self._csv(line)
        if line.startswith(("Folder:", "INFO:", "TaskName  ")) or _RULE_LINE.fullmatch(line):
            return True
        found = self._line.match(line)
        if found is None:
            table = self._table.match(line)
            if table is None:
                return True if line.startswith(" ") else None
            return row_of(TraceKind.PERSISTS, table["task"], detail=f"{table['state']}, next run {table['next']}")
        return self._member(found["name"], found["value"].strip())

    def _member(self, name: str, value: str) -> Artefact | bool:
        if name == "TaskName":
            self._latest = row_of(TraceKind.PERSISTS, value, where=f"task {value}")
            return self._latest
        if self._latest is not None:
            self._complete(self._latest, name, value)
        return True

    def _complete(self, row: Artefact, name: str, value: str) -> None:
        if name == "Task To Run" and value not in ("", "N/A"):
            _runs(row, value)
        elif name == "Run As User":
            row.user = value if value != "N/A" else ""
        elif name in ("Last Run Time", "Author", "Schedule Type") and value != "N/A":
            row.detail = f"{row.detail}, {name.lower()} {value}".strip(", ")[:MAX_TEXT_CHARS]

    def _csv(self, line: str) -> Artefact | bool | None:
        try:
            cells = next(csv.reader([line.replace("\r", "")]), [])
        except csv.Error:
            return None
        if "TaskName" in cells:
            self._columns = cells
            return True
        named = dict(zip(self._columns, cells, strict=False))
        if len(cells) < 3 or "TaskName" not in named:
            return None
        made = row_of(TraceKind.PERSISTS, named["TaskName"], where=f"task {named['TaskName']}")
        for name in ("Run As User", "Task To Run", "Last Run Time", "Author"):
            self._complete(made, name, named.get(name, "").strip())
        return made


class NetUsers(Block):
    """``net user``, ``net user NAME``, ``net localgroup NAME``."""

    name = "accounts of Windows"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.ACCOUNT, TraceKind.GROUP)
    begins: ClassVar[re.Pattern[str]] = re.compile(
        r"User accounts for \\\\|User name\s{4,40}\S|(?:Alias|Group) name\s{4,20}\S"
    )
    _end = re.compile(r"The command completed|There are no entries", re.IGNORECASE)
    _told: ClassVar[frozenset[str]] = frozenset(
        {"Account active", "Password last set", "Last logon", "Local Group Memberships", "Account expires"}
    )

    def __init__(self) -> None:
        self._others: list[Artefact] = []
        self._form = ""
        self._is_list = False
        self._latest: Artefact | None = None

    def row(self, line: str) -> Artefact | bool | None:
        """Read an account, a member, or a line about an account."""
        if begun := self.begins.match(line):
            self._form, self._is_list = begun[0].split(" ")[0], False
            value = re.split(r"\s{4,}", line.strip())[-1]
            if self._form == "User" and begun[0].startswith("User name"):
                self._form = "one"
                self._latest = row_of(TraceKind.ACCOUNT, value)
                return self._latest
            if self._form in ("Alias", "Group"):
                self._latest = row_of(TraceKind.GROUP, value)
                return self._latest
            return True
        if _RULE_LINE.fullmatch(line):
            self._is_list = True
            return True
        if self._end.match(line):
            self._is_list = False
            return True
        return self._inside(line)

    def _inside(self, line: str) -> Artefact | bool | None:
        if self._form == "one" and self._latest is not None:
            name, _, value = line.partition("  ")
            if name in self._told and value.strip():
                words = f"{name.lower()} {' '.join(value.split())}"
                words = words.replace("account active No", "not active")
                parts = (words, self._latest.detail) if "Memberships" in name else (self._latest.detail, words)
                self._latest.detail = ", ".join(filter(None, parts))
            return True
        if not self._is_list:
            return True
        if self._form in ("Alias", "Group") and self._latest is not None:
            members = f"{self._latest.where}, {line.strip()}" if self._latest.where else f"members {line.strip()}"
            self._latest.where = members[:MAX_TEXT_CHARS]
            return True
        names = re.split(r"\s{2,}", line.strip())
        # several accounts are on a line: the first is its row, the others are added by the reader of the file
        self._others = [row_of(TraceKind.ACCOUNT, name) for name in names[1:]]
        return row_of(TraceKind.ACCOUNT, names[0])

    def others(self) -> list[Artefact]:
        """The further accounts of a line."""
        others, self._others = self._others, []
        return others


class WhoAmI(Block):
    """``whoami /all`` and its parts."""

    name = "the account that ran the commands"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.ACCOUNT, TraceKind.GROUP, TraceKind.RIGHT)
    begins: ClassVar[re.Pattern[str]] = re.compile(r"(?:USER|GROUP|PRIVILEGES|USER CLAIMS) INFORMATION\s{0,9}\Z")

    def __init__(self) -> None:
        self._kind = TraceKind.ACCOUNT
        self._starts: list[tuple[int, int]] = []

    def row(self, line: str) -> Artefact | bool | None:
        """Read a row of a table."""
        if self.begins.match(line):
            kinds = {"G": TraceKind.GROUP, "P": TraceKind.RIGHT}
            self._kind, self._starts = kinds.get(line[0], TraceKind.ACCOUNT), []
            return True
        if _RULE_LINE.fullmatch(line):
            if "=" in line:
                self._starts = [(one.start(), one.end()) for one in re.finditer("=+", line)]
            return True
        if not self._starts:
            return True
        cells = [line[start:end].strip() for start, end in self._starts]
        if not cells[0]:
            return None
        if self._kind is TraceKind.RIGHT:
            return row_of(self._kind, cells[0], where=cells[1] if len(cells) > 1 else "", detail=cells[-1].lower())
        return row_of(self._kind, cells[0], detail=", ".join(filter(None, cells[1:])))


class IpConfig(Block):
    """``ipconfig`` and ``ipconfig /all``."""

    name = "network adapters"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.ADDRESS,)
    begins: ClassVar[re.Pattern[str]] = re.compile(r"Windows IP Configuration")
    _adapter = re.compile(r"(?P<name>\S.{0,120}):\s{0,3}\Z")
    _line = re.compile(r"\s{1,12}(?P<name>[A-Z][\w ()/-]{1,40}?)[ .]{2,60}: ?(?P<value>.{0,200})")
    _more = re.compile(rf"\s{{20,60}}(?P<value>{_ADDRESS}(?:%\d{{1,5}})?)\s{{0,9}}\Z")
    _wanted = re.compile(
        r"(?:Autoconfiguration )?IPv[46] Address|IP Address|Link-local IPv6 Address"
        r"|DNS Servers|Default Gateway|DHCP Server"
    )

    def __init__(self) -> None:
        self._adapter_name = self._latest = ""

    def row(self, line: str) -> Artefact | bool | None:
        """Read an address and what it is for."""
        if self.begins.match(line):
            return True
        if found := self._line.match(line):
            self._latest = found["name"].strip() if self._wanted.match(found["name"]) else ""
            return self._address(found["value"])
        if found := self._more.match(line):
            return self._address(found["value"])
        if found := self._adapter.match(line):
            self._adapter_name = found["name"]
            return True
        return None

    def _address(self, value: str) -> Artefact | bool:
        address = value.partition("(")[0].strip()
        if not self._latest or not address:
            return True
        return row_of(TraceKind.ADDRESS, address, where=self._adapter_name, detail=self._latest)


class VpnClients(Block):
    """OpenVPN's status file, versions 1 to 3: the clients that are connected."""

    name = "clients of a VPN"
    records: ClassVar[tuple[TraceKind, ...]] = (TraceKind.LOGIN,)
    begins: ClassVar[re.Pattern[str]] = re.compile(r"OpenVPN (?:CLIENT LIST|STATISTICS)|TITLE[,\t]OpenVPN \d")
    _time = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}")
    _asides = (
        "TITLE",
        "TIME",
        "HEADER",
        "ROUTING",
        "GLOBAL",
        "END",
        "Updated,",
        "Virtual Address",
        "Max bcast",
        "TUN/TAP",
    )

    def __init__(self) -> None:
        self._is_clients = False

    def row(self, line: str) -> Artefact | bool | None:
        """Read a client of the list; the routing table repeats the clients."""
        if self.begins.match(line):
            self._is_clients = False
            return True
        cells = re.split(r"[,\t]", line.strip())
        if cells[0] == "CLIENT_LIST" and len(cells) > 7:
            return self._client(cells[1], cells[2], cells[3], cells[7])
        if cells[0] == "Common Name":
            self._is_clients = True
            return True
        if line.startswith(self._asides):
            self._is_clients = False
            return True
        if self._is_clients and len(cells) == 5:
            return self._client(cells[0], cells[1], "", cells[4])
        return True if len(cells) > 3 and not self._is_clients else None

    def _client(self, user: str, real: str, inside: str, since: str) -> Artefact | None:
        if not self._time.match(since):
            return None
        address = real.rpartition(":")[0] or real
        detail = f"connected since {since}" + (f" as {inside}" if inside else "")
        return row_of(TraceKind.LOGIN, user, user=user, source=address, where="VPN", detail=detail)


BLOCKS: tuple[type[Block], ...] = (
    OpenFiles, Interfaces, Neighbours, RouteTable, Units, WindowsServices, Tasks, NetUsers, WhoAmI, IpConfig,
    VpnClients,
)  # fmt: skip
