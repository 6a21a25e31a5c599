"""Captures: every framing, damage, protocol contents and detections."""

from __future__ import annotations

import base64
import datetime
import hashlib
import io
import random
import struct
from ipaddress import ip_address
from uuid import UUID

import dpkt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import FactsT, Finding, Gap, Progress, with_facts
from svc.assistant.skills.pcap.findings import (
    PcapArp,
    PcapBeacon,
    PcapCredential,
    PcapDns,
    PcapDnsGenerator,
    PcapDnsTunnel,
    PcapHttp,
    PcapIndicator,
    PcapRemote,
    PcapScan,
    PcapSummary,
    PcapSuspiciousText,
    PcapTls,
    PcapUpload,
)
from svc.assistant.skills.pcap.tool import inspect
from tests.support.captures import (
    CLIENT,
    OUTSIDE,
    SERVER,
    START,
    capture,
    capture_ng,
    conversation,
    ethernet,
    ip,
    question,
    tcp,
    udp,
)

GET = b"GET /index.html HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Mozilla/5.0\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 22\r\n\r\n<html>hello you</html>"
PROGRAM = (
    b"MZ"
    + b"\x90" * 58
    + (64).to_bytes(4, "little")
    + b"PE\x00\x00"
    + b"This program cannot be run in DOS mode"
    + bytes(1_200)
)


def run(content: bytes) -> list:
    return list(inspect(io.BytesIO(content), source="x.pcap"))


def found(content: bytes, facts: type[FactsT]) -> list[Finding[FactsT]]:
    return with_facts((item for item in run(content) if isinstance(item, Finding)), facts)


def one(content: bytes, facts: type[FactsT]) -> Finding[FactsT]:
    [finding] = found(content, facts)
    return finding


def gaps(content: bytes) -> str:
    return " / ".join(item.text for item in run(content) if isinstance(item, Gap))


def summary(content: bytes) -> PcapSummary:
    return one(content, PcapSummary).facts


WEB = conversation([(">", GET), ("<", OK)])


# Framing


@pytest.mark.parametrize(
    "content",
    [capture(WEB), capture(WEB, nano=True), capture_ng(WEB)],
    ids=["microseconds", "nanoseconds", "pcapng"],
)
def test_every_capture_format_gives_the_same_findings(content: bytes):
    facts = summary(content)
    assert (facts.packets, facts.flows, facts.http_requests) == (len(WEB), 1, 1)
    assert str(facts.first).startswith("2025-11-20T00:53:20.000")


def test_big_endian_and_modified_headers_are_read():
    frame = WEB[0][1]
    head = struct.pack(">IHHIIII", 0xA1B2CD34, 2, 4, 0, 0, 65_535, 1)
    record = struct.pack(">IIII", int(START), 5, len(frame), len(frame)) + bytes(8) + frame
    assert summary(head + record * 3).packets == 3


def raw(frame: bytes) -> bytes:
    return frame[14:]


LINKS = {
    "raw IP": (101, raw),
    "raw IPv4": (228, raw),
    "loopback": (0, lambda frame: (2).to_bytes(4, "little") + raw(frame)),
    "cooked": (113, lambda frame: bytes.fromhex("0000000100060204040404040000") + b"\x08\x00" + raw(frame)),
    "VLAN": (1, lambda frame: frame[:12] + bytes.fromhex("81000064") + frame[12:]),
    "double VLAN": (1, lambda frame: frame[:12] + bytes.fromhex("88a8000181000002") + frame[12:]),
    "PPPoE": (
        1,
        lambda frame: (
            frame[:12] + b"\x88\x64\x11\x00\x00\x01" + (len(frame) - 12).to_bytes(2, "big") + b"\x00\x21" + raw(frame)
        ),
    ),
}


