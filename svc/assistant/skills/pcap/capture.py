"""What is collected while a capture is read: flows, names, requests, handshakes, logins, remote commands. Pure.

``Capture.add`` takes one record after the other; ``tool.py`` makes findings of the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

import msgspec

from svc.assistant.file_types.signatures import PE_MARK, starts_as
from svc.assistant.findings import Severity
from svc.assistant.knowledge.network import ICMP, TCP, UDP, Mark, mark_of_text
from svc.assistant.skills.pcap.capture_file import Record
from svc.assistant.skills.pcap.cleartext_logins import Credential, Logins, Telnet, Transfer, login_protocol
from svc.assistant.skills.pcap.dns import PORTS, Dns
from svc.assistant.skills.pcap.echoes import Echoes
from svc.assistant.skills.pcap.flows import Flow, FlowReader, Flows
from svc.assistant.skills.pcap.fragments import Fragments
from svc.assistant.skills.pcap.http import REQUEST, Http, HttpExchange
from svc.assistant.skills.pcap.packets import LINK_TYPES, ArpClaim, Packet, read_packet
from svc.assistant.skills.pcap.smb_rpc import Remote, Rpc, Smb, is_rpc, is_smb
from svc.assistant.skills.pcap.tls import Handshake, Tls
from svc.assistant.skills.pcap.windows.kerberos import PORT as KERBEROS_PORT
from svc.assistant.skills.pcap.windows.kerberos import Kerberos, TicketRequest, is_kerberos
from svc.assistant.skills.pcap.windows.ldap import PORTS as LDAP_PORTS
from svc.assistant.skills.pcap.windows.ldap import DirectoryCall, Ldap, is_ldap
from svc.assistant.skills.pcap.windows.local_names import PORTS as NAME_PORTS
from svc.assistant.skills.pcap.windows.local_names import LocalNames
from svc.assistant.skills.pcap.windows.ntlm import Challenge
from svc.assistant.skills.pcap.windows.rdp import Desktop, Rdp, is_rdp

MAX_COLLECTED = 50_000  # of each: requests, handshakes, logins, remote commands
MAX_WORDS_BYTES = 8_192  # of a flow of no known protocol: banners and prompts come early
MAX_WORD_BYTES = 100  # of a piece, which may have been cut in two
_PRINTABLE = bytes(range(32, 127)) + b"\t\r\n\x1b"
MAX_SECONDS = 100_000  # of activity counted apart; later ones are added to the last
_TLS_UNDER_WAY = frozenset({b"\x17\x03\x03", b"\x17\x03\x01", b"\x17\x03\x02"})  # records of data
_ASKED_ADDRESSES = 2_000  # that one host looks for by ARP
_TDS_FIRST = 0x12  # the first message of a client of SQL Server ([MS-TDS] pre-login)
_EXPECTED_OF_TELNET = "T1095"  # a shell is what Telnet is for
_PROGRAM = Mark("", "a Windows program in cleartext over an unknown protocol", Severity.HIGH, ["T1105", "T1095"])

Item = TypeVar("Item")


class Collected(Generic[Item]):
    """Items of one type with their flows, up to MAX_COLLECTED."""

    def __init__(self) -> None:
        self.items: list[tuple[Flow, Item]] = []
        self.unlisted: int = 0

    def add(self, flow: Flow, item: Item) -> None:
        """Keep one more, or count it."""
        if len(self.items) < MAX_COLLECTED:
            self.items.append((flow, item))
        else:
            self.unlisted += 1


class TextMatch(msgspec.Struct, frozen=True):
    """Text in a flow of no known protocol that is typical of a shell or a program."""

    mark: Mark
    excerpt: str
    number: int


class _TextSearch:
    """Searches the first bytes of a flow of no known protocol for typical text."""

    def __init__(self, note: Callable[[TextMatch], None], *, is_mixed: bool = False) -> None:
        self.is_done = False
        self._note = note
        self._is_mixed = is_mixed
        self._seen_bytes = 0
        self._tail = {True: b"", False: b""}

    def receive(self, data: bytes, *, from_client: bool, number: int, seconds: float) -> None:
        """Search the latest text of one side; a flow that begins with binary data is skipped.

        In a ``mixed`` one text may be anywhere, and in two bytes a character.
        """
        if self._is_mixed:
            data = data.replace(b"\0", b"")
        is_first = not self._seen_bytes
        self._seen_bytes += len(data)
        if is_first and (_is_program(data) or _is_program(data[4:])):
            self._note(TextMatch(_PROGRAM, "MZ", number))
            self.is_done = True
            return
        text = (self._tail[from_client] + data[:MAX_WORDS_BYTES]).decode("utf-8", errors="replace")
        mark = mark_of_text(text) if self._is_mixed or _is_text(data) else None
        if mark is not None:
            self._note(TextMatch(mark, text[:300], number))
        self._tail[from_client] = data[-MAX_WORD_BYTES:]
        is_binary = is_first and not self._is_mixed and not _is_text(data)
        self.is_done = mark is not None or self._seen_bytes > MAX_WORDS_BYTES or is_binary


class _TelnetSession:
    """A Telnet flow: its login, and what a bot types."""

    def __init__(self, login: Telnet, search: _TextSearch) -> None:
        self.is_done = False
        self._readers: list[FlowReader] = [login, search]

    def receive(self, data: bytes, *, from_client: bool, number: int, seconds: float) -> None:
        """Pass the bytes to both."""
        for reader in self._readers:
            if not reader.is_done:
                reader.receive(data, from_client=from_client, number=number, seconds=seconds)
        self.is_done = all(reader.is_done for reader in self._readers)


def _is_text(data: bytes) -> bool:
    """Whether most of the first bytes are printable."""
    head = data[:200]
    return len(head.translate(None, _PRINTABLE)) <= 0.2 * len(head)


def _is_program(data: bytes) -> bool:
    """Whether it begins with a DOS header followed by a PE header or the stub's text."""
    return starts_as(data, "mz") and (b"DOS mode" in data[:256] or (len(data) > 60 and PE_MARK in data[:1024]))


