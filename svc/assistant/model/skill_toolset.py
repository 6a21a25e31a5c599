"""The toolbox as a pydantic-ai toolset, and unique ids for tool calls.

Some upstreams number their calls from one in every response, or give several calls the same id; pydantic-ai matches
results to calls by id. So every call gets a new id before it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic_ai import RunContext, ToolDefinition
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse, ModelResponsePart, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from svc.assistant.model.tool_spec import ToolSpec
from svc.assistant.model.toolbox import Toolbox
from svc.messages import new_id

_OBJECT = SchemaValidator(
    core_schema.dict_schema(core_schema.str_schema())
)  # what the values may be is the toolbox's to say


_ANSWER_NOW = "One request is left in this turn. Answer now, without another call."


class SkillToolset(AbstractToolset[None]):
    """Offers a toolbox in a run of at most ``max_requests`` requests."""

    def __init__(self, toolbox: Toolbox, *, max_requests: int) -> None:
        self._toolbox = toolbox
        self._max_requests = max_requests

    @property
    def id(self) -> str:
        """Its name among the agent's toolsets."""
        return "skills"

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        """Every tool, the same in every step."""
        return {spec.name: self._tool(spec) for spec in self._toolbox.tool_specs()}

    async def call_tool(
        self, name: str, tool_args: Mapping[str, object], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> str:
        """Run a call and return the text for the model; never raises for what a call asks."""
        result = await self._toolbox.call(name, tool_args)
        is_last = ctx.run_step >= self._max_requests - 1
        return f"{result}\n{_ANSWER_NOW}" if is_last else result

    def _tool(self, spec: ToolSpec) -> ToolsetTool[None]:
        definition = ToolDefinition(
            name=spec.name, description=spec.description, parameters_json_schema=spec.parameters
        )
        return ToolsetTool(toolset=self, tool_def=definition, max_retries=self._max_requests, args_validator=_OBJECT)


class FreshCallIds(AbstractCapability[None]):
    """Gives every tool call of a response a new id."""

    async def after_model_request(
        self, ctx: RunContext[None], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """The response with new call ids."""
        return replace(response, parts=[_with_fresh_id(part) for part in response.parts])


def _with_fresh_id(part: ModelResponsePart) -> ModelResponsePart:
    return replace(part, tool_call_id=f"call_{new_id()}") if isinstance(part, ToolCallPart) else part
