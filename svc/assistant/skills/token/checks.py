"""What is weak about a token, by its header, its claims and the length of its signature. Pure values in, values out.

Sources: RFC 8725 (best practice), RFC 7518 (key sizes), CVE-2022-21449 (a signature of zeros that some verifiers took).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from svc.assistant.findings import Severity

LONG_SECONDS = 30 * 86_400  # a month: longer than any session should be without a renewal
VERY_LONG_SECONDS = 365 * 86_400
RSA_BYTES = 256  # the signature of an RSA key of 2,048 bits, the least that RFC 7518 allows
CURVE_BYTES = {"ES256": 64, "ES384": 96, "ES512": 132, "ES256K": 64}
FEW_ROUNDS = 1_000  # RFC 7518, 4.8.1.2: the least of PBES2
MANY_ROUNDS = 10_000_000  # a token that makes the verifier work for seconds
MAX_DEPTH = 20

_PATH = re.compile(r"\.\./|\.\.\\|^/(?:dev|etc|proc|var|tmp)/|/dev/null", re.IGNORECASE)
_QUERY = re.compile(r"'\s*(?:or|and|union|;|--)|\bunion\s+(?:all\s+)?select\b|--\s*$|;\s*drop\b", re.IGNORECASE)
_COMMAND = re.compile(r"[|;`]|\$\(|&&")
_SECRET_NAME = re.compile(
    r"^(?:.*[_-])?(?:pass(?:word|wd|phrase)?|pwd|secret|api_?key|private_?key|client_?secret|pin|cvv|ssn|credit_?card|card_?number)$",
    re.IGNORECASE,
)
_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bghp_[A-Za-z0-9]{36}\b")
_CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
_NESTED = re.compile(r"^ey[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$")
_POWER = re.compile(r"^(?:admin|administrator|root|superuser|super_?admin|owner|system)$", re.IGNORECASE)


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token's decoded parts. ``header_twice`` and ``claims_twice``: names that stand in them more than once."""

    header: dict[str, object]
    claims: dict[str, object]
    signature: bytes
    form: str
    header_twice: list[str]
    claims_twice: list[str]


class Weakness(msgspec.Struct, frozen=True):
    """One weakness: its name, how bad, in words, the field that shows it, what to do."""

    name: str
    severity: Severity
    words: str
    where: str
    advice: str


def weaknesses(token: Token, now: datetime | None) -> list[Weakness]:
    """Everything weak, worst first."""
    found = [*_header(token), *_doubled(token)]
    if token.form == "JWE":
        found += _encrypted(token)
    else:
        found += [*_signature(token), *_times(token, now), *_claims(token)]
    ranks = list(Severity)
    return sorted(found, key=lambda weakness: ranks.index(weakness.severity))


def _signature(token: Token) -> Iterator[Weakness]:
    algorithm = str(token.header.get("alg", ""))
    size = len(token.signature)
    if algorithm.lower() == "none":
        yield Weakness(
            "unsigned", Severity.CRITICAL, f"not signed (alg is {algorithm}): anybody can change its claims", "alg",
            "Refuse “none” in any spelling; accept a fixed list of algorithms.",
        )  # fmt: skip
        return
    if not algorithm:
        yield Weakness("no_algorithm", Severity.HIGH, "names no algorithm", "alg", "Accept a fixed list of algorithms.")
    if not size:
        yield Weakness(
            "unsigned", Severity.HIGH, "its signature is missing or cannot be read", "signature",
            "A verifier that takes it checks nothing: test yours with this token.",
        )  # fmt: skip
        return
    if algorithm.upper().startswith("HS"):
        yield from _shared(token)
    if algorithm[:2] in ("RS", "PS") and size < RSA_BYTES:
        words = f"an RSA key of {size * 8:,} bits by its signature; 2,048 are the least"
        yield Weakness("short_key", Severity.HIGH, words, "signature", "Make a key of at least 2,048 bits.")
    expected = CURVE_BYTES.get(algorithm)
    if expected and not any(token.signature):
        yield Weakness(
            "zero_signature", Severity.CRITICAL, "a signature of zeros, which broken verifiers take (CVE-2022-21449)",
            "signature", "Somebody tried to get in with it: look for its use; update the verifier.",
        )  # fmt: skip
    elif expected and size != expected:
        words = f"a signature of {size} bytes; {algorithm} makes {expected}"
        yield Weakness("odd_signature", Severity.LOW, words, "signature", "Cut, or made by a faulty library.")


