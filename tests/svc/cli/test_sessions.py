"""``svc sessions`` and the scope of ``svc ask``, on a real service."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from svc import Svc
from svc.cli.last_session import FILE_NAME
from svc.cli.main import main
from svc.config import state_folder
from tests.support.assistants.scripted import Echo
from tests.support.live import StartService, ThreadService


@pytest.fixture
def remote(service: ThreadService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ThreadService:
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("SVC_BASE_URL", service.base_url)
    monkeypatch.setenv("SVC_API_KEY", service.key)
    monkeypatch.delenv("SVC_WS_URL", raising=False)
    return service


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_sessions_are_listed_the_last_used_first_and_searched(remote: ThreadService):
    assert "There is no session yet" in run("sessions", "list").output
    with Svc() as client:
        first = client.create_session(name="Ticket 4711")
        first.query("which accounts of web-3 were\nbrute-forced?")
        second = client.create_session(name="other")
        second.attach_file("Firewall.log", b"x")

    listed = run("sessions", "list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == [second.session_id, first.session_id]
    assert listed[1].endswith("Ticket 4711  which accounts of web-3 were brute-forced?")
    assert run("sessions", "list", "--search", "WEB-3 ticket").stdout.split()[0] == first.session_id
    assert run("sessions", "list", "--search", "firewall").stdout.split()[0] == second.session_id
    assert "No session matches." in run("sessions", "list", "--search", "nowhere").output
    [found] = json.loads(run("sessions", "list", "--search", "4711", "--json").stdout)
    assert (found["id"], found["title"]) == (first.session_id, "which accounts of web-3 were brute-forced?")


def test_a_title_is_inert_in_a_terminal(remote: ThreadService):
    with Svc() as client:
        client.create_session(name="a\x1b[2Jb").query("who\x1b]0;owned\x07?")

    assert "\x1b" not in run("sessions", "list").stdout
    assert "\x07" not in run("sessions", "list").stdout


def test_a_question_is_about_what_it_attaches_or_about_all(remote: ThreadService, tmp_path: Path):
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(name)
    run("ask", "--attach", str(tmp_path / "a.log"), "one")
    with Svc() as client:
        [session] = client.list_sessions()
        run("ask", "--session", session.id, "--attach", str(tmp_path / "b.log"), "two")
        run("ask", "--session", session.id, "three")
        run("ask", "--session", session.id, "--all", "four")
        messages = client.resume_session(session.id).history()
        digests = {file.sha256: file.name for file in client.resume_session(session.id).files}

    about = [[digests[one] for one in message.files or ()] for message in messages if message.message_type == "query"]
    assert about == [["a.log"], ["b.log"], [], ["a.log", "b.log"]]


def test_all_needs_a_file(remote: ThreadService):
    failed = run("ask", "--all", "who?")

    assert failed.exit_code == 2
    assert "--all: no file is attached to this session" in failed.output


def test_a_session_is_shown_with_its_questions_and_answers(remote: ThreadService):
    with Svc() as client:
        session = client.create_session(name="Ticket\x1b[2J 4711")
        session.attach_file("Firewall.log", b"x")
        session.query("who\ngot in?")

    shown = run("sessions", "show", session.session_id[:8]).stdout
    as_json = json.loads(run("sessions", "show", session.session_id, "--json").stdout)

    assert "Firewall.log (1 bytes)" in shown
    assert "\n> who\n> got in?\n" in shown
    assert "\x1b" not in shown
    assert [one["message_type"] for one in as_json["messages"]][:1] == ["query"]
    assert as_json["id"] == session.session_id


def test_sessions_are_deleted_after_a_confirmation_only(remote: ThreadService):
    with Svc() as client:
        ids = [client.create_session().session_id for _ in range(3)]

    refused = run("sessions", "delete", ids[0])
    done = run("sessions", "delete", ids[0][:9], ids[1], ids[1], "--yes")

    assert (refused.exit_code, "confirm with --yes" in refused.output) == (2, True)
    assert done.exit_code == 0
    with Svc() as client:
        assert [one.id for one in client.list_sessions()] == [ids[2]]


def test_an_id_that_several_sessions_begin_with_is_refused(remote: ThreadService):
    with Svc() as client:
        for _ in range(20):
            client.create_session()
        begin = Counter(one.id[0] for one in client.list_sessions()).most_common(1)[0][0]

    refused = run("sessions", "delete", begin, "--yes")

    assert refused.exit_code == 2
    assert f"sessions have IDs that begin with {begin}" in refused.output
    assert run("sessions", "show", "nosuch").exit_code == 1


def test_the_last_session_goes_on_and_is_that_of_its_service(remote: ThreadService, start_service: StartService):
    assert "no session to continue" in run("ask", "-c", "too early").output
    first = json.loads(run("ask", "--json", "one").stdout)["session_id"]
    again = json.loads(run("ask", "--continue", "--json", "two").stdout)["session_id"]
    assert first == again

    other = start_service(Echo)
    elsewhere = {"SVC_BASE_URL": other.base_url, "SVC_API_KEY": other.key}
    assert "no session to continue" in CliRunner().invoke(main, ["ask", "-c", "x"], env=elsewhere).output
    run("sessions", "delete", first, "--yes")
    gone = run("ask", "-c", "three")
    assert (gone.exit_code, "the last session cannot be continued" in gone.output) == (1, True)


def test_no_key_is_in_the_file_of_last_sessions(remote: ThreadService):
    run("ask", "one")

    file = state_folder() / FILE_NAME
    assert remote.key not in file.read_text()
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("{")
    assert "no session to continue" in run("ask", "-c", "x").output


def test_model_and_language_are_those_of_the_new_session(remote: ThreadService):
    session_id = json.loads(run("ask", "--json", "--language", "de", "-m", "stable", "eins").stdout)["session_id"]

    with Svc() as client:
        assert client.resume_session(session_id).language == "de"
    assert run("ask", "--model", "nosuch", "x").exit_code == 1
    for option in ("--model", "--language"):
        refused = run("ask", "-c", option, "de", "zwei")
        assert (refused.exit_code, "those of a new session" in refused.output) == (2, True)
    assert "exclude each other" in run("ask", "-c", "--session", session_id, "drei").output


def test_too_many_files_are_better_a_folder(
    start_service: StartService, remote: ThreadService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    small = start_service(Echo, max_session_files=2)
    monkeypatch.setenv("SVC_BASE_URL", small.base_url)
    monkeypatch.setenv("SVC_API_KEY", small.key)
    for number in range(3):
        (tmp_path / f"{number}.log").write_text(str(number))

    failed = run("ask", "--attach", str(tmp_path / "*.log"), "who?")

    assert failed.exit_code == 1
    assert "A folder counts as one file: attach it instead of its files." in failed.output
