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


class RecordConditions(msgspec.Struct, frozen=True, kw_only=True):
    """What records must fulfil to be those that a clause asks for.

    ``words`` must all be in a record, none of ``excluded``. ``columns`` are patterns of names of columns by what they
    hold. ``is_complement``: those values of the columns are asked for that no such record has. ``logins``: only logins,
    ``failed``, ``accepted`` or ``any``. ``outcome``: ``allowed``, ``blocked`` or ``failed``. ``days``: ends of dates,
    ``11-21`` or ``-21``. ``ports``: of either side. ``measure``: ``bytes``, ``sent``, ``received`` or ``seconds``,
    ``more`` than or ``less`` than a number (negative: no such limit). ``per``: counted for each ``hour`` or ``day``.
    ``top``: only as many values. ``ends``: the first or the last record is asked for. ``place``: ``both`` for values of
    several inputs, ``in `` and the name of the only input that counts, or the name of the only input that has them.
    ``is_grouped``: counted for each value of the columns. ``is_timed``: the times of the records are asked for.
    ``equals``: a column must have this value: what it holds, the patterns of its names, the value. ``needs_value``:
    only records with a value of ``columns``. ``rank``: the second, third, … record or, if ``distinct`` names what a
    column holds, the second, third, … different value. ``least``: at least as many records must have a value or, with
    ``spread``, as many different values of the columns that it names. ``other``: a second outcome that a value must
    have in other records ("also"), must not have ("without"), or any but the first, which it must not have ("only").
    """

    words: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    columns: dict[str, tuple[str, ...]] = {}
    is_complement: bool = False
    logins: str = ""
    outcome: str = ""
    days: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    measure: str = ""
    more: float = -1.0
    less: float = -1.0
    per: str = ""
    top: int = 0
    ends: str = ""
    place: str = ""
    is_grouped: bool = False
    is_timed: bool = False
    equals: tuple[str, tuple[str, ...], str] | None = None
    needs_value: bool = False
    rank: int = 0
    distinct: str = ""
    least: int = 0
    spread: dict[str, tuple[str, ...]] = {}
    other: tuple[str, str] | None = None


class FollowingRecords(Facts, frozen=True, kw_only=True, tag="following_records"):
    """What was recorded after a login; the evidence is the login, then records of it, then others."""

    clause: str
    """The words of the question."""
    names: list[str]
    """The account or the address that the question names for the login."""
    total: int
    """Records that were read."""
    is_newest_first: bool
    """Whether the records were in reverse order, so that those after a login were read before it."""
    accepted: int
    """Accepted logins among them."""
    is_found: bool
    """Whether one of these is the login that the question means."""
    account: str
    source: str
    failures: int
    """Failed logins of its source or of its account before it."""
    first: str | None
    """The time of the login."""
    last: str | None
    """The time of the last record after it."""
    own: int
    """Records after it that name its account or its source, and are about more than sessions."""
    own_shown: int
    """How many of these are in the evidence."""
    others: int
    """Other records after it."""
    sessions: int
    """Records after it that are about logins and sessions alone."""


class ChosenRecords(Facts, frozen=True, kw_only=True, tag="chosen_records"):
    """The records that fulfil the conditions of a clause."""

    clause: str
    """The words of the question."""
    conditions: RecordConditions
    total: int
    """Records that were read; logins, if these are asked for."""
    count: int
    """Those that fulfil the conditions."""
    left_out: int
    """Those that would, but have an excluded word."""
    failed: int = 0
    """Failed logins with the words of the question."""
    absent: list[str]
    """Words of the question that no record has."""
    values: list[RecordValue]
    """What the chosen records hold in the columns that are asked for, the most frequent first."""
    others: list[RecordValue]
    """What only the other records hold, if that is asked for."""
    buckets: list[RecordValue]
    """How many there are in each hour or on each day."""
    outcomes: list[RecordValue]
    """``allowed`` or ``blocked``, and what each record says itself."""
    is_measured: bool
    """Whether a record states what is measured."""
    sums: list[RecordValue]
    """The sources that exceed the limit with all of their records together."""
    is_cut: bool
    """Whether there are more different values than are listed."""
    first: str | None
    last: str | None
    times: list[str]
    """The times of the evidence in their order, if times are asked for: the earliest and the latest records."""
    labels: list[str]
    """For each of these times the values of the columns that are asked for, joined with commas."""
    stated: list[RecordValue]
    """What all records state in the column that must have a value."""
    second: list[RecordValue]
    """With ``other``, what the records with the second outcome hold."""
    pairs: list[RecordValue]
    """With ``spread``, each value with each different value of the other columns."""
