"""Make nested JSON flat: names are joined with dots, the values of a list with line breaks."""

from __future__ import annotations

MAX_FIELDS = 300  # of one record
MAX_DEPTH = 8
MAX_LIST = 20  # items of a list that become fields
MAX_VALUE_CHARS = 8_192


def flatten(fields: dict[str, str], path: str, value: object, depth: int = 0) -> None:
    """Add the members of ``value`` to ``fields``, their names joined with dots after ``path``."""
    if len(fields) >= MAX_FIELDS or depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            flatten(fields, f"{path}.{name}" if path else str(name), inner, depth + 1)
    elif isinstance(value, list):
        if value and all(isinstance(item, str | int | float) for item in value):
            fields[path] = "\n".join(map(str, value[:MAX_LIST]))[:MAX_VALUE_CHARS]
            return
        for number, inner in enumerate(value[:MAX_LIST]):
            flatten(fields, f"{path}.{number}" if isinstance(inner, list) else path, inner, depth + 1)
    elif isinstance(value, bool):
        fields[path] = "true" if value else "false"
    elif value is not None:
        text = str(value)[:MAX_VALUE_CHARS]
        fields[path] = f"{fields[path]}\n{text}"[:MAX_VALUE_CHARS] if path in fields else text
