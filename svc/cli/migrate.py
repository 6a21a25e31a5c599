"""The command ``svc migrate``: updates the tables of a database, for services whose user may not change them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from svc.cli.database import database_option
from svc.untrusted.terminal import echo

if TYPE_CHECKING:
    from pathlib import Path

    from svc.service.store.address import PostgresAddress


@click.command()
@database_option
def migrate(database: Path | PostgresAddress) -> None:
    """Create or update the tables of a database.

    A service does this itself when it starts. Run this command before, as a user that may change tables, if the
    service's user may not.
    """
    from svc.service.store.address import url_of
    from svc.service.store.opening import store_of

    async def update() -> None:
        store = store_of(database)
        try:
            await store.open()
        finally:
            await store.close()

    asyncio.run(update())
    echo(f"{url_of(database)} is up to date")
