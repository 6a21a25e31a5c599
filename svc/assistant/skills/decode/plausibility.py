"""Judge how meaningful bytes are, from 0 (noise) to 1 (plain prose, a command, a known file type).

The score of text rises with likely pairs of letters, known words, and marks of commands and addresses. It falls with
long runs without a known word, because encoded text is printable too.

The weights were set by hand with the decoder; no fitting script was kept. Two sets in the tests of this skill hold them
in place: 95 % of the chains that tests/support/chains.py generates must be decoded, and ordinary texts must be left
alone. The letter pairs are counted (``plain_words.toml`` names the source).
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from functools import cache

import msgspec

from svc.assistant.file_types.signatures import PE_MARK, label_of
from svc.assistant.knowledge import load
from svc.assistant.skills.decode.scripts import script_plausibility

SAMPLE_CHARS = 600  # of a long text, from its start

# A text's score: the sum of weighted features, each from 0 to 1, minus penalties.
PAIRS_WEIGHT = 0.38  # likely pairs of letters
WORDS_WEIGHT = 0.42  # known words, as a share of all letters
WORDS_GAIN = 1.25  # known words count fully from 80 % of the letters: names and identifiers are unknown
MARKS_WEIGHT = 0.2  # addresses, paths, tags, calls, assignments
MARKS_GAIN = 1.5  # such marks count fully from two thirds of the text
LETTERS_BONUS, LETTERS_SHARE = 0.1, 0.6  # if more of what is not space are letters
SPACES_BONUS, SPACES_SHARES = 0.08, (0.08, 0.3)  # if the share of spaces is that of prose
ACCENTS_BONUS, LEAST_ACCENTS = 0.1, 2  # letters with accents within words are UTF-8, which noise seldom is
OPAQUE_PENALTY = 0.3  # for text that is all long runs without a known word
ENOUGH_LETTERS = 0.3  # share of letters; fewer say less about the whole text
ODD_PENALTY = 2.0  # for each share of characters that neither prose nor code uses
REPEATED_PIECES, REPEATED_SHARE, REPEATED_FACTOR = 8, 0.35, 0.8  # the same few words again and again: a wrong key
ESCAPED_FREE, ESCAPED_GAIN, ESCAPED_MOST = 0.2, 1.4, 0.7  # escapes above 20 % take away up to 70 % of the score
ESCAPE_MARKS_EVERY = 16  # characters; text with fewer marks of escapes is not searched for them, which is slow

# Fixed scores.
FILE_SCORE = 0.9
ARCHIVE_SCORE = 0.5  # the content of an archive is more meaningful than the archive
PLACE_SCORE = 0.65  # of a text that is the path of a file or an address, whatever its words
MARKS_ONLY_SCORE, NO_LETTERS_SCORE = 0.35, 0.1

# Thresholds.
ACCENTED_LETTERS = (*range(0xC0, 0x180), *range(0x1E00, 0x1F00))
WIDE_SCORE, WIDE_CHARS, WIDE_SAMPLE_BYTES = 0.75, 6, 800  # of UTF-16 without a byte order mark in another script
PRINTABLE_SHARE = 0.95  # of characters in a text
ZEROS_SHARE = 0.7  # of every second byte in UTF-16 of a Latin script
MIXED_ZEROS_SHARE = 0.1  # of every second byte in UTF-16 of Latin and another script: code with a comment
MIXED_BLOCKS = 4  # different high bytes of its characters; noise has dozens
MIXED_CHARS = 16
KNOWN_SHARE = 0.35  # of a long run; with less in known words it is opaque
LEAST_PAIR_SCORE = -1.8  # names and rare words have unlikely pairs too
RANDOM_PAIRS, PAIRS_RANGE = -0.4, 1.2  # mean logarithms that become 0 to 1: random letters have -0.7, the words 1.0

_FILE_NAMES = {
    "mz": "Windows program (PE)",
    "elf": "Linux program (ELF)",
    "pdf": "PDF",
    "zip": "ZIP archive",
    "ole": "legacy Office document",
    "png": "PNG image",
    "jfif": "JPEG image",
    "gif": "GIF image",
    "rtf": "RTF document",
    "shellcode_x86": "shellcode (x86)",
    "shellcode_x64": "shellcode (x64)",
}
_FILE_LABELS = tuple(_FILE_NAMES)
_MEANINGFUL = re.compile(
    r"[a-z]{2,6}://[\w.-]+|\b\d{1,3}(?:\.\d{1,3}){3}\b|[A-Za-z]:(?:\\[\w .$-]{1,60}){1,20}"
    r"|(?:^|\s)/(?:bin|etc|tmp|usr|dev|var"
    r"|home)/|[\w.+-]{1,64}@[\w-]{1,63}\.[a-z]{2,63}"
    r"|\\\\\w[\w.-]{0,60}(?:\\[\w .$-]{1,60}){1,20}"
    r"|\b\w{1,80}\.(?:exe|dll|ps1|bat|vbs|js|php|com|net|org|txt|sh|py|docx?|xlsx?|pptx?"
    r"|pdf|csv|hta|lnk|iso|json|xml|html?|zip|rar|7z|log|jpe?g|png)\b"
    r"|<\w{1,40}[^<>]{0,300}>|\$\w{1,40}\s?=|(?<!\w)[A-Za-z_$][\w.]{0,40}\([^()]{0,300}\)"
    r"|\"\w{1,80}\"\s?:|\b[a-z]\w{1,9}\{[\w!?@$.-]{4,200}\}|\w{1,40}=\w{1,80}&",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"(?:\\\\\w[\w.-]{0,60}|[A-Za-z]:)(?:\\[\w .$-]{1,60}){1,20}\.\w{2,5}|https?://[\w.-]+(?:/[\w.-]{1,60}){0,20}/?"
)
_WORD = re.compile(r"[A-Za-z]+")
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_ACCENTED = re.compile(r"(?<=[a-z])[\u00df-\u00f6\u00f8-\u017f]|[\u00df-\u00f6\u00f8-\u017f](?=[a-z])")
_SHORT_WORD = re.compile(r"(?<![^\s(\"'-])[A-Za-z][a-z](?![^\s.,;:!?)\"'-])")
_RUN = re.compile(r"[A-Za-z0-9+/=_-]{20,}")


class PlainWordTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``plain_words.toml``."""

    source: str
    version: str
    date: datetime.date
    english: str
    technical: str
    languages: str
    letter_pairs: str


