"""EVTX as events: fields, numbers, times; damage is a gap with its place, and nothing keeps the reader for ever."""

from __future__ import annotations

import io
import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Gap
from svc.assistant.log_readers.evtx import CHUNK_BYTES, HEADER_BYTES, MAX_GAPS, read
from svc.assistant.sigma.event import Event
from tests.support.evtx_writer import Record, evtx

LOGON = Record(number=41, event_id=4624, data={"TargetUserName": "ann", "LogonType": "3", "IpAddress": "198.51.100.7"})
START = Record(
    number=42,
    event_id=4688,
    data={
        "SubjectUserName": "ann",
        "SubjectDomainName": "LAB",
        "NewProcessId": "0x1a2c",
        "ProcessId": "0x10",
        "NewProcessName": r"C:\Windows\System32\cmd.exe",
        "ParentProcessName": r"C:\Windows\explorer.exe",
    },
)
CLEARED = Record(number=43, event_id=1102, data={"SubjectUserName": "bob"}, user_data="LogFileCleared")


def outcomes(content: bytes) -> tuple[list[Event], list[str]]:
    items = list(read(io.BytesIO(content)))
    return [item for item in items if isinstance(item, Event)], [item.text for item in items if isinstance(item, Gap)]


def test_a_record_has_its_id_time_host_log_and_fields():
    [event], gaps = outcomes(evtx([LOGON]))
    assert (event.number, event.time, event.host) == (41, "2026-11-20T03:12:45.000Z", "PC01.example.test")
    assert (event.product, event.service, event.event_id) == ("windows", "security", 4624)
    assert event.fields["IpAddress"] == "198.51.100.7"
    assert event.excerpt == "4624 TargetUserName=ann; IpAddress=198.51.100.7; LogonType=3"
    assert gaps == []


def test_user_data_is_read_as_well_as_event_data():
    [event], _ = outcomes(evtx([CLEARED]))
    assert event.fields["SubjectUserName"] == "bob"


def test_a_process_of_the_security_log_also_has_the_field_names_of_sysmon():
    [event], _ = outcomes(evtx([START]))
    assert event.category == "process_creation"
    assert event.fields["Image"] == event.fields["NewProcessName"]
    assert (event.fields["ProcessId"], event.fields["ParentProcessId"]) == ("6700", "16")
    assert event.fields["User"] == r"LAB\ann"


def test_a_damaged_chunk_is_a_gap_with_its_offset_and_the_next_is_read():
    content = bytearray(evtx([LOGON], [START], [CLEARED]))
    content[HEADER_BYTES + CHUNK_BYTES : HEADER_BYTES + CHUNK_BYTES + 8] = bytes(8)
    events, gaps = outcomes(bytes(content))
    assert [event.number for event in events] == [41, 43]
    assert gaps == ["damaged at byte 69,632 (chunk 1): not a valid chunk; not examined"]


def test_preallocated_empty_chunks_are_not_damage():
    assert outcomes(evtx([LOGON]) + bytes(3 * CHUNK_BYTES))[1] == []


def test_a_file_cut_within_a_chunk_gives_its_readable_records():
    events, gaps = outcomes(evtx([LOGON], [START])[:-60_000])
    assert [event.number for event in events] == [41, 42]
    assert gaps == ["damaged at byte 69,632 (chunk 1): the file ends after 5,536 bytes of it"]


def test_a_file_cut_before_its_last_chunk_reports_the_missing_chunks():
    events, gaps = outcomes(evtx([LOGON], [START])[: HEADER_BYTES + CHUNK_BYTES])
    assert len(events) == 1
    assert gaps == ["the header states 2 chunks, but the file ends after 1"]


@pytest.mark.parametrize("table", [128, 128 + 4 * 63, 384], ids=["first name", "last name", "first template"])
def test_a_cyclic_table_does_not_hang_the_reader(table: int):
    content = bytearray(evtx([LOGON]))
    struct.pack_into("<I", content, HEADER_BYTES + table, 40_000)
    struct.pack_into("<I", content, HEADER_BYTES + 40_000, 40_100)
    struct.pack_into("<I", content, HEADER_BYTES + 40_100, 40_000)
    events, gaps = outcomes(bytes(content))
    assert [event.number for event in events] == [41]
    assert "are circular" in gaps[0]


def test_a_damaged_record_does_not_affect_other_chunks():
    content = bytearray(evtx([START, LOGON], [CLEARED]))
    at = content.index("SubjectUserName".encode("utf-16-le"))
    content[at - 10 : at] = b"\xff" * 10
    events, gaps = outcomes(bytes(content))
    assert events[-1].number == 43
    assert gaps
    assert all(gap.startswith("damaged at byte 4,096 (chunk 0)") for gap in gaps)


@pytest.mark.parametrize("content", [b"", b"ElfFile\x00", bytes(HEADER_BYTES)], ids=["empty", "magic", "zeros"])
def test_a_file_without_a_chunk_gives_no_event(content: bytes):
    assert outcomes(content)[0] == []


def test_much_damage_is_counted_after_the_first_places():
    events, gaps = outcomes(evtx([LOGON]) + (b"x" * CHUNK_BYTES + evtx([START])[HEADER_BYTES:]) * (MAX_GAPS + 3))
    assert len(events) == MAX_GAPS + 4
    assert gaps[-1] == "3 more damaged places were skipped"


@given(seed=st.integers(0, 2**32), count=st.sampled_from([1, 5, 50, 500]))
@settings(max_examples=30, deadline=None)
def test_any_damage_is_survived(seed: int, count: int):
    chance = random.Random(seed)
    content = bytearray(evtx([LOGON, START, CLEARED]))
    for _ in range(count):
        content[chance.randrange(4_000, HEADER_BYTES + 3_000)] = chance.randrange(256)
    outcomes(bytes(content))


@pytest.mark.long
def test_thousands_of_damaged_files_end_in_time():
    whole = evtx([LOGON, START, CLEARED])
    for seed in range(20_000):
        chance = random.Random(seed)
        content = bytearray(whole)
        for _ in range(chance.choice([1, 5, 50, 500])):
            content[chance.randrange(len(content) if seed % 3 else HEADER_BYTES + 3_000)] = chance.randrange(256)
        outcomes(bytes(content))
