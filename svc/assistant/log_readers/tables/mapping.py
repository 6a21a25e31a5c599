"""Map a table's columns to roles (time, source, user, outcome, command …) by their names and by the look of values."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from svc.assistant.log_readers.tables.kinds import Kind, plain_name, roles
from svc.assistant.log_readers.tables.outcome import Outcome, outcome_of_words, outcome_reader
from svc.assistant.log_readers.tables.times import Clock, clock, looks_like_time

MAX_SAMPLE = 200  # records that decide what the columns mean
MAX_STATED = 12  # columns named in the answer
_VAGUE = frozenset(
    ["type", "event", "source", "state", "level", "text", "body", "line", "from", "client", "t", "ok", "log", "request",
     "target", "domain", "status", "path", "server", "device", "agent", "title"]
)  # fmt: skip
"""Names that mean something as a whole, but not as the last part of a nested name."""
_HOST_FOR = {"source_address": "source_host", "destination_address": "destination_host"}
_DOMAIN = re.compile(r"(?:[\w-]{1,63}\.){1,20}[A-Za-z][\w-]{1,62}\.?|localhost")
_METHODS = frozenset(["get", "post", "head", "put", "delete", "options", "connect", "patch", "trace", "propfind"])
_URL = re.compile(
    r"/|https?://|(?:GET|POST|HEAD|PUT|DELETE|OPTIONS|CONNECT|PATCH) "
    r"|[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?::\d{1,5})?(?:/|\Z)",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d|\d\d?[/.]\d\d?[/.]\d{4}")


@lru_cache(maxsize=20_000)
def address_of(cell: str) -> str:
    """Return the IP address in a cell, without port, brackets or zone; "" if there is none."""
    text = cell.strip().partition("\n")[0].strip("[]\"' ").removeprefix("::ffff:")
    for candidate in (text, text.rpartition(":")[0].strip("[]"), text.partition("%")[0]):
        try:
            return str(ipaddress.ip_address(candidate))
        except ValueError:
            continue
    return ""


def _is_port(cell: str) -> bool:
    return cell.isdecimal() and len(cell) <= 5


def _is_status(cell: str) -> bool:
    return cell.isdecimal() and 100 <= int(cell[:4]) < 600


_LOOKS: dict[str, tuple[Callable[[str], object], float]] = {
    "time": (looks_like_time, 0.6),
    "source_address": (address_of, 0.5),
    "destination_address": (address_of, 0.5),
    "source_port": (_is_port, 0.8),
    "destination_port": (_is_port, 0.8),
    "http_status": (_is_status, 0.8),
    "query": (_DOMAIN.fullmatch, 0.6),
    "method": (lambda cell: cell.lower() in _METHODS, 0.8),
    "url": (_URL.match, 0.6),
    "event_id": (str.isdecimal, 0.8),
    "user": (lambda cell: not address_of(cell) and not cell.startswith(("{", "[")), 0.5),
    "image": (lambda cell: not cell.isdecimal(), 0.8),
    "command": (lambda cell: not cell.isdecimal() and not cell.startswith("{"), 0.8),
}
"""What the values of a role look like, and which share of them must."""


class ColumnMapping:
    """The columns of one table by role. ``columns`` are role and columns, the best column first."""

    def __init__(self, kind: Kind | None, sample: Sequence[Mapping[str, str]]) -> None:
        self.kind = kind
        self.columns: dict[str, list[str]] = {}
        self.joined: dict[str, list[str]] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._outcome_note = ""
        self._ranks: dict[tuple[str, str], int] = {}
        self._seen: set[str] = set()
        self.learned: list[str] = []
        """Columns that the sample did not have, in their order."""
        self._names: dict[str, list[str]] = {}
        self._ignored = frozenset(kind.ignored) if kind is not None else frozenset()
        self._named_by_kind = kind.other_columns() if kind is not None else frozenset()
        values: dict[str, list[str]] = {}
        for record in sample:
            for name, value in record.items():
                if value.strip():
                    values.setdefault(name, []).append(value.strip())
        for name in values:
            self._place(name)
        self._check(values)
        self._join(values)
        self._guess(values)
        self._settle_outcome(values)
        names = self.joined.get("time") or self.columns.get("time", [])
        sampled = [value for name in names[:1] for value in values.get(name, [])]
        if "time" in self.joined:
            sampled = [f"{value} 00:00" for value in sampled]
        self._set_clock(sampled)
        self.unused: list[str] = [name for name in values if not self.is_used(name)]

    def _set_clock(self, sampled: Sequence[str]) -> None:
        kind = self.kind
        is_utc = (kind is not None and kind.is_utc) or any(
            "utc" in plain_name(name) for name in self.columns.get("time", [])
        )
        self._zone = "UTC" if is_utc else kind.zone if kind is not None else ""
        self._zone_column = kind.zone_column if kind is not None else ""
        self._clock: Clock = clock(sampled, unit=kind.time_unit if kind is not None else "")

    def _place(self, name: str) -> None:
        """Add a column to the roles that its name has."""
        self._seen.add(name)
        self._names.setdefault(plain_name(name), []).append(name)
        for role, rank in _roles_of(name):
            own = self.kind.columns.get(role, []) if self.kind is not None else []
            plain = plain_name(name)
            if plain in own:
                self._add(role, name, own.index(plain) - 1_000)
            elif plain not in self._ignored:
                self._add(role, name, rank)
        if self.kind is not None:
            for role, own in self.kind.columns.items():
                if plain_name(name) in own and name not in self.columns.get(role, []):
                    self._add(role, name, own.index(plain_name(name)) - 1_000)

    def _add(self, role: str, name: str, rank: int) -> None:
        self._ranks[role, name] = rank
        self.columns.setdefault(role, []).append(name)
        self.columns[role].sort(key=lambda one: self._ranks[role, one])

    def _check(self, values: Mapping[str, list[str]]) -> None:
        """Drop columns whose values do not look like their role; an address that is a name becomes a host.

        The columns that the kind names are dropped only if no value is an address or a time.
        """
        for role, (looks, share) in _LOOKS.items():
            is_checked = role in _HOST_FOR or (role == "time" and not (self.kind and self.kind.time_unit))
            for name in list(self.columns.get(role, [])):
                cells = values.get(name, [])
                fitting = sum(1 for cell in cells if looks(cell))
                if (
                    not cells
                    or fitting >= share * len(cells)
                    or (self._is_own(role, name) and (fitting or not is_checked))
                ):
                    continue
                self._drop(role, name)
                if role in _HOST_FOR and not any(looks_like_time(cell) for cell in cells[:5]):
                    self._add(_HOST_FOR[role], name, self._ranks[role, name] + 100)
        if self.kind is None:
            self._drop_shared("image", ("program",), unless="command")

    def _is_own(self, role: str, name: str) -> bool:
        """Whether the kind names this column for the role."""
        return self.kind is not None and plain_name(name) in self.kind.columns.get(role, ())

    def _drop(self, role: str, name: str) -> None:
        self.columns[role].remove(name)
        if not self.columns[role]:
            del self.columns[role]

    def _drop_shared(self, role: str, others: Iterable[str], *, unless: str) -> None:
        """A column named ``process`` next to messages is a program that logs, not one that was started."""
        if unless in self.columns or "message" not in self.columns:
            return
        for other in others:
            for name in list(self.columns.get(role, [])):
                if name in self.columns.get(other, []):
                    self._drop(role, name)

    def _join(self, values: Mapping[str, list[str]]) -> None:
        """Find the columns that make one value together: date and time, and those of the kind."""
        by_plain = {plain_name(name): name for name in values}
        if self.kind is not None:
            for role, plains in self.kind.joined.items():
                names = [by_plain[plain] for plain in plains if plain in by_plain]
                if len(names) > 1 or (names and role not in self.columns):
                    self.joined[role] = names
                    self.columns.pop(role, None)
        if "time" in self.joined:
            return
        day = next((name for name, cells in values.items() if all(map(_DAY.fullmatch, cells))), None)
        hour = next((name for name, cells in values.items() if all(map(_CLOCK.fullmatch, cells))), None)
        if day and hour and self.columns.get("time", [day])[0] == day:
            self.joined["time"] = [day, hour]
            self.columns.pop("time", None)

    def _guess(self, values: Mapping[str, list[str]]) -> None:
        """Find times and addresses in columns without a known name, by their values."""
        for role, looks in (("time", looks_like_time), ("source_address", address_of)):
            if role in self.columns or role in self.joined:
                continue
            for name, cells in values.items():
                if not self.is_used(name) and all(looks(cell) for cell in cells[:MAX_SAMPLE]):
                    self._add(role, name, 9_000)
                    break

    def _settle_outcome(self, values: Mapping[str, list[str]]) -> None:
        """Keep the columns that state success or failure, and decide how each is read: the best, or all of the kind."""
        if self.kind is not None and self.kind.outcomes:
            self._outcomes = dict.fromkeys(self.columns.get("outcome", ()), _translated(self.kind.outcomes))
            return
        kept: list[str] = []
        for name in list(self.columns.get("outcome", [])):
            cells = values.get(name, [])
            reader, note = outcome_reader(plain_name(name), cells)
            if sum(1 for cell in cells if reader(cell)) < 0.5 * len(cells):
                self._drop("outcome", name)
            elif not kept or self._is_own("outcome", name):
                self._outcome_note = self._outcome_note if kept else note
                kept.append(name)
                self._outcomes[name] = reader
        if kept:
            self.columns["outcome"] = kept
            return
        if self.kind is not None and self.kind.category == "activity":
            return  # words of an action say what was done: a locked account did not fail
        for name in (*self.columns.get("action", ())[:1], *self.columns.get("message", ())[:1]):
            cells = values.get(name, [])
            if sum(1 for cell in cells if outcome_of_words(cell)) >= 0.5 * len(cells):
                self.columns["outcome"] = [name]
                self.columns.setdefault("action", [name])
                return

    def is_used(self, name: str) -> bool:
        """Whether a column has a role, or the kind names it for something else."""
        return plain_name(name) in self._named_by_kind or any(
            name in names for names in (*self.columns.values(), *self.joined.values())
        )

    def has(self, *wanted: str) -> bool:
        """Whether all these roles have a column."""
        return all(role in self.columns or role in self.joined for role in wanted)

    def learn(self, record: Mapping[str, str]) -> None:
        """Place columns that the sample did not have, by their names; JSON records may differ."""
        if record.keys() <= self._seen:
            return
        for name in record:
            if name not in self._seen:
                self._place(name)
                self.learned.append(name)

    def value(self, record: Mapping[str, str], role: str) -> str:
        """Return a record's value of a role; "" if it has none."""
        if (names := self.columns.get(role)) is not None:
            for name in names:
                if value := record.get(name):
                    return value
        if self.joined and (names := self.joined.get(role)) is not None:
            separator = "\\" if role in ("file", "registry") else " "
            return separator.join(value for name in names if (value := record.get(name)))
        return ""

    def time(self, record: Mapping[str, str]) -> str:
        """Return a record's time as ISO 8601; "" if it has none that can be read."""
        cell = self.value(record, "time")
        if not cell:
            return ""
        zone = self.named(record, self._zone_column) if self._zone_column else ""
        return self._clock(cell, zone or self._zone)

    def named(self, record: Mapping[str, str], plain: str) -> str:
        """Return a record's value in the column with this plain name; "" if it has none."""
        for name in self._names.get(plain, ()):
            if value := record.get(name):
                return value
        return ""

    def outcome(self, record: Mapping[str, str]) -> str:
        """Return SUCCESS, FAILURE or "" for a record."""
        for name in self.columns.get("outcome", ()):
            if cell := record.get(name):
                return self._outcomes.get(name, outcome_of_words)(cell)
        return self.kind.outcomes.get("", "") if self.kind is not None else ""

    def stated(self) -> tuple[str, ...]:
        """Return the mapping as it is shown: ``time=TimeGenerated``."""
        found = [f"{role.replace('_', ' ')}={' + '.join(names)}" for role, names in self.joined.items()]
        for role in dict.fromkeys((*roles(), *self.columns)):
            if role in self.columns:
                note = f" ({self._outcome_note})" if role == "outcome" and self._outcome_note else ""
                found.append(f"{role.replace('_', ' ')}={self.columns[role][0]}{note}")
        return tuple(found[: 2 * MAX_STATED])


