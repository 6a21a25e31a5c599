"""What every tool yields: progress, findings with evidence, gaps for what it did not examine, and its coverage.

A tool is the ``inspect`` generator of a skill's ``tool.py``. It takes the content of one input in the form that its
skill asks for (``InputKind``), reads no file and no clock, and runs in a worker process (``workers/``). Hostile input
yields a Finding or a Gap, never an exception.

What a finding says is typed: each skill's ``findings.py`` derives one ``Facts`` struct for each kind of finding.
Answers, DataFrames, JSON and the reference (docs/skills.md) are made from these structs.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache, reduce
from operator import or_
from typing import Generic, TypeVar, cast

import msgspec

from svc.messages import TaskProgress


class Severity(StrEnum):
    """How much a finding matters, in CVSS's words; INFO is a fact without a judgement."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


class Confidence(StrEnum):
    """How sure the tool is that the finding is what it says."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class InputKind(StrEnum):
    """The form in which a tool needs its input: a str, an iterator of lines, or a seekable stream of bytes.

    All but RAW, a stream of the file's own bytes, are decompressed first if the file is compressed.
    """

    TEXT = "text"
    LINES = "lines"
    BINARY = "binary"
    RAW = "raw"


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Where a finding was seen. ``source`` is a file's name or ``prompt``; ``line`` and ``record`` count from 1.

    ``offset`` is in bytes from 0. ``excerpt`` is the original text: untrusted, and shown in code spans only.
    """

    source: str
    excerpt: str
    line: int | None = None
    record: int | None = None
    offset: int | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """Base of the structs that say what a finding of one kind holds; its tag is the finding's ``kind``.

    Fields are scalars, lists of scalars, or lists of structs (the rows of a table). Their names are the columns of
    ``answer.findings`` and of JSON answers, so they are part of the public interface.
    """


FactsT = TypeVar("FactsT", bound=Facts)
FactsT_co = TypeVar("FactsT_co", bound=Facts, covariant=True)


