"""The endpoints for clients of OpenAI's API. Facts: docs/wire.md, "Chat completions"."""

from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncGenerator, Iterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from svc.errors import ServiceError
from svc.messages import Message
from svc.service.chat import conversations, events
from svc.service.chat.completion import ChatCompletion
from svc.service.chat.conversations import Chat
from svc.service.chat.request import ChatRequest, unknown_parameters
from svc.service.http.endpoints import read_body
from svc.service.http.replies import name_ignored, reply
from svc.service.observability.failures import internal_error
from svc.service.operations import Service
from svc.service.quotas.table import QuotaName
from svc.service.store.records import KeyRecord
from svc.service.validation import decode

Item = Chat | Message | ChatCompletion | None
_LIMITS = (("requests", QuotaName.REQUESTS), ("tokens", QuotaName.TOKENS))
RATE_HEADERS = tuple(f"x-ratelimit-{what}-{name}" for what in ("limit", "remaining", "reset") for name, _ in _LIMITS)


async def models(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /models: the models, in OpenAI's format."""
    return reply(service.models.as_model_list())


async def model(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /models/{model}: one model, in OpenAI's format."""
    return reply(service.models.card(request.path_params["model"]))


async def chat_completions(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /chat/completions: answer an OpenAI-style request."""
    body = await read_body(service, request, service.settings.max_attach_body_bytes)
    asked = decode(body, ChatRequest)
    ignored = unknown_parameters(body)
    response: Response
    if asked.stream and service.settings.chat_streaming:
        response = await _streamed(service, key, asked)
    else:
        completion = await conversations.complete(service, key, asked)
        response = reply(completion)
        response.headers["x-session-id"] = completion.id.removeprefix("chatcmpl-")
        if completion.answer_status is not None:
            response.headers["x-answer-status"] = completion.answer_status
    name_ignored(response, ignored)
    response.headers.update(await _rate_headers(service, key))
    return response


async def _streamed(service: Service, key: KeyRecord, asked: ChatRequest) -> Response:
    """The response as server-sent events; an error before its first event is an error response."""
    items = conversations.stream(service, key, asked)
    chat = await anext(items)
    if not isinstance(chat, Chat):
        raise TypeError("a stream begins with its request")
    response = StreamingResponse(_events(items, chat), media_type="text/event-stream")
    response.headers["x-session-id"] = chat.session.id
    response.headers["x-accel-buffering"] = "no"  # or a proxy would keep the events to itself
    return response


async def _events(items: AsyncGenerator[Item, None], chat: Chat) -> AsyncGenerator[bytes, None]:
    base = events.base_of(chat.session.id, int(chat.now), chat.session.model.model_string)
    async with contextlib.aclosing(items):
        yield events.first_event(chat.request, base)
        try:
            async for item in items:
                for event in _events_of(item, chat.request, base):
                    yield event
        except ServiceError as error:
            yield events.error_event(error)
        except Exception as error:  # noqa: BLE001  # the status was sent: the error is an event, logged with its id
            yield events.error_event(internal_error(error, request=chat.session.id))


def _events_of(item: Item, asked: ChatRequest, base: events.Json) -> Iterator[bytes]:
    match item:
        case None:
            yield events.KEEP_ALIVE
        case Message():
            yield from filter(None, [events.progress_event(item, asked, base)])
        case ChatCompletion():
            yield from events.answer_events(item, asked, base)


async def _rate_headers(service: Service, key: KeyRecord) -> dict[str, str]:
    """What is left of the key's limits per minute, with OpenAI's names; none for a limit that the key does not have."""
    headers: dict[str, str] = {}
    found = await service.quotas.left(key, *(quota for _, quota in _LIMITS))
    for name, quota in _LIMITS:
        if (left := found.get(quota)) is not None:
            headers[f"x-ratelimit-limit-{name}"] = str(left.limit)
            headers[f"x-ratelimit-remaining-{name}"] = str(left.remaining)
            headers[f"x-ratelimit-reset-{name}"] = f"{math.ceil(left.seconds)}s"
    return headers
