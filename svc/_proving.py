"""Connections over plain http to a service on this machine that are used only after the service has proved itself.

The proof (``_proof.py``) is requested on the connection itself, as its first request, because a port can change hands
between two connections. So httpx2's connections are opened by a backend of our own, and a websocket gets a socket on
which the proof was given. Nothing is sent before: no key, no question, no path.

If the proof is for the address of a balancer, or for the other end of a tunnel, another program could take the port
here and pass everything on to a service that still runs. So the key is hidden there in each request, as browsers do
everywhere.
"""

from __future__ import annotations

import json
import re
import secrets
import socket
import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

import httpcore2
import httpx2

from svc._proof import NONCE_BYTES, is_proven, key_digest, key_name, sealed_key, socket_address
from svc._retry import is_retried_status
from svc.config import Config

MAX_ANSWER_BYTES = 16_384
_CHALLENGE_SECONDS = 15.0  # half of what the service allows
_SAFE = re.compile(r"[0-9A-Za-z.]+")
_UNPROVEN = "the program that listens there did not prove that it is your service"


class UnprovenError(Exception):
    """No proof came, so the connection was closed and nothing was sent on it. The text says why.

    ``is_key_unknown``: the other side says that it does not know the key. ``is_passing``: it gave no proof now, but may
    later, such as a service that is stopping.
    """

    def __init__(self, reason: str, *, is_key_unknown: bool = False, is_passing: bool = False) -> None:
        super().__init__(reason)
        self.is_key_unknown = is_key_unknown
        self.is_passing = is_passing


class ProvenSocket(NamedTuple):
    """A socket on which the service proved itself. ``challenge``: hide the key with it; None: the key may be sent."""

    socket: socket.socket
    challenge: str | None


class Exchange:
    """One request for a proof, without I/O: send ``request``, then feed what arrives until ``feed`` returns True.

    Then ``challenge`` is the one to hide the key with, or None if the service accepted this very connection.
    """

    challenge: str | None = None

    def __init__(self, config: Config, url: str, peer: tuple[str, int]) -> None:
        parts = urlsplit(url)
        self._digest = key_digest(config.api_key)
        self._nonce = secrets.token_hex(NONCE_BYTES)
        self._is_tunnel = config.tunnel_to is not None
        self._address = config.tunnel_to or socket_address(*peer[:2])
        self._received = b""
        self.target = f"{parts.path}/proof?key={key_name(self._digest)}&nonce={self._nonce}"
        self.request = (
            f"GET {self.target} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: application/json\r\n\r\n".encode()
        )

    def feed(self, data: bytes) -> bool:
        """Whether the proof is complete and right; raises UnprovenError if it is wrong or does not come."""
        if not data:
            raise UnprovenError(f"{_UNPROVEN}: it closed the connection", is_passing=True)
        self._received += data
        if len(self._received) > MAX_ANSWER_BYTES:
            raise UnprovenError(f"{_UNPROVEN}: its answer is too long")
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator:
            return False
        status, length = _parse_head(head)
        if len(body) < length:
            return False
        self.check(status, body, length)
        return True

    def check(self, status: int, body: bytes, length: int) -> None:
        """Raise UnprovenError if the answer is not a proof for this address."""
        if status == 401:
            raise UnprovenError(f"{_UNPROVEN}: it does not know the key", is_key_unknown=True)
        if status != 200:
            is_passing = is_retried_status(status, is_repeatable=True)
            raise UnprovenError(f"{_UNPROVEN}: it answered HTTP {status}", is_passing=is_passing)
        answer = _object_in(body) if len(body) == length else {}
        if self._is_proven(answer) and not self._is_tunnel:
            return
        fronts = answer.get("fronts")
        proven = [one for one in [answer, *(fronts if isinstance(fronts, list) else [])] if self._is_proven(one)]
        if not proven or not isinstance(challenge := proven[0].get("challenge"), str) or not _SAFE.fullmatch(challenge):
            raise UnprovenError(f"{_UNPROVEN}: its proof is wrong")
        self.challenge = challenge

    def _is_proven(self, answer: object) -> bool:
        proof = answer.get("proof") if isinstance(answer, dict) else None
        return isinstance(proof, str) and is_proven(proof, self._digest, self._nonce, self._address)


