"""Write an answer in the requested format: a table, CSV, JSON, XML, a template, a value, a number of sentences. Pure.

What no finding has becomes ``null`` in data and ``unknown`` in text, and a list is null if nothing was examined:
nothing is made up, and no value of an example is ever taken over.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape as escape_xml

from svc.assistant.analyst.asked_values import (
    TYPES,
    Groups,
    Results,
    Row,
    Scalar,
    Value,
    field_of,
    main_findings,
    normalize,
    row_of,
    without_empty,
)
from svc.assistant.analyst.choices import chosen
from svc.assistant.analyst.contract import OF_PART
from svc.assistant.analyst.format_types import CANNOT_TELL, PLACEHOLDER, UNKNOWN, AnswerFormat, RequestedFormat
from svc.assistant.analyst.questions.things import NOUNS, things_of
from svc.assistant.analyst.schema_filling import UnfillableError, filled
from svc.assistant.analyst.short_prose import facts_in_sentences, headline
from svc.assistant.analyst.templates import parse_shape
from svc.assistant.analyst.yes_or_no import decide, said_in
from svc.assistant.spool import worst_first
from svc.untrusted.characters import on_one_line
from svc.untrusted.markup import code_block, code_span, escape, plural, table

MAX_CHARS = 200_000  # of one answer's data; the findings message has them all
MAX_LINES = 500  # of a one-line template, which is repeated for each finding
MAX_CELLS = 12  # columns of a Markdown table; CSV and JSON have every one
NONE = "none"
_NOT_DETERMINED = "not determined from the input"


def formatted_answer(requested: RequestedFormat, prose: str, groups: Groups, *, is_examined: bool) -> str:
    """The whole answer: ``prose`` with the requested last line, or the answer in the requested format.

    Args:
        requested: The format.
        prose: The answer as the analyst writes it if no format is requested.
        groups: The findings by skill.
        is_examined: Whether a tool examined any input; otherwise the format says that the answer is unknown.
    """
    if requested.format is not AnswerFormat.PROSE:
        return structured_answer(requested, groups, is_examined=is_examined, prose=prose)
    if not requested.last_line:
        return prose
    return f"{prose.rstrip()}\n\n{last_line(requested, groups, is_examined=is_examined, prose=prose)}"


def structured_answer(requested: RequestedFormat, groups: Groups, *, is_examined: bool = True, prose: str = "") -> str:
    """The answer in the requested format; ``formatted_answer`` describes the arguments."""
    results = Results(groups, requested.prompt, is_examined=is_examined)
    match requested.format:
        case AnswerFormat.TEMPLATE:
            return _fill_template(requested, results) + "\n"
        case AnswerFormat.SCHEMA:
            return _fill_schema(requested, results, prose) + "\n"
        case AnswerFormat.XML:
            return _data(_fill_xml(requested.template, results), "xml", requested) + "\n"
        case AnswerFormat.JSON:
            return _json_rows(requested, results, prose)
        case AnswerFormat.CSV:
            return _csv_rows(requested, results)
        case AnswerFormat.YES_NO | AnswerFormat.CHOICE:
            return _choice(requested, results, prose) + "\n"
        case AnswerFormat.LIST:
            return _comma_list(requested, requested.template or "answer", results) + "\n"
        case AnswerFormat.BULLETS | AnswerFormat.NUMBERED | AnswerFormat.SENTENCES | AnswerFormat.LINES:
            return _short_prose(requested, results, prose) + "\n"
        case _:
            return _tables(requested, results)


def last_line(requested: RequestedFormat, groups: Groups, *, is_examined: bool = True, prose: str = "") -> str:
    """The requested last line of an answer in prose."""
    results = Results(groups, requested.prompt, is_examined=is_examined)
    if requested.choices:
        words = _choice(requested, results, prose)
    elif requested.is_list or normalize(requested.last_line).endswith("s"):
        words = _comma_list(requested, requested.last_line, results)
    else:
        words = _as_text(_with_parent(requested, results.value(requested.last_line)))
    if requested.last_line_form.startswith("<"):
        return _tagged(requested.last_line_form, words) + "\n"
    return requested.last_line_form.format(_as_markdown(words)) + "\n"


def _tagged(form: str, words: str) -> str:
    """A value in tags: fenced if it could be read as markup, and escaped only if it could be taken for a tag."""
    whole = form.format(escape_xml(words) if "<" in words else words)
    return whole if _is_plain(words) else code_block(whole, "xml", limit=MAX_CHARS)


def _data(text: str, language: str, requested: RequestedFormat) -> str:
    """Data as a code block, or bare if the prompt or the API asks for that."""
    return text if requested.is_bare else code_block(text, language, limit=2 * MAX_CHARS)


def _columns(rows: Sequence[Row]) -> list[str]:
    """Every name that any row has a value for, in the order in which they first come."""
    return list(dict.fromkeys(name for row in rows for name in without_empty(row)))


def _json_rows(requested: RequestedFormat, results: Results, prose: str) -> str:
    rows = [without_empty(row) for row in results.main]
    if requested.is_required:  # an object
        shown = headline(prose) or None
        known = rows if results.is_examined or rows else None
        return json.dumps({"answer": shown, "findings": known}, ensure_ascii=False) + "\n"
    if not rows and not results.is_examined:
        return _data("null", "json", requested) + "\n"
    kept = list(rows)
    while len(text := json.dumps(kept, indent=2, ensure_ascii=False)) > MAX_CHARS and not requested.is_bare:
        kept = kept[: len(kept) // 2]
    return _data(text, "json", requested) + _omitted(len(rows) + results.left_out, len(kept))


def _csv_rows(requested: RequestedFormat, results: Results) -> str:
    rows = results.rows_for(requested.columns) if requested.columns else results.main
    names = list(requested.columns) or _columns(rows) or ["finding"]
    cells = [[_cell(row, name, "" if not requested.columns else UNKNOWN) for name in names] for row in rows]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    written = 0
    for row in cells or _blank(names, results):
        if out.tell() > MAX_CHARS:
            break
        writer.writerow([_without_formula(cell) for cell in row])
        written += 1
    return _data(out.getvalue(), "csv", requested) + _omitted(len(cells) + results.left_out, min(written, len(cells)))


def _cell(row: Row, name: str, absent: str) -> str:
    value = row.get(name)
    return _as_text(value if value not in (None, "", []) else field_of(row, name), absent)


def _blank(names: Sequence[str], results: Results) -> list[list[str]]:
    """The only row of a table without results: none if the input was examined, else a row that says unknown."""
    return [] if results.is_examined and not results.every else [[UNKNOWN] * len(names)]


def _without_formula(cell: str) -> str:
    """A cell that no spreadsheet evaluates: formulas get a leading apostrophe (OWASP, "CSV Injection")."""
    return (
        f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") and not re.fullmatch(r"[+-]?[\d.,]+", cell) else cell
    )


def _omitted(count: int, shown: int) -> str:
    return "\n" if count == shown else f"\n\n… and {plural(count - shown, 'more row')} in the attached findings.\n"


def _tables(requested: RequestedFormat, results: Results) -> str:
    if requested.columns:
        rows = results.rows_for(requested.columns)
        cells = [[code_span(_cell(row, name, UNKNOWN)) for name in requested.columns] for row in rows]
        blank = [[code_span(cell) for cell in row] for row in _blank(requested.columns, results)]
        return table([_header(name) for name in requested.columns], cells or blank, limit=MAX_LINES) + "\n"
    if results.asked:
        names = _columns(results.asked)
        cells = [[code_span(_as_text(row.get(name), "-")) for name in names] for row in results.asked]
        return table([_header(name) for name in names], cells, limit=MAX_LINES, total=len(cells)) + "\n"
    blocks = []
    for skill, findings in results.groups:
        found = main_findings(skill, findings)
        rows = [row_of(finding) for finding in found[:MAX_LINES]]
        columns = [name for name in _columns(rows) if name not in ("kind", "confidence", "excerpt")][:MAX_CELLS]
        if not rows:
            continue
        cells = [[code_span(_as_text(row.get(name), "-")) for name in columns] for row in rows]
        heading = f"**{escape(skill.title)}:** {plural(len(found), 'row')}\n\n" if len(results.groups) > 1 else ""
        titles = [escape(name.replace("_", " ").capitalize()) for name in columns]
        blocks.append(heading + table(titles, cells, limit=200, total=len(found)))
    nothing = "**Nothing found.**" if results.is_examined else "**Not examined.** The answer is unknown."
    return "\n\n".join(blocks or [f"{nothing} The table has no rows."]) + "\n"


def _header(name: str) -> str:
    """The user's own word as it is, unless it could be markup."""
    return name if re.fullmatch(r"[\w .()/#%-]{1,60}", name) else escape(name)


