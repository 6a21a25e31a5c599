"""Optional OpenTelemetry: a span a request or stream, exported as OTEL_… in the environment says. Extra ``otel``.

A span has the method, the path where it is on the table of routes, and the status; never a query, a header or a word of
what was asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from svc.errors import ConfigError

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

Known = Callable[[str], str]
_ADDRESS = "svc.address"
_HIDDEN = ("path", "raw_path", "query_string")


def traced(app: ASGIApp, known: Known, provider: TracerProvider | None = None) -> ASGIApp:
    """The application with a span around each request; without ``provider``, one that exports by OTLP over HTTP.

    ``known`` names a path as it may be shown. Raises ConfigError where the extra is not installed.
    """
    try:
        from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware

        chosen = provider or _exporting()
    except ImportError as error:
        raise ConfigError(
            f'telemetry is switched on, but {error.name} is not installed: pip install "svc-jupyter[otel]", '
            "or leave --telemetry (SVC_TELEMETRY) out"
        ) from error
    inner = OpenTelemetryMiddleware(_WithAddress(app), tracer_provider=chosen, exclude_spans=["receive", "send"])
    return _WithoutAddress(inner, known)


def _exporting() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider as Provider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = Provider(resource=Resource.create({"service.name": "svc"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class _WithoutAddress:
    """Hides the address from what is inside, all but a known path."""

    def __init__(self, app: ASGIApp, known: Known) -> None:
        self._app = app
        self._known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            path = self._known(scope["path"])
            hidden = {"path": path, "raw_path": path.encode(), "query_string": b""}
            scope = {**scope, **hidden, _ADDRESS: {name: scope[name] for name in _HIDDEN if name in scope}}
        await self._app(scope, receive, send)


class _WithAddress:
    """Gives the address back to what is inside."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.update(scope.pop(_ADDRESS, {}))
        await self._app(scope, receive, send)
