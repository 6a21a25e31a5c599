"""What a report cannot do, in one line that says what to do about it."""

from __future__ import annotations


class ExportError(Exception):
    """The notebook cannot be written in a format here; the text says what is missing."""
