"""The live area: what a turn is doing, in one display, never faster than people or front ends can take it.

``Steps`` decides what stands there (pure); a screen puts it there: a notebook's one display, a batch run's final form
alone, a terminal's lines. Only the cell's thread calls. Facts: docs/notebook.md, "Live area".
"""

from __future__ import annotations

import html
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from svc.untrusted.characters import one_line

REDRAW_SECONDS = 0.1  # Jupyter Server drops messages over 1,000/s; the eye sees no more than this anyway
CLOCK_SECONDS = 1.0  # between redraws that only show that time passes
KEPT_LINES = 100  # that a finished area unfolds
Bundle = dict[str, str]


@dataclass(frozen=True)
class _Line:
    seconds: float
    text: str


class Steps:
    """The steps of one turn: the last ones as text, all of them as a count."""

    def __init__(self) -> None:
        self.count = 0
        self._kept: deque[_Line] = deque(maxlen=KEPT_LINES)

    def add(self, text: str, seconds: float) -> str:
        """Take a step that came ``seconds`` after the question; returns it as the one safe line that is shown."""
        line = one_line(text)
        self.count += 1
        self._kept.append(_Line(seconds, line))
        return line

    def running(self, seconds: float, *, max_lines: int) -> Bundle:
        """The area while the turn runs."""
        return _bundle(f"working, {seconds:.0f} s", self._shown(max_lines, timed=True), is_folded=False)

    def finished(self, outcome: str, seconds: float | None) -> Bundle:
        """The area at its end; without ``seconds`` nothing in it depends on how fast the machine is.

        ``outcome`` is empty for an answer; else it says what happened, and the steps stay unfolded.
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
    """Where an area stands."""

    is_timed: bool

    def draw(self, bundle: Bundle) -> None:
        """The area as it is now; called at most ten times a second."""

    def step(self, line: str) -> None:
        """One step, as it comes."""

    def finish(self, bundle: Bundle) -> None:
        """The area as it stays."""


class NotebookScreen:
    """One display, drawn again in its place."""

    is_timed = True

    def __init__(self) -> None:
        self._display_id = uuid.uuid4().hex
        self._is_shown = False

    def draw(self, bundle: Bundle) -> None:
        """Show it, or show it again in its place."""
        from IPython.display import display, update_display

        put = update_display if self._is_shown else display
        put(bundle, raw=True, display_id=self._display_id)
        self._is_shown = True

    def step(self, line: str) -> None:
        """Drawn with the next ``draw``."""

    def finish(self, bundle: Bundle) -> None:
        """The last drawing is always made."""
        self.draw(bundle)


class BatchScreen:
    """The final form alone, and nothing in it that differs from run to run: nbval compares it."""

    is_timed = False

    def draw(self, bundle: Bundle) -> None:
        """Nobody looks."""

    def step(self, line: str) -> None:
        """Nobody looks."""

    def finish(self, bundle: Bundle) -> None:
        """The one display."""
        from IPython.display import display

        display(bundle, raw=True)


class TerminalScreen:
    """Lines, printed as they come: a terminal cannot draw in place."""

    is_timed = True

    def draw(self, bundle: Bundle) -> None:
        """The lines are there already."""

    def step(self, line: str) -> None:
        """Print it."""
        print(f"  {line}", flush=True)

    def finish(self, bundle: Bundle) -> None:
        """Print how many there were."""
        print(bundle["text/plain"], flush=True)


class LiveArea:
    """Follows one turn on one screen."""

    def __init__(self, screen: Screen, *, max_lines: int, clock: Callable[[], float]) -> None:
        self._screen = screen
        self._max_lines = max_lines
        self._clock = clock
        self._started = clock()
        self._drawn = float("-inf")
        self._is_stale = True
        self._steps = Steps()

    def add(self, text: str) -> None:
        """A step has come; it is drawn with the next ``tick`` that may draw."""
        self._screen.step(self._steps.add(text, self._clock() - self._started))
        self._is_stale = True
        if self._steps.count == 1:
            self._drawn = float("-inf")  # the first step is drawn at once: it tells that somebody works

    def tick(self) -> None:
        """Draw if there is something new and it is not too soon."""
        now = self._clock()
        if now - self._drawn >= (REDRAW_SECONDS if self._is_stale else CLOCK_SECONDS):
            self._drawn, self._is_stale = now, False
            self._screen.draw(self._steps.running(now - self._started, max_lines=self._max_lines))

    def finish(self, outcome: str = "") -> None:
        """Draw the last state, whatever was drawn when. ``outcome`` is empty where the question was answered."""
        seconds = self._clock() - self._started if self._screen.is_timed else None
        self._screen.finish(self._steps.finished(outcome, seconds))
