"""Compile Sigma's YAML to rules that run without a library: pySigma parses, this module translates its conditions.

Needs the extra ``sigma``; only the command ``svc rules`` imports it. The files of a set belong together: correlation
rules and filters refer to rules of any file, ``placeholders`` and pipelines apply to all. What cannot be translated is
Rejected with the reason, never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from operator import ge, gt, le, lt, ne

import msgspec
import yaml
from sigma.conditions import (
    ConditionAND,
    ConditionFieldEqualsValueExpression,
    ConditionNOT,
    ConditionOR,
    ConditionValueExpression,
)
from sigma.correlations import SigmaCorrelationRule
from sigma.exceptions import SigmaError
from sigma.rule import SigmaRule
from sigma.rule.base import SigmaYAMLLoader, check_alias_expansion
from sigma.types import (
    CompareOperators,
    Placeholder,
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
    TimestampPart,
)

from svc.assistant.sigma.compile_correlation import CorrelationError, compile_correlation
from svc.assistant.sigma.compile_set import Linker, PlaceholderValues, RuleError, no_values
from svc.assistant.sigma.condition import Check, Comparison, Every, Layout, Node, Not, Some, predicate
from svc.assistant.sigma.correlation import Correlation
from svc.assistant.sigma.documents import documents_of, readable
from svc.assistant.sigma.engine import LEVELS, NEVER, Decision, Filter, LogSource, Rule

MAX_SHOWN_CHARS = 400  # of the title and the reason of a rejected rule
MAX_DEPTH = 60  # of a condition; deeper ones are attacks on the parser
_MERGED: frozenset[Comparison] = frozenset({"equals", "contains", "startswith", "endswith", "re", "cidr"})
_COMPARISONS: dict[CompareOperators, Comparison] = {
    CompareOperators.LT: "lt",
    CompareOperators.LTE: "lte",
    CompareOperators.GT: "gt",
    CompareOperators.GTE: "gte",
}
_PARTS: dict[TimestampPart, Comparison] = {
    TimestampPart.MINUTE: "minute",
    TimestampPart.HOUR: "hour",
    TimestampPart.DAY: "day",
    TimestampPart.WEEK: "week",
    TimestampPart.MONTH: "month",
    TimestampPart.YEAR: "year",
}
_RANGES: dict[TimestampPart, range] = {
    TimestampPart.MINUTE: range(60),
    TimestampPart.HOUR: range(24),
    TimestampPart.DAY: range(1, 32),
    TimestampPart.WEEK: range(1, 54),
    TimestampPart.MONTH: range(1, 13),
    TimestampPart.YEAR: range(1970, 2101),
}
_BOUNDS: dict[CompareOperators, Callable[[int, int], bool]] = {
    CompareOperators.LT: lt,
    CompareOperators.LTE: le,
    CompareOperators.GT: gt,
    CompareOperators.GTE: ge,
    CompareOperators.NEQ: ne,
}
_OTHER_FIELD: dict[tuple[bool, bool], Comparison] = {
    (False, False): "same as",
    (True, False): "starts with field",
    (False, True): "ends with field",
    (True, True): "contains field",
}
"""By whether a reference to a field has wildcards after and before it."""
MAX_CONDITION = 4_000
ALL_TIME = "100y"
DECIDES = "decides"
"""Our own key of a rule: which of its techniques an event shows, and how severe that is."""
_DECISION_KEYS = frozenset({"when", "techniques", "level"})
_WRONG_DECISION = f"`{DECIDES}` is a list of `when`, a condition, with `techniques` (a list) and `level`"
_AGGREGATION = re.compile(
    r"(?P<search>[^|]+)\| ?(?P<function>count|min|max|avg|sum) ?\((?P<field>[^()|<>=]*)\) ?(?:by (?P<by>[^|<>=]+))?"
    r"(?P<operator><=|>=|==|=|<|>) ?(?P<number>\d{1,12})",
    re.IGNORECASE,
)
_OLD_OPERATORS = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte", "=": "eq", "==": "eq"}
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TECHNIQUE = re.compile(r"t\d{4}(?:\.\d{3})?")


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that does not run here, and why."""

    file: str
    title: str
    reason: str


def compile_text(text: str, *, file: str) -> Iterator[Rule | Filter | Rejected]:
    """Yield what the documents of one YAML file define; a Rejected names ``file``."""
    yield from compile_texts([(file, text)])


def compile_texts(
    texts: Iterable[tuple[str, str]], *, known: Iterable[Rule] = ()
) -> Iterator[Rule | Filter | Rejected]:
    """Yield the rules and filters of a set of YAML files, each of which may have several documents.

    Args:
        texts: The name of each file and its text.
        known: Rules outside of the set, to which its correlation rules may refer.
    """
    documents: list[_Document] = []
    for file, text in texts:
        try:
            loaded = yaml.load_all(text, Loader=SigmaYAMLLoader)
            documents += [_Document(file, content) for content in documents_of(loaded)]
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            yield Rejected(file=file, title="", reason=f"not YAML: {_one_line(error)}")
    yield from _compiled(documents, known)


