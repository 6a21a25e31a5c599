"""The commands of ``svc rules`` for source definitions: add, list and remove the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from svc.cli.called import as_called
from svc.untrusted.characters import one_line
from svc.untrusted.terminal import echo

if TYPE_CHECKING:
    from svc.assistant.log_readers.tables.kinds import Source

MAX_SHOWN_CHARS = 400


@click.command("add-source")
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--sample",
    "samples",
    multiple=True,
    required=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An export of the product; at least one for each kind (repeatable).",
)
@click.option("--name", metavar="NAME", help="Name of the definition. Default: the file's name.")
def add_source(file: Path, samples: tuple[Path, ...], name: str | None) -> None:
    """Teach the analyst a product's exports: check the definition FILE on samples, and store it.

    A definition (TOML) says how an export is recognised and what its columns mean.
    """
    from svc.assistant.knowledge import source_files
    from svc.assistant.log_readers.tables import user_sources

    try:
        content = file.read_bytes()[: user_sources.MAX_FILE_BYTES + 1]
        definition = user_sources.parse(content)
        stored_as = source_files.name_for(file, name)
    except OSError as error:
        raise click.ClickException(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise click.ClickException(f"{file}: {one_line(str(error), MAX_SHOWN_CHARS)}") from error
    proved = {_proved(definition, sample) for sample in samples}
    without = [kind.name for kind in definition.kinds if kind.name not in proved]
    if without:
        raise click.ClickException(f"no sample is of the kind {one_line(without[0], 100)}. Add one: --sample FILE")
    place = source_files.save(stored_as, content)
    echo(f"{stored_as}: stored in {place}")


def _proved(definition: Source, sample: Path) -> str:
    """Read a sample with the definition, print what was read, and return the kind's name."""
    from svc.assistant.log_readers.tables.sample_proof import SampleError, prove

    try:
        with sample.open("rb") as opened:
            found = prove(definition, opened)
    except SampleError as error:
        raise click.ClickException(f"{sample}: {one_line(str(error), MAX_SHOWN_CHARS)}") from error
    except OSError as error:
        raise click.ClickException(f"{sample} cannot be read: {error.strerror}") from error
    if not found.events:
        echo(f"{sample}: {one_line(found.kind, 100)}, recognised and not read")
        return found.kind
    when = f", {found.first} to {found.last}" if found.first else ""
    echo(f"{sample}: {one_line(found.kind, 100)}, {found.events:,} events{when}")
    counts = ", ".join(f"{one_line(name, 60)} {count:,}" for name, count in found.categories.items())
    echo(f"  categories:  {counts}")
    echo(f"  log sources: {one_line(', '.join(found.log_sources), MAX_SHOWN_CHARS)}")
    echo(f"  columns:     {one_line(', '.join(found.columns), MAX_SHOWN_CHARS)}")
    if found.unused:
        echo(f"  not used:    {one_line(', '.join(found.unused), MAX_SHOWN_CHARS)}")
    return found.kind


@click.command("remove-source")
@click.argument("name")
def remove_source(name: str) -> None:
    """Remove the source definition NAME."""
    from svc.assistant.knowledge import source_files

    if not source_files.remove(name):
        hint = as_called("List them with: svc rules list")
        raise click.ClickException(f"no such source definition: {name!r}. {hint}")
    echo(f"removed {name}")


def list_sources() -> None:
    """Print the source definitions of the user, and how many are built in."""
    from svc.assistant.log_readers.tables import user_sources
    from svc.assistant.log_readers.tables.kinds import shipped_sources

    shipped = shipped_sources()
    echo(f"built-in sources: {sum(len(one.kinds) for one in shipped):,} kinds of exports of {len(shipped):,} products")
    for name, found in user_sources.stored().items():
        if isinstance(found, user_sources.UnreadableSource):
            echo(f"source {name}: unreadable ({found.reason}). {as_called('Add it again: svc rules add-source FILE')}")
            continue
        listed = ", ".join(one_line(kind.name, 100) for kind in found.kinds)
        echo(
            f"source {name}: {one_line(listed, MAX_SHOWN_CHARS)}, version {one_line(found.version, 40)} of {found.date}"
        )
