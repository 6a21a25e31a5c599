"""The fields of a certificate as values, and its weaknesses.

Sources: RFC 5280 (profile), the CA/Browser Forum's baseline requirements (limits: ``marks.toml``), NIST SP 800-131A
(key sizes).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import date, datetime
from functools import cache
from ipaddress import IPv4Address, IPv6Address

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa
from publicsuffixlist import PublicSuffixList

from svc.assistant.findings import Severity
from svc.assistant.knowledge import load

MIN_RSA_BITS, BROKEN_RSA_BITS = 2048, 1024
MIN_CURVE_BITS = 224
USUAL_EXPONENT = 65_537
SERIAL_BITS = 64  # baseline requirements 7.1: at least that many from a random source
EXPIRES_SOON_DAYS = 30
MAX_NAMES = 200
_MD_HASHES = frozenset(["md2", "md4", "md5"])


class _ValidityLimit(msgspec.Struct, frozen=True):
    since: date
    days: int


class _NameMark(msgspec.Struct, frozen=True):
    pattern: str
    what: str
    severity: Severity


class _Marks(msgspec.Struct, frozen=True):
    source: str
    version: str
    date: date
    limits: tuple[_ValidityLimit, ...]
    marks: tuple[_NameMark, ...]


class CertificateFields(msgspec.Struct, frozen=True, kw_only=True):
    """A certificate's fields. ``signature`` is the name of its hash, or of its algorithm if it has no hash."""

    subject: str
    issuer: str
    serial_number: int
    not_before: datetime
    not_after: datetime
    days: int
    key: str
    key_bits: int
    signature: str
    sha256: str
    sha1: str
    names: tuple[str, ...]
    usages: tuple[str, ...]
    constraints: tuple[str, ...]
    is_ca: bool
    is_self_signed: bool
    is_server: bool
    has_path_length: bool
    signs_certificates: bool
    version: str


class CertificateFlaw(msgspec.Struct, frozen=True):
    """One weakness: its name, its severity, what is wrong, the field that shows it, and what to do."""

    name: str
    severity: Severity
    words: str
    field: str
    advice: str


@cache
def _marks() -> _Marks:
    return load("marks.toml", _Marks, __package__)


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(only_icann=True)


def describe_key(key: object) -> tuple[str, int]:
    """Return a public key's algorithm with its size in words, and its size in bits (0 if unknown)."""
    match key:
        case rsa.RSAPublicKey():
            return f"RSA {key.key_size}", key.key_size
        case ec.EllipticCurvePublicKey():
            return f"EC {key.curve.name}", key.curve.key_size
        case dsa.DSAPublicKey():
            return f"DSA {key.key_size}", key.key_size
        case ed25519.Ed25519PublicKey():
            return "Ed25519", 256
        case ed448.Ed448PublicKey():
            return "Ed448", 456
        case _:
            return type(key).__name__.removesuffix("PublicKey"), 0


def certificate_fields(certificate: x509.Certificate, der: bytes) -> CertificateFields:
    """Return the fields; raises what ``cryptography`` raises for fields that cannot be read."""
    key, bits = describe_key(certificate.public_key())
    extensions = {extension.oid: extension.value for extension in certificate.extensions}
    basic = extensions.get(x509.BasicConstraints.oid)
    usage = extensions.get(x509.KeyUsage.oid)
    purposes = _purposes(extensions.get(x509.ExtendedKeyUsage.oid))
    names = _names(extensions.get(x509.SubjectAlternativeName.oid))
    is_ca = isinstance(basic, x509.BasicConstraints) and basic.ca
    return CertificateFields(
        subject=certificate.subject.rfc4514_string(), issuer=certificate.issuer.rfc4514_string(),
        serial_number=certificate.serial_number,
        not_before=certificate.not_valid_before_utc, not_after=certificate.not_valid_after_utc,
        days=(certificate.not_valid_after_utc - certificate.not_valid_before_utc).days, key=key, key_bits=bits,
        signature=_signature(certificate), sha256=hashlib.sha256(der).hexdigest(),
        sha1=hashlib.sha1(der, usedforsecurity=False).hexdigest(), names=names,
        usages=(*_usages(usage), *purposes), constraints=_constraints(extensions.get(x509.NameConstraints.oid)),
        is_ca=is_ca, is_self_signed=certificate.subject == certificate.issuer,
        is_server="serverAuth" in purposes or (not purposes and not is_ca),
        has_path_length=isinstance(basic, x509.BasicConstraints) and basic.path_length is not None,
        signs_certificates=isinstance(usage, x509.KeyUsage) and usage.key_cert_sign, version=certificate.version.name,
    )  # fmt: skip


