"""The command ``svc work``: a process that runs turns of a shared database and takes no requests.

How it is probed is decided in docs/decisions.md, "A worker listens nowhere by default".
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from svc.cli.serve import serve
from svc.service.settings import settings_from

if TYPE_CHECKING:
    from svc.service.store.address import PostgresAddress


_FOR_CLIENTS = frozenset({"port", "connection_file", "key_file", "show_settings", "exit_when_idle"})


@click.command(params=[option for option in serve.params if option.name not in _FOR_CLIENTS])
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Serve /live, /ready, /health and /metrics on this port (0 = any free port). Default: listen nowhere.",
)
def work(
    host: str,
    port: int | None,
    database: Path | PostgresAddress,
    files: Path | None,
    assistant: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    behind_proxy: bool,  # noqa: FBT001  # click passes by name
    **limits: str | None,
) -> None:
    """Run waiting turns of services that share a PostgreSQL database, until stopped.

    A worker is one of these services without an address for clients. Give it the same database, files and settings.
    It runs up to --turns-at-once turns at the same time; the services need this setting, too, because without it no
    turn waits. SIGTERM: it takes no more turns, gives the running ones --stop-seconds, and hands over the rest.
    """
    settings = settings_from(os.environ, {name: value for name, value in limits.items() if value is not None})
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
        is_worker=True,
    )
    run(options, settings)
