"""Eight kinds of evidence with planted facts, for the further questions of an analyst (``follow_up_cases``)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import dpkt
import msgspec

from tests.support.captures import capture, conversation, ethernet, tcp, udp
from tests.support.collections import zipped
from tests.support.evtx_writer import Record, evtx

DAY = datetime(2026, 11, 20, tzinfo=UTC)
Patterns = tuple[str, ...]


class Planted(msgspec.Struct, frozen=True, kw_only=True):
    """A file, the question asked first, and what it holds; every text is a pattern that a right answer matches.

    ``None`` for something that this kind of evidence cannot tell: the right answer then says so.
    """

    file: tuple[str, bytes]
    first: str
    winners: Patterns | None
    """Who logged in successfully."""
    start: str
    end: str
    actor: str
    noun: str
    """What is counted of the actor."""
    actor_count: str
    actor_facts: Patterns
    actor_start: str
    other: str
    other_noun: str
    other_count: str
    other_facts: Patterns
    quiet: tuple[str, str]
    """A value that no finding mentions, and its place."""
    quiet_too: tuple[str, str]
    absent: str
    absent_too: str
    extent: str
    """How much "no" is true of: "of 71 lines"."""
    entities: str
    entity_values: Patterns
    entity_count: str
    more_entities: str
    more_values: Patterns
    external: Patterns | None
    top: str
    """What has most of ``noun``."""
    place: str
    """Where the actor is first seen."""
    clock: str
    """A time of day; ``late`` and ``early`` are what is after it, and what only is before it."""
    late: Patterns | None
    reason: str
    step: str
    gist: str


def _clock(seconds: float) -> datetime:
    return DAY + timedelta(seconds=seconds)


def _hours(clock: str) -> int:
    hours, minutes, seconds = map(int, clock.split(":"))
    return hours * 3600 + minutes * 60 + seconds


def auth_log() -> bytes:
    """Two sources that fail, one account whose password was guessed, an administrator's ordinary login."""
    said: list[tuple[float, str]] = [
        (_hours("01:10:00"), "sshd[90]: Accepted publickey for ann from 198.51.100.11 port 40022 ssh2"),
        (_hours("01:40:00"), "systemd[1]: Started backup-job-77.service."),
        (_hours("04:05:00"), "systemd[1]: Stopped inventory-sync.service."),
        (_hours("04:30:00"), "CRON[700]: (root) CMD (/usr/bin/true)"),
    ]
    for number in range(40):
        account = "root" if number % 4 else "admin"
        text = f"sshd[{200 + number}]: Failed password for {account} from 203.0.113.7 port {50_000 + number} ssh2"
        said.append((_hours("02:10:00") + 5 * number, text))
    for number in range(12):
        text = f"sshd[{400 + number}]: Failed password for bob from 203.0.113.80 port {51_000 + number} ssh2"
        said.append((_hours("02:30:00") + 20 * number, text))
    for number in range(6):
        text = f"sshd[{500 + number}]: Failed password for mara from 198.51.100.23 port {52_000 + number} ssh2"
        said.append((_hours("03:11:00") + 8 * number, text))
    said += [
        (_hours("03:12:07"), "sshd[600]: Accepted password for mara from 198.51.100.23 port 52010 ssh2"),
        (_hours("03:20:00"), "sudo:   mara : TTY=pts/1 ; PWD=/tmp ; USER=root ; COMMAND=/usr/sbin/useradd svcmon"),
        (_hours("03:20:01"), "useradd[611]: new user: name=svcmon, UID=107, GID=107, home=/home/svcmon, shell=/bin/sh"),
    ]
    return "".join(f"{_clock(at):%b %d %H:%M:%S} web-3 {text}\n" for at, text in sorted(said)).encode()


