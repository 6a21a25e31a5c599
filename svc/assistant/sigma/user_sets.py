"""The user's sets of rules: compiled from a folder, kept in the knowledge folder, and read again when they changed.

Needs the extra ``sigma`` to compile; listing and removing do not. Files are written whole or not at all.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from svc.assistant.knowledge import user_folder
from svc.assistant.sigma.atomic_write import replace_file
from svc.assistant.sigma.compile import Rejected, compile_text
from svc.assistant.sigma.engine import Rule
from svc.assistant.sigma.tables import OURS, RuleTable

MAX_FILES = 50_000  # the largest public collection has 4,000
MAX_FILE_BYTES = 1024 * 1024  # of one rule file; the longest public ones have 50 kB
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class SetError(ValueError):
    """A set that cannot be added; the text says why and what to do."""


def name_for(folder: Path, wanted: str | None) -> str:
    """The set's name: ``wanted``, else the folder's. Raises SetError for one that is no file name or is ours."""
    name = wanted or re.sub(r"[^A-Za-z0-9._-]+", "-", folder.resolve().name).strip("-.")
    if not _NAME.fullmatch(name) or name == OURS:
        raise SetError(f"{name!r} cannot be the name of a set. Give another: --name my-rules")
    return name


def rule_files(folder: Path) -> list[Path]:
    """The rule files under ``folder`` (or it, where it is a file), sorted. Raises SetError where there are none."""
    if folder.is_file():
        return [folder]
    files = sorted(file for file in folder.rglob("*") if file.suffix in (".yml", ".yaml") and file.is_file())
    if not files:
        raise SetError(f"{folder} holds no .yml or .yaml file. Name the folder with the rules in it.")
    if len(files) > MAX_FILES:
        raise SetError(f"{folder} holds {len(files):,} files; a set takes {MAX_FILES:,}. Add its folders one by one.")
    return files


def compiled(files: list[Path], folder: Path) -> Iterator[Rule | Rejected]:
    """What each file holds, in order; a Rejected names the file as it is called under ``folder``."""
    for file in files:
        name = str(file.relative_to(folder)) if file.is_relative_to(folder) and file != folder else file.name
        try:
            content = file.read_bytes()
            text = content.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            yield Rejected(file=name, title="", reason=f"cannot be read: {error}")
            continue
        if len(content) > MAX_FILE_BYTES:
            yield Rejected(file=name, title="", reason=f"it has {len(content):,} bytes, more than {MAX_FILE_BYTES:,}")
            continue
        yield from compile_text(text, file=name)


def save_set(name: str, folder: Path, rules: list[Rule]) -> Path:
    """Keep the set in place of one of the same name; the file that it went into."""
    version = hashlib.sha256(msgspec.json.encode(rules)).hexdigest()[:12]
    today = datetime.now(UTC).date().isoformat()
    table = RuleTable(source=str(folder.resolve()), version=version, date=today, rules=tuple(rules))
    return replace_file(user_folder() / "rules" / f"{name}.json", msgspec.json.encode(table))


def remove_set(name: str) -> bool:
    """Forget a set; False where there is none of that name."""
    if not _NAME.fullmatch(name):
        return False
    file = user_folder() / "rules" / f"{name}.json"
    is_there = file.is_file()
    file.unlink(missing_ok=True)
    return is_there
