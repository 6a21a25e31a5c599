"""Tables of facts that ship with the analyst. Each file opens with its source, version and date; wording is ours."""

from __future__ import annotations

from importlib import resources
from typing import TypeVar

import msgspec

Table = TypeVar("Table", bound=msgspec.Struct)


def load(name: str, table: type[Table]) -> Table:
    """The table in ``name`` (a ``.toml`` file of this package), checked against its type.

    Raises msgspec.ValidationError where the file does not have the form that ``table`` describes.
    """
    return msgspec.toml.decode(resources.files(__name__).joinpath(name).read_bytes(), type=table)
