"""What each operation does, without HTTP. ``app.py`` builds the parts. Facts: docs/wire.md, "HTTP operations".

Decides the order of checks: the session must exist and belong to the caller (404), then be alive (410), then the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence

import msgspec

from svc.assistant.turn import Assistant, StepFile
from svc.errors import (
    InsufficientStorageError,
    InvalidApiKeyError,
    ServiceError,
    SessionExpiredError,
    SessionFileNotFoundError,
    SessionIdTakenError,
    SessionNotFoundError,
    TooLargeError,
    UnavailableError,
)
from svc.local_tools import LocalTool
from svc.messages import (
    FeedbackRequest,
    Message,
    MessageType,
    RegisterRequest,
    Session,
    SessionFile,
    SessionResponse,
    Ticket,
    TicketRequest,
    UpdateRequest,
    Usage,
    User,
    UserInfo,
    UserType,
)
from svc.service.access.auth import Authenticator
from svc.service.access.once_codes import OnceCodes
from svc.service.access.page_tickets import PageTickets
from svc.service.access.passed_requests import PassedRequests
from svc.service.access.sign_in_codes import SignInCodes
from svc.service.access.stream_tickets import StreamTickets, offered_ticket
from svc.service.access.user_keys import UserKeys
from svc.service.bus import Bus
from svc.service.clock import SavedClock, SteadyClock
from svc.service.close_codes import CLOSED_SESSION
from svc.service.observability.metrics import Metrics
from svc.service.quotas.kept import KeptFigures
from svc.service.quotas.ledger import Hold, Quotas
from svc.service.quotas.table import QUOTAS, QuotaName
from svc.service.quotas.uses import TurnUse
from svc.service.sessions import rules as sessions
from svc.service.sessions.document import SessionDocument
from svc.service.sessions.file_type import detect_type
from svc.service.sessions.files import SWEEP_SECONDS, OpenFile, ReceivedFile, chunks_of
from svc.service.sessions.models import Models
from svc.service.sessions.offered_tools import check_local_tools
from svc.service.sessions.session_stores import SessionHandle, SessionStores
from svc.service.settings import Settings
from svc.service.shared_state import SharedState
from svc.service.store.disk_space import DiskSpace
from svc.service.store.records import (
    FeedbackRecord,
    FileRecord,
    KeyRecord,
    NoRoomError,
    SessionRecord,
    TurnRecord,
    TurnStart,
)
from svc.service.turns.message_builder import count_tokens
from svc.service.turns.other_services import OtherServices
from svc.service.turns.turns import Turns, cancelled, deleted

log: logging.Logger = logging.getLogger("svc.service")
ListElsewhere = Callable[[KeyRecord], Awaitable[list[SessionRecord]]]
FULL_RETRY_SECONDS = 60  # the interval at which expired sessions are erased
_CLOCK = "clock"  # the name of the saved clock in the store
KEPT_BYTES_MARGIN = 536_870_912  # more than the messages that one user's sessions get in a second
KEPT_SESSIONS_MARGIN = 1_000  # and more than those sessions
SPARE_FILES = 64  # on top of a session's limit, for files that the service adds, such as long answers


class Service:
    """The operations behind the endpoints.

    Args:
        session_stores: Sessions on disk and in memory.
        assistant: What answers.
        bus: Publishes stored messages to the streams.
        settings: The limits.
        clock: The time.
        shared: What it knows together with the other services of its database.
        space: Free space on the disk of logged sessions.
        others: The other services of the database, if several share it.
        passed: Accepts the requests that those pass on.
    """

    def __init__(
        self,
        session_stores: SessionStores,
        assistant: Assistant,
        *,
        bus: Bus,
        settings: Settings,
        clock: SteadyClock,
        shared: SharedState,
        space: DiskSpace,
        others: OtherServices | None = None,
        passed: PassedRequests | None = None,
    ) -> None:
        self.list_elsewhere: ListElsewhere | None = None  # unlogged sessions of the key's user at other services
        self.count_unlike: Callable[[], int] = int  # services of the database that answer by something else
        self.session_stores = session_stores
        self.bus = bus
        self.settings = settings
        self.time = clock
        self.clock: Callable[[], float] = clock.stamp
        self.space = space
        self.auth: Authenticator = Authenticator(session_stores.logged, clock.steady, passed, settings.front_addresses)
        self.tickets: StreamTickets = StreamTickets(shared.codes)
        self.user_keys: UserKeys = UserKeys(session_stores.logged, clock.steady)
        self.sign_in_codes: SignInCodes = SignInCodes(shared.codes)
        self.page_tickets: PageTickets = PageTickets(shared.codes)
        self.models: Models = Models(assistant.toolsets)
        self.metrics: Metrics = Metrics()
        self.codes: OnceCodes = shared.codes
        self.quotas: Quotas = Quotas(settings, self.metrics, shared.counters)
        self._kept_bytes = KeptFigures(KEPT_BYTES_MARGIN)
        self._kept_sessions = KeptFigures(KEPT_SESSIONS_MARGIN)
        self.turns: Turns = Turns(
            assistant,
            bus=bus,
            settings=settings,
            clock=clock.stamp,
            save_file=self._save_file,
            use_again=self._use_again,
            metrics=self.metrics,
            others=others,
        )
        self.is_ready: bool = False  # started, and not stopping: GET /ready
        self.is_cut_off: bool = False  # one of several services, without its database: the others take over
        self.metrics.add_gauge("svc_running_turns", "Running turns of this process.", lambda: len(self.turns.running))
        self.metrics.add_gauge(
            "svc_turns_waiting", "Turns that wait for a free place.", lambda: len(self.turns.waiting)
        )
        self.metrics.add_gauge(
            "svc_oldest_waiting_turn_seconds",
            "How long the oldest of them has been waiting.",
            lambda: self.turns.waiting.oldest_seconds(self.clock()),
        )

    def check_database(self) -> None:
        """Raise UnavailableError at once if the database is known to be out of reach, so that the client goes on."""
        if self.is_cut_off:
            raise UnavailableError("the service cannot reach its database; another one can", retry_after=1)

    async def live_session(self, key: KeyRecord, session_id: str, *, query_id: str = "") -> SessionHandle:
        """The caller's session; raises SessionNotFoundError or SessionExpiredError."""
        handle = await self._own_session(key, session_id, query_id)
        sessions.check_alive(handle.session, self.time.expiry())
        return handle

    async def _own_session(self, key: KeyRecord, session_id: str, query_id: str = "") -> SessionHandle:
        handle = await self.session_stores.find(session_id, query_id=query_id)
        if handle is None:
            await self.session_stores.check_here(session_id)
        if handle is None or handle.session.user_id != key.user_id:
            raise SessionNotFoundError(f"no such session: {session_id[:64]!r}; register one, or list yours")
        return handle

    async def register(self, key: KeyRecord, request: RegisterRequest) -> Session:
        """Register a session, or return the caller's existing one with that id."""
        session = sessions.new_session(request, key, now=self.clock(), settings=self.settings, models=self.models)
        if request.id is None or await self.session_stores.find(session.id) is None:
            if request.id is not None:
                await self.session_stores.check_here(session.id)
            await self.check_sessions(key)
        handle = await self.session_stores.add(session)
        if handle.session.user_id != key.user_id:
            raise SessionIdTakenError(
                f"the session id {session.id} is taken; leave id out, or choose another", param="id"
            )
        sessions.check_alive(handle.session, self.time.expiry())
        return sessions.wire_session(handle.session)

    async def check_sessions(self, key: KeyRecord) -> None:
        """Raise QuotaExceededError if the user may not have one more session."""
        kept = await self._kept_sessions.read(
            key.user_id,
            QUOTAS[QuotaName.SESSIONS].limit(key, self.settings),
            lambda: self.session_stores.count_for_user(key.user_id, self.time.expiry()),
        )
        self.quotas.hold(QuotaName.SESSIONS, key, kept=kept).close()

    async def hold_room(
        self, key: KeyRecord, *, is_logged: bool, more: int, is_exact: bool = False
    ) -> tuple[Hold, int]:
        """Hold room for ``more`` bytes on disk or in memory; returns the hold, and what the user's sessions keep.

        Far from the limit, what is kept may be a second old unless ``is_exact``.

        Raises:
            QuotaExceededError: The user's sessions would keep too much.
            UnavailableError: The memory for unlogged sessions is used up.
        """
        store = self.session_stores.logged if is_logged else self.session_stores.private
        if not is_logged:
            used = await store.bytes_of_all() - self.session_stores.memory.used_bytes
            if used + more > self.settings.max_memory_message_bytes:
                raise UnavailableError(
                    f"the messages of unlogged sessions take {used:,} bytes of memory; the limit is "
                    f"{self.settings.max_memory_message_bytes:,} for all of them (SVC_MAX_MEMORY_MESSAGE_BYTES). Use a "
                    "logged session, or try again later",
                    retry_after=FULL_RETRY_SECONDS,
                )
        if is_logged and not is_exact:
            limit = QUOTAS[QuotaName.DISK].limit(key, self.settings)
            kept = await self._kept_bytes.read(key.user_id, limit, lambda: store.bytes_of(key.user_id))
        else:
            kept = await store.bytes_of(key.user_id)
        return self.quotas.hold(_room_quota(is_logged=is_logged), key, more, kept=kept), kept

    async def get(
        self, key: KeyRecord, session_id: str, *, after: int = 0, limit: int | None = None
    ) -> SessionDocument:
        """The session with its messages, or with at most ``limit`` of those after a seq, to be read page by page."""
        handle = await self.live_session(key, session_id)
        last_seq = handle.session.last_seq if limit is None else min(handle.session.last_seq, after + limit)
        return SessionDocument(handle, after=after, last_seq=last_seq)

    async def list(
        self, key: KeyRecord, *, after: str | None = None, limit: int | None = None
    ) -> Sequence[SessionRecord]:
        """The caller's live sessions, oldest first: those after one, as many as ``limit`` says."""
        found = await self.session_stores.list_for_user(key.user_id, self.time.expiry())
        if self.list_elsewhere is not None:
            elsewhere = sorted(await self.list_elsewhere(key), key=lambda session: session.create_time)
            found = list(heapq.merge(found, elsewhere, key=lambda session: session.create_time))
        if after is not None:
            index = next((n + 1 for n, session in enumerate(found) if session.id == after), None)
            if index is None:
                # one that has expired since is no longer listed; those of its second come again rather than get lost
                last = (await self._own_session(key, after)).session
                index = next((n for n, one in enumerate(found) if one.create_time >= last.create_time), len(found))
            found = found[index:]
        return found[:limit]

    async def user_info(self, key: KeyRecord) -> UserInfo:
        """The key's user and the models it may use, without its sessions."""
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
        models = self.models.available(allow_experimental=key.allow_experimental)
        return UserInfo(user=user, sessions=[], available_models=models)

    async def update(self, key: KeyRecord, request: UpdateRequest) -> Session:
        """Change name, description or ttl."""
        handle = await self.live_session(key, request.id)
        changed = sessions.apply_update(handle.session, request, now=self.clock(), settings=self.settings)
        await handle.store.update_session(changed)
        return sessions.wire_session(changed)

    async def delete(self, key: KeyRecord, session_id: str) -> None:
        """Cancel the running turn, delete everything, close the session's streams."""
        handle = await self._own_session(key, session_id)
        sessions.check_alive(handle.session, self.time.expiry())
        await self.turns.stop(session_id, deleted())
        handle = await self.session_stores.find(session_id) or handle  # read again: the turn may have added files
        await self.session_stores.erase(handle)
        self.turns.histories.forget([session_id])
        self.bus.end(session_id, CLOSED_SESSION, "the session was deleted", is_private=not handle.session.can_log)

    async def ask(
        self, key: KeyRecord, session_id: str, query: Message, local_tools: Sequence[LocalTool] | None = ()
    ) -> tuple[SessionHandle, TurnStart]:
        """Start the turn of a query, or find the one that the same query id started before.

        Args:
            key: The caller's key.
            session_id: The session.
            query: The query.
            local_tools: The tools that the client offers with it; None for those of the session's registration.
        """
        handle = await self.live_session(key, session_id, query_id=query.id)
        self._check_space(handle)
        clean = sessions.check_query(query, now=self.clock(), settings=self.settings)
        self._check_files(handle, clean)
        tools = (
            handle.session.registered_tools if local_tools is None else check_local_tools(local_tools, self.settings)
        )
        room, _ = await self.hold_room(key, is_logged=handle.session.can_log, more=len(clean.content or ""))
        use = TurnUse(self.quotas, key, prompt_tokens=count_tokens(clean.content or ""))
        with contextlib.closing(room):
            return handle, await self.turns.ask(handle, clean, use=use, local_tools=tools)

    async def _use_again(self, turn: TurnRecord, query: Message) -> TurnUse | None:
        """What a turn that another process was asked uses of its key's quotas; None if the key is not known."""
        key = await self.session_stores.logged.key_by_id(turn.key_id) if turn.key_id else None
        if key is None:
            return None
        use = TurnUse(self.quotas, key, prompt_tokens=count_tokens(query.content or ""))
        await use.begin_again()
        return use

    def _check_space(self, handle: SessionHandle) -> None:
        """Raise InsufficientStorageError if a new turn could not be stored; an unlogged session needs no disk."""
        if not handle.session.can_log:
            return
        try:
            self.space.check()
        except InsufficientStorageError:
            # A client that comes back repeats the query of its turn, which runs, or has been answered.
            if not handle.session.has_query:
                raise

    def _check_files(self, handle: SessionHandle, query: Message) -> None:
        """Raise SessionFileNotFoundError for a new query that is about a file that the session does not have."""
        try:
            sessions.check_named_files(query.files or (), handle.session.files)
        except SessionFileNotFoundError:
            # A client that comes back repeats the query of its turn; the file may have been detached meanwhile.
            if not handle.session.has_query:
                raise

    async def answer(self, key: KeyRecord, session_id: str, message: Message) -> None:
        """Accept a client's answer to a request of the running turn; a refused one counts as a request of the key."""
        await self.live_session(key, session_id)
        try:
            await self.turns.answer(session_id, message)
        except ServiceError:
            await self.quotas.spend(QuotaName.REQUESTS, key)
            raise

    async def cancel(self, session_id: str, turn_id: str) -> None:
        """End the running turn, or only the one with this id; if none is running, nothing happens."""
        await self.turns.stop(session_id, cancelled(), turn_id=turn_id or None, has_partial_answer=True)

    async def generate(self, key: KeyRecord, session_id: str, query: Message) -> SessionResponse:
        """Run a query and return its whole turn once it has ended; raises the error that ended it."""
        handle, turn_start = await self.ask(key, session_id, query)
        turn = await self.turns.wait(handle.store, turn_start.turn)
        return response_of(session_id, await handle.store.turn_messages(turn))

    async def attach(
        self,
        key: KeyRecord,
        session_id: str,
        name: str,
        chunks: AsyncIterator[bytes],
        *,
        hint: str | None,
        limit: int,
        attached: float | None = None,
    ) -> SessionFile:
        """Store a file and attach it to the session.

        Attaching the same content under the same name again returns the existing file, so a retry is safe.

        Args:
            key: The caller's key.
            session_id: The session.
            name: The user's name for the file.
            chunks: Its content.
            hint: A MIME type from the client, or None.
            limit: Maximum size in bytes.
            attached: When it was attached, in seconds since the epoch; None is now.
        """
        handle = await self.live_session(key, session_id)
        sessions.check_file_name(name, self.settings)
        self._check_file_limit(handle, name)
        room, kept = await self.hold_room(key, is_logged=handle.session.can_log, more=0, is_exact=True)
        with contextlib.closing(room):
            received = await handle.files.receive(_held(chunks, room, kept), limit)
            return await self._attach(key, handle, name, received, hint, attached)

    async def _attach(
        self,
        key: KeyRecord,
        handle: SessionHandle,
        name: str,
        received: ReceivedFile,
        hint: str | None,
        attached: float | None,
    ) -> SessionFile:
        """Attach a stored file, unless the session has it already, or others took its room while it was received."""
        mime_type, label = detect_type(received.head, name, hint)
        file = self._file_record(received, name, mime_type, label)
        if attached is not None:
            file = msgspec.structs.replace(file, attached=attached)
        now = await self.session_stores.find(handle.session.id)
        same = [f for f in now.session.files if (f.name, f.sha256) == (name, file.sha256)] if now else []
        if same:
            await handle.files.remove([file.id])
            return sessions.wire_file(same[0])
        quota = _room_quota(is_logged=handle.session.can_log)
        room = QUOTAS[quota].limit(key, self.settings)
        try:
            stored = await self._register_file(handle, file, self.settings.max_session_files, room=room)
        except NoRoomError as error:
            raise self.quotas.refusal(quota, key, used=error.kept) from None
        return sessions.wire_file(stored)

    async def _register_file(self, handle: SessionHandle, file: FileRecord, limit: int, *, room: int = 0) -> FileRecord:
        stored = None
        try:
            stored = await handle.store.add_file(handle.session.id, file, limit=limit, room=room)
        finally:
            if stored is None:
                await handle.files.remove([file.id])
        if stored is None:
            raise self._too_many_files(limit)
        await handle.files.publish(file.id, stored)
        return stored

    def _check_file_limit(self, handle: SessionHandle, name: str) -> None:
        """Refuse before the upload, unless it may be a retry of a file that is attached."""
        is_known = any(file.name == name for file in handle.session.files)
        if not is_known and len(handle.session.files) >= self.settings.max_session_files:
            raise self._too_many_files(len(handle.session.files))

    def _too_many_files(self, count: int) -> TooLargeError:
        return TooLargeError(
            f"the session has {count} files; the limit is {self.settings.max_session_files}. Detach one first"
        )

    async def detach(self, key: KeyRecord, session_id: str, index: int) -> None:
        """Detach the file at this index; the files after it move up."""
        handle = await self.live_session(key, session_id)
        files = handle.session.files
        if not 0 <= index < len(files):
            raise SessionFileNotFoundError(
                f"file_idx is {index}; the session has {len(files)} files, counted from 0", param="file_idx"
            )
        await handle.store.remove_file(session_id, files[index])
        await handle.files.remove([files[index].id])

    async def read_file(self, key: KeyRecord, session_id: str, sha256: str) -> OpenFile:
        """Open a file of the session, attached by the user or made by the service, for reading."""
        handle = await self.live_session(key, session_id)
        sessions.check_sha256(sha256)
        found = next((file for file in handle.session.files if file.sha256 == sha256), None)
        if found is None:
            raise SessionFileNotFoundError(
                f"no file of the session has the SHA-256 {sha256}; its list of files shows those it has", param="sha256"
            )
        return await handle.files.open_file(found)

    async def _save_file(self, handle: SessionHandle, made: StepFile) -> None:
        """Store what does not fit into a message as a file of the session."""
        size = sum(map(len, made.pieces))
        received = await handle.files.receive(chunks_of(made.pieces), max(size, self.settings.max_upload_bytes))
        mime_type, label = detect_type(received.head, made.name)
        file = self._file_record(received, made.name, mime_type, made.label or label)
        await self._register_file(handle, file, self.settings.max_session_files + SPARE_FILES)

    def _file_record(self, received: ReceivedFile, name: str, mime_type: str, label: str) -> FileRecord:
        return FileRecord(
            id=received.id,
            name=name,
            size=received.size,
            sha256=received.sha256,
            mime_type=mime_type,
            label=label,
            attached=self.clock(),
        )

    async def feedback(self, key: KeyRecord, request: FeedbackRequest) -> None:
        """Store a user's feedback on a session."""
        handle = await self.live_session(key, request.session_id)
        sessions.check_feedback(request, self.settings)
        room, _ = await self.hold_room(
            key, is_logged=handle.session.can_log, more=len(request.comment) + len(request.group_id or "")
        )
        room.close()
        await handle.store.add_feedback(
            FeedbackRecord(
                session_id=request.session_id,
                group_id=request.group_id or "",
                type=request.type.value,
                score=request.score,
                comment=request.comment,
                created=self.clock(),
            )
        )
        log.info("feedback", extra={"session": request.session_id, "type": request.type.value})

    async def ticket(self, key: KeyRecord, request: TicketRequest) -> Ticket:
        """Issue a ticket that opens one stream of the caller's session."""
        await self.live_session(key, request.session_id)
        await self.quotas.check_shared(QuotaName.STREAMS, key)  # a browser cannot read why an upgrade is refused
        return await self.tickets.issue(key, request.session_id)

    async def authenticate_stream(
        self, authorization: str | None, subprotocols: Sequence[str], session_id: str, *, target: str
    ) -> KeyRecord:
        """Return the key that opens a stream: from the header or, without one, from the offered ticket."""
        ticket = offered_ticket(subprotocols)
        if authorization is not None or ticket is None:
            return await self.auth.authenticate(authorization, method="GET", target=target)
        key = await self.tickets.redeem(ticket, session_id)
        await self.auth.check_still_valid(key)
        return key

    async def expired_sessions(self, session_ids: Iterable[str]) -> set[str]:
        """Those of the sessions that have expired or been deleted."""
        candidates = set(session_ids)
        return candidates - await self.session_stores.alive(candidates, self.time.expiry()) if candidates else set()

    async def end_expired(self) -> None:
        """End the turns of expired sessions."""
        for session_id in await self.expired_sessions(self.turns.unfinished):
            await self.turns.stop(session_id, SessionExpiredError("the session expired while the turn ran"))

    async def end_turns_of(self, key_ids: set[str]) -> None:
        """End the turns that these keys started, because they are no longer valid."""
        for session_id, key_id in self.turns.asking_keys.items():
            if key_id in key_ids:
                await self.turns.stop(session_id, InvalidApiKeyError("the key is no longer valid; the turn was ended"))

    async def purge(self) -> None:
        """Delete what is no longer kept, unless the clock jumped."""
        await self.save_clock()
        await self.codes.sweep()
        await self.quotas.counters.sweep()
        if not self.time.is_settled:
            return
        await self.session_stores.purge(now=self.time.expiry(), retention_seconds=self.settings.retention_seconds)
        await self.session_stores.logged.delete_expired_page_keys(ended_before=self.time.expiry())
        expired = await self.expired_sessions(self.turns.histories.session_ids)
        self.turns.histories.forget(expired)

    async def resume_clock(self) -> None:
        """Compare the clock with that of the last run."""
        self.time.begin()
        saved = await self.session_stores.logged.meta(_CLOCK)
        if saved is not None:
            self.time.resume(msgspec.json.decode(saved, type=SavedClock))

    async def save_clock(self) -> None:
        """Store the clock for the next run."""
        await self.session_stores.logged.set_meta(_CLOCK, msgspec.json.encode(self.time.save()))

    async def find_problem(self) -> ServiceError | None:
        """Why the service cannot store anything at the moment; None if it can."""
        try:
            self.space.check()
            await self.session_stores.logged.check()
        except ServiceError as error:
            return error
        return None

    async def find_warnings(self) -> Sequence[str]:
        """What an operator should look at although the service works."""
        found = [*await self.session_stores.disk.warnings()]
        if not self.time.is_settled:
            found.append(
                "the clock of this machine jumped: nothing is erased, and sessions and keys keep their remaining time, "
                f"for up to {self.settings.clock_grace_seconds:,g} s. Check the clock"
            )
        if unlike := self.count_unlike():
            others = "process of this database answers" if unlike == 1 else "processes of this database answer"
            found.append(
                f"{unlike:,} other {others} by another assistant, model (SVC_MODEL_URL, SVC_MODEL_NAME) or set of "
                "rules and tables (SVC_KNOWLEDGE_DIR), and any of them may run a question. Give all services and "
                "workers the same"
            )
        return found

    async def run_purges(self) -> None:
        """Purge at intervals until cancelled; a failure is logged, and the next interval tries again."""
        while True:
            try:
                await self.purge()
            except Exception:
                log.exception("purge failed")
            await asyncio.sleep(self.settings.purge_interval_seconds)

    async def run_sweeps(self) -> None:
        """Sweep the place of files every hour until cancelled, and never at the start."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                if self.time.is_settled:
                    await self.session_stores.disk.sweep()
            except Exception:
                log.exception("sweep of files failed")


async def _held(chunks: AsyncIterator[bytes], room: Hold, kept: int) -> AsyncIterator[bytes]:
    """Yield the chunks, each once there is room for it."""
    async for chunk in chunks:
        room.grow(len(chunk), kept=kept)
        yield chunk


def _room_quota(*, is_logged: bool) -> QuotaName:
    return QuotaName.DISK if is_logged else QuotaName.MEMORY


def response_of(session_id: str, messages: Sequence[Message]) -> SessionResponse:
    """The response with the messages of an ended turn; raises the error that ended it."""
    if not messages:  # the session was deleted after the turn had ended
        raise deleted()
    for message in messages:
        if message.message_type == MessageType.ERROR and message.ends_turn:
            raise sessions.turn_error(message)
    usages = [message.usage for message in messages if message.usage is not None]
    return SessionResponse(id=session_id, messages=list(messages), usage=sum(usages, Usage()))