class Capture:
    """What was collected so far."""

    def __init__(self) -> None:
        self.flows: Flows = Flows(self._recognise)
        self.dns: Dns = Dns()
        self.exchanges: Collected[HttpExchange] = Collected()
        self.handshakes: Collected[Handshake] = Collected()
        self.credentials: Collected[Credential] = Collected()
        self.remotes: Collected[Remote] = Collected()
        self.texts: Collected[TextMatch] = Collected()
        self.tickets: Collected[TicketRequest] = Collected()
        self.directory: Collected[DirectoryCall] = Collected()
        self.desktops: Collected[Desktop] = Collected()
        self.challenges: Collected[Challenge] = Collected()
        self.transfers: Collected[Transfer] = Collected()
        self.names: LocalNames = LocalNames()
        self._fragments = Fragments()
        self.echoes: Echoes = Echoes()
        self.asked: dict[bytes, dict[bytes, tuple[int, float]]] = {}
        self.claims: dict[bytes, dict[bytes, int]] = {}
        self.packets: int = 0
        self.bytes: int = 0
        self.unread: int = 0
        self.others: int = 0
        self.first: float = 0.0
        self.last: float = 0.0
        self.link_types: Counter[int] = Counter()
        self.bytes_by_second: Counter[int] = Counter()

    def add(self, record: Record) -> None:
        """Read one record."""
        self.packets += 1
        self.bytes += record.length
        self.link_types[record.link_type] += 1
        self._see_time(record)
        packet = read_packet(record, self._fragments)
        if packet is None:
            self.others += 1
            self.unread += record.link_type not in LINK_TYPES
        elif isinstance(packet, ArpClaim):
            self._arp(packet)
        else:
            flow = self.flows.add(packet)
            if packet.protocol == ICMP:
                self.echoes.add(packet)
            if packet.protocol == UDP and packet.payload and flow is not None:
                self._datagram(flow, packet)
            if packet.payload and (packet.source_port in PORTS or packet.target_port in PORTS):
                self.dns.add(packet, packet.payload[2:] if packet.protocol == TCP else packet.payload)

    def _arp(self, claim: ArpClaim) -> None:
        if claim.is_reply:
            self.claims.setdefault(claim.address, {}).setdefault(claim.hardware, claim.number)
        elif any(claim.address) and claim.target != claim.address:  # else it looks for its own address
            asked = self.asked.setdefault(claim.address, {})
            if len(asked) < _ASKED_ADDRESSES:
                asked.setdefault(claim.target, (claim.number, claim.seconds))

    def _datagram(self, flow: Flow, packet: Packet) -> None:
        """Read what is understood over UDP, besides DNS."""
        if flow.server[1] == KERBEROS_PORT:
            if not isinstance(flow.conversation, Kerberos):
                flow.label, flow.conversation = "Kerberos", Kerberos(partial(self.tickets.add, flow))
            flow.conversation.take(packet.payload, number=packet.number, seconds=packet.seconds)
        elif packet.source_port in NAME_PORTS or packet.target_port in NAME_PORTS:
            self.names.add(packet)

    def _see_time(self, record: Record) -> None:
        if record.seconds <= 0:
            return
        self.first = min(self.first or record.seconds, record.seconds)
        self.last = max(self.last, record.seconds)
        second = int(record.seconds)
        if second in self.bytes_by_second or len(self.bytes_by_second) < MAX_SECONDS:
            self.bytes_by_second[second] += record.length

    def _recognise(self, flow: Flow, data: bytes, from_client: bool) -> FlowReader | None:  # noqa: FBT001
        """Choose the reader of a flow by its first bytes, and label the flow with its protocol."""
        challenge = partial(self._challenge, flow)
        if from_client and REQUEST.match(data):
            flow.label = "HTTP"
            return Http(partial(self.exchanges.add, flow), partial(self.credentials.add, flow), challenge)
        if data[:2] == b"\x16\x03":
            flow.label = "TLS"
            return Tls(partial(self.handshakes.add, flow))
        if is_smb(data):
            flow.label = "SMB"
            return Smb(partial(self.remotes.add, flow), challenge)
        if is_rpc(data):
            flow.label = "DCE/RPC"
            return Rpc(partial(self.remotes.add, flow), challenge)
        if is_kerberos(data):
            flow.label = "Kerberos"
            return Kerberos(partial(self.tickets.add, flow))
        if is_rdp(data):
            flow.label = "RDP"
            return Rdp(partial(self.desktops.add, flow))
        if from_client and (is_ldap(data) or flow.server[1] in LDAP_PORTS):
            flow.label = "LDAP"
            return Ldap(partial(self.directory.add, flow), partial(self.credentials.add, flow), challenge)
        if data.startswith(b"SSH-") or flow.server[1] in PORTS or data[:3] in _TLS_UNDER_WAY:
            flow.label = "SSH" if data.startswith(b"SSH-") else "DNS" if flow.server[1] in PORTS else "TLS"
            return None
        return self._recognise_text(flow, data, from_client=from_client)

    def _recognise_text(self, flow: Flow, data: bytes, *, from_client: bool) -> FlowReader:
        protocol = login_protocol(data, from_client=from_client, server_port=flow.server[1])
        if protocol:
            flow.label = protocol
        login = partial(self.credentials.add, flow)
        if protocol == "Telnet":
            return _TelnetSession(Telnet(login), _TextSearch(partial(self._telnet_text, flow), is_mixed=True))
        if protocol:
            return Logins(protocol, login, partial(self.transfers.add, flow))
        is_sql = from_client and data[0] == _TDS_FIRST and data[1:2] in (b"\0", b"\1")
        flow.label = flow.label or ("SQL Server" if is_sql else "")
        return _TextSearch(partial(self.texts.add, flow), is_mixed=is_sql)

    def _telnet_text(self, flow: Flow, match: TextMatch) -> None:
        if _EXPECTED_OF_TELNET not in match.mark.techniques:
            self.texts.add(flow, match)

    def _challenge(self, flow: Flow, value: bytes, number: int, seconds: float) -> None:
        self.challenges.add(flow, Challenge(value, number, seconds))
