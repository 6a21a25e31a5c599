"""JSON Web Tokens taken apart: header, claims, and each weakness with its severity. Pure; verifies no signature.

What can be told without a key: how it is signed, what it lets an attacker choose, what it reveals, how long it lives,
and whether one of the usual placeholder secrets signed it (``skills/token/secrets.toml``). Forms: RFC 7515 (JWS),
7516 (JWE), 7518 (algorithms), 7519 (claims), 8725 (best practice). Times are compared with the option ``now`` alone.

Finding kinds and their attributes:

``token``: number (int), form (str: JWS, JWE), algorithm, type, key_id, header, claims (str: JSON as it stands), issuer,
subject, audience (str), issued, not_before, expires (str: ISO 8601 or ""), lifetime_seconds (int or null), is_expired
(bool or null: no date to compare with), signature_bytes (int), claim_names (list of str).
``token_weakness``: number (int), name (str), words, where (str), advice (str).
``token_damage``: number (int), what (str).
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

from svc.assistant.findings import Confidence, Evidence, Gap, Progress, Scalar, Severity, ToolEvent
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.knowledge import load
from svc.assistant.skills.token.checks import Token, Weakness, weaknesses

MAX_TOKENS = 50
MAX_TOKEN_CHARS = 65_536  # a header field of a web server takes 8,192
SHOWN_CHARS = 4_000  # of the header and the claims
_PART = r"[A-Za-z0-9_-]{1,65536}+"
_TOKEN = re.compile(
    rf"(?<![A-Za-z0-9_.-])e[wy][A-Za-z0-9_-]{{6,65536}}+(?:\.(?:{_PART})?\.{_PART}\.{_PART}\.{_PART}|\.{_PART}(?:\.(?:{_PART})?)?)"
)
_HASHES = {"HS256": hashlib.sha256, "HS384": hashlib.sha384, "HS512": hashlib.sha512}


class _Secrets(msgspec.Struct, frozen=True):
    source: str
    version: str
    date: date
    secrets: tuple[str, ...]


@cache
def _secrets() -> tuple[str, ...]:
    return load("secrets.toml", _Secrets, __package__).secrets


def inspect(text: str, /, *, source: str, now: str = "") -> Iterator[ToolEvent]:
    """Every token in the text, then what is weak about it. ``now`` is an ISO 8601 date and time, or ""."""
    yield Progress(text=f"reading {source}")
    today = _moment(now)
    seen: set[str] = set()
    for match in _TOKEN.finditer(text):
        raw = match.group()
        if raw in seen:
            continue
        if len(seen) >= MAX_TOKENS:
            yield Gap(text=f"only the first {MAX_TOKENS} different tokens were looked at")
            return
        line = text.count("\n", 0, match.start()) + 1
        found = list(
            _token(raw[:MAX_TOKEN_CHARS], len(seen) + 1, Evidence(source=source, excerpt=raw[:200], line=line), today)
        )
        if found:
            seen.add(raw)
            yield from found
    if seen and today is None:
        yield Gap(text="whether a token is expired: no date to compare with was given")


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _token(raw: str, number: int, evidence: Evidence, now: datetime | None) -> Iterator[Finding]:
    parts = raw.split(".")
    header_text = _decoded(parts[0])
    header, twice = _object(header_text)
    if header is None or not ({"alg", "typ", "enc", "kid"} & set(header)):
        return
    if len(parts) == 5:
        token = Token(header=header, claims={}, signature=b"", form="JWE", header_twice=twice, claims_twice=[])
        yield _finding(token, number, header_text, "", evidence, now)
    else:
        claims_text = _decoded(parts[1])
        claims, claims_twice = _object(claims_text)
        token = Token(
            header=header, claims=claims or {}, form="JWS", header_twice=twice, claims_twice=claims_twice,
            signature=_bytes(parts[2]) if len(parts) == 3 else b"",
        )  # fmt: skip
        yield _finding(token, number, header_text, claims_text, evidence, now)
        if claims is None:
            yield _damage(number, "its claims are no JSON object: damaged, cut, or another kind of content", evidence)
        if len(parts) == 2:
            yield _damage(number, "its third part, the signature, is cut off", evidence)
        yield from _guessed(raw, token, number, evidence)
    for weakness in weaknesses(token, now):
        yield _weakness(number, weakness, evidence)


def _bytes(part: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        return b""


def _decoded(part: str) -> str:
    return _bytes(part).decode("utf-8", "replace")


def _object(text: str) -> tuple[dict[str, object] | None, list[str]]:
    """The JSON object in ``text`` and the names that stand in it twice; None where there is none."""
    twice: list[str] = []

    def build(pairs: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in pairs]
        twice.extend(sorted({name for name in names if names.count(name) > 1})[:10])
        return dict(pairs)

    try:
        found = json.loads(text, object_pairs_hook=build)
    except (ValueError, RecursionError):
        return None, twice
    return (found, twice) if isinstance(found, dict) else (None, twice)


def _time(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _finding(token: Token, number: int, header: str, claims: str, evidence: Evidence, now: datetime | None) -> Finding:
    issued, expires = _time(token.claims.get("iat")), _time(token.claims.get("exp"))
    algorithm = str(token.header.get("alg", ""))
    names: list[Scalar] = []
    names += list(token.claims)[:100]
    attributes: dict[str, Scalar | list[Scalar]] = {
        "number": number, "form": token.form, "algorithm": algorithm, "type": str(token.header.get("typ", "")),
        "key_id": str(token.header.get("kid", "")), "header": header[:SHOWN_CHARS], "claims": claims[:SHOWN_CHARS],
        "issuer": _shown(token.claims.get("iss")), "subject": _shown(token.claims.get("sub")),
        "audience": _shown(token.claims.get("aud")), "issued": _iso(issued),
        "not_before": _iso(_time(token.claims.get("nbf"))), "expires": _iso(expires),
        "lifetime_seconds": round((expires - issued).total_seconds()) if issued and expires else None,
        "is_expired": None if now is None or expires is None else expires < now,
        "signature_bytes": len(token.signature), "claim_names": names,
    }  # fmt: skip
    title = f"{token.form}, {algorithm or 'no algorithm'}"
    return Finding(kind="token", title=title, evidence=(evidence,), attributes=attributes)


def _shown(value: object) -> str:
    return "" if value is None else value[:500] if isinstance(value, str) else json.dumps(value, default=str)[:500]


def _iso(moment: datetime | None) -> str:
    return moment.isoformat() if moment else ""


def _guessed(raw: str, token: Token, number: int, evidence: Evidence) -> Iterator[Finding]:
    """The secret, where it is one of the usual ones."""
    algorithm = _HASHES.get(str(token.header.get("alg", "")).upper())
    if algorithm is None or not token.signature:
        return
    signed = raw.rpartition(".")[0].encode()
    for secret in _secrets():
        if hmac.compare_digest(hmac.new(secret.encode(), signed, algorithm).digest(), token.signature):
            words = (
                f"signed with the secret “{secret}”: anybody can make such tokens"
                if secret
                else "signed with an empty secret"
            )
            advice = "Replace the secret by 32 random bytes at once; treat every token made with it as forged."
            weakness = Weakness("weak_secret", Severity.CRITICAL, words, "signature", advice)
            yield _weakness(number, weakness, evidence)
            return


def _weakness(number: int, weakness: Weakness, evidence: Evidence) -> Finding:
    return Finding(
        kind="token_weakness",
        title=weakness.words,
        severity=weakness.severity,
        confidence=Confidence.HIGH if weakness.severity in (Severity.CRITICAL, Severity.HIGH) else Confidence.MEDIUM,
        evidence=(evidence,),
        techniques=("T1606.001",) if weakness.name in ("weak_secret", "unsigned") else (),
        attributes={
            "number": number, "name": weakness.name, "words": weakness.words, "where": weakness.where,
            "advice": weakness.advice,
        },
    )  # fmt: skip


def _damage(number: int, what: str, evidence: Evidence) -> Finding:
    return Finding(
        kind="token_damage", title=what, severity=Severity.LOW, evidence=(evidence,),
        attributes={"number": number, "what": what},
    )  # fmt: skip
