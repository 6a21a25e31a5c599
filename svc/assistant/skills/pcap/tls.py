"""The cleartext part of a TLS handshake: server name, versions, the client's fingerprint, the certificate. Pure.

Messages: RFC 8446 and 5246. Fingerprints: JA3 (MD5 over the hello's numbers) and JA4, both without GREASE (RFC 8701).
From TLS 1.3 on the certificate is encrypted and not visible.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable

import msgspec

MAX_HANDSHAKE_BYTES = 65_536  # of one side: hello and certificates; a chain has about 4 KiB
MAX_NAME_CHARS = 255
_VERSIONS = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1", 0x0303: "TLS 1.2", 0x0304: "TLS 1.3"}
_JA4_VERSIONS = {0x0300: "s3", 0x0301: "10", 0x0302: "11", 0x0303: "12", 0x0304: "13"}
_SERVER_NAME, _GROUPS, _POINTS, _SIGNATURES, _ALPN, _SUPPORTED = 0, 10, 11, 13, 16, 43
_HANDSHAKE = 22


class Handshake(msgspec.Struct, kw_only=True):
    """One TLS connection. Empty: not in the capture, or encrypted. ``subject`` and so on are the certificate's."""

    number: int
    seconds: float
    name: str = ""
    offered: str = ""
    chosen: str = ""
    ja3: str = ""
    ja4: str = ""
    protocols: list[str] = []
    subject: str = ""
    issuer: str = ""
    not_before: str = ""
    not_after: str = ""
    is_self_signed: bool = False
    certificate_sha256: str = ""


def version_name(number: int) -> str:
    """``TLS 1.2``; an unknown one in hex."""
    return _VERSIONS.get(number, f"0x{number:04x}")