def windows_log() -> bytes:
    """A password guessed on a server, an account made, LSASS dumped, the log cleared."""
    made: list[tuple[float, int, str, dict[str, str]]] = []
    for number in range(20):
        made.append((_hours("03:00:00") + 4 * number, 4625, "", {
            "TargetUserName": "administrator", "TargetDomainName": "CORP", "IpAddress": "10.0.0.99",
            "LogonType": "3", "Status": "0xc000006d", "SubStatus": "0xc000006a", "WorkstationName": "-"}))  # fmt: skip
    for number in range(5):
        made.append((_hours("03:05:00") + 9 * number, 4625, "", {
            "TargetUserName": "svc-sql", "TargetDomainName": "CORP", "IpAddress": "10.0.0.98",
            "LogonType": "3", "Status": "0xc000006d", "SubStatus": "0xc000006a", "WorkstationName": "-"}))  # fmt: skip
    made += [
        (_hours("02:50:00"), 4634, "", {"TargetUserName": "ann", "TargetDomainName": "CORP", "LogonType": "3",
                                        "TargetLogonId": "0x7a1b2c3"}),
        (_hours("03:10:30"), 4624, "", {"TargetUserName": "administrator", "TargetDomainName": "CORP",
                                        "IpAddress": "10.0.0.99", "LogonType": "3", "WorkstationName": "-",
                                        "LogonProcessName": "NtLmSsp", "TargetLogonId": "0x51a2b"}),
        (_hours("03:12:00"), 4720, "", {"TargetUserName": "svcmon", "TargetDomainName": "CORP",
                                        "SubjectUserName": "administrator", "SubjectDomainName": "CORP"}),
        (_hours("03:15:00"), 4688, "", {"NewProcessName": r"C:\Windows\System32\rundll32.exe", "SubjectUserName":
                                        "administrator", "SubjectDomainName": "CORP", "CommandLine":
                                        r"rundll32.exe C:\windows\system32\comsvcs.dll, MiniDump 644 C:\t\l.dmp full",
                                        "ParentProcessName": r"C:\Windows\System32\cmd.exe"}),
        (_hours("03:16:00"), 4688, "", {"NewProcessName": r"C:\Windows\System32\notepad.exe", "SubjectUserName": "ann",
                                        "SubjectDomainName": "CORP", "CommandLine": "notepad.exe minutes-q3.txt",
                                        "ParentProcessName": r"C:\Windows\explorer.exe"}),
    ]  # fmt: skip
    records = [
        Record(number=number, event_id=code, time=_clock(at).isoformat(), computer="SRV-9.corp.example", data=data)
        for number, (at, code, _, data) in enumerate(sorted(made, key=lambda one: one[0]), start=1)
    ]
    cleared = Record(
        number=len(records) + 1, event_id=1102, time=_clock(_hours("03:40:00")).isoformat(),
        computer="SRV-9.corp.example", provider="Microsoft-Windows-Eventlog", user_data="LogFileCleared",
        data={"SubjectUserName": "administrator", "SubjectDomainName": "CORP"},
    )  # fmt: skip
    return evtx([*records, cleared])


_WEB = '{} - - [20/Nov/2026:{} +0000] "{} {} HTTP/1.1" {} {} "-" "{}"\n'


def web_log() -> bytes:
    """Visitors, one client that injects and traverses, one that looks for pages that do not exist."""
    made: list[tuple[float, str, str, str, int, str]] = []
    for number in range(30):
        at = _hours("02:00:00") + 60 * number
        made.append((at, "198.51.100.9", "GET", f"/news/{number}", 200, "Mozilla/5.0"))
    made.append((_hours("02:15:30"), "198.51.100.30", "GET", "/invoices", 200, "InvoiceBot/3.1"))
    made.append((_hours("02:16:30"), "198.51.100.30", "GET", "/robots.txt", 200, "InvoiceBot/3.1"))
    tried = (
        "/item?id=1%27%20UNION%20SELECT%20user,password%20FROM%20users--", "/item?id=1%27%20OR%20%271%27=%271",
        "/../../../../etc/passwd", "/cgi-bin/..%2f..%2f..%2fetc/passwd", "/uploads/shell.php?cmd=whoami",
        "/uploads/shell.php?cmd=cat%20/etc/passwd",
    )  # fmt: skip
    made += [
        (_hours("02:40:00") + 3 * n, "203.0.113.50", "GET", path, 200, "sqlmap/1.7") for n, path in enumerate(tried)
    ]
    for number in range(25):
        at = _hours("03:05:00") + 2 * number
        made.append((at, "203.0.113.60", "GET", f"/backup{number}.zip", 404, "gobuster/3.6"))
    return "".join(
        _WEB.format(client, f"{_clock(at):%H:%M:%S}", method, path, status, 512, agent)
        for at, client, method, path, status, agent in sorted(made)
    ).encode()


