"""Read the pairs, ask their questions, and judge the answers by what each must say and must not say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice, takewhile
from pathlib import Path

from svc.assistant.turn import Exchange
from svc.messages import MessageType
from tests.support import host_files as made
from tests.support.inline_analyst import ask
from tests.svc.assistant.analyst.as_analysts_ask.made_small_hours import MADE as MADE_SMALL_HOURS
from tests.svc.assistant.analyst.as_analysts_ask.made_varied import MADE

SPLIT = ("nights", "small_hours")
_RUN = r"Software\Microsoft\Windows\CurrentVersion\Run"
_ASSIST = r"Software\Microsoft\Windows\CurrentVersion\Explorer\UserAssist\{CEBFF5CD-ACE2-4F4F-9178-9926F41749EA}\Count"


class Weight(StrEnum):
    """What an answer is worth to the person who asked."""

    RIGHT = "right"
    HONEST = "honest"
    WRONG = "wrong"


@dataclass(frozen=True)
class Pair:
    """Files, the questions of a session about them, and what the last answer must and must not say."""

    files: tuple[tuple[str, bytes], ...]
    questions: tuple[str, ...]
    says: tuple[str, ...]
    never: str

    def __str__(self) -> str:
        return f"{', '.join(name for name, _ in self.files)}: {' > '.join(self.questions)}"


def _user_hive() -> bytes:
    ran = dict([made.user_assist(r"C:\Users\mara\Downloads\AnyDesk.exe", 4, "2026-11-20 03:10:05")])
    run: dict[str, object] = {"Upd": r"C:\Users\Public\svc-host.exe -q"}
    tree = {_RUN: ("2026-11-20 03:11:00", run), _ASSIST: ("2026-11-20 03:10:05", dict[str, object](ran))}
    return made.hive(made.keys(tree), name="NTUSER.DAT")


def _system_hive() -> bytes:
    bad: dict[str, object] = {
        "ImagePath": r"C:\Users\Public\upd.exe -k", "Start": 2, "Type": 16, "ObjectName": "LocalSystem",
    }  # fmt: skip
    good: dict[str, object] = {"ImagePath": r"%SystemRoot%\System32\spoolsv.exe", "Start": 2, "Type": 16}
    tree = {
        "Select": ("2026-11-01 00:00:00", dict[str, object](Current=1)),
        r"ControlSet001\Services\WinUpd": ("2026-11-20 03:12:00", bad),
        r"ControlSet001\Services\Spooler": ("2026-01-01 00:00:00", good),
    }
    return made.hive(made.keys(tree), name="SYSTEM")


def _prefetch() -> bytes:
    path = r"\VOLUME{01d5f0a0b0c0d0e0-1a2b3c4d}\USERS\PUBLIC\RCLONE.EXE"
    return made.prefetch("RCLONE.EXE", path, ["2026-11-20 03:10:05", "2026-11-19 01:00:00"], 7)


def _wtmp() -> bytes:
    return b"".join([
        made.utmp_record(made.BOOT, "2026-11-19 08:00:00", "reboot", "~", "6.1.0-18-amd64"),
        made.utmp_record(made.LOGIN, "2026-11-20 03:12:45", "deploy", "pts/0", "203.0.113.23", "203.0.113.23"),
        made.utmp_record(made.LOGOUT, "2026-11-20 04:00:00", "", "pts/0"),
    ])  # fmt: skip


def _chrome() -> bytes:
    visits = [
        ("https://intranet.corp.example/", "Intranet", "2026-11-20 08:00:00"),
        ("https://files.badcdn.example/i", "Invoice", "2026-11-20 09:14:00"),
    ]
    target = r"C:\Users\mara\Downloads\invoice.zip"
    return made.chrome(visits, [(target, "https://files.badcdn.example/invoice.zip", "2026-11-20 09:15:00", 0)])


def _firefox() -> bytes:
    visits = [("https://paste.badcdn.example/abc", "Paste", "2026-11-20 08:30:00")]
    return made.firefox(
        visits, [("/home/vic/tool.exe", "https://paste.badcdn.example/tool.exe", "2026-11-20 08:31:00")]
    )


_MADE: dict[str, Callable[[], bytes]] = {
    "userassist": _user_hive, "services": _system_hive, "prefetch": _prefetch, "wtmp": _wtmp, "chrome": _chrome,
    "firefox": _firefox, **MADE, **MADE_SMALL_HOURS,
}  # fmt: skip


def pairs_of(half: str) -> Iterator[Pair]:
    """The pairs of one of the sets, by the name of its file; of a file in ``SPLIT`` those with an even or odd index."""
    side, _, name = half.partition("_")
    pairs = _listed(name if name in SPLIT else half)
    yield from islice(pairs, ("open", "held").index(side), None, 2) if name in SPLIT else pairs


def _listed(name: str) -> Iterator[Pair]:
    listed = tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))
    for one in listed["evidence"]:
        if "files" in one:
            files = tuple((name, text.encode()) for name, text in one["files"])
        else:
            files = ((one["name"], _MADE[one["made"]]() if "made" in one else one["text"].encode()),)
        for questions, says, never in one["pairs"]:
            yield Pair(files, tuple(questions.split(" > ")), tuple(says.split(" & ")), never)


async def answered(pair: Pair) -> str:
    """The last answer of a session that asks the questions; the files are attached with the first."""
    history: list[Exchange] = []
    text = ""
    for number, question in enumerate(pair.questions):
        asked = await ask(question, *((*file, number > 0) for file in pair.files), history=history)
        sources = tuple(step.content for step in asked.steps if step.message_type is MessageType.SOURCE)
        history.append(Exchange(prompt=question, answer=asked.markdown, sources=sources))
        text = asked.markdown
    return text


def judged(pair: Pair, markdown: str) -> str:
    """What is wrong with an answer; "" if nothing is.

    Only its first paragraph and the list or table below it count: they are what a person reads first. The list does not
    if the paragraph says that the question cannot be answered.
    """
    first, seen = _read_first(markdown)
    missing = [one for one in pair.says if not re.search(one, seen, re.IGNORECASE)]
    if missing:
        return f"does not say {missing}"
    forbidden = re.search(pair.never, first, re.IGNORECASE) if pair.never else None
    return f"says {forbidden[0]!r}" if forbidden else ""


def weighed(pair: Pair, markdown: str) -> Weight:
    """Whether an answer is right, says first that it cannot tell, or is wrong: false, or about another question."""
    if not judged(pair, markdown):
        return Weight.RIGHT
    first, _ = _read_first(markdown)
    is_false = pair.never and re.search(pair.never, first, re.IGNORECASE)
    is_said = _NOT_ANSWERED.match(first) or (_NOT_ANSWERED.search(first) and not is_false)
    return Weight.HONEST if is_said else Weight.WRONG


def _read_first(markdown: str) -> tuple[str, str]:
    """What a person reads first: the paragraph alone, and with the list or the table below it."""
    paragraphs = plain(markdown.partition("<details>")[0]).strip().split("\n\n")
    if paragraphs[0].startswith("*") and not paragraphs[0].startswith("**"):
        paragraphs = paragraphs[1:]  # that the answer is in English
    parts = list(takewhile(_OF_CLAUSE.match, paragraphs))
    paragraphs = [" ".join(parts), *paragraphs[len(parts) :]] if parts else paragraphs
    first = seen = paragraphs[0]
    if len(paragraphs) > 1 and re.match(r"(?:-|\d\.|\|) ", paragraphs[1]) and not _NOT_ANSWERED.search(first):
        seen += paragraphs[1]
    first += paragraphs[1] if first.endswith((":", ":**")) and len(paragraphs) > 1 else ""
    return first, seen


_OF_CLAUSE = re.compile(r"`[^`]+`: |\*\*(?:Cannot tell|Question not understood)\b")
_NOT_ANSWERED = re.compile(r"\*\*(?:Cannot tell|Question not understood|Not answered)")


def plain(markdown: str) -> str:
    """The text without defanging and escapes."""
    return re.sub(r"\\([^\w\s\\])", r"\1", markdown.replace("[.]", ".").replace("[@]", "@").replace("hxxp", "http"))
