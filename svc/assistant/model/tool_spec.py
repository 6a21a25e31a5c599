"""A tool as a model sees it, and the callback that reports a turn's steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from svc.assistant.turn import Step

Emit = Callable[[Step], Awaitable[None]]


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's name, description and parameters (a JSON schema)."""

    name: str
    description: str
    parameters: dict[str, object]
