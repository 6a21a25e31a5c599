"""Kernels as a front end and as a batch run use them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Self

import nbformat
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets.config import Config

LIMIT_SECONDS = 60.0


def notebook_of(*cells: str) -> NotebookNode:
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in ("%load_ext svc_jupyter", *cells)]
    return notebook


def execute(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """As a batch run executes it: nobody can answer a prompt. Raises CellExecutionError."""
    config = Config({"KernelManager": ipc(folder)})
    NotebookClient(notebook, config=config, timeout=60, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def ipc(folder: Path) -> dict[str, str]:
    return {"transport": "ipc", "ip": str(folder / "k")} if os.name == "posix" and len(str(folder)) < 90 else {}


@dataclass
class Execution:
    """What a front end saw of one cell."""

    status: str = ""
    error: str = ""
    text: str = ""
    displays: list[NotebookNode] = field(default_factory=list)
    updates: int = 0
    prompts: list[NotebookNode] = field(default_factory=list)
    pages: list[NotebookNode] = field(default_factory=list)

    def shown(self) -> str:
        return "".join(str(display["data"]) for display in self.displays)


class Kernel:
    """A kernel with a front end that a person sits at."""

    def __init__(self, folder: Path, environment: dict[str, str] | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self.environment = {**os.environ, **(environment or {})}
        self.manager = KernelManager(
            kernel_name="python3", connection_file=str(folder / "kernel-test.json"), **ipc(folder)
        )
        self.client: BlockingKernelClient

    def __enter__(self) -> Self:
        self.manager.start_kernel(env=self.environment)
        self._connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def restart(self) -> None:
        self.client.stop_channels()
        self.manager.restart_kernel(now=True)
        self._connect()

    def interrupt(self) -> None:
        self.manager.interrupt_kernel()

    def run(
        self,
        code: str,
        *,
        when: Callable[[Execution], bool] = lambda _: False,
        then: Callable[[], object] = int,
        typed: str = "",
    ) -> Execution:
        """Run a cell to its end; ``then`` is called once, as soon as ``when`` holds of what is shown.

        ``typed`` answers each prompt.
        """
        parent = self.client.execute(code, allow_stdin=True)
        seen, is_done, is_called = Execution(), False, False
        deadline = time.monotonic() + LIMIT_SECONDS
        while not is_done:
            seen.prompts += self._answer_prompt(typed)
            try:
                message = self.client.get_iopub_msg(timeout=0.05 if typed else 1)  # a prompt comes on another channel
            except Empty:
                assert time.monotonic() < deadline, f"the cell did not end: {seen}"
                continue
            if message["parent_header"].get("msg_id") == parent:
                is_done = _note(seen, message)
            if not is_called and when(seen):
                is_called = True
                then()
        reply = self._reply(parent)["content"]
        seen.status, seen.pages = reply["status"], reply.get("payload", [])
        return seen

    def _answer_prompt(self, typed: str) -> list[NotebookNode]:
        try:
            prompt = self.client.get_stdin_msg(timeout=0)["content"]
        except Empty:
            return []
        self.client.input(typed)
        return [prompt]

    def _reply(self, parent: str) -> NotebookNode:
        while True:  # a busy start may have left more than one answer to "are you there"
            reply = self.client.get_shell_msg(timeout=LIMIT_SECONDS)
            if reply["parent_header"].get("msg_id") == parent:
                return reply

    def _connect(self) -> None:
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LIMIT_SECONDS)
        assert self.run("%load_ext svc_jupyter").status == "ok"


def _note(seen: Execution, message: NotebookNode) -> bool:
    """Add a message of the cell; whether it was the last."""
    content = message["content"]
    match message["msg_type"]:
        case "status":
            return content["execution_state"] == "idle"
        case "stream":
            seen.text += content["text"]
        case "error":
            seen.error = "\n".join(content["traceback"])
        case "display_data":
            seen.displays.append(content)
        case "execute_result":
            seen.displays.append(content)
        case "update_display_data":
            seen.updates += 1
            seen.displays[0] = content
    return False
