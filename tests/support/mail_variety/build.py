"""Mails as they lie in mailboxes of today and of 2002, built from the halves ``open_*.toml`` and ``held_*.toml``.

One seed, always the same mails. What varies: the recipient's provider and what it records, who sends for the sender,
plain text, HTML or both, encodings, trackers, hidden preheaders, filler, the kind of a trap's address.
"""

from __future__ import annotations

import base64
import html
import quopri
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec

from tests.support.mail_variety.routes import Route, delivered
from tests.support.mails import CONTENTS

HALVES = ("open", "held")
LURE_VARIANTS = 3
LETTER_VARIANTS = 3
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_PLACE = re.compile(r"\{(\w+)\}")
_FILES = {
    "html": ("Payment_Advice.html", "text/html", "page"),
    "pdf": ("document.pdf", "application/pdf", "pdf"),
    "calendar": ("invite.ics", "text/calendar", "calendar"),
    "qr": ("code.png", "image/png", "picture"),
}
CONTENTS.setdefault("picture", b"\x89PNG\r\n\x1a\n" + bytes(64))


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A lure or a notice."""

    id: str
    sender: str
    subject: str
    body: str
    era: str = "new"
    esp: str = "none"
    fields: dict[str, str] = {}
    files: tuple[str, ...] = ()


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """A newsletter: ``count`` items under one sender. ``images``: pictures instead of words."""

    id: str
    sender: str
    subject: str
    count: int
    era: str = "new"
    esp: str = "none"
    plain: bool = False
    forms: bool = False
    hidden: bool = False
    images: bool = False


class _Lures(msgspec.Struct, frozen=True):
    lures: tuple[Text, ...]


class _Ham(msgspec.Struct, frozen=True):
    items: tuple[str, ...]
    letters: tuple[Letter, ...]
    notices: tuple[Text, ...]


def lures(half: str, *, is_marked: bool) -> Iterator[tuple[str, bytes]]:
    """Traps by name; with ``is_marked`` the recipient's filters left their verdicts in the header."""
    table = msgspec.convert(_loaded(f"{half}_lures.toml"), _Lures)
    for text in table.lures:
        for number in range(LURE_VARIANTS):
            yield f"{text.id}.{number}", _lure(text, Random(f"{half} {text.id} {number}"), is_marked=is_marked)


def hard_ham(half: str) -> Iterator[tuple[str, bytes]]:
    """Newsletters and notices by name."""
    table = msgspec.convert(_loaded(f"{half}_ham.toml"), _Ham)
    for letter in table.letters:
        for number in range(LETTER_VARIANTS):
            yield f"{letter.id}.{number}", _letter(letter, table.items, Random(f"{half} {letter.id} {number}"))
    for text in table.notices:
        for number in range(2):
            yield f"{text.id}.{number}", _notice(text, Random(f"{half} {text.id} {number}"))


def _loaded(name: str) -> dict[str, object]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


READERS = ("jana@novak-keramik-example.org", "phish@pot-example.org", "jose@monkeys-example.org")


def filled(text: str, values: dict[str, str]) -> str:
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), text)


def values_of(random: Random, reader: str) -> dict[str, str]:
    user, _, domain = reader.partition("@")
    return {
        "reader": reader, "user": user, "domain": domain, "n": str(random.randrange(10**7, 10**9)),
        "day": random.choice(["22/09/2025", "March 11", "11.03.2025", "Friday"]),
        "sum": random.choice(["$129.00", "412,70 €", "£38.50"]),
    }  # fmt: skip


def _bad(random: Random, reader: str, era: str) -> str:
    site = random.choice(["gasthof-lind-example.at", "fotoclub-example.pl", "vinyl-example.co", "krd-example.com.br"])
    token = f"{random.randrange(16**8):x}"
    old = [
        f"http://{random.randrange(60, 210)}.{random.randrange(250)}.12.9/.cgi/login.htm", f"http://{site}/~web/cmd/",
        f"http://{site}:81/update/", f"http://{site}/images/secure/index.html", f"http://{token}.{site}/r1/",
    ]  # fmt: skip
    new = [
        f"https://{site}/{token}", f"https://{site}/wp-includes/{token}/?e={reader}", f"https://scnv-example.io/{token[:4]}",
        f"https://{token}.web.app/", f"https://t.co/{token}", f"https://{token[:5]}-example.xyz/#{reader}",
        f"https://www.google.com/url?q=https://{site}/{token}", f"https://bucket-{token}.s3.amazonaws.com/i.html#{token}",
        f"https://go.{site}/lnk.php?id={token}{token}", f"https://click.{site}/c/{token}/{token}",
    ]  # fmt: skip
    return random.choice(old if era == "old" else new)


