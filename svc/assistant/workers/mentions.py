"""Count the lines of text files that mention a value, for an answer about a value that no finding mentions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import IO

from svc.assistant.turn import FileUnreadableError, TurnFile, open_source
from svc.untrusted.markup import plural

MAX_BYTES = 256 << 20  # of all files together; the rest is not searched, and the answer says so
BLOCK = 1 << 20  # read at once; a longer line is searched in parts
MAX_NAMES = 3


class _Count:
    """How many lines were searched, and for each name how many mention it and which is the first."""

    def __init__(self, names: Sequence[str]) -> None:
        self.patterns = {name: _pattern(name) for name in names[:MAX_NAMES]}
        self.counts = dict.fromkeys(self.patterns, 0)
        self.first: dict[str, str] = {}
        self.lines = 0
        self.left = MAX_BYTES
        self.unread: list[str] = []

    def add(self, file: TurnFile) -> None:
        """Search one file; one with a null byte is no text, and the rest of it is left out."""
        if self.left <= 0:
            return
        try:
            opened = open_source(file.source)
        except FileUnreadableError:  # fetched no more since a tool read it
            self.unread.append(file.name)
            return
        with opened as stream:
            number = 0
            for block in self._blocks(stream):
                lowered = block.lower()
                for name in self.patterns:
                    self._count(name, block, lowered, number, file.name)
                number += block.count(b"\n") + (not block.endswith(b"\n"))
            self.lines += number

    def _blocks(self, stream: IO[bytes]) -> Iterator[bytes]:
        """The file in blocks of whole lines, up to the first line with a null byte."""
        rest = b""
        while self.left > 0 and (read := stream.read(min(BLOCK, self.left))):
            self.left -= len(read)
            block = rest + read
            if (null := block.find(b"\0")) >= 0:
                rest = block[: block.rfind(b"\n", 0, null) + 1]
                break
            end = block.rfind(b"\n") + 1 or (len(block) if len(block) >= BLOCK else 0)
            rest = block[end:]
            if end:
                yield block[:end]
        if rest:
            yield rest

    def _count(self, name: str, block: bytes, lowered: bytes, number: int, file: str) -> None:
        """Count the lines of a block, before which the file has ``number`` lines. Most blocks mention nothing, so they
        are first searched for the letters alone, which is many times faster.
        """
        pattern, letters = self.patterns[name], name.encode().lower()
        at = lowered.find(letters)
        while at >= 0:
            if pattern.match(block, at):
                self.counts[name] += 1
                if name not in self.first:
                    line = number + block.count(b"\n", 0, at) + 1
                    self.first[name] = f"line {line:,} of {file}"
                end = block.find(b"\n", at)
                at = lowered.find(letters, end) if end >= 0 else -1
            else:
                at = lowered.find(letters, at + 1)

    def told(self) -> dict[str, str]:
        """The counts in words; nothing if no line was searched."""
        part = f" of the first {MAX_BYTES >> 20} MiB" if self.left <= 0 else ""
        if self.unread:
            part += f" ({', '.join(self.unread)} could not be fetched again)"
        return {
            name: _text(count, self.lines, part, self.first.get(name, ""))
            for name, count in self.counts.items()
            if self.lines
        }


def mentioning_lines(files: Sequence[TurnFile], names: Sequence[str]) -> dict[str, str]:
    """Say for each name in how many lines it is: "2 of 54 lines mention it, first line 12 of auth.log"."""
    if not names:
        return {}
    count = _Count(names)
    for file in files:
        count.add(file)
    return count.told()


def _text(count: int, lines: int, part: str, first: str) -> str:
    if not count:
        return f"none of {plural(lines, 'line')}{part} mentions it"
    return f"{count:,} of {plural(lines, 'line')}{part} {'mentions' if count == 1 else 'mention'} it, first {first}"


DOMAIN = re.compile(r"[\w-]{1,63}(?:\.[\w-]{1,63}){0,6}\.[a-z]{2,}", re.IGNORECASE)
"""A name that may be a domain: it is mentioned by the names below it, too."""


def _pattern(name: str) -> re.Pattern[bytes]:
    before = rb"(?<![\w-])" if DOMAIN.fullmatch(name) else rb"(?<![\w.-])"
    return re.compile(before + re.escape(name.encode()) + rb"(?![\w-]|\.\w)", re.IGNORECASE)
