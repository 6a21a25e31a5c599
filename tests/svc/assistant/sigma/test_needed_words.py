"""Leaving out the rules whose words are not in an event changes no result."""

import io
import random

import pytest

from svc.assistant.findings import Progress
from svc.assistant.sigma import engine
from svc.assistant.sigma.condition import Check, Every, Layout, Node, Not, Some, Values, predicate
from svc.assistant.sigma.engine import LogSource, Rule, RuleEngine
from svc.assistant.sigma.event import Event
from svc.assistant.sigma.needed_words import MAX_CHARS, Candidates, needed_words
from svc.assistant.sigma.tables import load_rules
from svc.assistant.skills.events import tool
from tests.support.sample_inputs import held_set, open_set


def checks_in(node: Node) -> list[Check]:
    match node:
        case Every(nodes) | Some(nodes):
            return [check for child in nodes for check in checks_in(child)]
        case Not(child):
            return checks_in(child)
        case Check():
            return [node]


def random_events(seed: int, count: int) -> list[Event]:
    """Events whose values are made of the words of the rules, whole, cut and joined."""
    draw = random.Random(seed)
    rules = [rule for rule in load_rules().rules if rule.correlation is None]
    made = []
    for number in range(count):
        rule = draw.choice(rules)
        fields: dict[str, str] = {}
        for check in checks_in(rule.condition):
            if check.field and check.values and draw.random() < 0.8:
                word = draw.choice(check.values)
                word = draw.choice((word, word.upper(), word[:-1], f"x{word}", f"{word} y", f"a{word}b{word}"))
                fields[check.field] = (fields.get(check.field, "") + word)[: draw.choice((50, 500, 9_000))]
        source = rule.source
        made.append(
            Event(
                number=number,
                offset=None,
                time="2026-11-20T03:12:45.000Z",
                product=source.product or "windows",
                service=source.service,
                category=source.category,
                host="h",
                event_id=int(fields["EventID"]) if fields.get("EventID", "").isdecimal() else None,
                fields=fields,
                excerpt="",
            )
        )
    return made


@pytest.mark.parametrize("seed", [pytest.param(1, id="open"), pytest.param(2, id="held")])
def test_our_rules_match_the_same_events(seed: int, monkeypatch):
    events = random_events(seed, 1_500)
    quick = [(hit.rule.id, hit.event.number) for hit in RuleEngine(load_rules().rules).feed(events)]
    monkeypatch.setattr(Candidates, "of", lambda self, values: list(range(self.count)))
    monkeypatch.setattr(engine, "MAX_REMEMBERED_CHARS", -1)
    whole = [(hit.rule.id, hit.event.number) for hit in RuleEngine(load_rules().rules).feed(events)]
    assert len(whole) > 300
    assert quick == whole


@pytest.mark.parametrize("name", ["evtx", "windows xml", "web log", "syslog", "csv", "auth.log"])
@pytest.mark.parametrize("half", [open_set, held_set], ids=["open", "held"])
def test_the_findings_of_samples_are_the_same(half, name, monkeypatch):
    content = half().get(name, b"")
    quick = [item for item in tool.inspect(io.BytesIO(content), source="x") if not isinstance(item, Progress)]
    monkeypatch.setattr(Candidates, "of", lambda self, values: list(range(self.count)))
    whole = [item for item in tool.inspect(io.BytesIO(content), source="x") if not isinstance(item, Progress)]
    assert quick == whole


def candidates_of(*conditions: Node) -> tuple[Candidates, Layout]:
    layout = Layout()
    for condition in conditions:
        predicate(condition, layout)
    return Candidates(conditions, layout), layout


def values_of(layout: Layout, **fields: str) -> Values:
    return Values([fields.get(field, "").lower() for field, _ in layout.slots])


def test_only_rules_whose_words_are_there_are_candidates():
    found, layout = candidates_of(
        Check("Image", "endswith", ("\\cmd.exe",)),
        Every((Check("Image", "contains", ("hidden",)), Check("CommandLine", "contains", ("-enc", "-e ")))),
        Some((Check("Image", "equals", ("a.exe",)), Check("CommandLine", "startswith", ("whoami",)))),
        Not(Check("Image", "contains", ("power",))),
        Check("CommandLine", "parts", ("", "abc", "defgh", "")),
    )
    assert found.of(values_of(layout, Image="c:\\cmd.exe.txt")) == [3]
    assert found.of(values_of(layout, Image="c:\\cmd.exe")) == [0, 3]
    assert found.of(values_of(layout, Image="hidden.exe", CommandLine="whoami abc defgh")) == [1, 2, 3, 4]
    assert found.of(values_of(layout, CommandLine="x" * MAX_CHARS + "whoami")) == [2, 3, 4]


@pytest.mark.parametrize(
    "condition",
    [
        Check("A", "contains", ("ab",)),
        Check("A", "contains", ("abc", "")),
        Check("A", "re", ("ab.", "abc")),
        Check("A", "equals", ("abc", "")),
        Check("A", "null"),
        Some((Check("A", "contains", ("abc",)), Check("A", "re", ("x+",)))),
        Not(Check("A", "contains", ("abc",))),
        Every(()),
    ],
)
def test_of_other_conditions_nothing_is_left_out(condition: Node):
    assert needed_words(condition, Layout()) is None


def test_results_are_not_remembered_where_values_never_repeat(monkeypatch):
    monkeypatch.setattr(engine, "WORTH_AFTER", 50)
    rule = Rule(
        id="1",
        title="t",
        level="high",
        source=LogSource("windows"),
        condition=Check("CommandLine", "contains", ("abc",)),
    )
    one = RuleEngine([rule])
    made = [
        Event(
            number=at, offset=None, time="", product="windows", service="", category="", host="", event_id=None,
            fields={"CommandLine": f"abc {at}"}, excerpt="",
        )
        for at in range(200)
    ]  # fmt: skip
    assert len(list(one.feed(made))) == 200
    [partition] = one._partitions.values()
    assert partition._remembered == {}
