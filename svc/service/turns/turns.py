"""Turns of all sessions: a query is admitted and started once; a turn is cancelled, waited for, taken up again.

Decides which turns run; how one runs is in ``turn_run.py``. A turn runs to its end whether or not anybody reads it.

Where a session's history is in memory, the assistant begins before the query is stored: what it says at once goes into
the query's commit. Nobody is told of anything before that; where the query is refused, nothing was ever said. A query
that kills the process so early is not known after the restart; but then nothing is in memory, so the same query is
stored first when it comes again, and its deaths are counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from svc.assistant.turn import Answer, Assistant, Step, Turn, TurnFile
from svc.errors import ServiceError, SessionExpiredError, TurnCancelledError, UnavailableError
from svc.local_tools import LocalTool
from svc.messages import Message, new_id
from svc.service.bus import Bus
from svc.service.observability.failures import internal_error
from svc.service.observability.metrics import Metrics
from svc.service.sessions.session_stores import SessionHandle
from svc.service.settings import Settings
from svc.service.store import Store
from svc.service.store.records import FirstBatch, TurnRecord, TurnStart, TurnState
from svc.service.turns.history_cache import History, HistoryCache, history_of
from svc.service.turns.local_tool_calls import Consents, LocalToolCalls, nothing_waits
from svc.service.turns.message_builder import MessageBuilder
from svc.service.turns.step_buffer import Batch, StepBuffer
from svc.service.turns.turn_run import TurnRun

log = logging.getLogger("svc.turns")
AGAIN = "started again after a restart"  # the wire of a turn whose process died

Spend = Callable[[int], None]
Exchanges = Sequence[tuple[Message, Sequence[Message]]]  # a query and what answered it
KeepText = Callable[[SessionHandle, str, bytes], Awaitable[str]]


class Begin(Protocol):
    """Stores a query and takes its turn, with the first batch where it can."""

    async def __call__(self, query: Message, *, owner: str, first_batch: FirstBatch | None = None) -> TurnStart:
        """As the store's ``begin_turn`` and ``begin_session``."""
        ...


class PendingTurn:
    """A query while its turn begins and runs. ``history`` is what was said up to ``after_seq``; None: to be read.

    ``is_remembered``: whether the history is worth keeping for a next query.
    """

    def __init__(
        self,
        handle: SessionHandle,
        query: Message,
        *,
        after_seq: int = 0,
        history: History | None = None,
        is_remembered: bool = True,
        spend: Spend | None = None,
        local_tools: Sequence[LocalTool] = (),
    ) -> None:
        self.handle = handle
        self.query = query
        self.after_seq = after_seq
        self.history = history
        self.is_remembered = is_remembered
        self.spend = spend
        self.local_tools = local_tools
        self.local_calls: LocalToolCalls | None = None
        self.is_stored = asyncio.Event()


