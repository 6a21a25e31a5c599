"""Find the parts of a text that may be encoded: stated ones, the whole text, fenced blocks, and runs that look so.

Decides what is tried, not what it is: ``search.py`` decodes.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import msgspec

from svc.assistant.skills.decode.declared import declared_parts
from svc.assistant.skills.decode.readings import Reading

MAX_CHAINS = 40  # encoded parts of one input
MAX_MATCHES = 2_000  # of one pattern of encoded data

_REQUEST = re.compile(
    r"\A\s*(?:(?:please|can|could|you|hey|hi|help|me|to|and|what|does|do|is|i|need|want|explain|tell)\b[ ,]*){0,6}"
    r"(?:decod\w*|de-?obfuscat\w*|unwrap|decrypt\w*|unpack|decipher|mean\w*|this|say\w*)\b[^\n:]{0,80}(?::|\n)\s*",
    re.IGNORECASE,
)
_LABELLED = re.compile(r"\A[$\w.\[\]-]{1,40}(?: [\w-]{1,20}){0,2}(?::\s+|\s+[:+]?=\s*|=(?=[\"']))(?=\S)")
"""A name before encoded data: ``payload = …``, ``base32: …``."""
_IDENTIFIER = re.compile(r"[A-Za-z]{1,8}[-_ ]?\d[\d.,:_-]*")
"""An ID such as CVE-2021-44228, which a shifted alphabet would turn into something that looks like words."""
_CODEC = re.compile(r"(?:rot-?\d|caesar|base-?\d\d|b64|hex|url|xor|morse)", re.IGNORECASE)
_FENCED = re.compile(r"```[^\n`]*\n(.*?)```|(?<![^\s(:])`([^`\n]{4,})`(?![^\s).,;:?!])", re.DOTALL)
_ENCODED_FORMS: tuple[re.Pattern[str], ...] = (
    re.compile(
        r"(?:^[ \t]{0,8}(?:0x)?[0-9A-Fa-f]{4,16}(?::[ \t]{0,4}|[ \t]{1,4})(?:[0-9A-Fa-f]{2}[ \t-]{0,2}){4,64}"
        r"(?:[ \t|][^\n]{0,80})?(?:\n|\Z))+",
        re.MULTILINE,
    ),
    re.compile(r"begin [0-7]{3,4} [^\n]{1,200}\n(?:[ -`]{0,62}\r?\n)+end\b"),
    re.compile(r"<~[^~\n]{4,}~>"),
    re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{4,}\.[\w-]*"),
    re.compile(
        r"(?:\\{1,4}x[0-9A-Fa-f]{2}){3,}|(?:%u[0-9A-Fa-f]{4}){2,}|(?:\\u[0-9A-Fa-f]{4}){3,}"
        r"|(?:\\[0-3]?[0-7]{2}){4,}|(?:&#x?[0-9A-Fa-f]{1,6};){3,}"
    ),
    re.compile(
        r"(?:(?:\[char\]\s{0,8}\(?|\bchrw?\s{0,8}\()\s{0,8}(?:0x)?[0-9A-Fa-f]{1,5}\)?\s{0,8}[+&,.]?\s{0,8}){3,}"
        r"|fromCharCode\s{0,8}\([^()]{6,}\)",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:0x[0-9A-Fa-f]{2}\s{0,8},\s{0,8}){4,}0x[0-9A-Fa-f]{2}|\b(?:\d{2,3}\s{0,8},\s{0,8}){5,}\d{2,3}\b"
        r"|\b(?:\d{2,3} ){5,}\d{2,3}\b|\b(?:[01]{8}\s?){3,}"
    ),
    re.compile(r"\b(?:[0-9A-Fa-f]{2}[ :]){7,}[0-9A-Fa-f]{2}\b"),
    re.compile(r"(?<![\w.-])(?:[.\-]{1,7}(?: {1,3}(?:[/|] {1,3})?)){4,}[.\-]{1,7}(?![\w.-])"),
    re.compile(
        r"(?:\"[A-Za-z0-9+/=_-]{4,}\"\s{0,8}[+&.,_\\]?\s{0,8}){2,}\"[A-Za-z0-9+/=_-]{2,}\""
        r"|(?:'[A-Za-z0-9+/=_-]{4,}'\s{0,8}[+&.,_\\]?\s{0,8}){2,}'[A-Za-z0-9+/=_-]{2,}'"
    ),
    re.compile(
        r"(?<![A-Za-z0-9+/_=-])(?:[A-Za-z0-9+/_-]{4,}(?:\r?\n[A-Za-z0-9+/_-]{4,}){2,}"
        r"|[A-Za-z0-9+/]{60,}\r?\n[A-Za-z0-9+/]{4,})={0,2}(?=\s|$)"
    ),
    re.compile(r"(?<![A-Za-z0-9+/_=-])=?=?[A-Za-z0-9+/_-]{6,}={0,6}(?![A-Za-z0-9+/_=-])"),
    re.compile(r"(?:[^\s%]{0,40}%[0-9A-Fa-f]{2}){3,}[^\s\"'<>]*"),
)
_HASH_LENGTHS = (32, 40, 56, 64, 96, 128)


class EncodedPart(msgspec.Struct, frozen=True):
    """A part of the input that may be encoded.

    ``is_whole``: it is all of the input but the request; ``is_asked``: the request asks to decode it. ``declared`` is
    its reading if the input states the encoding.
    """

    text: str
    line: int
    is_whole: bool = False
    is_asked: bool = False
    declared: Reading | None = None


def parts_of(text: str) -> Iterator[EncodedPart]:
    """Yield what may be encoded: declared parts, the whole input without its request, fenced blocks, then runs."""
    subject = text.strip()
    request = _REQUEST.match(text)
    if request:
        subject = text[request.end() :].strip()
    for part in (declared := list(declared_parts(text))):
        yield EncodedPart(part.text, 1 + text.count("\n", 0, part.start), declared=part.reading)
    line = 1 + text.count("\n", 0, text.find(subject)) if subject else 1
    fenced = [match[1] or match[2] for match in _FENCED.finditer(text)]
    is_subject = bool(subject) and not fenced and not _IDENTIFIER.fullmatch(subject)
    if is_subject and not any(part.text in subject for part in declared):
        yield from _whole(subject, line, is_asked=request is not None)
    for block in fenced:
        yield EncodedPart(block.strip(), 1 + text.count("\n", 0, text.find(block)))
    yield from runs_of(text)


def _whole(subject: str, line: int, *, is_asked: bool) -> Iterator[EncodedPart]:
    """Yield the text as it is, and without a name before it; the latter first if the name is that of an encoding."""
    parts = [EncodedPart(_unquoted(subject), line, is_whole=True, is_asked=is_asked)]
    if (label := _LABELLED.match(subject)) is not None:
        rest = re.sub(r"(?<=[\"']);\Z", "", subject[label.end() :])
        parts.insert(
            0 if _CODEC.match(subject) else 1, EncodedPart(_unquoted(rest), line, is_whole=True, is_asked=is_asked)
        )
    yield from parts


def _unquoted(text: str) -> str:
    is_quoted = len(text) > 2 and (text[0], text[-1]) in (('"', '"'), ("'", "'"), ("“", "”"))
    return text[1:-1] if is_quoted and text[0] not in text[1:-1] else text


def runs_of(text: str) -> Iterator[EncodedPart]:
    """Yield the runs of characters within a text that look encoded, the longest first."""
    taken: list[tuple[int, int]] = []
    found = []
    for pattern in _ENCODED_FORMS:
        for match in itertools.islice(pattern.finditer(text), MAX_MATCHES):
            start, end = match.span()
            if any(start < other_end and other_start < end for other_start, other_end in taken[-200:]) or _is_word(
                match[0]
            ):
                continue
            taken.append((start, end))
            found.append((end - start, start, match[0].strip()))
    for _, start, run in sorted(found, key=lambda item: -item[0])[: MAX_CHAINS * 5]:
        yield EncodedPart(run, 1 + text.count("\n", 0, start))


def _is_word(run: str) -> bool:
    """Whether a run of characters is more likely a word, a number or a hash than encoded data."""
    if len(run) in _HASH_LENGTHS and re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", run):
        return True
    if (len(run) < 12 and not run.endswith("=")) or _IDENTIFIER.fullmatch(run):
        return True
    return run.isdigit() and len(run) < 16
