"""Files, scripts and texts that people have every day, generated: each number gives another one."""

# ruff: noqa: E501 - scripts, code and commands stand as they would be written

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import zlib
from datetime import UTC, datetime, timedelta
from random import Random

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.support import office_files, program_files

_NOW = datetime(2026, 11, 20, tzinfo=UTC)
_WORDS = [
    "The",
    "order",
    "of",
    "the",
    "workshop",
    "was",
    "confirmed",
    "on",
    "Monday.",
    "Please",
    "send",
    "the",
    "figures",
    "for",
    "the",
    "third",
    "quarter.",
    "The",
    "new",
    "kiln",
    "is",
    "installed",
    "in",
    "the",
    "hall",
    "and",
    "heats",
    "to",
    "1,280",
    "degrees.",
    "The",
    "minutes",
    "of",
    "the",
    "meeting",
    "are",
    "in",
    "the",
    "shared",
    "folder.",
]


def _prose(random: Random, count: int = 120) -> str:
    return " ".join(random.choice(_WORDS) for _ in range(count))


def pdf(number: int) -> bytes:
    """A page of text with a link to a site, or with a form."""
    random = Random(f"pdf {number}")
    text = f"BT /F1 12 Tf 72 720 Td ({_prose(random, 40)}) Tj ET".encode()
    link = b"<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI (https://www.example.org/help) >> >>"
    return program_files.pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Annots [5 0 R] >>",
        program_files.pdf_stream(zlib.compress(text), b"/Filter /FlateDecode"),
        link if number % 2 else b"<< /Type /Annot /Subtype /Text /Contents (checked) >>",
    )


_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def office(number: int) -> bytes:
    """A document with a link, a workbook with numbers, an RTF letter, or an old document with a small macro."""
    random = Random(f"office {number}")
    if number % 4 == 2:
        return b"{\\rtf1\\ansi\\deff0 {\\fonttbl{\\f0 Arial;}} " + _prose(random).encode() + b"\\par}"
    if number % 4 == 3:
        total = 'Sub Total()\r\n  Range("B9").Value = Application.Sum(Range("B1:B8"))\r\nEnd Sub\r\n'
        return office_files.project(total)
    link = f'<Relationship Id="r1" Type="{_OFFICE}/hyperlink" Target="https://www.example.org/" TargetMode="External"/>'
    relations = (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{link}</Relationships>'
    )
    folder, main = ("word", "document.xml") if number % 4 == 0 else ("xl", "workbook.xml")
    return program_files.archive(
        {
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
            f"{folder}/{main}": f"<document><p>{_prose(random)}</p></document>",
            f"{folder}/_rels/{main}.rels": relations,
            "docProps/core.xml": f"<core><creator>{random.choice(('Jo', 'Kim'))}</creator></core>",
        }
    )


_TARGETS = (
    ("C:\\Program Files\\Mozilla Firefox\\firefox.exe", ""), ("C:\\Program Files\\7-Zip\\7zFM.exe", ""),
    ("C:\\Windows\\explorer.exe", "C:\\Users\\jo\\Documents"), ("C:\\Windows\\System32\\notepad.exe", ""),
    ("C:\\Users\\jo\\Documents\\budget.xlsx", ""), ("C:\\Program Files\\Editor\\editor.exe", "--new-window"),
    ("C:\\Program Files\\Java\\bin\\javaw.exe", "-jar C:\\tools\\planner.jar"), ("D:\\Photos", ""),
    ("C:\\Windows\\System32\\mmc.exe", "compmgmt.msc"), ("C:\\Windows\\System32\\calc.exe", ""),
)  # fmt: skip


def shortcut(number: int) -> bytes:
    """A shortcut as on a desktop."""
    target, arguments = _TARGETS[number % len(_TARGETS)]
    return office_files.shortcut(target, arguments, icon=target if number >= len(_TARGETS) else "")


