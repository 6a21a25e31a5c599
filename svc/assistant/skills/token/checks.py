"""The weaknesses of a token, by its header, its claims and the length of its signature.

Sources: RFC 8725 (best practice), RFC 7518 (key sizes), CVE-2022-21449 (verifiers that accepted a signature of zeros).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal

import msgspec

from svc.assistant.findings import Severity

LONG_SECONDS = 30 * 86_400  # a month: longer than any session should last without renewal
VERY_LONG_SECONDS = 365 * 86_400
MIN_RSA_BYTES = 256  # the signature of an RSA key of 2,048 bits, the minimum of RFC 7518
CURVE_BYTES = {"ES256": 64, "ES384": 96, "ES512": 132, "ES256K": 64}
MIN_ROUNDS = 1_000  # RFC 7518, 4.8.1.2: the minimum for PBES2
MAX_ROUNDS = 10_000_000  # deriving the key keeps the verifier busy for seconds
MAX_DEPTH = 20

_PATH = re.compile(r"\.\./|\.\.\\|^/(?:dev|etc|proc|var|tmp)/|/dev/null", re.IGNORECASE)
_QUERY = re.compile(r"'\s*(?:or|and|union|;|--)|\bunion\s+(?:all\s+)?select\b|--\s*$|;\s*drop\b", re.IGNORECASE)
_COMMAND = re.compile(r"[|;`]|\$\(|&&")
_SECRET_NAME = re.compile(
    r"^(?:.*[_-])?(?:pass(?:word|wd|phrase)?|pwd|secret|api_?key|private_?key|client_?secret|pin|cvv|ssn|credit_?card|card_?number)$",
    re.IGNORECASE,
)
_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bghp_[A-Za-z0-9]{36}\b")
_KEY_FILE_URL = re.compile(r"^https?://[^/]+/.*\.(?:pem|key|json|crt)", re.IGNORECASE)
_CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
_NESTED = re.compile(r"^ey[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$")
_POWER = re.compile(r"^(?:admin|administrator|root|superuser|super_?admin|owner|system)$", re.IGNORECASE)


class DecodedToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token's decoded parts; ``header_twice`` and ``claims_twice`` are the names that they repeat."""

    header: dict[str, object]
    claims: dict[str, object]
    signature: bytes
    form: Literal["JWS", "JWE"]
    header_twice: list[str]
    claims_twice: list[str]


class TokenFlaw(msgspec.Struct, frozen=True):
    """One weakness: its name, its severity, what is wrong, the field that shows it, and what to do."""

    name: str
    severity: Severity
    words: str
    where: str
    advice: str


def token_flaws(token: DecodedToken, now: datetime | None) -> list[TokenFlaw]:
    """Return the weaknesses of a token, worst first; expiry only if ``now`` is given."""
    found = [*_header_flaws(token), *_repeated_names(token)]
    if token.form == "JWE":
        found += _encryption_flaws(token)
    else:
        found += [*_signature_flaws(token), *_time_flaws(token, now), *_claim_flaws(token)]
    ranks = list(Severity)
    return sorted(found, key=lambda flaw: ranks.index(flaw.severity))


def _signature_flaws(token: DecodedToken) -> Iterator[TokenFlaw]:
    algorithm = str(token.header.get("alg", ""))
    size = len(token.signature)
    if algorithm.lower() == "none":
        yield TokenFlaw(
            "unsigned", Severity.CRITICAL, f"not signed (alg is {algorithm}): anyone can change its claims", "alg",
            "Reject “none” in any spelling; accept a fixed list of algorithms.",
        )  # fmt: skip
        return
    if not algorithm:
        yield TokenFlaw(
            "no_algorithm", Severity.HIGH, "the header names no algorithm", "alg", "Accept a fixed list of algorithms."
        )
    if not size:
        yield TokenFlaw(
            "unsigned", Severity.HIGH, "the signature is missing or unreadable", "signature",
            "A verifier that accepts it checks nothing: test yours with this token.",
        )  # fmt: skip
        return
    if algorithm.upper().startswith("HS"):
        yield from _shared_secret_flaws(token)
    if algorithm[:2] in ("RS", "PS") and size < MIN_RSA_BYTES:
        words = f"{size * 8:,}-bit RSA key, by the length of the signature; the minimum is 2,048 bits"
        yield TokenFlaw("short_key", Severity.HIGH, words, "signature", "Create a key of at least 2,048 bits.")
    expected = CURVE_BYTES.get(algorithm)
    if expected and not any(token.signature):
        yield TokenFlaw(
            "zero_signature", Severity.CRITICAL, "a signature of zeros, which broken verifiers accept (CVE-2022-21449)",
            "signature", "Probably an attack: search for its use; update the verifier.",
        )  # fmt: skip
    elif expected and size != expected:
        words = f"{size}-byte signature; {algorithm} signatures have {expected} bytes"
        yield TokenFlaw(
            "odd_signature", Severity.LOW, words, "signature", "The token was cut, or a faulty library created it."
        )


