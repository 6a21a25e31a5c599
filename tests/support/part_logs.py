"""Ten shapes of logs, each with an attack in its middle, to read whole and in parts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

_START = datetime(2026, 12, 31, 22, 0, tzinfo=UTC)  # so that the year changes within each log
ATTACKER = "198.51.100.77"


def _moments(count: int, chance: random.Random, seconds: int = 12) -> Iterator[tuple[int, datetime]]:
    """Numbers and times; at places the clock goes back a little, as where logs of several sources were joined."""
    moment = _START
    for number in range(count):
        moment += timedelta(seconds=chance.randrange(-2 if number % 50 == 7 else 1, seconds))
        yield number, moment


def _is_attack(number: int, count: int) -> bool:
    return 0.4 <= number / count < 0.6


def auth_log(count: int, chance: random.Random) -> str:
    """sshd and sudo without years, with repeated lines, and with text of another program between them."""
    lines = []
    for number, moment in _moments(count, chance):
        stamp = f"{moment:%b} {moment.day:2} {moment:%H:%M:%S} web1"
        pid, port = 1_000 + number, 40_000 + number % 9_000
        if _is_attack(number, count):
            user = chance.choice(("root", "admin", "backup"))
            lines.append(f"{stamp} sshd[{pid}]: Failed password for {user} from {ATTACKER} port {port} ssh2")
            if number % 9 == 0:
                lines.append(f"{stamp} last message repeated 3 times")
            if number % 40 == 0:
                lines.append(f"{stamp} sshd[{pid}]: Accepted password for backup from {ATTACKER} port {port} ssh2")
        elif number % 11 == 0:
            lines.append(f"{stamp} sudo:   u3 : TTY=pts/0 ; PWD=/home/u3 ; USER=root ; COMMAND=/usr/bin/apt update")
        elif number % 17 == 0:
            lines.append(f"  continued text {number} without a stamp\n")
        else:
            user, address = f"user{number % 9}", f"10.0.0.{number % 50}"
            lines.append(f"{stamp} sshd[{pid}]: Accepted publickey for {user} from {address} port {port} ssh2")
    return "\n".join(lines) + "\n"


def web_log(count: int, chance: random.Random) -> str:
    """A web server's combined log, with requests that are no HTTP."""
    lines = []
    for number, moment in _moments(count, chance):
        client, request, status = f"203.0.113.{number % 30}", f"GET /page/{number % 40} HTTP/1.1", 200
        if _is_attack(number, count):
            attempt = chance.choice(("../../etc/passwd", "1%27%20UNION%20SELECT%201,2--", "%3Cscript%3E", str(number)))
            client, request, status = ATTACKER, f"GET /a.php?id={attempt} HTTP/1.1", chance.choice((404, 404, 200, 403))
        elif number % 70 == 3:
            request, status = "\\x16\\x03\\x01", 400
        stamp = f"{moment:%d/%b/%Y:%H:%M:%S} +0000"
        lines.append(f'{client} - - [{stamp}] "{request}" {status} {chance.randrange(9_000)} "-" "Mozilla/5.0"')
        if number % 90 == 5:
            lines.append("not a line of a web server")
    return "\n".join(lines) + "\n"


_CONN = (
    "ts",
    "uid",
    "id.orig_h",
    "id.orig_p",
    "id.resp_h",
    "id.resp_p",
    "proto",
    "service",
    "orig_bytes",
    "conn_state",
)
_ZEEK_HEAD = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n#fields\t"


def _connections(count: int, chance: random.Random) -> Iterator[dict[str, str]]:
    for number, moment in _moments(count, chance):
        row = [f"10.0.0.{number % 9}", str(40_000 + number), f"192.0.2.{number % 40}", "443", "tcp", "ssl", "900", "SF"]
        if _is_attack(number, count):
            row = ["10.0.0.66", str(50_000 + number % 900), "10.0.0.1", str(1 + number % 400), "tcp", "-", "-", "S0"]
        elif number % 5 == 0:
            row[0], row[2] = "10.0.0.5", ATTACKER
        yield dict(zip(_CONN, [f"{moment.timestamp():.6f}", f"C{number:x}", *row], strict=True))


def zeek_tsv(count: int, chance: random.Random) -> str:
    """Zeek's connections, of which a rotation put a second header into the middle."""
    head = _ZEEK_HEAD + "\t".join(_CONN)
    rows = ["\t".join(row.values()) for row in _connections(count, chance)]
    middle = count // 2
    return "\n".join([head, *rows[:middle], "#close\t2027-01-01-00-00-00", head, *rows[middle:]]) + "\n"


