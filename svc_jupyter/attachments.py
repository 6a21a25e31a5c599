"""Resolve ``--attach``: a file or a folder on disk, or a variable whose value is sent.

A string in a variable is sent as text and never used as a path, so that text from a log cannot choose a file of this
machine. Tables (pandas, polars) are sent as CSV, lists of strings as lines, lists of dicts as JSON Lines, other lists
and dicts as JSON.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

import msgspec

from svc._folder_stream import archive_name, open_path, size_of_path
from svc.untrusted.characters import one_line
from svc_jupyter.errors import AskError
from svc_jupyter.frames import PolarsFrame, polars_csv, write_pandas

MAX_VARIABLE_BYTES = 100_000_000  # built in the kernel's memory, and copied once for sending; files are streamed
LARGE_CELLS = 200_000  # of a table, from which on it is converted in pieces: some 0.1 s
LARGE_ITEMS = 20_000  # of a list of records
PANDAS_PIECE_CELLS = 100_000  # that DataFrame.to_csv converts at once
PIECE_ITEMS = 5_000
PREVIEW_CHARS = 100
_PIECE_BYTES = 1024 * 1024

_VARIABLE = re.compile(r"\{\s*([^\W\d]\w*)\s*\}")


@dataclass(frozen=True)
class Attachment:
    """Something to attach as ``name``. A Path is read when it is sent, a folder as one TAR.

    ``kind`` describes a variable's value.
    """

    name: str
    content: bytes | Path
    kind: str = field(default="", compare=False)

    def preview(self) -> str:
        """Describe it in a line: a variable's kind, size and beginning, or a file's name."""
        if isinstance(self.content, Path):
            return self.name
        beginning = self.content[: PREVIEW_CHARS * 4].decode("utf-8", errors="replace")
        size = f"{self.name}: {self.kind}, {len(self.content):,} bytes"
        return f"{size}, begins {one_line(beginning, limit=PREVIEW_CHARS)}" if beginning else size

    @property
    def size(self) -> int:
        """The bytes to send; of a folder, about. Raises OSError if a file cannot be read."""
        return len(self.content) if isinstance(self.content, bytes) else size_of_path(self.content)

    def sha256(self, on_read: Callable[[int], None] | None = None) -> str:
        """Return the hex digest of the current content. Raises OSError if a file cannot be read.

        ``on_read`` is called with the number of bytes of each piece; an exception that it raises ends the reading.
        """
        if isinstance(self.content, bytes):
            return hashlib.sha256(self.content).hexdigest()
        digest = hashlib.sha256()
        with open_path(self.content) as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
                if on_read is not None:
                    on_read(len(piece))
        return digest.hexdigest()


@dataclass(frozen=True)
class LargeValue:
    """A variable's value that is converted piece by piece, because that takes a while; ``total`` in ``unit``."""

    name: str
    kind: str
    variable: str
    total: int
    unit: str
    value: object = field(compare=False)
    identity: int = 0

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """Yield how much is done, with the next bytes. Raises AskError if it cannot be sent."""
        size = 0
        for done, piece in _pieces_of(self.variable, self.value):
            size += len(piece)
            if size > MAX_VARIABLE_BYTES:
                raise AskError(_too_large(self.variable, f"more than that, {self.kind}"))
            yield done, piece

    def converted(self, pieces: Sequence[bytes]) -> Attachment:
        """Return the attachment of all pieces."""
        return Attachment(self.name, b"".join(pieces), self.kind)


@runtime_checkable
class Frame(Protocol):
    """A pandas DataFrame or Series, recognised by its attributes, so that pandas is not imported here."""

    index: object
    shape: tuple[int, ...]

    def to_csv(self, path: io.StringIO, *, index: bool) -> None:
        """Write the table as CSV."""


class _Part(Protocol):
    def to_csv(self, path: io.StringIO, *, index: bool, header: bool) -> None: ...


class _Rows(Protocol):
    def __getitem__(self, rows: slice, /) -> _Part: ...


@runtime_checkable
class Sliceable(Protocol):
    """A Frame whose rows can be taken in pieces."""

    index: object
    shape: tuple[int, ...]
    iloc: _Rows


Attached = Attachment | LargeValue


def find(values: Sequence[str], names: Mapping[str, object]) -> list[Attached]:
    """Resolve the values of ``--attach``, in order. Raises AskError if one does not exist or cannot be sent.

    What takes a while to convert is returned as a LargeValue.
    """
    found = [_from_variable(value, names) if value.startswith("{") else _from_path(value) for value in values]
    twice = {name for name, count in Counter(item.name for item in found).items() if count > 1}
    return [_with_folder_name(item) if item.name in twice else item for item in dict.fromkeys(found)]


