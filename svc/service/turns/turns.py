"""The turns of all sessions: start each query once; cancel, wait for and recover turns.

Decides which turns run; ``turn_run.py`` runs one. A turn runs to its end whether or not a client is connected.

If a session's history is cached, the assistant starts before the query is stored, and its first steps share the query's
commit. Nothing is published before that commit; if the query is refused, the steps are dropped. A query that kills the
process this early is unknown after the restart. The cache is then empty, so when the client repeats the query it is
stored first, and its attempts are counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Literal, Protocol

from svc.assistant.turn import Answer, Assistant, Step, StepFile, Turn, TurnFile
from svc.assistant.workers.job_limits import turn_limit, unpacked_bytes
from svc.assistant.workers.payer import PAYER, STOP, TURN_END, Payer, StopRequest
from svc.errors import ServiceError, SessionExpiredError, TurnCancelledError, UnavailableError
from svc.local_tools import LocalTool
from svc.messages import Message, MessageType, new_id
from svc.service.bus import Bus
from svc.service.observability.failures import internal_error
from svc.service.observability.metrics import Metrics
from svc.service.quotas.uses import TurnUse
from svc.service.sessions.session_stores import SessionHandle
from svc.service.settings import Settings
from svc.service.store import Store
from svc.service.store.patience import patiently
from svc.service.store.records import FirstBatch, LeaseLostError, TurnRecord, TurnStart, TurnState
from svc.service.turns.evidence_scope import scope_of
from svc.service.turns.history_cache import History, HistoryCache, history_of
from svc.service.turns.local_tool_calls import LocalToolCalls, SessionConsents, not_pending
from svc.service.turns.message_builder import MessageBuilder
from svc.service.turns.other_services import OtherServices
from svc.service.turns.step_buffer import Batch, StepBuffer
from svc.service.turns.turn_run import TurnRun
from svc.service.turns.waiting_turns import WaitingTurn, WaitingTurns

log: logging.Logger = logging.getLogger("svc.turns")
RESTART_NOTICE = "started again after a service restart"  # docs/wire.md, "Turns"
WAIT_NOTICE = "waiting for a free place"
OWNER_SECONDS = 2.0  # beyond ``partial_seconds``, for another service to store the end of a turn
START_RETRY_SECONDS = 1.0  # until a waiting turn is tried again that could not be started because of the store

Exchanges = Sequence[tuple[Message, Sequence[Message]]]  # a query and the messages that answered it
SaveSessionFile = Callable[[SessionHandle, StepFile], Awaitable[None]]
UseAgain = Callable[[TurnRecord, Message], Awaitable[TurnUse | None]]

JOBS_SHARE = 0.95  # of a turn's time, after which no tool runs; the rest is for the answer


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
        use: What it uses of its key's quotas; None if its key is not known.
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
        self.is_stored: asyncio.Event = asyncio.Event()


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
        use_again: UseAgain,
        metrics: Metrics,
        others: OtherServices | None = None,
    ) -> None:
        """``others``: the other services, if several share the database."""
        self._assistant = assistant
        self._bus = bus
        self._settings = settings
        self._clock = clock
        self._save_file = save_file
        self._use_again = use_again
        self._metrics = metrics
        self._others = others
        self.histories: HistoryCache = HistoryCache(
            limit_bytes=settings.history_cache_bytes, history_bytes=settings.max_history_bytes
        )
        self.owner: str = new_id() if others is None else others.owner  # identifies this process's leases
        self._runs: dict[str, TurnRun] = {}
        self._local_calls: dict[str, LocalToolCalls] = {}  # by session, for running turns with local tools
        self._asking_keys: dict[str, str] = {}  # by session, for running turns that were asked in this process
        self._tasks: set[asyncio.Task[None]] = set()
        self.waiting: WaitingTurns[PendingTurn] = WaitingTurns(settings.turns_at_once, lambda: len(self._runs))
        self.is_stopping: bool = False  # queries are refused, running turns may finish

    @property
    def running(self) -> list[str]:
        """The ids of the sessions with a running turn."""
        return list(self._runs)

    @property
    def running_turns(self) -> list[TurnRecord]:
        """The turns of logged sessions that run in this process."""
        return [run.turn for run in self._runs.values() if not run.is_private]

    @property
    def waiting_turns(self) -> list[TurnRecord]:
        """The turns of logged sessions that wait in this process, the oldest first."""
        return [waiting.turn for waiting in self.waiting.all if waiting.pending.handle.session.can_log]

    @property
    def unfinished(self) -> list[str]:
        """The ids of the sessions with a turn that runs or waits."""
        return [*self._runs, *self.waiting.session_ids]

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
        turn_start, _ = await self._admit(
            pending, partial(handle.store.begin_turn, handle.session.id, key_id=use.key_id)
        )
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
        begin = partial(handle.store.begin_session, handle.session, exchanges, key_id=use.key_id)
        turn_start, run = await self._admit(pending, begin)
        if run is not None:
            await _settled(run)
            if run.turn_end:
                return run.turn_end
        return await handle.store.turn_messages(await self.wait(handle.store, turn_start.turn))

    async def _admit(self, pending: PendingTurn, begin: BeginTurn) -> tuple[TurnStart, TurnRun | None]:
        if self.is_stopping:
            raise UnavailableError("the service is stopping; try again in a few seconds", retry_after=5)
        # Shielded, because a client that disconnects must not leave a stored query whose turn never starts.
        beginning = asyncio.create_task(self._begin(pending, begin))
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            beginning.add_done_callback(_note_failure)
            raise

    async def _begin(self, pending: PendingTurn, begin: BeginTurn) -> tuple[TurnStart, TurnRun | None]:
        if pending.use is not None:
            await pending.use.begin()
        try:
            turn_start, run = await self._begin_counted(pending, begin)
        except BaseException:
            _end_use(pending)
            raise
        if run is None and not turn_start.is_new:
            _end_use(pending)
        return turn_start, run

    async def _begin_counted(self, pending: PendingTurn, begin: BeginTurn) -> tuple[TurnStart, TurnRun | None]:
        pending.query.turn = pending.query.turn or new_id()
        if not self.waiting.reserve():
            return await self._begin_waiting(pending, begin), None
        try:
            return await self._begin_running(pending, begin)
        finally:
            self.waiting.unreserve()
            self._start_waiting()

    async def _begin_waiting(self, pending: PendingTurn, begin: BeginTurn) -> TurnStart:
        """Store the query of a turn that waits, with the message that says so."""
        step_buffer = self._new_step_buffer(pending)
        step_buffer.add_info(_wait_notice(len(self._runs), len(self.waiting)))
        batch = step_buffer.next_batch()
        first_batch = FirstBatch(after_seq=pending.after_seq, messages=batch.messages, turn_end=None)
        turn_start = await begin(pending.query, owner="", first_batch=first_batch)
        if not turn_start.is_new:
            _end_use(pending)
            return turn_start
        run = self._new_run(pending, turn_start.turn, step_buffer)
        run.publish(batch, turn_start.stored)
        if not turn_start.is_first_batch_stored:
            with contextlib.suppress(LeaseLostError):  # another service took it at once: it does not wait
                run.publish(batch, await pending.handle.store.append(turn_start.turn, batch.messages))
        self._wait(pending, turn_start.turn)
        return turn_start

    def _wait(self, pending: PendingTurn, turn: TurnRecord) -> None:
        """Let a stored turn wait; it starts at once if a place has become free meanwhile."""
        pending.is_stored.set()
        if pending.use is not None:
            self._asking_keys[turn.session_id] = pending.use.key_id
        self.waiting.add(WaitingTurn(turn, pending, pending.query.created_at))
        self._start_waiting()
        if self._others is not None:
            self._others.wake()  # one of them may have room

    def _start_waiting(self) -> None:
        """Start the turns that wait, the oldest first, while there is room."""
        while not self.is_stopping and (waiting := self.waiting.take()) is not None:
            task = asyncio.create_task(self._start_claimed(waiting))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _start_claimed(self, waiting: WaitingTurn[PendingTurn]) -> None:
        """Start a turn that waited, with its session's files as they are now; if the store is away, wait again."""
        pending, store = waiting.pending, waiting.pending.handle.store
        try:
            turn = await store.claim(waiting.turn, owner=self.owner)
            session = None if turn is None else await store.session(turn.session_id)
        except ServiceError:
            asyncio.get_running_loop().call_later(START_RETRY_SECONDS, self._start_waiting)
            self.waiting.unreserve()
            self.waiting.put_back(waiting)
            return
        try:
            if turn is None or session is None:  # it was ended, or its session deleted
                self._forget_waiting(waiting)
                return
            pending.handle = pending.handle._replace(session=session)
            pending.history = None
            self._start(pending, self._run_of(pending, turn))
            waiting.left.set()
        finally:
            self.waiting.unreserve()

    def _forget_waiting(self, waiting: WaitingTurn[PendingTurn]) -> None:
        self._asking_keys.pop(waiting.turn.session_id, None)
        _end_use(waiting.pending)
        waiting.left.set()

    async def _begin_running(self, pending: PendingTurn, begin: BeginTurn) -> tuple[TurnStart, TurnRun | None]:
        step_buffer = self._new_step_buffer(pending)
        batch = Batch([], [], None)
        if self._can_start_early(pending):
            step_buffer.start(partial(self._open_steps, pending, step_buffer.stop_request))
            await asyncio.sleep(0)  # lets the assistant run up to its first await
            batch = step_buffer.next_batch()
        first_batch = FirstBatch(
            after_seq=pending.after_seq,
            messages=batch.messages,
            turn_end=batch.turn_end,
            usage=pending.handle.session.usage,
        )
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
        run.publish(batch, turn_start.stored, is_session_new=turn_start.is_session_new)
        self._start(pending, run)
        return turn_start, run

    def _can_start_early(self, pending: PendingTurn) -> bool:
        """Whether the assistant may start before the query is stored: the history is cached, no other turn is known."""
        session = pending.handle.session
        is_busy = session.is_running or session.id in self._runs
        return pending.history is not None and not is_busy and not session.has_query

    async def answer(self, session_id: str, message: Message) -> None:
        """Accept a client's answer to a request of the running turn; raises InvalidRequestError if none is pending."""
        if self.answer_here(session_id, message):
            return
        if self._others is None:
            raise not_pending(message)
        await self._others.answer(session_id, message)

    def answer_here(self, session_id: str, message: Message) -> bool:
        """As ``answer``; False if no turn with local tools runs in this process."""
        calls = self._local_calls.get(session_id)
        if calls is None:
            return False
        calls.answer(message)
        return True

    async def wait(self, store: Store, turn: TurnRecord) -> TurnRecord:
        """Return the turn once it has ended.

        Raises:
            TurnCancelledError: The session was deleted.
            UnavailableError: The service stops before the turn's end, or the store is out of reach.
            InsufficientStorageError: The disk is full.
        """
        others = None if self._others is None or store is not self._others.store else self._others
        waiting = self.waiting.find(turn.session_id)
        if waiting is not None and waiting.turn.id == turn.id and others is None:
            await waiting.left.wait()
        if (run := self._runs.get(turn.session_id)) is not None and run.turn.id == turn.id:
            await _settled(run)
        if others is not None:
            now = await others.wait(turn, until=lambda: self.is_stopping)
        else:
            now = await store.turn(turn.session_id, turn.id)
        if now is None:
            raise TurnCancelledError("the session was deleted while the turn ran")
        if now.state == TurnState.RUNNING:
            raise UnavailableError(
                "the service stopped before the turn ended; send the query again with the same id", retry_after=5
            )
        return now

    async def stop(
        self, session_id: str, error: ServiceError, *, turn_id: str | None = None, has_partial_answer: bool = False
    ) -> bool:
        """End the session's running turn with an error; False if no turn (of that id) is running.

        ``has_partial_answer``: before that, it may answer from what it has read. A second call ends it at once.
        """
        waiting = self.waiting.find(session_id)
        if waiting is not None and turn_id in (None, "", waiting.turn.id):
            self.waiting.remove(session_id)
            ended = self._run_of(waiting.pending, waiting.turn)
            await self._end(waiting.pending, ended, error)
            waiting.left.set()
            if not ended.is_lost:
                return True
        run = self._runs.get(session_id)
        if run is not None and turn_id in (None, "", run.turn.id):
            if has_partial_answer:
                run.stop_soon(error)
            else:
                run.stop(error)
            await run.settled.wait()
            if not run.is_lost:
                return True
        if self._others is None:
            return False
        return await self._stop_elsewhere(self._others, session_id, error, turn_id, is_soft=has_partial_answer)

    def stop_soon(self, session_id: str, turn_id: str) -> bool:
        """Begin to end the turn, as for a client's cancel; False if it does not run in this process."""
        run = self._runs.get(session_id)
        if run is None or run.turn.id != turn_id:
            return False
        run.stop_soon(cancelled())
        return True

    async def _stop_elsewhere(
        self, others: OtherServices, session_id: str, error: ServiceError, turn_id: str | None, *, is_soft: bool
    ) -> bool:
        """End a turn that another service runs, or a dead one ran; ``is_soft``: that one may answer before."""
        while (turn := await others.store.running_turn(session_id)) is not None and turn_id in (None, "", turn.id):
            if is_soft and await others.stop(turn, self._settings.partial_seconds + OWNER_SECONDS):
                return True
            seized = await others.store.seize(turn, owner=self.owner)
            if seized is None:  # it has ended, or was taken over meanwhile
                continue
            others.wake()  # the one that ran it stops
            handle, messages = await others.find(session_id), await others.store.turn_messages(seized)
            if handle is not None and messages:
                pending = PendingTurn(handle, messages[0])
                await self._end(pending, self._run_of(pending, seized), error)
            return True
        return False

    def drop(self, turn: TurnRecord) -> None:
        """Stop the run of a turn that another service ended or took over, or its waiting."""
        waiting = self.waiting.find(turn.session_id)
        if waiting is not None and waiting.turn == turn:
            self.waiting.remove(turn.session_id)
            self._forget_waiting(waiting)
        run = self._runs.get(turn.session_id)
        if run is not None and run.turn == turn:
            run.drop()

    async def recover(
        self,
        store: Store,
        find: Callable[[str], Awaitable[SessionHandle | None]],
        *,
        expiry_time: Callable[[], float],
    ) -> None:
        """Run the turns of a dead process again; end those without attempts left or with an expired session.

        It may be called again if it fails.
        """
        for turn in await store.claim_orphans(owner=self.owner):
            if turn.session_id not in self.unfinished:
                await self.resume(store, turn, find, expiry_time=expiry_time)

    async def resume(
        self,
        store: Store,
        turn: TurnRecord,
        find: Callable[[str], Awaitable[SessionHandle | None]],
        *,
        expiry_time: Callable[[], float],
    ) -> None:
        """Run a turn again that was taken over; it ends if no attempt is left or its session has expired."""
        handle = await find(turn.session_id)
        messages = await store.turn_messages(turn)
        if handle is None or not messages:
            return
        use = await self._use_again(turn, messages[0])
        pending = PendingTurn(handle, messages[0], use=use, local_tools=handle.session.local_tools)
        run = self._run_of(pending, turn)
        if turn.attempts > self._settings.max_turn_attempts:
            fault = internal_error(RuntimeError("a turn's process died twice"), turn=turn.id)
            await self._end(pending, run, fault)
        elif expiry_time() >= handle.session.expire_time:
            await self._end(pending, run, SessionExpiredError("the session expired while the turn ran"))
        elif not self.waiting.has_room:
            try:
                await store.release(turn)
            except BaseException:
                _end_use(pending)
                raise
            self._wait(pending, turn)
        else:
            log.info("turn recovered", extra={"turn": turn.id, "attempt": turn.attempts})
            if turn.attempts > 1 or not all(map(_is_wait_notice, messages[1:])):
                run.step_buffer.add_info(RESTART_NOTICE)
            self._start(pending, run)

    def _run_of(self, pending: PendingTurn, turn: TurnRecord) -> TurnRun:
        return self._new_run(pending, turn, self._new_step_buffer(pending))

    async def _end(self, pending: PendingTurn, run: TurnRun, error: ServiceError) -> None:
        run.stop(error)
        self._start(pending, run)
        await run.settled.wait()

    async def close(self, hurry: asyncio.Event) -> None:
        """Refuse new turns, give the running ones time to end until ``hurry`` is set, release the rest for the next
        process. Turns that wait stay in the store.
        """
        self.is_stopping = True
        self.waiting.close()
        runs = list(self._runs.values())
        ended = asyncio.gather(*(run.settled.wait() for run in runs))
        await _wait_first(ended, hurry, self._settings.stop_seconds)
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
                consents=SessionConsents(pending.handle.store, pending.handle.session.id),
                settings=self._settings,
            )
        return step_buffer

    async def _save_file_once_stored(self, pending: PendingTurn, file: StepFile) -> None:
        await pending.is_stored.wait()  # files belong to a stored session; a new one is stored with its query
        store = pending.handle.store
        await patiently(lambda: self._save_file(pending.handle, file), store.patience_seconds)

    def _new_run(self, pending: PendingTurn, turn: TurnRecord, step_buffer: StepBuffer) -> TurnRun:
        return TurnRun(
            turn,
            step_buffer,
            store=pending.handle.store,
            bus=self._bus,
            settings=self._settings,
            limit_seconds=self._limit_seconds(pending.handle),
            is_private=not pending.handle.session.can_log,
        )

    def _limit_seconds(self, handle: SessionHandle) -> float:
        """How long a turn may run: longer with more input, so that large logs are read to their end."""
        files, settings = handle.session.files, self._settings
        counted = sum(max(file.size, unpacked_bytes(file.size, handle.files.source(file))) for file in files)
        return turn_limit(settings.turn_seconds, settings.turn_seconds_per_gib, settings.max_turn_seconds, counted)

    def _start(self, pending: PendingTurn, run: TurnRun) -> None:
        pending.is_stored.set()
        run.step_buffer.start(partial(self._open_steps, pending, run.step_buffer.stop_request))
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
        self._start_waiting()
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
            self.histories.put(pending.handle.session, run.last_seq, history)

    async def _read_history(self, handle: SessionHandle) -> History:
        if not handle.session.turns:
            return History()
        store, limit = handle.store, self._settings.max_history_bytes
        return history_of(await patiently(lambda: store.exchanges(handle.session.id, limit), store.patience_seconds))

    async def _open_steps(self, pending: PendingTurn, stop: StopRequest) -> AsyncIterator[Step | Answer]:
        handle, session = pending.handle, pending.handle.session
        PAYER.set(pending.use.payer if pending.use is not None else Payer(session.user_id))
        STOP.set(stop)
        TURN_END.set(asyncio.get_running_loop().time() + self._limit_seconds(handle) * JOBS_SHARE)
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
                source=handle.files.source(file),
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
            disabled_tools=frozenset(one.name for one in session.model.toolsets if not one.is_enabled),
            local_tools=pending.local_calls,
        )
        return self._assistant.answer(turn)