def _shared(token: Token) -> Iterator[Weakness]:
    public = [name for name in ("jwk", "x5c", "x5t", "x5u", "jku", "x5t#S256") if name in token.header]
    if public:
        words = f"signed with a shared secret though its header names a public key ({', '.join(public)})"
        advice = "The form of an attack that signs with the public key as the secret: bind each key to its algorithm."
        yield Weakness("confusion", Severity.HIGH, words, "alg", advice)
        return
    words = (
        "signed with a shared secret: every service that can check it can also make it, and it can be guessed offline"
    )
    yield Weakness("shared_secret", Severity.INFO, words, "alg", "Use at least 32 random bytes, or a key pair.")


def _header(token: Token) -> Iterator[Weakness]:
    header = token.header
    if "jwk" in header:
        words = "brings the key that it is to be checked with"
        yield Weakness("own_key", Severity.HIGH, words, "jwk", "Never take a key from the token itself.")
    for name in ("jku", "x5u"):
        if name in header:
            words = f"names an address to fetch its key from: {str(header[name])[:120]}"
            advice = "Fetch keys from configured addresses alone."
            yield Weakness("key_address", Severity.HIGH, words, name, advice)
    if "x5c" in header:
        words = "brings the certificate that it is to be checked with"
        yield Weakness("own_certificate", Severity.MEDIUM, words, "x5c", "Accept only what chains to your own root.")
    key_id = str(header.get("kid", ""))
    for name, pattern, what in (
        ("path", _PATH, "a path"), ("query", _QUERY, "a database query"), ("command", _COMMAND, "a command"),
        ("address", re.compile(r"^https?://[^/]+/.*\.(?:pem|key|json|crt)", re.IGNORECASE), "an address"),
    ):  # fmt: skip
        if pattern.search(key_id):
            words = f"its key id holds {what}: {key_id[:120]}"
            severity = Severity.MEDIUM if name == "address" else Severity.HIGH
            yield Weakness(f"key_id_{name}", severity, words, "kid", "Look key ids up in a fixed table only.")
            break
    if header.get("b64") is False:
        words = "its content is not encoded (b64 is false): few verifiers do that right"
        yield Weakness("unencoded", Severity.LOW, words, "b64", "Accept it only where you need it.")


def _doubled(token: Token) -> Iterator[Weakness]:
    for where, names in (("header", token.header_twice), ("claims", token.claims_twice)):
        if names:
            words = f"names in its {where} stand twice ({', '.join(names)}): two readers may see two values"
            yield Weakness("doubled", Severity.MEDIUM, words, where, "Refuse tokens with repeated names.")


def _encrypted(token: Token) -> Iterator[Weakness]:
    algorithm = str(token.header.get("alg", ""))
    if algorithm == "RSA1_5":
        words = "RSA with PKCS #1 1.5: open to padding oracles"
        yield Weakness("padding", Severity.MEDIUM, words, "alg", "Use RSA-OAEP-256 or ECDH-ES.")
    if "zip" in token.header:
        words = "compressed before encryption: its length tells about its content, and it may unpack to very much"
        yield Weakness("compressed", Severity.LOW, words, "zip", "Refuse compressed tokens or bound what they become.")
    rounds = token.header.get("p2c")
    if isinstance(rounds, int) and algorithm.startswith("PBES2"):
        if rounds < FEW_ROUNDS:
            words = f"{rounds:,} rounds over a password: guessed soon"
            yield Weakness("few_rounds", Severity.MEDIUM, words, "p2c", "Use a random key.")
        elif rounds > MANY_ROUNDS:
            words = f"{rounds:,} rounds: it keeps its verifier busy"
            yield Weakness("many_rounds", Severity.HIGH, words, "p2c", "Bound the rounds before you decrypt.")


def _number(value: object) -> float | None:
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15 else None
    )


