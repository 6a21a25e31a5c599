"""Decode every encoding that needs no secret, with one small function for each.

A decoder takes a whole layer and yields each possible reading of it. A *strict* reading requires a form (an alphabet, a
magic number, a checksum). A *loose* reading (a shift, a key, a reversal) is possible for any input, so only its result
can justify it. ``tool.py`` chooses among the readings.

Sources: RFC 4648 (base16, 32, 64), RFC 1924 and Adobe's ascii85 (base85), RFC 1950 to 1952 (zlib, deflate, gzip),
RFC 7515 (JWT parts), POSIX uuencode. ``escapes.py`` has the escapes of scripts, pages and mails.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import io
import itertools
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator

from svc.assistant.file_types.signatures import label_of, starts_as
from svc.assistant.skills.decode.escapes import (
    character_calls,
    encoded,
    entities,
    escapes,
    joined_strings,
    percent,
    quoted_printable,
)
from svc.assistant.skills.decode.plausibility import plausibility, text_of
from svc.assistant.skills.decode.readings import Decoder, Reading

MAX_DUMP_LINE_CHARS = 300  # offset, 32 bytes and their characters have 180
EVIDENT_BYTES = 10  # of printable ASCII: one of 20,000 random strings is that by chance
OTHER_TEXT = 0.5  # plausibility of text that is not ASCII and cannot be chance
LEAST_JSON_VALUE = 16  # characters
DUMP_WIDTH = 16  # bytes in a line, if there is only one line
MAX_SLOW_CHARS = 200_000  # for decoders that work character by character
MAX_LAYER_BYTES = 8_000_000  # of one layer; a decompression bomb is cut there


_SPACES = re.compile(r"\s+")
_BLOB_START = re.compile(r"[A-Za-z0-9+/=_\s'\",;-]*")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_BASE64_URL = re.compile(r"[A-Za-z0-9_-]+={0,2}")
_BASE32 = re.compile(r"[A-Z2-7]{8,}={0,6}|[a-z2-7]{16,}={0,6}")
_HEX = re.compile(r"(?:0x)?(?:[0-9A-Fa-f]{2})+")
_HEX_SPACED = re.compile(
    r"(?:0x|\\x|\\\\x|x)?[0-9A-Fa-f]{2}(?:(?:[,;:|\s-]{1,4}(?:0x|\\x)?|\\x|\\\\x|0x|%)[0-9A-Fa-f]{2}){2,}[,;]?",
    re.IGNORECASE,
)
_DECIMAL = re.compile(r"[\[(]{0,2}\s{0,8}\d{1,3}(?:[,;:|\s+-]{1,4}\d{1,3}){2,}\s*[,;]?\)?\]?")
_OCTAL = re.compile(r"(?:[0-3][0-7]{3}|[0-7]{2,3})(?:[\s,](?:[0-3][0-7]{3}|[0-7]{2,3})){2,}+")
_BINARY = re.compile(r"(?:[01]{8}[\s,]*){2,}")
_BASE58 = re.compile(r"[1-9A-HJ-NP-Za-km-z]{10,}")
_ASCII85 = re.compile(r"<~(.*?)~>", re.DOTALL)
_UU = re.compile(r"begin [0-7]{3,4} [^\n]{1,200}\n(?P<body>(?:[ -`]{0,62}\n)+)end\b")
_JWT = re.compile(r"(eyJ[\w-]+)\.(eyJ[\w-]+)\.([\w-]*)")
_MORSE = re.compile(r"[.\-\u2013\u2014\u00b7/|\s]+")
_SPACE_AFTER_MARK = re.compile(r"(?<=[-,.]) +")
_WORD_GAP = re.compile(r"\s{0,9}[/|\n]\s*|\s{2,}")
_WORD_GAP_OF_DASHED = re.compile(r"\s{0,9}[/|\n]\s*|\s+")
_LETTER_NUMBERS = re.compile(r"[12]?\d(?:[-,./| \n]{1,3}[12]?\d){3,}")
_DUMP_LINE = re.compile(
    r"[ \t]{0,8}(?:0x)?(?P<offset>[0-9A-Fa-f]{4,16})(?::[ \t]{0,4}|[ \t]{1,4})(?=[0-9A-Fa-f]{2}(?:[0-9A-Fa-f \t-]|$))"
)
_DUMP_BYTES = re.compile(r"[0-9A-Fa-f]{2}(?:[ \t-]{0,2}[0-9A-Fa-f]{2}){0,63}")
_DUMP_WORDS = re.compile(r"\s*[0-9A-Fa-f]{4}(?:\s{1,4}[0-9A-Fa-f]{4}){0,31}\s*")
"""Bytes in pairs and no characters after them: ``hexdump`` prints words in the order of a little-endian machine."""
_LENGTH = re.compile(r"(?<=\n)[ \t]*[0-9A-Fa-f]{4,16}\s*\Z")
_DUMP_END = re.compile(r"\s*(?:[0-9A-Fa-f]{4,16}|\*)\s*")
_BASE58_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_MORSE_CODE = {
    ".-": "A", "-...": "B", "-.-.": "C", "-..": "D", ".": "E", "..-.": "F", "--.": "G", "....": "H",
    "..": "I", ".---": "J", "-.-": "K", ".-..": "L", "--": "M", "-.": "N", "---": "O", ".--.": "P",
    "--.-": "Q", ".-.": "R", "...": "S", "-": "T", "..-": "U", "...-": "V", ".--": "W", "-..-": "X",
    "-.--": "Y", "--..": "Z", "-----": "0", ".----": "1", "..---": "2", "...--": "3", "....-": "4", ".....": "5",
    "-....": "6", "--...": "7", "---..": "8", "----.": "9", ".-.-.-": ".", "--..--": ",", "..--..": "?", "-..-.": "/",
    "-....-": "-", "---...": ":", ".----.": "'", "-.--.": "(", "-.--.-": ")", ".--.-.": "@", "-...-": "=",
    ".-..-.": '"', "-.-.--": "!", "..--.-": "_",
}  # fmt: skip
"""ITU-R M.1677, "International Morse code"."""


def _joined(text: str | None) -> str:
    """Return ``text`` without white space if it starts like one blob of letters and digits, or an empty string."""
    return _SPACES.sub("", text) if text and _BLOB_START.fullmatch(text[:400]) else ""


def base64_text(data: bytes, text: str | None) -> Iterator[Reading]:
    """Decode Base64 in both alphabets, with or without padding or line breaks."""
    joined = _joined(text).strip("'\",;")
    for pattern, name, altchars in ((_BASE64, "Base64", b"+/"), (_BASE64_URL, "Base64 (URL alphabet)", b"-_")):
        if len(joined) < 4 or not pattern.fullmatch(joined) or (altchars == b"-_" and not set("-_") & set(joined)):
            continue
        bare = joined.rstrip("=")
        if len(bare) % 4 != 1:
            yield Reading(name, base64.b64decode(bare + "=" * (-len(bare) % 4), altchars))


def base32_text(data: bytes, text: str | None) -> Iterator[Reading]:
    """Decode Base32."""
    joined = _joined(text)
    bare = joined.rstrip("=")
    if not _BASE32.fullmatch(joined) or len(bare) % 8 in (1, 3, 6):
        return
    yield Reading("Base32", base64.b32decode(bare.upper() + "=" * (-len(bare) % 8)))


def hex_text(data: bytes, text: str | None) -> Iterator[Reading]:
    """Decode hex digits: plain, with separators, with 0x or \\x before each pair."""
    joined = (text or "").strip().strip("{}[]()'\"; ")
    if _HEX_SPACED.fullmatch(joined):
        digits = re.sub(r"(?:0x|\\{1,4}x|(?<![0-9A-Fa-f])x)", " ", joined, flags=re.IGNORECASE)
        yield Reading("hex", bytes.fromhex("".join(re.findall(r"[0-9A-Fa-f]{2}", digits))))
        return
    squeezed = _SPACES.sub("", joined)
    if len(squeezed) >= 8 and _HEX.fullmatch(squeezed):
        yield Reading("hex", bytes.fromhex(squeezed.removeprefix("0x")))


def hex_dump(data: bytes, text: str | None) -> Iterator[Reading]:
    """Read a dump as hexdump, xxd and debuggers print it: offset, hex digits, characters."""
    lines = (text or "").strip("\r\n").splitlines()
    if not lines or max(map(len, lines)) > MAX_DUMP_LINE_CHARS:
        return
    lines = lines[:-1] if len(lines) > 1 and _DUMP_END.fullmatch(lines[-1]) else lines
    starts = [_DUMP_LINE.match(line) for line in lines]
    offsets = [int(start["offset"], 16) for start in starts if start]
    if len(offsets) < len(lines) or any(one >= two for one, two in itertools.pairwise(offsets)):
        return
    width = min(offsets[1] - offsets[0], 64) if len(offsets) > 1 else DUMP_WIDTH
    digits = [_dumped(line, start.end(), width) if start else "" for line, start in zip(lines, starts, strict=True)]
    if all(len(one) == 2 * width for one in digits[:-1]) and digits[-1] and (len(lines) > 1 or " " in lines[0]):
        found = bytes.fromhex("".join(digits))
        yield Reading("hex dump", found)
        if all(_DUMP_WORDS.fullmatch(line, start.end()) for line, start in zip(lines, starts, strict=True) if start):
            swapped = bytearray(found)
            swapped[0::2], swapped[1::2] = found[1::2], found[0::2]
            length = int(end[0], 16) if (end := _LENGTH.search(text or "")) else len(found)
            yield Reading("hex dump of 16-bit words", bytes(swapped[: max(length, len(found) - 1)]))


def _dumped(line: str, start: int, width: int) -> str:
    """The hex digits of one line; the characters after them follow three spaces, a bar, or the full width."""
    found = _DUMP_BYTES.match(line, start)
    return re.sub(r"[^0-9A-Fa-f]", "", found[0])[: 2 * width] if found else ""


def numbers(data: bytes, text: str | None) -> Iterator[Reading]:
    """Decode lists of character codes: decimal, octal, binary."""
    stripped = (text or "").strip()
    if _BINARY.fullmatch(stripped + " "):
        bits = _SPACES.sub("", stripped).replace(",", "")
        if len(bits) % 8 == 0:
            yield Reading("binary digits", int(bits, 2).to_bytes(len(bits) // 8, "big"))
        return
    if _DECIMAL.fullmatch(stripped):
        codes = [int(number) for number in re.findall(r"\d+", stripped)]
        if max(codes) < 256:
            yield Reading("decimal character codes", bytes(codes))
    if _OCTAL.fullmatch(stripped):
        codes = [int(number, 8) for number in re.findall(r"[0-7]+", stripped)]
        if max(codes) < 256:
            yield Reading("octal character codes", bytes(codes))


def base85_text(data: bytes, text: str | None) -> Iterator[Reading]:
    """Decode Base85 in the alphabet of Python and git, and Ascii85."""
    stripped = (text or "").strip()
    framed = _ASCII85.fullmatch(stripped)
    joined = _SPACES.sub("", framed[1] if framed else stripped)
    if not 10 <= len(joined) <= MAX_SLOW_CHARS or not joined.isascii():
        return
    readers: list[tuple[str, Callable[[bytes], bytes]]] = [("Ascii85", base64.a85decode)]
    if not framed:
        readers.append(("Base85", base64.b85decode))
    is_other = _BASE64.fullmatch(joined) is not None
    for name, reader in readers:
        try:
            out = reader(joined.encode())
        except ValueError:  # a character outside the alphabet, or a group that is too large
            continue
        is_evident = framed is not None or _is_evident(out)
        if is_evident or not is_other or name == "Ascii85":
            yield Reading(name, out, is_strict=is_evident)


def base58_text(data: bytes, text: str | None) -> Iterator[Reading]:
    """Decode Base58 in Bitcoin's alphabet; its run time is quadratic, so the length is limited."""
    stripped = (text or "").strip()
    if len(stripped) > 4_000 or not _BASE58.fullmatch(stripped) or stripped.isdigit():
        return
    number = 0
    for char in stripped:
        number = number * 58 + _BASE58_ALPHABET.index(char)
    zeros = len(stripped) - len(stripped.lstrip("1"))
    out = b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")
    yield Reading("Base58", out, is_strict=_is_evident(out))


