"""Alerts by the rating of their product."""

from __future__ import annotations

import pytest

from svc.assistant.analyst.questions.levels import asks_level
from tests.support.inline_analyst import ask

ALERTS = rb""""Timestamp","RuleTitle","Level","Computer","Channel","EventID","RecordID","Details"
"2026-11-23 03:10:05.100 +00:00","Service Installed","high","FS-2","Sys",7045,1201,"Svc: updsvc"
"2026-11-23 03:11:00.000 +00:00","LSASS Access","crit","WS-51","Sysmon",10,332,"SrcProc: C:\p.exe"
"2026-11-23 05:00:00.000 +00:00","Net Conn","med","WS-52","Sysmon",3,400,"Proto: tcp"
"""


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("which hosts had highs", "**1 alert rated high on `FS-2` (1)**"),
        ("how many crits and on which box", "**1 alert rated critical on `WS-51` (1)**"),
        ("which hosts had nothing above medium", "**1 host: `WS-52`**"),
        ("any lows?", "**None** of 3 alerts is rated low"),
        ("only severity 1 please", "**Cannot tell**"),
    ],
)
async def test_the_ratings_are_counted(question: str, says: str):
    asked = await ask(question, ("hayabusa.csv", ALERTS))
    assert says in asked.markdown.partition("\n\n")[0], asked.markdown


@pytest.mark.parametrize("question", ["is the risk high?", "was there high traffic", "what is the critical path"])
def test_other_questions_are_not_about_ratings(question: str):
    assert not asks_level(question)
