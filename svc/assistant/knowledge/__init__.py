"""Tables of facts that ship with the analyst, and where the user keeps newer ones. Wording is ours.

Each file opens with its source, version and date. A table of the same name in the user's folder, which
``svc rules update`` writes, goes before the one that ships.
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
    """Where the user's own tables are: ``use``'s, else SVC_KNOWLEDGE_DIR, else the user's data folder."""
    if _chosen is not None:
        return _chosen
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("svc-jupyter") / "knowledge"


def use(folder: Path) -> None:
    """Look in ``folder`` for the user's own tables from now on: a worker has no environment."""
    global _chosen  # noqa: PLW0603 - one per process, set before its one job
    _chosen = folder


def load(name: str, table: type[Table]) -> Table:
    """The table in ``name`` (``.toml`` or ``.json``): the user's where there is one, else that of this package.

    Raises msgspec.ValidationError where the file does not have the form that ``table`` describes.
    """
    content = read(name)
    return (
        msgspec.json.decode(content, type=table) if name.endswith(".json") else msgspec.toml.decode(content, type=table)
    )


def read(name: str) -> bytes:
    """The bytes of a table, the user's before ours. Raises FileNotFoundError where there is neither."""
    own = user_folder() / name
    return own.read_bytes() if own.is_file() else resources.files(__name__).joinpath(name).read_bytes()
