"""Read X.509 certificates, requests and private keys (PEM, DER): fields, issuers among them, and weaknesses.

An issuer is found by verifying signatures with the keys in the input (``cryptography``), not by names. Trust in a root
and revocation cannot be checked offline. Dates are compared only with the option ``now``. Weaknesses: ``checks.py``.
"""

from __future__ import annotations

import base64
import binascii
import re
import warnings
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import BinaryIO

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from svc.assistant.findings import Coverage, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.skills.certificate.checks import (
    CertificateFields,
    CertificateFlaw,
    certificate_fields,
    certificate_flaws,
    describe_key,
    request_flaws,
)
from svc.assistant.skills.certificate.findings import (
    Certificate,
    CertificateDamage,
    CertificateRequest,
    CertificateWeakness,
    PrivateKey,
)
from svc.assistant.skills.skill import parse_now

MAX_BYTES = 16 * 1024 * 1024  # the bundle of all public roots has 250 kB
MAX_BLOCKS = 500
MAX_CHAIN = 200  # certificates among which issuers are searched: each pair costs one signature check
MAX_NAMES = 200
_EDGE = re.compile(rb"-----(BEGIN|END) ([A-Z0-9 ]{1,40})-----")
_LEGACY_HEADERS = re.compile(rb"\A(?:[A-Za-z-]+: [^\n]*\n)+\s*")  # RFC 1421: "Proc-Type: 4,ENCRYPTED"
_SPKI = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
ERRORS = (
    ValueError, TypeError, KeyError, AttributeError, OverflowError, NotImplementedError, UnsupportedAlgorithm,
    x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType, x509.AttributeNotFound,
)  # fmt: skip
"""What cryptography is known to raise on broken or exotic input."""


class _PemBlock(msgspec.Struct, frozen=True):
    """A BEGIN line and the END line of the same label, with ``body`` between; ``start`` is the offset of BEGIN."""

    label: str
    start: int
    body: bytes
    whole: bytes


class _ParsedCertificate(msgspec.Struct, frozen=True):
    number: int
    certificate: x509.Certificate
    fields: CertificateFields
    evidence: Evidence


class _StoredKey(msgspec.Struct, frozen=True):
    """A private key; ``public`` is its public key (DER), None if it cannot be read."""

    number: int
    label: str
    key: str
    public: bytes | None
    is_encrypted: bool
    evidence: Evidence


def inspect(content: BinaryIO, /, *, source: str, now: str = "") -> Iterator[ToolEvent]:
    """Yield every certificate, request and key, and the weaknesses of each.

    Args:
        content: PEM blocks, with or without other text between them, or one DER value.
        source: Name of the input.
        now: ISO 8601 date and time to compare dates with, or "".
    """
    yield Progress(text=f"reading {source}")
    raw = content.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        yield Gap(text=f"only the first {MAX_BYTES:,} bytes were examined", in_headline=True)
        raw = raw[:MAX_BYTES]
    bundle = _CertificateBundle(source, parse_now(now))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cryptography warns about what is reported as a finding here
        yield from _read_blocks(bundle, raw)
        yield from bundle.relations()
    if bundle.certificates and bundle.now is None:
        yield Gap(text="certificates were not checked for expiry: no date to compare with was given")
    if bundle.certificates:
        yield Gap(text="revocation and trust in the root cannot be checked offline")
    yield bundle.coverage()


def _pem_blocks(raw: bytes) -> Iterator[_PemBlock]:
    """Yield the blocks in order, in one pass; a BEGIN without its END is skipped."""
    begin: re.Match[bytes] | None = None
    for edge in _EDGE.finditer(raw):
        if edge[1] == b"BEGIN":
            begin = edge
        elif begin is not None and begin[2] == edge[2]:
            body = raw[begin.end() : edge.start()].strip()
            yield _PemBlock(edge[2].decode("ascii"), begin.start(), body, raw[begin.start() : edge.end()])
            begin = None


def _read_blocks(bundle: _CertificateBundle, raw: bytes) -> Iterator[ToolEvent]:
    blocks = list(_pem_blocks(raw))
    if not blocks and raw[:1] == b"\x30":  # a DER sequence
        bundle.total = 1
        yield from bundle.read("DER", raw, 1, raw)
        return
    if not blocks:
        begin = raw.find(b"-----BEGIN ")
        if begin >= 0:
            bundle.total = 1
            line = raw.count(b"\n", 0, begin) + 1
            yield bundle.damage(1, "a block without an END line: truncated", "-----BEGIN", line)
        else:
            yield Gap(text="no certificate, request or key found")
        return
    begins = sum(edge[1] == b"BEGIN" for edge in _EDGE.finditer(raw))
    bundle.total = max(begins, len(blocks))
    if begins > len(blocks):
        yield Gap(text=f"{begins - len(blocks):,} blocks without an END line were not examined: truncated")
    for number, block in enumerate(blocks[:MAX_BLOCKS], start=1):
        line = raw.count(b"\n", 0, block.start) + 1
        try:
            der = base64.b64decode(re.sub(rb"[^A-Za-z0-9+/=]", b"", _LEGACY_HEADERS.sub(b"", block.body)))
        except (binascii.Error, ValueError):
            yield bundle.damage(number, f"a {block.label} block that is not base64", block.label, line)
            continue
        yield from bundle.read(block.label, der, line, block.whole)
    if len(blocks) > MAX_BLOCKS:
        yield Gap(text=f"only the first {MAX_BLOCKS} of {len(blocks):,} blocks were examined")