def _signature(certificate: x509.Certificate) -> str:
    try:
        algorithm = certificate.signature_hash_algorithm
    except UnsupportedAlgorithm:
        algorithm = None
    oid = certificate.signature_algorithm_oid
    return algorithm.name if algorithm else getattr(oid, "_name", "") or oid.dotted_string


def _purposes(value: object) -> tuple[str, ...]:
    if not isinstance(value, x509.ExtendedKeyUsage):
        return ()
    return tuple(str(getattr(oid, "_name", oid.dotted_string)) for oid in value)[:30]


_USAGES = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
    "key_cert_sign", "crl_sign",
)  # fmt: skip


def _usages(value: object) -> tuple[str, ...]:
    if not isinstance(value, x509.KeyUsage):
        return ()
    return tuple(name.replace("_", " ") for name in _USAGES if getattr(value, name))


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, x509.SubjectAlternativeName):
        return ()
    found = []
    for name in list(value)[:MAX_NAMES]:
        inner = name.value
        found.append(inner.rfc4514_string() if isinstance(inner, x509.Name) else str(inner))
    return tuple(found)


def _constraints(value: object) -> tuple[str, ...]:
    if not isinstance(value, x509.NameConstraints):
        return ()
    allowed = [f"only {name.value}" for name in value.permitted_subtrees or []]
    return tuple(allowed + [f"not {name.value}" for name in value.excluded_subtrees or []])[:50]


def certificate_flaws(
    certificate: x509.Certificate, fields: CertificateFields, now: datetime | None
) -> list[CertificateFlaw]:
    """Return the weaknesses of a certificate, worst first; expiry only if ``now`` is given."""
    found = [
        *_key_flaws(certificate.public_key()), *_signature_flaws(fields), *_trust_flaws(fields),
        *_name_flaws(fields), *_validity_flaws(fields, now), *_serial_flaws(fields), *_known_names(fields),
    ]  # fmt: skip
    if now is not None and fields.not_after < now and fields.is_self_signed and fields.is_ca:
        found = [_of_retired_root(flaw) for flaw in found]
    ranks = list(Severity)
    return sorted(found, key=lambda flaw: ranks.index(flaw.severity))


def _of_retired_root(flaw: CertificateFlaw) -> CertificateFlaw:
    """Collections of roots keep expired ones, which no client accepts any more, whatever their keys are."""
    is_harmless = flaw.severity in (Severity.CRITICAL, Severity.HIGH) and flaw.name in ("short_key", "small_exponent")
    return msgspec.structs.replace(flaw, severity=Severity.LOW) if is_harmless else flaw


def request_flaws(request: x509.CertificateSigningRequest, *, is_valid: bool) -> list[CertificateFlaw]:
    """Return the weaknesses of a certificate request; ``is_valid`` says whether its signature fits its key."""
    found = list(_key_flaws(request.public_key()))
    if not is_valid:
        words = "the signature does not match the key: the request was changed or damaged"
        found.append(CertificateFlaw("bad_signature", Severity.HIGH, words, "signature", "Create the request again."))
    algorithm = request.signature_hash_algorithm
    if algorithm is not None and algorithm.name in _MD_HASHES | {"sha1"}:
        words = f"signed with {algorithm.name.upper()}"
        found.append(CertificateFlaw("old_hash", Severity.MEDIUM, words, "signature", "Sign with SHA-256."))
    return found


