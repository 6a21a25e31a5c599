"""Read the lines of a log from the oldest to the newest, even if it is in reverse order; journal JSON becomes lines.

Some people save a log as their viewer shows it, the newest line first (``journalctl -r``, web consoles). Logins after
failures depend on the order, so such a log is read from its end. The timestamps of the first lines decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice, pairwise

from svc.assistant.log_readers.parts import part_of
from svc.assistant.log_readers.syslog import journal_entry, journal_message, journal_time
from svc.assistant.log_readers.timestamps import Stamps

SAMPLE_LINES = 500
BACK_TO_FORTH = 2  # times as many steps back as forward: single late lines are normal
MAX_HELD_CHARS = 256 * 1024 * 1024  # of a log in reverse order; a quarter of the worker's memory


class TimeOrder:
    """Iterate it once for each line's number in the file, from 1, and its text.

    ``is_backwards``: the log runs newest first. ``count`` is how many lines were read, ``is_cut`` whether more are.
    """

    def __init__(self, lines: Iterable[str], count: int = 0) -> None:
        """``count``: how many lines the parts before had, if these are of a later part of the log."""
        part, rest = part_of(lines), iter(lines)
        with part.unbroken():
            sample = [] if count else [_as_line(line) for line in islice(rest, SAMPLE_LINES)]
        self.is_backwards: bool = _runs_backwards(sample)
        if self.is_backwards:
            part.refuse("it runs newest first and is read from its end")
        self.count: int = count
        self.is_cut: bool = False
        self._lines = chain(sample, map(_as_line, rest))

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return self._backwards() if self.is_backwards else self._forwards()

    def _forwards(self) -> Iterator[tuple[int, str]]:
        for line in self._lines:
            self.count += 1
            yield self.count, line

    def _backwards(self) -> Iterator[tuple[int, str]]:
        held: list[str] = []
        size = 0
        for line in self._lines:
            size += len(line)
            if size > MAX_HELD_CHARS:
                self.is_cut = True
                break
            held.append(line)
        self.count = len(held)
        for number in range(len(held), 0, -1):
            yield number, held[number - 1]


def _runs_backwards(lines: Iterable[str]) -> bool:
    stamps = Stamps()
    times = [stamp.seconds for line in lines for stamp in (stamps.read(line)[0],) if stamp is not None]
    steps = [later - earlier for earlier, later in pairwise(times) if later != earlier]
    back = sum(1 for step in steps if step < 0)
    return back > BACK_TO_FORTH * (len(steps) - back)


def _as_line(line: str) -> str:
    """Return a journal entry as the line that ``journalctl`` prints, any other line unchanged."""
    if not line.startswith("{"):
        return line
    entry = journal_entry(line)
    if entry is None:
        return line
    program = entry.get("SYSLOG_IDENTIFIER") or entry.get("_COMM") or "unknown"
    pid = entry.get("_PID") or entry.get("SYSLOG_PID")
    host = entry.get("_HOSTNAME") or "localhost"
    return f"{journal_time(entry)} {host} {program}{f'[{pid}]' if pid else ''}: {journal_message(entry)}"
