"""Write a file whole or not at all: after a full disk, a kill or a power failure the old content is still there."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from svc.process_safety.private_files import make_private_file

PRIVATE = 0o600
REPLACE_SECONDS = 2.0
_POLL_SECONDS = 0.01
_SHOWN_CHARS = 100  # of the name, in that of the temporary file: names have a limit


def write_atomic(path: Path, content: bytes | Iterable[bytes], *, mode: int | None = PRIVATE) -> None:
    """Replace the file, or create it; its folder is created, too.

    Args:
        path: The file.
        content: Its content, whole or in pieces.
        mode: Its permissions; None are those of any new file.

    Raises:
        OSError: The disk is full or cannot be written; nothing is left of the attempt, and the error names the file.
    """
    part: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:_SHOWN_CHARS]}.")
        part = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(file.fileno())
        if mode == PRIVATE:
            make_private_file(part)
        else:
            part.chmod(_new_file_mode() if mode is None else mode)
        replace(part, path)
    except BaseException as error:
        if part is not None:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error  # a failed write names no file
        raise


def replace(source: Path, target: Path) -> None:
    """Rename a file over another one. Raises OSError.

    Windows refuses that while anybody has the target open, such as a client that reads it or a virus scanner; most
    close it within milliseconds, so this tries for a while.
    """
    deadline = time.monotonic() + (REPLACE_SECONDS if os.name == "nt" else 0)
    while True:
        try:
            source.replace(target)
            return
        except PermissionError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_POLL_SECONDS)


def _new_file_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
