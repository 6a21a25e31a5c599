"""How a question ends in its cell: the live area's last state, and what the cell fails with. Loaded with a question."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from svc import SvcError, UnavailableError, UnreachableError
from svc_jupyter.errors import AskError, AskInterrupted, ServiceUnreachableError

_CANCELLED = "a turn that ran is cancelled on the service, and the session goes on."


class AskCancelled(asyncio.CancelledError):
    """■, where the question was awaited: that is how Jupyter ends a cell that awaits. Its task ends as cancelled."""

    def _render_traceback_(self) -> list[str]:
        return [f"Interrupted: {self}"]


class Area(Protocol):
    """What shows how a turn ended."""

    def finish(self, outcome: str = "") -> None:
        """``outcome`` is empty where there is an answer."""


@contextmanager
def reporting_outcome(area: Area) -> Iterator[None]:
    """Finish the area however the question ends; what the SDK and the disk raise becomes one line."""
    try:
        yield
    except KeyboardInterrupt:
        area.finish("interrupted")
        raise AskInterrupted(_CANCELLED) from None
    except asyncio.CancelledError:
        area.finish("interrupted")
        raise AskCancelled(_CANCELLED) from None
    except (UnavailableError, UnreachableError) as error:
        area.finish("failed")
        raise ServiceUnreachableError(str(error)) from None
    except (SvcError, OSError) as error:
        area.finish("failed")
        raise AskError(str(error)) from None
    except BaseException:
        area.finish("failed")
        raise
    area.finish()
