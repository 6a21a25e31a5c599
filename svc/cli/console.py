"""The encoding of what the command line prints."""

from __future__ import annotations

import io
import os
import sys


def prepare_output() -> None:
    """Let stdout and stderr take any text.

    A pipe or a file of Windows has an encoding of its own (such as cp1252), in which an answer cannot be written: it
    becomes UTF-8, unless PYTHONIOENCODING says otherwise. What a terminal's encoding lacks is printed as an escape.
    """
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper) or stream.encoding.lower().replace("-", "") == "utf8":
            continue
        is_chosen = bool(os.environ.get("PYTHONIOENCODING")) or stream.isatty()
        stream.reconfigure(encoding=None if is_chosen else "utf-8", errors="backslashreplace")
