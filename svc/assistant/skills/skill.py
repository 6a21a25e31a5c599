"""What one kind of question is to the analyst: the tool that answers it, the words that ask for it, how it is shown.

A ``Section`` is one module of ``sections/``; ``catalogue`` lists them all. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from svc.assistant.file_types.identify import TEXT_LABELS
from svc.assistant.findings import AnyFinding, Facts, InputKind, kind_of

PACKED_LABELS = frozenset({"gzip", "gz", "bzip2", "bz2", "xz"})  # a rotated log; the worker unpacks it
READABLE_LABELS = TEXT_LABELS | PACKED_LABELS
"""What a tool that wants text or lines can read."""
RECORD_LABELS = frozenset(
    ["log", "authlog", "weblog", "auditlog", "syslog", "journal", "cloudtrail", "winevents", "jsonl", "csv", "tsv"]
)
"""Texts that are records, one a line, and no prose."""

NEVER = re.compile(r"(?!)")
"""The words, or the look, of nothing."""


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """One tool as the plan sees it.

    ``strong`` words ask for it wherever they stand; ``weak`` ones only in a clause that asks for nothing else.
    ``content`` is the look of material in a prompt that it is for; ``looks`` that of a prompt which is nothing but such
    material. ``labels`` are the files it reads, ``claims`` those that it is for where no word says what is wanted;
    ``file_names`` (whole names) claims files whose kind only unpacking would tell.
    ``takes`` names the options it understands: ``after`` and ``before`` (a time of day), ``now`` (a date and time, ISO
    8601), ``question`` (the prompt's asking part). ``facts`` are the structs of its findings, the ones that matter
    most first. ``covers`` names skills that weak words do not ask for beside this one: its answer has it all.
    """

    name: str
    tool: str
    input: InputKind
    title: str
    can: str
    facts: tuple[type[Facts], ...]
    strong: re.Pattern[str]
    weak: re.Pattern[str] = NEVER
    content: re.Pattern[str] = NEVER
    looks: re.Pattern[str] = NEVER
    labels: frozenset[str] = READABLE_LABELS
    claims: frozenset[str] = frozenset()
    file_names: re.Pattern[str] = NEVER
    takes: frozenset[str] = frozenset()
    covers: frozenset[str] = frozenset()
    is_experimental: bool = False  # only the experimental model has it

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its findings, the ones that matter most first."""
        return tuple(map(kind_of, self.facts))


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """A drawing that goes out after the answer. ``svg`` is a whole document without script (``picture``)."""

    title: str
    svg: str


def no_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """For findings that ask for nothing further."""
    return []


def no_pictures(findings: Sequence[AnyFinding]) -> list[Picture]:
    """For findings that a table shows best."""
    return []


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """How the findings of one skill are shown.

    ``verdict`` gives one or two sentences, ``body`` tables with evidence, ``next_steps`` what an analyst would do next,
    each as Markdown that is safe by itself; ``pictures`` draws what people would rather look at.
    """

    skill: Skill
    verdict: Callable[[Sequence[AnyFinding]], str]
    body: Callable[[Sequence[AnyFinding]], str]
    next_steps: Callable[[Sequence[AnyFinding]], list[str]] = no_steps
    pictures: Callable[[Sequence[AnyFinding]], list[Picture]] = no_pictures


def words(*patterns: str) -> re.Pattern[str]:
    """One pattern that finds any of these, in any case."""
    return re.compile("|".join(patterns), re.IGNORECASE)
