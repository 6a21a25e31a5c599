"""Sigma's words mean here what Sigma's specification says, and what cannot run is refused with its reason."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.sigma.compile import Rejected, compile_text
from svc.assistant.sigma.engine import Rule, RuleEngine
from svc.assistant.sigma.event import Event


def rule_text(detection: str, head: str = "title: Tried\nlogsource: {product: windows}") -> str:
    return f"{head}\ndetection:\n{textwrap.indent(textwrap.dedent(detection).strip(), '  ')}\n"


def only(text: str) -> Rule | Rejected:
    (result,) = compile_text(text, file="rule.yml")
    return result


def event(**fields: str) -> Event:
    return Event(
        number=1, offset=None, time="", product="windows", service="sysmon", category="process_creation", host="PC",
        event_id=1, fields=fields, excerpt="",
    )  # fmt: skip


def matches(detection: str, fields: dict[str, str]) -> bool:
    rule = only(rule_text(detection))
    assert isinstance(rule, Rule), rule
    return bool(list(RuleEngine([rule]).feed([event(**fields)])))


def one(field: str) -> str:
    return f"a: {{{field}}}\ncondition: a"


MEANINGS = {
    "text is compared without case": (one(r"Image: 'C:\CMD.exe'"), {"Image": r"c:\cmd.EXE"}, True),
    "and as a whole": (one("Image: cmd.exe"), {"Image": r"c:\cmd.exe"}, False),
    "cased means with case": (one("Image|cased: CMD"), {"Image": "cmd"}, False),
    "cased, and it is": (one("Image|contains|cased: CMD"), {"Image": "xCMDx"}, True),
    "contains": (one("CommandLine|contains: Enc"), {"CommandLine": "ps -enc x"}, True),
    "contains in a long text": (one("X|contains: needle"), {"X": "a" * 3_000 + "neEdle"}, True),
    "is not in a long text": (one("X|contains: needle"), {"X": "need le" * 300}, False),
    "two letters in a long text": (one("X|contains: zq"), {"X": "a" * 3_000 + "zq"}, True),
    "startswith": (one("Image|startswith: 'C:'"), {"Image": "c:/x"}, True),
    "endswith, one of a list": (one("Image|endswith: [a.exe, b.exe]"), {"Image": r"\B.EXE"}, True),
    "endswith, none of a list": (one("Image|endswith: [a.exe, b.exe]"), {"Image": r"\c.exe"}, False),
    "all of a list": (one("X|contains|all: [one, two]"), {"X": "two one"}, True),
    "not all of a list": (one("X|contains|all: [one, two]"), {"X": "two"}, False),
    "star between": (one("X: 'a*b*c'"), {"X": "a1b2c"}, True),
    "star between, wrong order": (one("X: 'a*b*c'"), {"X": "a1c2b"}, False),
    "star may not overlap": (one("X: 'ab*ba'"), {"X": "aba"}, False),
    "star alone is anything": (one("X: '*'"), {"X": "1"}, True),
    "star alone is not nothing": (one("X: '*'"), {}, False),
    "question mark is one letter": (one("X: 'a?c'"), {"X": "abc"}, True),
    "question mark is not none": (one("X: 'a?c'"), {"X": "ac"}, False),
    "escaped star is a star": (one(r"X: 'a\*c'"), {"X": "a*c"}, True),
    "escaped star is no pattern": (one(r"X: 'a\*c'"), {"X": "abc"}, False),
    "re is with case": (one("X|re: 'A+b'"), {"X": "aab"}, False),
    "re finds within": (one("X|re: 'a+b'"), {"X": "xaaby"}, True),
    "re with i": (one("X|re|i: 'A+B'"), {"X": "aab"}, True),
    "re meets half a pair": (one("X|re: 'b$'"), {"X": "\ud800b"}, True),
    "cidr": (one("Ip|cidr: 10.0.0.0/8"), {"Ip": "10.1.2.3"}, True),
    "cidr of IPv6": (one("Ip|cidr: 'fe80::/10'"), {"Ip": "fe80::1"}, True),
    "cidr meets no address": (one("Ip|cidr: 10.0.0.0/8"), {"Ip": "none"}, False),
    "a number": (one("EventID: 1"), {}, True),
    "another number": (one("EventID: 2"), {}, False),
    "greater": (one("Size|gt: 10"), {"Size": "11"}, True),
    "not greater": (one("Size|gt: 10"), {"Size": "10"}, False),
    "at most": (one("Size|lte: 10"), {"Size": "10"}, True),
    "less meets a word": (one("Size|lt: 10"), {"Size": "few"}, False),
    "true": (one("Signed: true"), {"Signed": "True"}, True),
    "null is a field that is missing": (one("X: null"), {"Y": "1"}, True),
    "null is not a value": (one("X: null"), {"X": "1"}, False),
    "empty text": (one("X: ''"), {"X": ""}, True),
    "exists": (one("X|exists: true"), {"X": ""}, True),
    "exists not": (one("X|exists: false"), {"X": ""}, False),
    "another field": (one("X|fieldref: Y"), {"X": "Same", "Y": "same"}, True),
    "another field that is missing": (one("X|fieldref: Y"), {"X": ""}, False),
    "windash": (one("X|contains|windash: ' -x'"), {"X": "cmd /x"}, True),
    "base64offset": (one("X|base64offset|contains: 'secret'"), {"X": "AAc2VjcmV0"}, True),
    "not over a field that is missing": ("a: {X: 1}\ncondition: not a", {}, True),
    "hour": (one("Time|hour: 3"), {"Time": "2026-11-20T03:10:00"}, True),
    "another hour": (one("Time|hour: [2, 4]"), {"Time": "2026-11-20T03:10:00+05:00"}, False),
    "minute": (one("Time|minute: 10"), {"Time": "2026-11-20 03:10:00"}, True),
    "day without a year": (one("Time|day: 20"), {"Time": "--11-20T03:10:00"}, True),
    "year that is not there": (one("Time|year: 2000"), {"Time": "--11-20T03:10:00"}, False),
    "week": (one("Time|week: 47"), {"Time": "2026-11-20"}, True),
    "month": (one("Time|month: 11"), {"Time": "2026-11-20"}, True),
    "hour of no time": (one("Time|hour: 3"), {"Time": "at 3"}, False),
    "neq": (one("X|neq: 1"), {"X": "2"}, True),
    "neq, and it is": (one("X|neq: [1, 2]"), {"X": "2"}, False),
    "neq with another field": (one("X|fieldref|neq: Y"), {"X": "a", "Y": "b"}, True),
    "utf16le is wide": (one("X|utf16le|base64offset|contains: 'cmd'"), {"X": "YwBtAGQA"}, True),
    "utf16be": (one("X|utf16be|base64offset|contains: 'cmd'"), {"X": "AGMAbQBk"}, True),
    "re over lines": (one("X|re|m: '^b'"), {"X": "a\nb"}, True),
    "re with dot for a new line": (one("X|re|s: 'a.b'"), {"X": "a\nb"}, True),
    "fields of a map are together": ("a: {X: 1, Y: 2}\ncondition: a", {"X": "1"}, False),
    "maps of a list are apart": ("a: [{X: 1}, {Y: 2}]\ncondition: a", {"X": "1"}, True),
    "1 of": ("s_a: {X: 1}\ns_b: {Y: 2}\ncondition: 1 of s_*", {"Y": "2"}, True),
    "all of": ("s_a: {X: 1}\ns_b: {Y: 2}\ncondition: all of s_*", {"Y": "2"}, False),
    "and not": ("a: {X: 1}\nb: {Y: 2}\ncondition: a and not b", {"X": "1", "Y": "3"}, True),
    "keyword in any field": ("k: [mimikatz, rubeus]\ncondition: k", {"Z": "run RUBEUS now"}, True),
    "keyword in none": ("k: [mimikatz]\ncondition: k", {"Z": "mimi", "Y": "katz"}, False),
    "keyword with a star": ("k: ['mimi*katz']\ncondition: k", {"Z": "a mimi 1 katz b"}, True),
    "keyword with a question mark": ("k: ['mimi?atz']\ncondition: k", {"Z": "a mimikatz b"}, True),
    "two conditions": ("a: {X: 1}\nb: {Y: 2}\ncondition: [a, b]", {"Y": "2"}, True),
}


@pytest.mark.parametrize(("detection", "fields", "expected"), MEANINGS.values(), ids=MEANINGS)
def test_every_sigma_keyword_follows_the_specification(detection: str, fields: dict[str, str], expected: bool):
    assert matches(detection, fields) is expected


REFUSED = {
    "no rule": ("- 1\n- 2", "not a Sigma rule: missing `detection`"),
    "no YAML": ("a: [", "not YAML: "),
    "placeholder": (
        rule_text("a: {X|expand: '%users%'}\ncondition: a"),
        "the placeholder %users% has no values; add a file with `placeholders: {users: [...]}` or a pySigma pipeline",
    ),
    "correlation": ("title: x\ncorrelation: {type: event_count}", "refers to 1 to 100 rules; this one to 0"),
    "unknown name": (rule_text("a: {X: 1}\ncondition: b"), "Detection 'b' not defined"),
    "old aggregation": (rule_text("a: {X: 1}\ncondition: a | near b"), "The pipe syntax"),
    "bad expression": (rule_text("a: {X|re: '('}\ncondition: a"), "Regular expression '('"),
    "bad network": (rule_text("a: {X|cidr: 10.0.0.1/8}\ncondition: a"), "Invalid CIDR expression"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_unsupported_rules_are_rejected_with_the_reason(text: str, reason: str):
    result = only(text)

    assert isinstance(result, Rejected)
    assert reason in result.reason


def test_multiplying_yaml_aliases_are_rejected():
    names = "".join(f"x{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))

    result = only("x0: &a0 [lol]\n" + names + rule_text("a: {X: 1}\ncondition: a"))

    assert isinstance(result, Rejected)
    assert "billion laughs" in result.reason


def test_one_invalid_rule_does_not_affect_the_others_of_its_file():
    good = rule_text("a: {X: 1}\ncondition: a")

    results = list(compile_text(f"{good}---\ntitle: bad\n---\n{good}", file="three.yml"))

    assert [type(result).__name__ for result in results] == ["Rule", "Rejected", "Rule"]


def test_a_rule_keeps_its_author_and_text():
    head = textwrap.dedent("""\
        title: Known
        id: 6b1e6bd2-6a0e-4c39-bd9b-6a6d3c6a8b55
        description: |
          Two
          lines.
        author: Somebody
        license: MIT
        level: high
        falsepositives: [Few]
        tags: [attack.credential_access, attack.t1003.001, attack.s0002, cve.2021.1]
        logsource: {product: windows, category: process_access, service: sysmon}""")

    rule = only(rule_text("a: {X: 1}\ncondition: a", head))

    assert isinstance(rule, Rule)
    assert (rule.title, rule.author, rule.license, rule.level) == ("Known", "Somebody", "MIT", "high")
    assert (rule.description, rule.false_positives) == ("Two lines.", ("Few",))
    assert (rule.tactics, rule.techniques) == (("credential-access",), ("T1003.001",))
    assert (rule.source.product, rule.source.category, rule.source.service) == ("windows", "process_access", "sysmon")


def test_the_old_form_of_dates_and_unknown_keys_are_accepted():
    head = (
        "title: Old\ndate: 2019/10/24\nmodified: 2021/11/27\nexplanation: x\ncomments: [y]\nlogsource: {category: dns}"
    )

    assert isinstance(only(rule_text("a: {X: 1}\ncondition: a", head)), Rule)


def test_a_deeply_nested_condition_is_rejected():
    text = rule_text(f"a: {{X: 1}}\nb: {{Y: 1}}\ncondition: {'not (' * 400}a and b{')' * 400}")

    assert isinstance(only(text), Rejected)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda data: data.decode("latin-1")))
def test_any_text_is_compiled_or_rejected(text: str):
    for result in compile_text(rule_text("a: {X: 1}\ncondition: a") + text, file="any.yml"):
        assert isinstance(result, Rule | Rejected)


FORMS = {
    "a scalar for a list": "references: https://example.org\nfalsepositives: none\nfields: X\nauthor: [a, b]",
    "a long title": f"title: {'x' * 300}",
    "an ID, a status and a date that are not valid": "id: mine\nstatus: production\ndate: yesterday",
    "an old date, related rule and tags": "date: 2020/05/18\nrelated: [{id: x, type: obsoletes}]\ntags: [attack]",
}


@pytest.mark.parametrize("head", FORMS.values(), ids=FORMS)
def test_a_fault_in_what_describes_a_rule_does_not_keep_it_from_running(head: str):
    title = "" if head.startswith("title") else "title: Tried\n"
    rule = only(rule_text("a: {X: y}\ncondition: a", f"{title}logsource: {{product: windows}}\n{head}"))

    assert isinstance(rule, Rule), rule
    assert list(RuleEngine([rule]).feed([event(X="y")]))


OTHER_FORMS = {
    "operators in upper case": ("a: {X: y}\nb: {Z: y}\ncondition: a AND NOT 1 OF b*", {"X": "y"}, True),
    "the same, excluded": ("a: {X: y}\nb: {Z: y}\ncondition: a AND NOT 1 OF b*", {"X": "y", "Z": "y"}, False),
    "a number as text": (one("X|contains: 46"), {"X": "x4625"}, True),
    "a number among text": (one("X|endswith: [5, x]"), {"X": "4625"}, True),
    "text as a number": (one("X|gte: '5'"), {"X": "6"}, True),
    "a truth as text": (one("X|exists: 'false'"), {"X": "6"}, False),
    "a date without quotes": (one("X: 2026-05-11"), {"X": "2026-05-11"}, True),
    "a number as a field": (one("4688: x"), {"4688": "x"}, True),
    "an escape of a character": (one(r"X|re: '[\u4e00-\u9fff]\Z'"), {"X": "a\u4e2d"}, True),
    "the end, not reached": (one(r"X|re: 'a\Z'"), {"X": "ab"}, False),
    "a field in another": (one("X|fieldref|contains: Y"), {"X": "abc", "Y": "B"}, True),
    "a field not in another": (one("X|fieldref|contains: Y"), {"X": "abc", "Y": "d"}, False),
    "no other field": (one("X|fieldref|contains: Y"), {"X": "abc"}, False),
    "another name of a reference": (one("X|equalsfield: Y"), {"X": "a", "Y": "a"}, True),
    "an hour from a bound": (one("X|hour|gte: 22"), {"X": "2026-05-11T23:10:00Z"}, True),
    "an hour before a bound": (one("X|hour|gte: 22"), {"X": "2026-05-11T21:59:00Z"}, False),
    "not a month": (one("X|month|neq: 5"), {"X": "2026-05-11T21:59:00Z"}, False),
}


@pytest.mark.parametrize(("detection", "fields", "expected"), OTHER_FORMS.values(), ids=OTHER_FORMS)
def test_forms_of_public_rules_mean_the_same(detection: str, fields: dict[str, str], expected: bool):
    assert matches(detection, fields) is expected


def test_a_bound_that_no_time_meets_is_refused():
    rule = only(rule_text(one("X|hour|gt: 23")))

    assert isinstance(rule, Rejected)
    assert "no hour can be" in rule.reason


def test_a_global_document_gives_its_parts_to_all_that_follow():
    text = (
        "action: global\ntitle: Shared\nlogsource: {product: windows}\ndetection: {condition: a}\n---\n"
        "detection: {a: {X: y}}\n---\nlogsource: {product: linux}\ndetection: {a: {Z: y}}\n---\n"
    )
    rules = list(compile_text(text, file="rule.yml"))

    assert [isinstance(rule, Rule) and rule.source.product for rule in rules] == ["windows", "linux"]
    assert [hit.rule for hit in RuleEngine([rules[0]]).feed([event(X="y")])] == [rules[0]]  # type: ignore[list-item]


def test_a_correlation_without_its_section_is_one():
    part = rule_text("a: {X: y}\ncondition: a", "title: Part\nname: part\nlogsource: {product: windows}")
    flat = "title: Many\ntype: event_count\nrules: {first: part}\ngroup-by: [X]\ntimespan: 5m\ncondition: {gte: 3}\n"
    rules = list(compile_text(f"{part}---\n{flat}", file="rule.yml"))

    assert [isinstance(rule, Rule) for rule in rules] == [True, True]
    assert rules[1].correlation is not None  # type: ignore[union-attr]
