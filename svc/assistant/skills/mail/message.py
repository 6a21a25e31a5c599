"""Parse a mail: fields in order, addresses, texts, attachments. Pure; tolerates what senders and attackers break.

Parsing is the standard library's (``email``, policy compat32: the one that keeps a broken field instead of raising).
What it still raises on hostile input becomes a line in ``Mail.damage``. Forms: RFC 5322, 2045 to 2047, 2231.
"""

from __future__ import annotations

import binascii
import email
import email.message
import email.utils
import quopri
import re
from collections.abc import Iterator, Sequence
from email.errors import MessageError
from email.header import decode_header
from functools import cached_property, lru_cache

import msgspec

MAX_PARTS = 300  # of one mail; a digest has a hundred
MAX_TEXT_CHARS = 400_000  # of one text part: more is padding
MAX_FIELDS = 2_000
MAX_FIELD_CHARS = 20_000
_FIELDS_KEPT = 200  # whose addresses are remembered: each is asked for several times
PARSER_ERRORS = (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError, MessageError)
"""What the email package is known to raise on broken input (binascii's and unicode's errors are ValueErrors)."""

_SOFT_BREAKS = re.compile(r"=3D[\"'\w#]|=\r?\n")
_ENCODED_WORD_GAP = re.compile(r"(\?=)\s+(=\?)")
_ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,100}@[A-Za-z0-9.\-\[\]_]{1,255}|<([^<>@\s]{1,100}@[^<>@\s]{1,255})>"
)


_OWN_FIELDS = (
    "From", "Received", "Return-Path", "Delivered-To", "Message-ID", "Authentication-Results", "Received-SPF",
    "DKIM-Signature", "ARC-Seal", "ARC-Authentication-Results",
)  # fmt: skip
_SHARED_FIELDS = ("To", "Cc", "Subject", "Date", "Reply-To", "Sender", "MIME-Version", "List-Unsubscribe", "X-Mailer")


class Address(msgspec.Struct, frozen=True):
    """A name as shown and an address in lower case; either may be empty."""

    name: str = ""
    address: str = ""

    @property
    def domain(self) -> str:
        """The part after the @ without brackets, or ""."""
        return self.address.rpartition("@")[2].strip(".[]") if "@" in self.address else ""


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """A part that is not text of the mail itself. ``is_inline``: a picture that the HTML shows."""

    name: str
    claimed: str
    data: bytes
    is_inline: bool = False
    nested: bool = False


class Mail(msgspec.Struct, kw_only=True, dict=True):
    """One mail. ``fields`` keep their order and may repeat; values are decoded and on one line."""

    fields: list[tuple[str, str]]
    plain: str = ""
    html: str = ""
    attachments: list[Attachment] = msgspec.field(default_factory=list)
    damage: list[str] = msgspec.field(default_factory=list)
    is_html_needlessly_encoded: bool = False

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for field, value in self.fields:
            found.setdefault(field.lower(), []).append(value)
        return found

    def all(self, name: str) -> list[str]:
        """Every value of the field, topmost first."""
        return list(self._by_name.get(name.lower(), ()))

    def first(self, name: str) -> str:
        """The topmost value, or ""."""
        values = self._by_name.get(name.lower())
        return values[0] if values else ""

    def has(self, *names: str) -> bool:
        """Whether the mail has any of the fields."""
        return any(name.lower() in self._by_name for name in names)

    @property
    def is_mail(self) -> bool:
        """Whether its fields are those of a mail: one that only mails have, or two that they share with other texts."""
        return self.has(*_OWN_FIELDS) or sum(self.has(name) for name in _SHARED_FIELDS) >= 2

    def addresses(self, *names: str) -> list[Address]:
        """The addresses of these fields, in order."""
        return [address for name in names for value in self.all(name) for address in parse_addresses(value)]

    def address(self, name: str) -> Address:
        """The first address of the field, or an empty one."""
        return next(iter(self.addresses(name)), Address())


