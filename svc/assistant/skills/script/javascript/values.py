"""JavaScript's values and operators, as far as the evaluation of strings needs them.

Strings, numbers and booleans are Python's; null is None. What only the system could give (a COM object, a page's
element, the answer of a server) is a ``Host``: it has a path that says where it comes from, and nothing else.
Source: ECMAScript 2025, "Type Conversion" and "Operators".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

MAX_STRING_CHARS = 2_000_000
MAX_SAFE_INTEGER = 2**53
MAX_RENDERED_CHARS = 8_000  # of a string in a recorded call
MAX_PATH_CHARS = 300
MAX_LISTED = 20  # elements of an array that are rendered

Value = object
"""str, int, float, bool, None, ``UNDEFINED`` or a ``JsObject``."""


class Undefined:
    """The type of ``UNDEFINED``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = Undefined()


class JsThrownError(Exception):
    """A value that the script threw."""

    def __init__(self, value: Value) -> None:
        super().__init__("thrown by the script")
        self.value = value


class StoppedError(Exception):
    """The budget of the evaluation is used up."""


class JsObject:
    """An object with its own properties; ``prototype`` is where missing ones are looked up."""

    __slots__ = ("properties", "prototype")

    def __init__(self, properties: dict[str, Value] | None = None, prototype: JsObject | None = None) -> None:
        self.properties: dict[str, Value] = {} if properties is None else properties
        self.prototype: JsObject | None = prototype


class JsArray(JsObject):
    """An array; holes are ``UNDEFINED``."""

    __slots__ = ("items",)

    def __init__(self, items: list[Value]) -> None:
        super().__init__()
        self.items: list[Value] = items


class JsFunction(JsObject):
    """A function of the script, which has a ``source``, or of the language."""

    __slots__ = ("call", "is_called", "name", "source")

    def __init__(
        self, call: Callable[[Value, list[Value]], Value], name: str = "", source: Callable[[], str] | None = None
    ) -> None:
        super().__init__()
        self.call: Callable[[Value, list[Value]], Value] = call
        self.name: str = name
        self.source: Callable[[], str] | None = source
        self.is_called: bool = False


class JsPattern(JsObject):
    """A regular expression of the script."""

    __slots__ = ("flags", "source")

    def __init__(self, source: str, flags: str) -> None:
        super().__init__()
        self.source: str = source
        self.flags: str = flags


class JsBytes(JsObject):
    """Bytes: a Buffer of Node.js or a typed array."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.data: bytes = data


class Host(JsObject):
    """Something that only the system could give; ``path`` is the expression that it comes from."""

    __slots__ = ("is_root", "path")

    def __init__(self, path: str, *, is_root: bool = False) -> None:
        super().__init__()
        self.path: str = path[:MAX_PATH_CHARS]
        self.is_root: bool = is_root


OPEN_PATH, CLOSE_PATH = "\u27e8", "\u27e9"  # around the path of a Host in a string
UNKNOWN = Host("unknown")


def has_placeholder(text: str) -> bool:
    """Whether ``text`` holds the path of a Host: an encoding of it would only hide where it comes from."""
    return OPEN_PATH in text


def is_truthy(value: Value) -> bool:
    """Whether a condition holds; a Host counts as true."""
    if isinstance(value, float):
        return value != 0 and not math.isnan(value)
    if isinstance(value, bool | int | str):
        return bool(value)
    return value is not None and value is not UNDEFINED


_RADIX_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_RADIX_PREFIX = {"0x": 16, "0o": 8, "0b": 2}


def number_of(value: Value) -> int | float:
    """Convert ``value`` as the unary plus does; NaN for a Host."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    if value is None:
        return 0
    if isinstance(value, str):
        return _number_in(value.strip())
    if isinstance(value, JsArray):
        return _number_in(string_of(value).strip())
    return math.nan


def _number_in(text: str) -> int | float:
    if not text:
        return 0
    radix = _RADIX_PREFIX.get(text[:2].lower())
    try:
        if radix is not None:
            return normal(int(text[2:], radix)) if len(text) < 300 else math.inf
        if text.isdecimal() and len(text) < 16:
            return int(text)
        return math.nan if re.search(r"[a-df-zA-DF-Z_]", text) else normal(float(text))
    except ValueError:
        return math.inf if text == "Infinity" else math.nan


