"""Read settings from text and describe them for people.

A settings struct is a frozen msgspec struct. Each field has a default and is ``Annotated`` with its limits and a
description, so that a limit is written down once. The service (``svc/service/settings.py``) and the model assistant
(``svc/assistant/model/configuration.py``) use it. Pure: it reads only the mappings that it is given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec import inspect as types

from svc.errors import ConfigError

T = TypeVar("T", bound=msgspec.Struct)
_BOOLEANS = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
_GROUPED_DIGITS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")  # 2,592,000: the form that format_value prints


class SettingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A setting as people see it. ``value`` and ``default`` are formatted; ``is_list``: comma-separated."""

    name: str
    variable: str
    value: str
    default: str
    description: str
    is_list: bool

    @property
    def option(self) -> str:
        """The command-line option of that name."""
        return f"--{self.name.replace('_', '-')}"


def describe_settings(settings: msgspec.Struct, prefix: str) -> list[SettingRow]:
    """Describe every setting with its value.

    Args:
        settings: The settings in use.
        prefix: What the environment variables of these settings start with.

    Returns:
        One row per field, in the order of the struct.
    """
    defaults = type(settings)()
    return [
        SettingRow(
            name=field.name,
            variable=f"{prefix}{field.name.upper()}",
            value=format_value(getattr(settings, field.name)),
            default=format_value(getattr(defaults, field.name)),
            description=_description(field.type),
            is_list=isinstance(_bare_type(field.type), types.VarTupleType),
        )
        for field in _fields(type(settings))
    ]


def read_settings(kind: type[T], texts: Mapping[str, tuple[str, str]]) -> T:
    """Read a settings struct from what a user wrote.

    Args:
        kind: The struct.
        texts: For each field that is set, its source (a variable or an option, for errors) and its text. A blank
            text counts as not set.

    Raises:
        ConfigError: A value has the wrong type or is out of range. The text names the source, the value and what is
            expected.
    """
    chosen: dict[str, object] = {}
    for field in _fields(kind):
        source, text = texts.get(field.name, ("", ""))
        if not (text := text.strip()):
            continue
        chosen[field.name] = _parse(field.type, text)
        try:
            msgspec.convert({field.name: chosen[field.name]}, kind, strict=False)
        except msgspec.ValidationError as error:
            raise ConfigError(f"{source}={text!r} is not valid: it must be {_expected(field.type)}") from error
    return msgspec.convert(chosen, kind, strict=False)


def format_value(value: object) -> str:
    """Format a setting's value; ``read_settings`` reads the result back."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, str):
        return value
    return f"{value:,}"


def _fields(kind: type[msgspec.Struct]) -> tuple[types.Field, ...]:
    info = types.type_info(kind)
    assert isinstance(info, types.StructType)
    return info.fields


def _bare_type(kind: types.Type) -> types.Type:
    return kind.type if isinstance(kind, types.Metadata) else kind


def _description(kind: types.Type) -> str:
    extra = kind.extra_json_schema if isinstance(kind, types.Metadata) else None
    return str((extra or {}).get("description", ""))


def _parse(kind: types.Type, text: str) -> object:
    """The text as msgspec can convert it; None for what no setting may be."""
    match _bare_type(kind):
        case types.BoolType():
            return _BOOLEANS.get(text.lower(), text)
        case types.VarTupleType():
            return [part.strip() for part in text.split(",") if part.strip()]
        case types.UnionType(types=parts) if text in _words(parts):
            return text
        case types.StrType():
            return text
        case _:
            digits = text.replace(",", "") if _GROUPED_DIGITS.fullmatch(text) else text
            return digits if _is_finite(digits) else None


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _expected(kind: types.Type) -> str:
    """What a field accepts, in words."""
    match _bare_type(kind):
        case types.BoolType():
            return "yes or no"
        case types.IntType() as number:
            return f"a whole number{_range(number)}"
        case types.FloatType() as number:
            return f"a number{_range(number)}"
        case types.UnionType(types=parts):
            numbers = [_expected(part) for part in parts if not isinstance(part, types.LiteralType)]
            return " or ".join([*numbers, *_words(parts)])
        case types.StrType():
            extra = kind.extra_json_schema if isinstance(kind, types.Metadata) else None
            return f"a text such as {(extra or {}).get('examples', ['…'])[0]}"
        case _:
            return "a comma-separated list"


def _words(parts: tuple[types.Type, ...]) -> list[str]:
    """The words that a number or one of some words may be."""
    return [str(word) for part in parts if isinstance(part, types.LiteralType) for word in part.values]


def _range(number: types.IntType | types.FloatType) -> str:
    if number.ge is not None and number.le is not None:
        return f" from {number.ge:,} to {number.le:,}"
    if number.ge is not None:
        return f" of at least {number.ge:,}"
    return f" greater than {number.gt:,}" if number.gt is not None else ""
