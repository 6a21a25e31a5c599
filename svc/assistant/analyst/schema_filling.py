"""Fill a JSON schema with what was found. Pure.

A value is never made up: what is not known is null if the schema allows it, and "unknown" in a string. If the schema
allows neither, it cannot be filled. What refers to itself ends where it would repeat: a list is empty there, and
everything else is not known.
"""

from __future__ import annotations

import re
from typing import cast

from svc.assistant.analyst.asked_values import Results, Row, Value, field_of, normalize
from svc.assistant.analyst.choices import matching, other_of, unknown_of
from svc.assistant.analyst.format_types import UNKNOWN, Choice
from svc.assistant.analyst.yes_or_no import decide
from svc.assistant.response_format import UnsupportedSchemaError, problem_of, read_schema
from svc.assistant.schema_parts import Schema, in_format

MAX_ROWS = 2_000
_NAMING = ("source", "account", "value", "host", "address", "name", "id", "title")  # what a row is about
_SUMMARIES = ("summary", "overview", "headline", "executive_summary", "conclusion")
_MISSING = object()


class UnfillableError(ValueError):
    """No honest value fits; the text names the place."""


def filled(text: str, results: Results, *, is_strict: bool) -> object:
    """Return data for the schema.

    Args:
        text: The schema as JSON.
        results: What was found.
        is_strict: Whether the data must match the schema; otherwise a value that is not known is null in any case.

    Raises:
        UnfillableError: The schema is not supported, or no honest value fits.
    """
    try:
        schema = read_schema(text)
    except UnsupportedSchemaError as error:
        raise UnfillableError(f"the schema cannot be used: {error}") from error
    data = _Filler(results, is_strict=is_strict, is_recursive="$defs" in schema).fill(schema, "answer", None)
    if is_strict and (problem := problem_of(schema, data)):
        raise UnfillableError(problem)
    return data


