"""Every match of an expression has the words that are looked up before the search: skipping it changes no result."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svc.assistant.sigma import condition
from svc.assistant.sigma.condition import Check, Every, Node, Not, Some
from svc.assistant.sigma.engine import LogSource, Rule, RuleEngine
from svc.assistant.sigma.event import Event
from svc.assistant.sigma.expression_words import Clause, clauses, clauses_of_any
from svc.assistant.sigma.needed_words import Candidates
from svc.assistant.sigma.tables import load_rules


def expressions(node: Node) -> Iterator[str]:
    match node:
        case Every(nodes) | Some(nodes):
            for child in nodes:
                yield from expressions(child)
        case Not(child):
            yield from expressions(child)
        case Check(comparison="re", values=values):
            yield from values


OURS = sorted({one for rule in load_rules().rules for one in expressions(rule.condition)})


def meets(text: str, known: tuple[Clause, ...]) -> bool:
    folded = text.lower()
    return not folded.isascii() or all(any(word in folded for word in words) for words in known)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param(r"(?i)\bABC-1", (("abc-1",),), id="case"),
        pytest.param(r"net1?(\.exe)?\s+stop", (("stop",), ("net", "net.exe", "net1", "net1.exe")), id="sequence"),
        pytest.param(r"x(abc|def.*ghij)", (("abc", "ghij"), ("x",)), id="branches"),
        pytest.param(r"(abc)?d", (("abcd", "d"),), id="optional"),
        pytest.param(r"(abc)*d", (("d",),), id="any number"),
        pytest.param(r"(ab)+c", (("ab",), ("c",)), id="at least once"),
        pytest.param(r"a[DR]b", (("adb", "arb"),), id="class"),
        pytest.param(r"abc|.", (), id="one branch without"),
        pytest.param(r"[^a]", (), id="negated class"),
        pytest.param(r"(?=abc)", (), id="looks ahead"),
        pytest.param("ü", (), id="not ASCII"),
        pytest.param("[[:alpha:]]x", (), id="read otherwise by RE2"),
        pytest.param("za{,1}b", (), id="a brace in RE2"),
        pytest.param("(", (), id="invalid"),
        pytest.param("(" * 200 + "abc" + ")" * 200, None, id="nested deeply"),
    ],
)
def test_words_of_an_expression(expression: str, expected: tuple[Clause, ...] | None):
    assert clauses(expression) == expected or expected is None


def test_long_expressions_give_short_words():
    assert max(len(word) for words in clauses("(a|b)" + "xyz" * 5_000) for word in words) < 100
    assert all(len(words) <= 40 for words in clauses("(a|b|c)" * 40))
    assert clauses("(" * 60 + "a" + "+)" * 60) == (("a",),)


def test_of_several_expressions_one_must_match():
    assert clauses_of_any(["abc.", "def"]) == (("abc", "def"),)
    assert clauses_of_any(["abc", "."]) == ()


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_matches_of_our_expressions_have_the_words(data: st.DataObject):
    expression = data.draw(st.sampled_from(OURS))
    text = data.draw(st.from_regex(re.compile(expression)))
    assert meets(text, clauses(expression))


LETTERS = st.sampled_from(
    [*"abkKs.", "\\\\", r"\.", r"\d", r"\s+", "[ab]", "[^a]", "[a-c]", "^", "$", r"\b", ":~", "ü"]
)
EXPRESSIONS = st.recursive(
    st.lists(LETTERS, min_size=1, max_size=5).map("".join),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=4).map(lambda each: f"({'|'.join(each)})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}", "{0,2}", "{1,3}", "+?"])).map(
            lambda it: f"(?:{it[0]}){it[1]}"
        ),
        inner.map(lambda one: f"(?i:{one})"),
    ),
    max_leaves=6,
)
TEXTS = st.text("abkKsS.\\1: ~xü\u017f\u212a", max_size=12)  # the last two fold to s and k


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(EXPRESSIONS, TEXTS, st.data())
def test_matches_of_any_expression_have_the_words(expression: str, text: str, data: st.DataObject):
    found = clauses(expression)
    if re.search(expression, text):
        assert meets(text, found)
    if "$" not in expression and "^" not in expression and r"\b" not in expression:  # most of the others match nothing
        assert meets(data.draw(st.from_regex(expression)), found)


WORDS = st.lists(st.text("abks:.", max_size=4), min_size=1, max_size=3).map(tuple)
CHECKS = st.one_of(
    st.builds(
        Check, st.sampled_from(["A", "B"]), st.sampled_from(["equals", "contains", "startswith", "endswith"]), WORDS
    ),
    st.builds(
        Check, st.sampled_from(["A", "B"]), st.just("re"), st.lists(EXPRESSIONS, min_size=1, max_size=2).map(tuple)
    ),
    st.just(Check("EventID", "equals", ("7", "8"))),
)
CONDITIONS = st.recursive(
    CHECKS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda each: Every(tuple(each))),
        st.lists(inner, max_size=3).map(lambda each: Some(tuple(each))),
        inner.map(Not),
    ),
    max_leaves=5,
)


def hits(conditions: list[Node], events: list[Event]) -> list[tuple[str, int]]:
    rules = [
        Rule(id=str(at), title="t", level="low", source=LogSource("windows"), condition=one)
        for at, one in enumerate(conditions)
    ]
    return [(hit.rule.id, hit.event.number) for hit in RuleEngine(rules).feed(events)]


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(CONDITIONS, min_size=1, max_size=4), st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6))
def test_filters_change_no_hit(conditions: list[Node], values: list[tuple[str, str]]):
    events = [
        Event(
            number=at, offset=None, time="", product="windows", service="", category="", host="", event_id=7 + at % 3,
            fields={"A": first, "B": second}, excerpt="",
        )
        for at, (first, second) in enumerate(values)
    ]  # fmt: skip
    quick = hits(conditions, events)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Candidates, "of", lambda self, values: list(range(self.count)))
        patch.setattr(condition, "clauses_of_any", lambda wanted: ())
        assert hits(conditions, events) == quick
