"""Send HTTP requests and open websockets, blocking (``Transport``) or in an event loop (``AsyncTransport``).

Only this module and ``_proving``, which opens connections over plain http, import httpx2; it translates the errors of
httpx2 and websockets. It decides nothing itself: ``_requests``
builds requests and parses replies, ``_retry`` decides what is tried again, ``_protocol`` what a frame means. The key
travels in headers only and is kept out of reprs, logs and tracebacks. Over plain http it is sent only on a connection
on which the service has proved that it knows the key. Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import logging
import platform
import random
import re
import socket
import ssl
import threading
import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import AsyncGeneratorType
from typing import BinaryIO, TypeVar
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
import websockets
from websockets.asyncio.client import ClientConnection, connect
from websockets.datastructures import Headers

from svc import _retry
from svc._folder_stream import length_of
from svc._proving import (
    AsyncProvenTransport,
    ProvenSocket,
    ProvenTransport,
    UnprovenError,
    proven_socket,
    sealed,
)
from svc._requests import Call, Operation, Reply, parse_error, parse_reply, parse_retry_after
from svc._version import __version__
from svc.config import Config, is_loopback
from svc.errors import (
    AddressNotFoundError,
    ConfigError,
    InternalServiceError,
    InvalidApiKeyError,
    ProtocolError,
    ServiceError,
    SessionExpiredError,
    SvcError,
    UnreachableError,
    service_error,
)
from svc.messages import Message

T = TypeVar("T")

USER_AGENT = f"svc-python/{__version__} Python/{platform.python_version()} ({platform.system()})"
MAX_FRAME_BYTES = 8 * 1_048_576  # a content of 1,000,000 bytes takes up to six times that in JSON's escapes
UPLOAD_CHUNK_BYTES = 262_144
CONNECT_SECONDS = 10.0
REPLY_SECONDS = 60.0  # without a byte; /session/generate, which is held longer, is not called by this SDK
_TRANSIENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError, httpx2.PoolTimeout)  # nothing was sent


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """Time limits by which a stream detects a dead peer."""

    open_seconds: float = CONNECT_SECONDS
    ping_seconds: float = 10.0  # a half-open connection is noticed within ping + pong
    pong_seconds: float = 10.0
    close_seconds: float = 0.5


class LostConnectionError(UnreachableError):
    """A connection could not be opened or was lost; reconnecting may help. ``retry_after`` is in seconds, or None.

    ``refusal`` is the service's own error if it sent one; it is raised when reconnecting did not help. ``is_lasting``:
    another attempt will fail in the same way, unless the connection worked before.
    """

    def __init__(self, text: str, refusal: ServiceError | None = None, *, is_lasting: bool = False) -> None:
        super().__init__(text)
        self.refusal = refusal
        self.is_lasting = is_lasting
        self.retry_after = refusal.retry_after if refusal else None


class LostHistoryError(LostConnectionError):
    """The service has fewer messages of the session than were seen: reconnect with ``after`` 0."""


class _KeyHeaders(Headers):
    """Headers of a websocket's handshake, with a repr that hides the key from tracebacks that show locals."""

    def __repr__(self) -> str:
        return "<headers with the key>"


class _KeyAuth(httpx2.Auth):
    """Adds the key to each request as it is sent, so that no request object in a traceback holds it."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def auth_flow(self, request: httpx2.Request) -> Iterator[httpx2.Request]:  # type: ignore[override]
        request.headers["Authorization"] = f"Bearer {self._config.api_key}"
        yield request


class _HideKey(logging.Filter):
    """Hides the key in the log: websockets logs every header of the handshake at DEBUG."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple) and record.args and str(record.args[0]).lower() == "authorization":
            record.args = (record.args[0], "[hidden]")
        return True


_logger = logging.getLogger("svc.stream")
_logger.addFilter(_HideKey())