@lru_cache(maxsize=20_000)
def _roles_of(name: str) -> tuple[tuple[str, int], ...]:
    """Return the roles that a column's name has, with a rank: of several columns the lowest is the best."""
    parts = [part for part in name.split(".") if part]
    candidates = [(plain_name(name), 0)]
    if len(parts) > 2:
        candidates.append((plain_name("".join(parts[-2:])), 200))
    if len(parts) > 1 and plain_name(parts[-1]) not in _VAGUE:
        candidates.append((plain_name(parts[-1]), 400))
    words = [plain_name(word) for word in _WORDS.findall(parts[-1] if parts else "")]
    for count, penalty in ((2, 500), (1, 600)):
        if len(words) > count and (last := "".join(words[-count:])) not in _VAGUE:
            candidates.append((last, penalty))
    found: dict[str, int] = {}
    for candidate, penalty in candidates:
        for role, names in roles().items():
            if candidate in names:
                found.setdefault(role, names.index(candidate) + penalty)
    return tuple(found.items())


def _translated(outcomes: Mapping[str, str]) -> Outcome:
    by_cell = {cell.lower(): found for cell, found in outcomes.items()}

    def read(cell: str) -> str:
        return by_cell.get(cell.strip().lower(), by_cell.get("*", ""))

    return read
