"""The command ``svc rules test``: run rules on logs, and explain why they match or what they lack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec

from svc.cli.compiled_rules import compile_folder, print_rejected, rule_sets
from svc.untrusted.characters import one_line
from svc.untrusted.terminal import echo

if TYPE_CHECKING:
    from svc.assistant.sigma.engine import Hit, Rule, RuleEngine
    from svc.assistant.sigma.event import Event

MAX_EXPLAINED = 5  # rules; of more, only the matches are shown
MAX_GROUPS = 10  # of a correlation rule that are shown
MAX_COMPARED = 50_000  # events of which the closest to a rule is looked for
_BATCH = 2_000  # events matched at a time
_RULE_SUFFIXES = (".yml", ".yaml")


@click.command("test")
@click.argument("names", metavar="[RULE...] FILE...", nargs=-1, required=True)
@click.option(
    "--rule",
    "rule_paths",
    multiple=True,
    metavar="FILE|DIR",
    type=click.Path(exists=True, path_type=Path),
    help="Run only this rule, added or not (repeatable).",
)
def try_rules(names: tuple[str, ...], rule_paths: tuple[Path, ...]) -> None:
    """Run the rules on log files and print the matches.

    FILEs may be EVTX, JSON Lines, auditd, web server logs, CloudTrail, syslog or CSV. A RULE is a Sigma file
    (.yml or .yaml), a folder, or the ID or title of a rule that is enabled; then only these run. Up to five chosen
    rules are explained: the values that matched, or the conditions that the closest event fails.
    """
    from svc.assistant.sigma.tables import load_rules

    loaded = load_rules().rules
    paths, wanted, logs = _sorted_out(names)
    chosen = [*_from_files((*rule_paths, *paths)), *_from_names(wanted, loaded)]
    if not logs:
        raise click.ClickException("no log file given. Add one: svc rules test RULE FILE")
    if not chosen and (rule_paths or paths):
        raise click.ClickException("none of the given rules is supported.")
    for file in logs:
        with file.open("rb") as log:
            _Trial(file, chosen or list(loaded), loaded, is_chosen=bool(chosen)).run(log)


def _sorted_out(names: Sequence[str]) -> tuple[list[Path], list[str], list[Path]]:
    """Return the rule files and folders, the names of rules, and the logs."""
    paths, wanted, logs = [], [], []
    for name in names:
        path = Path(name)
        if path.is_dir() or (path.is_file() and path.suffix.lower() in _RULE_SUFFIXES):
            paths.append(path)
        elif path.exists():
            logs.append(path)
        else:
            wanted.append(name)
    return paths, wanted, logs


def _from_files(paths: Iterable[Path]) -> list[Rule]:
    from svc.assistant.sigma.engine import filtered

    rules: list[Rule] = []
    for path in paths:
        sets = rule_sets()
        try:
            compiled = compile_folder(sets, path)
        except sets.SetError as error:
            raise click.ClickException(str(error)) from error
        print_rejected(compiled.rejected)
        rules += filtered(compiled.rules, compiled.filters)
    return rules


def _from_names(wanted: Iterable[str], loaded: Sequence[Rule]) -> Iterator[Rule]:
    for name in wanted:
        found = [rule for rule in loaded if name.casefold() in (rule.id.casefold(), rule.title.casefold())]
        if not found:
            raise click.ClickException(
                f"{one_line(name, 120)}: no such file, and no enabled rule has this ID or title. "
                "The rules are listed in the documentation, yours by: svc rules list"
            )
        yield from found


class _Trial:
    """One log against the chosen rules."""

    def __init__(self, file: Path, chosen: list[Rule], loaded: Sequence[Rule], *, is_chosen: bool) -> None:
        self._file = file
        self._rules = _with_parts(chosen, loaded)
        self._parts = {rule.id for rule in self._rules if rule.is_part}
        self._shown = [rule for rule in self._rules if not rule.is_part]
        self._explained = self._shown if is_chosen and len(self._shown) <= MAX_EXPLAINED else []
        self._sources: Counter[str] = Counter()
        self._closest: dict[str, tuple[float, Event]] = {}
        self._covered: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()

    def run(self, log: BinaryIO) -> None:
        """Read the log and print what matches and why."""
        from svc.assistant.sigma.engine import LEVELS, RuleEngine

        engine = RuleEngine([msgspec.structs.replace(rule, is_part=False) for rule in self._rules])
        by_rule: dict[str, list[Hit]] = {}
        for hit in self._hits(log, engine):
            key = _key(hit.rule)
            self._counts[key] += 1
            if hit.rule.id not in self._parts and len(by_rule.setdefault(key, [])) < MAX_GROUPS:
                by_rule[key].append(hit)
        echo(f"{self._file}: {len(by_rule):,} of {len(self._shown):,} rules match")
        for hits in sorted(by_rule.values(), key=lambda hits: LEVELS.index(hits[0].rule.level)):
            self._print_match(hits)
        for rule in self._explained:
            if _key(rule) not in by_rule:
                echo(f"  no match: {one_line(rule.title, 100)}")
                self._print_miss(rule, engine)
        for text in _lost(engine):
            echo(f"... {text}", err=True)

    def _hits(self, log: BinaryIO, engine: RuleEngine) -> Iterator[Hit]:
        from svc.assistant.findings import Gap
        from svc.assistant.skills.events.tool import read_events

        batch: list[Event] = []
        for item in read_events(log):
            if isinstance(item, Gap):
                echo(f"... {one_line(item.text, 300)}", err=True)
                continue
            self._compare(item)
            batch.append(item)
            if len(batch) >= _BATCH:
                yield from engine.feed(batch)
                batch = []
        yield from engine.feed(batch)
        yield from engine.finish()

    def _compare(self, event: Event) -> None:
        """Remember which event comes closest to each rule that is explained."""
        from svc.assistant.sigma.engine import LogSource
        from svc.assistant.sigma.explain import closeness

        if not self._explained:
            return
        source = LogSource(event.product, event.service, event.category)
        self._sources["/".join(filter(None, (event.product, event.service, event.category))) or "no log source"] += 1
        for rule in self._explained:
            if rule.correlation is not None or not rule.source.covers(source):
                continue
            key = _key(rule)
            self._covered[key] += 1
            if self._covered[key] > MAX_COMPARED:
                continue
            near = closeness(rule.condition, event)
            if key not in self._closest or near > self._closest[key][0]:
                self._closest[key] = near, event

    def _print_match(self, hits: list[Hit]) -> None:
        rule, event = hits[0].rule, hits[0].event
        credit = f"{rule.author or 'unknown author'}, {rule.license or 'unknown licence'}"
        count = self._counts[_key(rule)]
        echo(f"  {rule.level:<13} {count:>6} x  {one_line(rule.title, 100)}  [{one_line(credit, 80)}]")
        echo(f"  {'':<13} first: {event.number} {one_line(event.time, 40)} {one_line(event.excerpt, 160)}")
        if hits[0].episode is not None:
            _print_groups(hits)
        elif rule.id in {one.id for one in self._explained}:
            _print_reasons(rule, event)

    def _print_miss(self, rule: Rule, engine: RuleEngine) -> None:
        if rule in engine.unusable or any(one.id == rule.id for one in engine.unusable):
            echo("    the rule cannot run: an expression in it, or a rule that it refers to, is not usable")
        elif rule.correlation is not None:
            self._print_closest_group(rule, engine)
        elif (found := self._closest.get(_key(rule))) is None:
            source = "/".join(filter(None, (rule.source.product, rule.source.service, rule.source.category)))
            has = ", ".join(f"{one_line(name, 60)} ({count:,})" for name, count in self._sources.most_common(5))
            echo(f"    no event has the rule's log source {one_line(source, 100)}; this log has: {has or 'no events'}")
        else:
            echo(f"    closest of {self._covered[_key(rule)]:,} events with its log source: event {found[1].number}")
            _print_reasons(rule, found[1])

    def _print_closest_group(self, rule: Rule, engine: RuleEngine) -> None:
        from svc.assistant.sigma.explain import wanted

        assert rule.correlation is not None
        echo(f"    it needs {one_line(wanted(rule.correlation), 300)}")
        by_id = {one.id: one for one in self._rules}
        for part in dict.fromkeys(rule.correlation.rules):
            count = self._counts[part]
            echo(f"    {count:,} matches of {one_line(by_id[part].title if part in by_id else part, 100)}")
        losses = engine.losses().get(rule.id)
        if losses is not None:
            for count, why in (
                (losses.untimed, "have no usable time"),
                (losses.ungrouped, f"have no value for {', '.join(rule.correlation.group_by)}"),
                (losses.unvalued, f"have no usable value for {', '.join(rule.correlation.fields)}"),
            ):
                if count:
                    echo(f"    {count:,} of them {one_line(why, 200)}")
        closest = engine.closest(rule)
        if closest is not None:
            group, figure, groups = closest
            echo(f"    closest of {groups:,} groups: {_shared(group)}: {figure:,g}")


def _with_parts(chosen: Sequence[Rule], loaded: Sequence[Rule]) -> list[Rule]:
    """Return the rules and those that correlation rules among them refer to, which are only parts."""
    rules = {rule.id or rule.title: rule for rule in chosen}
    by_id = {rule.id: rule for rule in loaded}
    waiting = list(chosen)
    while waiting:
        correlation = waiting.pop().correlation
        for name in correlation.rules if correlation is not None else ():
            if name in by_id and name not in rules:
                rules[name] = msgspec.structs.replace(by_id[name], is_part=True)
                waiting.append(rules[name])
    return list(rules.values())


def _key(rule: Rule) -> str:
    return rule.id or rule.title


def _shared(group: Sequence[tuple[str, str]]) -> str:
    return one_line(", ".join(f"{field}={value}" for field, value in group), 200) or "all events together"


def _print_groups(hits: Sequence[Hit]) -> None:
    from svc.assistant.sigma.explain import wanted

    correlation = hits[0].rule.correlation
    if correlation is not None:
        echo(f"    it needs {one_line(wanted(correlation), 300)}")
    for hit in hits:
        if (one := hit.episode) is not None:
            times = f"{one_line(one.first, 40)} to {one_line(one.last, 40)}"
            echo(f"    {_shared(one.group)}: {one.figure:,g}; {one.count:,} events, {times}")


def _print_reasons(rule: Rule, event: Event) -> None:
    from svc.assistant.sigma.explain import reasons

    for reason in reasons(rule.condition, event):
        mark = "yes" if reason.holds else "NO "
        echo(f"    {mark} {'  ' * min(reason.depth, 10)}{one_line(reason.text, 400)}")


def _lost(engine: RuleEngine) -> Iterator[str]:
    from svc.assistant.skills.events.matches.rule_hits import not_correlated

    yield from not_correlated(engine.losses())
