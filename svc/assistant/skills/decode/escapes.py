"""Decode what scripts, pages and mails write characters with: escapes, entities, character codes, joined strings.

The other decoders, of whole layers in another alphabet or compressed, are in ``decoders.py``.

Sources: RFC 2045 (quoted-printable), RFC 3986 (percent-encoding), HTML's character references, ECMAScript's escapes,
PowerShell's about_Operators (``-f``).
"""

from __future__ import annotations

import html
import quopri
import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from svc.assistant.skills.decode.plausibility import plausibility_of_text, text_of
from svc.assistant.skills.decode.readings import Reading

VALUE = "assigned value"
LEAST_VALUE_CHARS = 8
SHORT_CHARS = 200  # text in which a single escape counts
READS_AS_TEXT = 0.25  # plausibility of a text whose escape characters are removed

_HEX_ESCAPES = re.compile(r"(?:\\{1,4}x[0-9A-Fa-f]{2})+")
_UNICODE_ESCAPES = re.compile(
    r"(?:(?:\\{1,4}u|%u|\\{1,4}U0000|U\+)([0-9A-Fa-f]{4})|(?:\\{1,4}[ux]|U\+)\{([0-9A-Fa-f]{1,6})\})(?:[ ,])?"
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,10});")
_NUMERIC_ENTITY = re.compile(r"&#(?:(\d{1,7})|[xX]([0-9A-Fa-f]{1,6}));")
_SPACE = re.compile(r"\s")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_MENTIONED = re.compile(r"(?<=\s)[\"'(]?%[0-9A-Fa-f]{2}[\"')]?[.,;]?(?=\s|$)")
"""An escape that a text is about: "use %20 for a space"."""
_PLUS = re.compile(r"(?<=[\w.,;:!?)'%\"])\+(?=[\w('%\"-])")
_CHAR_CALL = re.compile(
    r"(?:\[char\]\s{0,8}\(?\s{0,8}|\bchrw?\$?\s{0,8}\(\s{0,8})(0x[0-9A-Fa-f]{1,4}|\d{1,5})\s{0,8}\)?", re.IGNORECASE
)
_JOINS = re.compile(r"\s{0,20}[+&.]?\s{0,20}")
_CHAR_LIST = re.compile(
    r"(?:fromCharCode|fromCodePoint|\[char\[\]\]|\bbytes"
    r"|bytearray)\s{0,8}\(?\s{0,8}[\[(@]*\s{0,8}((?:(?:0x[0-9A-Fa-f]{1,4}|\d{1,5})\s{0,8},\s{0,8}){2,}(?:0x[0-9A-Fa-f]{1,4}|\d{1,5}))",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"=[0-9A-F]{2}|=\r?\n")
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W_])[`^](?=[^\W\d_])")  # before a digit a caret is a power: x^2
_CONCATENATED = re.compile(r"(?P<quote>['\"])\s{0,8}[+&]\s{0,8}(?P=quote)")
_ASSIGNED = re.compile(
    r"\s{0,8}(?:(?:var|let|const|set|dim|export)\s{1,4})?[$\w.\[\]-]{1,40}\s{0,4}(?::|\+?=)\s{0,4}(?=\S)"
)
_CALLED = re.compile(r"\s{0,8}[$\w.]{1,40}\(\s{0,8}(?=[\"'])")
_PIECES = re.compile(
    r"\s*(?:\(\s*)?(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"(?:[\s.+&,_\\]{1,8}(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'))+\s*\)?;?\s*"
)
_PIECE = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'")
_FORMAT = re.compile(
    r"\(?\s{0,8}(?P<quote>[\"'])(?P<template>(?:[^\"'{}]*\{\d{1,3}\})+[^\"'{}]*)(?P=quote)\s{0,8}-f\s{0,8}(?P<values>(?:['\"][^'\"]*['\"]\s{0,8},\s{0,8})*['\"][^'\"]*['\"])\s{0,8}\)?",
    re.IGNORECASE,
)


def escapes(data: bytes, text: str | None) -> Iterator[Reading]:
    """Replace \\x41, \\u0041, %u0041 and \\101 within a text."""
    if not text:
        return
    if _HEX_ESCAPES.search(text):
        raw = re.sub(
            rb"(?:\\{1,4}x[0-9A-Fa-f]{2})+",
            lambda m: bytes.fromhex(re.sub(rb"\\{1,4}x", b"", m[0]).decode()),
            text.encode(),
        )
        yield Reading("\\x escapes", raw)
    if len(_UNICODE_ESCAPES.findall(text)) >= 2:
        yield Reading("unicode escapes", _as_utf8(_UNICODE_ESCAPES.sub(_unescaped, text)))
    if len(re.findall(r"\\[0-3]?[0-7]{2}", text)) >= 3:
        yield Reading("octal escapes", re.sub(rb"\\([0-3]?[0-7]{2})", lambda m: bytes([int(m[1], 8)]), text.encode()))


def _unescaped(match: re.Match[str]) -> str:
    return _character(f"0x{match[1] or match[2]}")


def encoded(text: str) -> bytes:
    """The bytes of a text; pairs of surrogates become the character that they stand for."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def percent(data: bytes, text: str | None) -> Iterator[Reading]:
    """Decode URL encoding, with + for a space in form data."""
    if not text:
        return
    count = len(_PERCENT.findall(_MENTIONED.sub(" ", text)))
    is_form = " " not in text and ("%2B" in text or len(_PLUS.findall(text)) >= 2)
    is_escaped = count > 1 or (count == 1 and (len(text) < SHORT_CHARS or not _SPACE.search(text)))
    is_chance = text.count("%") - count > count / 10  # encoded text has no other per cent signs
    if (is_escaped and not is_chance) or (is_form and not _CONCATENATED.search(text)):
        yield Reading("URL encoding", unquote_to_bytes(text.replace("+", "%20") if is_form else text))


def entities(data: bytes, text: str | None) -> Iterator[Reading]:
    """Decode HTML entities: named, decimal, hexadecimal."""
    if text and _ENTITY.search(text):
        plain = html.unescape(text)
        if plain != text:
            raw = _as_utf8(html.unescape(_NUMERIC_ENTITY.sub(_referenced, text)))
            yield Reading("HTML entities", raw if text_of(raw) is not None else encoded(plain))


def _referenced(match: re.Match[str]) -> str:
    """The character of a number; HTML gives those from 128 to 159 another meaning, but they may be bytes of UTF-8."""
    return _character(f"0x{match[2]}" if match[2] else match[1])


def character_calls(data: bytes, text: str | None) -> Iterator[Reading]:
    """Evaluate [char]72+[char]101, chr(72)&chr(101) and String.fromCharCode(72,101)."""
    if not text:
        return
    calls = _CHAR_CALL.findall(text)
    if len(calls) >= 3:
        yield Reading("character codes", _as_utf8(_with_characters(text)))
    if _CHAR_LIST.search(text):
        joined = "".join(
            _character(number) for number in re.findall(r"0x[0-9A-Fa-f]+|\d+", max(_CHAR_LIST.findall(text), key=len))
        )
        yield Reading("character codes", _as_utf8(joined))


def _with_characters(text: str) -> str:
    """Put characters for their calls, and take the signs away that join two calls; a character may be such a sign."""
    pieces, end = [], None
    for match in _CHAR_CALL.finditer(text):
        between = text[end or 0 : match.start()]
        pieces += ["" if end is not None and _JOINS.fullmatch(between) else between, _character(match[1])]
        end = match.end()
    return "".join([*pieces, text[end or 0 :]])


def _as_utf8(text: str) -> bytes:
    """The bytes of a text; codes that are bytes of UTF-8 each are taken as such."""
    if not text.isascii() and max(text) < "\u0100":
        raw = text.encode("latin-1")
        if text_of(raw) is not None:
            return raw
    return encoded(text)


def _character(number: str) -> str:
    code = int(number, 0) if number.lower().startswith("0x") else int(number)
    return chr(code) if code < 0x110000 else "\ufffd"


def joined_strings(data: bytes, text: str | None) -> Iterator[Reading]:
    """Join 'po'+'wer', adjacent strings and '{1}{0}' -f 'b','a'; remove the backticks and carets of Windows' shells."""
    if not text:
        return
    if text.lstrip("( \t\r\n")[:1] in ("'", '"') and _PIECES.fullmatch(text):
        yield Reading("string concatenation", "".join(one or two for one, two in _PIECE.findall(text)).encode())
        return
    if _CONCATENATED.search(text):
        yield Reading("string concatenation", _CONCATENATED.sub("", text).encode())
    if _FORMAT.search(text):
        yield Reading("PowerShell -f", _FORMAT.sub(_formatted, text).encode())
    if len(_BETWEEN_LETTERS.findall(text)) >= 2:
        plain = _BETWEEN_LETTERS.sub("", text)
        if plausibility_of_text(plain) >= READS_AS_TEXT:
            yield Reading("escape characters between letters", plain.encode())


def _formatted(match: re.Match[str]) -> str:
    values = re.findall(r"['\"]([^'\"]*)['\"]", match["values"])
    return (
        "'"
        + re.sub(r"\{(\d{1,3})\}", lambda m: values[int(m[1])] if int(m[1]) < len(values) else m[0], match["template"])
        + "'"
    )


def quoted_printable(data: bytes, text: str | None) -> Iterator[Reading]:
    """Decode quoted-printable."""
    if not text:
        return
    marks = len(_QUOTED.findall(text))
    is_escaped = marks >= (1 if "=3D" in text else 2) and re.search(r"=[0-9A-F]{2}", text)
    if is_escaped or (marks and all(line.endswith("=") for line in text.rstrip().splitlines()[:-1])):
        yield Reading("quoted-printable", quopri.decodestring(text.encode()))


def value_of(text: str) -> Reading | None:
    """What follows a name, as in ``data=…``, ``$p = …`` and ``unescape("…")``: it may be encoded, but is no result."""
    named = _ASSIGNED.match(text) or _CALLED.match(text)
    value = text[named.end() :].strip().rstrip(";)").strip("'\"") if named else ""
    if len(value) < LEAST_VALUE_CHARS or "=" in value.rstrip("="):
        return None
    return Reading(VALUE, value.encode("utf-8", "surrogatepass"))
