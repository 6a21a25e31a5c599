"""X.509 certificates, requests and keys as PEM or DER: fields, chains, and each weakness with its severity. Pure.

Whether a chain holds is computed with the keys in it (``cryptography``); whether anybody trusts its root, and whether a
certificate was revoked, is not known here. Dates are compared with the option ``now`` alone. Weaknesses:
``certificate_checks.py``.

Finding kinds and their attributes:

``certificate``: number (int), subject, issuer, serial, not_before, not_after (ISO 8601), key, signature, sha256, sha1
(str), days, key_bits (int), names (list of str), usages (list of str), is_ca, is_self_signed (bool), issued_by (int or
null: the certificate in this input that signed it), constraints (list of str).
``certificate_request``: number, subject, key, signature (str), key_bits (int), names (list of str), is_valid (bool).
``private_key``: number, label (str), key (str), is_encrypted (bool), belongs_to (int or null: the certificate).
``certificate_weakness``: number (int), name, words, field, advice (str).
``certificate_damage``: number (int), what (str).
"""

from __future__ import annotations

import base64
import binascii
import re
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import BinaryIO

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from svc.assistant.findings import Confidence, Evidence, Gap, Progress, Scalar, Severity, ToolEvent
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.certificate.checks import (
    Facts,
    Weakness,
    certificate_facts,
    certificate_weaknesses,
    key_of,
    request_weaknesses,
)

MAX_BYTES = 16 * 1024 * 1024  # the bundle of all public roots has 250 kB
MAX_BLOCKS = 500
MAX_CHAIN = 200  # certificates among which issuers are looked for: each pair is one signature check
_EDGE = re.compile(rb"-----(BEGIN|END) ([A-Z0-9 ]{1,40})-----")
_LEGACY = re.compile(rb"\A(?:[A-Za-z-]+: [^\n]*\n)+\s*")
ERRORS = (
    ValueError, TypeError, KeyError, AttributeError, OverflowError, NotImplementedError, UnsupportedAlgorithm,
    x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType, x509.AttributeNotFound,
)  # fmt: skip
"""What cryptography is known to raise on broken or exotic input."""


def inspect(stream: BinaryIO, /, *, source: str, now: str = "") -> Iterator[ToolEvent]:
    """Every certificate, request and key, then what is weak about each. ``now`` is ISO 8601, or ""."""
    yield Progress(text=f"reading {source}")
    raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        yield Gap(text=f"only the first {MAX_BYTES:,} bytes were looked at")
        raw = raw[:MAX_BYTES]
    reader = _Reader(source, _moment(now))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cryptography warns of what is reported as a finding here
        yield from _blocks(reader, raw)
        yield from reader.relations()
    if reader.certificates and reader.now is None:
        yield Gap(text="whether certificates are expired: no date to compare with was given")
    if reader.certificates:
        yield Gap(text="whether a certificate was revoked, and whether anybody trusts its root: not known offline")


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class _Block(msgspec.Struct, frozen=True):
    """What stands between BEGIN and the END of the same label; ``start`` is where BEGIN stands."""

    label: str
    start: int
    body: bytes
    whole: bytes


def _pem_blocks(raw: bytes) -> Iterator[_Block]:
    """The blocks in order, in one pass; a BEGIN without its END is passed over."""
    begun: re.Match[bytes] | None = None
    for edge in _EDGE.finditer(raw):
        if edge[1] == b"BEGIN":
            begun = edge
        elif begun is not None and begun[2] == edge[2]:
            body = raw[begun.end() : edge.start()].strip()
            yield _Block(edge[2].decode("ascii"), begun.start(), body, raw[begun.start() : edge.end()])
            begun = None


def _blocks(reader: _Reader, raw: bytes) -> Iterator[ToolEvent]:
    blocks = list(_pem_blocks(raw))
    if not blocks and raw[:1] == b"\x30":
        yield from reader.read("DER", raw, 1, raw)
        return
    if not blocks:
        begun = raw.find(b"-----BEGIN ")
        if begun >= 0:
            yield reader.damage(1, "a block begins and does not end: cut", "-----BEGIN", raw.count(b"\n", 0, begun) + 1)
        else:
            yield Gap(text="no certificate, request or key in it")
        return
    for number, block in enumerate(blocks[:MAX_BLOCKS], start=1):
        line = raw.count(b"\n", 0, block.start) + 1
        try:
            der = base64.b64decode(re.sub(rb"[^A-Za-z0-9+/=]", b"", _LEGACY.sub(b"", block.body)))
        except (binascii.Error, ValueError):
            yield reader.damage(number, f"a {block.label} block that is not base64", block.label, line)
            continue
        yield from reader.read(block.label, der, line, block.whole)
    if len(blocks) > MAX_BLOCKS:
        yield Gap(text=f"only the first {MAX_BLOCKS} of {len(blocks):,} blocks were looked at")


