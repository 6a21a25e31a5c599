"""HTTP calls and websocket connections: alone imports httpx2 and websockets, and translates their errors once.

Decides nothing of its own: what is sent and how it reads is ``_requests``', what is tried again ``_retry``'s, what a
frame means ``_protocol``'s. The key travels in headers only and is kept out of reprs, logs and tracebacks here.
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar
from urllib.parse import urlencode, urlsplit

import httpx2
import websockets
from websockets.asyncio.client import ClientConnection, connect
from websockets.datastructures import Headers

from svc import _retry
from svc._requests import Call, Reply, parse_retry_after, read_error, read_reply
from svc.config import Config, is_loopback
from svc.errors import (
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

T = TypeVar("T")

MAX_FRAME_BYTES = 8 * 1_048_576  # a content of 1,000,000 bytes takes up to six times that in JSON's escapes
UPLOAD_CHUNK_BYTES = 262_144
CONNECT_SECONDS = 10.0
REPLY_SECONDS = 60.0  # without a byte; /session/generate, which is held longer, is not called by this SDK
_TRANSIENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError, httpx2.PoolTimeout)  # nothing was sent


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """How a stream notices that its peer is gone."""

    open_seconds: float = CONNECT_SECONDS
    ping_seconds: float = 10.0  # a half-open connection is noticed within ping + pong
    pong_seconds: float = 10.0
    close_seconds: float = 0.5


class LostConnectionError(UnreachableError):
    """A connection could not be opened or was cut; coming back may help. ``retry_after`` in seconds, or None.

    Where the service said why, ``refusal`` is that: it is raised when coming back did not help.
    """

    def __init__(self, text: str, refusal: ServiceError | None = None) -> None:
        super().__init__(text)
        self.refusal = refusal
        self.retry_after = refusal.retry_after if refusal else None


class _KeyHeaders(Headers):
    """The headers that carry the key to a websocket; a traceback that shows locals shows nothing."""

    def __repr__(self) -> str:
        return "<headers with the key>"


class _KeyAuth(httpx2.Auth):
    """Puts the key into each request at the last moment."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def auth_flow(self, request: httpx2.Request) -> Iterator[httpx2.Request]:  # type: ignore[override]
        request.headers["Authorization"] = f"Bearer {self._config.api_key}"
        yield request


class _HideKey(logging.Filter):
    """websockets prints every header of the handshake at DEBUG."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple) and record.args and str(record.args[0]).lower() == "authorization":
            record.args = (record.args[0], "[hidden]")
        return True


_logger = logging.getLogger("svc.stream")
_logger.addFilter(_HideKey())


class StreamConnection:
    """One open websocket. Errors come as LostConnectionError (come back) or as what ended it for good."""

    def __init__(self, connection: ClientConnection, address: str) -> None:
        self._connection = connection
        self._address = address

    async def send(self, frame: str) -> None:
        """Send one text frame."""
        with self._translated():
            await self._connection.send(frame)

    async def receive(self) -> str | bytes:
        """The next frame."""
        with self._translated():
            return await self._connection.recv()

    async def ping(self) -> float:
        """Seconds that one round trip takes."""
        with self._translated():
            return await (await self._connection.ping())

    async def close(self) -> None:
        """Close properly, within the settings' ``close_seconds``; never raises for a peer that is gone."""
        await self._connection.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except websockets.ConnectionClosed as error:
            raise _closed(error, self._address) from _bare(error)