def phishing_mail() -> bytes:
    """A message with links to two hosts and a script attached; part of its text is in quoted-printable."""
    script = base64.b64encode(b"// note\nnew ActiveXObject('WScript.Shell').Run('calc');\n").decode()
    return (
        "Return-Path: <bounce@mail.parcel-desk.example>\n"
        "Received: from mx.corp.example (mx.corp.example [10.0.0.25]) by box.corp.example with ESMTP id 2;\n"
        " Fri, 20 Nov 2026 09:02:30 +0000\n"
        "Received: from mail.parcel-desk.example (unknown [203.0.113.45]) by mx.corp.example with ESMTP id 1;\n"
        " Fri, 20 Nov 2026 09:02:11 +0000\n"
        "Authentication-Results: mx.corp.example; spf=fail smtp.mailfrom=mail.parcel-desk.example; dmarc=fail"
        " header.from=parcel-desk.example\n"
        'From: "Parcel Desk" <note@parcel-desk.example>\n'
        "Reply-To: <desk@collect-fast.example>\n"
        "To: mara@corp.example\n"
        "Subject: Your parcel will be returned today\n"
        "Date: Fri, 20 Nov 2026 09:01:58 +0000\n"
        "Message-ID: <7714@mail.parcel-desk.example>\n"
        "MIME-Version: 1.0\n"
        'Content-Type: multipart/mixed; boundary="b1"\n'
        "\n"
        "--b1\n"
        'Content-Type: text/html; charset="utf-8"\n'
        "Content-Transfer-Encoding: quoted-printable\n"
        "\n"
        "<p>Dear customer, your parcel 88-KESTREL could not be deliv=\nered. Act within 2 hours.</p>\n"
        '<a href=3D"http://track.parcel-desk.example/t?id=3D7714">www.post.example</a>\n'
        '<a href=3D"http://track.parcel-desk.example/login">verify your account</a>\n'
        '<a href=3D"http://pics.cdn-host.example/logo">logo</a>\n'
        "<p>Depot Harro=\nwgate</p>\n"
        "--b1\n"
        'Content-Type: application/octet-stream; name="delivery_note.js"\n'
        'Content-Disposition: attachment; filename="delivery_note.js"\n'
        "Content-Transfer-Encoding: base64\n"
        "\n"
        f"{script}\n"
        "--b1--\n"
    ).encode()


def _lookup(name: str, address: str, at: float) -> Iterator[tuple[float, bytes]]:
    question = dpkt.dns.DNS(id=7, qd=[dpkt.dns.DNS.Q(name=name, type=1)])
    packed = bytes(map(int, address.split(".")))
    found = [dpkt.dns.DNS.RR(name=name, type=1, cls=1, ttl=60, ip=packed)]
    answer = dpkt.dns.DNS(id=7, op=0x8180, qd=question.qd, an=found)
    yield at, ethernet(udp("10.0.0.5", "10.0.0.1", (40_000, 53), bytes(question)))
    yield at + 0.02, ethernet(udp("10.0.0.1", "10.0.0.5", (53, 40_000), bytes(answer)))


def packets() -> bytes:
    """A host that scans a server's ports, and one that calls an address outside every minute."""
    begun = DAY.timestamp()
    frames: list[tuple[float, bytes]] = []
    for number, name in enumerate(("wiki.corp.example", "mail.corp.example")):
        frames += _lookup(name, "10.0.0.30", begun + _hours("08:00:00") + 97 * number * number)
    frames += _lookup("status.parcel-desk.example", "203.0.113.9", begun + _hours("08:09:59"))
    header = b"GET /plan HTTP/1.1\r\nHost: wiki.corp.example\r\nX-Ticket: INC-4711\r\n\r\n"
    reply = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\r\nMeeting-Rm-B12"
    frames += conversation(
        [(">", header), ("<", reply)], client="10.0.0.5", server="10.0.0.30", ports=(48_000, 80),
        at=begun + _hours("08:02:00"),
    )  # fmt: skip
    for number in range(40):
        frames += conversation(
            [(">", b"\x17\x03\x03\x00\x05hello"), ("<", b"\x17\x03\x03\x00\x02ok")], client="10.0.0.5",
            server="203.0.113.9", ports=(49_000 + number, 443), at=begun + _hours("08:10:00") + 60 * number,
        )  # fmt: skip
    for number in range(60):
        at = begun + _hours("09:15:00") + 0.1 * number
        frames.append((at, ethernet(tcp("10.0.0.66", "10.0.0.80", (52_000, 1_000 + number), 2, 1))))
        frames.append((at + 0.01, ethernet(tcp("10.0.0.80", "10.0.0.66", (1_000 + number, 52_000), 20, 1))))
    return capture(sorted(frames))


