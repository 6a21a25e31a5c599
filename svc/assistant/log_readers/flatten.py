"""Make nested JSON flat: names are joined with dots, the values of a list with line breaks.

A list of names with values (``Parameters: [{"Name": "ForwardTo", "Value": "x"}]``) also becomes one field for each name
(``Parameters.ForwardTo``).
"""

from __future__ import annotations

MAX_FIELDS = 300  # of one record
MAX_DEPTH = 8
MAX_LIST = 20  # items of a list that become fields
MAX_VALUE_CHARS = 65_536  # script blocks are logged in parts of at most half of that
MAX_PAIRS = 100  # of a list of names with values
MAX_PAIR_NAME_CHARS = 80
_PAIR_NAMES = ("name", "Name", "key", "Key", "displayName", "@Name")
_PAIR_VALUES = (
    "value", "Value", "newValue", "NewValue", "#text", "stringValue", "intValue", "boolValue", "multiValue",
    "multiIntValue", "ValueString",
)  # fmt: skip
_SCALARS = (int, float, bool)
_BOOLS = {True: "true", False: "false"}
_PAIR_OLD_VALUES = ("oldValue", "OldValue")


def flatten(fields: dict[str, str], path: str, value: object, depth: int = 0) -> None:
    """Add the members of ``value`` to ``fields``, their names joined with dots after ``path``."""
    if len(fields) >= MAX_FIELDS or depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            inner_path = f"{path}.{name}" if path else str(name)
            kind = type(inner)
            if kind is str and inner_path not in fields and depth < MAX_DEPTH:  # most are
                if len(fields) < MAX_FIELDS:
                    fields[inner_path] = inner[:MAX_VALUE_CHARS]
            elif kind in _SCALARS and inner_path not in fields and depth < MAX_DEPTH:
                if len(fields) < MAX_FIELDS:
                    fields[inner_path] = _BOOLS[inner] if kind is bool else str(inner)[:MAX_VALUE_CHARS]
            elif inner is not None:
                flatten(fields, inner_path, inner, depth + 1)
    elif isinstance(value, list):
        if value and all(isinstance(item, str | int | float) for item in value):
            fields[path] = "\n".join(map(str, value[:MAX_LIST]))[:MAX_VALUE_CHARS]
            return
        for number, inner in enumerate(value[:MAX_LIST]):
            flatten(fields, f"{path}.{number}" if isinstance(inner, list) else path, inner, depth + 1)
        for item in value[:MAX_PAIRS]:
            if isinstance(item, dict) and len(item) > 1:
                _add_pair(fields, path, item, depth)
    elif isinstance(value, bool):
        fields[path] = "true" if value else "false"
    elif value is not None:
        text = str(value)[:MAX_VALUE_CHARS]
        fields[path] = f"{fields[path]}\n{text}"[:MAX_VALUE_CHARS] if path in fields else text


def _add_pair(fields: dict[str, str], path: str, item: dict[str, object], depth: int) -> None:
    """Add the value of an item that consists of a name and a value, under its name."""
    name = next((text for key in _PAIR_NAMES if isinstance(text := item.get(key), str) and text), "")
    value = next((item[key] for key in _PAIR_VALUES if item.get(key) is not None), None)
    if value is not None and name and name not in item and len(name) <= MAX_PAIR_NAME_CHARS and name.isprintable():
        flatten(fields, f"{path}.{name}", value, depth + 1)
        for key in _PAIR_OLD_VALUES:
            if item.get(key) is not None:
                flatten(fields, f"{path}.{name}.{key}", item[key], depth + 1)
