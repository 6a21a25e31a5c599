"""The service without HTTP: what each operation of the wire page does. Its parts are built in ``app.py``.

Decides the order of checks: the session must exist and be the caller's (404), then be alive (410), then the rest.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable

import msgspec

from svc.assistant.turn import Assistant
from svc.errors import (
    SessionExpiredError,
    SessionFileNotFoundError,
    SessionIdTakenError,
    SessionNotFoundError,
    TooLargeError,
)
from svc.messages import (
    Message,
    MessageType,
    RegisterRequest,
    Session,
    SessionFile,
    SessionResponse,
    UpdateRequest,
    Usage,
    User,
    UserInfo,
    UserType,
)
from svc.service import sessions
from svc.service.auth import Authenticator
from svc.service.bus import Bus
from svc.service.close_codes import CLOSED_SESSION
from svc.service.file_type import read_type
from svc.service.keys import KeyRecord
from svc.service.models import available_models
from svc.service.places import Place, Places
from svc.service.rates import Rates
from svc.service.settings import Settings
from svc.service.store import Begun, FileRecord
from svc.service.turns import Turns, cancelled, deleted

log = logging.getLogger("svc.service")
SPARE_FILES = 64  # beside a session's limit: for what the service itself keeps there, such as a long answer


class Service:
    """Everything that endpoints call. ``clock`` gives seconds since the epoch."""

    def __init__(
        self, places: Places, assistant: Assistant, *, bus: Bus, settings: Settings, clock: Callable[[], float]
    ) -> None:
        self.places = places
        self.bus = bus
        self.settings = settings
        self.clock = clock
        self.auth = Authenticator(places.logged, clock)
        self.rates = Rates(clock)
        self.turns = Turns(assistant, bus=bus, settings=settings, clock=clock, keep=self._keep_text)

    async def place(self, key: KeyRecord, session_id: str) -> Place:
        """The caller's live session; raises SessionNotFoundError or SessionExpiredError."""
        place = await self._own_place(key, session_id)
        sessions.check_alive(place.session, self.clock())
        return place

    async def _own_place(self, key: KeyRecord, session_id: str) -> Place:
        place = await self.places.find(session_id)
        if place is None or place.session.user_id != key.user_id:
            raise SessionNotFoundError(
                f"there is no session {session_id[:64]!r} of yours; register one, or list those you have"
            )
        return place

    async def register(self, key: KeyRecord, request: RegisterRequest) -> Session:
        """A new session, or the caller's own of that id."""
        wanted = sessions.new_session(request, key, now=self.clock(), settings=self.settings)
        place = await self.places.add(wanted)
        if place.session.user_id != key.user_id:
            raise SessionIdTakenError(
                f"the session id {wanted.id} is taken; leave id out, or choose another", param="id"
            )
        sessions.check_alive(place.session, self.clock())
        return sessions.wire_session(place.session)

    async def get(self, key: KeyRecord, session_id: str) -> Session:
        """The session with its messages."""
        place = await self.place(key, session_id)
        stored = await place.store.messages_after(session_id, 0)
        messages = [msgspec.json.decode(message.text, type=Message) for message in stored]
        return sessions.wire_session(place.session, messages)

    async def list(self, key: KeyRecord) -> list[Session]:
        """The caller's live sessions, oldest first."""
        now = self.clock()
        own = await self.places.of_user(key.user_id)
        return [sessions.wire_session(session) for session in own if now < session.expire_time]

    async def user_info(self, key: KeyRecord) -> UserInfo:
        """Whom the key belongs to, the live sessions, the models."""
        user = User(
            id=key.user_id,
            org_id=key.org_id,
            email=key.email,
            type=UserType(key.user_type),
            vendors=[],
            never_log=key.logging == "never",
            can_disable_logging=key.logging == "optional",
            allow_experimental=key.allow_experimental,
            key_expire_time=int(key.expires),
            tpm=key.tpm,
            rpm=key.rpm,
        )
        models = available_models(allow_experimental=key.allow_experimental)
        return UserInfo(user=user, sessions=await self.list(key), available_models=models)

    async def update(self, key: KeyRecord, request: UpdateRequest) -> Session:
        """Change name, description, ttl."""
        place = await self.place(key, request.id)
        changed = sessions.updated(place.session, request, now=self.clock(), settings=self.settings)
        await place.store.update_session(changed)
        return sessions.wire_session(changed)

    async def delete(self, key: KeyRecord, session_id: str) -> None:
        """End the running turn, erase everything, close the streams."""
        place = await self._own_place(key, session_id)
        sessions.check_alive(place.session, self.clock())
        await self.turns.stop(session_id, deleted())
        place = await self.places.find(session_id) or place  # with the files that the turn added
        await self.places.erase(place)
        self.bus.end(session_id, CLOSED_SESSION, "the session was deleted")

    async def ask(self, key: KeyRecord, session_id: str, query: Message) -> tuple[Place, Begun]:
        """Start the turn of a query, or find the one that its id made before."""
        self.rates.check_tokens(key)
        place = await self.place(key, session_id)
        clean = sessions.check_query(query, now=self.clock(), settings=self.settings)
        return place, await self.turns.ask(place, clean, spend=lambda tokens: self.rates.spend_tokens(key, tokens))

    async def cancel(self, session_id: str, turn_id: str) -> None:
        """End the running turn of that id, or the one that runs where the id is empty; none is no error."""
        await self.turns.stop(session_id, cancelled(), turn_id=turn_id or None)

    async def generate(self, key: KeyRecord, session_id: str, query: Message) -> SessionResponse:
        """The whole turn, when it has ended; raises the error that ended it."""
        place, begun = await self.ask(key, session_id, query)
        turn = await self.turns.wait(place.store, begun.turn)
        messages = await place.store.turn_messages(turn)
        if not messages:  # erased between the two readings
            raise deleted()
        for message in messages:
            if message.message_type == MessageType.ERROR and message.ends_turn:
                raise sessions.error_of(message)
        usages = [message.usage for message in messages if message.usage is not None]
        return SessionResponse(id=session_id, messages=messages, usage=sum(usages, Usage()))

    async def attach(
        self, key: KeyRecord, session_id: str, name: str, chunks: AsyncIterator[bytes], *, hint: str | None, limit: int
    ) -> SessionFile:
        """Take in a file. The same name with the same content again is the file that is there: a retry is safe."""
        place = await self.place(key, session_id)
        sessions.check_file_name(name, self.settings)
        self._check_room(place)
        received = await place.files.receive(chunks, limit)
        mime_type, label = read_type(received.head, hint)
        file = FileRecord(
            id=received.id, name=name, size=received.size, sha256=received.sha256, mime_type=mime_type, label=label
        )
        now = await self.places.find(session_id)
        same = [f for f in now.session.files if (f.name, f.sha256) == (name, file.sha256)] if now else []
        if same:
            await place.files.remove([file.id])
            return sessions.wire_file(same[0])
        await self._register_file(place, file, self.settings.max_session_files)
        return sessions.wire_file(file)

    async def _register_file(self, place: Place, file: FileRecord, limit: int) -> None:
        is_added = False
        try:
            is_added = await place.store.add_file(place.session.id, file, limit=limit)
        finally:
            if not is_added:
                await place.files.remove([file.id])
        if not is_added:
            raise self._too_many_files(limit)

    def _check_room(self, place: Place) -> None:
        if len(place.session.files) >= self.settings.max_session_files:
            raise self._too_many_files(len(place.session.files))

    def _too_many_files(self, have: int) -> TooLargeError:
        return TooLargeError(
            f"the session has {have} files; it may have {self.settings.max_session_files}. Detach one first"
        )

    async def detach(self, key: KeyRecord, session_id: str, index: int) -> None:
        """Drop the file at this index; those behind it move up."""
        place = await self.place(key, session_id)
        files = place.session.files
        if not 0 <= index < len(files):
            raise SessionFileNotFoundError(
                f"file_idx is {index}; the session has {len(files)} files, counted from 0", param="file_idx"
            )
        await place.store.remove_file(session_id, files[index].id)
        await place.files.remove([files[index].id])

    async def _keep_text(self, place: Place, name: str, data: bytes) -> str:
        """Keep what a message cannot carry among the session's files; the file's name."""
        received = await place.files.receive(_once(data), max(len(data), self.settings.max_upload_bytes))
        mime_type, label = read_type(received.head, "text/markdown" if name.endswith(".md") else None)
        file = FileRecord(
            id=received.id, name=name, size=received.size, sha256=received.sha256, mime_type=mime_type, label=label
        )
        await self._register_file(place, file, self.settings.max_session_files + SPARE_FILES)
        return name

    async def expired_of(self, session_ids: Iterable[str]) -> set[str]:
        """Those of the sessions whose time is over, or that are gone."""
        asked = set(session_ids)
        return asked - await self.places.alive(asked, self.clock()) if asked else set()

    async def end_expired(self) -> None:
        """End the turns of sessions whose time is over."""
        for session_id in await self.expired_of(self.turns.running):
            await self.turns.stop(session_id, SessionExpiredError("the session expired while the turn ran"))

    async def purge(self) -> None:
        """Erase what is kept no longer."""
        await self.places.purge(now=self.clock(), retention_seconds=self.settings.retention_seconds)

    async def purge_for_ever(self) -> None:
        """Purge now and then; a failure is logged and tried again the next time."""
        while True:
            try:
                await self.purge()
            except Exception:
                log.exception("purge failed")
            await asyncio.sleep(self.settings.purge_interval_seconds)


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
