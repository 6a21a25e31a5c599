"""The readers of host artefacts: exact values, damaged and hostile files, what was not read."""

from __future__ import annotations

import gzip
import io
import random
import sqlite3
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from types import SimpleNamespace

import pytest
from markdown_it import MarkdownIt

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Coverage, Finding, Gap, Severity
from svc.assistant.log_readers.host import browser, mft, prefetch, registry, task_xml, usn, utmp
from svc.assistant.log_readers.host.record import Artefact, Tampering, TraceKind
from svc.assistant.log_readers.host.sqlite_tables import Database
from svc.assistant.log_readers.host.xpress import decompress
from svc.assistant.skills.host_artefacts import srum
from svc.assistant.skills.host_artefacts.tool import inspect
from tests.support import host_files as made
from tests.support.damage import all_seeds
from tests.support.inline_analyst import ask

RUN = r"Software\Microsoft\Windows\CurrentVersion\Run"


def gaps_of(items: Iterator[object]) -> str:
    """All gaps as one text."""
    return "\n".join(item.text for item in items if isinstance(item, Gap))


def as_database(statements: str, rows: Sequence[tuple[object, ...]], insert: str) -> bytes:
    """A database that the SQLite library wrote."""
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript(statements)
        base.executemany(insert, rows)
        base.commit()
        return base.serialize()


@pytest.mark.parametrize("page_bytes", [512, 1024, 4096, 65_536])
@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_rows_of_a_database_are_those_that_sqlite_wrote(page_bytes: int, encoding: str) -> None:
    chance = random.Random(page_bytes)
    texts, numbers = ("", "äö", "x" * 300, "ö" * 9_000), (0, 1, -5, 2**40, -(2**62), None)
    rows = [(number, chance.choice(texts), chance.choice(numbers), number / 3, b"\x00\xff") for number in range(1, 120)]
    start = (
        f"PRAGMA page_size={page_bytes}; PRAGMA encoding='{encoding}'; CREATE TABLE t(id INTEGER PRIMARY "
        'KEY, [a b] TEXT, "n" INT, f REAL DEFAULT (1,2), z BLOB);'
    )
    database = Database(
        as_database(start.replace("DEFAULT (1,2)", "DEFAULT (1+2)"), rows, "INSERT INTO t VALUES(?,?,?,?,?)")
    )
    read = [(row["id"], row["a b"], row["n"], row["f"], row["z"]) for row in database.rows("t")]
    assert read == rows
    assert database.broken.count == 0


def test_rows_before_and_after_a_damaged_page_are_kept() -> None:
    rows = [(number, "text " * 20) for number in range(1, 400)]
    data = bytearray(
        as_database(
            "PRAGMA page_size=1024; CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT);", rows, "INSERT INTO t VALUES(?,?)"
        )
    )
    data[10 * 1024 : 11 * 1024] = bytes(1024)
    database = Database(bytes(data))
    assert 350 < sum(1 for _ in database.rows("t")) < 399
    assert database.broken.count == 1


def test_a_tree_of_pages_that_contains_itself_ends() -> None:
    rows = [(number, "text " * 20) for number in range(1, 400)]
    data = bytearray(
        as_database(
            "PRAGMA page_size=1024; CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT);", rows, "INSERT INTO t VALUES(?,?)"
        )
    )
    root = (Database(bytes(data)).tables["t"][0] - 1) * 1024
    cells = int.from_bytes(data[root + 3 : root + 5], "big")
    for index in range(cells):
        at = root + int.from_bytes(data[root + 12 + 2 * index : root + 14 + 2 * index], "big")
        data[at : at + 4] = struct.pack(">I", root // 1024 + 1)
    database = Database(bytes(data))
    assert list(database.rows("t")) is not None
    assert database.broken.count >= cells


def test_another_database_is_not_examined_rather_than_empty() -> None:
    data = as_database(
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, body TEXT)", [(1, "hello")], "INSERT INTO messages VALUES(?,?)"
    )
    events = list(inspect(io.BytesIO(data), source="x.db"))
    [coverage] = [one for one in events if isinstance(one, Coverage)]
    assert coverage.understood == 0
    assert not any(isinstance(one, Finding) for one in events)
    assert "its tables: messages" in gaps_of(iter(events))


