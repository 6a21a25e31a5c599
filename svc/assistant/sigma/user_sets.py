"""Compile the user's rule sets from a folder and keep them in the knowledge folder.

Compiling needs the extra ``sigma``; listing and removing do not. Files are replaced atomically.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from svc._atomic_file import write_atomic
from svc.assistant.knowledge import user_folder
from svc.assistant.sigma.compile import Rejected, compile_texts
from svc.assistant.sigma.engine import Filter, Rule
from svc.assistant.sigma.tables import OURS, RuleTable, load_tables

MAX_FILES = 50_000  # the largest public collection has 4,000
MAX_FILE_BYTES = 1024 * 1024  # of one rule file; the longest public ones have 50 kB
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class SetError(ValueError):
    """A set cannot be added; the text says why and what to do."""


def name_for(folder: Path, wanted: str | None) -> str:
    """Return the set's name: ``wanted``, otherwise the folder's.

    Raises:
        SetError: It is not a valid file name, or it is our own set's.
    """
    name = wanted or re.sub(r"[^A-Za-z0-9._-]+", "-", folder.resolve().name).strip("-.")
    if not _NAME.fullmatch(name) or name == OURS:
        raise SetError(f"{name!r} is not a valid set name. Choose another: --name my-rules")
    return name


def rule_files(folder: Path) -> list[Path]:
    """Return the rule files under ``folder``, or ``folder`` itself if it is a file, sorted.

    Raises:
        SetError: There are none, or too many.
    """
    if folder.is_file():
        return [folder]
    files = sorted(file for file in folder.rglob("*") if file.suffix in (".yml", ".yaml") and file.is_file())
    if not files:
        raise SetError(f"{folder} contains no .yml or .yaml files. Name the folder with the rules.")
    if len(files) > MAX_FILES:
        raise SetError(f"{folder} contains {len(files):,} files; the limit is {MAX_FILES:,}. Add its subfolders.")
    return files


def compiled(files: list[Path], folder: Path) -> Iterator[Rule | Filter | Rejected]:
    """Yield the rules and filters of the files; a Rejected names the file relative to ``folder``.

    Correlation rules may refer to rules of any of the files, and to the built-in ones.
    """
    texts: list[tuple[str, str]] = []
    for file in files:
        name = str(file.relative_to(folder)) if file.is_relative_to(folder) and file != folder else file.name
        try:
            content = file.read_bytes()
            text = content.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            yield Rejected(file=name, title="", reason=f"cannot be read: {error}")
            continue
        if len(content) > MAX_FILE_BYTES:
            yield Rejected(file=name, title="", reason=f"larger than {MAX_FILE_BYTES:,} bytes ({len(content):,})")
            continue
        texts.append((name, text))
    ours = load_tables()[OURS]
    yield from compile_texts(texts, known=ours.rules if isinstance(ours, RuleTable) else ())


def save_set(name: str, folder: Path, rules: list[Rule], filters: list[Filter]) -> Path:
    """Save the set, replacing one of the same name, and return its file."""
    version = hashlib.sha256(msgspec.json.encode((rules, filters))).hexdigest()[:12]
    today = datetime.now(UTC).date().isoformat()
    table = RuleTable(
        source=str(folder.resolve()), version=version, date=today, rules=tuple(rules), filters=tuple(filters)
    )
    file = user_folder() / "rules" / f"{name}.json"
    write_atomic(file, msgspec.json.encode(table), mode=None)
    return file


def remove_set(name: str) -> bool:
    """Remove a set; return False if there is none of that name."""
    if not _NAME.fullmatch(name):
        return False
    file = user_folder() / "rules" / f"{name}.json"
    is_there = file.is_file()
    file.unlink(missing_ok=True)
    return is_there
