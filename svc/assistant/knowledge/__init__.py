"""Tables of facts that several skills share, and where the user keeps newer copies. Their wording is ours.

Each file opens with its source, version and date. ``svc rules update`` writes newer copies to the user's folder. A
table that only one skill needs is in that skill's folder.
"""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path
from typing import TypeVar

import msgspec
import platformdirs

Table = TypeVar("Table", bound=msgspec.Struct)
FOLDER_VARIABLE = "SVC_KNOWLEDGE_DIR"

_chosen: Path | None = None


def user_folder() -> Path:
    """Return the folder of the user's own tables: the one given to ``use``, SVC_KNOWLEDGE_DIR, or the data folder."""
    if _chosen is not None:
        return _chosen
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("svc-jupyter") / "knowledge"


def use(folder: Path) -> None:
    """Load the user's own tables from ``folder`` from now on, because a worker has no environment variables."""
    global _chosen  # noqa: PLW0603 - one per process, set before its one job
    _chosen = folder


def load(name: str, table: type[Table], package: str = __name__) -> Table:
    """Return the table in ``name`` (``.toml`` or ``.json``) of ``package``.

    A table of this package may have a newer copy in the user's folder, which is then used instead.

    Raises:
        msgspec.ValidationError: The file does not have the form that ``table`` describes.
    """
    return _decoded(name, read(name) if package == __name__ else _shipped(name, package), table)


def load_shipped(name: str, table: type[Table]) -> Table:
    """Return the table in ``name`` as it is shipped, whatever the user's folder has."""
    return _decoded(name, _shipped(name), table)


def _decoded(name: str, content: bytes, table: type[Table]) -> Table:
    return (
        msgspec.json.decode(content, type=table) if name.endswith(".json") else msgspec.toml.decode(content, type=table)
    )


def _shipped(name: str, package: str = __name__) -> bytes:
    return resources.files(package).joinpath(name).read_bytes()


def read(name: str) -> bytes:
    """Return the bytes of a table of this package, or of the user's copy of it.

    Raises:
        FileNotFoundError: There is neither.
    """
    own = user_folder() / name
    return own.read_bytes() if own.is_file() else _shipped(name)
