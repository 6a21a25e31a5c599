"""Look through a whole input, and through what a tool found in it, for text that addresses an analyst or a model.

The input is read in pieces; each is searched for the few words of which every passage has one (``signs.ANCHORS``)
before any pattern is tried, and each wording is judged once however often it is repeated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import BinaryIO

import msgspec

from svc.assistant.findings import (
    AnyFinding,
    Confidence,
    Evidence,
    Finding,
    Gap,
    InstructionText,
    Severity,
    columns,
)
from svc.assistant.instruction_text import containers
from svc.assistant.instruction_text.hidden import BYTES, hidden_texts, visible, with_tags_read
from svc.assistant.instruction_text.layers import View, unescaped, views
from svc.assistant.instruction_text.signs import (
    ANCHOR_TEXTS,
    ANCHORS,
    HIDDEN_HTML,
    HIDDEN_UNICODE,
    Passage,
    passages,
)
from svc.assistant.instruction_text.word_search import WordSearch

PIECE_BYTES = 1024 * 1024
FINDING = "finding "  # begins the channel of a text that a tool's finding shows
OVERLAP_BYTES = 2_048  # of the last piece, so that a passage across two is seen
BEFORE_BYTES, AFTER_BYTES = 500, 900  # around an anchor that are judged, as far as its line goes
MAX_TEXTS = 20_000  # different ones of one input
BATCH_FINDINGS = 256  # looked through at once
MIN_TEXT_CHARS = 8  # of a finding's field
MAX_EVIDENCE = 5  # places of the same text
MAX_JUDGED = 100_000  # different windows remembered
TEXT_CHARS = 400
EXCERPT_CHARS = 300
_ASCII_ANCHORS = WordSearch(ANCHORS)
_ALL_ANCHORS = WordSearch((*ANCHORS, *(text.encode() for text in ANCHOR_TEXTS), *BYTES))
_DIGIT_BYTES = b"0123456789"
MAX_SEEN_BYTES = 8 * 1024 * 1024  # of different lines remembered
_DIGITS = re.compile(rb"\d+")
_LETTERS = re.compile(r"[^\w]+|_")
_SPACES = re.compile(r"[ \t]{2,}")
_WRAPPED = re.compile(rb"[a-z]{1,20}[ ,.]")  # a line that begins like this continues the sentence of the line before
_MESSAGE_START = re.compile(rb"(?:\|>\w{0,12}|turn>\w{0,8}|\\)\s*\Z")
_WRAPPED_LINES = 3
_MAX_LINE_CHARS = 480  # of a line that may be wrapped
_RECORD = re.compile(
    rb"\s*(?:\d{4}-\d\d|\d\d/\w{2,3}/|[A-Z][a-z]{2} [ \d]\d \d\d:|[{\[<\"]|\d{1,3}(?:\.\d{1,3}){3}\b|\w+=|\d{10})"
)  # how a line of a log begins
_MAIL_FIELD = re.compile(
    rb"(?:Received|Return-Path|From|Subject|Message-ID|MIME-Version|Delivered-To):[ \t]", re.IGNORECASE
)
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]{2,}")
_HIDDEN_TAG = re.compile(
    r"<(\w{1,20})\b[^<>]{0,400}(?:display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden"
    r"|font-size\s{0,3}:\s{0,3}[01](?:px|pt)?\s{0,3}[;\"']|opacity\s{0,3}:\s{0,3}0\b"
    r"|[\s;\"']color\s{0,3}:\s{0,3}(?:#fff(?:fff)?\b|white)|\shidden(?=[\s>]))[^<>]{0,400}>[^<]{0,900}\Z",
    re.IGNORECASE,
)
_WHY = (
    "Text in evidence cannot change what the tools find, and it did not. Evidence has no reason to address an analyst "
    "or a language model: somebody may have put it there to hide something (MITRE ATLAS AML.T0051, prompt injection)."
)
_WHY_MENTION = "The text only quotes such wording, or is written for a model, without asking for a verdict."


class _Place(msgspec.Struct, frozen=True):
    channel: str
    line: int | None
    offset: int | None


class _SeenText(msgspec.Struct):
    """One text with all its places."""

    text: str
    hidden_text: str
    methods: tuple[str, ...]
    is_mention: bool
    count: int = 0
    places: list[_Place] = []


class _TextHit(msgspec.Struct, frozen=True):
    """A passage in a window; ``at`` is where it begins there, in bytes."""

    at: int
    text: str
    hidden_text: str
    methods: tuple[str, ...]
    is_mention: bool


class _SeenLines:
    """Knows lines without an anchor: those of logs repeat, but for their numbers, and are searched once.

    No anchor has a digit or a line's end, so that one in a text is also in a line of it without its digits.
    """

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._bytes = 0

    def may_have_anchor(self, data: bytes) -> bool:
        """Whether there may be an anchor in ``data``; False is sure."""
        lower = data.lower()
        new = set(lower.translate(None, _DIGIT_BYTES).split(b"\n")) - self._seen
        joined = b"\n".join(new)
        if _anchors_for(lower).is_in(joined):
            return True
        if self._bytes + len(joined) > MAX_SEEN_BYTES:
            self._seen.clear()
            self._bytes = 0
        if len(joined) <= MAX_SEEN_BYTES:
            self._seen |= new
            self._bytes += len(joined)
        return False


class Scanner:
    """Collects the passages of one input; ``findings`` yields them at the end."""

    def __init__(self, source: str, *, is_prompt: bool = False) -> None:
        """``is_prompt``: the input is the user's question, in which only pasted material is looked through."""
        self._source = source
        self._is_prompt = is_prompt
        self._own_words = ""
        self._texts: dict[str, _SeenText] = {}
        self._judged: dict[bytes, tuple[_TextHit, ...]] = {}
        self._lines = _SeenLines()
        self._left_out = 0
        self._batch: list[AnyFinding] = []

    def __getstate__(self) -> dict[str, object]:
        """Return what was found; what only saves time is left out."""
        return {**self.__dict__, "_judged": {}, "_lines": _SeenLines()}

    def know(self, texts: Iterable[str]) -> None:
        """Take these texts as found in the input already, instead of reading it."""
        for text in texts:
            self._texts[_letters(text)] = _SeenText(text, "", (), is_mention=False, places=[])

    def read(self, pieces: Iterable[bytes]) -> None:
        """Look through an input that comes in pieces."""
        kept, start, lines, is_binary = b"", 0, 1, False
        for chunk in pieces:
            piece = kept + chunk
            if start == 0:
                is_binary = _BINARY.search(piece[:4_096]) is not None
            if self._is_prompt:
                self._own_words += _letters(chunk.decode(errors="replace"))
                piece = _pasted(piece)
            place = partial(_place, piece=piece, start=start, first_line=None if is_binary else lines)
            self._search(piece, place)
            kept = piece[-OVERLAP_BYTES:]
            lines += piece.count(b"\n", 0, len(piece) - len(kept))
            start += len(piece) - len(kept)

    def read_parts(self, stream: BinaryIO) -> None:
        """Look through the compressed parts of a file."""
        for name, data in containers.parts(stream):
            for at in range(0, len(data), PIECE_BYTES):
                piece = data[max(0, at - OVERLAP_BYTES) : at + PIECE_BYTES]
                self._search(piece, partial(_fixed_place, place=_Place(name, None, None)))

    def in_finding(self, finding: AnyFinding) -> Iterator[AnyFinding]:
        """Look through the texts of a tool's finding, such as a decoded script or a name in an archive.

        Findings are looked through in batches; what is new in them is yielded.
        """
        self._batch.append(finding)
        if len(self._batch) >= BATCH_FINDINGS:
            yield from self._in_batch()

    def last_findings(self) -> Iterator[AnyFinding]:
        """What is new in the last batch."""
        yield from self._in_batch()

    def _in_batch(self) -> Iterator[AnyFinding]:
        batch, self._batch = self._batch, []
        encoded = [msgspec.msgpack.encode(finding) for finding in batch]
        if not self._lines.may_have_anchor(b"\n".join(encoded)):
            return
        known = set(self._texts)
        for finding, one in zip(batch, encoded, strict=True):
            if self._lines.may_have_anchor(one):
                self._search_finding(finding)
        yield from (self._finding(seen) for key, seen in self._texts.items() if key not in known)

    def _search_finding(self, finding: AnyFinding) -> None:
        values = columns(finding).values()
        texts = [one for value in values for one in (value if isinstance(value, list) else [value])]
        evidence = finding.evidence[0] if finding.evidence else Evidence(source=self._source, excerpt="")
        place = _Place(f"{FINDING}{finding.kind}", evidence.line, evidence.offset)
        for text in [*texts, *(one.excerpt for one in finding.evidence)]:
            for cell in text.values() if isinstance(text, dict) else [text]:
                if isinstance(cell, str) and len(cell) >= MIN_TEXT_CHARS:
                    self._search(cell.encode(errors="replace"), partial(_fixed_place, place=place))

    def findings(self) -> Iterator[AnyFinding | Gap]:
        """Yield one finding for each text, in the order in which they were found."""
        for seen in self._texts.values():
            yield self._finding(seen)
        if self._left_out:
            yield Gap(text=f"{self._left_out:,} further texts that address an analyst or a model are not listed")

    def _finding(self, seen: _SeenText) -> Finding[InstructionText]:
        first = seen.places[0]
        return Finding(
            title=_title(seen),
            severity=Severity.LOW if seen.is_mention else Severity.MEDIUM,
            confidence=Confidence.LOW if seen.is_mention else Confidence.MEDIUM,
            why=_WHY_MENTION if seen.is_mention else _WHY,
            techniques=("T1027",) if HIDDEN_UNICODE in seen.methods and not seen.is_mention else (),
            evidence=tuple(
                Evidence(source=self._source, excerpt=seen.text[:EXCERPT_CHARS], line=place.line, offset=place.offset)
                for place in seen.places
            ),
            facts=InstructionText(
                text=seen.text,
                methods=list(seen.methods),
                channel=first.channel or "text",
                source=self._source,
                count=seen.count,
                hidden_text=seen.hidden_text,
                is_mention=seen.is_mention,
            ),
        )

    def _search(self, piece: bytes, place: Callable[[View, int], _Place]) -> None:
        for view in views(piece, self._lines.may_have_anchor):
            for at, hit in self._hits(view.data):
                self._note(hit, place(view, at))

    def _hits(self, data: bytes) -> Iterator[tuple[int, _TextHit]]:
        if not self._lines.may_have_anchor(data):
            return
        for start, end in _windows(data):
            window = data[start:end]
            key = _DIGITS.sub(b"0", window)
            hits = self._judged.get(key)
            if hits is None:
                hits = tuple(_judge(window))
                if len(self._judged) < MAX_JUDGED:
                    self._judged[key] = hits
            for hit in hits:
                yield start + hit.at, hit

    def _note(self, hit: _TextHit, place: _Place) -> None:
        key = _letters(hit.hidden_text or hit.text)
        if self._is_prompt and place.channel.startswith(FINDING) and key in self._own_words:
            return
        seen = self._texts.get(key) or self._part_of(key)
        if seen is None:
            if len(self._texts) >= MAX_TEXTS:
                self._left_out += 1
                return
            seen = _SeenText(hit.text, hit.hidden_text, hit.methods, hit.is_mention, places=[])
            self._texts[key] = seen
        is_known = any((known.line, known.offset) == (place.line, place.offset) for known in seen.places)
        if not is_known or not seen.places:
            seen.count += 1
            if len(seen.places) < MAX_EVIDENCE:
                seen.places.append(place)

    def _part_of(self, key: str) -> _SeenText | None:
        """A text already noted that contains this one: a view or a finding shows it again."""
        recent = list(self._texts)[-200:]
        return next((self._texts[known] for known in recent if key in known), None)


