"""Parts of a JSON schema that need more than a keyword of their own: ``allOf``, and the formats of strings. Pure.

Facts: JSON Schema 2020-12, Core 10.2.1.1 and Validation 7.3; RFC 3339, except that a time may have no zone: the zone of
many logs is not known, and none is made up.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from typing import cast

Schema = dict[str, object]


class ConflictError(ValueError):
    """The parts of an ``allOf`` cannot be one schema; the text names the keyword."""


def merged(parts: Sequence[Mapping[str, object]]) -> Schema:
    """One schema that says what all parts say.

    Raises:
        ConflictError: Two parts differ in a keyword that cannot be joined.
    """
    made: Schema = {}
    for part in parts:
        _check_closed(made, part)
        for name, value in part.items():
            if name == "properties":
                _join_properties(made, cast("dict[str, object]", value))
            elif name == "required":
                before = cast("list[object]", made.get("required", []))
                made["required"] = [*dict.fromkeys([*before, *cast("list[object]", value)])]
            elif name in made and made[name] != value:
                raise ConflictError(name)
            else:
                made[name] = value
    return made


def _check_closed(made: Schema, part: Mapping[str, object]) -> None:
    """``additionalProperties`` of one part counts only that part's own properties; one schema cannot say that."""
    for closed, other in ((made, part), (part, made)):
        own = cast("dict[str, object]", closed.get("properties", {}))
        added = cast("dict[str, object]", other.get("properties", {}))
        if closed.get("additionalProperties", True) is not True and not added.keys() <= own.keys():
            raise ConflictError("additionalProperties")


def _join_properties(made: Schema, added: Mapping[str, object]) -> None:
    joined = dict(cast("dict[str, object]", made.get("properties", {})))
    for name, value in added.items():
        if joined.setdefault(name, value) != value:
            raise ConflictError(f"properties.{name[:40]}")
    made["properties"] = joined


def has_format(name: str, text: str) -> bool:
    """Whether a string has one of ``FORMATS``."""
    try:
        return bool(FORMATS[name](text))
    except ValueError:
        return False


def in_format(name: object, text: str) -> str:
    """The part of a time that a format holds: the day of a time for ``date``; other texts are returned as they are."""
    if name in ("date", "time") and _DATE_TIME.fullmatch(text) and has_format("date-time", text):
        return text[:10] if name == "date" else text[11:]
    if name == "date-time" and _DATE_TIME.fullmatch(text):
        return f"{text[:10]}T{text[11:]}"
    return text


_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?")


def _is_date_time(text: str) -> bool:
    return text[10:11] == "T" and _DATE_TIME.fullmatch(text) is not None and bool(datetime.fromisoformat(text))


def _is_time(text: str) -> bool:
    return bool(re.fullmatch(r"\d\d:\d\d.*", text)) and time.fromisoformat(text) is not None


FORMATS: dict[str, Callable[[str], object]] = {
    "date-time": _is_date_time,
    "date": lambda text: len(text) == 10 and date.fromisoformat(text),
    "time": _is_time,
    "email": re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}").fullmatch,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "uri": re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,40}:\S+").fullmatch,
    "uuid": re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}").fullmatch,
}
"""Formats that programs parse, each with its test; others are notes for readers."""
