"""Send messages to a page below the rate limits of Jupyter Server: messages in batches, replies at once.

Jupyter Server drops what a kernel publishes above 1,000 messages or 1,000,000 bytes per second, averaged over 3 s
(``iopub_msg_rate_limit``, ``iopub_data_rate_limit``, ``rate_limit_window``). All pages of a kernel together use at most
four fifths of that, to leave room for the output of cells: docs/panel.md, "Pace".
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from svc import Message, MessageType, State
from svc_jupyter.trusted_imports import trust_thread

BATCH_SECONDS = 0.05  # between two events with messages: 20 per second
BYTES_PER_SECOND = 600_000  # to all pages together, on average
BURST_SECONDS = 1.0  # of that rate may be sent at once after a pause: at most 2,400,000 bytes in 3 s
EVENT_BYTES = 100_000  # of messages in one event; a longer message has its own
MAX_WAITING = 10_000  # messages; above it, steps are left out, which the session's history still has
IDLE_SECONDS = 5.0  # without messages before the thread ends; the next message starts another
_STEPS = (MessageType.INFO, MessageType.THINKING)
_DEFAULTS = {
    "parent_id": "",
    "group": "",
    "title": None,
    "state": "undefined",
    "content": None,
    "mime_type": "text/plain",
    "status_code": 200,
    "status_message": "OK",
    "answer_status": None,
    "progress": None,
}
_SENT = ("id", "turn", "seq", "actor", "created_at", "message_type", *_DEFAULTS)
_SENT_OF_STEPS = tuple(name for name in _SENT if name not in ("parent_id", "group"))

Json = dict[str, object]
Send = Callable[[Json], None]


class Pace:
    """Limits the bytes per second that are sent to all pages of a kernel."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paid_at = 0.0

    def spend(self, size: int) -> None:
        """Count bytes that are being sent."""
        with self._lock:
            self._paid_at = max(self._paid_at, time.monotonic()) + size / BYTES_PER_SECOND

    @property
    def ready_at(self) -> float:
        """The earliest time for the next message, by ``time.monotonic``."""
        return self._paid_at - BURST_SECONDS


PACE = Pace()


@dataclass(frozen=True)
class _Waiting:
    """A message to be sent in a batch with others of its session."""

    session_id: str
    message: Message


def compact(message: Message) -> Json:
    """Return the fields of a message that pages read, without those that have their default."""
    names = _SENT_OF_STEPS if is_step(message) else _SENT
    values = {name: msgspec.to_builtins(_field(message, name)) for name in names}
    return {name: value for name, value in values.items() if name not in _DEFAULTS or value != _DEFAULTS[name]}


def _field(message: Message, name: str) -> object:
    value = getattr(message, name)
    return None if value is msgspec.UNSET else value


class Outbox:
    """The messages of one page. ``send`` is called in a thread of the outbox, one call at a time, and never raises."""

    def __init__(self, send: Send, pace: Pace = PACE) -> None:
        self._send = send
        self._pace = pace
        self._queue: deque[_Waiting | Json] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._waiting = 0  # messages in the queue
        self._skipped = 0  # steps left out since the last event with messages

    def put(self, event: Json) -> None:
        """Queue an event or a reply."""
        self._add(event)

    def put_message(self, session_id: str, message: Message) -> None:
        """Queue a message of a session."""
        self._add(_Waiting(session_id, message))

    def put_history(self, request: object, messages: list[Message]) -> None:
        """Queue a session's history as ``part`` replies to the request."""
        part: list[Json] = []
        size = 0
        for message in messages:
            if part and size + message_size(message) > EVENT_BYTES:
                self._add({"id": request, "part": part})
                part, size = [], 0
            part.append(compact(message))
            size += message_size(message)
        if part:
            self._add({"id": request, "part": part})

    def close(self) -> None:
        """Send nothing more."""
        with self._changed:
            self._is_closed = True
            self._queue.clear()
            self._changed.notify()

    def _add(self, item: _Waiting | Json) -> None:
        with self._changed:
            if self._is_closed:
                return
            self._queue.append(item)
            if isinstance(item, _Waiting):
                self._waiting += 1
                if self._waiting > MAX_WAITING:
                    self._drop_step()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="svc-panel", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _drop_step(self) -> None:
        """Drop the oldest queued step. Other messages are never dropped."""
        for index, item in enumerate(self._queue):
            if isinstance(item, _Waiting) and is_step(item.message):
                del self._queue[index]
                self._waiting -= 1
                self._skipped += 1
                return

    def _run(self) -> None:
        trust_thread()
        batched_at = float("-inf")
        while (event := self._next(batched_at)) is not None:
            if "messages" in event:
                batched_at = time.monotonic()
            self._pace.spend(len(msgspec.json.encode(event)))
            self._send(event)

    def _next(self, batched_at: float) -> Json | None:
        """Wait for the next event until it may be sent; None ends the thread."""
        with self._changed:
            while not self._is_closed:
                if not self._queue:
                    if not self._changed.wait(IDLE_SECONDS) and not self._queue:
                        break
                    continue
                is_batched = isinstance(self._queue[0], _Waiting)
                at = max(self._pace.ready_at, batched_at + BATCH_SECONDS if is_batched else 0.0)
                if (seconds := at - time.monotonic()) <= 0:
                    return self._take_batch()
                self._changed.wait(seconds)
            self._thread = None
            return None

    def _take_batch(self) -> Json:
        first = self._queue[0]
        if not isinstance(first, _Waiting):
            return self._queue.popleft()  # type: ignore[return-value]
        messages: list[Json] = []
        size = 0
        while self._queue and isinstance(item := self._queue[0], _Waiting) and item.session_id == first.session_id:
            size += message_size(item.message)
            if messages and size > EVENT_BYTES:
                break
            messages.append(compact(item.message))
            self._queue.popleft()
            self._waiting -= 1
        event: Json = {"event": "messages", "session_id": first.session_id, "messages": messages}
        if self._skipped:
            event["skipped"], self._skipped = self._skipped, 0
        return event


def is_step(message: Message) -> bool:
    """Whether the message only reports progress."""
    return message.message_type in _STEPS and message.state != State.END


def message_size(message: Message) -> int:
    """Return the approximate size of a message as JSON, in bytes."""
    return 300 + len(message.content or "")