def _end_use(pending: PendingTurn) -> None:
    if pending.use is not None:
        pending.use.end()


def _note_failure(beginning: asyncio.Task[tuple[TurnStart, TurnRun | None]]) -> None:
    """A turn did not begin after its client had gone: a refusal is nobody's concern any more, a bug is."""
    error = None if beginning.cancelled() else beginning.exception()
    if error is not None and not isinstance(error, ServiceError):
        internal_error(error)


def _wait_notice(running: int, waiting: int) -> str:
    """The message to a client whose turn cannot run yet (docs/wire.md, "Turns")."""
    before = f"; {waiting} {'question waits' if waiting == 1 else 'questions wait'} before this one" if waiting else ""
    return f"{WAIT_NOTICE}: {running} {'answer is' if running == 1 else 'answers are'} being worked on{before}"


def _is_wait_notice(message: Message) -> bool:
    return message.message_type == MessageType.INFO and (message.content or "").startswith(WAIT_NOTICE)


async def _wait_first(done: asyncio.Future[list[Literal[True]]], hurry: asyncio.Event, seconds: float) -> None:
    """Return once ``done`` is, ``hurry`` is set, or the time is over; ``done`` is cancelled then."""
    hurried = asyncio.ensure_future(hurry.wait())
    both: list[asyncio.Future[list[Literal[True]]] | asyncio.Future[Literal[True]]] = [done, hurried]
    await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for future in both:
        future.cancel()
    await asyncio.wait(both)
    if not done.cancelled():
        done.exception()  # of a gathering that was cancelled: it would be logged as one that nobody looked at


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
