"""What is piped into ``svc ask`` is attached as ``stdin``; what cannot be meant is left alone, and nothing hangs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from svc.cli import stdin_file as module
from svc.cli.stdin_file import NAME, question_from_stdin, stdin_file


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Stdin is a pipe; the descriptor of its writing end."""
    reading, writing = os.pipe()
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.1)
    with os.fdopen(reading) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        yield writing


def content(*, is_explicit: bool = False, is_wanted: bool = True) -> bytes | None:
    with stdin_file(is_explicit=is_explicit, is_wanted=is_wanted) as path:
        assert path is None or path.name == NAME
        return path and path.read_bytes()


def test_what_is_piped_in_is_attached_and_the_copy_is_deleted(pipe: int):
    os.write(pipe, b"Accepted password\n")
    os.close(pipe)
    with stdin_file(is_explicit=False, is_wanted=True) as path:
        assert path is not None
        assert path.read_bytes() == b"Accepted password\n"
        assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not path.parent.exists()


def test_a_pipe_is_left_alone_if_something_else_is_attached(pipe: int):
    os.write(pipe, b"text")
    os.close(pipe)
    assert content(is_wanted=False) is None


def test_an_empty_pipe_is_reported(pipe: int, capsys: pytest.CaptureFixture[str]):
    os.close(pipe)
    assert content() is None
    assert "stdin is empty; nothing is attached" in capsys.readouterr().err


def test_an_inherited_pipe_does_not_hang(pipe: int, capsys: pytest.CaptureFixture[str]):
    began = time.monotonic()
    assert content() is None
    assert time.monotonic() - began < 5
    assert "nothing came from stdin" in capsys.readouterr().err
    os.close(pipe)


def test_stdin_is_read_to_its_end_on_request(pipe: int):
    os.close(pipe)
    with pytest.raises(click.UsageError, match="stdin is empty"):
        content(is_explicit=True)


@pytest.mark.parametrize("text", [b"", b"text"], ids=["empty", "with content"])
def test_a_file_is_attached_if_it_has_content(text: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.log").write_bytes(text)
    with (tmp_path / "a.log").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert content() == (text or None)


def test_devices_and_sockets_are_left_alone(monkeypatch: pytest.MonkeyPatch):
    with Path("/dev/null").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert content() is None
    ours, theirs = socket.socketpair()
    with ours, theirs, os.fdopen(os.dup(ours.fileno())) as stream:
        theirs.sendall(b"text")
        monkeypatch.setattr(sys, "stdin", stream)
        assert content() is None


def test_a_closed_stdin_is_no_error_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert content() is None
    with pytest.raises(click.UsageError, match="stdin is closed"):
        content(is_explicit=True)


def test_the_question_and_a_file_cannot_both_be_stdin():
    result = subprocess.run(
        [sys.executable, "-m", "svc.cli.main", "ask", "--attach", "-", "-"], input="x", capture_output=True, text=True
    )
    assert result.returncode == 2
    assert "only one of QUESTION and --attach can be read from stdin" in result.stderr


@pytest.mark.parametrize(
    ("content", "question"),
    [
        pytest.param(b"Who got in?\n", "Who got in?\n", id="open: UTF-8"),
        pytest.param("Qui est entré ?".encode("utf-8-sig"), "Qui est entré ?", id="open: byte order mark"),
        pytest.param("Wer kam herein, Jörg?".encode("utf-16"), "Wer kam herein, Jörg?", id="held: PowerShell's UTF-16"),
        pytest.param("Wer? ".encode("utf-16-be"), None, id="held: UTF-16 without a mark"),
        pytest.param(b"\x7fELF\x02\x01\x01\x00\x00\xff\xfe", None, id="open: a program"),
        pytest.param("é".encode("latin-1"), None, id="held: another encoding"),
        pytest.param(b"PK\x03\x04\x00\x00", None, id="held: an archive"),
        pytest.param(b"", "", id="held: empty"),
    ],
)
def test_a_question_is_read_from_stdin_if_it_is_text(content: bytes, question: str | None, pipe: int):
    os.write(pipe, content)
    os.close(pipe)

    if question is None:
        with pytest.raises(click.UsageError, match="is not text"):
            question_from_stdin(is_explicit=False)
    else:
        assert question_from_stdin(is_explicit=True) == question


def test_no_question_is_waited_for_if_nobody_asks_one(pipe: int, monkeypatch: pytest.MonkeyPatch):
    assert question_from_stdin(is_explicit=False) == ""  # silent
    os.close(pipe)
    monkeypatch.setattr(sys, "stdin", None)
    assert question_from_stdin(is_explicit=False) == ""
    with pytest.raises(click.UsageError, match="stdin is closed"):
        question_from_stdin(is_explicit=True)
