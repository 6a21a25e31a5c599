"""What decides how a process answers, besides its version: its assistant, its model, and the user's rules and tables.

Services that share a database compare it, because a question may run at any of them. Reads the folder it is given.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from svc.assistant.knowledge import user_folder
from svc.assistant.model.configuration import NAME_VARIABLE, URL_VARIABLE
from svc.assistant.turn import Assistant


class AnsweringDigest:
    """A digest of it as it is now; files are read again only after one of them has changed.

    Args:
        assistant: What answers.
        environment: The variables that name a model.
        folder: The rules and tables that were added to the shipped ones.
    """

    def __init__(self, assistant: Assistant, environment: Mapping[str, str], folder: Path | None = None) -> None:
        kind = type(assistant)
        model = (environment.get(URL_VARIABLE, "").strip(), environment.get(NAME_VARIABLE, "").strip())
        self._answers = repr((kind.__module__, kind.__qualname__, *model)).encode()
        self._folder = folder
        self._files: list[tuple[str, int, int]] | None = None
        self._digest = ""

    def __call__(self) -> str:
        """The digest, as 64 hexadecimal digits; "" if the folder cannot be read at the moment."""
        try:
            return self._read(self._folder or user_folder())
        except OSError:  # being written, or not ours to read: nothing is known about it
            self._files = None
            return ""

    def _read(self, folder: Path) -> str:
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        files = [(path.relative_to(folder).as_posix(), path.stat().st_mtime_ns, path.stat().st_size) for path in paths]
        if files != self._files:
            digest = hashlib.sha256(self._answers)
            for path, (name, _, size) in zip(paths, files, strict=True):
                digest.update(repr((name, size)).encode() + path.read_bytes())
            self._digest, self._files = digest.hexdigest(), files
        return self._digest
