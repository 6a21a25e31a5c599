"""Whether the service is in use: open requests and streams, and when the last of them ended."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator


class ActivityTracker:
    """Counts open requests and streams. ``clock`` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._open = 0
        self._last = clock()

    @contextlib.contextmanager
    def request(self) -> Iterator[None]:
        """Count a request while the context is active."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self._last = self._clock()

    @property
    def open_requests(self) -> int:
        """The number of open requests and streams."""
        return self._open

    def idle_seconds(self, *, running_turns: int) -> float:
        """How long nothing has been open; a running turn counts as use."""
        if self._open or running_turns:
            self._last = self._clock()
        return self._clock() - self._last
