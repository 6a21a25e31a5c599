"""What is piped into a command: the evidence of ``svc ask``, kept in a temporary file, or the question itself.

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
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from svc.untrusted.terminal import echo

NAME = "stdin"
WAIT_SECONDS = 10.0
_POLL_SECONDS = 0.05  # on Windows, where a pipe cannot be waited for
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


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


def question_from_stdin(*, is_explicit: bool) -> str:
    """Return the text that is piped in; "" if nothing is.

    Args:
        is_explicit: The user asked for it by ``-``: read stdin to its end, also a terminal's.

    Raises:
        click.UsageError: It is closed, or not text.
    """
    stdin = sys.stdin
    if stdin is None or stdin.closed:
        if is_explicit:
            raise click.UsageError("the question (-) cannot be read: stdin is closed")
        return ""
    if not is_explicit and not _has_content():
        return ""
    return _text(stdin.buffer.read())


def _text(content: bytes) -> str:
    """Decode UTF-8, or what Windows' shells write with a byte order mark."""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise click.UsageError(
            "the question read from stdin is not text. Attach a file by its path or by --attach -, and ask: "
            'svc ask "What is this?" --attach -'
        )
    return text


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
    if _is_ready(descriptor, 1.0):
        return True
    echo(f"waiting up to {WAIT_SECONDS:g} s for stdin (skip it with < /dev/null)", err=True)
    if _is_ready(descriptor, WAIT_SECONDS):
        return True
    echo("nothing came from stdin; nothing is attached. Use --attach - to wait for it", err=True)
    return False


if sys.platform == "win32":
    import _winapi
    import msvcrt

    def _is_ready(descriptor: int, seconds: float) -> bool:
        handle = msvcrt.get_osfhandle(descriptor)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if _winapi.PeekNamedPipe(handle, 0)[0]:
                    return True
            except BrokenPipeError:
                return True
            time.sleep(_POLL_SECONDS)
        return False

else:

    def _is_ready(descriptor: int, seconds: float) -> bool:
        """Whether a pipe has content, or its writer closed it, within this time."""
        return bool(select.select([descriptor], [], [], seconds)[0])