@pytest.mark.parametrize(("link_type", "wrap"), LINKS.values(), ids=LINKS)
def test_every_link_layer_is_read(link_type: int, wrap):
    content = capture([(at, wrap(frame)) for at, frame in WEB], link_type=link_type)
    assert one(content, PcapHttp).facts.host == "www.example.com"


def test_ipv6_is_read_like_ipv4():
    frames = conversation([(">", GET), ("<", OK)], client="fd00::5", server="2001:db8::9")
    finding = one(capture(frames), PcapHttp)
    assert (finding.facts.client, finding.facts.server) == ("fd00::5", "2001:db8::9")


def test_an_unknown_link_type_is_a_gap():
    assert "link type" in gaps(capture(WEB, link_type=147))


def test_trailing_bytes_are_reported_and_the_rest_is_kept():
    content = capture(WEB) + b"\x00" * 8
    assert summary(content).packets == len(WEB)
    assert "8 stray bytes" in gaps(content)


def test_a_truncated_capture_keeps_its_complete_packets():
    content = capture(WEB)[:-20]
    assert summary(content).packets == len(WEB) - 1
    assert "cut short" in gaps(content)


@pytest.mark.parametrize("make", [capture, capture_ng], ids=["pcap", "pcapng"])
def test_damage_in_the_middle_is_skipped(make):
    content = bytearray(make(WEB * 10))
    middle = len(content) // 2 // 4 * 4
    content[middle : middle + 200] = b"\xee" * 200
    facts = summary(bytes(content))
    assert 60 <= facts.packets < len(WEB) * 10
    assert "damaged at offset" in gaps(bytes(content))


def test_a_false_length_allocates_no_memory():
    head = capture([])
    content = head + struct.pack("<IIII", int(START), 0, 0xFFFFFFF0, 0xFFFFFFF0) + b"x" * 100
    assert "damaged at offset" in gaps(content)


@pytest.mark.parametrize("content", [b"", b"\xd4\xc3\xb2\xa1", b"hello world, this is no capture", capture([])])
def test_a_capture_without_packets_is_a_gap(content: bytes):
    assert gaps(content)
    assert not [item for item in run(content) if isinstance(item, Finding)]


# Protocol contents


def test_a_request_has_its_reply_packet_number_and_location():
    finding = one(capture(WEB), PcapHttp)
    assert finding.facts.statuses == [200]
    assert finding.facts.body == "html"
    assert finding.facts.received == 22
    assert finding.facts.sha256 == hashlib.sha256(b"<html>hello you</html>").hexdigest()
    assert finding.evidence[0].record == 4


def test_requests_on_one_connection_are_separated_for_any_segmentation():
    turns = [(">", GET.replace(b"index", str(number).encode())) for number in range(3)]
    content = capture(conversation([(">", b"".join(data for _, data in turns)), ("<", OK * 3)], piece=7))
    targets = [finding.facts.target for finding in found(content, PcapHttp)]
    assert targets == ["/0.html", "/1.html", "/2.html"]


def test_reordered_and_retransmitted_segments_are_reassembled():
    frames = conversation([(">", GET), ("<", OK)], piece=20)
    shuffled = frames[:3] + frames[4:6] + [frames[3]] + frames[4:]
    assert one(capture(shuffled), PcapHttp).facts.target == "/index.html"


def test_chunked_bodies_are_joined():
    body = b"5\r\n<html\r\n8;x=y\r\n>hi</htm\r\n2\r\nl>\r\n0\r\n\r\n"
    reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    finding = one(capture(conversation([(">", GET), ("<", reply)], piece=3)), PcapHttp)
    assert finding.facts.sha256 == hashlib.sha256(b"<html>hi</html>").hexdigest()