def archive(number: int) -> bytes:
    """Documents, photographs, a Python package, or a web project."""
    random = Random(f"zip {number}")
    if number % 4 == 0:
        files = {f"report/{part}.txt": _prose(random) for part in range(6)}
    elif number % 4 == 1:
        files = {f"photos/{part:03}.jpg": b"\xff\xd8\xff\xe0" + random.randbytes(300) for part in range(30)}
    elif number % 4 == 2:
        files = {
            f"package/module_{part}.py": f"VALUE = {part}\n\n\ndef read() -> int:\n    return VALUE\n"
            for part in range(25)
        }
        files |= {
            "package-1.0.dist-info/METADATA": "Name: package\n",
            "package/run.sh": "#!/bin/sh\nexec python -m package\n",
        }
    else:
        files = {f"site/js/part{part}.js": f"export const part = {part};\n" for part in range(25)}
        files |= {"site/index.html": "<html><body>Vases</body></html>", "site/build.cmd": "npm run build\r\n"}
    return program_files.archive(files)


def program(number: int) -> bytes:
    """A Windows or a Linux program with the imports of an editor."""
    names = ("CreateFileW", "ReadFile", "WriteFile", "CloseHandle", "GetLastError", "HeapAlloc")
    if number % 2:
        return program_files.elf(
            extra=b"usage: tool [options] file\x00cannot open %s\x00https://www.example.org/help\x00"
        )
    windows = {"KERNEL32.dll": names[: 3 + number % 4], "USER32.dll": ("MessageBoxW", "CreateWindowExW", "ShowWindow")}
    return program_files.pe(imports=windows)


_SCRIPTS = (
    "#!/bin/sh\nset -e\napt-get update\napt-get install -y nginx\nsystemctl enable --now nginx\n",
    "#!/bin/bash\nfor host in web1 web2; do\n  ssh \"$host\" uptime\ndone\n",
    "#!/bin/bash\ntar czf /backup/etc-$(date +%F).tar.gz /etc\nfind /backup -mtime +30 -delete\n",
    "#!/bin/sh\nrsync -a --delete /srv/www/ backup:/srv/www/\n",
    "#!/bin/bash\ncurl -fsS https://downloads.example.org/tool.tar.gz -o /tmp/tool.tar.gz\ntar xzf /tmp/tool.tar.gz -C /opt\n",
    "#!/bin/sh\ncase \"$1\" in\n  start) /usr/sbin/daemon & ;;\n  stop) kill \"$(cat /run/daemon.pid)\" ;;\nesac\n",
    "#!/bin/bash\ngetent passwd deploy >/dev/null || useradd --system deploy\ninstall -o deploy -d /srv/app\n",
    "#!/bin/sh\ncurl -fsSL https://get.example.org/install.sh | sh\n",
    "Get-ADUser -Filter * -Properties LastLogonDate | Where-Object { -not $_.Enabled } | Export-Csv C:\\reports\\users.csv\n",
    "Import-Csv C:\\new.csv | ForEach-Object { New-ADUser -Name $_.Name -Path 'OU=Staff,DC=corp,DC=example' }\n",
    "Get-Service | Where-Object Status -eq 'Stopped' | Start-Service\nGet-EventLog -LogName System -Newest 50\n",
    "$servers = Get-Content C:\\servers.txt\nInvoke-Command -ComputerName $servers -ScriptBlock { Get-HotFix }\n",
    "New-LocalUser -Name svcbackup -Password $secure\nAdd-LocalGroupMember -Group 'Administrators' -Member svcbackup\n",
    "Set-ExecutionPolicy RemoteSigned -Scope CurrentUser\nInstall-Module Az -Force\nUpdate-Help\n",
    "$a = New-ScheduledTaskAction -Execute 'C:\\tools\\backup.cmd'\nRegister-ScheduledTask -TaskName Backup -Action $a -Trigger $t\n",
    "Invoke-WebRequest https://downloads.example.org/agent.msi -OutFile C:\\temp\\agent.msi\nStart-Process msiexec.exe -ArgumentList '/i C:\\temp\\agent.msi /qn' -Wait\n",
    "@echo off\r\nnet use Z: \\\\files\\share /persistent:yes\r\nxcopy C:\\data Z:\\backup /E /Y\r\n",
    "@echo off\r\nfor /f %%i in (hosts.txt) do ping -n 1 %%i\r\npause\r\n",
    "const items = document.querySelectorAll('li');\nitems.forEach(item => item.addEventListener('click', () => item.remove()));\n",
    "const fs = require('fs');\nconst text = fs.readFileSync('a.json', 'utf8');\nconsole.log(JSON.parse(text).name);\n",
    "Restart-Computer -ComputerName web1 -Force\nTest-Connection web1 -Count 4\n",
    "netsh advfirewall firewall add rule name=\"Web\" dir=in action=allow protocol=TCP localport=443\r\n",
)  # fmt: skip


