"""What a job may take, by the size of its input: a small file cannot keep a worker for minutes. Pure but for one read.

The slowest tools read 1 MiB of ordinary evidence in a few seconds (``tests/benchmarks/analyst_speed.py``); the factor
leaves ten times that. What is compressed counts as what it usually unpacks to.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from svc.assistant.file_types.signatures import starts_as
from svc.assistant.workers.process import Limits

SMALL_BYTES = 65_536
BASE_CPU_SECONDS = 20
CPU_SECONDS_PER_MIB = 30
_MIB = 1_048_576
WALL_FACTOR = 2.5  # with every lane taken, two processes share a core
PACKED_FACTOR = 20  # logs compress to a tenth or a twentieth
_PACKED = ("gzip_start", "bzip2_start", "xz_start", "zst", "zip_start", "sevenzip", "rar", "cab")
_HEAD_BYTES = 8


def is_small(size: int) -> bool:
    """Whether a job with an input of this size belongs to the lanes for small jobs."""
    return size <= SMALL_BYTES


def limits_for(limits: Limits, size: int, source: Path | bytes) -> Limits:
    """The limits of a job with this input, in proportion to its size; never above ``limits``."""
    counted = size * PACKED_FACTOR if is_packed(source) else size
    cpu_seconds = BASE_CPU_SECONDS + counted * CPU_SECONDS_PER_MIB // _MIB
    if cpu_seconds >= limits.cpu_seconds:
        return limits
    wall_seconds = min(limits.wall_seconds, cpu_seconds * WALL_FACTOR)
    return msgspec.structs.replace(limits, cpu_seconds=cpu_seconds, wall_seconds=wall_seconds)


def size_of(source: Path | bytes) -> int:
    """The size of the input in bytes; 0 if it cannot be read, which the worker reports."""
    if isinstance(source, bytes):
        return len(source)
    try:
        return source.stat().st_size
    except OSError:
        return 0


def is_packed(source: Path | bytes) -> bool:
    """Whether the input begins like a compressed file or an archive; an unreadable one does not."""
    head = source[:_HEAD_BYTES] if isinstance(source, bytes) else _head(source)
    return any(starts_as(head, label) for label in _PACKED)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:  # the worker reports it
        return b""