def _is_evident(out: bytes) -> bool:
    """Whether what a wide alphabet decodes to cannot be chance: a text of some length, or a packed stream's start."""
    is_text = len(out) >= EVIDENT_BYTES and (out.isascii() or plausibility(out) >= OTHER_TEXT)
    is_text = is_text and text_of(out) is not None
    return is_text or starts_as(out, "gzip_start", "bzip2_start", "xz_start", "zip")


def uuencoded(data: bytes, text: str | None) -> Iterator[Reading]:
    """Decode a uuencoded block with its begin and end lines."""
    match = _UU.search((text or "").replace("\r\n", "\n"))
    if not match:
        return
    try:
        yield Reading(
            "uuencode", b"".join(binascii.a2b_uu(line) for line in match["body"].split("\n") if line.strip("` "))
        )
    except binascii.Error:  # a line with a wrong length
        return


def jwt_parts(data: bytes, text: str | None) -> Iterator[Reading]:
    """Decode the header and the claims of a JSON Web Token, one line each."""
    match = _JWT.fullmatch((text or "").strip())
    if match:
        parts = [
            base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in match.groups()[:2] if len(part) % 4 != 1
        ]
        yield Reading("JWT header and claims", b"\n".join(parts))


def json_value(data: bytes, text: str | None) -> Iterator[Reading]:
    """Take the longest text in JSON: what carries data there is a field."""
    stripped = (text or "").strip()
    lines = stripped.split("\n") if stripped[:1] == "{" and stripped[-1:] == "}" else []
    values: list[str] = []
    for part in (stripped, *lines) if len(stripped) <= MAX_SLOW_CHARS else ():
        try:
            values += _texts_in(json.loads(part))
        except (ValueError, RecursionError):
            continue
        if part is stripped:
            break
    longest = max(values, key=len, default="")
    if len(longest) >= LEAST_JSON_VALUE and len(longest) >= len(stripped) / 3:
        yield Reading("JSON value", encoded(longest))