class _Document(msgspec.Struct):
    """A YAML document of a set."""

    file: str
    content: object

    def has(self, key: str) -> bool:
        return isinstance(self.content, dict) and key in self.content

    def rejected(self, error: Exception) -> Rejected:
        title = self.content.get("title") if isinstance(self.content, dict) else None
        return Rejected(
            file=self.file,
            title=title[:MAX_SHOWN_CHARS] if isinstance(title, str) else "",
            reason=_one_line(error),
        )


_FAULTS = (RuleError, CorrelationError, SigmaError, re.error, RecursionError, TypeError, AttributeError, ValueError)


def _compiled(documents: list[_Document], known: Iterable[Rule]) -> Iterator[Rule | Filter | Rejected]:
    results: dict[int, Rule | Filter | Rejected] = {}
    parts: dict[int, Rule] = {}
    expansion = PlaceholderValues()
    for place, document in enumerate(documents):
        if document.has("placeholders") or document.has("transformations"):
            try:
                expansion.add(document.content)
            except _FAULTS as error:
                results[place] = document.rejected(error)
    linker = Linker(known)
    for place, document in enumerate(documents):
        if place in results or document.has("placeholders") or document.has("transformations"):
            continue
        try:
            if document.has("correlation"):
                linker.add_correlation(place, document.file, _correlation(document.content))
            elif document.has("filter"):
                results[place] = _filter(document.content)
            elif (aggregated := _aggregation(document.content)) is not None:
                parts[place], results[place] = _split(_rule(aggregated[0], expansion), aggregated[1])
            else:
                results[place] = linker.add_rule(place, document.file, _rule(document.content, expansion))
        except _FAULTS as error:
            results[place] = document.rejected(error)
    for place, linked in linker.linked():
        results[place] = documents[place].rejected(linked) if isinstance(linked, Exception) else linked
    for place, result in sorted(results.items()):
        if place in parts:
            yield parts[place]
        yield result


def _aggregation(document: object) -> tuple[dict[str, object], Correlation] | None:
    """Return a rule with the old aggregation ``selection | count(field) by other > 5`` as a rule and a correlation.

    Sigma replaced it by correlation rules, but public rules still have it. Without ``timeframe`` it is of all events.
    """
    detection = document.get("detection") if isinstance(document, dict) else None
    condition = detection.get("condition") if isinstance(detection, dict) else None
    if not isinstance(document, dict) or not isinstance(detection, dict) or not isinstance(condition, str):
        return None
    found = _AGGREGATION.fullmatch(" ".join(condition[:MAX_CONDITION].split()))
    if found is None:
        return None
    rest = {key: value for key, value in detection.items() if key != "timeframe"}
    field, function = found["field"].strip(), found["function"].lower()
    wanted = {
        "type": "event_count" if function == "count" and not field else f"value_{function}",
        "rules": ["-"],
        "group-by": [name.strip() for name in (found["by"] or "").split(",") if name.strip()],
        "timespan": detection.get("timeframe") or ALL_TIME,
        "condition": {_OLD_OPERATORS[found["operator"]]: found["number"]} | ({"field": field} if field else {}),
    }
    return {**document, "detection": {**rest, "condition": found["search"]}}, compile_correlation(wanted)[0]


def _split(rule: Rule, correlation: Correlation) -> tuple[Rule, Rule]:
    """Return the rule of the events that are counted, which does not report, and the rule that counts them."""
    identity = rule.id or rule.title
    part = msgspec.structs.replace(rule, id=f"{identity} (events)", name="", is_part=True)
    counted = msgspec.structs.replace(correlation, rules=(part.id,))
    return part, msgspec.structs.replace(rule, id=identity, source=LogSource(), condition=NEVER, correlation=counted)


def _rule(document: object, expansion: PlaceholderValues) -> Rule:
    if not isinstance(document, dict) or "detection" not in document:
        raise RuleError("not a Sigma rule: missing `detection`")
    check_alias_expansion(document)
    parsed = SigmaRule.from_dict(readable(document))
    expansion.apply(parsed)
    conditions = [_node(condition.parsed) for condition in parsed.detection.parsed_condition]
    condition = conditions[0] if len(conditions) == 1 else Some(tuple(conditions))
    predicate(condition, Layout())
    source = parsed.logsource
    return msgspec.structs.replace(
        _described(parsed),
        source=LogSource(source.product or "", source.service or "", source.category or ""),
        condition=condition,
        decisions=tuple(_decisions(document, expansion)),
    )