def zeek_json(count: int, chance: random.Random) -> str:
    """The same as JSON; some columns come only late, some lines are cut off."""
    lines = []
    for number, row in enumerate(_connections(count, chance)):
        found: dict[str, object] = {name: value for name, value in row.items() if value != "-"}
        found |= {"ts": float(row["ts"]), "id.resp_p": int(row["id.resp_p"])}
        if number > count // 3:
            found["local_orig"] = True
        if number > count // 2:
            found["community_id"] = f"1:{number}"
        text = json.dumps(found)
        lines.append(text[:40] if number % 97 == 1 and number else text)
    return "\n".join(lines) + "\n"


_CALLS = (("CreateAccessKey", "iam"), ("StopLogging", "cloudtrail"), ("ListUsers", "iam"))


def cloudtrail(count: int, chance: random.Random) -> str:
    """CloudTrail's events, one on each line."""
    lines = []
    for number, moment in _moments(count, chance):
        name, source, address, user = "DescribeInstances", "ec2", "203.0.113.9", "deploy"
        found: dict[str, object] = {}
        if _is_attack(number, count):
            name, source = chance.choice(
                (("CreateAccessKey", "iam"), ("StopLogging", "cloudtrail"), ("ListUsers", "iam"))
            )
            address, user = ATTACKER, "mallory"
            if number % 3 == 0:
                found["errorCode"] = "AccessDenied"
        found |= {
            "eventVersion": "1.08", "eventTime": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
            "eventSource": f"{source}.amazonaws.com",
            "eventName": name, "awsRegion": "eu-central-1", "sourceIPAddress": address, "recipientAccountId": "1234",
            "userIdentity": {"type": "IAMUser", "arn": f"arn:aws:iam::1234:user/{user}", "userName": user},
            "eventID": f"id-{number}", "requestParameters": {"userName": user}, "eventType": "AwsApiCall",
        }  # fmt: skip
        lines.append(json.dumps(found))
    return "\n".join(lines) + "\n"


def suricata(count: int, chance: random.Random) -> str:
    """Suricata's EVE with flows, DNS and alerts."""
    lines = []
    for number, moment in _moments(count, chance):
        found: dict[str, object] = {
            "timestamp": f"{moment:%Y-%m-%dT%H:%M:%S}.000000+0000", "flow_id": number, "event_type": "flow",
            "src_ip": f"10.0.0.{number % 9}", "src_port": 40_000 + number, "dest_ip": f"192.0.2.{number % 40}",
            "dest_port": 443, "proto": "TCP",
        }  # fmt: skip
        if _is_attack(number, count) and number % 2:
            found |= {"event_type": "alert", "src_ip": ATTACKER, "dest_ip": "10.0.0.3"}
            found["alert"] = {
                "action": "allowed", "gid": 1, "signature_id": 2_000_000 + number % 4, "rev": 1,
                "signature": f"ET EXPLOIT attempt {number % 4}", "category": "Attempted Administrator Privilege Gain",
                "severity": 1 + number % 3,
            }  # fmt: skip
        elif number % 3 == 0:
            found |= {"event_type": "dns", "dest_port": 53}
            found["dns"] = {"type": "query", "id": number, "rrname": f"host{number % 30}.example.org", "rrtype": "A"}
        else:
            found["flow"] = {"pkts_toserver": 3, "bytes_toserver": chance.randrange(9_000), "state": "closed"}
        lines.append(json.dumps(found))
    return "\n".join(lines) + "\n"


def firewall(count: int, chance: random.Random) -> str:
    """netfilter's lines in syslog, without years."""
    lines = []
    for number, moment in _moments(count, chance):
        stamp = f"{moment:%b} {moment.day:2} {moment:%H:%M:%S} gate"
        source, port, action = f"203.0.113.{number % 50}", chance.choice((22, 80, 443)), "UFW ALLOW"
        if _is_attack(number, count):
            source, port, action = ATTACKER, 1 + number % 300, "UFW BLOCK"
        lines.append(
            f"{stamp} kernel: [{number}.123] [{action}] IN=eth0 OUT= MAC=00:00 SRC={source} DST=10.0.0.1 LEN=60 "
            f"TTL=50 ID={number} PROTO=TCP SPT={40_000 + number % 999} DPT={port} WINDOW=512 SYN URGP=0"
        )
        if number % 60 == 9:
            lines.append("-- a note of an operator --\n")
    return "\n".join(lines) + "\n"


