"""Tokens: weaknesses, the facts of a sound token, and texts without a token."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import FactsT, Finding, Gap, ToolEvent, with_facts
from svc.assistant.skills.token.findings import JsonWebToken, TokenDamage, TokenWeakness
from svc.assistant.skills.token.tool import MAX_TOKENS, inspect

NOW = "2025-03-11T12:00:00+00:00"
AT = 1_741_694_400  # the same in seconds
SOUND = {"iss": "https://id.example.org", "aud": "shop", "sub": "7", "iat": AT - 60, "exp": AT + 3_000}
STRONG = hashlib.sha256(b"no placeholder").hexdigest()


def part(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def token(
    header: dict[str, object] | str, claims: object = None, *, secret: str = STRONG, signature: bytes | None = None
) -> str:
    signed = f"{part(header)}.{part(SOUND if claims is None else claims)}"
    if signature is None:
        signature = hmac.new(secret.encode(), signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def run(text: str, now: str = NOW) -> list[ToolEvent]:
    return list(inspect(text, source="prompt", now=now))


def found(text: str, facts: type[FactsT], now: str = NOW) -> list[Finding[FactsT]]:
    return with_facts([item for item in run(text, now) if isinstance(item, Finding)], facts)


def weak(text: str) -> dict[str, str]:
    return {item.facts.name: str(item.severity) for item in found(text, TokenWeakness)}


def rs(claims: dict[str, object]) -> str:
    return token(RS, claims, signature=SIGNED)


def locked(rounds: int) -> str:
    return f"{part({'alg': 'PBES2-HS256+A128KW', 'enc': 'A128GCM', 'p2c': rounds})}.aa.bb.cc.dd"


RS = {"alg": "RS256", "typ": "JWT", "kid": "k1"}
HS = {"alg": "HS256", "typ": "JWT"}
SIGNED = bytes(range(256))


def test_a_sound_token_has_no_weakness_and_its_facts_are_reported():
    text = f"what is in Bearer {token(RS, signature=SIGNED)}?"
    assert weak(text) == {}
    [finding] = found(text, JsonWebToken)
    assert finding.facts.algorithm == "RS256"
    assert finding.facts.issuer == "https://id.example.org"
    assert finding.facts.lifetime_seconds == 3_060
    assert finding.facts.is_expired is False


@pytest.mark.parametrize(
    ("raw", "name", "severity"),
    [
        pytest.param(token({"alg": "none"}, signature=b""), "unsigned", "critical", id="none"),
        pytest.param(token({"alg": "nOnE"}, signature=b""), "unsigned", "critical", id="none in another spelling"),
        pytest.param(token(RS, signature=b""), "unsigned", "high", id="signature taken off"),
        pytest.param(token(HS, secret="secret"), "weak_secret", "critical", id="placeholder"),
        pytest.param(token(HS, secret=""), "weak_secret", "critical", id="empty secret"),
        pytest.param(token(HS), "shared_secret", "info", id="shared secret"),
        pytest.param(token({**HS, "x5c": ["MIIB"]}), "confusion", "high", id="algorithm confusion"),
        pytest.param(token(RS, signature=SIGNED[:128]), "short_key", "high", id="RSA 1024"),
        pytest.param(token({"alg": "ES256"}, signature=bytes(64)), "zero_signature", "critical", id="zeros"),
        pytest.param(token({"alg": "ES256"}, signature=SIGNED[:70]), "odd_signature", "low", id="odd length"),
        pytest.param(token({**RS, "jwk": {"kty": "RSA"}}, signature=SIGNED), "own_key", "high", id="jwk"),
        pytest.param(token({**RS, "jku": "https://evil.example/k"}, signature=SIGNED), "key_address", "high", id="jku"),
        pytest.param(token({**RS, "kid": "../../dev/null"}, signature=SIGNED), "key_id_path", "high", id="kid path"),
        pytest.param(token({**RS, "kid": "x' UNION SELECT 'a"}, signature=SIGNED), "key_id_query", "high", id="SQL"),
        pytest.param(token({**RS, "kid": "k|id"}, signature=SIGNED), "key_id_command", "high", id="kid command"),
        pytest.param(token('{"alg":"RS256","alg":"none"}', signature=SIGNED), "doubled", "medium", id="twice"),
        pytest.param(rs({**SOUND, "exp": None}), "no_end", "high", id="end no number"),
        pytest.param(rs({"iss": "a", "aud": "b"}), "no_end", "medium", id="no end"),
        pytest.param(rs({**SOUND, "exp": AT * 1000}), "no_end", "high", id="milliseconds"),
        pytest.param(rs({**SOUND, "exp": AT + 40 * 86_400}), "long_life", "low", id="40 days"),
        pytest.param(rs({**SOUND, "exp": AT + 9**9}), "long_life", "medium", id="12 years"),
        pytest.param(rs({**SOUND, "iat": AT - 9_000, "exp": AT - 10}), "expired", "info", id="expired"),
        pytest.param(rs({**SOUND, "nbf": AT + 9_000}), "not_yet", "low", id="not yet"),
        pytest.param(rs({"exp": AT + 1}), "no_aud", "low", id="no audience"),
        pytest.param(rs({**SOUND, "user": {"password": "x"}}), "secret_claim", "high", id="secret"),
        pytest.param(rs({**SOUND, "c": "4111 1111 1111 1111"}), "card_claim", "high", id="card"),
        pytest.param(rs({**SOUND, "t": token(RS)}), "nested", "info", id="nested"),
        pytest.param(rs({**SOUND, "roles": ["admin"]}), "power", "info", id="admin"),
        pytest.param(f"{part({'alg': 'RSA1_5', 'enc': 'A128GCM'})}.aa.bb.cc.dd", "padding", "medium", id="JWE"),
        pytest.param(locked(10), "few_rounds", "medium", id="rounds"),
        pytest.param(locked(10**9), "many_rounds", "high", id="many rounds"),
    ],
)  # fmt: skip
def test_each_weakness_is_named_with_its_severity(raw: str, name: str, severity: str):
    assert weak(raw).get(name) == severity


def test_the_guessed_secret_is_named():
    [finding] = [f for f in found(token(HS, secret="changeme"), TokenWeakness) if f.facts.name == "weak_secret"]
    assert "“changeme”" in finding.facts.words


def test_without_a_reference_date_nothing_is_expired():
    raw = token(RS, {**SOUND, "exp": 1}, signature=SIGNED)
    [finding] = found(raw, JsonWebToken, now="")
    assert finding.facts.is_expired is None
    assert any(isinstance(item, Gap) and "no date" in item.text for item in run(raw, now=""))


def test_a_full_stop_after_a_token_is_not_part_of_it():
    [finding] = found(f"It is {token(RS, signature=SIGNED)}.", JsonWebToken)
    assert finding.facts.form == "JWS"


def test_a_truncated_token_is_read_and_reported_as_damaged():
    raw = token(RS, signature=SIGNED).rpartition(".")[0]
    assert len(found(raw, JsonWebToken)) == 1
    assert "truncated" in str(found(raw, TokenDamage)[0].facts.what)


@pytest.mark.parametrize(
    "text", ["", "no token here", "eyebrows.are.fine", "eyJhbGciOiJI", "ewogICJ.x.y", "example.com.au"]
)
def test_text_that_is_not_a_token_is_ignored(text: str):
    assert found(text, JsonWebToken) == []


def test_the_limit_of_tokens_is_reported_as_a_gap():
    text = "\n".join(token(RS, {**SOUND, "n": number}, signature=SIGNED) for number in range(MAX_TOKENS + 5))
    assert len(found(text, JsonWebToken)) == MAX_TOKENS
    assert any(isinstance(item, Gap) and "only the first" in item.text for item in run(text))


@pytest.mark.parametrize(
    "raw",
    [
        "eyJ" + "A" * 500_000,
        "eyJhbGciOiJIUzI1NiJ9." * 20_000,
        ("ey" + "." * 3) * 50_000,
        token({"alg": "RS256", "x": "[" * 5_000}, signature=SIGNED),
        token('{"alg":"RS256","a":' + "[" * 20_000, signature=SIGNED),
        token(RS, "[" * 20_000, signature=SIGNED),
        token(RS, {"exp": 1e400, "iat": -(10**30), "nbf": True}, signature=SIGNED),
        token({"alg": 5, "kid": {"a": []}, "p2c": "x"}, signature=SIGNED),
    ],
    ids=range(8),
)
def test_hostile_tokens_are_read_quickly(raw: str):
    start = time.process_time()
    run(raw)
    assert time.process_time() - start < 2


_JSON = st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=8)  # fmt: skip  # noqa: E501
_NAMES = st.sampled_from(
    ["alg", "kid", "jwk", "p2c", "zip", "enc", "exp", "iat", "nbf", "aud", "role", "is_admin", "password"]
)


@given(st.dictionaries(_NAMES, _JSON, max_size=6), st.dictionaries(_NAMES, _JSON, max_size=6), st.binary(max_size=64))
@settings(max_examples=80, deadline=None)
def test_any_header_and_claims_are_read(header: dict[str, object], claims: dict[str, object], signature: bytes):
    run(token({"typ": "JWT", **header}, claims, signature=signature))