def _call(clock: str, who: str, service: str, name: str, address: str, **more: object) -> dict[str, object]:
    return {
        "eventVersion": "1.08", "eventTime": f"2026-11-20T{clock}Z", "eventSource": f"{service}.amazonaws.com",
        "eventName": name, "awsRegion": "eu-west-1", "sourceIPAddress": address, "userAgent": "aws-cli/2",
        "userIdentity": {"type": "IAMUser", "userName": who, "arn": f"arn:aws:iam::123456789012:user/{who}",
                         "accountId": "123456789012"},
    } | more  # fmt: skip


def cloud_log() -> bytes:
    """A console login without MFA, an identity that makes keys and stops logging, one that is refused."""
    records = [
        _call("05:00:00", "mara", "signin", "ConsoleLogin", "198.51.100.13",
              responseElements={"ConsoleLogin": "Success"}, additionalEventData={"MFAUsed": "No"}),
        _call("05:20:00", "ann", "s3", "GetObject", "198.51.100.11",
              requestParameters={"bucketName": "quarterly-figures", "key": "plan-zeta.xlsx"}),
        _call("06:00:00", "deploy", "iam", "CreateAccessKey", "203.0.113.77", requestParameters={"userName": "mara"}),
        _call("06:01:00", "deploy", "iam", "AttachUserPolicy", "203.0.113.77",
              requestParameters={"policyArn": "arn:aws:iam::aws:policy/AdministratorAccess", "userName": "mara"}),
        _call("06:03:00", "deploy", "cloudtrail", "StopLogging", "203.0.113.77"),
    ]  # fmt: skip
    names = ("ListUsers", "ListRoles", "ListPolicies", "GetUser", "ListGroups", "ListAccessKeys", "GetRole",
             "ListBuckets", "DescribeInstances")  # fmt: skip
    for number, name in enumerate(names):
        service = "ec2" if name == "DescribeInstances" else "s3" if name == "ListBuckets" else "iam"
        records.append(
            _call(f"06:30:{number:02}", "ci-runner", service, name, "198.51.100.40", errorCode="AccessDenied")
        )
    return json.dumps({"Records": records}).encode()


REPORT = """Incident report, draft 3

The operators, which we track as Nightjar, sent mail from evil-parcel.top and kept a
server at 203.0.113.9. The implant (SHA-256
9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08) calls 203.0.113.9 each minute
and falls back to backup-c2.xyz if that fails. The loader exploits CVE-2021-44228 and then
runs PowerShell (T1059.001). A second server, 198.51.100.200, was seen once. On 20 November the
team at the Brightwater depot blocked 203.0.113.9 and the domain evil-parcel.top.
Internal hosts 10.1.2.3 and 10.1.2.4 were rebuilt.
"""


def archive() -> bytes:
    """The login log and the web log of one host, and a note."""
    members = [
        ("web-3/auth.log", auth_log()),
        ("web-3/access.log", web_log()),
        ("web-3/note.txt", b"Collected by the depot team, ticket HX-2201.\nSealed bag 5-Q.\n"),
    ]
    return zipped(members)


