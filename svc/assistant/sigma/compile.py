"""Compile Sigma's YAML to rules that run without a library: pySigma parses, this module translates its conditions.

Needs the extra ``sigma``; only the command ``svc rules`` imports it. A rule that cannot be translated is Rejected
with the reason, never dropped: placeholders (``expand``), date parts, correlations, and whatever pySigma itself
rejects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec
import yaml
from sigma.conditions import (
    ConditionAND,
    ConditionFieldEqualsValueExpression,
    ConditionNOT,
    ConditionOR,
    ConditionValueExpression,
)
from sigma.exceptions import SigmaError
from sigma.rule import SigmaRule
from sigma.rule.base import SigmaYAMLLoader, check_alias_expansion
from sigma.types import (
    CompareOperators,
    SigmaBool,
    SigmaCasedString,
    SigmaCIDRExpression,
    SigmaCompareExpression,
    SigmaExists,
    SigmaExpansion,
    SigmaFieldReference,
    SigmaNull,
    SigmaNumber,
    SigmaRegularExpression,
    SigmaString,
    SigmaTimestampPart,
    SigmaType,
    SpecialChars,
)

from svc.assistant.sigma.condition import Check, Comparison, Every, Layout, Node, Not, Some, predicate
from svc.assistant.sigma.engine import LogSource, Rule

MAX_SHOWN_CHARS = 400  # of the title and the reason of a rejected rule
MAX_DEPTH = 60  # of a condition; deeper ones are attacks on the parser
_MERGED: frozenset[Comparison] = frozenset({"equals", "contains", "startswith", "endswith", "re", "cidr"})
_COMPARISONS: dict[CompareOperators, Comparison] = {
    CompareOperators.LT: "lt",
    CompareOperators.LTE: "lte",
    CompareOperators.GT: "gt",
    CompareOperators.GTE: "gte",
}
_TECHNIQUE = re.compile(r"t\d{4}(?:\.\d{3})?")


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that does not run here, and why."""

    file: str
    title: str
    reason: str


class RuleError(ValueError):
    """The rule uses something that is not supported."""


