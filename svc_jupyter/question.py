"""What a question carries into the kernel's session, and what comes back while its turn runs. Decides nothing.

Cells, the panel and ``session.ask`` fill in ``AskOptions``; the session, the stored answers and the panel read
``TurnEvent``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from svc import Message
from svc_jupyter.kernel_tools.tools import NOBODY, Consent, ToolRequest


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """The service and session that a question wants.

    ``base_url`` None is the environment's service, else the local one. ``model`` None takes what the session has.
    """

    is_new: bool
    model: str | None
    default_model: str | None
    language: str
    ttl: int
    log_session: bool
    base_url: str | None = None
    answers: str | None = None  # as the environment says
    caller: str = ""  # "In [12]" or "panel": what whoever waits for the question is told
    consent: Consent = NOBODY  # to calls of the kernel's tools
    offers_tools: bool = True
    as_written: str | None = None  # the question with names in braces, where values stand in it: what may be stored


class Area(Protocol):
    """What shows the turn while it runs."""

    def add(self, text: str) -> None:
        """A step, or a word about the session."""

    def tick(self) -> None:
        """Time has passed."""


@dataclass(frozen=True)
class StatusNote:
    """A word of the kernel's own about the session or a file."""

    text: str


@dataclass(frozen=True)
class QuestionSent:
    """The question goes to this session now; what came before belongs to an attempt that failed."""

    session_id: str
    model: str


TurnEvent = StatusNote | QuestionSent | ToolRequest | Message