def parse_mail(raw: bytes) -> Mail:
    """Parse the mail in ``raw``; never raises: what could not be parsed is listed in ``damage``."""
    raw, broken = _mended(raw)
    try:
        message = email.message_from_bytes(raw)
        fields = [(str(name), decode_field(value)) for name, value in message.raw_items()][:MAX_FIELDS]
    except PARSER_ERRORS as error:
        return Mail(fields=[], plain=raw[:MAX_TEXT_CHARS].decode("utf-8", "replace"), damage=[_parts_error(error)])
    mail = Mail(fields=fields)
    if broken:
        mail.damage.append(f"{broken:,} lines among the header fields are no fields; they were left out")
    try:
        for count, part in enumerate(_leaves(message)):
            if count >= MAX_PARTS:
                mail.damage.append(f"more than {MAX_PARTS} parts; the rest was not examined")
                break
            _add_part(mail, part)
    except PARSER_ERRORS as error:
        mail.damage.append(_parts_error(error))
    return mail


_CALENDAR = re.compile(
    r"^(?:SUMMARY|DESCRIPTION|LOCATION|URL|X-ALT-DESC|COMMENT)[^:\n]{0,200}:(.{0,20000})$", re.MULTILINE
)


def calendar_text(attachments: Sequence[Attachment]) -> str:
    """What invitations among the attachments say and link to (RFC 5545), as plain text."""
    found: list[str] = []
    for one in attachments:
        if one.claimed in ("text/calendar", "application/ics") or one.name.lower().endswith(".ics"):
            text = re.sub(r"\r?\n[ \t]", "", one.data[:MAX_TEXT_CHARS].decode("utf-8", "replace")).replace("\r\n", "\n")
            found += [re.sub(r"\\n|<[^<>]{0,500}>", " ", value) for value in _CALENDAR.findall(text)[:50]]
    return "\n".join(found)


_FIELD_LINE = re.compile(rb"[!-9;-~]{1,200}:|[ \t]|From ")
_HEADER_BYTES = 256 * 1024
_NEVER_IN_TEXT = re.compile(rb"^(?:From|Subject|To|MIME-Version|Content-Type):", re.IGNORECASE | re.MULTILINE)


def _mended(raw: bytes) -> tuple[bytes, int]:
    """The mail without lines that would end its header early, and their number.

    A parser takes the first line that is no field for the mail's text, so that a sender can hide what follows.
    """
    head, blank, rest = raw[:_HEADER_BYTES].partition(b"\n\r\n" if b"\r\n\r\n" in raw[:_HEADER_BYTES] else b"\n\n")
    lines = head.split(b"\n")
    bad = [index for index, line in enumerate(lines) if line.strip() and not _FIELD_LINE.match(line)]
    if not bad or not blank or bad[0] == 0 or not _NEVER_IN_TEXT.search(b"\n".join(lines[bad[0] :])):
        return raw, 0
    kept = [line for index, line in enumerate(lines) if index not in set(bad)]
    return b"\n".join(kept) + blank + rest + raw[_HEADER_BYTES:], len(bad)


def _parts_error(error: Exception) -> str:
    return f"the parts could not be parsed ({type(error).__name__})"


def _leaves(message: email.message.Message) -> Iterator[email.message.Message]:
    """The parts that hold content, outermost first; a mail attached whole is one part. No recursion."""
    waiting: list[email.message.Message] = [message]
    while waiting:
        part = waiting.pop(0)
        payload = part.get_payload()
        if isinstance(payload, list) and part.get_content_type() != "message/rfc822":
            waiting[:0] = [child for child in payload if isinstance(child, email.message.Message)][: MAX_PARTS + 1]
        else:
            yield part