@pytest.mark.parametrize(
    ("declared", "severity"), [("application/octet-stream", "medium"), ("image/png", "high")], ids=["open", "disguised"]
)
def test_a_downloaded_program_is_reported(declared: str, severity: str):
    reply = f"HTTP/1.1 200 OK\r\nContent-Type: {declared}\r\nContent-Length: {len(PROGRAM)}\r\n\r\n".encode() + PROGRAM
    content = capture(conversation([(">", GET), ("<", reply)]))
    finding = one(content, PcapHttp)
    assert (finding.severity, finding.facts.body) == (severity, "pebin")
    assert "T1105" in finding.techniques
    hashed = [f.facts.value for f in found(content, PcapIndicator) if f.facts.type == "sha256"]
    assert hashed == [hashlib.sha256(PROGRAM).hexdigest()]


@pytest.mark.parametrize(
    ("encoding", "severity"), [("", "medium"), ("br", "info"), ("gzip", "info")], ids=["bare", "brotli", "broken gzip"]
)
def test_a_binary_page_is_reported_unless_it_is_compressed(encoding: str, severity: str):
    body = random.Random(1).randbytes(2_000)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {encoding}\r\nContent-Length: 2000\r\n\r\n"
    finding = one(capture(conversation([(">", GET), ("<", head.encode() + body)])), PcapHttp)
    assert finding.severity == severity


ATTACKS = {
    "traversal": (b"/../../../../etc/passwd", b"x"),
    "encoded traversal": (b"/%2e%2e/%2e%2e/%2e%2e/etc/passwd", b"x"),
    "injection": (b"/?id=1%20UNION%20SELECT%20password", b"x"),
    "log4shell": (b"/?x=${jndi:ldap://a}", b"x"),
    "shell": (b"/up/a.php?cmd=whoami", b"x"),
    "scanner": (b"/", b"sqlmap/1.8"),
    "certutil": (b"/a.exe", b"CertUtil URL Agent"),
}


@pytest.mark.parametrize(("target", "agent"), ATTACKS.values(), ids=ATTACKS)
def test_an_attacking_request_is_marked(target: bytes, agent: bytes):
    request = b"GET " + target + b" HTTP/1.1\r\nHost: a.example.com\r\nUser-Agent: " + agent + b"\r\n\r\n"
    finding = one(capture(conversation([(">", request), ("<", OK)])), PcapHttp)
    assert finding.severity in ("medium", "high")
    assert finding.techniques


ORDINARY = ["/?a=1&id=5", "/a;id=4/b", "/search?q=union+jobs+or+select+committees", "/?c=net&sh=1", "/a/../b.css"]


@pytest.mark.parametrize("target", ORDINARY)
def test_an_ordinary_request_is_not_marked(target: str):
    request = GET.replace(b"/index.html", target.encode())
    assert one(capture(conversation([(">", request), ("<", OK)])), PcapHttp).severity == "info"


def hello(name: str) -> bytes:
    server_name = b"\x00" + len(name).to_bytes(2, "big") + name.encode()
    extensions = [
        (0, len(server_name).to_bytes(2, "big") + server_name),
        (43, b"\x04\x03\x04\x03\x03"),
        (16, b"\x00\x03\x02h2"),
    ]
    packed = b"".join(struct.pack(">HH", kind, len(data)) + data for kind, data in extensions)
    body = (
        b"\x03\x03"
        + bytes(32)
        + b"\x00"
        + b"\x00\x06\x0a\x0a\x13\x01\xc0\x2f"
        + b"\x01\x00"
        + struct.pack(">H", len(packed))
        + packed
    )
    return record(1, body)


def record(kind: int, body: bytes) -> bytes:
    message = bytes([kind]) + len(body).to_bytes(3, "big") + body
    return b"\x16\x03\x01" + len(message).to_bytes(2, "big") + message


def certificate(name: str) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    day = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    built = (
        x509.CertificateBuilder().subject_name(names).issuer_name(names).public_key(key.public_key()).serial_number(1)
    )
    signed = built.not_valid_before(day).not_valid_after(day.replace(year=2021)).sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.DER)


