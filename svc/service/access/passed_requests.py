"""Requests that one service passes on to another of the same database, signed with a secret that they share.

The signature replaces the client's key, which never leaves the service that received it: it names the key by its id,
and the other service looks the key up, so a revoked one is refused at once. It holds for one service, one method and
target, one body, once, and for a minute. Facts: docs/how_to/postgresql.md, "Unlogged sessions".
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable

import msgspec

from svc.errors import SessionNotFoundError
from svc.service.store.records import KeyRecord
from svc.service.store.shared import SharedStore

log: logging.Logger = logging.getLogger("svc.forwarding")
SCHEME = "svc-passed "
SECONDS = 60.0  # a request is passed on at once; by the clock of the database, which all services follow
_PURPOSE = b"svc passed 1"
_SECRET_NAME = "services_secret"  # noqa: S105  # its name in the store
_PATHS = ("/session/", "/stream?", "/stream/")
STREAMED_BODY = ""  # a body that is passed on while it arrives has no digest yet


class _Pass(msgspec.Struct, frozen=True):
    """What is signed, with the method and the target. ``body``: SHA-256 of the body, or ``STREAMED_BODY``."""

    key_id: str
    replica: str
    time: float
    nonce: str
    body: str


_DECODER = msgspec.json.Decoder(_Pass)


class PassedRequests:
    """Signs requests for other services, and accepts theirs.

    Args:
        store: The store that the services share.
        replica: This service.
        clock: The time, by the database's clock.
    """

    def __init__(self, store: SharedStore, replica: str, clock: Callable[[], float]) -> None:
        self._store = store
        self._replica = replica
        self._clock = clock
        self._secret = b""
        self._seen: dict[str, float] = {}  # nonces, and when each may be forgotten; in this order

    async def start(self) -> None:
        """Read the secret; the first service of a database makes it."""
        self._secret = await self._store.first_meta(_SECRET_NAME, secrets.token_bytes(32))

    def sign(self, key: KeyRecord, replica: str, method: str, target: str, body: bytes | None) -> str:
        """The ``Authorization`` of a request to another service; ``body`` None is one that is still arriving."""
        digest = STREAMED_BODY if body is None else hashlib.sha256(body).hexdigest()
        content = _Pass(key.id, replica, self._clock(), secrets.token_hex(16), digest)
        signed = base64.urlsafe_b64encode(msgspec.json.encode(content)).decode()
        return f"{SCHEME}{signed}.{self._mac(signed, method, target)}"

    async def key_of(self, header: str, method: str, target: str) -> KeyRecord | None:
        """The key that a request is made with; None if the signature is not valid for it, too old, or was used.

        Raises:
            SessionNotFoundError: It was meant for another service, which had this address before or by mistake.
        """
        signed, _, mac = header[len(SCHEME) :].partition(".")
        is_ours = hmac.compare_digest(mac.encode("utf-8", "replace"), self._mac(signed, method, target).encode())
        if not self._secret or not is_ours or not target.startswith(_PATHS):
            return None
        content = _content(signed)
        now = self._clock()
        if content is None or abs(now - content.time) > SECONDS:
            return None
        if content.replica != self._replica:
            log.warning("request for another service", extra={"hint": "each needs an --advertise of its own"})
            raise SessionNotFoundError("no such session: the service that held it has ended, or has another address")
        return await self._store.key_by_id(content.key_id) if self._is_first_use(content.nonce, now) else None

    def _is_first_use(self, nonce: str, now: float) -> bool:
        for seen, until in list(self._seen.items()):
            if until > now:
                break
            del self._seen[seen]
        is_new = nonce not in self._seen
        self._seen.setdefault(nonce, now + 2 * SECONDS)
        return is_new

    def _mac(self, *fields: str) -> str:
        text = b"\0".join([_PURPOSE, *(field.encode("utf-8", "surrogatepass") for field in fields)])
        return hmac.new(self._secret, text, "sha256").hexdigest()


def is_passed(header: str | None) -> bool:
    """Whether the ``Authorization`` is that of another service; says nothing about whether it is valid."""
    return header is not None and header[: len(SCHEME)].lower() == SCHEME


def has_signed_body(header: str, body: bytes) -> bool:
    """Whether the body is the one that a valid ``Authorization`` was made for."""
    content = _content(header[len(SCHEME) :].partition(".")[0])
    return content is not None and content.body in (STREAMED_BODY, hashlib.sha256(body).hexdigest())


def _content(signed: str) -> _Pass | None:
    try:
        return _DECODER.decode(base64.urlsafe_b64decode(signed))
    except (binascii.Error, ValueError, msgspec.DecodeError):
        return None
