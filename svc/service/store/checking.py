"""Prove a database: what a history may not be, whichever store it is read from. Pure.

A reader of the store gives the rows; the rules are those that ``store`` promises and clients rely on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import msgspec

from svc.messages import Message, MessageType, Role
from svc.service.store.records import TurnState

_DECODER = msgspec.json.Decoder(Message)


class CheckedSession(msgspec.Struct, frozen=True):
    """A session's counts, as they are stored. ``last_seq`` -1: its content was erased."""

    number: int
    id: str
    last_seq: int
    turns: int


class CheckedTurn(msgspec.Struct, frozen=True):
    """A turn, as it is stored."""

    number: int
    id: str
    query_id: str
    query_seq: int
    state: str


class CheckedMessage(msgspec.Struct, frozen=True):
    """A message's row: its place, its turn, and the body."""

    seq: int
    turn_number: int
    id: str
    body: bytes


class CheckedFile(msgspec.Struct, frozen=True):
    """A file of a session, and the size of its bytes; None if they are not there."""

    session_id: str
    id: str
    name: str
    size: int
    stored_size: int | None


StoredSizes = Callable[[str], int | None]
"""The size of a stored file, by its id; None if it is not there."""


class CheckableStore(Protocol):
    """What is read of a store, in one snapshot of it."""

    def sessions(self) -> Iterable[CheckedSession]:
        """All sessions."""
        ...

    def turns(self, session: CheckedSession) -> Sequence[CheckedTurn]:
        """The session's turns, in their order."""
        ...

    def messages(self, session: CheckedSession) -> Iterable[CheckedMessage]:
        """The session's messages, in the order of ``seq``."""
        ...

    def files(self) -> Iterable[CheckedFile]:
        """The files of all sessions."""
        ...

    def strays(self) -> Iterable[str]:
        """What belongs to no session, and what the database itself finds wrong with its pages."""
        ...


class Checked:
    """What was counted, and the problems found, as they are found."""

    def __init__(self) -> None:
        self.sessions: int = 0
        self.turns: int = 0
        self.messages: int = 0
        self.files: int = 0
        self.problems: int = 0

    def run(self, store: CheckableStore) -> Iterator[str]:
        """Check everything; yield one line for each problem."""
        for line in self._lines(store):
            self.problems += 1
            yield line

    def _lines(self, store: CheckableStore) -> Iterator[str]:
        yield from store.strays()
        for session in store.sessions():
            self.sessions += 1
            turns = store.turns(session)
            self.turns += len(turns)
            history = _History(session, turns)
            for row in store.messages(session):
                self.messages += 1
                yield from history.add(row)
            yield from history.end()
        for file in store.files():
            self.files += 1
            if file.stored_size is None:
                yield f"session {file.session_id}: the content of the file {file.name!r} ({file.id}) is missing"
            elif file.stored_size != file.size:
                yield (
                    f"session {file.session_id}: the file {file.name!r} ({file.id}) has {file.stored_size:,} bytes; "
                    f"{file.size:,} were stored"
                )


class _TurnSeen:
    """What the messages of a turn showed so far."""

    def __init__(self) -> None:
        self.results = 0
        self.end: Message | None = None
        self.groups: list[str] = []
        self.has_query = False


class _History:
    """One session's messages against its counts and turns."""

    def __init__(self, session: CheckedSession, turns: Sequence[CheckedTurn]) -> None:
        self._session = session
        self._turns = {turn.number: turn for turn in turns}
        self._seen = {turn.number: _TurnSeen() for turn in turns}
        self._queries: Counter[str] = Counter(turn.query_id for turn in turns)
        self._seq = 0

    def add(self, row: CheckedMessage) -> Iterator[str]:
        """Check the next message."""
        if row.seq != self._seq + 1:
            yield self._line(f"message {self._seq + 1} is missing before message {row.seq}")
        self._seq = row.seq
        try:
            message = _DECODER.decode(row.body)
        except msgspec.MsgspecError as error:
            yield self._line(f"message {row.seq} is not a message: {error}")
            return
        turn = self._turns.get(row.turn_number)
        if (message.seq, message.id) != (row.seq, row.id):
            yield self._line(f"message {row.seq} says that it is message {message.seq} with the id {message.id}")
        if turn is None:
            yield self._line(f"message {row.seq} belongs to no turn of the session")
        elif message.turn != turn.id:
            yield self._line(f"message {row.seq} is stored in turn {turn.id} and says {message.turn}")
        else:
            yield from self._in_turn(turn, row.seq, message)

    def _in_turn(self, turn: CheckedTurn, seq: int, message: Message) -> Iterator[str]:
        seen = self._seen[turn.number]
        if message.message_type == MessageType.QUERY:
            seen.has_query = True
            if (turn.query_seq, turn.query_id) != (seq, message.id):
                yield self._line(f"the query of turn {turn.id} is message {turn.query_seq}, and message {seq} is one")
            return
        if not seen.has_query:
            yield self._line(f"message {seq} of turn {turn.id} comes before its query")
        if seen.end is not None:
            yield self._line(f"message {seq} comes after the end of turn {turn.id}")
        if message.message_type == MessageType.RESULT:
            seen.results += 1
            if seen.results > 1:
                yield self._line(f"turn {turn.id} has a second result, message {seq}")
        if message.role == Role.USER:  # an answer to a tool's question has a group of its own
            return
        if message.group and message.group in seen.groups[:-1]:
            yield self._line(f"message {seq} is of an earlier run of turn {turn.id} than the message before it")
        elif message.group and message.group not in seen.groups:
            seen.groups.append(message.group)
        if message.ends_turn:
            seen.end = message

    def end(self) -> Iterator[str]:
        """Check what the session says about all its messages."""
        last = max(self._session.last_seq, 0)
        if self._seq != last:
            yield self._line(f"the last message is {self._seq}, and the session counts {last}")
        if self._session.last_seq >= 0 and len(self._turns) != self._session.turns:
            yield self._line(f"there are {len(self._turns)} turns, and the session counts {self._session.turns}")
        for query, count in self._queries.items():
            if count > 1:
                yield self._line(f"the query {query} was run in {count} turns")
        running = [turn.id for turn in self._turns.values() if turn.state == TurnState.RUNNING]
        if len(running) > 1:
            yield self._line(f"{len(running)} turns run at the same time: {', '.join(running)}")
        for turn in self._turns.values():
            yield from self._end_of(turn, self._seen[turn.number])

    def _end_of(self, turn: CheckedTurn, seen: _TurnSeen) -> Iterator[str]:
        if not seen.has_query:
            yield self._line(f"turn {turn.id} has no query")
        if turn.state == TurnState.RUNNING:
            if seen.end is not None:
                yield self._line(f"turn {turn.id} has ended with message {seen.end.seq}, and is stored as running")
            return
        if seen.end is None:
            yield self._line(f"turn {turn.id} is {turn.state}, and its end is missing")
            return
        is_answered = seen.end.message_type != MessageType.ERROR
        if is_answered != (turn.state == TurnState.ANSWERED):
            yield self._line(f"turn {turn.id} is stored as {turn.state} and ends with {seen.end.message_type.value}")
        if is_answered and not seen.results:
            yield self._line(f"turn {turn.id} is {turn.state}, and its result is missing")

    def _line(self, problem: str) -> str:
        return f"session {self._session.id}: {problem}"