class _Reader:
    """Reads blocks one after the other and remembers what belongs together."""

    def __init__(self, source: str, now: datetime | None) -> None:
        self.now = now
        self.certificates: list[tuple[int, x509.Certificate, Facts, Evidence]] = []
        self._keys: list[tuple[int, str, str, bytes | None, bool, Evidence]] = []
        self._source = source
        self._number = 0

    def read(self, label: str, der: bytes, line: int, block: bytes) -> Iterator[Finding]:
        """The findings of one block; a key's wait for ``relations``."""
        self._number += 1
        excerpt = f"-----BEGIN {label}-----" if label != "DER" else f"DER, {len(der):,} bytes"
        evidence = Evidence(source=self._source, excerpt=excerpt, line=line if label != "DER" else None)
        if "PRIVATE KEY" in label:
            self._keep_key(label, der, block, evidence)
        elif label in ("CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"):
            yield from self._certificate(der, evidence)
        elif label in ("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"):
            yield from self._request(der, evidence)
        elif label == "DER":
            yield from self._unlabelled(der, evidence)

    def _unlabelled(self, der: bytes, evidence: Evidence) -> Iterator[Finding]:
        """DER says by its content alone what it is."""
        if _loads(x509.load_der_x509_certificate, der):
            yield from self._certificate(der, evidence)
        elif _loads(x509.load_der_x509_csr, der):
            yield from self._request(der, evidence)
        elif _public_of(der) is not None:
            self._keep_key("DER", der, b"", evidence)
        else:
            yield self.damage(self._number, "DER that is no certificate, request or key, or is damaged", "DER", None)

    def damage(self, number: int, what: str, excerpt: str, line: int | None) -> Finding:
        """Something that cannot be read."""
        return Finding(
            kind="certificate_damage", title=what, severity=Severity.LOW,
            evidence=(Evidence(source=self._source, excerpt=excerpt, line=line),),
            attributes={"number": number, "what": what},
        )  # fmt: skip

    def _certificate(self, der: bytes, evidence: Evidence) -> Iterator[Finding]:
        try:
            certificate = x509.load_der_x509_certificate(der)
            facts = certificate_facts(certificate, der)
        except ERRORS as error:
            yield self.damage(
                self._number,
                f"a certificate that cannot be read ({type(error).__name__})",
                evidence.excerpt,
                evidence.line,
            )
            return
        self.certificates.append((self._number, certificate, facts, evidence))

    def _request(self, der: bytes, evidence: Evidence) -> Iterator[Finding]:
        try:
            request = x509.load_der_x509_csr(der)
            key, bits = key_of(request.public_key())
            is_valid = request.is_signature_valid
            names = _names_of(request)
            algorithm = request.signature_hash_algorithm
            subject = request.subject.rfc4514_string()
        except ERRORS as error:
            what = f"a request that cannot be read ({type(error).__name__})"
            yield self.damage(self._number, what, evidence.excerpt, evidence.line)
            return
        yield Finding(
            kind="certificate_request", title=f"a request for {subject}", evidence=(evidence,),
            attributes={
                "number": self._number, "subject": subject, "key": key, "key_bits": bits, "is_valid": is_valid,
                "signature": algorithm.name if algorithm else "", "names": list(names),
            },
        )  # fmt: skip
        for weakness in request_weaknesses(request, is_valid=is_valid):
            yield _weakness(self._number, weakness, evidence)

    def _keep_key(self, label: str, der: bytes, block: bytes, evidence: Evidence) -> None:
        is_encrypted = "ENCRYPTED" in label or b"ENCRYPTED" in block[:200] or _is_locked_ssh(der)
        public = None if is_encrypted else _public_of(der, block)
        self._keys.append((self._number, label, _kind_of_key(der, block, label), public, is_encrypted, evidence))

    def relations(self) -> Iterator[Finding]:
        """The certificates with who signed them, their weaknesses, then the private keys with what they open."""
        for number, certificate, facts, evidence in self.certificates:
            yield _certificate_finding(number, facts, evidence, self._issuer_of(number, certificate))
            for weakness in certificate_weaknesses(certificate, facts, self.now):
                yield _weakness(number, weakness, evidence)
        for number, label, kind, public, is_encrypted, evidence in self._keys:
            owner = next((n for n, c, _, _ in self.certificates if public is not None and _spki(c) == public), None)
            yield _key_finding(number, label, kind, owner, evidence, is_encrypted=is_encrypted)

    def _issuer_of(self, number: int, certificate: x509.Certificate) -> int | None:
        for other, candidate, _, _ in self.certificates[:MAX_CHAIN]:
            if candidate.subject != certificate.issuer:
                continue
            try:
                certificate.verify_directly_issued_by(candidate)
            except (*ERRORS, InvalidSignature):
                continue
            return other
        return None


