"""Findings about remote calls, relayed logins, poisoned names, remote desktops and WinRM. Pure.

Decides how severe each is, and by what else is in the capture: a domain controller may replicate.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from svc.assistant.findings import Confidence, Facts, Finding, Severity
from svc.assistant.knowledge.network import Interface, interface_by_text, mark_of_call, mark_of_name
from svc.assistant.skills.pcap.activity import ActivityJudgement, Sighting, activity, is_dense, listing
from svc.assistant.skills.pcap.addresses import is_internal
from svc.assistant.skills.pcap.capture import Capture
from svc.assistant.skills.pcap.directory_findings import directory_findings
from svc.assistant.skills.pcap.dns import address_text
from svc.assistant.skills.pcap.findings import PcapActivity, PcapRemote
from svc.assistant.skills.pcap.flows import Flow
from svc.assistant.skills.pcap.labels import CaptureNames, iso
from svc.assistant.skills.pcap.smb_rpc import SCRIPTS, Remote
from svc.assistant.skills.pcap.windows.local_names import Answerer
from svc.assistant.skills.pcap.windows.rdp import Desktop

GUESSED_LOGINS = 5  # refused ones of a client at a server: fail2ban's default
SPRAYED_USERS = 5  # accounts with a refused login from one client
DESKTOPS = 3  # that one client opened
DESKTOP_GUESSES = 10  # connections of a client to one desktop …
DESKTOP_PAUSE_SECONDS = 20.0  # … with a mean pause below this
_ADMIN_SHARES = frozenset({"ADMIN$", "C$", "D$", "E$"})
_EXPLOITS = {
    "Zerologon": ("tried Zerologon: a challenge of zeros, or many logins as a machine", ("T1210", "T1068")),
    "EternalBlue": ("sent a message that only EternalBlue and DoublePulsar send", ("T1210",)),
    "SMBGhost": ("sent a compressed message with a forged length (SMBGhost)", ("T1210", "T1068")),
}
_REPLICATION = ("drsuapi", 3)
_RANKS = {severity: rank for rank, severity in enumerate(Severity)}
_Judged = tuple[str, Severity, tuple[str, ...]]


def windows_findings(capture: Capture, names: CaptureNames) -> Iterator[Finding[Facts]]:
    """Yield everything that Windows' protocols show."""
    kinds = (_remotes, directory_findings, _refused_logins, _relays, _poisoners, _desktops, _management)
    for find in kinds:
        yield from find(capture, names)


class _ActionGroup(msgspec.Struct):
    flow: Flow
    remote: Remote
    count: int = 0


def _remotes(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapRemote]]:
    controllers = {flow.server[0] for flow, request in capture.tickets.items if request.reply_number}
    groups: dict[tuple[str, str, int | None, bytes, bytes, str, str], _ActionGroup] = {}
    for flow, remote in capture.remotes.items:
        ends = (flow.client[0], flow.server[0])
        key = (remote.what, remote.detail, remote.operation, *ends, remote.result, remote.words)
        groups.setdefault(key, _ActionGroup(flow, remote)).count += 1
    for action in sorted(groups.values(), key=lambda action: action.remote.operation is None):
        remote, flow = action.remote, action.flow
        what, severity, techniques = _judged(remote, is_controller=flow.client[0] in controllers)
        shown = f"{names.flow(flow)} {remote.detail} {remote.words}".strip()
        yield Finding(
            title=f"{what}: {address_text(flow.client[0])} → {address_text(flow.server[0])}",
            severity=severity,
            evidence=(names.packet(remote.number, shown),),
            techniques=techniques,
            facts=PcapRemote(
                what=remote.what,
                name=_shown(remote),
                operation=what,
                words=remote.words,
                client=address_text(flow.client[0]),
                server=address_text(flow.server[0]),
                count=action.count,
                result=remote.result,
                first=iso(remote.seconds),
            ),
        )


def _shown(remote: Remote) -> str:
    interface = interface_by_text(remote.detail) if remote.what == "call" else None
    return interface.name if interface else remote.detail


