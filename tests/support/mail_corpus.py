"""Mails of every age and form, built from the templates of ``mail_corpus.toml``: one seed, always the same mails.

What varies: header fields (none but the four, an old server's, an mbox's, a list's, today's with checks recorded),
plain text, HTML, both or nested parts, charset and transfer encoding, the kind of a trap's address.
"""

from __future__ import annotations

import base64
import html
import quopri
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import msgspec

from tests.support.mails import CONTENTS

VARIANTS = 4
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_TRACKER = "http://click.mailer-service-example.net"
_DAYS = ("03/11/2025", "Tuesday, March 11", "11.03.2025")
_ODD = (
    "hotel-lago-example.it", "mail-kx82-example.click", "yamato-kensetsu-example.jp", "clinica-sur-example.cl",
    "verify-notice-example.info", "student.hill-example.edu", "email-svc77-example.top", "abc-logistics-example.com",
)  # fmt: skip
_READERS = ("jana@novak-keramik-example.org", "jose@monkeys-example.org", "accounts@lakeside-example.edu")


class Template(msgspec.Struct, frozen=True):
    """One mail before it is varied. ``form``: plain, html, any; ``era`` and ``kind`` decide which fields it has."""

    id: str
    sender: str
    subject: str
    body: str
    form: str = "any"
    era: str = "new"
    kind: str = "plain"
    files: tuple[tuple[str, str, str], ...] = ()
    fields: dict[str, str] = {}


class Templates(msgspec.Struct, frozen=True):
    """``mail_corpus.toml``."""

    traps: tuple[Template, ...]
    ordinary: tuple[Template, ...]


def corpus(kind: str) -> Iterator[tuple[str, bytes]]:
    """The mails of a kind (traps, ordinary), VARIANTS of each template, by name."""
    text = Path(__file__).with_name("mail_corpus.toml").read_text(encoding="utf-8")
    templates: tuple[Template, ...] = getattr(msgspec.convert(tomllib.loads(text), Templates), kind)
    for template in templates:
        for number in range(VARIANTS):
            yield (
                f"{template.id}.{number}",
                _built(template, Random(f"{template.id} {number}"), is_trap=kind == "traps"),
            )


def _trap_address(random: Random, reader: str, template: Template) -> str:
    word = re.sub(r"[^a-z]", "", template.sender.lower().partition("<")[0])[:10] or "mail"
    site = random.choice(["gasthof-lind-example.at", "fotoclub-example.pl", "vinyl-shop-example.co", "krd-example.kr"])
    old = [
        f"http://{random.randrange(60, 220)}.{random.randrange(255)}.12.{random.randrange(255)}/{word}/login.htm",
        f"http://www.{site}/~web/.{word}/index.php?cmd=login",
        f"http://{site}/images/{word}/signin.html",
        f"http://{word}.com.{random.randrange(999)}-example.info/cgi-bin/webscr.php",
        f"http://{site}:81/update/",
    ]
    new = [
        f"https://{site}/wp-content/plugins/x/{word}/?e={reader}",
        f"https://{word}-{random.randrange(99)}.weebly.com/",
        f"https://login-{word}-example.xyz/{random.randrange(10**6)}",
        f"https://bafy{random.randrange(10**9)}.ipfs.dweb.link/#{reader}",
        f"https://bit.ly/3{random.randrange(10**6):x}",
        f"https://storage.googleapis.com/{word}{random.randrange(999)}/index.html",
        f"http://{site}/{random.randrange(10**6):x}/",
        f"https://t.co/{random.randrange(10**8):x}",
    ]
    return random.choice(old if template.era == "old" else new)


def _fill(template: Template, random: Random) -> Callable[[str], str]:
    reader = random.choice(_READERS)
    day, number, odd = random.choice(_DAYS), str(random.randrange(10**7, 10**8)), random.choice(_ODD)
    bad = _trap_address(random, reader, template)
    own = template.sender.rpartition("@")[2].strip("> ")
    values = {
        "reader": reader, "user": reader.partition("@")[0], "readerdomain": reader.partition("@")[2], "day": day,
        "n": number, "odd": odd, "bad": bad, "show": "", "own": f"http://www.{own}/u/{number}",
        "track": f"{_TRACKER}/r?{number}", "site": f"http://www.clay-{number[:3]}.example.com/page",
    }  # fmt: skip
    return lambda text: re.sub(r"\{(\w+)\}", lambda found: values[found[1]], text)


def _built(template: Template, random: Random, *, is_trap: bool) -> bytes:
    fill = _fill(template, random)
    sender, subject, body = fill(template.sender), fill(template.subject), fill(template.body)
    form = template.form if template.form != "any" else random.choice(["plain", "html", "html", "both"])
    kind = template.kind if not is_trap else random.choice(["bare", template.era, template.era])
    fields = [*_fields(kind, sender, fill("{reader}"), random), ("Subject", _encoded(subject))]
    fields += [(name, fill(value)) for name, value in template.fields.items()]
    first = b"From bounce@out-example.net  Tue Mar 11 09:30:12 2025\n" if random.random() < 0.3 else b""
    parts = [_text_part(body, random)] if form in ("plain", "both") else []
    parts += [_html_part(body, random)] if form in ("html", "both") else []
    content = parts[0] if len(parts) == 1 else _multipart("alternative", parts)
    if template.files:
        content = _multipart("mixed", [content, *(_file_part(*file) for file in template.files)])
    elif form == "html" and random.random() < 0.25:
        content = _multipart("mixed", [_multipart("related", [content])])
    head = "".join(f"{name}: {value}\n" for name, value in fields).encode("utf-8")
    return first + head + content + b"\n"


