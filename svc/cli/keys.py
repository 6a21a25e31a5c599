"""The command ``svc keys``: creates, lists and revokes API keys in a service's database."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from svc.cli.database import database_option
from svc.untrusted.terminal import echo

if TYPE_CHECKING:
    from pathlib import Path

    from svc.service.store.address import PostgresAddress
    from svc.service.store.records import Logging


@click.group()
def keys() -> None:
    """Create, list and revoke API keys.

    The keys are those of a service on this machine, or on a PostgreSQL database, whether it is running or not.
    """


@keys.command("create")
@click.argument("name")
@database_option
@click.option(
    "--logging",
    type=click.Choice(["required", "optional", "never"]),
    default="optional",
    show_default=True,
    help="Whether the user's sessions are stored on disk.",
)
@click.option("--experimental", is_flag=True, help="Allow experimental models.")
@click.option(
    "--rpm", type=click.IntRange(0), default=600, show_default=True, help="Requests per minute (0 = no limit)."
)
@click.option("--tpm", type=click.IntRange(0), default=0, show_default=True, help="Tokens per minute (0 = no limit).")
@click.option(
    "--expires", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]), help="Expiry in UTC. Default: never."
)
@click.option(
    "--email", metavar="ADDRESS", help="The user's email, for all keys of the user. Default: NAME, if it is an address."
)
def create_key(
    name: str,
    database: Path | PostgresAddress,
    logging: Logging,
    experimental: bool,  # noqa: FBT001  # click passes by name
    rpm: int,
    tpm: int,
    expires: datetime | None,
    email: str | None,
) -> None:
    """Create a key for the user NAME and print it on the last line. It is not stored and not shown again."""
    from svc.service.access.key_admin import create_key as create

    end = expires.replace(tzinfo=UTC).timestamp() if expires else 0.0
    making = create(
        database,
        name,
        logging=logging,
        allow_experimental=experimental,
        rpm=rpm,
        tpm=tpm,
        expires=end,
        email=email,
    )
    record, key = asyncio.run(making)
    echo(f"key {record.id} of user {record.user_id}; save the next line, it is not shown again:")
    echo(key)


@keys.command("list")
@database_option
def list_keys(database: Path | PostgresAddress) -> None:
    """List the ID, user, email and rights of every key, without the keys themselves."""
    from svc.service.access.key_admin import list_keys as load

    for key in asyncio.run(load(database)):
        state = "revoked" if key.revoked else f"until {_day(key.expires)}" if key.expires else "valid"
        rights = "experimental" if key.allow_experimental else "stable"
        user = f"{key.user_id} <{key.email}>" if key.email not in ("", key.user_id) else key.user_id
        echo(f"{key.id}  {user}  {state}  logging {key.logging}  {rights}  rpm {key.rpm}  tpm {key.tpm}")


@keys.command("revoke")
@click.argument("key_id", metavar="ID")
@database_option
def revoke_key(key_id: str, database: Path | PostgresAddress) -> None:
    """Revoke the key ID and all keys created with it, and close their streams."""
    from svc.service.access.key_admin import revoke_key as revoke

    count = asyncio.run(revoke(database, key_id))
    echo(f"revoked key {key_id}{f' and {count} created with it' if count else ''}")


def _day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