def _from_path(value: str) -> Attachment:
    path = Path(value).expanduser()
    if path.is_file():
        return Attachment(path.name, path.absolute())
    if path.is_dir():
        return Attachment(archive_name(path), path.absolute())
    hint = ""
    if path.parent.is_dir():
        near = get_close_matches(path.name, [entry.name for entry in os.scandir(path.parent)], n=1)
        hint = f" Did you mean {path.parent / near[0]}?" if near else ""
    raise AskError(f"no such file: {path} (in {Path.cwd()}).{hint} To attach a variable, write {{name}}.")


def _from_variable(value: str, names: Mapping[str, object]) -> Attached:
    match = _VARIABLE.fullmatch(value)
    if match is None:
        raise AskError(f"--attach {value}: braces may only contain the name of a variable.")
    name = match[1]
    if name not in names:
        raise AskError(_no_variable(name, names))
    return from_variable(name, names[name])


def from_variable(name: str, value: object) -> Attached:
    """Like ``from_value``, but leave the conversion of a large value to the caller."""
    match value:
        case PolarsFrame() if _cells(value) >= LARGE_CELLS:
            kind = f"{type(value).__name__} of {_shape(value)}"
            return LargeValue(f"{name}.csv", kind, name, value.shape[0], "row", value, id(value))
        case Frame() if _cells(value) >= LARGE_CELLS and isinstance(value, Sliceable):
            kind = f"{type(value).__name__} of {_shape(value)}"
            return LargeValue(f"{name}.csv", kind, name, value.shape[0], "row", value, id(value))
        case [Mapping(), *_] if len(value) >= LARGE_ITEMS and all(isinstance(item, Mapping) for item in value):
            kind = f"list of {_counted(value, 'record')}"
            return LargeValue(f"{name}.jsonl", kind, name, len(value), "record", value, id(value))
    return from_value(name, value)


def _cells(table: Frame | PolarsFrame) -> int:
    return math.prod(table.shape)


def _pieces_of(name: str, value: object) -> Iterator[tuple[int, bytes]]:
    if isinstance(value, PolarsFrame):
        yield from _polars_pieces(name, value)
        return
    if isinstance(value, Sliceable):
        yield from _csv_pieces(name, value)
        return
    records = cast("Sequence[Mapping[str, object]]", value)
    for start in range(0, len(records), PIECE_ITEMS):
        piece = records[start : start + PIECE_ITEMS]
        yield start + len(piece), b"".join(_json(name, item) + b"\n" for item in piece)


