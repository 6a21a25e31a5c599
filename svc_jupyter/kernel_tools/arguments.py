"""Read the arguments of a tool call exactly, and show them exactly.

What the user allows must be what runs. Readers of JSON differ in what they make of a repeated name, of ``NaN`` or of a
large number, so such arguments are refused, and two values are equal only if their JSON is: 1, 1.0 and true are three.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from typing import NoReturn

from svc import Message
from svc.untrusted.characters import one_line

MAX_BYTES = 100_000  # of the arguments as JSON (docs/wire.md, "Local tools")
MAX_DEPTH = 50
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HIDDEN_KINDS = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Mn", "Me")
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"  # letters and symbols without a shape


class UnclearArgumentsError(Exception):
    """The request can be read in more than one way, or not at all."""


def read_request(message: Message, fields: tuple[str, ...]) -> dict[str, object]:
    """Read the content of a ``confirmation_request`` or ``local_tool_call``; ``fields`` must be in it.

    Raises:
        UnclearArgumentsError: It is no such request.
    """
    text = message.content or ""
    if len(text) > 10 * MAX_BYTES:
        raise UnclearArgumentsError(f"the request is {len(text):,} characters")
    try:
        content = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_not_a_number, parse_float=_finite, parse_int=_exact
        )
    except (ValueError, RecursionError) as error:
        raise UnclearArgumentsError(f"the request cannot be read: {one_line(str(error), limit=200)}") from None
    arguments = content.get("arguments") if isinstance(content, dict) else None
    if not isinstance(arguments, dict) or not all(isinstance(content.get(field), str) for field in fields):
        raise UnclearArgumentsError("the request names no tool and arguments")
    if _depth_of(arguments) > MAX_DEPTH:
        raise UnclearArgumentsError(f"the arguments are nested more than {MAX_DEPTH} deep")
    size = len(canonical(arguments).encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise UnclearArgumentsError(f"the arguments are {size:,} bytes; the limit is {MAX_BYTES:,}")
    return dict(content)


def canonical(value: object) -> str:
    """Return JSON that is the same for the same value only: names sorted, nothing normalised."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def digest(arguments: Mapping[str, object]) -> str:
    """Return the hash of a call's arguments."""
    return hashlib.sha256(canonical(arguments).encode()).hexdigest()


def shown(arguments: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return each name and value as JSON on one line, whole, with everything invisible escaped."""
    return [(name if _NAME.fullmatch(name) else exact(name), exact(value)) for name, value in arguments.items()]


def exact(value: object) -> str:
    """Return a value as JSON, in which only visible characters appear as they are."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if text.isascii() and text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if " " <= character <= "~":
        return character
    is_space = unicodedata.category(character) == "Zs"
    if not is_space and character not in _BLANK and unicodedata.category(character) not in _HIDDEN_KINDS:
        return character
    return "".join(f"\\u{unit:04x}" for unit in _utf16(character))


def _utf16(character: str) -> list[int]:
    data = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {name!r} occurs twice")
        found[name] = value
    return found


def _not_a_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")) or (value == 0 and re.search("[1-9]", text.lower().partition("e")[0])):
        raise ValueError(f"{text[:40]} is not a number of this machine")
    return value


def _exact(text: str) -> int:
    if len(text) > 400:
        raise ValueError(f"a number has {len(text):,} digits")
    return int(text)


def _depth_of(value: object) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            part for one in level if isinstance(one, dict | list)
            for part in (one.values() if isinstance(one, dict) else one)
        ]  # fmt: skip
    return depth
