"""Who a turn's work is for: the account whose share of the workers it uses, and where the used seconds are counted.

A context variable, because every task of a turn inherits it: a job is charged to the turn that started it, whichever
part of the assistant did.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

import msgspec


def _count_nothing(seconds: float) -> None:
    """Outside a service, nobody counts."""


class Payer(msgspec.Struct, frozen=True):
    """An account: jobs of the same ``account`` share one place in the queue.

    ``spend`` is called with the seconds that a worker was in use, after each job.
    """

    account: str = ""
    spend: Callable[[float], None] = _count_nothing


PAYER: ContextVar[Payer] = ContextVar("svc_payer", default=Payer())  # noqa: B039  # frozen
"""The payer of the current task's jobs."""
