"""What ``--attach`` takes, the names that files get, and hints for files that a question only mentions."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from svc.cli import attachments
from svc.cli.attachments import attach_hint, named, paths_of, unattached_files
from svc.cli.main import main


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("auth.log", "b.log", "note", "my case.zip", "hosts/web/log/auth.log", "hosts/db/log/auth.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("word", "names"),
    [
        pytest.param("auth.log", ["auth.log"], id="file"),
        pytest.param("hosts", ["hosts"], id="folder"),
        pytest.param("*.log", ["auth.log", "b.log"], id="pattern"),
        pytest.param("[ab]*.lo?", ["auth.log", "b.log"], id="classes"),
        pytest.param("hosts/*", ["hosts/db", "hosts/web"], id="folders"),
        pytest.param("hosts/**", ["hosts/db/log/auth.log", "hosts/web/log/auth.log"], id="files below"),
        pytest.param("**/auth.log", ["auth.log", "hosts/db/log/auth.log", "hosts/web/log/auth.log"], id="names below"),
        pytest.param("my case.zip", ["my case.zip"], id="space"),
    ],
)
def test_a_path_or_a_pattern_is_resolved(word: str, names: list[str], here: Path):
    assert [path.as_posix() for path in paths_of(word)] == names


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(here: Path):
    (here / "[ab].log").write_text("x")

    assert paths_of("[ab].log") == [Path("[ab].log")]


def test_the_home_folder_is_known(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(here))
    monkeypatch.setenv("USERPROFILE", str(here))

    assert paths_of("~/auth.log") == [here / "auth.log"]
    assert paths_of("~/b*.log") == [here / "b.log"]


@pytest.mark.parametrize(
    ("word", "text"),
    [("none.log", "none.log does not exist"), ("*.none", "no file matches"), ("a\0b", "does not exist")],
)
def test_what_is_not_there_is_an_error(word: str, text: str, here: Path):
    with pytest.raises(click.UsageError, match=text):
        paths_of(word)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a device")
def test_a_device_and_a_socket_are_refused(here: Path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s.sock")
        for word in ("/dev/zero", "s.sock"):
            with pytest.raises(click.UsageError, match="a device or a socket"):
                paths_of(word)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_what_comes_out_of_a_pipe_is_attached(here: Path):
    os.mkfifo("zcat")
    writer = threading.Thread(target=lambda: Path("zcat").write_bytes(b"unpacked"))
    writer.start()
    with attachments.attachments(["zcat", "auth.log", "./auth.log"], is_stdin_wanted=False) as files:
        assert [(path.read_bytes(), name) for path, name in files] == [(b"unpacked", "zcat"), (b"auth.log", "auth.log")]
        copy = files[0][0]
    writer.join()
    assert not copy.exists()


def test_names_are_different_however_deep_the_difference_is(here: Path):
    paths = [*paths_of("hosts/*/log/auth.log"), Path("b.log")]

    assert [name for _, name in named(paths)] == ["db-log-auth.log", "web-log-auth.log", "b.log"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        pytest.param("auth.log", ["auth.log"], id="open: only the file"),
        pytest.param("note", ["note"], id="open: only a file without a dot"),
        pytest.param("what is in auth.log?", ["auth.log"], id="open: in a sentence"),
        pytest.param("Compare 'auth.log' with (b.log).", ["auth.log", "b.log"], id="open: quoted"),
        pytest.param("take a note of who got in", [], id="open: a word that is also a file"),
        pytest.param("what is T1059.001 and 1.2.3.4?", [], id="open: no file"),
        pytest.param("read ./hosts/web/log/auth.log!", ["./hosts/web/log/auth.log"], id="held: path"),
        pytest.param("what happened in hosts/web?", ["hosts/web"], id="held: folder by its path"),
        pytest.param("which hosts were attacked?", [], id="held: a word that is also a folder"),
        pytest.param("who got in according to auth.log: root?", ["auth.log"], id="held: colon"),
        pytest.param("https://x.example/auth.log", [], id="held: URL"),
        pytest.param("//host/share/auth.log \\\\host\\share\\auth.log", [], id="held: network path"),
        pytest.param("see . and .. and ... and /", [], id="held: dots"),
        pytest.param("a\0.log", [], id="held: null"),
        pytest.param(f"{'x' * 5_000}.log", [], id="held: long"),
    ],
)
def test_a_file_that_the_question_names_gets_a_hint(question: str, words: list[str], here: Path):
    assert unattached_files(question, []) == words


def test_an_attached_file_needs_no_hint(here: Path):
    assert unattached_files("what is in auth.log and b.log?", ["auth.log"]) == ["b.log"]


def test_no_network_path_is_looked_up(monkeypatch: pytest.MonkeyPatch):
    looked_up = []
    monkeypatch.setattr(Path, "exists", lambda path: looked_up.append(path) or False)

    assert unattached_files(r"\\evil\share\a.log //evil/share/a.log smb://evil/a.log", []) == []
    assert looked_up == []


@pytest.mark.parametrize(
    ("word", "hint"), [("a.log", "--attach a.log"), ("my case.zip", '--attach "my case.zip"'), ("$x", '--attach "$x"')]
)
def test_a_hint_can_be_pasted_into_a_shell(word: str, hint: str):
    assert attach_hint(word) == hint


def test_a_pattern_that_the_shell_expanded_is_explained(here: Path):
    done = CliRunner().invoke(main, ["ask", "--attach", "auth.log", "b.log", "Who got in?"])
    unquoted = CliRunner().invoke(main, ["ask", "Who", "got", "in?"])

    assert done.exit_code == unquoted.exit_code == 2
    assert "b.log is a file. Did you mean --attach b.log?" in done.output
    assert 'put quotes around it: svc ask "Who got in?"' in unquoted.output
