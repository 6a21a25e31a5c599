"""Questions with conditions: what fulfils them is counted exactly, and no condition is left out of the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest

from svc.assistant.analyst.questions.conditions import conditions_of
from svc.assistant.turn import Exchange
from svc.messages import MessageType
from tests.support.inline_analyst import ask
from tests.svc.assistant.analyst.as_analysts_ask.pairs import plain

AUTH = (
    "auth.log",
    (
        b"Nov 21 02:05:14 gate-1 sshd[702]: Failed password for root from 203.0.113.31 port 40101 ssh2\n"
        b"Nov 21 02:15:19 gate-1 sshd[703]: Failed password for root from 203.0.113.32 port 40102 ssh2\n"
        b"Nov 21 02:25:25 gate-1 sshd[704]: Failed password for nora from 203.0.113.31 port 40103 ssh2\n"
        b"Nov 21 03:20:12 gate-1 sshd[720]: Accepted password for nora from 203.0.113.31 port 40200 ssh2\n"
        b"Nov 21 03:22:30 gate-1 sudo:     nora : TTY=pts/1 ; PWD=/ ; USER=root ; COMMAND=/usr/bin/vi /etc/crontab\n"
        b"Nov 22 02:40:33 gate-1 sshd[910]: Failed password for root from 203.0.113.34 port 60201 ssh2\n"
        b"Nov 22 09:10:10 gate-1 sshd[920]: Accepted publickey for paul from 10.4.0.9 port 60210 ssh2: RSA SHA256:a\n"
    ),
)


def _connection(source: str, destination: str, port: int, sent: int, seconds: float) -> Mapping[str, object]:
    return {
        "ts": 1795219200.0, "uid": "C", "id.orig_h": source, "id.orig_p": 50100, "id.resp_h": destination,
        "id.resp_p": port, "proto": "tcp", "duration": seconds, "orig_bytes": sent, "resp_bytes": 10,
    }  # fmt: skip


CONNECTIONS = (
    "conn.json",
    "".join(
        json.dumps(row) + "\n"
        for row in (
            _connection("10.6.0.31", "198.51.100.81", 443, 900_000_000, 900.5),
            _connection("10.6.0.32", "198.51.100.82", 443, 2_000, 4.0),
            _connection("10.6.0.33", "198.51.100.81", 53, 40, 0.1),
            *[_connection("10.6.0.34", "198.51.100.83", 443, 60_000_000, 5.0)] * 2,
        )
    ).encode(),
)


async def first_of(question: str, *files: tuple[str, bytes]) -> str:
    """The first paragraph of the answer, without defanging."""
    return plain((await ask(question, *files)).markdown).split("\n\n")[0]


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("how many failed logins for root between 02:00 and 02:10", r"\*\*1 failed login\*\*"),
        ("how many failed logins for root on nov 21", r"\*\*2 failed logins\*\*"),
        ("how often did nora fail", r"\*\*1 failed login\*\*"),
        ("who logged in except nora", r"\*\*account: `paul`; source: `10\.4\.0\.9`\*\*"),
        ("top 1 source ips by failures", r"`203\.0\.113\.31` \(2\) \(2 more with at most 1\)"),
        ("more failures on the 21st or the 22nd?", r"\*\*21: 3, 22: 1\*\* \(most on 21"),
        ("last failed login of root", r"\*\*Last: Nov 22 02:40:33"),
        ("why did root log in?", r"\*\*It did not, in what was read:.*others: `nora`; `paul`"),
        ("did root log in on the 22nd?", r"\*\*No sign found of\*\*.*none of the 6 logins read is an accepted login"),
        ("just the IPs that failed", r"\*\*source: `203\.0\.113\.31` \(2\); `203\.0\.113\.32`; `203\.0\.113\.34`\*\*"),
        ("which accounts failed most", r"\*\*account: `root` \(3\); `nora`\*\*"),
        ("what happened between 03:15 and 03:30", r"\*\*2 records\*\* from 03:15 to 03:30: .*nora.*crontab"),
    ],
)
async def test_logins_are_counted_by_the_conditions(question: str, says: str):
    assert re.search(says, await first_of(question, AUTH)), await first_of(question, AUTH)


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (
            "which hosts did not talk to 198.51.100.81",
            r"\*\*2 hosts: `10\.6\.0\.34`, `10\.6\.0\.32`\*\* of 4 have no record",
        ),
        (
            "who sent more than 100 MB",
            r"`10\.6\.0\.31`.*more than 100,000,000 bytes sent.* sum than the limit: `10\.6\.0\.34` 120,000,000 bytes",
        ),
        ("connections over 10 minutes", r"\*\*1 record\*\* with more than 600 seconds"),
        ("anything on port 22?", r"\*\*No sign found of\*\*.*none of the 5 records read is one with port `22`"),
        ("how many different destinations", r"\*\*3 destinations\*\*"),
        ("which hosts did not talk to 192.0.2.77", r"\*\*Cannot tell\*\*.*no record contains `192\.0\.2\.77`"),
    ],
)
async def test_records_are_chosen_by_the_conditions(question: str, says: str):
    assert re.search(says, await first_of(question, CONNECTIONS)), await first_of(question, CONNECTIONS)


async def test_values_of_two_inputs_are_compared():
    web = b'203.0.113.31 - - [21/Nov/2026:03:00:00 +0000] "GET / HTTP/1.1" 200 9 "-" "curl/8"\n' * 2
    web += b'198.51.100.40 - - [21/Nov/2026:03:00:00 +0000] "GET / HTTP/1.1" 200 9 "-" "curl/8"\n'
    files = (("web.log", web), AUTH)
    assert "1 source in all of `web.log`, `auth.log`: `203.0.113.31`" in await first_of(
        "which ip is in both files", *files
    )
    assert "1 source only in `web.log`: `198.51.100.40`" in await first_of("which ips are only in web.log", *files)


async def test_a_table_holds_what_was_asked_for():
    asked = await ask("failed logins per hour as a table", AUTH)
    assert "| `11-21 02:00` | `3` |" in asked.markdown
    assert "| `11-22 02:00` | `1` |" in asked.markdown


async def test_a_further_question_takes_over_what_it_leaves_out():
    history: list[Exchange] = []
    for number, question in enumerate(("how many failures for root?", "and for nora?")):
        asked = await ask(question, (*AUTH, number > 0), history=history)
        sources = tuple(step.content for step in asked.steps if step.message_type is MessageType.SOURCE)
        history.append(Exchange(prompt=question, answer=asked.markdown, sources=sources))
    assert re.search(r"\*\*1 failed login", asked.markdown), asked.markdown


@pytest.mark.parametrize(
    "question",
    [
        "who went there?",
        "which client was it?",
        "who logged in?",
        "what happened?",
        "which accounts were attacked?",
        "show me the top talkers",
        "is it over?",
    ],
)
def test_an_ordinary_question_has_no_conditions(question: str):
    assert conditions_of(question) is None