class _Connect(connect):
    """Opens a websocket; a redirect is an error, because the next query would go to another host."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class StreamConnection:
    """One open websocket. Raises LostConnectionError if reconnecting may help, else the error that ended it."""

    def __init__(self, connection: ClientConnection, address: str) -> None:
        self._connection = connection
        self._address = address

    async def send(self, frame: str) -> None:
        """Send one text frame."""
        with self._translated():
            await self._connection.send(frame)

    async def receive(self) -> str | bytes:
        """Wait for the next frame."""
        with self._translated():
            return await self._connection.recv()

    async def ping(self) -> float:
        """Measure one round trip, in seconds."""
        with self._translated():
            return await (await self._connection.ping())

    async def close(self) -> None:
        """Close with a handshake, within ``StreamSettings.close_seconds``; never raises if the peer is gone."""
        await self._connection.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except websockets.ConnectionClosed as error:
            raise _closed(error, self._address) from _bare(error)


@dataclass(frozen=True)
class _Retry:
    """Try again after ``delay_seconds``; ``is_lost``: the connection failed, so the address may have changed."""

    delay_seconds: float
    is_lost: bool


class BaseTransport:
    """What the blocking and the asynchronous transport share: address, certificates, streams, retries.

    ``refind`` returns the service's current address and key after a failure, if they can change (the local service).
    ``log`` is the service's log if that is a file on this machine.
    """

    def __init__(
        self,
        config: Config,
        refind: Callable[[], Config] | None = None,
        *,
        settings: StreamSettings | None = None,
        reply_seconds: float = REPLY_SECONDS,
        log: Path | None = None,
    ) -> None:
        self._config = config
        self._reply_seconds = reply_seconds
        self._refind = refind
        self._log = log
        self._settings = settings or StreamSettings()
        self.streams: weakref.WeakSet[AsyncGenerator[Message, None]] = weakref.WeakSet()  # iterations over turns
        self._lock = threading.Lock()
        self._tls: ssl.SSLContext | None = None

    @property
    def config(self) -> Config:
        """The service's current address and key."""
        return self._config

    def explained(self, error: SvcError) -> SvcError:
        """Add the path of the service's log to an internal error if the log is on this machine."""
        if self._log is None or not isinstance(error, InternalServiceError):
            return error
        return service_error(error.code, f"{error.message}. That log is {self._log}", status=error.status)

    async def open_stream(self, session_id: str, after: int) -> StreamConnection:
        """Open one websocket that sends the session's messages after ``after``. Raises as StreamConnection does."""
        config = self._config
        query = urlencode({"session_id": session_id, "after": after})
        try:
            connection = await self._connect(config, f"{config.ws_url}/stream?{query}")
        except websockets.InvalidStatus as error:
            raise _located(_refused(error, config.ws_url), config.ws_url) from _bare(error)
        except websockets.InvalidProxy as error:
            raise _unusable_proxy() from _bare(error)
        except ssl.SSLCertVerificationError as error:
            raise _untrusted(config.ws_url, error) from _bare(error)
        except UnprovenError as error:
            raise self._unproven(config.ws_url, error) from None
        except (OSError, TimeoutError, websockets.InvalidHandshake) as error:
            raise _lost(config.ws_url, error) from _bare(error)
        except ImportError as error:
            raise _socks(error) from _bare(error)
        return StreamConnection(connection, config.ws_url)

    async def close_streams(self) -> None:
        """End the iterations over turns that were left open, in their event loop. Those that run go on."""
        for stream in tuple(self.streams):
            if isinstance(stream, AsyncGeneratorType) and not stream.ag_running:
                await stream.aclose()

    def refresh(self) -> None:
        """Look up the service's address after a failure, if it can change. Blocks: the local service may be started."""
        if self._refind is None:
            return
        with self._lock:
            self._config = self._refind()

    def _settle(self, call: Call[T], outcome: Reply | LostConnectionError, backoff: _retry.Backoff) -> T | _Retry:
        """Decide what follows an attempt: its parsed reply, or another attempt. Raises if the call has failed."""
        if isinstance(outcome, LostConnectionError):
            if outcome.is_lasting and self._refind is None:
                raise outcome
            failure: SvcError = outcome
            retry_after = None
        elif _retry.is_retried_status(outcome.status, is_repeatable=call.is_repeatable):
            failure, retry_after = parse_error(outcome), outcome.retry_after
        else:
            return self._parse(call, outcome)
        delay = backoff.next_delay(time.monotonic(), random.random(), retry_after)  # noqa: S311 - jitter, no secret
        if delay is None:
            raise failure
        return _Retry(delay, isinstance(outcome, LostConnectionError))

    def _parse(self, call: Call[T], reply: Reply) -> T:
        try:
            return parse_reply(call, reply)
        except InternalServiceError as error:
            raise self.explained(error) from None
        except (AddressNotFoundError, ProtocolError) as error:
            raise _located(error, self._config.base_url) from None

    def _outcome(self, address: str, error: UnprovenError) -> LostConnectionError:
        """The lost connection if another attempt may reach the service; raises the error otherwise."""
        unproven = self._unproven(address, error)
        if isinstance(unproven, LostConnectionError):
            return unproven
        raise unproven from None

    def _unproven(self, address: str, error: UnprovenError) -> SvcError:
        """The error of a program that is not the service; the local service is looked for again."""
        text = f"{address}: {error}. Neither your key nor your question was sent."
        if self._refind is not None:
            return LostConnectionError(f"{text} Another program may have taken the port of the local service.")
        if error.is_passing:
            return LostConnectionError(f"{text} Check that the service runs and the address is right.")
        if error.is_key_unknown:
            return InvalidApiKeyError(f"{text} Set a key that this service knows (`svc keys create` creates one).")
        if _ends_in_v1(address):
            return _without_v1(address)
        return UnreachableError(
            f"{text} Check the address, and whether the service is older than this client. If the address is a tunnel, "
            "set SVC_TUNNEL_TO to the address that the service listens on; if it is a balancer on this machine, its "
            "operator sets front_addresses of the services (SVC_FRONT_ADDRESSES)."
        )

    def _timeout(self) -> httpx2.Timeout:
        return httpx2.Timeout(self._reply_seconds, connect=self._connect_seconds)

    @property
    def _connect_seconds(self) -> float:
        return min(CONNECT_SECONDS, self._reply_seconds)

    async def _connect(self, config: Config, address: str) -> ClientConnection:
        parts = urlsplit(config.ws_url)
        settings = self._settings
        is_secure = parts.scheme == "wss"
        proven = None if is_secure else await _open_proven(config, settings.open_seconds)
        return await _Connect(
            address,
            additional_headers=_KeyHeaders({"Authorization": _stream_authorization(config, address, proven)}),
            ssl=await asyncio.to_thread(self._context, is_secure=True) if is_secure else None,
            proxy=None if is_loopback(parts.hostname or "") else True,
            compression=None,  # docs/wire.md, "Connecting"
            open_timeout=settings.open_seconds,
            ping_interval=settings.ping_seconds,
            ping_timeout=settings.pong_seconds,
            close_timeout=settings.close_seconds,
            max_size=MAX_FRAME_BYTES,
            max_queue=256,
            user_agent_header=USER_AGENT,
            logger=_logger,
            sock=proven and proven.socket,
        )

    def _context(self, *, is_secure: bool) -> ssl.SSLContext:
        """The certificates to trust: the system's, those of SSL_CERT_FILE or SSL_CERT_DIR, and the config's.

        Loading them takes tens of milliseconds, so they are loaded once, and outside an event loop.
        """
        if not is_secure:
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # plain http: trusts nobody, costs nothing
        if self._tls is None:
            context = httpx2.create_ssl_context()
            if self._config.ca_file is not None:
                _trust(context, self._config)
            self._tls = context
        return self._tls


