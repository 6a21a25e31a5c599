"""Fifty Windows events lead to the same findings in whichever form they are exported; differences are of the form."""

from __future__ import annotations

import io

import pytest

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Coverage, Finding, Gap
from svc.assistant.skills.events.tool import inspect
from tests.support.windows_encodings import FORMS, OTHER_FORMS, Form, as_evtx, records

RECORDS = records()
COMPARED = ("rule_hit", "logon_source", "logon_success", "remote_access", "log_gap")
DIFFERENT = {
    "Defender CSV": (
        {"LSASS access via dump library or unbacked memory", r"service installed: PSEXESVC %SystemRoot%\PSEXESVC.exe"},
        {r"service installed: PSEXESVC C:\Windows\PSEXESVC.exe"},
    ),
}
"""What only the original and only the form shows: call traces, and the path of a service's file for its entry."""


def findings(content: bytes) -> tuple[set[str], Coverage, list[str]]:
    found = list(inspect(io.BytesIO(content), source="export"))
    [coverage] = [item for item in found if isinstance(item, Coverage)]
    titles = {item.title for item in found if isinstance(item, Finding) and item.kind in COMPARED}
    counts = {
        f"{item.title}: {item.facts.count}" for item in found if isinstance(item, Finding) and item.kind == "rule_hit"
    }
    return (
        titles | {count for count in counts if count.split(": ")[0] in titles},
        coverage,
        [item.text for item in found if isinstance(item, Gap)],
    )


@pytest.fixture(scope="module")
def original() -> set[str]:
    found, coverage, gaps = findings(as_evtx(RECORDS))
    assert (len(RECORDS), coverage.understood, coverage.total, gaps) == (50, 50, 50, [])
    assert len(found) > 60
    return found


@pytest.mark.parametrize("name", FORMS | OTHER_FORMS)
def test_the_same_fifty_events_lead_to_the_same_findings(name: str, original: set[str]):
    form: Form = (FORMS | OTHER_FORMS)[name]
    content = form.write(RECORDS)
    found, coverage, gaps = findings(content)
    lost, other = DIFFERENT.get(name, (set(), set()))
    assert {one.rpartition(": 1")[0] or one for one in original - found} | lost == lost
    assert found - original <= other
    assert coverage.understood == coverage.total >= 50 - len(form.lacks)
    assert identify(content[:65_536], "export")[1] in ("eventtable", "winevents", "json")
    if form.lacks:
        assert any("does not record call traces, logoffs" in gap for gap in gaps)


@pytest.mark.parametrize("name", ["Hayabusa CSV", "Chainsaw JSON", "Zircolite JSON"])
def test_a_tools_report_says_that_other_events_were_not_in_it(name: str):
    _, _, gaps = findings((FORMS | OTHER_FORMS)[name].write(RECORDS))
    assert any("only events that a rule of that tool matched" in gap for gap in gaps)


def test_a_second_verdict_on_the_same_event_is_an_alert_and_no_second_event():
    found = list(inspect(io.BytesIO(OTHER_FORMS["Zircolite JSON"].write(RECORDS)), source="export"))
    hits = {item.title: item.facts.count for item in found if isinstance(item, Finding) and item.kind == "rule_hit"}
    alerts = {item.title: item.why for item in found if isinstance(item, Finding) and item.kind == "product_alert"}
    assert hits["LSASS dump via comsvcs.dll MiniDump"] == 1
    assert alerts["Zircolite alert: First Events"] == "Zircolite rates it medium."
