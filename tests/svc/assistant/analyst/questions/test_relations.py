"""Relations that records state or not: an answer never takes a mention for one."""

from __future__ import annotations

import pytest

from svc.assistant.analyst.questions.relations import relation_of
from svc.messages import AnswerStatus
from tests.support.inline_analyst import ask

FLOWS = b"""start,end,src,dst,sport,dport,proto,packets,bytes
2026-11-23T01:00:00Z,2026-11-23T01:10:00Z,10.0.0.5,198.51.100.84,50001,443,6,90000,120000000
2026-11-23T01:11:00Z,2026-11-23T01:11:02Z,10.0.0.6,198.51.100.85,50002,80,6,12,1800
"""
ASSETS = b"""time,host,owner,ip,action
2026-11-23T01:00:00Z,WS-1,ann@corp.example,10.0.0.5,login
2026-11-23T01:05:00Z,WS-2,bob@corp.example,10.0.0.6,login
"""


@pytest.mark.parametrize(
    ("question", "what", "value"),
    [
        ("Which user account owns 10.0.0.5", "owner", "10.0.0.5"),
        ("who is the owner of the hr-data bucket", "owner", "hr-data"),
        ("who is the manager of mgraf", "manager", "mgraf"),
        ("what is the hostname of 10.0.0.6", "host name", "10.0.0.6"),
        ("is tom part of the admins?", "group", "tom"),
        ("what started evil.exe", "parent", "evil.exe"),
        ("is 10.0.0.5 a file server", "kind", "10.0.0.5"),
    ],
)
def test_a_relation_and_its_value_are_read(question: str, what: str, value: str):
    found = relation_of(question)
    assert found is not None
    assert (found.what, found.value) == (what, value)


@pytest.mark.parametrize(
    "question",
    ["who became owner of p1", "what happened to the owner", "which groups were created", "is 10.0.0.5 a threat"],
)
def test_changes_and_judgements_are_no_relations(question: str):
    assert relation_of(question) is None


async def test_what_no_record_states_cannot_be_told():
    asked = await ask("Which user account owns 10.0.0.5", ("flows.csv", FLOWS))
    assert asked.markdown.startswith("**Cannot tell**"), asked.markdown
    assert "no record states an owner" in asked.markdown
    assert asked.answer.status is AnswerStatus.NOT_ANSWERED


async def test_what_a_column_states_is_told():
    asked = await ask("who owns 10.0.0.5?", ("assets.csv", ASSETS))
    assert asked.markdown.startswith("**owner: `ann[@]corp[.]example`**"), asked.markdown
