"""Mails as public collections have them: languages, odd charsets, cut and empty parts, senders that pass all checks.

Two halves, ``messy_open_*.toml`` and ``messy_held_*.toml``; the held half was written before any rule was changed for
them. ``messy_late_*.toml`` was written afterwards: at first sight .64 of its lures were flagged. Those with an even
place were looked at then, the others were not. ``messy_fresh_*.toml`` has two further halves, of which ``fresh_held``
was only measured: at first sight .70 and .69 of their lures were flagged, and .00 and .02 of the ordinary mails. One
seed, always the same mails.
"""

from __future__ import annotations

import base64
import quopri
import tomllib
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec

from tests.support.mail_variety.build import (
    LINK,
    READERS,
    filled,
    markup,
    multipart,
    own_links,
    pixel,
    values_of,
    with_files,
)
from tests.support.mail_variety.routes import Route, delivered

LURE_VARIANTS = 2
NOTICE_VARIANTS = 2
_CHARSETS = {"latin1": "windows-1252", "latin2": "iso-8859-2", "cp1251": "windows-1251", "iso2022": "iso-2022-jp"}
_SALAD = ("lantern", "quiet", "harbour", "seventeen", "maple", "teach", "window", "morning", "violet", "carry")


class Messy(msgspec.Struct, frozen=True, kw_only=True):
    """A lure or a notice. ``shape``: how the mail is built; ``passed``: whose domain the recorded checks confirm."""

    id: str
    sender: str
    subject: str
    body: str
    shape: str = ""
    passed: str = msgspec.field(default="", name="pass")
    esp: str = "none"
    era: str = "new"
    fields: dict[str, str] = {}
    files: tuple[str, ...] = ()


class _Lures(msgspec.Struct, frozen=True):
    lures: tuple[Messy, ...]


class _Notices(msgspec.Struct, frozen=True):
    notices: tuple[Messy, ...]


def messy_lures(half: str) -> Iterator[tuple[str, bytes]]:
    """Traps by name, without filters' verdicts."""
    for lure in msgspec.convert(_loaded(f"messy_{half}_lures.toml"), _Lures).lures:
        for number in range(LURE_VARIANTS):
            yield f"{lure.id}.{number}", _lure(lure, Random(f"messy {half} {lure.id} {number}"))


def messy_ham(half: str) -> Iterator[tuple[str, bytes]]:
    """Ordinary mails by name."""
    for notice in msgspec.convert(_loaded(f"messy_{half}_ham.toml"), _Notices).notices:
        for number in range(NOTICE_VARIANTS):
            yield f"{notice.id}.{number}", _notice(notice, Random(f"messy {half} {notice.id} {number}"))


def _loaded(name: str) -> dict[str, object]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


def _bad(random: Random, reader: str) -> str:
    site = random.choice(
        ["praxis-blum-example.de", "hotel-vista-example.gr", "kids-art-example.in", "mv-sport-example.ro"]
    )
    token = f"{random.randrange(16**10):010x}"
    return random.choice([
        f"https://{site}/wp-content/uploads/{token[:4]}/", f"https://{site}/{token}/?m={reader}", f"https://{site}/",
        f"https://ipfs.io/ipfs/bafybei{token}/index.html#{reader}", f"https://pub-{token}.r2.dev/x.html",
        f"https://{token[:6]}.blob.core.windows.net/z/{token}.html", f"https://docs.google.com/forms/d/e/{token}/viewform",
        f"https://storage.googleapis.com/{token[:6]}/r.html#4f{token}", f"https://forms.office.com/r/{token[:8]}",
        f"https://www.google.com/url?q=https%3A%2F%2F{site}&sa=D", f"https://googleads.g.doubleclick.net/pcs/click?adurl=https://{site}",
        f"https://{site.replace('.', '-')}.translate.goog/{token}", f"https://bit.ly/{token[:7]}", f"https://{token[:8]}.pages.dev/",
        f"https://u{token[:6]}.ct.sendgrid.net/ls/click?upn=u001.{token}", f"https://{token[:5]}.r.us-east-1.awstrack.me/L0/https:%2F%2F{site}%2F",
        f"http://track.{site}/aff_c?offer_id={token[:4]}&aff_id=2", f"https://{site.partition('.')[0]}.web.app/{token[:5]}",
    ])  # fmt: skip


