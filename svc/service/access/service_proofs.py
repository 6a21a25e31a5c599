"""Prove to a client that the service knows its key, and read keys that a client hid in its request.

A browser cannot bind a proof to a connection. So its clients send ``Authorization: Svc-Sealed`` instead of the key: the
key, hidden with a pad that only those compute who know the key's SHA-256. A program that took the service's port
meanwhile can neither read the key nor use the request again. The SHA-256 alone does not open the service: the key must
be inside.

Behind a balancer a client cannot know which service it will reach. So the services prove themselves also for the
balancer's addresses in ``front_addresses``, with challenges that each service of the database accepts. Facts:
docs/wire.md, "Proof of the service".
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import secrets
from collections.abc import Callable, Sequence

from svc._proof import is_key_name, is_nonce, parse_address, prove, seal_pad
from svc.errors import ConfigError, InvalidApiKeyError, InvalidRequestError
from svc.messages import FrontProof, Proof
from svc.service.store import Store

CHALLENGE_SECONDS = 30
SEALED_SCHEME = "svc-sealed "
_FRONT_SECRET = "front_secret"  # noqa: S105  # its name in the store


class ServiceProofs:
    """The proofs and challenges of one process. ``clock`` gives seconds since the epoch.

    Raises ConfigError if one of ``front_addresses`` is no numeric address of loopback.
    """

    def __init__(self, store: Store, clock: Callable[[], float], front_addresses: Sequence[str] = ()) -> None:
        self._store = store
        self._clock = clock
        self._secret = secrets.token_bytes(32)  # so that no challenge of its own address outlives the process
        self._fronts = [_front_address(text) for text in front_addresses]
        self._kept_front_secret = b""

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
        named = f"{name}.{nonce}.{expires}"
        front_challenge = f"{named}.{_mark(await self._front_secret(), named)}" if self._fronts else ""
        return Proof(
            proof=prove(digest, nonce, address),
            address=address,
            challenge=f"{named}.{_mark(self._secret, named)}",
            fronts=[
                FrontProof(proof=prove(digest, nonce, front), address=front, challenge=front_challenge)
                for front in self._fronts
            ],
        )

    async def open_sealed(self, header: str, method: str, target: str) -> str:
        """The key in the text after ``Svc-Sealed``; empty if it is for another request or service, or too old."""
        challenge, _, sealed = header.strip().rpartition(".")
        name, _, rest = challenge.partition(".")
        nonce, _, rest = rest.partition(".")
        expires, _, mark = rest.partition(".")
        if not await self._is_ours(f"{name}.{nonce}.{expires}", mark) or self._clock() >= int(expires, 16):
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

    async def _is_ours(self, named: str, mark: str) -> bool:
        """Whether this process made the challenge, or any service of the database did for a front."""
        given = mark.encode("utf-8", "replace")
        if hmac.compare_digest(given, _mark(self._secret, named).encode()):
            return True
        return bool(self._fronts) and hmac.compare_digest(given, _mark(await self._front_secret(), named).encode())

    async def _front_secret(self) -> bytes:
        """The secret of the database; the first service that needs it makes it."""
        if not self._kept_front_secret:
            self._kept_front_secret = await self._store.first_meta(_FRONT_SECRET, secrets.token_bytes(32))
        return self._kept_front_secret


def _mark(secret: bytes, named: str) -> str:
    return hmac.new(secret, named.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def _front_address(text: str) -> str:
    try:
        address = parse_address(text)
    except ValueError as error:
        raise _invalid_front(text) from error
    host, _, port = address.rpartition(":")
    if not ipaddress.ip_address(host.strip("[]")).is_loopback or port == "0":
        raise _invalid_front(text)
    return address


def _invalid_front(text: str) -> ConfigError:
    return ConfigError(
        f"front_addresses: {text!r} is not valid: it must be a numeric loopback address and a port, such as "
        "127.0.0.1:8443 or [::1]:8443. Clients use plain http on their own machine only"
    )
