"""What findings about certificates, requests and private keys hold. Fields of certificates: RFC 5280.

``number`` counts the PEM blocks of one input from 1; a DER file is number 1.
"""

from __future__ import annotations

from svc.assistant.findings import Facts


class Certificate(Facts, frozen=True, kw_only=True, tag="certificate"):
    """An X.509 certificate."""

    number: int
    subject: str
    """As RFC 4514 writes a name."""
    issuer: str
    serial: str
    """Hexadecimal."""
    not_before: str
    """ISO 8601."""
    not_after: str
    """ISO 8601."""
    days: int
    """From ``not_before`` to ``not_after``."""
    key: str
    """Algorithm and size, for example "RSA 2048" or "EC secp256r1"."""
    key_bits: int
    """0 if the size of such keys is unknown."""
    signature: str
    """The hash of the signature, or its algorithm if it has no hash."""
    sha256: str
    """Fingerprint."""
    sha1: str
    """Fingerprint."""
    names: list[str]
    """Subject alternative names, at most 200."""
    usages: list[str]
    """Key usages, then extended key usages; empty if not limited."""
    is_ca: bool
    is_self_signed: bool
    """Subject and issuer are the same."""
    issued_by: int | None
    """Number of the certificate in this input that signed it; None if no signature here fits."""
    constraints: list[str]
    """Name constraints: "only …" and "not …"."""


class CertificateRequest(Facts, frozen=True, kw_only=True, tag="certificate_request"):
    """A certificate signing request (CSR)."""

    number: int
    subject: str
    key: str
    key_bits: int
    is_valid: bool
    """Its signature fits its key."""
    signature: str
    """The hash of the signature, or "" if it has none."""
    names: list[str]


class PrivateKey(Facts, frozen=True, kw_only=True, tag="private_key"):
    """A private key, readable or protected by a password."""

    number: int
    label: str
    """From the BEGIN line, for example "RSA PRIVATE KEY", or "DER"."""
    key: str
    """Algorithm and size, or as much as the label tells."""
    is_encrypted: bool
    belongs_to: int | None
    """Number of the certificate with the same public key."""


class CertificateWeakness(Facts, frozen=True, kw_only=True, tag="certificate_weakness"):
    """A weakness of a certificate or of a request."""

    number: int
    name: str
    """For example ``short_key``."""
    words: str
    """What is wrong, with the values."""
    field: str
    """The field that shows it."""
    advice: str


class CertificateDamage(Facts, frozen=True, kw_only=True, tag="certificate_damage"):
    """A block that cannot be read."""

    number: int
    what: str
