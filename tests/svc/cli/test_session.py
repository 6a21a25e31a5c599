"""``svc session list`` and the scope of ``svc ask``, on a real service."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from svc import Svc
from svc.cli.main import main
from tests.support.live import ThreadService


@pytest.fixture
def remote(service: ThreadService, monkeypatch: pytest.MonkeyPatch) -> ThreadService:
    monkeypatch.setenv("SVC_BASE_URL", service.base_url)
    monkeypatch.setenv("SVC_API_KEY", service.key)
    monkeypatch.delenv("SVC_WS_URL", raising=False)
    return service


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_sessions_are_listed_the_last_used_first_and_searched(remote: ThreadService):
    assert "There is no session yet" in run("session", "list").output
    with Svc() as client:
        first = client.create_session(name="Ticket 4711")
        first.query("which accounts of web-3 were\nbrute-forced?")
        second = client.create_session(name="other")
        second.attach_file("Firewall.log", b"x")

    listed = run("session", "list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == [second.session_id, first.session_id]
    assert listed[1].endswith("Ticket 4711  which accounts of web-3 were brute-forced?")
    assert run("session", "list", "--search", "WEB-3 ticket").stdout.split()[0] == first.session_id
    assert run("session", "list", "--search", "firewall").stdout.split()[0] == second.session_id
    assert "No session matches." in run("session", "list", "--search", "nowhere").output
    [found] = json.loads(run("session", "list", "--search", "4711", "--json").stdout)
    assert (found["id"], found["title"]) == (first.session_id, "which accounts of web-3 were brute-forced?")


def test_a_title_is_inert_in_a_terminal(remote: ThreadService):
    with Svc() as client:
        client.create_session(name="a\x1b[2Jb").query("who\x1b]0;owned\x07?")

    assert "\x1b" not in run("session", "list").stdout
    assert "\x07" not in run("session", "list").stdout


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
