"""Render a comparison of two runs as Markdown, HTML or JSON. Text from answers is shown as inert text."""

from __future__ import annotations

import html

import msgspec

from svc.untrusted.characters import one_line
from svc.untrusted.defang import defang_word
from svc_jupyter.answers.status_mark import SYMBOL, UNANSWERED, UNVERIFIED, label
from svc_jupyter.report import plain_page
from svc_jupyter.report.diff import AnswerDiff, Change, Finding, ReportDiff

TITLE = "What changed"
_LINE_CHARACTERS = 300


def as_json(diff: ReportDiff) -> str:
    """Render the whole comparison, including unchanged answers."""
    return msgspec.json.format(msgspec.json.encode(diff), indent=2).decode() + "\n"


def as_markdown(diff: ReportDiff, old: str, new: str) -> str:
    """Render headings and lists; unchanged answers are only counted."""
    lines = [f"# {TITLE}", "", _code(f"{old} → {new}"), "", summary(diff)]
    lines += [f"- new run {_code(name)}" for name in diff.new_cases]
    lines += [f"- removed run {_code(name)}" for name in diff.gone_cases]
    for answer in _changed(diff):
        lines += ["", f"## {answer.change.capitalize()}: {_code(_title(answer))}", "", _why(answer)]
        lines += ["", status] if (status := _status(answer)) else []
        lines += ["", *(f"- added, {_markdown(finding)}" for finding in answer.added)] if answer.added else []
        lines += ["", *(f"- removed, {_markdown(finding)}" for finding in answer.removed)] if answer.removed else []
    return "\n".join(lines) + "\n"


def as_html(diff: ReportDiff, old: str, new: str) -> str:
    """Render one page that loads nothing."""
    parts = [f"<p><code>{_text(old)}</code> → <code>{_text(new)}</code></p>", f"<p>{_text(summary(diff))}</p>"]
    cases = [f"<li>new run {_text(name)}</li>" for name in diff.new_cases]
    cases += [f"<li>removed run {_text(name)}</li>" for name in diff.gone_cases]
    parts += ["<ul>", *cases, "</ul>"] if cases else []
    for answer in _changed(diff):
        parts += [f"<h2>{answer.change.capitalize()}: {_text(_title(answer))}</h2>", f"<p>{_text(_why(answer))}</p>"]
        parts += [f"<p><strong>{_text(status)}</strong></p>"] if (status := _status(answer)) else []
        found = [("added", finding) for finding in answer.added] + [("removed", f) for f in answer.removed]
        if found:
            rows = "".join(
                f"<tr><td>{word}</td><td>{_text(f.severity)}</td><td>{_text(f.kind)}</td>"
                f'<td class="text">{_text(f.title)}</td></tr>'
                for word, f in found
            )
            head = "".join(f'<th scope="col">{name}</th>' for name in ("Change", "Severity", "Kind", "Finding"))
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
    return plain_page.build(TITLE, "\n".join(parts))


def summary(diff: ReportDiff) -> str:
    """Summarise the counts in one line."""
    counts = ", ".join(f"{diff.count(change)} {change}" for change in Change if change != Change.UNVERIFIED)
    added = sum(len(answer.added) for answer in diff.answers)
    removed = sum(len(answer.removed) for answer in diff.answers)
    unanswered = [(label(s), sum(answer.new_status == s for answer in diff.answers)) for s in UNANSWERED]
    marks = "".join(f" {SYMBOL} {count} {name}." for name, count in unanswered if count)
    unverified = sum(not answer.is_verified for answer in diff.answers)
    marks += f" {SYMBOL} {unverified} {UNVERIFIED}." if unverified else ""
    return f"Answers: {counts}. Findings: {added} added, {removed} removed.{marks}"


def _changed(diff: ReportDiff) -> list[AnswerDiff]:
    return [answer for answer in diff.answers if answer.change != Change.SAME]


def _title(answer: AnswerDiff) -> str:
    asked = one_line(answer.question, limit=_LINE_CHARACTERS) or "(question not recorded)"
    return f"{answer.case}: {asked}" if answer.case else asked


def _why(answer: AnswerDiff) -> str:
    match answer.change:
        case Change.NEW:
            return "New question."
        case Change.GONE:
            return "The question was removed."
        case _:
            return "The evidence is the same." if answer.is_same_evidence else "The evidence changed."


def _status(answer: AnswerDiff) -> str:
    """The status if it changed or is bad news; empty otherwise."""
    if not answer.is_verified:
        return f"{SYMBOL} {UNVERIFIED.capitalize()}."
    mark = f"{SYMBOL} " if answer.new_status in UNANSWERED else ""
    old, new = label(answer.old_status), label(answer.new_status)
    if answer.change == Change.CHANGED and answer.old_status and old != new:
        return f"{mark}Status: {old} → {new}."
    return f"{mark}Status: {new}." if mark else ""


def _markdown(finding: Finding) -> str:
    title = " ".join(defang_word(word) or word for word in finding.title.split())
    return f"{one_line(finding.severity)}, {_code(finding.kind)}: {_code(title)}"


def _code(text: str) -> str:
    """Format text as inline code, whatever backticks it contains."""
    line = one_line(text, limit=_LINE_CHARACTERS)
    fence = "`" * (max((len(run) for run in _ticks(line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _ticks(line: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in line).split() if run]


def _text(text: str) -> str:
    return html.escape(one_line(text, limit=_LINE_CHARACTERS))
