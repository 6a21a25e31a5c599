"""Windows events as text: what ``wevtutil`` and ``Format-List`` print."""

from __future__ import annotations

import io

import pytest

from svc.assistant.file_types.identify import identify
from svc.assistant.log_readers import windows_text
from svc.assistant.log_readers.lines import Unread
from svc.assistant.sigma.event import Event

CREATED = (
    "A user account was created.\n\nSubject:\n\tSecurity ID:\t\tS-1-5-21-1\n\tAccount Name:\t\tbob\n\n"
    "New Account:\n\tAccount Name:\t\tsvc_backup\n"
)
WEVTUTIL = (
    "Event[{0}]:\n  Log Name: Security\n  Source: Microsoft-Windows-Security-Auditing\n  Date: {1}\n"
    "  Event ID: 4720\n  Task: User Account Management\n  Level: Information\n  Computer: WKS5.corp.local\n"
    "  Description: \n" + CREATED + "\n"
)
LIST = (
    "TimeCreated  : {1}\nProviderName : Microsoft-Windows-Security-Auditing\nLogName      : Security\nId : 4720\n"
    "MachineName  : WKS5.corp.local\nMessage      : A user account was created.\n               \n"
    "               Subject:\n               \tAccount Name:\t\tbob\n               \n               New Account:\n"
    "               \tAccount Name:\t\tsvc_backup\n\n"
)
FORMS = {
    "wevtutil": (WEVTUTIL, "2026-11-20T03:10:00.123", "2026-11-20T03:10:00.123"),
    "United States": (LIST, "11/20/2026 3:10:00 PM", "2026-11-20T15:10:00"),
    "midnight": (LIST, "11/2/2026 12:10:00 AM", "2026-11-02T00:10:00"),
    "Germany": (LIST, "20.11.2026 03:10:00", "2026-11-20T03:10:00"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_events_in_text_have_the_fields_of_their_message(form: str, encoding: str):
    template, written, time = FORMS[form]
    content = "".join(template.format(number, written) for number in range(3)).encode(encoding)
    items = list(windows_text.read(io.BytesIO(content)))
    events = [item for item in items if isinstance(item, Event)]
    assert identify(content, "x.txt")[1] == "winevents"
    assert [(one.time, one.host, one.event_id) for one in events] == [(time, "WKS5.corp.local", 4720)] * 3
    assert {(one.fields["SubjectUserName"], one.fields["TargetUserName"]) for one in events} == {("bob", "svc_backup")}
    assert [one.number for one in events] == [1 + k * template.count("\n") for k in range(3)]
    assert not any(isinstance(item, Unread) for item in items)


@pytest.mark.parametrize(
    "text",
    [
        "Name : Spooler\nState : Running\n",
        "Message : hello\nId : 5\n",
        "Event[0]: something happened\nand more\n",
        "TimeCreated : now\nColour : red\n",
    ],
)
def test_other_lists_are_no_events(text: str):
    assert not windows_text.is_event_text(text.encode())
