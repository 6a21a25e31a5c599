"""Take keys and named secrets out of whatever is written: text, or a notebook's cells, outputs and metadata. Pure.

A secret is found as it is, and as JSON, Python, HTML and addresses write it. Shape of a key: the wire page, "Keys".
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import quote

T = TypeVar("T")

REDACTED = "svc_[redacted]"
MIN_CHARACTERS = 4  # a shorter secret stands in half of all words; a report without them could not be read

_KEY = re.compile(r"svc_[0-9A-Za-z]{49}")  # the wire page: 43 characters and 6 of checksum


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """The text without anything that looks like a key, and without ``secrets`` of at least MIN_CHARACTERS."""
    text = _KEY.sub(REDACTED, text)
    for form in _forms(secrets):
        text = text.replace(form, REDACTED)
    return text


def redact_all(value: T, secrets: Sequence[str] = ()) -> T:
    """The same structure of dicts and lists with every string in it redacted, names of entries too. Changes nothing."""
    forms = _forms(secrets)

    def walk(part: object) -> object:
        match part:
            case str():
                part = _KEY.sub(REDACTED, part)
                for form in forms:
                    part = part.replace(form, REDACTED)
                return part
            case dict():
                return type(part)({walk(name): walk(item) for name, item in part.items()})
            case list() | tuple():
                return type(part)(walk(item) for item in part)
            case _:
                return part

    return walk(value)  # type: ignore[return-value]  # the walk keeps the type


def _forms(secrets: Sequence[str]) -> list[str]:
    """Each secret in each way it may be written, longest first, so that no form cuts into another."""
    forms = {
        form
        for secret in secrets
        if len(secret) >= MIN_CHARACTERS
        for form in (
            secret,
            html.escape(secret),
            html.escape(secret, quote=False),
            json.dumps(secret)[1:-1],
            repr(secret)[1:-1],
            quote(secret, safe=""),
        )
    }
    return sorted(forms, key=len, reverse=True)