class Transport:
    """One service, over HTTP and websocket. Safe to use from several threads; ``close`` ends the idle connections.

    ``log`` is the service's log where it is a file of this machine. ``refind`` gives the service's present address
    and key after a failure, where these can change (the local service).
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
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None
        self._tls: ssl.SSLContext | None = None

    @property
    def config(self) -> Config:
        """The service as it is reached now."""
        return self._config

    def explained(self, error: SvcError) -> SvcError:
        """The error, and where the service's log is where that is a file of this machine and the log says more."""
        if self._log is None or not isinstance(error, InternalServiceError):
            return error
        return service_error(error.code, f"{error.message}. That log is {self._log}", status=error.status)

    def call(self, call: Call[T], limit_seconds: float = _retry.CALL_LIMIT_SECONDS) -> T:
        """Send, repeat what may be repeated, read. Raises ServiceError, UnreachableError, ProtocolError."""
        return self._retried(call, lambda: call.body, limit_seconds)

    def upload(self, call: Call[T], open_body: Callable[[], BinaryIO]) -> T:
        """``call`` with a body streamed from ``open_body``, which is called, and closed, once for each attempt."""
        return self._retried(call, open_body, _retry.CALL_LIMIT_SECONDS)

    async def open_stream(self, session_id: str, after: int) -> StreamConnection:
        """One websocket that reads the session after ``after``; one attempt. Raises as StreamConnection does."""
        config = self._config
        query = urlencode({"session_id": session_id, "after": after})
        try:
            connection = await self._connect(config, f"{config.ws_url}/stream?{query}")
        except websockets.InvalidStatus as error:
            raise _refused(error, config.ws_url) from _bare(error)
        except ssl.SSLCertVerificationError as error:
            raise _untrusted(config.ws_url, error) from _bare(error)
        except (OSError, TimeoutError, websockets.InvalidHandshake) as error:
            raise LostConnectionError(_unreachable(config.ws_url, error)) from _bare(error)
        except ImportError as error:
            raise _socks(error) from _bare(error)
        return StreamConnection(connection, config.ws_url)

    def refresh(self) -> None:
        """After a failure: look again where the service is; does nothing where its address cannot change. Blocks."""
        if self._refind is None:
            return
        with self._lock:
            found = self._refind()
            if found != self._config:
                self._config = found
                self._drop_client()

    def close(self) -> None:
        """Close idle HTTP connections. The next call opens new ones."""
        with self._lock:
            self._drop_client()

    def _drop_client(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _retried(self, call: Call[T], open_body: Callable[[], bytes | BinaryIO | None], limit_seconds: float) -> T:
        patience = _retry.Patience(limit_seconds)
        failure: SvcError
        while True:
            asked = None
            try:
                reply = self._send(call, open_body())
            except LostConnectionError as lost:
                failure = lost
            else:
                if not _retry.is_retried_status(reply.status, is_repeatable=call.is_repeatable):
                    return self._read(call, reply)
                failure, asked = read_error(reply), reply.retry_after
            delay = patience.next_delay(time.monotonic(), random.random(), asked)  # noqa: S311 - jitter, no secret
            if delay is None:
                raise failure
            time.sleep(delay)
            if isinstance(failure, LostConnectionError):
                self.refresh()

    def _read(self, call: Call[T], reply: Reply) -> T:
        try:
            return read_reply(call, reply)
        except InternalServiceError as error:
            raise self.explained(error) from None

    def _send(self, call: Call[T], body: bytes | BinaryIO | None) -> Reply:
        """One attempt. LostConnectionError where it may come again, UnreachableError where that might do it twice."""
        config = self._config
        try:
            response = self._http().request(
                call.method,
                config.base_url + call.target,
                content=_chunks(body) if body is not None and not isinstance(body, bytes) else body,
                headers={"Content-Type": call.content_type} if call.method == "POST" else None,
            )
        except _TRANSIENT as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):  # httpx2 keeps no more of ssl's error than its text
                raise _untrusted(config.base_url, error) from _bare(error)
            raise LostConnectionError(_unreachable(config.base_url, error)) from _bare(error)
        except httpx2.TransportError as error:
            if call.is_repeatable:
                raise LostConnectionError(_unreachable(config.base_url, error)) from _bare(error)
            raise UnreachableError(
                f"{config.base_url} took {call.method} {call.target.partition('?')[0]}, then the connection was lost "
                f"({_words(error)}): it may or may not be done. Look at the session before you try again."
            ) from _bare(error)
        except (httpx2.InvalidURL, httpx2.DecodingError, httpx2.TooManyRedirects) as error:
            raise ProtocolError(f"{config.base_url}: {_words(error)}. Check base_url.") from _bare(error)
        finally:
            if body is not None and not isinstance(body, bytes):
                body.close()
        return Reply(response.status_code, response.content, parse_retry_after(response.headers.get("Retry-After")))

    def _http(self) -> httpx2.Client:
        with self._lock:
            if self._client is None:
                self._client = self._new_client(self._config)
            return self._client

    def _new_client(self, config: Config) -> httpx2.Client:
        parts = urlsplit(config.base_url)
        try:
            return httpx2.Client(
                auth=_KeyAuth(config),
                verify=self._context(is_secure=parts.scheme == "https"),
                timeout=httpx2.Timeout(self._reply_seconds, connect=min(CONNECT_SECONDS, self._reply_seconds)),
                trust_env=not is_loopback(parts.hostname or ""),  # a proxy cannot reach this machine's loopback
            )
        except ImportError as error:
            raise _socks(error) from _bare(error)

    async def _connect(self, config: Config, address: str) -> ClientConnection:
        parts = urlsplit(config.ws_url)
        settings = self._settings
        return await connect(
            address,
            additional_headers=_KeyHeaders({"Authorization": f"Bearer {config.api_key}"}),
            ssl=self._context(is_secure=True) if parts.scheme == "wss" else None,
            proxy=None if is_loopback(parts.hostname or "") else True,
            compression=None,  # docs/wire.md, "Connecting"
            open_timeout=settings.open_seconds,
            ping_interval=settings.ping_seconds,
            ping_timeout=settings.pong_seconds,
            close_timeout=settings.close_seconds,
            max_size=MAX_FRAME_BYTES,
            max_queue=256,
            logger=_logger,
        )

    def _context(self, *, is_secure: bool) -> ssl.SSLContext:
        """One set of trusted certificates for both: the system's, SSL_CERT_FILE or SSL_CERT_DIR, and the config's."""
        if not is_secure:
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # plain http: trusts nobody, costs nothing
        if self._tls is None:
            context = httpx2.create_ssl_context()
            if self._config.ca_file is not None:
                _trust(context, self._config)
            self._tls = context
        return self._tls


