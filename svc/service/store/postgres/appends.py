"""Appends of all turns of this process in one statement at a time: what arrives during a commit shares the next one.

The statement moves each session's ``last_seq`` only if turn, fence and ``last_seq`` are still those that the batch was
made for, so a process that lost the turn adds nothing, and a statement that is sent twice counts once. That settles a
commit whose answer was lost: it is sent again, and if it changes nothing, the ids of the messages at these seqs say
whether they are ours.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from svc.errors import UnavailableError
from svc.messages import Message
from svc.service.store.postgres.links import FAILURES, Links, is_away, is_conflict, store_error
from svc.service.store.records import LeaseLostError, StoredMessage, TurnEnd, TurnRecord
from svc.service.store.turn_rows import add_usage

log: logging.Logger = logging.getLogger("svc.store")
MAX_GROUP = 512  # appends per statement: limits how long the first one waits
RETRY_SECONDS = 0.2  # between attempts to reach the server
_ENCODER = msgspec.json.Encoder()

_APPEND = """
WITH job AS (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[],
    $8::double precision[], $9::text[])
    AS job (session_number, turn_number, fence, after_seq, count, size, state, ended, usage)
), moved AS (
  UPDATE sessions s SET
    last_seq = s.last_seq + job.count,
    bytes = s.bytes + job.size,
    running_turn = CASE WHEN job.state = '' THEN s.running_turn ELSE 0 END,
    owner = CASE WHEN job.state = '' THEN s.owner ELSE '' END,
    usage = CASE WHEN job.state = '' THEN s.usage ELSE job.usage END,
    update_time = CASE WHEN job.state = '' THEN s.update_time ELSE trunc(job.ended)::bigint END
  FROM job
  WHERE s.number = job.session_number AND s.running_turn = job.turn_number AND s.fence = job.fence
    AND s.last_seq = job.after_seq
  RETURNING s.number
), ended AS (
  UPDATE turns t SET state = job.state, ended = job.ended
  FROM job JOIN moved ON moved.number = job.session_number
  WHERE job.state <> '' AND t.number = job.turn_number
), stored AS (
  INSERT INTO messages (session_number, seq, turn_number, message_type, id, body)
  SELECT m.* FROM unnest($10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::text[], $15::bytea[])
    AS m (session_number, seq, turn_number, message_type, id, body)
  JOIN moved ON moved.number = m.session_number
)
SELECT number FROM moved
"""
_PLACE = "SELECT number, last_seq, usage FROM sessions WHERE running_turn = $1 AND fence = $2 AND id = $3"
_LOOK = "SELECT running_turn, fence, last_seq, usage FROM sessions WHERE number = $1"
_IDS = "SELECT id FROM messages WHERE session_number = $1 AND seq > $2 ORDER BY seq LIMIT $3"


class Place(msgspec.Struct):
    """Where a turn's next message goes, as far as this process knows. ``usage`` is that of the turns before."""

    session_number: int
    last_seq: int
    usage: str


class _Append:
    """An append and its caller's future."""

    def __init__(self, turn: TurnRecord, messages: Sequence[Message], turn_end: TurnEnd | None) -> None:
        self.turn = turn
        self.messages = messages
        self.turn_end = turn_end
        self.future: asyncio.Future[list[StoredMessage]] = asyncio.get_running_loop().create_future()

    def fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class _Row:
    """The appends of one turn in a group, in order."""

    def __init__(self, place: Place, jobs: list[_Append]) -> None:
        self.place = place
        self.jobs = jobs
        self.turn = jobs[0].turn
        self.turn_end = jobs[-1].turn_end
        self.messages = [message for job in jobs for message in job.messages]
        self.stored: list[StoredMessage] = []  # those of ``messages`` that were found to be stored
        self.waiting: list[StoredMessage] = []  # the others, encoded

    def encode(self) -> None:
        """Give the messages that are not stored yet their places."""
        self.waiting = []
        for seq, message in enumerate(self.messages[len(self.stored) :], self.place.last_seq + 1):
            message.seq, message.turn = seq, self.turn.id
            self.waiting.append(StoredMessage(seq, _ENCODER.encode(message)))

    def values(self) -> tuple[object, ...]:
        """The row of ``job`` in the statement."""
        size = sum(len(message.body) for message in self.waiting)
        place, turn_end = self.place, self.turn_end
        ends = ("", 0.0, "") if turn_end is None else _end_values(place, turn_end)
        return (
            place.session_number, self.turn.number, self.turn.fence, place.last_seq, len(self.waiting), size, *ends
        )  # fmt: skip

    def message_columns(self) -> tuple[Sequence[object], ...]:
        """The columns of its ``messages`` in the statement."""
        rest = self.messages[len(self.stored) :]
        return (
            [self.place.session_number] * len(rest),
            [one.seq for one in self.waiting],
            [self.turn.number] * len(rest),
            [message.message_type for message in rest],
            [message.id for message in rest],
            [one.body for one in self.waiting],
        )

    def resolve(self) -> None:
        """Give every caller its messages."""
        everything = [*self.stored, *self.waiting]
        for job in self.jobs:
            count = len(job.messages)
            if not job.future.done():
                job.future.set_result(everything[:count])
            everything = everything[count:]

    def fail(self, error: BaseException) -> None:
        """Give every caller the error."""
        for job in self.jobs:
            job.fail(error)