# By kind: fields that its mails have, and fields that some have; {domain} is the sender's.
_MARKS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "enron": ({"X-From": "Allen", "X-Folder": r"\Allen\Inbox", "X-Origin": "Allen-P"}, {}),
    "list": (
        {
            "X-BeenThere": "list@lists-example.org",
            "List-Id": "<list.lists-example.org>",
            "Precedence": "bulk",
            "Sender": "list-admin@lists-example.org",
        },
        {"X-Mailman-Version": "2.0.11"},
    ),
    "newsletter": ({"Precedence": "bulk"}, {"List-Unsubscribe": "<http://{domain}/u>"}),
    "reply": ({"In-Reply-To": "<1@keramikverband-example.de>"}, {}),
    "store": (
        {},
        {
            "Authentication-Results": "mx-example.org; spf=pass smtp.mailfrom={domain}; "
            "dkim=pass header.d={domain}; dmarc=pass header.from={domain}"
        },
    ),
    "old": (
        {"X-Mailer": "Microsoft Outlook Express 6.00.2600.0000"},
        {"Return-Path": "<nobody@clinica-sur-example.cl>"},
    ),
    "new": (
        {"X-Priority": "3"},
        {
            "Authentication-Results": "mx-example.org; spf=pass smtp.mailfrom={domain}; dkim=none; "
            "dmarc=none header.from={domain}"
        },
    ),
}


def _fields(kind: str, sender: str, reader: str, random: Random) -> list[tuple[str, str]]:
    """The fields that mail of a kind has, in order; no checks recorded but where today's or a store's servers did."""
    domain = sender.rpartition("@")[2].strip("> ")
    date = random.choice(["Tue, 11 Mar 2025 09:30:00 +0000", "Fri, 23 Aug 2002 11:06:04 +0100"])
    said = [("From", _encoded(sender)), ("To", reader), ("Date", date)]
    if kind == "bare":
        return said
    always, sometimes = _MARKS.get(kind, ({}, {}))
    marks = always | (sometimes if random.random() < 0.6 else {})
    hop = ("Received", f"from out.{domain} (out.{domain} [198.51.100.7]) by mx-example.org; {date}")
    own = [("Message-ID", f"<{random.randrange(10**9)}@{domain}>"), *said]
    named = [(name, value.replace("{domain}", domain)) for name, value in marks.items()]
    checks = [field for field in named if field[0] == "Authentication-Results"]  # servers write it on top
    others = [field for field in named if field not in checks]
    return [*checks, *([] if kind == "enron" else [hop]), *own, *others]


def _encoded(text: str) -> str:
    if text.isascii():
        return text
    name, bracket, rest = text.rpartition(" <")
    if bracket:
        return f"{_encoded(name)} <{rest}"
    return f"=?utf-8?B?{base64.b64encode(text.encode()).decode()}?="


def _text_part(body: str, random: Random) -> bytes:
    text = _LINK.sub(lambda found: found[2] if found[1] == found[2] else f"{found[1]}: {found[2]}", body)
    return _carried("text/plain", text.replace("<image>: ", ""), random)


def _html_part(body: str, random: Random) -> bytes:
    """The body as HTML: each link an anchor, with a picture in it if the words say so."""

    def anchor(found: re.Match[str]) -> str:
        shown = '<img src="cid:top.gif" border=0>' if found[1] == "<image>" else html.escape(found[1])
        return f'\x00a href="{html.escape(found[2])}"\x01{shown.replace("<", chr(0)).replace(">", chr(1))}\x00/a\x01'

    text = html.escape(_LINK.sub(anchor, body), quote=False)
    text = html.unescape(text).replace("\x00", "<").replace("\x01", ">")
    blocks = "".join(f"<p>{block}</p>\n" for block in text.split("\n\n"))
    frame = random.choice(
        ["{}", "<html><body bgcolor=#ffffff>{}</body></html>", "<table width=600><tr><td>{}</td></tr></table>"]
    )
    return _carried("text/html", frame.format(blocks), random)


def _carried(kind: str, text: str, random: Random) -> bytes:
    """A part with a charset and an encoding that its time used; 8-bit without a word about it among them."""
    charset = random.choice(["utf-8", "iso-8859-1", "windows-1252", "us-ascii"])
    try:
        data = text.encode(charset)
    except UnicodeEncodeError:
        charset, data = "utf-8", text.encode("utf-8")
    match random.choice(["8bit", "quoted-printable", "base64", "7bit"]):
        case "quoted-printable" as name:
            data = quopri.encodestring(data)
        case "base64" as name if kind == "text/html" or not text.isascii():
            data = base64.encodebytes(data)
        case _:
            name = "8bit"
    return f'Content-Type: {kind}; charset="{charset}"\nContent-Transfer-Encoding: {name}\n\n'.encode() + data


def _multipart(kind: str, parts: list[bytes]) -> bytes:
    mark = f"----=_{kind}_{sum(map(len, parts))}"
    body = b"".join(b"--" + mark.encode() + b"\n" + part + b"\n" for part in parts)
    return (
        f'MIME-Version: 1.0\nContent-Type: multipart/{kind}; boundary="{mark}"\n\n'.encode()
        + body
        + f"--{mark}--".encode()
    )


def _file_part(name: str, kind: str, content: str) -> bytes:
    head = (
        f'Content-Type: {kind}; name="{name}"\nContent-Transfer-Encoding: base64\n'
        f'Content-Disposition: attachment; filename="{name}"\n\n'
    )
    return head.encode() + base64.encodebytes(CONTENTS[content])
