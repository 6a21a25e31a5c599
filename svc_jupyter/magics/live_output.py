"""The live area: a turn's progress in one display, redrawn at a limited rate.

``Steps`` builds the content; a screen shows it: in one display of a notebook, only at the end in a batch run, as lines
in a terminal, where the last one changes. All calls come from the cell's thread. Why: docs/notebook.md, "Live area".
"""

from __future__ import annotations

import html
import math
import sys
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from svc import TaskProgress
from svc.progress import progress_line
from svc.untrusted.characters import one_line
from svc.untrusted.status_line import StatusLine
from svc_jupyter.question import NOTHING_ASKED

REDRAW_SECONDS = 0.1  # Jupyter Server drops messages above 1,000/s, and nobody reads faster
CLOCK_SECONDS = 1.0  # between redraws that only update the clock
KEPT_LINES = 100  # in a finished area, when unfolded
MAX_TASKS = 8  # shown at the same time: the latest
Bundle = dict[str, str]


@dataclass(frozen=True)
class _Line:
    seconds: float
    text: str


@dataclass(frozen=True)
class _Task:
    who: str
    progress: TaskProgress
    seconds: float

    def line(self, now: float | None = None) -> str:
        """The line at a time; without one, what was done when the work was stopped."""
        if now is None or self.progress.seconds_left is None:
            return one_line(progress_line(self.who, self.progress, is_running=now is not None))
        left = max(0, math.ceil(self.progress.seconds_left - (now - self.seconds)))
        return one_line(progress_line(self.who, msgspec.structs.replace(self.progress, seconds_left=left)))


class Steps:
    """The steps of one turn: the text of the last ones, the number of all, and how far long tasks are.

    A task has one line, which changes; it is no step, so that the number of steps is the same in each run.
    """

    def __init__(self, asked: float | None = None) -> None:
        """``asked``: when the question was asked, in seconds since the epoch."""
        self._asked = f", asked {datetime.fromtimestamp(asked, UTC):%Y-%m-%d %H:%M:%S} UTC" if asked is not None else ""
        self.count: int = 0
        self._kept: deque[_Line] = deque(maxlen=KEPT_LINES)
        self._tasks: dict[tuple[str, str], _Task] = {}

    def update(self, who: str, progress: TaskProgress, seconds: float) -> str:
        """Replace the line of a task, or remove it if the task is done; return the line."""
        key = (who, progress.task)
        task = _Task(who, progress, seconds)
        if progress.done >= progress.total:
            self._tasks.pop(key, None)
        else:
            self._tasks[key] = task
            while len(self._tasks) > MAX_TASKS:
                self._tasks.pop(next(iter(self._tasks)))
        return task.line(seconds)

    def end_tasks(self, who: str) -> None:
        """Remove the lines of what ``who`` did."""
        self._tasks = {key: task for key, task in self._tasks.items() if task.who != who}

    def add(self, text: str, seconds: float) -> str:
        """Add a step that came ``seconds`` after the question; return it as one safe line."""
        line = one_line(text)
        self.count += 1
        self._kept.append(_Line(seconds, line))
        return line

    def running(self, seconds: float, *, max_lines: int) -> Bundle:
        """Build the area of a running turn."""
        title = f"no answer after {seconds:.0f} s{self._asked}"  # true for ever: a kernel may die, and leaves this
        tasks = [task.line(seconds) for task in self._tasks.values()]
        return _bundle(title, self._shown(max_lines, timed=True) + tasks, is_folded=False)

    def finished(self, outcome: str, seconds: float | None) -> Bundle:
        """Build the final area.

        Args:
            outcome: Empty for an answer; otherwise what happened, and the steps stay unfolded.
            seconds: The duration; None leaves out all times, so that the output is reproducible.
        """
        title = f"{self.count:,} step{'' if self.count == 1 else 's'}"
        title = f"{title}, {seconds:.1f} s" if seconds is not None else title
        lines = self._shown(KEPT_LINES, timed=seconds is not None)
        if outcome and seconds is not None:  # how far it came
            lines += [task.line() for task in self._tasks.values()]
        return _bundle(f"{outcome} after {title}" if outcome else title, lines, is_folded=not outcome, is_final=True)

    def _shown(self, max_lines: int, *, timed: bool) -> list[str]:
        lines = list(self._kept)[-max_lines:]
        earlier = self.count - len(lines)
        first = [f"… {earlier:,} earlier"] if earlier else []
        return first + [f"{line.seconds:6.1f} s  {line.text}" if timed else line.text for line in lines]


