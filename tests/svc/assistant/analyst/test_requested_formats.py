"""A requested format is obeyed, and no example in it is taken as evidence: 324 prompts, each checked by a parser."""

from __future__ import annotations

import asyncio
import csv
import importlib
import io
import json
import re
from collections.abc import AsyncGenerator, Callable
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from svc.assistant.analyst import Analyst
from svc.assistant.findings import InputKind, ToolEvent
from svc.assistant.turn import Answer, Turn, TurnFile
from svc.assistant.workers.pool import Job, Workers
from svc.messages import MessageType
from tests.support.format_prompts import HELD, OPEN, TASKS_OF, UNKNOWN, Case

WORDS = {"two": 2, "three": 3, "four": 4}
_BLANKS = ("unknown", "cannot tell", "null", "None", "")


class Told(NamedTuple):
    """What the analyst said: the answer and its source messages."""

    markdown: str
    sources: str


class InProcess(Workers):
    """Runs the tools here: what they find is not under test, and processes take long to start."""

    async def run(self, job: Job) -> AsyncGenerator[ToolEvent, None]:
        assert isinstance(job.source, bytes)
        module, _, name = job.tool.partition(":")
        inspect = getattr(importlib.import_module(module), name)
        content = {
            InputKind.TEXT: job.source.decode,
            InputKind.LINES: lambda: iter(job.source.decode().split("\n")),
            InputKind.BINARY: lambda: io.BytesIO(job.source),
        }[job.input]()
        for event in inspect(content, source=job.name, **job.options):
            yield event


async def _ask(analyst: Analyst, case: Case) -> Told:
    log = case.task.log.encode()
    files = (
        [TurnFile(name="auth.log", size=len(log), sha256="", mime_type="text/plain", label="authlog", source=log)]
        if log
        else []
    )
    turn = Turn(session_id="s", prompt=case.prompt, files=tuple(files), instructions=case.system)
    markdown, sources = "", ""
    async for step in analyst.answer(turn):
        if isinstance(step, Answer):
            markdown = step.markdown
        elif step.message_type == MessageType.SOURCE:
            sources += step.content
    return Told(markdown, sources)


async def _ask_all() -> dict[str, list[Told]]:
    analyst = Analyst(InProcess())
    try:
        return {half: [await _ask(analyst, case) for case in cases] for half, cases in (("open", OPEN), ("held", HELD))}
    finally:
        await analyst.close()  # the processes that plan


@pytest.fixture(scope="module")
def told() -> dict[str, list[Told]]:
    return asyncio.run(_ask_all())


def plain(text: str) -> str:
    return text.strip().strip("`*").strip()


def unfenced(markdown: str) -> str:
    fence = re.fullmatch(r"\s*(`{3,})\w*\n(.*?)\n\1\s*", markdown, re.DOTALL)
    return fence[2] if fence else markdown.strip()


def last(markdown: str) -> str:
    return plain(markdown.strip().splitlines()[-1])


def count_of(case: Case) -> int:
    words = f"{case.prompt}\n{case.system}"
    found = re.search(r"\b(\d|two|three|four)[ -](?:bullets?|sentences?|items)\b|\b(?:exactly) (\d|four) points", words)
    number = found[1] or found[2]
    return WORDS.get(number) or int(number)


def check_last_line(case: Case, markdown: str) -> str:
    found = re.fullmatch(r"(?:Final answer: |Final Answer: |ANSWER = |Answer: )(.*)", last(markdown))
    return plain(found[1])


def check_boxed(case: Case, markdown: str) -> str:
    assert markdown.count("boxed{") == 1
    return plain(re.fullmatch(r"\$?\\?\\boxed\{(.*)\}\$?", last(markdown))[1])


def check_tag(case: Case, markdown: str) -> str:
    [(_, value)] = re.findall(r"<(answer|final)>(.*?)</\1>", markdown)
    return plain(value)


def check_skeleton(case: Case, markdown: str) -> str:
    root = ElementTree.fromstring(unfenced(markdown))
    assert root.tag in ("result", "analysis")
    assert [child.tag for child in root] == [case.task.key, "reason"]
    assert root[1].text
    return plain(root[0].text)


def check_json(case: Case, markdown: str) -> str:
    data = json.loads(unfenced(markdown))
    assert list(data) == [case.task.key, "reason"]
    assert data["reason"] is None or (data["reason"] and data["reason"] not in ("...", "short text", "<why>"))
    return str(data[case.task.key])


def check_schema(case: Case, markdown: str) -> str:
    if "code fence" in case.prompt:
        assert markdown.strip().startswith("{")
    data = json.loads(unfenced(markdown))
    assert set(data) == {case.task.key, "reason"}
    assert isinstance(data["reason"], str)
    return str(data[case.task.key])


def check_yes_no(case: Case, markdown: str) -> str:
    value = plain(markdown).lower()
    assert value in ("yes", "no", "cannot tell")
    return {"yes": "yes", "no": "no"}.get(value, "unknown")


def check_word(case: Case, markdown: str) -> str:
    assert re.fullmatch(r"\w+", plain(markdown))
    return plain(markdown)


def check_only(case: Case, markdown: str) -> str:
    assert len(markdown.strip().splitlines()) == 1
    return plain(markdown)


def check_number(case: Case, markdown: str) -> str:
    assert re.fullmatch(r"\d+(?:\.\d+)?|unknown", plain(markdown))
    return plain(markdown)


