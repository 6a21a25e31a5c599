"""Correlation rules and filters: as Sigma's specification has them, in any order of the events, in bounded memory."""

from __future__ import annotations

import random
import textwrap
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.sigma import correlator
from svc.assistant.sigma.compile import Rejected, compile_text, compile_texts
from svc.assistant.sigma.correlation import Correlation, CorrelationType, MatchedEvent, stretches
from svc.assistant.sigma.engine import Filter, Hit, Rule, RuleEngine, filtered
from svc.assistant.sigma.event import Event

START = datetime(2026, 11, 20, 10, tzinfo=UTC).timestamp()
BASES = """
title: Failure
name: failure
logsource: {product: p}
detection: {a: {Kind: failure}, condition: a}
---
title: Success
name: success
id: 7d5b2d0e-4a0b-4b4f-9c8d-0d6a1a0f0001
logsource: {product: p}
detection: {a: {Kind: success}, condition: a}
---
title: Reset
name: reset
logsource: {product: p}
detection: {a: {Kind: reset}, condition: a}
"""


def correlation(section: str, head: str = "title: Tried") -> str:
    return f"{BASES}---\n{head}\ncorrelation:\n{textwrap.indent(textwrap.dedent(section).strip(), '  ')}\n"


def compiled(text: str) -> list[Rule]:
    results = list(compile_text(text, file="x.yml"))
    assert [result for result in results if isinstance(result, Rejected)] == []
    return filtered(
        [result for result in results if isinstance(result, Rule)],
        [result for result in results if isinstance(result, Filter)],
    )


def event(number: int, seconds: float | None, **fields: str) -> Event:
    time = "" if seconds is None else datetime.fromtimestamp(START + seconds, UTC).isoformat(timespec="milliseconds")
    return Event(
        number=number, offset=None, time=time, product="p", service="", category="", host="", event_id=None,
        fields=fields, excerpt=f"line {number}",
    )  # fmt: skip


def events(text: str) -> list[Event]:
    """Events as ``seconds kind user [value]``, separated by commas."""
    found = []
    for number, words in enumerate(filter(str.strip, text.split(",")), start=1):
        seconds, kind, user, *value = words.split()
        fields = {"Kind": kind, "User": user} | ({"Value": value[0]} if value else {})
        found.append(event(number, float(seconds), **fields))
    return found


def hits(text: str, log: list[Event]) -> list[Hit]:
    engine = RuleEngine(compiled(text))
    assert engine.unusable == []
    return [*engine.feed(log), *engine.finish()]


def groups(text: str, log: list[Event]) -> list[tuple[str, float]]:
    found = [hit.episode for hit in hits(text, log) if hit.episode is not None]
    return sorted((",".join(value for _, value in one.group), one.figure) for one in found)


