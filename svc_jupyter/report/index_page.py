"""``index.html`` of a sweep: a summary, then the cases, worst first, each with its verdict or error and its pages."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import quote

from svc_jupyter.answers.status_mark import SYMBOL
from svc_jupyter.report import plain_page
from svc_jupyter.report.cases import host_of
from svc_jupyter.report.content.header import describe_counts
from svc_jupyter.report.content.severity import SEVERITIES, Level, counts, level_of_case
from svc_jupyter.report.outcome import ADVICE, Status
from svc_jupyter.report.record import CaseRecord, RunRecord, changed_evidence, count_statuses, describe_pinned

NAMED = 5  # cases that the summary names
_LAST_SECOND = 2**37  # year 6325; calendars end at 9999
_PHRASES = {
    Level.COMPROMISED: "compromised",
    Level.CRITICAL: "with critical findings",
    Level.HIGH: "with high-severity findings",
    Level.NO_RESULT: "failed",
    Level.NOT_VERIFIED: "not verified",
    Level.NO_DATA: "without data",
    Level.NOT_ANSWERED: "not answered",
    Level.INCOMPLETE: "incomplete",
    Level.NOT_RATED: "not rated",
    Level.WAITING: "not run",
}
"""The levels that the summary names, worst first."""
_SEVERE = (Level.COMPROMISED, Level.CRITICAL, Level.HIGH)
_STYLE = """
.summary { font-size: 1.3rem; font-weight: 700; border-inline-start: .35rem solid light-dark(#b3261e, #f2b8b5);
  padding-inline-start: .8rem; margin: 1.2rem 0 .6rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
.level { border: 1px solid currentColor; border-radius: .25rem; padding: .05em .4em; display: inline-block; }
.severe { color: light-dark(#b3261e, #f2b8b5); }
.compromised { background: light-dark(#b3261e, #8c1d18); color: #ffffff; border-color: transparent; }
.unsure { color: light-dark(#7a5900, #ffe082); }
body { max-width: 88rem; }
td.status { min-width: 8rem; white-space: normal; }
td.name { font-weight: 600; overflow-wrap: anywhere; min-width: 14rem; }
td.name small { font-weight: 400; }
td.verdict { overflow-wrap: anywhere; min-width: 16rem; }
td.count { white-space: nowrap; }
td.answers { min-width: 7rem; }
@media (max-width: 72rem) { td.name { min-width: 10rem; } td.verdict { min-width: 12rem; } td { font-size: .9rem; } }
td p { margin: 0 0 .3rem; }
@media print {
  .scroll { overflow: visible; }
  table { font-size: 8pt; }
  td { min-width: 0 !important; overflow-wrap: anywhere; }
}
"""
_UNSURE = (Level.NOT_VERIFIED, Level.NO_DATA, Level.NOT_ANSWERED, Level.INCOMPLETE, Level.NOT_RATED, Level.MEDIUM)
_COLUMNS = ("Result", "", "Verdict", "Findings", "Answers", "Seconds", "Report")


def build(record: RunRecord) -> str:
    """Build the page. The record is already redacted."""
    levels = [(level_of_case(case.answers, case.status), case) for case in record.cases]
    ranked = sorted(levels, key=lambda pair: (pair[0].rank, [-n for n in _numbers(pair[1])]))
    noun = "host" if _are_hosts(record.cases) else "case"
    heads = "".join(f'<th scope="col">{name or noun.capitalize()}</th>' for name in _COLUMNS)
    rows = "\n".join(_row(level, case) for level, case in ranked)
    body = f"""<p class="summary">{html.escape(summary(record.cases))}</p>
{_details(ranked, noun)}
<p><small>{html.escape(_about(record))}</small></p>
<div class="scroll" role="group" aria-label="Results" tabindex="0">
<table>
<caption>{noun.capitalize()}s, worst first</caption>
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>"""
    name = record.title or record.notebook.removesuffix(".ipynb")
    return plain_page.build(f"{name}: {_count(len(record.cases), noun)}", body, _STYLE)


def summary(cases: Sequence[CaseRecord]) -> str:
    """Return the result of all cases in a sentence: "1 of 12 hosts compromised, 1 failed, 1 without data."

    A case that failed after something severe was found counts as both. Nothing is concluded about what was not read.
    """
    levels = [level_of_case(case.answers, case.status) for case in cases]
    noun = "host" if _are_hosts(cases) else "case"
    number = Counter(levels)
    number[Level.NO_RESULT] = sum(not case.status.is_complete and case.status != Status.NOT_RUN for case in cases)
    parts = [(number[level], phrase) for level, phrase in _PHRASES.items() if number[level]]
    if any(number[level] for level in _SEVERE):
        (count, phrase), *others = parts
        lead = f"{count:,} of {_count(len(cases), noun)} {phrase}"
    else:
        others = parts
        examined = sum(level.is_examined for level in levels)
        lead = f"Nothing severe found on {examined:,} of {_count(len(cases), noun)}"
        if not examined:
            lead = f"No result for any of {_count(len(cases), noun)}"
    return ", ".join([lead, *(f"{count:,} {phrase}" for count, phrase in others)]) + "."


def _details(ranked: Sequence[tuple[Level, CaseRecord]], noun: str) -> str:
    """The names of the severe and unknown cases, and the findings of all by severity."""
    lines = []
    for level in (*_SEVERE, Level.NO_RESULT, Level.NO_DATA):
        names = [_title(case) for found, case in ranked if found is level]
        if names:
            more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
            listed = ", ".join(names[:NAMED])
            lines.append(f"<li>{html.escape(f'{level.value}: {listed}{more}')}</li>")
    total = Counter[str]()
    for _, case in ranked:
        total.update(counts(case.answers))
    found = describe_counts({severity: total[severity] for severity in SEVERITIES if total[severity]})
    lines.append(f"<li>Findings on all {noun}s: {found or 'none above info'}</li>")
    return f"<ul>{''.join(lines)}</ul>"


def _about(record: RunRecord) -> str:
    moment = datetime.fromtimestamp(record.started, UTC) if 0 <= record.started < _LAST_SECOND else None
    started = f"{moment:%Y-%m-%d %H:%M:%S} UTC" if moment else "at an unknown time"
    number = Counter(str(case.status) for case in record.cases)
    statuses = ", ".join(f"{number[status]:,} {status}" for status in map(str, Status) if number[status])
    return (
        f"{record.notebook}, started {started}, {record.state}, answers {record.answers}, svc {record.svc}. "
        f"Status: {statuses}."
    )


def _row(level: Level, case: CaseRecord) -> str:
    is_said = case.status == Status.OK or str(case.status) == level.value.lower()
    status = "" if is_said else f"<br><small>{html.escape(_status(case))}</small>"
    found = "<br>".join(map(html.escape, describe_counts(counts(case.answers)).split(", ")))
    return (
        f'<tr><td class="status"><span class="level {_class(level)}">{html.escape(level.value)}</span>{status}</td>'
        f'<td class="name">{_name(case)}</td><td class="verdict">{_verdict(case)}</td>'
        f'<td class="count">{found}</td><td class="answers">{_answers(case)}</td>'
        f'<td class="number">{case.seconds:.1f}</td><td>{_links(case)}</td></tr>'
    )


def _name(case: CaseRecord) -> str:
    """The case's title as a link to its page, with its other parameters."""
    title = html.escape(_title(case))
    page = next((name for name in case.files if name.endswith(".html")), "")
    shown = f'<a href="{quote(page)}">{title}</a>' if page else title
    values = ", ".join(f"{name}={value}" for name, value in case.parameters.items() if value != case.title)
    return f"{shown}<br><small>{html.escape(values)}</small>"


def _verdict(case: CaseRecord) -> str:
    verdict = f"<p>{html.escape(case.verdict)}</p>" if case.verdict else ""
    changed = "; ".join(changed_evidence(case.answers))
    note = f"<p><strong>{SYMBOL} Evidence: {html.escape(changed)}</strong></p>" if changed else ""
    if case.status.is_complete:
        return verdict + note
    where = f" In code cell {html.escape(case.failed_cell)}." if case.failed_cell else ""
    what = html.escape(case.failure) or "No reason was recorded."
    return f"<p><strong>{what}</strong>{where}</p><p>{html.escape(ADVICE[case.status])}</p>{verdict}{note}"


def _answers(case: CaseRecord) -> str:
    pinned = describe_pinned(case.answers)
    shown = count_statuses(case.answers)
    return html.escape(f"{shown}; {pinned}" if pinned else shown)


def _links(case: CaseRecord) -> str:
    links = " ".join(
        f'<a href="{quote(name)}">{html.escape(name.rpartition(".")[2])}</a>'
        for name in case.files
        if "_files/" not in name
    )
    if case.files and 0 < case.files_from < _LAST_SECOND:
        moment = datetime.fromtimestamp(case.files_from, UTC)
        return f"{links}<br><small>earlier run of {moment:%Y-%m-%d %H:%M} UTC</small>"
    return links


def _status(case: CaseRecord) -> str:
    return f"{SYMBOL} {case.status}" if case.status.is_complete else str(case.status)


def _title(case: CaseRecord) -> str:
    return case.title or case.name


def _class(level: Level) -> str:
    if level is Level.COMPROMISED:
        return "compromised"
    if level in (Level.CRITICAL, Level.HIGH, Level.NO_RESULT):
        return "severe"
    return "unsure" if level in _UNSURE else ""


def _numbers(case: CaseRecord) -> list[int]:
    found = counts(case.answers)
    return [found.get(severity, 0) for severity in SEVERITIES]


def _are_hosts(cases: Sequence[CaseRecord]) -> bool:
    return bool(cases) and all(host_of(case.parameters, case.parameters) for case in cases)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