def _less(severity: Severity) -> Severity:
    """One step lower: the interface was opened, but no known operation was seen."""
    order = list(Severity)
    return order[min(order.index(severity) + 1, len(order) - 1)]


def _judged(remote: Remote, *, is_controller: bool) -> _Judged:
    """The operation in words, its severity and its techniques."""
    match remote.what:
        case "call":
            interface = interface_by_text(remote.detail)
            return _judged_call(interface, remote, is_controller=is_controller) if interface else _PLAIN_CALL
        case "object":
            return f"started {remote.detail} on another host (DCOM)", Severity.HIGH, ("T1021.003",)
        case "exploit":
            what, techniques = _EXPLOITS[remote.detail]
            return what, Severity.HIGH, techniques
        case "share":
            is_admin = _is_admin_share(remote.detail)
            severity = Severity.MEDIUM if is_admin else Severity.INFO
            return f"opened the share {remote.detail}", severity, ("T1021.002",) if is_admin else ()
        case "program":
            return _judged_program(remote)
        case "login":
            result = f", {remote.result}" if remote.result else ""
            return f"NTLM login of {remote.detail}{result}", Severity.INFO, ()
        case "dialect":
            severity = Severity.LOW if remote.detail == "SMB 1" else Severity.INFO
            return f"speaks {remote.detail}", severity, ()
    mark = mark_of_name(remote.detail)
    if mark is not None:
        return f"opened {remote.detail} ({mark.what})", mark.severity, tuple(mark.techniques)
    return f"opened {remote.detail}", Severity.INFO, ()


def _is_admin_share(path: str) -> bool:
    return path.upper().rpartition("\\")[2] in _ADMIN_SHARES


_PLAIN_CALL: _Judged = ("a call", Severity.INFO, ())


def _judged_program(remote: Remote) -> _Judged:
    """A program or script that was written; on an ordinary share of a file server people do that as well."""
    is_script = remote.detail.lower().endswith(SCRIPTS) and not remote.detail.lower().endswith(".exe")
    what = f"wrote a {'script or library' if is_script else 'program'} to {remote.detail}"
    mark = mark_of_name(remote.detail)
    if remote.words and not _is_admin_share(remote.words) and mark is None:
        return what, Severity.MEDIUM, ("T1570",)
    found = ("T1570", "T1021.002", *(mark.techniques if mark else ()))
    return what, Severity.HIGH, tuple(dict.fromkeys(found))


def _judged_call(interface: Interface, remote: Remote, *, is_controller: bool) -> _Judged:
    done = interface.operations.get(str(remote.operation))
    if done is None:
        return f"{interface.what} ({interface.name})", _less(interface.severity), tuple(interface.techniques)
    techniques = tuple(interface.techniques if done.techniques is None else done.techniques)
    text, severity = f"{done.what} ({interface.name})", done.severity
    if is_controller and (interface.name, remote.operation) == _REPLICATION:
        return f"{text}; the client is a domain controller itself", Severity.INFO, ()
    mark = mark_of_call(remote.words)
    if mark is not None and severity is not Severity.INFO:
        text = f"{text}; the call {mark.what}"
        severity = min(severity, mark.severity, key=_RANKS.__getitem__)
        techniques = tuple(dict.fromkeys((*techniques, *mark.techniques)))
    return text, severity, techniques


def _refused_logins(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapActivity]]:
    """NTLM logins that a server of SMB refused."""
    groups: dict[tuple[bytes, bytes], list[tuple[Sighting, str]]] = {}
    for flow, remote in capture.remotes.items:
        if remote.what == "login" and remote.result:
            account = remote.detail.partition(" from ")[0]
            seen = Sighting(remote.number, remote.seconds, flow, account)
            groups.setdefault((flow.client[0], flow.server[0]), []).append((seen, remote.result))
    for (client, server), logins in groups.items():
        refused = [seen for seen, result in logins if result == "refused"]
        if len(refused) < GUESSED_LOGINS:
            continue
        tried = {seen.name for seen in refused}
        entered = [seen.name for seen, result in logins if result == "accepted" and seen.name in tried]
        is_spray = len(tried) >= SPRAYED_USERS and len(refused) <= 3 * len(tried)
        where = f"{address_text(client)} → {address_text(server)}"
        what = "password spraying" if is_spray else "password guessing"
        then = f"; then {entered[0]} was accepted" if entered else "; none of them was accepted in the capture"
        judged = ActivityJudgement(
            title=f"{what} over SMB: {where}, {len(refused):,} logins of {len(tried):,} accounts refused{then}",
            severity=_guessed_severity(client, is_entered=bool(entered)),
            techniques=("T1110.003",) if is_spray else ("T1110.001",),
            why=f"The server refused the logins of {listing(refused)}.",
            confidence=Confidence.HIGH,
        )
        yield activity("guessing", judged, refused, names, protocol="SMB", client=client, server=server, port=445)