_FILLER = (
    "The committee met on Tuesday and approved the minutes of the last meeting.", "Our walk along the river took three hours.",  # noqa: E501
    "He bought a bicycle, two lamps and a map of the coast.", "The museum opens at ten; the garden is free.",
)  # fmt: skip


def _lure(text: Text, random: Random, *, is_marked: bool) -> bytes:
    reader = random.choice(READERS)
    values = values_of(random, reader) | {"bad": _bad(random, reader, text.era)}
    sender, body = filled(text.sender, values), filled(text.body, values).replace("<qr>", "")
    page = markup(body, random)
    if text.era == "new" and random.random() < 0.3:
        filler = " ".join(random.choice(_FILLER) for _ in range(40))
        style = random.choice(
            ["display:none", "font-size:0px", "color:#ffffff;background:#ffffff", "max-height:0;overflow:hidden"]
        )
        page += f'<div style="{style}">{filler}</div>'
    route = Route(
        provider="old" if text.era == "old" else random.choice(["exchange", "proton", "gmail", "postfix"]),
        checks=random.choice(["pass", "pass", "pass", "fail", "none"]), is_marked=is_marked, reader=reader,
    )  # fmt: skip
    form = random.choice(["html", "html", "both"]) if "](" in body else random.choice(["plain", "html"])
    content = _content(body, page, form, random)
    fields = {name: filled(value, values) for name, value in text.fields.items()}
    return delivered(sender, filled(text.subject, values), route, fields, with_files(content, text.files), random)


def _notice(text: Text, random: Random) -> bytes:
    reader = READERS[0]
    own, track = own_links(text.sender, text.esp, random)
    values = values_of(random, reader) | {"own": own, "t": track, "partner": own}
    body = filled(text.body, values)
    page = markup(body, random) + pixel(track)
    route = Route(provider=random.choice(["exchange", "gmail", "postfix"]), checks="pass", reader=reader, esp=text.esp)
    form = "plain" if "](" not in body else random.choice(["html", "both"])
    content = _content(body, page, form, random)
    return delivered(text.sender, filled(text.subject, values), route, {}, with_files(content, text.files), random)


def own_links(sender: str, esp: str, random: Random) -> tuple[str, str]:
    """A page of the sender and a link through the service that counts its clicks."""
    domain = sender.rpartition("@")[2].strip("> ")
    base = ".".join(domain.split(".")[-2:]) if not domain.endswith(".co.uk") else ".".join(domain.split(".")[-3:])
    token = f"{random.randrange(16**12):x}"
    hosts = {
        "mailchimp": f"https://{base.partition('.')[0]}.us21.list-manage.com/track/click?u={token}&id={token[:8]}",
        "sendgrid": f"https://u{token[:6]}.ct.sendgrid.net/ls/click?upn=u001.{token}{token}",
        "klaviyo": f"https://ctrk.klclick.com/l/{token}_1", "hubspot": f"https://d2v{token[:4]}.eu1.hubspotlinks.com/Ctc/LV/{token}",
        "ses": f"https://{token[:5]}.r.eu-west-1.awstrack.me/L0/https:%2F%2Fwww.{base}%2Fp/1/{token}",
        "salesforce": f"https://click.{domain}/?qs={token}{token}", "substack": f"https://substack.com/redirect/{token}",
        "mailgun": f"https://email.{base}/c/{token}", "customerio": f"https://e.customeriomail.com/e/c/{token}",
        "clicks": f"http://click.track-centre-example.net/Click?q={token[:4]}-{token}", "lists": f"http://www.partner-{token[:4]}-example.com/",
        "groups": f"http://groups.yahoo.com/group/{token[:5]}/message/4", "none": f"http://www.{base}/u/{token}",
    }  # fmt: skip
    return f"https://www.{base}/{token[:6]}", hosts[esp]


def pixel(track: str) -> str:
    return f'<img src="{html.escape(track)}&o=1" width="1" height="1" alt="">'


_PREHEADER = '<div style="display:none;max-height:0;overflow:hidden">{} ' + "&zwnj;&nbsp;" * 60 + "</div>"


