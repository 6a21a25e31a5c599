"""A tool as a model is told of it, and how a turn is told of what tools do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from svc.assistant.turn import Step

Tell = Callable[[Step], Awaitable[None]]


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as the model is told of it. ``parameters`` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, object]