class _SealNeededError(Exception):
    """The connection leads through a balancer or a tunnel, so requests must hide the key; nothing was sent."""


class _Sealing:
    """Whether the requests of a transport hide the key, and with which challenge."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._challenge: tuple[str, float] = ("", 0.0)  # and until when it is used
        self.is_on: bool = False

    def accept(self, exchange: Exchange, asked: float, *, hides_key: bool) -> None:
        """Take the challenge of a new connection; raises _SealNeededError if its requests would send the key."""
        if exchange.challenge is None:
            return
        self._challenge = (exchange.challenge, asked + _CHALLENGE_SECONDS)
        self.is_on = True
        if not hides_key:
            raise _SealNeededError

    @property
    def is_due(self) -> bool:
        """Whether the next request needs a new challenge first."""
        return time.monotonic() >= self._challenge[1]

    @property
    def challenge(self) -> str:
        """What the key is hidden with now."""
        return self._challenge[0]

    def headers(self, request: httpx2.Request, challenge: str) -> list[tuple[bytes, bytes]]:
        """The headers of a request, with the key hidden."""
        target = request.url.raw_path.decode("ascii")
        hidden = sealed(self._config, self._config.base_url, challenge, request.method, target)
        others = [(name, value) for name, value in request.headers.raw if name.lower() != b"authorization"]
        return [*others, (b"Authorization", hidden.encode())]

    def check(self, response: httpx2.Response, challenge: str) -> None:
        """Raise ConnectError for a refusal because the service has ended since it gave the challenge.

        The request was sent to the next one, on a new connection. It was not carried out, and may be sent again.
        """
        if response.status_code == httpx2.codes.UNAUTHORIZED and challenge != self._challenge[0]:
            raise httpx2.ConnectError("the service was started again while the request was sent")


def sealed(config: Config, url: str, challenge: str, method: str, target: str) -> str:
    """The ``Authorization`` of one request to ``url``, whose own path a proxy takes off the target."""
    return sealed_key(config.api_key, challenge, method, target.removeprefix(urlsplit(url).path))


def _parse_head(head: bytes) -> tuple[int, int]:
    """Status and Content-Length of an answer's head."""
    first, *lines = head.split(b"\r\n")
    words = first.split(b" ")
    lengths = {value.strip() for name, _, value in (line.partition(b":") for line in lines) if _is_length(name)}
    length = lengths.pop() if len(lengths) == 1 else b""
    if words[0] != b"HTTP/1.1" or len(words) < 2 or not words[1].isdigit() or not 0 < len(length) < 8:
        raise UnprovenError(f"{_UNPROVEN}: its answer is not the proof of a service")
    if not length.isdigit():
        raise UnprovenError(f"{_UNPROVEN}: its answer is not the proof of a service")
    return int(words[1][:3]), int(length)


def _is_length(name: bytes) -> bool:
    return name.strip().lower() == b"content-length"


def _object_in(body: bytes) -> dict[str, object]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def proven_socket(config: Config, url: str, seconds: float) -> ProvenSocket:
    """Connect to ``url`` and have the service prove itself; blocks.

    Raises UnprovenError, OSError if there is no connection, TimeoutError after ``seconds`` altogether.
    """
    parts = urlsplit(url)
    deadline = time.monotonic() + seconds
    connection = socket.create_connection((parts.hostname or "", parts.port or 80), timeout=seconds)
    try:
        exchange = Exchange(config, url, connection.getpeername())
        connection.sendall(exchange.request)
        while not exchange.feed(connection.recv(4_096)):
            connection.settimeout(_left(deadline))
        connection.settimeout(0)  # for the event loop
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        connection.close()
        raise
    return ProvenSocket(connection, exchange.challenge)


def _left(deadline: float) -> float:
    if (left := deadline - time.monotonic()) <= 0:
        raise TimeoutError("the proof of the service did not come in time")
    return left


