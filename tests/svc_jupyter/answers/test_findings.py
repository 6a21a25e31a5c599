"""An answer's findings as rows, and as a DataFrame where pandas is installed."""

from __future__ import annotations

import json
import sys

import pandas
import pytest

from svc import Message, MessageType, MimeType, Role, Usage
from svc_jupyter.answers.answer import Answer
from svc_jupyter.answers.findings import COLUMNS, rows_of

LOGIN = {
    "type": "finding",
    "title": "198.51.100.7 guessed",
    "severity": "high",
    "confidence": "high",
    "why": "many failures",
    "evidence": [{"source": "auth.log", "excerpt": "Failed password", "line": 3}],
    "techniques": ["T1110"],
    "facts": {"kind": "auth_source", "source": "198.51.100.7", "failures": 12, "title": "x"},
}
INDICATOR = {"title": "a host", "facts": {"kind": "indicator", "type": "domain", "value": "evil.example"}}


def source(content: str, mime_type: MimeType = MimeType.JSON) -> Message:
    return Message(message_type=MessageType.SOURCE, role=Role.AGENT, mime_type=mime_type, content=content)


def answer(*messages: Message) -> Answer:
    return Answer(messages, "svc-1.1", "s1")


def test_a_finding_is_a_row_with_its_facts():
    [row] = rows_of([source(json.dumps([LOGIN]))])

    assert row == {
        "kind": "auth_source",
        "severity": "high",
        "confidence": "high",
        "title": "198.51.100.7 guessed",
        "why": "many failures",
        "techniques": ["T1110"],
        "where": "auth.log, line 3",
        "excerpt": "Failed password",
        "source": "198.51.100.7",
        "failures": 12,
        "title_": "x",
    }


def test_findings_are_a_data_frame():
    found = answer(source(json.dumps([LOGIN, INDICATOR]))).findings

    assert isinstance(found, pandas.DataFrame)
    assert list(found.kind) == ["auth_source", "indicator"]
    assert list(found.columns)[: len(COLUMNS)] == list(COLUMNS)


def test_indicators_are_the_findings_that_are_some():
    found = answer(source(json.dumps([LOGIN, INDICATOR]))).indicators

    assert list(found.value) == ["evil.example"]


def test_no_findings_are_an_empty_frame():
    assert list(answer().findings.columns) == list(COLUMNS)
    assert len(answer().indicators) == 0


def test_without_pandas_there_are_rows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pandas", None)

    assert answer(source(json.dumps([INDICATOR]))).indicators[0]["value"] == "evil.example"


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(source('{"a": 1}'), id="another form"),
        pytest.param(source("[1, 2]"), id="a list of others"),
        pytest.param(source("[{"), id="broken"),
        pytest.param(source(""), id="empty"),
        pytest.param(source("<svg/>", MimeType.HTML), id="no JSON"),
        pytest.param(Message(message_type=MessageType.INFO, content="[]"), id="no source"),
    ],
)
def test_a_message_of_another_form_has_none(message: Message):
    assert rows_of([message]) == []


def test_usage_is_the_results():
    result = Message(message_type=MessageType.RESULT, role=Role.AGENT, content="x", usage=Usage(total_tokens=7))

    assert answer(result).usage.total_tokens == 7
    assert answer().usage == Usage()
