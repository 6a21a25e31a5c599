"""How much bytes look like something that a person or a program meant to be read. Pure.

``plausibility`` goes from 0 (noise) to 1 (plain prose, a command, a known kind of file). It weighs pairs of letters,
known words, marks of commands and addresses, and counts against long runs without meaning: encoded text is printable
as well.
"""

from __future__ import annotations

import datetime
import re
from functools import cache

import msgspec

from svc.assistant.file_types.signatures import PE_MARK, label_of
from svc.assistant.knowledge import load

SAMPLE_CHARS = 600  # of a long text, from its start

_FILE_NAMES = {
    "mz": "Windows program (PE)",
    "elf": "Linux program (ELF)",
    "pdf": "PDF",
    "zip": "ZIP archive",
    "ole": "old Office document",
    "png": "PNG picture",
    "jfif": "JPEG picture",
    "gif": "GIF picture",
    "rtf": "RTF document",
    "shellcode_x86": "shellcode (x86)",
    "shellcode_x64": "shellcode (x64)",
}
_FILE_LABELS = tuple(_FILE_NAMES)
_MEANINGFUL = re.compile(
    r"[a-z]{2,6}://[\w.-]+|\b\d{1,3}(?:\.\d{1,3}){3}\b|[A-Za-z]:\\\w|(?:^|\s)/(?:bin|etc|tmp|usr|dev|var"
    r"|home)/|[\w.+-]+@[\w-]+\.[a-z]{2,}"
    r"|\b\w+\.(?:exe|dll|ps1|bat|vbs|js|php|com|net|org|txt|sh|py)\b|<\w+[^<>]*>|\$\w+\s?=|\w+\([^()]*\)"
    r"|\"\w+\"\s?:|\b[a-z]\w{1,9}\{[\w!?@$.-]{4,}\}|\w+=\w+&",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z]+")
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SHORT_WORD = re.compile(r"(?<![^\s(\"'-])[A-Za-z][a-z](?![^\s.,;:!?)\"'-])")
_RUN = re.compile(r"[A-Za-z0-9+/=_-]{20,}")


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    version: str
    date: datetime.date
    english: str
    technical: str
    letter_pairs: str


@cache
def _table() -> _Table:
    return load("plain_words.toml", _Table, __package__)


@cache
def _words() -> frozenset[str]:
    return frozenset((_table().english + _table().technical).lower().split())


UNLIKELY = -1.8  # the least that one pair of letters may count: names and rare words have such pairs, too


@cache
def _pair_scores() -> dict[str, float]:
    """How likely each pair of letters is, as a logarithm against chance; the scale is the table's."""
    rows = [row for row in _table().letter_pairs.splitlines() if row]
    letters = " abcdefghijklmnopqrstuvwxyz"
    return {
        first + second: max(UNLIKELY, int(digit, 36) / 4 - 4.5)
        for first, row in zip(letters, rows, strict=True)
        for second, digit in zip(letters, row, strict=True)
    }


def text_of(data: bytes) -> tuple[str, str] | None:
    """The text that ``data`` is, and its encoding; None where it is none."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") and len(data) % 2 == 0:
        return _decoded(data, "utf-16")
    if len(data) >= 4 and len(data) % 2 == 0:
        zeros_high, zeros_low = data[1::2].count(0), data[0::2].count(0)
        half = len(data) // 2
        if zeros_high > half * 0.7 and not zeros_low:
            return _decoded(data, "utf-16-le")
        if zeros_low > half * 0.7 and not zeros_high:
            return _decoded(data, "utf-16-be")
    return _decoded(data, "utf-8")


def _decoded(data: bytes, encoding: str) -> tuple[str, str] | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return (text, encoding) if _printable(text) >= 0.95 else None


def _printable(text: str) -> float:
    sample = text[:SAMPLE_CHARS].translate(_LINE_CHARS)
    if sample.isprintable():
        return 1.0 if sample else 0.0
    return sum(map(str.isprintable, sample)) / len(sample)


_LINE_CHARS = {9: " ", 10: " ", 13: " "}
_ODD = re.compile(r"[^\w\s.,:;/\\\-='\"(){}\[\]$&|?!<>@%+#*]")
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_-]{24,}")
_FORM_MARKS = re.compile(r"[\\%&=,+;)]")


def file_kind(data: bytes) -> str:
    """Return what known file ``data`` starts as, or ""; MZ alone does not make a PE."""
    label = label_of(data, _FILE_LABELS)
    if label == "mz" and not (len(data) > 64 and (PE_MARK in data[:1024] or b"DOS mode" in data[:512])):
        return ""
    return _FILE_NAMES.get(label, "")


def plausibility(data: bytes) -> float:
    """How much ``data`` looks meant; see the module's docstring."""
    kind = file_kind(data)
    if kind:
        return 0.5 if "archive" in kind else 0.9  # what is in an archive says more
    found = text_of(data)
    return plausibility_of_text(found[0]) if found else 0.0


