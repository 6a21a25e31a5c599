"""What the machine gives to workers: processors and memory, within the limits of a container."""

from __future__ import annotations

import os
import sys
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
_LARGEST_SHARE = 0.8  # of the memory, for all workers together
_LEAST_BYTES = 256 * 1024 * 1024  # of one worker: with less, no tool reads a large file


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def memory_bytes(cgroup: Path = CGROUP) -> int:
    """The memory of the machine, or of the container if it has a limit."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = (cgroup / "memory.max").read_text("ascii").strip()
    except OSError:
        return physical
    return min(physical, int(limit)) if limit.isdigit() else physical


def share_of_memory(processes: int, most: int, available: int | None = None) -> int:
    """What each of so many workers may use: ``most``, but all together not more than the machine has."""
    total = memory_bytes() if available is None else available
    return max(min(most, int(total * _LARGEST_SHARE) // processes), min(most, _LEAST_BYTES))