@cache
def _table() -> PlainWordTable:
    return load("plain_words.toml", PlainWordTable, __package__)


@cache
def _words() -> frozenset[str]:
    return frozenset(_without_accents(_table().english + _table().technical + _table().languages).lower().split())


def _without_accents(text: str) -> str:
    """The text with the letters of English for those that other Latin alphabets have."""
    return text if text.isascii() else text.translate(_plain_letters())


@cache
def _plain_letters() -> dict[int, str]:
    accented = {code: unicodedata.normalize("NFKD", chr(code))[:1] for code in ACCENTED_LETTERS if chr(code).isalpha()}
    plain = {code: letter for code, letter in accented.items() if letter.isascii()}
    return plain | str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d"})


@cache
def _pair_scores() -> dict[str, float]:
    """Return how likely each pair of letters is, as a logarithm relative to chance.

    The table has one digit in base 36 for each pair, in quarters from -4.5.
    """
    rows = [row for row in _table().letter_pairs.splitlines() if row]
    letters = " abcdefghijklmnopqrstuvwxyz"
    return {
        first + second: max(LEAST_PAIR_SCORE, int(digit, 36) / 4 - 4.5)
        for first, row in zip(letters, rows, strict=True)
        for second, digit in zip(letters, row, strict=True)
    }


