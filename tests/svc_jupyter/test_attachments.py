"""What --attach can name, and what it says where it cannot."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from datetime import UTC, datetime
from pathlib import Path

import numpy
import pandas
import pytest

from svc_jupyter import attachments
from svc_jupyter.attachments import Attachment, find, text_of
from svc_jupyter.errors import AskError


def test_a_file_is_read_when_it_is_sent(tmp_path: Path):
    path = tmp_path / "a b.log"
    path.write_text("early")
    [found] = find([str(path)], {})
    path.write_text("late")

    assert found == Attachment("a b.log", path)
    assert found.sha256() == hashlib.sha256(b"late").hexdigest()


def test_a_tilde_is_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.log").write_text("x")

    assert find(["~/a.log"], {}) == [Attachment("a.log", tmp_path / "a.log")]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(b"\x00\x01", Attachment("v", b"\x00\x01"), id="bytes"),
        pytest.param(bytearray(b"x"), Attachment("v", b"x"), id="bytearray"),
        pytest.param("line\nline ü", Attachment("v.txt", "line\nline ü".encode()), id="str"),
        pytest.param("", Attachment("v.txt", b""), id="empty"),
        pytest.param("x\x00y", Attachment("v.txt", b"x\x00y"), id="zero byte"),
        pytest.param("y" * 5_000, Attachment("v.txt", b"y" * 5_000), id="one long line"),
        pytest.param(pandas.DataFrame({"a": [1]}), Attachment("v.csv", b"a\n1\n"), id="DataFrame"),
        pytest.param(
            pandas.DataFrame({"a": [1]}, index=["host"]),
            Attachment("v.csv", b",a\nhost,1\n"),
            id="index that says something",
        ),
        pytest.param(pandas.Series([1], name="a"), Attachment("v.csv", b"a\n1\n"), id="Series"),
        pytest.param({"a": [1, None]}, Attachment("v.json", b'{"a":[1,null]}'), id="dict"),
        pytest.param(OrderedDict(a=1), Attachment("v.json", b'{"a":1}'), id="mapping"),
        pytest.param([1, "a", (2,)], Attachment("v.json", b'[1,"a",[2]]'), id="list"),
        pytest.param([], Attachment("v.json", b"[]"), id="empty list"),
        pytest.param(["one", "two ü"], Attachment("v.txt", "one\ntwo ü\n".encode()), id="list of texts"),
        pytest.param([{"a": 1}, {"b": 2}], Attachment("v.jsonl", b'{"a":1}\n{"b":2}\n'), id="list of dicts"),
        pytest.param(
            {"at": datetime(2026, 3, 4, 5, 6, tzinfo=UTC), "n": numpy.int64(3), "file": Path("a.log")},
            Attachment("v.json", b'{"at":"2026-03-04T05:06:00Z","n":3,"file":"a.log"}'),
            id="times, numbers of numpy's, paths",
        ),
    ],
)
def test_a_variable_is_sent_as_it_is(value: object, expected: Attachment):
    assert find(["{v}"], {"v": value}) == [expected]


def test_a_variable_that_holds_a_path_is_the_file(tmp_path: Path):
    path = tmp_path / "a.log"
    path.write_text("x")

    assert find(["{v}"], {"v": path}) == [Attachment("a.log", path)]


def test_a_string_never_chooses_a_file(tmp_path: Path):
    path = tmp_path / "secret.txt"
    path.write_text("x")

    with pytest.raises(AskError, match=r"which is also the name of a file"):
        find(["{v}"], {"v": str(path)})


def test_files_of_one_name_are_told_apart(tmp_path: Path):
    for host in ("web", "db"):
        (tmp_path / host).mkdir()
        (tmp_path / host / "auth.log").write_text(host)

    found = find([str(tmp_path / "web" / "auth.log"), str(tmp_path / "db" / "auth.log")], {})

    assert [item.name for item in found] == ["web-auth.log", "db-auth.log"]


def test_a_file_named_twice_is_attached_once(tmp_path: Path):
    (tmp_path / "a.log").write_text("x")

    assert len(find([str(tmp_path / "a.log")] * 2, {})) == 1


def test_a_folder_is_attached_as_one_archive(tmp_path: Path):
    folder = tmp_path / "case"
    (folder / "var" / "log").mkdir(parents=True)
    (folder / "var" / "log" / "auth.log").write_text("x")

    [item] = find([str(folder)], {})
    before = item.sha256()

    assert (item.name, item.content) == ("case.tar", folder)
    assert item.sha256() == before
    (folder / "var" / "log" / "auth.log").write_text("changed")
    assert item.sha256() != before


def test_mistakes_say_what_to_do(tmp_path: Path):
    (tmp_path / "auth.log").write_text("x")
    cases = {
        str(tmp_path / "auht.log"): f"Did you mean {tmp_path / 'auth.log'}?",
        "/nowhere/at/all": "no such file: /nowhere/at/all (in ",
        "{fram}": "no variable fram. Did you mean {frame}?",
        "{number}": "{number} has the type int. Attach a DataFrame, list, dict, bytes, str or path.",
        "{objects}": "{objects} cannot be converted to JSON: a value of type object. Convert it to text or bytes",
        "{endless}": "{endless} cannot be converted to JSON: it contains itself.",
        "{a.b}": "--attach {a.b}: braces may only contain the name of a variable.",
    }
    endless: list[object] = [1]
    endless.append(endless)
    for value, message in cases.items():
        with pytest.raises(AskError) as caught:
            find([value], {"frame": b"", "number": 1, "objects": [object()], "endless": endless})
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("value", "preview"),
    [
        pytest.param(b"\x00MZ\x1b[2J", "v: bytes, 7 bytes, begins ␀MZ", id="bytes"),
        pytest.param("", "v.txt: text, 0 bytes", id="empty"),
        pytest.param("x" * 500, f"v.txt: text, 500 bytes, begins {'x' * 99}…", id="long"),
        pytest.param(
            pandas.DataFrame({"a": [1, 2], "b": [3, 4]}),
            "v.csv: DataFrame of 2 rows, 2 columns, 12 bytes, begins a,b 1,3 2,4",
            id="DataFrame",
        ),
        pytest.param([{"a": 1}], 'v.jsonl: list of 1 record, 8 bytes, begins {"a":1}', id="records"),
    ],
)
def test_a_variable_is_previewed_in_one_safe_line(value: object, preview: str):
    [found] = find(["{v}"], {"v": value})

    assert found.preview() == preview


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"x" * 101, id="bytes"),
        pytest.param(["x" * 101], id="lines"),
        pytest.param({"x": "x" * 101}, id="dict"),
        pytest.param(pandas.DataFrame({"x": ["x" * 50, "x" * 60]}), id="DataFrame"),
    ],
)
def test_a_variable_over_the_limit_is_not_sent(value: object, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attachments, "MAX_VARIABLE_BYTES", 100)

    with pytest.raises(
        AskError, match=r"\{v\} is .*; the limit for variables is 100 bytes\. Attach a part of it, or save"
    ):
        find(["{v}"], {"v": value})


def test_an_unknown_name_to_fill_is_an_error_before_anything_is_sent():
    with pytest.raises(AskError, match=r"no variable adress\. Did you mean {address}.*Nothing was sent"):
        text_of("adress", {"address": "x"})


def test_bytes_are_filled_as_text():
    assert text_of("x", {"x": b"caf\xc3\xa9"}) == "café"
