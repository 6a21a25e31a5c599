"""Prometheus metrics of the service: figures only, no names or content.

Paths are those of the table of routes, so that requests cannot create labels. Quotas are labelled with the id of the
original key, which is not secret; only administrators create original keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = CONTENT_TYPE_LATEST
OTHER = "other"  # any path without a route
_QUOTA_LABELS = ("quota", "key")
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800)


class _ReadCounter(Collector):
    """A counter that another part of the service keeps."""

    def __init__(self, name: str, meaning: str, count: Callable[[], float]) -> None:
        self._name = name
        self._meaning = meaning
        self._count = count

    def collect(self) -> Iterable[Metric]:
        """The value now."""
        yield CounterMetricFamily(self._name, self._meaning, value=self._count())


class Metrics:
    """The metrics of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._paths: frozenset[str] = frozenset()
        self._requests = Counter(
            "svc_requests", "Requests answered.", ["method", "path", "status"], registry=self._registry
        )
        self._request_seconds = Histogram(
            "svc_request_seconds", "Seconds from a request to the end of its response.", ["path"],
            buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip
        self._turns = Counter("svc_turns", "Completed turns.", ["state"], registry=self._registry)
        self._turn_seconds = Histogram(
            "svc_turn_seconds", "Seconds from a query to its turn's end.", buckets=_SECONDS, registry=self._registry
        )
        self._messages = Counter("svc_messages", "Stored messages of turns.", registry=self._registry)
        self._tokens = Counter("svc_tokens", "Tokens used by turns.", registry=self._registry)
        self._quota_used = Counter(
            "svc_quota_used", "Usage of quotas per time, by key.", _QUOTA_LABELS, registry=self._registry
        )
        self._quota_held = Gauge(
            "svc_quota_held", "Current usage of other quotas, by key.", _QUOTA_LABELS, registry=self._registry
        )
        self._quota_refused = Counter(
            "svc_quota_refused", "Requests refused because of a quota.", _QUOTA_LABELS, registry=self._registry
        )
        self._connections_cut = Counter(
            "svc_connections_cut", "Connections closed because of a limit.", ["limit"], registry=self._registry
        )
        self._accept_failures = Counter(
            "svc_accept_failures", "Connections that could not be accepted.", registry=self._registry
        )

    def set_known_paths(self, paths: frozenset[str]) -> None:
        """Set the paths that are counted by name."""
        self._paths = paths

    def path_label(self, path: str) -> str:
        """The path if it has a route, else ``other``."""
        return path if path in self._paths else OTHER

    def add_gauge(self, name: str, meaning: str, count: Callable[[], float]) -> None:
        """Add a gauge whose value is read from ``count`` at each scrape."""
        Gauge(name, meaning, registry=self._registry).set_function(count)

    def add_counter(self, name: str, meaning: str, count: Callable[[], float]) -> None:
        """Add a counter whose value is read from ``count`` at each scrape."""
        self._registry.register(_ReadCounter(name, meaning, count))

    def request_ended(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a finished request or stream; ``status`` may be a websocket close code."""
        label = self.path_label(path)
        self._requests.labels(method if label != OTHER else OTHER, label, str(status)).inc()
        self._request_seconds.labels(label).observe(seconds)

    def turn_ended(self, state: str, seconds: float, *, messages: int, tokens: int) -> None:
        """Count a turn that ended in this process, with its stored messages and tokens."""
        self._turns.labels(state).inc()
        self._messages.inc(messages)
        self._turn_seconds.observe(max(0.0, seconds))
        self._tokens.inc(max(0, tokens))

    def quota_used(self, quota: str, key_id: str, amount: float) -> None:
        """Count an amount that a key used of a quota of time."""
        self._quota_used.labels(quota, key_id).inc(amount)

    def quota_held(self, quota: str, key_id: str, amount: float) -> None:
        """Set what a key holds of another quota."""
        self._quota_held.labels(quota, key_id).set(amount)

    def quota_refused(self, quota: str, key_id: str) -> None:
        """Count a refusal."""
        self._quota_refused.labels(quota, key_id).inc()

    def connection_cut(self, limit: str) -> None:
        """Count a connection that was cut because of the limit with this setting."""
        self._connections_cut.labels(limit).inc()

    def accept_failed(self) -> None:
        """Count a connection that could not be accepted."""
        self._accept_failures.inc()

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)
