"""A folder is attached as one TAR, produced while it is read: complete, in order, and honest about what it lacks."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from svc import _folder_stream
from svc._folder_stream import UNREADABLE_FIELD, archive_name, length_of, open_path
from svc.assistant.collections import forms
from svc.errors import InvalidRequestError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "case"
    (root / "var" / "log").mkdir(parents=True)
    (root / "var" / "log" / "auth.log").write_bytes(b"line\n" * 1_000)
    (root / ("n" * 120)).mkdir()
    (root / ("n" * 120) / ("ü" * 60)).write_bytes(b"long name")
    (root / "empty").write_bytes(b"")
    (root / "link").symlink_to("/etc/passwd")
    os.mkfifo(root / "pipe")
    return root


def members(path: Path) -> dict[str, bytes]:
    with open_path(path) as stream, tarfile.open(fileobj=io.BytesIO(stream.read())) as archive:
        return {entry.name: (archive.extractfile(entry) or io.BytesIO()).read() for entry in archive}


def test_the_files_of_a_folder_are_sent_with_their_relative_names(folder: Path):
    assert archive_name(folder) == "case.tar"
    assert members(folder) == {
        "empty": b"",
        f"{'n' * 120}/{'ü' * 60}": b"long name",
        "var/log/auth.log": b"line\n" * 1_000,
    }


def test_it_can_be_read_in_pieces_of_any_size_and_is_the_same_each_time(folder: Path):
    with open_path(folder) as stream:
        whole = stream.read()
    with open_path(folder) as stream:
        assert b"".join(iter(lambda: stream.read(777), b"")) == whole
    assert len(whole) % tarfile.BLOCKSIZE == 0


def test_a_file_is_sent_as_it_is(folder: Path):
    with open_path(folder / "var" / "log" / "auth.log") as stream:
        assert stream.read() == b"line\n" * 1_000


def test_a_large_file_has_the_length_that_it_had_when_it_was_opened(tmp_path: Path):
    path = tmp_path / "auth.log"
    path.write_bytes(b"x" * 1_100_000)
    with open_path(path) as stream:
        with path.open("ab") as log:
            log.write(b"more")
        assert length_of(stream) == 1_100_000
        assert b"".join(iter(lambda: stream.read(70_000), b"")) == b"x" * 1_100_000


def test_a_large_file_that_becomes_shorter_is_an_error_that_says_so(tmp_path: Path):
    path = tmp_path / "auth.log"
    path.write_bytes(b"x" * 1_100_000)
    with open_path(path) as stream:
        os.truncate(path, 1_000)
        assert stream.read(500_000) == b"x" * 1_000
        with pytest.raises(InvalidRequestError, match=r"auth\.log became shorter .* 1,099,000 of 1,100,000 bytes are"):
            stream.read(500_000)


def test_what_may_have_another_length_announces_none(folder: Path):
    for path in (folder, folder / "var" / "log" / "auth.log"):
        with open_path(path) as stream:
            assert length_of(stream) is None


def test_a_file_that_cannot_be_read_is_named_with_the_reason(folder: Path, monkeypatch: pytest.MonkeyPatch):
    original = Path.open

    def refused(path: Path, *args: object, **options: object) -> object:
        if path.name == "auth.log":
            raise PermissionError(13, "Permission denied")
        return original(path, *args, **options)

    monkeypatch.setattr(Path, "open", refused)
    with open_path(folder) as stream, tarfile.open(fileobj=io.BytesIO(stream.read())) as archive:
        entry = archive.getmember("var/log/auth.log")
    assert (entry.size, entry.pax_headers[UNREADABLE_FIELD]) == (0, "Permission denied")


def test_the_service_knows_the_field_of_what_could_not_be_read():
    assert forms.UNREADABLE_FIELD == UNREADABLE_FIELD


@pytest.mark.parametrize("change", [b"", b"line\n" * 5_000], ids=["shrinks", "grows"])
def test_a_log_that_changes_while_it_is_read_leaves_the_archive_whole(
    folder: Path, change: bytes, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_folder_stream, "_PIECE_BYTES", 1_024)
    with open_path(folder) as stream:
        first = stream.read(tarfile.BLOCKSIZE)
        (folder / "var" / "log" / "auth.log").write_bytes(change)
        rest = stream.read()
    with tarfile.open(fileobj=io.BytesIO(first + rest)) as archive:
        assert "var/log/auth.log" in archive.getnames()


def test_a_folder_without_files_cannot_be_attached(tmp_path: Path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    with pytest.raises(InvalidRequestError, match="contains no file"):
        open_path(tmp_path)
