"""Server-sent events of a streamed OpenAI-style response. Pure. Facts: docs/wire.md, "Streamed completions".

Progress is sent as ``reasoning_content``, which clients show as thinking; the answer follows in pieces at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from svc.errors import ServiceError
from svc.messages import ErrorBody, ErrorDetail, Message, MessageType
from svc.service.chat.completion import ChatCompletion
from svc.service.chat.request import ChatRequest

DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": waiting\n\n"
PIECE_CHARS = 400  # of an answer, in one event
_SHOWN = (MessageType.INFO, MessageType.THINKING)
Json = dict[str, object]


def progress_event(message: Message, request: ChatRequest, base: Json) -> bytes:
    """The event of a message of the turn; empty for messages that are no progress."""
    if message.message_type not in _SHOWN or not message.content:
        return b""
    return _event(request, base, {"reasoning_content": f"{message.content}\n"})


def first_event(request: ChatRequest, base: Json) -> bytes:
    """The event that says who answers."""
    return _event(request, base, {"role": "assistant", "content": ""})


def answer_events(completion: ChatCompletion, request: ChatRequest, base: Json) -> Iterator[bytes]:
    """The events of the whole response: the answer in pieces, its end, the usage if it was asked for, the end."""
    [choice] = completion.choices
    reply = choice.message
    if isinstance(reply.tool_calls, list):
        calls = [{"index": index, **msgspec.to_builtins(call)} for index, call in enumerate(reply.tool_calls)]
        yield _event(request, base, {"tool_calls": calls})
    else:
        name, text = ("content", reply.content) if reply.content is not None else ("refusal", reply.refusal)
        for start in range(0, len(text or ""), PIECE_CHARS):
            yield _event(request, base, {name: (text or "")[start : start + PIECE_CHARS]})
    yield _event(request, base | {"answer_status": completion.answer_status}, {}, choice.finish_reason)
    if _has_usage(request):
        yield _line(base | {"choices": [], "usage": msgspec.to_builtins(completion.usage)})
    yield DONE


def error_event(error: ServiceError) -> bytes:
    """The event of an error after the response has begun; nothing follows it."""
    detail = ErrorDetail(code=error.code, message=error.message, type=error.type, param=error.param)
    return _line(msgspec.to_builtins(ErrorBody(error=detail)))


def base_of(session_id: str, created: int, model: str) -> Json:
    """What all events have in common."""
    return {"id": f"chatcmpl-{session_id}", "object": "chat.completion.chunk", "created": created, "model": model}


def _event(request: ChatRequest, base: Json, delta: Json, finish_reason: str | None = None) -> bytes:
    usage = {"usage": None} if _has_usage(request) else {}
    return _line(base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]} | usage)


def _has_usage(request: ChatRequest) -> bool:
    return request.stream_options is not None and bool(request.stream_options.include_usage)


def _line(event: Json) -> bytes:
    return b"data: " + msgspec.json.encode(event) + b"\n\n"
