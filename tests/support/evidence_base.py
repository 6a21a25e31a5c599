"""What generators of evidence share: the registry, the clock, tables and lines, and the story of logins."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 20, 2, 0, tzinfo=UTC)
ATTACKER = "203.0.113.77"
STAFF = {"ann": "198.51.100.11", "bob": "198.51.100.12", "mara": "198.51.100.13"}


@dataclass(frozen=True)
class EvidenceKind:
    """``expect`` is the kind of finding that shows the story, "" if reading the events is all that can be asked."""

    name: str
    file: str
    make: Callable[[], bytes]
    expect: str
    words: tuple[str, ...]
    held: bool

    def evidence(self) -> tuple[str, bytes]:
        """The file's name and content."""
        return self.file, self.make()


KINDS: dict[str, EvidenceKind] = {}
Maker = Callable[[], bytes]


def kind(
    name: str, file: str, expect: str = "", words: tuple[str, ...] = (), *, held: bool = False
) -> Callable[[Maker], Maker]:
    """Register a generator."""

    def register(make: Maker) -> Maker:
        assert name not in KINDS
        KINDS[name] = EvidenceKind(name, file, make, expect, words, held)
        return make

    return register


def at(seconds: float) -> datetime:
    """A moment of the story."""
    return START + timedelta(seconds=seconds)


def iso(seconds: float) -> str:
    """It as ISO 8601 in UTC."""
    return at(seconds).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def plain(seconds: float) -> str:
    """It without a zone."""
    return at(seconds).strftime("%Y-%m-%d %H:%M:%S")


def table(header: Iterable[str], rows: Iterable[Iterable[object]], separator: str = ",") -> bytes:
    """A CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def lines(rows: Iterable[object]) -> bytes:
    """JSON lines; text is written as it is."""
    return "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows).encode()


def logins() -> Iterator[tuple[float, str, str, bool]]:
    """Ordinary logins, then a brute-force attack on mara that succeeds: second, account, address, success."""
    for hour in range(6):
        for number, (account, address) in enumerate(STAFF.items()):
            yield hour * 600 + number * 40, account, address, True
    for number in range(30):
        yield 4_000 + number * 3, "mara", ATTACKER, False
    yield 4_100, "mara", ATTACKER, True
    yield 4_400, "ann", STAFF["ann"], True
