"""Frames of attacks on Windows networks, hosts and sites, from which the captures of the tests are made."""

# ruff: noqa: E501 - messages are as long as they are
from __future__ import annotations

import base64
import random
import struct
from collections.abc import Callable, Sequence

import dpkt

from tests.support.captures import Frame, conversation, ethernet, ip, question, tcp, udp
from tests.support.protocol_messages import (
    ETYPES,
    both,
    create,
    created,
    either,
    equal,
    ioctl,
    kdc_error,
    kdc_reply,
    kdc_request,
    name_answer,
    netbios_message,
    present,
    rpc_bind,
    rpc_call,
    sized,
    smb,
    smb_login,
    tree,
    wide,
    write,
)  # fmt: skip

START = 1_763_600_000.0
PC, DC, HOST, EVIL = "10.9.1.21", "10.9.1.2", "10.9.1.60", "198.51.100.77"
PC6, DC6 = "fd00:9::21", "fd00:9::2"
Turn = tuple[str, bytes]
Login = tuple[str, str, str, bytes]
"""Domain, account, computer and the server's challenge."""
Build = Callable[[], list[Frame]]
PROGRAM = (
    b"MZ"
    + b"\x90" * 58
    + (64).to_bytes(4, "little")
    + b"PE\x00\x00"
    + b"This program cannot be run in DOS mode"
    + bytes(1_200)
)

SVCCTL = "367abb81-9844-35f1-ad32-98f038001003"
SAMR = "12345778-1234-abcd-ef00-0123456789ac"
LSARPC = "12345778-1234-abcd-ef00-0123456789ab"
SRVSVC = "4b324fc8-1670-01d3-1278-5a47bf6ee188"
WINREG = "338cd001-2244-31f1-aaaa-900038001003"
TASKS = "86d35949-83c9-4044-b424-db363231fd0c"
ATSVC = "1ff70682-0a51-30e8-076d-740be8cee98b"
DRSUAPI = "e3514235-4b06-11d1-ab04-00c04fc2dcd2"
NETLOGON = "12345678-1234-abcd-ef00-01234567cffb"
SPOOLSS = "12345678-1234-abcd-ef00-0123456789ab"
EFS = "c681d488-d850-11d0-8c52-00c04fd90f7e"
WMI = "9556dc99-828c-11cf-a37e-00aa003240c7"
DISPATCH = "00020400-0000-0000-c000-000000000046"
ACTIVATOR = "000001a0-0000-0000-c000-000000000046"
WKSSVC = "6bffd098-a112-3610-9833-46c3f87e345a"
EVENTS = "f6beaff7-1e19-4fbb-9f8f-b89e2018337c"
EPM = "e1af8308-5d1f-11c9-91a4-08002b14a0fa"


def over_tcp(uuid: str, calls: Sequence[tuple[int, bytes]], port: int = 49_670, **ends: object) -> list[Frame]:
    turns = [(">", rpc_bind(uuid))] + [(">", rpc_call(number, stub)) for number, stub in calls]
    return conversation(turns, **{"client": PC, "server": HOST, "ports": (50_111, port)} | ends)  # type: ignore[arg-type]


def over_pipe(
    uuid: str, pipe: str, calls: Sequence[tuple[int, bytes]], *, by_write: bool = False, **ends: object
) -> list[Frame]:
    file = b"P" * 8 + b"Q" * 8
    put = write if by_write else ioctl
    turns = [
        *smb_login("CORP", "anna", "WS21", b"\x11\x22\x33\x44\x55\x66\x77\x99"),
        (">", tree(f"\\\\{HOST}\\IPC$", 3)),
        (">", create(pipe, 4)),
        ("<", created(file, 4)),
        (">", put(file, rpc_bind(uuid), 5)),
        *((">", put(file, rpc_call(number, stub), 6 + at)) for at, (number, stub) in enumerate(calls)),
    ]
    return conversation(turns, **{"client": PC, "server": HOST, "ports": (50_112, 445)} | ends)  # type: ignore[arg-type]


def kerberos(
    turns: Sequence[Turn], *, at: float = START, client: str = PC, server: str = DC, port: int = 50_200
) -> list[Frame]:
    """Over UDP."""
    frames = []
    for number, (side, data) in enumerate(turns):
        ends = (client, server, (port, 88)) if side == ">" else (server, client, (88, port))
        frames.append((at + number * 0.01, ethernet(udp(*ends, data))))
    return frames