def winlogbeat(count: int, chance: random.Random) -> str:
    """Windows events as Elastic's shipper writes them: logons that fail, then one that does not, and processes."""
    lines = []
    for number, moment in _moments(count, chance):
        event_id, channel = 4688, "Security"
        data = {
            "NewProcessName": f"C:\\Windows\\System32\\tool{number % 20}.exe", "NewProcessId": hex(4_000 + number),
            "ProcessId": hex(4_000 + number - number % 7), "ParentProcessName": "C:\\Windows\\explorer.exe",
            "CommandLine": f"tool{number % 20}.exe /run {number}", "SubjectUserName": "anna",
        }  # fmt: skip
        if _is_attack(number, count):
            event_id = 4624 if number % 60 == 0 else 4625
            data = {
                "TargetUserName": chance.choice(("admin", "backup")), "IpAddress": ATTACKER, "LogonType": "3",
                "TargetDomainName": "CORP", "WorkstationName": "KALI", "Status": "0xc000006d",
            }  # fmt: skip
            if number % 80 == 1:
                event_id, data = 4688, data | {
                    "NewProcessName": "C:\\Windows\\System32\\rundll32.exe", "NewProcessId": hex(number),
                    "CommandLine": "rundll32.exe C:\\windows\\System32\\comsvcs.dll, MiniDump 624 C:\\temp\\l.dmp full",
                }  # fmt: skip
        winlog = {
            "event_id": event_id,
            "channel": channel,
            "record_id": 9_000 + number,
            "computer_name": "pc1.corp.example",
        }
        provider = {"provider_name": "Microsoft-Windows-Security-Auditing", "event_data": data}
        lines.append(json.dumps({"@timestamp": f"{moment:%Y-%m-%dT%H:%M:%S}.000Z", "winlog": winlog | provider}))
        if number % 75 == 2:
            lines.append('{"@timestamp": "2026-12-31T22:00:00Z", "message": "no event"}')
    return "\n".join(lines) + "\n"


def csv_table(count: int, chance: random.Random) -> str:
    """A table of logins whose notes have several lines and quotes, and whose rows are sometimes damaged."""
    rows = ["time,user,source_ip,action,result,note"]
    for number, moment in _moments(count, chance):
        user, address, result = f"user{number % 9}", f"10.0.0.{number % 30}", "success"
        if _is_attack(number, count):
            user, address, result = chance.choice(("admin", "backup")), ATTACKER, "failure"
            if number % 50 == 0:
                result = "success"
        note = f"plain {number}"
        if number % 4 == 1:
            note = f'"line {number}, a comma\n2026-12-31T22:00:00Z,forged,10.9.9.9,login,success\nsaid ""hello"""'
        rows.append(f"{moment:%Y-%m-%dT%H:%M:%SZ},{user},{address},login,{result},{note}")
    return "\r\n".join(rows) + "\r\n"


def dns_log(count: int, chance: random.Random) -> str:
    """BIND's queries in syslog, with a tunnel."""
    lines = []
    for number, moment in _moments(count, chance, 4):
        name, client = f"www{number % 60}.example.org", f"10.0.0.{number % 20}"
        if _is_attack(number, count):
            name = f"{chance.randbytes(24).hex()}.t.example.net"
            client = "10.0.0.66"
        stamp = f"{moment:%Y-%m-%dT%H:%M:%S}.000000+00:00 ns1"
        lines.append(
            f"{stamp} named[53]: client @0x7f {client}#{4_000 + number} ({name}): query: {name} IN A +E(0)K (10.0.0.2)"
        )
    return "\n".join(lines) + "\n"


SHAPES: dict[str, Callable[[int, random.Random], str]] = {
    "auth.log": auth_log, "access.log": web_log, "conn.log": zeek_tsv, "conn.json": zeek_json,
    "cloudtrail.jsonl": cloudtrail, "eve.json": suricata, "firewall.log": firewall, "winlogbeat.jsonl": winlogbeat,
    "logins.csv": csv_table, "dns.log": dns_log,
}  # fmt: skip
"""A log of each shape, by the name of its file: of so many records, by a random generator."""


def log_of(name: str, count: int, seed: int) -> bytes:
    """Return a log."""
    return SHAPES[name](count, random.Random(seed)).encode()