_ENCODED_FORMS = re.compile(
    r"(?:\\{1,4}x[0-9A-Fa-f]{2}|%u?[0-9A-Fa-f]{2}|\\{1,4}u[0-9A-Fa-f]{4}|\\[0-3]?[0-7]{2}|&#x?[0-9A-Fa-f]{1,6};"
    r"|=[0-9A-F]{2}|(?:\[char\]|chrw?)\s*\(?\d+\)?"
    r"|(?:0x[0-9a-fA-F]{1,2}|\d{1,3})\s*[,+;]\s?)",
    re.IGNORECASE,
)


def plausibility_of_text(text: str) -> float:
    """The same of text."""
    sample = text[:SAMPLE_CHARS].strip()
    if not sample:
        return 0.0
    if _OPAQUE.fullmatch(sample) and _opaque(sample):
        return 0.0
    if not sample.isascii() and sum(char.isalpha() and not char.isascii() for char in sample) > 0.3 * len(sample):
        return 0.55  # UTF-8 that holds another script is no accident
    letters = sum(map(len, _WORD.findall(sample)))
    if not letters:
        return 0.35 if _MEANINGFUL.search(sample) else 0.1
    pieces = [piece for piece in _PIECES.findall(sample) if not piece.isdigit()]
    known = 0.0 + sum(len(piece) for piece in pieces if len(piece) > 2 and piece.lower() in _words())
    if known:
        known += sum(2 for word in _SHORT_WORD.findall(sample) if word.lower() in _words())
    known /= letters
    meaning = min(1.0, sum(len(match[0]) for match in _MEANINGFUL.finditer(sample)) / len(sample) * 1.5)
    share = letters / len("".join(sample.split()))
    odd = len(_ODD.findall(sample)) / len(sample)
    score = 0.38 * _pairs(pieces, letters) + 0.42 * min(1.0, known * 1.25) + 0.2 * meaning
    score += 0.1 * (share > 0.6) + 0.08 * (0.08 < sample.count(" ") / len(sample) < 0.3)
    escaped = 0.0
    if len(_FORM_MARKS.findall(sample)) > len(sample) / 16:
        escaped = sum(len(match[0]) for match in _ENCODED_FORMS.finditer(sample)) / len(sample)
    return max(0.0, min(1.0, score - 0.3 * _opaque(sample) - 2 * odd)) * (1 - min(0.7, 1.4 * max(0.0, escaped - 0.2)))


def _pairs(pieces: list[str], letters: int) -> float:
    """0 for letters by chance, 1 for the pairs that words have; many pieces of one letter pull it down."""
    scores = _pair_scores()
    total = count = 0.0
    for piece in pieces:
        padded = f" {piece.lower()} " if len(piece) > 1 else piece
        for i in range(len(padded) - 1):
            total += scores[padded[i : i + 2]]
            count += 1
    singles = sum(len(piece) == 1 for piece in pieces) / letters
    return max(0.0, min(1.0, (total / count + 0.4) / 1.2 - singles)) if count else 0.0


def _opaque(text: str) -> float:
    """The share of ``text`` in long runs without a known word: what encoded data looks like."""
    opaque = 0
    for match in _RUN.finditer(text):
        pieces = _PIECES.findall(match[0])
        known = 0.0 + sum(len(piece) for piece in pieces if len(piece) > 2 and piece.lower() in _words())
        if known < len(match[0]) * 0.35:
            opaque += len(match[0])
    return opaque / len(text)
