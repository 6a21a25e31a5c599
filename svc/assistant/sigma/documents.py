"""Bring the documents of Sigma files into the form that pySigma reads, without a change of meaning.

Public rules differ in form: fields of the description that are not lists, numbers as values of text modifiers,
operators in upper case, the old ``action: global``, correlations without their section. A fault in what only describes
a rule does not stop it from running; what decides when it matches is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date

from sigma.rule import SigmaStatus

MAX_TITLE_CHARS = 256
_RENAMED = {"utf16le": "wide", "equalsfield": "fieldref"}  # modifiers that pySigma knows by another name
_TEXT_MODIFIERS = frozenset(
    {
        "contains",
        "startswith",
        "endswith",
        "windash",
        "base64",
        "base64offset",
        "wide",
        "utf16",
        "utf16be",
        "re",
        "cased",
    }
)
_NUMBER_MODIFIERS = frozenset({"lt", "lte", "gt", "gte", "minute", "hour", "day", "week", "month", "year"})
_OPERATOR = re.compile(r"\b(?:AND|OR|NOT|ALL|ANY|OF|THEM)\b")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,6})?")
_UNICODE_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\u([0-9A-Fa-f]{4})")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{4}/\d{1,2}/\d{1,2}")
_LISTS = ("references", "falsepositives", "fields", "tags")
_TEXTS = ("description", "author")
_CORRELATION = frozenset({"type", "rules", "group-by", "timespan", "aliases", "condition", "generate"})


def documents_of(contents: Iterable[object]) -> Iterator[object]:
    """Yield the documents of a file: without empty ones, each with what an ``action: global`` gives to all."""
    shared: dict[object, object] = {}
    for content in contents:
        if content is None:
            continue
        if isinstance(content, dict) and content.get("action") == "global":
            shared = {key: value for key, value in content.items() if key != "action"}
            continue
        yield _in_sections(_merged(shared, content) if shared and isinstance(content, dict) else content)


def readable(document: dict[str, object]) -> dict[str, object]:
    """Return a rule, a correlation or a filter in the form that pySigma reads."""
    found = {key: value for key, value in document.items() if key != "related"}
    found |= {key: [value] for key in _LISTS if isinstance(value := document.get(key), str)}
    found |= {key: ", ".join(map(str, value)) for key in _TEXTS if isinstance(value := document.get(key), list)}
    if isinstance(title := document.get("title"), str):
        found["title"] = title[:MAX_TITLE_CHARS]
    if isinstance(tags := found.get("tags"), list):
        found["tags"] = [tag for tag in tags if isinstance(tag, str) and "." in tag.strip(".")]
    for key, is_valid in (("id", _is_id), ("status", _is_status), ("date", _is_date), ("modified", _is_date)):
        if key in found and not is_valid(found[key]):
            del found[key]
    if isinstance(detection := document.get("detection"), dict):
        found["detection"] = _detection(detection)
    return found


def _in_sections(content: object) -> object:
    """Return a document with its correlation in the section of that name, and the IDs of named rules as a list."""
    if not isinstance(content, dict) or "detection" in content or not {"type", "rules", "timespan"} <= content.keys():
        return content
    section = {key: value for key, value in content.items() if key in _CORRELATION}
    if isinstance(section["rules"], dict):
        section["rules"] = list(section["rules"].values())
    return {**{key: value for key, value in content.items() if key not in _CORRELATION}, "correlation": section}


def _merged(shared: dict[object, object], own: dict[object, object]) -> dict[object, object]:
    """Return a document with what it shares, also within its sections; its own values precede."""
    found = {**shared, **own}
    for key in shared.keys() & own.keys():
        inner, given = shared[key], own[key]
        if isinstance(inner, dict) and isinstance(given, dict):
            found[key] = {**inner, **given}
    return found


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def _is_status(value: object) -> bool:
    return isinstance(value, str) and value.upper() in SigmaStatus.__members__


def _is_date(value: object) -> bool:
    return isinstance(value, date) or (isinstance(value, str) and _DATE.fullmatch(value) is not None)


def _detection(detection: dict[object, object]) -> dict[object, object]:
    found: dict[object, object] = {str(name): _search(value) for name, value in detection.items()}
    for name in ("condition", "timeframe"):
        if name in detection:
            found[name] = detection[name]
    if isinstance(condition := detection.get("condition"), str):
        found["condition"] = _OPERATOR.sub(
            lambda operator: operator[0] if operator[0] in detection else operator[0].lower(), condition
        )
    return found


def _search(value: object) -> object:
    if isinstance(value, list):
        return [_search(one) for one in value]
    if isinstance(value, dict):
        return {_name(str(key)): _values(str(key), one) for key, one in value.items()}
    return _plain(value)


def _name(key: str) -> str:
    field, *modifiers = key.split("|")
    return "|".join([field, *(_RENAMED.get(modifier, modifier) for modifier in modifiers)])


def _values(key: str, value: object) -> object:
    """Return the values of a field, as numbers or text if its modifiers need them."""
    modifiers = set(key.split("|")[1:])
    if isinstance(value, list):
        return [_value(modifiers, one) for one in value]
    return _value(modifiers, value)


def _value(modifiers: set[str], value: object) -> object:
    if "exists" in modifiers and value in ("true", "True", "false", "False"):
        return value in ("true", "True")
    if modifiers & _NUMBER_MODIFIERS and isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value) if "." in value else int(value)
    if modifiers & _TEXT_MODIFIERS and isinstance(value, bool | int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if "re" in modifiers and isinstance(value, str):
        return _expression(value)
    return _plain(value)


def _expression(text: str) -> str:
    """Return a regular expression with the escapes that the linear-time engine has."""
    text = _UNICODE_ESCAPE.sub(r"\1\\x{\2}", text)
    return text.removesuffix(r"\Z") + r"\z" if text.endswith(r"\Z") and not text.endswith(r"\\Z") else text


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value  # YAML reads a date without quotes as one