def _loads(load: Callable[[bytes], object], der: bytes) -> bool:
    try:
        load(der)
    except ERRORS:
        return False
    return True


def _names_of(request: x509.CertificateSigningRequest) -> list[str]:
    try:
        names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [str(name.value) for name in names][:200]


def _private(der: bytes, block: bytes = b"") -> object | None:
    """The private key, without the slow proof that its numbers fit; None where it cannot be read."""
    try:
        if b"OPENSSH" in block[:60]:
            return serialization.load_ssh_private_key(block, None)
        return serialization.load_der_private_key(der, None, unsafe_skip_rsa_key_validation=True)
    except ERRORS:
        return None


def _public_of(der: bytes, block: bytes = b"") -> bytes | None:
    key = _private(der, block)
    public = getattr(key, "public_key", None)
    if public is None:
        return None
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    try:
        return bytes(public().public_bytes(*form))
    except ERRORS:
        return None


def _kind_of_key(der: bytes, block: bytes, label: str) -> str:
    public = getattr(_private(der, block), "public_key", None)
    if public is None:
        return label.removesuffix(" PRIVATE KEY") if label not in ("PRIVATE KEY", "DER") else "unknown"
    return key_of(public())[0]


def _is_locked_ssh(der: bytes) -> bool:
    """An OpenSSH key names its cipher after its magic; ``none`` where it has no password."""
    return der.startswith(b"openssh-key-v1\x00") and der[19:23] != b"none"


def _spki(certificate: x509.Certificate) -> bytes:
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    try:
        return certificate.public_key().public_bytes(*form)
    except ERRORS:
        return b""


def _certificate_finding(number: int, facts: Facts, evidence: Evidence, issued_by: int | None) -> Finding:
    attributes: dict[str, Scalar | list[Scalar]] = {
        "number": number, "subject": facts.subject, "issuer": facts.issuer, "serial": facts.serial,
        "not_before": facts.not_before.isoformat(), "not_after": facts.not_after.isoformat(), "days": facts.days,
        "key": facts.key, "key_bits": facts.key_bits, "signature": facts.signature, "sha256": facts.sha256,
        "sha1": facts.sha1, "names": list(facts.names), "usages": list(facts.usages), "is_ca": facts.is_ca,
        "is_self_signed": facts.is_self_signed, "issued_by": issued_by, "constraints": list(facts.constraints),
    }  # fmt: skip
    return Finding(
        kind="certificate", title=facts.subject or "a certificate without a subject", evidence=(evidence,),
        attributes=attributes,
    )  # fmt: skip


def _key_finding(
    number: int, label: str, kind: str, owner: int | None, evidence: Evidence, *, is_encrypted: bool
) -> Finding:
    words = "a private key behind a password" if is_encrypted else "a private key that anybody can read"
    belongs = f", that of certificate {owner}" if owner is not None else ""
    return Finding(
        kind="private_key",
        title=words + belongs,
        severity=Severity.MEDIUM if is_encrypted else Severity.CRITICAL,
        why="a password can be guessed offline" if is_encrypted else "who holds it can act and sign as its owner",
        evidence=(evidence,),
        techniques=("T1552.004",),
        attributes={
            "number": number, "label": label, "key": kind, "is_encrypted": is_encrypted, "belongs_to": owner,
        },
    )  # fmt: skip


def _weakness(number: int, weakness: Weakness, evidence: Evidence) -> Finding:
    return Finding(
        kind="certificate_weakness",
        title=weakness.words,
        severity=weakness.severity,
        confidence=Confidence.HIGH,
        evidence=(evidence,),
        attributes={
            "number": number, "name": weakness.name, "words": weakness.words, "field": weakness.field,
            "advice": weakness.advice,
        },
    )  # fmt: skip
