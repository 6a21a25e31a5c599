"""The live area: a turn's progress in one display, redrawn at a limited rate.

``Steps`` builds the content; a screen shows it: in one display of a notebook, only at the end in a batch run, as lines
in a terminal. All calls come from the cell's thread. Why: docs/notebook.md, "Live area".
"""

from __future__ import annotations

import html
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from svc.untrusted.characters import one_line

REDRAW_SECONDS = 0.1  # Jupyter Server drops messages above 1,000/s, and nobody reads faster
CLOCK_SECONDS = 1.0  # between redraws that only update the clock
KEPT_LINES = 100  # in a finished area, when unfolded
Bundle = dict[str, str]


@dataclass(frozen=True)
class _Line:
    seconds: float
    text: str


class Steps:
    """The steps of one turn: the text of the last ones, and the number of all."""

    def __init__(self) -> None:
        self.count = 0
        self._kept: deque[_Line] = deque(maxlen=KEPT_LINES)

    def add(self, text: str, seconds: float) -> str:
        """Add a step that came ``seconds`` after the question; return it as one safe line."""
        line = one_line(text)
        self.count += 1
        self._kept.append(_Line(seconds, line))
        return line

    def running(self, seconds: float, *, max_lines: int) -> Bundle:
        """Build the area of a running turn."""
        return _bundle(f"working, {seconds:.0f} s", self._shown(max_lines, timed=True), is_folded=False)

    def finished(self, outcome: str, seconds: float | None) -> Bundle:
        """Build the final area.

        Args:
            outcome: Empty for an answer; otherwise what happened, and the steps stay unfolded.
            seconds: The duration; None leaves out all times, so that the output is reproducible.
        """
        title = f"{self.count:,} step{'' if self.count == 1 else 's'}"
        title = f"{title}, {seconds:.1f} s" if seconds is not None else title
        lines = self._shown(KEPT_LINES, timed=seconds is not None)
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

    def finish(self, bundle: Bundle) -> None:
        """Display the final state."""
        from IPython.display import display

        display(bundle, raw=True)


class TerminalScreen:
    """Prints lines as they come, because a terminal cannot update a display."""

    is_timed = True

    def draw(self, bundle: Bundle) -> None:
        """Do nothing: the lines are already printed."""

    def step(self, line: str) -> None:
        """Print the step."""
        print(f"  {line}", flush=True)

    def finish(self, bundle: Bundle) -> None:
        """Print the number of steps."""
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
        self._steps = Steps()

    def add(self, text: str) -> None:
        """Add a step; the next ``tick`` that may redraw shows it."""
        self._screen.step(self._steps.add(text, self._clock() - self._started))
        self._is_stale = True
        if self._steps.count == 1:
            self._drawn = float("-inf")  # draw the first step at once, to show that work has begun

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