def _shared_secret_flaws(token: DecodedToken) -> Iterator[TokenFlaw]:
    public = [name for name in ("jwk", "x5c", "x5t", "x5u", "jku", "x5t#S256") if name in token.header]
    if public:
        words = f"signed with a shared secret although its header names a public key ({', '.join(public)})"
        advice = (
            "Possible algorithm confusion (signed with the public key as the secret): bind each key to its algorithm."
        )
        yield TokenFlaw("confusion", Severity.HIGH, words, "alg", advice)
        return
    words = "signed with a shared secret: every service that can verify it can forge it, and it can be guessed offline"
    yield TokenFlaw("shared_secret", Severity.INFO, words, "alg", "Use at least 32 random bytes, or a key pair.")


def _header_flaws(token: DecodedToken) -> Iterator[TokenFlaw]:
    header = token.header
    if "jwk" in header:
        words = "contains the key to verify it with"
        yield TokenFlaw("own_key", Severity.HIGH, words, "jwk", "Never use a key from the token itself.")
    for name in ("jku", "x5u"):
        if name in header:
            words = f"names a URL to fetch its key from: {str(header[name])[:120]}"
            advice = "Fetch keys only from configured URLs."
            yield TokenFlaw("key_address", Severity.HIGH, words, name, advice)
    if "x5c" in header:
        words = "contains the certificate to verify it with"
        yield TokenFlaw(
            "own_certificate", Severity.MEDIUM, words, "x5c", "Accept only certificates that chain to your own root."
        )
    key_id = str(header.get("kid", ""))
    for name, pattern, what in (
        ("path", _PATH, "a path"), ("query", _QUERY, "an SQL query"), ("command", _COMMAND, "a command"),
        ("address", _KEY_FILE_URL, "a URL"),
    ):  # fmt: skip
        if pattern.search(key_id):
            words = f"its key ID contains {what}: {key_id[:120]}"
            severity = Severity.MEDIUM if name == "address" else Severity.HIGH
            yield TokenFlaw(f"key_id_{name}", severity, words, "kid", "Look up key IDs only in a fixed table.")
            break
    if header.get("b64") is False:
        words = "its payload is not encoded (b64 is false): few verifiers handle that correctly"
        yield TokenFlaw("unencoded", Severity.LOW, words, "b64", "Accept it only if you need it.")


def _repeated_names(token: DecodedToken) -> Iterator[TokenFlaw]:
    for where, names in (("header", token.header_twice), ("claims", token.claims_twice)):
        if names:
            words = f"repeated names in its {where} ({', '.join(names)}): two parsers may read different values"
            yield TokenFlaw("doubled", Severity.MEDIUM, words, where, "Reject tokens with repeated names.")


def _encryption_flaws(token: DecodedToken) -> Iterator[TokenFlaw]:
    algorithm = str(token.header.get("alg", ""))
    if algorithm == "RSA1_5":
        words = "RSA with PKCS #1 v1.5 padding: vulnerable to padding oracles"
        yield TokenFlaw("padding", Severity.MEDIUM, words, "alg", "Use RSA-OAEP-256 or ECDH-ES.")
    if "zip" in token.header:
        words = "compressed before encryption: its length reveals its content, and it may be a decompression bomb"
        yield TokenFlaw(
            "compressed", Severity.LOW, words, "zip", "Reject compressed tokens, or limit their unpacked size."
        )
    rounds = token.header.get("p2c")
    if isinstance(rounds, int) and algorithm.startswith("PBES2"):
        if rounds < MIN_ROUNDS:
            words = f"{rounds:,} key derivation rounds: the password can be guessed quickly"
            yield TokenFlaw("few_rounds", Severity.MEDIUM, words, "p2c", "Use a random key.")
        elif rounds > MAX_ROUNDS:
            words = f"{rounds:,} key derivation rounds: denial of service against the verifier"
            yield TokenFlaw("many_rounds", Severity.HIGH, words, "p2c", "Limit the rounds before decrypting.")


def _seconds(value: object) -> float | None:
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15 else None
    )


