"""The option ``--database``, which ``svc serve`` and ``svc keys`` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from svc.cli.options import Command
from svc.config import state_folder

if TYPE_CHECKING:
    from svc.service.store.address import PostgresAddress

VARIABLE = "SVC_DATABASE_URL"


def _read(context: click.Context, parameter: click.Parameter, value: str) -> Path | PostgresAddress:
    from svc.service.store.address import parse_address

    source = context.get_parameter_source(parameter.name or "")
    return parse_address(value, is_visible=source == ParameterSource.COMMANDLINE)


database_option: Callable[[Command], Command] = click.option(
    "--database",
    default=lambda: f"sqlite:///{state_folder() / 'service.db'}",
    envvar=VARIABLE,
    callback=_read,
    metavar="URL",
    help="Database: sqlite:///PATH or postgresql://USER@HOST/DATABASE (extra postgres; a password only in "
    f"{VARIABLE}, PGPASSWORD or the file of PGPASSFILE). Default: service.db in your state folder.",
)
