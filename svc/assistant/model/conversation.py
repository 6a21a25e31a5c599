"""One turn's conversation with the model through pydantic-ai: requests, streams, tools, limits and failures.

With ``skill_toolset.py``, the only module that imports the libraries of the extra ``model``. Failures are raised as
ModelFailureError with a text of our own: an upstream's error text may contain the key or anything else, so it is never
passed on.
"""

from __future__ import annotations

import asyncio
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
from svc.assistant.model.event_stream import RefusedResponseError, end_with_last_event
from svc.assistant.model.instructions import recent_history, system_prompt, user_prompt
from svc.assistant.model.skill_toolset import FreshCallIds, SkillToolset
from svc.assistant.model.tool_spec import Emit
from svc.assistant.model.toolbox import Toolbox
from svc.assistant.model.turn_clock import TurnClock
from svc.assistant.turn import Step, Turn
from svc.messages import MessageType, State, Usage
from svc.untrusted.characters import on_one_line
from svc.untrusted.markup import plural

log: logging.Logger = logging.getLogger("svc.model")
ACTOR = "model"
MAX_ANSWER_CHARS = 200_000  # per response; a longer one is cut
MAX_THINKING_CHARS = 100_000  # of one turn that are shown
THINKING_STEP_CHARS = 600  # per step: about a paragraph
PROGRESS_CHARS = 10_000  # of the answer, between two progress messages
MAX_RECEIVED_CHARS = 1_000_000  # of one turn: answers, reasoning and tool calls
MAX_ARGUMENTS_CHARS = 300_000  # of one turn; the library copies a call's arguments with each piece of them
MAX_RESPONSE_CALLS = 200  # of one response
CHARS_A_TOKEN = 4  # estimate, for upstreams that report no token counts
PLACEHOLDER_KEY = "none"  # the client library requires a key even if the upstream needs none


class ModelFailureError(Exception):
    """The model gave no answer; the text says why. ``usage`` is what it used nevertheless."""

    def __init__(self, reason: str, usage: Usage | None = None) -> None:
        super().__init__(reason)
        self.usage: Usage = usage or Usage()


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The model's answer, not checked yet."""

    text: str
    usage: Usage


class _AnswerTooLong(Exception):
    """Stops a response that does not end; the text received so far is kept."""


