"""Files of the user's knowledge folder: written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(file: Path, content: bytes) -> Path:
    """Write ``content`` so that a reader finds the old file or the new one, never a part."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        part.write_bytes(content)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return file
