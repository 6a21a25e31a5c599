"""A build of this package as a later version has it: another number, and one more migration of PostgreSQL's tables."""

from __future__ import annotations

import os
from pathlib import Path

import svc
from svc.service.store.postgres.schema import migrations
from tests.support import ASSISTANTS

VERSION = "99.0.0"
NEWEST = max(migrations())
_CHANGES = """-- works with: {}
ALTER TABLE sessions ADD COLUMN later TEXT NOT NULL DEFAULT 'later';
ALTER TABLE turns ADD COLUMN later TEXT;
CREATE INDEX later_turns ON turns (later);
CREATE TABLE later (number BIGINT PRIMARY KEY);
"""


def later_build(folder: Path, *, works_with: int = NEWEST) -> dict[str, str]:
    """The environment of processes that run it. ``works_with``: the oldest program that may go on beside it."""
    source, root = Path(svc.__file__).parent, folder / f"later{works_with}"
    own = Path("service", "store", "migrations", "postgres")
    _link(source, root / "svc", leave_out={"service", "_version.py"})
    for depth in range(1, len(own.parts) + 1):
        part = Path(*own.parts[:depth])
        _link(source / part, root / "svc" / part, leave_out=set(own.parts[depth : depth + 1]))
    (root / "svc" / "_version.py").write_text(f'__version__ = "{VERSION}"\n')
    installed = root / f"svc_jupyter-{VERSION}.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: svc-jupyter\nVersion: {VERSION}\n")
    (root / "svc" / own / f"{NEWEST + 1:04}_later.sql").write_text(_CHANGES.format(works_with))
    # The folder in which a test runs has this package, too, and would come first.
    return {"PYTHONPATH": os.pathsep.join([str(root), str(ASSISTANTS)]), "PYTHONSAFEPATH": "1"}


def _link(source: Path, target: Path, *, leave_out: set[str]) -> None:
    target.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.name not in leave_out | {"__pycache__"}:
            (target / entry.name).symlink_to(entry)
