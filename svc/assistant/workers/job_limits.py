"""What a job may take, by the size of its input: a small file cannot keep a worker for minutes. Pure but for one read.

The slowest tools read 1 MiB of ordinary evidence in a few seconds (``tests/benchmarks/analyst_speed.py``); the factor
leaves ten times that. What is compressed counts as what it usually unpacks to. Large logs are read at 1 to 10 MiB a
second, so that what exceeds the limits of the pool adds less for each MiB. The turn's end limits it all; a turn has
more time for more input, up to a setting (``turn_limit``).
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from svc.assistant.file_types.signatures import starts_as
from svc.assistant.turn import StoredFile
from svc.assistant.workers.process import MAX_UNPACKED_BYTES, Limits
from svc.assistant.workers.reading_budget import READING_SHARE, seconds_until

SMALL_BYTES = 65_536
BASE_CPU_SECONDS = 20
CPU_SECONDS_PER_MIB = 30
LARGE_CPU_SECONDS_PER_MIB = 2  # beyond LARGE_BYTES: a busy machine reads the slowest logs at 1 MiB a second
LARGE_BYTES = 8 * 1_048_576
_MIB = 1_048_576
_GIB = 1_024 * _MIB
ANNOUNCED_BYTES = 64 * _MIB  # from this size on, a message announces how long reading may take
_FAST, _SLOW = 8_000_000, 2_000_000  # bytes a second that logs are read at
WALL_FACTOR = 2.5  # with every lane taken, two processes share a core
PACKED_FACTOR = 20  # logs compress to a tenth or a twentieth
_PACKED = ("gzip_start", "bzip2_start", "xz_start", "zst", "zip_start", "sevenzip", "rar", "cab")
_HEAD_BYTES = 8


def is_small(size: int) -> bool:
    """Whether a job with an input of this size belongs to the lanes for small jobs."""
    return size <= SMALL_BYTES


def limits_for(limits: Limits, size: int, source: Path | bytes | StoredFile) -> Limits:
    """The limits of a job with this input, in proportion to its size.

    ``limits`` are those of LARGE_BYTES; a smaller input never gets more.
    """
    counted = unpacked_bytes(size, source)
    cpu_seconds = BASE_CPU_SECONDS + counted * CPU_SECONDS_PER_MIB // _MIB
    if cpu_seconds < limits.cpu_seconds:
        wall_seconds = min(limits.wall_seconds, cpu_seconds * WALL_FACTOR)
        return msgspec.structs.replace(limits, cpu_seconds=cpu_seconds, wall_seconds=wall_seconds)
    more = max(0, counted - LARGE_BYTES) * LARGE_CPU_SECONDS_PER_MIB // _MIB
    return msgspec.structs.replace(
        limits, cpu_seconds=limits.cpu_seconds + more, wall_seconds=limits.wall_seconds + more * WALL_FACTOR
    )


def unpacked_bytes(size: int, source: Path | bytes | StoredFile) -> int:
    """The bytes that an input counts as: of a compressed one, what it usually unpacks to and at most is read."""
    return min(size * PACKED_FACTOR, MAX_UNPACKED_BYTES) if is_packed(source) else size


def turn_limit(seconds: float, per_gib: float, most: float, counted: int) -> float:
    """The seconds of a turn with ``counted`` bytes of input: ``seconds``, and ``per_gib`` for each GiB, up to ``most``.

    A small input adds nothing, and ``seconds`` is never reduced.
    """
    more = per_gib * counted / _GIB if counted >= LARGE_BYTES else 0.0
    return max(seconds, min(seconds + more, most))


def announcement(name: str, size: int, counted: int, limits: Limits) -> str:
    """How long a large input may take, in words, before it is read; "" for a smaller one."""
    if counted < ANNOUNCED_BYTES:
        return ""
    least, usual = counted / _FAST, counted / _SLOW
    what, duration, limit = f"{name} ({size // 1_000_000:,} MB)", _minutes(least, usual), _minutes(limits.wall_seconds)
    if seconds_until(limits.wall_seconds, READING_SHARE) >= usual:
        return f"{what}: reading it usually takes {duration}; the limit is {limit}"
    # the limit first: a terminal shows some fifty characters
    return (
        f"the limit of {limit} may be too short for {what}: reading it usually takes {duration}. The answer is about "
        "the part that was read until then (raise SVC_TURN_SECONDS for more time)"
    )


def _minutes(*seconds: float) -> str:
    numbers = dict.fromkeys(f"{max(1, round(one / 60)):,}" for one in seconds)
    unit = "minute" if list(numbers) == ["1"] else "minutes"
    return f"{' to '.join(numbers)} {unit}"


def size_of(source: Path | bytes | StoredFile) -> int:
    """The size of the input in bytes; 0 if it cannot be read, which the worker reports."""
    if isinstance(source, bytes):
        return len(source)
    if not isinstance(source, Path):
        return source.size
    try:
        return source.stat().st_size
    except OSError:
        return 0


def is_packed(source: Path | bytes | StoredFile) -> bool:
    """Whether the input begins like a compressed file or an archive; an unreadable one does not. One in an object
    store is not fetched for it: its type says so.
    """
    if not isinstance(source, Path | bytes):
        return source.is_packed
    head = source[:_HEAD_BYTES] if isinstance(source, bytes) else _head(source)
    return any(starts_as(head, label) for label in _PACKED)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:  # the worker reports it
        return b""
