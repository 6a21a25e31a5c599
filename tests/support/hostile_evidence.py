"""A text put into every field of a piece of evidence, one field at a time, so that the format stays readable."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

from tests.support.carriers import CARRIERS
from tests.support.evidence_kinds import KINDS

MAX_TOKENS = 24  # of a line: those after it repeat
PLACED_ROWS = 40
Placed = tuple[str, bytes]
"""The field's name, and the evidence with the text in it."""


def fields_of(name: str) -> list[str]:
    """The fields of a kind of evidence that a text can be put into."""
    return [field for field, _ in _placements(KINDS[name].make(), "text")]


def placed(name: str, text: str) -> Iterator[Placed]:
    """A kind of evidence with the text in each of its fields, and in a field's name."""
    yield from _placements(KINDS[name].make(), text)


def carried(text: str) -> Iterator[tuple[str, str, bytes]]:
    """Formats that are not text, and those with parts: format, file name, content with the text in it."""
    for kind, (name, make) in CARRIERS.items():
        yield kind, name, make(text)


def _placements(content: bytes, text: str) -> Iterator[Placed]:
    decoded = content.decode()
    records = _records(decoded)
    if records is not None:
        yield from _in_json(*records, text)
    elif _is_table(decoded):
        yield from _in_table(decoded, text)
    else:
        yield from _in_lines(decoded, text)


def _records(text: str) -> tuple[object, bool] | None:
    """The parsed JSON, and whether it is one document rather than one per line."""
    try:
        return json.loads(text), True
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()], False
    except ValueError:
        return None


def _in_json(value: object, is_one: bool, text: str) -> Iterator[Placed]:
    def written(changed: object) -> bytes:
        if is_one:
            return json.dumps(changed).encode()
        assert isinstance(changed, list)
        return "".join(f"{json.dumps(row)}\n" for row in changed).encode()

    paths = list(dict.fromkeys(_paths(value, ())))
    for path in paths:
        yield ".".join(path) or "value", written(_changed(value, (), path, text))
    yield "a field's name", written(_with_key(value, text))


def _paths(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _paths(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value[:PLACED_ROWS]:
            yield from _paths(inner, path)
    elif value is not None:
        yield path


def _changed(value: object, path: tuple[str, ...], wanted: tuple[str, ...], text: str) -> object:
    if isinstance(value, dict):
        return {key: _changed(inner, (*path, key), wanted, text) for key, inner in value.items()}
    if isinstance(value, list):
        return [_changed(inner, path, wanted, text) for inner in value]
    return f"{value}{text}" if path == wanted else value


def _with_key(value: object, text: str) -> object:
    if isinstance(value, list):
        return [_with_key(inner, text) for inner in value]
    if isinstance(value, dict):
        return value | {text: text}
    return value


def _is_table(text: str) -> bool:
    head = text.splitlines()[:3]
    return any(sep in head[0] and all(row.count(sep) >= head[0].count(sep) for row in head) for sep in (",", ";"))


def _in_table(text: str, payload: str) -> Iterator[Placed]:
    head = text.splitlines()[0]
    separator = max(",;", key=head.count)
    header, *rows = csv.reader(io.StringIO(text), delimiter=separator)

    def written(first: list[str], others: list[list[str]]) -> bytes:
        out = io.StringIO()
        csv.writer(out, delimiter=separator).writerows([first, *others])
        return out.getvalue().encode()

    for number, column in enumerate(header):
        changed = [[*row[:number], row[number] + payload, *row[number + 1 :]] if row[number:] else row for row in rows]
        yield column, written(header, changed)
    yield "a column's name", written([*header, payload], [[*row, payload] for row in rows])


def _in_lines(text: str, payload: str) -> Iterator[Placed]:
    one_line = payload.replace("\n", " ").replace("\r", " ")
    rows = text.splitlines()
    for number in range(min(MAX_TOKENS, max(len(row.split(" ")) for row in rows))):
        yield f"token {number + 1}", "\n".join(_with_token(row, number, one_line) for row in rows).encode()


def _with_token(row: str, number: int, payload: str) -> str:
    separator = "\t" if "\t" in row else " "
    tokens = row.split(separator)
    if row.startswith("#") or number >= len(tokens):
        return row
    tokens[number] += payload
    return separator.join(tokens)