class _ProvingBackend(httpcore2.NetworkBackend):
    """Opens a connection and has the service prove itself on it. ``hides_key``: as the requests on it do."""

    def __init__(self, config: Config, seconds: float, sealing: _Sealing, *, hides_key: bool) -> None:
        self._config = config
        self._seconds = seconds
        self._sealing = sealing
        self._hides_key = hides_key

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        asked = time.monotonic()
        deadline = asked + self._seconds
        stream = httpcore2.SyncBackend().connect_tcp(host, port, self._seconds, local_address, socket_options or ())
        try:
            exchange = Exchange(self._config, self._config.base_url, stream.get_extra_info("server_addr"))
            stream.write(exchange.request, self._seconds)
            while not exchange.feed(stream.read(4_096, _time_left(deadline))):
                pass
            self._sealing.accept(exchange, asked, hides_key=self._hides_key)
        except BaseException:
            stream.close()
            raise
        return stream


class _AsyncProvingBackend(httpcore2.AsyncNetworkBackend):
    """The same in an event loop."""

    def __init__(self, config: Config, seconds: float, sealing: _Sealing, *, hides_key: bool) -> None:
        self._config = config
        self._seconds = seconds
        self._sealing = sealing
        self._hides_key = hides_key

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2's own signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        asked = time.monotonic()
        deadline = asked + self._seconds
        backend = httpcore2.AnyIOBackend()
        stream = await backend.connect_tcp(host, port, self._seconds, local_address, socket_options or ())
        try:
            exchange = Exchange(self._config, self._config.base_url, stream.get_extra_info("server_addr"))
            await stream.write(exchange.request, self._seconds)
            while not exchange.feed(await stream.read(4_096, _time_left(deadline))):
                pass
            self._sealing.accept(exchange, asked, hides_key=self._hides_key)
        except BaseException:
            await stream.aclose()
            raise
        return stream


def _time_left(deadline: float) -> float:
    try:
        return _left(deadline)
    except TimeoutError as error:
        raise httpcore2.ConnectTimeout(str(error)) from error


class ProvenTransport(httpx2.BaseTransport):
    """httpx2's transport over connections on which the service has proved itself.

    Requests that hide the key have connections of their own, so that no other request gets one to a balancer.
    """

    def __init__(self, config: Config, seconds: float) -> None:
        self._sealing = _Sealing(config)
        self._backend = _ProvingBackend(config, seconds, self._sealing, hides_key=True)
        self._hiding = _pool(self._backend)
        self._plain = _pool(_ProvingBackend(config, seconds, self._sealing, hides_key=False))

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return the response, whose body is read as it is used."""
        if not self._sealing.is_on:
            try:
                return self._send(self._plain, request, request.headers.raw)
            except _SealNeededError:
                pass  # the proof came, and nothing else was sent
        if self._sealing.is_due:
            with _httpx_errors():
                self._backend.connect_tcp(request.url.host, request.url.port or 80).close()
        challenge = self._sealing.challenge
        response = self._send(self._hiding, request, self._sealing.headers(request, challenge))
        try:
            self._sealing.check(response, challenge)
        except httpx2.ConnectError:
            response.close()
            raise
        return response

    def _send(
        self, pool: httpcore2.ConnectionPool, request: httpx2.Request, headers: list[tuple[bytes, bytes]]
    ) -> httpx2.Response:
        assert isinstance(request.stream, httpx2.SyncByteStream)
        with _httpx_errors():
            response = pool.handle_request(_core_request(request, headers, request.stream))
        assert isinstance(response.stream, Iterable)
        stream = _Body(response.stream, getattr(response.stream, "close", None))
        return httpx2.Response(response.status, headers=response.headers, stream=stream, extensions=response.extensions)

    def close(self) -> None:
        """Close the connections."""
        self._plain.close()
        self._hiding.close()


class AsyncProvenTransport(httpx2.AsyncBaseTransport):
    """The same in an event loop."""

    def __init__(self, config: Config, seconds: float) -> None:
        self._sealing = _Sealing(config)
        self._backend = _AsyncProvingBackend(config, seconds, self._sealing, hides_key=True)
        self._hiding = _async_pool(self._backend)
        self._plain = _async_pool(_AsyncProvingBackend(config, seconds, self._sealing, hides_key=False))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return the response, whose body is read as it is used."""
        if not self._sealing.is_on:
            try:
                return await self._send(self._plain, request, request.headers.raw)
            except _SealNeededError:
                pass  # the proof came, and nothing else was sent
        if self._sealing.is_due:
            with _httpx_errors():
                await (await self._backend.connect_tcp(request.url.host, request.url.port or 80)).aclose()
        challenge = self._sealing.challenge
        response = await self._send(self._hiding, request, self._sealing.headers(request, challenge))
        try:
            self._sealing.check(response, challenge)
        except httpx2.ConnectError:
            await response.aclose()
            raise
        return response

    async def _send(
        self, pool: httpcore2.AsyncConnectionPool, request: httpx2.Request, headers: list[tuple[bytes, bytes]]
    ) -> httpx2.Response:
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        with _httpx_errors():
            response = await pool.handle_async_request(_core_request(request, headers, request.stream))
        assert isinstance(response.stream, AsyncIterable)
        stream = _AsyncBody(response.stream, getattr(response.stream, "aclose", None))
        return httpx2.Response(response.status, headers=response.headers, stream=stream, extensions=response.extensions)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._plain.aclose()
        await self._hiding.aclose()


