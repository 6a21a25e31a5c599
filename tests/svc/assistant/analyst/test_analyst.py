"""A question through the whole analyst: steps as they happen, findings, one answer."""

import asyncio
import hashlib
import json
from contextlib import aclosing

import msgspec
import psutil
import pytest
from markdown_it import MarkdownIt

from svc.assistant.analyst import COVERAGE_TITLE, Analyst
from svc.assistant.analyst.findings_messages import FINDINGS_TITLE
from svc.assistant.skills.catalogue import FACTS_OF_KIND, decode_findings
from svc.assistant.spool import read_file
from svc.assistant.turn import Answer, Exchange, Turn, TurnFile
from svc.findings_file import reference
from svc.messages import MAX_CONTENT_BYTES, MessageType, State

LOGIN = "Nov 20 03:12:{second:02} web1 sshd[{pid}]: {what} password for root from 192.0.2.7 port 22 ssh2"
LOG = "\n".join([
    *(LOGIN.format(second=second, pid=second + 100, what="Failed") for second in range(12)),
    LOGIN.format(second=30, pid=900, what="Accepted"),
])  # fmt: skip


@pytest.fixture
async def analyst():
    made = Analyst()
    await made.start()
    yield made
    await made.close()


def log_file(content=LOG, name="auth.log", label="authlog"):
    return TurnFile(
        name=name, size=len(content), sha256="", mime_type="text/plain", label=label, source=content.encode()
    )


def turn(prompt, *files, history=()):
    return Turn(session_id="s", prompt=prompt, files=files, history=history)


async def ask(analyst, *args, **kwargs):
    steps = [step async for step in analyst.answer(turn(*args, **kwargs))]
    assert [isinstance(step, Answer) for step in steps] == [False] * (len(steps) - 1) + [True]
    return steps[:-1], steps[-1].markdown


def findings_of(steps):
    [source] = [step for step in steps if step.title == FINDINGS_TITLE]
    return decode_findings(source.content)


async def test_brute_force_end_to_end(analyst):
    steps, markdown = await ask(analyst, "which accounts were brute-forced?", log_file())
    assert markdown.startswith(
        "**Compromised account: `root` (password login from `192[.]0[.]2[.]7` after 12 failures, line 13).** "
        "(critical, high confidence)\n\n- **12 failed logins from 1 source (1 attacking)**: "
        "`192[.]0[.]2[.]7` 12 (1 account, "
    )
    assert "\n- **Targeted account**: `root` (12); from line 1.\n" in markdown
    assert "192[.]0[.]2[.]7" in markdown
    assert "| critical | `root` |" in markdown
    kinds = [finding.kind for finding in findings_of(steps)]
    assert sorted(kinds) == ["auth_account", "auth_source", "auth_success", "auth_summary"]
    assert any("read 13 lines: 12 failed logins" in step.content for step in steps)


async def test_the_first_step_comes_before_any_tool_and_says_the_plan(analyst):
    async with aclosing(analyst.answer(turn("who was brute-forced?", log_file()))) as steps:
        first = await anext(steps)
    assert first.state == State.PLANNING
    assert "auth.log" in first.content


async def test_two_asks_get_two_sections(analyst):
    vector = "AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"
    _, markdown = await ask(analyst, f"who was brute-forced, and score CVSS {vector}", log_file())
    assert "<summary>Logins</summary>" in markdown
    assert "<summary>CVSS</summary>" in markdown
    assert "9.8" in markdown


async def test_an_ask_it_cannot_do_is_said_with_what_it_can(analyst):
    steps, markdown = await ask(analyst, "who owns 192.0.2.7, what is its reputation?")
    assert markdown.startswith("**Not answered.**")
    assert "who owns an address" in markdown
    assert "Attach the file or paste the text" in markdown
    assert [step.title for step in steps if step.message_type == MessageType.SOURCE] == [COVERAGE_TITLE]


async def test_a_file_it_does_not_understand_is_named(analyst):
    _, markdown = await ask(analyst, "what is in here?", log_file("x", "capture.pcap", "pcap"))
    assert "`capture.pcap`" in markdown


async def test_a_log_that_has_no_logins_has_no_made_up_answer(analyst):
    _, markdown = await ask(analyst, "which accounts were brute-forced?", log_file("hello\n"))
    assert markdown.startswith("**Cannot tell** `which accounts were brute-forced`: no login lines found")


