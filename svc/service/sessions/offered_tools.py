"""Which local tools a query or a registration may offer. Pure. Facts: docs/wire.md, "Local tools"."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from svc.errors import InvalidRequestError
from svc.local_tools import LocalTool
from svc.service.settings import Settings

_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")


def check_local_tools(tools: Sequence[LocalTool], settings: Settings) -> tuple[LocalTool, ...]:
    """Return the tools if they may be offered; raises InvalidRequestError with ``param`` otherwise."""
    if len(tools) > settings.max_local_tools:
        raise InvalidRequestError(
            f"local_tools has {len(tools)} tools; a query may offer {settings.max_local_tools}. Offer fewer",
            param="local_tools",
        )
    size = len(msgspec.json.encode(tools)) if tools else 0
    if size > settings.max_local_tools_bytes:
        raise InvalidRequestError(
            f"local_tools is {size:,} bytes; the limit is {settings.max_local_tools_bytes:,}. Shorten the descriptions",
            param="local_tools",
        )
    names: set[str] = set()
    for index, tool in enumerate(tools):
        where = f"local_tools[{index}]"
        if not _NAME.fullmatch(tool.name):
            raise InvalidRequestError(
                f"{where}.name is {tool.name[:80]!r}; it must be 1 to 64 of A-Z a-z 0-9 _", param=f"{where}.name"
            )
        if tool.name in names:
            raise InvalidRequestError(
                f"{where}.name is {tool.name!r}; another tool has this name", param=f"{where}.name"
            )
        if tool.parameters.get("type") != "object":
            raise InvalidRequestError(
                f"{where}.parameters must be a JSON schema whose type is object", param=f"{where}.parameters"
            )
        names.add(tool.name)
    return tuple(tools)