class Transport(BaseTransport):
    """One service, over blocking HTTP. Safe to use from several threads."""

    _client: httpx2.Client | None = None
    _client_config: Config | None = None

    def call(self, call: Call[T], limit_seconds: float = _retry.CALL_LIMIT_SECONDS) -> T:
        """Send a request, retry it if that is safe, and parse the reply.

        Raises ServiceError if the service refuses, UnreachableError after ``limit_seconds`` of failures, ProtocolError
        if the reply breaks the protocol, OSError if a file to upload cannot be opened.
        """
        backoff = _retry.Backoff(limit_seconds)
        while True:
            result = self._settle(call, self._attempt(call), backoff)
            if not isinstance(result, _Retry):
                return result
            time.sleep(result.delay_seconds)
            if result.is_lost:
                self.refresh()

    def run(self, operation: Operation[T]) -> T:
        """Make an operation's calls one after the other. Raises as ``call`` does."""
        reply: object = None
        while True:
            try:
                call = operation.send(reply)
            except StopIteration as stop:
                result: T = stop.value
                return result
            reply = self.call(call)

    def close(self) -> None:
        """Close idle HTTP connections. The next call opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _attempt(self, call: Call[object]) -> Reply | LostConnectionError:
        config = self._config
        body = call.body() if callable(call.body) else call.body
        try:
            with _translated(call, config):
                content = body if body is None or isinstance(body, bytes) else _chunks(body)
                response = self._http(config).request(
                    call.method, config.base_url + call.target, content=content, headers=_headers(call, length_of(body))
                )
        except UnprovenError as error:
            return self._outcome(config.base_url, error)
        except LostConnectionError as lost:
            return lost
        finally:
            if body is not None and not isinstance(body, bytes):
                body.close()
        return _reply(response)

    def _http(self, config: Config) -> httpx2.Client:
        with self._lock:
            if self._client is None or self._client_config != config:
                if self._client is not None:
                    self._client.close()
                is_secure = config.base_url.startswith("https:")
                try:
                    self._client = httpx2.Client(
                        transport=None if is_secure else ProvenTransport(config, self._connect_seconds),
                        auth=_KeyAuth(config),
                        verify=self._context(is_secure=is_secure),
                        timeout=self._timeout(),
                        trust_env=_uses_proxies(config),
                        headers={"User-Agent": USER_AGENT},
                    )
                except ImportError as error:
                    raise _socks(error) from _bare(error)
                except ValueError as error:
                    raise _unusable_proxy() from _bare(error)
                self._client_config = config
            return self._client


class AsyncTransport(BaseTransport):
    """One service, over asynchronous HTTP, in one event loop. Files and certificates are read in threads."""

    _client: httpx2.AsyncClient | None = None
    _client_config: Config | None = None

    async def call(self, call: Call[T], limit_seconds: float = _retry.CALL_LIMIT_SECONDS) -> T:
        """Send a request, retry it if that is safe, and parse the reply. Raises as ``Transport.call`` does."""
        backoff = _retry.Backoff(limit_seconds)
        while True:
            result = self._settle(call, await self._attempt(call), backoff)
            if not isinstance(result, _Retry):
                return result
            await asyncio.sleep(result.delay_seconds)
            if result.is_lost:
                await asyncio.to_thread(self.refresh)

    async def run(self, operation: Operation[T]) -> T:
        """Make an operation's calls one after the other. Raises as ``call`` does."""
        reply: object = None
        while True:
            try:
                call = operation.send(reply)
            except StopIteration as stop:
                result: T = stop.value
                return result
            reply = await self.call(call)

    async def aclose(self) -> None:
        """Close idle HTTP connections. The next call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _attempt(self, call: Call[object]) -> Reply | LostConnectionError:
        config = self._config
        body = await asyncio.to_thread(call.body) if callable(call.body) else call.body
        try:
            with _translated(call, config):
                content = body if body is None or isinstance(body, bytes) else _async_chunks(body)
                response = await (await self._http(config)).request(
                    call.method, config.base_url + call.target, content=content, headers=_headers(call, length_of(body))
                )
        except UnprovenError as error:
            return self._outcome(config.base_url, error)
        except LostConnectionError as lost:
            return lost
        finally:
            if body is not None and not isinstance(body, bytes):
                body.close()
        return _reply(response)

    async def _http(self, config: Config) -> httpx2.AsyncClient:
        is_secure = config.base_url.startswith("https:")
        if self._client is None and is_secure:
            await asyncio.to_thread(self._context, is_secure=True)
        if self._client is not None and self._client_config == config:
            return self._client
        verify = self._context(is_secure=is_secure)
        stale, self._client_config = self._client, config
        try:
            client = self._client = httpx2.AsyncClient(
                transport=None if is_secure else AsyncProvenTransport(config, self._connect_seconds),
                auth=_KeyAuth(config),
                verify=verify,
                timeout=self._timeout(),
                trust_env=_uses_proxies(config),
                headers={"User-Agent": USER_AGENT},
            )
        except ImportError as error:
            raise _socks(error) from _bare(error)
        except ValueError as error:
            raise _unusable_proxy() from _bare(error)
        if stale is not None:
            await stale.aclose()
        return client


async def pause_before_retry(transport: BaseTransport, backoff: _retry.Backoff, lost: LostConnectionError) -> bool:
    """Wait before the next attempt and look up the service's address again; False if it is time to give up."""
    delay = backoff.next_delay(time.monotonic(), random.random(), lost.retry_after)  # noqa: S311 - jitter
    if delay is None:
        return False
    await asyncio.sleep(delay)
    await asyncio.to_thread(transport.refresh)
    return True


