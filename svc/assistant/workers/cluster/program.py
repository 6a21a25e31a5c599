"""Which program a machine has: findings are the same only if the service's and the cluster's machines have the same."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import msgspec

from svc._version import __version__

_PACKAGE = Path(__file__).parents[3]
LIBRARIES = (
    "backports.zstd",
    "cryptography",
    "cvss",
    "defusedxml",
    "dpkt",
    "evtx",
    "google-re2",
    "jsonschema",
    "libesedb-python",
    "msgspec",
    "olefile",
    "pefile",
    "publicsuffixlist",
    "puremagic",
    "py7zr",
    "pyarrow",
    "pyelftools",
    "pypdf",
    "pysigma",
    "pyyaml",
    "pyzipper",
    "tree-sitter",
    "tree-sitter-bash",
    "tree-sitter-javascript",
    "tree-sitter-powershell",
    "tzdata",
    "univers",
    "yara-x",
)
"""What the tools read evidence with, extras included."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """The version of svc, a digest of its files, the version of Python, and the versions of the libraries that are
    installed.
    """

    version: str
    digest: str
    python: str
    libraries: Mapping[str, str]

    def difference(self, other: Program) -> str:
        """What another program has that this one has not, in words; "" if they are the same."""
        if other.version != self.version:
            return f"svc {other.version} instead of {self.version}"
        if other.python != self.python:
            return f"Python {other.python} instead of {self.python}"
        if other.digest != self.digest:
            return f"other files of svc {self.version}: one of the two was built from other sources"
        for name in sorted({*self.libraries, *other.libraries}):
            own, others = self.libraries.get(name), other.libraries.get(name)
            if own != others:
                return f"{f'{name} {others}' if others else f'no {name}'} instead of {own or 'none'}"
        return ""


@lru_cache
def own_program() -> Program:
    """The program of this process. It reads every file of the package once, so it belongs into a thread."""
    major, minor, _ = platform.python_version_tuple()
    return Program(
        version=__version__,
        digest=_digest(_PACKAGE),
        python=f"{major}.{minor}",
        libraries=_libraries(),
    )


def _digest(folder: Path) -> str:
    """Of the files that decide what is found; the pages that browsers get are no part of it."""
    known = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        if "__pycache__" in parts or parts[:2] == ("service", "static") or not file.is_file():
            continue
        known.update(f"{'/'.join(parts)}\0{file.stat().st_size}\0".encode())
        known.update(file.read_bytes())
    return known.hexdigest()


def _libraries() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
