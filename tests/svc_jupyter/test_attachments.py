"""What --attach can name, and what it says where it cannot."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas
import pytest

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

    assert [item.name for item in found] == ["web/auth.log", "db/auth.log"]


def test_a_file_named_twice_is_attached_once(tmp_path: Path):
    (tmp_path / "a.log").write_text("x")

    assert len(find([str(tmp_path / "a.log")] * 2, {})) == 1


def test_mistakes_say_what_to_do(tmp_path: Path):
    (tmp_path / "auth.log").write_text("x")
    cases = {
        str(tmp_path): f"{tmp_path} is a folder. Attach its files one by one",
        str(tmp_path / "auht.log"): f"Did you mean {tmp_path / 'auth.log'}?",
        "/nowhere/at/all": "there is no file /nowhere/at/all (looked in ",
        "{fram}": "there is no variable fram. Did you mean {frame}?",
        "{numbers}": "{numbers} is a list. Attach bytes, str, a path or a DataFrame; json.dumps(numbers)",
        "{a.b}": "--attach {a.b}: braces hold the name of a variable, nothing else.",
    }
    for value, message in cases.items():
        with pytest.raises(AskError) as caught:
            find([value], {"frame": b"", "numbers": [1]})
        assert message in str(caught.value)


def test_an_unknown_name_to_fill_is_an_error_before_anything_is_sent():
    with pytest.raises(AskError, match=r"there is no variable adress\. Did you mean {address}.*Nothing was sent"):
        text_of("adress", {"address": "x"})


def test_bytes_are_filled_as_text():
    assert text_of("x", {"x": b"caf\xc3\xa9"}) == "café"
