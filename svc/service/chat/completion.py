"""Build OpenAI-style responses from the answers of turns. Pure. Facts: docs/wire.md, "Chat completions"."""

from __future__ import annotations

from typing import Literal

import msgspec

from svc.assistant.response_format import answer_problem
from svc.messages import AnswerStatus, SessionResponse
from svc.service.chat.request import CalledFunction, ChatConversation, ChatRequest, ToolCall, max_tokens, stop_sequences
from svc.service.turns.message_builder import TOKEN_BYTES, is_cut


class ChatReply(msgspec.Struct, kw_only=True):
    """The assistant's message; ``refusal`` says why there is no ``content`` in the required format.

    ``tool_calls`` has the required call of the client's function; the answer is its arguments.
    """

    content: str | None
    refusal: str | None = None
    role: Literal["assistant"] = "assistant"
    tool_calls: list[ToolCall] | msgspec.UnsetType = msgspec.UNSET


class ChatChoice(msgspec.Struct, kw_only=True):
    """The only choice; ``finish_reason`` is ``length`` if the answer was cut, by ``max_tokens`` or the size limit of a
    message.
    """

    message: ChatReply
    finish_reason: Literal["stop", "length", "tool_calls"]
    index: int = 0


class ChatUsage(msgspec.Struct, kw_only=True):
    """Token counts, with OpenAI's field names."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletion(msgspec.Struct, kw_only=True):
    """The response of POST /chat/completions. ``answer_status`` is not OpenAI's; their clients ignore it.

    It is not in the choice's message, because clients send that back as history, also to services that refuse unknown
    fields.
    """

    id: str
    created: int
    model: str
    choices: list[ChatChoice]
    usage: ChatUsage
    answer_status: AnswerStatus | None = None
    object: Literal["chat.completion"] = "chat.completion"


def build_completion(
    *,
    session_id: str,
    created: int,
    model: str,
    response: SessionResponse,
    request: ChatRequest,
    conversation: ChatConversation,
) -> ChatCompletion:
    """Build the response from the turn's RESULT.

    If a format is required and the answer does not have it, it becomes the ``refusal``.
    """
    usage = response.usage
    return ChatCompletion(
        id=f"chatcmpl-{session_id}",
        created=created,
        model=model,
        choices=[_choice(response.text(), request, conversation, session_id)],
        usage=ChatUsage(
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.generated_tokens,
            total_tokens=usage.total_tokens,
        ),
        answer_status=response.status,
    )


def _choice(answer: str, request: ChatRequest, conversation: ChatConversation, session_id: str) -> ChatChoice:
    if not is_cut(answer) and answer_problem(conversation.instructions, answer):
        return ChatChoice(message=ChatReply(content=None, refusal=answer), finish_reason="stop")
    text, is_short = shortened(answer, request)
    if conversation.function:
        call = ToolCall(
            id=f"call_{session_id[:24]}", function=CalledFunction(name=conversation.function, arguments=text)
        )
        reply = ChatReply(content=None, tool_calls=[call])
        return ChatChoice(message=reply, finish_reason="length" if is_short else "tool_calls")
    return ChatChoice(message=ChatReply(content=text), finish_reason="length" if is_short or is_cut(text) else "stop")


def shortened(answer: str, request: ChatRequest) -> tuple[str, bool]:
    """The answer up to the first stop sequence and within ``max_tokens``, and whether the latter cut it.

    A token is counted as ``TOKEN_BYTES`` bytes, as in ``usage``.
    """
    ends = [place for stop in stop_sequences(request) if (place := answer.find(stop)) >= 0]
    text = answer[: min(ends)] if ends else answer
    limit = max_tokens(request)
    encoded = text.encode()
    if limit is None or len(encoded) <= limit * TOKEN_BYTES:
        return text, False
    return encoded[: limit * TOKEN_BYTES].decode(errors="ignore"), True
