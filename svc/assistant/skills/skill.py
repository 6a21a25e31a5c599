"""Types that describe a skill: its tool, the words and files that select it, and how its findings are rendered. Pure.

Each skill defines one ``Section`` in its ``answer`` module; ``catalogue`` lists them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from svc.assistant.file_types.identify import TEXT_LABELS
from svc.assistant.findings import AnyFinding, Facts, InputKind, kind_of
from svc.assistant.skills.answer_parts import Fold, worst_findings

PACKED_LABELS = frozenset({"gzip", "gz", "bzip2", "bz2", "xz", "zst"})  # a rotated log; the worker unpacks it
READABLE_LABELS = TEXT_LABELS | PACKED_LABELS
"""Files that a tool for text or lines can read."""
RECORD_LABELS = frozenset(
    [
        "log",
        "authlog",
        "weblog",
        "auditlog",
        "syslog",
        "applog",
        "journal",
        "cloudtrail",
        "winevents",
        "eventtable",
        "jsonl",
        "csv",
        "tsv",
    ]
)
"""Texts that consist of records, one per line, not of prose."""

NEVER = re.compile(r"(?!)")
"""Matches nothing: for a skill without such words."""


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """A tool, and when the plan selects it.

    ``strong`` words select it anywhere in a question, ``weak`` ones only in a clause that names no other skill.
    ``file_words`` are ordinary words ("what ran?") that select it as strong ones do, if a file that it claims is there.
    ``content`` matches material in a prompt that the skill can read; ``looks`` matches a prompt that consists only of
    such material. ``labels`` are the file types that it reads; ``claims`` are those for which it is run if no word
    names a skill; ``file_names`` (whole names) claims files whose type is known only after unpacking.
    ``takes`` names the options it understands: ``after``, ``before``, ``days`` and ``outside`` (a part of each day
    or week), ``now`` (a date and time, ISO 8601), ``question`` (the question without pasted material). ``facts``
    are the structs of its findings, the most important first. ``covers`` names skills whose answer this one
    includes, so that weak words do not add them.
    ``leads`` names skills that run first to prepare this one: if both ran, this one's verdict and facts stand for both.
    ``also`` are file types that another skill claims, but that this one reads, too, if the question is open ("what
    happened?"). ``defers_to`` names skills to which it leaves such files if the same words name both.
    ``reads_question``: the words of a question can be all that it needs ("what is T1003?"); any other skill runs only
    on a file or on material in the prompt. ``asks`` gives the fields of its findings that depend, for a file, on the
    option ``question`` alone: what was found for one question then serves the next.
    """

    name: str
    tool: str
    input: InputKind
    title: str
    can: str
    facts: tuple[type[Facts], ...]
    strong: re.Pattern[str]
    weak: re.Pattern[str] = NEVER
    file_words: re.Pattern[str] = NEVER
    content: re.Pattern[str] = NEVER
    looks: re.Pattern[str] = NEVER
    labels: frozenset[str] = READABLE_LABELS
    claims: frozenset[str] = frozenset()
    file_names: re.Pattern[str] = NEVER
    takes: frozenset[str] = frozenset()
    covers: frozenset[str] = frozenset()
    leads: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    defers_to: frozenset[str] = frozenset()
    reads_question: bool = False
    asks: Callable[[str], Mapping[str, object]] | None = None
    is_experimental: bool = False  # only the experimental model has it

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its findings, the most important first."""
        return tuple(map(kind_of, self.facts))


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """A drawing that is sent with the answer. ``svg`` is a whole document without scripts (``charts``)."""

    title: str
    svg: str


def no_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """For findings that need no next step."""
    return []


def no_pictures(findings: Sequence[AnyFinding]) -> list[Picture]:
    """For findings that need no picture."""
    return []


def nothing_told(_question: str, _findings: Sequence[AnyFinding]) -> str:
    """Answer no question by itself."""
    return ""


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """How the findings of one skill are shown.

    The answer opens with ``verdict``, one or two sentences, ``facts``, three to five with the places of their evidence,
    the first of the ``pictures``, and ``next_steps``, what an analyst would do next, the most urgent first. ``folds``
    are everything else. All are safe Markdown (evidence escaped). ``told`` answers one question by what was recorded.
    """

    skill: Skill
    verdict: Callable[[Sequence[AnyFinding]], str]
    folds: Callable[[Sequence[AnyFinding]], list[Fold]]
    facts: Callable[[Sequence[AnyFinding]], list[str]] = worst_findings
    next_steps: Callable[[Sequence[AnyFinding]], list[str]] = no_steps
    pictures: Callable[[Sequence[AnyFinding]], list[Picture]] = no_pictures
    told: Callable[[str, Sequence[AnyFinding]], str] = nothing_told


def words(*patterns: str) -> re.Pattern[str]:
    """One pattern that matches any of the given ones, ignoring case."""
    return re.compile("|".join(patterns), re.IGNORECASE)


def parse_now(text: str) -> datetime | None:
    """Return the time of the option ``now`` (ISO 8601; UTC if it names no zone), or None if there is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