def _csv_pieces(name: str, table: Sliceable) -> Iterator[tuple[int, bytes]]:
    """The CSV in the same pieces in which pandas converts it, because pandas chooses the form of dates by piece."""
    rows, *columns = table.shape
    step = max(1, PANDAS_PIECE_CELLS // max(1, *columns, 1))
    is_numbered = type(table.index).__name__ == "RangeIndex"
    for start in range(0, rows, step):
        text = _Bounded()
        try:
            write_pandas(table.iloc[start : start + step], text, index=not is_numbered, header=start == 0)
        except OverflowError:
            raise AskError(_too_large(name, f"more than that as CSV ({_shape(table)})")) from None
        yield min(rows, start + step), _text(text.getvalue())


def _polars_pieces(name: str, table: PolarsFrame) -> Iterator[tuple[int, bytes]]:
    """The CSV in pieces, so that a table that is too large is not built completely."""
    rows, columns = table.shape
    step = max(1, PANDAS_PIECE_CELLS // max(1, columns))
    size = 0
    for start in range(0, max(rows, 1), step):
        piece = _text(polars_csv(table.slice(start, step), header=start == 0))
        size += len(piece)
        if size > MAX_VARIABLE_BYTES:
            raise AskError(_too_large(name, f"more than that as CSV ({_shape(table)})"))
        yield min(rows, start + step), piece


def from_value(name: str, value: object) -> Attachment:
    """Encode a value for sending. Raises AskError if it cannot be sent or exceeds ``MAX_VARIABLE_BYTES``."""
    if isinstance(value, os.PathLike):
        return _from_path(os.fspath(value))
    ending, content, kind = _encoded(name, value)
    if len(content) > MAX_VARIABLE_BYTES:
        raise AskError(_too_large(name, f"{len(content):,} bytes"))
    return Attachment(name + ending, content, kind)


def _encoded(name: str, value: object) -> tuple[str, bytes, str]:
    """Return the file name's extension, the bytes, and a description of the value."""
    match value:
        case bytes() | bytearray() | memoryview():
            return "", bytes(value), "bytes"
        case str():
            _refuse_file_name(name, value)
            return ".txt", _text(value), "text"
        case PolarsFrame():
            content = b"".join(piece for _, piece in _polars_pieces(name, value))
            return ".csv", content, f"{type(value).__name__} of {_shape(value)}"
        case Frame():
            return ".csv", _csv(name, value), f"{type(value).__name__} of {_shape(value)}"
        case [str(), *_] if all(isinstance(item, str) for item in value):
            return ".txt", _text("".join(f"{item}\n" for item in value)), f"list of {_counted(value, 'line')}"
        case [Mapping(), *_] if all(isinstance(item, Mapping) for item in value):
            lines = b"".join(_json(name, item) + b"\n" for item in value)
            return ".jsonl", lines, f"list of {_counted(value, 'record')}"
        case list() | tuple() | Mapping():
            return ".json", _json(name, value), f"{type(value).__name__} of {len(value):,}"
        case _:
            raise AskError(
                f"{{{name}}} has the type {type(value).__name__}. Attach a DataFrame, list, dict, bytes, str or path."
            )


def _counted(items: Sequence[object], word: str) -> str:
    return f"{len(items):,} {word}{'' if len(items) == 1 else 's'}"


def _text(text: str) -> bytes:
    return text.encode("utf-8", errors="replace")


def _refuse_file_name(name: str, text: str) -> None:
    if "\n" not in text and 0 < len(text) < 4_096 and _is_file(text):
        raise AskError(
            f"{{{name}}} is the text {text!r}, which is also the name of a file. "
            f"To attach the file, use --attach {text}; to attach the text, use bytes ({name}.encode())."
        )


def _is_file(text: str) -> bool:
    try:
        return Path(text).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):  # too long, a zero byte or an unknown home: not a path
        return False


class _Bounded(io.StringIO):
    """Text with a size limit, so that a table that is too large is not built completely."""

    def write(self, text: str) -> int:
        if self.tell() + len(text) > MAX_VARIABLE_BYTES:
            raise OverflowError
        return super().write(text)


def _csv(name: str, table: Frame) -> bytes:
    is_numbered = type(table.index).__name__ == "RangeIndex"  # another index has information, so it becomes a column
    text = _Bounded()
    try:
        write_pandas(table, text, index=not is_numbered, header=True)
    except OverflowError:
        raise AskError(_too_large(name, f"more than that as CSV ({_shape(table)})")) from None
    return _text(text.getvalue())


def _shape(table: Frame | Sliceable | PolarsFrame) -> str:
    rows, *columns = table.shape
    return f"{rows:,} rows, {columns[0]:,} columns" if columns else f"{rows:,} rows"


def _json(name: str, value: object) -> bytes:
    try:
        return msgspec.json.encode(value, enc_hook=plain)
    except (
        TypeError,
        ValueError,
        RecursionError,
    ) as error:  # ValueError: a lone surrogate, or a number that JSON does not have
        problem = "it contains itself" if isinstance(error, RecursionError) else one_line(str(error))
        raise AskError(
            f"{{{name}}} cannot be converted to JSON: {problem}. Convert it to text or bytes first."
        ) from None


def plain(value: object) -> object:
    """Convert what msgspec cannot: NumPy numbers, pandas Timestamps, paths and mappings. Raises TypeError otherwise."""
    item = getattr(value, "item", None)
    if callable(item):
        return item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def _too_large(name: str, size: str) -> str:
    return (
        f"{{{name}}} is {size}; the limit for variables is {MAX_VARIABLE_BYTES:,} bytes. Attach a part of it, or save "
        "it to a file and attach the file."
    )


def _with_folder_name(item: Attached) -> Attached:
    """Add the folder's name, to distinguish files of the same name."""
    if isinstance(item, LargeValue) or isinstance(item.content, bytes):
        return item
    return replace(item, name=f"{item.content.parent.name}-{item.name}")  # names must not contain a slash


def _no_variable(name: str, names: Mapping[str, object]) -> str:
    near = get_close_matches(name, [other for other in names if not other.startswith("_")], n=1)
    hint = f" Did you mean {{{near[0]}}}?" if near else ""
    return f"no variable {name}.{hint} Run the cell that defines it first."


def text_of(name: str, names: Mapping[str, object]) -> str:
    """Return a variable's value as text for a question. Raises AskError if there is no such variable."""
    if name not in names:
        raise AskError(f"--fill: {_no_variable(name, names)} Nothing was sent.")
    value = names[name]
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes | bytearray) else str(value)