def _time_flaws(token: DecodedToken, now: datetime | None) -> Iterator[TokenFlaw]:
    claims = token.claims
    issued, expires = _seconds(claims.get("iat")), _seconds(claims.get("exp"))
    if expires is None:
        words = "its expiry is not a number: verifiers may ignore it" if "exp" in claims else "never expires"
        severity = Severity.HIGH if "exp" in claims else Severity.MEDIUM
        yield TokenFlaw("no_end", severity, words, "exp", "Let every token expire within hours.")
    elif expires > 1e11:
        words = "its expiry is in milliseconds: it is valid for thousands of years"
        yield TokenFlaw("no_end", Severity.HIGH, words, "exp", "Write times in seconds.")
    elif issued is not None and expires - issued > LONG_SECONDS:
        days = (expires - issued) / 86_400
        severity = Severity.MEDIUM if expires - issued > VERY_LONG_SECONDS else Severity.LOW
        yield TokenFlaw("long_life", severity, f"valid for {days:,.0f} days", "exp", "Shorten it; use refresh tokens.")
    elif issued is not None and expires < issued:
        yield TokenFlaw("odd_times", Severity.LOW, "expires before it was issued", "exp", "Check the issuer's clock.")
    if now is None:
        return
    moment = now.astimezone(UTC).timestamp()
    if expires is not None and expires < moment:
        words = f"expired {_span(moment - expires)} before {now.date().isoformat()}"
        yield TokenFlaw("expired", Severity.INFO, words, "exp", "A verifier that accepts it does not check expiry.")
    for name, words in (("nbf", "is not valid yet"), ("iat", "was issued in the future")):
        start = _seconds(claims.get(name))
        if start is not None and start > moment + 300:
            text = f"{words}: {_span(start - moment)} from {now.date().isoformat()}"
            yield TokenFlaw("not_yet", Severity.LOW, text, name, "Check the issuer's clock.")


def _span(seconds: float) -> str:
    return f"{seconds / 86_400:,.0f} days" if seconds > 2 * 86_400 else f"{seconds / 3600:,.1f} hours"


def _claim_flaws(token: DecodedToken) -> Iterator[TokenFlaw]:
    for name, words in (
        ("aud", "names no audience: another service may accept it"), ("iss", "names no issuer"),
    ):  # fmt: skip
        if name not in token.claims:
            yield TokenFlaw(f"no_{name}", Severity.LOW, words, name, f"Set “{name}” and check it.")
    for path, value in _leaves(token.claims):
        name = path.rpartition(".")[2]
        text = str(value)
        if (_SECRET_NAME.match(name) and value not in (None, "", True, False)) or _KEY_BLOCK.search(text):
            words = f"contains a secret in {path}: anyone who has the token can read it"
            yield TokenFlaw(
                "secret_claim", Severity.HIGH, words, path, "Claims are not encrypted: remove and replace it."
            )
        elif (match := _CARD.search(text)) and isinstance(value, str) and _is_card(match.group()):
            words = f"contains what looks like a payment card number in {path}"
            yield TokenFlaw("card_claim", Severity.HIGH, words, path, "Claims are not encrypted: remove it.")
        elif isinstance(value, str) and _NESTED.match(value):
            words = f"contains another token in {path}"
            yield TokenFlaw("nested", Severity.INFO, words, path, "Ask about that token separately.")
        elif (name in ("role", "roles", "group", "groups", "scope") and _POWER.match(text)) or (
            _POWER.match(re.sub(r"^is_?", "", name, flags=re.IGNORECASE)) and value is True
        ):
            words = f"grants administrative rights ({path}: {text[:60]})"
            yield TokenFlaw("power", Severity.INFO, words, path, "Check that its holder should have them.")


def _leaves(claims: dict[str, object]) -> list[tuple[str, object]]:
    """Return the values that are neither object nor list, with their paths; at most 1,000."""
    waiting: list[tuple[str, object, int]] = [(str(name), value, 0) for name, value in claims.items()]
    found: list[tuple[str, object]] = []
    while waiting and len(found) < 1_000:
        path, value, depth = waiting.pop(0)
        if isinstance(value, dict) and depth < MAX_DEPTH:
            waiting += [(f"{path}.{name}", inner, depth + 1) for name, inner in value.items()]
        elif isinstance(value, list) and depth < MAX_DEPTH:
            waiting += [(path, inner, depth + 1) for inner in value]
        else:
            found.append((path, json.dumps(value) if isinstance(value, dict | list) else value))
    return found


def _is_card(text: str) -> bool:
    """Whether the digits begin like a payment card number and have its check digit (Luhn)."""
    digits = [int(char) for char in text if char.isdigit()]
    return digits[0] in (3, 4, 5, 6) and len(set(digits)) > 1 and _luhn(digits)


def _luhn(digits: list[int]) -> bool:
    total = 0
    for index, digit in enumerate(reversed(digits)):
        total += sum(divmod(2 * digit, 10)) if index % 2 else digit
    return total % 10 == 0