def test_a_history_with_a_write_ahead_log_says_that_newer_rows_may_be_there() -> None:
    data = bytearray(made.chrome([("https://a.example/", "A", "2026-11-20 03:12:45")]))
    data[18:20] = b"\x02\x02"
    assert "-wal" in gaps_of(browser.read(io.BytesIO(bytes(data))))


def packed(parts: list[tuple[int, int, int] | int], size: int) -> bytes:
    """LZ77 with codes of 9 bits for each symbol; a part is a byte, or length, distance and its bits."""
    bits = ""
    for part in parts:
        if isinstance(part, int):
            bits += f"{part:09b}"
        else:
            length, distance, width = part
            bits += f"{256 + width * 16 + length - 3:09b}" + (f"{distance - (1 << width):0{width}b}" if width else "")
    bits = bits.ljust((len(bits) + 15) // 16 * 16, "0")
    words = b"".join(struct.pack("<H", int(bits[at : at + 16], 2)) for at in range(0, len(bits), 16))
    assert size
    return bytes([0x99] * 256) + words + bytes(4)


def test_copies_are_decompressed() -> None:
    data = packed([*b"abc", (9, 3, 1), (3, 12, 3), (4, 1, 0)], 19)
    assert decompress(data, 19) == b"abcabcabcabcabccccc"


def test_damaged_compression_gives_what_came_before_it() -> None:
    data = packed([*b"abc", (9, 8, 3)], 12)
    assert decompress(data, 12) == b"abc"
    assert decompress(b"", 10) == b""


@pytest.mark.parametrize("version", [17, 23, 26, 30, 31])
def test_versions_of_prefetch_files_without_content_do_not_raise(version: int) -> None:
    for size in (84, 120, 215, 216, 300):
        data = (struct.pack("<I4s", version, b"SCCA") + b"\xff" * 400)[:size]
        assert gaps_of(prefetch.read(io.BytesIO(data)))


def test_a_hive_whose_last_write_is_incomplete_says_so_first() -> None:
    keys = made.keys({RUN: ("2026-11-20 03:12:45", {"A": "C:\\a.exe"})})
    dirty = [one for one in registry.read(io.BytesIO(made.hive(keys, is_dirty=True))) if isinstance(one, Gap)]
    assert any(one.in_headline and "not replayed" in one.text for one in dirty)


def test_a_hive_that_is_cut_off_is_read_in_part() -> None:
    keys = made.keys(
        {rf"{RUN}": ("2026-11-20 03:12:45", {f"N{n}": f"C:\\Program Files\\{'x' * 300}{n}.exe" for n in range(60)})}
    )
    cut = bytearray(made.hive(keys))
    cut[40:44] = struct.pack("<I", len(cut))  # as long as it was: the header alone is not counted
    events = list(inspect(io.BytesIO(bytes(cut)), source="NTUSER.DAT"))
    [coverage] = [one for one in events if isinstance(one, Coverage)]
    assert coverage.understood < coverage.total
    assert "cut off" in gaps_of(iter(events))


def test_lists_of_keys_that_contain_themselves_end() -> None:
    data = bytearray(made.hive(made.keys({RUN: ("2026-11-20 03:12:45", {"A": "C:\\a.exe"})})))
    at = data.find(b"lh")
    data[at : at + 4] = b"ri\xff\xff"
    assert list(registry.read(io.BytesIO(bytes(data))))


def test_logins_hidden_in_wtmp_are_tampering_and_free_places_at_the_end_are_not() -> None:
    record = made.utmp_record(7, "2026-11-20 03:12:45", "mara", "pts/0")
    signs = [one for one in utmp.read(io.BytesIO(record + bytes(384) + record), "wtmp") if isinstance(one, Tampering)]
    assert len(signs) == 1
    assert not [one for one in utmp.read(io.BytesIO(record * 2 + bytes(768)), "wtmp") if isinstance(one, Tampering)]


def test_a_record_that_is_older_than_the_one_before_is_tampering_in_wtmp_only() -> None:
    content = b"".join(
        made.utmp_record(7, time, "mara", "pts/0") for time in ("2026-11-20 09:00:00", "2026-11-20 03:00:00")
    )
    assert [one for one in utmp.read(io.BytesIO(content), "var/log/wtmp.1") if isinstance(one, Tampering)]
    assert not [one for one in utmp.read(io.BytesIO(content), "run/utmp") if isinstance(one, Tampering)]


def test_the_same_records_are_failures_in_btmp() -> None:
    content = made.utmp_record(6, "2026-11-20 03:12:45", "root", "ssh:notty", "192.0.2.7", "192.0.2.7")
    kinds = {
        name: next(one.activity for one in utmp.read(io.BytesIO(content), name) if isinstance(one, Artefact))
        for name in ("btmp", "x/btmp-20261101", "wtmp")
    }
    assert kinds == {
        "btmp": TraceKind.FAILED_LOGIN,
        "x/btmp-20261101": TraceKind.FAILED_LOGIN,
        "wtmp": TraceKind.SYSTEM,
    }


def test_entities_of_a_task_are_not_expanded() -> None:
    bomb = (
        b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
        + made.task("a.exe").decode("utf-16").partition("?>")[2].encode()
    )
    assert "not read (EntitiesForbidden)" in gaps_of(task_xml.read(io.BytesIO(bomb), "x"))


def test_a_record_of_the_journal_after_damage_is_found() -> None:
    good = made.usn_record("a.exe", "2026-11-20 03:12:45", 0x100)
    other = made.usn_record("b.exe", "2026-11-20 03:12:46", 0x100, file=101)
    rows = [one for one in usn.read(io.BytesIO(good + b"\xff" * 4_000 + other)) if isinstance(one, Artefact)]
    assert len(rows) == 2


def test_records_of_the_table_with_wrong_fixups_are_not_read() -> None:
    record = bytearray(made.mft_record(1, "a.exe", "2026-11-20 03:12:45"))
    record[510:512] = b"\x00\x00"
    items = list(mft.read(io.BytesIO(made.mft_record(0, "$MFT", "2026-11-20 03:12:45") + bytes(record))))
    assert "1 record is damaged" in gaps_of(iter(items))


def test_folders_that_contain_each_other_end() -> None:
    table = [
        made.mft_record(number, f"d{number}", "2026-11-20 03:12:45", parent=3 - number, is_folder=True)
        for number in (0, 1, 2)
    ]
    assert [one.what for one in mft.read(io.BytesIO(b"".join(table))) if isinstance(one, Artefact)]


@pytest.mark.parametrize("seed", range(len(all_seeds()["host_artefacts"])))
def test_every_truncation_has_one_coverage_and_no_exception(seed: int) -> None:
    content = all_seeds()["host_artefacts"][seed]
    for size in sorted({len(content) * share // 7 for share in range(1, 7)}):
        events = list(inspect(io.BytesIO(content[:size]), source="evidence"))
        assert sum(isinstance(one, Coverage) for one in events) == 1


@pytest.mark.parametrize(
    "text",
    [
        b"# Notes\n\nThe meeting is at 9. 1 2 3 4 5 is no job.\n",
        b"[Unit 1]\nname = x\n",
        b"[Service]\nhost=db\nport=5432\n[Logging]\nlevel=info\n",
        b"<Task><Command>x</Command></Task>",
        b"**********************\nWelcome to the server\n**********************\n",
        b": then the next line; and so on\n",
        b"#1795154000\n",
        b'{"timestamp": "2026-11-20", "message": "x"}\n',
        bytes(2_000),
        random.Random(7).randbytes(5_000),
    ],
)
def test_other_files_are_not_taken_for_artefacts(text: bytes) -> None:
    events = list(inspect(io.BytesIO(text), source="notes.txt"))
    assert [one.understood for one in events if isinstance(one, Coverage)] == [0]
    assert identify(text, "notes.txt")[1] not in (
        "crontab",
        "systemdunit",
        "taskxml",
        "pstranscript",
        "shellhistory",
        "unifiedlog",
        "utmp",
    )


class _Table:
    def __init__(self, columns: list[str], rows: list[list[bytes]]) -> None:
        self._columns, self._rows = columns, rows
        self.number_of_columns, self.number_of_records = len(columns), len(rows)

    def get_column(self, index: int) -> SimpleNamespace:
        return SimpleNamespace(name=self._columns[index])

    def get_record(self, index: int) -> SimpleNamespace:
        row = self._rows[index]
        return SimpleNamespace(get_value_data=row.__getitem__, is_long_value=lambda _: False)


def test_srum_names_programs_accounts_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    number = (1).to_bytes(4, "little"), (2).to_bytes(4, "little")
    sid = bytes([1, 2, 0, 0, 0, 0, 0, 5]) + struct.pack("<2I", 32, 544)
    program = "\\Device\\a\\rclone.exe\x00".encode("utf-16-le")
    names = [[b"\x00", number[0], program], [b"\x03", number[1], sid]]
    used = [struct.pack("<d", 46_346.125), *number, struct.pack("<q", 9_000_000), b"\x05"]
    tables = {
        "SruDbIdMapTable": _Table(["IdType", "IdIndex", "IdBlob"], names),
        srum.NETWORK: _Table(["TimeStamp", "AppId", "UserId", "BytesSent", "BytesRecvd"], [used]),
    }
    opened = SimpleNamespace(open_file_object=lambda _: None, get_table_by_name=tables.get)
    monkeypatch.setitem(sys.modules, "pyesedb", SimpleNamespace(file=lambda: opened))
    [row] = [one for one in srum.read(io.BytesIO(b"")) if isinstance(one, Artefact)]
    assert (row.what, row.user, row.activity) == ("\\Device\\a\\rclone.exe", "S-1-5-32-544", TraceKind.NETWORK)
    assert row.detail == "9,000,000 bytes sent, 5 received"
    assert row.time == "2026-11-20T03:00:00.000Z"


def test_without_the_library_the_answer_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyesedb", None)
    content = bytes(4) + b"\xef\xcd\xab\x89" + bytes(100) + "{D10CA2FE-6FCF-4F6D-848E-B2E99266FA89}".encode("utf-16-le")
    assert identify(content, "SRUDB.dat")[1] == "srum"
    events = list(inspect(io.BytesIO(content), source="SRUDB.dat"))
    assert "install svc-jupyter[host]" in gaps_of(iter(events))
    assert [one.understood for one in events if isinstance(one, Coverage)] == [0]


def test_a_rule_that_ships_does_not_outweigh_the_signs() -> None:
    content = made.hive(
        made.keys({RUN: ("2026-11-20 03:12:45", {"A": r'"C:\Users\mara\AppData\Roaming\Spotify\Spotify.exe"'})})
    )
    found = [one for one in inspect(io.BytesIO(content), source="NTUSER.DAT") if isinstance(one, Finding)]
    assert {one.severity for one in found} <= {Severity.LOW, Severity.INFO}


async def test_rotated_records_are_read_packed() -> None:
    content = gzip.compress(made.utmp_record(7, "2026-11-20 03:12:45", "mara", "pts/0", "192.0.2.7", "192.0.2.7"))
    asked = await ask("Who logged in?", ("wtmp-20261101.gz", content))
    assert "192[.]0[.]2[.]7" in asked.markdown


async def test_text_of_an_artefact_cannot_leave_its_cell() -> None:
    bad = "x | y\n\n![a](http://203.0.113.7/a.png) <img src=x> `z"
    content = made.hive(made.keys({RUN: ("2026-11-20 03:12:45", {bad[:60]: f"C:\\Users\\Public\\{bad}.exe"})}))
    asked = await ask("What persists?", ("NTUSER.DAT", content))
    html = MarkdownIt("gfm-like", {"linkify": False}).render(asked.markdown)
    assert "203" in html
    assert "<img" not in html