def _as_text(value: Value, absent: str = UNKNOWN) -> str:
    if value is None or value == "" or value == []:
        return absent
    if isinstance(value, list):
        return ", ".join(" ".join(map(str, one.values())) if isinstance(one, dict) else str(one) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return on_one_line(str(value))


def _with_parent(requested: RequestedFormat, value: Value) -> Value:
    """A technique without its sub-technique, if the prompt excludes these."""
    if requested.is_parent_technique and isinstance(value, str):
        return re.sub(r"\A(T\d{4})\.\d{3}\Z", r"\1", value)
    return value


def _comma_list(requested: RequestedFormat, name: str, results: Results) -> str:
    values = [_with_parent(requested, value) for value in results.all_values(name)]
    shown = [_as_markdown(_as_text(value)) for value in dict.fromkeys(map(_as_text, values))]
    return ", ".join(shown) or (NONE if results.is_examined and not results.every else UNKNOWN)


def _choice(requested: RequestedFormat, results: Results, prose: str) -> str:
    """One of the given answers, or that it is unknown."""
    if requested.format is AnswerFormat.YES_NO:
        said = decide(results.question, results.groups, is_examined=results.is_examined) or said_in(headline(prose))
        if said == "no" and OF_PART in prose:
            return CANNOT_TELL
        return next((choice.text for choice in requested.choices if choice.label == said), CANNOT_TELL)
    return chosen(requested.choices, results) or UNKNOWN


def _listed_things(requested: RequestedFormat, results: Results) -> str:
    """The things that are asked for and nothing else, of the worst findings first; one per line."""
    noun = next(one for one in NOUNS if one.words.fullmatch(requested.template))
    values = [_as_markdown(value) for value in things_of(worst_first(results.answering), noun)]
    if not values:
        return NONE if results.is_examined else UNKNOWN
    is_bare = requested.is_bare and requested.format is AnswerFormat.LINES
    return "\n".join(value if is_bare else f"- {value}" for value in values[:MAX_LINES])


def _short_prose(requested: RequestedFormat, results: Results, prose: str) -> str:
    if requested.template:
        return _listed_things(requested, results)
    if requested.format is AnswerFormat.NUMBERED:
        named = [name for name in TYPES if re.search(rf"\b{name}\b", requested.prompt.lower())]
        values = [code_span(_as_text(value)) for value in results.all_values(named[0])] if named else []
        items = values or facts_in_sentences(results.groups, prose, count=0)
        return "\n".join(f"{number}. {item}" for number, item in enumerate(items, start=1))
    sentences = facts_in_sentences(results.groups, prose, count=max(requested.count, 1))
    if requested.format is AnswerFormat.SENTENCES:
        return " ".join(sentences[: max(requested.count, 1)])
    items = sentences if requested.count else facts_in_sentences(results.groups, prose, count=5)
    return "\n".join(f"- {item}" for item in items)


def _fill_schema(requested: RequestedFormat, results: Results, prose: str) -> str:
    """JSON that matches the schema; if the service requires it and no honest value fits, a text that says so."""
    try:
        data = filled(requested.template, results, is_strict=requested.is_required)
    except UnfillableError as error:
        if requested.is_required:
            return f"{headline(prose) or 'Not answered.'} No answer that matches the requested schema: {error}."
        data = None
    return _data(json.dumps(data, indent=2, ensure_ascii=False), "json", requested)


def _fill_template(requested: RequestedFormat, results: Results) -> str:
    """Fill a template: a list from all rows, a single value from the row that answers first."""
    template = requested.template
    shape = parse_shape(template)
    if shape is not None:
        data = _fill(shape, results)
        if requested.is_required and not isinstance(data, dict):
            data = {"results": data}
        return _data(json.dumps(data, indent=2, ensure_ascii=False), "json", requested)
    if "\n" in template.strip():
        return _data(_fill_text(template, results.value, on_one_line), "text", requested)
    placeholders = [*PLACEHOLDER.finditer(template)]
    if requested.choices and len(placeholders) == 1:
        return template.replace(placeholders[0][0], _choice(requested, results, ""))
    if len(placeholders) == 1 and placeholders[0][0] == template.strip():
        return _only(
            requested, results, next(group for group in (*placeholders[0].groups()[:3], "") if group is not None)
        )
    if len(placeholders) == 1 or not results.main:
        return _fill_text(template, results.value, _as_markdown)
    filled_rows = [
        _fill_text(template, lambda name, row=row: _of_row(name, row, results), _as_markdown)  # type: ignore[misc]
        for row in results.main[:MAX_LINES]
    ]
    return "  \n".join(filled_rows)


def _of_row(name: str, row: Row, results: Results) -> Value:
    value = field_of(row, name)
    return value if value is not None or len(results.main) > 1 else results.value(name)


def _only(requested: RequestedFormat, results: Results, name: str) -> str:
    """One value and nothing else."""
    if normalize(name).endswith("s") and normalize(name) not in ("failures", "attempts"):
        values = results.all_values(name)
        if len(values) > 1:
            return "  \n".join(_as_markdown(_as_text(value)) for value in values)
        return _as_markdown(_as_text(values[0] if values else results.value(name)))
    words = _as_text(_with_parent(requested, results.value(name)))
    if requested.is_one_word and len(words.split()) != 1:
        return UNKNOWN
    return _as_markdown(words)


def _fill_text(template: str, value_of: Callable[[str], Value], show: Callable[[str], str]) -> str:
    """Fill the placeholders. Text around them is the user's own prompt; values are evidence and go through ``show``."""
    pieces: list[str] = []
    at = 0
    for placeholder in PLACEHOLDER.finditer(template):
        before = template[at : placeholder.start()]
        name = next((group for group in placeholder.groups()[:3] if group), None) or _label_before(before)
        pieces += [before, show(_as_text(value_of(name)))]
        at = placeholder.end()
    return "".join([*pieces, template[at:]])


def _label_before(before: str) -> str:
    """The name of an anonymous placeholder: ``Score`` in ``Score: ...``."""
    return re.split(r"[\n,;|]", before)[-1].strip(" :=-*\t")


_PLAIN = re.compile(r"[\w ,:/+.()-]{0,200}")


def _is_plain(words: str) -> bool:
    return _PLAIN.fullmatch(words) is not None and "://" not in words


def _as_markdown(words: str) -> str:
    return words if _is_plain(words) else code_span(words, limit=2_000)


_LEAF = re.compile(r"<([A-Za-z_][\w.-]{0,40})((?: [^<>\n]{0,200})?)>([^<>]{0,2000})</\1>")


def _fill_xml(skeleton: str, results: Results) -> str:
    """Fill the text of each element without children; an element that repeats does so for each result."""

    def fill(match: re.Match[str]) -> str:
        value = results.value(match[1])
        if value is None and results.reason() is None and normalize(match[1]) == "reason":
            value = _NOT_DETERMINED
        return f"<{match[1]}{match[2]}>{escape_xml(_as_text(value))}</{match[1]}>"

    return _LEAF.sub(fill, skeleton)


def _fill(shape: object, results: Results, key: str = "") -> object:
    """Replace each leaf by the value that its key names; a list's first object is repeated for each row."""
    match shape:
        case dict():
            return {name: _fill(inner, results, str(name)) for name, inner in shape.items()}
        case [dict() as element, *_]:
            if not results.main and not results.is_examined:
                return None
            rows = results.rows_for([str(name) for name in element])
            return [_fill_row(element, row) for row in rows]
        case list():
            found = results.all_values(key)
            return found if found or results.is_examined else None
        case _:
            return _leaf(shape, key, results)


def _fill_row(element: dict[object, object], row: Row) -> dict[str, object]:
    """One object of a list, from one row."""
    made: dict[str, object] = {}
    for name, inner in element.items():
        value = _cell_value(row, str(name))
        is_single = value is not None and not isinstance(value, list)
        made[str(name)] = [value] if isinstance(inner, list) and is_single else value
    return made


def _cell_value(row: Row, name: str) -> Value:
    value = row.get(name)
    return value if value not in (None, "", []) else field_of(row, name)


def _leaf(shape: object, key: str, results: Results) -> Value:
    value = results.value(key)
    if isinstance(shape, bool):
        return {"yes": True, "no": False}.get(str(value)) if not isinstance(value, bool) else value
    if isinstance(shape, int | float) and isinstance(value, str):
        return _as_number(value)
    if isinstance(shape, str) and value is not None:
        options = [one.strip() for one in re.split(r"[|/]", shape) if one.strip()]
        return next((one for one in options if one.lower() == str(value).lower()), value) if len(options) > 1 else value
    return value


def _as_number(words: str) -> Scalar:
    if re.fullmatch(r"-?\d{1,18}", words):
        return int(words)
    return float(words) if re.fullmatch(r"-?\d{1,18}\.\d{1,18}", words) else None
