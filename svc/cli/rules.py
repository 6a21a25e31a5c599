"""The command ``svc rules``: detection rules for logs, your own rule sets, and updates of knowledge tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from svc.cli.called import as_called
from svc.cli.compiled_rules import CompiledFolder, compile_folder, print_rejected, rule_sets
from svc.cli.sources import add_source, list_sources, remove_source
from svc.cli.try_rules import try_rules
from svc.untrusted.characters import one_line
from svc.untrusted.terminal import echo

if TYPE_CHECKING:
    from types import ModuleType

    import httpx2

    from svc.assistant.sigma.engine import Filter
    from svc.assistant.sigma.tables import RuleTable

MAX_FETCHED_BYTES = 256 * 1024 * 1024  # the largest official file, ATT&CK for Enterprise, is 45 MB
FETCH_SECONDS = 60.0  # per network operation, not for the whole download
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_UPDATES = {
    "attack": ("svc.assistant.knowledge.attack_update", "attack.json", "the ATT&CK Enterprise bundle (STIX 2.1 JSON)"),
    "cwe": ("svc.assistant.knowledge.cwe_update", "cwe.json", "the CWE list (XML or CSV, optionally zipped)"),
    "kev": ("svc.assistant.knowledge.kev", "kev.json", "CISA's known_exploited_vulnerabilities (JSON or CSV)"),
}
"""By option: the module whose ``read`` converts the official file, the table's file name, the file's description."""


@click.group()
def rules() -> None:
    """Manage detection rules, source definitions and knowledge tables.

    Logs are matched against the built-in Sigma rules and your own sets.
    """


rules.add_command(add_source)
rules.add_command(remove_source)

_folder_argument = click.argument("folder", metavar="DIR", type=click.Path(exists=True, path_type=Path))


@rules.command("add")
@_folder_argument
@click.option("--name", metavar="NAME", help="Name of the set. Default: the folder's name.")
def add_rules(folder: Path, name: str | None) -> None:
    """Compile and enable the Sigma rules in DIR.

    Unsupported rules are listed with the reason.
    """
    sets = rule_sets()
    try:
        set_name = sets.name_for(folder, name)
        compiled = compile_folder(sets, folder)
    except sets.SetError as error:
        raise click.ClickException(str(error)) from error
    _store(sets, set_name, folder, compiled)


@rules.command("list")
def list_rules() -> None:
    """List the rule sets and source definitions.

    Shows the rule counts, levels, authors, licences and dates of each set.
    """
    from svc.assistant.sigma.tables import OURS, UnreadableSet, load_tables

    for name, table in load_tables().items():
        if isinstance(table, UnreadableSet):
            echo(f"{name}: unreadable ({one_line(table.reason, 200)}). {as_called('Add it again: svc rules add DIR')}")
            continue
        title = "built-in" if name == OURS else name
        echo(f"{title}: {len(table.rules):,} rules of {table.date}, version {table.version}, {_source(table)}")
        echo(f"  levels:   {_counts(rule.level for rule in table.rules)}")
        echo(f"  authors:  {_counts(rule.author or 'unknown' for rule in table.rules)}")
        echo(f"  licences: {_counts(rule.license or 'unknown' for rule in table.rules)}")
        if table.filters:
            echo(f"  filters:  {len(table.filters):,}")
    list_sources()


def _table_options(command: click.Command) -> click.Command:
    for name, (_, _, what) in reversed(_UPDATES.items()):
        command.params.insert(0, click.Option([f"--{name}"], metavar="FILE|URL", help=f"Update from {what}."))
    return command


@_table_options
@rules.command("update")
def update_rules(**sources: str | None) -> None:
    """Recompile your rule sets, or update knowledge tables.

    With an option, the official file replaces a built-in table.
    """
    given = {name: source for name, source in sources.items() if source is not None}
    for name, source in given.items():
        _update_table(name, source)
    if not given:
        _updaterule_sets()


@rules.command("remove")
@click.argument("name")
def remove_rules(name: str) -> None:
    """Remove the set NAME. Its source folder is not changed."""
    if not rule_sets().remove_set(name):
        raise click.ClickException(f"no such set: {name!r}. List them with: svc rules list")
    echo(f"removed {name}")


@rules.command("compile", hidden=True)
def compile_rules() -> None:
    """Compile the built-in rules into the table that ships (development only)."""
    rule_sets()
    from svc.assistant.sigma.shipped import compile_ours, path_of_ours

    content = compile_ours()
    Path(path_of_ours()).write_bytes(content)
    echo(f"{path_of_ours()}: {len(content):,} bytes")


def _store(sets: ModuleType, name: str, folder: Path, compiled: CompiledFolder) -> None:
    found, filters, rejected = compiled
    print_rejected(rejected)
    if not found and not filters:
        raise click.ClickException(f"no supported rule in {folder}; the set {name} was not stored.")
    place = sets.save_set(name, folder, found, filters)
    filtering = f"{len(filters):,} filters, " if filters else ""
    echo(f"{name}: {len(found):,} rules enabled, {filtering}{len(rejected):,} unsupported; stored in {place}")
    _print_idle(filters)


def _print_idle(filters: list[Filter]) -> None:
    """Name the filters that limit no rule of any set."""
    from svc.assistant.sigma.tables import load_rules

    rules = load_rules().rules
    for one in filters:
        if not any(one.limits(rule) for rule in rules):
            echo(f"{one_line(one.title, 80)}: the filter applies to no rule of any set", err=True)


def _source(table: RuleTable) -> str:
    return "shipped with svc" if table.source == "svc-jupyter" else f"from {one_line(table.source, 120)}"


def _counts(values: Iterator[str]) -> str:
    """The five most common values with their counts."""
    counts = Counter(values)
    shown = ", ".join(f"{one_line(value, 60)} {count:,}" for value, count in counts.most_common(5))
    return shown if len(counts) <= 5 else f"{shown}, and {len(counts) - 5:,} more"


def _updaterule_sets() -> None:
    from svc.assistant.sigma.tables import OURS, RuleTable, load_tables

    own = {name: table for name, table in load_tables().items() if name != OURS and isinstance(table, RuleTable)}
    if not own:
        echo(as_called("you have no rule sets. Add one: svc rules add DIR"))
        return
    sets = rule_sets()
    failed = []
    for name, table in own.items():
        folder = Path(table.source)
        try:
            _store(sets, name, folder, compile_folder(sets, folder))
        except (sets.SetError, click.ClickException) as error:
            echo(f"{name} is unchanged: {error}", err=True)
            failed.append(name)
    if failed:
        raise click.ClickException(f"not updated: {', '.join(failed)}")


def _update_table(name: str, source: str) -> None:
    from svc._atomic_file import write_atomic
    from svc.assistant.knowledge import user_folder

    module, file_name, _ = _UPDATES[name]
    content = _download(source) if "://" in source else _read(Path(source))
    read: Callable[[bytes], msgspec.Struct] = import_module(module).read
    try:
        table = read(content)
    except ValueError as error:
        raise click.ClickException(f"--{name} {one_line(source, 200)}: {one_line(str(error), 300)}") from error
    place = user_folder() / file_name
    write_atomic(place, msgspec.json.encode(table), mode=None)
    facts = msgspec.to_builtins(table)
    echo(f"{facts['source']}, version {facts['version']} of {facts['date']}: stored in {place}")


def _read(file: Path) -> bytes:
    try:
        if file.stat().st_size > MAX_FETCHED_BYTES:
            raise click.ClickException(
                f"{file} is larger than {MAX_FETCHED_BYTES:,} bytes, so it is not an official table."
            )
        return file.read_bytes()
    except OSError as error:
        raise click.ClickException(f"{file} cannot be read: {error.strerror}") from error


def _download(url: str) -> bytes:
    import httpx2

    content = bytearray()
    try:
        hooks = {"request": [_only_https]}  # checked for each redirect, too
        with (
            httpx2.Client(follow_redirects=True, timeout=FETCH_SECONDS, event_hooks=hooks) as client,
            client.stream("GET", url) as response,
        ):
            response.raise_for_status()
            for part in response.iter_bytes():
                content += part
                if len(content) > MAX_FETCHED_BYTES:
                    raise click.ClickException(f"{url} is larger than {MAX_FETCHED_BYTES:,} bytes; download stopped.")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise click.ClickException(f"{one_line(url, 200)} cannot be fetched: {one_line(str(error), 200)}") from error
    return bytes(content)


def _only_https(request: httpx2.Request) -> None:
    url = request.url
    if url.scheme != "https" and not (url.scheme == "http" and url.host in _LOOPBACK):
        raise click.ClickException(
            f"{one_line(str(url), 200)}: only https URLs are supported. Download the file and pass its path."
        )


rules.add_command(try_rules)