def _decisions(document: dict[str, object], expansion: PlaceholderValues) -> Iterator[Decision]:
    """Yield what ``decides`` lists: ``when`` (a condition over the rule's searches), ``techniques`` and ``level``."""
    decides, detection = document.get(DECIDES, []), document["detection"]
    if not isinstance(decides, list) or not isinstance(detection, dict):
        raise RuleError(_WRONG_DECISION)
    for one in decides:
        if not isinstance(one, dict) or not isinstance(one.get("when"), str) or not {*one} <= _DECISION_KEYS:
            raise RuleError(_WRONG_DECISION)
        techniques, level = one.get("techniques", []), one.get("level")
        if not isinstance(techniques, list) or (level is not None and level not in LEVELS):
            raise RuleError(_WRONG_DECISION)
        rest = {key: value for key, value in document.items() if key != DECIDES}
        part = _rule({**rest, "detection": {**detection, "condition": one["when"]}}, expansion)
        named = tuple(str(technique).upper() for technique in techniques)
        if unknown := set(named) - set(part.techniques):
            raise RuleError(f"`{DECIDES}` names {min(unknown)}, which is not among the rule's tags")
        yield Decision(condition=part.condition, techniques=named, level=level)


def _filter(document: object) -> Filter:
    assert isinstance(document, dict)
    section = document["filter"]
    if not isinstance(section, dict) or "rules" not in section:
        raise RuleError("a filter needs `rules`: the IDs or names of rules, or any")
    rules = section["rules"]
    names = [] if rules == "any" else rules if isinstance(rules, list) else [rules]
    if not all(isinstance(name, str) for name in names):
        raise RuleError("a filter needs `rules`: the IDs or names of rules, or any")
    detection = {key: value for key, value in section.items() if key != "rules"}
    rest = {key: value for key, value in document.items() if key != "filter"}
    limited = _rule({**rest, "detection": detection}, PlaceholderValues())
    return Filter(
        title=limited.title,
        id=limited.id,
        source=limited.source,
        rules=tuple(name.lower() if _UUID.fullmatch(name) else name for name in names),
        condition=limited.condition,
    )


def _correlation(document: object) -> tuple[Rule, bool]:
    """Return a correlation rule that names its rules as written, and whether those report, too."""
    assert isinstance(document, dict)
    check_alias_expansion(document)
    correlation, generate = compile_correlation(document["correlation"])
    stub = {"type": "event_count", "rules": ["-"], "timespan": "1s", "condition": {"gte": 1}}
    described = _described(SigmaCorrelationRule.from_dict({**readable(document), "correlation": stub}))
    return msgspec.structs.replace(described, correlation=correlation), generate


def _described(parsed: SigmaRule | SigmaCorrelationRule) -> Rule:
    tags = [(tag.namespace, tag.name.lower()) for tag in parsed.tags]
    attack = [name for namespace, name in tags if namespace == "attack"]
    return Rule(
        id=str(parsed.id or ""),
        title=parsed.title,
        name=parsed.name or "",
        level=parsed.level.name.lower() if parsed.level else "medium",  # type: ignore[arg-type]  # Sigma's levels are ours
        author=parsed.author or "",
        license=parsed.license or "",
        description=" ".join((parsed.description or "").split()),
        false_positives=tuple(str(one) for one in parsed.falsepositives),
        tactics=tuple(name.replace("_", "-") for name in attack if name[:1].isalpha() and not _is_id(name)),
        techniques=tuple(name.upper() for name in attack if _TECHNIQUE.fullmatch(name)),
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
            return Check(field, _PARTS[value.timestamp_part], (str(value.number),))
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
            if unknown := [part.name for part in value.regexp.s if isinstance(part, Placeholder)]:
                raise RuleError(no_values(unknown[0]))
            return Check(field, "re", (value.escape(escape_escape_char=False),))
        case SigmaCIDRExpression():
            return Check(field, "cidr", (str(value.network),))
        case SigmaCompareExpression():
            if isinstance(value.number, SigmaTimestampPart):
                return _time_range(field, value.number, value.op)
            number = str(value.number.number)
            if value.op == CompareOperators.NEQ:
                return Not(Check(field, "equals", (number,)))
            return Check(field, _COMPARISONS[value.op], (number,))
        case SigmaFieldReference():
            return Check(field, _OTHER_FIELD[value.starts_with, value.ends_with], (value.field,))
        case _:
            raise RuleError(f"values of type {type(value).__name__} are not supported")


def _time_range(field: str, part: SigmaTimestampPart, operator: CompareOperators) -> Node:
    """Return the comparison of a part of a time with a bound (``timestamp|hour|gte: 22``) as the numbers it allows."""
    allowed = [number for number in _RANGES[part.timestamp_part] if _BOUNDS[operator](number, int(part.number))]
    if not allowed:
        raise RuleError(f"no {part.timestamp_part.name.lower()} can be {operator.value} {part.number}")
    return Check(field, _PARTS[part.timestamp_part], tuple(map(str, allowed)))


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
            raise RuleError(no_values(part.name))
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
