"""How a question ends in its cell: the live area's final state, and the error that the cell raises."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from svc.errors import (
    InvalidApiKeyError,
    ProtocolError,
    ServiceError,
    SvcError,
    UnavailableError,
    UnreachableError,
)
from svc.untrusted.defang import break_links
from svc_jupyter.errors import AskError, ServiceUnreachableError

if TYPE_CHECKING:
    from svc_jupyter.answers.answer import Answer


class TurnInterrupted(KeyboardInterrupt):
    """An interrupt ended a turn, which may have given a partial answer."""

    def __init__(self, partial_answer: Answer | None) -> None:
        super().__init__()
        self.partial_answer = partial_answer


class TurnCancelled(asyncio.CancelledError):
    """The same in a cell that awaited the question."""

    def __init__(self, partial_answer: Answer | None) -> None:
        super().__init__()
        self.partial_answer = partial_answer


class AskInterrupted(KeyboardInterrupt):
    """The cell was interrupted (■ or Ctrl-C), and the turn cancelled on the service.

    ``partial_answer`` is what was found in the part of the evidence that was read until then, if anything.
    """

    def __init__(self, text: str, partial_answer: Answer | None = None) -> None:
        super().__init__(text)
        self.partial_answer = partial_answer

    def _render_traceback_(self) -> list[str]:
        return [f"Interrupted: {self}"]


class AskCancelled(asyncio.CancelledError):
    """The cell was interrupted while it awaited the question, or its task was cancelled.

    Jupyter interrupts such a cell by cancelling its task, so this is a CancelledError. ``partial_answer`` is what was
    found in the part of the evidence that was read until then, if anything.
    """

    def __init__(self, text: str, partial_answer: Answer | None = None) -> None:
        super().__init__(text)
        self.partial_answer = partial_answer

    def _render_traceback_(self) -> list[str]:
        return [f"Interrupted: {self}"]


class OutcomeArea(Protocol):
    """Shows how a turn ended. ``if_interrupted`` says what an interrupt meant."""

    if_interrupted: str

    def finish(self, outcome: str = "") -> None:
        """Draw the final state; ``outcome`` is empty if there is an answer."""


@contextmanager
def reporting_outcome(area: OutcomeArea) -> Iterator[None]:
    """Finish the area however the question ends; translate errors of the SDK and the file system to ours."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        area.finish("interrupted")
        partial = interrupt.partial_answer if isinstance(interrupt, TurnInterrupted) else None
        raise AskInterrupted(area.if_interrupted, partial) from None
    except asyncio.CancelledError as interrupt:
        area.finish("interrupted")
        partial = interrupt.partial_answer if isinstance(interrupt, TurnCancelled) else None
        raise AskCancelled(area.if_interrupted, partial) from None
    except UnreachableError as error:
        area.finish("failed")
        raise ServiceUnreachableError(str(error)) from None
    except InvalidApiKeyError as error:  # names the configured address, which the user may want to open
        area.finish("failed")
        raise AskError(str(error)) from None
    except UnavailableError as error:
        area.finish("failed")
        raise ServiceUnreachableError(break_links(str(error))) from None
    except (ServiceError, ProtocolError) as error:
        area.finish("failed")
        raise AskError(break_links(str(error))) from None  # the service's words: JupyterLab links addresses in an error
    except (SvcError, OSError) as error:
        area.finish("failed")
        raise AskError(str(error)) from None
    except BaseException:
        area.finish("failed")
        raise
    area.finish()
