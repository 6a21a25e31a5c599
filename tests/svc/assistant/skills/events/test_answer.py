"""The answer about an event log: the verdict's tactics and numbers, tables, steps, pictures; evidence stays text."""

from __future__ import annotations

import io
import json

import msgspec
import pytest
from markdown_it import MarkdownIt

from svc.assistant.findings import Finding, Severity
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.events.answer import SECTION
from svc.assistant.skills.events.tool import inspect
from tests.support.openings import opening

SYSMON = "Microsoft-Windows-Sysmon/Operational"


def event(event_id: int, second: int, *, channel: str = "Security", **fields: object) -> dict:
    return {
        "EventID": event_id,
        "Channel": channel,
        "Computer": "DC1.example.test",
        "@timestamp": f"2026-11-20T03:{second // 60:02}:{second % 60:02}.000Z",
        **fields,
    }


def failed(second: int, account: str = "ann", source: str = "203.0.113.9") -> dict:
    return event(4625, second, TargetUserName=account, IpAddress=source, LogonType="3", SubStatus="0xc000006a")


def process(number: int, parent: int, command: str) -> dict:
    return event(
        1, number, channel=SYSMON, ProcessGuid=f"{{{number:08}}}", ParentProcessGuid=f"{{{parent:08}}}",
        ProcessId=str(number), Image=r"C:\Windows\System32\cmd.exe", CommandLine=command,
    )  # fmt: skip


def findings(*events: dict, source: str = "host.json") -> list[Finding]:
    content = "\n".join(json.dumps(one) for one in events).encode()
    return [item for item in inspect(io.BytesIO(content), source=source) if isinstance(item, Finding)]


BREACH = [
    *(failed(n) for n in range(40)),
    event(4624, 41, TargetUserName="ann", IpAddress="203.0.113.9", LogonType="10"),
    event(1102, 59, SubjectUserName="ann"),
]


def test_the_verdict_names_the_compromise_the_tactic_and_the_coverage():
    verdict = opening(SECTION, findings(*BREACH))
    assert "**Likely Credential Access" in verdict
    assert "**Compromised account: `ann`.** (critical, high confidence)" in verdict
    assert "40 failed logons from 1 source (1 attacking)." in verdict
    assert "Targeted account: `ann` (40); first in line 1." in verdict
    assert (
        "**Read**: 42 events from `DC1[.]example[.]test`, 2026-11-20 03:00:00 to 2026-11-20 03:00:59 UTC; " in verdict
    )


@pytest.mark.parametrize("kept", [set(), {"event_tactics", "rule_hit", "events_summary"}], ids=["all", "only rules"])
def test_weak_tactics_are_not_the_verdict_above_a_severe_finding(kept: set[str]):
    found = [
        msgspec.structs.replace(one, severity=Severity.LOW) if one.kind == "event_tactics" else one
        for one in findings(*BREACH)
        if not kept or one.kind in kept
    ]
    verdict = opening(SECTION, found)
    assert "Only matches of low severity" not in verdict
    assert "low" not in verdict.partition("**")[2].partition("**")[0]
    assert "Matches of low severity alone suggest" in verdict


def test_a_log_without_detections_says_so():
    verdict = SECTION.verdict(findings(event(4634, 0), event(4634, 1)))
    assert verdict.startswith("**No rule applies** to these events (0 of ")


def test_a_log_that_rules_apply_to_says_how_many():
    verdict = SECTION.verdict(findings(event(1102, 0, SubjectUserName="ann"), event(4720, 1))[:1])
    assert verdict.startswith("**No detections**: 0 of the ")
    assert " rules that apply to these events matched." in verdict


def test_the_tables_have_the_records_and_the_text_that_shows_it():
    body = as_sections(SECTION.folds(findings(*BREACH)))
    assert "| Credential Access | `T1110" in body
    assert "**1 logon after failures**" in body
    assert "`203[.]0[.]113[.]9`" in body
    assert "line 42" in body
    assert "**1 gap in the log**" in body