COUNT = "{type: event_count, rules: [failure], group-by: [User], timespan: 1m, condition: {gte: 3}}"
VALUES = "{{type: {0}, rules: [failure], group-by: [User], timespan: 1m, condition: {{field: Value, {1}}}}}"
IN_ORDER = "{type: temporal_ordered, rules: [failure, success], group-by: [User], timespan: 1m}"
MEANINGS: dict[str, tuple[str, str, list[tuple[str, float]]]] = {
    "enough within the span": (COUNT, "0 failure a, 30 failure a, 60 failure a", [("a", 3)]),
    "too far apart": (COUNT, "0 failure a, 30 failure a, 61 failure a", []),
    "of different groups": (COUNT, "0 failure a, 1 failure b, 2 failure a", []),
    "a window over a full minute": (COUNT, "50 failure a, 59 failure a, 61 failure a", [("a", 3)]),
    "two stretches": (
        COUNT,
        "0 failure a, 1 failure a, 2 failure a, 900 failure a, 901 failure a, 902 failure a, 903 failure a",
        [("a", 3), ("a", 4)],
    ),
    "groups without case": (COUNT, "0 failure a, 1 failure A, 2 failure a", [("a", 3)]),
    "a range, within": (COUNT.replace("gte: 3", "gt: 1, lte: 3"), "0 failure a, 1 failure a, 2 failure a", [("a", 3)]),
    "a range, above": (
        COUNT.replace("gte: 3", "gt: 1, lt: 3"), "0 failure a, 1 failure a, 2 failure a, 3 failure a", [],
    ),
    "fewer than, of a flood": (COUNT.replace("gte", "lt"), "0 failure a, 1 failure a, 2 failure a, 3 failure a", []),
    "fewer than": (COUNT.replace("gte", "lt"), "0 failure a, 1 failure a", [("a", 2)]),
    "exactly": (COUNT.replace("gte", "eq"), "0 failure a, 1 failure a, 2 failure a", [("a", 3)]),
    "other than": (COUNT.replace("gte", "neq"), "0 failure a, 1 failure a, 2 failure a", []),
    "no group": (COUNT.replace("group-by: [User], ", ""), "0 failure a, 1 failure b, 2 failure c", [("", 3)]),
    "several rules": (
        COUNT.replace("[failure]", "[failure, success]"), "0 failure a, 1 success a, 2 failure a, 3 reset a",
        [("a", 3)],
    ),
    "different values": (VALUES.format("value_count", "gte: 2"), "0 failure a x, 1 failure a y", [("a", 2)]),
    "equal values": (VALUES.format("value_count", "gte: 2"), "0 failure a x, 1 failure a X, 2 failure a", []),
    "sum": (VALUES.format("value_sum", "gt: 9"), "0 failure a 4, 1 failure a 6", [("a", 10)]),
    "sum of words": (VALUES.format("value_sum", "gt: 9"), "0 failure a 4, 1 failure a six, 2 failure a nan", []),
    "average": (VALUES.format("value_avg", "gte: 5"), "0 failure a 4, 1 failure a 6", [("a", 5)]),
    "median": (VALUES.format("value_median", "eq: 6"), "0 failure a 1, 1 failure a 6, 2 failure a 90", [("a", 6)]),
    "percentile": (
        VALUES.format("value_percentile", "percentile: 75, gte: 60"), "0 failure a 1, 1 failure a 101", [("a", 76)],
    ),
    "minimum": (VALUES.format("value_min", "gte: 4"), "0 failure a 4, 1 failure a 6", [("a", 4)]),
    "maximum": (VALUES.format("value_max", "gte: 6"), "0 failure a 4, 1 failure a 6", [("a", 6)]),
    "temporal, in any order": (IN_ORDER.replace("_ordered", ""), "0 success a, 5 failure a", [("a", 2)]),
    "temporal, one is missing": (IN_ORDER.replace("_ordered", ""), "0 failure a, 5 failure a", []),
    "temporal with a number": (
        "{type: temporal, rules: [failure, success, reset], group-by: User, timespan: 1m, condition: {gte: 2}}",
        "0 success a, 5 reset a", [("a", 2)],
    ),
    "temporal with words": (
        "{type: temporal, rules: [failure, success], group-by: User, timespan: 1m, condition: failure and not success}",
        "0 failure a, 5 success a, 6 failure b", [("b", 1)],
    ),
    "ordered": (IN_ORDER, "0 failure a, 5 success a", [("a", 2)]),
    "ordered, wrong order": (IN_ORDER, "0 success a, 5 failure a", []),
    "ordered, the first too early": (IN_ORDER, "0 failure a, 70 success a", []),
    "ordered, again later": (IN_ORDER, "0 failure a, 50 failure a, 90 success a", [("a", 2)]),
    "ordered in words": (
        "{type: temporal_ordered, group-by: User, timespan: 1m, condition: reset and failure and success}",
        "0 reset a, 1 failure a, 2 success a, 3 failure b, 4 reset b, 5 success b", [("a", 3)],
    ),
    "by ID": (
        IN_ORDER.replace("success", "7D5B2D0E-4a0b-4b4f-9c8d-0d6a1a0f0001"), "0 failure a, 5 success a", [("a", 2)],
    ),
    "by title": (COUNT.replace("[failure]", "[Failure]"), "0 failure a, 1 failure a, 2 failure a", [("a", 3)]),
    "an event of two rules counts once": (
        COUNT.replace("[failure]", "[failure, failure]"), "0 failure a, 1 failure a", [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("section", "log", "expected"), MEANINGS.values(), ids=MEANINGS)
def test_each_type_and_condition_follows_the_specification(section: str, log: str, expected: list[tuple[str, float]]):
    text, ordered = correlation(section), events(log)

    assert groups(text, ordered) == expected
    shuffled = random.Random(1).sample(ordered, len(ordered))
    assert groups(text, shuffled) == expected
    assert groups(text, ordered[::-1]) == expected


def test_a_chain_relates_a_success_to_failures_of_many_accounts():
    text = correlation(
        """
        type: temporal_ordered
        rules: [many, success]
        group-by: [User]
        timespan: 10m
        """
    ) + textwrap.dedent("""
        ---
        title: Many
        name: many
        correlation:
          type: value_count
          rules: [failure]
          group-by: [Source]
          timespan: 5m
          condition: {field: User, gte: 3}
        """)
    log = [event(n, n, Kind="failure", User=f"u{n}", Source="s") for n in range(1, 6)]
    log += [event(9, 100, Kind="success", User="U2", Source="s"), event(10, 101, Kind="success", User="u7", Source="s")]

    found = hits(text, log)

    assert [(hit.rule.title, hit.episode and hit.episode.group) for hit in found] == [("Tried", (("User", "U2"),))]
    assert found[0].episode is not None
    assert found[0].episode.events[-1].number == 9


def test_aliases_relate_different_fields():
    text = correlation("""
        type: temporal
        rules: [failure, success]
        group-by: [address]
        timespan: 10s
        aliases: {address: {failure: From, success: To}}
        """)
    log = [event(1, 0, Kind="failure", From="a", To="x"), event(2, 1, Kind="success", From="x", To="a")]

    assert groups(text, log) == [("a", 2)]


def test_the_rules_of_a_correlation_report_only_if_it_says_so():
    log = events("0 failure a, 1 failure a, 2 failure a")

    assert {hit.rule.title for hit in hits(correlation(COUNT), log)} == {"Tried"}
    assert {hit.rule.title for hit in hits(correlation(COUNT.replace("gte: 3}", "gte: 3}, generate: true")), log)} == {
        "Tried",
        "Failure",
    }


REFUSED = {
    "no such rule": (COUNT.replace("failure", "nothing"), "no rule has the ID or name 'nothing'"),
    "no condition": (COUNT.replace(", condition: {gte: 3}", ""), "needs a condition such as gte: 10"),
    "no field": (COUNT.replace("event_count", "value_count"), "needs `field` in its condition"),
    "unknown type": (COUNT.replace("event_count", "near"), "unknown correlation type 'near'"),
    "unknown key": (COUNT.replace("group-by", "group"), "unknown key in `correlation`: group"),
    "unknown operator": (COUNT.replace("gte: 3", "min: 3"), "unknown key in the condition: min"),
    "no time": (COUNT.replace("1m", "soon"), "Timespan 'soon' is invalid"),
    "no number": (COUNT.replace("gte: 3", "gte: many"), "'many' is not a number"),
    "itself": (COUNT.replace("[failure]", "[me]"), "refers to itself"),
    "alias of another rule": (
        COUNT.replace("timespan", "aliases: {a: {success: User}}, timespan"), "an alias names rules that",
    ),
    "not, in order": (
        "{type: temporal_ordered, timespan: 1m, condition: failure and not success}", "can only be combined by `and`",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("section", "reason"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_correlation_is_rejected_with_the_reason(section: str, reason: str):
    *others, last = compile_text(correlation(section, "title: Tried\nname: me"), file="x.yml")

    assert all(isinstance(one, Rule) and not one.is_part for one in others)
    assert isinstance(last, Rejected)
    assert reason in last.reason


def test_rules_of_other_files_and_built_in_rules_are_found():
    base, outer = correlation(COUNT).rsplit("---", 1)
    known = Rule(id="b0000000-0000-4000-8000-000000000001", title="Built in", level="low")
    reference = outer.replace("failure", known.id)

    results = list(compile_texts([("z.yml", outer), ("a.yml", base), ("b.yml", reference)], known=[known]))

    assert [result for result in results if isinstance(result, Rejected)] == []


FILTER = """
---
title: Backup account
logsource: {product: p}
filter:
  rules: [failure]
  ours: {User|startswith: svc_}
  condition: not ours
"""


def test_a_filter_limits_the_rules_that_it_names_and_their_correlations():
    log = events("0 failure svc_a, 1 failure svc_a, 2 failure svc_a, 3 failure b, 4 failure b, 5 failure b")

    assert groups(correlation(COUNT) + FILTER, log) == [("b", 3)]
    assert len(groups(correlation(COUNT) + FILTER.replace("[failure]", "[success]"), log)) == 2
    assert groups(correlation(COUNT) + FILTER.replace("[failure]", "any"), log) == [("b", 3)]
    assert len(groups(correlation(COUNT) + FILTER.replace("product: p", "product: q"), log)) == 2


EXPANDED = "title: T\nlogsource: {product: p}\ndetection: {a: {User|expand: '%admins%'}, condition: a}\n---\n"
PIPELINE = """
name: ours
priority: 10
vars: {admins: [eve]}
transformations:
  - {type: value_placeholders}
  - {type: field_name_mapping, mapping: {User: Kind}}
"""


def test_placeholders_get_values_from_a_list_or_a_pipeline():
    listed = compiled(EXPANDED + "placeholders: {admins: [eve, 'mal*']}")
    mapped = compiled(EXPANDED + PIPELINE)
    log = [event(1, 0, User="eve"), event(2, 0, User="mallory"), event(3, 0, User="bob"), event(4, 0, Kind="eve")]

    assert [hit.event.number for hit in RuleEngine(listed).feed(log)] == [1, 2]
    assert [hit.event.number for hit in RuleEngine(mapped).feed(log)] == [4]


def test_events_without_a_time_or_a_group_are_counted():
    engine = RuleEngine(compiled(correlation(COUNT)))
    list(engine.feed([event(1, None, Kind="failure", User="a"), event(2, 1, Kind="failure")]))

    (losses,) = engine.losses().values()

    assert (losses.untimed, losses.ungrouped, losses.judged) == (1, 1, 0)


OLD = "title: T\nlogsource: {{product: p}}\ndetection:\n  a: {{Kind: failure}}\n  {1}condition: a | {0}\n"
AGGREGATIONS = {
    "count": ("count() by User > 2", "timeframe: 1m\n  ", [("a", 3)]),
    "count in a shorter time": ("count() by User > 2", "timeframe: 1s\n  ", []),
    "count without a time": ("count() by User >= 2", "", [("a", 3), ("b", 2)]),
    "different values": ("count(Value) by User > 1", "", [("a", 2)]),
    "all together": ("count(User) > 1", "", [("", 2)]),
    "sum": ("sum(Value) by User > 10", "", [("a", 11)]),
}


@pytest.mark.parametrize(("aggregation", "time", "expected"), AGGREGATIONS.values(), ids=AGGREGATIONS)
def test_the_old_aggregations_still_run(aggregation: str, time: str, expected: list[tuple[str, float]]):
    log = events("0 failure a 4, 20 failure a 4, 30 failure a 3, 0 success a 90, 0 failure b, 90 failure b")

    assert groups(OLD.format(aggregation, time), log) == expected


def test_times_without_a_year_go_on_from_december_to_january():
    engine = RuleEngine(compiled(correlation(COUNT)))
    log = events("0 failure a, 1 failure a, 2 failure a")
    for one, time in zip(log, ("--12-31T23:59:50", "--12-31T23:59:59", "--01-01T00:00:05"), strict=True):
        one.time = time

    assert len([*engine.feed(log), *engine.finish()]) == 1


@pytest.mark.parametrize("order", [1, -1], ids=["oldest first", "newest first"])
def test_a_long_log_is_judged_in_pieces_with_the_same_result(monkeypatch: pytest.MonkeyPatch, order: int):
    log = [event(n, n * 30, Kind="failure", User=f"u{n % 7}") for n in range(400)]
    log += [event(400 + n, 6_000 + n, Kind="failure", User="attacked") for n in range(5)]
    log.sort(key=lambda one: order * (datetime.fromisoformat(one.time).timestamp()))
    expected = {group for group, _ in groups(correlation(COUNT), log)}
    monkeypatch.setattr(correlator, "MAX_MOMENTS", 40)
    engine = RuleEngine(compiled(correlation(COUNT)))

    found = [hit for start in range(0, len(log), 10) for hit in engine.feed(log[start : start + 10])]
    found += engine.finish()

    assert {hit.episode.group[0][1] for hit in found if hit.episode} == expected == {"attacked"}
    assert sum(losses.left_out for losses in engine.losses().values()) == 0


def test_many_groups_do_not_hide_one_that_repeats_and_what_was_dropped_is_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(correlator, "MAX_GROUPS", 100)
    engine = RuleEngine(compiled(correlation(COUNT)))
    log = [event(n, n / 100, Kind="failure", User="eve" if n % 100 < 3 else f"u{n}") for n in range(1_000)]

    found = [*engine.feed(log), *engine.finish()]

    assert [hit.episode.group for hit in found if hit.episode] == [(("User", "eve"),)]
    assert sum(losses.left_out for losses in engine.losses().values()) > 500


def naive(wanted: Correlation, moments: list[MatchedEvent]) -> bool:
    """Whether any window that begins and ends with an event meets a condition that more events keep."""
    for start in moments:
        window = [one for one in moments if 0 <= one.seconds - start.seconds <= wanted.timespan]
        stages = [one.stage for one in sorted(window, key=lambda one: (one.seconds, one.number))]
        figure = {
            "event_count": len(window),
            "value_count": len({one.value for one in window}),
            "temporal": len(set(stages)),
            "temporal_ordered": 2 if 0 in stages and 1 in stages[stages.index(0) :] else 1,
        }[wanted.type]
        if wanted.is_met(figure):
            return True
    return False


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 1), st.sampled_from("abc")), max_size=12),
    st.sampled_from(["event_count", "value_count", "temporal", "temporal_ordered"]),
    st.integers(2, 4),
)
def test_windows_agree_with_trying_all_of_them(made: list[tuple[int, int, str]], kind: CorrelationType, least: int):
    bound = 2 if kind.startswith("temporal") else least
    wanted = Correlation(type=kind, rules=("x", "y"), timespan=10, bounds=(("gte", bound),))
    moments = sorted(
        (
            MatchedEvent(float(seconds), number, stage, value, (), event(number, seconds))
            for number, (seconds, stage, value) in enumerate(made)
        ),
        key=lambda moment: (moment.seconds, moment.number),
    )

    assert bool(list(stretches(wanted, moments))) is naive(wanted, moments)