class Turns:
    """Starts turns and knows those that run in this process."""

    def __init__(
        self,
        assistant: Assistant,
        *,
        bus: Bus,
        settings: Settings,
        clock: Callable[[], float],
        keep: KeepText,
        metrics: Metrics,
    ) -> None:
        self._assistant = assistant
        self._bus = bus
        self._settings = settings
        self._clock = clock
        self._keep = keep
        self._metrics = metrics
        self.histories = HistoryCache(
            limit_bytes=settings.history_cache_bytes, history_bytes=settings.max_history_bytes
        )
        self.consents = Consents()
        self.owner = new_id()  # whose leases are this process's
        self._runs: dict[str, TurnRun] = {}
        self._calls: dict[str, LocalToolCalls] = {}  # of the turns that run, where there may be some
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_stopping = False  # then queries are refused, and running turns have their time to end

    @property
    def running(self) -> list[str]:
        """The ids of the sessions that have a turn running."""
        return list(self._runs)

    async def ask(
        self, handle: SessionHandle, query: Message, *, spend: Spend, local_tools: Sequence[LocalTool] = ()
    ) -> TurnStart:
        """Store the query and start its turn, or find the turn that this query's id made before.

        Once stored it is started, even where the caller goes away meanwhile.
        """
        history, after_seq = self.histories.find(handle.session), handle.session.last_seq
        ask = PendingTurn(handle, query, after_seq=after_seq, history=history, spend=spend, local_tools=local_tools)
        if tuple(local_tools) != handle.session.local_tools and not handle.session.is_running:
            await handle.store.keep_local_tools(handle.session.id, local_tools)
        begun, _ = await self._admit(ask, partial(handle.store.begin_turn, handle.session.id))
        return begun

    async def open(self, handle: SessionHandle, exchanges: Exchanges, query: Message, *, spend: Spend) -> list[Message]:
        """Store a new session, what was said in it elsewhere, and its first query; the last messages of its turn."""
        said = [message for asked, answers in exchanges for message in (asked, *answers)]
        ask = PendingTurn(
            handle, query, after_seq=len(said), history=history_of(said), is_remembered=False, spend=spend
        )  # few of such sessions are asked again
        begun, run = await self._admit(ask, partial(handle.store.begin_session, handle.session, exchanges))
        if run is not None:
            await run.done.wait()
            if run.turn_end:
                return run.turn_end
        return await handle.store.turn_messages(await self.wait(handle.store, begun.turn))

    async def _admit(self, ask: PendingTurn, begin: Begin) -> tuple[TurnStart, TurnRun | None]:
        if self.is_stopping:
            raise UnavailableError("the service is stopping; ask again in some seconds", retry_after=5)
        return await asyncio.shield(asyncio.create_task(self._begin(ask, begin)))

    async def _begin(self, ask: PendingTurn, begin: Begin) -> tuple[TurnStart, TurnRun | None]:
        ask.query.turn = ask.query.turn or new_id()
        step_buffer = self._production(ask)
        batch = Batch([], [], None)
        if await self._may_begin_ahead(ask):
            step_buffer.start(partial(self._steps, ask))
            await asyncio.sleep(0)  # the assistant's first turn of the loop
            batch = step_buffer.take()
        first_batch = FirstBatch(after_seq=ask.after_seq, messages=batch.messages, turn_end=batch.turn_end)
        begun = None
        try:
            begun = await begin(ask.query, owner=self.owner, first_batch=first_batch)
        finally:
            if begun is None or not begun.is_first_batch_stored:
                await step_buffer.let_go()
        if not begun.is_new:
            return begun, None
        if not begun.is_first_batch_stored:  # something was stored between the reading of the session and the query
            ask.history, step_buffer, batch = None, self._production(ask), Batch([], [], None)
        run = self._run_of(ask, begun.turn, step_buffer)
        run.tell(batch, begun.stored)
        self._start(ask, run)
        return begun, run

    async def _may_begin_ahead(self, ask: PendingTurn) -> bool:
        """Whether nothing speaks against the query so far, and what was said before it is known."""
        session = ask.handle.session
        if ask.history is None or session.is_running or session.id in self._runs:
            return False
        return not session.turns or not await ask.handle.store.is_asked(session.id, ask.query.id)

    def answer(self, session_id: str, message: Message) -> None:
        """Take what the client answers to a turn's question; raises InvalidRequestError where nothing waits for it."""
        calls = self._calls.get(session_id)
        if calls is None:
            raise nothing_waits(message)
        calls.answer(message)

    async def wait(self, store: Store, turn: TurnRecord) -> TurnRecord:
        """The turn when it has ended; raises UnavailableError where the service stops before."""
        if (run := self._runs.get(turn.session_id)) is not None and run.turn.id == turn.id:
            await run.done.wait()
        now = await store.turn(turn.session_id, turn.id)
        if now is None:
            raise TurnCancelledError("the session was deleted while the turn ran")
        if now.state == TurnState.RUNNING:
            raise UnavailableError(
                "the service stopped before the turn's end; ask again with the same id", retry_after=5
            )
        return now

    async def stop(self, session_id: str, error: ServiceError, *, turn_id: str | None = None) -> bool:
        """End the session's running turn with this error; False where none (of that id) runs."""
        run = self._runs.get(session_id)
        if run is None or (turn_id and run.turn.id != turn_id):
            return False
        run.stop(error)
        await run.done.wait()
        return True

    async def recover(self, store: Store, find: Callable[[str], Awaitable[SessionHandle | None]]) -> None:
        """Run the turns again whose process died, each once; end those that died twice."""
        for turn in await store.take_orphans(owner=self.owner):
            handle = await find(turn.session_id)
            messages = await store.turn_messages(turn)
            if handle is None or not messages:
                continue
            ask = PendingTurn(handle, messages[0], local_tools=handle.session.local_tools)
            run = self._run_of(ask, turn, self._production(ask))
            if turn.attempts > self._settings.max_turn_attempts:
                fault = internal_error(RuntimeError("a turn's process died twice"), turn=turn.id)
                await self._end(run, fault)
            elif self._clock() >= handle.session.expire_time:
                await self._end(run, SessionExpiredError("the session expired while the turn ran"))
            else:
                log.info("turn taken up", extra={"turn": turn.id, "attempt": turn.attempts})
                run.step_buffer.say(AGAIN)
                self._start(ask, run)

    async def _end(self, run: TurnRun, error: ServiceError) -> None:
        run.stop(error)
        await run.run()

    async def close(self) -> None:
        """Admit nothing more, give running turns their time, hand back the rest."""
        self.is_stopping = True
        waiting = [asyncio.create_task(run.done.wait()) for run in self._runs.values()]
        if waiting:
            await asyncio.wait(waiting, timeout=self._settings.stop_seconds)
        for task in waiting:
            task.cancel()
        for run in list(self._runs.values()):
            log.info("turn handed back", extra={"turn": run.turn.id})
            run.release()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._settings.stop_seconds)

    def _production(self, ask: PendingTurn) -> StepBuffer:
        step_buffer = StepBuffer(
            MessageBuilder(ask.query, self._settings),
            settings=self._settings,
            clock=self._clock,
            keep=partial(self._keep_once_stored, ask),
        )
        if ask.local_tools:
            ask.local_calls = LocalToolCalls(
                ask.local_tools,
                step_buffer,
                session_id=ask.handle.session.id,
                consents=self.consents,
                settings=self._settings,
            )
        return step_buffer

    async def _keep_once_stored(self, ask: PendingTurn, name: str, data: bytes) -> str:
        await ask.is_stored.wait()  # a session may be stored with its query
        return await self._keep(ask.handle, name, data)

    def _run_of(self, ask: PendingTurn, turn: TurnRecord, step_buffer: StepBuffer) -> TurnRun:
        return TurnRun(turn, step_buffer, store=ask.handle.store, bus=self._bus, settings=self._settings)

    def _start(self, ask: PendingTurn, run: TurnRun) -> None:
        ask.is_stored.set()
        run.step_buffer.start(partial(self._steps, ask))
        if not run.done.is_set():
            self._runs[run.turn.session_id] = run
            if ask.local_calls is not None:
                self._calls[run.turn.session_id] = ask.local_calls
        task = asyncio.create_task(self._supervise(ask, run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _supervise(self, ask: PendingTurn, run: TurnRun) -> None:
        try:
            if run.done.is_set():
                await asyncio.sleep(0)  # first let its readers have it
            else:
                await run.run()
        except Exception as error:  # noqa: BLE001  # a turn's fault must not take others with it
            internal_error(error, turn=run.turn.id)
        finally:
            self._forget(ask, run)
            await run.step_buffer.let_go()

    def _forget(self, ask: PendingTurn, run: TurnRun) -> None:
        if self._runs.get(run.turn.session_id) is run:
            del self._runs[run.turn.session_id]
            self._calls.pop(run.turn.session_id, None)
        self._remember(ask, run)
        seconds = self._clock() - ask.query.created_at
        tokens = run.step_buffer.usage.total_tokens
        self._metrics.turn_ended(run.outcome, seconds, messages=run.stored, tokens=tokens)
        if ask.spend is not None:
            ask.spend(tokens)

    def _remember(self, ask: PendingTurn, run: TurnRun) -> None:
        if not ask.is_remembered:
            return
        history = None
        if run.last_seq is not None and ask.history is not None:
            history = run.step_buffer.add_to(ask.history)
        if run.last_seq is None or history is None:
            self.histories.forget([run.turn.session_id])
        else:
            self.histories.keep(run.turn.session_id, run.last_seq, history)

    async def _read_history(self, handle: SessionHandle) -> History:
        if not handle.session.turns:
            return History()
        return history_of(await handle.store.exchanges(handle.session.id, self._settings.max_history_bytes))

    async def _steps(self, ask: PendingTurn) -> AsyncIterator[Step | Answer]:
        handle, session = ask.handle, ask.handle.session
        if ask.history is None:
            ask.history = await self._read_history(ask.handle)
        history = ask.history
        files = [
            TurnFile(
                name=file.name,
                size=file.size,
                sha256=file.sha256,
                mime_type=file.mime_type,
                label=file.label,
                source=handle.files.source(file.id),
                is_new=file.attached > history.asked,
            )
            for file in session.files
        ]
        turn = Turn(
            session_id=session.id,
            prompt=ask.query.content or "",
            files=tuple(files),
            history=history.exchanges,
            instructions=session.instructions,
            language=session.language,
            model=session.model.model_string,
            use_experimental=session.model.use_experimental,
            local_tools=ask.local_calls,
        )
        return self._assistant.answer(turn)


def cancelled() -> TurnCancelledError:
    """What ends a turn that the client cancelled."""
    return TurnCancelledError("the turn was cancelled by the client")


def deleted() -> TurnCancelledError:
    """What ends a turn whose session is deleted."""
    return TurnCancelledError("the turn was cancelled: its session was deleted")
