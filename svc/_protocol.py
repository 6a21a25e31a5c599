"""Decide what each frame of a stream means: frames in, steps and outgoing frames out. No I/O, no clock.

A turn may span any number of connections: ``after`` is always the last seq seen, the query is repeated with the same
id, and messages already seen are dropped. Facts: docs/wire.md, "Message" and "Websocket".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from svc._session_state import SeenMessages
from svc.errors import HistoryLostError, ProtocolError, SvcError, TooLargeError, TurnCancelledError, service_error
from svc.local_tools import LocalTool, build_query, build_result
from svc.messages import ROOT_ID, Message, MessageType, new_id

MAX_SENT_BYTES = 1_048_576  # docs/wire.md, "Limits": max_message_bytes
_BAD_JSON_SHOWN = 200  # characters


@dataclass(frozen=True)
class Deliver:
    """Pass a message of the turn to the caller."""

    message: Message


@dataclass(frozen=True)
class Ignore:
    """Drop the frame: seen before, of another turn, or the caller's own query."""


@dataclass(frozen=True)
class Reconnect:
    """Close this connection and open another with ``after``: the turn cannot continue on this one."""

    reason: str


@dataclass(frozen=True)
class Fail:
    """Raise: the turn ended in this error, or cannot be followed."""

    error: SvcError


Step = Deliver | Ignore | Reconnect | Fail


@dataclass(frozen=True)
class EarlierTurn:
    """A turn of this client whose end it did not read: it stopped at the RESULT, or cancelled."""

    turn: str
    is_cancelled: bool


