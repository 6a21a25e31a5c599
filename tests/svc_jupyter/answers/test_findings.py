"""An answer's findings are a list of dicts on every installation, with conversions to DataFrames."""

from __future__ import annotations

import itertools
import json
import sys

import msgspec
import pandas
import pytest

from svc import Message, MessageType, MimeType, Role, SessionExpiredError, Usage, findings_file
from svc.findings_file import Reference
from svc_jupyter.answers.answer import Answer
from svc_jupyter.answers.findings import COLUMNS, rows_of
from svc_jupyter.errors import AskError

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


def test_findings_are_a_list_of_dicts_with_data_frames():
    found = answer(source(json.dumps([LOGIN, INDICATOR]))).findings

    assert isinstance(found, list)
    assert [row["kind"] for row in found] == ["auth_source", "indicator"]
    for frame in (found.to_pandas(), found.to_polars(), found[:1].to_pandas()):
        assert list(frame.columns)[: len(COLUMNS)] == list(COLUMNS)
        assert next(iter(frame["kind"])) == "auth_source"
    assert json.loads(json.dumps(found))[1]["value"] == "evil.example"


def test_indicators_are_the_findings_that_are_some():
    found = answer(source(json.dumps([LOGIN, INDICATOR]))).indicators

    assert [row["value"] for row in found] == ["evil.example"]


def test_no_findings_are_an_empty_table_with_its_columns():
    assert list(answer().findings.to_pandas().columns) == list(answer().findings.to_polars().columns) == list(COLUMNS)
    assert answer().indicators == []
    assert repr(answer().findings).startswith("0 rows")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_named(library: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, library, None)
    found = answer(source(json.dumps([INDICATOR]))).indicators

    assert found[0]["value"] == "evil.example"
    with pytest.raises(AskError, match=f"pip install {library}"):
        getattr(found, f"to_{library}")()


def test_a_table_shows_its_first_rows_as_inert_text():
    hostile = INDICATOR | {"title": "<img src=x onerror=alert(1)> https://evil.example/a \x1b[2J$\\alpha$"}
    found = answer(source(json.dumps([hostile] * 1_200))).findings

    for shown in (repr(found), found._repr_html_()):
        assert "1,200 rows, the first 20 shown" in shown
        assert "https://" not in shown
        assert "\x1b" not in shown
        assert shown.count("evil[.]example") == 20
    assert "<img" not in found._repr_html_()
    assert "mathjax_ignore" in found._repr_html_()
    assert "first 20 shown" not in repr(found[:5])


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


def with_file(*findings: dict[str, object]) -> tuple[Answer, Answer]:
    """The answer with its findings in a message, and the same one with them in a file and the first in the message."""
    blocks = [
        findings_file.pack_line({"kind": kind, "count": len(rows), "same": {}, "columns": columns_of(rows)})
        for kind, group in itertools.groupby(findings, key=lambda one: one["facts"]["kind"])
        for rows in [list(group)]
    ]
    content = findings_file.pack_header(len(findings)) + b"".join(blocks)
    named = Reference(findings_file="f", sha256="0" * 64, size=len(content), findings=len(findings), in_message=1)
    messages = (source(json.dumps(findings[:1])), source(msgspec.json.encode(named).decode()))
    return answer(source(json.dumps(findings))), Answer(messages, "m", "s1", read_file={"0" * 64: content}.__getitem__)


def columns_of(rows: list[dict[str, object]]) -> dict[str, list[object]]:
    own = ("title", "severity", "confidence", "why", "evidence", "techniques")
    named = {name: [row.get(name, DEFAULTS.get(name, "")) for row in rows] for name in own}
    facts = [name for name in rows[0]["facts"] if name != "kind"]
    return named | {f"facts.{name}": [row["facts"][name] for row in rows] for name in facts}


DEFAULTS = {"severity": "info", "confidence": "high", "evidence": [], "techniques": []}


def test_a_table_from_the_file_is_the_one_from_messages():
    for findings in ([LOGIN, INDICATOR, LOGIN, INDICATOR], [INDICATOR] * 3, [LOGIN]):
        direct, filed = with_file(*findings)
        assert filed.findings == direct.findings
        assert filed.indicators == direct.indicators
        pandas.testing.assert_frame_equal(filed.findings.to_pandas(), direct.findings.to_pandas())


def test_findings_that_cannot_be_fetched_are_an_error_and_never_fewer():
    _, filed = with_file(LOGIN, INDICATOR)

    def gone(sha256: str) -> bytes:
        raise SessionExpiredError("the session expired")

    for read_file, reason in ((None, "Fetch it with read_file"), (gone, "It cannot be read: the session expired")):
        lost = Answer(filed.messages, "m", "s1", read_file=read_file)
        with pytest.raises(AskError, match=rf"the 2 findings of this answer are in a file of session s1.*{reason}"):
            len(lost.findings)
