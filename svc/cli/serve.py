"""The command ``svc serve``. The service's modules are imported when it runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from svc.cli.database import database_option, read_files
from svc.service.settings import Settings, describe, settings_from
from svc.untrusted.terminal import echo

if TYPE_CHECKING:
    from svc.service.sessions.objects.address import ObjectAddress
    from svc.service.store.address import PostgresAddress


def _setting_options(command: click.Command) -> click.Command:
    """Add an option for each setting of the service."""
    for row in describe(Settings()):
        help_text = f"{row.description}. Default: {row.default or 'none'}; {row.variable}."
        command.params.append(click.Option([row.option], metavar="VALUE", default=None, help=help_text))
    return command


@_setting_options
@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8460,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on (0 = any free port).",
)
@database_option
@click.option(
    "--files",
    metavar="URL",
    callback=read_files,
    help="Place for attached files: file:///PATH, or s3://BUCKET/PREFIX, gs://… or az://… (extra objects; keys only in "
    "the environment). Default: NAME.files beside a SQLite database; PostgreSQL needs one.",
)
@click.option(
    "--assistant",
    metavar="MODULE:NAME",
    help="Assistant implementation. Default: the embedded analyst, or the model in SVC_MODEL_URL.",
)
@click.option(
    "--tls-cert", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="TLS certificate chain (PEM)."
)
@click.option("--tls-key", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="TLS private key (PEM).")
@click.option("--behind-proxy", is_flag=True, help="TLS is terminated by a reverse proxy.")
@click.option("--connection-file", type=click.Path(path_type=Path), help="Write the service's address to this file.")
@click.option(
    "--key-file", type=click.Path(path_type=Path), help="Read the API key from this file; create it if missing."
)
@click.option("--show-settings", is_flag=True, help="Print every setting with its value and reason, and exit.")
@click.option(
    "--exit-when-idle", type=click.FloatRange(min=0), metavar="SECONDS", help="Exit after SECONDS without requests."
)
def serve(
    host: str,
    port: int,
    database: Path | PostgresAddress,
    files: Path | ObjectAddress | None,
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
    """Run the service until it is stopped. Settings are options, or SVC_… in the environment."""
    settings = settings_from(os.environ, {name: value for name, value in limits.items() if value is not None})
    if show_settings:
        _show(settings)
        return
    from svc.service.server.serve import Options, default_assistant, run

    options = Options(
        host=host,
        port=port,
        database=database,
        files=files,
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
        echo(f"{row.option:<28} {value:<24} {row.variable:<28} {row.description}")
    for limit in describe_model(limits_from(os.environ)):
        value = f"{limit.value}{'' if limit.value == limit.default else f'  (default {limit.default})'}"
        echo(f"{'(model; no option)':<28} {value:<24} {limit.variable:<28} {limit.description}")
