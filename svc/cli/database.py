"""Where a service keeps its data, as options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from svc.cli.options import Command
from svc.config import state_folder

if TYPE_CHECKING:
    from svc.service.sessions.objects.address import ObjectAddress
    from svc.service.store.address import PostgresAddress

VARIABLE = "SVC_DATABASE_URL"


def read_address(context: click.Context, parameter: click.Parameter, value: str) -> Path | PostgresAddress:
    """Read the address of a database."""
    from svc.service.store.address import parse_address

    source = context.get_parameter_source(parameter.name or "")
    return parse_address(value, is_visible=source == ParameterSource.COMMANDLINE)


def read_files(context: click.Context, parameter: click.Parameter, value: str | None) -> Path | ObjectAddress | None:
    """Read the value of ``--files``."""
    from svc.service.sessions.objects.address import parse_files

    return None if value is None else parse_files(value)


database_option: Callable[[Command], Command] = click.option(
    "--database",
    default=lambda: f"sqlite:///{state_folder() / 'service.db'}",
    envvar=VARIABLE,
    callback=read_address,
    metavar="URL",
    help="Database: sqlite:///PATH or postgresql://USER@HOST/DATABASE (extra postgres; a password only in "
    f"{VARIABLE}, PGPASSWORD or the file of PGPASSFILE). Default: service.db in your state folder.",
)