def normal(number: int | float) -> int | float:
    """Return a number as JavaScript holds it: exact integers up to 2**53, else a double."""
    if isinstance(number, int):
        if -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER:
            return number
        return float(number) if number.bit_length() < 1_000 else math.inf
    if number.is_integer() and abs(number) <= MAX_SAFE_INTEGER and not (number == 0 and math.copysign(1, number) < 0):
        return int(number)
    return number


def int32(value: Value) -> int:
    """Convert ``value`` as the bit operators do."""
    number = number_of(value)
    if isinstance(number, float):
        if math.isnan(number) or math.isinf(number):
            return 0
        number = int(number)
    number &= 0xFFFFFFFF
    return number - 0x100000000 if number >= 0x80000000 else number


def string_of(value: Value, depth: int = 0) -> str:
    """Convert ``value`` as string concatenation does; a Host becomes its path in angle brackets."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    if value is None:
        return "null"
    return _object_text(value, depth) if isinstance(value, JsObject) else "undefined"


def _object_text(value: JsObject, depth: int) -> str:
    if isinstance(value, JsArray):
        if depth > 8:
            return ""
        parts = ["" if one is None or one is UNDEFINED else string_of(one, depth + 1) for one in value.items]
        return bounded(",".join(parts))
    if isinstance(value, JsFunction):
        return value.source() if value.source else f"function {value.name}() {{ [native code] }}"
    if isinstance(value, JsPattern):
        return f"/{value.source or '(?:)'}/{value.flags}"
    if isinstance(value, JsBytes):
        return value.data.decode("utf-8", "replace")
    if isinstance(value, Host):
        return f"{OPEN_PATH}{value.path}{CLOSE_PATH}"
    for name in ("toString", "valueOf"):
        method = value.properties.get(name)
        if isinstance(method, JsFunction) and depth < 4:
            return string_of(method.call(value, []), depth + 1)
    return f"[object {value.properties.get('@class', 'Object')}]"


def _float_text(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number.is_integer() and abs(number) < 1e21:
        return str(int(number))
    text = repr(number)
    return re.sub(r"e([+-])0*(\d)", r"e\1\2", text)


def number_text(number: int | float, radix: int) -> str:
    """Write a number with a radix of 2 to 36."""
    if radix == 10 or not 2 <= radix <= 36 or isinstance(number, float):
        whole = isinstance(number, float) and not math.isnan(number) and not math.isinf(number) and radix != 10
        return _fraction_text(number, radix) if whole else string_of(number)
    if number == 0:
        return "0"
    digits, rest = "", abs(number)
    while rest:
        rest, digit = divmod(rest, radix)
        digits = _RADIX_DIGITS[digit] + digits
    return ("-" if number < 0 else "") + digits


def _fraction_text(number: float, radix: int) -> str:
    whole, rest = int(abs(number)), abs(number) % 1
    digits = ""
    while rest and len(digits) < 12:
        rest *= radix
        digits += _RADIX_DIGITS[int(rest)]
        rest %= 1
    return ("-" if number < 0 else "") + number_text(whole, radix) + ("." + digits if digits else "")


def bounded(text: str) -> str:
    """Return ``text``, or stop the evaluation if it is too long."""
    if len(text) > MAX_STRING_CHARS:
        raise StoppedError
    return text


def added(left: Value, right: Value) -> Value:
    """The operator ``+``."""
    if isinstance(left, str) and isinstance(right, str):
        return bounded(left + right)
    if isinstance(left, int | float) and isinstance(right, int | float):
        return normal(left + right)
    left, right = _primitive(left), _primitive(right)
    if isinstance(left, str | JsObject) or isinstance(right, str | JsObject):
        return bounded(string_of(left) + string_of(right))
    return normal(number_of(left) + number_of(right))


def _primitive(value: Value) -> Value:
    if isinstance(value, Host) or not isinstance(value, JsObject):
        return value
    method = value.properties.get("valueOf")
    if isinstance(method, JsFunction):
        given = method.call(value, [])
        if not isinstance(given, JsObject):
            return given
    return string_of(value)


def calculated(operator: str, left: Value, right: Value) -> Value:
    """An arithmetic or bit operator other than ``+``."""
    if isinstance(left, Host) or isinstance(right, Host):
        return UNKNOWN
    if operator in _BITS:
        return _BITS[operator](int32(left), int32(right))
    first, second = number_of(left), number_of(right)
    try:
        return normal(_ARITHMETIC[operator](first, second))
    except (ZeroDivisionError, OverflowError, ValueError):
        return _limit(operator, first, second)


def _limit(operator: str, first: int | float, second: int | float) -> float:
    if operator == "/" and second == 0 and first and not math.isnan(first):
        return math.copysign(math.inf, first)
    return math.inf if operator == "**" else math.nan


def _power(first: int | float, second: int | float) -> float:
    result = float(first) ** float(second)
    return result if isinstance(result, float) else math.nan


_ARITHMETIC: dict[str, Callable[[int | float, int | float], int | float]] = {
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": math.fmod,
    "**": _power,
}
_BITS: dict[str, Callable[[int, int], int]] = {
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: int32(a << (b & 31)),
    ">>": lambda a, b: a >> (b & 31),
    ">>>": lambda a, b: (a & 0xFFFFFFFF) >> (b & 31),
}


def compared(operator: str, left: Value, right: Value) -> Value:
    """An operator that compares; ``UNKNOWN`` if it depends on a Host."""
    if operator in ("==", "===", "!=", "!=="):
        same = _is_same(left, right, is_strict=len(operator) == 3)
        return same if isinstance(same, Host) else same is (operator[0] == "=")
    if isinstance(left, Host) or isinstance(right, Host):
        return UNKNOWN
    left, right = _primitive(left), _primitive(right)
    if isinstance(left, str) and isinstance(right, str):
        order = (left > right) - (left < right)
    else:
        first, second = number_of(left), number_of(right)
        if math.isnan(first) or math.isnan(second):
            return False
        order = (first > second) - (first < second)
    return {"<": order < 0, ">": order > 0, "<=": order <= 0, ">=": order >= 0}[operator]


def _is_same(left: Value, right: Value, *, is_strict: bool) -> bool | Host:
    if left is right:
        return not (isinstance(left, float) and math.isnan(left))
    nothing = (left is None or left is UNDEFINED, right is None or right is UNDEFINED)
    if any(nothing):
        return all(nothing) and not is_strict
    if isinstance(left, Host) or isinstance(right, Host):
        return UNKNOWN
    if isinstance(left, JsObject) and isinstance(right, JsObject):
        return False
    if is_strict and type_of(left) != type_of(right):
        return False
    left, right = _primitive(left), _primitive(right)
    if any(isinstance(one, str) and has_placeholder(one) for one in (left, right)):
        return UNKNOWN if left != right else True
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    return number_of(left) == number_of(right)


def type_of(value: Value) -> str:
    """The operator ``typeof``."""
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if value is UNDEFINED:
        return "undefined"
    return "function" if isinstance(value, JsFunction) else "object"


def rendered(value: Value, depth: int = 0) -> str:
    """Write ``value`` as it would be written in code; long and deep values are cut."""
    if isinstance(value, str):
        text = value[:MAX_RENDERED_CHARS].replace("\\", "\\\\").replace('"', '\\"')
        return '"' + text.replace("\r", "\\r").replace("\n", "\\n") + '"'
    if isinstance(value, Host):
        return value.path
    if isinstance(value, JsFunction):
        return "function"
    if isinstance(value, JsArray | JsObject) and depth >= 3:
        return "…"
    if isinstance(value, JsArray):
        return "[" + ", ".join(rendered(one, depth + 1) for one in value.items[:MAX_LISTED]) + "]"
    if isinstance(value, JsObject) and type(value) is JsObject:
        pairs = [f"{name}: {rendered(one, depth + 1)}" for name, one in list(value.properties.items())[:MAX_LISTED]]
        return "{" + ", ".join(pairs) + "}"
    return string_of(value)[:MAX_RENDERED_CHARS]
