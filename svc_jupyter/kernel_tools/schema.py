"""A function as a tool: what it does and takes, from signature, type hints and docstring; and a call's arguments.

Decides what may be a tool; runs none. A type that JSON has no form for is refused when the function is offered, not
when a model calls it.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union

import docstring_parser
import msgspec
from msgspec import UNSET, Meta, UnsetType

from svc import LocalTool
from svc.untrusted.characters import one_line
from svc_jupyter.errors import AskError

Function = Callable[..., object]
MAX_DESCRIPTION_CHARS = 2_000
MAX_ERROR_CHARS = 500
_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")
_ONE_BY_ONE = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class ArgumentsError(Exception):
    """A call's arguments are not what the function takes."""


@dataclass(frozen=True)
class Tool:
    """A function that is offered. ``timeout_seconds`` is how long a call may take."""

    function: Function
    offer: LocalTool
    timeout_seconds: float
    _arguments: type[msgspec.Struct]

    def arguments(self, given: Mapping[str, object]) -> dict[str, object]:
        """What the function is called with; raises ArgumentsError."""
        try:
            read = msgspec.convert(dict(given), self._arguments, strict=False)
        except (msgspec.ValidationError, TypeError, RecursionError) as error:
            raise ArgumentsError(f"wrong arguments: {one_line(str(error), limit=MAX_ERROR_CHARS)}") from None
        values = {name: getattr(read, name) for name in read.__struct_fields__}
        return {name: value for name, value in values.items() if value is not UNSET}


def read_tool(function: Function, *, name: str | None, timeout_seconds: float) -> Tool:
    """The function as a tool; raises AskError where it cannot be one."""
    if not callable(function) or isinstance(function, type):
        raise AskError(f"@tool is for functions, not for {type(function).__name__}.")
    name = name or str(getattr(function, "__name__", ""))
    if not _NAME.fullmatch(name):
        raise AskError(f"a tool is called by 1 to 64 of A-Z a-z 0-9 _, not {name!r}: @tool(name=...) names it.")
    if not timeout_seconds > 0:
        raise AskError(f"{name}: timeout_seconds is {timeout_seconds:g}; a call takes some time.")
    words = docstring_parser.parse(inspect.getdoc(function) or "")
    said = {param.arg_name: param.description or "" for param in words.params}
    arguments, parameters = _form(name, function, said)
    told = "\n\n".join(part for part in (words.short_description, words.long_description) if part)
    if words.returns is not None and words.returns.description:
        told += f"\n\nReturns: {words.returns.description}"
    offer = LocalTool(
        name=name,
        description=told.strip()[:MAX_DESCRIPTION_CHARS],
        parameters=parameters,
        version=_version(function),
    )
    return Tool(function, offer, float(timeout_seconds), arguments)


def _form(name: str, function: Function, said: Mapping[str, str]) -> tuple[type[msgspec.Struct], dict[str, object]]:
    """What reads the arguments, and the JSON schema of it."""
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function, include_extras=True)
    except (TypeError, ValueError, NameError) as error:
        raise AskError(f"{name} cannot be read: {error}.") from None
    fields = [_field(name, parameter, hints, said) for parameter in signature.parameters.values()]
    try:
        arguments = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
        (_,), components = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    except TypeError as error:
        raise AskError(_no_json(name, str(error), signature, hints)) from None
    schema = components.pop("Arguments")
    schema.pop("title", None)
    for field, parameter in signature.parameters.items():
        _show_default(schema["properties"][field], parameter.default)
    return arguments, schema | ({"$defs": components} if components else {})


def _field(
    name: str, parameter: inspect.Parameter, hints: Mapping[str, Any], said: Mapping[str, str]
) -> tuple[str, Any] | tuple[str, Any, Any]:
    if parameter.kind not in _ONE_BY_ONE:
        place = " before /" if parameter.kind is parameter.POSITIONAL_ONLY else ""
        raise AskError(
            f"{name}: a model gives every argument by its name, so {parameter}{place} cannot be. "
            "Write each parameter out."
        )
    if parameter.name not in hints:
        raise AskError(f"{name}: {parameter.name} has no type. Write one: {parameter.name}: str")
    hint = hints[parameter.name]
    if typing.get_origin(hint) is Annotated:  # a text says what it is
        hint, *notes = typing.get_args(hint)
        texts = [note for note in notes if isinstance(note, str)]
        kept = [note for note in notes if isinstance(note, Meta)]
        said = {parameter.name: " ".join(texts) or said.get(parameter.name, "")}
        hint = Annotated[hint, *kept] if kept else hint
    if said.get(parameter.name):
        hint = Annotated[hint, Meta(description=said[parameter.name][:MAX_DESCRIPTION_CHARS])]
    if parameter.default is parameter.empty:
        return parameter.name, hint
    return parameter.name, Union[hint, UnsetType], UNSET  # noqa: UP007  # the function's own default is used


def _show_default(schema: dict[str, object], default: object) -> None:
    """Tell the model what is taken where it gives nothing, where JSON can say it."""
    if default is not inspect.Parameter.empty:
        try:
            schema["default"] = msgspec.to_builtins(default)
        except (TypeError, RecursionError):
            return


def _no_json(name: str, problem: str, signature: inspect.Signature, hints: Mapping[str, Any]) -> str:
    """Which parameter is of a type that JSON has no form for."""
    for parameter in signature.parameters:
        try:
            msgspec.json.schema(hints[parameter])
        except TypeError:
            shown = one_line(inspect.formatannotation(hints[parameter]), limit=80)
            return (
                f"{name}: {parameter} is {shown}, which a model cannot write. Take str, int, float, bool, list, dict, "
                "Literal, Enum, datetime or a dataclass of such."
            )
    return f"{name} cannot be offered: {one_line(problem)}"


def _version(function: Function) -> str:
    """Another function of the same name and words is another tool: who allowed one has not allowed the other."""
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        text = code.co_code.hex() if isinstance(code, types.CodeType) else repr(type(function))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
