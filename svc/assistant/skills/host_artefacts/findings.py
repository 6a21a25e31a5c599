"""What findings about host artefacts hold: the rows by what they are evidence of, and signs of an attack in them."""

from __future__ import annotations

import msgspec

from svc.assistant.findings import Facts


class ActivityCount(msgspec.Struct, frozen=True):
    """How many rows are evidence of one kind of activity."""

    activity: str
    count: int


class ArtefactNote(msgspec.Struct, frozen=True):
    """What an artefact says about itself or its computer."""

    name: str
    value: str


class ArtefactRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of an artefact."""

    number: int
    """Record or line in the artefact, from 1."""
    time: str
    """ISO 8601 in UTC; without a zone if the artefact states none; empty if it has none."""
    time_means: str
    """What the time is: "last run", "visited", "key last written" …"""
    what: str
    """The program, command, address, file or account."""
    user: str
    source: str
    """The address that it came from."""
    where: str
    """The key, unit, terminal or title."""
    detail: str


class HostSummary(Facts, frozen=True, kw_only=True, tag="host_summary"):
    """What an artefact is and how much is in it."""

    form: str
    rows: int
    activities: list[ActivityCount]
    records: list[str]
    """The kinds of activity that this form of artefact can record."""
    notes: list[ArtefactNote]
    first: str | None
    last: str | None
    zone: str
    signs: int
    """How many signs and rules were looked for."""
    unread: int
    """Records that could not be read."""
    topics: list[str]
    """The kinds of activity that the question asks about."""
    names: list[str]
    """Words of the question that may be names in the artefact."""
    is_yes_no: bool
    traits: list[str]
    """The traits of rows that the question asks for, for example "UID 0"."""
    stated: list[str]
    """Words of the question that must be names: if no row has them, the answer says so."""
    left_out: list[str]
    """Names that the question leaves out ("besides root")."""
    asks: list[str] = msgspec.field(default_factory=list)
    """Which circumstances the question asks for: "when", "as whom"."""
    asks_signs: bool = False
    """Whether the question is about what is suspicious in the artefact."""


class HostActivity(Facts, frozen=True, kw_only=True, tag="host_activity"):
    """The rows that are evidence of one kind of activity; the newest if there are very many."""

    activity: str
    count: int
    first: str | None
    last: str | None
    users: list[str]
    rows: list[ArtefactRow]


class HostSign(Facts, frozen=True, kw_only=True, tag="host_sign"):
    """A row, or several, with a trait of an attack."""

    sign: str
    """Identifier of the sign, or of the detection rule."""
    is_rule: bool
    """Whether a detection rule matched, rather than one of the signs that this tool knows."""
    activity: str
    what: str
    count: int
    first: str | None
    last: str | None
    time_means: str
    users: list[str]
    where: str


class FailedLoginSource(Facts, frozen=True, kw_only=True, tag="host_failed_logins"):
    """Failed logins from one source."""

    source: str
    failures: int
    accounts: list[str]
    first: str | None
    last: str | None
