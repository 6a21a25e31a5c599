"""``svc report``: read the options, run the notebook, write the page. Exit codes: 0, 1 a cell failed, 2 usage, 130."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from svc_jupyter.report.run import CellRun, Run

TITLE_CHARACTERS = 70


@click.group()
def report() -> None:
    """Run notebooks again as reports."""


@report.command("run")
@click.argument("notebook", type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of the page; default: beside it.")
def run_command(notebook: Path, out: Path | None) -> None:
    """Run NOTEBOOK in a fresh kernel and write NAME.html beside it.

    The notebook itself is not changed. Where a cell fails, the page is written with the error in it, and the exit code
    is 1. The page is one file; it loads nothing and runs no script.
    """
    source = _read(notebook)
    target = (out or notebook.parent) / f"{notebook.stem}.html"
    result = _run(source, notebook.resolve().parent)
    _write(target, _page(result, notebook.stem))
    click.echo(f"{target}  {result.seconds:.1f} s", err=True)
    if result.failure is not None:
        raise click.ClickException(f"a cell failed; the page shows where. {_redacted(result.failure)}")


def _read(path: Path) -> NotebookNode:
    import nbformat

    try:
        text = path.read_text(encoding="utf-8")
        notebook = nbformat.reads(text, as_version=4)  # raises the last three where the JSON is something else
        nbformat.validate(notebook)
    except (
        nbformat.reader.NotJSONError,
        nbformat.ValidationError,
        UnicodeDecodeError,
        AttributeError,
        KeyError,
        TypeError,
    ) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise click.UsageError(f"{path} is not a notebook that can be read: {reason}") from error
    return notebook


def _run(notebook: NotebookNode, folder: Path) -> Run:
    from svc_jupyter.report.run import KernelStartError, run

    try:
        return asyncio.run(run(notebook, folder, _tell))
    except KeyboardInterrupt:
        click.echo("interrupted; no page was written", err=True)
        sys.exit(130)
    except KernelStartError as error:
        raise click.UsageError(str(error)) from error


def _tell(cell: CellRun) -> None:
    from svc_jupyter.untrusted import one_line

    mark = "" if cell.is_ok else "  FAILED"
    title = _redacted(one_line(cell.title, limit=TITLE_CHARACTERS))
    click.echo(f"cell {cell.number}/{cell.total}  {cell.seconds:5.1f} s  {title}{mark}", err=True)


def _page(result: Run, title: str) -> str:
    from svc_jupyter.report.page import build

    return build(result.notebook, title=title, secrets=_secrets())


def _redacted(text: str) -> str:
    from svc_jupyter.report.page import redact

    return redact(text, _secrets())


def _secrets() -> tuple[str, ...]:
    return (os.environ.get("SVC_API_KEY", ""),)


def _write(target: Path, page: str) -> None:
    """Whole or not at all."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise click.UsageError(f"{target} cannot be written: {error.strerror or error}. Use --out FOLDER.") from error
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(page)
        Path(name).chmod(0o644 & ~_umask())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
