"""The user's own source definitions: check them, and put those in the knowledge folder to use (``load``).

A definition is data of unknown origin: its size is limited, its patterns must take linear time, and a file that
cannot be used is reported in answers and otherwise ignored.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import cache

import msgspec

from svc.assistant.knowledge import source_files
from svc.assistant.log_readers.tables import kinds
from svc.assistant.log_readers.tables.bounded_patterns import PatternError, check_pattern
from svc.assistant.log_readers.tables.kinds import Field, Kind, Source, When, plain_name, roles
from svc.assistant.log_readers.tables.row_events import CATEGORIES, OWN_ROLES
from svc.assistant.log_readers.tables.times import zone_named

MAX_FILE_BYTES = 256 * 1024
MAX_FILES = 200
MAX_KINDS = 50
MAX_ITEMS = 300  # of a list or table
MAX_NAME_CHARS = 100
_SHOWN = re.compile(r"[\w .,:()/&+'-]{1,100}")  # in answers, as text that Markdown does not change
_SENTENCE = re.compile(r"[\w .,:;()/&+'?-]{1,300}")
_LOG_SOURCE = re.compile(r"[\w.-]{0,64}")
_NOT_SHOWN = re.compile(r"[^\w .,:;()/&+'?-]")
MAX_REASON_CHARS = 200
_SEVERITIES = ("critical", "high", "medium", "low", "info")
_PATH = re.compile(r" - at `\$([^`]{0,200})`$")
_UNKNOWN = re.compile(r"unknown field `(\w{1,60})`")
_STEP = re.compile(r"\.?([A-Za-z_]\w{0,60})|\[(\d{1,6}|\.\.\.)\]")


class SourceError(ValueError):
    """A definition cannot be used; the text says what is wrong, and in which line or field."""


class UnreadableSource(msgspec.Struct, frozen=True):
    """A stored definition that cannot be used."""

    name: str
    reason: str


def parse(content: bytes) -> Source:
    """Return the definition in a file, its column names plain.

    Raises:
        SourceError: It is too large, no TOML, has another form, or is refused.
    """
    if len(content) > MAX_FILE_BYTES:
        raise SourceError(f"it has {len(content):,} bytes; the limit is {MAX_FILE_BYTES:,}")
    try:
        text = content.decode("utf-8-sig")
        found = msgspec.convert(tomllib.loads(text), Source)
    except UnicodeDecodeError as error:
        raise SourceError("it is not UTF-8 text") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SourceError(f"not TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise SourceError(_placed(str(error), text)) from error
    plain = msgspec.structs.replace(found, kinds=[_with_plain_names(kind) for kind in found.kinds])
    for path, problem in _problems(plain):
        raise SourceError(_placed(f"{problem} - at `${path}`", text))
    return plain


def _placed(message: str, text: str) -> str:
    """Return a message of msgspec with the field that it is about, and its line."""
    found = _PATH.search(message)
    if found is None:
        return message
    unknown = _UNKNOWN.search(message)
    path = f"{found[1]}.{unknown[1]}" if unknown else found[1]
    steps = [name or index for name, index in _STEP.findall(path)]
    line = _line_of(steps, text)
    place = f"{found[1].lstrip('.')}" + (f", line {line}" if line else "")
    return f"{message[: found.start()]} ({place})"


def _line_of(steps: Sequence[str], text: str) -> int:
    """Return the line of a field, from 1; that of its table, if the field is not written as one line; 0 if unknown."""
    if not steps:
        return 0
    table, index = steps[0], int(steps[1]) if len(steps) > 1 and steps[1].isdecimal() else 0
    fields = [step for step in steps[1:] if not step.isdecimal()]
    seen, at = -1, 0
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.replace(" ", "") == f"[[{table}]]":
            seen += 1
            at = number if seen == index else at
            continue
        name = stripped.partition("=")[0].strip()
        if name == (fields[0] if fields else table) and (seen == index or not fields):
            return number
    return at


def _with_plain_names(kind: Kind) -> Kind:
    """Return a kind whose columns are named as the tables name them, however they were written."""

    def plain(names: Sequence[str]) -> list[str]:
        return [plain_name(name) for name in names]

    def of_rule(rule: list[str] | Field) -> list[str] | Field:
        return plain(rule) if isinstance(rule, list) else msgspec.structs.replace(rule, columns=plain(rule.columns))

    def of_when(rule: When) -> When:
        also, unless = ({plain_name(name): shape for name, shape in one.items()} for one in (rule.also, rule.unless))
        return msgspec.structs.replace(rule, column=plain_name(rule.column), also=also, unless=unless)

    return msgspec.structs.replace(
        kind,
        needs=[plain(names) for names in kind.needs],
        unless=plain(kind.unless),
        ignored=plain(kind.ignored),
        zone_column=plain_name(kind.zone_column),
        columns={role: plain(names) for role, names in kind.columns.items()},
        joined={role: plain(names) for role, names in kind.joined.items()},
        fields={name: of_rule(rule) for name, rule in kind.fields.items()},
        when=[of_when(rule) for rule in kind.when],
    )


def _problems(source: Source) -> Iterator[tuple[str, str]]:
    """Yield the field and what is wrong with it."""
    if not source.kinds:
        yield ".kinds", "a definition needs at least one [[kinds]]"
    if len(source.kinds) > MAX_KINDS:
        yield ".kinds", f"{len(source.kinds):,} kinds; the limit is {MAX_KINDS}"
    for number, line in enumerate(source.lines):
        path = f".lines[{number}]"
        yield from _of_pattern(f"{path}.pattern", line.pattern, is_anchored=True)
        yield from _of_name(f"{path}.name", line.name)
    for number, kind in enumerate(source.kinds):
        yield from ((f".kinds[{number}].{field}", problem) for field, problem in _of_kind(kind))


def _of_kind(kind: Kind) -> Iterator[tuple[str, str]]:
    yield from _of_name("name", kind.name)
    if not kind.needs or not all(names and all(names) for names in kind.needs):
        yield "needs", "name the columns by which the export is recognised, at least one in each list"
    elif min(map(len, kind.needs)) == 1 and any(names[0] in _common_names() for names in kind.needs if len(names) == 1):
        yield "needs", "one common column name would claim other tables, too; name further columns"
    for field in ("needs", "columns", "joined", "fields", "when", "outcomes", "severities", "ignored", "unless"):
        if len(getattr(kind, field)) > MAX_ITEMS:
            yield field, f"more than {MAX_ITEMS} entries"
    for field in ("columns", "joined"):
        for role in getattr(kind, field):
            if role not in roles() and role not in OWN_ROLES:
                yield field, f"unknown role {role!r}{_near(role, (*roles(), *OWN_ROLES))}"
    if kind.zone and zone_named(kind.zone) is None:
        yield (
            "zone",
            f"unknown time zone {kind.zone!r}; write an offset such as +02:00, or a name such as Europe/Berlin",
        )
    for value in kind.severities.values():
        if value not in _SEVERITIES:
            yield "severities", f"unknown severity {value!r}{_near(value, _SEVERITIES)}"
    yield from _of_category("category", kind.category)
    for number, rule in enumerate(kind.when):
        yield from _of_category(f"when[{number}].category", rule.category)
        for shape in (rule.matches, *rule.also.values(), *rule.unless.values()):
            yield from _of_pattern(f"when[{number}].matches", shape)
    if kind.unread and not _SENTENCE.fullmatch(kind.unread):
        yield "unread", "a sentence has at most 300 letters, digits, spaces and .,:;()/&+'?_-"
    for field, value in (("product", kind.product), ("service", kind.service)):
        if not _LOG_SOURCE.fullmatch(value):
            yield field, "a log source has at most 64 letters, digits and ._-"
    for name, field_rule in kind.field_rules().items():
        if not 0 < len(name) <= MAX_NAME_CHARS or not name.isprintable():
            yield "fields", f"the name of a field has 1 to {MAX_NAME_CHARS} printable characters"
        if field_rule.part:
            yield from _of_pattern(f"fields.{name}.part", field_rule.part)
            if re.compile(field_rule.part).groups < 1:
                yield "fields", f"the pattern of {name} has no group: put the part that is used in parentheses"
    for extract in kind.extract:
        yield from _of_pattern(f"extract.{extract.column}", extract.pattern)
    for system in kind.systems:
        yield from _of_pattern(f"systems.{system.column}", system.matches)


def _of_name(path: str, name: str) -> Iterator[tuple[str, str]]:
    if not _SHOWN.fullmatch(name):
        yield path, "a name has 1 to 100 letters, digits, spaces and .,:()/&+'_-"


def _of_category(path: str, category: str) -> Iterator[tuple[str, str]]:
    if category and category not in CATEGORIES:
        yield path, f"unknown category {category!r}{_near(category, CATEGORIES)}"


def _of_pattern(path: str, pattern: str, *, is_anchored: bool = False) -> Iterator[tuple[str, str]]:
    try:
        check_pattern(pattern, is_anchored=is_anchored)
    except PatternError as error:
        yield path, f"the pattern {pattern[:60]!r} is refused: {error}"


def _near(word: str, known: Sequence[str] | frozenset[str]) -> str:
    near = get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(known))}"


@cache
def _common_names() -> frozenset[str]:
    return frozenset(name for names in roles().values() for name in names)


def stored() -> dict[str, Source | UnreadableSource]:
    """Return the stored definitions by name, those that cannot be used with the reason."""
    found: dict[str, Source | UnreadableSource] = {}
    for name, content in source_files.read_all(MAX_FILES, MAX_FILE_BYTES + 1):
        try:
            found[name] = parse(content) if isinstance(content, bytes) else _unreadable(name, content)
        except SourceError as error:
            found[name] = _unreadable(name, str(error))
    return found


def _unreadable(name: str, reason: str) -> UnreadableSource:
    """Return it with text that is safe in answers."""
    return UnreadableSource(*(_NOT_SHOWN.sub("?", text)[:MAX_REASON_CHARS] for text in (name, reason)))


class _Loaded:
    """What ``load`` loaded last."""

    state: tuple[object, ...] = ()
    unreadable: tuple[UnreadableSource, ...] = ()


def load() -> tuple[tuple[object, ...], tuple[UnreadableSource, ...]]:
    """Put the stored definitions to use, if they changed; return what names their state, and those of no use."""
    state = source_files.state(MAX_FILES)
    if state != _Loaded.state:
        found = stored() if state else {}
        kinds.prefer(one for one in found.values() if isinstance(one, Source))
        _Loaded.unreadable = tuple(one for one in found.values() if isinstance(one, UnreadableSource))
        _Loaded.state = state
    return _Loaded.state, _Loaded.unreadable


def forget() -> None:
    """Let the next ``load`` read the stored definitions again."""
    kinds.prefer(())
    _Loaded.state, _Loaded.unreadable = (), ()
