"""Only accepted logins answer a question for logins from outside or from inside."""

from __future__ import annotations

import pytest

from svc.assistant.analyst.questions.login_sides import login_side
from tests.support.inline_analyst import ask

LOG = b"""\
Nov 26 02:11:01 web1 sshd[811]: Failed password for root from 192.0.2.77 port 50111 ssh2
Nov 26 02:11:50 web1 sshd[815]: Accepted publickey for ann from 10.0.0.5 port 50199 ssh2
Nov 26 02:12:01 web1 sshd[820]: Accepted password for deploy from 203.0.113.9 port 50115 ssh2
Nov 26 02:13:30 web1 sudo:   deploy : TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/usr/bin/curl http://198.51.100.7/x
"""
INSIDE = b"\n".join(line for line in LOG.splitlines() if b"deploy" not in line) + b"\n"


@pytest.mark.parametrize(
    ("question", "log", "says"),
    [
        ("Which external addresses got in?", LOG, "**1 accepted login from external addresses: `deploy` from `203[.]0"),
        ("Did anyone log in from outside?", LOG, "**Yes: 1 accepted login from external addresses: `deploy`"),
        (
            "Which logins came from inside?",
            LOG,
            "**1 accepted login from internal addresses: `ann` from `10[.]0[.]0[.]5`",
        ),
        (
            "Did anyone log in from outside?",
            INSIDE,
            "**None from external addresses** (1 accepted login with an address: `ann`",
        ),
    ],
)
async def test_an_address_that_tried_or_is_in_a_command_did_not_get_in(question: str, log: bytes, says: str):
    lead = (await ask(question, ("auth.log", log))).markdown.partition("\n")[0]
    assert lead.startswith(says)
    assert "198" not in lead
    assert "192" not in lead


@pytest.mark.parametrize(
    ("clause", "side"),
    [
        ("which external ips failed to log in", ""),
        ("which external addresses are there", ""),
        ("who signed in from the internet", "external"),
        ("internal logins", "internal"),
        ("which hosts are internal", ""),
        ("did ann log in from outside", ""),
        ("did anyone log in from outside before 02:00", ""),
    ],
)
def test_only_questions_about_accepted_logins_are_read(clause: str, side: str):
    assert login_side(clause) == side
