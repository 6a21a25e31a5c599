"""Decode JSON Web Tokens: header, claims, and weaknesses. Does not verify signatures.

Reports what can be known without the key: how a token is signed, what its header lets an attacker choose, what it
discloses, how long it is valid, and whether a common placeholder secret signed it (``secrets.toml``). Formats: RFC 7515
(JWS), 7516 (JWE), 7518 (algorithms), 7519 (claims), 8725 (best practice). Times are compared only with the option
``now``.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from functools import cache

import msgspec

from svc.assistant.findings import Confidence, Coverage, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.knowledge import load
from svc.assistant.skills.skill import parse_now
from svc.assistant.skills.token.checks import DecodedToken, TokenFlaw, token_flaws
from svc.assistant.skills.token.findings import JsonWebToken, TokenDamage, TokenWeakness

MAX_TOKENS = 50
MAX_TOKEN_CHARS = 65_536  # a header field of a web server takes 8,192
SHOWN_CHARS = 4_000  # of the header and the claims
MAX_CLAIM_NAMES = 100
_PART = r"[A-Za-z0-9_-]{1,65536}+"
_TOKEN = re.compile(
    rf"(?<![A-Za-z0-9_.-])e[wy][A-Za-z0-9_-]{{6,65536}}+(?:\.(?:{_PART})?\.{_PART}\.{_PART}\.{_PART}|\.{_PART}(?:\.(?:{_PART})?)?)"
)
_HEADER_STARTS = ("eyJ", "ewo", "ewog", "eyAi")  # of a JSON object in Base64
_HASHES = {"HS256": hashlib.sha256, "HS384": hashlib.sha384, "HS512": hashlib.sha512}


class _SecretsTable(msgspec.Struct, frozen=True):
    source: str
    version: str
    date: date
    secrets: tuple[str, ...]


@cache
def _secrets() -> tuple[str, ...]:
    return load("secrets.toml", _SecretsTable, __package__).secrets


def inspect(content: str, /, *, source: str, now: str = "") -> Iterator[ToolEvent]:
    """Yield every token in the text, and the weaknesses of each.

    Args:
        content: Any text that contains tokens.
        source: Name of the input.
        now: ISO 8601 date and time to compare dates with, or "".
    """
    yield Progress(text=f"reading {source}")
    today = parse_now(now)
    seen: set[str] = set()
    unread: set[str] = set()
    for match in _TOKEN.finditer(content):
        raw = match.group()
        if raw in seen or raw in unread:
            continue
        line = content.count("\n", 0, match.start()) + 1
        evidence = Evidence(source=source, excerpt=raw[:200], line=line)
        is_allowed = len(seen) < MAX_TOKENS
        events = list(_inspect_token(raw[:MAX_TOKEN_CHARS], len(seen) + 1, evidence, today)) if is_allowed else []
        if events:
            seen.add(raw)
            yield from events
        elif raw.startswith(_HEADER_STARTS):
            unread.add(raw)
    yield from _gaps(len(seen), len(unread), has_date=today is not None)
    yield Coverage(
        read_as="text with tokens" if seen else "text without a readable token",
        unit="token",
        understood=len(seen),
        total=len(seen) + len(unread),
        looked_for="weak algorithms and secrets, attacker-controlled headers, long validity, disclosed secrets",
        not_covered="signatures were not verified, which needs the key",
    )


def _gaps(read: int, unread: int, *, has_date: bool) -> Iterator[Gap]:
    if read >= MAX_TOKENS and unread:
        yield Gap(
            text=f"only the first {MAX_TOKENS} different tokens were examined; {unread:,} more were not",
            in_headline=True,
        )
    elif unread:
        yield Gap(text=f"{unread:,} tokens have an unreadable header: truncated, damaged, or not a token")
    elif not read:
        yield Gap(text="no token was found")
    if read and not has_date:
        yield Gap(text="tokens were not checked for expiry: no date to compare with was given")


def _inspect_token(raw: str, number: int, evidence: Evidence, now: datetime | None) -> Iterator[ToolEvent]:
    parts = raw.split(".")
    header_text = _decode_text(parts[0])
    header, header_twice = _parse_object(header_text)
    # Base64 that happens to decode to an object is not a token; a header names at least one of these.
    if header is None or not ({"alg", "typ", "enc", "kid"} & set(header)):
        return
    if len(parts) == 5:
        token = DecodedToken(
            header=header, claims={}, signature=b"", form="JWE", header_twice=header_twice, claims_twice=[]
        )
        yield _token_finding(token, number, header_text, "", evidence, now)
    else:
        claims_text = _decode_text(parts[1])
        claims, claims_twice = _parse_object(claims_text)
        token = DecodedToken(
            header=header,
            claims=claims or {},
            form="JWS",
            header_twice=header_twice,
            claims_twice=claims_twice,
            signature=_decode(parts[2]) if len(parts) == 3 else b"",
        )
        yield _token_finding(token, number, header_text, claims_text, evidence, now)
        if claims is None:
            yield _damage(
                number, "the claims are not a JSON object: damaged, cut, or another kind of content", evidence
            )
        if len(parts) == 2:
            yield _damage(number, "the signature (third part) is truncated", evidence)
        yield from _weak_secret(raw, token, number, evidence)
    for flaw in token_flaws(token, now):
        yield _weakness(number, flaw, evidence)


def _decode(part: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        return b""


def _decode_text(part: str) -> str:
    return _decode(part).decode("utf-8", "replace")


def _parse_object(text: str) -> tuple[dict[str, object] | None, list[str]]:
    """Return the JSON object in ``text``, None if there is none, and the names that appear in it more than once."""
    repeated: list[str] = []

    def build(pairs: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in pairs]
        repeated.extend(sorted({name for name in names if names.count(name) > 1})[:10])
        return dict(pairs)

    try:
        parsed = json.loads(text, object_pairs_hook=build)
    except (ValueError, RecursionError):
        return None, repeated
    return (parsed, repeated) if isinstance(parsed, dict) else (None, repeated)


def _time(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _token_finding(
    token: DecodedToken, number: int, header: str, claims: str, evidence: Evidence, now: datetime | None
) -> Finding[JsonWebToken]:
    issued, expires = _time(token.claims.get("iat")), _time(token.claims.get("exp"))
    algorithm = str(token.header.get("alg", ""))
    return Finding(
        title=f"{token.form}, {algorithm or 'no algorithm'}",
        evidence=(evidence,),
        facts=JsonWebToken(
            number=number,
            form=token.form,
            algorithm=algorithm,
            type=str(token.header.get("typ", "")),
            key_id=str(token.header.get("kid", "")),
            header=header[:SHOWN_CHARS],
            claims=claims[:SHOWN_CHARS],
            issuer=_as_text(token.claims.get("iss")),
            subject=_as_text(token.claims.get("sub")),
            audience=_as_text(token.claims.get("aud")),
            issued=_iso(issued),
            not_before=_iso(_time(token.claims.get("nbf"))),
            expires=_iso(expires),
            lifetime_seconds=round((expires - issued).total_seconds()) if issued and expires else None,
            is_expired=None if now is None or expires is None else expires < now,
            signature_bytes=len(token.signature),
            claim_names=list(token.claims)[:MAX_CLAIM_NAMES],
        ),
    )


def _as_text(value: object) -> str:
    return "" if value is None else value[:500] if isinstance(value, str) else json.dumps(value, default=str)[:500]


def _iso(moment: datetime | None) -> str:
    return moment.isoformat() if moment else ""


def _weak_secret(raw: str, token: DecodedToken, number: int, evidence: Evidence) -> Iterator[ToolEvent]:
    """Yield a weakness if one of the common placeholder secrets signed the token."""
    algorithm = _HASHES.get(str(token.header.get("alg", "")).upper())
    if algorithm is None or not token.signature:
        return
    signed = raw.rpartition(".")[0].encode()
    for secret in _secrets():
        if hmac.compare_digest(hmac.new(secret.encode(), signed, algorithm).digest(), token.signature):
            words = (
                f"signed with the secret “{secret}”: anyone can create such tokens"
                if secret
                else "signed with an empty secret"
            )
            advice = "Replace the secret with 32 random bytes at once; treat every token signed with it as forged."
            yield _weakness(number, TokenFlaw("weak_secret", Severity.CRITICAL, words, "signature", advice), evidence)
            return


def _weakness(number: int, flaw: TokenFlaw, evidence: Evidence) -> Finding[TokenWeakness]:
    return Finding(
        title=flaw.words,
        severity=flaw.severity,
        confidence=Confidence.HIGH if flaw.severity in (Severity.CRITICAL, Severity.HIGH) else Confidence.MEDIUM,
        evidence=(evidence,),
        techniques=("T1606.001",) if flaw.name in ("weak_secret", "unsigned") else (),
        facts=TokenWeakness(number=number, name=flaw.name, words=flaw.words, where=flaw.where, advice=flaw.advice),
    )


def _damage(number: int, what: str, evidence: Evidence) -> Finding[TokenDamage]:
    return Finding(title=what, severity=Severity.LOW, evidence=(evidence,), facts=TokenDamage(number=number, what=what))
