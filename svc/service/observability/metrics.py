"""What the service counts of itself, for Prometheus. Holds figures alone: no name, no id, no content.

Paths are those of the table of routes, so that nobody can make up labels.
"""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

CONTENT_TYPE = CONTENT_TYPE_LATEST
OTHER = "other"  # any path that is not on the table
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800)


class Metrics:
    """The figures of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._paths: frozenset[str] = frozenset()
        self._requests = Counter(
            "svc_requests", "Requests answered.", ["method", "path", "status"], registry=self._registry
        )
        self._request_seconds = Histogram(
            "svc_request_seconds", "From a request to the end of its answer.", ["path"],
            buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip
        self._turns = Counter("svc_turns", "Turns that ended.", ["state"], registry=self._registry)
        self._turn_seconds = Histogram(
            "svc_turn_seconds", "From a query to the end of its turn.", buckets=_SECONDS, registry=self._registry
        )
        self._messages = Counter("svc_messages", "Messages of turns that were stored.", registry=self._registry)
        self._tokens = Counter("svc_tokens", "Tokens that turns cost.", registry=self._registry)

    def know_paths(self, paths: frozenset[str]) -> None:
        """The paths that count by name."""
        self._paths = paths

    def known(self, path: str) -> str:
        """The path, or ``other``: anybody can ask for an address with any word in it."""
        return path if path in self._paths else OTHER

    def watch(self, name: str, meaning: str, count: Callable[[], int]) -> None:
        """A figure that is asked for whenever the metrics are read."""
        Gauge(name, meaning, registry=self._registry).set_function(count)

    def request_ended(self, method: str, path: str, status: int, seconds: float) -> None:
        """A request was answered, or a stream closed; ``status`` may be a websocket's close code."""
        known = self.known(path)
        self._requests.labels(method if known != OTHER else OTHER, known, str(status)).inc()
        self._request_seconds.labels(known).observe(seconds)

    def turn_ended(self, state: str, seconds: float, *, messages: int, tokens: int) -> None:
        """A turn ended here after so many stored messages."""
        self._turns.labels(state).inc()
        self._messages.inc(messages)
        self._turn_seconds.observe(max(0.0, seconds))
        self._tokens.inc(max(0, tokens))

    def exposition(self) -> bytes:
        """All figures in Prometheus' text form."""
        return generate_latest(self._registry)
