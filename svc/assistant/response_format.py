"""The ``response_format`` of a chat request: check its JSON schema, say it to an assistant, validate answers. Pure.

A schema is hostile input. Keywords whose cost cannot be bounded are refused by name, references are resolved within the
schema only and up to a number of nodes, and patterns may hold no construct on which matching can take long. A schema
that refers to itself keeps that reference, and each value is compared with it once.

jsonschema is imported with the first schema: it takes 0.1 s, and 1.3 s where JupyterLab has installed the grammar of
international addresses that it builds, which every start of a service would wait for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, cast

from svc.assistant.schema_parts import FORMATS, ConflictError, Schema, has_format, merged

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

REQUIRED_OBJECT = "The answer must be one JSON object and nothing else, without a code fence."
REQUIRED_SCHEMA = "The answer must be JSON that matches this JSON schema and nothing else, without a code fence:"
"""How a required format ends the instructions of a turn; after the second, the schema follows on the next line."""
MAX_SCHEMA_CHARS = 50_000
MAX_NODES = 5_000  # after references are resolved
MAX_DEPTH = 20
MAX_PATTERN_CHARS = 200
_TYPES = frozenset({"string", "number", "integer", "boolean", "null", "array", "object"})
_KEYWORDS = frozenset(
    {"type", "enum", "const", "anyOf", "oneOf", "allOf", "properties", "required", "additionalProperties", "items",
     "minItems", "maxItems", "minimum",
     "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
     "pattern", "uniqueItems", "minProperties", "maxProperties"}
)  # fmt: skip
_NOTES = frozenset(
    {"$schema", "$id", "$comment", "title", "description", "default", "examples", "example", "format", "readOnly",
     "writeOnly", "deprecated", "nullable", "strict", "name", "$defs", "definitions", "propertyOrdering", "$anchor"}
)  # fmt: skip


def split_required(instructions: str) -> tuple[str, str]:
    """The client's own instructions, and the required format at their end; "" if none is required."""
    if instructions.rstrip().endswith(REQUIRED_OBJECT):
        return instructions.rstrip().removesuffix(REQUIRED_OBJECT).rstrip(), REQUIRED_OBJECT
    own, found, schema = instructions.rpartition(REQUIRED_SCHEMA + "\n")
    return (own.rstrip(), found + schema.strip()) if found else (instructions, "")


def required_schema(instructions: str) -> str | None:
    """The schema, as JSON, that the instructions of a turn require; None if they require none."""
    _, required = split_required(instructions)
    return required.removeprefix(REQUIRED_SCHEMA).strip() if required.startswith(REQUIRED_SCHEMA) else None


def answer_problem(instructions: str, answer: str) -> str:
    """Why an answer is not in the format that the instructions of a turn require; "" if it is, or if none is required.

    An answer that is not in that format may still say why there is none.
    """
    schema = required_schema(instructions)
    if not split_required(instructions)[1]:
        return ""
    try:
        data = json.loads(answer)
    except (ValueError, RecursionError):
        return "it is not JSON"
    if schema is None:
        return "" if isinstance(data, dict) else "it is not a JSON object"
    try:
        return problem_of(read_schema(schema), data)
    except UnsupportedSchemaError as error:
        return str(error)


class UnsupportedSchemaError(ValueError):
    """The schema is invalid, or uses something that is not supported; the text says what and where."""


def read_schema(text: str) -> Schema:
    """Parse and check a schema; raises UnsupportedSchemaError."""
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnsupportedSchemaError("it is not valid JSON") from error
    return check_schema(schema)


def check_schema(schema: object) -> Schema:
    """Return the schema without notes and references, except those of a part to itself, which lead to its ``$defs``.

    Raises:
        UnsupportedSchemaError: It is invalid, too large, or uses a keyword that is not supported.
    """
    if not isinstance(schema, dict):
        raise UnsupportedSchemaError("it must be an object")
    try:
        size = len(json.dumps(schema))
    except RecursionError as error:
        raise UnsupportedSchemaError("it is nested too deeply") from error
    if size > MAX_SCHEMA_CHARS:
        raise UnsupportedSchemaError(f"it has {size:,} characters; the limit is {MAX_SCHEMA_CHARS:,}")
    resolved = _Resolver(schema).resolved()
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(resolved)
    except SchemaError as error:
        place = "".join(f".{one}" for one in error.absolute_path)
        raise UnsupportedSchemaError(f"schema{place} is not valid: {str(error.message)[:200]}") from error
    return resolved


