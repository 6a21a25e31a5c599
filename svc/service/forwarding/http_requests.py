"""Pass HTTP requests about unlogged sessions on to the service that holds them. Facts: docs/how_to/postgresql.md.

Each is sent once: where the connection is lost after that, nobody knows what was done, and the client gets a 502 that
says so. Only a request that was certainly not sent is answered with 503, which clients repeat.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator

import httpx2
import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from svc.errors import ServiceError, UnavailableError, UpstreamError
from svc.service.access.auth import request_target
from svc.service.access.passed_requests import PassedRequests
from svc.service.http import endpoints as http
from svc.service.observability.gauges import ForwardingFigures
from svc.service.operations import Service
from svc.service.store.homes import Home, Homes
from svc.service.store.records import KeyRecord, SessionRecord

log: logging.Logger = logging.getLogger("svc.forwarding")
CONNECT_SECONDS = 3.0
IDLE_SECONDS = 30.0  # between two parts of a body
LOOK_SECONDS = 2.0  # between looks whether the service that is to answer still lives
KEEP_SECONDS = 2.0  # an unused connection: less than the other service keeps it
_SENT_HEADERS = ("content-type", "content-length")
_ANSWER_HEADERS = frozenset({"content-type", "content-length", "content-disposition", "retry-after",
                             "www-authenticate", "x-ignored-parameters"})  # fmt: skip
_SESSIONS = msgspec.json.Decoder(list[SessionRecord])


class HttpForwarder:
    """Sends requests to other services.

    Args:
        passed: Signs them.
        homes: Where unlogged sessions are.
        figures: Counts what is passed on for clients.
    """

    def __init__(self, passed: PassedRequests, homes: Homes, figures: ForwardingFigures) -> None:
        self._passed = passed
        self._homes = homes
        self._figures = figures
        self.tls: ssl.SSLContext = ssl.create_default_context()  # trusts SSL_CERT_FILE, too
        self._client = httpx2.AsyncClient(
            verify=self.tls,
            trust_env=False,
            timeout=httpx2.Timeout(connect=CONNECT_SECONDS, read=None, write=IDLE_SECONDS, pool=None),
            limits=httpx2.Limits(max_connections=None, keepalive_expiry=KEEP_SECONDS),
            headers={"accept-encoding": "identity", "user-agent": f"svc-jupyter/{http.VERSION}"},
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def pass_on(self, service: Service, key: KeyRecord, request: Request, home: Home) -> Response:
        """The answer of the service that holds the session.

        Raises:
            UnavailableError: It was not reached, and nothing was sent.
            UpstreamError: The connection was lost; the request may have been carried out.
        """
        body: bytes | None = request.scope["state"].get(http.BODY)
        headers = {name: request.headers[name] for name in _SENT_HEADERS if name in request.headers}
        content = http.read_chunks(service, request) if body is None and request.method == "POST" else body
        target = request_target(request.scope)
        try:
            answer = await self._send(key, home, request.method, target, headers, content)
        except (UnavailableError, UpstreamError):
            self._figures.failed += 1
            raise
        self._figures.passed_on += 1
        return _Passed(answer, self._figures)

    async def sessions_of(self, key: KeyRecord) -> list[SessionRecord]:
        """The live unlogged sessions of the key's user at all other services; raises UnavailableError."""
        found: list[SessionRecord] = []
        for home in await self._homes.of_user(key.user_id):
            answer = await self._send(key, home, "GET", http.UNLOGGED_PATH, {}, None)
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    content = await answer.aread()
            except (httpx2.HTTPError, TimeoutError) as error:
                raise UnavailableError("a service that holds some of your sessions was lost", retry_after=1) from error
            finally:
                await answer.aclose()
            if answer.is_success:
                found += _SESSIONS.decode(content)
            elif answer.status_code != 404:  # 404: that service has ended, and another has its address
                raise UnavailableError("a service that holds some of your sessions cannot list them", retry_after=1)
        return found

    async def _send(
        self,
        key: KeyRecord,
        home: Home,
        method: str,
        target: str,
        headers: dict[str, str],
        content: bytes | AsyncIterator[bytes] | None,
    ) -> httpx2.Response:
        request = self._client.build_request(method, f"{home.address}{target}", headers=headers, content=content)
        sent = request.url.raw_path.decode("ascii")  # as the other service will see it
        body = None if content is not None and not isinstance(content, bytes) else content or b""
        request.headers["authorization"] = self._passed.sign(key, home.replica, method, sent, body)
        return await self._answer(request, home)

    async def _answer(self, request: httpx2.Request, home: Home) -> httpx2.Response:
        """The head of the answer, however long a turn takes, unless the other service dies meanwhile."""
        task = asyncio.create_task(self._client.send(request, stream=True))
        try:
            while not (await asyncio.wait({task}, timeout=LOOK_SECONDS))[0]:
                if not await self._is_alive(home):
                    raise _lost(TimeoutError("its lease has ended"))
            return task.result()
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            log.warning("service not reached", extra={"address": home.address, "reason": type(error).__name__})
            raise UnavailableError(
                "the service that holds this unlogged session is not reached. If it has ended, so has the session",
                retry_after=1,
            ) from error
        except httpx2.HTTPError as error:
            raise _lost(error) from error
        finally:
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, ServiceError, httpx2.HTTPError):
                    await task

    async def _is_alive(self, home: Home) -> bool:
        """Whether an answer may still come; while the database is away, it may."""
        try:
            return await self._homes.is_alive(home)
        except ServiceError:
            return True


class _Passed(StreamingResponse):
    """The answer of another service as it comes in."""

    def __init__(self, answer: httpx2.Response, figures: ForwardingFigures) -> None:
        super().__init__(_parts(answer), answer.status_code)
        kept = [(name, value) for name, value in answer.headers.multi_items() if name in _ANSWER_HEADERS]
        self.raw_headers = [(name.encode(), value.encode("latin-1")) for name, value in kept]
        self._answer = answer
        self._figures = figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except UpstreamError:
            self._figures.failed += 1
            raise
        finally:
            await self._answer.aclose()


async def _parts(answer: httpx2.Response) -> AsyncIterator[bytes]:
    parts = answer.aiter_raw()
    while True:
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                part = await anext(parts)
        except StopAsyncIteration:
            return
        except (httpx2.HTTPError, TimeoutError) as error:
            raise _lost(error) from error  # the head was sent: the connection ends before the body does
        yield part


def _lost(error: Exception) -> UpstreamError:
    log.warning("service lost", extra={"reason": type(error).__name__})
    return UpstreamError(
        "the connection to the service that holds this unlogged session was lost; whether the request was carried "
        "out is not known. If that service has ended, so has the session"
    )