class _FieldReader:
    """Reads fields from the front of a message. Raises ValueError if it is too short."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_empty(self) -> bool:
        return self._at >= len(self._data)

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise ValueError("the message ends too early")
        piece, self._at = self._data[self._at : end], end
        return piece

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def block(self, size: int) -> bytes:
        """The field whose length is given in ``size`` bytes."""
        return self.take(self.number(size))


class Tls:
    """A flow that begins with a TLS record; read until both hellos and the certificate were seen."""

    def __init__(self, note: Callable[[Handshake], None]) -> None:
        self.is_done: bool = False
        self._note = note
        self._records = {True: b"", False: b""}
        self._messages = {True: b"", False: b""}
        self._pieces = 0
        self._handshake: Handshake | None = None

    def receive(self, data: bytes, *, from_client: bool, number: int, seconds: float) -> None:
        """Split the records and read the messages in them."""
        self._pieces += len(data)
        if self._handshake is None:
            self._handshake = Handshake(number=number, seconds=seconds)
            self._note(self._handshake)
        if self._pieces > 2 * MAX_HANDSHAKE_BYTES:
            self.is_done = True
        if not self.is_done:
            self._take_records(self._records[from_client] + data, from_client=from_client)
            self._take_messages(self._handshake, from_client=from_client)

    def _take_records(self, data: bytes, *, from_client: bool) -> None:
        while len(data) >= 5:
            kind, size = data[0], int.from_bytes(data[3:5], "big")
            if kind != _HANDSHAKE:
                self.is_done = not from_client or kind not in (20, 21)  # the rest is encrypted
                return
            if len(data) < 5 + size:
                break
            self._messages[from_client] += data[5 : 5 + size]
            data = data[5 + size :]
        self._records[from_client] = data

    def _take_messages(self, handshake: Handshake, *, from_client: bool) -> None:
        data = self._messages[from_client]
        while len(data) >= 4:
            kind, size = data[0], int.from_bytes(data[1:4], "big")
            if len(data) < 4 + size:
                break
            try:
                self._message(handshake, kind, data[4 : 4 + size])
            except (ValueError, struct.error):
                self.is_done = True
                return
            data = data[4 + size :]
        self._messages[from_client] = data

    def _message(self, handshake: Handshake, kind: int, body: bytes) -> None:
        if kind == 1:
            _read_client_hello(handshake, _FieldReader(body))
        elif kind == 2:
            _read_server_hello(handshake, _FieldReader(body))
            self.is_done = handshake.chosen == "TLS 1.3"
        elif kind == 11:
            _read_certificate(handshake, _FieldReader(body))
            self.is_done = True


def _read_extensions(reader: _FieldReader) -> dict[int, bytes]:
    """Extensions by their number, in order."""
    found: dict[int, bytes] = {}
    if reader.is_empty:
        return found
    inside = _FieldReader(reader.block(2))
    while not inside.is_empty:
        number = inside.number(2)
        found[number] = inside.block(2)
    return found


def _numbers(data: bytes, width: int = 2) -> list[int]:
    """A block of numbers without GREASE."""
    found = [int.from_bytes(data[at : at + width], "big") for at in range(0, len(data) - width + 1, width)]
    return [number for number in found if not _is_grease(number)]


def _is_grease(number: int) -> bool:
    return number & 0x0F0F == 0x0A0A and number >> 8 == number & 0xFF


def _read_client_hello(handshake: Handshake, reader: _FieldReader) -> None:
    version = reader.number(2)
    reader.take(32)
    reader.block(1)
    ciphers = _numbers(reader.block(2))
    reader.block(1)
    extensions = _read_extensions(reader)
    handshake.name = _server_name(extensions.get(_SERVER_NAME, b""))
    handshake.protocols = _alpn(extensions.get(_ALPN, b""))
    versions = _numbers(extensions.get(_SUPPORTED, b"")[1:]) or [version]
    handshake.offered = version_name(max(versions))
    numbers = [number for number in extensions if not _is_grease(number)]
    groups, points = _numbers(extensions.get(_GROUPS, b"")[2:]), list(extensions.get(_POINTS, b"")[1:])
    fields = [[version], ciphers, numbers, groups, points]
    joined = ",".join("-".join(map(str, field)) for field in fields)
    handshake.ja3 = hashlib.md5(joined.encode(), usedforsecurity=False).hexdigest()
    signatures = _numbers(extensions.get(_SIGNATURES, b"")[2:])
    handshake.ja4 = _ja4(max(versions), ciphers, numbers, signatures, handshake.protocols)


def _ja4(version: int, ciphers: list[int], extensions: list[int], signatures: list[int], protocols: list[str]) -> str:
    first = protocols[0] if protocols else ""
    alpn = f"{first[0]}{first[-1]}" if first.isascii() and first[:1].isalnum() and first[-1:].isalnum() else "00"
    has_name = "d" if _SERVER_NAME in extensions else "i"
    lead = f"t{_JA4_VERSIONS.get(version, '00')}{has_name}{min(len(ciphers), 99):02}{min(len(extensions), 99):02}{alpn}"
    rest = [number for number in extensions if number not in (_SERVER_NAME, _ALPN)]
    listed = ",".join(sorted(f"{number:04x}" for number in rest))
    signed = ",".join(f"{number:04x}" for number in signatures)
    offered = ",".join(sorted(f"{cipher:04x}" for cipher in ciphers))
    return f"{lead}_{_short_hash(offered)}_{_short_hash(f'{listed}_{signed}' if signed else listed)}"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else "0" * 12


def _server_name(data: bytes) -> str:
    if len(data) < 5:
        return ""
    reader = _FieldReader(data[2:])
    reader.take(1)
    return reader.block(2)[:MAX_NAME_CHARS].decode("utf-8", errors="replace")


def _alpn(data: bytes) -> list[str]:
    reader = _FieldReader(data[2:])
    found: list[str] = []
    while not reader.is_empty and len(found) < 10:
        found.append(reader.block(1).decode("ascii", errors="replace"))
    return found


def _read_server_hello(handshake: Handshake, reader: _FieldReader) -> None:
    version = reader.number(2)
    reader.take(32)
    reader.block(1)
    reader.take(3)
    supported = _read_extensions(reader).get(_SUPPORTED, b"")
    handshake.chosen = version_name(int.from_bytes(supported, "big") if len(supported) == 2 else version)


def _read_certificate(handshake: Handshake, reader: _FieldReader) -> None:
    """The server's own certificate: the first of the chain."""
    from cryptography import x509

    chain = _FieldReader(reader.block(3))
    if chain.is_empty:
        return
    der = chain.block(3)
    handshake.certificate_sha256 = hashlib.sha256(der).hexdigest()
    try:
        certificate = x509.load_der_x509_certificate(der)
        handshake.subject = _common_name(certificate.subject)
        handshake.issuer = _common_name(certificate.issuer)
        handshake.is_self_signed = certificate.subject == certificate.issuer
        handshake.not_before = certificate.not_valid_before_utc.isoformat()
        handshake.not_after = certificate.not_valid_after_utc.isoformat()
    except x509.InvalidVersion as error:
        raise ValueError("the certificate has no version that X.509 knows") from error


def _common_name(name: object) -> str:
    """The CN, or the whole name if it has none."""
    from cryptography import x509

    if not isinstance(name, x509.Name):
        return ""
    common = name.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    shown = str(common[0].value) if common else name.rfc4514_string()
    return shown[:MAX_NAME_CHARS]