def _texts_in(value: object) -> Iterator[str]:
    """The texts of a JSON value, at most three levels deep."""
    pending = [(value, 0)]
    while pending:
        one, depth = pending.pop()
        if isinstance(one, str):
            yield one
        elif depth < 3 and isinstance(one, dict | list):
            pending += [(inner, depth + 1) for inner in (one.values() if isinstance(one, dict) else one)]


def morse(data: bytes, text: str | None) -> Iterator[Reading]:
    """Decode Morse code with spaces between letters and / or | between words."""
    stripped = (text or "").strip().translate(str.maketrans("\u00b7\u2013\u2014", ".--"))
    if len(stripped) < 8 or not _MORSE.fullmatch(stripped) or not {".", "-"} <= set(stripped):
        return
    words = [
        [_MORSE_CODE.get(letter) for letter in word.split()] for word in re.split(r"\s*[/|]\s*|\s{3,}|\n", stripped)
    ]
    has_long = any(len(letter) > 1 for letter in stripped.split())  # single signs with spaces are a line of dots
    if has_long and all(letter is not None for word in words for letter in word):
        yield Reading("Morse code", " ".join("".join(letter or "" for letter in word) for word in words).encode())


def letter_numbers(data: bytes, text: str | None) -> Iterator[Reading]:
    """Read numbers from 1 to 26 as letters (A1Z26): a dash or comma between letters, space or / between words."""
    stripped = (text or "").strip()
    if len(stripped) > MAX_SLOW_CHARS or not _LETTER_NUMBERS.fullmatch(stripped):
        return
    has_dashes = any(mark in stripped for mark in "-,.")
    gap = _WORD_GAP_OF_DASHED if has_dashes else _WORD_GAP
    words = gap.split(_SPACE_AFTER_MARK.sub("", stripped))
    numbers = [[int(number) for number in re.findall(r"\d+", word)] for word in words]
    if all(1 <= number <= 26 for word in numbers for number in word):
        read = " ".join("".join(chr(96 + number) for number in word) for word in numbers)
        yield Reading("letter numbers (A1Z26)", read.encode(), is_strict=False)