async def test_history_answers_what_was_asked_and_found(analyst):
    question = "which accounts were brute-forced?"
    steps, markdown = await ask(analyst, question, log_file())
    source = next(step.content for step in steps if step.title == FINDINGS_TITLE)
    past = (Exchange(prompt=question, answer=markdown, sources=(source,)),)
    assert question in (await ask(analyst, "what did I ask before?", history=past))[1]
    later = await ask(analyst, "only the failures after 03:12:06", log_file(), history=past)
    assert "6 failed logins" in later[1]
    kept = await ask(analyst, "which of these are external?", log_file(), history=past)
    assert {finding.kind for finding in findings_of(kept[0])} == {"auth_source", "auth_success"}
    unknown = await ask(analyst, "which of these are purple?", log_file(), history=past)
    assert unknown[1].startswith("**Not answered.**")


async def test_nothing_was_asked_before(analyst):
    assert "No earlier questions" in (await ask(analyst, "what did I ask before?"))[1]


@pytest.mark.parametrize(
    "name", ["`|x", "![a](http://evil.example)", "<img src=x>", "root | admin", "\u202eevil", "a`b``c"]
)
async def test_hostile_names_stay_in_code(analyst, name):
    line = f"Nov 20 03:12:00 h sshd[1]: Failed password for invalid user {name} from 192.0.2.7 port 22 ssh2\n"
    _, markdown = await ask(analyst, "who was brute-forced?", log_file(line * 30, name=f"{name}.log"))
    outside = "".join(part for number, part in enumerate(_split_code(markdown)) if number % 2 == 0)
    assert "evil.example" not in outside
    assert "<img" not in outside
    assert "\u202e" not in markdown


def _split_code(markdown):
    """Text and code in turn, as a renderer tells them apart."""
    parts = [""]
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse(markdown):
        for child in token.children or []:
            is_code = child.type == "code_inline"
            if (len(parts) % 2 == 0) != is_code:
                parts.append("")
            parts[-1] += child.content
    return parts


@pytest.mark.slow
async def test_many_findings_are_in_one_message_as_far_as_they_fit_and_all_in_a_file(analyst):
    lines = (
        f"Nov 20 03:12:00 h sshd[{n}]: Failed password for invalid user {'u' * 80}{n % 4000} from 10.{n // 65536}."
        f"{n // 256 % 256}.{n % 256} port 22 ssh2"
        for n in range(6_000)
    )
    steps, markdown = await ask(analyst, "who was brute-forced?", log_file("\n".join(lines)))
    first, second = [step for step in steps if step.title in (FINDINGS_TITLE, "findings file")]
    assert len(first.content.encode()) < MAX_CONTENT_BYTES
    named = reference(second.content)
    assert named is not None
    assert second.file is not None
    content = b"".join(second.file.pieces)
    assert (named.sha256, named.size) == (hashlib.sha256(content).hexdigest(), len(content))
    complete = read_file(content, FACTS_OF_KIND)
    assert len(complete) == named.findings > named.in_message == len(json.loads(first.content))
    assert json.loads(first.content) == json.loads(msgspec.json.encode(complete[: named.in_message]))
    assert "omitted" not in markdown


async def test_closing_a_turn_ends_its_worker(analyst):
    async with aclosing(analyst.answer(turn("who was brute-forced?", log_file((LOG + "\n") * 50_000)))) as steps:
        async for step in steps:
            if "read " in step.content:
                break
        running = psutil.Process().children(recursive=True)
    async with asyncio.timeout(10):
        while all(process.is_running() for process in running):
            await asyncio.sleep(0.02)
    assert "12 failed logins" in (await ask(analyst, "who was brute-forced?", log_file()))[1]


async def test_an_ask_that_another_answers_whole_is_not_called_empty(analyst):
    blob = "aHR0cDovL2V2aWwuZXhhbXBsZS5uZXQvcC5leGU="
    _, markdown = await ask(analyst, f"decode, then tell me the iocs:\n\n{blob}")
    assert "hxxp://evil[.]example[.]net/p.exe" in markdown
    assert "Nothing found" not in markdown


async def test_just_the_number_of_a_score_is_the_score(analyst):
    _, markdown = await ask(
        analyst, "Score CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H. Respond with just the number."
    )
    assert markdown.strip() == "9.8"


async def test_what_is_left_to_the_experimental_model_is_said(analyst):
    _, markdown = await ask(analyst, "What does this shortcut do?")
    assert "only the experimental model can" in markdown


async def test_a_hash_alone_is_a_question_of_its_kind(analyst):
    _, markdown = await ask(analyst, "d41d8cd98f00b204e9800998ecf8427e")
    assert "MD5" in markdown
    assert "nothing" in markdown.lower() or "empty" in markdown.lower()