def check_comma(case: Case, markdown: str) -> str:
    assert len(markdown.strip().splitlines()) == 1
    return ", ".join(plain(one) for one in markdown.strip().split(","))


def _same(rows: list[list[str]], case: Case) -> str:
    assert [plain(name) for name in rows[0]] == [case.task.key, "reason"]
    assert all(len(row) == 2 for row in rows)
    return ", ".join(plain(row[0]) for row in rows[1:])


def check_csv(case: Case, markdown: str) -> str:
    return _same([*csv.reader(io.StringIO(unfenced(markdown)))], case)


def check_table(case: Case, markdown: str) -> str:
    lines = markdown.strip().splitlines()
    assert all(line.startswith("|") and line.endswith("|") for line in lines)
    assert re.fullmatch(r"[|\s:-]+", lines[1])
    return _same([[*map(str.strip, line.strip("|").split("|"))] for line in [lines[0], *lines[2:]]], case)


def check_bullets(case: Case, markdown: str) -> str:
    lines = markdown.strip().splitlines()
    wanted = count_of(case)
    assert all(line.startswith(("- ", "* ")) for line in lines)
    assert len(lines) == wanted
    assert len(set(lines)) == len(lines)
    return markdown


def check_sentences(case: Case, markdown: str) -> str:
    text = re.sub(r"`[^`]*`", "x", markdown.strip())
    assert "\n" not in text
    assert not re.search(r"[|#]|^- ", text)
    assert len(re.findall(r"[.!?](?=\s|$)", text)) == count_of(case)
    return markdown


def check_numbered(case: Case, markdown: str) -> str:
    lines = markdown.strip().splitlines()
    assert [line.split(".")[0] for line in lines] == [str(n) for n in range(1, len(lines) + 1)]
    return markdown


def check_line(case: Case, markdown: str) -> str:
    assert len(markdown.strip().splitlines()) == 1
    if "sentence" in case.prompt:
        assert len(re.findall(r"[.!?](?=\s|$)", re.sub(r"`[^`]*`", "x", markdown.strip()))) == 1
    return markdown


def check_choice(case: Case, markdown: str) -> str:
    letter = last(markdown).removeprefix("Answer: ")
    assert re.fullmatch(r"[A-D]", letter), last(markdown)
    [chosen] = [text for name, text in zip("ABCD", case.task.options, strict=True) if name == letter]
    return chosen.split()[0]


CHECKS: dict[str, Callable[[Case, str], str]] = {
    name.removeprefix("check_"): check for name, check in globals().items() if name.startswith("check_")
}
_WITHIN = ("bullets", "sentences", "numbered", "line")  # prose: the value is named somewhere
_SHORT = {"phishing": {"phishing", "Phishing"}, "yes": {"yes", "True"}, "no": {"no", "False"}}


def fault(case: Case, told: Told) -> str:
    """What is wrong with an answer, or ""."""
    try:
        value = CHECKS[case.kind](case, told.markdown)
    except (AssertionError, ValueError, TypeError, IndexError, KeyError, ElementTree.ParseError) as error:
        return f"not obeyed ({type(error).__name__}: {str(error)[:80]!r})"
    truth = case.task.truth
    if case.task.key in ("verdict", "classification") and (case.kind == "yes_no" or _names_no_value(case)):
        truth = "yes"
    if truth == UNKNOWN:
        if value not in _BLANKS:
            return f"invented {value!r}"
    elif case.kind in _WITHIN:
        text = value.replace("[.]", ".").lower()
        if not all(one.lower() in text for one in truth.split(", ")[: 1 if case.kind != "numbered" else None]):
            return f"{truth!r} is not named"
    elif value != truth and value not in _SHORT.get(truth, ()):
        return f"{value!r}, not {truth!r}"
    return "" if _is_clean(case, told) else f"the example {case.task.example!r} is taken as evidence"


def _names_no_value(case: Case) -> bool:
    """Whether a box or a tag is for "your answer": that to "Is this mail phishing?" is yes."""
    words = f"{case.prompt}\n{case.system}"
    names = (case.task.noun, f"{{{case.task.example}}}", f">{case.task.example}<")
    return case.kind in ("boxed", "tag") and not any(name in words for name in names)


def _is_clean(case: Case, told: Told) -> bool:
    """Whether nothing says the example's value, nor an option's that is not true."""
    wrong = [case.task.example, *(text.split()[0] for text in case.task.options if text != case.task.truth)]
    wrong = [one for one in wrong if not case.task.truth.startswith(one) and len(one) > 3 and one.lower() != "spam"]
    wrong = [one for one in wrong if not (case.kind == "choice" and case.task.truth.split()[0] == one)]
    return not any(f'"{one}' in told.sources for one in wrong if case.task.key not in ("verdict", "classification"))


@pytest.mark.parametrize("kind", TASKS_OF)
@pytest.mark.parametrize("half", ["open", "held"])
def test_the_requested_format_is_obeyed(told: dict[str, list[Told]], half: str, kind: str):
    cases = zip(OPEN if half == "open" else HELD, told[half], strict=True)
    faults = {
        f"{number} {fault(case, answer)}": (case.system, case.prompt, answer.markdown[:600])
        for number, (case, answer) in enumerate(cases)
        if case.kind == kind and fault(case, answer)
    }
    assert faults == {}
