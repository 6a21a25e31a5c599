"""Match events against rules: events in, hits out, in the events' order.

A rule is evaluated only for events of its log source and, if it names event IDs, for these. Events repeat, so the
result for the values that a log source's rules look at is remembered, which makes it fast. Rules are compiled
beforehand (``compile.py``); running them needs the standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Literal, NamedTuple

import msgspec

from svc.assistant.findings import Severity
from svc.assistant.sigma.condition import (
    UNUSABLE,
    Check,
    Every,
    Layout,
    Node,
    Predicate,
    Some,
    ValueForm,
    Values,
    predicate,
)
from svc.assistant.sigma.correlation import Correlation
from svc.assistant.sigma.correlator import Correlators, Episode, Losses
from svc.assistant.sigma.derived import PREFIX, derived, derived_reader
from svc.assistant.sigma.event import Event
from svc.assistant.sigma.needed_words import Candidates

MAX_REMEMBERED = 20_000  # results per log source; at the limit they are dropped and computed again
MAX_REMEMBERED_CHARS = 2_000  # of an event's values together: long ones seldom repeat and take memory

WORTH_AFTER = 2_000  # different values, after which
WORTH_SHARE = 0.1  # as many must have come again, or the results are no longer remembered

MAX_NAMES = 5_000  # of fields of one log source, that are compared with the rules'
_SPECIAL = frozenset({"", "EventID", "Computer", "ComputerName", "timestamp", "@timestamp", "TimeCreated"})
_OWN_NAMES = frozenset({"windows", "linux"})  # products whose readers give the fields Sigma's names
_WELL_COVERED = _OWN_NAMES | {"aws", "azure", "gcp", "m365", "okta", "github", "kubernetes", "crowdstrike"}
"""Products of which our rules know the whole list of actions, so that what has no rule is ordinary."""

Level = Literal["critical", "high", "medium", "low", "informational"]
LEVELS: tuple[Level, ...] = ("critical", "high", "medium", "low", "informational")
_NARROWER = {
    "registry_event": frozenset({"registry_add", "registry_set", "registry_delete", "registry_rename"}),
    "dns": frozenset({"dns_query"}),
}  # categories that Sigma's taxonomy has as a whole and in parts


NEVER = Some(())
"""A condition that no event meets."""


ANY_AUDIT_LOG = "activity"
"""The category of rules for actions in audit logs of any product; a product's own rules precede them."""


class LogSource(msgspec.Struct, frozen=True):
    """The events that a rule applies to; "" is any."""

    product: str = ""
    service: str = ""
    category: str = ""

    def covers(self, event: LogSource) -> bool:
        """Return whether this source includes events of another one."""
        return (
            self.product in ("", event.product)
            and self.service in ("", event.service)
            and (self.category in ("", event.category) or event.category in _NARROWER.get(self.category, ()))
        ) or (
            (self.is_general and not event.category and event.product not in _WELL_COVERED)
            or (self == _ANY_MESSAGE and event in _MESSAGES)
        )

    @property
    def is_general(self) -> bool:
        """Whether it is the audit logs of all products."""
        return self == LogSource(category=ANY_AUDIT_LOG)


_ANY_MESSAGE = LogSource(category="application")
"""Of rules for the messages of any program; those of one that logs through syslog or a web server are included."""
_MESSAGES = frozenset(
    [
        LogSource(),
        LogSource("linux", "syslog"),
        LogSource("apache", "error", "webserver"),
        LogSource("nginx", "error", "webserver"),
    ]
)


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a rule's hit shows if a condition holds: which of the rule's techniques, and how severe it is."""

    condition: Node
    techniques: tuple[str, ...] = ()
    """None: those that no decision names."""
    level: Level | None = None
    """None: the rule's."""


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A compiled rule. ``tactics`` are ATT&CK's short names (``credential-access``), ``techniques`` its IDs."""

    id: str
    title: str
    level: Level
    author: str = ""
    license: str = ""
    description: str = ""
    false_positives: tuple[str, ...] = ()
    tactics: tuple[str, ...] = ()
    techniques: tuple[str, ...] = ()
    source: LogSource = LogSource()
    condition: Node = NEVER
    name: str = ""
    decisions: tuple[Decision, ...] = ()
    """For a rule that covers several things: what an event shows of them; the first that holds decides."""
    is_part: bool = False
    """Whether it only serves correlation rules, so that its own matches are not reported."""
    correlation: Correlation | None = None
    """What relates matches of other rules; such a rule has no condition of its own."""

    @property
    def severity(self) -> Severity:
        """The level as a severity."""
        return Severity.INFO if self.level == "informational" else Severity(self.level)


