"""The proofs of the source definitions: ``<folder>/<product>/expected.toml`` and the sample files beside it.

A sample is an export made from the product's documentation. How to write one: docs/how_to/sources.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

FOLDER = Path(__file__).parent


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question about a sample; the answer contains every text of ``says``, in any case and not defanged."""

    ask: str
    says: list[str]


class Sample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file and what must be found in it.

    ``events`` of ``kind`` are read, and ``unread`` records are not. A ``quiet`` file has no finding of medium severity
    or above; any other has one, and one for each of ``techniques``.
    """

    file: str
    kind: str
    events: int
    unread: int = 0
    techniques: list[str] = []
    quiet: bool = False
    questions: list[Question] = []


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``expected.toml``; ``documentation`` is where the product documents the form."""

    documentation: str
    samples: list[Sample]


class Proof(NamedTuple):
    """The expected.toml of one product."""

    folder: Path
    expected: Expected

    @property
    def name(self) -> str:
        """The folder and the product."""
        return self.folder.relative_to(FOLDER).as_posix()


def _proofs() -> Iterator[Proof]:
    for file in sorted(FOLDER.glob("*/*/expected.toml")):
        try:
            yield Proof(file.parent, msgspec.toml.decode(file.read_bytes(), type=Expected))
        except msgspec.DecodeError as error:
            raise ValueError(f"{file.relative_to(FOLDER)}: {error}") from error


PROOFS = tuple(_proofs())
WITHOUT_SAMPLE = {
    file.parent.name: frozenset(file.read_text().splitlines()) for file in FOLDER.glob("*/without_sample.txt")
}
"""Kinds that have no sample yet, by folder; a name is deleted from its file when the kind gets one."""
