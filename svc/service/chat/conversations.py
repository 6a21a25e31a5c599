"""Answer OpenAI-style requests: each is a session of its own, with its earlier messages and files."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from typing import NamedTuple

import msgspec

from svc.assistant.turn import Answer
from svc.messages import Message, MessageType, RegisterRequest, Usage
from svc.service.chat.completion import ChatCompletion, build_completion
from svc.service.chat.request import ChatConversation, ChatExchange, ChatRequest, read_conversation
from svc.service.operations import Service, response_of
from svc.service.quotas.ledger import Hold
from svc.service.quotas.uses import TurnUse, check_turn
from svc.service.sessions import rules as sessions
from svc.service.sessions.files import chunks_of
from svc.service.sessions.session_stores import SessionHandle
from svc.service.store.records import KeyRecord, SessionRecord, StoredMessage
from svc.service.turns.message_builder import ELSEWHERE_ACTOR, MessageBuilder, count_tokens
from svc.service.turns.turns import cancelled, deleted

QUIET_SECONDS = 15.0  # without a message, after which a proxy might close the connection
_AFTER_SECONDS = 0.001  # the last question's files are newer than the earlier questions
Exchange = tuple[Message, Sequence[Message]]


class Chat(NamedTuple):
    """A request that was checked: what its turn needs."""

    request: ChatRequest
    conversation: ChatConversation
    session: SessionRecord
    exchanges: list[Exchange]
    prompt: Message
    now: float


async def complete(service: Service, key: KeyRecord, request: ChatRequest) -> ChatCompletion:
    """Answer a request in a new session, once its turn has ended.

    Raises:
        ServiceError: The request cannot be used, a limit is reached, or the turn failed.
    """
    chat = await _read(service, key, request)
    return _completion(chat, await _run(service, key, chat))


async def stream(
    service: Service, key: KeyRecord, request: ChatRequest
) -> AsyncGenerator[Chat | Message | ChatCompletion | None, None]:
    """Answer a request in a new session: yield the request, the turn's messages as they are stored, then the response.

    None means that nothing happened for a while. The turn is cancelled if the generator is closed before its end.

    Raises:
        ServiceError: As ``complete``; before the first item if the turn could not begin.
    """
    chat = await _read(service, key, request)
    listener = _Listener()
    service.bus.subscribe(chat.session.id, listener)
    task = asyncio.create_task(_run(service, key, chat))
    task.add_done_callback(lambda _: listener.news.put_nowait(None))
    try:
        news = await listener.news.get()
        if news is None:
            await task  # raises if the turn could not begin
        yield chat
        position = sum(1 + len(answers) for _, answers in chat.exchanges)
        while news is not None:
            for message in await _unseen(service, chat.session.id, news, position):
                position = message.seq
                yield msgspec.json.decode(message.body, type=Message)
            if news == _QUIET:
                yield None
            news = await listener.next()
        turn_end = await task
        last = tuple(StoredMessage(message.seq, b"") for message in turn_end[-1:])
        for message in await _unseen(service, chat.session.id, last, position):  # of a turn that ran elsewhere
            yield msgspec.json.decode(message.body, type=Message)
        yield _completion(chat, turn_end)
    finally:
        service.bus.unsubscribe(chat.session.id, listener)
        if not task.done():
            await service.turns.stop(chat.session.id, cancelled())
            task.cancel()
            await asyncio.wait([task])


async def _unseen(service: Service, session_id: str, news: _News, position: int) -> Sequence[StoredMessage]:
    """The messages after this position, up to those of the news; what another service stored is read."""
    if not news or news[-1].seq <= position:
        return ()
    if news[0].body and news[0].seq <= position + 1:
        return [message for message in news if message.seq > position]
    handle = await service.session_stores.find(session_id)
    return () if handle is None else await handle.store.messages_after(session_id, position, last_seq=news[-1].seq)


_News = tuple[StoredMessage, ...]
"""Messages in order of seq; one without a body is in the store."""
_QUIET: _News = ()


class _Listener:
    """Collects the messages of a session; None ends them."""

    def __init__(self) -> None:
        self.news: asyncio.Queue[_News | None] = asyncio.Queue()

    async def next(self) -> _News | None:
        """The next messages, None at the end; empty if none came for ``QUIET_SECONDS``."""
        try:
            async with asyncio.timeout(QUIET_SECONDS):
                return await self.news.get()
        except TimeoutError:
            return _QUIET

    def offer(self, batch: Sequence[StoredMessage]) -> None:
        """Messages that were stored, in order of seq."""
        if batch:
            self.news.put_nowait(tuple(batch))

    def catch_up(self, seq: int) -> None:
        """Another service stored messages."""
        self.news.put_nowait((StoredMessage(seq, b""),))

    def notify(self, body: bytes) -> None:
        """A message that is not stored: nothing that a response shows."""

    def end(self, code: int, reason: str) -> None:
        """The session is over: its turn ends, too."""


async def _read(service: Service, key: KeyRecord, request: ChatRequest) -> Chat:
    """Check the request before anything is stored."""
    settings, now = service.settings, service.clock()
    conversation = read_conversation(request, can_stream=settings.chat_streaming)
    if conversation.all_files:  # they are stored before the turn begins
        await check_turn(service.quotas, key)
    exchanges = [_earlier_turn(service, exchange, now) for exchange in conversation.exchanges]
    query = Message(message_type=MessageType.QUERY, content=conversation.prompt)
    prompt = sessions.check_query(query, now=now, settings=settings)
    for file in conversation.all_files:
        sessions.check_file_name(file.name, settings)
    sessions.check_content_size(conversation.instructions, settings)
    session = sessions.new_session(
        RegisterRequest(model=request.model, ttl=settings.chat_ttl_seconds),
        key,
        now=now,
        settings=settings,
        models=service.models,
        instructions=conversation.instructions,
    )
    return Chat(request, conversation, msgspec.structs.replace(session, turns=len(exchanges)), exchanges, prompt, now)


def _earlier_turn(service: Service, exchange: ChatExchange, now: float) -> Exchange:
    """The query and messages of a turn that was answered elsewhere."""
    query = sessions.check_query(
        Message(message_type=MessageType.QUERY, content=exchange.prompt or "(no question)"),
        now=now,
        settings=service.settings,
    )
    if exchange.files:
        query.files = tuple(dict.fromkeys(file.name for file in exchange.files))
    builder = MessageBuilder(query, service.settings)
    sessions.check_content_size(exchange.answer, service.settings)
    answer = Answer(markdown=exchange.answer, actor=ELSEWHERE_ACTOR)
    return query, builder.answer(answer, Usage(), now, full_text_file=None)


async def _run(service: Service, key: KeyRecord, chat: Chat) -> list[Message]:
    """Store the session and its files, and run its turn; returns the turn's last messages."""
    if chat.session.can_log:
        service.space.check()
    await service.check_sessions(key)
    texts = chat.conversation.texts
    room: Hold
    room, _ = await service.hold_room(key, is_logged=chat.session.can_log, more=sum(map(len, texts)))
    use = TurnUse(service.quotas, key, prompt_tokens=sum(map(count_tokens, texts)))
    with contextlib.closing(room):
        if not chat.conversation.all_files:
            handle = await service.session_stores.new(chat.session)
            return await service.turns.ask_in_new_session(handle, chat.exchanges, chat.prompt, use=use)
        try:
            handle = await _with_files(service, key, chat)
            return await service.turns.ask_in_new_session(handle, chat.exchanges, chat.prompt, use=use)
        except BaseException:
            await _drop_unasked(service, chat.session.id)
            raise


async def _with_files(service: Service, key: KeyRecord, chat: Chat) -> SessionHandle:
    """Store the session with the conversation's files; those of the last question are new."""
    session_id = chat.session.id
    await service.session_stores.add(chat.session)
    for file in chat.conversation.all_files:
        await service.attach(
            key,
            session_id,
            file.name,
            chunks_of((file.content,)),
            hint=file.mime_type or None,
            limit=service.settings.max_upload_bytes,
            attached=chat.now + _AFTER_SECONDS if file in chat.conversation.files else chat.now,
        )
    return await service.live_session(key, session_id)


async def _drop_unasked(service: Service, session_id: str) -> None:
    """Erase a session whose question was refused: a refused request leaves nothing."""
    handle = await service.session_stores.find(session_id)
    if handle is not None and not handle.session.last_seq:
        await service.turns.stop(session_id, deleted())
        await service.session_stores.erase(handle)


def _completion(chat: Chat, turn_end: list[Message]) -> ChatCompletion:
    return build_completion(
        session_id=chat.session.id,
        created=int(chat.now),
        model=chat.session.model.model_string,
        response=response_of(chat.session.id, turn_end),
        request=chat.request,
        conversation=chat.conversation,
    )
