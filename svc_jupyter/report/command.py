"""The command line of ``svc report``. ``batch.py`` runs it.

Exit codes: docs/reports.md, "Status and exit codes".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from svc.untrusted.terminal import echo, visible_json
from svc_jupyter.report import quick_import
from svc_jupyter.report.answers_command import answers
from svc_jupyter.report.content import paper
from svc_jupyter.report.outcome import CHANGED_EXIT_CODE

Command = Callable[..., None]
_FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
_EITHER = click.Path(exists=True, readable=True, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_MODES = ("live", "replay", "pin", "refresh")
_PARAMETER_OPTIONS = ("-p", "--parameter", "-r", "--parameter-raw")
_OPTIONS = (
    click.option(
        "-p",
        "--parameter",
        multiple=True,
        metavar="NAME=VALUE",
        help="Set a parameter, also as -p NAME VALUE; env:NAME or file:PATH reads a secret (repeatable).",
    ),
    click.option(
        "-r", "--parameter-raw", multiple=True, metavar="NAME=TEXT", help="Set a parameter as text (repeatable)."
    ),
    click.option(
        "-f",
        "--parameters-file",
        type=_FILE,
        multiple=True,
        help="Read parameters from YAML or JSON; -p and -r override it (repeatable).",
    ),
    click.option(
        "--sweep",
        type=_FILE,
        help="Run once per row of a CSV file with a header, or of a JSON Lines file (.jsonl). Requires --out.",
    ),
    click.option(
        "--to",
        default="html",
        show_default=True,
        metavar="FORMATS",
        help="Output formats, comma-separated: html, ipynb, md, pdf.",
    ),
    click.option(
        "--template", default="svc", show_default=True, help="Template of the page: svc, brief, or one of nbconvert's."
    ),
    click.option(
        "--paper",
        type=click.Choice(paper.SIZES),
        default=paper.default,
        show_default="a4, or letter if the locale's country uses it",
        help="Paper of printed pages and PDF files.",
    ),
    click.option("--executor", default="local", show_default=True, help="Where to run: local, or dask://HOST:PORT."),
    click.option(
        "--jobs", type=click.IntRange(1, 256), help="Parallel runs; default: number of cores, or of dask's threads."
    ),
    click.option(
        "--answers",
        type=click.Choice(_MODES),
        default="live",
        show_default=True,
        help="live: ask; replay: ask what is not stored; pin: only stored answers; refresh: ask, report changes.",
    ),
    click.option(
        "--answers-store", type=_FOLDER, help="Folder of stored answers; default: .answers next to the notebook."
    ),
    click.option("--answers-keep-unlogged", is_flag=True, help="Also store answers of sessions with logging disabled."),
    click.option(
        "--fail-on-change", is_flag=True, help="Exit with 3 if --answers refresh finds changed answers or evidence."
    ),
    click.option("--cell-timeout", type=click.IntRange(1), metavar="SECONDS", help="Time limit per cell."),
    click.option(
        "--notebook-timeout",
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        help="Time limit per notebook.",
    ),
    click.option("--max-failures", type=click.IntRange(1), metavar="N", help="Stop starting runs after N failures."),
    click.option("--resume", is_flag=True, help="Keep successful runs in --out and run the others."),
    click.option(
        "--out",
        type=_FOLDER,
        help="Folder for pages, run.json and manifest.json; default: a page next to the notebook.",
    ),
    click.option(
        "--redact",
        multiple=True,
        metavar="NAME",
        help="Redact the value of this parameter or environment variable (repeatable).",
    ),
    click.option("--json", "is_json", is_flag=True, help="Print progress as JSON Lines on standard output."),
)


class _RunCommand(click.Command):
    """Accepts ``-p NAME VALUE``, as papermill does, for ``-p NAME=VALUE``; the same for ``-r``."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Join the two words of each such parameter, then parse the options."""
        waiting, joined = list(args), []
        while waiting:
            word = waiting.pop(0)
            joined.append(word)
            if word == "--":
                joined += waiting
                break
            if word in _PARAMETER_OPTIONS and len(waiting) > 1 and waiting[0].isidentifier() and waiting[1][:2] != "--":
                joined.append(f"{waiting.pop(0)}={waiting.pop(0)}")
        return super().parse_args(context, joined)


@click.group()
def report() -> None:
    """Run notebooks as reports."""


def _with_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@report.command("run", cls=_RunCommand)
@click.argument("notebook", type=_FILE)
@_with_options
def run_command(**options: object) -> None:
    """Run NOTEBOOK in a new kernel and write NAME.html next to it, or run it once per row of --sweep.

    The notebook itself is not changed. If a cell fails, the page shows the error and the exit code is not 0. The page
    is one file that loads nothing and runs no scripts. The exit code is 6 if a question was not answered, or its
    evidence not examined.
    """
    quick_import.import_nbformat()
    from svc_jupyter.report.batch import run_batch
    from svc_jupyter.report.dask_executor import ClusterError
    from svc_jupyter.report.errors import ExportError
    from svc_jupyter.report.folder import FolderError
    from svc_jupyter.report.kernels import KernelMissingError
    from svc_jupyter.report.options import Options, UsageError

    try:
        code = run_batch(Options(**options))  # type: ignore[arg-type]  # click has checked them
    except (UsageError, FolderError, ExportError, KernelMissingError, ClusterError) as error:
        raise click.UsageError(str(error)) from error
    raise SystemExit(code)


@report.command("diff")
@click.argument("old", type=_EITHER)
@click.argument("new", type=_EITHER)
@click.option("--to", type=click.Choice(("md", "html", "json")), default="md", show_default=True, help="Output format.")
@click.option("--fail-on-change", is_flag=True, help="Exit with 3 if anything changed.")
def diff_command(old: Path, new: Path, to: str, *, fail_on_change: bool) -> None:
    """Show what changed between OLD and NEW: executed notebooks, or folders of --out.

    Lists changed, new and removed answers, and added and removed findings regardless of their wording.
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
            text = visible_json(diff_page.as_json(found))
        case "html":
            text = diff_page.as_html(found, old.name, new.name)
        case _:
            text = diff_page.as_markdown(found, old.name, new.name)
    echo(text, nl=False)
    if fail_on_change and found.has_changes:
        raise SystemExit(CHANGED_EXIT_CODE)


report.add_command(answers)