def compressed(data: bytes, text: str | None) -> Iterator[Reading]:
    """Decompress gzip, zlib, bzip2, xz, complete raw deflate streams, and the first file of a ZIP."""
    if starts_as(data, "gzip_start"):
        yield from _inflated("gzip", data, 31)
    elif data[:1] == b"\x78" and len(data) > 2 and int.from_bytes(data[:2], "big") % 31 == 0:
        yield from _inflated("zlib", data, 15)
    elif starts_as(data, "bzip2"):
        yield from _unpacked("bzip2", bz2.BZ2Decompressor(), data)
    elif starts_as(data, "xz", "lzma"):
        yield from _unpacked(label_of(data, ("xz", "lzma")), lzma.LZMADecompressor(memlimit=200_000_000), data)
    elif starts_as(data, "zip"):
        yield from _first_file(data)
    elif text is None and len(data) >= 8:
        yield from _inflated("raw deflate", data, -15)


def _inflated(name: str, data: bytes, window: int) -> Iterator[Reading]:
    engine = zlib.decompressobj(window)
    try:
        out = engine.decompress(data, MAX_LAYER_BYTES)
    except zlib.error:
        return
    if out and (window != -15 or (engine.eof and not engine.unused_data)):
        yield Reading(name, out, is_cut=not engine.eof)


