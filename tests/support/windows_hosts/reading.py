"""Scenarios as text, so that many fit on a page: ``LOG ID NAME=VALUE | NAME=VALUE`` a line, under ``# name`` lines.

The name of an attack is followed by its tactic and technique: ``# name : tactic : T1003.001``. In values ``<n>`` is a
line break and ``$S32`` the System32 folder; ``@host`` is the computer that logged the record. A line that begins with
``x20`` is repeated, with the time moving on. The files: ``ordinary_open.txt``, ``attacks_open.txt``, to develop with,
and ``…_held.txt``, written before the rules were changed and read only at the end; ``ordinary_late.txt`` came
after both. Nothing in the ordinary ones may be rated high or critical.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.evtx_writer import CHUNK_BYTES, Record, evtx

LOGS = {
    "Security": ("Security", "Microsoft-Windows-Security-Auditing"),
    "System": ("System", "Service Control Manager"),
    "Application": ("Application", "Application"),
    "Sysmon": ("Microsoft-Windows-Sysmon/Operational", "Microsoft-Windows-Sysmon"),
    "PS": ("Microsoft-Windows-PowerShell/Operational", "Microsoft-Windows-PowerShell"),
    "PSC": ("Windows PowerShell", "PowerShell"),
    "Defender": ("Microsoft-Windows-Windows Defender/Operational", "Microsoft-Windows-Windows Defender"),
    "Task": ("Microsoft-Windows-TaskScheduler/Operational", "Microsoft-Windows-TaskScheduler"),
    "LSM": (
        "Microsoft-Windows-TerminalServices-LocalSessionManager/Operational",
        "Microsoft-Windows-TerminalServices-LocalSessionManager",
    ),
    "RCM": (
        "Microsoft-Windows-TerminalServices-RemoteConnectionManager/Operational",
        "Microsoft-Windows-TerminalServices-RemoteConnectionManager",
    ),
    "RDP": ("Microsoft-Windows-RemoteDesktopServices-RdpCoreTS/Operational", "RdpCoreTS"),
    "RDPClient": ("Microsoft-Windows-TerminalServices-RDPClient/Operational", "TerminalServices-ClientActiveXCore"),
    "WinRM": ("Microsoft-Windows-WinRM/Operational", "Microsoft-Windows-WinRM"),
    "WMI": ("Microsoft-Windows-WMI-Activity/Operational", "Microsoft-Windows-WMI-Activity"),
    "BITS": ("Microsoft-Windows-Bits-Client/Operational", "Microsoft-Windows-Bits-Client"),
    "Firewall": (
        "Microsoft-Windows-Windows Firewall With Advanced Security/Firewall",
        "Microsoft-Windows-Windows Firewall With Advanced Security",
    ),
    "AppX": ("Microsoft-Windows-AppXDeploymentServer/Operational", "Microsoft-Windows-AppXDeployment-Server"),
    "CI": ("Microsoft-Windows-CodeIntegrity/Operational", "Microsoft-Windows-CodeIntegrity"),
    "Print": ("Microsoft-Windows-PrintService/Operational", "Microsoft-Windows-PrintService"),
    "PrintAdmin": ("Microsoft-Windows-PrintService/Admin", "Microsoft-Windows-PrintService"),
    "DNS": ("DNS Server", "Microsoft-Windows-DNS-Server-Service"),
    "Directory": ("Directory Service", "Microsoft-Windows-ActiveDirectory_DomainService"),
    "GroupPolicy": ("Microsoft-Windows-GroupPolicy/Operational", "Microsoft-Windows-GroupPolicy"),
    "NTLM": ("Microsoft-Windows-NTLM/Operational", "Microsoft-Windows-NTLM"),
}
PROVIDERS = {
    ("System", 12): "Microsoft-Windows-Kernel-General", ("System", 13): "Microsoft-Windows-Kernel-General",
    ("System", 41): "Microsoft-Windows-Kernel-Power", ("System", 6005): "EventLog", ("System", 6006): "EventLog",
    ("System", 6008): "EventLog", ("System", 6009): "EventLog", ("System", 6013): "EventLog",
    ("System", 1074): "User32", ("System", 104): "Microsoft-Windows-Eventlog",
    ("System", 19): "Microsoft-Windows-WindowsUpdateClient", ("System", 43): "Microsoft-Windows-WindowsUpdateClient",
    ("System", 44): "Microsoft-Windows-WindowsUpdateClient", ("System", 1): "Microsoft-Windows-Kernel-General",
    ("System", 37): "Microsoft-Windows-Time-Service", ("System", 5719): "NETLOGON", ("System", 5805): "NETLOGON",
    ("System", 5723): "NETLOGON", ("System", 10016): "Microsoft-Windows-DistributedCOM",
    ("System", 10028): "Microsoft-Windows-DistributedCOM", ("Application", 1000): "Application Error",
    ("Application", 1001): "Windows Error Reporting", ("Application", 11707): "MsiInstaller",
    ("Application", 1033): "MsiInstaller", ("Application", 1040): "MsiInstaller", ("Application", 1042): "MsiInstaller",
    ("Application", 325): "ESENT", ("Application", 326): "ESENT", ("Application", 327): "ESENT",
    ("Application", 216): "ESENT", ("Application", 18456): "MSSQLSERVER", ("Application", 15457): "MSSQLSERVER",
    ("Security", 1100): "Microsoft-Windows-Eventlog", ("Security", 1102): "Microsoft-Windows-Eventlog",
}  # fmt: skip
HOST = "PC-0417.corp.example"
START = datetime(2026, 3, 2, 7, 58, 4, 412_000, UTC)
SHORT = {"<n>": "\n", "$S32": r"C:\Windows\System32", "$PF": r"C:\Program Files"}
_REPEATED = re.compile(r"x(\d{1,3}) ")
STEP = timedelta(seconds=41)
_RECORD_BYTES = 60_000  # of a chunk, roughly


@dataclass(frozen=True)
class Scenario:
    """One log: its name, what it should be called (``""`` for ordinary ones), and its records."""

    name: str
    tactic: str
    technique: str
    records: tuple[Record, ...]

    def as_evtx(self) -> bytes:
        """The log as an EVTX file."""
        chunks: list[list[Record]] = [[]]
        size = 0
        for record in self.records:
            weight = 900 + 4 * sum(len(name) + len(value) + 14 for name, value in record.data.items())
            if size + weight > _RECORD_BYTES and chunks[-1]:
                chunks.append([])
                size = 0
            chunks[-1].append(record)
            size += weight
        assert size < CHUNK_BYTES
        return evtx(*chunks)

    def as_json_lines(self) -> bytes:
        """The log as JSON lines, flat, as shippers forward it."""
        return "".join(
            json.dumps(
                {
                    **record.data,
                    "@timestamp": record.time.replace("+00:00", "Z"),
                    "EventID": record.event_id,
                    "Channel": record.channel,
                    "SourceName": record.provider,
                    "Hostname": record.computer,
                }
            )
            + "\n"
            for record in self.records
        ).encode()


def scenarios(name: str) -> list[Scenario]:
    """The scenarios of a file of this folder (``attacks_open``)."""
    text = Path(__file__).with_name(f"{name}.txt").read_text("utf-8")
    found: list[Scenario] = []
    for part in f"\n{text}".split("\n# ")[1:]:
        head, _, body = part.partition("\n")
        name, tactic, technique = ([one.strip() for one in head.split(" : ")] + ["", ""])[:3]
        found.append(Scenario(name, tactic, technique, tuple(_records(body))))
    return found


def _records(body: str) -> Iterator[Record]:
    moment, number = START, 100
    for line in filter(None, map(str.strip, body.splitlines())):
        repeated = _REPEATED.match(line)
        times = int(repeated[1]) if repeated else 1
        log, event_id, *rest = line[repeated.end() if repeated else 0 :].split(" ", 2)
        channel, provider = LOGS[log]
        data = dict(_fields(rest[0] if rest else ""))
        computer = data.pop("@host", HOST)
        for _ in range(times):
            moment += STEP / times
            number += 1
            yield Record(
                number=number,
                event_id=int(event_id),
                time=moment.isoformat(timespec="milliseconds"),
                channel=channel,
                provider=PROVIDERS.get((log, int(event_id)), provider),
                computer=computer,
                data=data,
            )


def _fields(line: str) -> Iterator[tuple[str, str]]:
    for field in filter(None, line.split(" | ")):
        name, _, value = field.strip().partition("=")
        yield (
            name,
            value.replace("<n>", "\n").replace("$S32", r"C:\Windows\System32").replace("$PF", r"C:\Program Files"),
        )
