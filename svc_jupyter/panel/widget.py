"""``ChatPanel``: the chat below a cell, in the kernel's one session. ``%svc panel`` shows it. Decides what stays of it.

While the kernel lives the widget speaks to it (``panel_channel.py``); its state holds the page's script and nothing of
the session. A widget is nothing once its kernel has ended: beside it, in an output of its own, stands a transcript as
Markdown that is safe to show anywhere. Exports and reopened notebooks show it; the live widget hides it.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from pathlib import Path

import anywidget
from IPython.display import display, update_display
from traitlets import Unicode

from svc import Message, Session, SvcError
from svc_jupyter.answers import transcript
from svc_jupyter.errors import AskError
from svc_jupyter.extension import loaded_extension
from svc_jupyter.panel import comm_target as panel_target
from svc_jupyter.panel.outbox import Json

SCRIPT = Path(__file__).parents[1] / "static" / "panel.js"
Bundle = dict[str, object]


class ChatPanel(anywidget.AnyWidget):
    """A panel on the kernel's session: what cells ask is seen there, and the next cell knows what was asked there.

    Each display shows the same conversation. Raises AskError where there is no notebook.
    """

    _esm = SCRIPT
    transcript_class = Unicode(help="Of the HTML element that tells the transcript's output.").tag(sync=True)

    def __init__(self) -> None:
        extension = loaded_extension()
        if getattr(extension.shell, "kernel", None) is None:
            raise AskError("the chat panel is for notebooks. Here, ask with %svc; `svc open` shows the page.")
        super().__init__(transcript_class=f"svc-transcript-{uuid.uuid4().hex[:12]}")
        self._transcript = _Transcript("" if extension.is_batch else self.transcript_class)  # nbval compares it
        self._extension = extension
        self._channel = panel_target.channel(self._send_event)
        self.on_msg(self._receive)
        extension.kernel.observers.add(self._transcript)
        panel_target.route_freely(self.comm)

    def close(self) -> None:
        """End the panel; the session lives on."""
        if "_channel" in vars(self):  # it was made: a refused one is closed, too
            self._extension.kernel.observers.remove(self._transcript)
            self._channel.close()
        super().close()

    def _ipython_display_(self) -> None:
        """The widget, unless nobody is there to use it, and the transcript."""
        if not self._extension.is_batch:
            display(self._view(), raw=True)
        self._transcript.read(self._past())
        self._transcript.show()

    def _view(self) -> Bundle:
        bundle = anywidget.AnyWidget._repr_mimebundle_(self)
        data: Bundle = dict(bundle[0]) if bundle else {}
        return {**data, "text/plain": "The chat panel: what was asked and answered stands below."}

    def _past(self) -> Sequence[Message]:
        """The session's messages; none where there is no session, or no service to ask for it."""
        try:
            session = self._extension.kernel.session(self._extension.ask_options(), lambda _: None)
            return session.history() if session is not None else ()
        except SvcError:  # the panel itself says what is wrong
            return ()

    def _send_event(self, event: Json) -> None:
        if self.comm is not None:
            panel_target.publish(self.comm, {"method": "custom", "content": event})

    def send_state(self, key: str | set[str] | None = None) -> None:
        """As a widget's; it leaves no trace in how messages are routed."""
        super().send_state(key)
        if self.comm is not None:
            panel_target.route_freely(self.comm)

    def _receive(self, _: object, content: Json, buffers: list[memoryview]) -> None:
        panel_target.route_freely(self.comm)
        self._channel.receive(content, buffers)


class _Transcript:
    """What the session's turns came to, in a display that is drawn again when a turn has ended. Watches the kernel."""

    def __init__(self, css_class: str) -> None:
        self._class = css_class
        self._display_id = uuid.uuid4().hex
        self._session_id = ""
        self._messages: dict[int, Message] = {}  # by seq; what no transcript shows is left out
        self._is_shown = False
        self._lock = threading.Lock()

    def read(self, past: Sequence[Message]) -> None:
        """What there was before."""
        with self._lock:
            self._messages |= {message.seq: message for message in past if transcript.is_told(message)}

    def show(self) -> None:
        """Display it; another display of the same panel takes its place."""
        display(self._bundle(), raw=True, display_id=self._display_id)
        self._is_shown = True

    def on_message(self, session_id: str, message: Message) -> None:
        """An event of the kernel's."""
        with self._lock:
            self._session_id = session_id
            if transcript.is_told(message):
                self._messages[message.seq] = message
        if message.ends_turn:
            self._draw()

    def on_session(self, session: Session | None) -> None:
        """An event of the kernel's: another session is another transcript."""
        session_id = session.id if session is not None else ""
        if self._session_id in ("", session_id):
            self._session_id = session_id
            return
        with self._lock:
            self._session_id, self._messages = session_id, {}
        self._draw()

    def on_busy(self, *, is_busy: bool) -> None:
        """An event of the kernel's; nothing of it stays."""

    def on_waiting(self, caller: str, waiting_for: str | None) -> None:
        """An event of the kernel's; nothing of it stays."""

    def _draw(self) -> None:
        if self._is_shown:
            update_display(self._bundle(), raw=True, display_id=self._display_id)

    def _bundle(self) -> dict[str, str]:
        with self._lock:
            messages = [self._messages[seq] for seq in sorted(self._messages)]
        return transcript.bundle(messages, css_class=self._class)
