"""Convert a tool's result to JSON of a limited size: tables as CSV, long texts cut and marked."""

from __future__ import annotations

import os

import msgspec

from svc_jupyter import attachments
from svc_jupyter.attachments import Frame
from svc_jupyter.errors import AskError

MAX_VALUE_BYTES = 100_000  # of one result; a model is converted a part of it all the same


def read_value(value: object) -> object:
    """Convert the value to JSON types. Raises AskError if that is impossible."""
    match value:
        case Frame() | bytes() | bytearray() | memoryview():
            return _read_attached(value)
        case str():
            return _cut(value)
        case os.PathLike():  # a name: what the file holds is for the function to read
            return os.fspath(value)
        case _:
            return _read_json(value)


def _read_attached(value: object) -> object:
    attachment = attachments.from_value("value", value)
    assert isinstance(attachment.content, bytes)
    try:
        text = attachment.content.decode()
    except UnicodeDecodeError:
        raise AskError(f"{attachment.kind} that are not text; return text instead") from None
    if not isinstance(value, Frame):
        return _cut(text)
    kept = _whole_lines(text)
    converted = {"what": attachment.kind, "csv": kept}
    if kept != text:
        converted["cut"] = f"the first {kept.count(chr(10)) - 1:,} rows, {len(kept):,} of {len(text):,} characters"
    return converted


def _read_json(value: object) -> object:
    try:
        encoded = msgspec.json.encode(value, enc_hook=attachments.plain)
    except (TypeError, ValueError, RecursionError) as error:
        problem = "it contains itself" if isinstance(error, RecursionError) else str(error)
        raise AskError(
            f"a {type(value).__name__} cannot be converted to JSON ({problem}); return text, lists or dicts"
        ) from None
    if len(encoded) > MAX_VALUE_BYTES:
        return _cut(encoded.decode())
    read: object = msgspec.json.decode(encoded)
    return read


def _cut(text: str) -> str:
    kept = text.encode("utf-8", "replace")[:MAX_VALUE_BYTES].decode("utf-8", "ignore")
    if len(kept) >= len(text):
        return kept
    return f"{kept}… [cut: {len(kept):,} of {len(text):,} characters]"


def _whole_lines(text: str) -> str:
    if len(text) <= MAX_VALUE_BYTES // 2:
        return text
    return text[: text.rfind("\n", 0, MAX_VALUE_BYTES // 2) + 1]