def _stream_authorization(config: Config, address: str, proven: ProvenSocket | None) -> str:
    if proven is None or proven.challenge is None:
        return f"Bearer {config.api_key}"
    parts = urlsplit(address)
    return sealed(config, config.ws_url, proven.challenge, "GET", f"{parts.path}?{parts.query}")


async def _open_proven(config: Config, seconds: float) -> ProvenSocket:
    """A socket to the service's websocket address on which it has proved itself."""
    opening = asyncio.create_task(asyncio.to_thread(proven_socket, config, config.ws_url, seconds))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close_unused)  # the thread cannot be cancelled
        raise


def _close_unused(opening: asyncio.Task[ProvenSocket]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().socket.close()


def _trust(context: ssl.SSLContext, config: Config) -> None:
    try:
        context.load_verify_locations(cafile=config.ca_file)
    except OSError as error:
        raise ConfigError(
            f"SVC_CA_BUNDLE={str(config.ca_file)!r} cannot be loaded ({_words(error)}). "
            "It must be a PEM file of CA certificates."
        ) from error


@contextmanager
def _translated(call: Call[object], config: Config) -> Iterator[None]:
    """Translate httpx2's errors: LostConnectionError if a retry is safe, else UnreachableError or ProtocolError."""
    try:
        yield
    except _TRANSIENT as error:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):  # httpx2 keeps only the text of ssl's error
            raise _untrusted(config.base_url, error) from _bare(error)
        raise _lost(config.base_url, error) from _bare(error)
    except httpx2.TransportError as error:
        if call.is_repeatable:
            raise LostConnectionError(_unreachable(config.base_url, error)) from _bare(error)
        raise UnreachableError(
            f"{config.base_url} received {call.method} {call.target.partition('?')[0]}, then the connection was lost "
            f"({_words(error)}). The request may have been carried out: check the session before you try again."
        ) from _bare(error)
    except (httpx2.InvalidURL, httpx2.DecodingError, httpx2.TooManyRedirects) as error:
        raise ProtocolError(f"{config.base_url}: {_words(error)}. Check base_url.") from _bare(error)