def _add_part(mail: Mail, part: email.message.Message) -> None:
    kind = part.get_content_type()
    name = decode_field(part.get_filename() or part.get_param("name") or "")
    disposition = str(part.get("Content-Disposition") or "").strip().lower()
    if kind == "message/rfc822" or (kind.startswith("message/") and part.is_multipart()):
        inner = part.get_payload()
        first = inner[0] if isinstance(inner, list) and inner else None
        data = first.as_bytes() if isinstance(first, email.message.Message) else b""
        mail.attachments.append(Attachment(name=name or "message.eml", claimed=kind, data=data, nested=True))
        return
    data = _content(part)
    if kind in ("text/plain", "text/html") and not disposition.startswith("attachment") and not name:
        text = _decoded(data, part, mail)
        if kind == "text/html" or (not mail.html and _is_markup(text)):
            mail.html = (mail.html + "\n" + text)[:MAX_TEXT_CHARS]
            encoding = str(part.get("Content-Transfer-Encoding") or "").strip().lower()
            mail.is_html_needlessly_encoded |= encoding == "base64" and data[:20_000].isascii()
        else:
            mail.plain = (mail.plain + "\n" + text)[:MAX_TEXT_CHARS]
        return
    if data or name:
        is_inline = bool(part.get("Content-ID")) and kind.startswith("image/")
        mail.attachments.append(Attachment(name=name, claimed=kind, data=data, is_inline=is_inline))


def _content(part: email.message.Message) -> bytes:
    try:
        data = part.get_payload(decode=True)
    except (*PARSER_ERRORS, binascii.Error):
        data = None
    if isinstance(data, bytes):
        return data
    text = part.get_payload()
    return text.encode("utf-8", "replace") if isinstance(text, str) else b""


def _decoded(data: bytes, part: email.message.Message, mail: Mail) -> str:
    """Decode the bytes in their declared charset, or in the nearest that works."""
    data = data[: MAX_TEXT_CHARS * 4]
    try:
        charset = str(part.get_content_charset() or "utf-8")
    except PARSER_ERRORS:
        charset = "utf-8"
    text = _as_text(data, charset)
    encoding = str(part.get("Content-Transfer-Encoding") or "").strip().lower()
    if encoding != "quoted-printable" and len(_SOFT_BREAKS.findall(text[:20_000])) > 5 and "=3D" in text:
        text = _as_text(quopri.decodestring(data), charset)
        mail.damage.append("a part is quoted-printable but does not declare it")
    return text[:MAX_TEXT_CHARS]


def _as_text(data: bytes, charset: str) -> str:
    if charset.lower() in ("us-ascii", "ascii", "unknown-8bit", "default", "utf-7"):
        charset = "utf-8"
    try:
        return data.decode(charset)
    except (LookupError, ValueError):
        pass
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _is_markup(text: str) -> bool:
    return (
        re.match(r"\s*(?:<!doctype html|<html|<head|<body|<table|<div|<p\b|<center|<font)", text, re.IGNORECASE)
        is not None
    )


_UNDECODED = re.compile("[\udc80-\udcff]")


def decode_field(value: object) -> str:
    """Return a field's value on one line, encoded words decoded (RFC 2047); broken ones stay as they are."""
    raw = str(value)[:MAX_FIELD_CHARS]
    if _UNDECODED.search(raw):
        raw = _as_text(raw.encode("utf-8", "surrogateescape"), "utf-8")
    if "=?" in raw:
        raw = _ENCODED_WORD_GAP.sub(r"\1\2", raw)
        try:
            pieces = decode_header(raw)
        except PARSER_ERRORS:
            pieces = []
        if pieces:
            raw = "".join(
                piece if isinstance(piece, str) else _as_text(piece, charset or "utf-8") for piece, charset in pieces
            )
    return " ".join(raw.split())


@lru_cache(maxsize=_FIELDS_KEPT)
def parse_addresses(value: str) -> tuple[Address, ...]:
    """Return the addresses of a field's value; a value that breaks the grammar is searched for an address."""
    try:
        pairs = email.utils.getaddresses([value])
    except PARSER_ERRORS:
        pairs = []
    found = [Address(decode_field(name), address.strip().lower()) for name, address in pairs[:200] if "@" in address]
    if found and (words := [address for _, address in pairs[:20] if address and "@" not in address]):
        # a name with a comma and without quotation marks, which clients show as the name
        found[0] = Address(decode_field(" ".join([*words, found[0].name]).strip()), found[0].address)
    if not found and (match := _ADDRESS.search(value)):
        address = (match[1] or match[0]).lower()
        name = value[: match.start()].strip(' "<')
        found = [Address(name, address)]
    return tuple(found)
