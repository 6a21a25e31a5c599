"""What is piped into ``svc ask``: kept in a temporary file, to be attached as ``stdin``.

Explicitly (``--attach -``) stdin is read to its end. Otherwise it is attached if the question is an argument, nothing
else is attached, and stdin is a file or a pipe with content. A terminal, a device such as /dev/null and a socket are
left alone, and an inherited pipe into which nothing is written is given up after ``WAIT_SECONDS``, so that a job of
cron or of a CI system does not hang.
"""

from __future__ import annotations

import os
import select
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from svc.untrusted.terminal import echo

NAME = "stdin"
WAIT_SECONDS = 10.0


@contextmanager
def stdin_file(*, is_explicit: bool, is_wanted: bool) -> Iterator[Path | None]:
    """Yield a file with stdin's content, which is deleted afterwards; None if there is nothing to attach.

    Args:
        is_explicit: The user asked for it by ``--attach -``.
        is_wanted: Attach it if it has content.
    """
    stream = _stream(is_explicit=is_explicit, is_wanted=is_wanted)
    if stream is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="svc-") as folder:  # mode 0700
        path = Path(folder, NAME)
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        if not path.stat().st_size:
            if is_explicit:
                raise click.UsageError("--attach -: stdin is empty")
            echo("stdin is empty; nothing is attached", err=True)
            yield None
            return
        yield path


def _stream(*, is_explicit: bool, is_wanted: bool) -> BinaryIO | None:
    stdin = sys.stdin
    if stdin is None or stdin.closed:  # started without one
        if is_explicit:
            raise click.UsageError("--attach -: stdin is closed")
        return None
    if is_explicit or (is_wanted and _has_content()):
        return stdin.buffer
    return None


def _has_content() -> bool:
    """Whether stdin is a file or a pipe that something is written into, or was closed by its writer."""
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):  # closed, or replaced by something without a descriptor
        return False
    if stat.S_ISREG(mode):
        return os.fstat(descriptor).st_size > 0
    if not stat.S_ISFIFO(mode):
        return False
    if select.select([descriptor], [], [], 1.0)[0]:
        return True
    echo(f"waiting up to {WAIT_SECONDS:g} s for stdin (skip it with < /dev/null)", err=True)
    if select.select([descriptor], [], [], WAIT_SECONDS)[0]:
        return True
    echo("nothing came from stdin; nothing is attached. Use --attach - to wait for it", err=True)
    return False
