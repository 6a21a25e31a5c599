"""Scopes, signals and the small parts of which a compiled script consists."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from svc.assistant.skills.script.javascript.values import (
    UNDEFINED,
    UNKNOWN,
    Host,
    JsArray,
    JsFunction,
    JsObject,
    JsThrownError,
    Value,
    int32,
    is_truthy,
    normal,
    number_of,
    string_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{2})|u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|([0-7]{1,3})|(\r?\n)|(.))", re.DOTALL
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}
IGNORED = frozenset(["comment", "ERROR", "empty_statement", "hash_bang_line", "debugger_statement", "import_statement"])


class Scope:
    """The variables of one call; ``parent`` is where the function was written."""

    __slots__ = ("parent", "this", "variables")

    def __init__(self, variables: dict[str, Value], parent: Scope | None, this: Value) -> None:
        self.variables: dict[str, Value] = variables
        self.parent: Scope | None = parent
        self.this: Value = this

    def holder(self, name: str) -> dict[str, Value] | None:
        """Return the variables that have ``name``, or None."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.variables:
                return scope.variables
            scope = scope.parent
        return None


class Jump:
    """A statement that leaves its block: ``kind`` is break, continue or return."""

    __slots__ = ("kind", "label", "value")

    def __init__(self, kind: str, label: str = "", value: Value = UNDEFINED) -> None:
        self.kind: str = kind
        self.label: str = label
        self.value: Value = value


Expression = Callable[[Scope], Value]
Statement = Callable[[Scope], Jump | None]
Place = Callable[[Scope, Value], None]

Body = tuple[list[Callable[[Scope, list[Value]], None]], Statement | Expression, bool]
"""A function's parameters, its body, and whether that is a block."""

BREAK, CONTINUE = Jump("break"), Jump("continue")


def unescaped(text: str) -> str:
    """Return the value of the inside of a string literal."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        return _chr(int(code, 16))
    if match[4]:
        return _chr(int(match[4], 8))
    return "" if match[5] else _ESCAPES.get(match[6], match[6])


def _chr(code: int) -> str:
    return "\ufffd" if 0xD800 <= code < 0xE000 or code > 0x10FFFF else chr(code)


def nothing(_: Scope) -> Jump | None:
    """Do nothing."""
    return None


def tried(statement: Statement, scope: Scope) -> Jump | None:
    """Run a statement; what it throws is dropped."""
    try:
        return statement(scope)
    except JsThrownError:
        return None


def constant(value: Value) -> Expression:
    """An expression that is always ``value``."""
    return lambda scope: value


def field(node: Node, name: str) -> Node:
    """A node's field, or the node itself if the text is damaged there."""
    return node.child_by_field_name(name) or node


def flat(node: Node, kind: str) -> Iterator[Node]:
    """Yield the parts of nested nodes of one kind in order."""
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type == kind:
            stack.extend(reversed(current.named_children))
        elif current.type not in IGNORED:
            yield current


def walked(value: Value, *, is_of: bool) -> list[Value]:
    """The values or keys that a loop over ``value`` visits."""
    if isinstance(value, JsArray):
        return list(value.items) if is_of else [str(index) for index in range(len(value.items))]
    if isinstance(value, str):
        return list(value) if is_of else [str(index) for index in range(len(value))]
    if isinstance(value, Host):
        return [UNKNOWN if value is UNKNOWN else Host(f"{value.path}[0]")]
    return list(value.properties) if isinstance(value, JsObject) else []


def from_case(cases: list[tuple[Expression | None, Statement]], scope: Scope) -> Jump | None:
    """Run the bodies of a switch from one case on."""
    for _, body in cases:
        signal = body(scope)
        if signal is not None:
            return signal
    return None


def spread(items: list[tuple[Expression, bool]], scope: Scope) -> Iterator[Value]:
    """Yield the values of a list with its spread elements."""
    for read, is_spread in items:
        value = read(scope)
        if is_spread:
            yield from walked(value, is_of=True) if isinstance(value, JsArray | str) else [UNKNOWN]
        else:
            yield value


def logical(operator: str, left: Expression, right: Expression) -> Expression:
    """The operators that may skip their right side."""

    def read(scope: Scope) -> Value:
        value = left(scope)
        if operator == "??":
            return right(scope) if value is None or value is UNDEFINED else value
        if isinstance(value, Host) and not value.is_root:
            other = right(scope)
            return other if operator == "&&" else value
        return (
            (right(scope) if is_truthy(value) else value)
            if operator == "&&"
            else (value if is_truthy(value) else right(scope))
        )

    return read


def negated(value: Value) -> Value:
    """The operator ``!``."""
    return UNKNOWN if isinstance(value, Host) and not value.is_root else not is_truthy(value)


def signed(operator: str, value: Value) -> Value:
    """The operators ``+``, ``-`` and ``~`` with one operand."""
    if isinstance(value, Host):
        return UNKNOWN
    if operator == "~":
        return ~int32(value)
    if isinstance(value, JsObject) and isinstance(value.properties.get("getTime"), JsFunction):
        get_time = value.properties["getTime"]
        value = get_time.call(value, []) if isinstance(get_time, JsFunction) else value
    number = number_of(value)
    return normal(-number) if operator == "-" else number


def is_in(key: Value, holder: Value) -> Value:
    """The operator ``in``."""
    if isinstance(holder, Host) or not isinstance(holder, JsObject):
        return UNKNOWN
    return string_of(key) in holder.properties or (
        isinstance(holder, JsArray) and str(key).isdecimal() and int(str(key)) < len(holder.items)
    )
