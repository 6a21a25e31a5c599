"""Collect how hosts were reached from one another: the ways of lateral movement, with account, source and count.

These are facts, not judgements, because administrators use the same ways; only rarely legitimate ones weigh more. Ways
and techniques: MITRE ATT&CK, lateral movement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from svc.assistant.findings import Finding, Severity
from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.evidence import Place, Span, account_of, base_name
from svc.assistant.skills.events.findings import RemoteAccess

MAX_WAYS = 20_000  # different ones; further ones are not kept
_LOOPBACK = ("", "-", "::1", "127.0.0.1", "0.0.0.0", "localhost")  # noqa: S104 - an address in a log
_CONTROL_PIPES = {
    "svcctl": ("remote service control", "T1543.003"),
    "atsvc": ("remote scheduled task", "T1053.005"),
    "winreg": ("remote registry access", "T1112"),
    "samr": ("account enumeration (SAMR)", "T1087"),
    "lsarpc": ("policy enumeration (LSARPC)", "T1087"),
    "srvsvc": ("share and session enumeration (SRVSVC)", "T1135"),
    "spoolss": ("remote print spooler access (MS-RPRN)", "T1187"),
    "efsrpc": ("remote EFS access (MS-EFSR)", "T1187"),
    "eventlog": ("remote event log access", "T1070.001"),
}
_TOOL_PIPES = ("psexesvc", "paexec", "remcom", "csexec", "xcmd", "winexesvc")
_PORTS = {
    "135": ("RPC", "T1021.003"),
    "445": ("SMB", "T1021.002"),
    "139": ("SMB", "T1021.002"),
    "3389": ("RDP", "T1021.001"),
    "5985": ("WinRM", "T1021.006"),
    "5986": ("WinRM", "T1021.006"),
    "22": ("SSH", "T1021.004"),
}
_SYSTEM_CLIENTS = frozenset({"system", "svchost.exe", "lsass.exe", "dns.exe", "dfsrs.exe", "spoolsv.exe", "", "-"})
_REMOTE_PARENTS = {
    "wmiprvse.exe": ("process started via WMI", "T1047"),
    "wsmprovhost.exe": ("process started via WinRM", "T1021.006"),
    "winrshost.exe": ("process started via WinRM", "T1021.006"),
    "psexesvc.exe": ("process started via PsExec", "T1569.002"),
    "paexec.exe": ("process started via PAExec", "T1569.002"),
}


class _Way(msgspec.Struct, frozen=True):
    """A way of access; ``detail`` is what was reached, ``weight`` from 1 (everyday) to 4 (rarely legitimate)."""

    name: str
    technique: str
    account: str = ""
    source: str = ""
    detail: str = ""
    weight: int = 1


class RemoteAccessCollector:
    """Collects the events about access from or to another host."""

    def __init__(self) -> None:
        self._spans: dict[tuple[str, _Way], Span] = {}
        self._readers: dict[tuple[str, int | None], Callable[[Event], _Way | None]] = {
            ("security", 4624): _logon,
            ("security", 4648): _explicit,
            ("security", 4697): _service,
            ("system", 7045): _service,
            ("security", 5140): _share,
            ("security", 5145): _share,
            ("security", 5156): _connection,
            ("security", 5157): _refused,
            ("system", 10028): _objects,
            ("system", 10036): _objects,
            ("sysmon", 3): _connection,
            ("sysmon", 17): _pipe,
            ("sysmon", 18): _pipe,
            ("sysmon", 1): _process,
            ("security", 4688): _process,
            ("rdp-client", 1024): _desktop_client,
            ("rdp-client", 1102): _desktop_client,
            ("terminalservices-remoteconnectionmanager", 1149): _desktop,
            ("terminalservices-localsessionmanager", 21): _desktop,
            ("terminalservices-localsessionmanager", 25): _desktop,
            ("winrm", 6): _winrm_session,
            ("winrm", 91): _winrm_shell,
        }

    def add(self, event: Event) -> None:
        """Keep the way of access that the event shows, if any."""
        reader = self._readers.get((event.service, event.event_id))
        if reader is None and event.event_id is None and event.product == "windows":  # the same, seen by a sensor
            reader = _SENSED.get(event.category)
        way = reader(event) if reader is not None else None
        if way is None:
            return
        key = event.host, way
        span = self._spans.get(key)
        if span is None:
            if len(self._spans) >= MAX_WAYS:
                return
            span = self._spans[key] = Span(limit=2)
        span.add(event)

    def findings(self, place: Place) -> Iterator[Finding[RemoteAccess]]:
        """Yield the ways with the highest weight first, then in chronological order."""
        ranked = sorted(self._spans.items(), key=lambda item: (-item[0][1].weight, item[1].first))
        for (host, way), span in ranked:
            what = f"{way.name}{f': {way.detail}' if way.detail else ''}"
            yield Finding(
                title=what,
                severity=(Severity.INFO, Severity.INFO, Severity.LOW, Severity.MEDIUM, Severity.HIGH)[way.weight],
                evidence=tuple(place.evidence(event) for event in span.events),
                techniques=(way.technique,),
                facts=RemoteAccess(
                    way=way.name,
                    weight=way.weight,
                    account=way.account or None,
                    source=way.source or None,
                    host=host,
                    detail=way.detail or None,
                    count=span.count,
                    first=span.first or None,
                    last=span.last or None,
                ),
            )


def _from(event: Event) -> str:
    address = event.fields.get("IpAddress", event.fields.get("ClientAddress", "-")).removeprefix("::ffff:")
    return "" if address.lower() in _LOOPBACK else address


def _logon(event: Event) -> _Way | None:
    source, account = _from(event), account_of(event, "Target")
    if not source or account.endswith("$"):
        return None
    match event.fields.get("LogonType"):
        case "10" | "12":
            return _Way("remote desktop logon", "T1021.001", account, source, weight=2)
        case "3" if account.lower().endswith("anonymous logon"):
            return _Way("anonymous network logon", "T1021.002", account, source, weight=2)
        case "3":
            return _Way("network logon", "T1021.002", account, source)
        case _:
            return None


def _explicit(event: Event) -> _Way | None:
    target = event.fields.get("TargetServerName", "-")
    if target.lower() in _LOOPBACK or target.lower().partition(".")[0] == event.host.lower().partition(".")[0]:
        return None
    detail = f"to {target} as {account_of(event, 'Target')}"
    return _Way("logon to another host with explicit credentials", "T1021", account_of(event, "Subject"), "", detail)


def _service(event: Event) -> _Way:
    fields = event.fields
    path = fields.get("ImagePath", fields.get("ServiceFileName", ""))
    lowered = path.lower()
    is_odd = any(
        part in lowered for part in ("%comspec%", "cmd.exe", "powershell", "\\\\127.0.0.1", "admin$", "\\temp\\")
    )
    detail = f"{fields.get('ServiceName', '')} {path[:120]}".strip()
    return _Way("service installed", "T1543.003", account_of(event, "Subject"), "", detail, 3 if is_odd else 1)


def _share(event: Event) -> _Way | None:
    fields = event.fields
    source, account = _from(event), account_of(event, "Subject")
    share = fields.get("ShareName", "").rpartition("\\")[2].upper()
    target = fields.get("RelativeTargetName", "")
    if not source or account.endswith("$"):
        return None
    pipe = target.rpartition("\\")[2].lower()
    if share == "IPC$":
        if any(pipe.startswith(name) for name in _TOOL_PIPES):
            return _Way("named pipe of a remote execution tool", "T1569.002", account, source, target, 4)
        known = _CONTROL_PIPES.get(pipe)
        return (
            _Way(known[0], known[1], account, source, pipe, 2 if pipe in ("svcctl", "atsvc") else 1) if known else None
        )
    if share == "ADMIN$" or (len(share) == 2 and share[1] == "$"):
        is_program = target.lower().endswith((".exe", ".dll", ".ps1", ".bat", ".vbs", ".sys", ".job"))
        detail = f"{share} {target}" if is_program else share
        return _Way("administrative share access", "T1021.002", account, source, detail, 3 if is_program else 2)
    return None


def _connection(event: Event) -> _Way | None:
    fields = event.fields
    known = _PORTS.get(fields.get("DestinationPort", ""))
    target = fields.get("DestinationIp", "")
    if known is None or fields.get("Initiated", "true") != "true" or target.lower() in _LOOPBACK:
        return None
    program = base_name(fields.get("Image", ""))
    if program in _SYSTEM_CLIENTS or fields.get("SourceIp") == target:
        return None
    return _Way(f"outbound {known[0]} connection", known[1], fields.get("User", ""), "", f"{program} to {target}", 2)


_INBOUND = "%%14592"  # a connection's direction, in the message table of the filtering platform


def _refused(event: Event) -> _Way | None:
    """Return a connection to an administrative service of this host that the firewall blocked."""
    fields = event.fields
    if fields.get("Direction") != _INBOUND or fields.get("SourceAddress") == fields.get("DestAddress"):
        return None
    for port, other in (("DestPort", "SourceAddress"), ("SourcePort", "DestAddress")):  # older Windows: local first
        known, source = _PORTS.get(fields.get(port, "")), fields.get(other, "")
        if known is not None and source.lower() not in _LOOPBACK:
            return _Way(f"blocked inbound {known[0]} connection", known[1], "", source, weight=2)
    return None


def _objects(event: Event) -> _Way:
    """Return a failed DCOM activation across hosts; event 10028 names the other host."""
    other = event.fields.get("param1", event.fields.get("Data", "").partition("\n")[0])
    return _Way("failed DCOM activation on another host", "T1021.003", "", "", other[:120], 2)


def _pipe(event: Event) -> _Way | None:
    pipe = event.fields.get("PipeName", "").strip("\\")
    if not pipe.lower().startswith(_TOOL_PIPES):
        return None
    return _Way("named pipe of a remote execution tool", "T1569.002", event.fields.get("User", ""), "", pipe, 4)


def _process(event: Event) -> _Way | None:
    known = _REMOTE_PARENTS.get(base_name(event.fields.get("ParentImage", "")))
    program = base_name(event.fields.get("Image", ""))
    if known is None or program in ("wmiprvse.exe", "conhost.exe", "werfault.exe", "wsmprovhost.exe"):
        return None
    return _Way(known[0], known[1], event.fields.get("User", ""), "", program, 3)


def _desktop(event: Event) -> _Way | None:
    fields = event.fields
    source = fields.get("Param3", fields.get("Address", ""))
    account = fields.get("Param1", fields.get("User", ""))
    if source.lower() in (*_LOOPBACK, "local"):
        return None
    return _Way("remote desktop session", "T1021.001", account, source, weight=2)


def _desktop_client(event: Event) -> _Way:
    return _Way(
        "outbound remote desktop connection", "T1021.001", detail=f"to {event.fields.get('Value', '')}", weight=2
    )


def _data(event: Event) -> str:
    return event.fields.get("connection", event.fields.get("Data", ""))[:120]


_SENSED: dict[str, Callable[[Event], _Way | None]] = {
    "process_creation": _process,
    "network_connection": _connection,
    "pipe_created": _pipe,
}
"""Readers for the telemetry of endpoint sensors, which has categories instead of Windows' event IDs."""


def _winrm_session(event: Event) -> _Way:
    return _Way("outbound WinRM session", "T1021.006", detail=_data(event))


def _winrm_shell(_event: Event) -> _Way:
    return _Way("WinRM shell on this host", "T1021.006", weight=2)