def _guessed_severity(client: bytes, *, is_entered: bool) -> Severity:
    """Guesses from the Internet without success are everyday."""
    if is_entered:
        return Severity.CRITICAL
    return Severity.HIGH if is_internal(client) else Severity.MEDIUM


def _relays(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapActivity]]:
    """A challenge that two servers sent: one of them passed it on."""
    groups: dict[bytes, list[Sighting]] = {}
    for flow, challenge in capture.challenges.items:
        seen = Sighting(challenge.number, challenge.seconds, flow, address_text(flow.server[0]))
        groups.setdefault(challenge.value, []).append(seen)
    for shared in groups.values():
        flows = [one.flow for one in shared if one.flow is not None]
        middle = {flow.client[0] for flow in flows} & {flow.server[0] for flow in flows}
        if len({flow.server[0] for flow in flows}) < 2 or not middle:
            continue
        is_proxy = all(flow.label == "HTTP" for flow in flows)
        host = address_text(min(middle))
        judged = ActivityJudgement(
            title=f"{host} passed a login on: the same NTLM challenge came from {listing(shared)}",
            severity=Severity.MEDIUM if is_proxy else Severity.HIGH,
            techniques=("T1557.001",) if not is_proxy else ("T1557",),
            why="A server makes a new challenge for each login; one that appears twice was relayed."
            + (" A web proxy does that as well." if is_proxy else ""),
            confidence=Confidence.LOW if is_proxy else Confidence.HIGH,
        )
        yield activity("relay", judged, shared, names, protocol="NTLM", client=min(middle))


def _poisoners(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapActivity]]:
    logins = {(flow.client[0], flow.server[0]) for flow, one in capture.remotes.items if one.what == "login"}
    for address, found in capture.names.poisoners():
        followed = [client for client in found.clients if (client, address) in logins]
        yield _poisoner(address, found, followed, names)


def _poisoner(address: bytes, found: Answerer, followed: list[bytes], names: CaptureNames) -> Finding[PcapActivity]:
    listed = [Sighting(number, found.first, name=name) for number, name in zip(found.numbers, found.names, strict=True)]
    then = f"; {address_text(followed[0])} then logged in there" if followed else ""
    judged = ActivityJudgement(
        title=f"{address_text(address)} answers for names of others over {found.protocol}: {listing(listed)}{then}",
        severity=Severity.HIGH if len(listed) > 1 or followed else Severity.MEDIUM,
        techniques=("T1557.001",),
        why="A host answers for its own name. One that answers for every name that is asked makes others log in to it, "
        "as Responder does.",
        confidence=Confidence.HIGH if followed or len(listed) > 2 else Confidence.MEDIUM,
    )
    last = Sighting(found.numbers[-1], found.last)
    return activity("names", judged, [*listed, last], names, protocol=found.protocol, server=address, count=len(listed))


def _desktops(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapActivity]]:
    groups: dict[tuple[bytes, bytes, int], list[Sighting]] = {}
    for flow, desktop in capture.desktops.items:
        seen = Sighting(desktop.number, desktop.seconds, flow, desktop.user)
        groups.setdefault((flow.client[0], *flow.server), []).append(seen)
        if desktop.has_bluekeep:
            yield _bluekeep(flow, desktop, names)
    reached: dict[bytes, set[bytes]] = {}
    for client, server, _ in groups:
        reached.setdefault(client, set()).add(server)
    for (client, server, port), opened in groups.items():
        judged = _judged_desktop(client, server, opened, len(reached[client]))
        yield activity("desktop", judged, opened, names, protocol="RDP", client=client, server=server, port=port)


