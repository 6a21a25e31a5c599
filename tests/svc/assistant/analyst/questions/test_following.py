"""What came after a login is answered with the records after it: of the account or the address, then the others."""

from __future__ import annotations

import json

import pytest

from svc.assistant.analyst.questions.following import following_question
from tests.support.inline_analyst import ask

_LOG = """\
Nov 26 02:11:01 web1 sshd[811]: Failed password for deploy from 203.0.113.9 port 50111 ssh2
Nov 26 02:11:03 web1 sshd[811]: Failed password for deploy from 203.0.113.9 port 50111 ssh2
Nov 26 02:11:05 web1 sshd[811]: Failed password for deploy from 203.0.113.9 port 50111 ssh2
Nov 26 02:11:50 web1 sshd[815]: Accepted publickey for ann from 10.0.0.5 port 50199 ssh2
Nov 26 02:11:51 web1 sudo:      ann : TTY=pts/1 ; PWD=/home/ann ; USER=root ; COMMAND=/usr/bin/apt update
Nov 26 02:12:01 web1 sshd[820]: Accepted password for deploy from 203.0.113.9 port 50115 ssh2
Nov 26 02:12:01 web1 sshd[820]: pam_unix(sshd:session): session opened for user deploy(uid=1001) by (uid=0)
Nov 26 02:13:30 web1 sudo:   deploy : TTY=pts/0 ; PWD=/home/deploy ; USER=root ; COMMAND=/usr/bin/tee /etc/cron.d/x
Nov 26 02:14:30 web1 useradd[900]: new user: name=sysd, UID=0, GID=0, home=/root, shell=/bin/bash
Nov 26 02:16:30 web1 sshd[820]: Received disconnect from 203.0.113.9 port 50115:11: disconnected by user
"""
_FAILURES = "".join(line + "\n" for line in _LOG.splitlines()[:3])


def windows(event_id: int, second: int, **fields: str) -> str:
    event = {"EventID": event_id, "Computer": "FS1", "TimeCreated": f"2026-11-26T02:11:{second:02}Z"}
    return json.dumps(event | {"Channel": "Security", "Provider": "Microsoft-Windows-Security-Auditing"} | fields)


def logon(event_id: int, second: int, account: str, address: str, kind: str = "3") -> str:
    return windows(event_id, second, TargetUserName=account, IpAddress=address, LogonType=kind)


_WINDOWS = "\n".join(
    [
        logon(4624, 1, "SYSTEM", "-", "5"),
        logon(4624, 2, "backup", "10.0.0.7"),
        *(logon(4625, 3 + n, "erin", "198.51.100.4", "10") for n in range(4)),
        logon(4624, 9, "erin", "198.51.100.4", "10"),
        windows(4672, 10, SubjectUserName="erin"),
        windows(4688, 12, SubjectUserName="erin", NewProcessName=r"C:\Windows\System32\whoami.exe"),
        windows(4720, 14, SubjectUserName="erin", TargetUserName="svc_x"),
        windows(4688, 15, SubjectUserName="backup", NewProcessName=r"C:\Tools\copy.exe"),
    ]
)


@pytest.mark.parametrize(
    "question",
    [
        "what did the attacker do after getting in?",
        "What happened after the login from 203.0.113.9?",
        "which commands were run once they got in?",
        "What did they do once inside?",
        "was anything changed since the break-in?",
    ],
)
async def test_the_records_after_the_login_that_failures_came_before_are_listed(question: str):
    answer = (await ask(question, ("auth.log", _LOG.encode()))).markdown.partition("\n\n")[0]
    assert "after the login of `deploy` from `203[.]0[.]113[.]9` (Nov 26 02:12:01, `auth.log` line 6" in answer
    assert "COMMAND=/usr/bin/tee" in answer
    assert "new user: name=sysd" in answer
    assert "apt update" not in answer


async def test_an_account_that_the_question_names_decides_which_login_is_meant():
    answer = (await ask("What did ann do after logging in?", ("auth.log", _LOG.encode()))).markdown
    assert "**1 record with `ann` or `10[.]0[.]0[.]5` after the login of `ann`" in answer
    assert "apt update" in answer


@pytest.mark.parametrize(
    ("question", "log", "says"),
    [
        ("What did bob do after logging in?", _LOG, "**No login of `bob` is recorded** in the 10 records read"),
        (
            "What did the attacker do after getting in?",
            _FAILURES,
            "**Nobody is recorded to have got in** in the 3 records",
        ),
        (
            "What did the attacker do after getting in?",
            "".join(line + "\n" for line in _LOG.splitlines()[:7]),
            "**Nothing is recorded after the login of `deploy`",
        ),
    ],
)
async def test_what_is_not_recorded_is_not_replaced_by_something_else(question: str, log: str, says: str):
    asked = await ask(question, ("auth.log", log.encode()))
    assert asked.markdown.startswith(says)


async def test_events_of_windows_are_followed_by_account_and_address():
    answer = (await ask("What did the attacker do after logging in?", ("security.jsonl", _WINDOWS.encode()))).markdown
    lead = answer.partition("\n\n")[0]
    assert lead.startswith("**2 records with `erin` or `198[.]51[.]100[.]4` after the login of `erin`")
    assert "whoami" in lead
    assert "svc\\_x" in lead or "svc_x" in lead
    assert "1 other record after it" in lead


async def test_a_log_with_the_newest_record_first_has_to_be_sorted():
    backwards = "\n".join(reversed(_WINDOWS.splitlines()))
    answer = (await ask("What did the attacker do after logging in?", ("security.jsonl", backwards.encode()))).markdown
    assert answer.startswith(
        "**Cannot tell** `What did the attacker do after logging in`: the newest record comes first."
    )


@pytest.mark.parametrize(
    ("clause", "names"),
    [
        ("what did root do after logging in", ("root",)),
        ("list the commands run after 10.0.0.9 got in", ("10.0.0.9",)),
        ("what did they do next after the initial access", ()),
        ("what happened after 02:00", None),
        ("who logged in after the break-in", None),
        ("was bob created after the login", None),
        ("who got in", None),
    ],
)
def test_only_open_questions_about_the_time_after_a_login_are_read(clause: str, names: tuple[str, ...] | None):
    found = following_question(clause)
    assert (None if found is None else found.names) == names
