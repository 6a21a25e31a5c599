"""Findings as data: a table, CSV, JSON, or a format of the user's own with its places filled. Pure.

A row is a finding of the kinds that matter most to its skill (``Skill.kinds``, the first that was found). What a format
asks for that no finding has is ``null`` in JSON and ``unknown`` in words: nothing is made up.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from svc.assistant.analyst.answer_format import PLACEHOLDER, AnswerFormat, RequestedFormat
from svc.assistant.findings import AnyFinding, Severity, columns
from svc.assistant.skills.skill import Skill
from svc.untrusted.characters import on_one_line
from svc.untrusted.markup import code_block, code_span, escape, plural, table

MAX_CHARS = 200_000  # of one answer's data; the findings message has them all
MAX_LOOKED_AT = 2_000  # findings that a format's places are looked for in
MAX_LINES = 500  # of a format of one line, a line each finding
MAX_CELLS = 12  # columns of a Markdown table; CSV and JSON have every one
UNKNOWN = "unknown"
Scalar = str | int | float | bool | None
TableRow = dict[str, "Scalar | list[Scalar]"]
Value = Scalar | list[Scalar] | list[TableRow]
Row = dict[str, Value]

_OTHER_NAMES = {
    "address": ("source", "value", "ip"),
    "cwe": ("cwe", "cwe_id", "id"),
    "description": ("description", "text", "summary"),
    "explanation": ("why",),
    "finding": ("title",),
    "host": ("host", "computer", "hosts"),
    "id": ("id", "cwe", "technique", "cve", "technique_id", "cwe_id"),
    "indicator": ("value",),
    "ioc": ("value",),
    "ip": ("source", "value", "address"),
    "mitre": ("techniques", "technique", "id"),
    "name": ("name", "account", "value", "title"),
    "plaintext": ("text",),
    "rating": ("severity",),
    "reason": ("why",),
    "result": ("text", "score", "verdict", "value", "title"),
    "score": ("score", "base_score"),
    "tactic": ("tactic", "tactics"),
    "technique": ("techniques", "technique", "id"),
    "text": ("text", "excerpt"),
    "time": ("time", "first"),
    "user": ("account", "user"),
    "username": ("account", "user"),
    "vector": ("vector",),
    "verdict": ("verdict", "title"),
    "weakness": ("cwe", "name"),
    "number": ("score", "count", "failures"),
    "count": ("count", "failures", "hits"),
    "attempts": ("failures", "attempts"),
}
_TYPES = {
    "domains": ("domain",),
    "ips": ("ipv4", "ipv6"),
    "ip_addresses": ("ipv4", "ipv6"),
    "addresses": ("ipv4", "ipv6"),
    "urls": ("url",),
    "hashes": ("md5", "sha1", "sha256", "sha512"),
    "emails": ("email",),
    "cves": ("cve",),
}


def main_findings(skill: Skill, findings: Sequence[AnyFinding]) -> list[AnyFinding]:
    """The findings of the first of the skill's kinds that any is of."""
    for kind in skill.kinds:
        if found := [finding for finding in findings if finding.kind == kind]:
            return found
    return []


def structured_answer(requested: RequestedFormat, groups: Sequence[tuple[Skill, Sequence[AnyFinding]]]) -> str:
    """The answer in the form that is wanted; it says so where nothing was found to put into it."""
    rows = [row_of(finding) for skill, findings in groups for finding in main_findings(skill, findings)]
    match requested.format:
        case AnswerFormat.TEMPLATE:
            every = [row_of(finding) for _, findings in groups for finding in findings[:MAX_LOOKED_AT]]
            return _filled(requested.template, rows, every) + "\n"
        case AnswerFormat.JSON:
            return _json_block([_without_empty(row) for row in rows])
        case AnswerFormat.CSV:
            return _csv_block(rows)
        case _:
            return _tables(groups)


