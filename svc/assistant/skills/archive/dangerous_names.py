"""What makes a file dangerous by its name and its type by content: programs, scripts, disguises. Pure.

For attachments and members of archives. Extensions: ``dangerous_names.toml``; the type comes from ``file_types``.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache

import msgspec

from svc.assistant.findings import Severity
from svc.assistant.knowledge import load

_BIDIRECTIONAL = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_HAS_MACROS = b"vbaProject.bin"


class Danger(msgspec.Struct, frozen=True):
    """One thing that makes a file dangerous. ``name``: executable, script, macros, disguise, double_ending, …"""

    name: str
    description: str
    severity: Severity


class _NameTable(msgspec.Struct, frozen=True):
    source: str
    version: str
    date: date
    executable: frozenset[str]
    script: frozenset[str]
    source_code: frozenset[str]
    macro_document: frozenset[str]
    web_page: frozenset[str]
    disk_image: frozenset[str]
    archive: frozenset[str]
    harmless: frozenset[str]
    executable_labels: frozenset[str]
    script_labels: frozenset[str]
    source_labels: frozenset[str]
    disk_image_labels: frozenset[str]
    archive_labels: frozenset[str]
    promises: dict[str, frozenset[str]]


@cache
def _table() -> _NameTable:
    return load("dangerous_names.toml", _NameTable, __package__)


def endings(name: str) -> list[str]:
    """Return the extensions of a file's name, last first, in lower case: ``a.pdf.exe`` gives exe, pdf."""
    base = re.split(r"[/\\]", name)[-1]
    return [piece.strip().lower() for piece in base.split(".")[:0:-1]]


def is_archive(label: str) -> bool:
    """Whether a file of this type contains other files."""
    return label in _table().archive_labels


def dangers(name: str, label: str, data: bytes | None = None) -> list[Danger]:
    """Return what makes a file dangerous; nothing for an ordinary one.

    Args:
        name: The file's name.
        label: Its type by content; "" if only the name is known.
        data: Its content, if it was read.
    """
    table = _table()
    parts = endings(name)
    last = parts[0] if parts else ""
    found: list[Danger] = []
    if label in table.executable_labels or (not label and last in table.executable):
        found.append(Danger("executable", "a program", Severity.HIGH))
    elif last in table.executable and label not in table.archive_labels:
        found.append(Danger("executable", "has the extension of a program", Severity.HIGH))
    elif last in table.script or (label in table.script_labels and last not in ("txt", "log", "")):
        found.append(Danger("script", "a script or a shortcut that runs when opened", Severity.HIGH))
    elif last in table.source_code or (label in table.source_labels and last not in ("txt", "log", "")):
        found.append(Danger("source_code", "a script that runs only if the user starts it", Severity.MEDIUM))
    if label in table.disk_image_labels or last in table.disk_image:
        found.append(Danger("disk_image", "a disk image: files in it carry no Mark of the Web", Severity.HIGH))
    if data is not None and _HAS_MACROS in data:
        found.append(Danger("macros", "an Office document with macros", Severity.HIGH))
    elif last in table.macro_document and last.endswith("m"):
        found.append(Danger("macros", "an Office document that may contain macros", Severity.MEDIUM))
    if last in table.web_page and label in ("html", "svg", "xml", ""):
        found.append(Danger("web_page", "a web page that opens from disk", Severity.MEDIUM))
    found += _disguises(name, label, parts, table)
    return found


def _disguises(name: str, label: str, parts: list[str], table: _NameTable) -> list[Danger]:
    found = []
    runs = table.executable | table.script | table.source_code
    last = parts[0] if parts else ""
    if len(parts) > 1 and parts[1] in table.harmless and last in runs | table.disk_image | table.web_page:
        found.append(Danger("double_ending", f"double extension .{parts[1]}.{last}", Severity.HIGH))
    if re.search(r"\s{6,24}\.\w{1,100}\s*$", name):
        found.append(Danger("double_ending", "spaces hide its real extension", Severity.HIGH))
    if _BIDIRECTIONAL.search(name):
        found.append(Danger("disguise", "a bidirectional control character disguises its name", Severity.HIGH))
    promised = table.promises.get(last)
    if promised and label not in promised and label not in ("", "unknown", "empty"):
        running = table.executable_labels | table.script_labels | table.source_labels
        severity = Severity.HIGH if label in running else Severity.MEDIUM
        found.append(Danger("disguise", f"extension .{last}, but the content is {label}", severity))
    return found
