"""Optional OpenTelemetry tracing: one span per request or stream, exported as the OTEL_… variables say. Extra ``otel``.

A span has the method, the path if it has a route, and the status; never a query, a header or content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from svc.errors import ConfigError

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

PathLabel = Callable[[str], str]
_ADDRESS = "svc.address"
_HIDDEN = ("path", "raw_path", "query_string")


def traced(app: ASGIApp, path_label: PathLabel, provider: TracerProvider | None = None) -> ASGIApp:
    """Wrap the application with a span around each request.

    Args:
        app: The application.
        path_label: Returns the form of a path that may be recorded.
        provider: Where spans go; the default exports by OTLP over HTTP.

    Raises:
        ConfigError: The extra ``otel`` is not installed.
    """
    try:
        from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware

        chosen = provider or _otlp_provider()
    except ImportError as error:
        raise ConfigError(
            f'telemetry is enabled, but {error.name} is not installed. Run: pip install "svc-jupyter[otel]", '
            "or disable --telemetry (SVC_TELEMETRY)"
        ) from error
    inner = OpenTelemetryMiddleware(_RestoreAddress(app), tracer_provider=chosen, exclude_spans=["receive", "send"])
    return _HideAddress(inner, path_label)


def _otlp_provider() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider as Provider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = Provider(resource=Resource.create({"service.name": "svc"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class _HideAddress:
    """Hides the URL from the tracing middleware, except a path with a route."""

    def __init__(self, app: ASGIApp, path_label: PathLabel) -> None:
        self._app = app
        self._path_label = path_label

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            path = self._path_label(scope["path"])
            hidden = {"path": path, "raw_path": path.encode(), "query_string": b""}
            scope = {**scope, **hidden, _ADDRESS: {name: scope[name] for name in _HIDDEN if name in scope}}
        await self._app(scope, receive, send)


class _RestoreAddress:
    """Restores the URL for the application inside the tracing middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.update(scope.pop(_ADDRESS, {}))
        await self._app(scope, receive, send)