def test_rules_are_shown_with_their_author_and_licence():
    found = findings(event(1102, 0, SubjectUserName="ann"))
    hits = [finding for finding in found if finding.kind == "rule_hit"]
    assert hits
    body = as_sections(SECTION.folds(hits))
    assert hits[0].facts.author in body
    assert hits[0].facts.license in body


def test_processes_are_shown_as_a_tree_in_a_code_block():
    body = as_sections(
        SECTION.folds(findings(process(2, 1, "cmd /c a"), process(3, 2, "cmd /c b"), process(4, 3, "cmd /c c")))
    )
    assert "cmd /c a  [2] 03:00:02\n└─ cmd /c b  [3] 03:00:03\n  └─ cmd /c c  [4] 03:00:04" in body


def test_the_next_steps_follow_from_what_was_found():
    steps = "\n".join(SECTION.next_steps(findings(*BREACH)))
    assert "Lock `ann`" in steps
    assert "Collect the logs of `203[.]0[.]113[.]9`" in steps
    assert "cleared log" in steps


def test_charts_are_drawn_for_more_than_five_items():
    sources = [failed(n, source=f"203.0.113.{n}") for n in range(8) for _ in range(3)]
    [bars] = SECTION.pictures(findings(*sources))
    assert bars.title.startswith("Failed logons by source")
    assert SECTION.pictures(findings(failed(0))) == []


HOSTILE = "`![x](http://evil.test/p.png) <img src=x onerror=alert(1)> ``` | [a](javascript:alert(1)) **b** \u202e\n# x"


@pytest.mark.parametrize("name", ["TargetUserName", "IpAddress", "CommandLine", "ServiceName", "ShareName", "PipeName"])
def test_evidence_cannot_create_links_images_or_html(name: str):
    fields = {name: HOSTILE, "TargetUserName": HOSTILE, "Computer": HOSTILE, "IpAddress": "203.0.113.9"}
    events = [
        *(failed(n) | fields for n in range(8)),
        event(4624, 9, LogonType="3") | fields,
        event(7045, 10, channel="System", ImagePath=HOSTILE) | fields,
        event(5145, 11, SubjectUserName=HOSTILE, RelativeTargetName="a.exe", ShareName=r"\\*\C$") | fields,
        event(18, 12, channel=SYSMON) | fields,
        process(13, 1, HOSTILE) | fields,
        process(14, 13, HOSTILE) | {"ParentImage": r"C:\WmiPrvSE.exe"},
        event(1102, 15, SubjectUserName=HOSTILE),
    ]
    found = findings(*events, source=HOSTILE)
    markdown = "\n\n".join([SECTION.verdict(found), as_sections(SECTION.folds(found)), *SECTION.next_steps(found)])
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = parser.parse(markdown)
    kinds = {child.type for token in tokens for child in [token, *(token.children or [])]}
    assert not kinds & {"link_open", "image", "html_inline", "html_block", "heading_open"}
    assert "\u202e" not in markdown
    for picture in SECTION.pictures(found):
        assert "<img" not in picture.svg


def test_accepted_logons_are_named_without_any_failure():
    found = findings(event(4624, 0, TargetUserName="ann", IpAddress="203.0.113.9", LogonType="10"))
    assert "1 remote logon was accepted: `ann` from `203[.]0[.]113[.]9` (1)." in opening(SECTION, found)
    body = as_sections(SECTION.folds(found))
    assert "**1 accepted logon**" in body
    assert "First (UTC)" in body


def test_a_rule_without_known_false_positives_claims_none():
    pipe = event(17, 1, channel=SYSMON, Image=r"C:\Users\ann\kekeo.exe", PipeName=r"\kekeo_tsssp_endpoint")
    planned = event(1102, 9, SubjectUserName="ann")
    steps = SECTION.next_steps(findings(pipe, planned))
    assert any("credential dumping tool" in step for step in steps)
    assert not any("None known" in step for step in steps)
    assert any("Known false positive: An administrator who archives the log manually." in step for step in steps)