def _bundle(title: str, lines: list[str], *, is_folded: bool, is_final: bool = False) -> Bundle:
    body = f"<pre>{html.escape(chr(10).join(lines))}</pre>" if lines else ""
    opened = "" if is_folded else " open"
    return {
        "text/html": f"<details{opened}><summary>{html.escape(title)}</summary>{body}</details>",
        "text/plain": title if is_final else "\n".join([title, *lines]),
    }


class Screen(Protocol):
    """Shows an area."""

    is_timed: bool

    def draw(self, bundle: Bundle) -> None:
        """Show the current state; called at most ten times a second."""

    def step(self, line: str) -> None:
        """Show a step as soon as it comes."""

    def task(self, line: str) -> None:
        """Show how far a task is."""

    def finish(self, bundle: Bundle) -> None:
        """Show the final state."""


class NotebookScreen:
    """One display that is updated in place."""

    is_timed = True

    def __init__(self) -> None:
        self._display_id = uuid.uuid4().hex
        self._is_shown = False

    def draw(self, bundle: Bundle) -> None:
        """Create the display, or update it."""
        from IPython.display import display, update_display

        put = update_display if self._is_shown else display
        put(bundle, raw=True, display_id=self._display_id)
        self._is_shown = True

    def step(self, line: str) -> None:
        """Do nothing: the next ``draw`` shows it."""

    def task(self, line: str) -> None:
        """Do nothing: the next ``draw`` shows it."""

    def finish(self, bundle: Bundle) -> None:
        """Update the display."""
        self.draw(bundle)


class BatchScreen:
    """One display of the final state, without times, so that nbval can compare two runs."""

    is_timed = False

    def draw(self, bundle: Bundle) -> None:
        """Do nothing: only the final state is shown."""

    def step(self, line: str) -> None:
        """Do nothing: only the final state is shown."""

    def task(self, line: str) -> None:
        """Do nothing: only the final state is shown."""

    def finish(self, bundle: Bundle) -> None:
        """Display the final state."""
        from IPython.display import display

        display(bundle, raw=True)


class TerminalScreen:
    """Prints lines as they come, because a terminal cannot update a display."""

    is_timed = True

    def __init__(self) -> None:
        self._status = StatusLine(sys.stdout)

    def draw(self, bundle: Bundle) -> None:
        """Do nothing: the lines are already printed."""

    def step(self, line: str) -> None:
        """Print the step."""
        self._status.clear()
        print(f"  {line}", flush=True)

    def task(self, line: str) -> None:
        """Rewrite the terminal's last line."""
        self._status.show(f"  {line}")

    def finish(self, bundle: Bundle) -> None:
        """Print the number of steps."""
        self._status.clear()
        print(bundle["text/plain"], flush=True)


class LiveArea:
    """Shows one turn on one screen."""

    def __init__(self, screen: Screen, *, max_lines: int, clock: Callable[[], float]) -> None:
        self._screen = screen
        self._max_lines = max_lines
        self._clock = clock
        self._started = clock()
        self._drawn = float("-inf")
        self._is_stale = True
        self._steps = Steps(asked=time.time())
        self.if_interrupted = NOTHING_ASKED

    def add(self, text: str) -> None:
        """Add a step; the next ``tick`` that may redraw shows it."""
        self._screen.step(self._steps.add(text, self._clock() - self._started))
        self._is_stale = True
        if self._steps.count == 1:
            self._drawn = float("-inf")  # draw the first step at once, to show that work has begun

    def update(self, who: str, progress: TaskProgress) -> None:
        """Show how far a task of ``who`` is, in the task's line."""
        self._screen.task(self._steps.update(who, progress, self._clock() - self._started))
        self._is_stale = True

    def end_tasks(self, who: str) -> None:
        """Remove the lines of what ``who`` did."""
        self._steps.end_tasks(who)
        self._is_stale = True

    def tick(self) -> None:
        """Redraw if something changed and enough time has passed."""
        now = self._clock()
        if now - self._drawn >= (REDRAW_SECONDS if self._is_stale else CLOCK_SECONDS):
            self._drawn, self._is_stale = now, False
            self._screen.draw(self._steps.running(now - self._started, max_lines=self._max_lines))

    def finish(self, outcome: str = "") -> None:
        """Draw the final state; ``outcome`` is empty if the question was answered."""
        seconds = self._clock() - self._started if self._screen.is_timed else None
        self._screen.finish(self._steps.finished(outcome, seconds))
