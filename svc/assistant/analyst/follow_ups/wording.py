"""Findings in the words of a short answer: values, places, a line for each. Every value is made safe here. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from svc.assistant.analyst.follow_ups import times
from svc.assistant.analyst.plan import PROMPT
from svc.assistant.analyst.questions.things import MEASURES, SUMMARIES, facts_of
from svc.assistant.findings import AnyFinding, Evidence, Severity
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural

LINES = 8  # of one list
VALUES = 5  # in one line
ALIKE = 2  # findings shown of a kind that has more than a list holds
ROWS = 12  # of a list of things
MAX_VALUE_CHARS = 120
_SPOKEN = frozenset(["text", "url", "command", "detail", "state", "operation", "target"])
_MUTE = frozenset(
    [
        "author",
        "license",
        "false_positives",
        "rule",
        "tactics",
        "hosts",
        "logon_types",
        "question",
        "members",
        "notes",
        "version",
        "gap",
    ]
)


def value_words(value: str) -> str:
    """A value as code, defanged."""
    return code_span(defang_text(value), limit=MAX_VALUE_CHARS)


def listed(values: Iterable[str], limit: int = VALUES) -> str:
    """``a, b, c and 4 more``."""
    every = list(dict.fromkeys(values))
    more = f" and {len(every) - limit:,} more" if len(every) > limit else ""
    return ", ".join(value_words(value) for value in every[:limit]) + more


def counted(measure_one: str, measure_many: str, count: int) -> str:
    """``40 failed logins``."""
    return plural(count, measure_one, measure_many)


def place(evidence: Evidence) -> str:
    """``line 3 of auth.log``."""
    source = code_span(evidence.source, limit=MAX_VALUE_CHARS)
    if evidence.line is not None:
        return f"line {evidence.line:,} of {source}"
    if evidence.record is not None:
        unit = "packet" if evidence.source.lower().endswith((".pcap", ".pcapng", ".cap")) else "record"
        return f"{unit} {evidence.record:,} of {source}"
    return source if evidence.source != PROMPT else "the question"


def place_of(finding: AnyFinding) -> str:
    """Where a finding is first seen; "" if it has no evidence."""
    return place(finding.evidence[0]) if finding.evidence else ""


def when(finding: AnyFinding) -> str:
    """From when to when; "" if the finding has no time."""
    span = times.span_of(finding)
    return times.span_words(*span) if span else ""


def titled(finding: AnyFinding) -> str:
    """The finding's title as prose."""
    return escape(finding.title)


def line_of(finding: AnyFinding) -> str:
    """A finding as one line: when, what, how severe, where, and its details."""
    time = when(finding)
    remarks = [one for one in (severity_words(finding), place_of(finding)) if one]
    details = details_of(finding)
    return (
        (f"{time}: " if time else "")
        + titled(finding)
        + (f" ({'; '.join(remarks)})" if remarks else "")
        + (f": {'; '.join(details)}" if details else "")
    )


def severity_words(finding: AnyFinding) -> str:
    """The severity, if it says more than that there is a fact."""
    return "" if finding.severity is Severity.INFO else finding.severity.value


def details_of(finding: AnyFinding, limit: int = 4) -> list[str]:
    """What a finding holds besides its title: the first rows of its tables, its lists and its words."""
    if finding.kind in SUMMARIES:
        return []
    found = []
    for name, value in facts_of(finding).items():
        if name in _MUTE or not value:
            continue
        if isinstance(value, list):
            found.append(_list_words(name, value))
        elif isinstance(value, str) and name in _SPOKEN and value not in finding.title:
            found.append(f"{_spoken(name)} {value_words(value)}")
    return [one for one in found if one][:limit]


def _list_words(name: str, rows: Sequence[object]) -> str:
    if isinstance(rows[0], dict):
        pairs = [_pair(row) for row in rows[:VALUES] if isinstance(row, dict)]
        return ", ".join(pair for pair in pairs if pair)
    values = [str(one) for one in rows]
    return f"{_spoken(name)} {listed(values)}"


def _pair(row: dict[str, object]) -> str:
    """``root 30``: the first text of a row and its first number."""
    texts = [value for value in row.values() if isinstance(value, str) and value]
    numbers = [value for value in row.values() if isinstance(value, int) and not isinstance(value, bool)]
    if not texts:
        return ""
    return f"{value_words(texts[-1] if 'description' in row else texts[0])}" + (f" {numbers[0]:,}" if numbers else "")


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def row_words(row: dict[str, object]) -> str:
    """The figures of a row of a table: ``30 requests, 0 failed``."""
    units = {field.rpartition(".")[2]: measure for measure in MEASURES for field in measure.fields}
    parts = []
    for name, value in row.items():
        if isinstance(value, int) and not isinstance(value, bool):
            measure = units.get(name)
            known = measure is not None and name not in ("count", "failed")
            parts.append(
                plural(value, measure.one, measure.many) if measure and known else f"{value:,} {_spoken(name)}"
            )
    return ", ".join(parts)


def bulleted(findings: Sequence[AnyFinding], limit: int = LINES) -> list[str]:
    """The findings as lines, the worst of them in the order of time; of many alike the first ones."""
    order = {severity: rank for rank, severity in enumerate(Severity)}
    totals = Counter(finding.kind for finding in findings)
    kinds: Counter[str] = Counter()
    chosen: list[AnyFinding] = []
    for finding in sorted(findings, key=lambda one: order[one.severity]):
        kinds[finding.kind] += 1
        is_one_of_many = totals[finding.kind] > limit and kinds[finding.kind] > ALIKE
        if len(chosen) < limit and not (finding.severity is Severity.INFO and is_one_of_many):
            chosen.append(finding)
    chosen.sort(key=_moment)
    lines = [f"- {line_of(finding)}" for finding in chosen]
    more = len(findings) - len(chosen)
    return lines + ([f"- … and {plural(more, 'more finding')}."] if more else [])


def _moment(finding: AnyFinding) -> tuple[bool, str]:
    span = times.span_of(finding)
    return span is None, times.order(span[0]) if span else ""
