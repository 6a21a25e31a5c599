"""The fields of a certificate as values, and what is weak about them. Pure.

Sources: RFC 5280 (profile), the CA/Browser Forum's baseline requirements (limits:
``skills/certificate/marks.toml``), NIST SP 800-131A (key sizes).
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

RSA_LEAST, RSA_BROKEN = 2048, 1024  # bits
CURVE_LEAST = 224
EXPONENT_USUAL = 65_537
SERIAL_BITS = 64  # baseline requirements 7.1: at least that many from a random source
SOON_DAYS = 30
_MAX_NAMES = 200
_MD = frozenset(["md2", "md4", "md5"])


class _Limit(msgspec.Struct, frozen=True):
    since: date
    days: int


class _Mark(msgspec.Struct, frozen=True):
    pattern: str
    what: str
    severity: Severity


class _Marks(msgspec.Struct, frozen=True):
    source: str
    version: str
    date: date
    limits: tuple[_Limit, ...]
    marks: tuple[_Mark, ...]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """A certificate's fields. ``signature`` is the name of its hash, or of its algorithm where it has none."""

    subject: str
    issuer: str
    serial: str
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
    has_names: bool
    has_path_length: bool
    signs_certificates: bool
    version: str


class Weakness(msgspec.Struct, frozen=True):
    """One weakness: its name, how bad, in words, the field that shows it, what to do."""

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


def key_of(key: object) -> tuple[str, int]:
    """A public key's kind in words and its size in bits."""
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


