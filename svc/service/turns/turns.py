"""The turns of all sessions: start each query once; cancel, wait for and recover turns.

Decides which turns run; ``turn_run.py`` runs one. A turn runs to its end whether or not a client is connected.

If a session's history is cached, the assistant starts before the query is stored, and its first steps share the query's
commit. Nothing is published before that commit; if the query is refused, the steps are dropped. A query that kills the
process this early is unknown after the restart. The cache is then empty, so when the client repeats the query it is
stored first, and its attempts are counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from svc.assistant.turn import Answer, Assistant, Step, StepFile, Turn, TurnFile
from svc.assistant.workers.payer import PAYER, Payer
from svc.errors import ServiceError, SessionExpiredError, TurnCancelledError, UnavailableError
from svc.local_tools import LocalTool
from svc.messages import Message, new_id
from svc.service.bus import Bus
from svc.service.observability.failures import internal_error
from svc.service.observability.metrics import Metrics
from svc.service.quotas.uses import TurnUse
from svc.service.sessions.session_stores import SessionHandle
from svc.service.settings import Settings
from svc.service.store import Store
from svc.service.store.records import FirstBatch, TurnRecord, TurnStart, TurnState
from svc.service.turns.evidence_scope import scope_of
from svc.service.turns.history_cache import History, HistoryCache, history_of
from svc.service.turns.local_tool_calls import Consents, LocalToolCalls, not_pending
from svc.service.turns.message_builder import MessageBuilder
from svc.service.turns.step_buffer import Batch, StepBuffer
from svc.service.turns.turn_run import TurnRun

log = logging.getLogger("svc.turns")
RESTART_NOTICE = "started again after a restart"  # docs/wire.md, "Turns"

Exchanges = Sequence[tuple[Message, Sequence[Message]]]  # a query and the messages that answered it
SaveSessionFile = Callable[[SessionHandle, StepFile], Awaitable[None]]


class BeginTurn(Protocol):
    """Stores a query and begins its turn, with the first batch if possible."""

    async def __call__(self, query: Message, *, owner: str, first_batch: FirstBatch | None = None) -> TurnStart:
        """As ``Store.begin_turn`` and ``Store.begin_session``."""
        ...


class PendingTurn:
    """A query while its turn begins and runs.

    Args:
        handle: The session.
        query: The query; ``Turns`` sets its ``turn``.
        after_seq: The session's last seq when ``history`` was read.
        history: The conversation up to ``after_seq``; None if it is still to be read.
        is_cached: Whether the history is worth caching for a next query.
        use: What it uses of its key's quotas; None if the turn is recovered, and its key unknown.
        local_tools: The tools that the client offers.
    """

    def __init__(
        self,
        handle: SessionHandle,
        query: Message,
        *,
        after_seq: int = 0,
        history: History | None = None,
        is_cached: bool = True,
        use: TurnUse | None = None,
        local_tools: Sequence[LocalTool] = (),
    ) -> None:
        self.handle = handle
        self.query = query
        self.after_seq = after_seq
        self.history = history
        self.is_cached = is_cached
        self.use = use
        self.local_tools = local_tools
        self.local_calls: LocalToolCalls | None = None
        self.is_stored = asyncio.Event()


class Turns:
    """Starts turns and keeps track of those that run in this process."""

    def __init__(
        self,
        assistant: Assistant,
        *,
        bus: Bus,
        settings: Settings,
        clock: Callable[[], float],
        save_file: SaveSessionFile,
        metrics: Metrics,
    ) -> None:
        self._assistant = assistant
        self._bus = bus
        self._settings = settings
        self._clock = clock
        self._save_file = save_file
        self._metrics = metrics
        self.histories = HistoryCache(
            limit_bytes=settings.history_cache_bytes, history_bytes=settings.max_history_bytes
        )
        self.consents = Consents()
        self.owner = new_id()  # identifies this process's leases
        self._runs: dict[str, TurnRun] = {}
        self._local_calls: dict[str, LocalToolCalls] = {}  # by session, for running turns with local tools
        self._asking_keys: dict[str, str] = {}  # by session, for running turns that were asked in this process
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_stopping = False  # queries are refused, running turns may finish

    @property
    def running(self) -> list[str]:
        """The ids of the sessions with a running turn."""
        return list(self._runs)

    @property
    def asking_keys(self) -> dict[str, str]:
        """The id of the key that asked, by session, of the turns that were asked in this process."""
        return dict(self._asking_keys)

    async def ask(
        self, handle: SessionHandle, query: Message, *, use: TurnUse, local_tools: Sequence[LocalTool] = ()
    ) -> TurnStart:
        """Store a query and start its turn, or find the turn that the same query id started before.

        Once the query is stored, its turn starts even if the caller is cancelled.

        Raises:
            UnavailableError: The service is stopping, or the store is out of reach.
            InsufficientStorageError: The disk is full.
            TurnInProgressError: Another turn of the session is running.
        """
        if (run := self._runs.get(handle.session.id)) is not None and run.failure is not None:
            raise run.failure.with_traceback(None)  # its end waits for the store, as this query would
        history, after_seq = self.histories.find(handle.session), handle.session.last_seq
        pending = PendingTurn(handle, query, after_seq=after_seq, history=history, use=use, local_tools=local_tools)
        if tuple(local_tools) != handle.session.local_tools and not handle.session.is_running:
            await handle.store.set_local_tools(handle.session.id, local_tools)
        turn_start, _ = await self._admit(pending, partial(handle.store.begin_turn, handle.session.id))
        return turn_start

    async def ask_in_new_session(
        self, handle: SessionHandle, exchanges: Exchanges, query: Message, *, use: TurnUse
    ) -> list[Message]:
        """Store a new session, the conversation so far and its first query, in one transaction.

        Args:
            handle: The session, not stored yet.
            exchanges: Turns that were answered elsewhere, oldest first.
            query: The query to run.
            use: What the turn uses of its key's quotas.

        Returns:
            The last messages of the turn, once it has ended.
        """
        messages = [message for earlier_query, answers in exchanges for message in (earlier_query, *answers)]
        pending = PendingTurn(
            handle, query, after_seq=len(messages), history=history_of(messages), is_cached=False, use=use
        )  # few such sessions get a second question
        turn_start, run = await self._admit(pending, partial(handle.store.begin_session, handle.session, exchanges))
        if run is not None:
            await _settled(run)
            if run.turn_end:
                return run.turn_end
        return await handle.store.turn_messages(await self.wait(handle.store, turn_start.turn))

    async def _admit(self, pending: PendingTurn, begin: BeginTurn) -> tuple[TurnStart, TurnRun | None]:
        if self.is_stopping:
            raise UnavailableError("the service is stopping; try again in a few seconds", retry_after=5)
        # Shielded, because a client that disconnects must not leave a stored query whose turn never starts.
        return await asyncio.shield(asyncio.create_task(self._begin(pending, begin)))

    async def _begin(self, pending: PendingTurn, begin: BeginTurn) -> tuple[TurnStart, TurnRun | None]:
        if pending.use is not None:
            pending.use.begin()
        try:
            turn_start, run = await self._begin_counted(pending, begin)
        except BaseException:
            _end_use(pending)
            raise
        if run is None:
            _end_use(pending)
        return turn_start, run

    async def _begin_counted(self, pending: PendingTurn, begin: BeginTurn) -> tuple[TurnStart, TurnRun | None]:
        pending.query.turn = pending.query.turn or new_id()
        step_buffer = self._new_step_buffer(pending)
        batch = Batch([], [], None)
        if await self._can_start_early(pending):
            step_buffer.start(partial(self._open_steps, pending))
            await asyncio.sleep(0)  # lets the assistant run up to its first await
            batch = step_buffer.next_batch()
        first_batch = FirstBatch(after_seq=pending.after_seq, messages=batch.messages, turn_end=batch.turn_end)
        turn_start = None
        try:
            turn_start = await begin(pending.query, owner=self.owner, first_batch=first_batch)
        finally:
            if turn_start is None or not turn_start.is_first_batch_stored:
                await step_buffer.aclose()
        if not turn_start.is_new:
            return turn_start, None
        if (
            not turn_start.is_first_batch_stored
        ):  # a message was stored since the session was read: start again with the current history
            pending.history, step_buffer, batch = None, self._new_step_buffer(pending), Batch([], [], None)
        run = self._new_run(pending, turn_start.turn, step_buffer)
        run.publish(batch, turn_start.stored)
        self._start(pending, run)
        return turn_start, run

    async def _can_start_early(self, pending: PendingTurn) -> bool:
        """Whether the assistant may start before the query is stored: the history is cached, no other turn is known."""
        session = pending.handle.session
        if pending.history is None or session.is_running or session.id in self._runs:
            return False
        return not session.turns or not await pending.handle.store.has_query(session.id, pending.query.id)

    def answer(self, session_id: str, message: Message) -> None:
        """Accept a client's answer to a request of the running turn; raises InvalidRequestError if none is pending."""
        calls = self._local_calls.get(session_id)
        if calls is None:
            raise not_pending(message)
        calls.answer(message)

    async def wait(self, store: Store, turn: TurnRecord) -> TurnRecord:
        """Return the turn once it has ended.

        Raises:
            TurnCancelledError: The session was deleted.
            UnavailableError: The service stops before the turn's end, or the store is out of reach.
            InsufficientStorageError: The disk is full.
        """
        if (run := self._runs.get(turn.session_id)) is not None and run.turn.id == turn.id:
            await _settled(run)
        now = await store.turn(turn.session_id, turn.id)
        if now is None:
            raise TurnCancelledError("the session was deleted while the turn ran")
        if now.state == TurnState.RUNNING:
            raise UnavailableError(
                "the service stopped before the turn ended; send the query again with the same id", retry_after=5
            )
        return now

    async def stop(self, session_id: str, error: ServiceError, *, turn_id: str | None = None) -> bool:
        """End the session's running turn with an error; False if no turn (of that id) is running."""
        run = self._runs.get(session_id)
        if run is None or (turn_id and run.turn.id != turn_id):
            return False
        run.stop(error)
        await run.settled.wait()
        return True

    async def recover(
        self,
        store: Store,
        find: Callable[[str], Awaitable[SessionHandle | None]],
        *,
        expiry_time: Callable[[], float],
    ) -> None:
        """Run the turns of a dead process again; end those without attempts left or with an expired session."""
        for turn in await store.claim_orphans(owner=self.owner):
            handle = await find(turn.session_id)
            messages = await store.turn_messages(turn)
            if handle is None or not messages:
                continue
            pending = PendingTurn(handle, messages[0], local_tools=handle.session.local_tools)
            run = self._new_run(pending, turn, self._new_step_buffer(pending))
            if turn.attempts > self._settings.max_turn_attempts:
                fault = internal_error(RuntimeError("a turn's process died twice"), turn=turn.id)
                await self._end(pending, run, fault)
            elif expiry_time() >= handle.session.expire_time:
                await self._end(pending, run, SessionExpiredError("the session expired while the turn ran"))
            else:
                log.info("turn recovered", extra={"turn": turn.id, "attempt": turn.attempts})
                run.step_buffer.add_info(RESTART_NOTICE)
                self._start(pending, run)

    async def _end(self, pending: PendingTurn, run: TurnRun, error: ServiceError) -> None:
        run.stop(error)
        self._start(pending, run)
        await run.settled.wait()

    async def close(self) -> None:
        """Refuse new turns, give the running ones time to end, release the rest for the next process."""
        self.is_stopping = True
        waiting = [asyncio.create_task(run.settled.wait()) for run in self._runs.values()]
        if waiting:
            await asyncio.wait(waiting, timeout=self._settings.stop_seconds)
        for task in waiting:
            task.cancel()
        for run in list(self._runs.values()):
            log.info("turn released", extra={"turn": run.turn.id})
            run.release()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._settings.stop_seconds)

    def _new_step_buffer(self, pending: PendingTurn) -> StepBuffer:
        step_buffer = StepBuffer(
            MessageBuilder(pending.query, self._settings),
            settings=self._settings,
            clock=self._clock,
            save_file=partial(self._save_file_once_stored, pending),
        )
        if pending.local_tools:
            pending.local_calls = LocalToolCalls(
                pending.local_tools,
                step_buffer,
                session_id=pending.handle.session.id,
                consents=self.consents,
                settings=self._settings,
            )
        return step_buffer

    async def _save_file_once_stored(self, pending: PendingTurn, file: StepFile) -> None:
        await pending.is_stored.wait()  # files belong to a stored session; a new one is stored with its query
        await self._save_file(pending.handle, file)

    def _new_run(self, pending: PendingTurn, turn: TurnRecord, step_buffer: StepBuffer) -> TurnRun:
        return TurnRun(turn, step_buffer, store=pending.handle.store, bus=self._bus, settings=self._settings)

    def _start(self, pending: PendingTurn, run: TurnRun) -> None:
        pending.is_stored.set()
        run.step_buffer.start(partial(self._open_steps, pending))
        if not run.done.is_set():
            self._runs[run.turn.session_id] = run
            if pending.use is not None:
                self._asking_keys[run.turn.session_id] = pending.use.key_id
            if pending.local_calls is not None:
                self._local_calls[run.turn.session_id] = pending.local_calls
        task = asyncio.create_task(self._supervise(pending, run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _supervise(self, pending: PendingTurn, run: TurnRun) -> None:
        try:
            if run.done.is_set():
                await asyncio.sleep(0)  # let the clients have the answer before the bookkeeping
            else:
                await run.run()
        except Exception as error:  # noqa: BLE001  # one turn's bug must not affect the others
            internal_error(error, turn=run.turn.id)
        finally:
            self._on_run_end(pending, run)
            await run.step_buffer.aclose()

    def _on_run_end(self, pending: PendingTurn, run: TurnRun) -> None:
        if self._runs.get(run.turn.session_id) is run:
            del self._runs[run.turn.session_id]
            self._local_calls.pop(run.turn.session_id, None)
            self._asking_keys.pop(run.turn.session_id, None)
        self._update_history_cache(pending, run)
        seconds = self._clock() - pending.query.created_at
        usage = run.step_buffer.usage
        self._metrics.turn_ended(run.outcome, seconds, messages=run.stored_count, tokens=usage.total_tokens)
        if pending.use is not None:
            pending.use.end(usage)

    def _update_history_cache(self, pending: PendingTurn, run: TurnRun) -> None:
        if not pending.is_cached:
            return
        history = None
        if run.last_seq is not None and pending.history is not None:
            history = run.step_buffer.extend_history(pending.history)
        if run.last_seq is None or history is None:
            self.histories.forget([run.turn.session_id])
        else:
            self.histories.put(run.turn.session_id, run.last_seq, history)

    async def _read_history(self, handle: SessionHandle) -> History:
        if not handle.session.turns:
            return History()
        return history_of(await handle.store.exchanges(handle.session.id, self._settings.max_history_bytes))

    async def _open_steps(self, pending: PendingTurn) -> AsyncIterator[Step | Answer]:
        handle, session = pending.handle, pending.handle.session
        PAYER.set(pending.use.payer if pending.use is not None else Payer(session.user_id))
        if pending.history is None:
            pending.history = await self._read_history(pending.handle)
        history = pending.history
        files = [
            TurnFile(
                name=file.name,
                size=file.size,
                sha256=file.sha256,
                mime_type=file.mime_type,
                label=file.label,
                source=handle.files.source(file.id),
                attached=file.attached,
                results=handle.files.results(file.id),
            )
            for file in session.files
        ]
        scope = scope_of(files, pending.query.files or (), history)
        turn = Turn(
            session_id=session.id,
            prompt=pending.query.content or "",
            files=scope.files,
            made_files=scope.made,
            left_out=scope.left_out,
            history=history.exchanges,
            instructions=session.instructions,
            language=session.language,
            model=session.model.model_string,
            use_experimental=session.model.use_experimental,
            local_tools=pending.local_calls,
        )
        return self._assistant.answer(turn)


def _end_use(pending: PendingTurn) -> None:
    if pending.use is not None:
        pending.use.end()


async def _settled(run: TurnRun) -> None:
    """Return once the turn has ended or was released; raises the store's error if its end cannot be stored."""
    await run.settled.wait()
    if run.failure is not None:
        raise run.failure.with_traceback(None)


def cancelled() -> TurnCancelledError:
    """The error of a turn that the client cancelled."""
    return TurnCancelledError("the turn was cancelled by the client")


def deleted() -> TurnCancelledError:
    """The error of a turn whose session was deleted."""
    return TurnCancelledError("the turn was cancelled: its session was deleted")