def _pool(backend: _ProvingBackend) -> httpcore2.ConnectionPool:
    return httpcore2.ConnectionPool(
        max_connections=100, max_keepalive_connections=20, keepalive_expiry=5.0, network_backend=backend
    )


def _async_pool(backend: _AsyncProvingBackend) -> httpcore2.AsyncConnectionPool:
    return httpcore2.AsyncConnectionPool(
        max_connections=100, max_keepalive_connections=20, keepalive_expiry=5.0, network_backend=backend
    )


class _Body(httpx2.SyncByteStream):
    def __init__(self, parts: Iterable[bytes], close: Callable[[], None] | None) -> None:
        self._parts = parts
        self._close = close

    def __iter__(self) -> Iterator[bytes]:
        with _httpx_errors():
            yield from self._parts

    def close(self) -> None:
        if self._close is not None:
            self._close()


class _AsyncBody(httpx2.AsyncByteStream):
    def __init__(self, parts: AsyncIterable[bytes], close: Callable[[], Awaitable[None]] | None) -> None:
        self._parts = parts
        self._close = close

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _httpx_errors():
            async for part in self._parts:
                yield part

    async def aclose(self) -> None:
        if self._close is not None:
            await self._close()


def _core_request(
    request: httpx2.Request, headers: list[tuple[bytes, bytes]], stream: Iterable[bytes] | AsyncIterable[bytes]
) -> httpcore2.Request:
    url = httpcore2.URL(
        scheme=request.url.raw_scheme, host=request.url.raw_host, port=request.url.port, target=request.url.raw_path
    )
    return httpcore2.Request(request.method, url, headers=headers, content=stream, extensions=request.extensions)


@contextmanager
def _httpx_errors() -> Iterator[None]:
    """Raise httpx2's error for httpcore2's of the same name."""
    try:
        yield
    except (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise _HTTPX_ERRORS.get(type(error), httpx2.TransportError)(str(error)) from error


_HTTPX_ERRORS: dict[type[Exception], type[httpx2.TransportError]] = {
    httpcore2.ConnectError: httpx2.ConnectError,
    httpcore2.ConnectTimeout: httpx2.ConnectTimeout,
    httpcore2.LocalProtocolError: httpx2.LocalProtocolError,
    httpcore2.PoolTimeout: httpx2.PoolTimeout,
    httpcore2.ReadError: httpx2.ReadError,
    httpcore2.ReadTimeout: httpx2.ReadTimeout,
    httpcore2.RemoteProtocolError: httpx2.RemoteProtocolError,
    httpcore2.WriteError: httpx2.WriteError,
    httpcore2.WriteTimeout: httpx2.WriteTimeout,
}
