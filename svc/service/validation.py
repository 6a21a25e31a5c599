"""Decode a body or a frame into a wire type; errors name the field. Pure."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from svc.errors import InvalidRequestError

T = TypeVar("T", bound=msgspec.Struct)
_PATH = re.compile(r" - at `\$\.?([^`]*)`")
_FIELD = re.compile(r"required field `([^`]+)`")


def decode(data: bytes, kind: type[T]) -> T:
    """Decode JSON.

    Raises:
        InvalidRequestError: The data is not JSON or does not match the type; ``param`` is the path of the field.
    """
    try:
        if not data.isascii():
            data.decode()  # msgspec does not look into what it leaves undecoded
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        text = str(error)
        path, field = _PATH.search(text), _FIELD.search(text)
        names = [match[1] for match in (path, field) if match and match[1]]
        param = ".".join(names) or None
        raise InvalidRequestError(f"{param or 'the body'} is not valid: {_PATH.sub('', text)}", param=param) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequestError(f"malformed JSON: {error}") from error