class Upstream:
    """The client of one OpenAI-compatible API, shared by all turns."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self._client = openai.AsyncOpenAI(
            base_url=configuration.url,
            api_key=configuration.key or PLACEHOLDER_KEY,
            timeout=configuration.limits.idle_seconds,
            max_retries=configuration.limits.retries,
            # the client would otherwise take another account's from the environment
            default_headers={"OpenAI-Organization": openai.omit, "OpenAI-Project": openai.omit},  # type: ignore[dict-item]
            http_client=openai.DefaultAsyncHttpxClient(
                event_hooks={"response": [end_with_last_event]},
                headers={"Accept-Encoding": "identity"},
                follow_redirects=False,  # a redirect would send the evidence to another host
            ),
        )
        provider = OpenAICompatibleProvider(
            configuration.host,
            openai_client=self._client,
            profile=OpenAIModelProfile(
                openai_chat_streaming_requires_finish_reason=True
            ),  # otherwise a truncated stream looks complete
        )
        self.model: OpenAIChatModel = OpenAIChatModel(configuration.name, provider=provider)

    async def list_models(self) -> list[str]:
        """The names of the available models, empty if the upstream does not list any; raises ModelFailureError."""
        seconds = self.configuration.limits.idle_seconds
        try:
            async with asyncio.timeout(seconds):
                return [model.id async for model in self._client.models.list()]
        except TimeoutError:
            raise ModelFailureError(f"the list of models took longer than {seconds:g} s") from None
        except openai.NotFoundError:
            return []
        except openai.APIStatusError as error:
            raise ModelFailureError(_status_reason(error.status_code, self.configuration)) from None
        except Exception as error:  # noqa: BLE001  # a hostile response can make the libraries raise anything
            refusal = _refusal(error)
            raise ModelFailureError(
                str(refusal or f"the list of models is unusable ({type(error).__name__})")
            ) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


class Conversation:
    """One turn's conversation; call ``run`` once. Cancelling its task ends the request and the tools."""

    def __init__(
        self, upstream: Upstream, turn: Turn, toolbox: Toolbox, emit: Emit, *, now: datetime, clock: TurnClock
    ) -> None:
        self._configuration = upstream.configuration
        self._limits = upstream.configuration.limits
        self._turn = turn
        self._emit = emit
        self._clock = clock
        self._requests = 0
        self._thinking = ""
        self._thinking_chars = 0
        self._text = ""
        self._received_chars = 0
        self._arguments_chars = 0
        self._response_calls = 0
        self._run: AgentRun[None, str] | None = None
        prompt = system_prompt(turn, now=now)
        self._sent_chars = len(prompt) + len(msgspec.json.encode(toolbox.tool_specs()))
        self._agent = Agent(
            upstream.model,
            instructions=prompt,
            toolsets=[SkillToolset(toolbox, max_requests=self._limits.requests)],
            capabilities=[FreshCallIds()],
            retries={
                "tools": self._limits.requests,
                "output": 1,
            },  # of calls with an unknown tool; the request limit bounds them
        )

    async def run(self) -> Reply:
        """Ask until the model answers; raises ModelFailureError."""
        try:
            async with self._clock.running():
                text = await self._ask_model()
        except _AnswerTooLong:
            text = f"{self._text}\n\n… [cut: the model wrote more than {MAX_ANSWER_CHARS:,} characters]"
        except TimeoutError:
            raise self._failure(f"it took longer than {self._limits.seconds:g} s") from None
        except ModelFailureError:
            raise
        except AgentRunError as error:
            raise self._failure(self._reason(error)) from None
        except Exception as error:  # a hostile response can make the libraries raise anything
            log.warning("unreadable response from the model", exc_info=error)
            raise self._failure(self._reason(error)) from None
        return Reply(text=text, usage=self._usage())

    async def _ask_model(self) -> str:
        limits = UsageLimits(request_limit=self._limits.requests)
        prompt = user_prompt(self._turn)
        async with self._agent.iter(prompt, message_history=self._history(), usage_limits=limits) as run:
            self._run = run
            self._sent_chars += len(prompt)
            async for node in run:
                if Agent.is_model_request_node(node):
                    await self._start_request(run.usage)
                    async with node.stream(run.ctx) as events:
                        await self._read_events(events)
                elif Agent.is_call_tools_node(node) and _has_calls(node.model_response):
                    await self._flush_text_as_thinking()
        if run.result is None:
            raise ValueError("the conversation ended without an answer")
        is_cut = run.result.response.finish_reason == "length"
        return run.result.output + ("\n\n… [cut: the model came to its own limit]" if is_cut else "")

    async def _start_request(self, usage: RunUsage) -> None:
        spent = usage.total_tokens or self._estimated()
        if spent >= self._limits.tokens:
            raise self._failure(f"it used {spent:,} tokens; the limit per turn is {self._limits.tokens:,}")
        if self._requests == self._limits.requests:
            raise self._failure(self._too_many_requests())
        self._requests += 1
        self._response_calls = 0
        self._text = ""
        name = f"{on_one_line(self._configuration.name)} at {self._configuration.host}"
        count = f"request {self._requests:,} of at most {self._limits.requests:,}"
        await self._emit_status(f"asking {name} ({count})", State.QUERY)

    async def _read_events(self, events: AsyncIterable[object]) -> None:
        reported_chars = 0
        async for event in events:
            match event:
                case PartStartEvent(part=ThinkingPart(content=content)):
                    await self._add_thinking(content)
                case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(content))):
                    await self._add_thinking(content)
                case PartStartEvent(part=TextPart(content=content)):
                    await self._flush_thinking()
                    self._add_text(content)
                case PartDeltaEvent(delta=TextPartDelta(content_delta=content)):
                    self._add_text(content)
                case PartStartEvent(part=ToolCallPart(args=str(content))):
                    self._count_call(content)
                case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(content))):
                    self._count_arguments(content)
            if len(self._text) >= reported_chars + PROGRESS_CHARS or (self._text and not reported_chars):
                reported_chars = len(self._text)
                await self._emit_status(
                    f"the answer is being written: {reported_chars:,} characters so far", State.GENERATING
                )
        await self._flush_thinking()

    def _add_text(self, content: str) -> None:
        self._count(content)
        self._text += content
        if len(self._text) > MAX_ANSWER_CHARS:
            self._text = self._text[:MAX_ANSWER_CHARS]
            raise _AnswerTooLong

    def _count(self, content: str) -> None:
        self._received_chars += len(content)
        if self._received_chars > MAX_RECEIVED_CHARS:
            raise self._failure(f"it wrote more than {MAX_RECEIVED_CHARS:,} characters")

    def _count_call(self, arguments: str) -> None:
        self._response_calls += 1
        if self._response_calls > MAX_RESPONSE_CALLS:
            raise self._failure(f"it requested more than {MAX_RESPONSE_CALLS:,} tool calls at once")
        self._count_arguments(arguments)

    def _count_arguments(self, content: str) -> None:
        self._count(content)
        self._arguments_chars += len(content)
        if self._arguments_chars > MAX_ARGUMENTS_CHARS:
            raise self._failure(f"it wrote more than {MAX_ARGUMENTS_CHARS:,} characters of tool arguments")

    async def _add_thinking(self, content: str) -> None:
        self._count(content)
        self._thinking += content
        while len(self._thinking) >= THINKING_STEP_CHARS:
            end = max(self._thinking.rfind(space, 1, THINKING_STEP_CHARS) for space in "\n ") + 1 or THINKING_STEP_CHARS
            paragraph, self._thinking = self._thinking[:end], self._thinking[end:]
            await self._emit_thinking(paragraph)

    async def _flush_thinking(self) -> None:
        paragraph, self._thinking = self._thinking, ""
        await self._emit_thinking(paragraph)

    async def _flush_text_as_thinking(self) -> None:
        """Show text next to tool calls as thinking: it is not the answer."""
        text, self._text = self._text, ""
        await self._emit_thinking(text)

    async def _emit_thinking(self, content: str) -> None:
        content = content.strip()
        if not content or self._thinking_chars > MAX_THINKING_CHARS:
            return
        self._thinking_chars += len(content)
        if self._thinking_chars > MAX_THINKING_CHARS:
            content += "… [more is not shown]"
        step = Step(content=content, message_type=MessageType.THINKING, state=State.THINKING, actor=ACTOR)
        await self._emit(step)

    async def _emit_status(self, text: str, state: State) -> None:
        await self._emit(Step(content=text, state=state, actor=ACTOR))

    def _history(self) -> list[ModelMessage]:
        """Earlier exchanges as text only, so that no tool call id of another turn can repeat."""
        messages: list[ModelMessage] = []
        for exchange in recent_history(self._turn.history):
            messages.append(ModelRequest(parts=[UserPromptPart(content=exchange.prompt)]))
            messages.append(ModelResponse(parts=[TextPart(content=exchange.answer)]))
            self._sent_chars += len(exchange.prompt) + len(exchange.answer)
        return messages

    def _estimated(self) -> int:
        return -(-(self._sent_chars * max(self._requests, 1) + self._received_chars) // CHARS_A_TOKEN)

    def _usage(self) -> Usage:
        """The upstream's token counts of all requests; an estimate if it reports none."""
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

    def _too_many_requests(self) -> str:
        return f"it gave no answer within {plural(self._limits.requests, 'request')}, the limit per turn"

    def _reason(self, error: Exception) -> str:
        if (refusal := _refusal(error)) is not None:
            return str(refusal)
        match error:
            case UsageLimitExceeded():
                return self._too_many_requests()
            case ModelHTTPError(status_code=status):
                return _status_reason(status, self._configuration)
            case ModelAuthenticationError() | ModelNotFoundError():
                return "it refused the request"
            case ModelTimeoutError():
                return f"it sent nothing for {self._limits.idle_seconds:g} s"
            case ModelConnectionError(phase="connect" | "pool"):
                return "no connection"
            case ModelConnectionError():
                return "the connection broke, or the response is unreadable"
            case _:
                return f"its response is incomplete or unreadable ({type(error).__name__})"


def _refusal(error: BaseException | None) -> RefusedResponseError | None:
    """Why a response was not read, if that is the cause of the error."""
    for _ in range(10):
        if error is None or isinstance(error, RefusedResponseError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _status_reason(status: int, configuration: Configuration) -> str:
    """Why an upstream returned this status, in words."""
    match status:
        case 401 | 403 if configuration.key:
            return f"it does not accept the key of {KEY_VARIABLE} ({status})"
        case 401 | 403:
            return f"it needs a key ({status}); set {KEY_VARIABLE}"
        case 404:
            return f"it has no model {on_one_line(configuration.name)!r} at this address (404)"
        case 429:
            return "too many requests, or its quota is used up (429)"
        case _:
            return f"it returned status {status}"


def _has_calls(response: ModelResponse) -> bool:
    return any(isinstance(part, ToolCallPart) for part in response.parts)
