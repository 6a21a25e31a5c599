"""Metrics that are read from parts of the service at each scrape. Facts: docs/wire.md, "Logs, metrics and traces"."""

from __future__ import annotations

import msgspec

from svc.assistant.turn import Assistant, WorkerLoad
from svc.service.observability.metrics import Metrics
from svc.service.store import Store
from svc.service.store.opening import doubts_of
from svc.service.store.shared import TurnsWaiting


class ReplicaFigures(msgspec.Struct):
    """What an operator should see of one of several services, since its start or as of its last lease."""

    taken_over: int = 0  # turns of services that died or lost their lease
    leases_lost: int = 0
    hints_healed: int = 0
    waiting: TurnsWaiting = TurnsWaiting(0, 0.0)
    unlike: int = 0  # services that answer by another assistant, model or set of rules


class ForwardingFigures(msgspec.Struct):
    """What a service passed on to others that hold unlogged sessions, since its start."""

    passed_on: int = 0  # requests and streams that were answered
    failed: int = 0  # those whose service was not reached, or was lost
    streams: int = 0  # open now


def add_worker_metrics(metrics: Metrics, assistant: Assistant) -> None:
    """Those of the processes that read files."""

    def load() -> WorkerLoad:
        found: WorkerLoad = getattr(assistant, "worker_load", WorkerLoad())  # one that is no subclass may lack it
        return found

    metrics.add_gauge("svc_worker_slots", "Workers that may run at the same time.", lambda: load().slots)
    metrics.add_gauge("svc_worker_slots_busy", "Workers that run a job now.", lambda: load().busy)
    metrics.add_gauge("svc_worker_jobs_waiting", "Jobs that wait for a worker.", lambda: load().waiting)


def add_store_metrics(metrics: Metrics, store: Store) -> None:
    """That of a database on another machine."""
    if (count := doubts_of(store)) is not None:
        metrics.add_counter("svc_appends_in_doubt", "Appends whose answer was lost.", count)


def add_forwarding_metrics(metrics: Metrics, figures: ForwardingFigures) -> None:
    """Those of what is about unlogged sessions of other services."""
    metrics.add_counter(
        "svc_passed_on", "Requests and streams passed on to the service of an unlogged session.",
        lambda: figures.passed_on,
    )  # fmt: skip
    metrics.add_counter(
        "svc_passed_on_failed", "Requests and streams whose service was not reached, or was lost.",
        lambda: figures.failed,
    )  # fmt: skip
    metrics.add_gauge("svc_streams_passed_on", "Open streams that are passed on.", lambda: figures.streams)


def add_replica_metrics(metrics: Metrics, figures: ReplicaFigures) -> None:
    """Those of one of several services on a database."""
    metrics.add_counter(
        "svc_turns_taken_over", "Turns of services that died, taken over by this one.", lambda: figures.taken_over
    )
    metrics.add_counter("svc_leases_lost", "Leases of this service that ran out.", lambda: figures.leases_lost)
    metrics.add_counter(
        "svc_hints_healed", "Sessions whose streams were late, because a hint was lost.",
        lambda: figures.hints_healed,
    )  # fmt: skip
    metrics.add_gauge(
        "svc_services_unlike", "Services of the database that answer by something else.", lambda: figures.unlike
    )
    metrics.add_gauge(
        "svc_database_turns_waiting", "Turns in the database that no service runs.", lambda: figures.waiting.turns
    )
    metrics.add_gauge(
        "svc_database_oldest_waiting_turn_seconds", "How long ago the oldest of them was asked.",
        lambda: figures.waiting.oldest_seconds,
    )  # fmt: skip
