"""The toolbox in pydantic-ai's terms, and call ids that are never seen twice.

Some upstreams count their calls from one in every response, or give all calls of one the same id; pydantic-ai matches
results to calls by id alone. So each call gets an id of ours before it is run.
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

from svc.assistant.model.offer import Offer
from svc.assistant.model.toolbox import Toolbox
from svc.messages import new_id

_OBJECT = SchemaValidator(
    core_schema.dict_schema(core_schema.str_schema())
)  # what the values may be is the toolbox's to say


_ANSWER_NOW = "One request is left in this turn. Answer now, without another call."


class SkillToolset(AbstractToolset[None]):
    """Offers a toolbox in a run of ``max_requests``; as often the model is told of arguments that are no object."""

    def __init__(self, toolbox: Toolbox, *, max_requests: int) -> None:
        self._toolbox = toolbox
        self._max_requests = max_requests

    @property
    def id(self) -> str:
        """Its name among an agent's toolsets."""
        return "skills"

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        """Every tool, the same at every step."""
        return {offer.name: self._tool(offer) for offer in self._toolbox.offers()}

    async def call_tool(
        self, name: str, tool_args: Mapping[str, object], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> str:
        """What the model is told of the call; never raises for what a call asks."""
        told = await self._toolbox.call(name, tool_args)
        is_last = ctx.run_step >= self._max_requests - 1
        return f"{told}\n{_ANSWER_NOW}" if is_last else told

    def _tool(self, offer: Offer) -> ToolsetTool[None]:
        definition = ToolDefinition(
            name=offer.name, description=offer.description, parameters_json_schema=offer.parameters
        )
        return ToolsetTool(toolset=self, tool_def=definition, max_retries=self._max_requests, args_validator=_OBJECT)


class FreshCallIds(AbstractCapability[None]):
    """Gives every tool call of a response an id of its own."""

    async def after_model_request(
        self, ctx: RunContext[None], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """The response with new ids."""
        return replace(response, parts=[_with_fresh_id(part) for part in response.parts])


def _with_fresh_id(part: ModelResponsePart) -> ModelResponsePart:
    return replace(part, tool_call_id=f"call_{new_id()}") if isinstance(part, ToolCallPart) else part
