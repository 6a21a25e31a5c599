"""Render findings as a table, CSV or JSON, or fill in a template that the user gave. Pure.

Each row is one finding of the skill's main kind (the first of ``Skill.kinds`` that was found). A placeholder for which
no finding has a value becomes ``null`` in JSON and ``unknown`` in text: nothing is made up.
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
MAX_SEARCHED = 2_000  # findings searched for the values of placeholders
MAX_LINES = 500  # of a one-line template, which is repeated for each finding
MAX_CELLS = 12  # columns of a Markdown table; CSV and JSON have every one
UNKNOWN = "unknown"
Scalar = str | int | float | bool | None
TableRow = dict[str, "Scalar | list[Scalar]"]
Value = Scalar | list[Scalar] | list[TableRow]
Row = dict[str, Value]

_SYNONYMS = {
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
    """The findings of the first of the skill's kinds that occurs."""
    for kind in skill.kinds:
        if found := [finding for finding in findings if finding.kind == kind]:
            return found
    return []


def structured_answer(requested: RequestedFormat, groups: Sequence[tuple[Skill, Sequence[AnyFinding]]]) -> str:
    """The answer in the requested format; an empty table says that nothing was found."""
    rows = [row_of(finding) for skill, findings in groups for finding in main_findings(skill, findings)]
    match requested.format:
        case AnswerFormat.TEMPLATE:
            every = [row_of(finding) for _, findings in groups for finding in findings[:MAX_SEARCHED]]
            return _fill_template(requested.template, rows, every) + "\n"
        case AnswerFormat.JSON:
            return _json_block([_without_empty(row) for row in rows])
        case AnswerFormat.CSV:
            return _csv_block(rows)
        case _:
            return _tables(groups)


def row_of(finding: AnyFinding) -> Row:
    """A finding as one row: its facts first, then the fields that every finding has."""
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
    return code_block(text, "json", limit=MAX_CHARS) + _omitted(len(rows), len(kept))


