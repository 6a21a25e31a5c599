"""The command ``svc check``: proves a service's database. Exit codes: 0 nothing is wrong, 1 problems found."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from svc.errors import ConfigError
from svc.untrusted.terminal import echo


@click.command()
@click.argument("database", metavar="DATABASE")
def check(database: str) -> None:
    """Check that nothing is missing from, or doubled in, the DATABASE of a service.

    DATABASE is a URL such as sqlite:///team.db. Every session must have its messages without a gap, every turn one
    query, one end and at most one result, and every attached file its content. Nothing is changed; a service may use
    the database meanwhile. Exit codes: 0 nothing is wrong, 1 problems found.
    """
    from svc.service.store.address import parse_address
    from svc.service.store.checking import Checked
    from svc.service.store.sqlite_checking import opened_for_checking

    path = parse_address(database, is_visible=True)
    if not isinstance(path, Path):
        raise ConfigError(f"svc check reads SQLite databases (sqlite:///PATH), not {path}")
    checked = Checked()
    with opened_for_checking(path) as store:
        for problem in checked.run(store):
            echo(problem)
    counts = f"{checked.sessions:,} sessions, {checked.turns:,} turns, {checked.messages:,} messages"
    outcome = f"{checked.problems:,} problems" if checked.problems else "nothing is wrong"
    echo(f"{counts}, {checked.files:,} files: {outcome}")
    sys.exit(1 if checked.problems else 0)
