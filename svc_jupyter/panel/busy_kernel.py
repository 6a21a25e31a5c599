"""Keeps the kernel shown as busy while a cell runs.

ipykernel calls a kernel idle after every message, also after a page's message that a subshell read while a cell runs.
JupyterLab's status bar would then show an idle kernel next to a running cell. So the cell's own status is sent again.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

DELAY_SECONDS = 0.1  # ipykernel sends its "idle" when the message's handler has returned


class BusyKernel:
    """Watches which cell runs. ``shell`` is the kernel's."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._kernel = getattr(shell, "kernel", None)
        self._running: object = None  # the running cell's execute_request
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)

    def message_was_read(self) -> None:
        """A page's message was read; shows the kernel as busy again if a cell runs. Returns at once."""
        with self._lock:
            if self._running is None or self._timer is not None:
                return
            self._timer = threading.Timer(DELAY_SECONDS, self._send)
            self._timer.daemon = True
            self._timer.start()

    def _begin(self, *_: object) -> None:
        get_parent = getattr(self._kernel, "get_parent", None)
        self._running = get_parent("shell") if get_parent is not None else None

    def _end(self, *_: object) -> None:
        self._running = None

    def _send(self) -> None:
        with self._lock:
            self._timer = None
        running = self._running
        if running is None:
            return
        self._publish("busy", running)
        if self._running is not running:  # it ended meanwhile, and its own "idle" may have come before
            self._publish("idle", running)

    def _publish(self, state: str, parent: object) -> None:
        session, socket = getattr(self._kernel, "session", None), getattr(self._kernel, "iopub_socket", None)
        if session is not None and socket is not None:
            session.send(socket, "status", {"execution_state": state}, parent=parent, ident=self._topic())

    def _topic(self) -> bytes:
        return f"kernel.{getattr(self._kernel, 'ident', '')}.status".encode()
