"""What a cell fails with: one line that says what to do, and no traceback. It raises, so a batch run fails, too."""

from __future__ import annotations


class AskError(Exception):
    """The question was not answered. Its text says why and what to do."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class AnswerMissingError(AskError):
    """Answers are pinned, and there is none for this question."""


class ServiceUnreachableError(AskError):
    """The service did not answer."""


class AskInterrupted(KeyboardInterrupt):
    """■ or Ctrl-C: the turn was cancelled on the service."""

    def _render_traceback_(self) -> list[str]:
        return [f"Interrupted: {self}"]
