"""Passes what is about an unlogged session on to the service that holds it, of the several on a database."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket

from svc.service.access.passed_requests import PassedRequests, is_passed
from svc.service.forwarding.http_requests import HttpForwarder
from svc.service.forwarding.streams import StreamForwarder
from svc.service.observability.gauges import ForwardingFigures, add_forwarding_metrics
from svc.service.operations import Service
from svc.service.store.homes import Home, Homes, SessionElsewhereError
from svc.service.store.records import KeyRecord
from svc.service.stream.open_streams import OpenStreams


class Forwarder:
    """Requests and streams to the other services.

    Args:
        service: This service, which lists their unlogged sessions from now on, too.
        passed: Signs what is passed on, and knows what was.
        homes: Where unlogged sessions are.
    """

    def __init__(self, service: Service, passed: PassedRequests, homes: Homes) -> None:
        self._service = service
        self._passed = passed
        figures = ForwardingFigures()
        add_forwarding_metrics(service.metrics, figures)
        self._http = HttpForwarder(passed, homes, figures)
        self._streams = StreamForwarder(passed, self._http, service.settings, figures)
        service.list_elsewhere = self._http.sessions_of

    async def start(self) -> None:
        """Read the secret of the services."""
        await self._passed.start()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.close()

    async def pass_on(self, key: KeyRecord, request: Request, elsewhere: SessionElsewhereError) -> Response:
        """The answer of the service that holds the session; raises the error if the request was passed on before."""
        if is_passed(request.headers.get("authorization")):
            raise elsewhere
        return await self._http.pass_on(self._service, key, request, elsewhere.home)

    async def pass_stream_on(
        self, websocket: WebSocket, key: KeyRecord, session_id: str, home: Home, streams: OpenStreams
    ) -> None:
        """Serve a stream by one of the service that holds the session."""
        await self._streams.pass_on(websocket, key, session_id, home, streams)