class _CertificateBundle:
    """The blocks of one input: issuers and the certificates of keys are known only after the last one."""

    def __init__(self, source: str, now: datetime | None) -> None:
        self.now = now
        self.certificates: list[_ParsedCertificate] = []
        self.total = 0
        """Blocks of the input, readable or not."""
        self._keys: list[_StoredKey] = []
        self._requests = 0
        self._source = source
        self._number = 0

    def read(self, label: str, der: bytes, line: int, block: bytes) -> Iterator[ToolEvent]:
        """Yield the findings of one block; certificates and keys wait for ``relations``."""
        self._number += 1
        excerpt = f"-----BEGIN {label}-----" if label != "DER" else f"DER, {len(der):,} bytes"
        evidence = Evidence(source=self._source, excerpt=excerpt, line=line if label != "DER" else None)
        if "PRIVATE KEY" in label:
            self._add_key(label, der, block, evidence)
        elif label in ("CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"):
            yield from self._read_certificate(der, evidence)
        elif label in ("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"):
            yield from self._read_request(der, evidence)
        elif label == "DER":
            yield from self._read_unlabelled(der, evidence)
        else:
            yield Gap(text=f"the {label} block in line {line:,} was not examined: certificates, requests and keys are")

    def _read_unlabelled(self, der: bytes, evidence: Evidence) -> Iterator[ToolEvent]:
        """DER has no label: try each type."""
        if _loads(x509.load_der_x509_certificate, der):
            yield from self._read_certificate(der, evidence)
        elif _loads(x509.load_der_x509_csr, der):
            yield from self._read_request(der, evidence)
        elif _public_key(der) is not None:
            self._add_key("DER", der, b"", evidence)
        else:
            yield self.damage(self._number, "DER data that is not a readable certificate, request or key", "DER", None)

    def coverage(self) -> Coverage:
        """How many of the blocks were read."""
        understood = len(self.certificates) + len(self._keys) + self._requests
        return Coverage(
            read_as="certificates and keys" if understood else "content without a readable certificate or key",
            unit="certificate or key",
            understood=understood,
            total=self.total,
            looked_for="weak keys and hashes, wrong dates and names, known malicious patterns, exposed private keys",
            not_covered="revocation and trust in the root cannot be checked offline",
        )

    def damage(self, number: int, what: str, excerpt: str, line: int | None) -> Finding[CertificateDamage]:
        """Return the finding for a block that cannot be read."""
        return Finding(
            title=what,
            severity=Severity.LOW,
            evidence=(Evidence(source=self._source, excerpt=excerpt, line=line),),
            facts=CertificateDamage(number=number, what=what),
        )

    def _read_certificate(self, der: bytes, evidence: Evidence) -> Iterator[ToolEvent]:
        try:
            certificate = x509.load_der_x509_certificate(der)
            fields = certificate_fields(certificate, der)
        except ERRORS as error:
            what = f"a certificate that cannot be read ({type(error).__name__})"
            yield self.damage(self._number, what, evidence.excerpt, evidence.line)
            return
        self.certificates.append(_ParsedCertificate(self._number, certificate, fields, evidence))

    def _read_request(self, der: bytes, evidence: Evidence) -> Iterator[ToolEvent]:
        try:
            request = x509.load_der_x509_csr(der)
            facts = _request_facts(self._number, request)
        except ERRORS as error:
            what = f"a request that cannot be read ({type(error).__name__})"
            yield self.damage(self._number, what, evidence.excerpt, evidence.line)
            return
        self._requests += 1
        yield Finding(title=f"certificate request for {facts.subject}", evidence=(evidence,), facts=facts)
        for flaw in request_flaws(request, is_valid=facts.is_valid):
            yield _weakness(self._number, flaw, evidence)

    def _add_key(self, label: str, der: bytes, block: bytes, evidence: Evidence) -> None:
        is_encrypted = "ENCRYPTED" in label or b"ENCRYPTED" in block[:200] or _is_encrypted_ssh(der)
        public = None if is_encrypted else _public_key(der, block)
        key = _key_name(der, block, label)
        self._keys.append(_StoredKey(self._number, label, key, public, is_encrypted, evidence))

    def relations(self) -> Iterator[ToolEvent]:
        """Yield the certificates with their issuers and weaknesses, then the private keys with their certificates."""
        for parsed in self.certificates:
            yield _certificate_finding(parsed, self._issuer(parsed))
            for flaw in certificate_flaws(parsed.certificate, parsed.fields, self.now):
                yield _weakness(parsed.number, flaw, parsed.evidence)
        for key in self._keys:
            owners = (one.number for one in self.certificates if _certificate_key(one.certificate) == key.public)
            yield _key_finding(key, next(owners, None) if key.public is not None else None)

    def _issuer(self, parsed: _ParsedCertificate) -> int | None:
        """Return the number of the certificate whose key made the signature."""
        for candidate in self.certificates[:MAX_CHAIN]:
            if candidate.certificate.subject != parsed.certificate.issuer:
                continue
            try:
                parsed.certificate.verify_directly_issued_by(candidate.certificate)
            except (*ERRORS, InvalidSignature):
                continue
            return candidate.number
        return None