class Filter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A condition that limits other rules: ``rules`` are IDs or names, none for all rules of the log source."""

    title: str
    id: str = ""
    source: LogSource = LogSource()
    rules: tuple[str, ...] = ()
    condition: Node

    def limits(self, rule: Rule) -> bool:
        """Return whether the filter applies to a rule."""
        if rule.correlation is not None or not self.source.covers(rule.source):
            return False
        return not self.rules or rule.id in self.rules or bool(rule.name and rule.name in self.rules)


def filtered(rules: Iterable[Rule], filters: Sequence[Filter]) -> list[Rule]:
    """Return the rules with the conditions of the filters that apply to them."""
    return [
        msgspec.structs.replace(rule, condition=Every((rule.condition, *conditions)))
        if (conditions := [one.condition for one in filters if one.limits(rule)])
        else rule
        for rule in rules
    ]


class Hit(msgspec.Struct, frozen=True):
    """A rule and an event that it matched; of a correlation rule also the ``episode``, whose first event it is."""

    rule: Rule
    event: Event
    episode: Episode | None = None


class EngineSoFar(NamedTuple):
    """What an engine knows after some events, for another one with the same rules: ``RuleEngine.go_on``."""

    types: list[tuple[tuple[str, str, str, int | None], _SpellingsSoFar]]
    correlators: Correlators


class RuleEngine:
    """Runs rules on the events of a log, fed in batches in any order; keeps only what correlation rules need.

    ``unusable`` are rules that cannot run, because a regular expression or network in them is invalid, or because a
    correlation refers to a rule that is not there or to itself.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.unusable: list[Rule] = []
        self._rules: list[tuple[Rule, frozenset[str] | None]] = []
        for rule in rules:
            if rule.correlation is not None:
                continue
            if _is_usable(rule):
                self._rules.append((rule, event_ids(rule.condition)))
            else:
                self.unusable.append(rule)
        self._correlated = _with_their_rules(rules, {rule.id for rule, _ in self._rules})
        correlations = {rule.id: rule.correlation for rule in self._correlated.values() if rule.correlation is not None}
        self._correlators = Correlators(correlations, reader_of)
        for name in self._correlators.unusable:
            del self._correlated[name]
        self.unusable += [
            rule for rule in rules if rule.correlation is not None and self._correlated.get(rule.id) is not rule
        ]
        self._fed_by = self._correlators.fed_by
        self._partitions: dict[tuple[str, str, str, int | None], _Partition] = {}

    def feed(self, batch: Sequence[Event]) -> Iterator[Hit]:
        """Yield the hits among these events."""
        for event in batch:
            key = (event.product, event.service, event.category, event.event_id)
            partition = self._partitions.get(key)
            if partition is None:
                partition = self._partitions[key] = self._partition(*key)
            matching = partition.matching(event)
            if not matching:
                continue
            for rule in matching:
                if not rule.is_part:
                    yield Hit(rule, event)
            if self._fed_by:
                self._correlators.add(event, [rule.id for rule in matching if rule.id in self._fed_by])
        if self._correlators.is_full():
            yield from self._judged(is_last=False)

    def so_far(self) -> EngineSoFar:
        """Return what the engine knows after the events so far, for ``go_on``."""
        types = [(key, partition.so_far()) for key, partition in self._partitions.items()]
        return EngineSoFar(types, self._correlators)

    def go_on(self, earlier: EngineSoFar) -> None:
        """Go on with what an engine with the same rules knew."""
        self._correlators = earlier.correlators
        for key, spellings in earlier.types:
            partition = self._partitions[key] = self._partition(*key)
            partition.go_on(spellings)

    @property
    def applicable(self) -> int:
        """How many rules could apply to the events so far, by their log source and event ID, or by what they relate."""
        single = {id(rule) for partition in self._partitions.values() for rule in partition.rules if not rule.is_part}
        return len(single) + sum(not self._correlated[name].is_part for name in self._correlators.judged())

    def covered(self) -> set[tuple[str, str, str]]:
        """Return product, service and category of the events so far to which any rule could apply."""
        related = {rule for correlation in self._correlators.judged().values() for rule in correlation.rules}
        return {
            key[:3]
            for key, partition in self._partitions.items()
            if any(not rule.is_part or rule.id in related for rule in partition.rules)
        }

    def finish(self) -> Iterator[Hit]:
        """Yield the hits known only after the last event: those of correlation rules."""
        yield from self._judged(is_last=True)

    def losses(self) -> dict[str, Losses]:
        """Return for each correlation rule, by its ID, what it could not judge."""
        return self._correlators.losses()

    def closest(self, rule: Rule) -> tuple[tuple[tuple[str, str], ...], float, int] | None:
        """Return the group that comes closest to a correlation rule, its figure, and how many groups there are."""
        return self._correlators.closest(rule.id)

    def _judged(self, *, is_last: bool) -> Iterator[Hit]:
        for name, episode in self._correlators.judge(is_last=is_last):
            rule = self._correlated[name]
            if not rule.is_part:
                yield Hit(rule, episode.events[0], episode)

    def _partition(self, product: str, service: str, category: str, event_id: int | None) -> _Partition:
        source = LogSource(product, service, category)
        return _Partition(
            [rule for rule, ids in self._rules if rule.source.covers(source) and (ids is None or str(event_id) in ids)]
        )


