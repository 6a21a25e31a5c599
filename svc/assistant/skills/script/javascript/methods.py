"""The methods of strings, arrays, numbers, functions, patterns and bytes. Source: ECMAScript 2025, Node.js Buffer."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable
from functools import cmp_to_key
from typing import Protocol

from svc.assistant.skills.script.javascript import patterns
from svc.assistant.skills.script.javascript.values import (
    UNDEFINED,
    UNKNOWN,
    Host,
    JsArray,
    JsBytes,
    JsFunction,
    JsObject,
    JsPattern,
    Value,
    bounded,
    compared,
    has_placeholder,
    is_truthy,
    number_of,
    number_text,
    string_of,
)

MAX_ITEMS = 200_000


class SizeBudget(Protocol):
    """What limits the evaluation."""

    def charge(self, steps: int) -> None:
        """Count ``steps``; raises StoppedError if there are none left."""


Method = Callable[[SizeBudget, Value, list[Value]], Value]


def _argument(arguments: list[Value], index: int) -> Value:
    return arguments[index] if index < len(arguments) else UNDEFINED


def _whole(value: Value, default: int) -> int:
    if value is UNDEFINED:
        return default
    number = number_of(value)
    if isinstance(number, int):
        return number
    if math.isnan(number):
        return 0
    return int(max(-1e9, min(1e9, number)))


def _index(value: Value, length: int, default: int) -> int:
    """An index that counts from the end if it is negative, as slice and splice use it."""
    number = _whole(value, default)
    return max(0, length + number) if number < 0 else min(number, length)


def _text(this: Value) -> str:
    return string_of(this)


def _substring(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    text = _text(this)
    start = max(0, min(_whole(_argument(given, 0), 0), len(text)))
    end = max(0, min(_whole(_argument(given, 1), len(text)), len(text)))
    return text[min(start, end) : max(start, end)]


def _substr(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    text = _text(this)
    start = _index(_argument(given, 0), len(text), 0)
    return text[start : start + max(0, _whole(_argument(given, 1), len(text)))]


def _slice(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    sequence = this.items if isinstance(this, JsArray) else _text(this)
    start = _index(_argument(given, 0), len(sequence), 0)
    end = _index(_argument(given, 1), len(sequence), len(sequence))
    part = sequence[start:end]
    return part if isinstance(part, str) else JsArray(part)


def _char_at(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    text, index = _text(this), _whole(_argument(given, 0), 0)
    return text[index] if 0 <= index < len(text) else ""


def _code_at(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    text, index = _text(this), _whole(_argument(given, 0), 0)
    return ord(text[index]) if 0 <= index < len(text) else math.nan


def _split(budget: SizeBudget, this: Value, given: list[Value]) -> Value:
    text, by = _text(this), _argument(given, 0)
    budget.charge(len(text) // 200)
    if isinstance(by, JsPattern):
        result = patterns.split(by, text, budget.charge)
        return UNKNOWN if result is UNDEFINED else result
    if by is UNDEFINED:
        return JsArray([text])
    separator = string_of(by)
    parts = text.split(separator) if separator else list(text)
    limit = _argument(given, 1)
    return JsArray(list(parts[: _whole(limit, 0)] if limit is not UNDEFINED else parts))


def _replace(budget: SizeBudget, this: Value, given: list[Value], count: int = 1) -> Value:
    text, old, new = _text(this), _argument(given, 0), _argument(given, 1)
    budget.charge(len(text) // 200)
    if isinstance(old, JsPattern):
        result = patterns.replaced(old, text, new, budget.charge)
        return UNKNOWN if result is UNDEFINED else bounded(string_of(result))
    wanted = string_of(old)
    if isinstance(new, JsFunction):
        new = new.call(UNDEFINED, [wanted]) if wanted in text else ""
    if len(text) > 20_000 and count < 0:
        budget.charge(len(text) // 10)
    return bounded(text.replace(wanted, string_of(new), count))


def _match(budget: SizeBudget, this: Value, given: list[Value]) -> Value:
    pattern = _argument(given, 0)
    if not isinstance(pattern, JsPattern):
        pattern = JsPattern(string_of(pattern), "")
    result = patterns.matches(pattern, _text(this), budget.charge)
    return UNKNOWN if result is UNDEFINED or (result is None and has_placeholder(_text(this))) else result


def _search(budget: SizeBudget, this: Value, given: list[Value]) -> Value:
    pattern = _argument(given, 0)
    if not isinstance(pattern, JsPattern):
        return _text(this).find(string_of(pattern))
    found = patterns.compiled(pattern, _text(this), budget.charge)
    match = None if found is None else found.search(_text(this))
    return UNKNOWN if found is None else (-1 if match is None else match.start())


def _repeat(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    text, times = _text(this), _whole(_argument(given, 0), 0)
    bounded("" if len(text) * max(0, times) < 2_000_000 else " " * 2_000_001)
    return text * max(0, times)


def _pad(*, is_start: bool) -> Method:
    def padded(_: SizeBudget, this: Value, given: list[Value]) -> Value:
        text, length = _text(this), min(_whole(_argument(given, 0), 0), 100_000)
        filling = " " if _argument(given, 1) is UNDEFINED else string_of(given[1])
        if length <= len(text) or not filling:
            return text
        extra = (filling * (length // len(filling) + 1))[: length - len(text)]
        return extra + text if is_start else text + extra

    return padded


def _concat(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    if isinstance(this, JsArray):
        items = list(this.items)
        for one in given:
            items.extend(one.items if isinstance(one, JsArray) else [one])
        return JsArray(items[:MAX_ITEMS])
    return bounded(_text(this) + "".join(map(string_of, given)))


def _tag(name: str, attribute: str = "") -> Method:
    def tagged(_: SizeBudget, this: Value, given: list[Value]) -> Value:
        value = string_of(_argument(given, 0)).replace('"', "&quot;")
        opened = f'{name} {attribute}="{value}"' if attribute else name
        return bounded(f"<{opened}>{_text(this)}</{name}>")

    return tagged


def _index_of(*, is_last: bool) -> Method:
    def found(budget: SizeBudget, this: Value, given: list[Value]) -> Value:
        wanted = _argument(given, 0)
        if isinstance(this, JsArray):
            budget.charge(len(this.items) // 10)
            indexes = [index for index, one in enumerate(this.items) if compared("===", one, wanted) is True]
            return (indexes[-1 if is_last else 0]) if indexes else -1
        text = _text(this)
        budget.charge(len(text) // 500)
        start = 0 if is_last else max(0, _whole(_argument(given, 1), 0))
        index = text.rfind(string_of(wanted)) if is_last else text.find(string_of(wanted), start)
        return UNKNOWN if index < 0 and (has_placeholder(text) or isinstance(wanted, Host)) else index

    return found


def _includes(budget: SizeBudget, this: Value, given: list[Value]) -> Value:
    index = _index_of(is_last=False)(budget, this, given)
    return index >= 0 if isinstance(index, int) else index


STRING: dict[str, Method] = {
    "substring": _substring,
    "substr": _substr,
    "slice": _slice,
    "charAt": _char_at,
    "at": lambda budget, this, given: _char_at(budget, this, [_index(_argument(given, 0), len(_text(this)), 0)]),
    "charCodeAt": _code_at,
    "codePointAt": _code_at,
    "split": _split,
    "replace": _replace,
    "replaceAll": lambda budget, this, given: _replace(budget, this, given, -1),
    "match": _match,
    "search": _search,
    "repeat": _repeat,
    "padStart": _pad(is_start=True),
    "padEnd": _pad(is_start=False),
    "concat": _concat,
    "indexOf": _index_of(is_last=False),
    "lastIndexOf": _index_of(is_last=True),
    "includes": _includes,
    "startsWith": lambda _, this, given: (
        UNKNOWN if has_placeholder(_text(this)) else _text(this).startswith(string_of(_argument(given, 0)))
    ),
    "endsWith": lambda _, this, given: (
        UNKNOWN if has_placeholder(_text(this)) else _text(this).endswith(string_of(_argument(given, 0)))
    ),
    "toUpperCase": lambda _, this, given: _text(this).upper(),
    "toLowerCase": lambda _, this, given: _text(this).lower(),
    "toLocaleLowerCase": lambda _, this, given: _text(this).lower(),
    "trim": lambda _, this, given: _text(this).strip(),
    "toString": lambda _, this, given: _text(this),
    "valueOf": lambda _, this, given: this,
    "italics": _tag("i"),
    "bold": _tag("b"),
    "sub": _tag("sub"),
    "sup": _tag("sup"),
    "link": _tag("a", "href"),
    "fontcolor": _tag("font", "color"),
    "fontsize": _tag("font", "size"),
    "anchor": _tag("a", "name"),
    "big": _tag("big"),
    "small": _tag("small"),
    "strike": _tag("strike"),
    "blink": _tag("blink"),
}


def _items(this: Value) -> list[Value]:
    return this.items if isinstance(this, JsArray) else []


def _push(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    items = _items(this)
    if len(items) < MAX_ITEMS:
        items.extend(given)
    return len(items)


def _unshift(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    items = _items(this)
    items[:0] = given if len(items) < MAX_ITEMS else []
    return len(items)


def _splice(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    items = _items(this)
    start = _index(_argument(given, 0), len(items), 0)
    count = max(0, _whole(_argument(given, 1), len(items)))
    removed = items[start : start + count]
    items[start : start + count] = given[2:]
    return JsArray(removed)


def _reverse(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    _items(this).reverse()
    return this


def _join(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    by = _argument(given, 0)
    separator = "," if by is UNDEFINED else string_of(by)
    parts = ["" if one is None or one is UNDEFINED else string_of(one) for one in _items(this)]
    return bounded(separator.join(parts))


def _each(keep: Callable[[list[tuple[Value, Value]]], Value]) -> Method:
    """A method that calls a function with every element; ``keep`` makes the result of elements and answers."""

    def walked(budget: SizeBudget, this: Value, given: list[Value]) -> Value:
        callback = _argument(given, 0)
        if not isinstance(callback, JsFunction):
            return UNKNOWN
        answers: list[tuple[Value, Value]] = []
        for index, one in enumerate(list(_items(this))):
            budget.charge(1)
            answers.append((one, callback.call(UNDEFINED, [one, index, this])))
        return keep(answers)

    return walked


def _reduce(budget: SizeBudget, this: Value, given: list[Value]) -> Value:
    callback, items = _argument(given, 0), list(_items(this))
    if not isinstance(callback, JsFunction) or (len(given) < 2 and not items):
        return UNKNOWN
    total = given[1] if len(given) > 1 else items.pop(0)
    for index, one in enumerate(items):
        budget.charge(1)
        total = callback.call(UNDEFINED, [total, one, index, this])
    return total


def _sort(budget: SizeBudget, this: Value, given: list[Value]) -> Value:
    items, callback = _items(this), _argument(given, 0)
    budget.charge(len(items))
    if not isinstance(callback, JsFunction):
        items.sort(key=string_of)
        return this

    def order(first: Value, second: Value) -> int:
        number = number_of(callback.call(UNDEFINED, [first, second]))
        return 0 if math.isnan(number) or number == 0 else (1 if number > 0 else -1)

    items.sort(key=cmp_to_key(order))
    return this


def _fill(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    items = _items(this)
    items[:] = [_argument(given, 0)] * len(items)
    return this


ARRAY: dict[str, Method] = {
    "push": _push,
    "pop": lambda _, this, given: _items(this).pop() if _items(this) else UNDEFINED,
    "shift": lambda _, this, given: _items(this).pop(0) if _items(this) else UNDEFINED,
    "unshift": _unshift,
    "splice": _splice,
    "slice": _slice,
    "concat": _concat,
    "reverse": _reverse,
    "join": _join,
    "indexOf": _index_of(is_last=False),
    "lastIndexOf": _index_of(is_last=True),
    "includes": _includes,
    "map": _each(lambda answers: JsArray([answer for _, answer in answers])),
    "forEach": _each(lambda answers: UNDEFINED),
    "filter": _each(lambda answers: JsArray([one for one, answer in answers if is_truthy(answer)])),
    "some": _each(lambda answers: any(is_truthy(answer) for _, answer in answers)),
    "every": _each(lambda answers: all(is_truthy(answer) for _, answer in answers)),
    "find": _each(lambda answers: next((one for one, answer in answers if is_truthy(answer)), UNDEFINED)),
    "reduce": _reduce,
    "sort": _sort,
    "fill": _fill,
    "flat": lambda budget, this, given: _concat(budget, JsArray([]), list(_items(this))),
    "toString": _join,
    "entries": lambda _, this, given: JsObject({"@class": "Array Iterator"}),
    "keys": lambda _, this, given: JsArray(list(range(len(_items(this))))),
    "values": lambda _, this, given: this,
    "at": lambda _, this, given: (
        _items(this)[number]
        if -len(_items(this)) <= (number := _whole(_argument(given, 0), 0)) < len(_items(this))
        else UNDEFINED
    ),
}


def _number_text(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    return number_text(number_of(this), _whole(_argument(given, 0), 10))


NUMBER: dict[str, Method] = {
    "toString": lambda budget, this, given: (
        string_of(this) if isinstance(this, bool) else _number_text(budget, this, given)
    ),
    "toFixed": lambda _, this, given: f"{number_of(this):.{max(0, min(_whole(_argument(given, 0), 0), 20))}f}",
    "valueOf": lambda _, this, given: this,
}


def _apply(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    listed = _argument(given, 1)
    arguments = list(listed.items) if isinstance(listed, JsArray) else []
    return this.call(_argument(given, 0), arguments) if isinstance(this, JsFunction) else UNKNOWN


def _bind(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    if not isinstance(this, JsFunction):
        return UNKNOWN
    target, bound, first = this, _argument(given, 0), given[1:]
    return JsFunction(lambda _this, rest: target.call(bound, [*first, *rest]), target.name, target.source)


FUNCTION: dict[str, Method] = {
    "call": lambda _, this, given: (
        this.call(_argument(given, 0), given[1:]) if isinstance(this, JsFunction) else UNKNOWN
    ),
    "apply": _apply,
    "bind": _bind,
    "toString": lambda _, this, given: string_of(this),
}


def _executed(budget: SizeBudget, this: Value, given: list[Value]) -> Value:
    if not isinstance(this, JsPattern):
        return UNKNOWN
    text = string_of(_argument(given, 0))
    result = patterns.executed(this, text, budget.charge)
    return UNKNOWN if result is UNDEFINED or (result is None and has_placeholder(text)) else result


def _tested(budget: SizeBudget, this: Value, given: list[Value]) -> Value:
    result = _executed(budget, this, given)
    return result if isinstance(result, Host) else result is not None


PATTERN: dict[str, Method] = {"exec": _executed, "test": _tested, "toString": lambda _, this, given: string_of(this)}


def bytes_of(text: str, encoding: str) -> bytes:
    """Encode ``text`` as Buffer.from does."""
    try:
        if encoding.startswith("base64"):
            plain = text.replace("-", "+").replace("_", "/").rstrip("=")
            return base64.b64decode(plain + "=" * (-len(plain) % 4))
        if encoding == "hex":
            return bytes.fromhex(text)
    except (ValueError, binascii.Error):
        return b""
    return text.encode("latin-1" if encoding in ("latin1", "binary") else "utf-8", "replace")


def _bytes_text(_: SizeBudget, this: Value, given: list[Value]) -> Value:
    data, encoding = this.data if isinstance(this, JsBytes) else b"", string_of(_argument(given, 0))
    if encoding in ("hex", "base64") and has_placeholder(text := data.decode("utf-8", "replace")):
        return text
    if encoding == "hex":
        return data.hex()
    if encoding == "base64":
        return base64.b64encode(data).decode()
    return data.decode("latin-1" if encoding in ("latin1", "binary", "ascii") else "utf-8", "replace")


BYTES: dict[str, Method] = {"toString": _bytes_text}


def methods_of(value: Value) -> dict[str, Method]:
    """Return the methods that ``value`` has by its type."""
    if isinstance(value, str):
        return STRING
    if isinstance(value, int | float):
        return NUMBER
    for kind, methods in ((JsArray, ARRAY), (JsFunction, FUNCTION), (JsPattern, PATTERN), (JsBytes, BYTES)):
        if isinstance(value, kind):
            return methods
    return {}
