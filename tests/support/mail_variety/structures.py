"""Mails of many structures and languages, as they reach a mailbox without any recorded check: only Received fields.

Reply chains, calendar invitations, attachments alone, codes in pictures, nested parts. The open half was looked at
after its first sight (.90 of its lures flagged, .06 of its ordinary mails), the held half only measured (.85, .05).
One seed, always the same mails.
"""

from __future__ import annotations

import base64
import quopri
import re
import tomllib
from collections.abc import Iterator
from email.header import Header
from pathlib import Path
from random import Random

import msgspec

from tests.support.mail_variety.build import multipart

VARIANTS = 2
READERS = ("jana.novak@novak-keramik-example.org", "einkauf@nordwerk-example.de", "m.silva@porto-labs-example.pt")
_SITES = ("kajak-verleih-example.de", "mosaik-kurs-example.at", "old-mill-example.co.za", "casa-verde-example.com.br")
_PAGE = b"<html><body><form action='https://kurs-example.com/p.php'><input type=password name=p></form></body></html>"
_CONTENTS = {
    "pdf": b"%PDF-1.5\n1 0 obj\n<<>>\nendobj\n%%EOF",
    "docx": b"PK\x03\x04" + bytes(60),
    "docm": b"PK\x03\x04" + bytes(60),
    "xlsx": b"PK\x03\x04" + bytes(60),
    "zip": b"PK\x03\x04" + bytes(60),
    "rar": b"Rar!\x1a\x07\x00" + bytes(60),
    "jpg": b"\xff\xd8\xff\xe0" + bytes(60),
    "svg": b"<svg xmlns='http://www.w3.org/2000/svg'><script>location='https://x-example.com'</script></svg>",
}
_PLACE = re.compile(r"\{(\w+)\}")


class Structured(msgspec.Struct, frozen=True, kw_only=True):
    """A mail: HTML or text, an invitation's title, names of attached files, and whether it shows a picture."""

    id: str
    sender: str = msgspec.field(name="from")
    subject: str
    html: str = ""
    text: str = ""
    calendar: str = ""
    files: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    inline: bool = False


class _Mails(msgspec.Struct, frozen=True):
    mails: tuple[Structured, ...]


def structured(kind: str, half: str) -> Iterator[tuple[str, bytes]]:
    """Mails by name; ``kind`` is lures or ham."""
    path = Path(__file__).with_name(f"structures_{half}_{kind}.toml")
    for mail in msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _Mails).mails:
        for number in range(VARIANTS):
            yield f"{mail.id}.{number}", _built(mail, Random(f"{kind} {half} {mail.id} {number}"))


def _built(mail: Structured, random: Random) -> bytes:
    reader = random.choice(READERS)
    user, _, domain = reader.partition("@")
    values = {
        "reader": reader, "user": user.split(".")[0].title(), "domain": domain, "bad": _bad(random, reader),
        "n": str(random.randrange(10**5, 10**8)), "day": random.choice(["Friday", "14.04.2026", "April 9"]),
    }  # fmt: skip

    def filled(text: str) -> str:
        return _PLACE.sub(lambda found: values.get(found[1], found[0]), text)

    name, _, address = filled(mail.sender).rpartition("<")
    address = address.strip("> ")
    origin = address.rpartition("@")[2]
    arrived = f"Tue, 17 Mar 2026 08:{random.randrange(10, 59)}:11 +0100"
    host = f"mail.{origin} [203.0.113.{random.randrange(2, 250)}]"
    route = f"from mail.{origin} ({host}) by mx.{domain} with ESMTPS; {arrived}"
    head = [
        f"Return-Path: <{address}>",
        f"Received: {route}",
        f"From: {_header(name.strip())} <{address}>" if name else f"From: {address}",
        f"To: {reader}",
        f"Subject: {_header(filled(mail.subject))}",
        "Date: Tue, 17 Mar 2026 08:04:02 +0100",
        f"Message-ID: <{random.randrange(16**12):x}@{origin}>",
        "MIME-Version: 1.0",
        *(f"{key}: {filled(value)}" for key, value in mail.headers.items()),
    ]
    body = _body(filled(mail.html), filled(mail.text), random)
    if mail.inline:
        picture = base64.encodebytes(b"\x89PNG\r\n\x1a\n" + bytes(99))
        encoded = b"Content-Type: image/png\nContent-ID: <qr>\nContent-Transfer-Encoding: base64\n\n" + picture
        body = multipart("related", [body, encoded])
    further = [_invitation(filled(mail.calendar), random)] if mail.calendar else []
    further += [_attached(filled(one)) for one in mail.files]
    return "\n".join(head).encode() + b"\n" + (multipart("mixed", [body, *further]) if further else body)


def _bad(random: Random, reader: str) -> str:
    token, site = f"{random.randrange(16**10):010x}", random.choice(_SITES)
    code = base64.b64encode(reader.encode()).decode()
    return random.choice([
        f"https://{site}/wp-content/plugins/{token[:5]}/?e={reader}", f"https://{site}/{token}",
        f"https://{token[:8]}.pages.dev/", f"https://{token[:6]}.web.core.windows.net/", f"https://forms.gle/{token}",
        f"https://{site}/index.php#{code}", f"https://bit.ly/{token[:7]}", f"https://app-{token[:6]}.vercel.app/login",
        f"http://{random.randrange(60, 210)}.{random.randrange(250)}.44.7/x/",
        f"https://www.google.com/url?q=https://{site}/{token}",
    ])  # fmt: skip


def _header(text: str) -> str:
    return text if text.isascii() else Header(text, "utf-8").encode()


def _body(html: str, text: str, random: Random) -> bytes:
    if html:
        page = _coded("text/html", f"<html><body>{html}</body></html>", random)
        plain = _coded("text/plain", re.sub("<[^>]+>", " ", html), random)
        return multipart("alternative", [plain, page]) if random.random() < 0.4 else page
    if random.random() < 0.6:
        return _coded("text/plain", text, random)
    lines = text.replace("\n", "<br>\n")
    return _coded("text/html", f"<html><body><p>{lines}</p></body></html>", random)


def _coded(kind: str, text: str, random: Random) -> bytes:
    data, encoding = text.encode(), random.choice(["base64", "quoted-printable", "8bit"])
    if encoding == "base64":
        data = base64.encodebytes(data)
    elif encoding == "quoted-printable":
        data = quopri.encodestring(data)
    return f'Content-Type: {kind}; charset="utf-8"\nContent-Transfer-Encoding: {encoding}\n\n'.encode() + data


def _invitation(title: str, random: Random) -> bytes:
    head = "BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20260317T100000Z\r\n"
    lines = f"{head}SUMMARY:{title}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    return _coded("text/calendar; method=REQUEST", lines, random)


def _attached(name: str) -> bytes:
    head = (
        f'Content-Type: application/octet-stream; name="{name}"\nContent-Transfer-Encoding: base64\n'
        f'Content-Disposition: attachment; filename="{name}"\n\n'
    )
    return head.encode() + base64.encodebytes(_CONTENTS.get(name.rpartition(".")[2], _PAGE))