def _loads(load: Callable[[bytes], object], der: bytes) -> bool:
    try:
        load(der)
    except ERRORS:
        return False
    return True


def _request_facts(number: int, request: x509.CertificateSigningRequest) -> CertificateRequest:
    key, bits = describe_key(request.public_key())
    algorithm = request.signature_hash_algorithm
    try:
        names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        names = x509.SubjectAlternativeName([])
    return CertificateRequest(
        number=number,
        subject=request.subject.rfc4514_string(),
        key=key,
        key_bits=bits,
        is_valid=request.is_signature_valid,
        signature=algorithm.name if algorithm else "",
        names=[str(name.value) for name in names][:MAX_NAMES],
    )


def _private_key(der: bytes, block: bytes = b"") -> object | None:
    """Return the private key, or None if it cannot be read; skips the slow proof that its numbers fit."""
    try:
        if b"OPENSSH" in block[:60]:
            return serialization.load_ssh_private_key(block, None)
        return serialization.load_der_private_key(der, None, unsafe_skip_rsa_key_validation=True)
    except ERRORS:
        return None


def _public_key(der: bytes, block: bytes = b"") -> bytes | None:
    public = getattr(_private_key(der, block), "public_key", None)
    if public is None:
        return None
    try:
        return bytes(public().public_bytes(*_SPKI))
    except ERRORS:
        return None


def _key_name(der: bytes, block: bytes, label: str) -> str:
    public = getattr(_private_key(der, block), "public_key", None)
    if public is None:
        return label.removesuffix(" PRIVATE KEY") if label not in ("PRIVATE KEY", "DER") else "unknown"
    return describe_key(public())[0]


def _is_encrypted_ssh(der: bytes) -> bool:
    """An OpenSSH key names its cipher after its magic; ``none`` means no password."""
    return der.startswith(b"openssh-key-v1\x00") and der[19:23] != b"none"


def _certificate_key(certificate: x509.Certificate) -> bytes:
    try:
        return certificate.public_key().public_bytes(*_SPKI)
    except ERRORS:
        return b""


def _certificate_finding(parsed: _ParsedCertificate, issued_by: int | None) -> Finding[Certificate]:
    fields = parsed.fields
    return Finding(
        title=fields.subject or "certificate without a subject",
        evidence=(parsed.evidence,),
        facts=Certificate(
            number=parsed.number,
            subject=fields.subject,
            issuer=fields.issuer,
            serial=f"{fields.serial_number:x}",
            not_before=fields.not_before.isoformat(),
            not_after=fields.not_after.isoformat(),
            days=fields.days,
            key=fields.key,
            key_bits=fields.key_bits,
            signature=fields.signature,
            sha256=fields.sha256,
            sha1=fields.sha1,
            names=list(fields.names),
            usages=list(fields.usages),
            is_ca=fields.is_ca,
            is_self_signed=fields.is_self_signed,
            issued_by=issued_by,
            constraints=list(fields.constraints),
        ),
    )


def _key_finding(key: _StoredKey, owner: int | None) -> Finding[PrivateKey]:
    words = "password-protected private key" if key.is_encrypted else "unprotected private key"
    belongs = f" of certificate {owner}" if owner is not None else ""
    return Finding(
        title=words + belongs,
        severity=Severity.MEDIUM if key.is_encrypted else Severity.CRITICAL,
        why=(
            "the password can be guessed offline"
            if key.is_encrypted
            else "anyone who has it can impersonate its owner and sign as them"
        ),
        evidence=(key.evidence,),
        techniques=("T1552.004",),
        facts=PrivateKey(
            number=key.number, label=key.label, key=key.key, is_encrypted=key.is_encrypted, belongs_to=owner
        ),
    )


def _weakness(number: int, flaw: CertificateFlaw, evidence: Evidence) -> Finding[CertificateWeakness]:
    return Finding(
        title=flaw.words,
        severity=flaw.severity,
        evidence=(evidence,),
        facts=CertificateWeakness(
            number=number, name=flaw.name, words=flaw.words, field=flaw.field, advice=flaw.advice
        ),
    )
