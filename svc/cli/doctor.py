"""The command ``svc doctor``: prints what ``svc.doctor`` found. Exit codes: 0 no problems, 1 problems found."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from svc.untrusted.characters import printable
from svc.untrusted.terminal import echo_json

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from svc.doctor import Diagnosis, LocalService

_STYLES = {"ok": "green", "note": "yellow", "wrong": "bold red", "skipped": "dim"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to stdout.")
def doctor(*, as_json: bool) -> None:
    """Check the configuration, the service and the knowledge.

    Reports what is configured, whether the service responds and how fast, whether it answers a question about a small
    log, and how old the analyst's knowledge is. If no service is configured, the local service is started. The
    question is asked in a temporary session; a model behind a hosted service uses tokens for it. Keys are never shown.
    Exit codes: 0 no problems, 1 problems found.
    """
    from svc.doctor import examine

    diagnosis = examine(datetime.now(UTC).date(), time.time())
    if as_json:
        echo_json(diagnosis, is_indented=True)
    else:
        _show(diagnosis)
    sys.exit(0 if diagnosis.is_well else 1)


def _show(diagnosis: Diagnosis) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(_text(f"svc {diagnosis.version}, Python {diagnosis.python}", "bold"), _checks_table(diagnosis))
    if diagnosis.local is not None:
        console.print(_text("\nLocal service", "bold"), _local_table(diagnosis.local))
    whose = "of the embedded analyst" if diagnosis.service != "hosted" else "installed here (the service has its own)"
    console.print(_text(f"\nKnowledge {whose}", "bold"), _knowledge_table(diagnosis))
    wrong = sum(check.status == "wrong" for check in diagnosis.checks)
    if wrong:
        console.print(_text(f"\n{wrong} of {len(diagnosis.checks)} checks found a problem.", "bold red"))
    else:
        console.print(_text("\nNo problems found.", "bold green"))


def _checks_table(diagnosis: Diagnosis) -> Table:
    table = _grid()
    table.add_column(justify="right", no_wrap=True)
    for check in diagnosis.checks:
        spent = "" if check.milliseconds is None else f"{check.milliseconds:,.0f} ms"
        state = _text(check.status, _STYLES[check.status])
        table.add_row(state, _text(check.name, "bold"), _text(check.text), _text(spent, "dim"))
    return table


def _local_table(local: LocalService) -> Table:
    table = _grid()
    age = "" if local.age_seconds is None else f", started {_age(local.age_seconds)} ago"
    for name, value in (
        ("process", "never started" if local.pid is None else f"{local.pid}{age}"),
        ("folder", local.folder),
        ("database", f"{local.database_bytes:,} bytes"),
        ("attached files", f"{local.files_bytes:,} bytes"),
        ("kept results", f"{local.results_bytes:,} bytes"),
        ("log", f"{local.log} ({local.log_bytes:,} bytes)"),
        ("total", f"{local.total_bytes:,} bytes"),
    ):
        table.add_row("", _text(name, "bold"), _text(value))
    return table


def _knowledge_table(diagnosis: Diagnosis) -> Table:
    table = _grid()
    table.add_column(justify="right", no_wrap=True)
    for known in diagnosis.knowledge:
        facts = f"{known.date}, version {known.version}"
        table.add_row("", _text(known.name, "bold"), _text(facts), _text(f"{known.age_days:,} days", "dim"))
    return table


def _grid() -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _text(text: str, style: str = "") -> Text:
    """Literal text: markup and control characters from a service or a file have no effect."""
    from rich.text import Text

    return Text(printable(text), style=style)


def _age(seconds: int) -> str:
    minutes = seconds // 60
    if minutes < 120:
        return f"{minutes} min" if minutes else f"{seconds} s"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1_440} days"
