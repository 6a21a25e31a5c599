"""Which rules are looked at for which event, and that remembering changes nothing."""

from __future__ import annotations

import msgspec
import pytest

from svc.assistant.sigma.condition import Check, Every, Node, Not, Some
from svc.assistant.sigma.engine import MAX_REMEMBERED, LogSource, Rule, RuleEngine, event_ids
from svc.assistant.sigma.event import Event

ANYTHING = Not(Check("no such field", "exists"))
ANYWHERE = LogSource()


def event(number: int = 1, **changes: object) -> Event:
    made = Event(
        number=number, offset=None, time="", product="windows", service="security", category="", host="PC",
        event_id=4624, fields={}, excerpt="",
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def rule(condition: Node = ANYTHING, source: LogSource = ANYWHERE, title: str = "Tried") -> Rule:
    return Rule(id=title, title=title, level="high", source=source, condition=condition)


def hits(rules: list[Rule], events: list[Event]) -> list[tuple[str, int]]:
    engine = RuleEngine(rules)
    return [(hit.rule.title, hit.event.number) for hit in [*engine.feed(events), *engine.finish()]]


SOURCES = {
    "any": (LogSource(), {}, True),
    "product": (LogSource("windows"), {}, True),
    "another product": (LogSource("linux"), {}, False),
    "service": (LogSource("windows", "security"), {}, True),
    "another service": (LogSource("windows", "system"), {}, False),
    "category without a product": (LogSource("", "", "webserver"), {"product": "", "category": "webserver"}, True),
    "category of another service": (
        LogSource("windows", "", "process_creation"),
        {"service": "sysmon", "category": "process_creation"},
        True,
    ),
    "part of a category": (LogSource("windows", "", "registry_event"), {"category": "registry_set"}, True),
    "DNS of any source": (LogSource("", "", "dns"), {"product": "zeek", "category": "dns_query"}, True),
    "part is not the whole": (LogSource("windows", "", "registry_set"), {"category": "registry_add"}, False),
}


@pytest.mark.parametrize(("source", "changes", "expected"), SOURCES.values(), ids=SOURCES)
def test_a_rule_is_evaluated_only_for_events_of_its_log_source(
    source: LogSource, changes: dict[str, object], expected: bool
):
    assert bool(hits([rule(source=source)], [event(**changes)])) is expected


ID = Check("EventID", "equals", ("1", "2"))
IDS = {
    "named": (ID, {"1", "2"}),
    "with more": (Every((Check("X", "exists"), ID)), {"1", "2"}),
    "both": (Every((ID, Check("EventID", "equals", ("2", "3")))), {"2"}),
    "either": (Some((ID, Check("EventID", "equals", ("9",)))), {"1", "2", "9"}),
    "one side names none": (Some((ID, Check("X", "exists"))), None),
    "not that": (Not(ID), None),
    "none": (Check("X", "exists"), None),
}


@pytest.mark.parametrize(("condition", "expected"), IDS.values(), ids=IDS)
def test_the_event_ids_of_a_condition_are_those_that_can_match(condition: Node, expected: set[str] | None):
    assert event_ids(condition) == expected


def test_hits_come_in_the_order_of_events_then_of_rules():
    rules = [rule(title="first"), rule(title="second")]

    assert hits(rules, [event(1), event(2)]) == [("first", 1), ("second", 1), ("first", 2), ("second", 2)]


def test_repeated_values_give_the_same_result():
    condition = Check("User", "equals", ("eve",))
    events = [event(number, fields={"User": "eve" if number % 2 else "bob"}) for number in range(1, 9)]

    assert [number for _, number in hits([rule(condition)], events)] == [1, 3, 5, 7]


def test_missing_and_empty_values_are_cached_separately():
    events = [event(1, fields={"X": ""}), event(2, fields={})]

    assert hits([rule(Check("X", "exists"))], events) == [("Tried", 1)]


def test_values_beyond_the_cache_size_are_still_evaluated():
    count = MAX_REMEMBERED + 10
    events = [event(number, fields={"X": str(number)}) for number in range(1, count + 1)]

    assert len(hits([rule(Check("X", "exists"))], events)) == count


def test_the_host_name_and_the_event_id_are_fields():
    condition = Every((Check("Computer", "equals", ("pc",)), Check("EventID", "equals", ("4624",))))

    assert hits([rule(condition)], [event()]) == [("Tried", 1)]


def test_names_of_fields_may_differ_by_case():
    condition = Every((Check("actor.alternateid", "equals", ("eve",)), Check("no such field", "null")))
    events = [
        event(1, product="okta", fields={"actor.alternateId": "Eve"}),
        event(2, product="okta", fields={"actor.alternateid": "eve", "actor.alternateId": "bob"}),
        event(3, product="okta", fields={"ACTOR.alternateId": "bob"}),
    ]

    assert hits([rule(condition)], events) == [("Tried", 1), ("Tried", 2)]


def test_the_wrapper_of_a_record_may_be_missing():
    condition = Check("data.protoPayload.methodName", "equals", ("setiampolicy",))

    assert hits([rule(condition)], [event(product="gcp", fields={"protoPayload.methodName": "SetIamPolicy"})])


UNUSABLE = {
    "expression": Check("X", "re", ("(",)),
    "network": Check("X", "cidr", ("here",)),
    "number": Check("X", "gt", ("many",)),
    "nothing to compare": Check("X", "contains", ()),
}


@pytest.mark.parametrize("condition", UNUSABLE.values(), ids=UNUSABLE)
def test_a_damaged_rule_of_a_set_is_skipped(condition: Node):
    engine = RuleEngine([rule(condition, title="bad"), rule(title="good")])

    assert [hit.rule.title for hit in engine.feed([event(fields={"X": "x"})])] == ["good"]
    assert [one.title for one in engine.unusable] == ["bad"]
