"""Read the lines of a log: numbered, with their offset in the file, and limited in length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Gap
from svc.assistant.sigma.event import Event

MAX_LINE_BYTES = 65_536  # of one line; the rest of it is skipped
MAX_WIDE_BYTES = 64 * 1024 * 1024  # of a file in UTF-16, which is decoded as a whole
_WIDE = (b"\xff\xfe", b"\xfe\xff")


class Unread(msgspec.Struct, frozen=True):
    """Records that a reader could not make sense of; a Gap says which."""

    count: int


class ReadAs(msgspec.Struct, frozen=True):
    """What a reader took the log for, if only its content tells: the form's name, and how its columns were read."""

    form: str
    columns: tuple[str, ...] = ()
    """``role=column``."""
    unused: tuple[str, ...] = ()
    """Columns without a known meaning."""


ReadItem = Event | Gap | Unread | ReadAs
"""Everything that a log reader may yield."""


def split_lines(text: str) -> list[str]:
    """Return the lines of ``text`` as files have them: ends are LF or CR LF.

    ``str.splitlines`` also splits at 0x1D, which auditd writes within a record, at 0x85 and at U+2028.
    """
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


class Lines:
    """Iterate it once for number, offset and text of each line that is not empty; ``gaps`` reports what was cut.

    A reader counts in ``foreign`` what it could not make sense of.
    """

    def __init__(self, content: BinaryIO) -> None:
        self._content = content
        self._long: list[int] = []
        self._is_cut = False
        self.foreign: list[int] = []

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        head = self._content.read(3)
        self._content.seek(0)
        return self._wide() if head[:2] in _WIDE else self._narrow(3 if head == b"\xef\xbb\xbf" else 0)

    def _narrow(self, start: int) -> Iterator[tuple[int, int, str]]:
        self._content.seek(start)
        readline = self._content.readline
        number, offset = 0, start
        while raw := readline(MAX_LINE_BYTES):
            number += 1
            at = offset
            offset += len(raw)
            if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
                self._long.append(number)
                while (rest := readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                    offset += len(rest)
                offset += len(rest)
            text = raw.decode("utf-8", errors="replace").rstrip("\r\n")
            if text:
                yield number, at, text

    def _wide(self) -> Iterator[tuple[int, int, str]]:
        whole = self._content.read(MAX_WIDE_BYTES + 1)
        self._is_cut = len(whole) > MAX_WIDE_BYTES
        text = whole[:MAX_WIDE_BYTES].decode("utf-16", errors="replace")
        offset = 2
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield number, offset, line.rstrip("\r")[:MAX_LINE_BYTES]
            offset += 2 * (len(line) + 1)

    def gaps(self, what: str) -> Iterator[Gap | Unread]:
        """Yield what was cut, and how many lines were not ``what``."""
        if self._is_cut:
            yield Gap(text=f"only the first {MAX_WIDE_BYTES:,} bytes were examined, because the file is in UTF-16")
        if self._long:
            yield Gap(
                text=f"{len(self._long):,} lines are longer than {MAX_LINE_BYTES:,} bytes (the first is line "
                f"{self._long[0]:,}); only that much of each was looked at"
            )
        if self.foreign:
            yield Gap(text=f"{len(self.foreign):,} lines are not {what}; the first is line {self.foreign[0]:,}")
            yield Unread(len(self.foreign))
