"""Compile correlation rules: what they refer to, their windows and conditions. Needs the extra ``sigma``.

pySigma's own reader takes neither ranges (``gt`` with ``lte``) nor ``value_min``, so only the expression of a temporal
correlation is parsed by it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import get_args

from sigma.correlations import (
    CorrelationConditionAND,
    CorrelationConditionItem,
    CorrelationConditionNOT,
    SigmaCorrelationTimespan,
    SigmaExtendedCorrelationCondition,
    SigmaRuleReference,
)

from svc.assistant.sigma.condition import Check, Every, Node, Not, Some
from svc.assistant.sigma.correlation import Correlation, CorrelationType, Operator

MAX_RULES = 100  # that one correlation refers to
MAX_ORDERED = 20  # the work grows with the square
MAX_DEPTH = 60
TYPES: tuple[CorrelationType, ...] = get_args(CorrelationType)
_OPERATORS: tuple[Operator, ...] = get_args(Operator)
_KEYS = frozenset({"type", "rules", "group-by", "timespan", "aliases", "condition", "generate"})
_TEMPORAL = ("temporal", "temporal_ordered")


class CorrelationError(ValueError):
    """The correlation cannot be compiled; the text says why."""


def compile_correlation(section: object) -> tuple[Correlation, bool]:
    """Return a correlation whose ``rules`` are still the references as written, and whether those rules report, too.

    Raises:
        CorrelationError: It is not valid.
        SigmaError: pySigma rejects its time span or expression.
    """
    if not isinstance(section, dict):
        raise CorrelationError("`correlation` must be a map")
    unknown = sorted(str(key) for key in section if key not in _KEYS)
    if unknown:
        raise CorrelationError(f"unknown key in `correlation`: {', '.join(unknown)}")
    kind = section.get("type")
    if kind in ("temporal_extended", "temporal_ordered_extended"):
        kind = kind.removesuffix("_extended")
    if kind not in TYPES:
        raise CorrelationError(f"unknown correlation type {kind!r}; supported: {', '.join(TYPES)}")
    rules = _texts(section.get("rules"), "rules")
    condition = section.get("condition")
    expression: Node | None = None
    if isinstance(condition, str):
        if kind not in _TEMPORAL:
            raise CorrelationError("a condition in words is only for temporal correlations; use gte: NUMBER")
        expression, named = _expression(condition)
        if rules and set(rules) != set(named):
            raise CorrelationError("the rules in `rules` and in `condition` differ")
        rules = rules if rules and kind == "temporal" else named
        if kind == "temporal_ordered":
            _check_order(expression)
            expression = None
        condition = None
    most = MAX_ORDERED if kind == "temporal_ordered" else MAX_RULES
    if not 1 <= len(rules) <= most:
        raise CorrelationError(f"a {kind} correlation refers to 1 to {most} rules; this one to {len(rules)}")
    generate = section.get("generate", False)
    if not isinstance(generate, bool):
        raise CorrelationError("`generate` must be true or false")
    fields, percentile = _measured(condition, kind)
    if kind.startswith("value_") and not fields:
        raise CorrelationError(f"a {kind} correlation needs `field` in its condition")
    return Correlation(
        type=kind,
        rules=rules,
        timespan=SigmaCorrelationTimespan(str(section.get("timespan", "none"))).seconds,
        group_by=_texts(section.get("group-by"), "group-by"),
        bounds=() if expression is not None else _bounds(condition, kind, len(set(rules))),
        fields=fields,
        percentile=percentile,
        aliases=_aliases(section.get("aliases")),
        expression=expression,
    ), generate


def _texts(value: object, name: str) -> tuple[str, ...]:
    if value is None:
        return ()
    given = value if isinstance(value, list) else [value]
    texts = [text for text in given if isinstance(text, str) and text]
    if len(texts) != len(given):
        raise CorrelationError(f"`{name}` must be a name or a list of names")
    return tuple(dict.fromkeys(texts)) if name != "rules" else tuple(texts)


def _bounds(condition: object, kind: str, rules: int) -> tuple[tuple[Operator, float], ...]:
    if condition is None and kind in _TEMPORAL:
        return (("gte", float(rules)),)
    if not isinstance(condition, dict):
        raise CorrelationError(f"a {kind} correlation needs a condition such as gte: 10")
    unknown = sorted(str(key) for key in condition if key not in (*_OPERATORS, "field", "percentile"))
    if unknown:
        raise CorrelationError(f"unknown key in the condition: {', '.join(unknown)}")
    bounds = tuple((operator, _number(condition[operator])) for operator in _OPERATORS if operator in condition)
    if not bounds:
        raise CorrelationError(f"the condition needs one of {', '.join(_OPERATORS)}")
    return bounds


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise CorrelationError(f"{value!r} is not a number")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise CorrelationError(f"{str(value)[:40]!r} is not a number")
    return number


def _measured(condition: object, kind: str) -> tuple[tuple[str, ...], float]:
    """Return the fields that are counted or measured, and the percentile."""
    if not isinstance(condition, dict):
        return (), 50.0
    percentile = _number(condition.get("percentile", 50))
    if not 0 <= percentile <= 100:
        raise CorrelationError("`percentile` must be from 0 to 100")
    fields = _texts(condition.get("field"), "field")
    return (fields if kind.startswith("value_") else ()), percentile


def _aliases(value: object) -> dict[str, dict[str, str]]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise CorrelationError("`aliases` must be a map")
    for alias, fields in value.items():
        is_map = isinstance(fields, dict) and all(
            isinstance(rule, str) and isinstance(field, str) for rule, field in fields.items()
        )
        if not isinstance(alias, str) or not is_map:
            raise CorrelationError("each alias must be a map from the name of a rule to a field")
    return value


def with_ids(correlation: Correlation, ids: Mapping[str, str]) -> Correlation:
    """Return the correlation with the IDs of the rules that it refers to.

    Raises:
        CorrelationError: An alias names another rule.
    """
    strangers = sorted({rule for fields in correlation.aliases.values() for rule in fields if rule not in ids})
    if strangers:
        raise CorrelationError(f"an alias names rules that the correlation does not refer to: {', '.join(strangers)}")
    return Correlation(
        type=correlation.type,
        rules=tuple(ids[rule] for rule in correlation.rules),
        timespan=correlation.timespan,
        group_by=correlation.group_by,
        bounds=correlation.bounds,
        fields=correlation.fields,
        percentile=correlation.percentile,
        aliases={
            alias: {ids[rule]: field for rule, field in fields.items()} for alias, fields in correlation.aliases.items()
        },
        expression=_renamed(correlation.expression, ids) if correlation.expression is not None else None,
    )


def _renamed(node: Node, ids: Mapping[str, str]) -> Node:
    match node:
        case Check(field):
            return Check(ids[field], "exists")
        case Not(child):
            return Not(_renamed(child, ids))
        case Every(nodes):
            return Every(tuple(_renamed(child, ids) for child in nodes))
        case Some(nodes):
            return Some(tuple(_renamed(child, ids) for child in nodes))


def _expression(text: str) -> tuple[Node, tuple[str, ...]]:
    if len(text) > 4_000 or max((text.count(one) for one in ("(", "not ")), default=0) > MAX_DEPTH:
        raise CorrelationError(f"the condition is nested more than {MAX_DEPTH} levels deep")
    parsed = SigmaExtendedCorrelationCondition(text)
    return _translated(parsed.parsed), tuple(parsed.get_referenced_rules())


def _translated(item: CorrelationConditionItem | SigmaRuleReference) -> Node:
    if isinstance(item, SigmaRuleReference):
        return Check(item.reference, "exists")
    children = tuple(_translated(child) for child in item.args)
    if isinstance(item, CorrelationConditionNOT):
        return Not(children[0])
    return Every(children) if isinstance(item, CorrelationConditionAND) else Some(children)


def _check_order(node: Node) -> None:
    """Raise unless an expression of ordered rules has only ``and``: their order is that of the names."""
    match node:
        case Check():
            return
        case Every(nodes):
            for child in nodes:
                _check_order(child)
        case _:
            raise CorrelationError("in a temporal_ordered correlation, rules can only be combined by `and`")
