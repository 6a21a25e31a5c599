"""The state of an evaluation: its budget, what it recorded, and how properties are read, set and called.

Nothing of a script reaches the system: a call of something that the language itself does not define is only recorded,
with its arguments, and returns a ``Host``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from svc.assistant.skills.script.javascript.methods import Method, methods_of
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
    StoppedError,
    Value,
    number_of,
    rendered,
    string_of,
)

MAX_STEPS = 400_000
MAX_LATER_STEPS = 80_000  # for what the system would call later
MAX_CALLS = 600  # that are recorded
MAX_RECORDED_CHARS = 300_000
MAX_EXECUTED = 24  # texts that are executed as code
ITEMS_PER_STEP = 20  # elements that a method reads in the time of one step
MAX_DEPTH = 45  # of calls within calls
MAX_QUEUED = 200  # functions that the system would call
MAX_WRITTEN_INDEX = 200_000
_RUN_LATER = frozenset({"settimeout", "setinterval", "execscript", "eval"})
_CREATES = frozenset({"createobject", "getobject"})
_ANSWERS: dict[str, Value] = {
    "status": 200, "readystate": 4, "size": 250_000, "position": 0, "scriptfullname": "%SCRIPT%\\script.js",
    "scriptname": "script.js", "fullname": "C:\\Windows\\System32\\wscript.exe",
}  # fmt: skip
"""What a server or the script host would most likely answer, by property."""
_FOLDERS = ("C:\\Windows", "C:\\Windows\\System32", "%TEMP%")


class ExecutedText(msgspec.Struct, frozen=True):
    """A text that the script executes as code or writes into a page, and how."""

    how: str
    text: str


class Machine:
    """One evaluation of one script."""

    def __init__(self, run: Callable[[str], Value]) -> None:
        self.steps_left: int = MAX_STEPS
        self.depth: int = 0
        self.clock: int = 1_767_225_600_000
        self.calls: list[str] = []
        self.executed: list[ExecutedText] = []
        self.queue: list[JsFunction] = []
        self.globals: dict[str, Value] = {}
        self._run = run
        self._recorded_chars = 0
        self._seen: set[str] = set()

    def charge(self, steps: int) -> None:
        """Count ``steps``; raises StoppedError if there are none left."""
        self.steps_left -= steps
        if self.steps_left < 0:
            raise StoppedError

    def now(self) -> int:
        """A clock that goes on irregularly, as a real one does."""
        self.clock += 17 + self.clock % 7
        return self.clock

    def record(self, call: str) -> None:
        """Keep a call or an assignment that would reach the system; each once."""
        if call not in self._seen and len(self.calls) < MAX_CALLS and self._recorded_chars < MAX_RECORDED_CHARS:
            self._seen.add(call)
            self._recorded_chars += len(call)
            self.calls.append(call)

    def execute(self, how: str, text: str) -> Value:
        """Keep a text that is executed as code, and evaluate it as well."""
        return self._run(text) if self.keep(how, text) else UNDEFINED

    def keep(self, how: str, text: str) -> bool:
        """Keep a text that is executed as code or written into a page; whether the limit still allowed it."""
        if len(self.executed) >= MAX_EXECUTED or not text.strip():
            return False
        self.executed.append(ExecutedText(how, text))
        return True

    def later(self, value: Value) -> None:
        """Keep a function that the system would call."""
        if isinstance(value, JsFunction) and value.source and len(self.queue) < MAX_QUEUED:
            self.queue.append(value)
        elif type(value) is JsObject:
            for one in list(value.properties.values())[:20]:
                if isinstance(one, JsFunction):
                    self.later(one)

    # -- properties

    def get(self, target: Value, name: Value) -> Value:
        """Read a property."""
        if isinstance(target, Host):
            return self._host_property(target, string_of(name))
        if target is None or target is UNDEFINED:
            raise JsThrownError(JsObject({"message": f"no property {string_of(name)[:60]}", "name": "TypeError"}))
        if isinstance(name, int) and not isinstance(name, bool):
            return _element(target, name)
        key = string_of(name)
        if key == "length" and isinstance(target, str | JsArray | JsBytes):
            return len(
                target.items if isinstance(target, JsArray) else target.data if isinstance(target, JsBytes) else target
            )
        if key.isdecimal() and isinstance(target, str | JsArray | JsBytes) and len(key) < 9:
            return _element(target, int(key))
        return self._named(target, key)

    def _named(self, target: Value, key: str) -> Value:
        holder = target if isinstance(target, JsObject) else None
        while holder is not None:
            if key in holder.properties:
                return holder.properties[key]
            holder = holder.prototype
        if key == "constructor":
            return self._constructor(target)
        method = methods_of(target).get(key)
        if method is not None:
            return JsFunction(self._charged(method), key)
        if isinstance(target, JsFunction) and key == "prototype":
            target.properties["prototype"] = made = JsObject({"constructor": target})
            return made
        if key == "toString" and isinstance(target, JsObject):
            return JsFunction(lambda this, given: string_of(this), "toString")
        if key == "hasOwnProperty" and isinstance(target, JsObject):
            return JsFunction(
                lambda this, given: (
                    isinstance(this, JsObject) and string_of(given[0] if given else "") in this.properties
                ),
                key,
            )
        return UNDEFINED

    def _charged(self, method: Method) -> Callable[[Value, list[Value]], Value]:
        """A method of the language that costs as much as the arrays and texts that it reads."""

        def call(this: Value, given: list[Value]) -> Value:
            self.charge(sum(_size(one) for one in (this, *given)) // ITEMS_PER_STEP)
            return method(self, this, given)

        return call

    def _constructor(self, target: Value) -> Value:
        names = (
            (str, "String"),
            (int, "Number"),
            (float, "Number"),
            (JsArray, "Array"),
            (JsFunction, "Function"),
            (JsPattern, "RegExp"),
        )
        name = (
            "Boolean"
            if isinstance(target, bool)
            else next((word for kind, word in names if isinstance(target, kind)), "Object")
        )
        return self.globals.get(name, UNDEFINED)

    def _host_property(self, target: Host, name: str) -> Value:
        if name in target.properties:
            return target.properties[name]
        if name.lower() in _ANSWERS and not target.is_root:
            return _ANSWERS[name.lower()]
        if name.lower() in ("scriptfullname", "scriptname", "fullname"):
            return _ANSWERS[name.lower()]
        if target is UNKNOWN:
            return UNKNOWN
        return Host(
            f"{target.path}.{name}" if name.replace("$", "_").isidentifier() else f"{target.path}[{rendered(name)}]"
        )

    def set(self, target: Value, name: Value, value: Value) -> None:
        """Set a property; that of a Host is recorded."""
        if isinstance(target, Host):
            key = string_of(name)
            target.properties[key] = value
            self._host_set(target, key, value)
        elif isinstance(target, JsArray):
            self._set_element(target, name, value)
        elif isinstance(target, JsObject):
            key = string_of(name)
            target.properties[key] = value
            if target.properties is self.globals:
                self.global_set(key, value)

    def global_set(self, name: str, value: Value) -> None:
        """Record that the page goes elsewhere."""
        if name == "location":
            self.record(f"location = {rendered(value)};")

    def _host_set(self, target: Host, key: str, value: Value) -> None:
        if isinstance(value, JsFunction | JsObject) and not isinstance(value, Host):
            self.later(value)
        if target is not UNKNOWN:
            self.record(f"{target.path}.{key} = {rendered(value)};")
        if key.lower() in ("innerhtml", "outerhtml", "srcdoc") and isinstance(value, str):
            self.keep("text written into the page", value)

    def _set_element(self, target: JsArray, name: Value, value: Value) -> None:
        number = number_of(name)
        if name == "length":
            length = number_of(value)
            if isinstance(length, int) and 0 <= length <= len(target.items):
                del target.items[length:]
        elif isinstance(number, int) and 0 <= number < MAX_WRITTEN_INDEX:
            missing = number + 1 - len(target.items)
            if missing > 0:
                self.charge(missing // 4)
                target.items.extend([UNDEFINED] * missing)
            target.items[number] = value
        else:
            target.properties[string_of(name)] = value

    # -- calls

    def call(self, function: Value, this: Value, arguments: list[Value]) -> Value:
        """Call a function; something unknown is recorded."""
        self.charge(2)
        if isinstance(function, JsFunction):
            if self.depth >= MAX_DEPTH:
                raise StoppedError
            self.depth += 1
            function.is_called = True
            try:
                return function.call(this, arguments)
            finally:
                self.depth -= 1
        if isinstance(function, Host):
            return self.call_host(function, arguments)
        for one in arguments:
            self.later(one)
        return UNKNOWN

    def call_host(self, function: Host, arguments: list[Value], *, is_new: bool = False) -> Value:
        """Record a call of something that the system defines, and return what stands for its result."""
        for one in arguments:
            self.later(one)
        name = function.path.rsplit(".", 1)[-1].lower()
        if is_new or name in _CREATES:
            return self._created(function, arguments, name)
        if name in _RUN_LATER and arguments and isinstance(arguments[0], str):
            return self.execute("text executed as code", arguments[0])
        if name in ("write", "writeln") and function.path.lower().startswith("document.") and arguments:
            self.keep("text written into the page", string_of(arguments[0]))
        if function is UNKNOWN:
            return UNKNOWN
        call = f"{function.path}({', '.join(rendered(one) for one in arguments[:8])})"
        self.record(call + ";")
        return self._answer(name, arguments, call)

    def _created(self, function: Host, arguments: list[Value], name: str) -> Value:
        known = name in _CREATES or name == "activexobject"
        made = "ActiveXObject" if known else function.path
        path = f"new {made}({', '.join(rendered(one) for one in arguments[:4])})"
        if function is not UNKNOWN:
            self.record(path + ";")
        return Host(path)

    def _answer(self, name: str, arguments: list[Value], call: str) -> Value:
        first = arguments[0] if arguments else UNDEFINED
        if name == "expandenvironmentstrings" and isinstance(first, str):
            return first
        if name == "getspecialfolder":
            number = number_of(first)
            return _FOLDERS[number] if isinstance(number, int) and 0 <= number < 3 else "%TEMP%"
        if name == "gettempname":
            return "rad00000.tmp"
        if name == "environment" or call.lower().startswith("unknown"):
            return Host(call)
        if name == "buildpath" and len(arguments) > 1:
            return f"{string_of(first)}\\{string_of(arguments[1])}"
        return Host(call)


def _size(value: Value) -> int:
    if isinstance(value, JsArray):
        return len(value.items)
    return len(value) // 100 if isinstance(value, str) else 0


def _element(target: Value, index: int) -> Value:
    if isinstance(target, str):
        return target[index] if 0 <= index < len(target) else UNDEFINED
    if isinstance(target, JsArray):
        return target.items[index] if 0 <= index < len(target.items) else UNDEFINED
    if isinstance(target, JsBytes):
        return target.data[index] if 0 <= index < len(target.data) else UNDEFINED
    return target.properties.get(str(index), UNDEFINED) if isinstance(target, JsObject) else math.nan
