"""Explain Sigma rules in words: where they apply, what must match, and whether they compile here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import yaml

from svc.assistant.skills.indicators.intel.content import text_of
from svc.assistant.skills.indicators.intel.findings import DetectionRule

MAX_SELECTIONS = 40
MAX_VALUES = 6  # named of a list
MAX_DEPTH = 8
MAX_REASON_CHARS = 300
MISSING = "install svc-jupyter[sigma] to compile Sigma rules"
_HOW = {
    "contains": "contains", "startswith": "starts with", "endswith": "ends with", "re": "matches the expression",
    "cidr": "is in the network", "lt": "is less than", "lte": "is at most", "gt": "is greater than",
    "gte": "is at least", "exists": "exists:", "fieldref": "equals the field", "base64": "contains, in Base64,",
    "base64offset": "contains, in Base64,", "expand": "equals the placeholder", "neq": "is not",
}  # fmt: skip
_REMARKS = {"cased": "in this spelling", "windash": "with any dash", "wide": "in UTF-16", "utf16le": "in UTF-16"}
_TECHNIQUE = re.compile(r"attack\.(t\d{4}(?:\.\d{3})?)\Z", re.IGNORECASE)
_TACTIC = re.compile(r"attack\.([a-z_-]{4,40})\Z", re.IGNORECASE)


def explained(text: str) -> Iterator[DetectionRule]:
    """Yield each rule of a YAML file."""
    try:
        documents = [one for one in yaml.safe_load_all(text) if one is not None]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:MAX_REASON_CHARS]
        yield _rule({}, f"it is not YAML: {reason}")
        return
    reasons = _reasons(text)
    for number, document in enumerate(documents):
        rule = document if isinstance(document, dict) else {}
        yield _rule(rule, reasons[number] if number < len(reasons) else "it is not a rule")


def _reasons(text: str) -> list[str]:
    """For each rule why it does not compile, "" if it does."""
    try:
        from svc.assistant.sigma.compile import Rejected, compile_text
    except ImportError:
        return [MISSING] * (text.count("\n---") + 1)
    return [one.reason if isinstance(one, Rejected) else "" for one in compile_text(text, file="")]


def _rule(rule: Mapping[str, object], reason: str) -> DetectionRule:
    detection = rule.get("detection")
    correlation = rule.get("correlation")
    parts = dict(detection) if isinstance(detection, dict) else {}
    condition = parts.pop("condition", "")
    timeframe = parts.pop("timeframe", None)
    must_match = [f"{name}: {_selection(value)}" for name, value in list(parts.items())[:MAX_SELECTIONS]]
    if isinstance(correlation, dict):
        must_match, condition = _correlation(correlation), text_of(correlation.get("type"))
    tags = [text_of(tag) for tag in _list(rule.get("tags"))]
    written = " or ".join(map(text_of, _list(condition)))
    return DetectionRule(
        language="Sigma",
        name=text_of(rule.get("title")) or "rule without a title",
        rule_id=text_of(str(rule.get("id") or "")),
        level=text_of(rule.get("level")) or "not stated",
        author=text_of(rule.get("author")),
        description=text_of(rule.get("description")),
        log_source=_log_source(rule.get("logsource")),
        must_match=must_match,
        condition=written + (f" within {timeframe}" if timeframe else ""),
        meaning=_meaning(written),
        false_positives=[text_of(one) for one in _list(rule.get("falsepositives")) if text_of(one)],
        techniques=[match[1].upper() for tag in tags if (match := _TECHNIQUE.match(tag))],
        tactics=[match[1].replace("_", "-") for tag in tags if (match := _TACTIC.match(tag))],
        compiles=not reason,
        reason=reason,
    )


def _log_source(source: object) -> str:
    if not isinstance(source, dict):
        return "not stated"
    names = {name: text_of(source.get(name)) for name in ("product", "service", "category")}
    said = [f"{name} {value}" for name, value in names.items() if value]
    return ", ".join(said) or "any log"


def _correlation(correlation: Mapping[str, object]) -> list[str]:
    """What a correlation counts, by which fields and within which time."""
    rules = ", ".join(text_of(str(one)) for one in _list(correlation.get("rules")))
    groups = ", ".join(text_of(str(one)) for one in _list(correlation.get("group-by")))
    said = [f"events of the rules: {rules}"]
    said += [f"for each {groups}"] if groups else []
    said += [f"within {correlation['timespan']}"] if correlation.get("timespan") else []
    counted = correlation.get("condition")
    if isinstance(counted, dict):
        field = f" different values of {text_of(counted['field'])}" if "field" in counted else " events"
        names = ("gte", "gt", "lte", "lt", "eq")
        said += [f"{_HOW.get(name, 'is')} {counted[name]}{field}" for name in names if name in counted]
    return said


def _selection(value: object, depth: int = 0) -> str:
    """One selection in words: all fields of a mapping, any entry of a list."""
    if depth > MAX_DEPTH:
        return "…"
    if isinstance(value, dict):
        return " and ".join(_field(str(name), one) for name, one in value.items()) or "any event"
    if isinstance(value, list):
        shown = [_selection(one, depth + 1) for one in value[:MAX_VALUES]]
        more = f" or {len(value) - MAX_VALUES:,} more" if len(value) > MAX_VALUES else ""
        is_text = all(not isinstance(one, dict | list) for one in value)
        return ("the event contains " if is_text and not depth else "") + " or ".join(shown) + more
    return repr(value) if isinstance(value, str) else str(value)


def _field(name: str, value: object) -> str:
    field, *modifiers = name.split("|")
    how = next((_HOW[one] for one in modifiers if one in _HOW), "is")
    remarks = [_REMARKS[one] for one in modifiers if one in _REMARKS]
    joiner = " and " if "all" in modifiers else " or "
    values = _list(value) if value is not None else [None]
    shown = ["empty" if one is None else f"'{text_of(str(one))}'" for one in values[:MAX_VALUES]]
    more = f"{joiner}{len(values) - MAX_VALUES:,} more" if len(values) > MAX_VALUES else ""
    said = f"{field or 'the event'} {how} {joiner.join(shown)}{more}"
    return said + (f" ({', '.join(remarks)})" if remarks else "")


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [] if value is None or value == "" else [value]


def _meaning(condition: str) -> str:
    """The condition with ``1 of`` and ``all of`` written out."""
    said = re.sub(r"\b(?:1|any) of them\b", "at least one of the selections", condition)
    said = re.sub(r"\ball of them\b", "all of the selections", said)
    said = re.sub(r"\b(?:1|any) of (\S+)", r"at least one of \1", said)
    return said if said != condition else ""
