"""The Authenticode signature of a Windows program: who signed, and whether the content is what was signed. Pure.

The chain to a trusted root, revocation and time stamps are not checked: that needs roots and a network. Checked is
that the digest in the signature is this file's. Format: Microsoft's "Windows Authenticode Portable Executable Signature
Format".
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
    """The signers as parts; a trait where the signature is for another content or cannot be read."""
    directories = pe.OPTIONAL_HEADER.DATA_DIRECTORY
    if len(directories) <= 4 or not directories[4].VirtualAddress:
        return
    start, size = directories[4].VirtualAddress, directories[4].Size
    blob = data[start + 8 : start + size]
    if start + size > len(data) or size < 8 or int.from_bytes(data[start + 6 : start + 8], "little") != _PKCS7:
        yield from inspection.damaged("signature", "the certificate table lies beyond the file, or is of no known type")
        return
    subjects = _subjects(blob)
    for subject, issuer in subjects[:8]:
        yield inspection.part("signature", subject, note=f"issued by {issuer}; the chain was not verified")
    if not subjects:
        yield from inspection.damaged("signature", "its certificates cannot be read", offset=start)
    digest = _matching(pe, data, blob, start)
    if digest:
        yield inspection.part("signature", "content", note=f"unchanged since it was signed ({digest})")
        return
    yield from inspection.trait(
        "broken_signature",
        "Its signature is for another content",
        severity=Severity.HIGH,
        why="the digest in the signature is not the digest of this file: changed after signing, or a copied signature",
        value=subjects[0][0] if subjects else "",
        techniques=("T1036.001",),
        offset=start,
    )


def _subjects(blob: bytes) -> list[tuple[str, str]]:
    """Subject and issuer of each certificate, by their common names."""
    from cryptography.hazmat.primitives.serialization import pkcs7  # 60 ms, for signed files alone
    from cryptography.x509 import Name, NameOID

    def common(name: Name) -> str:
        named = name.get_attributes_for_oid(NameOID.COMMON_NAME)
        return str(named[0].value) if named else name.rfc4514_string()

    try:
        certificates = pkcs7.load_der_pkcs7_certificates(_whole(blob))
        return [(common(one.subject), common(one.issuer)) for one in certificates]
    except DAMAGE:
        return []


def _whole(blob: bytes) -> bytes:
    """The DER value without the padding behind it."""
    if len(blob) < 4 or not blob[1] & 0x80:
        return blob
    width = blob[1] & 0x7F
    return blob[: 2 + width + int.from_bytes(blob[2 : 2 + width], "big")]


def _matching(pe: pefile.PE, data: bytes, blob: bytes, start: int) -> str:
    """The name of the algorithm by which the file's digest stands in the signature; ``""`` where none does."""
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
