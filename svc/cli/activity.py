"""One line on stderr that shows what is being done, while it is being done: a spinner, a bar, the time left.

Only on a terminal, and erased at the end. In a pipe, a file or a log nothing is written. Warnings and errors are not
progress: they are printed with ``echo``, in any case.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from svc.messages import NOTICE_TITLE, Message, MessageType, State, TaskProgress
from svc.progress import Meter, progress_line
from svc.untrusted.characters import one_line
from svc.untrusted.terminal import echo

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress, TaskID

    from svc._folder_stream import OnProgress

_SEND_SECONDS = 0.2  # between two reports on a file that is sent
_BAR_COLUMNS = 20


class Activity:
    """Shows the progress of one command. Use it as a context manager.

    Args:
        is_quiet: Show nothing, on a terminal either.
    """

    def __init__(self, *, is_quiet: bool = False) -> None:
        self._is_shown = not is_quiet and sys.stderr is not None and sys.stderr.isatty()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._counted: tuple[str, TaskProgress] | None = None  # the work whose progress is shown, and who does it

    def __enter__(self) -> Self:
        if self._is_shown:
            self._progress = _progress_display()
            self._progress.start()
            self._task = self._progress.add_task("connecting", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def show(self, message: Message) -> None:
        """Show an INFO of a turn. A notice is printed, on any output."""
        if message.message_type != MessageType.INFO or message.state == State.END or not message.content:
            return
        if message.title == NOTICE_TITLE:
            with self.paused():
                echo(one_line(message.content), err=True)
        elif message.progress:
            self._counted = message.actor, message.progress
            self._update(progress_line(message.actor, message.progress), message.progress)
        elif message.state == State.RUNNING_AGENT and self._is_counted(message.actor):
            self._detail(message.content)
        else:
            self.say(message.content)

    def say(self, text: str) -> None:
        """Show what is being done."""
        self._counted = None
        self._update(text, None)

    def _is_counted(self, actor: str) -> bool:
        """Whether the work whose progress is shown is this actor's, and goes on."""
        if self._counted is None or self._counted[0] != actor:
            return False
        return self._counted[1].done < self._counted[1].total

    def _detail(self, text: str) -> None:
        """Show what counted work has found so far, after its percentage."""
        assert self._counted is not None
        self._update(f"{progress_line(*self._counted)}; {text}", self._counted[1])

    def sending(self, name: str) -> OnProgress:
        """A callback that shows how much of a file was sent."""
        meter = Meter(name, "byte", clock=time.monotonic, every_seconds=_SEND_SECONDS)
        self.say(f"sending {name}")

        def report(done: int, total: int) -> None:
            if (due := meter.report(done, total)) is not None:
                self._update(progress_line("sending", due), due)

        return report

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take the line away while something else is printed."""
        if self._progress is not None:
            self._progress.stop()
        yield
        if self._progress is not None:
            self._progress.start()

    def _update(self, text: str, progress: TaskProgress | None) -> None:
        if self._progress is None or self._task is None:
            return
        done = progress.done if progress else 0
        self._progress.update(self._task, description=one_line(text, 200), completed=done)
        shown = self._progress.tasks[0]  # set here: ``update`` keeps a total, and the time at which one was reached
        shown.total, shown.finished_time = progress.total if progress else None, None


def _progress_display() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    console = Console(stderr=True, highlight=False)
    is_unicode = console.encoding.lower().startswith("utf")
    text = TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True))
    return Progress(
        SpinnerColumn("dots" if is_unicode else "line"),
        text,
        BarColumn(_BAR_COLUMNS),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        expand=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
