"""What a registration brings along for every question of its session: local tools and settings of agents. Pure.

Decides what of it counts and what is only kept. Facts: docs/wire.md, "Sessions". Clients generate these objects, so
null is the same as an absent field, also within the schemas of tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from svc.errors import InvalidRequestError, TooLargeError
from svc.local_tools import LocalTool
from svc.messages import ModelInfo, RegisteredTool, RegisterRequest
from svc.service.sessions.models import unknown_toolsets
from svc.service.sessions.offered_tools import check_local_tools
from svc.service.settings import Settings

AGENT, INSTRUCTIONS = "assistant", "instructions"
"""The agent and the setting that have a meaning."""
AgentsConfig = Mapping[str, Mapping[str, msgspec.Raw]]
_MEANINGFUL_NULLS = ("const", "default", "example", "examples")  # keywords of a schema whose value may be null


def read_tools(tools: Sequence[RegisteredTool], settings: Settings) -> tuple[LocalTool, ...]:
    """The tools that a registration offers; raises InvalidRequestError with ``param`` if it may not."""
    return check_local_tools([_tool(tool) for tool in tools], settings)


def _tool(tool: RegisteredTool) -> LocalTool:
    fields: dict[str, object] = {}
    if tool.parameters is not None:
        try:
            fields["parameters"] = _without_nulls(msgspec.json.decode(msgspec.json.encode(tool.parameters)))
        except (RecursionError, msgspec.DecodeError) as error:
            where = f"local_tools: the parameters of {tool.name[:64]!r}"
            raise InvalidRequestError(
                f"{where} are nested too deeply, or a number is out of range", param="local_tools"
            ) from error
    return msgspec.convert(
        {"name": tool.name, "description": tool.description or "", "version": tool.version or "", **fields}, LocalTool
    )


def _without_nulls(value: object) -> object:
    """A JSON schema without the keywords that are null."""
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: item if name in _MEANINGFUL_NULLS else _without_nulls(item)
        for name, item in value.items()
        if item is not None or name in _MEANINGFUL_NULLS
    }


def read_instructions(config: AgentsConfig | None, settings: Settings) -> str:
    """The instructions for every question of the session; "" if there are none.

    Raises:
        InvalidRequestError: They are not a text.
        TooLargeError: The object is over its limit.
    """
    size = len(msgspec.json.encode(config)) if config else 0
    if size > settings.max_agents_config_bytes:
        raise TooLargeError(
            f"agents_config is {size:,} bytes; the limit is {settings.max_agents_config_bytes:,}. Shorten it",
            param="agents_config",
        )
    raw = (config or {}).get(AGENT, {}).get(INSTRUCTIONS)
    try:
        return (None if raw is None else msgspec.json.decode(raw, type=str | None)) or ""
    except msgspec.DecodeError as error:
        where = f"agents_config.{AGENT}.{INSTRUCTIONS}"
        raise InvalidRequestError(f"{where} must be a text", param=where) from error


def ignored_parts(request: RegisterRequest, model: ModelInfo) -> list[str]:
    """What of a registration has no effect here, by its path: toolsets that the model lacks, and settings of agents."""
    toolsets = [f"model.toolsets.{name}" for name in unknown_toolsets(request.model, model)]
    return toolsets + _ignored_settings(request.agents_config)


def _ignored_settings(config: AgentsConfig | None) -> list[str]:
    return [
        f"agents_config.{agent}.{name}" if name else f"agents_config.{agent}"
        for agent, settings in (config or {}).items()
        for name in settings or [""]
        if (agent, name) not in ((AGENT, INSTRUCTIONS), (AGENT, ""))
    ]
