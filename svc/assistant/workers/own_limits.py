"""What a process limits about itself, as far as the platform lets it; ``watch.py`` enforces the rest from outside.

Linux has all of it. macOS accepts a limit on memory and does not enforce it. Windows has none of these limits.
"""

from __future__ import annotations

import signal
import sys
import time

from svc.process_safety import forbid_core_dumps

_GRACE_SECONDS = 5  # between the signal that ends the process and the one that it cannot catch


def has_resource_limits() -> bool:
    """Whether the platform limits the processor time and the files of a process."""
    try:
        import resource  # noqa: F401
    except ImportError:
        return False
    return True


def limits_memory() -> bool:
    """Whether a process that asks for too much memory gets a MemoryError."""
    return sys.platform == "linux" and has_resource_limits()


def limits_calls() -> bool:
    """Whether a process can give a call of its own a limit of processor time."""
    return hasattr(signal, "setitimer") and hasattr(signal, "SIGPROF")


def ignore_interrupts() -> None:
    """Leave Ctrl-C to the service, which ends its processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def apply(memory_bytes: int, cpu_seconds: int | None = None) -> None:
    """Limit memory, written files (none) and, if given, the processor time from now on."""
    forbid_core_dumps()
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if cpu_seconds is not None:
        until = int(time.process_time()) + cpu_seconds  # what the imports took is not the job's
        resource.setrlimit(resource.RLIMIT_CPU, (until, until + _GRACE_SECONDS))
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    memory = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def prepare_call_limit() -> None:
    """Let the end of a call's processor time end the process, even within a search by ``re``."""
    if limits_calls():
        signal.signal(signal.SIGPROF, signal.SIG_DFL)


def limit_call(cpu_seconds: float) -> None:
    """Limit the processor time of what runs from now on; 0 removes the limit."""
    if limits_calls():
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds)


def is_call_limit(code: int | None) -> bool:
    """Whether an exit code says that a call used up its processor time."""
    return limits_calls() and code == -signal.SIGPROF


def is_cpu_limit(code: int) -> bool:
    """Whether an exit code says that the process used up its processor time."""
    return hasattr(signal, "SIGXCPU") and code == -signal.SIGXCPU
