"""The global functions and objects of JavaScript that build strings, and the names that the system defines."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable
from urllib.parse import quote, unquote

from svc.assistant.skills.script.javascript.machine import Machine
from svc.assistant.skills.script.javascript.methods import bytes_of, methods_of
from svc.assistant.skills.script.javascript.values import (
    UNDEFINED,
    UNKNOWN,
    Host,
    JsArray,
    JsBytes,
    JsFunction,
    JsObject,
    JsPattern,
    JsThrownError,
    Value,
    bounded,
    has_placeholder,
    is_truthy,
    normal,
    number_of,
    string_of,
)

_WIDE = re.compile(r"%u([0-9A-Fa-f]{4})")
_LEADING_NUMBER = re.compile(r"\s*([+-]?(?:0[xX])?[0-9a-zA-Z]*)")
_LEADING_FLOAT = re.compile(r"\s*[+-]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40})(?:[eE][+-]?\d{1,4})?")
_URI_KEPT = ";,/?:@&=+$-_.!~*'()#"
SCRIPT_HOST = ("WScript", "ActiveXObject", "GetObject", "Enumerator", "WSH")
BROWSER = (
    "document", "window", "location", "navigator", "localStorage", "sessionStorage", "history", "screen", "alert",
    "Image", "XMLHttpRequest", "fetch", "WebSocket", "Worker", "FormData", "MutationObserver", "jQuery", "$",
    "chrome", "browser", "addEventListener", "indexedDB", "crypto", "CoinHive", "Blob", "URL", "FileReader", "open",
)  # fmt: skip
NODE = ("require", "process", "module", "exports", "__dirname", "__filename", "setImmediate")
OTHERS = ("setTimeout", "setInterval", "execScript", "console", "Promise", "Symbol", "app", "importScripts")

Given = list[Value]


def _first(given: Given) -> Value:
    return given[0] if given else UNDEFINED


def _code_points(_: Value, given: Given) -> Value:
    return "".join(string_of(one) if isinstance(one, Host) else _character(number_of(one)) for one in given[:200_000])


def _character(code: int | float) -> str:
    number = 0 if isinstance(code, float) and (math.isnan(code) or math.isinf(code)) else int(code) & 0xFFFF
    return "\ufffd" if 0xD800 <= number < 0xE000 else chr(number)


def _parse_int(_: Value, given: Given) -> Value:
    text = string_of(_first(given))[:400]
    radix = number_of(given[1]) if len(given) > 1 else 10
    base = radix if isinstance(radix, int) and 2 <= radix <= 36 else 10
    match = _LEADING_NUMBER.match(text)
    word = match[1].lower() if match else ""
    sign, word = (-1, word[1:]) if word.startswith("-") else (1, word.lstrip("+"))
    if word.startswith("0x") and (base == 16 or len(given) < 2):
        base, word = 16, word[2:]
    digits = ""
    for char in word:
        if not char.isascii() or int(char, 36) >= base:
            break
        digits += char
    return normal(sign * int(digits, base)) if digits else math.nan


def _parse_float(_: Value, given: Given) -> Value:
    match = _LEADING_FLOAT.match(string_of(_first(given))[:400])
    return normal(float(match[0])) if match else math.nan


def _unescape(_: Value, given: Given) -> Value:
    wide = _WIDE.sub(lambda code: _character(int(code[1], 16)), string_of(_first(given)))
    return unquote(wide, encoding="latin-1")


def _decode_uri(_: Value, given: Given) -> Value:
    return unquote(string_of(_first(given)), errors="replace")


def _quoting(safe: str, encoding: str) -> Callable[[Value, Given], Value]:
    def quoted(_: Value, given: Given) -> Value:
        text = string_of(_first(given))
        return text if has_placeholder(text) else quote(text, safe=safe, encoding=encoding, errors="replace")

    return quoted


def _atob(_: Value, given: Given) -> Value:
    text = re.sub(r"\s", "", string_of(_first(given))).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4)).decode("latin-1")
    except (binascii.Error, ValueError) as error:
        raise JsThrownError(JsObject({"message": "invalid character", "name": "InvalidCharacterError"})) from error


def _btoa(_: Value, given: Given) -> Value:
    if has_placeholder(text := string_of(_first(given))):
        return text
    return base64.b64encode(string_of(_first(given)).encode("latin-1", "replace")).decode()


def _json(value: object) -> Value:
    if isinstance(value, dict):
        return JsObject({str(name): _json(one) for name, one in value.items()})
    if isinstance(value, list):
        return JsArray([_json(one) for one in value])
    return value if isinstance(value, str | int | float) or value is None else UNDEFINED


def _parse_json(_: Value, given: Given) -> Value:
    if isinstance(_first(given), Host):
        return UNKNOWN
    try:
        return _json(json.loads(string_of(_first(given))))
    except (ValueError, RecursionError) as error:
        raise JsThrownError(JsObject({"message": "unexpected token", "name": "SyntaxError"})) from error


def _plain(value: Value, depth: int = 0) -> object:
    if isinstance(value, JsArray) and depth < 6:
        return [_plain(one, depth + 1) for one in value.items[:1_000]]
    if type(value) is JsObject and depth < 6:
        return {name: _plain(one, depth + 1) for name, one in list(value.properties.items())[:1_000]}
    return value if isinstance(value, str | int | float) or value is None else string_of(value)


def _stringified(_: Value, given: Given) -> Value:
    return bounded(json.dumps(_plain(_first(given)), separators=(",", ":"), ensure_ascii=False))


def _array(_: Value, given: Given) -> Value:
    length = _first(given)
    if len(given) == 1 and isinstance(length, int) and not isinstance(length, bool) and 0 <= length <= 100_000:
        return JsArray([UNDEFINED] * length)
    return JsArray(list(given))


def _array_from(_: Value, given: Given) -> Value:
    source, items = _first(given), []
    if isinstance(source, str):
        items = list[Value](source)
    elif isinstance(source, JsArray):
        items = list(source.items)
    elif isinstance(source, JsBytes):
        items = list[Value](source.data)
    elif isinstance(source, JsObject):
        length = number_of(source.properties.get("length", 0))
        items = [UNDEFINED] * (length if isinstance(length, int) and 0 <= length < 50_000 else 0)
    convert = given[1] if len(given) > 1 else None
    if isinstance(convert, JsFunction):
        items = [convert.call(UNDEFINED, [one, index]) for index, one in enumerate(items)]
    return JsArray(items)


def _buffer_from(_: Value, given: Given) -> Value:
    source = _first(given)
    if isinstance(source, JsArray):
        return JsBytes(bytes(int(number_of(one)) & 255 for one in source.items if isinstance(one, int)))
    return JsBytes(bytes_of(string_of(source), string_of(given[1]).lower() if len(given) > 1 else "utf8"))


def _keys(_: Value, given: Given) -> Value:
    value = _first(given)
    if isinstance(value, JsArray):
        return JsArray([str(index) for index in range(len(value.items))])
    return JsArray(list(value.properties)) if isinstance(value, JsObject) else JsArray([])


def _assign(_: Value, given: Given) -> Value:
    target = _first(given)
    for one in given[1:]:
        if isinstance(target, JsObject) and isinstance(one, JsObject):
            target.properties.update(one.properties)
    return target


def _math() -> JsObject:
    def unary(function: Callable[[float], float]) -> JsFunction:
        def call(_: Value, given: Given) -> Value:
            if isinstance(_first(given), Host):
                return UNKNOWN
            try:
                return normal(function(number_of(_first(given))))
            except (ValueError, OverflowError):
                return math.nan

        return JsFunction(call, getattr(function, "__name__", "f"))

    def extreme(choose: Callable[[list[int | float]], int | float]) -> JsFunction:
        return JsFunction(lambda _, given: choose([number_of(one) for one in given]) if given else math.nan)

    names: dict[str, Value] = {
        "floor": unary(math.floor), "ceil": unary(math.ceil), "round": unary(lambda x: math.floor(x + 0.5)),
        "abs": unary(abs), "sqrt": unary(math.sqrt), "sin": unary(math.sin), "cos": unary(math.cos),
        "tan": unary(math.tan),
        "log": unary(math.log), "exp": unary(math.exp), "trunc": unary(math.trunc), "atan": unary(math.atan),
        "max": extreme(max), "min": extreme(min), "PI": math.pi, "E": math.e,
        "random": JsFunction(lambda _, given: 0.5, "random"),
        "pow": JsFunction(lambda _, given: _power(given), "pow"),
    }  # fmt: skip
    return JsObject(names)


def _power(given: Given) -> Value:
    try:
        return normal(float(number_of(_first(given))) ** float(number_of(given[1] if len(given) > 1 else UNDEFINED)))
    except (OverflowError, ZeroDivisionError, TypeError):
        return math.nan


_DATE_PARTS = {
    "getfullyear": 2026,
    "getyear": 126,
    "getmonth": 0,
    "getdate": 15,
    "getday": 4,
    "gethours": 12,
    "getminutes": 30,
}


def _always(value: Value) -> Callable[[Value, Given], Value]:
    return lambda this, given: value


def _date(machine: Machine) -> JsFunction:
    def make(_: Value, given: Given) -> Value:
        moment = number_of(_first(given)) if given else machine.now()

        def part(name: str) -> Value:
            if name.lower().replace("utc", "") in _DATE_PARTS:
                return _DATE_PARTS[name.lower().replace("utc", "")]
            whole = int(moment) if isinstance(moment, int) else machine.clock
            return whole % 1_000 if "milli" in name.lower() else whole // 1_000 % 60 if "sec" in name.lower() else whole

        names = [
            f"get{utc}{one}"
            for utc in ("", "UTC")
            for one in ("FullYear", "Month", "Date", "Day", "Hours", "Minutes", "Seconds", "Milliseconds")
        ]
        found: dict[str, Value] = {}
        for name in (*names, "getTime", "valueOf", "getYear"):
            found[name] = JsFunction(_always(part(name)), name)
        found["toString"] = JsFunction(
            lambda _this, _given: "Thu Jan 15 2026 12:30:00 GMT+0000 (Coordinated Universal Time)"
        )
        found["toUTCString"] = found["toGMTString"] = JsFunction(lambda _this, _given: "Thu, 15 Jan 2026 12:30:00 GMT")
        found["toISOString"] = JsFunction(lambda _this, _given: "2026-01-15T12:30:00.000Z")
        return JsObject(found)

    made = JsFunction(make, "Date")
    made.properties["now"] = JsFunction(lambda _, given: machine.now(), "now")
    return made


def _function(machine: Machine, evaluate: Callable[[str], Value]) -> JsFunction:
    def make(_: Value, given: Given) -> Value:
        body = string_of(given[-1]) if given else ""
        names = ",".join(string_of(one) for one in given[:-1])
        if body.strip() and not re.fullmatch(r"\s*return\s+[\w.]{1,20}\s*;?\s*", body):
            machine.keep("text executed as code", body)
        return evaluate(f"(function anonymous({names}) {{\n{body}\n}})")

    return JsFunction(make, "Function")


def _pattern(_: Value, given: Given) -> Value:
    source = _first(given)
    text = source.source if isinstance(source, JsPattern) else string_of(source) if given else ""
    return JsPattern(text, string_of(given[1]) if len(given) > 1 else "")


def _evaluated(machine: Machine, value: Value) -> Value:
    if isinstance(value, str):
        return machine.execute("text executed as code", value)
    if isinstance(value, Host):
        machine.record(f"eval({value.path});")
    return value


def _wrapped(name: str, convert: Callable[[Value], Value], **more: JsFunction) -> JsFunction:
    made = JsFunction(lambda _, given: convert(given[0]) if given else convert(""), name)
    made.properties.update(more)
    return made


def _prototype_of(sample: Value, machine: Machine) -> JsObject:
    """The methods of a type as properties: ``Array.prototype.slice``."""
    methods = methods_of(sample)
    return JsObject({name: JsFunction(_bound(machine, name, sample), name) for name in methods})


def _bound(machine: Machine, name: str, sample: Value) -> Callable[[Value, Given], Value]:
    method = methods_of(sample)[name]
    return lambda this, given: method(machine, this, given)


def _add_prototypes(names: dict[str, Value], machine: Machine) -> None:
    names["TypeError"] = names["ReferenceError"] = names["Error"]
    for name, sample in (("Array", JsArray([])), ("String", ""), ("Function", JsFunction(_atob)), ("Number", 0)):
        holder = names[name]
        if isinstance(holder, JsObject):
            holder.properties["prototype"] = _prototype_of(sample, machine)


def library(machine: Machine, evaluate: Callable[[str], Value], *, is_browser: bool) -> dict[str, Value]:
    """Return the global names; ``evaluate`` evaluates an expression's text."""
    natives: dict[str, Callable[[Value, Given], Value]] = {
        "parseInt": _parse_int, "parseFloat": _parse_float, "unescape": _unescape, "decodeURIComponent": _decode_uri,
        "decodeURI": _decode_uri, "atob": _atob, "btoa": _btoa,
        "escape": _quoting("@*_+-./", "latin-1"),
        "encodeURIComponent": _quoting("-_.!~*'()", "utf-8"),
        "encodeURI": _quoting(_URI_KEPT, "utf-8"),
        "isNaN": lambda _, given: math.isnan(number_of(_first(given))),
        "isFinite": lambda _, given: math.isfinite(number_of(_first(given))),
        "eval": lambda _, given: _evaluated(machine, _first(given)),
        "RegExp": _pattern,
        "Error": lambda _, given: JsObject({"message": string_of(_first(given)), "name": "Error"}),
    }  # fmt: skip
    names: dict[str, Value] = {name: JsFunction(call, name) for name, call in natives.items()}
    codes = JsFunction(_code_points, "fromCharCode")
    names["String"] = _wrapped("String", string_of, fromCharCode=codes, fromCodePoint=codes)
    names["Number"] = _wrapped(
        "Number", number_of, parseInt=JsFunction(_parse_int), parseFloat=JsFunction(_parse_float)
    )
    names["Boolean"] = _wrapped("Boolean", is_truthy)
    is_array = JsFunction(lambda _, given: isinstance(_first(given), JsArray), "isArray")
    arrays = JsFunction(_array, "Array")
    arrays.properties.update(
        {"isArray": is_array, "from": JsFunction(_array_from), "of": JsFunction(lambda _, given: JsArray(list(given)))}
    )
    objects = _objects()
    names |= {
        "Array": arrays,
        "Object": objects,
        "Math": _math(),
        "Date": _date(machine),
        "Function": _function(machine, evaluate),
    }
    _add_prototypes(names, machine)
    objects.properties["prototype"] = JsObject(
        {
            "toString": JsFunction(lambda this, given: f"[object {_class_of(this)}]", "toString"),
            "hasOwnProperty": JsFunction(
                lambda this, given: isinstance(this, JsObject) and string_of(_first(given)) in this.properties
            ),
        }
    )
    names["JSON"] = JsObject({"parse": JsFunction(_parse_json), "stringify": JsFunction(_stringified)})
    names["Buffer"] = JsFunction(_buffer_from, "Buffer")
    names["Buffer"].properties["from"] = JsFunction(_buffer_from, "from")  # type: ignore[attr-defined]
    names["Uint8Array"] = JsFunction(
        lambda _, given: given[0] if given and isinstance(given[0], JsArray) else _array(_, given), "Uint8Array"
    )
    names |= {"NaN": math.nan, "Infinity": math.inf, "undefined": UNDEFINED}
    hosts = (*SCRIPT_HOST, *NODE, *OTHERS, *(BROWSER if is_browser else ()))
    return {**{name: Host(name, is_root=True) for name in hosts}, **names}


def _objects() -> JsFunction:
    """``Object``, without its prototype."""
    objects = _wrapped(
        "Object",
        lambda value: value if isinstance(value, JsObject) else JsObject(),
        keys=JsFunction(_keys),
        assign=JsFunction(_assign),
    )
    for name in ("defineProperty", "freeze", "create", "defineProperties", "setPrototypeOf", "seal"):
        objects.properties[name] = JsFunction(
            lambda _, given: given[0] if given and isinstance(given[0], JsObject) else JsObject(), name
        )
    return objects


def _class_of(value: Value) -> str:
    kinds = (
        (JsArray, "Array"),
        (JsFunction, "Function"),
        (str, "String"),
        (bool, "Boolean"),
        (int, "Number"),
        (float, "Number"),
    )
    return next((word for kind, word in kinds if isinstance(value, kind)), "Null" if value is None else "Object")
