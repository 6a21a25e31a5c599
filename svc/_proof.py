"""How a service proves that it knows a key before the client sends it. Pure; the client and the service share it.

On loopback, plain http has no certificate: when the service ends, any user of the machine can listen on its port. So a
client first sends a random nonce and a prefix of
its key's SHA-256. Only the service, which stores that SHA-256,
can answer the proof. The proof includes the address that the service itself accepted the connection on, so that an
impostor cannot pass on the proof of the service at another port. Services behind a balancer also prove themselves for
the balancer's addresses that their operator gives; there, each request hides the key. Facts: docs/wire.md, "Proof of
the service".
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import re
import string
import zlib
from urllib.parse import urlsplit

NAME_CHARS = 16  # hex: 64 of the digest's 256 bits name the key; the other 192 stay secret
NONCE_BYTES = 32
_PROOF_PURPOSE = b"svc proof 1"
_SEAL_PURPOSE = b"svc seal 1"
_HEX = re.compile(r"[0-9a-f]+")
KEY_PATTERN = re.compile(r"svc_[0-9A-Za-z]{49}")
"""Matches anything that looks like a key, anywhere in a text."""
KEY_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_CHECK_CHARS = 6


def is_well_formed(key: str) -> bool:
    """Whether the text has the form of a key, including a valid checksum."""
    return bool(KEY_PATTERN.fullmatch(key)) and key[-_CHECK_CHARS:] == key_checksum(key[4:-_CHECK_CHARS])


def key_checksum(body: str) -> str:
    """The CRC-32 of a key's random part as base62 characters, the most significant first."""
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(_CHECK_CHARS):
        number, digit = divmod(number, len(KEY_ALPHABET))
        digits = KEY_ALPHABET[digit] + digits
    return digits


def key_digest(key: str) -> str:
    """The hexadecimal SHA-256 under which a key is stored; defined for any text."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def key_name(digest: str) -> str:
    """The part of a key's digest that names the key to the service."""
    return digest[:NAME_CHARS]


def is_key_name(text: str) -> bool:
    """Whether the text has the form of a key's name."""
    return len(text) == NAME_CHARS and bool(_HEX.fullmatch(text))


def is_nonce(text: str) -> bool:
    """Whether the text has the form of a nonce."""
    return len(text) == 2 * NONCE_BYTES and bool(_HEX.fullmatch(text))


def prove(digest: str, nonce: str, address: str) -> str:
    """The proof, in hexadecimal.

    Args:
        digest: The key's SHA-256 in hexadecimal, which only its owner and the service know.
        nonce: The client's random value, in hexadecimal.
        address: Where the service accepted the connection (``socket_address``).
    """
    return _mac("sha256", digest, _PROOF_PURPOSE, nonce, address).hex()


def is_proven(proof: str, digest: str, nonce: str, address: str) -> bool:
    """Whether the proof is the one for these values."""
    return hmac.compare_digest(proof.encode("utf-8", "replace"), prove(digest, nonce, address).encode())


def seal_pad(digest: str, challenge: str, method: str, target: str) -> bytes:
    """The 64 bytes that hide a key in ``Authorization: Svc-Sealed`` of one request; XOR hides it and shows it."""
    return _mac("sha512", digest, _SEAL_PURPOSE, challenge, method, target)


def sealed_key(key: str, challenge: str, method: str, target: str) -> str:
    """The ``Authorization`` that gives a key to its service alone, for one method and target.

    Raises:
        ValueError: The key is longer than the pad, so no service made it.
    """
    pad, text = seal_pad(key_digest(key), challenge, method, target), key.encode()
    hidden = bytes(a ^ b for a, b in zip(text, pad[: len(text)], strict=True))
    return f"Svc-Sealed {challenge}.{base64.urlsafe_b64encode(hidden).decode().rstrip('=')}"


def socket_address(host: str, port: int) -> str:
    """A numeric address and port, the same text on both ends of a connection."""
    ip = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return f"[{ip}]:{port}" if ip.version == 6 else f"{ip}:{port}"


def parse_address(text: str) -> str:
    """A numeric address and port as ``socket_address`` writes them; raises ValueError for anything else."""
    parts = urlsplit(f"//{text.strip()}")
    return socket_address(parts.hostname or "", parts.port or 0)


def _mac(algorithm: str, digest: str, purpose: bytes, *fields: str) -> bytes:
    text = b"\0".join([purpose, *(field.encode("utf-8", "surrogatepass") for field in fields)])
    return hmac.new(bytes.fromhex(digest), text, algorithm).digest()
