"""Mark an answer that is not a result: the question was not answered, or its evidence not examined.

Also marks a stored answer that may not be the analyst's.

The mark is the first thing in the answer and made of words, so that it survives every export and needs no colour.
Meaning of the statuses: docs/wire.md, "Answer status".
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from svc import AnswerStatus

SYMBOL = "⚠"
LABELS = {
    AnswerStatus.ANSWERED: "answered",
    AnswerStatus.PARTLY_ANSWERED: "partly answered",
    AnswerStatus.NOT_ANSWERED: "not answered",
    AnswerStatus.NOT_EXAMINED: "not examined",
}
UNANSWERED = (AnswerStatus.NOT_EXAMINED, AnswerStatus.NOT_ANSWERED)
_NOTICES = {
    AnswerStatus.NOT_ANSWERED: "This is not a negative result.",
    AnswerStatus.NOT_EXAMINED: "The evidence was not read: this is not a negative result.",
}
UNVERIFIED = "not verified: edited or from another machine"
_UNVERIFIED_ADVICE = "This stored answer may not be the analyst's. Ask again with --answers refresh."
PARTIAL_LABEL = "partial answer"
_PARTIAL_NOTICE = "The question was cancelled before all evidence was read: this is not a negative result."
_START = re.compile(r"([#>\s]*)[*_]*(.*)")
"""The first line: Markdown that must stay at its start, emphasis, and what it says."""


def label(status: str | None) -> str:
    """Return the status in words; "unknown" for anything else, because notebooks and records may hold any text."""
    return LABELS.get(AnswerStatus(status), "unknown") if status else "unknown"


def marked_markdown(markdown: str, status: AnswerStatus | None) -> str:
    """Return the answer's Markdown with a mark if the question is unanswered."""
    return _marked(markdown, status, "**")


def marked_text(text: str, status: AnswerStatus | None) -> str:
    """Return the answer's plain text with a mark if the question is unanswered."""
    return _marked(text, status, "")


def unverified_markdown(markdown: str) -> str:
    """Return the Markdown of a stored answer after a mark that it is not verified."""
    return f"{_unverified('**')}\n\n{markdown}"


def unverified_text(text: str) -> str:
    """Return the plain text of a stored answer after a mark that it is not verified."""
    return f"{_unverified('')}\n\n{text}"


def partial_markdown(markdown: str) -> str:
    """Return the Markdown of a cancelled question's answer after a mark that it is partial."""
    return f"{_partial('**')}\n\n{markdown}"


def partial_text(text: str) -> str:
    """Return the plain text of a cancelled question's answer after a mark that it is partial."""
    return f"{_partial('')}\n\n{text}"


def pinned_note(stored_at: float) -> str:
    """Say that an answer was not asked for: "pinned answer of 2026-11-22 10:00 UTC, not asked again"."""
    try:
        date = f"{datetime.fromtimestamp(stored_at, UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, OSError, ValueError):  # no calendar has it: the file was edited
        date = "unknown date"
    return f"pinned answer of {date}, not asked again"


def _unverified(bold: str) -> str:
    return f"{SYMBOL} {bold}{UNVERIFIED.capitalize()}.{bold} {_UNVERIFIED_ADVICE}"


def _partial(bold: str) -> str:
    return f"{SYMBOL} {bold}{PARTIAL_LABEL.capitalize()}.{bold} {_PARTIAL_NOTICE}"


def headline(text: str) -> str:
    """Return the first line of an answer's plain text that is not only a mark; empty if there is none.

    Several verdicts are a list; its first item comes without its bullet.
    """
    notices = {*(_notice(status, "") for status in UNANSWERED), _unverified(""), _partial("")}
    first = next((line for line in text.splitlines() if line.strip() and line not in notices), "")
    return first.removeprefix("- ")


def _marked(text: str, status: AnswerStatus | None, bold: str) -> str:
    if status not in UNANSWERED:
        return text
    start = _START.match(text)
    if start and start[2].casefold().startswith(LABELS[status]):  # the answer already says so
        return f"{start[1]}{SYMBOL} {text[start.end(1) :]}"
    return f"{_notice(status, bold)}\n\n{text}"


def _notice(status: AnswerStatus, bold: str) -> str:
    return f"{SYMBOL} {bold}{LABELS[status].capitalize()}.{bold} {_NOTICES[status]}"
