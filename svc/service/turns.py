"""Turns of all sessions: a query is admitted and started once; a turn is cancelled, waited for, taken up again.

Decides which turns run; how one runs is in ``turn_run.py``. A turn runs to its end whether or not anybody reads it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

from svc.assistant.turn import Answer, Assistant, Step, Turn, TurnFile
from svc.errors import ServiceError, SessionExpiredError, TurnCancelledError, UnavailableError
from svc.messages import Message, MessageType, new_id
from svc.service.bus import Bus
from svc.service.failures import internal_error
from svc.service.metrics import Metrics
from svc.service.places import Place
from svc.service.settings import Settings
from svc.service.store import Begun, Said, Store, TurnRecord, TurnState
from svc.service.transcript import Transcript, exchanges_of
from svc.service.turn_run import TurnRun

log = logging.getLogger("svc.turns")
AGAIN = "started again after a restart"  # the wire of a turn whose process died

Spend = Callable[[int], None]
Reading = asyncio.Task[list[Said]]
READ_AHEAD_TURNS = 20  # a longer history would keep the interpreter from the thread that commits the query
Exchanges = Sequence[tuple[Message, Sequence[Message]]]  # a query and what answered it
KeepText = Callable[[Place, str, bytes], Awaitable[str]]


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
        self.owner = new_id()  # whose leases are this process's
        self._runs: dict[str, TurnRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_stopping = False  # then queries are refused, and running turns have their time to end

    @property
    def running(self) -> list[str]:
        """The ids of the sessions that have a turn running."""
        return list(self._runs)

    async def ask(self, place: Place, query: Message, *, spend: Spend) -> Begun:
        """Store the query and start its turn, or find the turn that this query's id made before.

        Once stored it is started, even where the caller goes away meanwhile.
        """
        begin = partial(place.store.begin_turn, place.session.id, query, owner=self.owner)
        return await self._admit(place, query, begin, spend)

    async def open(self, place: Place, exchanges: Exchanges, query: Message, *, spend: Spend) -> Begun:
        """Store a new session, what was said in it elsewhere, and its first query, in one commit; start the turn."""
        begin = partial(place.store.begin_session, place.session, exchanges, query, owner=self.owner)
        return await self._admit(place, query, begin, spend)

    async def _admit(self, place: Place, query: Message, begin: Callable[[], Awaitable[Begun]], spend: Spend) -> Begun:
        if self.is_stopping:
            raise UnavailableError("the service is stopping; ask again in some seconds", retry_after=5)
        return await asyncio.shield(asyncio.create_task(self._begin(place, query, begin, spend)))

    async def _begin(self, place: Place, query: Message, begin: Callable[[], Awaitable[Begun]], spend: Spend) -> Begun:
        earlier = self._read_ahead(place)
        try:
            begun = await begin()
        except BaseException:
            _drop(earlier)
            raise
        if not begun.is_new or begun.turn.query_seq != place.session.last_seq + 1:
            _drop(earlier)  # something was stored between the reading and the query
            earlier = None
        if begun.is_new:
            self._bus.tell(place.session.id, begun.stored)
            self._start(place, begun.turn, query, earlier=earlier, spend=spend)
        return begun

    def _read_ahead(self, place: Place) -> Reading | None:
        """What was said in the session before, read while the query is being stored."""
        if not (0 < place.session.turns <= READ_AHEAD_TURNS and place.session.last_seq):
            return None
        return asyncio.create_task(place.store.exchanges(place.session.id, self._settings.max_history_bytes))

    async def ending(self, store: Store, turn: TurnRecord) -> list[Message]:
        """The last messages of the turn, at least those that end it, once they are stored; raises as ``wait`` does."""
        run = self._runs.get(turn.session_id)
        if run is not None and run.turn.id == turn.id:
            await run.done.wait()
            if run.ending:
                return run.ending
        return await store.turn_messages(await self.wait(store, turn))

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

    async def take_up(self, store: Store, find: Callable[[str], Awaitable[Place | None]]) -> None:
        """Run the turns again whose process died, each once; end those that died twice."""
        for turn in await store.take_orphans(owner=self.owner):
            place = await find(turn.session_id)
            messages = await store.turn_messages(turn)
            if place is None or not messages:
                continue
            if turn.attempts > self._settings.max_turn_attempts:
                fault = internal_error(RuntimeError("a turn's process died twice"), turn=turn.id)
                await self._end(place, turn, messages[0], fault)
            elif self._clock() >= place.session.expire_time:
                await self._end(place, turn, messages[0], SessionExpiredError("the session expired while the turn ran"))
            else:
                log.info("turn taken up", extra={"turn": turn.id, "attempt": turn.attempts})
                self._start(place, turn, messages[0], first=AGAIN)

    async def _end(self, place: Place, turn: TurnRecord, query: Message, error: ServiceError) -> None:
        run = self._run_of(place, turn, query)
        run.stop(error)
        await run.run(partial(self._steps, place, query))

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
            run.hand_back()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._settings.stop_seconds)

    def _run_of(self, place: Place, turn: TurnRecord, query: Message) -> TurnRun:
        transcript = Transcript(query, self._settings)
        return TurnRun(
            turn,
            transcript,
            store=place.store,
            bus=self._bus,
            settings=self._settings,
            clock=self._clock,
            keep=partial(self._keep, place),
        )

    def _start(
        self,
        place: Place,
        turn: TurnRecord,
        query: Message,
        *,
        earlier: Reading | None = None,
        first: str | None = None,
        spend: Spend | None = None,
    ) -> None:
        query.turn = turn.id
        run = self._run_of(place, turn, query)
        self._runs[turn.session_id] = run
        task = asyncio.create_task(self._supervise(run, partial(self._steps, place, query, earlier), first, spend))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _supervise(
        self,
        run: TurnRun,
        work: Callable[[], Awaitable[AsyncIterator[Step | Answer]]],
        first: str | None,
        spend: Spend | None,
    ) -> None:
        forget = asyncio.create_task(self._forget_when_done(run, spend))
        try:
            await run.run(work, first=first)
        except Exception as error:  # noqa: BLE001  # a turn's fault must not take others with it
            internal_error(error, turn=run.turn.id)
        finally:
            await forget

    async def _forget_when_done(self, run: TurnRun, spend: Spend | None) -> None:
        await run.done.wait()
        if self._runs.get(run.turn.session_id) is run:
            del self._runs[run.turn.session_id]
        seconds = self._clock() - run.asked_at
        self._metrics.turn_ended(run.outcome, seconds, messages=run.stored, tokens=run.usage.total_tokens)
        if spend is not None:
            spend(run.usage.total_tokens)

    async def _steps(
        self, place: Place, query: Message, reading: Reading | None = None
    ) -> AsyncIterator[Step | Answer]:
        session = place.session
        earlier: list[Said] = []
        if reading is not None:
            earlier = await reading
        elif session.turns:
            earlier = await place.store.exchanges(session.id, self._settings.max_history_bytes)
        asked = max((message.created_at for message in earlier if message.message_type == MessageType.QUERY), default=0)
        files = [
            TurnFile(
                name=file.name,
                size=file.size,
                sha256=file.sha256,
                mime_type=file.mime_type,
                label=file.label,
                source=place.files.source(file.id),
                is_new=file.attached > asked,
            )
            for file in session.files
        ]
        turn = Turn(
            session_id=session.id,
            prompt=query.content or "",
            files=tuple(files),
            history=exchanges_of(earlier),
            instructions=session.instructions,
            language=session.language,
            model=session.model.model_string,
            use_experimental=session.model.use_experimental,
        )
        return self._assistant.answer(turn)


def _drop(reading: Reading | None) -> None:
    """Let go of a reading that nobody waits for; its failure is nobody's either."""
    if reading is not None:
        reading.cancel()
        reading.add_done_callback(lambda done: done.cancelled() or done.exception())


def cancelled() -> TurnCancelledError:
    """What ends a turn that the client cancelled."""
    return TurnCancelledError("the turn was cancelled by the client")


def deleted() -> TurnCancelledError:
    """What ends a turn whose session is deleted."""
    return TurnCancelledError("the turn was cancelled: its session was deleted")