EVIDENCE: dict[str, Planted] = {
    "auth": Planted(
        file=("auth.log", auth_log()), first="Which accounts were brute-forced, and did anyone get in?",
        winners=("mara", r"198\.51\.100\.23", "ann"), start="02:10:00|01:10:00", end="04:30:00|03:20:01|03:12:07",
        actor="203.0.113.7", noun="failures", actor_count=r"\b40\b", actor_facts=(r"\b40\b", "root", "admin", "02:10"),
        actor_start="02:10:00", other="203.0.113.80", other_noun="failed logins", other_count=r"\b12\b",
        other_facts=(r"\b12\b", "bob", "02:30"), quiet=("backup-job-77", r"line 2\b"),
        quiet_too=("inventory-sync", r"line 6\d\b"), absent="192.0.2.99", absent_too="trudy", extent=r"of 65 lines",
        entities="accounts", entity_values=("root", "admin", "bob", "mara"), entity_count=r"\b(?:4|5|6)\b",
        more_entities="sources", more_values=(r"203\.0\.113\.7\b", r"203\.0\.113\.80", r"198\.51\.100\.23"),
        external=(r"203\.0\.113\.7\b", r"203\.0\.113\.80"), top=r"203\.0\.113\.7\b", place=r"line 3\b", clock="03:00",
        late=("mara",), reason="fail", step="password|block|mara", gist="mara",
    ),
    "windows": Planted(
        file=("SRV-9.evtx", windows_log()), first="What happened on this host?",
        winners=("administrator", r"10\.0\.0\.99"), start="03:00:00|02:50:00", end="03:40:00",
        actor="10.0.0.99", noun="failures", actor_count=r"\b20\b", actor_facts=(r"\b20\b", "administrator", "03:0"),
        actor_start="03:00:00", other="svc-sql", other_noun="failed logons", other_count=r"\b5\b",
        other_facts=(r"\b5\b", r"10\.0\.0\.98"), quiet=("minutes-q3.txt", r"record \d+"),
        quiet_too=("0x7a1b2c3", r"record 1\b"), absent="10.9.9.9", absent_too="mimikatz", extent="of 31 events",
        entities="accounts", entity_values=("administrator", "svc-sql"), entity_count=r"\b(?:3|4|5|6)\b",
        more_entities="hosts", more_values=("SRV-9",), external=None, top=r"10\.0\.0\.99|administrator",
        place=r"record \d+", clock="03:11", late=("svcmon|MiniDump|cleared",), reason="log|LSASS|credential|fail",
        step="password|isolate|reset|disable|check|collect", gist="SRV-9|administrator",
    ),
    "web": Planted(
        file=("access.log", web_log()), first="Is anything suspicious in this log?",
        winners=None, start="02:00:00|02:40:00", end="03:05:48|02:40:15",
        actor="203.0.113.50", noun="requests", actor_count=r"\b6\b", actor_facts=(r"\b6\b", "inject|SQL", "02:40"),
        actor_start="02:40:00", other="198.51.100.9", other_noun="requests", other_count=r"\b30\b",
        other_facts=(r"\b30\b",), quiet=("/news/17", r"line 1\d|line 2\d"), quiet_too=("InvoiceBot", r"line 1\d"),
        absent="203.0.113.99", absent_too="wp-login.php", extent="of 63 lines", entities="clients",
        entity_values=(r"203\.0\.113\.50", r"198\.51\.100\.9\b", r"203\.0\.113\.60"), entity_count=r"\b4\b",
        more_entities="addresses", more_values=(r"203\.0\.113\.50", r"203\.0\.113\.60"),
        external=(r"203\.0\.113\.50",), top=r"198\.51\.100\.9\b", place=r"line 3[23]", clock="03:00",
        late=(r"203\.0\.113\.60",), reason="SQL|injection|passwd|answered|traversal", step=
        "block|server|check|response",
        gist=r"203\.0\.113\.50|attack",
    ),
    "mail": Planted(
        file=("parcel.eml", phishing_mail()), first="Triage this mail.",
        winners=None, start="09:01:58|09:02:11", end="09:02:30",
        actor="track.parcel-desk.example", noun="links", actor_count=r"\b2\b", actor_facts=("/login", "7714"),
        actor_start="09:01:58|09:02:11|cannot tell|no time", other="pics.cdn-host.example",
        other_noun="links", other_count=
        r"\b1\b",
        other_facts=("logo",), quiet=("KESTREL", r"line \d+|part"), quiet_too=("Harrowgate", r"line \d+|part"),
        absent="paypal.example", absent_too="bitcoin", extent=r"of \d+ lines|part",
        entities="links", entity_values=("t.id.?7714", "/login", "pics"), entity_count=r"\b3\b",
        more_entities="attachments", more_values=("delivery_note.js",),
        external=(r"203\.0\.113\.45|parcel-desk",), top="track.parcel-desk", place=r"line \d+|part|link|mail",
        clock="09:02", late=("09:02:11|09:02:30",), reason="SPF|DMARC|Reply-To|link|script", step=
        "open|delete|block|report",
        gist="phishing|suspicious|malicious",
    ),
    "capture": Planted(
        file=("office.pcap", packets()), first="What is in this capture?",
        winners=None, start="08:00:00|08:10:00", end="09:15:05|09:15:06",
        actor="203.0.113.9", noun="connections", actor_count=r"\b40\b", actor_facts=(r"\b40\b", r"10\.0\.0\.5\b",
        "60|1 min"),
        actor_start="08:10:00", other="10.0.0.66", other_noun="ports", other_count=r"\b60\b",
        other_facts=(r"\b60\b", r"10\.0\.0\.80", "scan"), quiet=("INC-4711", r"packet \d+"),
        quiet_too=("Meeting-Rm-B12", r"packet \d+"), absent="172.16.5.5", absent_too="evil.example",
        extent=r"of \d+ packets", entities="hosts", entity_values=(r"10\.0\.0\.66", r"10\.0\.0\.5\b",
        r"203\.0\.113\.9\b"),
        entity_count=r"\b6\b", more_entities="domains", more_values=("parcel-desk.example", "corp.example"),
        external=(r"203\.0\.113\.9\b",), top=r"10\.0\.0\.66|10\.0\.0\.80", place=r"packet \d+", clock="09:00",
        late=("scan|10\\.0\\.0\\.66",), reason="regular|interval|beacon|60 s|ports", step=
        "block|isolate|check|find|look",
        gist=r"203\.0\.113\.9|scan|beacon",
    ),
    "cloud": Planted(
        file=("cloudtrail.json", cloud_log()), first="Is anything suspicious in this log?",
        winners=("mara",), start="05:00:00|06:00:00", end="06:30:08|06:03:00",
        actor="deploy", noun="calls", actor_count=r"\b3\b", actor_facts=("StopLogging", "CreateAccessKey",
        r"203\.0\.113\.77"),
        actor_start="06:00:00", other="ci-runner", other_noun="calls", other_count=r"\b9\b",
        other_facts=(r"\b9\b", "denied|refused"), quiet=("quarterly-figures", r"record 2\b|line \d+"),
        quiet_too=("plan-zeta.xlsx", r"record 2\b|line \d+"), absent="198.51.100.99", absent_too="mallory",
        extent="of 14 (?:events|records)", entities="accounts", entity_values=("deploy", "mara", "ci-runner"),
        entity_count=r"\b4\b", more_entities="addresses", more_values=(r"203\.0\.113\.77", r"198\.51\.100\.40"),
        external=(r"203\.0\.113\.77",), top="ci-runner", place=r"record 3\b|line \d+", clock="06:02",
        late=("StopLogging",), reason="log|policy|key|MFA|administrator", step="key|MFA|check|disable|revoke|review",
        gist="deploy|StopLogging|logging|policy",
    ),
    "report": Planted(
        file=("report.txt", REPORT.encode()), first="Extract the indicators.",
        winners=None, start="cannot tell|no time|not answered", end="cannot tell|no time|not answered",
        actor="203.0.113.9", noun="mentions", actor_count=r"\b3\b", actor_facts=(r"\b3\b", r"line 4\b"),
        actor_start="line 4|cannot tell|no time", other="evil-parcel.top", other_noun="mentions", other_count=r"\b2\b",
        other_facts=(r"\b2\b", r"line 3\b"), quiet=("Nightjar", r"line 3\b"), quiet_too=("Brightwater", r"line \d"),
        absent="203.0.113.99", absent_too="Lazarus", extent="of 9 lines|of 10 lines", entities="domains",
        entity_values=("evil-parcel.top", "backup-c2.xyz"), entity_count=r"\b2\b", more_entities="addresses",
        more_values=(r"203\.0\.113\.9\b", r"198\.51\.100\.200", r"10\.1\.2\.3"),
        external=(r"203\.0\.113\.9\b", r"198\.51\.100\.200"), top=r"203\.0\.113\.9\b", place=r"line 4\b",
        clock="03:00", late=None, reason="cannot tell|not answered|no finding|indicator", step=
        "block|search|look|check", gist="indicator",
    ),
    "archive": Planted(
        file=("case.zip", archive()), first="What happened on this host?",
        winners=("mara", r"198\.51\.100\.23"), start="02:10:00|01:10:00|02:00:00", end="04:30:00|03:20:01|03:12:07",
        actor="203.0.113.7", noun="failures", actor_count=r"\b40\b", actor_facts=(r"\b40\b", "root", "admin"),
        actor_start="02:10:00", other="203.0.113.50", other_noun="requests", other_count=r"\b6\b",
        other_facts=(r"\b6\b", "inject|SQL", "02:40"), quiet=("backup-job-77", r"line 2\b.{0,60}auth\.log"),
        quiet_too=("HX-2201", r"line 1\b.{0,60}note\.txt"), absent="192.0.2.99", absent_too="wp-login.php",
        extent=r"of 1[23]\d lines", entities="accounts", entity_values=("root", "admin", "bob", "mara"),
        entity_count=r"\b(?:4|5|6)\b", more_entities="addresses", more_values=(r"203\.0\.113\.7\b", r"203\.0\.113\.50"),
        external=(r"203\.0\.113\.7\b", r"203\.0\.113\.50"), top=r"203\.0\.113\.7\b", place=r"line 3\b.{0,60}auth\.log",
        clock="03:00", late=("mara",), reason="fail|SQL|attack", step="password|block|mara|server", gist="mara",
    ),
}  # fmt: skip
