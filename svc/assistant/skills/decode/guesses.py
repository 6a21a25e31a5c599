"""Guess what needs no form in the data: shifted alphabets, reversal, and XOR with a short key.

A guess is possible for any input, so only its result can justify it. ``decoders.py`` has the strict forms.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator
from functools import cache

from svc.assistant.file_types.signatures import starts_as
from svc.assistant.skills.decode.plausibility import file_type, plausibility
from svc.assistant.skills.decode.readings import Decoder, Reading

_LOWER, _UPPER = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CAESAR = {
    shift: str.maketrans(_LOWER + _UPPER, _LOWER[-shift:] + _LOWER[:-shift] + _UPPER[-shift:] + _UPPER[:-shift])
    for shift in range(1, 26)
}
_ATBASH = str.maketrans(_LOWER + _UPPER, _LOWER[::-1] + _UPPER[::-1])
_ROT47 = {33 + place: 33 + (place + 47) % 94 for place in range(94)}


def is_shift(name: str) -> bool:
    """Whether a reading of this name is one of an alphabet."""
    return name.startswith(("rot13", "rot47", "Caesar", "atbash", "reversed,"))


def _has_letters(text: str | None) -> bool:
    return bool(text) and any(char.isascii() and char.isalpha() for char in text or "")


def shifted(data: bytes, text: str | None) -> Iterator[Reading]:
    """Try the alphabets that people use: rot13, rot47 and atbash."""
    if not text or not text.strip():
        return
    if _has_letters(text):
        yield Reading("rot13", text.translate(_CAESAR[13]).encode(), is_strict=False)
        yield Reading("atbash", text.translate(_ATBASH).encode(), is_strict=False)
    yield Reading("rot47", text.translate(_ROT47).encode(), is_strict=False)


def shifted_otherwise(data: bytes, text: str | None) -> Iterator[Reading]:
    """Try every other Caesar shift, and the alphabets on the reversed text."""
    if not text or not _has_letters(text):
        return
    for shift in (*range(1, 13), *range(14, 26)):
        yield Reading(f"Caesar shift {shift}", text.translate(_CAESAR[shift]).encode(), is_strict=False, rarity=0.1)
    for name, alphabet in (("rot13", _CAESAR[13]), ("rot47", _ROT47), ("atbash", _ATBASH)):
        yield Reading(f"reversed, {name}", text[::-1].translate(alphabet).encode(), is_strict=False)


def backwards(data: bytes, text: str | None) -> Iterator[Reading]:
    """Reverse the text."""
    if len(data) >= 4:
        yield Reading("reversed", text[::-1].encode() if text else data[::-1], is_strict=False)


_DIGIT_BYTES = b"0123456789abcdefABCDEFux\\ ,;%&#=[](){}+\n"
MAX_KEYS = 16  # tried on one layer
KEY_SAMPLE_BYTES = 600
_BLOB_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="


_READABLE = bytes([9, 10, 13, *range(32, 127)])
_KEY_TABLES = tuple(bytes(value ^ key for value in range(256)) for key in range(256))
CASE_BIT = 0x20  # as a key of text it only swaps upper and lower case
PREFIX_BYTES = 64  # by which most keys are ruled out


def xored(data: bytes, text: str | None) -> Iterator[Reading]:
    """Try the single-byte XOR keys whose result is text or a known file type, the most plausible first."""
    if len(data) < 6:
        return
    prefix, sample = data[:PREFIX_BYTES], data[:KEY_SAMPLE_BYTES]
    found = []
    for key in range(1, 256):
        if key == CASE_BIT and text is not None:
            continue
        start = prefix.translate(_KEY_TABLES[key])
        is_known = _starts_known(start)
        if not is_known and not _reads_as_text(start, 2):
            continue
        out = sample.translate(_KEY_TABLES[key])
        if is_known or _reads_as_text(out, len(out) // 50) or _starts_known(out):
            found.append((max(plausibility(_whole_characters(out)), _encoding_likeness(out)), key))
    for _, key in heapq.nlargest(MAX_KEYS if text is None else 3, found):
        yield Reading(
            f"XOR with 0x{key:02x}",
            data.translate(_KEY_TABLES[key]),
            is_strict=False,
            rarity=0.0 if text is None else 0.4,
        )


def _reads_as_text(out: bytes, allowed: int) -> bool:
    """Whether bytes are ASCII text but for so many, or UTF-8 text, which may be cut within a character."""
    strange = out.translate(None, _READABLE)
    if len(strange) <= allowed:
        return True
    if strange.isascii() or sum(value < 0x80 for value in strange) > allowed:
        return False
    try:
        out.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(out) - 3 and error.reason.startswith("unexpected end")
    return True


def _whole_characters(out: bytes) -> bytes:
    """A sample of UTF-8 without the part of a character at its end."""
    if len(out) < SAMPLE_BYTES:
        return out
    start = next((place for place in range(len(out) - 1, len(out) - 4, -1) if out[place] >= 0xC0), len(out))
    return out[:start]


def _encoding_likeness(out: bytes) -> float:
    """Return how much bytes look like another encoding, up to 0.7 if it uses every one of their characters."""
    if out.startswith(b"<~"):
        return 0.7  # Ascii85
    strange_digits = len(out.translate(None, _DIGIT_BYTES)) / len(out)
    strange = len(out.translate(None, _BLOB_BYTES)) / len(out)
    return max(0.7 - 5 * strange_digits, 0.6 - 5 * strange, 0.0)


def _starts_known(out: bytes) -> bool:
    return bool(file_type(out)) or starts_as(out, "gzip", "bzip2", "xz_start")


MAX_KEY_BYTES = 6  # of a repeated key
LEAST_COLUMN = 7  # bytes under each byte of a repeated key; with fewer any key gives something readable
KEYS_PER_COLUMN = 4
LEAST_COUNTED = 20  # bytes of a column, from which its evenness says something
LEAST_COINCIDENCE = 0.010  # share of equal pairs: 0.004 in noise, 0.016 in Base64, more in text
KEYS_SCORED = 16  # of the combinations of a key length, the likeliest first
SAMPLE_BYTES = 400


def repeated_key(data: bytes, text: str | None) -> Iterator[Reading]:
    """Try repeated XOR keys of 2 to 6 bytes, by how often each character occurs in text and in encoded data."""
    if text is not None or not 2 * LEAST_COLUMN <= len(data) <= MAX_REPEATED_BYTES:
        return
    found: dict[bytes, tuple[float, bytes]] = {}
    for width in range(2, min(MAX_KEY_BYTES, len(data) // LEAST_COLUMN) + 1):
        if not _is_uneven(data[:SAMPLE_BYTES], width):
            continue
        for likely, logarithms in enumerate(_CHARACTER_SETS):
            for key in _likely_keys(data[:SAMPLE_BYTES], width, likely):
                out = _with_key(data[:SAMPLE_BYTES], key)
                score = max(plausibility(_whole_characters(out)), _encoding_likeness(out) if len(out) >= 24 else 0.0)
                if len(out) >= LONG_TEXT and not out.translate(None, _READABLE):
                    score = max(score, LEAST_REPEATED + sum(logarithms[value] for value in out) / len(out) / 20)
                if score >= LEAST_REPEATED and len(set(key)) > 1:
                    found[key] = (score - 0.02 * width, key)
    for _, key in heapq.nlargest(MAX_REPEATED_KEYS, found.values()):
        yield Reading(f"XOR with the key 0x{key.hex()}", _with_key(data, key), is_strict=False, rarity=0.1)


MAX_REPEATED_BYTES = 20_000
MAX_REPEATED_KEYS = 6
LONG_TEXT = 40  # bytes, from which all being readable says that the key is right or nearly so
LEAST_REPEATED = 0.45  # plausibility of a result, or its likeness to another encoding


def _is_uneven(data: bytes, width: int) -> bool:
    """Whether some bytes are commoner than others under each byte of a key; compressed and random data has none."""
    columns = [data[start::width] for start in range(width)]
    if len(columns[-1]) < LEAST_COUNTED:
        return True
    pairs = sum(count * (count - 1) for column in columns for count in Counter(column).values())
    return pairs / sum(len(column) * (len(column) - 1) for column in columns) > LEAST_COINCIDENCE


def _with_key(data: bytes, key: bytes) -> bytes:
    size = len(data)
    stream = (key * (size // len(key) + 1))[:size]
    return (int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")).to_bytes(size, "big")


_TEXT_SHARES = {
    " ": 12, "e": 9, "t": 7, "a": 6, "o": 6, "n": 5.5, "i": 5.5, "s": 5.5, "r": 5, "h": 3.5, "l": 3.5, "d": 3, "c": 3,
    "u": 2.5, "m": 2.5, "p": 2.5, "g": 1.5, "f": 1.5, "w": 1.5, "y": 1.3, "b": 1.3, "v": 1, "x": 0.8, "k": 0.8,
    ".": 2, "/": 2, "-": 1.2, ":": 1, "'": 0.8, '"': 0.8, "=": 0.6, "(": 0.5, ")": 0.5, ";": 0.5, ",": 0.6, "_": 0.4,
    "\\": 0.7, "&": 0.3, "|": 0.3, "{": 0.2, "}": 0.2, "$": 0.3, "<": 0.2, ">": 0.2, "?": 0.2, "@": 0.2, "!": 0.2,
    "%": 0.2, "+": 0.2, "[": 0.2, "]": 0.2, "#": 0.1, "*": 0.1, "\n": 0.5, "\r": 0.2, "\t": 0.1,
}  # fmt: skip
"""Rough shares of characters in prose, commands and addresses, in per cent; set by hand."""


LEAST_LOGARITHM = math.log(0.0004)  # of a character that the set does not have
SCORE_LEVELS = 20  # in which a logarithm is counted, so that it fits into a byte


def _logarithms(shares: dict[int, float]) -> tuple[float, ...]:
    return tuple(math.log(shares[value]) if value in shares else LEAST_LOGARITHM for value in range(256))


def _text_logarithms() -> tuple[float, ...]:
    shares = dict.fromkeys(range(32, 127), 0.02) | {ord(char): share for char, share in _TEXT_SHARES.items()}
    shares |= {ord(char): 0.35 for char in "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"}
    shares |= {ord(char): 0.25 for char in "jqz"}
    return _logarithms(shares)


_CHARACTER_SETS = (
    _text_logarithms(),
    _logarithms(dict.fromkeys(_BLOB_BYTES, 1.5)),
    _logarithms(dict.fromkeys(b"0123456789abcdef", 6.0) | dict.fromkeys(b"ABCDEF", 1.0)),
    _logarithms(
        dict.fromkeys(b"0123456789abcdef", 3.5) | dict.fromkeys(b"ABCDEF", 1.5) | dict.fromkeys(b"\\u%&#x;={}[]", 5.0)
    ),
    _logarithms(
        dict.fromkeys(b"\xce\xcf\xd0\xd1", 11.0) | dict.fromkeys(range(0x80, 0xC0), 0.7) | {32: 8.0, 44: 0.5, 46: 0.5}
    ),
    _logarithms(
        {0xE3: 12.0} | dict.fromkeys(range(0xE4, 0xEE), 2.5) | dict.fromkeys(range(0x80, 0xC0), 1.0) | {32: 4.0}
    ),
    _logarithms(dict.fromkeys(b"0123456789", 7.0) | {ord(","): 20.0, ord(" "): 15.0}),
)


def _likely_keys(data: bytes, width: int, likely: int) -> Iterator[bytes]:
    """The likeliest keys of a width: the best bytes of each column, combined; ``likely`` indexes _CHARACTER_SETS."""
    columns = [_column_keys(data[start::width], likely) for start in range(width)]
    combined: list[tuple[int, bytes]] = [(0, b"")]
    for column in columns:
        longer = ((total + score, key + bytes([value])) for total, key in combined for score, value in column)
        combined = heapq.nlargest(KEYS_SCORED, longer)
    return (key for _, key in combined)


def _column_keys(column: bytes, likely: int) -> list[tuple[int, int]]:
    scores = ((sum(column.translate(table)), key) for key, table in enumerate(_score_tables(likely)))
    return heapq.nlargest(KEYS_PER_COLUMN, scores)


@cache
def _score_tables(likely: int) -> tuple[bytes, ...]:
    """For each key a table from a byte to how likely it is once decrypted, so that a column is one translation."""
    logarithms = _CHARACTER_SETS[likely]
    levels = [round(SCORE_LEVELS * (value - LEAST_LOGARITHM)) for value in logarithms]
    return tuple(bytes(levels[value ^ key] for value in range(256)) for key in range(256))


GUESSES: tuple[Decoder, ...] = (backwards, shifted, xored)
RARE_GUESSES: tuple[Decoder, ...] = (shifted_otherwise, repeated_key)
