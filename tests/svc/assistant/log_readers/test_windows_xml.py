"""Events as XML: the same fields as from the binary log; no entity is expanded, damage is a gap."""

from __future__ import annotations

import io

import pytest

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Gap
from svc.assistant.log_readers.windows_xml import is_event_xml, read
from svc.assistant.sigma.event import Event

LOGON = (
    '<Event xmlns="http://schemas.microsoft.com/win/2004/08/events/event"><System>'
    '<Provider Name="Microsoft-Windows-Security-Auditing" Guid="{x}"/><EventID Qualifiers="0">4624</EventID>'
    '<TimeCreated SystemTime="2026-11-20T03:12:45.1234567Z"/><EventRecordID>41</EventRecordID>'
    "<Channel>Security</Channel><Computer>PC1</Computer><Security/></System>"
    '<EventData><Data Name="TargetUserName">ann &amp; bob</Data><Data Name="IpAddress">198.51.100.7</Data></EventData>'
    "</Event>"
)
CLASSIC = LOGON.replace('<Data Name="TargetUserName">', "<Data>").replace('<Data Name="IpAddress">', "<Data>")
CLEARED = LOGON[: LOGON.index("<EventData>")] + (
    '<UserData><LogFileCleared xmlns="x"><SubjectUserName>eve</SubjectUserName></LogFileCleared></UserData></Event>'
)


def outcomes(content: bytes | str) -> tuple[list[Event], list[str]]:
    items = list(read(io.BytesIO(content.encode() if isinstance(content, str) else content)))
    return [item for item in items if isinstance(item, Event)], [item.text for item in items if isinstance(item, Gap)]


def test_an_event_has_its_id_time_log_and_fields():
    [event], gaps = outcomes(LOGON)
    assert (event.number, event.time, event.host, event.event_id) == (41, "2026-11-20T03:12:45.123Z", "PC1", 4624)
    assert event.service == "security"
    assert event.fields["TargetUserName"] == "ann & bob"
    assert gaps == []


def test_values_without_a_name_are_listed_under_data():
    assert outcomes(CLASSIC)[0][0].fields["Data"] == "ann & bob\n198.51.100.7"


def test_user_data_is_read():
    assert outcomes(CLEARED)[0][0].fields["SubjectUserName"] == "eve"


LAYOUTS = {
    "under Events": f'<?xml version="1.0"?>\n<Events>{LOGON}\n{LOGON}</Events>'.encode(),
    "one after another": f"{LOGON}\r\n{LOGON}\r\n".encode(),
    "UTF-16": f"<Events>{LOGON}{LOGON}</Events>".encode("utf-16"),
    "under a question": f"what is this?\n\n{LOGON}{LOGON}".encode(),
}


@pytest.mark.parametrize("content", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_is_read(content: bytes):
    assert is_event_xml(content)
    assert len(outcomes(content)[0]) == 2


def test_a_file_of_events_is_recognised():
    assert identify(LAYOUTS["under Events"], "a.xml") == ("text/xml", "winevents")
    assert identify(b"<?xml version='1.0'?><a/>", "a.xml")[1] == "xml"


def test_an_event_with_a_doctype_is_rejected():
    bomb = LOGON.replace("<System>", '<!DOCTYPE a [<!ENTITY b "c">]><System>')
    events, gaps = outcomes(bomb + LOGON)
    assert len(events) == 1
    assert gaps


@pytest.mark.parametrize(
    "content", [LOGON[:-20], LOGON + LOGON[:300], "<Event >" + "x" * 3_000_000], ids=["cut", "second cut", "no end"]
)
def test_damage_is_reported_as_a_gap(content: str):
    assert outcomes(content)[1]


def test_deep_nesting_is_survived():
    outcomes(LOGON.replace("<EventData>", "<UserData>" + "<a>" * 5_000 + "</a>" * 5_000 + "</UserData><EventData>"))
