"""Optional OpenTelemetry: a span a request or stream, exported as OTEL_… in the environment says. Extra ``otel``.

A span has the method, the path and the status; never a query, a header or a word of what was asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from svc.errors import ConfigError

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

_QUERY = "svc.query_string"


def traced(app: ASGIApp, provider: TracerProvider | None = None) -> ASGIApp:
    """The application with a span around each request; without ``provider``, one that exports by OTLP over HTTP.

    Raises ConfigError where the extra is not installed.
    """
    try:
        from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware

        chosen = provider or _exporting()
    except ImportError as error:
        raise ConfigError(
            f'telemetry is switched on, but {error.name} is not installed: pip install "svc-jupyter[otel]", '
            "or leave --telemetry (SVC_TELEMETRY) out"
        ) from error
    inner = OpenTelemetryMiddleware(_WithQuery(app), tracer_provider=chosen, exclude_spans=["receive", "send"])
    return _WithoutQuery(inner)


def _exporting() -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider as Provider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = Provider(resource=Resource.create({"service.name": "svc"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class _WithoutQuery:
    """Hides the query from what is inside."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if "query_string" in scope:
            scope = {**scope, "query_string": b"", _QUERY: scope["query_string"]}
        await self._app(scope, receive, send)


class _WithQuery:
    """Gives the query back to what is inside."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _QUERY in scope:
            scope["query_string"] = scope[_QUERY]
        await self._app(scope, receive, send)
