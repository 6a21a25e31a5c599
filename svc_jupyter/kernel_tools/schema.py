"""Describe a function as a tool, from its signature, type hints and docstring, and read a call's arguments.

Decides what may be a tool; runs none. A type that JSON has no form for is refused when the function is offered, not
when a model calls it.
"""

from __future__ import annotations

import inspect
import re
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
    """A call's arguments do not match the function's parameters."""


@dataclass(frozen=True)
class Tool:
    """An offered function. ``timeout_seconds`` is the time limit of a call."""

    function: Function
    offer: LocalTool
    timeout_seconds: float
    _arguments: type[msgspec.Struct]

    def arguments(self, given: Mapping[str, object]) -> dict[str, object]:
        """Convert a call's arguments to the parameters' types. Raises ArgumentsError."""
        try:
            read = msgspec.convert(dict(given), self._arguments, strict=False)
        except (msgspec.ValidationError, TypeError, RecursionError) as error:
            raise ArgumentsError(f"wrong arguments: {one_line(str(error), limit=MAX_ERROR_CHARS)}") from None
        values = {name: getattr(read, name) for name in read.__struct_fields__}
        return {name: value for name, value in values.items() if value is not UNSET}


def read_tool(function: Function, *, name: str | None, timeout_seconds: float) -> Tool:
    """Describe the function as a tool. Raises AskError if it cannot be one."""
    if not callable(function) or isinstance(function, type):
        raise AskError(f"@tool is for functions, not for {type(function).__name__}")
    name = name or str(getattr(function, "__name__", ""))
    if not _NAME.fullmatch(name):
        raise AskError(f"invalid tool name {name!r}: use 1 to 64 of A-Z a-z 0-9 _. Set it with @tool(name=...).")
    if not timeout_seconds > 0:
        raise AskError(f"{name}: timeout_seconds must be above 0, not {timeout_seconds:g}")
    words = docstring_parser.parse(inspect.getdoc(function) or "")
    descriptions = {param.arg_name: param.description or "" for param in words.params}
    arguments, parameters = _form(name, function, descriptions)
    description = "\n\n".join(part for part in (words.short_description, words.long_description) if part)
    if words.returns is not None and words.returns.description:
        description += f"\n\nReturns: {words.returns.description}"
    offer = LocalTool(
        name=name,
        description=description.strip()[:MAX_DESCRIPTION_CHARS],
        parameters=parameters,
    )
    return Tool(function, offer, float(timeout_seconds), arguments)


def _form(
    name: str, function: Function, descriptions: Mapping[str, str]
) -> tuple[type[msgspec.Struct], dict[str, object]]:
    """Return the struct type of the arguments, and its JSON schema."""
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function, include_extras=True)
    except (TypeError, ValueError, NameError) as error:
        raise AskError(f"{name} cannot be inspected: {error}") from None
    fields = [_field(name, parameter, hints, descriptions) for parameter in signature.parameters.values()]
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
    name: str, parameter: inspect.Parameter, hints: Mapping[str, Any], descriptions: Mapping[str, str]
) -> tuple[str, Any] | tuple[str, Any, Any]:
    if parameter.kind not in _ONE_BY_ONE:
        place = " before /" if parameter.kind is parameter.POSITIONAL_ONLY else ""
        raise AskError(
            f"{name}: a model passes every argument by name, so {parameter}{place} is not allowed. "
            "Use named parameters."
        )
    if parameter.name not in hints:
        raise AskError(f"{name}: {parameter.name} has no type. Add one, for example {parameter.name}: str")
    hint = hints[parameter.name]
    if typing.get_origin(hint) is Annotated:  # a text says what it is
        hint, *notes = typing.get_args(hint)
        texts = [note for note in notes if isinstance(note, str)]
        kept = [note for note in notes if isinstance(note, Meta)]
        descriptions = {parameter.name: " ".join(texts) or descriptions.get(parameter.name, "")}
        hint = Annotated[hint, *kept] if kept else hint
    if descriptions.get(parameter.name):
        hint = Annotated[hint, Meta(description=descriptions[parameter.name][:MAX_DESCRIPTION_CHARS])]
    if parameter.default is parameter.empty:
        return parameter.name, hint
    return parameter.name, Union[hint, UnsetType], UNSET  # noqa: UP007  # the function's own default is used


def _show_default(schema: dict[str, object], default: object) -> None:
    """Add the default to the schema if JSON can represent it."""
    if default is not inspect.Parameter.empty:
        try:
            schema["default"] = msgspec.to_builtins(default)
        except (TypeError, RecursionError):
            return


def _no_json(name: str, problem: str, signature: inspect.Signature, hints: Mapping[str, Any]) -> str:
    """Say which parameter has a type that JSON cannot represent."""
    for parameter in signature.parameters:
        try:
            msgspec.json.schema(hints[parameter])
        except TypeError:
            shown = one_line(inspect.formatannotation(hints[parameter]), limit=80)
            return (
                f"{name}: {parameter} has the type {shown}, which JSON cannot represent. Use str, int, float, bool, "
                "list, dict, Literal, Enum, datetime or a dataclass of these."
            )
    return f"{name} cannot be offered: {one_line(problem)}"