def _key_flaws(key: object) -> Iterator[CertificateFlaw]:
    name, bits = describe_key(key)
    advice = "Create a new key: RSA with 3,072 bits, or EC P-256."
    if isinstance(key, rsa.RSAPublicKey):
        if bits < MIN_RSA_BITS:
            severity = Severity.CRITICAL if bits < BROKEN_RSA_BITS else Severity.HIGH
            yield CertificateFlaw(
                "short_key", severity, f"{bits:,}-bit RSA key; the minimum is 2,048 bits", "key", advice
            )
        exponent = key.public_numbers().e
        if exponent < USUAL_EXPONENT:
            severity = Severity.CRITICAL if exponent == 1 else Severity.LOW
            words = f"public exponent {exponent}: unsafe with faulty padding"
            yield CertificateFlaw("small_exponent", severity, words, "key", "Use 65537.")
    elif isinstance(key, dsa.DSAPublicKey):
        yield CertificateFlaw(
            "old_key", Severity.MEDIUM, f"{name}: current software no longer accepts DSA keys", "key", advice
        )
    elif isinstance(key, ec.EllipticCurvePublicKey) and bits < MIN_CURVE_BITS:
        yield CertificateFlaw("short_key", Severity.HIGH, f"{bits}-bit curve; the minimum is 224 bits", "key", advice)


def _signature_flaws(fields: CertificateFields) -> Iterator[CertificateFlaw]:
    name = fields.signature.lower()
    is_root = fields.is_self_signed and fields.is_ca
    advice = "Reissue it with SHA-256."
    if name in _MD_HASHES or name.startswith("md"):
        words = f"signed with {name.upper()}: certificates with the same signature have been forged"
        yield CertificateFlaw("broken_hash", Severity.LOW if is_root else Severity.HIGH, words, "signature", advice)
    elif "sha1" in name.replace("-", ""):
        words = "signed with SHA-1: browsers reject it, and collisions are affordable"
        yield CertificateFlaw("old_hash", Severity.INFO if is_root else Severity.MEDIUM, words, "signature", advice)


def _trust_flaws(fields: CertificateFields) -> Iterator[CertificateFlaw]:
    if fields.is_self_signed and not fields.is_ca:
        words = "self-signed, cannot be validated"
        yield CertificateFlaw(
            "self_signed", Severity.MEDIUM, words, "issuer", "Pin its fingerprint, or have a CA issue it."
        )
    if fields.is_ca and not fields.is_self_signed and not fields.has_path_length and not fields.constraints:
        words = "intermediate CA without a path length or name constraints: it can issue for any name"
        yield CertificateFlaw(
            "unlimited_ca", Severity.LOW, words, "basic constraints", "Constrain its path length and names."
        )
    if fields.is_ca and fields.is_server and fields.names and "serverAuth" in fields.usages:
        words = "CA and server certificate in one: an attacker who takes the server can issue certificates"
        yield CertificateFlaw(
            "ca_server", Severity.HIGH, words, "basic constraints", "Give the server a certificate that is not a CA."
        )
    if fields.signs_certificates and not fields.is_ca:
        words = (
            "its key usage allows it to sign certificates, but it is not a CA: careless software accepts what it signs"
        )
        yield CertificateFlaw("sign_without_ca", Severity.MEDIUM, words, "key usage", "Remove keyCertSign.")
    if "anyExtendedKeyUsage" in fields.usages:
        words = "valid for every purpose (anyExtendedKeyUsage)"
        yield CertificateFlaw("any_purpose", Severity.LOW, words, "extended key usage", "List the purposes.")
    if fields.version == "v1":
        words = "X.509 version 1: no extensions that limit its use"
        yield CertificateFlaw("version_1", Severity.MEDIUM, words, "version", "Reissue it.")