async def pause_before_retry(transport: Transport, patience: _retry.Patience, lost: LostConnectionError) -> bool:
    """Wait as ``patience`` says, and look again where the service is; False: it is time to give up."""
    delay = patience.next_delay(time.monotonic(), random.random(), lost.retry_after)  # noqa: S311 - jitter
    if delay is None:
        return False
    await asyncio.sleep(delay)
    await asyncio.to_thread(transport.refresh)
    return True


def _trust(context: ssl.SSLContext, config: Config) -> None:
    try:
        context.load_verify_locations(cafile=config.ca_file)
    except OSError as error:
        raise ConfigError(
            f"SVC_CA_BUNDLE names {str(config.ca_file)!r}, which cannot be used as certificates ({_words(error)}). "
            "It must be a file in PEM format."
        ) from error


def _chunks(body: BinaryIO) -> Iterator[bytes]:
    while chunk := body.read(UPLOAD_CHUNK_BYTES):
        yield chunk


def _refused(error: websockets.InvalidStatus, address: str) -> Exception:
    """The upgrade got an HTTP answer."""
    response = error.response
    reply = Reply(
        response.status_code, bytes(response.body or b""), parse_retry_after(response.headers.get("Retry-After"))
    )
    refusal = read_error(reply)
    if isinstance(refusal, ServiceError) and _retry.is_retried_status(reply.status, is_repeatable=True):
        return LostConnectionError(f"{address} answered HTTP {reply.status}.", refusal)
    return refusal


def _closed(error: websockets.ConnectionClosed, address: str) -> Exception:
    """The service, or the network, closed the connection in the middle of a turn."""
    close = error.rcvd
    code, reason = (close.code, close.reason) if close else (1006, "no close frame")
    match _retry.close_meaning(code):
        case "lost":
            return LostConnectionError(f"{address} closed the stream (code {code}, {reason or 'no reason'}).")
        case "key":
            return InvalidApiKeyError(f"the key is no longer valid ({reason or 'revoked or expired'}). Set a new one.")
        case "session":
            return SessionExpiredError(f"the session has ended ({reason or 'expired or deleted'}). Make a new session.")
        case "broken":
            return ProtocolError(f"{address} closed the stream with code {code} ({reason or 'no reason'}).")


def _unreachable(address: str, error: Exception) -> str:
    return f"{address} does not answer ({_words(error)}). Check that the service runs and the address is right."


def _untrusted(address: str, error: Exception) -> UnreachableError:
    return UnreachableError(
        f"{address} shows a certificate that is not trusted here ({_words(error)}). Where that is your own authority, "
        "name its certificate file in SVC_CA_BUNDLE."
    )


def _words(error: BaseException) -> str:
    """The error's own text in one line; its class where it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def _socks(error: ImportError) -> ConfigError:
    return ConfigError(f"the proxy of HTTPS_PROXY cannot be used: {_words(error)}. Install that, or use an HTTP proxy.")


def _bare(error: BaseException) -> BaseException:
    """``error`` and what caused it without frames: those hold request headers, and tracebacks may show locals."""
    seen: BaseException | None = error
    while seen is not None:
        seen.__traceback__ = None
        seen = seen.__cause__ or seen.__context__
    return error