def _csv_block(rows: Sequence[Row]) -> str:
    columns = _columns(rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    written = 0
    for row in rows:
        if out.tell() > MAX_CHARS:
            break
        writer.writerow([_without_formula(_as_text(row.get(name), "")) for name in columns])
        written += 1
    return code_block(out.getvalue(), "csv", limit=2 * MAX_CHARS) + _omitted(len(rows), written)


def _without_formula(cell: str) -> str:
    """A cell that no spreadsheet evaluates: formulas get a leading apostrophe (OWASP, "CSV Injection")."""
    return (
        f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") and not re.fullmatch(r"[+-]?[\d.,]+", cell) else cell
    )


def _omitted(count: int, shown: int) -> str:
    return "\n" if count == shown else f"\n\n… and {plural(count - shown, 'more row')} in the attached findings.\n"


def _tables(groups: Sequence[tuple[Skill, Sequence[AnyFinding]]]) -> str:
    blocks = []
    for skill, findings in groups:
        rows = [row_of(finding) for finding in main_findings(skill, findings)]
        columns = [name for name in _columns(rows) if name not in ("kind", "confidence", "excerpt")][:MAX_CELLS]
        if not rows:
            continue
        cells = [[code_span(_as_text(row.get(name), "-")) for name in columns] for row in rows]
        heading = f"**{escape(skill.title)}:** {plural(len(rows), 'row')}\n\n" if len(groups) > 1 else ""
        blocks.append(
            heading + table([escape(name.replace("_", " ").capitalize()) for name in columns], cells, limit=200)
        )
    return "\n\n".join(blocks or ["**Nothing found.** The table has no rows."]) + "\n"


def _as_text(value: Value, absent: str = UNKNOWN) -> str:
    if value is None or value == "" or value == []:
        return absent
    if isinstance(value, list):
        return ", ".join(" ".join(map(str, one.values())) if isinstance(one, dict) else str(one) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return on_one_line(str(value))


def _fill_template(template: str, rows: Sequence[Row], every: Sequence[Row]) -> str:
    """Fill a template: a list from all ``rows``, a single value from the first row or else from ``every``."""
    shape = _as_json(template)
    first = _first_values([*rows[:1], *every])
    if shape is not None:
        filled = _fill(shape, rows, first)
        return code_block(json.dumps(filled, indent=2, ensure_ascii=False), "json", limit=MAX_CHARS)
    if "\n" in template.strip():
        return code_block(_fill_text(template, first, on_one_line), limit=MAX_CHARS)
    placeholders = [*PLACEHOLDER.finditer(template)]
    is_one = (
        len(placeholders) == 1 and placeholders[0][0] == template.strip() and not _normalize(template).endswith("s")
    )
    shown = [first] if is_one else rows[:MAX_LINES]
    return "  \n".join(_fill_text(template, row, _as_markdown) for row in shown or [{}])


def last_line(thing: str, groups: Sequence[tuple[Skill, Sequence[AnyFinding]]]) -> str:
    """The value of the first finding for ``thing``, as the last line of an answer in prose."""
    rows = [row_of(finding) for skill, findings in groups for finding in main_findings(skill, findings)]
    return _as_markdown(_as_text(_value(thing, _first_values(rows[:1])))) + "\n"


def _first_values(rows: Sequence[Row]) -> Row:
    """One row with, for each name, the first value that any row has.

    If that severity is ``info``, the worst severity of all rows is used: a first finding that only describes the input
    must not hide a severe one.
    """
    values: Row = {}
    for row in rows:
        values = _without_empty(row) | values
    if values.get("severity") == Severity.INFO.value:
        values["severity"] = min(
            (str(row["severity"]) for row in rows), key=[severity.value for severity in Severity].index
        )
    return values


def _fill_text(template: str, row: Row, show: Callable[[str], str]) -> str:
    """Fill the placeholders. Text around them is the user's own prompt; values are evidence and go through ``show``."""
    pieces: list[str] = []
    at = 0
    for placeholder in PLACEHOLDER.finditer(template):
        before = template[at : placeholder.start()]
        name = next((group for group in placeholder.groups()[:3] if group), None) or _label_before(before)
        pieces += [before, show(_as_text(_value(name, row)))]
        at = placeholder.end()
    return "".join([*pieces, template[at:]])


def _label_before(before: str) -> str:
    """The name of an anonymous placeholder: ``Score`` in ``Score: ...``."""
    return re.split(r"[\n,;|]", before)[-1].strip(" :=-*\t")


def _as_markdown(words: str) -> str:
    return words if re.fullmatch(r"[\w ,:/+.()-]{0,200}", words) else code_span(words, limit=2_000)


def _as_json(template: str) -> object | None:
    """A template parsed as JSON, with bare placeholders quoted first; None if it is not JSON."""
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
    """Replace each leaf by the value that its key names; a list's first object is repeated for each row."""
    match shape:
        case dict():
            return {name: _fill(inner, rows, first, str(name)) for name, inner in shape.items()}
        case [dict() as element, *_]:
            return [_fill(element, [row], row, key) for row in rows]
        case list():
            return list(_all_values(key, rows)) or list(_all_values(key, [first]))
        case _:
            return _value(key, first)


def _all_values(key: str, rows: Sequence[Row]) -> Iterator[Scalar | TableRow]:
    """The values of all rows for a key in the plural, without repetition."""
    types = _TYPES.get(_normalize(key))
    kept = [row for row in rows if types is None or row.get("type") in types]
    name = "value" if types else key
    seen: list[Scalar | TableRow] = []
    for row in kept:
        value = _value(name, row)
        seen += [one for one in (value if isinstance(value, list) else [value]) if one is not None and one not in seen]
    yield from seen


def _normalize(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _value(name: str, row: Row) -> Value:
    """A row's value for a name: the field itself, one of its synonyms, or a field named by one of its words."""
    requested = _normalize(name)
    tried = [requested, *_SYNONYMS.get(requested, ())]
    if requested.endswith("s"):
        tried += [requested[:-1], *_SYNONYMS.get(requested[:-1], ())]
    tried += [other for word in requested.split("_") for other in (word, *_SYNONYMS.get(word, ()))]
    for candidate in tried:
        value = row.get(candidate)
        if value not in (None, "", []):
            if isinstance(value, list) and not requested.endswith("s") and not isinstance(value[0], dict):
                return value[0]
            return value
    return None
