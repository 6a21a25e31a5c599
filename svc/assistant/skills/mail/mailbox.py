"""The mails of a file: one, or those of an mbox, as they are read. Pure but for the stream it is given.

An mbox is read in pieces and each byte is searched once, so that its first mail is there at once and its size does not
matter. Only a file that begins with a From line is an mbox: a sender may write such a line in a mail's text.
Form: RFC 4155.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import BinaryIO

PIECE_BYTES = 1024 * 1024
_FROM_LINE = re.compile(rb"From [^\r\n]{1,200}\d{4}[^\r\n]{0,40}\r?\n[A-Za-z][\w-]{0,60}:")
_NEXT_FROM = b"\nFrom "
_OVERLAP_BYTES = 400  # as long as a match of _FROM_LINE: one may be cut by the end of a piece
_FIELD = re.compile(rb"[!-9;-~]{1,60}:(?:[ \t]|\r?\n)|From ")
_FIRST_FIELD = re.compile(
    rb"^(?:Received|Return-Path|Delivered-To|Authentication-Results|ARC-Seal|DKIM-Signature|X-[\w-]+|MIME-Version|"
    rb"Message-ID|From|To|Subject|Date|Reply-To|Sender):[ \t]",
    re.IGNORECASE | re.MULTILINE,
)
_ASKED_BYTES = 4_000  # in which pasted header fields begin, under the question


class Mailbox:
    """Iterates over the mails with the number of each one's first line; ``is_cut`` if the limit ended it."""

    def __init__(self, content: BinaryIO, limit_bytes: int) -> None:
        self._content = content
        self._left = limit_bytes
        self.is_cut: bool = False
        self.is_mbox: bool = False

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Text above pasted header fields is left out. A text without header fields is one mail."""
        head = self._read(PIECE_BYTES)
        first = len(head) - len(head.lstrip())
        self.is_mbox = _FROM_LINE.match(head, first) is not None
        if self.is_mbox:
            yield from self._mails(bytearray(head[first:]), head.count(b"\n", 0, first) + 1)
            return
        raw = head + (self._read(self._left) if head else b"")
        start = _start_of_fields(raw)
        if raw.strip():
            yield raw.count(b"\n", 0, start) + 1, raw[start:]

    def _mails(self, buffer: bytearray, line: int) -> Iterator[tuple[int, bytes]]:
        searched = 0
        while True:
            start = _next_start(buffer, searched)
            if start is not None:
                one = bytes(buffer[:start])
                del buffer[:start]
                searched = 0
                yield line, one
                line += one.count(b"\n")
                continue
            searched = max(0, len(buffer) - _OVERLAP_BYTES)
            piece = self._read(PIECE_BYTES)
            if not piece:
                yield line, bytes(buffer)
                return
            buffer += piece

    def _read(self, size: int) -> bytes:
        piece = self._content.read(min(size, self._left))
        self._left -= len(piece)
        self.is_cut = self._left <= 0 and bool(self._content.read(1))
        return piece


def split_mails(raw: bytes) -> list[tuple[int, bytes]]:
    """Return the mails in ``raw``, each with the number of its first line."""
    return list(Mailbox(io.BytesIO(raw), len(raw) + 1))


def _next_start(buffer: bytearray, position: int) -> int | None:
    """The offset of the next From line that a blank line and header fields surround."""
    found = buffer.find(_NEXT_FROM, position)
    while found >= 0:
        is_after_blank = buffer[found - 1 : found] == b"\n" or buffer[found - 2 : found] == b"\n\r"
        if found and is_after_blank and _FROM_LINE.match(buffer, found + 1):
            return found + 1
        found = buffer.find(_NEXT_FROM, found + 1)
    return None


def _start_of_fields(raw: bytes) -> int:
    blank = len(raw) - len(raw.lstrip())
    if _FIELD.match(raw, blank):
        return blank
    found = _FIRST_FIELD.search(raw[:_ASKED_BYTES])
    return found.start() if found else blank
