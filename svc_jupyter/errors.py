"""Errors that a cell raises: one line that says what to do, without a traceback. They also fail a batch run."""

from __future__ import annotations


class AskError(Exception):
    """The question was not answered. The text says why and what to do."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class AnswerMissingError(AskError):
    """Answers are pinned, and none is stored for this question."""


class ServiceUnreachableError(AskError):
    """The service is unreachable."""


class AskInterrupted(KeyboardInterrupt):
    """The cell was interrupted (■ or Ctrl-C), and the turn cancelled on the service."""

    def _render_traceback_(self) -> list[str]:
        return [f"Interrupted: {self}"]
