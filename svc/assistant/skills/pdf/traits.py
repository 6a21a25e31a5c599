"""What the names, scripts and targets of a PDF mean together. Table: ``traits.toml``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import cache
from urllib.parse import urlsplit

import msgspec

from svc.assistant.findings import Confidence, Severity, ToolEvent
from svc.assistant.knowledge import load
from svc.assistant.skills.file_traits import Inspection, TraitEntry
from svc.assistant.skills.pdf.raw_scan import NameScan

ACTIONS = ("URI", "Launch", "SubmitForm", "GoToR", "GoToE", "ImportData")
"""The actions whose targets are reported; ISO 32000-2, 12.6.4."""
LONG_LINE = 2_000  # characters of a script without a space: data, not code
_BARE_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_RUNS = re.compile(
    r"\.(?:exe|scr|msi|js|jse|vbs|vbe|hta|wsf|ps1|bat|cmd|lnk|iso|img|vhd|jar|zip|rar|7z|apk|dll|docm|xlsm)(?:[?#]|$)",
    re.IGNORECASE,
)
_SHELL = re.compile(
    r"\b(?:cmd|powershell|pwsh|wscript|cscript|mshta|rundll32|regsvr32|certutil|bitsadmin|sh|bash)(?:\.exe)?\b",
    re.IGNORECASE,
)


class _ScriptRule(TraitEntry, frozen=True, kw_only=True):
    pattern: str


class _PdfTable(msgspec.Struct, frozen=True):
    """``traits.toml``."""

    source: str
    version: str
    date: date
    names: list[TraitEntry]
    scripts: list[_ScriptRule]


class PdfDocument(msgspec.Struct):
    """What the walk over the objects collects, for the facts and for traits of the whole document."""

    pages: int | None = None
    objects: int = 0
    """Those that were visited."""
    all_objects: int = 0
    """Those that the file's tables list."""
    unread: int = 0
    """Visited ones that could not be read."""
    is_encrypted: bool = False
    runs_on_open: bool = False
    is_read: bool = False
    actions: set[str] = set()
    metadata: dict[str, str] = {}
    texts: list[str] = []
    links: int = 0
    scripts: int = 0
    files: int = 0


@cache
def _table() -> _PdfTable:
    return load("traits.toml", _PdfTable, __package__)


@cache
def _scripts() -> list[tuple[_ScriptRule, re.Pattern[str]]]:
    return [(entry, re.compile(entry.pattern, re.IGNORECASE)) for entry in _table().scripts]


def name_traits(inspection: Inspection, names: NameScan, document: PdfDocument) -> Iterator[ToolEvent]:
    """Yield a trait for each name that lets the document act.

    An action counts if an object has it, if the objects could not be read, or if its name is hidden: the bytes of a
    form may contain the name of an action without having one.
    """
    for entry in _table().names:
        count = names.counts[entry.name] or (names.counts["JS"] if entry.name == "JavaScript" else 0)
        is_doubted = document.is_read and entry.name in ACTIONS and not names.hidden[entry.name]
        if count and not (is_doubted and entry.name not in document.actions):
            yield from inspection.listed_trait(
                entry, name=f"name_{entry.name.lower()}", value=f"/{entry.name}, {count:,} times"
            )
    has_script = names.counts["JS"] or names.counts["JavaScript"]
    if has_script and (document.runs_on_open or (names.counts["OpenAction"] and not document.is_read)):
        yield from inspection.trait(
            "script_on_open",
            "A script runs when the document is opened",
            severity=Severity.MEDIUM,
            why="an action on opening or on an event runs JavaScript without a click",
            value=", ".join(f"/{name}" for name in ("OpenAction", "AA", "JavaScript", "JS") if names.counts[name]),
            techniques=("T1059.007", "T1204.002"),
        )


def script_traits(inspection: Inspection, script: str, number: int) -> Iterator[ToolEvent]:
    """Yield the traits of one script."""
    for entry, pattern in _scripts():
        match = pattern.search(script)
        if match is not None:
            start = max(0, match.start() - 40)
            yield from inspection.listed_trait(
                entry,
                name=f"script_{entry.name}",
                why=f"{entry.why} (object {number})",
                value=script[start : start + 200],
                confidence=Confidence.MEDIUM,
            )
    if any(len(word) > LONG_LINE for word in script.split()):
        yield from inspection.trait(
            "script_long_data",
            "A script contains a long block of data",
            severity=Severity.MEDIUM,
            why=f"more than {LONG_LINE:,} characters without a space (object {number})",
            value=max(script.split(), key=len)[:200],
            techniques=("T1027",),
        )


def target_traits(inspection: Inspection, action: str, target: str, number: int) -> Iterator[ToolEvent]:
    """Yield traits of the target of a link or an action: a program, a remote host, a bare IP address."""
    location = f"/{action} in object {number}"
    if target.startswith(("\\\\", "//")) or target.lower().startswith(("file://", "smb:")):
        yield from inspection.trait(
            "remote_path",
            "Opens a path on a remote host",
            severity=Severity.HIGH,
            why=f"Windows sends the user's NTLM response there ({location})",
            value=target,
            techniques=("T1187",),
        )
    elif action == "Launch" and _SHELL.search(target):
        yield from inspection.trait(
            "launches_shell",
            "Starts a shell or script host",
            severity=Severity.CRITICAL,
            why=f"documents do not need one ({location})",
            value=target,
            techniques=("T1204.002", "T1059"),
        )
    elif action == "Launch" and _RUNS.search(target):
        yield from inspection.trait(
            "launches_program",
            "Starts a program",
            severity=Severity.HIGH,
            why=f"by the extension of its target ({location})",
            value=target,
            techniques=("T1204.002",),
        )
    elif action in ("URI", "SubmitForm"):
        yield from _address_traits(inspection, target, location)


def _address_traits(inspection: Inspection, target: str, location: str) -> Iterator[ToolEvent]:
    try:
        parts = urlsplit(target.strip())
        host = parts.hostname or ""
    except ValueError:
        return
    if parts.scheme.lower() in ("javascript", "data", "vbscript"):
        yield from inspection.trait(
            "script_link",
            "A link runs a script or opens data",
            severity=Severity.HIGH,
            why=f"not an address ({location})",
            value=target,
            techniques=("T1204.001",),
        )
    elif _BARE_ADDRESS.fullmatch(host):
        yield from inspection.trait(
            "bare_address_link",
            "A link leads to a bare IP address",
            severity=Severity.MEDIUM,
            why=f"legitimate links use host names ({location})",
            value=target,
            techniques=("T1566.002", "T1204.001"),
        )
    elif _RUNS.search(parts.path):
        yield from inspection.trait(
            "program_link",
            "A link downloads a program, a script or an archive",
            severity=Severity.MEDIUM,
            why=f"by the extension of its path ({location})",
            value=target,
            techniques=("T1566.002", "T1204.001"),
        )
