"""The Authenticode signature of a Windows program: who signed it, and whether it was changed since.

Compares the digest in the signature with the file's. The chain to a trusted root, revocation and timestamps are not
checked: that needs root certificates and a network. Format: Microsoft's "Windows Authenticode Portable Executable
Signature Format".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pefile

from svc.assistant.findings import Severity, ToolEvent
from svc.assistant.skills.file_traits import DAMAGE, Inspection

_CHECKSUM_AT = 64  # in the optional header
_DIRECTORY_AT = {0x10B: 96 + 4 * 8, 0x20B: 112 + 4 * 8}  # of the certificate table, in the optional header
_PKCS7 = 2  # wCertificateType
_ALGORITHMS = ("sha256", "sha1", "sha384", "sha512")


def signature(pe: pefile.PE, data: bytes, inspection: Inspection) -> Iterator[ToolEvent]:
    """Yield the signers as parts, and a trait if the signature does not match the file or cannot be read."""
    directories = pe.OPTIONAL_HEADER.DATA_DIRECTORY
    if len(directories) <= 4 or not directories[4].VirtualAddress:
        return
    start, size = directories[4].VirtualAddress, directories[4].Size
    blob = data[start + 8 : start + size]
    if start + size > len(data) or size < 8 or int.from_bytes(data[start + 6 : start + 8], "little") != _PKCS7:
        yield from inspection.damaged(
            "signature", "the certificate table is beyond the end of the file, or of an unknown type"
        )
        return
    subjects = _subjects(blob)
    for subject, issuer in subjects[:8]:
        yield inspection.part("signature", subject, note=f"issued by {issuer}; the chain was not verified")
    if not subjects:
        yield from inspection.damaged("signature", "the certificates cannot be read", offset=start)
    digest = _matching_digest(pe, data, blob, start)
    if digest:
        yield inspection.part("signature", "content", note=f"unchanged since it was signed ({digest})")
        return
    yield from inspection.trait(
        "broken_signature",
        "The signature does not match the file",
        severity=Severity.HIGH,
        why="the digest in the signature is not the file's: it was changed after signing, or the signature copied",
        value=subjects[0][0] if subjects else "",
        techniques=("T1036.001",),
        offset=start,
    )


def _subjects(blob: bytes) -> list[tuple[str, str]]:
    """Return subject and issuer of each certificate, by common name if it has one."""
    from cryptography.hazmat.primitives.serialization import pkcs7  # 60 ms, for signed files alone
    from cryptography.x509 import Name, NameOID

    def common(name: Name) -> str:
        named = name.get_attributes_for_oid(NameOID.COMMON_NAME)
        return str(named[0].value) if named else name.rfc4514_string()

    try:
        certificates = pkcs7.load_der_pkcs7_certificates(_without_padding(blob))
        return [(common(one.subject), common(one.issuer)) for one in certificates]
    except DAMAGE:
        return []


def _without_padding(blob: bytes) -> bytes:
    """Return the DER value without the padding after it."""
    if len(blob) < 4 or not blob[1] & 0x80:
        return blob
    width = blob[1] & 0x7F
    return blob[: 2 + width + int.from_bytes(blob[2 : 2 + width], "big")]


def _matching_digest(pe: pefile.PE, data: bytes, blob: bytes, start: int) -> str:
    """Return the algorithm of the digest of this file that the signature contains, or ""."""
    optional = pe.OPTIONAL_HEADER.get_file_offset()
    checksum = optional + _CHECKSUM_AT
    directory = optional + _DIRECTORY_AT.get(pe.OPTIONAL_HEADER.Magic, 128)
    tail = b"\x00" * (-len(data) % 8) if start >= len(data) else b""
    for name in _ALGORITHMS:
        digest = hashlib.new(name, usedforsecurity=False)
        for piece in (data[:checksum], data[checksum + 4 : directory], data[directory + 8 : start], tail):
            digest.update(piece)
        if digest.digest() in blob:
            return name
    return ""