class _Partition:
    """The rules for one type of event."""

    def __init__(self, rules: list[Rule]) -> None:
        layout = Layout()
        self.rules = rules
        self._rules = [(predicate(rule.condition, layout), _Decided(rule, layout)) for rule in rules]
        self._candidates = Candidates([rule.condition for rule in rules], layout)
        self._slots: list[tuple[str, ValueForm]] = list(layout.slots)
        self._fields = sorted({field for field, _ in self._slots})
        self._places = {field: place for place, field in enumerate(self._fields)}
        self._forms = [(self._places[field], form, form == "lower") for field, form in self._slots]
        self._special = [(place, field) for field, place in self._places.items() if _is_special(field)]
        self._spellings = _Spellings(self._fields)
        self._remembered: dict[tuple[str | None, ...], tuple[Rule, ...]] = {}
        self._asked = self._known = 0
        self._remembers = True

    def so_far(self) -> _SpellingsSoFar:
        """Return which other spellings of fields the events had."""
        return self._spellings.so_far()

    def go_on(self, spellings: _SpellingsSoFar) -> None:
        """Go on with the spellings of earlier events."""
        self._spellings.go_on(spellings)

    def matching(self, event: Event) -> tuple[Rule, ...]:
        if not self._rules:
            return ()
        raw = tuple(map(event.fields.get, self._fields))
        if self._special:
            raw = self._with_special(event, raw)
        if event.product not in _OWN_NAMES:
            raw = self._spellings.completed(event, raw)
        if self._remembers and (known := self._remembered.get(raw)) is not None:
            self._known += 1
            return known
        values = Values(
            [
                (raw[place] or "").lower() if is_lower else _in_form(raw[place], form)
                for place, form, is_lower in self._forms
            ]
        )
        rules = self._rules
        found = tuple(
            [rules[number][1].by(values) for number in self._candidates.of(values) if rules[number][0](values)]
        )
        if any(not (rule.is_part or rule.source.is_general) for rule in found):
            found = tuple(rule for rule in found if not rule.source.is_general)  # the product's own rules know more
        if self._remembers:
            self._remember(raw, found)
        return found

    def _remember(self, raw: tuple[str | None, ...], found: tuple[Rule, ...]) -> None:
        """Keep a result, unless the values so far hardly ever repeated."""
        self._asked += 1
        if self._asked >= WORTH_AFTER and self._known < WORTH_SHARE * self._asked:
            self._remembers = False
            self._remembered.clear()
        elif sum(map(len, filter(None, raw))) <= MAX_REMEMBERED_CHARS:
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
            self._remembered[raw] = found

    def _with_special(self, event: Event, raw: tuple[str | None, ...]) -> tuple[str | None, ...]:
        """Return the values with those that are not among the event's own fields."""
        values = list(raw)
        for place, field in self._special:
            if values[place] is None:
                values[place] = field_value(event, field)
        return tuple(values)


def _is_special(field: str) -> bool:
    """Return whether ``field_value`` finds a field also in an event that has no such field of its own."""
    return field in _SPECIAL or field.startswith(PREFIX)


class _Decided:
    """A rule as its decisions leave it for an event: with the techniques and the level that the event shows."""

    def __init__(self, rule: Rule, layout: Layout) -> None:
        named = {technique for one in rule.decisions for technique in one.techniques}
        undecided = tuple(one for one in rule.techniques if one not in named) or rule.techniques
        self._otherwise = msgspec.structs.replace(rule, techniques=undecided) if rule.decisions else rule
        self._decisions: list[tuple[Predicate, Rule]] = [
            (
                predicate(one.condition, layout),
                msgspec.structs.replace(rule, techniques=one.techniques or undecided, level=one.level or rule.level),
            )
            for one in rule.decisions
        ]

    def by(self, values: Values) -> Rule:
        return next((rule for holds, rule in self._decisions if holds(values)), self._otherwise)


_SpellingsSoFar = tuple[set[str], list[tuple[int, str]]]


