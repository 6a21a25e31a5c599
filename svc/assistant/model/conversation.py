"""One turn's conversation with the model, through pydantic-ai: requests, streams, tools, bounds, and why it failed.

With ``skill_toolset.py`` the only module that imports the libraries of the extra ``model``. A failure is a
ModelFailureError in our own words: what an upstream says of an error may hold the key, or anything else, and is never
passed on.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable
from datetime import datetime

import msgspec
import openai
from pydantic_ai import Agent
from pydantic_ai.agent import AgentRun
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelTimeoutError,
    UsageLimitExceeded,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.usage import RunUsage, UsageLimits

from svc.assistant.model.configuration import KEY_VARIABLE, Configuration
from svc.assistant.model.instructions import earlier, question, rules
from svc.assistant.model.offer import Tell
from svc.assistant.model.skill_toolset import FreshCallIds, SkillToolset
from svc.assistant.model.toolbox import Toolbox
from svc.assistant.model.turn_clock import TurnClock
from svc.assistant.turn import Step, Turn
from svc.messages import MessageType, State, Usage
from svc.untrusted.characters import on_one_line
from svc.untrusted.markup import plural

log = logging.getLogger("svc.model")
ACTOR = "model"
MAX_ANSWER_CHARS = 200_000  # of one response; a longer one is cut
MAX_THINKING_CHARS = 100_000  # of one turn that are told
THOUGHT_CHARS = 600  # told at once: a paragraph
PROGRESS_CHARS = 10_000  # of an answer being written, between two words about it
MAX_RECEIVED_CHARS = 1_000_000  # of one turn: answers, thoughts and calls
CHARS_A_TOKEN = 4  # where an upstream counts none itself
NO_KEY = "none"  # the client wants one where the upstream wants none


class ModelFailureError(Exception):
    """The model gave no answer; the text says why, in our words. ``usage`` is what it took all the same."""

    def __init__(self, reason: str, usage: Usage | None = None) -> None:
        super().__init__(reason)
        self.usage = usage or Usage()


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What the model answered, unchecked."""

    text: str
    usage: Usage


class _AnswerTooLong(Exception):
    """Ends a response that does not end; holds what it said."""