def script(number: int) -> bytes:
    """What administrators and web developers write."""
    return _SCRIPTS[number % len(_SCRIPTS)].encode()


_CODE = (
    "def total(rows):\n    return sum(row['price'] for row in rows)\n",
    "import sqlite3\n\n\ndef name(db, key):\n    return db.execute('select name from users where id = ?', (key,)).fetchone()\n",
    "import subprocess\n\n\ndef version():\n    return subprocess.run(['git', 'describe'], capture_output=True, check=True).stdout\n",
    "import os\n\nTOKEN = os.environ['TOKEN']\nCLIENT_SECRET = 'CLIENT_SECRET'\n",
    "import hashlib\n\n\ndef digest(data):\n    return hashlib.sha256(data).hexdigest()\n",
    "from pathlib import Path\n\nTEXT = Path(__file__).with_name('a.txt').read_text()\n",
    "import pickle\n\n\ndef cached(path):\n    with open(path, 'rb') as opened:\n        return pickle.load(opened)\n",
    "def run(self, code, scope):\n    exec(compile(code, '<cell>', 'exec'), scope)\n",
    "def __repr__(self):\n    return f\"<Requirement('{self.name}')>\"\n",
    "import os\n\n\ndef build(target):\n    os.system('make ' + target)\n",
)


def code(number: int) -> bytes:
    """Ordinary Python, with what makes a reviewer look twice."""
    return ("import logging\n\n" + _CODE[number % len(_CODE)] + f"\n\nNUMBER = {number}\n").encode()


def token(number: int) -> bytes:
    """A token of an identity provider, in a request's header."""
    now = int(_NOW.timestamp())
    claims = {"iss": "https://id.example.org", "aud": "shop", "sub": str(number), "iat": now - 60, "exp": now + 3_000}
    head, body = (
        base64.urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=")
        for one in ({"alg": "HS256", "typ": "JWT", "kid": "k1"}, claims)
    )
    key = hashlib.sha256(f"a key of the server {number}".encode()).digest()
    signature = base64.urlsafe_b64encode(hmac.new(key, f"{head}.{body}".encode(), hashlib.sha256).digest()).decode()
    return f"Authorization: Bearer {head}.{body}.{signature.rstrip('=')}\n".encode()


def certificate(number: int) -> bytes:
    """A server's certificate, or a root."""
    key, other = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    is_root = number % 4 == 0
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Root" if is_root else f"www{number}.example.org")])
    issuer = subject if is_root else x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Issuing CA")])
    began = _NOW - timedelta(days=4_000 if is_root and number % 8 else 20)
    made = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
        .serial_number(2**120 + number).not_valid_before(began).not_valid_after(began + timedelta(days=3_650 if is_root else 90))
        .add_extension(x509.BasicConstraints(ca=is_root, path_length=None), critical=True)
    )  # fmt: skip
    if not is_root:
        made = made.add_extension(
            x509.SubjectAlternativeName([x509.DNSName(f"www{number}.example.org")]), critical=False
        )
        made = made.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    return made.sign(key if is_root else other, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def text(number: int) -> bytes:
    """A note, release notes, a table, a settings file: what text tools are given without a reason."""
    random = Random(f"text {number}")
    forms = (
        _prose(random, 200),
        "\n".join(f"Version {random.randrange(9)}.{part}.{random.randrange(20)}: fixes and small changes" for part in range(20)),
        "name,room,phone\n" + "".join(f"Person {part},B{part},555-01{part:02}\n" for part in range(30)),
        json.dumps({"server": {"host": "10.0.0.5", "port": 8080}, "log": {"level": "info"}}, indent=1),
        "commit " + hashlib.sha1(str(number).encode(), usedforsecurity=False).hexdigest() + "\nAuthor: Jo <jo@example.org>\n\n    Fix the parser\n",
        "icon = data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + random.randbytes(200)).decode() + "\n",
    )  # fmt: skip
    return forms[number % len(forms)].encode()
