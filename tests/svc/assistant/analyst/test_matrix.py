"""Every kind of evidence with questions as people ask them: no answer reassures about what was not read.

Each answer is checked against its own contract (what was read, which clause is answered) and against the story that
was planted in the evidence: an answer may miss it, but must not deny it.
"""

from __future__ import annotations

import itertools
import random
import re

import pytest

from svc.messages import AnswerStatus
from tests.support import captures, incident
from tests.support.evidence_kinds import ATTACKER, KINDS
from tests.support.inline_analyst import Asked, ask
from tests.support.program_files import archive, elf, pdf
from tests.support.sampling import sampled

HAPPENED = "What happened?"
ENTERED = "Did anyone get in?"
MALICIOUS = "Is anything malicious?"
SHADOW = "Were any shadow copies deleted?"
SCAN = "Was there a port scan?"
PERSISTENCE = "Which accounts did 203.0.113.77 use, and was a scheduled task created?"
QUESTIONS = (HAPPENED, ENTERED, MALICIOUS, SHADOW, SCAN, PERSISTENCE)

SSH = "Nov 20 {} web-3 sshd[{}]: {} password for {} from {} port 4022 ssh2\n"
CRON = "Nov 20 02:{:02}:01 web-3 CRON[{}]: (root) CMD (/usr/lib/sysstat/sa1 1 1)\n"
PROSE = "The meeting is on Tuesday. Please bring the report about the new office, and call Anna if you are late.\n"


def _auth() -> bytes:
    failed = [SSH.format(f"03:12:{second:02}", 100 + second, "Failed", "mara", ATTACKER) for second in range(40)]
    return "".join([*failed, SSH.format("03:12:50", 900, "Accepted", "mara", ATTACKER)]).encode()


def _ufw() -> bytes:
    line = (
        "Nov 20 02:{:02}:{:02} fw kernel: [ 1.0] [UFW BLOCK] IN=eth0 OUT= MAC=00:11 SRC=203.0.113.77 "
        "DST=198.51.100.5 LEN=44 TTL=240 ID=1 PROTO=TCP SPT=40000 DPT={} WINDOW=1024 RES=0x00 SYN URGP=0\n"
    )
    return "".join(line.format(port // 60, port % 60, port) for port in range(1, 301)).encode()


OTHER: dict[str, tuple[str, bytes]] = {
    "empty file": ("auth.log", b""),
    "random bytes": ("memory.raw", random.Random(5).randbytes(40_000)),
    "prose": ("notes.txt", PROSE.encode() * 20),
    "markdown": ("report.md", f"# Notes\n\n{PROSE * 5}".encode()),
    "picture": ("photo.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8),
    "SQLite database": ("History", b"SQLite format 3\x00" + bytes(5_000)),
    "registry hive": ("SYSTEM", b"regf" + bytes(8_000)),
    "ordinary table": ("budget.csv", b"item,price,amount\n" + b"desk,120,3\nlamp,30,9\n" * 20),
    "settings": ("app.json", b'{"theme": "dark", "size": 12, "recent": ["a", "b"]}'),
    "authentication log": ("auth.log", _auth()),
    "syslog without logins": ("messages", "".join(CRON.format(n % 60, n) for n in range(90)).encode()),
    "firewall log": ("ufw.log", _ufw()),
    "Windows events": ("host.json", incident.events()),
    "capture": ("capture.pcap", incident.packets()),
    "mail": ("mail.eml", incident.mail()),
    "empty capture": ("empty.pcap", captures.capture([])),
    "PDF": ("paper.pdf", pdf(b"1 0 obj<</Type/Catalog>>endobj")),
    "program": ("tool", elf()),
    "archive of prose": ("docs.zip", archive({"a.txt": PROSE, "b.txt": PROSE})),
    "script": ("run.sh", b"#!/bin/sh\nset -e\necho hello\nls -l /tmp\n"),
}
PLANTED = {("authentication log", ENTERED), ("firewall log", SCAN)} | {
    (name, ENTERED if made.expect == "logon_success" else SHADOW)
    for name, made in KINDS.items()
    if made.expect in ("logon_success", "rule_hit")
}
CASES = {name: made.evidence() for name, made in KINDS.items()} | OTHER
_NEGATIVE = re.compile(
    r"nothing found|no detections|no sign\b|nothing dangerous|nothing stands out"
    r"|no (?:failed |accepted |successful )?logins?\b(?! line)"
    r"|no attack|none of|no one|nobody|\*\*no\b|not? (?:evidence|indication)|ordinary|clean\b|benign",
    re.IGNORECASE,
)


def headline(asked: Asked) -> str:
    """What is read first: everything above the first heading or table."""
    return re.split(r"\n<details>|\n\| |\n\*\*Do now", asked.markdown, maxsplit=1)[0]


def check_contract(asked: Asked, file: str) -> None:
    """The status, the coverage and the headline agree."""
    coverage, lead = asked.coverage, headline(asked)
    assert coverage["status"] == asked.answer.status
    states = asked.state_of
    assert file in states
    assert coverage["clauses"]
    for one in coverage["inputs"]:
        assert (one["state"] == "not examined") == (one["understood"] == 0)
        assert one["reason"] or one["state"] != "not examined"
    if all(state == "not examined" for state in states.values()):
        assert asked.answer.status in (AnswerStatus.NOT_EXAMINED, AnswerStatus.NOT_ANSWERED)
        assert re.match(r"\*\*(?:Not examined|Not answered)", lead), lead
        assert not _NEGATIVE.search(lead.replace("none of", "")), lead
    if all(clause["state"] == "cannot tell" for clause in coverage["clauses"]):
        assert asked.answer.status in (AnswerStatus.NOT_EXAMINED, AnswerStatus.NOT_ANSWERED)
        assert re.search(r"not examined|not answered|cannot tell", lead, re.IGNORECASE), lead
    if any(clause["state"] != "answered" for clause in coverage["clauses"]):
        assert asked.answer.status is not AnswerStatus.ANSWERED
    skills = {one["skill"] for one in coverage["inputs"]}
    if skills <= {"Indicators", ""}:  # an extraction of addresses answers none of the questions
        assert asked.answer.status is not AnswerStatus.ANSWERED


@pytest.mark.parametrize(("name", "question"), sampled(itertools.product(CASES, QUESTIONS), 170))
async def test_no_answer_reassures_wrongly(name, question):
    file, content = CASES[name]
    asked = await ask(question, (file, content))
    check_contract(asked, file)
    if (name, question) in PLANTED:
        lead = headline(asked)
        is_open = asked.answer.status in (AnswerStatus.NOT_EXAMINED, AnswerStatus.NOT_ANSWERED)
        assert is_open or not _NEGATIVE.search(lead), lead


@pytest.mark.parametrize(("name", "question"), sorted(PLANTED))
async def test_a_planted_story_is_in_the_headline(name, question):
    asked = await ask(question, CASES[name])
    lead = headline(asked).replace("[.]", ".")
    words = {ENTERED: ("mara",), SHADOW: ("hadow", "vssadmin"), SCAN: ("scan",)}[question]
    assert any(word in lead for word in words), lead


def test_there_are_enough_kinds():
    assert len(CASES) >= 45
