"""``svc chat``: its lines, and in a real terminal Ctrl-C, Ctrl-D and Tab."""

from __future__ import annotations

import asyncio
import os
import re
import select
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from svc import MessageType, Svc
from svc.cli.chat import COMMANDS, Chat
from svc.cli.chat_completion import ChatCompleter
from svc.cli.last_session import recall
from svc.client import AsyncSvc
from svc.config import Config
from tests.support.live import wait_until

pty = pytest.importorskip("pty", reason="a terminal of POSIX")
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[=>])")
BRACKETED_PASTE = "\x1b[?2004h"  # prompt_toolkit turns it on with the keyboard


@pytest.fixture
def remote(scripted_service: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("SVC_BASE_URL", scripted_service.base_url)
    monkeypatch.setenv("SVC_API_KEY", scripted_service.api_key)
    monkeypatch.delenv("SVC_WS_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    for name in ("a.log", "my b.log"):
        (tmp_path / name).write_text(name)
    return scripted_service


@pytest.fixture
def chat(remote: Config, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[str, str]]:
    """Type these lines into a chat and leave it; what it printed."""

    def type_lines(*lines: str, end: str = "\x04") -> tuple[str, str]:
        with create_pipe_input() as keys, asyncio.Runner() as runner:
            client = AsyncSvc()
            conversation = Chat(runner, client)
            try:
                conversation.open()
                keys.send_text("".join(f"{line}\r" for line in lines) + end)
                conversation.run(PromptSession(input=keys, output=DummyOutput()))
            finally:
                runner.run(client.aclose())
        return capsys.readouterr()

    return type_lines


def test_each_line_is_a_question_in_one_session(chat):
    out, err = chat("echo a", "", "  echo b  ")

    assert "echo a (after 0)\n" in out
    assert "echo b (after 1)\n" in out
    assert err == ""


def test_files_are_attached_and_the_next_question_is_about_them(chat):
    out, err = chat(
        "/attach a.log", '/attach "my b.log"', "files", "/files", "/attach my\\ b.log", "files", "/attach *.log"
    )

    assert "Attached a.log (5 bytes)" in out
    assert "a.log (5), my b.log (8)\n" in out
    assert "8 bytes  my b.log" in out
    assert "\nmy b.log (8)\n" in out
    assert err == ""


def test_a_new_session_knows_nothing_of_the_earlier_one(chat):
    out, _ = chat("echo a", "/attach a.log", "/new", "echo b", "/files")

    assert "echo b (after 0)" in out
    assert "No file is attached" in out
    assert recall() in out.rsplit("Session ", 1)[1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param("/atach x", "No such command /atach. Did you mean /attach?", id="open: misspelt"),
        pytest.param("/attach", "Usage: /attach PATH", id="open: no path"),
        pytest.param("/attach none.log", "none.log does not exist", id="open: no file"),
        pytest.param("fail no model today", "Error: no model today", id="open: the service fails"),
        pytest.param("status not_answered x", "Not answered: this is not a negative result.", id="open: no answer"),
        pytest.param("/xyz", "/help lists the commands", id="held: unknown"),
        pytest.param("/", "/help lists the commands", id="held: slash"),
        pytest.param("/exit now", "Usage: /exit", id="held: a word too many"),
        pytest.param("/fi", "Did you mean /files?", id="held: shortened"),
        pytest.param("echo a.log", "a.log is not attached. Did you mean /attach a.log?", id="held: a file as a word"),
    ],
)
def test_what_cannot_be_done_is_said_and_the_chat_goes_on(line: str, said: str, chat):
    out, err = chat(line, "echo on")

    assert said in err
    assert "echo on (after" in out
    assert "Traceback" not in err


def test_a_path_at_the_beginning_of_a_question_is_no_command(chat):
    assert "/etc/passwd changed? (after 0)" in chat("/etc/passwd changed?")[0]


def test_it_is_left_by_exit_and_shows_its_commands(chat):
    out, _ = chat("/help", "/exit", "echo never")

    assert all(name in out for name in COMMANDS)
    assert "never" not in out


@pytest.mark.parametrize(
    ("text", "offered"),
    [("/fi", ["/files"]), ("/", list(COMMANDS)), ("/attach a.l", ["og"]), ("fi", []), ("/files ", []), ("", [])],
)
def test_tab_completes_commands_and_paths(text: str, offered: list[str], remote: Config):
    found = ChatCompleter(COMMANDS).get_completions(Document(text), CompleteEvent())

    assert [one.text for one in found] == offered


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self.text = ""
        self._code: int | None = None
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", COLUMNS="80", LINES="24", PROMPT_TOOLKIT_NO_CPR="1", PYTHONUTF8="1")
            os.execv(sys.executable, [sys.executable, "-m", "svc.cli.main", *words])

    def type(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def wait_for(self, text: str) -> str:
        """What was printed until this text came, without escape sequences."""
        end = time.monotonic() + 60
        while text not in ESCAPES.sub("", self.text):
            assert time.monotonic() < end, self.text
            assert self._read(), self.text
        seen, found, self.text = ESCAPES.sub("", self.text).partition(text)
        return seen + found

    def wait_for_new_prompt(self) -> None:
        """Wait until the prompt reads keys, not only until the old one is drawn again."""
        end = time.monotonic() + 60
        while BRACKETED_PASTE not in self.text:
            assert time.monotonic() < end, self.text
            assert self._read(), self.text
        self.text = self.text.partition(BRACKETED_PASTE)[2]
        self.wait_for("svc>")

    def end(self) -> int:
        """The exit code, once the program has ended."""
        end = time.monotonic() + 60
        while self._read():
            assert time.monotonic() < end, self.text
        return self.close()

    def close(self) -> int:
        """End the program, if it runs; its exit code."""
        if self._code is None:
            os.close(self._descriptor)  # it gets SIGHUP
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code

    def _read(self) -> bool:
        """Read what came within a second; whether the program still runs."""
        try:
            if select.select([self._descriptor], [], [], 1)[0]:
                self.text += os.read(self._descriptor, 65_536).decode(errors="replace")
        except OSError:  # Linux says so at a terminal's end
            return False
        return True


@pytest.fixture
def terminal(remote: Config) -> Iterator[Callable[..., Terminal]]:
    """Start ``svc`` with these words in a terminal."""
    started: list[Terminal] = []

    def start(*words: str) -> Terminal:
        started.append(Terminal(*words))
        return started[-1]

    yield start
    for one in started:
        one.close()


def test_in_a_terminal_ctrl_c_cancels_the_question_and_ctrl_d_leaves(terminal):
    shown = terminal("chat")
    shown.wait_for("svc>")
    shown.type("wait\r")
    shown.wait_for("waiting")
    shown.type("\x03")
    shown.wait_for("cancelled")
    shown.wait_for("svc>")
    shown.type("echo **bold** again\r")
    shown.wait_for("echo bold again (after")
    shown.wait_for("svc>")
    shown.type("half a line")
    shown.wait_for("half a line")
    shown.type("\x03")
    shown.wait_for_new_prompt()  # before it, the terminal itself takes Ctrl-D for an end of a line
    shown.type("\x04")

    assert shown.end() == 0
    with Svc() as client:
        messages = client.resume_session(recall()).history()
    assert [m.status_message for m in messages if m.message_type == MessageType.ERROR] == ["cancelled"]


def test_in_a_terminal_the_progress_goes_away_and_ctrl_c_exits_with_130(terminal):
    shown = terminal("ask", "wait")
    shown.wait_for("waiting")
    shown.type("\x03")
    shown.wait_for("the question was cancelled")

    assert shown.end() == 130
    with Svc() as client:
        session = client.resume_session(recall())
        wait_until(lambda: session.refresh().state != "running_agent", "the question to end")


def test_in_a_terminal_an_answer_is_rendered(terminal):
    shown = terminal("ask", "status answered **Found** `x`")
    seen = shown.wait_for("Continue with: svc ask --continue")

    assert "Found x\r\n" in seen
    assert "**" not in seen
    assert shown.end() == 0
