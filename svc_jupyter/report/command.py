"""``svc report``: its options, and what it says. What is done: ``batch.py``.

Exit codes: 0 all well, 1 a case failed, 2 usage, 3 answers changed (--fail-on-change), 4 a pinned answer is missing,
5 service out of reach, 124 timeout, 130 and 143 interrupted, 138 the kernel died; a sweep with failures exits with 1.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from svc_jupyter.report import quick_import
from svc_jupyter.report.answers_command import answers
from svc_jupyter.report.outcome import CHANGED_EXIT_CODE

Command = Callable[..., None]
_FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
_EITHER = click.Path(exists=True, readable=True, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_MODES = ("live", "replay", "pin", "refresh")
_OPTIONS = (
    click.option(
        "-p",
        "--parameter",
        multiple=True,
        metavar="NAME=VALUE",
        help="A parameter; env:NAME and file:PATH name a secret.",
    ),
    click.option("-r", "--parameter-raw", multiple=True, metavar="NAME=TEXT", help="A parameter that stays text."),
    click.option(
        "-f",
        "--parameters-file",
        type=_FILE,
        multiple=True,
        help="YAML or JSON with parameters; -p and -r come on top.",
    ),
    click.option("--sweep", type=_FILE, help="CSV with names, or JSON lines (.jsonl): one case a row. Needs --out."),
    click.option(
        "--to", default="html", show_default=True, metavar="FORMATS", help="html, ipynb, md, pdf; with commas."
    ),
    click.option(
        "--template", default="svc", show_default=True, help="Of the page: svc, brief, or one of nbconvert's."
    ),
    click.option("--executor", default="local", show_default=True, help="local, or dask://HOST:PORT."),
    click.option("--jobs", type=click.IntRange(1, 256), help="Cases at a time; default: the cores, or dask's threads."),
    click.option(
        "--answers",
        type=click.Choice(_MODES),
        default="live",
        show_default=True,
        help="live asks; replay asks what is not stored; pin never asks; refresh asks all and says what changed.",
    ),
    click.option(
        "--answers-store", type=_FOLDER, help="Folder of stored answers; default: .answers beside the notebook."
    ),
    click.option(
        "--answers-keep-unlogged", is_flag=True, help="Store answers of sessions that may not be logged, too."
    ),
    click.option("--fail-on-change", is_flag=True, help="Exit with 3 where --answers refresh finds other answers."),
    click.option("--cell-timeout", type=click.IntRange(1), metavar="SECONDS", help="Ends a cell, and its case."),
    click.option("--notebook-timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Ends a case."),
    click.option("--max-failures", type=click.IntRange(1), metavar="N", help="After N no further case begins."),
    click.option("--resume", is_flag=True, help="Keep the cases in --out that went well; run the others."),
    click.option(
        "--out", type=_FOLDER, help="Folder of pages, run.json, manifest.json; default: a page beside the notebook."
    ),
    click.option(
        "--redact", multiple=True, metavar="NAME", help="Never write the value of this parameter or variable."
    ),
    click.option("--json", "is_json", is_flag=True, help="Progress as JSON lines on standard output."),
)


@click.group()
def report() -> None:
    """Run notebooks again as reports."""


def _with_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@report.command("run")
@click.argument("notebook", type=_FILE)
@_with_options
def run_command(**given: object) -> None:
    """Run NOTEBOOK in a fresh kernel and write NAME.html beside it, or once for each row of --sweep.

    The notebook itself is not changed. Where a cell fails, the page is written with the error in it, and the exit code
    says so. The page is one file; it loads nothing and runs no script.
    """
    quick_import.import_nbformat()
    from svc_jupyter.report.batch import run_batch
    from svc_jupyter.report.dask_executor import ClusterError
    from svc_jupyter.report.errors import ExportError
    from svc_jupyter.report.folder import FolderError
    from svc_jupyter.report.kernels import KernelStartError
    from svc_jupyter.report.options import Options, UsageError

    try:
        code = run_batch(Options(**given))  # type: ignore[arg-type]  # click has checked them
    except (UsageError, FolderError, ExportError, KernelStartError, ClusterError) as error:
        raise click.UsageError(str(error)) from error
    raise SystemExit(code)


@report.command("diff")
@click.argument("old", type=_EITHER)
@click.argument("new", type=_EITHER)
@click.option("--to", type=click.Choice(("md", "html", "json")), default="md", show_default=True)
@click.option("--fail-on-change", is_flag=True, help="Exit with 3 where anything is other than it was.")
def diff_command(old: Path, new: Path, to: str, *, fail_on_change: bool) -> None:
    """Say what is other in NEW than in OLD: executed notebooks, or folders of --out.

    Answers that changed, are new or gone; findings added and removed, by what they are and not by their words.
    """
    quick_import.import_nbformat()
    from svc_jupyter.report import diff_page, read_answers
    from svc_jupyter.report.diff import compare
    from svc_jupyter.report.options import UsageError

    try:
        found = compare(read_answers.load(old), read_answers.load(new))
    except UsageError as error:
        raise click.UsageError(str(error)) from error
    match to:
        case "json":
            text = diff_page.as_json(found)
        case "html":
            text = diff_page.as_html(found, old.name, new.name)
        case _:
            text = diff_page.as_markdown(found, old.name, new.name)
    click.echo(text, nl=False)
    if fail_on_change and found.has_changes:
        raise SystemExit(CHANGED_EXIT_CODE)


report.add_command(answers)
