"""Apply what the definition of a kind says about a record's own members and its operating system.

The definition is data (``kinds.py``); the records keep their original names, so that rules can use these, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from svc.assistant.log_readers.tables.kinds import Kind, plain_name

MAX_EXTRACTED_CHARS = 16_384
_LOGON_TYPES = {
    "interactive": "2", "network": "3", "batch": "4", "service": "5", "unlock": "7", "networkcleartext": "8",
    "newcredentials": "9", "remoteinteractive": "10", "cachedinteractive": "11", "cachedremoteinteractive": "12",
    "cachedunlock": "13", "system": "0",
}  # fmt: skip
"""Windows' logon types, whose names exports write; Windows' events have the numbers."""
_LEVELS = {"4096": "Low", "8192": "Medium", "8448": "Medium", "12288": "High", "16384": "System"}
"""Mandatory integrity levels, which exports write as numbers; Sysmon writes the names."""


class Members:
    """Takes the members of the objects that a kind names, and of the texts of its columns, as the record's own."""

    def __init__(self, kind: Kind | None) -> None:
        self._inside = tuple(f"{name}." for name in (kind.inside if kind is not None else ()))
        self._extracts = [(one.column, re.compile(one.pattern)) for one in (kind.extract if kind is not None else ())]

    def own(self, values: dict[str, str]) -> dict[str, str]:
        """Return a record's values with these members; the record's own values stay as they are."""
        if self._inside:
            found: dict[str, str] = {}
            for name, cell in values.items():
                prefix = next((one for one in self._inside if name.startswith(one)), "")
                found.setdefault(name[len(prefix) :], cell)
            values = found
        for name, cell in self._extracted(values):
            values.setdefault(name, cell)
        return values

    def _extracted(self, values: dict[str, str]) -> list[tuple[str, str]]:
        if not self._extracts:
            return []
        texts = {plain_name(name): cell[:MAX_EXTRACTED_CHARS] for name, cell in values.items()}
        found = [pattern.search(texts.get(column, "")) for column, pattern in self._extracts]
        return [(name, cell.strip()) for match in found if match for name, cell in match.groupdict().items() if cell]


class Systems:
    """Decides the operating system of a kind's records."""

    def __init__(self, kind: Kind) -> None:
        self._default = kind.product
        self._systems = [(one.column, re.compile(one.matches), one.product) for one in kind.systems]

    def product(self, named: Mapping[str, str]) -> str:
        """Return Sigma's product; ``named`` are the values by plain name."""
        for column, shape, product in self._systems:
            if shape.search(named.get(column, "")):
                return product
        return self._default

    @property
    def columns(self) -> frozenset[str]:
        """The columns that decide."""
        return frozenset(column for column, _, _ in self._systems)


_DEVICE = re.compile(r"\\Device\\HarddiskVolume\d{1,3}\\", re.IGNORECASE)
_PATHS = ("Image", "ParentImage", "TargetFilename", "ImageLoaded", "SourceImage", "TargetImage")


def without_devices(fields: dict[str, str]) -> None:
    """Write paths with a drive, as rules have them; which drive a volume is, sensors do not say."""
    for name in _PATHS:
        path = fields.get(name, "")
        if path.startswith("\\") and (found := _DEVICE.match(path)) is not None:
            fields[name] = "C:\\" + path[found.end() :]


def as_windows(field: str, value: str) -> str:
    """Return a field's value as Windows' own events have it."""
    match field:
        case "LogonType":
            return _LOGON_TYPES.get(value.lower(), value)
        case "IntegrityLevel":
            return _LEVELS.get(value, value)
        case "PipeName":
            return value.removeprefix("\\Device\\NamedPipe")
        case "GrantedAccess" if value.isdecimal() and len(value) <= 10:
            return hex(int(value))
        case _:
            return value