def _lure(lure: Messy, random: Random) -> bytes:
    reader = random.choice(READERS)
    bad = {"bad": _bad(random, reader), "bad2": _bad(random, reader)}
    values = values_of(random, reader) | bad
    checks = {"all": "pass", "esp": "esp"}.get(lure.passed) or random.choice(["pass", "fail", "none"])
    provider = random.choice(["exchange", "exchange", "gmail", "proton", "bare"])
    route = Route(provider=provider, checks=checks, reader=reader)
    fields = {name: filled(value, values) for name, value in lure.fields.items()}
    body = filled(lure.body, values)
    content = with_files(_content(body, lure.shape, random), lure.files)
    return _cut(
        delivered(filled(lure.sender, values), filled(lure.subject, values), route, fields, content, random), lure
    )


def _notice(notice: Messy, random: Random) -> bytes:
    reader = READERS[0]
    own, track = own_links(notice.sender, notice.esp, random)
    values = values_of(random, reader) | {"own": own, "t": track}
    route = Route(
        provider=random.choice(["exchange", "gmail", "postfix", "bare"]), checks="pass", reader=reader, esp=notice.esp
    )
    tracker = pixel(track) if notice.esp not in ("none", "lists") else ""
    body = filled(notice.body, values)
    content = with_files(_content(body, notice.shape, random, after=tracker), notice.files)
    return delivered(notice.sender, filled(notice.subject, values), route, {}, content, random)


def _content(body: str, shape: str, random: Random, *, after: str = "") -> bytes:
    page = markup(body, random) + after
    plain = LINK.sub(lambda found: f"{found[1].replace('<image>', '')} {found[2]}", body)
    match shape:
        case "map":
            link = LINK.search(body)
            page = f'<img src="https://i.example.net/b.jpg" usemap="#m"><map name="m"><area shape=rect coords="0,0,600,900" href="{link[2] if link else ""}"></map>'  # noqa: E501
            return _coded("text/html", page, "utf-8", random)
        case "image":
            picture = (
                b"Content-Type: image/png\nContent-ID: <p1>\nContent-Transfer-Encoding: base64\n\n"
                + base64.encodebytes(b"\x89PNG\r\n\x1a\n" + bytes(99))
            )
            shown = page.replace("https://i.example.net/a.png", "cid:p1")
            return multipart("related", [_coded("text/html", shown, "utf-8", random), picture])
        case "salad":
            filler = " ".join(random.choice(_SALAD) for _ in range(120))
            return _coded("text/html", f'{page}<p style="font-size:1px;color:#fefefe">{filler}</p>', "utf-8", random)
        case "empty_text":
            parts = [_coded("text/plain", "\n", "us-ascii", random), _coded("text/html", page, "utf-8", random)]
            return multipart("alternative", parts)
    charset = _CHARSETS.get(shape, "utf-8")
    parts = [_coded("text/plain", plain, charset, random), _coded("text/html", page, charset, random)]
    form = random.choice(["html", "both"]) if "](" in body else random.choice(["plain", "html"])
    return multipart("alternative", parts) if form == "both" else parts[form == "html"]


def _coded(kind: str, text: str, charset: str, random: Random) -> bytes:
    data = text.encode(charset, "replace")
    encoding = "7bit" if charset == "iso-2022-jp" else random.choice(["base64", "quoted-printable", "8bit"])
    if encoding == "base64":
        data = base64.encodebytes(data)
    elif encoding == "quoted-printable":
        data = quopri.encodestring(data)
    return f'Content-Type: {kind}; charset="{charset}"\nContent-Transfer-Encoding: {encoding}\n\n'.encode() + data


def _cut(raw: bytes, lure: Messy) -> bytes:
    """Of a cut mail the end is missing: the last boundary, and a fifth of its body."""
    head, blank, body = raw.partition(b"\n\n")
    return head + blank + body[: len(body) * 4 // 5] if lure.shape == "cut" else raw