class Appends:
    """Stores the messages of running turns. ``start`` it in the event loop that uses it.

    ``patience_seconds``: for how long an append waits for a server that is out of reach. ``in_doubt`` counts those
    whose answer was lost, so that nobody knew whether they were stored.
    """

    def __init__(self, links: Links, patience_seconds: float) -> None:
        self.patience_seconds = patience_seconds
        self.in_doubt: int = 0
        self._links = links
        self._jobs: list[_Append] = []
        self._wake = asyncio.Event()
        self._places: dict[tuple[int, int], Place] = {}  # by the number and fence of the turn
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self._is_away = False  # the server was not reached for ``patience_seconds``

    def know(self, turn: TurnRecord, place: Place) -> None:
        """Remember where the turn's next message goes."""
        self._places[turn.number, turn.fence] = place

    def forget(self, turn: TurnRecord) -> None:
        """The turn is no longer this process's."""
        self._places.pop((turn.number, turn.fence), None)

    def start(self) -> None:
        """Begin to take appends."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Finish accepted appends."""
        self._is_closed = True
        self._wake.set()
        if self._task is not None:
            await self._task
        await self._links.close()

    async def append(
        self, turn: TurnRecord, messages: Sequence[Message], turn_end: TurnEnd | None
    ) -> list[StoredMessage]:
        """Store messages of a turn; as ``Store.append``."""
        if self._is_closed or self._task is None:
            raise UnavailableError("the service is stopping; try again in a few seconds", retry_after=5)
        job = _Append(turn, messages, turn_end)
        self._jobs.append(job)
        self._wake.set()
        return await job.future

    async def _run(self) -> None:
        while self._jobs or not self._is_closed:
            await self._wake.wait()
            group, self._jobs = self._jobs[:MAX_GROUP], self._jobs[MAX_GROUP:]
            if not self._jobs and not self._is_closed:
                self._wake.clear()
            try:
                await self._store(group)
            except Exception as error:  # noqa: BLE001  # anyone who waits for this group must get a result
                failure = store_error(error) if isinstance(error, FAILURES) else error
                for job in group:
                    job.fail(failure)

    async def _store(self, group: list[_Append]) -> None:
        by_turn: dict[tuple[int, int], list[_Append]] = {}
        for job in group:
            by_turn.setdefault((job.turn.number, job.turn.fence), []).append(job)
        rows = []
        for jobs in by_turn.values():
            place = await self._place_of(jobs[0].turn)
            if place is None:
                _refuse(jobs)
                continue
            ends = next((n for n, job in enumerate(jobs, 1) if job.turn_end is not None), len(jobs))
            _refuse(jobs[ends:])  # nothing comes after the end
            rows.append(_Row(place, jobs[:ends]))
        await self._commit(rows)

    async def _place_of(self, turn: TurnRecord) -> Place | None:
        """Where the turn goes on; None if this process does not hold it."""
        key = turn.number, turn.fence
        if key not in self._places:
            row = await self._patiently(
                lambda c: c.fetchrow(_PLACE, turn.number, turn.fence, turn.session_id), is_repeatable=True
            )
            if row is None:
                return None
            self._places[key] = Place(*row)
        return self._places[key]

    async def _commit(self, rows: list[_Row]) -> None:
        """Store the rows; those that did not move are looked at, and sent again if they may be."""
        while rows:
            for row in rows:
                row.encode()
            rows.sort(key=lambda row: row.place.session_number)  # two groups take the rows in the same order
            try:
                moved = await self._patiently(functools.partial(self._send, rows))
            except FAILURES as error:
                if is_away(error):
                    raise
                await self._commit_alone(rows, error)
                return
            numbers = {record[0] for record in moved}
            rest = []
            for row in rows:
                if row.place.session_number in numbers:
                    self._done(row)
                elif not await self._settle(row):
                    rest.append(row)
            rows = rest

    async def _send(self, rows: list[_Row], connection: Any) -> Any:  # noqa: ANN401  # asyncpg has no types
        try:
            return await connection.fetch(_APPEND, *_columns(rows))
        except FAILURES as error:
            if is_away(error):
                self.in_doubt += len(rows)
            raise

    async def _commit_alone(self, rows: list[_Row], error: BaseException) -> None:
        """One append of a group was refused by the database: the others are stored without it."""
        if len(rows) > 1:
            for row in rows:
                await self._commit([row])
        elif len(rows[0].jobs) > 1 and not rows[0].stored:
            for job in rows[0].jobs:
                if (place := await self._place_of(job.turn)) is None:
                    _refuse([job])
                else:
                    await self._commit([_Row(place, [job])])
        else:
            rows[0].fail(store_error(error) if is_full(error) else error)

    def _done(self, row: _Row) -> None:
        row.place.last_seq += len(row.waiting)
        if row.turn_end is not None:
            self.forget(row.turn)
        row.resolve()

    async def _settle(self, row: _Row) -> bool:
        """Find out why a row did not move; False if it is to be sent again."""
        place = row.place

        async def look(connection: Any) -> tuple[Any, list[str]]:  # noqa: ANN401  # asyncpg has no types
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                session = await connection.fetchrow(_LOOK, place.session_number)
                ids = await connection.fetch(_IDS, place.session_number, place.last_seq, len(row.waiting))
                return session, [record[0] for record in ids]

        session, ids = await self._patiently(look, is_repeatable=True)
        ours = [message.id for message in row.messages[len(row.stored) :]]
        known = len(ids) if ids == ours[: len(ids)] else 0  # a lost answer: these were stored
        if known:
            log.warning("append found stored", extra={"turn": row.turn.id, "messages": known})
        if ours and known == len(ours):
            self._done(row)
            return True
        if session is None or (session[0], session[1]) != (row.turn.number, row.turn.fence):
            self.forget(row.turn)
            _refuse(row.jobs)
            return True
        row.stored += row.waiting[:known]
        place.last_seq, place.usage = session[2], session[3]
        return False

    async def _patiently(self, operation: Any, *, is_repeatable: bool = False) -> Any:  # noqa: ANN401  # asyncpg has no types
        """Run an operation, again and again while the server is away."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.patience_seconds
        while True:
            try:
                result = await self._links.run(operation, is_repeatable=is_repeatable)
                self._is_away = False
                return result
            except FAILURES as error:
                is_over = loop.time() >= end or self._is_away or self._is_closed
                if not is_conflict(error) and (is_over or not is_away(error)):
                    self._is_away = is_away(error)
                    raise
                log.warning("append waits for the database", extra={"reason": type(error).__name__})
            await asyncio.sleep(RETRY_SECONDS)


def _end_values(place: Place, turn_end: TurnEnd) -> tuple[str, float, str]:
    return turn_end.state.value, turn_end.time, add_usage(place.usage, turn_end.usage)


def _columns(rows: Sequence[_Row]) -> list[list[object]]:
    """The statement's arrays."""
    jobs = [list(column) for column in zip(*(row.values() for row in rows), strict=True)]
    messages = zip(*(row.message_columns() for row in rows), strict=True)
    return [*jobs, *(list(itertools.chain.from_iterable(column)) for column in messages)]


def _refuse(jobs: Sequence[_Append]) -> None:
    for job in jobs:
        job.fail(LeaseLostError(f"another process holds turn {job.turn.id}, or it has ended"))


def is_full(error: BaseException) -> bool:
    """Whether the server has no room left."""
    return getattr(error, "sqlstate", "")[:2] == "53"
