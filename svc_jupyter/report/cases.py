"""Read the cases of a sweep: one per row of a CSV file, or per line of a JSON Lines file.

A column ``case`` that is no parameter of the notebook names the case. Without it the host does, if each row has another
one; otherwise all values do.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from svc_jupyter.report.parameters import HIDDEN, ParameterError, Parameters, Value, build, check, typed

MAX_CASES = 10_000  # a larger sweep is a mistake, or wants several: its index could not be read by anybody
NAME_CHARACTERS = 80  # of a case
NAME_BYTES = 160  # of a case: it is a file's name, with its extension, under the 255 bytes of most disks
NAME_COLUMN = "case"
HOST_NAMES = ("host", "hostname", "host_name", "server", "machine", "computer", "endpoint", "device", "asset")
"""Parameters that say what a report is about."""
_RESERVED = re.compile(
    r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z)", re.IGNORECASE
)  # on Windows, whatever follows the dot


@dataclass(frozen=True)
class Case:
    """One run of the notebook.

    ``name`` is the output file's name without its extension; ``title`` is the name as it was written, for people.
    """

    name: str
    parameters: Parameters
    title: str = ""

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
    read: list[tuple[list[str], Parameters, str]] = []
    for where, row in _rows(path):
        title = str(row.pop(NAME_COLUMN)) if NAME_COLUMN in row and NAME_COLUMN not in known else ""
        check(list(row), known, where)
        read.append(([name for name in row if name not in hidden], build({**fixed, **row}, folder), title))
        if len(read) > MAX_CASES:
            raise ParameterError(f"{path} has more than {MAX_CASES:,} cases. Split the file.")
    hosts = [host_of(parameters.shown(), names) for names, parameters, _ in read]
    has_host_each = all(hosts) and max(Counter(map(str.casefold, hosts)).values(), default=0) == 1
    taken: set[str] = set()
    cases = []
    for (names, parameters, named), host in zip(read, hosts, strict=True):
        title = named or (host if has_host_each else "-".join(_words(names, parameters)))
        name = _free_name(_slug(title), taken)
        taken.add(name.casefold())
        cases.append(Case(name, parameters, title))
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


def host_of(shown: Mapping[str, Value], names: Iterable[str]) -> str:
    """Return the host that the parameters name, empty if none does; only these ``names`` are looked at."""
    lower = {name.lower(): name for name in names}
    found = next((shown[lower[name]] for name in HOST_NAMES if name in lower), "")
    return str(found) if isinstance(found, str | int) and found != HIDDEN else ""


def _words(names: Sequence[str], parameters: Parameters) -> list[str]:
    shown = parameters.shown()
    return [str(shown[name]) for name in names if shown[name] != HIDDEN]


def _slug(text: str) -> str:
    """Return a portable file name of letters, digits, dots and dashes; never empty, hidden or reserved."""
    text = unicodedata.normalize("NFC", text[: NAME_CHARACTERS * 4])
    slug = re.sub(r"[^\w.]+", "-", text).strip("-.")[:NAME_CHARACTERS]
    slug = slug.encode()[:NAME_BYTES].decode(errors="ignore").rstrip("-.")
    return f"case-{slug}" if _RESERVED.match(slug) else slug or "case"


def _free_name(slug: str, taken: set[str]) -> str:
    names = (slug if number == 1 else f"{slug}-{number}" for number in range(1, MAX_CASES + 2))
    return next(name for name in names if name.casefold() not in taken)