class _Spellings:
    """Fields that public rules spell differently: ``eventtype`` for ``eventType``, with a wrapper (``data.``)."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._places = {field.lower(): place for place, field in enumerate(fields)}
        for place, field in enumerate(fields):
            self._places.setdefault(_unwrapped(field), place)
        self._fields = frozenset(fields)
        self._seen: set[str] = set()
        self._others: list[tuple[int, str]] = []

    def so_far(self) -> _SpellingsSoFar:
        """Return the names that were seen, for ``go_on``."""
        return self._seen, self._others

    def go_on(self, earlier: _SpellingsSoFar) -> None:
        """Go on with the names that earlier events had."""
        self._seen, self._others = earlier

    def completed(self, event: Event, raw: tuple[str | None, ...]) -> tuple[str | None, ...]:
        """Return the values with those of fields in another spelling."""
        if len(self._seen) < MAX_NAMES and not self._seen.issuperset(event.fields):
            for name in event.fields.keys() - self._seen:
                self._seen.add(name)
                if name not in self._fields and name.lower() in self._places:
                    self._others.append((self._places[name.lower()], name))
        if not self._others:
            return raw
        values = list(raw)
        for place, name in self._others:
            if values[place] is None:
                values[place] = event.fields.get(name)
        return tuple(values)


def _unwrapped(field: str) -> str:
    """Return a field's name in lower case without the object that some pipelines wrap around a record."""
    lower = field.lower()
    return lower.removeprefix("data.").removeprefix("properties.")


def value_of(event: Event, field: str) -> str | None:
    """Return the value of a field, in any spelling of its name; to run many rules, use ``RuleEngine``."""
    return reader_of(field)(event)


@lru_cache(maxsize=1_000)
def reader_of(field: str) -> Callable[[Event], str | None]:
    """Return what reads a field of events, in any spelling of its name."""
    special = derived_reader(field) or (partial(field_value, field=field) if field in _SPECIAL else None)

    def read(event: Event) -> str | None:
        fields = event.fields
        value = fields.get(field)
        if value is None and special is not None:
            value = special(event)
        if value is None and (name := _spelled(field, tuple(fields))) is not None:
            return fields[name]
        return value

    return read


@lru_cache(maxsize=1_000)
def _spelled(field: str, names: tuple[str, ...]) -> str | None:
    """Return the first of the names that is another spelling of a field: records of a log have the same names."""
    spellings = (field.lower(), _unwrapped(field))
    return next((name for name in names if name.lower() in spellings), None)


def field_value(event: Event, field: str) -> str | None:
    """Return the value of a field; None if the event has none. The field "" is all values together."""
    value = event.fields.get(field)
    if value is not None:
        return value
    match field:
        case "":
            return "\n".join(event.fields.values())
        case "EventID":
            return None if event.event_id is None else str(event.event_id)
        case "Computer" | "ComputerName":
            return event.host or None
        case "timestamp" | "@timestamp" | "TimeCreated":
            return event.time or None
        case _ if field.startswith(PREFIX):
            return derived(event, field)
        case _:
            return None


def matches(node: Node, event: Event) -> bool:
    """Return whether a condition holds for one event; to run many rules, use ``RuleEngine``."""
    layout = Layout()
    holds = predicate(node, layout)
    return holds(Values([_in_form(value_of(event, field), form) for field, form in layout.slots]))


def _in_form(value: str | None, form: ValueForm) -> str:
    match form:
        case "exists":
            return "" if value is None else "yes"
        case "lower":
            return (value or "").lower()
        case "unchanged":
            return value or ""


def _with_their_rules(rules: Sequence[Rule], known: set[str]) -> dict[str, Rule]:
    """Return the correlation rules by ID whose rules are all there, directly or through others; inner ones first."""
    found: dict[str, Rule] = {}
    waiting = [rule for rule in rules if rule.correlation is not None and rule.id]
    while ready := [
        rule for rule in waiting if rule.correlation is not None and known.issuperset(rule.correlation.rules)
    ]:
        for rule in ready:
            found.setdefault(rule.id, rule)
            known.add(rule.id)
        waiting = [rule for rule in waiting if rule.id not in known]
    return found


def _is_usable(rule: Rule) -> bool:
    try:
        predicate(rule.condition, Layout())
    except UNUSABLE:
        return False
    return True


def event_ids(node: Node) -> frozenset[str] | None:
    """Return the only event IDs for which the condition can hold; None if it names none."""
    match node:
        case Check(field="EventID", comparison="equals", values=values):
            return frozenset(values)
        case Every(nodes):
            named = [ids for ids in map(event_ids, nodes) if ids is not None]
            return frozenset.intersection(*named) if named else None
        case Some(nodes):
            each = [event_ids(child) for child in nodes]
            return None if None in each else frozenset().union(*(ids for ids in each if ids is not None))
        case _:
            return None