def kerberos_tcp(turns: Sequence[Turn], **ends: object) -> list[Frame]:
    return conversation(
        [(side, sized(data)) for side, data in turns], **{"client": PC, "server": DC, "ports": (50_201, 88)} | ends
    )  # type: ignore[arg-type]


def web(requests: Sequence[bytes], reply: bytes = b"", **ends: object) -> list[Frame]:
    answer = reply or b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"
    turns: list[Turn] = []
    for request in requests:
        turns += [(">", request), ("<", answer)]
    return conversation(turns, **{"client": PC, "server": EVIL, "ports": (50_300, 80)} | ends)  # type: ignore[arg-type]


def opened(login: Login, server: str, share: str, path: str, *more: Turn, port: int, **ends: object) -> list[Frame]:
    """A login, a share of ``server`` connected, a file on it opened, and what follows."""
    turns = [*smb_login(*login), (">", tree(f"\\\\{server}\\{share}", 3)), (">", create(path, 4)), *more]
    return conversation(turns, client=PC, server=server, ports=(port, 445), **ends)


def get(target: str, host: str = "shop.example.org", agent: str = "Mozilla/5.0", extra: str = "") -> bytes:
    return f"GET {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {agent}\r\n{extra}\r\n".encode()


def post(
    target: str, body: bytes, host: str = "shop.example.org", extra: str = "", agent: str = "Mozilla/5.0"
) -> bytes:
    head = (
        f"POST {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {agent}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    )
    return head.encode() + body


def directory(messages: Sequence[bytes], **ends: object) -> list[Frame]:
    return conversation(
        [(">", message) for message in messages], **{"client": PC, "server": DC, "ports": (50_210, 389)} | ends
    )  # type: ignore[arg-type]


def tagged(frames: list[Frame]) -> list[Frame]:
    """The same in a VLAN."""
    return [(at, frame[:12] + bytes.fromhex("8100002a") + frame[12:]) for at, frame in frames]


def knock(
    client: str, server: str, port: int, at: float, flags: int = 2, back: int | None = 20, source: int = 41_000
) -> list[Frame]:
    frames = [(at, ethernet(tcp(client, server, (source, port), flags, 7)))]
    if back is not None:
        frames.append((at + 0.001, ethernet(tcp(server, client, (port, source), back, 9))))
    return frames


def echo(client: str, server: str, data: bytes, back: bytes, number: int, at: float) -> list[Frame]:
    return [
        (
            at,
            ethernet(
                ip(client, server, dpkt.icmp.ICMP(type=8, data=dpkt.icmp.ICMP.Echo(id=7, seq=number, data=data)), 1)
            ),
        ),
        (
            at + 0.01,
            ethernet(
                ip(server, client, dpkt.icmp.ICMP(type=0, data=dpkt.icmp.ICMP.Echo(id=7, seq=number, data=back)), 1)
            ),
        ),
    ]


def roast(services: Sequence[str], etypes: Sequence[int], *, tcp_port: int = 0, **ends: object) -> list[Frame]:
    frames: list[Frame] = []
    for number, name in enumerate(services):
        turns = [
            (">", kdc_request("", name.split("/"), kind=12, etypes=etypes)),
            ("<", kdc_reply("anna", name.split("/"), kind=13, ticket=23, part=18)),
        ]
        at = START + number * 0.2
        frames += (
            kerberos_tcp(turns, at=at, ports=(tcp_port + number, 88), **ends)
            if tcp_port
            else kerberos(turns, at=at, port=50_220 + number)
        )
    return frames


def spray(
    users: Sequence[str],
    code: int,
    *,
    stamp: int | None = 18,
    etypes: Sequence[int] = ETYPES,
    client: str = PC,
    server: str = DC,
) -> list[Frame]:
    frames: list[Frame] = []
    for number, user in enumerate(users):
        turns = [
            (">", kdc_request(user, ("krbtgt", "CORP"), stamp=stamp, etypes=etypes)),
            ("<", kdc_error(code, ("krbtgt", "CORP"))),
        ]
        frames += kerberos(turns, at=START + number * 0.1, port=51_000 + number, client=client, server=server)
    return frames


def ssh_guesses(client: str, server: str, count: int, pause: float, port: int = 22) -> list[Frame]:
    frames: list[Frame] = []
    for number in range(count):
        turns = [
            ("<", b"SSH-2.0-OpenSSH_9.6\r\n"), (">", b"SSH-2.0-libssh_0.9.6\r\n"),
            (">", bytes(900)), ("<", bytes(1_100)), (">", bytes(200)), ("<", bytes(100)),
        ]  # fmt: skip
        frames += conversation(
            turns, client=client, server=server, ports=(42_000 + number, port), at=START + number * pause
        )
    return frames


def logins(count: int, status: int, users: Sequence[str], client: str, server: str) -> list[Frame]:
    frames: list[Frame] = []
    for number in range(count):
        turns = smb_login("CORP", users[number % len(users)], "KALI", bytes([number]) * 8, status)
        frames += conversation(
            turns, client=client, server=server, ports=(43_000 + number, 445), at=START + number * 0.5
        )
    return frames


def poisoned(names: Sequence[str], *, kind: str, evil: str = "10.9.1.99", victim: str = PC) -> list[Frame]:
    frames: list[Frame] = []
    for number, name in enumerate(names):
        at = START + number * 3.3
        if kind == "netbios":
            frames.append((at, ethernet(udp(victim, "10.9.1.255", (137, 137), netbios_message(name)))))
            frames.append((at + 0.01, ethernet(udp(evil, victim, (137, 137), netbios_message(name, evil)))))
        else:
            group, port = ("224.0.0.252", 5355) if kind == "llmnr" else ("224.0.0.251", 5353)
            frames.append(
                (at, ethernet(udp(victim, group, (60_000 + number, port), name_answer(name, evil, question=True))))
            )
            frames.append((at + 0.01, ethernet(udp(evil, victim, (port, 60_000 + number), name_answer(name, evil)))))
    return frames


def relay(challenge: bytes, target: str) -> list[Frame]:
    first = smb_login("CORP", "anna", "WS21", challenge)
    evil = "10.9.1.99"
    return conversation(first, client=PC, server=evil, ports=(50_400, 445)) + conversation(
        first, client=evil, server=target, ports=(40_400, 445), at=START + 0.002
    )


def stub_challenge(zero: bool) -> bytes:
    return wide("\\\\DC01") + wide("DC01") + (bytes(8) if zero else b"\x9c\x11\x02\x33\x44\x55\x66\x77")


def zerologon(count: int, *, by_pipe: bool) -> list[Frame]:
    calls = [
        (4, stub_challenge(zero=True)),
        (26, wide("\\\\DC01") + wide("DC01$") + b"\x06\x00" + wide("DC01") + bytes(8) + b"\xff\xff\x2f\x21"),
    ] * count
    return over_pipe(NETLOGON, "netlogon", calls, server=DC) if by_pipe else over_tcp(NETLOGON, calls, server=DC)


def eternal(multiplex: int) -> list[Frame]:
    def old(command: int, status: int, body: bytes, *, reply: bool = False) -> bytes:
        head = b"\xffSMB" + struct.pack(
            "<BIBHH8sHHHHH",
            command,
            status,
            0x98 if reply else 0x18,
            0xC007,
            0,
            bytes(8),
            0,
            2048,
            65_279,
            2048,
            multiplex,
        )
        return b"\x00" + len(head + body).to_bytes(3, "big") + head + body

    setup = (
        b"\x0f\x0c\x00"
        + struct.pack("<HHHBBHIHHHHHBBH", 0x1000, 0, 1, 0, 0, 0, 6_006_002, 0, 12, 66, 0, 78, 1, 0, 0x000E)
        + bytes(20)
    )
    turns = [
        (">", old(0x72, 0, b"\x00\x31\x00\x02NT LM 0.12\x00")), (">", old(0x73, 0, b"\x0d" + bytes(30))),
        (">", old(0xA0, 0, b"\x14\x01" + bytes(1_000))),
        (">", old(0x32, 0, setup)), ("<", old(0x32, 0xC0000002, b"\x00\x00\x00", reply=True)),
    ]  # fmt: skip
    return conversation(turns, client=PC, server=HOST, ports=(50_500, 445))


def smbghost() -> list[Frame]:
    data = b"\xfcSMB" + struct.pack("<IHHI", 0xFFFFFFFF, 1, 0, 0x10) + bytes(60)
    return conversation(
        [(">", smb(0, bytes(36))), (">", b"\x00" + len(data).to_bytes(3, "big") + data)],
        client=PC,
        server=HOST,
        ports=(50_501, 445),
    )


def iodine(domain: str, count: int, kind: int, seed: int) -> list[Frame]:
    chance = random.Random(seed)
    frames: list[Frame] = []
    for number in range(count):
        label = base64.b32encode(chance.randbytes(30)).decode().lower().strip("=")
        frames += question(f"{label}.{domain}", at=START + number * 0.2, kind=kind, client=PC)
    return frames


def stage(size: int) -> bytes:
    return (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {size}\r\n\r\n".encode()
        + random.Random(9).randbytes(size)
    )


def path_of_sum(remainder: int, length: int = 6) -> str:
    chance = random.Random(remainder + length)
    while True:
        name = "".join(chance.choices("abcdefghijkLMNOPqrstuvwxyz0123456789", k=length))
        if sum(name.encode()) % 256 == remainder:
            return name


def winrm(target: str, port: int, scheme: str, body: bytes, kind: str) -> list[Frame]:
    extra = f"Authorization: {scheme} {base64.b64encode(b'NTLMSSP' + bytes(40)).decode()}\r\nContent-Type: {kind}\r\n"
    reply = b"HTTP/1.1 200 \r\nContent-Type: application/soap+xml;charset=UTF-8\r\nServer: Microsoft-HTTPAPI/2.0\r\nContent-Length: 3\r\n\r\n<s>"
    return web(
        [post(target, body, f"{HOST}:{port}", extra, "Microsoft WinRM Client")] * 3,
        reply,
        server=HOST,
        ports=(50_310, port),
    )


def floods(kind: str, count: int) -> list[Frame]:
    frames: list[Frame] = []
    chance = random.Random(2)
    for number in range(count):
        at = START + number * 0.001
        source = f"{chance.randint(11, 190)}.{chance.randint(1, 250)}.{chance.randint(1, 250)}.{chance.randint(1, 250)}"
        if kind == "syn":
            frames += knock(
                source, HOST, 80, at, back=18 if number % 5 == 0 else None, source=chance.randint(1_024, 65_000)
            )
        elif kind == "udp":
            frames.append(
                (at, ethernet(udp(EVIL, HOST, (chance.randint(1_024, 65_000), chance.randint(1, 65_000)), bytes(900))))
            )
        else:
            frames.append(
                (
                    at,
                    ethernet(
                        ip(
                            EVIL,
                            HOST,
                            dpkt.icmp.ICMP(
                                type=8, data=dpkt.icmp.ICMP.Echo(id=1, seq=number & 0xFFFF, data=bytes(800))
                            ),
                            1,
                        )
                    ),
                )
            )
    return frames


def ftp(*commands: str) -> list[Turn]:
    turns: list[Turn] = [("<", b"220 ready\r\n")]
    for command in commands:
        turns += [
            (">", command.encode() + b"\r\n"),
            ("<", b"230 ok\r\n" if command.startswith("PASS") else b"150 ok\r\n"),
        ]
    return turns


def arps(source: str, targets: int) -> list[Frame]:
    from ipaddress import ip_address

    frames = []
    for number in range(targets):
        arp = dpkt.arp.ARP(
            op=1,
            sha=b"\x02" * 6,
            spa=ip_address(source).packed,
            tha=bytes(6),
            tpa=ip_address(f"10.9.1.{number + 1}").packed,
        )
        frames.append(
            (
                START + number * 0.02,
                bytes(dpkt.ethernet.Ethernet(src=b"\x02" * 6, dst=b"\xff" * 6, type=0x0806, data=arp)),
            )
        )
    return frames


USERS = ["b.adams", "c.brown", "d.clark", "e.davis", "f.evans", "g.frank", "h.green", "i.hill", "j.irwin", "k.jones"]
SPN = both(equal("objectCategory", "person"), present("servicePrincipalName"))
HOUND = either(
    *(
        equal("samaccounttype", kind)
        for kind in ("268435456", "268435457", "536870912", "536870913", "805306368", "805306369")
    ),
    equal("objectclass", "domain"),
)
