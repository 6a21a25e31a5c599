"""``index.html`` of a sweep: each case with its status, duration, verdict, statuses of its answers, and files."""

from __future__ import annotations

import html
from datetime import UTC, datetime
from urllib.parse import quote

from svc_jupyter.answers.status_mark import SYMBOL
from svc_jupyter.report import plain_page
from svc_jupyter.report.outcome import Status
from svc_jupyter.report.record import CaseRecord, RunRecord, count_statuses, describe_pinned


def build(record: RunRecord) -> str:
    """Build the page. The record is already redacted."""
    rows = "\n".join(_row(case) for case in record.cases)
    body = f"""<p>{html.escape(_summary(record))}</p>
<table>
<caption>Cases, in the order of the sweep</caption>
<thead><tr><th scope="col">Case</th><th scope="col">Status</th><th scope="col">Seconds</th>
<th scope="col">Verdict</th><th scope="col">Answers</th><th scope="col">Files</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>"""
    return plain_page.build(f"{record.notebook}: {len(record.cases)} cases", body)


def _summary(record: RunRecord) -> str:
    counts = [(status, sum(case.status == status for case in record.cases)) for status in Status]
    summary = ", ".join(f"{count} {status}" for status, count in counts if count)
    moment = datetime.fromtimestamp(record.started, UTC)
    started = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    return f"{summary}. Started {started}, {record.state}, answers {record.answers}, svc {record.svc}."


def _row(case: CaseRecord) -> str:
    links = " ".join(
        f'<a href="{quote(name)}">{html.escape(name.rpartition(".")[2])}</a>'
        for name in case.files
        if "_files/" not in name
    )
    values = ", ".join(f"{name}={value}" for name, value in case.parameters.items())
    pinned = describe_pinned(case.answers)
    answers = f"{count_statuses(case.answers)}; {pinned}" if pinned else count_statuses(case.answers)
    text = case.verdict if case.status.is_complete else case.failure
    mark = f"{SYMBOL} " if case.status.is_complete and case.status != Status.OK else ""
    return (
        f'<tr><td class="text">{html.escape(case.name)}<br><small>{html.escape(values)}</small></td>'
        f'<td class="status">{mark}{html.escape(case.status)}</td><td class="number">{case.seconds:.1f}</td>'
        f'<td class="text">{html.escape(text)}</td><td class="text">{html.escape(answers)}</td>'
        f"<td>{links}</td></tr>"
    )