def _anchors_for(lower: bytes) -> WordSearch:
    return _ASCII_ANCHORS if lower.isascii() else _ALL_ANCHORS


def _windows(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the parts of ``data`` around anchors, in order and without overlap: lines, as far as limits allow."""
    lower = data.lower()
    next_anchor = _anchors_for(lower).finder(lower)
    last = 0
    while (at := next_anchor(last)) >= 0:
        start = max(last, at - BEFORE_BYTES, lower.rfind(b"\n", 0, at) + 1)
        end = lower.find(b"\n", at)
        end = len(lower) if end < 0 else end
        start, end = _unwrapped(data, max(start, last), min(end, at + AFTER_BYTES), last)
        last = end
        yield start, end


def _unwrapped(data: bytes, start: int, end: int, last: int) -> tuple[int, int]:
    """The window with the lines before and after that belong to the same sentence or block."""
    for _ in range(_WRAPPED_LINES):
        begin = data.rfind(b"\n", last, max(start - 1, last)) + 1
        if begin <= last or start - begin > _MAX_LINE_CHARS or not _continues(data[begin : start - 1], data, start):
            break
        start = begin
    for _ in range(_WRAPPED_LINES):
        following = data.find(b"\n", end + 1)
        following = len(data) if following < 0 else following
        is_next = data[end : end + 1] == b"\n" and following - end <= _MAX_LINE_CHARS and end - start <= _MAX_LINE_CHARS
        if not is_next or not _continues(data[start:end], data, end + 1):
            break
        end = following
    return start, end


def _continues(line: bytes, data: bytes, at: int) -> bool:
    """Whether the line at ``at`` goes on with the sentence or the chat message of ``line``."""
    if _MESSAGE_START.search(line):
        return True
    return _WRAPPED.match(data, at) is not None and not line.rstrip().endswith((b".", b"!", b"?", b";"))


def _judge(window: bytes) -> Iterator[_TextHit]:
    """Yield the passages of a window, in plain text first, then with what is hidden made visible."""
    text = _SPACES.sub(" ", window.decode(errors="replace"))
    for hidden in hidden_texts(text):
        found = next(passages(hidden.text), None)
        if found is None and not hidden.is_sure:
            continue
        methods = (HIDDEN_UNICODE, *(found.methods if found else ()))
        yield _TextHit(
            _bytes_before(text, hidden.start),
            _shown(text, 0, len(text)),
            hidden.text[:TEXT_CHARS],
            methods,
            is_mention=False,
        )
    plain = [_hit(text, passage) for passage in passages(text)]
    if not plain and (decoded := unescaped(window)) != window:
        plain = [
            msgspec.structs.replace(_hit(clear, one), at=0)
            for clear in [decoded.decode(errors="replace")]
            for one in passages(clear)
        ]
    yield from plain
    readings = () if plain or text.isascii() else dict.fromkeys((visible(text), with_tags_read(text)))
    for shown in readings:
        for passage in passages(shown) if shown != text else ():
            hit = _hit(shown, passage)
            yield msgspec.structs.replace(hit, at=0, methods=(HIDDEN_UNICODE, *hit.methods), hidden_text=hit.text)


def _hit(text: str, passage: Passage) -> _TextHit:
    methods = passage.methods
    if _HIDDEN_TAG.search(text[: passage.start]):
        methods = (*methods, HIDDEN_HTML)
    return _TextHit(
        _bytes_before(text, passage.start),
        _shown(text, passage.start, passage.end),
        "",
        methods,
        is_mention=passage.is_quoted or not passage.is_steering,
    )


def _shown(text: str, start: int, end: int) -> str:
    """The passage with some words around it, at most TEXT_CHARS."""
    begin = max(0, start - 60)
    return " ".join(text[begin : min(end + 60, begin + TEXT_CHARS)].split())


def _bytes_before(text: str, at: int) -> int:
    return len(text[:at].encode(errors="replace"))


def _place(view: View, at: int, *, piece: bytes, start: int, first_line: int | None) -> _Place:
    """Where a passage is in the input. In a decoded view the line is right, unless the encoding hides line ends."""
    if view.starts:
        begin = view.starts[view.data.count(b"\n", 0, at)]
        return _Place(view.channel, _line(piece, begin, first_line), None if first_line else start + begin)
    if view.offset:
        return _Place(view.channel, _line(piece, view.offset, first_line), None if first_line else start + view.offset)
    if first_line is not None:
        return _Place(view.channel, _line(view.data, at, first_line), None)
    return _Place(view.channel, None, start + at)


def _letters(text: str) -> str:
    return _LETTERS.sub("", text).casefold()


def _pasted(prompt: bytes) -> bytes:
    """The prompt with its lines emptied that are the user's own words, not pasted records, mails or code blocks."""
    kept: list[bytes] = []
    is_fenced = is_mail = False
    for line in prompt.split(b"\n"):
        is_fence = line.lstrip().startswith(b"```")
        is_fenced ^= is_fence
        is_mail = is_mail or _MAIL_FIELD.match(line) is not None
        kept.append(line if not is_fence and (is_fenced or is_mail or _RECORD.match(line)) else b"")
    return b"\n".join(kept)


def _fixed_place(_view: View, _at: int, *, place: _Place) -> _Place:
    return place


def _line(data: bytes, at: int, first: int | None) -> int | None:
    return None if first is None else first + data.count(b"\n", 0, at)


def _title(seen: _SeenText) -> str:
    if seen.is_mention:
        return "Text written for a language model, or about such text"
    return f"Text addressed to an analyst or a model: {', '.join(seen.methods)}"
