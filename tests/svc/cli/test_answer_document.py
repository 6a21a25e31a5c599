"""``svc ask --json``: findings of any number, and each indicator once."""

from __future__ import annotations

import json

import msgspec
import pytest

from svc import Message, MessageType, MimeType
from svc.cli.answer_document import (
    answer_document,
    findings_file_of,
    findings_in,
    findings_in_file,
    indicators_of,
)
from svc.findings_file import TITLE, pack_block, pack_header


class Facts(msgspec.Struct):
    value: str
    rows: list[dict[str, str]]


class Found(msgspec.Struct):
    kind: str
    title: str
    severity: str
    facts: Facts


def finding(kind: str, severity: str = "info", **facts: object) -> dict[str, object]:
    return {"title": "t", "severity": severity, "facts": {"kind": kind, **facts}}


def source(title: str, content: object) -> Message:
    return Message(message_type=MessageType.SOURCE, title=title, mime_type=MimeType.JSON, content=json.dumps(content))


def test_findings_are_those_of_the_last_run():
    messages = [source("findings", [finding("a")]), source("coverage", {}), source("findings", [finding("b")])]

    assert [one["facts"]["kind"] for one in findings_in(messages)] == ["b"]
    assert findings_in([Message(message_type=MessageType.SOURCE, title="findings", content="no JSON")]) == []


def test_findings_in_a_file_have_the_form_of_those_in_a_message():
    found = [Found("k", f"t{i}", "low", Facts(f"v{i}", [{"a": "b"}])) for i in range(3)]
    file = pack_header(4) + pack_block(found) + pack_block([Found("m", "t", "info", Facts("x", []))])
    reference = {"findings_file": "f", "sha256": "ab", "size": len(file), "findings": 4, "in_message": 1}

    read = findings_in_file(file)

    assert read[0] == {
        "title": "t0", "severity": "low", "kind": "k", "facts": {"kind": "k", "value": "v0", "rows": [{"a": "b"}]}
    }  # fmt: skip
    assert [one["facts"]["kind"] for one in read] == ["k", "k", "k", "m"]
    assert findings_file_of([source(TITLE, reference)]).sha256 == "ab"
    assert findings_file_of([source("findings", [])]) is None
    with pytest.raises(ValueError, match="damaged"):
        findings_in_file(file[:-20])


def test_what_the_analyst_extracted_is_an_indicator_of_any_severity():
    [domain, address] = indicators_of(
        [
            finding("indicator", type="domain", value="evil.example", scope="public"),
            finding("pcap_indicator", "high", type="address", value="203.0.113.7"),
            finding("indicator", "medium", type="domain", value="evil.example", scope="public"),
        ]
    )[::-1]

    assert (domain.type, domain.value, domain.defanged) == ("domain", "evil.example", "evil[.]example")
    assert (domain.severity, domain.findings, domain.scope) == ("medium", [0, 2], "public")
    assert (address.type, address.severity) == ("ipv4", "high")


@pytest.mark.parametrize(
    ("value", "kind", "scope"),
    [
        ("8.8.8.8", "ipv4", "public"),
        ("10.0.0.1", "ipv4", "private"),
        ("203.0.113.77", "ipv4", "documentation"),
        ("fe80::1%eth0", "ipv6", "link-local"),
        ("2001:4860:4860::8888", "ipv6", "public"),
        ("::1", "ipv6", "loopback"),
        ("ab" * 32, "sha256", ""),
        ("AB" * 20, "sha1", ""),
        ("https://evil.example/x?y", "url", ""),
        ("8.8.8", None, ""),
        ("12345", None, ""),
        ("deploy", None, ""),
        ("see https://evil.example", None, ""),
        ("ab" * 31, None, ""),
        ("1" * 10_000, None, ""),
    ],
)
def test_a_fact_of_a_finding_that_matters_is_an_indicator_if_its_form_says_so(value: str, kind: str | None, scope: str):
    found = indicators_of([finding("attack", "high", rows=[{"of": [value]}])])

    assert [(one.type, one.value, one.scope) for one in found] == ([(kind, value, scope)] if kind else [])
    assert indicators_of([finding("talker", "info", source=value)]) == []


@pytest.mark.parametrize("facts", [None, [], "x", {"kind": "indicator", "type": 1, "value": None}, {}])
def test_findings_of_another_form_have_no_indicators(facts: object):
    document = answer_document("s", "q", [], [{"facts": facts, "severity": 7}])

    assert document.indicators == []
    assert json.loads(msgspec.json.encode(document))["findings"] == [{"facts": facts, "severity": 7}]
