"""The commands ``svc serve`` and ``svc keys``: options in, one call to the service's package, which loads when used."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from svc.config import state_folder
from svc.service.settings import Settings, describe, settings_from

if TYPE_CHECKING:
    from svc.service.store.records import Logging


_database_option = click.option(
    "--database",
    default=lambda: f"sqlite:///{state_folder() / 'service.db'}",
    metavar="sqlite:///PATH",
    help="Default: service.db in this user's state folder.",
)


def _setting_options(command: click.Command) -> click.Command:
    """Give the command an option for each setting of the service."""
    for row in describe(Settings()):
        help_text = f"{row.reason}. Default: {row.default or 'none'}; {row.variable}."
        command.params.append(click.Option([row.option], metavar="VALUE", default=None, help=help_text))
    return command


@_setting_options
@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8460, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@_database_option
@click.option(
    "--assistant",
    metavar="MODULE:NAME",
    help="What answers. Default: the embedded analyst, or the model of SVC_MODEL_URL.",
)
@click.option("--tls-cert", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--tls-key", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--behind-proxy", is_flag=True, help="A proxy in front speaks TLS.")
@click.option("--connection-file", type=click.Path(path_type=Path), help="Say there where the service listens.")
@click.option("--key-file", type=click.Path(path_type=Path), help="Take the key in it; made where it is missing.")
@click.option("--show-settings", is_flag=True, help="Show every limit with its value and reason, and end.")
@click.option("--exit-when-idle", type=click.FloatRange(min=0), metavar="SECONDS", help="Stop when unused that long.")
def serve(
    host: str,
    port: int,
    database: str,
    assistant: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    behind_proxy: bool,  # noqa: FBT001  # click passes by name
    connection_file: Path | None,
    key_file: Path | None,
    exit_when_idle: float | None,
    show_settings: bool,  # noqa: FBT001  # click passes by name
    **limits: str | None,
) -> None:
    """Run the service until it is told to stop. Limits are options here, or SVC_… in the environment."""
    settings = settings_from(os.environ, {name: value for name, value in limits.items() if value is not None})
    if show_settings:
        _show(settings)
        return
    from svc.service.server.serve import Options, default_assistant, run

    options = Options(
        host=host,
        port=port,
        database=database,
        assistant=assistant or default_assistant(os.environ),
        tls_cert=tls_cert,
        tls_key=tls_key,
        behind_proxy=behind_proxy,
        connection_file=connection_file,
        key_file=key_file,
        exit_when_idle=exit_when_idle,
    )
    run(options, settings)


def _show(settings: Settings) -> None:
    from svc.assistant.model.configuration import describe as describe_model
    from svc.assistant.model.configuration import limits_from

    for row in describe(settings):
        value = f"{row.value or 'none'}{'' if row.value == row.default else f'  (default {row.default or chr(8212)})'}"
        click.echo(f"{row.option:<28} {value:<24} {row.variable:<28} {row.reason}")
    for limit in describe_model(limits_from(os.environ)):
        value = f"{limit.value}{'' if limit.value == limit.default else f'  (default {limit.default})'}"
        click.echo(f"{'(a model; no option)':<28} {value:<24} {limit.variable:<28} {limit.reason}")


@click.group()
def keys() -> None:
    """Make, list and revoke the keys of a service, running or not."""


@keys.command("create")
@click.argument("name")
@_database_option
@click.option("--logging", type=click.Choice(["required", "optional", "never"]), default="optional", show_default=True)
@click.option("--experimental", is_flag=True, help="May use experimental models.")
@click.option("--rpm", type=click.IntRange(0), default=600, show_default=True, help="Requests a minute; 0: no limit.")
@click.option("--tpm", type=click.IntRange(0), default=0, show_default=True, help="Tokens a minute; 0: no limit.")
@click.option("--expires", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]), help="In UTC. Default: never.")
def create_key(
    name: str,
    database: str,
    logging: Logging,
    experimental: bool,  # noqa: FBT001  # click passes by name
    rpm: int,
    tpm: int,
    expires: datetime | None,
) -> None:
    """Make a key for the user NAME. The last line is the key: it is shown this once, and never stored."""
    from svc.service.access.key_admin import create_key as create
    from svc.service.server.serve import database_path

    end = expires.replace(tzinfo=UTC).timestamp() if expires else 0.0
    making = create(
        database_path(database),
        name,
        logging=logging,
        allow_experimental=experimental,
        rpm=rpm,
        tpm=tpm,
        expires=end,
    )
    record, key = asyncio.run(making)
    click.echo(f"key {record.id} of user {record.user_id}; keep the next line, it is not shown again:")
    click.echo(key)


@keys.command("list")
@_database_option
def list_keys(database: str) -> None:
    """Show every key's id, user and rights; never a key."""
    from svc.service.access.key_admin import list_keys as load
    from svc.service.server.serve import database_path

    for key in asyncio.run(load(database_path(database))):
        state = "revoked" if key.revoked else f"until {_day(key.expires)}" if key.expires else "valid"
        rights = "experimental" if key.allow_experimental else "stable"
        click.echo(f"{key.id}  {key.user_id}  {state}  logging {key.logging}  {rights}  rpm {key.rpm}  tpm {key.tpm}")


@keys.command("revoke")
@click.argument("key_id", metavar="ID")
@_database_option
def revoke_key(key_id: str, database: str) -> None:
    """Revoke the key with this ID, and those that were made with it; their streams are closed."""
    from svc.service.access.key_admin import revoke_key as revoke
    from svc.service.server.serve import database_path

    count = asyncio.run(revoke(database_path(database), key_id))
    click.echo(f"key {key_id} is revoked{f', and {count} that were made with it' if count else ''}")


def _day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