def row_of(finding: AnyFinding) -> Row:
    """A finding as one row: its facts first, then what every finding has."""
    evidence = finding.evidence[0] if finding.evidence else None
    techniques: list[Scalar] = [*finding.techniques]
    common: Row = {
        "title": finding.title,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "why": finding.why,
        "techniques": techniques,
        "evidence": evidence.source if evidence else None,
        "line": (evidence.line or evidence.record) if evidence else None,
        "excerpt": evidence.excerpt if evidence else None,
    }
    facts = cast("Row", columns(finding))
    return {"kind": finding.kind} | facts | {name: value for name, value in common.items() if name not in facts}


def _without_empty(row: Row) -> Row:
    return {name: value for name, value in row.items() if value not in (None, "", [])}


def _columns(rows: Sequence[Row]) -> list[str]:
    """Every name that any row has a value for, in the order in which they first come."""
    return list(dict.fromkeys(name for row in rows for name in _without_empty(row)))


def _json_block(rows: Sequence[Row]) -> str:
    kept = list(rows)
    while len(text := json.dumps(kept, indent=2, ensure_ascii=False)) > MAX_CHARS:
        kept = kept[: len(kept) // 2]
    return code_block(text, "json", limit=MAX_CHARS) + _rest(len(rows), len(kept))


def _csv_block(rows: Sequence[Row]) -> str:
    columns = _columns(rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    written = 0
    for row in rows:
        if out.tell() > MAX_CHARS:
            break
        writer.writerow([_inert(_in_words(row.get(name), "")) for name in columns])
        written += 1
    return code_block(out.getvalue(), "csv", limit=2 * MAX_CHARS) + _rest(len(rows), written)


def _inert(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula (OWASP, "CSV Injection"): an apostrophe before it."""
    return (
        f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") and not re.fullmatch(r"[+-]?[\d.,]+", cell) else cell
    )


def _rest(count: int, shown: int) -> str:
    return "\n" if count == shown else f"\n\n… and {plural(count - shown, 'row')} more, in the attached findings.\n"


def _tables(groups: Sequence[tuple[Skill, Sequence[AnyFinding]]]) -> str:
    blocks = []
    for skill, findings in groups:
        rows = [row_of(finding) for finding in main_findings(skill, findings)]
        columns = [name for name in _columns(rows) if name not in ("kind", "confidence", "excerpt")][:MAX_CELLS]
        if not rows:
            continue
        cells = [[code_span(_in_words(row.get(name), "-")) for name in columns] for row in rows]
        heading = f"**{escape(skill.title)}:** {plural(len(rows), 'row')}\n\n" if len(groups) > 1 else ""
        blocks.append(
            heading + table([escape(name.replace("_", " ").capitalize()) for name in columns], cells, limit=200)
        )
    return "\n\n".join(blocks or ["**Nothing found** to put into a table."]) + "\n"


def _in_words(value: Value, absent: str = UNKNOWN) -> str:
    if value is None or value == "" or value == []:
        return absent
    if isinstance(value, list):
        return ", ".join(" ".join(map(str, one.values())) if isinstance(one, dict) else str(one) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return on_one_line(str(value))


def _filled(template: str, rows: Sequence[Row], every: Sequence[Row]) -> str:
    """``rows`` are what a list is made of; a single place takes the first of these that has it, else of ``every``."""
    as_json = _as_json(template)
    first = _first_values([*rows[:1], *every])
    if as_json is not None:
        filled = _fill(as_json, rows, first)
        return code_block(json.dumps(filled, indent=2, ensure_ascii=False), "json", limit=MAX_CHARS)
    if "\n" in template.strip():
        return code_block(_fill_words(template, first, on_one_line), limit=MAX_CHARS)
    places = [*PLACEHOLDER.finditer(template)]
    is_one = len(places) == 1 and places[0][0] == template.strip() and not _normal(template).endswith("s")
    shown = [first] if is_one else rows[:MAX_LINES]
    return "  \n".join(_fill_words(template, row, _shown) for row in shown or [{}])


def last_line(thing: str, groups: Sequence[tuple[Skill, Sequence[AnyFinding]]]) -> str:
    """What the first finding has under a name, alone on a line of its own under the answer."""
    rows = [row_of(finding) for skill, findings in groups for finding in main_findings(skill, findings)]
    return _shown(_in_words(_value(thing, _first_values(rows[:1])))) + "\n"


def _first_values(rows: Sequence[Row]) -> Row:
    """One row with, for each name, the first value that any row has; the severity is the worst where the first has
    none to speak of."""
    values: Row = {}
    for row in rows:
        values = _without_empty(row) | values
    if values.get("severity") == Severity.INFO.value:
        values["severity"] = min(
            (str(row["severity"]) for row in rows), key=[severity.value for severity in Severity].index
        )
    return values


def _fill_words(template: str, row: Row, show: Callable[[str], str]) -> str:
    """The words around the places are the user's own prompt; what fills a place is a finding's: evidence."""
    pieces: list[str] = []
    at = 0
    for place in PLACEHOLDER.finditer(template):
        before = template[at : place.start()]
        name = next((group for group in place.groups()[:3] if group), None) or _label_before(before)
        pieces += [before, show(_in_words(_value(name, row)))]
        at = place.end()
    return "".join([*pieces, template[at:]])


def _label_before(before: str) -> str:
    """``Score: ...`` names its place by what stands before it."""
    return re.split(r"[\n,;|]", before)[-1].strip(" :=-*\t")


def _shown(words: str) -> str:
    return words if re.fullmatch(r"[\w ,:/+.()-]{0,200}", words) else code_span(words, limit=2_000)


def _as_json(template: str) -> object | None:
    """A template that is JSON once its bare placeholders stand in quotes; None for one that is not."""
    text = template.strip()
    if text[:1] not in ("{", "["):
        return None
    quoted = re.sub(r'(?<![\w"])(<[^<>"\n]{1,60}>|\.\.\.|…)(?!")', r'"\1"', text)
    quoted = re.sub(r"(?<=[:\[,])\s*(?!true\b|false\b|null\b)([A-Za-z][\w |/-]*?)\s*(?=[,}\]])", r' "\1"', quoted)
    for candidate in (text, quoted, quoted.replace("'", '"')):
        try:
            parsed: object = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return parsed
    return None


def _fill(shape: object, rows: Sequence[Row], first: Row, key: str = "") -> object:
    """The shape with each leaf replaced by the value that its key names; a list's one element stands for all rows."""
    match shape:
        case dict():
            return {name: _fill(inner, rows, first, str(name)) for name, inner in shape.items()}
        case [dict() as element, *_]:
            return [_fill(element, [row], row, key) for row in rows]
        case list():
            return list(_listed(key, rows)) or list(_listed(key, [first]))
        case _:
            return _value(key, first)


def _listed(key: str, rows: Sequence[Row]) -> Iterator[Scalar | TableRow]:
    """Every row's value for a key in the plural, each once."""
    types = _TYPES.get(_normal(key))
    kept = [row for row in rows if types is None or row.get("type") in types]
    name = "value" if types else key
    seen: list[Scalar | TableRow] = []
    for row in kept:
        value = _value(name, row)
        seen += [one for one in (value if isinstance(value, list) else [value]) if one is not None and one not in seen]
    yield from seen


def _normal(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _value(name: str, row: Row) -> Value:
    """What a row has under a name: that very attribute, one of its other names, or one whose words hold it."""
    requested = _normal(name)
    tried = [requested, *_OTHER_NAMES.get(requested, ())]
    if requested.endswith("s"):
        tried += [requested[:-1], *_OTHER_NAMES.get(requested[:-1], ())]
    tried += [other for word in requested.split("_") for other in (word, *_OTHER_NAMES.get(word, ()))]
    for candidate in tried:
        value = row.get(candidate)
        if value not in (None, "", []):
            if isinstance(value, list) and not requested.endswith("s") and not isinstance(value[0], dict):
                return value[0]
            return value
    return None
