"""The option ``--database``, which ``svc serve`` and ``svc keys`` share."""

from __future__ import annotations

import click

from svc.config import state_folder

database_option = click.option(
    "--database",
    default=lambda: f"sqlite:///{state_folder() / 'service.db'}",
    metavar="sqlite:///PATH",
    help="Database URL. Default: service.db in your state folder.",
)
