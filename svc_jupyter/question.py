"""The options of a question, and the events of its turn.

Cells, the panel and ``session.ask`` fill in ``AskOptions``; the session, the stored answers and the panel read
``TurnEvent``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from svc import Message, TaskProgress
from svc_jupyter.kernel_tools.tools import NO_CONSENT, Consent, ToolRequest


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """The service, the session and the rules of a question.

    ``base_url`` None means the environment's service, or the local one. ``model`` None means the session's.
    """

    is_new: bool
    model: str | None
    default_model: str | None
    language: str
    ttl: int
    log_session: bool
    base_url: str | None = None
    answers: str | None = None  # None: as the environment says
    caller: str = ""  # "In [12]" or "panel", as shown to callers that wait for this question
    consent: Consent = NO_CONSENT  # to calls of the kernel's tools; by default none
    offers_tools: bool = True
    about: tuple[str, ...] = ()  # names or SHA-256 of files of the session that it is about, besides the attached ones
    is_about_all: bool = False  # about every file of the session
    as_written: str | None = (
        None  # with --fill: the question before the names in braces were replaced; only this may be stored
    )


NOTHING_ASKED = "nothing was asked; the session continues."
CANCELLED = "the turn was cancelled on the service; the session continues."
PARTIAL = (
    "the turn was cancelled on the service; what it had found until then is shown below, with the part of the evidence "
    "that was read; the session continues."
)
UNCONFIRMED = "the service has not confirmed yet that the turn is cancelled; the next question makes sure of it."


class ProgressArea(Protocol):
    """Shows the progress of a turn. ``if_interrupted`` says what an interrupt means by now."""

    if_interrupted: str

    def add(self, text: str) -> None:
        """Add a step, or a remark about the session."""

    def update(self, who: str, progress: TaskProgress) -> None:
        """Show how far a task of ``who`` is, in the task's line."""

    def end_tasks(self, who: str) -> None:
        """Remove the lines of what ``who`` did."""

    def tick(self) -> None:
        """Redraw if necessary; called often."""


@dataclass(frozen=True)
class StatusNote:
    """A remark of the kernel about the session or a file."""

    text: str


@dataclass(frozen=True)
class QuestionSent:
    """The question is being sent to this session; earlier messages belong to a failed attempt."""

    session_id: str
    model: str
    is_logged: bool = True
    """Whether the session may be stored."""


@dataclass(frozen=True)
class TaskReport:
    """How far the kernel is with its own work: converting a variable, sending a file."""

    who: str
    progress: TaskProgress


TurnEvent = StatusNote | TaskReport | QuestionSent | ToolRequest | Message