def test_a_handshake_shows_names_fingerprints_and_the_certificate():
    der = certificate("evil.example.net")
    chain = len(der).to_bytes(3, "big") + der
    answer = record(2, b"\x03\x03" + bytes(32) + b"\x00" + b"\xc0\x2f\x00")
    turns = [(">", hello("cdn.example.org")), ("<", answer + record(11, len(chain).to_bytes(3, "big") + chain))]
    finding = one(capture(conversation(turns, ports=(50_000, 4444), piece=11)), PcapTls)
    facts = finding.facts
    assert (facts.name, facts.version) == ("cdn.example.org", "TLS 1.2")
    assert facts.subject == "evil.example.net"
    assert str(facts.ja4).startswith("t13d0203h2_")
    assert len(str(facts.ja3)) == 32
    assert " / ".join(map(str, facts.signs)).count("self-signed") == 1
    assert any("not valid" in str(sign) for sign in facts.signs)
    assert any("port 4444" in str(sign) for sign in facts.signs)


def test_dns_is_counted_by_registered_domain():
    frames = question("www.example.co.uk", missing=False) + question("nothere.example.co.uk", missing=True)
    finding = one(capture(frames), PcapDns)
    assert (finding.facts.domain, finding.facts.queries, finding.facts.failed) == (
        "example.co.uk",
        2,
        1,
    )
    assert finding.facts.answers == [OUTSIDE]


def test_cyclic_dns_name_pointers_do_not_hang_the_reader():
    message = struct.pack(">HHHHHH", 1, 0, 1, 0, 0, 0) + b"\xc0\x0c" + b"\x00\x01\x00\x01"
    content = capture([(START, ethernet(udp(CLIENT, "10.0.0.1", (40_000, 53), message)))])
    assert "DNS messages are truncated or damaged" in gaps(content)


# What stands out


def test_a_beacon_is_found_by_its_intervals():
    chance = random.Random(3)
    frames = []
    for call in range(20):
        at = START + call * 60 + chance.uniform(-5, 5)
        frames += conversation([(">", GET), ("<", OK)], ports=(50_000 + call, 80), at=at)
    finding = one(capture(frames), PcapBeacon)
    assert finding.facts.count == 20
    assert 55 < float(finding.facts.pause_seconds) < 65
    assert finding.facts.server == OUTSIDE


def test_interactive_traffic_is_not_a_beacon():
    chance = random.Random(4)
    at, frames = START, []
    for call in range(40):
        at += chance.expovariate(1 / 60)
        frames += conversation([(">", GET), ("<", OK)], ports=(50_000 + call, 80), at=at)
    assert not found(capture(frames), PcapBeacon)


def knocks(targets: list[tuple[str, int]], opened: tuple[int, ...] = ()) -> list:
    frames = []
    for number, (target, port) in enumerate(targets):
        at = START + number * 0.01
        frames.append((at, ethernet(tcp(CLIENT, target, (40_000 + number, port), 2, 7))))
        frames.append(
            (at + 0.001, ethernet(tcp(target, CLIENT, (port, 40_000 + number), 18 if port in opened else 20, 9)))
        )
    return frames


def test_a_port_scan_lists_the_open_ports():
    finding = one(capture(knocks([(SERVER, port) for port in range(20, 60)], opened=(22, 53))), PcapScan)
    assert (finding.facts.scan, finding.facts.count) == ("ports", 40)
    assert finding.facts.open == ["22", "53"]
    assert finding.techniques == ("T1046",)


def test_a_sweep_for_one_port_over_many_hosts_is_a_scan():
    finding = one(capture(knocks([(f"10.0.1.{number}", 445) for number in range(1, 40)])), PcapScan)
    assert (finding.facts.scan, finding.facts.port) == ("hosts", 445)


def test_pings_over_a_network_are_a_scan():
    frames = [
        (START + n, ethernet(ip(CLIENT, f"10.0.2.{n}", dpkt.icmp.ICMP(type=8, data=dpkt.icmp.ICMP.Echo(data=b"x")), 1)))
        for n in range(1, 30)
    ]
    assert one(capture(frames), PcapScan).facts.scan == "pings"


