"""Certificates, requests and keys: fields, chains, each weakness, and broken input."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import FactsT, Finding, Gap, ToolEvent, with_facts
from svc.assistant.skills.certificate.findings import Certificate, CertificateRequest, CertificateWeakness, PrivateKey
from svc.assistant.skills.certificate.tool import inspect

NOW = datetime(2026, 1, 15, tzinfo=UTC)
KEY = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())
PEM = serialization.Encoding.PEM
PKCS8 = serialization.PrivateFormat.PKCS8


def named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def made(
    name: str = "www.shop.example",
    *,
    issuer: str = "Test CA",
    key=KEY,
    signer=OTHER,
    days: int = 90,
    start: datetime = NOW - timedelta(days=10),
    serial: int = 2**100 + 7,
    names: tuple[str, ...] = ("www.shop.example",),
    is_ca: bool = False,
    server: bool = True,
    usage: x509.KeyUsage | None = None,
) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(named(name))
        .issuer_name(named(issuer))
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=days))
    )
    if names:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([x509.DNSName(one) for one in names]), critical=False
        )
    if is_ca:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    if server:
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    if usage is not None:
        builder = builder.add_extension(usage, critical=True)
    return builder.sign(signer, hashes.SHA256())


def pem(*certificates: x509.Certificate) -> bytes:
    return b"".join(certificate.public_bytes(PEM) for certificate in certificates)


def run(raw: bytes, now: str = NOW.isoformat()) -> list[ToolEvent]:
    return list(inspect(io.BytesIO(raw), source="a.pem", now=now))


def found(raw: bytes, facts: type[FactsT], now: str = NOW.isoformat()) -> list[Finding[FactsT]]:
    return with_facts([item for item in run(raw, now) if isinstance(item, Finding)], facts)


def weak(raw: bytes) -> dict[str, str]:
    return {item.facts.name: str(item.severity) for item in found(raw, CertificateWeakness)}


def test_a_sound_certificate_has_no_weakness_and_its_fields_are_reported():
    raw = pem(made())
    assert weak(raw) == {}
    [certificate] = found(raw, Certificate)
    assert certificate.facts.subject == "CN=www.shop.example"
    assert certificate.facts.names == ["www.shop.example"]
    assert certificate.facts.key == "EC secp256r1"
    assert certificate.facts.usages == ["serverAuth"]
    assert certificate.facts.days == 90


def test_der_is_read_like_pem():
    raw = made().public_bytes(serialization.Encoding.DER)
    assert found(raw, Certificate)[0].facts.subject == "CN=www.shop.example"


CERT_SIGN = x509.KeyUsage(
    digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
    key_agreement=False, key_cert_sign=True, crl_sign=False, encipher_only=False, decipher_only=False,
)  # fmt: skip


@pytest.mark.parametrize(
    ("certificate", "name", "severity"),
    [
        pytest.param(made(key=rsa.generate_private_key(65537, 1024)), "short_key", "high", id="RSA 1024"),
        pytest.param(made(key=rsa.generate_private_key(3, 2048)), "small_exponent", "low", id="exponent 3"),
        pytest.param(made("a", issuer="a", signer=KEY), "self_signed", "medium", id="self-signed"),
        pytest.param(made(is_ca=True), "ca_server", "high", id="CA and server"),
        pytest.param(made(is_ca=True, server=False, names=()), "unlimited_ca", "low", id="CA without limits"),
        pytest.param(made(usage=CERT_SIGN), "sign_without_ca", "medium", id="keyCertSign without CA"),
        pytest.param(made(names=()), "no_names", "medium", id="no names"),
        pytest.param(made(names=("*.shop.example",)), "wildcard", "low", id="wildcard"),
        pytest.param(made(names=("*.co.uk",)), "broad_wildcard", "high", id="wildcard of a suffix"),
        pytest.param(made(names=("db.corp",)), "inside_name", "info", id="inside name"),
        pytest.param(made(days=399), "long_validity", "medium", id="399 days"),
        pytest.param(made(start=NOW - timedelta(days=100)), "expired", "high", id="expired"),
        pytest.param(made(start=NOW + timedelta(days=1)), "not_yet", "medium", id="not yet"),
        pytest.param(made(start=NOW - timedelta(days=80)), "soon", "low", id="soon"),
        pytest.param(made(serial=5), "small_serial", "low", id="small serial"),
        pytest.param(made("Major Cobalt Strike"), "known_name", "high", id="attacker's default"),
    ],
)
def test_each_weakness_is_named_with_its_severity(certificate: x509.Certificate, name: str, severity: str):
    assert weak(pem(certificate)).get(name) == severity


def test_weak_signature_hashes_of_leaf_certificates_are_reported():
    raw = OLD_SHA1.encode()
    assert weak(raw).get("old_hash") == "medium"
    assert weak(raw).get("short_key") == "critical"


def test_a_self_signed_root_is_not_a_weakness():
    assert set(weak(pem(made("Root", issuer="Root", signer=KEY, is_ca=True, server=False, names=())))) == set()


def test_issuers_are_found_by_signature_not_by_name():
    root = made("Test CA", issuer="Test CA", key=OTHER, signer=OTHER, is_ca=True, server=False, names=())
    leaf, forged = made(), made(signer=KEY)
    chain = [item.facts.issued_by for item in found(pem(leaf, forged, root), Certificate)]
    assert chain == [3, None, 3]


OLD_SHA1 = """\
-----BEGIN CERTIFICATE-----
MIIBfTCCASegAwIBAgIUU/2/jT7UHD1R1XTUl3L1YQeGoiAwDQYJKoZIhvcNAQEF
BQAwFjEUMBIGA1UEAwwLb2xkLmV4YW1wbGUwHhcNMjYxMTIxMTEwNTI1WhcNMjcw
MjE5MTEwNTI1WjAWMRQwEgYDVQQDDAtvbGQuZXhhbXBsZTBcMA0GCSqGSIb3DQEB
AQUAA0sAMEgCQQC2nTNfSPcfE30noEn+lGpgI9f7fzuYLXLt6KSvVCBWBYFzFRMG
6FAP+LOno0qZT3ymDZ6D7ecedNFQx1NFUlBdAgMBAAGjTTBLMB0GA1UdDgQWBBS5
WGzB4vyNT0TqvVfmVUIkun0vmjAfBgNVHSMEGDAWgBS5WGzB4vyNT0TqvVfmVUIk
un0vmjAJBgNVHRMEAjAAMA0GCSqGSIb3DQEBBQUAA0EAEPbt/MfCCve78NHTzc/2
Fvhc3Du0u9ToIvt1DFZcMg4ch+1IF/ujsDzJHZQX1FnM5anzRCE5oCmeeRVnV9/p
NQ==
-----END CERTIFICATE-----
"""  # 512 bits and SHA-1, which the library no longer makes


def private(password: bytes | None = None) -> bytes:
    locked = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return KEY.private_bytes(PEM, PKCS8, locked)


def test_a_private_key_is_critical_and_its_certificate_is_found():
    [key] = found(pem(made()) + private(), PrivateKey)
    assert (str(key.severity), key.facts.belongs_to, key.facts.key) == ("critical", 1, "EC secp256r1")


@pytest.mark.parametrize("form", ["TraditionalOpenSSL", "OpenSSH"])
def test_other_forms_of_private_keys_are_known(form: str):
    raw = KEY.private_bytes(PEM, getattr(serialization.PrivateFormat, form), serialization.NoEncryption())
    [key] = found(raw, PrivateKey)
    assert (str(key.severity), key.facts.is_encrypted) == ("critical", False)


@pytest.mark.parametrize("form", ["PKCS8", "TraditionalOpenSSL"])
def test_a_password_protected_key_is_recognised(form: str):
    locked = serialization.BestAvailableEncryption(b"x")
    [key] = found(KEY.private_bytes(PEM, getattr(serialization.PrivateFormat, form), locked), PrivateKey)
    assert (str(key.severity), key.facts.is_encrypted) == ("medium", True)


def test_a_request_is_read():
    raw = x509.CertificateSigningRequestBuilder().subject_name(named("new.example")).sign(KEY, hashes.SHA256())
    [request] = found(raw.public_bytes(PEM), CertificateRequest)
    assert request.facts.subject == "CN=new.example"
    assert request.facts.is_valid is True


def test_without_a_reference_date_nothing_is_expired():
    raw = pem(made(start=NOW - timedelta(days=1_000)))
    assert "expired" not in {item.facts.name for item in found(raw, CertificateWeakness, now="")}
    assert any(isinstance(item, Gap) and "no date" in item.text for item in run(raw, now=""))


BROKEN = {
    "nothing": b"",
    "text": b"hello",
    "begins only": b"-----BEGIN CERTIFICATE-----\nMIIB",
    "no base64": b"-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----",
    "odd base64": b"-----BEGIN CERTIFICATE-----\nMIIBA\n-----END CERTIFICATE-----",
    "empty": b"-----BEGIN CERTIFICATE-----\n\n-----END CERTIFICATE-----",
    "cut": pem(made())[:300] + b"\n-----END CERTIFICATE-----",
    "broken key": b"-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----",
    "DER cut": made().public_bytes(serialization.Encoding.DER)[:200],
    "many": b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" * 2_000,
    "begins often": b"-----BEGIN A-----\n" * 100_000,
}


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN)
def test_malformed_input_yields_a_finding_or_a_gap(raw: bytes):
    assert any(isinstance(item, Gap | Finding) for item in run(raw))


_WHOLE = made().public_bytes(serialization.Encoding.DER)


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_a_certificate_with_bytes_changed_is_read(data: st.DataObject):
    raw = bytearray(_WHOLE)
    for position in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=10)):
        raw[position] = data.draw(st.integers(0, 255))
    run(bytes(raw))
