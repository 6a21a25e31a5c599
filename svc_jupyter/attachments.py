"""What ``--attach`` names: a file on disk, or a variable whose value is sent. Reads names and values, opens nothing.

A string in a variable is its text, never a path: what came from a log must not choose a file of this machine.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol, runtime_checkable

from svc_jupyter.errors import AskError

_VARIABLE = re.compile(r"\{\s*([^\W\d]\w*)\s*\}")


@dataclass(frozen=True)
class Attachment:
    """Something to attach under ``name``; a Path is read when it is sent."""

    name: str
    content: bytes | Path

    def sha256(self) -> str:
        """Hex digest of the content as it is now. Raises OSError where a file cannot be read."""
        if isinstance(self.content, bytes):
            return hashlib.sha256(self.content).hexdigest()
        with self.content.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


@runtime_checkable
class _Table(Protocol):
    """A pandas DataFrame or Series, known by what it can do: pandas is never imported here."""

    index: object

    def to_csv(self, path: io.StringIO, *, index: bool) -> None: ...


def find(values: Sequence[str], names: Mapping[str, object]) -> list[Attachment]:
    """What the values of ``--attach`` name, in order. Raises AskError where one is not there or cannot be sent."""
    found = [_from_variable(value, names) if value.startswith("{") else _from_path(value) for value in values]
    twice = {name for name, count in Counter(item.name for item in found).items() if count > 1}
    return [_told_apart(item) if item.name in twice else item for item in dict.fromkeys(found)]


def _from_path(value: str) -> Attachment:
    path = Path(value).expanduser()
    if path.is_file():
        return Attachment(path.name, path.absolute())
    if path.is_dir():
        raise AskError(f"{path} is a folder. Attach its files one by one: --attach {path / 'FILE'}")
    hint = ""
    if path.parent.is_dir():
        near = get_close_matches(path.name, [entry.name for entry in os.scandir(path.parent)], n=1)
        hint = f" Did you mean {path.parent / near[0]}?" if near else ""
    raise AskError(f"there is no file {path} (looked in {Path.cwd()}).{hint} A variable is attached as {{name}}.")


def _from_variable(value: str, names: Mapping[str, object]) -> Attachment:
    match = _VARIABLE.fullmatch(value)
    if match is None:
        raise AskError(f"--attach {value}: braces hold the name of a variable, nothing else.")
    name = match[1]
    if name not in names:
        raise AskError(_no_variable(name, names))
    content = names[name]
    match content:
        case bytes() | bytearray() | memoryview():
            return Attachment(name, bytes(content))
        case str():
            return _from_text(name, content)
        case os.PathLike():
            return _from_path(os.fspath(content))
        case _Table():
            return Attachment(f"{name}.csv", _csv(content))
        case _:
            raise AskError(
                f"{{{name}}} is a {type(content).__name__}. Attach bytes, str, a path or a DataFrame; "
                f"json.dumps({name}) makes text of lists and dicts."
            )


def _from_text(name: str, text: str) -> Attachment:
    if "\n" not in text and 0 < len(text) < 4_096 and _is_file(text):
        raise AskError(
            f"{{{name}}} holds the text {text!r}, which is also the name of a file. "
            f"--attach {text} sends the file; bytes ({name}.encode()) send the text."
        )
    return Attachment(f"{name}.txt", text.encode("utf-8", errors="replace"))


def _is_file(text: str) -> bool:
    try:
        return Path(text).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):  # too long, a zero byte, no such home: no path at all
        return False


def _csv(table: _Table) -> bytes:
    is_numbered = type(table.index).__name__ == "RangeIndex"  # an index that says something is a column, too
    text = io.StringIO()
    table.to_csv(text, index=not is_numbered)
    return text.getvalue().encode("utf-8", errors="replace")


def _told_apart(item: Attachment) -> Attachment:
    """Two files of one name get their folder's name with it."""
    if isinstance(item.content, bytes):
        return item
    return replace(item, name=f"{item.content.parent.name}/{item.name}")


def _no_variable(name: str, names: Mapping[str, object]) -> str:
    near = get_close_matches(name, [other for other in names if not other.startswith("_")], n=1)
    hint = f" Did you mean {{{near[0]}}}?" if near else ""
    return f"there is no variable {name}.{hint} Run the cell that makes it first."


def text_of(name: str, names: Mapping[str, object]) -> str:
    """A variable's value as it goes into a question. Raises AskError where there is none."""
    if name not in names:
        raise AskError(f"--fill: {_no_variable(name, names)} Nothing was sent.")
    value = names[name]
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes | bytearray) else str(value)
