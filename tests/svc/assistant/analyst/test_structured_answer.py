"""Findings as data: each value is a finding's, what none has is called unknown, nothing ends its block."""

import csv
import io
import json

import pytest
from msgspec.structs import replace

from svc.assistant.analyst.format_types import AnswerFormat, Choice, RequestedFormat
from svc.assistant.analyst.structured_answer import structured_answer
from svc.assistant.findings import Evidence, Finding, Severity, ToolFailure
from svc.assistant.skills.cvss import answer as cvss
from svc.assistant.skills.indicators import answer as indicators
from tests.support import facts

SCORE = Finding(
    title="CVSS 3.1: 9.8",
    severity=Severity.CRITICAL,
    evidence=(Evidence(source="prompt", excerpt="CVSS:3.1/…", line=1),),
    facts=facts.SCORE,
)


def indicator(kind, value):
    return Finding(title=value, facts=facts.indicator(kind, value, count=2))


FOUND = [indicator("domain", "evil.example"), indicator("ipv4", "192.0.2.7"), indicator("domain", "bad.example")]


def fill(template, findings, section=cvss):
    requested = RequestedFormat(prompt="", format=AnswerFormat.TEMPLATE, template=template)
    return structured_answer(requested, [(section.SECTION.skill, findings)])


def data(markdown):
    return markdown.split("\n", 1)[1].rsplit("```", 1)[0]


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        pytest.param("<score>", "9.8\n", id="angle brackets"),
        pytest.param("{score} is {severity}", "9.8 is critical\n", id="braces"),
        pytest.param("Score: [score], rated [rating]", "Score: 9.8, rated critical\n", id="square brackets, synonym"),
        pytest.param("Score: ...", "Score: 9.8\n", id="dots named by their label"),
        pytest.param("Country: <country>", "Country: unknown\n", id="what no finding has"),
        pytest.param("Score: <score>\nof <vector>", "```text\nScore: 9.8\nof CVSS:3.1/AV:N\n```\n", id="lines"),
    ],
)
def test_places_are_filled(template, filled):
    assert fill(template, [SCORE]) == filled


def test_a_json_format_keeps_its_shape_and_its_types():
    markdown = fill('{"result": {"score": <number>, "vendor": "<vendor>"}, "severity": "high|low"}', [SCORE])
    assert json.loads(data(markdown)) == {"result": {"score": 9.8, "vendor": None}, "severity": "critical"}


def test_a_list_in_a_format_stands_for_every_finding():
    markdown = fill('[{"value": "...", "type": "..."}]', FOUND, indicators)
    assert [row["value"] for row in json.loads(data(markdown))] == ["evil.example", "192.0.2.7", "bad.example"]


def test_plural_keys_list_the_values_of_their_type():
    markdown = fill('{"domains": ["<domain>"], "ips": [], "urls": ["..."]}', FOUND, indicators)
    assert json.loads(data(markdown)) == {"domains": ["evil.example", "bad.example"], "ips": ["192.0.2.7"], "urls": []}


def test_a_format_of_one_line_is_repeated():
    assert fill("<type>: <value>", FOUND[1:], indicators) == "ipv4: 192.0.2.7  \ndomain: bad.example\n"


def test_evidence_that_would_be_markup_stays_in_a_code_span():
    hostile = indicator("url", "x](http://evil.example) <img src=y> `a`")
    assert fill("<value>", [hostile], indicators).startswith("`` x]")


@pytest.mark.parametrize("kind", [AnswerFormat.JSON, AnswerFormat.CSV])
def test_data_cannot_end_its_block(kind):
    hostile = indicator("url", "```\n# heading")
    markdown = structured_answer(RequestedFormat(prompt="", format=kind), [(indicators.SECTION.skill, [hostile])])
    fence = markdown.split("\n")[0].removesuffix("json").removesuffix("csv")
    assert markdown.count(f"\n{fence}\n") == 1


def test_csv_has_every_attribute_and_no_formula():
    hostile = indicator("domain", "=cmd|' /C calc'!A0")
    markdown = structured_answer(
        RequestedFormat(prompt="", format=AnswerFormat.CSV), [(indicators.SECTION.skill, [*FOUND, hostile])]
    )
    rows = list(csv.DictReader(io.StringIO(data(markdown))))
    assert [row["value"] for row in rows] == ["evil.example", "192.0.2.7", "bad.example", "'=cmd|' /C calc'!A0"]
    assert rows[0]["count"] == "2"


def test_a_table_has_a_row_a_finding():
    markdown = structured_answer(
        RequestedFormat(prompt="", format=AnswerFormat.TABLE), [(indicators.SECTION.skill, FOUND)]
    )
    assert len([line for line in markdown.splitlines() if line.startswith("|")]) == 2 + len(FOUND)


def test_a_place_that_the_first_finding_has_not_is_filled_from_the_next_that_has():
    summary = Finding(title="first", facts=replace(facts.SCORE, score=1.0))
    other = Finding(
        title="second", severity=Severity.HIGH, facts=ToolFailure(tool="host", reason="", where="web1", source="")
    )
    markdown = fill('{"score": 0, "where": "...", "severity": "...", "owner": "..."}', [summary, other])
    assert json.loads(data(markdown)) == {"score": 1.0, "where": "web1", "severity": "high", "owner": None}


UNKNOWN = [
    pytest.param({"format": AnswerFormat.TEMPLATE, "template": '{"cwe": "CWE-1", "ids": ["CWE-2"]}'}, None, id="JSON"),
    pytest.param({"format": AnswerFormat.JSON}, None, id="any JSON"),
    pytest.param({"format": AnswerFormat.XML, "template": "<a><cwe>CWE-1</cwe></a>"}, "<cwe>unknown</cwe>", id="XML"),
    pytest.param({"format": AnswerFormat.CSV, "columns": ("cwe", "why")}, "cwe,why\nunknown,unknown", id="CSV"),
    pytest.param({"format": AnswerFormat.TABLE, "columns": ("cwe",)}, "| cwe |\n| --- |\n| `unknown` |", id="table"),
    pytest.param({"format": AnswerFormat.LIST, "template": "cwe"}, "unknown", id="list"),
    pytest.param({"format": AnswerFormat.YES_NO, "choices": (Choice("yes", "Yes"),)}, "cannot tell", id="yes or no"),
    pytest.param({"format": AnswerFormat.CHOICE, "choices": (Choice("A", "CWE-1"),)}, "unknown", id="choice"),
]


@pytest.mark.parametrize(("fields", "text"), UNKNOWN)
def test_what_was_not_examined_is_unknown_in_every_format(fields, text):
    requested = RequestedFormat(prompt="Which CWE is it?", **fields)
    markdown = structured_answer(requested, [(cvss.SECTION.skill, [])], is_examined=False)
    if text is None:
        assert json.loads(data(markdown)) in (None, {"cwe": None, "ids": None})
    else:
        assert text in markdown


def test_an_examined_input_without_results_has_an_empty_list():
    requested = RequestedFormat(prompt="", format=AnswerFormat.TEMPLATE, template='{"domains": ["x.example"]}')
    assert json.loads(data(structured_answer(requested, [(indicators.SECTION.skill, [])]))) == {"domains": []}
