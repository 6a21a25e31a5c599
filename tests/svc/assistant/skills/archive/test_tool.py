"""Archives: members by content, suspicious members, limits, and damage that is reported, not raised."""

from __future__ import annotations

import hashlib
import io
import random
import tarfile
import time
import zipfile

import py7zr
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Coverage, FactsT, Finding, Gap, ToolEvent, with_facts
from svc.assistant.skills.archive.findings import ArchiveMember, ArchiveSign, ArchiveSummary
from svc.assistant.skills.archive.members import MAX_MEMBERS
from svc.assistant.skills.archive.tool import inspect

PROGRAM = b"MZ" + bytes(58) + b"\x40\x00\x00\x00" + b"PE\x00\x00" + bytes(200)


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name, (2025, 3, 11, 9, 30, 0)), data, method)
    return packed.getvalue()


def tarred(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for info, data in members:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.mtime = kind, link, mode, 1_741_685_400
    return info


def run(raw: bytes, name: str = "a.zip") -> list[ToolEvent]:
    return list(inspect(io.BytesIO(raw), source=name))


def found(raw: bytes, facts: type[FactsT]) -> list[Finding[FactsT]]:
    return with_facts((item for item in run(raw) if isinstance(item, Finding)), facts)


def signs(raw: bytes) -> set[str]:
    return {finding.facts.sign for finding in found(raw, ArchiveSign)}


def gaps(raw: bytes) -> str:
    return "\n".join(item.text for item in run(raw) if isinstance(item, Gap))


def covered(raw: bytes) -> Coverage:
    [coverage] = [item for item in run(raw) if isinstance(item, Coverage)]
    return coverage


def test_a_zip_is_listed_with_kinds_by_content_and_hashes():
    raw = zipped(("docs/", b""), ("docs/a.txt", b"hello"), ("p.dat", PROGRAM))
    members = {member.facts.name: member.facts for member in found(raw, ArchiveMember)}
    assert members["docs/"].member_type == "folder"
    assert members["docs/a.txt"].sha256 == hashlib.sha256(b"hello").hexdigest()
    assert members["docs/a.txt"].modified == "2025-03-11T09:30:00"
    assert members["p.dat"].label == "pebin"
    [summary] = found(raw, ArchiveSummary)
    assert (summary.facts.members, summary.facts.opened) == (3, 2)


def test_a_tar_is_listed_with_links_and_times():
    raw = tarred((entry("a.txt"), b"hello"), (entry("l", tarfile.SYMTYPE, "a.txt"), b""))
    members = {member.facts.name: member.facts for member in found(raw, ArchiveMember)}
    assert members["a.txt"].modified == "2025-03-11T09:30:00+00:00"
    assert members["l"].link == "a.txt"
    assert signs(raw) == set()


@pytest.mark.parametrize(
    ("raw", "sign"),
    [
        pytest.param(zipped(("../../etc/cron.d/x", b"x")), "traversal", id="up"),
        pytest.param(zipped(("..\\..\\x.txt", b"x")), "traversal", id="up with backslashes"),
        pytest.param(zipped(("/etc/passwd", b"x")), "traversal", id="from the root"),
        pytest.param(zipped(("C:\\x.txt", b"x")), "traversal", id="a drive"),
        pytest.param(zipped(("bill.pdf.exe", PROGRAM)), "double_ending", id="double ending"),
        pytest.param(zipped(("photo.jpg", PROGRAM)), "disguise", id="disguised program"),
        pytest.param(zipped(("run.js", b"var a = 1")), "script", id="script"),
        pytest.param(zipped(("setup.bin", PROGRAM)), "executable", id="program"),
        pytest.param(zipped(("zero", bytes(20_000_000))), "bomb", id="bomb"),
        pytest.param(zipped(("x.lnk", b"x")), "script", id="shortcut"),
        pytest.param(tarred((entry("l", tarfile.SYMTYPE, "/etc/passwd"), b"")), "link", id="link out"),
        pytest.param(tarred((entry("s", mode=0o4755), b"x")), "set_id", id="set-id"),
        pytest.param(tarred((entry("d", tarfile.CHRTYPE), b"")), "device", id="device"),
    ],
)
def test_indicators_of_a_suspicious_member_are_named(raw: bytes, sign: str):
    assert sign in signs(raw)


def test_ordinary_members_have_no_indicators():
    raw = zipped(("a.txt", b"hello"), ("b/c.csv", b"a,b\n1,2\n"), ("d.pdf", b"%PDF-1.7\n"), ("e..txt", b"x"))
    assert signs(raw) == set()


def test_a_duplicate_name_is_an_indicator():
    with pytest.warns(UserWarning, match="Duplicate"):
        raw = zipped(("a.txt", b"one"), ("a.txt", b"two"))
    assert signs(raw) == {"duplicate"}


def locked() -> bytes:
    raw = bytearray(zipped(("a.txt", b"hello"), method=zipfile.ZIP_STORED))
    raw[6] |= 1
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    return bytes(raw)


def test_password_protection_is_reported_and_nothing_is_opened():
    assert signs(locked()) == {"password"}
    [member] = found(locked(), ArchiveMember)
    assert member.facts.is_encrypted
    assert member.facts.sha256 == ""


def test_a_nested_archive_is_named_and_not_opened():
    raw = zipped(("in.zip", zipped(("a.txt", b"hello"))))
    assert "the structure of nested archives was not checked: 1" in gaps(raw)
    assert [member.facts.label for member in found(raw, ArchiveMember)] == ["zip"]


@pytest.mark.parametrize("magic", [b"Rar!\x1a\x07\x01\x00", b"MSCF"], ids=["RAR", "CAB"])
def test_an_unsupported_format_is_reported(magic: bytes):
    assert "are not supported" in gaps(magic + bytes(100))
    assert covered(magic + bytes(100)).understood == 0


def test_a_damaged_7z_is_reported():
    raw = b"7z\xbc\xaf\x27\x1c" + bytes(100)
    assert "damaged: the list of members cannot be read" in gaps(raw)
    assert covered(raw).understood == 0


def test_the_members_of_a_7z_are_listed_and_checked_by_name():
    packed = io.BytesIO()
    with py7zr.SevenZipFile(packed, "w") as archive:
        archive.writestr(b"hello", "docs/a.txt")
        archive.writestr(PROGRAM, "invoice.pdf.exe")
    members = {member.facts.name: member.facts for member in found(packed.getvalue(), ArchiveMember)}
    assert members["docs/a.txt"].size == 5
    assert "double_ending" in signs(packed.getvalue())
    assert covered(packed.getvalue()).understood == 2


def test_the_list_of_an_encrypted_7z_is_reported_as_such():
    packed = io.BytesIO()
    with py7zr.SevenZipFile(packed, "w", password="secret", header_encryption=True) as archive:
        archive.writestr(b"hello", "a.txt")
    assert "the list of members is encrypted" in gaps(packed.getvalue())
    assert covered(packed.getvalue()).understood == 0


@pytest.mark.parametrize("raw", [b"", b"no archive", zipped(("a.txt", b"hello"))], ids=["empty", "text", "ZIP"])
def test_every_run_reports_its_coverage_once(raw: bytes):
    coverage = covered(raw)
    assert (coverage.unit, coverage.understood) == ("member", 1 if raw.startswith(b"PK") else 0)


def test_members_over_the_limit_are_reported():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(MAX_MEMBERS + 1):
            archive.writestr(str(number), b"")
    assert f"only the first {MAX_MEMBERS:,} of {MAX_MEMBERS + 1:,}" in gaps(packed.getvalue())


def test_members_with_overlapping_data_are_a_bomb():
    raw = bytearray(zipped(("a", random.Random(1).randbytes(50_000))))
    start = raw.index(b"PK\x01\x02")
    end = raw.index(b"PK\x05\x06")
    entries = raw[start:end]
    tail = bytearray(raw[end:])
    tail[8:10] = tail[10:12] = (30).to_bytes(2, "little")
    tail[12:16] = (len(entries) * 30).to_bytes(4, "little")
    assert "overlap" in signs(bytes(raw[:start] + entries * 30 + tail))


def nameless() -> bytes:
    raw = bytearray(zipped(("a", b"hello")))
    raw[raw.index(b"PK\x01\x02") + 46] = 0  # zipfile cuts a name at its first null
    return bytes(raw)


DAMAGED = {
    "a ZIP with an empty name": nameless(),
    "nothing": b"",
    "no archive": b"hello",
    "a ZIP's first bytes": b"PK\x03\x04",
    "a ZIP cut": zipped(("a.txt", b"hello" * 1000))[:-30],
    "a ZIP with a member changed": zipped(("a.txt", b"hello world " * 1000)).replace(b"\x4b", b"\x00", 3),
    "a TAR cut": tarred((entry("a.txt"), b"hello" * 1000), (entry("b.txt"), b"x"))[:3000],
    "a TAR with a broken head": tarred((entry("a.txt"), b"hello" * 1000))[:600] + b"\xff" * 5000,
}


@pytest.mark.parametrize("raw", DAMAGED.values(), ids=DAMAGED)
def test_damage_is_reported(raw: bytes):
    assert any(isinstance(item, Gap | Finding) for item in run(raw))


def test_a_bomb_is_abandoned_within_seconds():
    raw = zipped(*((f"{number}", bytes(30_000_000)) for number in range(6)))
    start = time.process_time()
    items = run(raw)
    assert time.process_time() - start < 8
    assert any(
        finding.facts.sign == "bomb"
        for finding in with_facts((item for item in items if isinstance(item, Finding)), ArchiveSign)
    )
    assert any(isinstance(item, Gap) and "could not be opened" in item.text for item in items)


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_an_archive_with_bytes_changed_is_read(data: st.DataObject):
    raw = bytearray(data.draw(st.sampled_from([zipped(("a.txt", b"hello" * 20)), tarred((entry("a"), b"hello" * 9))])))
    for position in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=20)):
        raw[position] = data.draw(st.integers(0, 255))
    run(bytes(raw))


@given(st.binary(max_size=500))
@settings(max_examples=40, deadline=None)
def test_any_bytes_are_read(raw: bytes):
    run(raw)
    run(b"PK\x03\x04" + raw)