def certificate_facts(certificate: x509.Certificate, der: bytes) -> Facts:
    """The fields; raises what ``cryptography`` raises on fields that cannot be read."""
    key, bits = key_of(certificate.public_key())
    extensions = {extension.oid: extension.value for extension in certificate.extensions}
    basic = extensions.get(x509.BasicConstraints.oid)
    usage = extensions.get(x509.KeyUsage.oid)
    purposes = _purposes(extensions.get(x509.ExtendedKeyUsage.oid))
    names = _names(extensions.get(x509.SubjectAlternativeName.oid))
    is_ca = isinstance(basic, x509.BasicConstraints) and basic.ca
    return Facts(
        subject=certificate.subject.rfc4514_string(), issuer=certificate.issuer.rfc4514_string(),
        serial=f"{certificate.serial_number:x}", serial_number=certificate.serial_number,
        not_before=certificate.not_valid_before_utc, not_after=certificate.not_valid_after_utc,
        days=(certificate.not_valid_after_utc - certificate.not_valid_before_utc).days, key=key, key_bits=bits,
        signature=_signature(certificate), sha256=hashlib.sha256(der).hexdigest(),
        sha1=hashlib.sha1(der, usedforsecurity=False).hexdigest(), names=names,
        usages=(*_usages(usage), *purposes), constraints=_constraints(extensions.get(x509.NameConstraints.oid)),
        is_ca=is_ca, is_self_signed=certificate.subject == certificate.issuer,
        is_server="serverAuth" in purposes or (not purposes and not is_ca), has_names=bool(names),
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
    for name in list(value)[:_MAX_NAMES]:
        inner = name.value
        found.append(inner.rfc4514_string() if isinstance(inner, x509.Name) else str(inner))
    return tuple(found)


def _constraints(value: object) -> tuple[str, ...]:
    if not isinstance(value, x509.NameConstraints):
        return ()
    allowed = [f"only {name.value}" for name in value.permitted_subtrees or []]
    return tuple(allowed + [f"not {name.value}" for name in value.excluded_subtrees or []])[:50]


def certificate_weaknesses(certificate: x509.Certificate, facts: Facts, now: datetime | None) -> list[Weakness]:
    """Everything weak, worst first."""
    found = [
        *key_weaknesses(certificate.public_key()), *_signature_weaknesses(facts), *_trust(facts),
        *_names_weaknesses(facts), *_validity(facts, now), *_serial(facts), *_known_names(facts),
    ]  # fmt: skip
    ranks = list(Severity)
    return sorted(found, key=lambda weakness: ranks.index(weakness.severity))


def request_weaknesses(request: x509.CertificateSigningRequest, *, is_valid: bool) -> list[Weakness]:
    """Everything weak about a request for a certificate."""
    found = list(key_weaknesses(request.public_key()))
    if not is_valid:
        words = "its signature does not fit its key: changed, or damaged"
        found.append(Weakness("bad_signature", Severity.HIGH, words, "signature", "Have it made again."))
    algorithm = request.signature_hash_algorithm
    if algorithm is not None and algorithm.name in _MD | {"sha1"}:
        words = f"signed with {algorithm.name.upper()}"
        found.append(Weakness("old_hash", Severity.MEDIUM, words, "signature", "Sign with SHA-256."))
    return found


def key_weaknesses(key: object) -> Iterator[Weakness]:
    """A key that is too small, or an exponent that is."""
    name, bits = key_of(key)
    advice = "Make a new key: RSA with 3,072 bits, or EC P-256."
    if isinstance(key, rsa.RSAPublicKey):
        if bits < RSA_LEAST:
            severity = Severity.CRITICAL if bits < RSA_BROKEN else Severity.HIGH
            yield Weakness("short_key", severity, f"a key of {bits:,} bits; 2,048 are the least", "key", advice)
        exponent = key.public_numbers().e
        if exponent < EXPONENT_USUAL:
            severity = Severity.CRITICAL if exponent == 1 else Severity.LOW
            words = f"the public exponent {exponent}: weak where padding is not done right"
            yield Weakness("small_exponent", severity, words, "key", "Use 65537.")
    elif isinstance(key, dsa.DSAPublicKey):
        yield Weakness("old_key", Severity.MEDIUM, f"{name}: no program takes such keys any more", "key", advice)
    elif isinstance(key, ec.EllipticCurvePublicKey) and bits < CURVE_LEAST:
        yield Weakness("short_key", Severity.HIGH, f"a curve of {bits} bits", "key", advice)


def _signature_weaknesses(facts: Facts) -> Iterator[Weakness]:
    name = facts.signature.lower()
    is_root = facts.is_self_signed and facts.is_ca
    advice = "Have it issued again with SHA-256."
    if name in _MD or name.startswith("md"):
        words = f"signed with {name.upper()}, for which second certificates with the same signature were made"
        yield Weakness("broken_hash", Severity.LOW if is_root else Severity.HIGH, words, "signature", advice)
    elif "sha1" in name.replace("-", ""):
        words = "signed with SHA-1: no browser takes it, and collisions can be bought"
        yield Weakness("old_hash", Severity.INFO if is_root else Severity.MEDIUM, words, "signature", advice)


def _trust(facts: Facts) -> Iterator[Weakness]:
    if facts.is_self_signed and not facts.is_ca:
        words = "signed by itself: whoever takes it takes any other"
        yield Weakness("self_signed", Severity.MEDIUM, words, "issuer", "Pin its fingerprint, or have it issued.")
    if facts.is_ca and not facts.is_self_signed and not facts.has_path_length and not facts.constraints:
        words = "an authority below a root without a limit of depth or names: it can issue for any name"
        yield Weakness("unlimited_ca", Severity.LOW, words, "basic constraints", "Limit its path length and its names.")
    if facts.is_ca and facts.is_server and facts.has_names and "serverAuth" in facts.usages:
        words = "an authority and a server's certificate in one: who takes the server can issue for others"
        yield Weakness("ca_server", Severity.HIGH, words, "basic constraints", "Issue servers their own, without CA.")
    if facts.signs_certificates and not facts.is_ca:
        words = "may sign certificates by its key usage, but is no authority: careless programs accept what it signs"
        yield Weakness("sign_without_ca", Severity.MEDIUM, words, "key usage", "Take keyCertSign out.")
    if "anyExtendedKeyUsage" in facts.usages:
        words = "good for every purpose"
        yield Weakness("any_purpose", Severity.LOW, words, "extended key usage", "Name the purposes.")
    if facts.version == "v1":
        words = "version 1: it has no extensions that would limit it"
        yield Weakness("version_1", Severity.MEDIUM, words, "version", "Have it issued again.")


def _names_weaknesses(facts: Facts) -> Iterator[Weakness]:
    if facts.is_server and not facts.has_names and not facts.is_ca:
        words = "no alternative names: browsers do not look at the subject any more"
        yield Weakness("no_names", Severity.MEDIUM, words, "subject alternative name", "Put its names there.")
    wild = [name for name in facts.names if name.startswith("*.")]
    broad = [name for name in wild if _suffixes().privatesuffix(name[2:].lower()) is None]
    if broad:
        words = f"good for everything under {broad[0][2:]}, which belongs to many"
        yield Weakness("broad_wildcard", Severity.HIGH, words, "subject alternative name", "Name the hosts.")
    elif wild:
        words = f"good for every host under {wild[0][2:]}: its key opens all of them"
        yield Weakness(
            "wildcard", Severity.LOW, words, "subject alternative name", "Give hosts their own where it matters."
        )
    inside = [name for name in facts.names if _is_inside(name)]
    if inside:
        words = f"names inside a network ({inside[0]}): it tells about it where it is published"
        yield Weakness("inside_name", Severity.INFO, words, "subject alternative name", "Use an own authority inside.")


def _is_inside(name: str) -> bool:
    for kind in (IPv4Address, IPv6Address):
        try:
            return kind(name).is_private
        except ValueError:
            continue
    return re.fullmatch(r"[\w-]+|.*\.(?:local|internal|lan|corp|intranet|home)", name, re.IGNORECASE) is not None


def _validity(facts: Facts, now: datetime | None) -> Iterator[Weakness]:
    if facts.not_after <= facts.not_before:
        words = "ends before it begins"
        yield Weakness("odd_dates", Severity.MEDIUM, words, "validity", "Have it issued again.")
        return
    start = facts.not_before.date()
    limit = next((one for one in _marks().limits if start >= one.since), None)
    if limit and facts.is_server and not facts.is_ca and facts.days > limit.days:
        words = f"holds for {facts.days:,} days; public ones of that time {limit.days} at most"
        severity = Severity.LOW if facts.is_self_signed else Severity.MEDIUM
        yield Weakness("long_validity", severity, words, "validity", "Shorten it and renew by a program.")
    if now is None:
        return
    if facts.not_after < now:
        words = f"expired on {facts.not_after.date().isoformat()}, {(now - facts.not_after).days:,} days ago"
        yield Weakness("expired", Severity.HIGH, words, "validity", "Renew it.")
    elif facts.not_before > now:
        words = f"does not hold before {facts.not_before.date().isoformat()}"
        yield Weakness("not_yet", Severity.MEDIUM, words, "validity", "Look at the clocks.")
    elif (facts.not_after - now).days < SOON_DAYS:
        words = f"expires in {(facts.not_after - now).days} days"
        yield Weakness("soon", Severity.LOW, words, "validity", "Renew it now.")


def _serial(facts: Facts) -> Iterator[Weakness]:
    if facts.serial_number <= 0:
        words = "a serial number that is not above 0"
        yield Weakness("bad_serial", Severity.LOW, words, "serial", "Have it issued again.")
    elif facts.serial_number.bit_length() < SERIAL_BITS - 8 and not (facts.is_ca and facts.is_self_signed):
        words = f"a serial number of {facts.serial_number.bit_length()} bits: not random, so it can be foreseen"
        yield Weakness("small_serial", Severity.LOW, words, "serial", "Use 64 random bits or more.")


def _known_names(facts: Facts) -> Iterator[Weakness]:
    text = f"{facts.subject}\n{facts.issuer}".lower()
    for mark in _marks().marks:
        if re.search(mark.pattern, text):
            advice = "Look where it is used." if mark.severity is Severity.HIGH else "Replace it by an own one."
            yield Weakness("known_name", mark.severity, mark.what, "subject", advice)
