"""The command ``svc check``: proves a service's database. Exit codes: 0 nothing is wrong, 1 problems found."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from svc.cli.database import VARIABLE, read_address, read_files
from svc.errors import ConfigError
from svc.untrusted.terminal import echo

if TYPE_CHECKING:
    from svc.service.sessions.objects.address import ObjectAddress
    from svc.service.store.address import PostgresAddress
    from svc.service.store.checking import CheckableStore, StoredSizes


@click.command()
@click.argument("database", metavar="DATABASE", envvar=VARIABLE, callback=read_address)
@click.option(
    "--files",
    metavar="URL",
    callback=read_files,
    help="Place for attached files of a PostgreSQL database: file:///PATH, s3://BUCKET/PREFIX, gs://… or az://…. "
    "Without it, their contents are not checked.",
)
def check(database: Path | PostgresAddress, files: Path | ObjectAddress | None) -> None:
    """Check that nothing is missing from, or doubled in, the DATABASE of a service.

    DATABASE is a URL such as sqlite:///team.db or postgresql://svc@db.example.org/svc; one with a password goes into
    SVC_DATABASE_URL. Every session must have its messages without a gap, every turn one query, one end and at most one
    result, and every attached file its content. Nothing is changed; services may use the database meanwhile. Exit
    codes: 0 nothing is wrong, 1 problems found.
    """
    from svc.service.store.checking import Checked

    checked = Checked()
    with _opened(database, files) as store:
        for problem in checked.run(store):
            echo(problem)
    counts = f"{checked.sessions:,} sessions, {checked.turns:,} turns, {checked.messages:,} messages"
    has_files = files is not None or isinstance(database, Path)
    looked = f"{checked.files:,} files" if has_files else "contents of files not checked (no --files)"
    outcome = f"{checked.problems:,} problems" if checked.problems else "nothing is wrong"
    echo(f"{counts}, {looked}: {outcome}")
    sys.exit(1 if checked.problems else 0)


def _opened(
    database: Path | PostgresAddress, files: Path | ObjectAddress | None
) -> AbstractContextManager[CheckableStore]:
    if isinstance(database, Path):
        from svc.service.store.sqlite_checking import opened_for_checking as opened_sqlite

        if files is not None:
            raise ConfigError(
                f"the files of a SQLite database are beside it, in {database.name}.files; leave out --files"
            )
        return opened_sqlite(database)
    from svc.service.store.opening import store_of

    store_of(database)  # raises an error that says what is not installed
    from svc.service.store.postgres.checking import opened_for_checking as opened_postgres

    return opened_postgres(database, _sizes_in(files))


def _sizes_in(files: Path | ObjectAddress | None) -> StoredSizes | None:
    """Return how to look up the sizes of stored files; None if no place for them was given."""
    if files is None:
        return None
    if isinstance(files, Path):
        from svc.service.sessions.file_folder import sizes_in

        return sizes_in(files)
    from svc.service.sessions.objects.opening import bucket_of, sizes_of

    return sizes_of(bucket_of(files))
