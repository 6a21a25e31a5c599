"""Read a host artefact: its rows by what they are evidence of, signs of an attack in them, and what was not read.

Nothing in an artefact is run, and no database executes SQL. The readers are in ``log_readers/host/``.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

from svc.assistant.file_types import host_forms as forms
from svc.assistant.findings import Coverage, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.log_readers.host import (
    browser,
    commands,
    configuration,
    listings,
    mft,
    prefetch,
    registry,
    registry_text,
    schedules,
    task_xml,
    transcript,
    unified_log,
    usn,
    utmp,
)
from svc.assistant.log_readers.host.record import Artefact, HostNote, Item, Merged, Records, Tampering, TraceKind
from svc.assistant.log_readers.host.sqlite_tables import SIGNATURE as SQLITE
from svc.assistant.log_readers.lines import Unread
from svc.assistant.log_readers.shown_times import zone_of
from svc.assistant.sigma.engine import RuleEngine
from svc.assistant.sigma.tables import load_rules
from svc.assistant.skills.host_artefacts import jump_lists, srum
from svc.assistant.skills.host_artefacts.findings import (
    ActivityCount,
    ArtefactNote,
    ArtefactRow,
    FailedLoginSource,
    HostActivity,
    HostSummary,
)
from svc.assistant.skills.host_artefacts.questions import asked_fields
from svc.assistant.skills.host_artefacts.signs import Signs, count_for
from svc.untrusted.markup import plural

MAX_LISTED = 3_000  # rows of one kind of activity, the newest
MAX_RULED = 400_000  # rows through the detection rules
MAX_NOTES = 60
MAX_USERS = 100
MAX_SOURCES = 2_000
MAX_CELL_CHARS = 1_000
PROGRESS_EVERY = 20_000  # rows
GUESSING = 20  # failures of one source that are no typing errors
_A = TraceKind


class HostForm(msgspec.Struct, frozen=True):
    """One form of artefact: what reads it, and which activities it can record."""

    read_as: str
    read: Callable[[BinaryIO, str], Iterator[Item]]
    records: tuple[TraceKind, ...]
    unit: str = "record"
    by_line: bool = False
    checks: int = 0
    """What is looked for besides signs and rules: guessed passwords, and changes to the artefact itself."""


def _plain(read: Callable[[BinaryIO], Iterator[Item]]) -> Callable[[BinaryIO, str], Iterator[Item]]:
    return lambda content, _: read(content)


FORMS: dict[str, HostForm] = {
    "utmp": HostForm(
        "login records (utmp, wtmp, btmp)", utmp.read, (_A.LOGIN, _A.FAILED_LOGIN, _A.LOGOUT, _A.SYSTEM), checks=3
    ),
    "browserhistory": HostForm("browser history", _plain(browser.read), (_A.VISIT, _A.DOWNLOAD)),
    "sqlite": HostForm("SQLite database", _plain(browser.read), (_A.VISIT, _A.DOWNLOAD)),
    "crontab": HostForm("crontab", schedules.read_crontab, (_A.PERSISTS,), "job", by_line=True),
    "systemdunit": HostForm("systemd unit", schedules.read_unit, (_A.PERSISTS,), "command", by_line=True),
    "taskxml": HostForm("scheduled task (XML)", task_xml.read, (_A.PERSISTS,), "action"),
    "shellhistory": HostForm("shell history", commands.read, (_A.COMMAND,), "command", by_line=True),
    "pstranscript": HostForm("PowerShell transcript", _plain(transcript.read), (_A.COMMAND,), "command", by_line=True),
    "unifiedlog": HostForm(
        "macOS unified log",
        _plain(unified_log.read),
        (_A.ENTRY, _A.LOGIN, _A.FAILED_LOGIN, _A.COMMAND),
        "entry",
        by_line=True,
        checks=1,
    ),
    "registry_hive": HostForm(
        "Windows registry hive",
        _plain(registry.read),
        (
            _A.PERSISTS,
            _A.RAN,
            _A.PRESENT,
            _A.OPENED,
            _A.COMMAND,
            _A.NETWORK,
            _A.SETTING,
            _A.SYSTEM,
            _A.LOGIN,
            _A.FAILED_LOGIN,
        ),
        "entry",
    ),
    "registryexport": HostForm(
        "registry export", _plain(registry_text.read), (_A.PERSISTS, _A.SETTING), "value", by_line=True
    ),
    "listing": HostForm(
        "listing of a host's state",
        _plain(listings.read),
        (_A.RUNNING, _A.SOCKET, _A.LOGIN, _A.FAILED_LOGIN, _A.SYSTEM),
        "row",
        by_line=True,
        checks=1,
    ),
    "prefetch": HostForm("Windows prefetch file", _plain(prefetch.read), (_A.RAN,), "run"),
    "usnjournal": HostForm(
        "NTFS change journal (USN)", _plain(usn.read), (_A.CREATED, _A.DELETED, _A.RENAMED, _A.CHANGED)
    ),
    "mft": HostForm("NTFS master file table", _plain(mft.read), (_A.CREATED, _A.DELETED)),
    "jumplist": HostForm("Windows jump list", _plain(jump_lists.read), (_A.OPENED,), "entry"),
    "srum": HostForm("Windows resource usage monitor (SRUM)", _plain(srum.read), (_A.NETWORK, _A.RAN)),
    **{
        label: HostForm(one.read_as, _plain(configuration.reader_of(label)), one.records, one.unit, by_line=True)
        for label, one in configuration.CONFIG_FILES.items()
    },
}
LOOKED_FOR = "signs of an attack, and detection rules"


def inspect(content: BinaryIO, /, *, source: str, question: str = "") -> Iterator[ToolEvent]:
    """Yield the artefact's rows, what is suspicious in them, and what was not read.

    Args:
        content: The artefact.
        source: Its name: it decides between wtmp and btmp, and shows a history without times.
        question: The question, which decides what the verdict says first.
    """
    head = content.read(forms.HEAD_BYTES)
    content.seek(0)
    label = forms.binary_label(head) or ("sqlite" if head.startswith(SQLITE) else forms.text_label(head, source))
    form = FORMS.get(label)
    if form is None:
        yield Gap(
            text="not a host artefact that is supported (registry hive, prefetch, history, cron, …); not examined"
        )
        yield Coverage(read_as="unknown format", unit="byte", understood=0, total=len(head), looked_for=LOOKED_FOR)
        return
    yield Progress(text=f"reading {source} as {form.read_as}")
    reading = _Reading(form)
    for item in form.read(content, source):
        if isinstance(item, Gap):
            yield item
            continue
        reading.add(item)
        if reading.count and reading.count % PROGRESS_EVERY == 0 and isinstance(item, Artefact):
            yield Progress(text=f"read {reading.count:,} rows of {source}")
    reading.close()
    yield from reading.findings(source, question)
    yield from reading.gaps()
    yield reading.coverage()


class _Listed:
    """The rows of one activity: all are counted, the newest are listed."""

    def __init__(self) -> None:
        self.count = 0
        self.first = self.last = ""
        self.users: set[str] = set()
        self._newest: list[tuple[str, int, ArtefactRow]] = []

    def add(self, row: Artefact) -> None:
        self.count += 1
        if row.time:
            self.first = min(self.first, row.time) if self.first else row.time
            self.last = max(self.last, row.time)
        if row.user and len(self.users) < MAX_USERS:
            self.users.add(row.user)
        entry = (row.time, -self.count, _listed(row))
        if len(self._newest) < MAX_LISTED:
            heapq.heappush(self._newest, entry)
        else:
            heapq.heappushpop(self._newest, entry)

    @property
    def rows(self) -> list[ArtefactRow]:
        """The newest first; rows without a time in their order."""
        return [row for _, _, row in sorted(self._newest, key=lambda one: (one[0], one[1]), reverse=True)]


def _listed(row: Artefact) -> ArtefactRow:
    return ArtefactRow(
        number=row.number,
        time=row.time,
        time_means=row.time_means,
        what=row.what[:MAX_CELL_CHARS],
        user=row.user[:200],
        source=row.source[:MAX_CELL_CHARS],
        where=row.where[:MAX_CELL_CHARS],
        detail=row.detail[:MAX_CELL_CHARS],
    )


class _Reading:
    """Everything that is collected while an artefact is read."""

    def __init__(self, form: HostForm) -> None:
        rules = load_rules()
        self.count = self.merged = self.unread = self.unruled = 0
        self.notes: list[ArtefactNote] = []
        self._form = form
        self._records = form.records
        self._unreadable = rules.unreadable
        self._engine = RuleEngine(rules.rules)
        self._signs = Signs()
        self._listed: dict[TraceKind, _Listed] = {}
        self._failures: dict[str, _Failures] = {}

    def add(self, item: Artefact | HostNote | Records | Merged | Tampering | Unread) -> None:
        """Count one item of the reader."""
        match item:
            case Artefact():
                self._row(item)
            case Merged(count):
                self.merged += count
            case Unread(count):
                self.unread += count
            case Records(activities):
                self._records = activities
            case Tampering():
                self._signs.tampered(item)
            case HostNote(name, value) if len(self.notes) < MAX_NOTES:
                self.notes.append(ArtefactNote(name, value))

    def _row(self, row: Artefact) -> None:
        self.count += 1
        self._listed.setdefault(row.activity, _Listed()).add(row)
        self._signs.add(row)
        if row.activity is TraceKind.FAILED_LOGIN and (
            row.source in self._failures or len(self._failures) < MAX_SOURCES
        ):
            self._failures.setdefault(row.source, _Failures()).add(row)
        event = row.event()
        if event is None:
            return
        if self.count > MAX_RULED:
            self.unruled += 1
            return
        for hit in self._engine.feed([event]):
            self._signs.hit(hit, row)

    def close(self) -> None:
        """Take what is known only after the last row."""
        for hit in self._engine.finish():
            self._signs.hit(
                hit,
                Artefact(
                    number=hit.event.number,
                    activity=TraceKind.COMMAND,
                    what=hit.event.excerpt,
                    excerpt=hit.event.excerpt,
                ),
            )

    def findings(self, source: str, question: str) -> Iterator[ToolEvent]:
        """Yield the summary, the signs, failed logins by source, and the rows."""
        if not self.count and not self.notes:
            return
        yield self._summary(source, question)
        yield from self._signs.findings(source, by_line=self._form.by_line)
        for name, failures in sorted(self._failures.items(), key=lambda one: -one[1].count):
            yield failures.finding(name, source)
        for activity, listed in self._listed.items():
            yield Finding(
                title=f"{activity.value}: {plural(listed.count, 'record')}",
                facts=HostActivity(
                    activity=activity.value,
                    count=listed.count,
                    first=listed.first or None,
                    last=listed.last or None,
                    users=sorted(listed.users),
                    rows=listed.rows,
                ),
                evidence=(Evidence(source=source, excerpt=""),),
            )

    def _summary(self, source: str, question: str) -> Finding[HostSummary]:
        times = [one for listed in self._listed.values() for one in (listed.first, listed.last) if one]
        asked = asked_fields(question)
        return Finding(
            title=f"{plural(self.count, 'record')} of {self._form.read_as} in {source}",
            facts=msgspec.convert(
                {
                    "kind": "host_summary",
                    "form": self._form.read_as,
                    "rows": self.count,
                    "activities": [ActivityCount(activity.value, one.count) for activity, one in self._listed.items()],
                    "records": [activity.value for activity in self._records],
                    "notes": self.notes,
                    "first": min(times, default=None),
                    "last": max(times, default=None),
                    "zone": zone_of(times),
                    "signs": self._looked_for,
                    "unread": self.unread,
                    **asked,
                },
                HostSummary,
                from_attributes=True,
            ),
        )

    @property
    def _looked_for(self) -> int:
        return count_for(set(self._listed)) + self._engine.applicable + self._form.checks

    def gaps(self) -> Iterator[Gap]:
        """Yield what limits left out."""
        for one in self._unreadable:
            yield Gap(text=f"rule set {one.name} cannot be read and did not run: {one.reason}")
        for activity, listed in self._listed.items():
            if listed.count > MAX_LISTED:
                yield Gap(
                    text=f"of {listed.count:,} rows of {activity.value}, only the newest {MAX_LISTED:,} are "
                    "listed; all were examined"
                )
        if self.unruled:
            yield Gap(
                text=f"{self.unruled:,} rows were not examined by the detection rules (limit of {MAX_RULED:,} rows)",
                in_headline=True,
            )

    def coverage(self) -> Coverage:
        """How far the artefact was read."""
        understood = self.count + self.merged or (1 if self.notes and not self.unread else 0)
        return Coverage(
            read_as=self._form.read_as,
            unit=self._form.unit,
            understood=understood,
            total=understood + self.unread,
            looked_for=f"{self._looked_for:,} {LOOKED_FOR}",
        )


class _Failures:
    """The failed logins of one source."""

    def __init__(self) -> None:
        self.count = 0
        self.accounts: set[str] = set()
        self.first = self.last = ""
        self._evidence: Artefact | None = None

    def add(self, row: Artefact) -> None:
        self.count += 1
        self._evidence = self._evidence or row
        if len(self.accounts) < MAX_USERS:
            self.accounts.add(row.user or row.what)
        if row.time:
            self.first = min(self.first, row.time) if self.first else row.time
            self.last = max(self.last, row.time)

    def finding(self, name: str, source: str) -> Finding[FailedLoginSource]:
        is_attack = self.count >= GUESSING
        first = self._evidence
        return Finding(
            title=f"{plural(self.count, 'failed login')} from {name or 'the console'} on "
            f"{plural(len(self.accounts), 'account')}",
            severity=Severity.MEDIUM if is_attack else Severity.INFO,
            why="more than typing errors: passwords were guessed" if is_attack else "",
            techniques=("T1110",) if is_attack else (),
            evidence=(Evidence(source=source, excerpt=first.excerpt[:400], record=first.number),) if first else (),
            facts=FailedLoginSource(
                source=name,
                failures=self.count,
                accounts=sorted(self.accounts),
                first=self.first or None,
                last=self.last or None,
            ),
        )
