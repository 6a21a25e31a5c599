"""The process's limit on open files: raised at the start, kept out of reach of clients, and reported when it is hit."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import time
from collections.abc import Callable
from typing import TypedDict

from svc.service.observability.metrics import Metrics

log: logging.Logger = logging.getLogger("svc.serve")
WANTED_FILES = 65_536
MACOS_FILES = 10_240  # macOS calls the hard limit infinite and refuses more than this
RESERVED_FILES = 128  # for the database, the workers, the log and libraries
FILES_PER_CONNECTION = 2  # its socket, and a file that it sends or receives
LOG_SECONDS = 10.0
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class LoopContext(TypedDict, total=False):
    """What an event loop says about an error that nobody caught."""

    message: str
    exception: BaseException


def raise_limit() -> int:
    """Raise the soft limit on open files as far as the hard limit allows; returns what it is now.

    Windows has no such limit on sockets.
    """
    try:
        import resource
    except ImportError:
        return WANTED_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, WANTED_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        for count in (wanted, MACOS_FILES):
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
                return count
    return soft if soft != resource.RLIM_INFINITY else WANTED_FILES


def connection_limit(configured: int, files: int) -> int:
    """The number of connections for which there are enough files; at most what is configured."""
    return max(1, min(configured, (files - RESERVED_FILES) // FILES_PER_CONNECTION))


def report_accept_failures(
    loop: asyncio.AbstractEventLoop, metrics: Metrics, clock: Callable[[], float] = time.monotonic
) -> None:
    """Count and log connections that cannot be accepted, instead of a traceback for each; the loop tries again."""
    logged = -LOG_SECONDS

    def handle(loop: asyncio.AbstractEventLoop, context: LoopContext) -> None:
        nonlocal logged
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in _OUT_OF_FILES):
            loop.default_exception_handler(dict(context))
            return
        metrics.accept_failed()
        if clock() - logged >= LOG_SECONDS:
            logged = clock()
            log.error("out of files", extra={"hint": "raise the hard limit on open files (ulimit -Hn)"})

    loop.set_exception_handler(handle)  # type: ignore[arg-type]  # typeshed's context is a dict[str, Any]
