"""Read a list of indicators: a text with one per line, a table with a column of values, OpenIOC, or a report. Pure."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Sequence

from svc.assistant.file_types.intel import VALUE_COLUMNS, plain_name
from svc.assistant.skills.indicators.intel.content import Content, text_of
from svc.assistant.skills.indicators.intel.values import Listed, hinted, value_of
from svc.assistant.skills.indicators.tool import indicators_of

MAX_COLUMNS = 100
_COMMENT = re.compile(r"\s*(?:#|//|;|--\s)")
_BULLET = re.compile(r"\A\s*(?:[-*•+]\s+|\d{1,4}[.)]\s+)?")
_AFTER = re.compile(r"\s{1,4}(?:#|//|--|[-\u2013\u2014])\s|\t|\s#")
_LABELLED = re.compile(r"\A(?P<label>[A-Za-z][\w -]{1,24}?)\s{0,4}[:=]\s{1,9}(?P<value>\S.*)\Z")
_VALUE_NAMES = frozenset(
    ["ip", "ipaddress", "ipv4", "ipv6", "cidr", "network", "domain", "domainname", "hostname", "fqdn", "url", "md5",
     "sha1", "sha256", "sha512", "hash", "filehash", "email", "emailaddress", "filename", "filepath", "registrykey",
     "account", "username", "useragent", "mutex", "value"]
)  # fmt: skip
"""Names of columns that hold values, if none is named as the indicator."""
_TYPE_NAMES = frozenset({"type", "indicatortype", "ioctype", "kind", "category"})
_NOTE_NAMES = frozenset({"comment", "description", "note", "notes", "title", "malware", "threat", "context", "tags"})
_FROM_NAMES = frozenset({"validfrom", "firstseen", "first", "date", "created"})
_UNTIL_NAMES = frozenset({"validuntil", "expires", "expiration", "expirationdatetime", "validto"})
_ITEM = re.compile(
    r"<IndicatorItem\b[^>]{0,500}>\s{0,200}<Context\b[^>]{0,300}\bsearch=\"(?P<search>[^\"]{1,120})\"[^>]{0,300}>"
    r"(?:\s{0,200}</Context>)?\s{0,200}<Content\b[^>]{0,200}>(?P<value>[^<]{1,2048})</Content>"
)
_SEARCHES = (
    ("RegistryItem", "registry_key"), ("FileItem/FileName", "file_name"), ("FullPath", "file_path"),
    ("FilePath", "file_path"), ("ProcessItem/name", "file_name"), ("UserAgent", "user_agent"), ("DNS", "domain"),
    ("Username", "account"), ("User", "account"),
)  # fmt: skip
_PROSE_TYPES = frozenset({"url", "domain", "ipv4", "ipv6", "ipv4_cidr", "ipv6_cidr", "email", "registry_key", "mutex"})
_HASHES = frozenset({"md5", "sha1", "sha224", "sha256", "sha384", "sha512"})


def read(text: str) -> Content:
    """The indicators of a list or a table; of any other text those that are recognisable."""
    rows = _rows(text)
    return _table(rows) if rows else _lines(text)


def read_openioc(text: str) -> Content:
    """The terms of an OpenIOC document that compare a value."""
    content = Content(form="OpenIOC", unit="term", entries=[], objects=[], unsearchable=[])
    content.total = text.count("<IndicatorItem")
    described = re.search(r"<short_description>([^<]{1,400})</short_description>", text)
    content.name = html.unescape(described[1]).strip() if described else ""
    for match in _ITEM.finditer(text):
        hint = next((hint for part, hint in _SEARCHES if part in match["search"]), "")
        content.understood += 1
        is_value = 'condition="is"' in match[0] or 'condition="contains"' in match[0]
        value = html.unescape(match["value"]).strip()
        if is_value:
            content.add(value, hint, line=text.count("\n", 0, match.start()) + 1)
        else:
            content.unsearchable.append((value[:400], f"it is compared in another way ({match['search']})"))
    return content


def _rows(text: str) -> list[tuple[int, dict[str, str]]]:
    """The rows of a table with a column of values, each with its line."""
    lines = text.lstrip("\ufeff").split("\n")
    start = next((number for number, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if start is None:
        return []
    head = lines[start]
    separator = max(",;\t", key=head.count)
    names = [plain_name(name) for name in head.split(separator)[:MAX_COLUMNS]]
    if not set(names) & (VALUE_COLUMNS | _VALUE_NAMES):
        return []
    reader = csv.reader((line for line in lines[start + 1 :]), delimiter=separator)
    try:
        return [
            (start + 1 + reader.line_num, dict(zip(names, row, strict=False)))
            for row in reader
            if any(cell.strip() for cell in row) and not row[0].lstrip().startswith("#")
        ]
    except csv.Error:
        return []


def _table(rows: Sequence[tuple[int, dict[str, str]]]) -> Content:
    content = Content(form="list of indicators", unit="row", total=len(rows), entries=[], objects=[], unsearchable=[])
    for line, row in rows:
        content.understood += 1
        named = [name for name in row if name in VALUE_COLUMNS] or [name for name in row if name in _VALUE_NAMES]
        kind = next((row[name] for name in row if name in _TYPE_NAMES), "")
        for name in named:
            if not row[name].strip():
                continue
            own = "" if name in VALUE_COLUMNS or name == "value" else name
            content.add(
                row[name],
                own or _kind(kind),
                note=_first(row, _NOTE_NAMES),
                valid_from=_first(row, _FROM_NAMES),
                valid_until=_first(row, _UNTIL_NAMES),
                line=line,
            )
    return content


def _kind(kind: str) -> str:
    """The type that a cell names, as far as it helps: ``FileHash-SHA256`` says nothing that the value does not."""
    return kind if hinted(kind) else ""


def _first(row: dict[str, str], names: frozenset[str]) -> str:
    return next((text_of(row[name]) for name in row if name in names and row[name]), "")


def _lines(text: str) -> Content:
    content = Content(form="list of indicators", unit="line", entries=[], objects=[], unsearchable=[])
    left = []
    for number, line in enumerate(text.lstrip("\ufeff").split("\n"), start=1):
        if not line.strip() or _COMMENT.match(line):
            left.append("")
            continue
        content.total += 1
        listed, note = _line_value(line)
        left.append(line if listed is None else "")
        if listed is not None:
            content.understood += 1
            content.add(listed.value, listed.type, note=note, line=number)
    _add_prose(left, content)
    return content


def _line_value(line: str) -> tuple[Listed | None, str]:
    """The value that a line consists of, with a label before it or a comment after it; None if it is a sentence."""
    body = _BULLET.sub("", line).strip().rstrip(",")
    parts = _AFTER.split(body, maxsplit=1)
    note = text_of(parts[1]) if len(parts) > 1 else ""
    labelled = _LABELLED.match(parts[0])
    if labelled is not None and "//" not in labelled["value"][:2]:
        hint = labelled["label"]
        return (value_of(labelled["value"], hint) if hinted(hint) or " " not in labelled["value"] else None), note
    first, _, rest = parts[0].partition(",")
    if rest and (listed := value_of(first)) is not None and " " not in first.strip():
        return listed, text_of(rest)
    listed = value_of(parts[0])
    return (listed if listed is None or listed.type != "text" or parts[0] == body else None), note


def _add_prose(lines: Sequence[str], content: Content) -> None:
    """The indicators in sentences; a line without any cannot be looked for."""
    if not any(lines):
        return
    seen: set[int] = set()
    for finding in indicators_of("\n".join(lines), source=""):
        facts = finding.facts
        if not facts.within and (facts.type in _PROSE_TYPES | _HASHES | {"file_path", "file_name"}):
            content.add(facts.value, facts.type, line=facts.line)
            seen.add(facts.line)
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        if number in seen:
            content.understood += 1
        else:
            content.unsearchable.append((line.strip()[:400], "it has no value that can be looked for"))