def text_of(data: bytes) -> tuple[str, str] | None:
    """Return the text in ``data`` and its encoding, or None if it is not text."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") and len(data) % 2 == 0:
        return _decoded(data, "utf-16")
    if len(data) >= 4 and len(data) % 2 == 0:
        zeros_high, zeros_low = data[1::2].count(0), data[0::2].count(0)
        half = len(data) // 2
        if zeros_high > half * ZEROS_SHARE and not zeros_low:
            return _decoded(data, "utf-16-le")
        if zeros_low > half * ZEROS_SHARE and not zeros_high:
            return _decoded(data, "utf-16-be")
        for encoding, zeros, others, high in (
            ("utf-16-le", zeros_high, zeros_low, data[1::2]),
            ("utf-16-be", zeros_low, zeros_high, data[0::2]),
        ):
            if (
                half >= MIXED_CHARS
                and zeros > half * MIXED_ZEROS_SHARE
                and not others
                and len(set(high)) <= MIXED_BLOCKS
            ):
                return _decoded(data, encoding)
    return _decoded(data, "utf-8") or _other_wide_text(data)


def _other_wide_text(data: bytes) -> tuple[str, str] | None:
    """UTF-16 of another script has no zeros; it is what written text in that script looks like, or noise."""
    if len(data) % 2 or len(data) < 2 * WIDE_CHARS:
        return None
    for encoding in ("utf-16-le", "utf-16-be"):
        start = _decoded(data[:WIDE_SAMPLE_BYTES], encoding)
        if start and (script_plausibility(start[0]) or 0) >= WIDE_SCORE:
            return _decoded(data, encoding)
    return None


def _decoded(data: bytes, encoding: str) -> tuple[str, str] | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return (text, encoding) if _printable(text) >= PRINTABLE_SHARE else None


def _printable(text: str) -> float:
    sample = text[:SAMPLE_CHARS].translate(_LINE_CHARS)
    if sample.isprintable():
        return 1.0 if sample else 0.0
    return sum(map(str.isprintable, sample)) / len(sample)


_LINE_CHARS = {9: " ", 10: " ", 13: " "}
_UU_START = re.compile(r"begin [0-7]{3,4} [^\n]{1,200}\r?\n[ -`]{1,62}(?:\n|\r|\Z)")
_HEX_RUN = re.compile(r"(?=[A-Fa-f]*\d)[0-9A-Fa-f]+")
"""With digits: its letters form words such as "add" by chance."""
_ODD = re.compile(r"[^\w\s.,:;/\\\-='\"(){}\[\]$&|?!<>@%+#*]")
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_-]{24,}")
_ESCAPE_MARKS = re.compile(r"[\\%&=,+;)]")


def file_type(data: bytes) -> str:
    """Return the file type that ``data`` starts as, or "". "MZ" alone is too short a signature for a PE file."""
    label = label_of(data, _FILE_LABELS)
    if label == "mz" and not (len(data) > 64 and (PE_MARK in data[:1024] or b"DOS mode" in data[:512])):
        return ""
    return _FILE_NAMES.get(label, "")


def plausibility(data: bytes) -> float:
    """Return how meaningful ``data`` is, from 0 to 1."""
    if found_type := file_type(data):
        return ARCHIVE_SCORE if "archive" in found_type else FILE_SCORE
    found = text_of(data)
    return plausibility_of_text(found[0]) if found else 0.0


_ESCAPES = re.compile(
    r"(?:\\{1,4}x[0-9A-Fa-f]{2}|%u?[0-9A-Fa-f]{2}|\\{1,4}u[0-9A-Fa-f]{4}|\\[0-3]?[0-7]{2}|&#x?[0-9A-Fa-f]{1,6};"
    r"|=[0-9A-F]{2}|(?:\[char\]|chrw?)\s*\(?\d+\)?"
    r"|(?:0x[0-9a-fA-F]{1,2}|\d{1,3})\s*[,+;]\s?)",
    re.IGNORECASE,
)


def plausibility_of_text(text: str) -> float:
    """Return how meaningful ``text`` is, from 0 to 1."""
    sample = text[:SAMPLE_CHARS].strip()
    if not sample:
        return 0.0
    if (_OPAQUE.fullmatch(sample) and _opaque(sample)) or _UU_START.match(sample):
        return 0.0
    if (by_script := script_plausibility(sample)) is not None:
        return by_script * (1 - _escaped_loss(sample))
    accents = len(_ACCENTED.findall(sample))
    sample = _without_accents(sample)
    letters = sum(map(len, _WORD.findall(sample)))
    if not letters:
        return MARKS_ONLY_SCORE if _MEANINGFUL.search(sample) else NO_LETTERS_SCORE
    pieces = [piece for piece in _PIECES.findall(sample) if not piece.isdigit()]
    words, different = _words(), set(pieces)
    known = 0.0 + sum(len(piece) for piece in pieces if len(piece) > 2 and piece.lower() in words)
    if known:
        known += sum(2 for word in _SHORT_WORD.findall(sample) if word.lower() in words)
    known /= letters
    marks = sum(len(match[0]) for match in _MEANINGFUL.finditer(sample)) / len(sample)
    letters_share = letters / len("".join(sample.split()))
    spaces_share = sample.count(" ") / len(sample)
    score = PAIRS_WEIGHT * _pairs(pieces, letters)
    score += WORDS_WEIGHT * min(1.0, known * WORDS_GAIN)
    score *= min(1.0, letters_share / ENOUGH_LETTERS)
    score += MARKS_WEIGHT * min(1.0, marks * MARKS_GAIN)
    score += LETTERS_BONUS * (letters_share > LETTERS_SHARE)
    score += SPACES_BONUS * (SPACES_SHARES[0] < spaces_share < SPACES_SHARES[1])
    score += ACCENTS_BONUS * (accents >= LEAST_ACCENTS)
    score -= OPAQUE_PENALTY * _opaque(sample)
    score -= ODD_PENALTY * len(_ODD.findall(sample)) / len(sample)
    if len(pieces) >= REPEATED_PIECES and len(different) < len(pieces) * REPEATED_SHARE:
        score *= REPEATED_FACTOR
    if _PLACE.fullmatch(sample):
        score = max(score, PLACE_SCORE)
    return max(0.0, min(1.0, score)) * (1 - _escaped_loss(sample))


def known_share(text: str, *, least_letters: int = 3) -> float:
    """Return which share of the letters of ``text``, from 0 to 1, is in known words of at least ``least_letters``."""
    sample = _without_accents(text[:SAMPLE_CHARS])
    letters = sum(map(len, _WORD.findall(sample)))
    pieces = [piece for piece in _PIECES.findall(sample) if len(piece) >= least_letters and piece.lower() in _words()]
    return sum(map(len, pieces)) / letters if letters else 0.0


def shared_words(text: str, other: str) -> float:
    """Return which share of the letters of ``text``, from 0 to 1, is in pieces of two letters or more of ``other``."""
    sample = _without_accents(text[:SAMPLE_CHARS])
    pieces = [piece.lower() for piece in _PIECES.findall(sample) if piece.isalpha()]
    others = {piece.lower() for piece in _PIECES.findall(_without_accents(other[:SAMPLE_CHARS])) if len(piece) > 1}
    letters = sum(map(len, pieces))
    return sum(len(piece) for piece in pieces if piece in others) / letters if letters else 0.0


def _escaped_loss(sample: str) -> float:
    """Return the share of the score that escapes such as ``\\x41`` and ``%41`` take away."""
    if len(_ESCAPE_MARKS.findall(sample)) <= len(sample) / ESCAPE_MARKS_EVERY:
        return 0.0
    escaped = sum(len(match[0]) for match in _ESCAPES.finditer(sample)) / len(sample)
    return min(ESCAPED_MOST, ESCAPED_GAIN * max(0.0, escaped - ESCAPED_FREE))


def _pairs(pieces: list[str], letters: int) -> float:
    """Return 0 for random letters, 1 for the pairs that words have; pieces of a single letter lower it."""
    scores = _pair_scores()
    total = count = 0.0
    for piece in pieces:
        padded = f" {piece.lower()} " if len(piece) > 1 else piece
        for i in range(len(padded) - 1):
            total += scores[padded[i : i + 2]]
            count += 1
    singles = sum(len(piece) == 1 for piece in pieces) / letters
    return max(0.0, min(1.0, (total / count - RANDOM_PAIRS) / PAIRS_RANGE - singles)) if count else 0.0


def _opaque(text: str) -> float:
    """Return the share of ``text`` in long runs without a known word, which is how encoded data looks."""
    opaque = 0
    for match in _RUN.finditer(text):
        pieces = _PIECES.findall(match[0])
        known = 0.0 + sum(len(piece) for piece in pieces if len(piece) > 2 and piece.lower() in _words())
        if known < len(match[0]) * KNOWN_SHARE or _HEX_RUN.fullmatch(match[0]):
            opaque += len(match[0])
    return opaque / len(text)
