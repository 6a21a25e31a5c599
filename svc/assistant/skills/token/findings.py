"""What findings about JSON Web Tokens hold. Terms: RFC 7515 (JWS), 7516 (JWE), 7519 (claims).

``number`` counts the different tokens of one input from 1.
"""

from __future__ import annotations

from typing import Literal

from svc.assistant.findings import Facts


class JsonWebToken(Facts, frozen=True, kw_only=True, tag="token"):
    """A token with its header and its claims; a fact that the token does not state is "" or null."""

    number: int
    form: Literal["JWS", "JWE"]
    """Signed (JWS) or encrypted (JWE)."""
    algorithm: str
    type: str
    key_id: str
    header: str
    """JSON as written, at most 4,000 characters."""
    claims: str
    """JSON as written, at most 4,000 characters; "" if encrypted."""
    issuer: str
    subject: str
    audience: str
    issued: str
    """ISO 8601."""
    not_before: str
    """ISO 8601."""
    expires: str
    """ISO 8601."""
    lifetime_seconds: int | None
    is_expired: bool | None
    """None without a date to compare with."""
    signature_bytes: int
    claim_names: list[str]
    """At most 100."""


class TokenWeakness(Facts, frozen=True, kw_only=True, tag="token_weakness"):
    """A weakness of a token."""

    number: int
    name: str
    """For example ``weak_secret``."""
    words: str
    """What is wrong, with the values."""
    where: str
    """The header field or the path of the claim that shows it."""
    advice: str


class TokenDamage(Facts, frozen=True, kw_only=True, tag="token_damage"):
    """A part of a token that is missing or cannot be read."""

    number: int
    what: str
