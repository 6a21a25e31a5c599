"""Errors of reports: one line that says what to do."""

from __future__ import annotations


class ExportError(Exception):
    """The notebook cannot be exported in a format; the text says what is missing."""
