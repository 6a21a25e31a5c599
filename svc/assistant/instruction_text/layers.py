"""Undo the encodings in which text is stored: UTF-16, escapes, entities, quoted-printable, Base64.

Each layer turns a piece of an input into another piece, in linear time, and is skipped if nothing shows that it
applies. Pure.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator

import msgspec

MAX_BASE64_RUNS = 2_000  # decoded for each piece of an input
MIN_BASE64_CHARS = 40
WORD_BYTES = 40
MIN_ZEROS = 16  # one byte of so many must be zero in a piece with UTF-16 text
MIN_BROKEN = 50  # one character of so many must be broken in data that is not UTF-16; in random bytes 1 of 32 is
_UTF16 = (
    re.compile(rb"(?:[\x20-\x7e\t]\x00){8,}"),
    re.compile(rb"(?:[\x20-\x7e\t\xa0-\xff]\x00|[\x00-\xff][\x04\x30\x4e-\x9f\xff]){8,}"),  # Latin, Cyrillic, CJK
)
_SPACED = re.compile(rb"(?<![^\W_])(?:[A-Za-z]{1,20} {2,8}){3,200}[A-Za-z]{1,20}")
_SPACES = re.compile(rb" +")
_LETTERS = bytes(ord("a") if code < 128 and chr(code).isalpha() else code for code in range(256))
_WIDE_GAPS = tuple(b"a" + b" " * count + b"a" for count in range(2, 9))
_JSON_ESCAPE = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+|\\x[0-7][0-9a-fA-F]")
_ENTITY = re.compile(rb"&#(?:[xX]([0-9a-fA-F]{1,6})|([0-9]{1,7}));?")
_NAMED = ((b"&lt;", b"<"), (b"&gt;", b">"), (b"&quot;", b'"'), (b"&amp;", b"&"), (b"&nbsp;", b" "))
_PERCENT = re.compile(rb"%([0-9a-fA-F]{2})")
_ESCAPED_RUNS = (
    (b"\\u", "escaped text", re.compile(rb"\\u[0-9a-fA-F]{4}[^\\\n]{0,40}(?:\\u[0-9a-fA-F]{4}[^\\\n]{0,40}){3,}")),
    (b"\\x", "escaped text", re.compile(rb"\\x[0-9a-fA-F]{2}[^\\\n]{0,40}(?:\\x[0-9a-fA-F]{2}[^\\\n]{0,40}){3,}")),
    (
        b"&#",
        "HTML entities",
        re.compile(rb"&#[0-9a-fA-FxX]{1,8};?[^&\n]{0,40}(?:&#[0-9a-fA-FxX]{1,8};?[^&\n]{0,40}){3,}"),
    ),
    (b"%", "percent-encoded text", re.compile(rb"%[0-9a-fA-F]{2}[^%\s]{0,40}(?:%[0-9a-fA-F]{2}[^%\s]{0,40}){3,}")),
)
"""Four or more in a row; each pattern begins with its mark, so that the search for it is fast."""
_BASE64 = re.compile(
    rb"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{40,}(?:\r?\n(?=[A-Za-z0-9+/]))?){1,4000}[A-Za-z0-9+/]{0,100}={0,2}"
)
_ALPHABET = bytes(
    ord("a") if code < 128 and (chr(code).isalnum() or chr(code) in "+/") else ord(" ") for code in range(256)
)
_RUN = b"a" * MIN_BASE64_CHARS


class View(msgspec.Struct, frozen=True):
    """A piece with one encoding undone.

    ``offset`` is where it begins in the piece, if it is only a part of it. ``starts``: where each of its lines begins
    there, if they are parts of it.
    """

    channel: str
    data: bytes
    offset: int = 0
    starts: tuple[int, ...] = ()


def views(piece: bytes, matters: Callable[[bytes], bool] = lambda _: True) -> Iterator[View]:
    """Yield the piece as it is, then with each encoding undone that it seems to contain.

    ``matters`` is asked about the text of all UTF-16 strings, in UTF-8: whether they are worth a view of their own.
    """
    yield View("", piece)
    if piece.count(b"\0") * MIN_ZEROS > len(piece) and (view := _utf16(piece, matters)) is not None:
        yield view
    for mark, channel, runs in _ESCAPED_RUNS:
        if mark in piece:
            for found in runs.finditer(piece):
                start = _word_start(piece, found.start())
                yield View(channel, _squeezed(unescaped(piece[start : found.end()])), start)
    if b"  " in piece and _has_wide_spaces(piece):
        for found in _SPACED.finditer(piece):
            yield View("text with wide spaces", _squeezed(found[0]), found.start())
    if b"uoted-printable" in piece:
        yield View("quoted-printable text", _squeezed(binascii.a2b_qp(piece)))
    if _RUN in piece.translate(_ALPHABET):
        yield from _base64(piece)


def _has_wide_spaces(piece: bytes) -> bool:
    """Whether two words are apart by two to eight spaces, a fast check before the pattern."""
    letters = piece.translate(_LETTERS)
    return any(gap in letters for gap in _WIDE_GAPS)


def _utf16(piece: bytes, matters: Callable[[bytes], bool]) -> View | None:
    """The UTF-16 strings of binary data, one in a line, each also without its first character; None if none matters.

    That may be the length of the string. No string has a line's end.
    """
    runs = [run for script in _UTF16 for run in script.findall(piece)]
    text = b"\n\0".join(runs).decode("utf-16-le", errors="replace")
    if not runs or not matters(_squeezed(text.encode())):
        return None
    starts = [found.start() for script in _UTF16 for found in script.finditer(piece)]
    lines = [line for run in text.split("\n") for line in (run, run[1:])]
    return View(
        "UTF-16 text",
        _squeezed("\n".join(lines).encode()),
        starts=tuple([at + skipped for at in starts for skipped in (0, 2)]),
    )


def _word_start(data: bytes, at: int) -> int:
    """Where the word begins in which ``at`` is, at most WORD_BYTES before."""
    begin = max(0, at - WORD_BYTES)
    before = data[begin:at]
    return begin + max(before.rfind(mark) for mark in (b" ", b"\t", b"\n", b'"', b"?", b"=")) + 1


def _squeezed(data: bytes) -> bytes:
    """The data with runs of spaces reduced to one."""
    return _SPACES.sub(b" ", data) if b"  " in data else data


def unescaped(data: bytes) -> bytes:
    """The data without JSON, hexadecimal, percent and HTML escapes."""
    if b"\\" in data:
        data = _JSON_ESCAPE.sub(_wide, data)
    if b"%" in data:
        data = _PERCENT.sub(lambda found: bytes([int(found[1], 16)]), data)
    if b"&" in data:
        data = _ENTITY.sub(_character, data)
        for name, plain in _NAMED:
            data = data.replace(name, plain)
    return data


def _wide(found: re.Match[bytes]) -> bytes:
    if found[0].startswith(b"\\x"):
        return bytes.fromhex(found[0][2:].decode())
    units = bytes.fromhex(found[0].replace(b"\\u", b"").decode())
    return units.decode("utf-16-be", errors="replace").encode(errors="replace")


def _character(found: re.Match[bytes]) -> bytes:
    code = int(found[1], 16) if found[1] else int(found[2])
    return chr(code).encode(errors="replace") if 0 < code < 0x110000 else found[0]


def _base64(piece: bytes) -> Iterator[View]:
    for number, found in enumerate(_BASE64.finditer(piece)):
        if number == MAX_BASE64_RUNS:
            return
        packed = re.sub(rb"[^A-Za-z0-9+/]", b"", found[0])
        data = binascii.a2b_base64(packed[: len(packed) // 4 * 4])
        if b"\0" in data:
            data = _as_utf16(data)
        yield View("Base64", _squeezed(data), found.start())


def _as_utf16(data: bytes) -> bytes:
    """Decoded data as UTF-8 if it is text in UTF-16; unchanged if it is a file, which has lone surrogates."""
    text = data.decode("utf-16-le", errors="replace")
    is_text = data.count(b"\0") * MIN_ZEROS > len(data) or text.count("\ufffd") * MIN_BROKEN <= len(text)
    return text.encode() if is_text else data
