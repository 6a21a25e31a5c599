"""Logs with a beacon, and ordinary ones: connections, proxies, name servers, firewalls, flows, EDR. Two halves."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

START = 1_763_600_000.0
Contact = tuple[float, str, str, int, str]
"""Seconds, client, destination's address, port, destination's name."""


def every(
    pause: float, count: int, jitter: float, seed: int, *, client: str, address: str, port: int, name: str
) -> list[Contact]:
    chance = random.Random(seed)
    at, found = START + chance.uniform(0, pause), []
    for _ in range(count):
        found.append((at, client, address, port, name))
        at += pause * chance.uniform(1 - jitter, 1 + jitter)
    return found


def people(seed: int, clients: int = 12, visits: int = 40) -> list[Contact]:
    """Browsing: bursts at any time."""
    chance = random.Random(seed)
    found: list[Contact] = []
    for client in range(clients):
        at = START
        for _ in range(visits):
            at += chance.expovariate(1 / 300)
            site = chance.randint(1, 60)
            for _ in range(chance.randint(1, 8)):
                found.append(
                    (
                        at + chance.random() * 20,
                        f"10.4.0.{10 + client}",
                        f"203.0.113.{site}",
                        443,
                        f"www{site}.site{site}.example",
                    )
                )
    return found


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def zeek_conn(contacts: Sequence[Contact]) -> str:
    head = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n"
    names = "#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\tresp_bytes\tconn_state\n"
    types = "#types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tinterval\tcount\tcount\tstring\n"
    rows = [
        f"{at:.6f}\tC{n}\t{client}\t{40_000 + n % 20_000}\t{address}\t{port}\ttcp\tssl\t0.5\t500\t900\tSF"
        for n, (at, client, address, port, _) in enumerate(contacts)
    ]
    return head + names + types + "\n".join(rows) + "\n"


def zeek_json(contacts: Sequence[Contact]) -> str:
    return (
        "\n".join(
            json.dumps(
                {
                    "ts": at,
                    "uid": f"C{n}",
                    "id.orig_h": client,
                    "id.orig_p": 40_000 + n % 20_000,
                    "id.resp_h": address,
                    "id.resp_p": port,
                    "proto": "tcp",
                    "conn_state": "SF",
                }
            )
            for n, (at, client, address, port, _) in enumerate(contacts)
        )
        + "\n"
    )


def zeek_http(contacts: Sequence[Contact]) -> str:
    return (
        "\n".join(
            json.dumps(
                {
                    "ts": at,
                    "uid": f"C{n}",
                    "id.orig_h": client,
                    "id.orig_p": 40_000,
                    "id.resp_h": address,
                    "id.resp_p": 80,
                    "trans_depth": 1,
                    "method": "GET",
                    "host": name,
                    "uri": f"/p{n % 9}",
                    "user_agent": "Mozilla/5.0",
                    "status_code": 200,
                }
            )
            for n, (at, client, address, _, name) in enumerate(contacts)
        )
        + "\n"
    )


def zeek_dns(contacts: Sequence[Contact]) -> str:
    return (
        "\n".join(
            json.dumps(
                {
                    "ts": at,
                    "uid": f"C{n}",
                    "id.orig_h": client,
                    "id.orig_p": 40_000,
                    "id.resp_h": "10.4.0.2",
                    "id.resp_p": 53,
                    "proto": "udp",
                    "query": name,
                    "qtype_name": "A",
                    "rcode_name": "NOERROR",
                }
            )
            for n, (at, client, _, _, name) in enumerate(contacts)
        )
        + "\n"
    )


def zeek_ssl(contacts: Sequence[Contact]) -> str:
    return (
        "\n".join(
            json.dumps(
                {
                    "ts": at,
                    "uid": f"C{n}",
                    "id.orig_h": client,
                    "id.orig_p": 40_000,
                    "id.resp_h": address,
                    "id.resp_p": port,
                    "version": "TLSv12",
                    "cipher": "TLS_AES_128_GCM_SHA256",
                    "server_name": name,
                }
            )
            for n, (at, client, address, port, name) in enumerate(contacts)
        )
        + "\n"
    )


def squid(contacts: Sequence[Contact]) -> str:
    return "".join(
        f"{at:.3f}    120 {client} TCP_TUNNEL/200 3921 CONNECT {name}:443 - HIER_DIRECT/{address} -\n"
        for at, client, address, _, name in contacts
    )


def zscaler(contacts: Sequence[Contact]) -> str:
    rows = ["datetime,user,clientip,url,action,requestmethod,responsecode,useragent,hostname"]
    for at, client, _, _, name in contacts:
        rows.append(
            f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S},u@example.org,{client},https://{name}/a,Allowed,GET,200,Mozilla/5.0,{name}"
        )
    return "\n".join(rows) + "\n"


def nfdump(contacts: Sequence[Contact]) -> str:
    rows = ["ts,te,td,sa,da,sp,dp,pr,flg,ipkt,ibyt"]
    for n, (at, client, address, port, _) in enumerate(contacts):
        moment = datetime.fromtimestamp(at, UTC)
        rows.append(
            f"{moment:%Y-%m-%d %H:%M:%S},{moment:%Y-%m-%d %H:%M:%S},0.5,{client},{address},{40_000 + n % 20_000},{port},TCP,.AP.SF,9,900"
        )
    return "\n".join(rows) + "\n"


def bind(contacts: Sequence[Contact]) -> str:
    return "".join(
        f"{datetime.fromtimestamp(at, UTC):%b %d %H:%M:%S} ns1 named[811]: client @0x7f01 {client}#{40_000 + n % 20_000} ({name}): query: {name} IN A +E(0)K (10.4.0.2)\n"
        for n, (at, client, _, _, name) in enumerate(contacts)
    )


def iptables(contacts: Sequence[Contact]) -> str:
    return "".join(
        f"{datetime.fromtimestamp(at, UTC):%b %d %H:%M:%S} fw kernel: [ 1.0] OUT-ACCEPT IN=eth1 OUT=eth0 MAC=00 SRC={client} DST={address} LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=1 DF PROTO=TCP SPT={40_000 + n % 20_000} DPT={port} WINDOW=64240 RES=0x00 SYN URGP=0\n"
        for n, (at, client, address, port, _) in enumerate(contacts)
    )


def fortinet(contacts: Sequence[Contact]) -> str:
    return "".join(
        f'date={datetime.fromtimestamp(at, UTC):%Y-%m-%d} time={datetime.fromtimestamp(at, UTC):%H:%M:%S} devname="fw" devid="FG1" logid="0000000013" type="traffic" subtype="forward" level="notice" eventtime={int(at)} tz="+0000" srcip={client} srcport={40_000 + n % 20_000} srcintf="lan" dstip={address} dstport={port} dstintf="wan1" proto=6 action="close" policyid=1 service="HTTPS" sentbyte=900 rcvdbyte=800\n'
        for n, (at, client, address, port, _) in enumerate(contacts)
    )


def sysmon(contacts: Sequence[Contact]) -> str:
    rows = []
    for n, (at, client, address, port, name) in enumerate(contacts):
        image = (
            "C:\\Users\\anna\\AppData\\Roaming\\upd.exe"
            if "cdn-static" in name or "evil" in name
            else "C:\\Program Files\\Browser\\browser.exe"
        )
        rows.append(
            json.dumps(
                {
                    "EventID": 3,
                    "Channel": "Microsoft-Windows-Sysmon/Operational",
                    "EventRecordID": n,
                    "TimeCreated": _iso(at),
                    "Computer": "WS1",
                    "EventData": {
                        "Image": image,
                        "SourceIp": client,
                        "SourcePort": str(40_000 + n % 20_000),
                        "DestinationIp": address,
                        "DestinationHostname": name,
                        "DestinationPort": str(port),
                        "Protocol": "tcp",
                        "Initiated": "true",
                        "User": "CORP\\anna",
                    },
                }
            )
        )
    return "\n".join(rows) + "\n"


def defender(contacts: Sequence[Contact]) -> str:
    rows = [
        "Timestamp,DeviceName,ActionType,RemoteIP,RemotePort,RemoteUrl,LocalIP,LocalPort,Protocol,InitiatingProcessFileName,InitiatingProcessFolderPath"
    ]
    for n, (at, client, address, port, name) in enumerate(contacts):
        rows.append(
            f"{_iso(at)},ws1.example.org,ConnectionSuccess,{address},{port},{name},{client},{40_000 + n % 20_000},Tcp,a.exe,C:\\Users\\anna\\a.exe"
        )
    return "\n".join(rows) + "\n"


def paloalto(contacts: Sequence[Contact]) -> str:
    rows = [
        "Receive Time,Type,Threat/Content Type,Source address,Destination address,Source Port,Destination Port,IP Protocol,Application,Action,Session End Reason"
    ]
    for n, (at, client, address, port, _) in enumerate(contacts):
        rows.append(
            f"{datetime.fromtimestamp(at, UTC):%Y/%m/%d %H:%M:%S},TRAFFIC,end,{client},{address},{40_000 + n % 20_000},{port},tcp,ssl,allow,tcp-fin"
        )
    return "\n".join(rows) + "\n"


EVIL = {"client": "10.4.0.17", "address": "198.51.100.23", "port": 443, "name": "cdn-static.evil.example"}
Write = Callable[[Sequence[Contact]], str]
OPEN: dict[str, tuple[Write, list[Contact]]] = {
    "Zeek conn, 60 s, no jitter": (zeek_conn, every(60, 60, 0.0, 1, **EVIL)),
    "Zeek conn JSON, 300 s, 20 %": (zeek_json, every(300, 40, 0.2, 2, **EVIL)),
    "Squid, 45 s, 10 %": (squid, every(45, 80, 0.1, 3, **EVIL)),
    "BIND, 120 s, 30 %": (bind, every(120, 60, 0.3, 4, **EVIL)),
    "nfdump, 600 s, 15 %": (nfdump, every(600, 25, 0.15, 5, **EVIL)),
    "iptables, 30 s, 5 %": (iptables, every(30, 50, 0.05, 6, **EVIL)),
    "Sysmon, 60 s, 30 %": (sysmon, every(60, 90, 0.3, 7, **EVIL)),
}
HELD: dict[str, tuple[Write, list[Contact]]] = {
    "Zeek ssl, 90 s, 30 %": (zeek_ssl, every(90, 70, 0.3, 11, **EVIL)),
    "Zeek http, 5 s, 10 %": (zeek_http, every(5, 200, 0.1, 12, **EVIL)),
    "Zeek dns, 3600 s, 10 %": (zeek_dns, every(3600, 14, 0.1, 13, **EVIL)),
    "Zscaler, 60 s, 25 %": (zscaler, every(60, 40, 0.25, 14, **EVIL)),
    "FortiGate, 900 s, 0 %": (fortinet, every(900, 20, 0.0, 15, **EVIL)),
    "Defender, 75 s, 20 %": (defender, every(75, 33, 0.2, 16, **EVIL)),
    "PAN-OS, 20 s, 30 %": (paloalto, every(20, 150, 0.3, 17, **EVIL)),
    "Zeek conn on port 8443": (zeek_conn, every(61, 30, 0.28, 18, **(EVIL | {"port": 8443}))),
}


def clocks(seed: int) -> list[Contact]:
    found: list[Contact] = []
    for client in range(4):
        found += every(
            64,
            90,
            0.02,
            seed + client,
            client=f"10.4.0.{40 + client}",
            address="203.0.113.123",
            port=123,
            name="0.pool.ntp.org",
        )
    return found


def updates(seed: int) -> list[Contact]:
    return every(
        1_800, 20, 0.05, seed, client="10.4.0.31", address="203.0.113.90", port=443, name="fe2cr.update.microsoft.com"
    ) + every(300, 80, 0.01, seed, client="10.4.0.31", address="203.0.113.91", port=80, name="www.msftconnecttest.com")


def mail(seed: int) -> list[Contact]:
    return every(300, 60, 0.01, seed, client="10.4.0.33", address="203.0.113.25", port=993, name="imap.mail.example")


def monitoring(seed: int) -> list[Contact]:
    found: list[Contact] = []
    for host in range(15):
        found += every(
            60,
            40,
            0.01,
            seed + host,
            client="10.4.0.5",
            address=f"10.5.0.{host + 1}",
            port=9100,
            name=f"h{host}.corp.example",
        )
    return found


def shared(seed: int) -> list[Contact]:
    found: list[Contact] = []
    for client in range(9):
        found += every(
            120,
            50,
            0.05,
            seed + client,
            client=f"10.4.0.{10 + client}",
            address="203.0.113.200",
            port=443,
            name="chat.saas.example",
        )
    return found


QUIET_OPEN: dict[str, tuple[Write, list[Contact]]] = {
    "people": (zeek_conn, []),
    "clocks": (zeek_json, clocks(21)),
    "monitoring": (nfdump, monitoring(22)),
    "a service that all use": (squid, shared(23)),
    "updates by a proxy": (squid, updates(24)),
}
QUIET_HELD: dict[str, tuple[Write, list[Contact]]] = {
    "people by a proxy": (squid, []),
    "people's names": (zeek_dns, []),
    "mail": (iptables, mail(31)),
    "updates by name": (zeek_dns, updates(32)),
    "a service that all use, flows": (fortinet, shared(33)),
    "monitoring by firewall": (iptables, monitoring(34)),
    "clocks by flows": (nfdump, clocks(35)),
}


def log(write: Write, contacts: Sequence[Contact], seed: int = 5) -> bytes:
    """The log with people's traffic around the contacts."""
    return write(sorted([*people(seed), *contacts])).encode()