def test_data_in_dns_names_is_a_tunnel():
    chance = random.Random(5)
    frames = [
        frame
        for number in range(60)
        for frame in question(
            base64.b32encode(chance.randbytes(20)).decode().lower() + ".t.example.org", at=START + number * 0.3, kind=16
        )
    ]
    finding = one(capture(frames), PcapDnsTunnel)
    assert (finding.facts.domain, finding.facts.names) == ("example.org", 60)
    assert "T1071.004" in finding.techniques


def test_many_ordinary_names_of_one_domain_are_not_a_tunnel():
    words = ["mail", "www", "static", "images", "login", "shop", "docs", "news", "cdn", "api"]
    frames = [
        frame
        for number in range(80)
        for frame in question(f"{words[number % 10]}{number}.example.org", at=START + number * 7.3**0.5 * number)
    ]
    assert not found(capture(frames), PcapDnsTunnel)


def test_random_nonexistent_domains_are_a_domain_generation_algorithm():
    chance = random.Random(6)
    names = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=14)) + ".com" for _ in range(30)]
    frames = [
        frame for number, name in enumerate(names) for frame in question(name, at=START + number**1.7, missing=True)
    ]
    finding = one(capture(frames), PcapDnsGenerator)
    assert int(finding.facts.missing) >= 28


def test_an_upload_is_distinguished_from_a_download():
    big = conversation(
        [(">", b"POST / HTTP/1.1\r\nContent-Length: 6000000\r\n\r\n" + bytes(6_000_000)), ("<", OK)], piece=60_000
    )
    down = conversation([(">", GET), ("<", bytes(6_000_000))], piece=60_000)
    assert one(capture(big), PcapUpload).facts.sent > 6_000_000
    assert not found(capture(down), PcapUpload)


def test_a_cleartext_shell_is_critical():
    banner = b"Microsoft Windows [Version 10.0.19045.3803]\r\n(c) Microsoft Corporation.\r\n\r\nC:\\Users\\a>"
    finding = one(
        capture(conversation([(">", banner), ("<", b"whoami\r\n")], ports=(50_000, 4444))), PcapSuspiciousText
    )
    assert (finding.severity, finding.facts.port) == ("critical", 4444)


def test_a_length_prefixed_program_is_found_in_an_unknown_protocol():
    staged = len(PROGRAM).to_bytes(4, "little") + PROGRAM
    assert one(capture(conversation([("<", staged)], ports=(50_000, 4444))), PcapSuspiciousText).severity == "high"


def test_two_macs_claiming_one_address_are_reported():
    frames = []
    for number, card in enumerate((b"\x02" * 6, b"\x06" * 6)):
        arp = dpkt.arp.ARP(
            op=2, sha=card, spa=ip_address("10.0.0.1").packed, tha=b"\x04" * 6, tpa=ip_address(CLIENT).packed
        )
        frames.append((START + number, bytes(dpkt.ethernet.Ethernet(src=card, dst=b"\x04" * 6, type=0x0806, data=arp))))
    assert one(capture(frames), PcapArp).facts.address == "10.0.0.1"


