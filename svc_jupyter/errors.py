"""Errors that a cell raises: one line that says what to do, without a traceback. They also fail a batch run.

Their text quotes services, files and variables. IPython prints it to a terminal and turns its escape sequences into
HTML in a notebook, so everything hidden in it is made visible.
"""

from __future__ import annotations

from svc_jupyter.trusted_imports import trusted


class AskError(Exception):
    """The question was not answered. The text says why and what to do."""

    def __init__(self, text: str) -> None:
        with trusted():
            from svc.untrusted.characters import printable  # with the first error: loading the extension stays light

        super().__init__(printable(text))

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class AnswerMissingError(AskError):
    """Answers are pinned, and none is stored for this question."""


class ServiceUnreachableError(AskError):
    """The service is unreachable."""
