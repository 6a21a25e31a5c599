"""``svc ask`` as people run it: a process, its two outputs, its exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from svc import MessageType, State, Svc
from tests.support import ASSISTANTS
from tests.support.live import wait_until
from tests.support.local_services import stop_local_service


@pytest.fixture(scope="module", autouse=True)
def scripted(tmp_path_factory: pytest.TempPathFactory):
    """One local service for these tests, started by the first of them; what it answers: ``scripted_assistants``."""
    folder = tmp_path_factory.mktemp("cli") / "state"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SVC_API_KEY", "SVC_BASE_URL", "SVC_WS_URL"):
            patch.delenv(name, raising=False)
        patch.setenv("SVC_STATE_DIR", str(folder))
        patch.setenv("SVC_LOCAL_SERVE_ARGS", "--assistant scripted_assistants:Scripted --exit-when-idle 120")
        patch.setenv("PYTHONPATH", str(ASSISTANTS))
        yield
    stop_local_service(folder)


def ask(*words: str, stdin: str | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "svc.cli.main", "ask", *words]
    environment = os.environ | {"PYTHONUTF8": "1"} | environ
    return subprocess.run(command, input=stdin, env=environment, capture_output=True, text=True, timeout=60)


def test_in_a_pipe_the_answer_is_on_stdout_and_there_is_no_progress():
    done = ask("count 2")

    assert (done.returncode, done.stdout, done.stderr) == (0, "count 2 (after 0)\n", "")


def test_json_is_one_object_with_session_answer_and_messages():
    done = ask("--json", "count 1")

    answered = json.loads(done.stdout)
    names = ["answer", "coverage", "findings", "indicators", "messages", "question", "session_id", "status"]
    assert sorted(answered) == names
    assert answered["status"] is None
    assert (answered["question"], answered["findings"], answered["indicators"]) == ("count 1", [], [])
    assert answered["answer"] == "count 1 (after 0)"
    assert [m["message_type"] for m in answered["messages"]] == ["info", "result", "info"]
    assert "svc ask" not in done.stderr


@pytest.mark.parametrize(
    ("status", "code", "note"),
    [
        ("answered", 0, ""),
        ("partly_answered", 0, "Partly answered: the answer says what is missing."),
        ("not_answered", 3, "Not answered: this is not a negative result."),
        ("not_examined", 3, "Not examined: the evidence was not read; this is not a negative result."),
        ("of_a_newer_service", 0, ""),
    ],
)
def test_the_exit_code_says_whether_the_question_was_answered(status: str, code: int, note: str):
    done = ask(f"status {status} No failed login.")
    as_json = ask("--json", f"status {status} No failed login.")

    assert (done.returncode, done.stdout) == (code, "No failed login.\n")
    assert done.stderr.splitlines() == [note] * bool(note)
    assert (as_json.returncode, json.loads(as_json.stdout)["status"]) == (code, status)
    assert as_json.stderr.splitlines() == [note] * bool(note)


def test_help_lists_the_exit_codes():
    done = ask("--help")

    assert "3 not answered or not" in done.stdout


def test_a_session_goes_on():
    session_id = json.loads(ask("--json", "echo a").stdout)["session_id"]

    assert ask("--session", session_id, "echo b").stdout == "echo b (after 1)\n"


def test_files_are_attached(tmp_path: Path):
    (tmp_path / "a.log").write_text("abc", encoding="utf-8")
    (tmp_path / "b.log").write_text("de", encoding="utf-8")

    done = ask("--attach", str(tmp_path / "a.log"), "--attach", str(tmp_path / "b.log"), "files")

    assert done.stdout == "a.log (3), b.log (2)\n"


@pytest.mark.slow
def test_folders_and_piped_input_are_attached(tmp_path: Path):
    for host in ("web", "db"):
        (tmp_path / host / "log").mkdir(parents=True)
        (tmp_path / host / "log" / "auth.log").write_text(host)

    one = ask("--attach", str(tmp_path / "web"), "files")
    two = ask("--attach", str(tmp_path / "web" / "log"), "--attach", str(tmp_path / "db" / "log"), "files")
    piped = ask("files", stdin="Accepted password\n")
    explicit = ask("--attach", "-", "files", stdin="text\n")

    assert one.stdout.startswith("web.tar")
    assert "web-log.tar" in two.stdout
    assert "db-log.tar" in two.stdout
    assert piped.stdout.startswith("stdin (18)")
    assert explicit.stdout.startswith("stdin (5)")


def test_a_question_from_stdin_is_taken_to_the_letter():
    assert ask("-", stdin='echo "$HOME" {x} \\n').stdout == 'echo "$HOME" {x} \\n (after 0)\n'


def test_control_characters_never_reach_the_terminal():
    done = ask("-", stdin="echo \x1b]0;owned\x07 \x9b31m \u202egnp.exe\ttab")

    assert done.stdout == "echo ␛]0;owned␇ ⟦U+009B⟧31m ⟦U+202E⟧gnp.exe\ttab (after 0)\n"


@pytest.mark.parametrize(
    ("words", "environ", "code", "text"),
    [
        pytest.param(["fail no model today"], {}, 1, "Error: no model today", id="service-error"),
        pytest.param(["--timeout", "0.3", "wait"], {}, 1, "no answer within 0.3 s; the turn was", id="timeout"),
        pytest.param(["--session", "nosuch", "echo a"], {}, 1, "Error:", id="no-session"),
        pytest.param(["echo a"], {"SVC_BASE_URL": "https://svc.example.org"}, 1, "Set SVC_API_KEY", id="no-key"),
        pytest.param([" "], {}, 2, "the question is empty. Example:", id="empty"),
        pytest.param([], {}, 2, "Missing argument", id="no-question"),
        pytest.param(["--attach", "/no/such/file", "files"], {}, 2, "does not exist", id="no-file"),
        pytest.param(["--timeout", "0", "echo a"], {}, 2, "timeout", id="no-time"),
    ],
)  # fmt: skip
def test_a_failure_has_its_exit_code_and_one_message(words: list[str], environ: dict[str, str], code: int, text: str):
    done = ask(*words, **environ)

    assert (done.returncode, done.stdout) == (code, "")
    assert text in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("sent", "code", "text"),
    [
        pytest.param(signal.SIGINT, 130, "interrupted", id="interrupt"),
        pytest.param(
            signal.SIGTERM,
            143,
            "terminated",
            id="termination",
            marks=pytest.mark.skipif(os.name != "posix", reason="Windows ends a process without notice"),
        ),
    ],
)
def test_a_signal_cancels_the_turn_and_is_in_the_exit_code(sent: signal.Signals, code: int, text: str):
    with Svc() as client:
        session = client.create_session()
        with subprocess.Popen(
            [sys.executable, "-m", "svc.cli.main", "ask", "--session", session.session_id, "wait"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as asking:
            wait_until(lambda: session.refresh().state == State.RUNNING_AGENT, "the question to run")
            asking.send_signal(sent)
            out, rest = asking.communicate(timeout=30)

        assert (asking.returncode, out, rest) == (code, "", f"{text}; the question was cancelled\n")
        assert [m.status_message for m in session.history() if m.message_type == MessageType.ERROR] == ["cancelled"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("command", [["rules", "list"], ["serve", "--show-settings"]], ids=lambda words: words[0])
def test_output_to_a_full_disk_is_one_line_on_stderr(command: list[str]):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "svc.cli.main", *command], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert b"No space left on device. Free space" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="pipes as POSIX has them")
@pytest.mark.parametrize("words", [["--help"], ["man"], ["rules", "list"], ["ask", "lines 20000"]], ids=lambda w: w[0])
def test_a_closed_pipe_is_no_traceback(words: list[str]):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        command = [sys.executable, "-m", "svc.cli.main", *words]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, timeout=60)

    assert done.stderr == b""


def test_an_output_that_cannot_say_everything_is_no_traceback():
    done = ask("echo 4 → 5", PYTHONUTF8="0", PYTHONIOENCODING="cp1252")

    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u2192 5" in done.stdout
