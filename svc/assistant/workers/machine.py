"""What the machine gives to workers: processors and memory, within the limits of a container."""

from __future__ import annotations

import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
_LARGEST_SHARE = 0.8  # of the memory, for all workers together
_LEAST_BYTES = 256 * 1024 * 1024  # of one worker: with less, no tool reads a large file


def processors(cgroup: Path = CGROUP) -> int:
    """How many processors this process may use: its own, or as many as its container has time for, rounded up."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = (cgroup / "cpu.max").read_text("ascii").split()
    except (OSError, ValueError):
        return own
    if not (quota.isdigit() and period.isdigit() and int(period)):  # "max": no limit
        return own
    return max(1, min(own, -(-int(quota) // int(period))))


def memory_bytes(cgroup: Path = CGROUP) -> int:
    """The memory of the machine, or of the container if it has a limit."""
    physical = _physical_bytes()
    try:
        limit = (cgroup / "memory.max").read_text("ascii").strip()
    except OSError:
        return physical
    return min(physical, int(limit)) if limit.isdigit() else physical


def _physical_bytes() -> int:
    if hasattr(os, "sysconf"):
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    import psutil  # only on platforms that need it

    return int(psutil.virtual_memory().total)


def share_of_memory(processes: int, most: int, available: int | None = None) -> int:
    """What each of so many workers may use: ``most``, but all together not more than the machine has."""
    total = memory_bytes() if available is None else available
    return max(min(most, int(total * _LARGEST_SHARE) // processes), min(most, _LEAST_BYTES))