def problem_of(schema: Schema, value: object) -> str:
    """Why a value does not match a checked schema, or a part of one that refers to no other; "" if it does."""
    from jsonschema import ValidationError

    validator = _recursive_validator() if "$defs" in schema else _validator()
    try:
        validator(schema).validate(value)
    except ValidationError as error:
        place = "".join(f".{one}" for one in error.absolute_path)
        return f"the value at ${place} does not match `{error.validator}`"
    except RecursionError:
        return "the value is nested too deeply"
    return ""


@cache
def _validator() -> type[Validator]:
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def check_format(validator: object, name: str, value: object, schema: object) -> Iterator[ValidationError]:
        if isinstance(value, str) and not has_format(name, value):
            yield ValidationError(f"not of the format {name}")

    return cast("type[Validator]", extend(Draft202012Validator, {"format": check_format}))


def _recursive_validator() -> type[Validator]:
    """A validator for one value. It compares each part of the value with each definition once.

    Otherwise a union of parts that refer to themselves would take time that doubles with each level of the value.
    """
    from jsonschema.validators import extend

    follow = _validator().VALIDATORS["$ref"]
    compared: dict[tuple[str, int], list[ValidationError]] = {}

    def compare(validator: object, reference: str, value: object, schema: object) -> Iterator[ValidationError]:
        place = (reference, id(value))  # the value lives as long as the comparison
        if place not in compared:
            compared[place] = []  # a definition that leads to itself without a step into the value says nothing
            compared[place] = list(follow(validator, reference, value, schema))
        return iter(compared[place])

    return cast("type[Validator]", extend(_validator(), {"$ref": compare}))


