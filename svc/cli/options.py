"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., object] | click.Command)

model_option: Callable[[Command], Command] = click.option(
    "-m",
    "--model",
    metavar="NAME",
    help="Model of a new session: stable, experimental or an ID (see svc status).",
)
language_option: Callable[[Command], Command] = click.option(
    "--language", metavar="TAG", help="Language of the answers of a new session, a BCP 47 tag. Default: en."
)
quiet_option: Callable[[Command], Command] = click.option(
    "-q", "--quiet", "is_quiet", is_flag=True, help="Show no progress on a terminal either."
)
