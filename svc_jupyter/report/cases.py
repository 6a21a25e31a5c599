"""Read the cases of a sweep: one per row of a CSV file, or per line of a JSON Lines file.

A column ``case`` that is no parameter of the notebook names the case; without it, its values do.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from svc_jupyter.report.parameters import ParameterError, Parameters, Value, build, check, typed

MAX_CASES = 10_000  # a larger sweep is a mistake, or wants several: its index could not be read by anybody
NAME_CHARACTERS = 80  # of a case: it is a file's name, with its extension, under the 255 bytes of most disks
NAME_COLUMN = "case"


@dataclass(frozen=True)
class Case:
    """One run of the notebook. ``name`` is the output file's name without its extension."""

    name: str
    parameters: Parameters

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the values, including secrets, which must not be written themselves."""
        text = json.dumps(dict(self.parameters.values), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def load(
    path: Path, fixed: Mapping[str, Value], known: list[str], folder: Path, hidden: Sequence[str] = ()
) -> list[Case]:
    """The cases of a sweep; ``fixed`` holds for all where a row says nothing else. Raises ParameterError.

    Values of ``hidden`` names are in no case's name.
    """
    names: set[str] = set()
    cases = []
    for where, row in _rows(path):
        title = str(row.pop(NAME_COLUMN)) if NAME_COLUMN in row and NAME_COLUMN not in known else ""
        check(list(row), known, where)
        parameters = build({**fixed, **row}, folder)
        name = _free_name(
            _slug(title or "-".join(_words([name for name in row if name not in hidden], parameters))), names
        )
        names.add(name.casefold())
        cases.append(Case(name, parameters))
        if len(cases) > MAX_CASES:
            raise ParameterError(f"{path} has more than {MAX_CASES:,} cases. Split the file.")
    if not cases:
        raise ParameterError(f"{path} has no cases. A CSV file needs a header line, and one line per case.")
    return cases


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Value]]]:
    """Yield each row with its file and line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if path.suffix.lower() in (".jsonl", ".ndjson", ".json"):
        yield from _json_rows(path, text)
    else:
        yield from _csv_rows(path, text)


def _csv_rows(path: Path, text: str) -> Iterator[tuple[str, dict[str, Value]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    try:
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            if None in row or None in row.values():
                raise ParameterError(
                    f"{where}: the number of values differs from the {len(reader.fieldnames or ())} names in line 1."
                )
            yield where, {name.strip(): typed(cell) for name, cell in row.items()}
    except csv.Error as error:
        raise ParameterError(f"{path}, line {reader.line_num}: {error}") from error


def _json_rows(path: Path, text: str) -> Iterator[tuple[str, dict[str, Value]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ParameterError(f"{path}, line {number}: invalid JSON: {error}") from error
        if not isinstance(row, dict):
            raise ParameterError(f"{path}, line {number}: expected a JSON object, not {line.strip()[:40]}")
        yield f"{path}, line {number}", row


def _words(names: Sequence[str], parameters: Parameters) -> list[str]:
    shown = parameters.shown()
    return [str(shown[name]) for name in names if shown[name] != "[redacted]"]


def _slug(text: str) -> str:
    """Return a portable file name of letters, digits, dots and dashes; never empty, hidden or reserved."""
    slug = re.sub(r"[^A-Za-z0-9_.]+", "-", text[: NAME_CHARACTERS * 4]).strip("-.")[:NAME_CHARACTERS].rstrip("-.")
    return slug or "case"


def _free_name(slug: str, taken: set[str]) -> str:
    names = (slug if number == 1 else f"{slug}-{number}" for number in range(1, MAX_CASES + 2))
    return next(name for name in names if name.casefold() not in taken)