def _unpacked(name: str, engine: bz2.BZ2Decompressor | lzma.LZMADecompressor, data: bytes) -> Iterator[Reading]:
    try:
        out = engine.decompress(data, MAX_LAYER_BYTES)
    except (OSError, EOFError, lzma.LZMAError):
        return
    if out:
        yield Reading(name, out, is_cut=not engine.eof)


def _first_file(data: bytes) -> Iterator[Reading]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            member = next((info for info in archive.infolist() if not info.is_dir() and not info.flag_bits & 1), None)
            if member:
                with archive.open(member) as opened:
                    yield Reading(
                        "first file of a ZIP", opened.read(MAX_LAYER_BYTES), is_cut=member.file_size > MAX_LAYER_BYTES
                    )
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        OSError,
        ValueError,
        RuntimeError,
        lzma.LZMAError,
    ):
        return


def utf16_text(data: bytes, text: str | None) -> Iterator[Reading]:
    """Convert UTF-16 text to UTF-8, so that the next decoder sees its characters."""
    found = text_of(data)
    if found and found[1].startswith("utf-16"):
        yield Reading(found[1].upper().replace("-LE", "LE").replace("-BE", "BE"), found[0].lstrip("\ufeff").encode())


STRICT: tuple[Decoder, ...] = (
    utf16_text, compressed, jwt_parts, uuencoded, numbers, letter_numbers, morse, hex_dump, hex_text, base32_text,
    base64_text, character_calls, escapes, entities, percent, quoted_printable, joined_strings, json_value, base85_text,
    base58_text,
)  # fmt: skip
BULK: tuple[Decoder, ...] = (utf16_text, compressed, uuencoded, hex_text, base32_text, base64_text)
"""Decoders for layers of megabytes; the others look for forms that people write by hand."""
NARROW: tuple[Decoder, ...] = (hex_dump, hex_text, numbers, character_calls, jwt_parts, uuencoded)
"""Decoders whose form hardly any text has by chance."""