class TurnProtocol:
    """One query and the messages of its turn, over any number of connections.

    Args:
        query: The question, with an id and a turn chosen by the client.
        after: The last seq known before it.
        earlier: A turn that may still be running; the query waits for its end instead of failing with
            ``turn_in_progress``.
        local_tools: Tools offered with the query; ``answer`` answers what the service asks about them.
        seen: The messages that were seen before, which are not delivered again.

    Raises:
        TooLargeError: The query does not fit into a frame.
    """

    def __init__(
        self,
        query: Message,
        after: int,
        earlier: EarlierTurn | None = None,
        *,
        local_tools: Sequence[LocalTool] = (),
        seen: SeenMessages | None = None,
    ) -> None:
        self.query = query
        self.turn = query.turn
        self.after = after
        self.was_sent = False
        self.has_answer = False  # whether the RESULT was delivered
        self.is_over = False  # whether the turn has ended
        self.progress = 0  # the number of messages that were not seen before
        self._seen = seen or SeenMessages()
        self._has_lost_history = False
        self._frame = _encode(build_query(query, local_tools))
        self._partial_answer = ""
        self._is_echoed = False
        self._is_held = False
        self._earlier = earlier
        self._earlier_has_ended = False
        self._cancel_ids: set[str] = set()
        self._answers: dict[str, Message] = {}  # by id: sent, but not yet seen in the history
        self._answer_ids: set[str] = set()
        self._outbox: list[str] = []
        self._new_messages: list[Message] = []
        if len(self._frame) > MAX_SENT_BYTES:
            raise TooLargeError(
                f"the question is {len(self._frame):,} bytes on the wire; the limit is {MAX_SENT_BYTES:,}. "
                "Attach the long part as a file and ask about it."
            )

    def connected(self) -> None:
        """A connection opened with ``after`` is ready: send the query, again if need be."""
        self._outbox.clear()
        self._is_held = False
        self.was_sent = True
        if self._earlier is not None and self._earlier.is_cancelled and not self._earlier_has_ended:
            self._outbox.append(self._cancel_frame(self._earlier.turn))
        self._outbox.append(self._frame.decode())
        self._outbox += [_encode(answer).decode() for answer in self._answers.values()]

    def answer(self, answer: Message) -> None:
        """Answer a request of the service; the frame is sent again after a lost connection."""
        self._answers[answer.id] = answer
        self._answer_ids.add(answer.id)
        self._outbox.append(_encode(answer).decode())

    def outgoing(self) -> list[str]:
        """Take the frames to send now."""
        frames, self._outbox = self._outbox, []
        return frames

    def new_messages(self) -> list[Message]:
        """Take the session's messages since the last call, of any turn, in order.

        After ``take_loss`` they begin with the first one of the session, and may have been seen before.
        """
        messages, self._new_messages = self._new_messages, []
        return messages

    def take_loss(self) -> bool:
        """Whether the history was lost since the last call."""
        is_lost, self._has_lost_history = self._has_lost_history, False
        return is_lost

    def cancel(self) -> None:
        """Ask the service to cancel this turn."""
        self._outbox.append(self._cancel_frame(self.turn))

    def receive(self, frame: str | bytes) -> Step:
        """Decide what to do about one frame."""
        try:
            message = msgspec.json.decode(frame, type=Message)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return Fail(ProtocolError(f"malformed message on the stream ({error}): {frame[:_BAD_JSON_SHOWN]!r}"))
        if message.seq == 0:
            return self._refused(message)
        if message.seq <= self.after:
            return self._seen_before(message)
        if message.seq > self.after + 1:
            return Reconnect(f"message {self.after + 1} is missing before {message.seq}")
        self.after = message.seq
        self._new_messages.append(message)
        is_new = message not in self._seen
        self.progress += is_new
        step = self._next(message)
        return step if is_new or not isinstance(step, Deliver) else Ignore()

    def lose_history(self) -> Step:
        """The service has fewer messages than were seen: read all of them on a new connection.

        If the answer was delivered, the turn is over. Its query would be run again, and answered a second time.
        """
        if self.after == 0:
            self.is_over = True
            return Fail(ProtocolError("history_lost on a stream that begins at message 1"))
        self.after = 0
        self._has_lost_history = True
        self._new_messages.clear()
        self._is_echoed = False
        self.turn = self.query.turn
        self.is_over = self.has_answer
        return Ignore() if self.is_over else Reconnect("its history was lost")

    def _next(self, message: Message) -> Step:
        if message.id == self.query.id:
            self._is_echoed = True
            self.turn = message.turn  # the service replaces the client's turn if it is in use
            return Ignore()
        if message.turn != self.turn:
            if message.ends_turn:
                self._other_turn_ended(message.turn)
            return Ignore()
        if message.message_type == MessageType.ERROR:
            self.is_over = True
            error = _error_of(message)
            if isinstance(error, TurnCancelledError):
                error.partial_answer = self._partial_answer
            return Fail(error)
        if message.is_partial_answer:
            self._partial_answer = message.content or ""
        self._answers.pop(message.id, None)
        self.has_answer |= message.message_type == MessageType.RESULT
        self.is_over = message.ends_turn
        return Deliver(message)

    def _seen_before(self, message: Message) -> Step:
        if message.id == self.query.id and not self._is_echoed:
            self.is_over = True
            return Fail(
                ProtocolError(
                    f"the session went back to message {message.seq} after message {self.after}: the service was "
                    "restored to an older state. Resume the session to continue from there."
                )
            )
        return Ignore()

    def _refused(self, message: Message) -> Step:
        """An error with seq 0: the service rejected a frame of this connection."""
        is_addressed = message.parent_id != ROOT_ID or bool(message.turn)
        is_mine = message.parent_id == self.query.id or message.turn == self.turn
        if message.message_type != MessageType.ERROR or message.parent_id in self._cancel_ids:
            return Ignore()
        if message.status_message == HistoryLostError.default_code:
            return self.lose_history()
        if message.parent_id in self._answer_ids and message.status_code != 503:
            return self._answer_refused(message)
        if is_addressed and not is_mine:
            return Ignore()
        if message.status_code == 503:
            return Reconnect("the service is stopping")
        if message.status_code == 409 and self._earlier is not None:
            return self._wait_for_earlier()
        self.is_over = True
        return Fail(_error_of(message))

    def _answer_refused(self, error: Message) -> Step:
        """The answer came too late or was not the first; if its value is too large, answer with that error instead."""
        answer = self._answers.pop(error.parent_id, None)
        if answer is not None and error.status_code == 413 and answer.message_type == MessageType.LOCAL_TOOL_RESULT:
            content = msgspec.json.encode(build_result(error=f"the value is too large: {error.content}")).decode()
            self.answer(msgspec.structs.replace(answer, id=new_id(), content=content))
        return Ignore()

    def _wait_for_earlier(self) -> Step:
        """The turn in progress is the one this client left: send the query again when it has ended."""
        if self._earlier_has_ended:
            self._earlier = None
            self._outbox.append(self._frame.decode())
        else:
            self._is_held = True
        return Ignore()

    def _other_turn_ended(self, turn: str) -> None:
        if self._earlier is not None and turn == self._earlier.turn:
            self._earlier_has_ended = True
        if self._is_held:
            self._is_held = False
            self._earlier = None if self._earlier_has_ended else self._earlier
            self._outbox.append(self._frame.decode())

    def _cancel_frame(self, turn: str) -> str:
        message = Message(message_type=MessageType.CANCEL, turn=turn)
        self._cancel_ids.add(message.id)
        return _encode(message).decode()


class CancelProtocol:
    """Cancels a turn over a second connection and waits for its end. ``after`` is a seq before the turn's end."""

    def __init__(self, turn: str, after: int) -> None:
        self.turn = turn
        self.after = after
        self.is_over = False
        self._outbox: list[str] = []

    def connected(self) -> None:
        """A connection is ready: send the cancel, again if need be."""
        self._outbox = [self._frame()]

    def outgoing(self) -> list[str]:
        """Take the frames to send now."""
        frames, self._outbox = self._outbox, []
        return frames

    def receive(self, frame: str | bytes) -> None:
        """Note one frame. A query that reached the service after the cancel is cancelled again."""
        try:
            message = msgspec.json.decode(frame, type=Message)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ProtocolError(f"malformed message on the stream: {error}") from error
        self.after = max(self.after, message.seq)
        if message.seq == 0 or message.turn != self.turn:
            return
        self.is_over = message.ends_turn
        if message.message_type == MessageType.QUERY:
            self._outbox.append(self._frame())

    def _frame(self) -> str:
        return _encode(Message(message_type=MessageType.CANCEL, turn=self.turn)).decode()


def _encode(message: Message) -> bytes:
    return msgspec.json.encode(message)


def _error_of(message: Message) -> SvcError:
    text = message.content or message.status_message
    retry_after = None if message.retry_after is msgspec.UNSET else message.retry_after
    return service_error(message.status_message, text, status=message.status_code, retry_after=retry_after)
