"""Many findings in little memory: the same findings, in the same order, as a list of them."""

from __future__ import annotations

import gzip
import json
import random

import msgspec
import pytest
from msgspec import inspect as types

from svc import findings_file
from svc.assistant import spool
from svc.assistant.analyst.findings_messages import findings_steps
from svc.assistant.findings import AnyFinding, Evidence, Finding, Severity, ToolFailure, with_facts
from svc.assistant.skills.catalogue import FACTS_OF_KIND
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.logins.findings import AuthSource
from svc.assistant.spool import KEPT, Spool, collected, file_pieces, read_file, worst_first
from svc.findings_file import BLOCK
from tests.support.facts import INDICATOR


def indicator(number: int, severity: Severity = Severity.INFO) -> AnyFinding:
    facts = msgspec.structs.replace(INDICATOR, value=f"host{number}.example.com", count=number)
    evidence = (Evidence(source=("a.txt", "b.txt")[number % 2], excerpt=f"…{number}", line=number),)
    return Finding(title=f"domain {number}", severity=severity, evidence=evidence, facts=facts)


def failure(number: int) -> AnyFinding:
    facts = ToolFailure(tool="indicators", reason="crashed", where="", source="a.txt")
    return Finding(title=f"failure {number}", severity=Severity.MEDIUM, facts=facts)


@pytest.fixture(scope="module")
def findings() -> list[AnyFinding]:
    """Runs of one kind, single ones of another, and every severity."""
    draw = random.Random(1)  # test data
    made = [indicator(number, draw.choice(list(Severity))) for number in range(KEPT + BLOCK + 7)]
    for place in (0, 5, BLOCK, KEPT, len(made) - 1):
        made.insert(place, failure(place))
    return made


@pytest.fixture(scope="module")
def spooled(findings: list[AnyFinding]) -> Spool:
    found = collected(findings)
    assert isinstance(found, Spool)
    return found


def test_a_spool_is_the_sequence_of_its_findings(findings: list[AnyFinding], spooled: Spool):
    assert len(spooled) == len(findings)
    assert list(spooled) == findings
    for place in (0, 1, BLOCK - 1, BLOCK, KEPT, len(findings) - 1, -1, -len(findings)):
        assert spooled[place] == findings[place]
    assert spooled[3:9] == findings[3:9]
    assert spooled[-4:] == findings[-4:]
    assert spooled[::5_000] == findings[::5_000]
    with pytest.raises(IndexError):
        spooled[len(findings)]


def test_few_findings_stay_as_they_are(findings: list[AnyFinding]):
    assert collected(findings[:10], findings[10:20]) == findings[:20]
    assert len(collected(findings, findings[:3])) == len(findings) + 3


def test_selections_of_a_spool_are_those_of_a_list(findings: list[AnyFinding], spooled: Spool):
    assert list(worst_first(spooled)) == list(worst_first(findings))
    assert list(spool.of_kind(spooled, "tool_failed")) == spool.of_kind(findings, "tool_failed")
    assert list(spool.without_kind(spooled, "tool_failed")) == spool.without_kind(findings, "tool_failed")
    assert spool.kinds_of(spooled) == spool.kinds_of(findings) == {"indicator", "tool_failed"}
    names = ("value", "count")
    expected = list(spool.facts_values(findings, IndicatorFacts, *names))
    assert list(spool.facts_values(spooled, IndicatorFacts, *names)) == expected
    assert expected == [(one.facts.value, one.facts.count) for one in with_facts(findings, IndicatorFacts)]
    assert next(spool.facts_values(spooled, IndicatorFacts, "scope")) == ("",)
    for name in ("a.txt", "b.txt", "c.txt"):
        assert spool.source_counts(spooled)[name] == spool.source_counts(findings)[name]


@pytest.mark.parametrize("count", [0, 1, KEPT - 1, KEPT + 3])
def test_a_findings_file_holds_all_findings_worst_first(findings: list[AnyFinding], count: int):
    found = collected(findings[:count])
    content = b"".join(file_pieces(found))
    assert list(read_file(content, FACTS_OF_KIND)) == list(worst_first(found))
    first, *blocks = gzip.decompress(content).decode().splitlines()
    assert json.loads(first) == {"format": "svc findings 1", "findings": count}
    assert sum(json.loads(block)["count"] for block in blocks) == count


def example(info: types.Type, number: int) -> object:
    """A value of a field's type, as JSON has it."""
    match info:
        case types.StrType():
            return f"text {number}"
        case types.BoolType():
            return bool(number % 2)
        case types.IntType():
            return number
        case types.FloatType():
            return number + 0.5
        case types.NoneType():
            return None
        case types.EnumType(cls=cls):
            return next(iter(cls)).value
        case types.LiteralType(values=values):
            return values[0]
        case types.ListType(item_type=item) | types.VarTupleType(item_type=item):
            return [example(item, number), example(item, number + 1)][: number % 3]
        case types.TupleType(item_types=items):
            return [example(item, number) for item in items]
        case types.DictType(key_type=key, value_type=value):
            return {example(key, number): example(value, number)}
        case types.UnionType(types=members):
            return example(members[number % len(members)], number)
        case types.StructType(fields=fields):
            return {field.encode_name: example(field.type, number) for field in fields}
    raise AssertionError(info)


def test_every_kind_of_finding_survives_the_file():
    made: list[AnyFinding] = [
        Finding(title=kind, severity=Severity.LOW, techniques=("T1110",), facts=made)
        for kind, facts in FACTS_OF_KIND.items()
        for number in range(7)
        for made in [msgspec.convert({"kind": kind, **example(types.type_info(facts), number)}, facts)]
    ]
    assert list(read_file(b"".join(file_pieces(made)), FACTS_OF_KIND)) == made


def test_a_kind_of_another_assistant_is_left_out(findings: list[AnyFinding]):
    content = b"".join(file_pieces(findings))
    assert len(read_file(content, {"tool_failed": ToolFailure})) == 5


def damaged(content: bytes) -> list[bytes]:
    other = gzip.compress(b'{"format": "svc findings 9", "findings": 0}\n')
    less = findings_file.pack_header(3) + findings_file.pack_line({"kind": "x", "count": 1, "same": {}, "columns": {}})
    return [b"", b"x", content[:-9], content[:200] + b"\0" + content[201:], gzip.compress(b"{}\n"), other, less]


def test_a_damaged_file_is_an_error_and_never_fewer_findings(findings: list[AnyFinding]):
    for content in damaged(b"".join(file_pieces(findings[:50]))):
        with pytest.raises(ValueError, match="the findings file"):
            read_file(content, FACTS_OF_KIND)


def test_a_file_with_other_fields_is_of_another_version():
    line = {"kind": "auth_source", "count": 1, "same": {"title": "x", "facts.zork": 1}, "columns": {}}
    content = findings_file.pack_header(1) + findings_file.pack_line(line)
    with pytest.raises(ValueError, match="of another version"):
        read_file(content, {"auth_source": AuthSource})


def test_the_message_has_the_most_severe_findings_and_the_file_all(findings: list[AnyFinding], spooled: Spool):
    few = findings_steps(findings[:3])
    assert [step.title for step in few] == ["findings"]
    for found in (findings, spooled):
        message, file = findings_steps(found)
        named = findings_file.reference(file.content)
        assert named is not None
        assert (named.findings, named.in_message) == (len(findings), len(json.loads(message.content)))
        assert file.file is not None
        assert list(read_file(b"".join(file.file.pieces), FACTS_OF_KIND)) == list(worst_first(findings))