_IN = b"PASS hunter2\r\n"
LOGINS = {
    "FTP": (21, [("<", b"220 hi\r\n"), (">", b"USER jane\r\n"), ("<", b"331\r\n"), (">", _IN), ("<", b"230 in\r\n")]),
    "POP3": (110, [("<", b"+OK hi\r\n"), (">", b"USER jane\r\n"), ("<", b"+OK\r\n"), (">", _IN), ("<", b"+OK\r\n")]),
    "IMAP": (143, [("<", b"* OK hi\r\n"), (">", b'a1 LOGIN jane "hunter2"\r\n'), ("<", b"a1 OK in\r\n")]),
    "SMTP": (
        587,
        [
            ("<", b"220 mx ESMTP Postfix\r\n"),
            (">", b"EHLO a\r\n"),
            ("<", b"250 AUTH PLAIN\r\n"),
            (">", b"AUTH PLAIN " + base64.b64encode(b"\0jane\0hunter2") + b"\r\n"),
            ("<", b"235 ok\r\n"),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("protocol", LOGINS)
def test_a_cleartext_password_is_reported_and_never_shown(protocol: str):
    port, turns = LOGINS[protocol]
    content = capture(conversation(turns, ports=(50_000, port)))
    finding = one(content, PcapCredential)
    assert (finding.facts.protocol, finding.facts.user) == (protocol, "jane")
    assert (finding.facts.secret, finding.facts.accepted) == ("7 characters", 1)
    assert "hunter2" not in str(run(content))


def test_telnet_and_basic_logins_are_reported_and_never_shown():
    telnet = [
        ("<", b"\xff\xfd\x18login: "),
        (">", b"jane\r\n"),
        ("<", b"Password: "),
        (">", b"hunt"),
        (">", b"er2\r\n"),
    ]
    basic = GET.replace(b"\r\n\r\n", b"\r\nAuthorization: Basic " + base64.b64encode(b"bob:hunter2") + b"\r\n\r\n")
    content = capture(conversation(telnet, ports=(50_000, 23)) + conversation([(">", basic), ("<", OK)], at=START + 9))
    users = {finding.facts.protocol: finding.facts.user for finding in found(content, PcapCredential)}
    assert users == {"Telnet": "jane", "HTTP Basic": "bob"}
    assert "hunter2" not in str(run(content))


def test_consecutive_failed_logins_are_password_guessing():
    turns = [("<", b"220 ready\r\n")]
    for number in range(6):
        turns += [(">", b"USER root\r\n"), ("<", b"331 ok\r\n"), (">", b"PASS p%d\r\n" % number), ("<", b"530 no\r\n")]
    finding = one(capture(conversation(turns, ports=(50_000, 21))), PcapCredential)
    assert finding.facts.refused == 6
    assert "T1110.001" in finding.techniques


SVCCTL = UUID("367abb81-9844-35f1-ad32-98f038001003").bytes_le


def rpc(kind: int, body: bytes) -> bytes:
    return struct.pack("<BBBBIHHI", 5, 0, kind, 3, 0x10, 16 + len(body), 0, 1) + body


BIND = rpc(11, struct.pack("<HHIB3x", 4280, 4280, 0, 1) + struct.pack("<HBx", 0, 1) + SVCCTL + bytes(4) + bytes(20))
CREATE_SERVICE = rpc(0, struct.pack("<IHH", 0, 0, 12) + bytes(30))


def test_remote_service_creation_is_detected_in_rpc():
    content = capture(conversation([(">", BIND + CREATE_SERVICE)], server=SERVER, ports=(50_000, 49_700), piece=9))
    operations = [finding.facts.operation for finding in found(content, PcapRemote)]
    assert operations[0] == "created a service (svcctl)"
    assert found(content, PcapRemote)[0].techniques == ("T1021.002", "T1569.002")


def test_a_bound_interface_is_less_severe_than_a_call():
    frames = conversation([(">", BIND + CREATE_SERVICE)], server=SERVER, ports=(50_000, 49_700))
    assert [finding.severity for finding in found(capture(frames), PcapRemote)] == ["high", "medium"]


def smb(command: int, body: bytes, *, message: int = 1, status: int = 0) -> bytes:
    head = b"\xfeSMB" + struct.pack("<HHIHHIIQIIQ", 64, 0, status, command, 1, 0, 0, message, 0, 1, 1) + bytes(16)
    data = head + body
    return b"\x00" + len(data).to_bytes(3, "big") + data


def wide_body(before: str, text: str, size: int) -> bytes:
    name = text.encode("utf-16-le")
    fixed = struct.pack(before, 64 + size, len(name))
    return fixed.ljust(size, b"\x00") + name


def test_admin_shares_pipes_and_programs_are_detected_in_smb():
    file = b"F" * 16
    write = struct.pack("<HHIQ", 49, 64 + 48, len(PROGRAM), 0) + file + bytes(16) + PROGRAM
    pipe = struct.pack("<HHIQ", 49, 64 + 48, len(BIND), 0) + b"P" * 16 + bytes(16) + BIND
    turns = [
        (">", smb(3, wide_body("<4xHH", "\\\\10.0.0.80\\ADMIN$", 8))),
        (">", smb(5, wide_body("<44xHH", "PSEXESVC.exe", 56), message=2)),
        ("<", smb(5, bytes(64) + file + bytes(8), message=2)),
        (">", smb(9, write, message=3)),
        (">", smb(9, pipe, message=4)),
    ]
    findings = found(capture(conversation(turns, server=SERVER, ports=(50_000, 445), piece=333)), PcapRemote)
    by_what = {str(finding.facts.what): finding for finding in findings}
    assert by_what["share"].severity == "medium"
    assert "PsExec" in str(by_what["file"].facts.operation)
    assert by_what["program"].facts.name == "PSEXESVC.exe"
    assert "svcctl" in str(by_what["call"].facts.operation)


# Bounds


def test_progress_starts_at_once_and_figures_follow():
    items = run(capture(WEB * 200))
    texts = [item.text for item in items if isinstance(item, Progress)]
    assert isinstance(items[0], Progress)
    assert any("1,000 packets" in text for text in texts)


def test_flows_over_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("svc.assistant.skills.pcap.flows.MAX_FLOWS", 10)
    content = capture(knocks([(SERVER, port) for port in range(1_000, 1_050)]))
    assert summary(content).flows == 10
    assert "80 packets" in gaps(content)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_damage_is_a_gap_rather_than_an_exception(data: st.DataObject):
    check_damage(data)


@pytest.mark.long
@pytest.mark.timeout(600)
@given(st.data())
@settings(max_examples=5_000, deadline=None)
def test_much_damage_is_a_gap_rather_than_an_exception(data: st.DataObject):
    check_damage(data)


def check_damage(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from([MIXED, MIXED_NG])))
    for _ in range(data.draw(st.integers(1, 30))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    assert run(bytes(content[: data.draw(st.integers(0, len(content)))]))


@given(
    st.lists(st.binary(max_size=200), max_size=20), st.sampled_from([0, 1, 9, 51, 101, 105, 113, 127, 228, 229, 276])
)
@settings(max_examples=60, deadline=None)
def test_any_frames_are_read(frames: list[bytes], link_type: int):
    run(capture([(START, frame) for frame in frames], link_type=link_type))


@given(
    st.sampled_from([GET, BIND, smb(3, wide_body("<4xHH", "\\\\a\\C$", 8)), hello("a.example"), b"220 hi\r\n", b""]),
    st.binary(max_size=400),
    st.sampled_from([21, 23, 53, 80, 110, 143, 445, 4444]),
)
@settings(max_examples=80, deadline=None)
def test_any_bytes_after_a_known_prefix_are_parsed(start: bytes, rest: bytes, port: int):
    run(capture(conversation([(">", start + rest), ("<", rest), (">", rest)], ports=(50_000, port), piece=50)))


_LOGIN_FRAMES = [frame for port, turns in LOGINS.values() for frame in conversation(turns, ports=(50_000, port))]
_PARTS = (
    WEB
    + _LOGIN_FRAMES
    + question("www.example.com", missing=False)
    + conversation([(">", BIND + CREATE_SERVICE)], ports=(50_000, 135))
)
MIXED, MIXED_NG = capture(_PARTS), capture_ng(_PARTS)
