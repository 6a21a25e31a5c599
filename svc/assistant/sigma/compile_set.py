"""What the documents of a set of Sigma rules have in common: references, placeholders and pipelines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from sigma.processing.pipeline import ProcessingPipeline
from sigma.rule import SigmaRule

from svc.assistant.sigma.compile_correlation import CorrelationError, with_ids
from svc.assistant.sigma.engine import Rule

_PIPELINE_KEYS = ("name", "priority", "vars", "transformations")


class RuleError(ValueError):
    """The rule uses something that is not supported."""


def no_values(placeholder: str) -> str:
    """Return why a rule with a placeholder without values is rejected, and what to do."""
    return (
        f"the placeholder %{placeholder}% has no values; add a file with `placeholders: {{{placeholder}: [...]}}` or a "
        "pySigma pipeline to the folder"
    )


class PlaceholderValues:
    """The values of placeholders, and the pipelines that change rules; both come from documents of the set."""

    def __init__(self) -> None:
        self._values: dict[str, list[str]] = {}
        self._pipelines: list[ProcessingPipeline] = []

    def add(self, document: object) -> None:
        """Take a document with ``placeholders`` (lists of values by name) or a pySigma pipeline.

        Raises:
            RuleError: The placeholders are not lists of values by name.
            SigmaError: The pipeline is not valid.
        """
        assert isinstance(document, dict)
        if "transformations" in document:
            chosen = {key: document[key] for key in _PIPELINE_KEYS if key in document}
            self._pipelines.append(ProcessingPipeline.from_dict(chosen))
        for name, values in _lists(document.get("placeholders", {})):
            self._values.setdefault(name, []).extend(values)

    def apply(self, rule: SigmaRule) -> None:
        """Change a rule as the pipelines say, then replace its placeholders."""
        for pipeline in sorted(self._pipelines, key=lambda one: one.priority):
            pipeline.apply(rule)
        if self._values:
            replace = {"type": "value_placeholders", "include": list(self._values)}
            ProcessingPipeline.from_dict({"vars": self._values, "transformations": [replace]}).apply(rule)


def _lists(placeholders: object) -> Iterator[tuple[str, list[str]]]:
    if not isinstance(placeholders, dict):
        raise RuleError("`placeholders` must be a map from a name to its values")
    for name, values in placeholders.items():
        texts = values if isinstance(values, list) else [values]
        if not texts or not all(isinstance(text, str | int) for text in texts):
            raise RuleError(f"the placeholder {name} needs a list of values")
        yield str(name).strip("%"), [str(text) for text in texts]


class Linker:
    """Finds the rules that correlation rules refer to, by ID, name or title, in the same file first."""

    def __init__(self, known: Iterable[Rule]) -> None:
        self._known = {rule.id: rule for rule in known if rule.id}
        self._ids: dict[str, str] = {}
        self._names: dict[str, set[str]] = {}
        self._titles: dict[tuple[str, str], str] = {}
        self._names_in_file: dict[tuple[str, str], str] = {}
        self._rules: dict[int, Rule] = {}
        self._correlations: dict[int, tuple[str, Rule, bool]] = {}

    def add_rule(self, place: int, file: str, rule: Rule) -> Rule:
        """Remember a rule of the set; one without an ID gets its name and file as the ID."""
        rule = self._named(file, rule)
        self._rules[place] = rule
        return rule

    def add_correlation(self, place: int, file: str, compiled: tuple[Rule, bool]) -> None:
        """Remember a correlation rule and whether the rules that it refers to report, too."""
        rule, generate = compiled
        self._correlations[place] = (file, self._named(file, rule), generate)

    def _named(self, file: str, rule: Rule) -> Rule:
        if not rule.id:
            rule = msgspec.structs.replace(rule, id=f"{rule.name or rule.title} ({file})")
        self._ids[rule.id] = rule.id
        self._titles.setdefault((file, rule.title), rule.id)
        if rule.name:
            self._names.setdefault(rule.name, set()).add(rule.id)
            self._names_in_file[file, rule.name] = rule.id
        return rule

    def linked(self) -> Iterator[tuple[int, Rule | Exception]]:
        """Yield the correlation rules, or why one cannot be linked, then again the rules that only serve them."""
        waiting: dict[int, tuple[Rule, bool]] = {}
        for place, (file, rule, generate) in self._correlations.items():
            assert rule.correlation is not None
            try:
                ids = {name: self._id_of(file, name) for name in rule.correlation.rules}
                correlation = with_ids(rule.correlation, ids)
            except CorrelationError as error:
                yield place, error
            else:
                waiting[place] = msgspec.structs.replace(rule, correlation=correlation), generate
        linked: dict[int, Rule] = {**self._rules}
        parts: set[str] = set()
        available = {rule.id for rule in self._rules.values()} | set(self._known)
        while ready := {place: one for place, one in waiting.items() if _is_ready(one[0], available)}:
            for place, (rule, generate) in ready.items():
                linked[place] = rule
                available.add(rule.id)
                if rule.correlation is not None and not generate:
                    parts.update(rule.correlation.rules)
                del waiting[place]
        for place in waiting:
            yield place, CorrelationError("it refers to itself, or to a correlation rule that was rejected")
        for place, rule in linked.items():
            if rule.id in parts or place in self._correlations:
                yield place, msgspec.structs.replace(rule, is_part=rule.id in parts)

    def _id_of(self, file: str, reference: str) -> str:
        if found := self._names_in_file.get((file, reference)):
            return found
        lower = reference.lower()
        for table in (self._ids, self._known):
            if lower in table:
                return lower
        named = self._names.get(reference, set())
        if len(named) > 1:
            raise CorrelationError(f"several rules are named {reference}; refer to one by its ID")
        if found := self._titles.get((file, reference)):
            return found
        if not named:
            raise CorrelationError(f"no rule has the ID or name {reference[:80]!r}, or it was rejected")
        return next(iter(named))


def _is_ready(rule: Rule, available: set[str]) -> bool:
    return rule.correlation is not None and available.issuperset(rule.correlation.rules)
