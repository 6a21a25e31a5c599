"""Captures without an attack: people, domains, calls, updates, administration, in two halves."""

# ruff: noqa: E501 - messages are as long as they are
from __future__ import annotations

import random

from tests.support.captures import Frame, conversation, ethernet, question, udp
from tests.support.protocol_messages import (
    LOGON_FAILURE,
    both,
    create,
    created,
    either,
    equal,
    kdc_error,
    kdc_reply,
    kdc_request,
    present,
    rdp_confirm,
    rdp_request,
    search,
    tree,
    wide,
    write,
)
from tests.svc.assistant.skills.pcap.attack_frames import (
    DC,
    DC6,
    DRSUAPI,
    EPM,
    HOST,
    LSARPC,
    NETLOGON,
    PC,
    PC6,
    START,
    Build,
    directory,
    echo,
    get,
    kerberos,
    kerberos_tcp,
    logins,
    over_pipe,
    over_tcp,
    poisoned,
    spray,
    ssh_guesses,
    stub_challenge,
    tagged,
    web,
)


def browsing() -> list[Frame]:
    chance = random.Random(12)
    frames: list[Frame] = []
    at = START
    for number in range(60):
        at += chance.expovariate(1 / 9)
        frames += question(f"www{number % 9}.news.example", at=at, client=PC, missing=False)
        frames += web(
            [
                get(
                    f"/story/{number}?id={number * 7}&q=select+a+union",
                    "www.news.example",
                    extra="Referer: https://www.news.example/\r\nCookie: session=8f1cb2e1; _ga=GA1.2.3\r\n",
                )
            ],
            at=at + 0.1,
            ports=(53_000 + number, 80),
            server="203.0.113.40",
        )
    return frames


def domain_member(client: str, server: str) -> list[Frame]:
    """A start of a work day: a ticket, a share, policy, the directory, the name service."""
    spn = [
        "cifs/fs1.corp.example",
        "ldap/dc1.corp.example/corp.example",
        "host/ws21.corp.example",
        "HTTP/sharepoint.corp.example",
    ]
    frames = kerberos(
        [(">", kdc_request("anna", ("krbtgt", "CORP"))), ("<", kdc_error(25, ("krbtgt", "CORP")))],
        client=client,
        server=server,
    )
    frames += kerberos_tcp(
        [(">", kdc_request("anna", ("krbtgt", "CORP"), stamp=18)), ("<", kdc_reply("anna", ("krbtgt", "CORP")))],
        client=client,
        server=server,
    )
    for number, name in enumerate(spn):
        old = 23 if "sharepoint" in name else 18
        turns = [
            (">", kdc_request("", name.split("/"), kind=12)),
            ("<", kdc_reply("anna", name.split("/"), kind=13, ticket=old)),
        ]
        frames += kerberos(turns, at=START + 5 + number, port=54_000 + number, client=client, server=server)
    frames += conversation(
        [
            (">", tree("\\\\corp.example\\SYSVOL", 1)),
            (">", create("corp.example\\Policies\\{31B2F340-016D-11D2-945F-00C04FB984F9}\\gpt.ini", 2)),
            (">", tree("\\\\fs1\\Documents", 3)),
            (">", create("reports\\q3.xlsx", 4)),
        ],
        client=client,
        server=server,
        ports=(54_100, 445),
    )
    frames += over_tcp(
        NETLOGON,
        [(4, stub_challenge(zero=False)), (26, wide("DC01") + b"\x91" * 12), (45, b"")],
        client=client,
        server=server,
    )
    frames += over_tcp(DRSUAPI, [(0, b""), (12, b""), (1, b"")], client=client, server=server, port=49_671)
    frames += over_pipe(LSARPC, "lsarpc", [(44, b""), (76, b"")], client=client, server=server)
    frames += over_tcp(EPM, [(3, bytes(60))], port=135, client=client, server=server)
    frames += directory(
        [
            search("", present("objectClass"), ["supportedSASLMechanisms"], 0),
            search(
                "DC=corp,DC=example",
                both(equal("objectClass", "user"), equal("samAccountName", "WS21$")),
                ["distinguishedName"],
            ),
            search(
                "CN=Policies,CN=System,DC=corp,DC=example",
                either(
                    equal(
                        "distinguishedName",
                        "cn={31B2F340-016D-11D2-945F-00C04FB984F9},cn=policies,cn=system,DC=corp,DC=example",
                    )
                ),
                ["gPCFileSysPath"],
            ),
        ],
        client=client,
        server=server,
    )
    return frames