class Finding(msgspec.Struct, Generic[FactsT_co], frozen=True, kw_only=True, tag="finding"):
    """One thing found: what it is, how much it matters, how sure the tool is, and its evidence."""

    title: str
    facts: FactsT_co
    severity: Severity = Severity.INFO
    confidence: Confidence = Confidence.HIGH
    why: str = ""
    evidence: tuple[Evidence, ...] = ()
    techniques: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The tag of the facts, for example ``auth_source``."""
        return kind_of(type(self.facts))


class Progress(msgspec.Struct, frozen=True, kw_only=True, tag="progress"):
    """What the tool has done so far: a text with figures in it, or a count of what ``text`` names, "" for its work.

    A tool need not count what it reads: the worker counts the bytes of the file. A tool that reads its whole input
    first and works afterwards says how far that work is: ``of``.
    """

    text: str = ""
    counted: TaskProgress | None = None

    @classmethod
    def of(cls, source: str, done: int, total: int, unit: str, *, work: str = "") -> Progress:
        """Return that ``done`` of ``total`` units of the input are done; reported if the work takes long."""
        return cls(text=work, counted=TaskProgress(task=source, done=done, total=total, unit=unit))


class Gap(msgspec.Struct, frozen=True, kw_only=True, tag="gap"):
    """Something that was not examined, and why: a skipped part, a limit that was reached, a fact not known offline.

    It does not name its input; the answer does.
    """

    text: str
    in_headline: bool = False
    """Whether findings or a part of the input were left out because of a limit: the answer then says so at its top."""
    is_passing: bool = False
    """Whether the same job may get further at another time, so that its result is not kept."""


UNJUDGED = "nothing but gaps in the log"
"""What a tool looked for in records that it can read and count, but has no rule or check for."""
ATTACK_STRINGS = "strings of known attacks"
"""What a tool looked for in messages of programs that it does not know: what else they say is not understood."""
LITTLE = (UNJUDGED, ATTACK_STRINGS)


class Coverage(msgspec.Struct, frozen=True, kw_only=True, tag="coverage"):
    """How far a tool read its input: exactly one in each run, also if the tool could read nothing.

    It decides which of three things the answer may say: found, looked and found nothing, or not examined. If
    ``understood`` is 0, nothing was examined, whatever else the tool yields.
    """

    read_as: str
    """What the tool took the input for, as a noun phrase: "Linux authentication log", "packet capture"."""
    unit: str
    """What is counted, in the singular: "line", "event", "packet", "byte"."""
    understood: int
    """Units that the tool could parse and looked into. Text that it only skimmed for other things does not count."""
    total: int
    """Units of the input; what a limit cut off counts, too, as far as it is known."""
    looked_for: str
    """Completes "looked for …": "failed and accepted logins", "435 detection rules"."""
    not_covered: str = ""
    """What this kind of input may hold that the tool does not look for: "no rule covers firewall logs"."""
    is_cut: bool = False
    """Whether a limit kept the end of the input from the tool: what was not found may be there."""
    total_is_minimum: bool = False
    """Whether there may be more units than ``total``: what a limit cut off could not be counted to its end."""

    @property
    def is_judged(self) -> bool:
        """Whether the tool has checks for what this kind of input records; else finding nothing says little."""
        return not self.looked_for.startswith(LITTLE)


class NameSort(StrEnum):
    """What a name in an input stands for."""

    ACCOUNT = "account"
    HOST = "host"
    ADDRESS = "address"
    DOMAIN = "domain"
    HASH = "hash"
    PROCESS = "process"


class NameOccurrence(msgspec.Struct, frozen=True, array_like=True):
    """Something that an input names: how often, its first record, and the worst detection in a record that names it.

    ``number`` is the line or record of that detection, or of the first record without one; ``time`` is its time.
    """

    sort: NameSort
    value: str
    count: int
    number: int
    time: str
    severity: Severity = Severity.INFO


class OneThing(msgspec.Struct, frozen=True, array_like=True):
    """A record that shows that two names mean one thing: an account and its SID, a host and its address."""

    sort: NameSort
    value: str
    other_sort: NameSort
    other: str
    why: str
    """What kind of record shows it: "logon", "DHCP lease" …"""
    number: int


class NamesSeen(msgspec.Struct, frozen=True, kw_only=True, tag="names_seen"):
    """What an input names, to be compared with other inputs of the question. It is no finding.

    ``common`` are addresses of things that many use: DNS servers, and addresses with the logins of many accounts.
    """

    names: tuple[NameOccurrence, ...]
    one_thing: tuple[OneThing, ...] = ()
    common: tuple[str, ...] = ()
    has_records: bool = False
    """Whether numbers count records instead of lines."""


AnyFinding = Finding[Facts]
"""A finding of any kind."""

ToolEvent = Progress | AnyFinding | Gap | Coverage | NamesSeen
"""Everything that a tool may yield."""


class ToolFailure(Facts, frozen=True, kw_only=True, tag="tool_failed"):
    """A tool crashed or was stopped; what it yielded before still holds."""

    tool: str
    """Name of the skill's package."""
    reason: str
    where: str
    """Module and line of ours, or "" if the process was stopped from outside."""
    source: str
    """Name of the input."""


class InstructionText(Facts, frozen=True, kw_only=True, tag="instruction_text"):
    """Text in the evidence that addresses an analyst or a language model. It changes no verdict."""

    text: str
    """The passage, on one line; with some words around it."""
    methods: list[str]
    """How it tries: "instruction override", "role claim", "benign claim", "chat-template token", "hidden Unicode" …"""
    channel: str
    """Where in the input it is: "text", an encoding ("Base64"), a part ("member word/document.xml") or a finding."""
    source: str
    """Name of the input."""
    count: int
    """How often the input contains it."""
    hidden_text: str = ""
    """What is written in characters that are not seen, decoded."""
    is_mention: bool = False
    """Whether the text only quotes such wordings, or is written for a model without asking for a verdict."""


@lru_cache
def kind_of(facts: type[Facts]) -> str:
    """Return the ``kind`` of findings that hold ``facts``."""
    return str(facts.__struct_config__.tag)


def with_facts(findings: Iterable[AnyFinding], facts: type[FactsT]) -> list[Finding[FactsT]]:
    """Return the findings that hold ``facts``, in their order."""
    kept = [finding for finding in findings if isinstance(finding.facts, facts)]
    return cast("list[Finding[FactsT]]", kept)


def finding_type(facts: Iterable[type[Facts]]) -> type[Finding[Facts]]:
    """Return the type by which msgspec decodes a finding with any of ``facts``, or with facts of every tool."""
    members: object = reduce(or_, facts, ToolFailure | InstructionText)
    return cast("type[Finding[Facts]]", Finding[members])  # type: ignore[valid-type]


def columns(finding: AnyFinding) -> dict[str, object]:
    """Return the facts as columns, in the order of the struct; structs in lists become dictionaries."""
    named: dict[str, object] = msgspec.to_builtins(finding.facts)
    del named["kind"]
    return named