def _times(token: Token, now: datetime | None) -> Iterator[Weakness]:
    claims = token.claims
    issued, expires = _number(claims.get("iat")), _number(claims.get("exp"))
    if expires is None:
        words = "its end is no number: verifiers may ignore it" if "exp" in claims else "never expires"
        severity = Severity.HIGH if "exp" in claims else Severity.MEDIUM
        yield Weakness("no_end", severity, words, "exp", "Give every token an end within hours.")
    elif expires > 1e11:
        words = "its end is in milliseconds: it holds for thousands of years"
        yield Weakness("no_end", Severity.HIGH, words, "exp", "Times in tokens are seconds.")
    elif issued is not None and expires - issued > LONG_SECONDS:
        days = (expires - issued) / 86_400
        severity = Severity.MEDIUM if expires - issued > VERY_LONG_SECONDS else Severity.LOW
        yield Weakness(
            "long_life", severity, f"holds for {days:,.0f} days", "exp", "Shorten it; renew by a refresh token."
        )
    elif issued is not None and expires < issued:
        yield Weakness("odd_times", Severity.LOW, "ends before it was issued", "exp", "Look at the clock that made it.")
    if now is None:
        return
    moment = now.astimezone(UTC).timestamp()
    if expires is not None and expires < moment:
        words = f"expired {_span(moment - expires)} before {now.date().isoformat()}"
        yield Weakness("expired", Severity.INFO, words, "exp", "A verifier that still takes it does not look.")
    for name, words in (("nbf", "does not hold yet"), ("iat", "was issued in the future")):
        start = _number(claims.get(name))
        if start is not None and start > moment + 300:
            text = f"{words}: {_span(start - moment)} from {now.date().isoformat()}"
            yield Weakness("not_yet", Severity.LOW, text, name, "Look at the clock that made it.")


def _span(seconds: float) -> str:
    return f"{seconds / 86_400:,.0f} days" if seconds > 2 * 86_400 else f"{seconds / 3600:,.1f} hours"


def _claims(token: Token) -> Iterator[Weakness]:
    for name, words in (
        ("aud", "names no audience: another service may take it"), ("iss", "names no issuer"),
    ):  # fmt: skip
        if name not in token.claims:
            yield Weakness(f"no_{name}", Severity.LOW, words, name, f"Set “{name}” and check it.")
    for path, value in _leaves(token.claims):
        name = path.rpartition(".")[2]
        text = str(value)
        if (_SECRET_NAME.match(name) and value not in (None, "", True, False)) or _KEY_BLOCK.search(text):
            words = f"carries a secret in {path}: everybody who holds it can read it"
            yield Weakness(
                "secret_claim", Severity.HIGH, words, path, "Claims are not encrypted: take it out, replace it."
            )
        elif (match := _CARD.search(text)) and isinstance(value, str) and _is_card(match.group()):
            words = f"carries what looks like a card's number in {path}"
            yield Weakness("card_claim", Severity.HIGH, words, path, "Claims are not encrypted: take it out.")
        elif isinstance(value, str) and _NESTED.match(value):
            words = f"carries another token in {path}"
            yield Weakness("nested", Severity.INFO, words, path, "Ask about it by itself.")
        elif (name in ("role", "roles", "group", "groups", "scope") and _POWER.match(text)) or (
            _POWER.match(re.sub(r"^is_?", "", name, flags=re.IGNORECASE)) and value is True
        ):
            words = f"gives the highest rights ({path}: {text[:60]})"
            yield Weakness("power", Severity.INFO, words, path, "Check that its holder should have them.")


def _leaves(claims: dict[str, object]) -> list[tuple[str, object]]:
    """The values that are no object or list, with their path; at most 1,000."""
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
    """Whether the digits carry the check digit of a card's number (Luhn) and begin like one."""
    digits = [int(char) for char in text if char.isdigit()]
    return digits[0] in (3, 4, 5, 6) and len(set(digits)) > 1 and _luhn(digits)


def _luhn(digits: list[int]) -> bool:
    total = 0
    for index, digit in enumerate(reversed(digits)):
        total += sum(divmod(2 * digit, 10)) if index % 2 else digit
    return total % 10 == 0
