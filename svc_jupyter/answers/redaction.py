"""Remove API keys and named secrets from text, and from a notebook's cells, outputs and metadata.

A secret is also found as JSON, Python, HTML and URLs encode it, and inside SVG pictures. Format of an API key:
docs/wire.md, "Keys".
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import quote

T = TypeVar("T")

REDACTED = "svc_(redacted)"  # no brackets: with what comes after them, Markdown would read a link
MIN_CHARACTERS = 4  # a shorter secret occurs in so many words that the report would be unreadable

_KEY = re.compile(r"svc_[0-9A-Za-z]{49}")  # docs/wire.md, "Keys": 43 characters and 6 of checksum
_DRAWING = re.compile(r"(data:image/svg\+xml;base64,)([0-9A-Za-z+/]+=*)")


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """Replace everything that looks like an API key, and ``secrets`` of at least MIN_CHARACTERS."""
    return _without(text, _forms(secrets))


def redact_drawing(content: str, secrets: Sequence[str] = ()) -> str:
    """Redact an SVG in base64; other content is returned unchanged."""
    return _drawing_without(content, _forms(secrets))


def redact_all(value: T, secrets: Sequence[str] = ()) -> T:
    """Return a copy of nested dicts and lists with every string redacted, including keys of dicts."""
    forms = _forms(secrets)

    def walk(part: object) -> object:
        match part:
            case str():
                return _without(part, forms)
            case dict():
                return type(part)({walk(name): walk(item) for name, item in part.items()})
            case list() | tuple():
                return type(part)(walk(item) for item in part)
            case _:
                return part

    return walk(value)  # type: ignore[return-value]  # the walk keeps the type


def _without(text: str, forms: Sequence[str]) -> str:
    text = _KEY.sub(REDACTED, text)
    for form in forms:
        text = text.replace(form, REDACTED)
    return _DRAWING.sub(lambda found: found[1] + _drawing_without(found[2], forms), text)


def _drawing_without(content: str, forms: Sequence[str]) -> str:
    try:
        drawing = base64.b64decode(content, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return content
    cleaned = _without(drawing, forms)
    return content if cleaned == drawing else base64.b64encode(cleaned.encode()).decode()


def _forms(secrets: Sequence[str]) -> list[str]:
    """Return every encoding of the secrets, longest first, so that no replacement breaks another."""
    forms = {
        form
        for secret in secrets
        if len(secret) >= MIN_CHARACTERS
        for form in (
            secret,
            html.escape(secret),
            html.escape(secret, quote=False),
            json.dumps(secret)[1:-1],
            json.dumps(secret, ensure_ascii=False)[1:-1],
            repr(secret)[1:-1],
            quote(secret, safe=""),
        )
    }
    return sorted(forms, key=len, reverse=True)
