"""While a cell runs, a page's message does not make the kernel look idle; when none runs, nothing is sent."""

from __future__ import annotations

import time

from svc_jupyter.panel.busy_kernel import DELAY_SECONDS, BusyKernel
from tests.support.live import wait_until


class _Events:
    def __init__(self) -> None:
        self.callbacks: dict[str, object] = {}

    def register(self, name: str, callback: object) -> None:
        self.callbacks[name] = callback


class _Kernel:
    ident = "k1"
    iopub_socket = object()

    def __init__(self) -> None:
        self.sent: list[tuple[str, object]] = []
        self.session = self

    def get_parent(self, channel: str) -> dict[str, str]:
        return {"msg_id": channel}

    def send(self, socket: object, kind: str, content: dict[str, str], *, parent: object, ident: bytes) -> None:
        assert (socket, kind, ident) == (self.iopub_socket, "status", b"kernel.k1.status")
        self.sent.append((content["execution_state"], parent))


class _Shell:
    def __init__(self) -> None:
        self.events = _Events()
        self.kernel = _Kernel()

    def fire(self, name: str) -> None:
        self.events.callbacks[name](None)


def test_a_running_cell_is_shown_as_busy_once_for_many_messages():
    shell = _Shell()
    busy = BusyKernel(shell)
    shell.fire("pre_run_cell")
    for _ in range(5):
        busy.message_was_read()
    wait_until(lambda: shell.kernel.sent, "the status")
    assert shell.kernel.sent == [("busy", {"msg_id": "shell"})]


def test_an_idle_kernel_stays_idle():
    shell = _Shell()
    busy = BusyKernel(shell)
    busy.message_was_read()
    shell.fire("pre_run_cell")
    busy.message_was_read()
    shell.fire("post_run_cell")
    time.sleep(2 * DELAY_SECONDS)
    assert shell.kernel.sent == []


def test_a_cell_that_ends_meanwhile_ends_idle():
    shell = _Shell()
    busy = BusyKernel(shell)
    send = shell.kernel.send

    def end_while_sending(*args: object, **names: object) -> None:
        send(*args, **names)
        shell.fire("post_run_cell")

    shell.kernel.send = end_while_sending
    shell.fire("pre_run_cell")
    busy.message_was_read()
    wait_until(lambda: len(shell.kernel.sent) == 2, "both states")
    assert [state for state, _ in shell.kernel.sent] == ["busy", "idle"]