def _chunks(body: BinaryIO) -> Iterator[bytes]:
    while chunk := body.read(UPLOAD_CHUNK_BYTES):
        yield chunk


async def _async_chunks(body: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(body.read, UPLOAD_CHUNK_BYTES):
        yield chunk


def _headers(call: Call[object], length: int | None) -> dict[str, str]:
    headers = {"Content-Type": call.content_type} if call.method == "POST" else {}
    return headers if length is None else {**headers, "Content-Length": str(length)}


def _reply(response: httpx2.Response) -> Reply:
    return Reply(response.status_code, response.content, parse_retry_after(response.headers.get("Retry-After")))


def _uses_proxies(config: Config) -> bool:
    """Whether the environment's proxies apply; they cannot reach this machine's loopback."""
    return not is_loopback(urlsplit(config.base_url).hostname or "")


def _refused(error: websockets.InvalidStatus, address: str) -> Exception:
    """The error of an upgrade that was answered with an HTTP status."""
    response = error.response
    reply = Reply(
        response.status_code, bytes(response.body or b""), parse_retry_after(response.headers.get("Retry-After"))
    )
    refusal = parse_error(reply)
    if isinstance(refusal, ServiceError) and _retry.is_retried_status(reply.status, is_repeatable=True):
        return LostConnectionError(f"{address} answered HTTP {reply.status}.", refusal)
    return refusal


def _closed(error: websockets.ConnectionClosed, address: str) -> Exception:
    """The error of a connection that was closed during a turn."""
    close = error.rcvd
    code, reason = (close.code, close.reason) if close else (1006, "no close frame")
    match _retry.close_meaning(code):
        case "lost":
            return LostConnectionError(f"{address} closed the stream (code {code}, {reason or 'no reason'}).")
        case "history":
            return LostHistoryError(f"{address} lost messages of the session ({reason or 'no reason'}).")
        case "key":
            return InvalidApiKeyError(f"the key is no longer valid ({reason or 'revoked or expired'}). Set a new one.")
        case "session":
            return SessionExpiredError(f"the session has ended ({reason or 'expired or deleted'}). Make a new session.")
        case "broken":
            return ProtocolError(f"{address} closed the stream with code {code} ({reason or 'no reason'}).")


def _lost(address: str, error: Exception) -> LostConnectionError:
    """The error of a connection that could not be opened: whether another attempt may help, and what is in the way."""
    causes = list(_causes(error))
    proxy = _proxy_for(address)
    if any(isinstance(one, socket.gaierror) for one in causes):
        host = (proxy or _Proxy("", address)).host
        named = f"of the proxy in {proxy.variable}, {host!r}," if proxy else f"{host!r}"
        text = (
            f"{address} cannot be reached: the name {named} is not known ({_words(error)}). Check it, and the network."
        )
        return LostConnectionError(text, is_lasting=True)
    if any(isinstance(one, ssl.SSLError) for one in causes):
        return LostConnectionError(
            f"{address} cannot be reached over TLS ({_words(error)}). Check the address and its port.", is_lasting=True
        )
    if proxy is not None and (problem := _proxy_problem(error, causes)):
        return LostConnectionError(
            f"{address} cannot be reached: the proxy in {proxy.variable}, {proxy.address}, {problem} "
            f"({_words(error)}). Check {proxy.variable}, or add {urlsplit(address).hostname} to NO_PROXY.",
            is_lasting=True,
        )
    return LostConnectionError(_unreachable(address, error))


@dataclass(frozen=True)
class _Proxy:
    """A proxy of the environment: the variable that names it, and its URL."""

    variable: str
    url: str

    @property
    def address(self) -> str:
        """The URL without a password."""
        return f"{urlsplit(self.url).scheme}://{urlsplit(self.url).netloc.rpartition('@')[2]}"

    @property
    def host(self) -> str:
        """The host's name."""
        return urlsplit(self.url).hostname or ""


def _proxy_for(address: str) -> _Proxy | None:
    """The proxy that the environment names for a service."""
    host = urlsplit(address).hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    name = next((name for name in ("https", "all") if proxies.get(name)), None)
    if name is None:
        return None
    url = proxies[name]
    return _Proxy(f"{name.upper()}_PROXY", url if "://" in url else f"http://{url}")


def _proxy_problem(error: Exception, causes: list[BaseException]) -> str:
    """What a proxy did that it will do again; "" if another attempt may help."""
    if any(isinstance(one, ConnectionRefusedError) for one in causes):
        return "does not listen there"
    if isinstance(error, httpx2.ProxyError | websockets.ProxyError):
        status = re.search(r"\b[45]\d\d\b", str(error))
        return (
            "" if status and _retry.is_retried_status(int(status[0]), is_repeatable=True) else "refused the connection"
        )
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _located(error: Exception, address: str) -> Exception:
    """The error, or, if it is a wrong path that a client of OpenAI's API would have, one that says so."""
    is_missing = isinstance(error, AddressNotFoundError | ProtocolError)
    return _without_v1(address) if is_missing and _ends_in_v1(address) else error


def _ends_in_v1(address: str) -> bool:
    return urlsplit(address).path.endswith("/v1")


def _without_v1(address: str) -> AddressNotFoundError:
    return AddressNotFoundError(
        f"{address} ends in /v1, which is only for clients of OpenAI's API. Leave /v1 out: {address[:-3]}"
    )


def _unusable_proxy() -> ConfigError:
    return ConfigError(
        "the proxy in HTTPS_PROXY cannot be used: its address is not valid. Use one such as http://proxy.example.org:3128."
    )


def _unreachable(address: str, error: Exception) -> str:
    return f"{address} does not answer ({_words(error)}). Check that the service runs and the address is right."


def _untrusted(address: str, error: Exception) -> UnreachableError:
    return UnreachableError(
        f"the certificate of {address} is not trusted ({_words(error)}). If your own certificate authority issued it, "
        "set SVC_CA_BUNDLE to the authority's certificate file."
    )


def _words(error: BaseException) -> str:
    """The error's text on one line, or its class name if it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def _socks(error: ImportError) -> ConfigError:
    return ConfigError(f"the proxy in HTTPS_PROXY cannot be used: {_words(error)}. Install it, or use an HTTP proxy.")


def _bare(error: BaseException) -> BaseException:
    """Drop the frames of ``error`` and its causes: they hold request headers, and tracebacks may show locals."""
    for seen in _causes(error):
        seen.__traceback__ = None
    return error
