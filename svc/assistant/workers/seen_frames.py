"""What a job has yielded so far: if the machine that runs it is lost, a second run yields only the rest. Pure.

Findings come as they are found, and cannot be taken back. A tool yields the same for the same input, so a second run's
first frames are compared with what was yielded, by a digest, and left out.
"""

from __future__ import annotations

import hashlib


class OtherFramesError(Exception):
    """A second run has yielded something else than the first."""


class SeenFrames:
    """The frames of a job but its progress. ``findings`` counts those findings that its turn was given."""

    def __init__(self) -> None:
        self.findings = 0
        self._yielded = hashlib.sha256()
        self._count = 0
        self._repeated = hashlib.sha256()
        self._position = 0

    def begin(self) -> None:
        """A run begins, the first one or another."""
        self._repeated = hashlib.sha256()
        self._position = 0

    def is_new(self, body: bytes) -> bool:
        """Whether this frame of the run was not yielded by an earlier one.

        Raises:
            OtherFramesError: The run so far differs from the earlier one.
        """
        self._position += 1
        if self._position > self._count:
            self._count = self._position
            _add(self._yielded, body)
            return True
        _add(self._repeated, body)
        if self._position == self._count and self._repeated.digest() != self._yielded.digest():
            raise OtherFramesError
        return False

    def end(self) -> None:
        """The run has ended; raises OtherFramesError if it yielded less than an earlier one."""
        if self._position < self._count:
            raise OtherFramesError


def _add(digest: hashlib._Hash, body: bytes) -> None:
    digest.update(len(body).to_bytes(8, "big"))
    digest.update(body)