def _letter(letter: Letter, items: tuple[str, ...], random: Random) -> bytes:
    reader = random.choice(READERS)
    chosen = random.sample(items, min(letter.count, len(items)))
    blocks = []
    for text in chosen:
        own, track = own_links(letter.sender, letter.esp, random)
        values = {"own": own, "t": track, "partner": f"http://www.partner-{random.randrange(99)}-example.com/offer"}
        blocks.append(filled(text, values))
    own, track = own_links(letter.sender, letter.esp, random)
    domain = letter.sender.rpartition("@")[2].strip("> ")
    foot = f"You receive this mail because you subscribed as {reader}. [Unsubscribe]({track}) | [www.{domain}]({track})"
    foot += f" | [Privacy]({own}) | [Advertise]({track})"
    if letter.images:
        blocks = [f"[<image>]({LINK.search(block)[2]})" for block in blocks if LINK.search(block)]  # type: ignore[index]
    body = "\n\n".join([*blocks, foot])
    page = (_PREHEADER.format(letter.subject) if letter.hidden else "") + markup(body, random) + pixel(track)
    if letter.forms:
        page += f'<form action="http://www.{domain}/subscribe.cgi"><input name="email"><input type=submit></form>'
        page += f"<script>document.write('<img src=http://ads.{domain}/b.gif>')</script>"
    provider = "old" if letter.era == "old" else random.choice(["exchange", "gmail", "postfix"])
    route = Route(provider=provider, checks="none" if letter.era == "old" else "pass", reader=reader, esp=letter.esp)
    form = "plain" if letter.plain else random.choice(["html", "both"])
    return delivered(letter.sender, letter.subject, route, {}, _content(body, page, form, random), random)


def markup(body: str, random: Random) -> str:
    def anchor(found: re.Match[str]) -> str:
        shown = (
            '<img src="https://i.example.net/a.png" width=600 alt="">'
            if found[1] == "<image>"
            else html.escape(found[1])
        )
        return f'<a href="{html.escape(found[2])}" style="color:#fff;background:#06f">{shown}</a>'

    pieces, last = [], 0
    for found in LINK.finditer(body):
        pieces += [html.escape(body[last : found.start()], quote=False), anchor(found)]
        last = found.end()
    text = "".join([*pieces, html.escape(body[last:], quote=False)])
    blocks = "".join(f"<tr><td><p>{block}</p></td></tr>\n" for block in text.split("\n\n"))
    frame = random.choice(
        ["<html><body><table>{}</table></body></html>", "<table width=600>{}</table>", "<div>{}</div>"]
    )
    return frame.replace("{}", blocks)


def _content(body: str, page: str, form: str, random: Random) -> bytes:
    plain = LINK.sub(lambda found: f"{found[1].replace('<image>', '')} {found[2]}", body)
    parts = [_part("text/plain", plain, random)] if form in ("plain", "both") else []
    parts += [_part("text/html", page, random)] if form in ("html", "both") else []
    return parts[0] if len(parts) == 1 else multipart("alternative", parts)


def _part(kind: str, text: str, random: Random) -> bytes:
    data = text.encode()
    encoding = random.choice(["quoted-printable", "quoted-printable", "base64", "8bit"])
    if encoding == "base64":
        data = base64.encodebytes(data)
    elif encoding == "quoted-printable":
        data = quopri.encodestring(data)
    return f"Content-Type: {kind}; charset=utf-8\nContent-Transfer-Encoding: {encoding}\n\n".encode() + data


def multipart(kind: str, parts: list[bytes]) -> bytes:
    mark = f"----=_{kind}_{sum(map(len, parts))}"
    body = b"".join(b"--" + mark.encode() + b"\n" + part + b"\n" for part in parts)
    return f'Content-Type: multipart/{kind}; boundary="{mark}"\n\n'.encode() + body + f"--{mark}--".encode()


def with_files(content: bytes, files: tuple[str, ...]) -> bytes:
    if not files:
        return content
    parts = [content]
    for key in files:
        name, kind, stored = _FILES[key]
        head = (
            f'Content-Type: {kind}; name="{name}"\nContent-Transfer-Encoding: base64\n'
            f'Content-Disposition: attachment; filename="{name}"\n\n'
        )
        parts.append(head.encode() + base64.encodebytes(CONTENTS[stored]))
    return multipart("mixed", parts)