def _bluekeep(flow: Flow, desktop: Desktop, names: CaptureNames) -> Finding[PcapActivity]:
    judged = ActivityJudgement(
        title=f"BlueKeep was tried: {names.flow(flow)}",
        severity=Severity.HIGH,
        techniques=("T1210",),
        why="The client asked for the channel MS_T120, which only Windows itself may open (CVE-2019-0708).",
    )
    seen = [Sighting(desktop.number, desktop.seconds, flow, desktop.user)]
    server, port = flow.server
    return activity("desktop", judged, seen, names, protocol="RDP", client=flow.client[0], server=server, port=port)


def _judged_desktop(client: bytes, server: bytes, seen: list[Sighting], reached: int) -> ActivityJudgement:
    where = f"{address_text(client)} → {address_text(server)}"
    users = f" as {listing(seen)}" if any(one.name for one in seen) else ""
    not_visible = "RDP is encrypted: whether a login succeeded, and what was done, is not visible in the capture."
    if is_dense([one.seconds for one in seen], DESKTOP_GUESSES, DESKTOP_PAUSE_SECONDS):
        return ActivityJudgement(
            title=f"password guessing over RDP: {where}, {len(seen):,} connections{users}",
            severity=Severity.MEDIUM,
            techniques=("T1110.001", "T1021.001"),
            why=f"So many connections in a row are made by a program. {not_visible}",
        )
    is_outside = not is_internal(client) and is_internal(server)
    if is_outside or reached >= DESKTOPS:
        origin = "from outside of the network" if is_outside else f"to one of {reached:,} hosts from the same client"
        return ActivityJudgement(
            title=f"remote desktop {origin}: {where}{users}",
            severity=Severity.MEDIUM,
            techniques=("T1021.001", "T1133") if is_outside else ("T1021.001",),
            why=f"An administrator works so, and an intruder. {not_visible}",
        )
    return ActivityJudgement(
        title=f"remote desktop: {where}{users}",
        severity=Severity.LOW,
        techniques=("T1021.001",),
        why=f"Remote desktops are everyday administration. {not_visible}",
        confidence=Confidence.LOW,
    )


_FORWARDING = ("/wsman/subscriptionmanager", "/wsman/subscriptions")
_MANAGEMENT_TYPES = (
    "http-spnego-session-encrypted",
    "http-kerberos-session-encrypted",
    "http-credssp-session-encrypted",
)


def _management(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapActivity]]:
    """WinRM: requests to /wsman, or a body that only WinRM encrypts so."""
    groups: dict[tuple[bytes, bytes, int], list[Sighting]] = {}
    states: dict[tuple[bytes, bytes, int], set[int]] = {}
    for flow, one in capture.exchanges.items:
        target = one.target.lower()
        is_shell = any(kind in one.sent_type.lower() for kind in _MANAGEMENT_TYPES)
        if not (target.startswith("/wsman") or is_shell) or target.startswith(_FORWARDING):
            continue
        key = (flow.client[0], *flow.server)
        groups.setdefault(key, []).append(Sighting(one.number, one.seconds, flow, one.account or one.scheme))
        states.setdefault(key, set()).add(one.status)
    for (client, server, port), seen in groups.items():
        found = states[client, server, port]
        is_let_in = 200 in found
        result = "" if is_let_in else "; no request was accepted in the capture"
        judged = ActivityJudgement(
            title=f"remote PowerShell or management (WinRM): {address_text(client)} → {address_text(server)}{result}",
            severity=Severity.MEDIUM if is_let_in or not any(found) else Severity.LOW,
            techniques=("T1021.006",),
            why="Administrators use it, and intruders to move to other hosts. What was run is encrypted and "
            "not visible.",
        )
        yield activity("management", judged, seen, names, protocol="WinRM", client=client, server=server, port=port)