def compile_text(text: str, *, file: str) -> Iterator[Rule | Rejected]:
    """Yield every rule of one YAML file, which may have several documents; a Rejected names ``file``."""
    try:
        documents = list(yaml.load_all(text, Loader=SigmaYAMLLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        yield Rejected(file=file, title="", reason=f"not YAML: {_one_line(error)}")
        return
    for document in documents:
        title = document.get("title") if isinstance(document, dict) else None
        try:
            yield _rule(document)
        except (RuleError, SigmaError, re.error, RecursionError, TypeError, AttributeError) as error:
            yield Rejected(
                file=file,
                title=title[:MAX_SHOWN_CHARS] if isinstance(title, str) else "",
                reason=_one_line(error),
            )


def _rule(document: object) -> Rule:
    if not isinstance(document, dict) or not ("detection" in document or "correlation" in document):
        raise RuleError("not a Sigma rule: missing `detection`")
    if "correlation" in document:
        raise RuleError("correlation rules are not supported")
    check_alias_expansion(document)
    parsed = SigmaRule.from_dict(document)
    conditions = [_node(condition.parsed) for condition in parsed.detection.parsed_condition]
    condition = conditions[0] if len(conditions) == 1 else Some(tuple(conditions))
    predicate(condition, Layout())
    tags = [(tag.namespace, tag.name.lower()) for tag in parsed.tags]
    attack = [name for namespace, name in tags if namespace == "attack"]
    source = parsed.logsource
    return Rule(
        id=str(parsed.id or ""),
        title=parsed.title,
        level=parsed.level.name.lower() if parsed.level else "medium",  # type: ignore[arg-type]  # Sigma's levels are ours
        author=parsed.author or "",
        license=parsed.license or "",
        description=" ".join((parsed.description or "").split()),
        false_positives=tuple(str(one) for one in parsed.falsepositives),
        tactics=tuple(name.replace("_", "-") for name in attack if name[:1].isalpha() and not _is_id(name)),
        techniques=tuple(name.upper() for name in attack if _TECHNIQUE.fullmatch(name)),
        source=LogSource(source.product or "", source.service or "", source.category or ""),
        condition=condition,
    )


def _is_id(name: str) -> bool:
    return re.fullmatch(r"[a-z]\d{4}(?:\.\d{3})?", name) is not None


def _node(condition: object, depth: int = 0) -> Node:
    if depth > MAX_DEPTH:
        raise RuleError(f"the condition is nested more than {MAX_DEPTH} levels deep")
    match condition:
        case ConditionNOT():
            return Not(_node(condition.args[0], depth + 1))
        case ConditionAND():
            return _all_of(_node(child, depth + 1) for child in condition.args)
        case ConditionOR():
            return _one_of(_node(child, depth + 1) for child in condition.args)
        case ConditionFieldEqualsValueExpression():
            return _value(condition.field, condition.value)
        case ConditionValueExpression():
            return _value("", condition.value)
        case _:
            raise RuleError("the condition is empty")


def _all_of(nodes: Iterable[Node]) -> Node:
    flat: list[Node] = []
    for node in nodes:
        flat.extend(node.nodes if isinstance(node, Every) else [node])
    flat.sort(key=_cost)  # stable: the cheap and selective tests first
    return flat[0] if len(flat) == 1 else Every(tuple(flat))


def _one_of(nodes: Iterable[Node]) -> Node:
    """Return any of the nodes; equal comparisons of the same field are merged into one."""
    flat: list[Node] = []
    merged: dict[tuple[str, Comparison, bool], int] = {}
    for node in nodes:
        for child in node.nodes if isinstance(node, Some) else (node,):
            if not isinstance(child, Check) or child.comparison not in _MERGED:
                flat.append(child)
                continue
            place = merged.setdefault((child.field, child.comparison, child.is_cased), len(flat))
            if place == len(flat):
                flat.append(child)
            else:
                known = flat[place]
                assert isinstance(known, Check)
                flat[place] = msgspec.structs.replace(known, values=known.values + child.values)
    return flat[0] if len(flat) == 1 else Some(tuple(flat))


def _cost(node: Node) -> int:
    match node:
        case Check(field="EventID"):
            return 0
        case Check(comparison="re" | "cidr") | Check(field=""):
            return 4
        case Check(comparison="contains" | "parts", values=values):
            return 2 if len(values) < 8 else 3
        case Check():
            return 1
        case _:
            return 3


def _value(field: str, value: SigmaType) -> Node:
    match value:
        case SigmaExpansion():
            return _one_of(_value(field, one) for one in value.values)
        case SigmaString():
            return _text(field, value)
        case SigmaTimestampPart():
            raise RuleError("comparing part of a date is not supported")
        case SigmaNumber():
            return Check(field, "equals" if field else "contains", (str(value.number),))
        case SigmaBool():
            return Check(field, "equals" if field else "contains", (str(value).lower(),))
        case SigmaNull():
            return Check(field, "null")
        case SigmaExists():
            there = Check(field, "exists")
            return there if value.exists else Not(there)
        case SigmaRegularExpression():
            return Check(field, "re", (value.escape(escape_escape_char=False),))
        case SigmaCIDRExpression():
            return Check(field, "cidr", (str(value.network),))
        case SigmaCompareExpression():
            number = str(value.number.number)
            if value.op == CompareOperators.NEQ:
                return Not(Check(field, "equals", (number,)))
            return Check(field, _COMPARISONS[value.op], (number,))
        case SigmaFieldReference():
            how: Comparison = (
                "starts with field" if value.starts_with else "ends with field" if value.ends_with else "same as"
            )
            return Check(field, how, (value.field,))
        case _:
            raise RuleError(f"values of type {type(value).__name__} are not supported")


def _text(field: str, value: SigmaString) -> Node:
    """Return a pattern with ``*`` and ``?`` as the cheapest equivalent test. Keywords may be anywhere in the event."""
    is_cased = isinstance(value, SigmaCasedString)
    parts: list[str] = [""]
    for part in value.s:
        if part is SpecialChars.WILDCARD_SINGLE:
            return _with_single_wildcard(field, value, is_cased=is_cased)
        if part is SpecialChars.WILDCARD_MULTI:
            parts.append("")
        elif isinstance(part, str):
            parts[-1] += part if is_cased else part.lower()
        else:
            raise RuleError("placeholders are not supported, because their values are unknown")
    if not field:
        parts = ["", *parts, ""]
    first, *middle, last = parts if len(parts) > 1 else [parts[0], "end"]
    middle = [part for part in middle if part]
    match (first, middle, last):
        case _ if len(parts) == 1:
            return Check(field, "equals", (first,), is_cased) if first else Check(field, "null")
        case ("", [], ""):
            return Not(Check(field, "null"))
        case ("", [only], ""):
            return Check(field, "contains", (only,), is_cased)
        case (_, [], ""):
            return Check(field, "startswith", (first,), is_cased)
        case ("", [], _):
            return Check(field, "endswith", (last,), is_cased)
        case _:
            return Check(field, "parts", (first, *middle, last), is_cased)


def _with_single_wildcard(field: str, value: SigmaString, *, is_cased: bool) -> Node:
    """Return a pattern with ``?`` as a regular expression."""
    body = "".join(
        ".*" if part is SpecialChars.WILDCARD_MULTI else "." if not isinstance(part, str) else re.escape(part)
        for part in value.s
    )
    flags = "(?s)" if is_cased else "(?is)"
    return Check(field, "re", (f"{flags}\\A{body}$" if field else f"{flags}{body}",))


def _one_line(error: Exception) -> str:
    return " ".join(str(error)[: 2 * MAX_SHOWN_CHARS].split())[:MAX_SHOWN_CHARS] or type(error).__name__