def replication() -> list[Frame]:
    """Two domain controllers."""
    other = "10.9.1.3"
    asked = kerberos(
        [(">", kdc_request("anna", ("krbtgt", "CORP"), stamp=18)), ("<", kdc_reply("anna", ("krbtgt", "CORP")))],
        server=other,
    )
    return asked + over_tcp(DRSUAPI, [(0, b""), (3, bytes(900)), (3, bytes(901))], client=other, server=DC)


def call() -> list[Frame]:
    sip = b"INVITE sip:201@10.9.1.5 SIP/2.0\r\nFrom: <sip:200@10.9.1.5>\r\nUser-Agent: Desk phone\r\n\r\n"
    frames = [(START, ethernet(udp(PC, "10.9.1.5", (5060, 5060), sip)))]
    for number in range(1_500):
        at = START + 1 + number * 0.02
        frames.append((at, ethernet(udp(PC, "10.9.1.5", (16_384, 17_000), bytes(172)))))
        frames.append((at + 0.01, ethernet(udp("10.9.1.5", PC, (17_000, 16_384), bytes(172)))))
    return frames


def updates() -> list[Frame]:
    body = b"MSCF" + bytes(4_000)
    reply = (
        f"HTTP/1.1 206 Partial Content\r\nContent-Type: application/octet-stream\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    return web(
        [
            get(
                f"/filestreaming/part{n}",
                "dl.delivery.example",
                "Microsoft-Delivery-Optimization/10.0",
                "Range: bytes=0-99\r\n",
            )
            for n in range(30)
        ],
        reply,
        server="203.0.113.50",
    )


def pings() -> list[Frame]:
    return [
        f
        for n in range(200)
        for f in echo(
            PC, HOST, bytes(range(97, 119)) + b"wabcdefghi", bytes(range(97, 119)) + b"wabcdefghi", n, START + n
        )
    ]


def local_names() -> list[Frame]:
    """A printer and a workstation that answer for themselves."""
    frames: list[Frame] = []
    for _number in range(6):
        frames += poisoned(["ws60"], kind="llmnr", evil=HOST) + poisoned(["WS60"], kind="netbios", evil=HOST)
        frames += poisoned(["brother-hl.local"], kind="mdns", evil="10.9.1.77")
    return frames


def administration() -> list[Frame]:
    """An administrator's day: remote desktop to a server, a shell, a few mistyped passwords."""
    frames = conversation(
        [(">", rdp_request("CORP\\adm")), ("<", rdp_confirm(2)), (">", bytes(5_000)), ("<", bytes(90_000))],
        client=PC,
        server=HOST,
        ports=(55_000, 3389),
    )
    frames += ssh_guesses(PC, HOST, 3, 40.0)
    frames += logins(2, LOGON_FAILURE, ["anna"], PC, HOST)
    return frames + spray(["anna"] * 2, 24)


def monitoring() -> list[Frame]:
    frames = ssh_guesses("10.9.1.10", HOST, 12, 60.0)
    for number in range(12):
        frames += web(
            [get("/health", "10.9.1.60", "Prometheus/2.50")],
            server=HOST,
            client="10.9.1.10",
            ports=(55_100 + number, 9100),
            at=START + 15 * number,
        )
    return frames


def mail_and_files() -> list[Frame]:
    turns = [
        ("<", b"220 mx ESMTP\r\n"),
        (">", b"EHLO pc\r\n"),
        ("<", b"250 STARTTLS\r\n"),
        (">", b"STARTTLS\r\n"),
        ("<", b"220 go\r\n"),
        (">", b"\x16\x03\x01" + bytes(200)),
    ]
    return conversation(turns, client=PC, server="203.0.113.25", ports=(55_200, 587)) + conversation(
        [
            (">", tree("\\\\fs1\\Backup", 1)),
            (">", create("2026\\full.vbk", 2)),
            ("<", created(b"B" * 16, 2)),
            *((">", write(b"B" * 16, bytes(40_000), 3 + n, n * 40_000)) for n in range(20)),
        ],
        client=HOST,
        server="10.9.1.70",
        ports=(55_201, 445),
        piece=30_000,
    )


BENIGN_OPEN: dict[str, Build] = {
    "browsing": browsing,
    "a domain member": lambda: domain_member(PC, DC),
    "a call": call,
    "updates": updates,
    "an administrator": administration,
}
BENIGN_HELD: dict[str, Build] = {
    "a domain member over IPv6": lambda: tagged(domain_member(PC6, DC6)),
    "replication of controllers": replication,
    "pings": pings,
    "local names": local_names,
    "monitoring": monitoring,
    "mail and a backup": mail_and_files,
}
