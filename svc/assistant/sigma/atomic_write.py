"""Write files of the user's knowledge folder atomically."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(file: Path, content: bytes) -> Path:
    """Write ``content`` atomically: readers see either the old file or the new one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        part.write_bytes(content)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return file