def _name_flaws(fields: CertificateFields) -> Iterator[CertificateFlaw]:
    if fields.is_server and not fields.names and not fields.is_ca:
        words = "no subject alternative names: browsers ignore the subject"
        yield CertificateFlaw("no_names", Severity.MEDIUM, words, "subject alternative name", "Add its names there.")
    wild = [name for name in fields.names if name.startswith("*.")]
    broad = [name for name in wild if _suffixes().privatesuffix(name[2:].lower()) is None]
    if broad:
        words = f"wildcard for {broad[0]}, a suffix shared by many owners"
        yield CertificateFlaw("broad_wildcard", Severity.HIGH, words, "subject alternative name", "List the hosts.")
    elif wild:
        words = f"wildcard for {wild[0]}: one key serves every host"
        yield CertificateFlaw(
            "wildcard", Severity.LOW, words, "subject alternative name", "Give important hosts their own certificate."
        )
    internal = [name for name in fields.names if _is_internal(name)]
    if internal:
        words = f"internal name ({internal[0]}): it becomes public with the certificate"
        yield CertificateFlaw(
            "inside_name", Severity.INFO, words, "subject alternative name", "Use a private CA for internal names."
        )


def _is_internal(name: str) -> bool:
    for kind in (IPv4Address, IPv6Address):
        try:
            return kind(name).is_private
        except ValueError:
            continue
    return re.fullmatch(r"[\w-]+|.*\.(?:local|internal|lan|corp|intranet|home)", name, re.IGNORECASE) is not None


def _validity_flaws(fields: CertificateFields, now: datetime | None) -> Iterator[CertificateFlaw]:
    if fields.not_after <= fields.not_before:
        words = "expires before it becomes valid"
        yield CertificateFlaw("odd_dates", Severity.MEDIUM, words, "validity", "Reissue it.")
        return
    start = fields.not_before.date()
    limit = next((one for one in _marks().limits if start >= one.since), None)
    if limit and fields.is_server and not fields.is_ca and fields.days > limit.days:
        words = f"valid for {fields.days:,} days; the limit for public certificates issued then is {limit.days}"
        severity = Severity.LOW if fields.is_self_signed else Severity.MEDIUM
        yield CertificateFlaw("long_validity", severity, words, "validity", "Shorten it and automate renewal.")
    if now is None:
        return
    if fields.not_after < now:
        words = f"expired on {fields.not_after.date().isoformat()}, {(now - fields.not_after).days:,} days ago"
        severity = Severity.LOW if fields.is_self_signed and fields.is_ca else Severity.HIGH
        yield CertificateFlaw("expired", severity, words, "validity", "Renew it.")
    elif fields.not_before > now:
        words = f"not valid before {fields.not_before.date().isoformat()}"
        yield CertificateFlaw("not_yet", Severity.MEDIUM, words, "validity", "Check the clocks.")
    elif (fields.not_after - now).days < EXPIRES_SOON_DAYS:
        words = f"expires in {(fields.not_after - now).days} days"
        yield CertificateFlaw("soon", Severity.LOW, words, "validity", "Renew it now.")


def _serial_flaws(fields: CertificateFields) -> Iterator[CertificateFlaw]:
    if fields.serial_number <= 0:
        words = "serial number is zero or negative"
        yield CertificateFlaw("bad_serial", Severity.LOW, words, "serial", "Reissue it.")
    elif fields.serial_number.bit_length() < SERIAL_BITS - 8 and not (fields.is_ca and fields.is_self_signed):
        words = f"{fields.serial_number.bit_length()}-bit serial number: predictable"
        yield CertificateFlaw("small_serial", Severity.LOW, words, "serial", "Use at least 64 random bits.")


def _known_names(fields: CertificateFields) -> Iterator[CertificateFlaw]:
    text = f"{fields.subject}\n{fields.issuer}".lower()
    for mark in _marks().marks:
        if re.search(mark.pattern, text):
            advice = "Find the hosts that use it." if mark.severity is Severity.HIGH else "Replace it with your own."
            yield CertificateFlaw("known_name", mark.severity, mark.what, "subject", advice)
