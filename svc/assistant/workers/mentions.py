"""Count the lines of text files that mention a value, for an answer about a value that no finding mentions."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from svc.assistant.turn import TurnFile
from svc.untrusted.markup import plural

MAX_BYTES = 64 << 20  # of all files together; the rest is not searched, and the answer says so
MAX_LINE = 1 << 20  # a longer one is searched in parts
MAX_NAMES = 3


class _Count:
    """How many lines were searched, and for each name how many mention it and which is the first."""

    def __init__(self, names: Sequence[str]) -> None:
        self.patterns = {name: _pattern(name) for name in names[:MAX_NAMES]}
        self.counts = dict.fromkeys(self.patterns, 0)
        self.first: dict[str, str] = {}
        self.lines = 0
        self.left = MAX_BYTES

    def add(self, file: TurnFile) -> None:
        """Search one file; one with a null byte is no text, and the rest of it is left out."""
        with _opened(file.source) as stream:
            number = 0
            while self.left > 0 and (line := stream.readline(min(MAX_LINE, self.left))) and b"\0" not in line:
                self.left -= len(line)
                number += 1
                self._count(line, f"line {number:,} of {file.name}")
            self.lines += number

    def _count(self, line: bytes, place: str) -> None:
        for name, pattern in self.patterns.items():
            if pattern.search(line):
                self.counts[name] += 1
                self.first.setdefault(name, place)

    def told(self) -> dict[str, str]:
        """The counts in words; nothing if no line was searched."""
        part = f" of the first {MAX_BYTES >> 20} MiB" if self.left <= 0 else ""
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


def _pattern(name: str) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![\w.-])" + re.escape(name.encode()) + rb"(?![\w-]|\.\w)", re.IGNORECASE)


def _opened(source: bytes | Path) -> IO[bytes]:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
