"""``ChatPanel``: the chat below a cell, in the kernel's session. ``%svc panel`` shows it.

The widget's state has the page's script and nothing of the session. A widget cannot be rendered without its kernel, so
the notebook also stores a transcript in a second output, as Markdown that is safe to render anywhere. Exports and
reopened notebooks show the transcript; the live widget hides it. There is none of a session that is not logged.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import anywidget
from IPython.display import display, update_display
from traitlets import Unicode

from svc import Message, Session, SvcError
from svc_jupyter.answers import transcript
from svc_jupyter.errors import AskError
from svc_jupyter.extension import loaded_extension
from svc_jupyter.panel import comm_target
from svc_jupyter.panel.outbox import Json

SCRIPT = Path(__file__).parents[1] / "static" / "panel.js"
Bundle = dict[str, object]


class ChatPanel(anywidget.AnyWidget):
    """A chat in the kernel's session, which it shares with the cells. All its displays show the same conversation.

    Raises:
        AskError: This is not a notebook, or svc-jupyter was installed without its built scripts.
    """

    _esm = SCRIPT if SCRIPT.is_file() else ""  # without it, no panel is made
    transcript_class: Unicode[str, str | bytes] = Unicode(
        help="CSS class of the HTML element that marks the transcript's output."
    ).tag(sync=True)

    def __init__(self) -> None:
        extension = loaded_extension()
        if getattr(extension.shell, "kernel", None) is None:
            raise AskError("the chat panel needs a notebook. Ask with %svc, or open the chat page with `svc open`.")
        if not SCRIPT.is_file():
            raise AskError(
                "the chat panel is not installed, because svc-jupyter was built without it (SVC_SKIP_JS). Install the "
                "wheel: pip install --force-reinstall svc-jupyter. Then restart the kernel. %svc works without it."
            )
        super().__init__(transcript_class=f"svc-transcript-{uuid.uuid4().hex[:12]}")
        self._transcript = _Transcript(
            "" if extension.is_batch else self.transcript_class,  # nbval compares outputs
            lambda: extension.kernel.is_logged,
        )
        self._extension = extension
        self._channel = comm_target.channel(self._send_event)
        self._busy_kernel = comm_target.busy_kernel()
        self.on_msg(self._receive)
        extension.kernel.observers.add(self._transcript)
        comm_target.route_freely(self.comm)

    def close(self) -> None:
        """Close the panel; the session continues."""
        if "_channel" in vars(self):  # a widget whose __init__ failed is closed, too
            self._extension.kernel.observers.remove(self._transcript)
            self._channel.close()
        super().close()

    def _ipython_display_(self) -> None:
        """Display the widget, except in a batch run, and the transcript."""
        if not self._extension.is_batch:
            display(self._view(), raw=True)
        self._transcript.read(self._past())
        self._transcript.show()

    def _view(self) -> Bundle:
        bundle = anywidget.AnyWidget._repr_mimebundle_(self)
        data: Bundle = dict(bundle[0]) if bundle else {}
        return {**data, "text/plain": "Chat panel; its transcript is below."}

    def _past(self) -> Sequence[Message]:
        """Return the session's messages; none if there is no session or the service is unreachable."""
        try:
            session = self._extension.kernel.session(self._extension.ask_options(), lambda _: None)
            return session.history() if session is not None else ()
        except SvcError:  # the panel shows the error
            return ()

    def _send_event(self, event: Json) -> None:
        if self.comm is not None:
            comm_target.publish(self.comm, {"method": "custom", "content": event})

    def send_state(self, key: str | set[str] | None = None) -> None:
        """Like ``Widget.send_state``, without an effect on how the page's messages are routed."""
        super().send_state(key)
        if self.comm is not None:
            comm_target.route_freely(self.comm)

    def _receive(self, _: object, content: Json, buffers: list[memoryview]) -> None:
        comm_target.route_freely(self.comm)
        self._busy_kernel.message_was_read()
        self._channel.receive(content, buffers)


class _Transcript:
    """The transcript's display, which is updated at the end of each turn. An observer of the kernel.

    It is saved with the notebook, so nothing of a session that is not logged gets into it.
    """

    def __init__(self, css_class: str, is_logged: Callable[[], bool]) -> None:
        self._class = css_class
        self._is_logged = is_logged
        self._display_id = uuid.uuid4().hex
        self._session_id = ""
        self._messages: dict[str, Message] = {}  # by id; only those that a transcript shows
        self._is_shown = False
        self._lock = threading.Lock()

    def read(self, past: Sequence[Message]) -> None:
        """Add the earlier messages."""
        if not self._is_logged():
            return
        with self._lock:
            self._messages |= {message.id: message for message in past if transcript.is_shown(message)}

    def show(self) -> None:
        """Display the transcript; displaying the panel again replaces it."""
        display(self._bundle(), raw=True, display_id=self._display_id)
        self._is_shown = True

    def on_message(self, session_id: str, message: Message) -> None:
        """Add the message."""
        with self._lock:
            self._session_id = session_id
            if transcript.is_shown(message) and self._is_logged():
                self._messages[message.id] = message
        if message.ends_turn:
            self._draw()

    def on_session(self, session: Session | None) -> None:
        """Start a new transcript if the session was replaced."""
        session_id = session.id if session is not None else ""
        if self._session_id in ("", session_id):
            self._session_id = session_id
            return
        with self._lock:
            self._session_id, self._messages = session_id, {}
        self._draw()

    def on_busy(self, *, is_busy: bool) -> None:
        """Do nothing: a transcript does not show it."""

    def on_waiting(self, caller: str, waiting_for: str | None) -> None:
        """Do nothing: a transcript does not show it."""

    def _draw(self) -> None:
        if self._is_shown:
            update_display(self._bundle(), raw=True, display_id=self._display_id)

    def _bundle(self) -> dict[str, str]:
        if not self._is_logged():
            return transcript.unlogged_bundle(css_class=self._class)
        with self._lock:
            messages = sorted(self._messages.values(), key=lambda message: (message.created_at, message.seq))
        return transcript.bundle(messages, css_class=self._class)
