"""Prove to a client that the service knows its key, and read keys that a client hid in its request.

A browser cannot bind a proof to a connection. So its clients send ``Authorization: Svc-Sealed`` instead of the key: the
key, hidden with a pad that only those compute who know the key's SHA-256. A program that took the service's port
meanwhile can neither read the key nor use the request again. The SHA-256 alone does not open the service: the key must
be inside. Facts: docs/wire.md, "Proof of the service".
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections.abc import Callable

from svc._proof import is_key_name, is_nonce, prove, seal_pad
from svc.errors import InvalidApiKeyError, InvalidRequestError
from svc.messages import Proof
from svc.service.store import Store

CHALLENGE_SECONDS = 30
SEALED_SCHEME = "svc-sealed "


class ServiceProofs:
    """The proofs and challenges of one process. ``clock`` gives seconds since the epoch."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._secret = secrets.token_bytes(32)  # so that no challenge outlives the process

    async def prove(self, name: str, nonce: str, address: str) -> Proof:
        """The proof for the key of this name.

        Args:
            name: The first characters of the key's SHA-256.
            nonce: The client's random value.
            address: Where the connection was accepted.

        Raises:
            InvalidRequestError: The name or the nonce has the wrong form.
            InvalidApiKeyError: No key has this name.
        """
        if not is_key_name(name):
            raise InvalidRequestError("key must be the first 16 hexadecimal digits of the key's SHA-256", param="key")
        if not is_nonce(nonce):
            raise InvalidRequestError("nonce must be 64 hexadecimal digits of random data", param="nonce")
        digest = await self._store.key_digest(name)
        if digest is None:
            raise InvalidApiKeyError("this service does not know the key")
        expires = f"{int(self._clock()) + CHALLENGE_SECONDS:x}"
        return Proof(
            proof=prove(digest, nonce, address),
            address=address,
            challenge=f"{name}.{nonce}.{expires}.{self._mark(name, nonce, expires)}",
        )

    async def open_sealed(self, header: str, method: str, target: str) -> str:
        """The key in the text after ``Svc-Sealed``; empty if it is for another request or process, or too old."""
        challenge, _, sealed = header.strip().rpartition(".")
        name, _, rest = challenge.partition(".")
        nonce, _, rest = rest.partition(".")
        expires, _, mark = rest.partition(".")
        is_ours = hmac.compare_digest(mark.encode("utf-8", "replace"), self._mark(name, nonce, expires).encode())
        if not is_ours or self._clock() >= int(expires, 16):
            return ""
        digest = await self._store.key_digest(name)
        if digest is None:
            return ""
        try:
            hidden = base64.urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
        except (binascii.Error, ValueError):
            return ""
        pad = seal_pad(digest, challenge, method, target)
        return bytes(a ^ b for a, b in zip(hidden, pad, strict=False)).decode("latin-1")

    def _mark(self, *fields: str) -> str:
        text = ".".join(fields).encode("utf-8", "surrogatepass")
        return hmac.new(self._secret, text, "sha256").hexdigest()