class Upstream:
    """The client of one OpenAI-compatible address, for all turns."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self._client = openai.AsyncOpenAI(
            base_url=configuration.url,
            api_key=configuration.key or NO_KEY,
            timeout=configuration.limits.idle_seconds,
            max_retries=configuration.limits.retries,
            # another account's, from the environment
            default_headers={"OpenAI-Organization": openai.omit, "OpenAI-Project": openai.omit},  # type: ignore[dict-item]
        )
        provider = OpenAICompatibleProvider(
            configuration.host,
            openai_client=self._client,
            profile=OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True),  # else a cut looks whole
        )
        self.model = OpenAIChatModel(configuration.name, provider=provider)

    async def list_models(self) -> list[str]:
        """The names of the models there, none where it lists none; raises ModelFailureError."""
        try:
            return [model.id async for model in self._client.models.list()]
        except openai.NotFoundError:
            return []
        except openai.APIStatusError as error:
            raise ModelFailureError(_refused(error.status_code, self.configuration)) from None
        except (openai.OpenAIError, ValueError) as error:
            raise ModelFailureError(f"no usable list of models came ({type(error).__name__})") from None

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()


class Conversation:
    """One turn: ``run`` it once; cancelling the task that runs it ends the request and the tools."""

    def __init__(
        self, upstream: Upstream, turn: Turn, toolbox: Toolbox, tell: Tell, *, now: datetime, clock: TurnClock
    ) -> None:
        self._configuration = upstream.configuration
        self._limits = upstream.configuration.limits
        self._turn = turn
        self._tell = tell
        self._clock = clock
        self._requests = 0
        self._thought = ""
        self._thought_chars = 0
        self._text = ""
        self._received_chars = 0
        self._run: AgentRun[None, str] | None = None
        told = rules(turn, now=now)
        self._sent_chars = len(told) + len(msgspec.json.encode(toolbox.offers()))
        self._agent = Agent(
            upstream.model,
            instructions=told,
            toolsets=[SkillToolset(toolbox, max_requests=self._limits.requests)],
            capabilities=[FreshCallIds()],
            retries={"tools": self._limits.requests, "output": 1},  # of calls that name no tool; requests bound them
        )

    async def run(self) -> Reply:
        """Ask until the model answers; raises ModelFailureError."""
        try:
            async with self._clock.running():
                text = await self._converse()
        except _AnswerTooLong:
            text = f"{self._text}\n\n… [cut: the model wrote more than {MAX_ANSWER_CHARS:,} characters]"
        except TimeoutError:
            raise self._failure(f"it took longer than {self._limits.seconds:g} s") from None
        except ModelFailureError:
            raise
        except AgentRunError as error:
            raise self._failure(self._reason(error)) from None
        except Exception as error:  # what an upstream sends can make its libraries raise anything
            log.warning("what the model sent cannot be read", exc_info=error)
            raise self._failure(self._reason(error)) from None
        return Reply(text=text, usage=self._usage())

    async def _converse(self) -> str:
        limits = UsageLimits(request_limit=self._limits.requests)
        told = question(self._turn)
        async with self._agent.iter(told, message_history=self._history(), usage_limits=limits) as run:
            self._run = run
            self._sent_chars += len(told)
            async for node in run:
                if Agent.is_model_request_node(node):
                    await self._begin_request(run.usage)
                    async with node.stream(run.ctx) as events:
                        await self._listen(events)
                elif Agent.is_call_tools_node(node) and _has_calls(node.model_response):
                    await self._tell_text_as_thought()
        if run.result is None:
            raise ValueError("the conversation ended without an answer")
        is_cut = run.result.response.finish_reason == "length"
        return run.result.output + ("\n\n… [cut: the model came to its own limit]" if is_cut else "")

    async def _begin_request(self, usage: RunUsage) -> None:
        spent = usage.total_tokens or self._estimated()
        if spent >= self._limits.tokens:
            raise self._failure(f"it used {spent:,} tokens, the limit of a turn is {self._limits.tokens:,}")
        if self._requests == self._limits.requests:
            raise self._failure(self._too_many())
        self._requests += 1
        self._text = ""
        name = f"{on_one_line(self._configuration.name)} at {self._configuration.host}"
        count = f"request {self._requests:,} of at most {self._limits.requests:,}"
        await self._say(f"asking {name} ({count})", State.QUERY)

    async def _listen(self, events: AsyncIterable[object]) -> None:
        told = 0
        async for event in events:
            match event:
                case PartStartEvent(part=ThinkingPart(content=content)):
                    await self._think(content)
                case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(content))):
                    await self._think(content)
                case PartStartEvent(part=TextPart(content=content)):
                    await self._tell_thought()
                    self._hear(content)
                case PartDeltaEvent(delta=TextPartDelta(content_delta=content)):
                    self._hear(content)
                case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(content))):
                    self._count(content)
            if len(self._text) >= told + PROGRESS_CHARS or (self._text and not told):
                told = len(self._text)
                await self._say(f"the answer is being written: {told:,} characters so far", State.GENERATING)
        await self._tell_thought()

    def _hear(self, content: str) -> None:
        self._count(content)
        self._text += content
        if len(self._text) > MAX_ANSWER_CHARS:
            self._text = self._text[:MAX_ANSWER_CHARS]
            raise _AnswerTooLong

    def _count(self, content: str) -> None:
        self._received_chars += len(content)
        if self._received_chars > MAX_RECEIVED_CHARS:
            raise self._failure(f"it wrote more than {MAX_RECEIVED_CHARS:,} characters")

    async def _think(self, content: str) -> None:
        self._count(content)
        self._thought += content
        while len(self._thought) >= THOUGHT_CHARS:
            end = max(self._thought.rfind(space, 1, THOUGHT_CHARS) for space in "\n ") + 1 or THOUGHT_CHARS
            told, self._thought = self._thought[:end], self._thought[end:]
            await self._tell_thinking(told)

    async def _tell_thought(self) -> None:
        told, self._thought = self._thought, ""
        await self._tell_thinking(told)

    async def _tell_text_as_thought(self) -> None:
        """What a model says beside its calls is no answer."""
        told, self._text = self._text, ""
        await self._tell_thinking(told)

    async def _tell_thinking(self, content: str) -> None:
        content = content.strip()
        if not content or self._thought_chars > MAX_THINKING_CHARS:
            return
        self._thought_chars += len(content)
        if self._thought_chars > MAX_THINKING_CHARS:
            content += "… [more is not shown]"
        step = Step(content=content, message_type=MessageType.THINKING, state=State.THINKING, actor=ACTOR)
        await self._tell(step)

    async def _say(self, text: str, state: State) -> None:
        await self._tell(Step(content=text, state=state, actor=ACTOR))

    def _history(self) -> list[ModelMessage]:
        """Earlier exchanges as texts: no call of another turn is among them, so no id of one comes twice."""
        messages: list[ModelMessage] = []
        for said in earlier(self._turn.history):
            messages.append(ModelRequest(parts=[UserPromptPart(content=said.prompt)]))
            messages.append(ModelResponse(parts=[TextPart(content=said.answer)]))
            self._sent_chars += len(said.prompt) + len(said.answer)
        return messages

    def _estimated(self) -> int:
        return -(-(self._sent_chars * max(self._requests, 1) + self._received_chars) // CHARS_A_TOKEN)

    def _usage(self) -> Usage:
        """The upstream's count of all requests; a rough one where it gives none."""
        counted = self._run.usage if self._run is not None else RunUsage()
        if not counted.total_tokens and not self._received_chars:
            return Usage()
        if not counted.total_tokens:
            generated = -(-self._received_chars // CHARS_A_TOKEN)
            sent = -(-self._sent_chars * self._requests // CHARS_A_TOKEN)
            return Usage(prompt_tokens=sent, generated_tokens=generated, total_tokens=sent + generated)
        return Usage(
            prompt_tokens=counted.input_tokens,
            generated_tokens=counted.output_tokens,
            total_tokens=counted.total_tokens,
            cached_token_count=counted.cache_read_tokens,
            thoughts_token_count=counted.details.get("reasoning_tokens", 0),
        )

    def _failure(self, reason: str) -> ModelFailureError:
        return ModelFailureError(reason, self._usage())

    def _too_many(self) -> str:
        return f"it gave no answer within {plural(self._limits.requests, 'request')}, the limit of a turn"

    def _reason(self, error: Exception) -> str:
        match error:
            case UsageLimitExceeded():
                return self._too_many()
            case ModelHTTPError(status_code=status):
                return _refused(status, self._configuration)
            case ModelAuthenticationError() | ModelNotFoundError():
                return "it refused the request"
            case ModelTimeoutError():
                return f"it said nothing for {self._limits.idle_seconds:g} s"
            case ModelConnectionError(phase="connect" | "pool"):
                return "there is no connection"
            case ModelConnectionError():
                return "the connection broke off, or brought what cannot be read"
            case _:
                return f"its answer is not whole, or cannot be read ({type(error).__name__})"


def _refused(status: int, configuration: Configuration) -> str:
    """Why an upstream answered with this status."""
    match status:
        case 401 | 403 if configuration.key:
            return f"it does not accept the key of {KEY_VARIABLE} ({status})"
        case 401 | 403:
            return f"it wants a key ({status}); set {KEY_VARIABLE}"
        case 404:
            return f"it has no model {on_one_line(configuration.name)!r} at this address (404)"
        case 429:
            return "it is asked too often, or its quota is used up (429)"
        case _:
            return f"it answered {status}"


def _has_calls(response: ModelResponse) -> bool:
    return any(isinstance(part, ToolCallPart) for part in response.parts)