class _Resolver:
    """Copies a schema with each reference replaced by what it refers to, unless it leads back to itself."""

    def __init__(self, root: Mapping[str, object]) -> None:
        self._root = root
        self._nodes = 0
        self._names: dict[str, str] = {}  # of the parts that refer to themselves, by reference

    def resolved(self) -> Schema:
        """The root, with the parts that refer to themselves as its ``$defs``."""
        made = self.resolve(self._root, "schema", 0, ("#",))
        definitions: dict[str, object] = {}
        while missing := [one for one, name in self._names.items() if name not in definitions]:
            reference = missing[0]
            part = self.resolve(self._find(reference, "schema"), reference, 0, (reference,))
            if set(part) == {"$ref"}:
                raise UnsupportedSchemaError(f"{reference} refers to nothing but itself")
            definitions[self._names[reference]] = part
        return made | {"$defs": definitions} if self._names else made

    def resolve(self, schema: object, where: str, depth: int, seen: tuple[str, ...]) -> Schema:
        """One schema within the root; ``seen`` are the references that lead to it."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise UnsupportedSchemaError(f"it has more than {MAX_NODES:,} parts once its references are resolved")
        if depth > MAX_DEPTH:
            raise UnsupportedSchemaError(f"{where} is nested deeper than {MAX_DEPTH} levels")
        if not isinstance(schema, dict):
            raise UnsupportedSchemaError(f"{where} must be an object")
        if "$ref" in schema or "allOf" in schema:
            return self._joined(schema, where, depth, seen)
        unknown = [name for name in schema if name not in _KEYWORDS and name not in _NOTES]
        if unknown:
            raise UnsupportedSchemaError(f"{where} uses the keyword {unknown[0][:40]!r}, which is not supported")
        made = {name: self._part(name, schema[name], where, depth, seen) for name in schema if name in _KEYWORDS}
        return made | ({"format": schema["format"]} if schema.get("format") in FORMATS else {})

    def _joined(self, schema: Mapping[str, object], where: str, depth: int, seen: tuple[str, ...]) -> Schema:
        """A reference, or all of several schemas, with the other keywords of the schema."""
        parts = schema.get("allOf", [])
        if not isinstance(parts, list):
            raise UnsupportedSchemaError(f"{where}.allOf must be a list of schemas")
        beside = {name: value for name, value in schema.items() if name not in ("$ref", "allOf")}
        resolved = [self._referred(schema["$ref"], where, depth, seen)] if "$ref" in schema else []
        resolved += [self.resolve(one, f"{where}.allOf[{n}]", depth + 1, seen) for n, one in enumerate(parts)]
        try:
            return merged([*resolved, self.resolve(beside, where, depth, seen)])
        except ConflictError as error:
            raise UnsupportedSchemaError(f"{where} joins parts that differ in {str(error)!r}") from error

    def _referred(self, reference: object, where: str, depth: int, seen: tuple[str, ...]) -> Schema:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            raise UnsupportedSchemaError(f"{where}.$ref must refer to a part of this schema (#/$defs/…)")
        if reference in seen:
            name = self._names.setdefault(reference, f"part_{len(self._names) + 1}")
            return {"$ref": f"#/$defs/{name}"}
        return self.resolve(self._find(reference, where), where, depth, (*seen, reference))

    def _find(self, reference: str, where: str) -> object:
        target: object = self._root
        for name in reference.split("/")[1:]:
            key = name.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, dict) or key not in target:
                raise UnsupportedSchemaError(
                    f"{where}.$ref refers to {reference[:100]!r}, which the schema does not have"
                )
            target = target[key]
        return target

    def _part(self, name: str, value: object, where: str, depth: int, seen: tuple[str, ...]) -> object:
        place = f"{where}.{name}"
        match name:
            case "properties":
                inner = _object(value, place)
                return {key: self.resolve(one, f"{place}.{key}"[:200], depth + 1, seen) for key, one in inner.items()}
            case "items":
                return self.resolve(value, place, depth + 1, seen)
            case "additionalProperties":
                return value if isinstance(value, bool) else self.resolve(value, place, depth + 1, seen)
            case "anyOf" | "oneOf":
                if not isinstance(value, list) or not value:
                    raise UnsupportedSchemaError(f"{place} must be a list of schemas")
                return [self.resolve(one, f"{place}[{n}]", depth + 1, seen) for n, one in enumerate(value)]
            case "type":
                return _type(value, place)
            case "pattern":
                return _pattern(value, place)
            case _:
                return value


def _object(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise UnsupportedSchemaError(f"{place} must be an object")
    return cast("dict[str, object]", value)


def _type(value: object, place: str) -> object:
    names = value if isinstance(value, list) else [value]
    for name in names:
        if not isinstance(name, str) or name not in _TYPES:
            raise UnsupportedSchemaError(f"{place} has {str(name)[:40]!r}, which is not a type of JSON Schema")
    return value


_QUANTIFIED_GROUP = re.compile(r"\)(?:[*+]|\{\d{0,20},?\d{0,20}\})")
_UNBOUNDED = re.compile(r"(?<!\\)(?:[*+]|\{\d+,\})")
_OPTIONAL = re.compile(r"(?<!\\)(?:\?|\{\d*,\d+\})")
_COUNT = re.compile(r"\{(\d+)(?:,(\d*))?\}")


def _pattern(value: object, place: str) -> object:
    """A pattern whose matching time is bounded: no repeated groups, back references or look-arounds, "
    "few repetitions."""
    if not isinstance(value, str):
        raise UnsupportedSchemaError(f"{place} must be a string")
    is_costly = (
        len(value) > MAX_PATTERN_CHARS
        or _QUANTIFIED_GROUP.search(value)
        or re.search(r"\\[1-9]|\(\?(?!:)", value)
        or len(_UNBOUNDED.findall(value)) > 2
        or len(_OPTIONAL.findall(value)) > 6
        or any(int(number or 0) > 200 for pair in _COUNT.findall(value) for number in pair)
    )
    if is_costly:
        raise UnsupportedSchemaError(f"{place} is too complex; use at most two repetitions and no repeated group")
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError) as error:
        raise UnsupportedSchemaError(f"{place} is not a valid regular expression") from error
    return value
