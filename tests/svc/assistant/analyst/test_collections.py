"""Questions about archives: every member goes to the tool for its kind, and every story in it is in the answer."""

from __future__ import annotations

import gzip
from contextlib import aclosing
from pathlib import Path

import pytest

from svc.assistant.analyst import Analyst, collection_plan
from svc.assistant.collections.spool import spool_root
from svc.assistant.turn import Answer, Turn
from tests.support.collections import aes_zipped, evidence, nested, sevenzipped, tarred, zipped
from tests.support.inline_analyst import ask, turn_file

HIVE = ("NTUSER.DAT", b"regf" + bytes(8_000))
QUESTIONS = [
    "What happened on this host?",
    "Is anything suspicious?",
    "Is it compromised?",
    "Did anyone get in?",
    "Is this archive dangerous?",
    "Summarise this for my manager.",
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("case.zip", zipped(evidence())),
        ("case.tar.gz", gzip.compress(tarred(evidence()))),
        ("case.7z", sevenzipped(evidence())),
        ("case.zip", aes_zipped(evidence(), b"infected")),
        ("case.zip", zipped([("inner.tar", tarred(evidence()))])),
    ],
    ids=["zip", "tar.gz", "7z", "encrypted", "nested"],
)
async def test_all_four_stories_are_told(question: str, name: str, content: bytes):
    asked = await ask(question, (name, content))
    story = asked.markdown.partition("###")[0]
    assert "192[.]0[.]2[.]17" in story  # who guessed a password
    assert "deploy" in story
    assert "LSASS" in story
    assert "beaconing" in story
    assert "phishing" in story.lower()
    read = {input_name for input_name, state in asked.state_of.items() if state != "not examined"}
    assert all(any(one.endswith(member) for one in read) for member, _ in evidence())


async def test_the_story_is_in_the_order_of_time_and_names_the_members():
    asked = await ask("What happened on this host?", ("case.zip", zipped(evidence())))
    lines = [line for line in asked.markdown.splitlines() if line[:2].strip(".").isdigit()]
    order = ["phishing", "LSASS", "logged in"]
    at = [next(number for number, line in enumerate(lines) if word in line) for word in order]
    assert at == sorted(at)
    assert "`case.zip/var/log/auth.log` line" in asked.markdown


async def test_members_that_no_tool_reads_are_named_with_the_reason():
    members = [*evidence(), HIVE, ("memory.raw", bytes(9_000)), ("empty.log", b""), ("deep.zip", nested(4))]
    asked = await ask("What happened on this host?", ("case.zip", zipped(members)))
    reasons = {one["name"]: one["reason"] for one in asked.coverage["inputs"] if one["state"] == "not examined"}
    assert "the hive's header or root key is damaged" in reasons["case.zip/NTUSER.DAT"]
    assert "memory image" in reasons["case.zip/memory.raw"]
    assert reasons["case.zip/empty.log"] == "it is empty"
    assert "nested more than 3 levels deep" in reasons["case.zip/deep.zip/inner.zip/inner.zip"]
    assert all(name in asked.markdown for name in reasons)


async def test_an_archive_of_which_nothing_can_be_read_is_not_examined():
    asked = await ask("What happened on this host?", ("case.zip", aes_zipped(evidence(), b"secret")))
    assert asked.state_of["case.zip/capture.pcap"] == "not examined"
    assert "encrypted" in asked.markdown
    assert "nothing found" not in asked.markdown.lower()


async def test_the_structure_of_an_archive_is_never_the_whole_answer():
    asked = await ask("Is this archive dangerous?", ("case.zip", zipped([("a.log", b"text without a record\n")])))
    assert "this says nothing about what the members contain" in asked.markdown
    assert asked.state_of["case.zip/a.log"]


@pytest.mark.parametrize("question", ["What happened on this host?", "Who got in?"])
async def test_signs_of_danger_in_the_structure_are_always_findings(question: str):
    members = [*evidence(), ("../../etc/cron.d/x", b"* * * * * root id\n"), ("invoice.pdf.exe", b"MZ" + bytes(99))]
    asked = await ask(question, ("case.zip", zipped(members)))
    assert {"traversal", "double_ending"} <= {one.facts.sign for one in asked.findings if one.kind == "archive_sign"}


async def test_a_collector_and_the_password_are_named():
    members = [(f"[root]/{name}", data) for name, data in evidence()]
    members += [
        ("live_response/process/ps.txt", b"PID CMD\n"),
        ("bodyfile/bodyfile.txt", b"0|/etc|1|d|0|0|0|0|0|0|0\n"),
    ]
    asked = await ask("What happened on this host?", ("uac.zip", aes_zipped(members, b"infected")))
    assert "`uac.zip`: UAC collection (ZIP) with 6 members" in asked.markdown
    assert "opened with the usual password" in asked.markdown


async def test_a_limit_on_the_members_of_a_tool_is_stated(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(collection_plan, "MAX_LISTED", 3)
    members = [(f"notes/{number}.txt", b"seen 203.0.113.9\n") for number in range(8)]
    asked = await ask("What happened on this host?", ("case.zip", zipped(members)))
    states = [state for name, state in asked.state_of.items() if name != "case.zip"]
    assert (len(states), states.count("not examined")) == (8, 5)
    assert "5 members not analysed by it: Indicators reads at most 3 members of a collection" in asked.markdown


async def test_a_member_can_be_asked_about_by_its_name():
    asked = await ask("What is in notes.txt?", ("case.zip", zipped([*evidence(), ("notes.txt", b"see 203.0.113.9\n")])))
    assert asked.state_of["case.zip/notes.txt"] != "not examined"


async def test_the_archive_of_an_earlier_question_stays_closed_if_there_is_a_new_file():
    turn = Turn(
        session_id="s",
        prompt="What happened on this host?",
        files=(turn_file("old.zip", zipped(evidence()), is_new=False), turn_file("new.log", b"text\n")),
    )
    analyst = Analyst()
    await analyst.start()
    async with aclosing(analyst.answer(turn)) as steps:
        said = [step.content async for step in steps if not isinstance(step, Answer)]
    await analyst.close()
    assert not any("old.zip/" in text for text in said)


async def test_closing_a_turn_deletes_the_unpacked_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_STATE_DIR", str(tmp_path))
    upload = tmp_path / "upload"
    upload.write_bytes(zipped(evidence()))
    file = turn_file("case.zip", upload.read_bytes())
    turn = Turn(session_id="s", prompt="What happened?", files=(type(file)(**{**_fields(file), "source": upload}),))
    analyst = Analyst()
    await analyst.start()
    async with aclosing(analyst.answer(turn)) as steps:
        async for step in steps:
            if isinstance(step, Answer) or "reading case.zip/" in step.content:
                assert list(spool_root().glob("*/0*"))
                break
    assert not list(spool_root().glob("*"))
    await analyst.close()


def _fields(file: object) -> dict[str, object]:
    return {name: getattr(file, name) for name in file.__struct_fields__}