class _Filler:
    """Fills schemas from the results, or those in a list from one row."""

    def __init__(self, results: Results, *, is_strict: bool, is_recursive: bool) -> None:
        self._results = results
        self._is_strict = is_strict
        self._whole_only = ("object", "array") if is_recursive else ()  # checked with the definitions, at the end

    def fill(self, schema: Schema, key: str, row: Row | None) -> object:
        """A value for a schema; ``key`` is the name that the schema has in its object."""
        if "$ref" in schema:
            raise UnfillableError(f"`{key}` would repeat itself")
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list):
            return self._of_enum(cast("list[object]", schema["enum"]), schema, key, row)
        branches = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(branches, list):
            return self._of_branches(branches, key, row)
        types = _types(schema)
        for name in types:
            if name == "null":
                continue
            value = self._of_type(name, schema, key, row)
            is_right = not self._is_strict or name in self._whole_only or not problem_of(schema, value)
            if value is not _MISSING and is_right:
                return value
        if "null" in types or not self._is_strict:
            return None
        if "string" in types and not problem_of(schema, UNKNOWN):
            return UNKNOWN
        if "array" in types and not problem_of(schema, [UNKNOWN]):
            return [UNKNOWN]  # an empty list would say that there is none
        raise UnfillableError(f"`{key}` is not known, and the schema does not allow null there")

    def _value(self, key: str, row: Row | None) -> Value:
        if row is None:
            return self._results.value(key)
        value = row.get(key)
        return value if value not in (None, "", []) else field_of(row, key)

    def _of_branches(self, branches: list[Schema], key: str, row: Row | None) -> object:
        has_null = any(_types(branch) == ["null"] for branch in branches)
        fallback: object = _MISSING
        for branch in branches:
            if _types(branch) == ["null"]:
                continue
            try:
                value = self.fill(branch, key, row)
            except UnfillableError:
                continue
            if value is not None and value != UNKNOWN:
                return value
            fallback = value
        if has_null or not self._is_strict:
            return None
        if fallback is _MISSING:
            raise UnfillableError(f"`{key}` is not known")
        return fallback

    def _of_enum(self, values: list[object], schema: Schema, key: str, row: Row | None) -> object:
        choices = [Choice(str(number), str(value)) for number, value in enumerate(values) if isinstance(value, str)]
        found = self._value(key, row)
        if found is None and row is None:
            found = self._results.value("answer") if len(choices) == len(values) else None
        for value in found if isinstance(found, list) else [found]:
            label = matching(choices, str(value)) if value is not None else None
            if label is not None:
                return values[int(label)]
            if value in values and not isinstance(value, bool):
                return value
        unknown = unknown_of(choices) or (other_of(choices) if found is not None else None)
        if unknown is not None:
            return values[int(unknown)]
        if None in values or "null" in _types(schema) or not self._is_strict:
            return None
        raise UnfillableError(f"`{key}` is not known, and none of the allowed values says so")

    def _of_type(self, name: str, schema: Schema, key: str, row: Row | None) -> object:
        match name:
            case "object":
                return self._object(schema, key, row)
            case "array":
                return self._array(schema, key, row)
            case "boolean":
                return self._boolean(key, row)
            case "integer" | "number":
                return _number(self._value(key, row), is_integer=name == "integer")
            case _:
                return self._string(schema, key, row)

    def _object(self, schema: Schema, key: str, row: Row | None) -> object:
        properties = cast("dict[str, Schema]", schema.get("properties", {}))
        required = cast("list[str]", schema.get("required", []))
        values = schema.get("additionalProperties")
        if not properties and isinstance(values, dict):
            return self._mapping(cast("Schema", values), key, row)
        made: dict[str, object] = {}
        for name, inner in properties.items():
            try:
                made[name] = self.fill(inner, name, row)
            except UnfillableError:
                if name in required:
                    raise
        return made

    def _mapping(self, values: Schema, key: str, row: Row | None) -> object:
        """The values of all rows by what they are about: the failed logins of each source."""
        if row is not None or (not self._results.is_examined and not self._results.every):
            return _MISSING
        made: dict[str, object] = {}
        for one in self._results.rows_for([key])[:MAX_ROWS]:
            name = next((str(one[field]) for field in _NAMING if one.get(field)), None)
            if name is not None and name not in made:
                made[name] = self.fill(values, key, one)
        return made if made or not self._results.every else _MISSING

    def _array(self, schema: Schema, key: str, row: Row | None) -> object:
        items = cast("Schema", schema.get("items", {"type": "string"}))
        if _repeats(items):
            return []
        if row is not None:
            value = self._value(key, row)
            if value is None:
                return [] if row.get(key) == [] else _MISSING
            return value if isinstance(value, list) else [value]
        if not self._results.is_examined and not self._results.every:
            return _MISSING
        properties = items.get("properties")
        if isinstance(properties, dict):
            rows = self._results.rows_for([str(name) for name in properties])
            values = [self.fill(items, key, one) for one in rows[:MAX_ROWS]]
        else:
            values = [one for one in self._results.all_values(key) if not problem_of(items, one)]
            if not values and self._results.every:
                return _MISSING
        limit = schema.get("maxItems")
        return values[:limit] if isinstance(limit, int) else values

    def _boolean(self, key: str, row: Row | None) -> object:
        value = self._value(key, row)
        if isinstance(value, bool):
            return value
        said = value if value in ("yes", "no") else None
        if said is None and row is None:
            question = f"{key.replace('_', ' ')}? {self._results.question}"
            said = decide(question, self._results.groups, is_examined=self._results.is_examined)
        return {"yes": True, "no": False}.get(str(said), _MISSING)

    def _string(self, schema: Schema, key: str, row: Row | None) -> object:
        value = self._value(key, row)
        if value is None and row is None and normalize(key) in _SUMMARIES:
            value = self._results.reason()
        if value is None or value in ("", []):
            return "not determined from the input" if _is_required_reason(schema, key) else _MISSING
        if isinstance(value, list):
            return ", ".join(str(one) for one in value)
        if isinstance(value, bool):
            return "yes" if value else "no"
        return in_format(schema.get("format"), str(value))


def _repeats(schema: Schema) -> bool:
    """Whether a schema leads back to a part that is being filled."""
    branches = cast("list[Schema]", schema.get("anyOf", schema.get("oneOf", [])))
    return "$ref" in schema or any("$ref" in branch for branch in branches)


def _is_required_reason(schema: Schema, key: str) -> bool:
    return "null" not in _types(schema) and normalize(key) in ("reason", "explanation", "rationale", "justification")


def _types(schema: Schema) -> list[str]:
    stated = schema.get("type")
    if isinstance(stated, str):
        return [stated]
    if isinstance(stated, list):
        return [str(one) for one in stated]
    if "properties" in schema:
        return ["object"]
    if "items" in schema:
        return ["array"]
    return ["string", "null"] if "enum" not in schema and "const" not in schema else []


def _number(value: Value, *, is_integer: bool) -> object:
    if isinstance(value, bool) or value is None or isinstance(value, list):
        return _MISSING
    if isinstance(value, str):
        if not re.fullmatch(r"-?\d{1,18}(?:\.\d{1,18})?", value):
            return _MISSING
        value = float(value) if "." in value else int(value)
    if is_integer and isinstance(value, float):
        return int(value) if value.is_integer() else _MISSING
    return value
