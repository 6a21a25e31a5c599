"""What the records of a log say about a question that names a column, a value or an outcome."""

from __future__ import annotations

import msgspec

from svc.assistant.findings import Facts


class RecordValue(msgspec.Struct, frozen=True):
    """A value of a column, with how many of the records have it."""

    what: str
    """What was asked for: ``bucket``."""
    value: str
    count: int


class RecordTime(msgspec.Struct, frozen=True):
    """A column with a time, of one of the records."""

    column: str
    time: str


class LargestRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record with more bytes, or of longer duration, than the others."""

    amount: int
    columns: str
    """The columns that were added up."""
    source: str
    destination: str
    account: str
    time: str
    seconds: int | None = None
    """How long it lasted, if the record states it, or a start and an end."""
    values: list[RecordValue] = []
    """What the question asks for beside the amount."""


class AskedRecords(Facts, frozen=True, kw_only=True, tag="asked_records"):
    """The records that a question is about."""

    clause: str
    """The words of the question."""
    total: int
    """Records that were read."""
    count: int
    """Those that the question is about."""
    words: list[str]
    """Words of the question that are in each of these records."""
    is_any: bool = False
    """Whether each record has one of ``words``, none all of them."""
    absent: list[str]
    """Words of the question that are in none of them."""
    first: str | None
    last: str | None
    values: list[RecordValue]
    """What the question asks for, the most frequent first."""
    outcome: str = ""
    """Only records with this outcome were asked for."""
    outcomes: list[RecordValue]
    """``allowed`` or ``blocked``, and what each record says itself."""
    amounts: list[RecordValue]
    """Sums of the columns with bytes and with seconds."""
    times: list[RecordTime]
    """Times of the first record beside its own, and how often a program ran."""
    largest: list[LargestRecord]
    """Those with the most bytes or seconds, if the question asks for them; the evidence is of these."""
    by_source: list[RecordValue]
    """Sums of the same by source, the largest first."""
