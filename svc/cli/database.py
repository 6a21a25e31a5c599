"""Where a service keeps its data, as options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from svc.cli.options import Command
from svc.config import state_folder
from svc.errors import ConfigError

if TYPE_CHECKING:
    from svc.service.sessions.objects.address import ObjectAddress
    from svc.service.store.address import PostgresAddress

VARIABLE = "SVC_DATABASE_URL"
PASSWORD_FILE = "SVC_DATABASE_PASSWORD_FILE"  # noqa: S105  # the name of a variable


def read_address(context: click.Context, parameter: click.Parameter, value: str) -> Path | PostgresAddress:
    """Read the address of a database, and its password from the file that a variable names."""
    from svc.service.store.address import PostgresAddress, parse_address

    source = context.get_parameter_source(parameter.name or "")
    address = parse_address(value, is_visible=source == ParameterSource.COMMANDLINE)
    if isinstance(address, PostgresAddress) and (path := os.environ.get(PASSWORD_FILE)):
        address.password = _read_password(address, Path(path))
    return address


def _read_password(address: PostgresAddress, path: Path) -> str:
    """The password in the file, without its line break; raises ConfigError."""
    if address.has_password:
        raise ConfigError(
            f"the database URL has a password, and {PASSWORD_FILE} names a file with one; keep one of them"
        )
    try:
        password = path.read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{PASSWORD_FILE}: {path} cannot be read: {error}") from error
    if not password or "\n" in password:
        raise ConfigError(f"{PASSWORD_FILE}: {path} must have the password in its only line")
    return password


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
    f"{VARIABLE}, PGPASSWORD or the file of {PASSWORD_FILE} or PGPASSFILE). Default: service.db in your state folder.",
)
