"""When, how often and as whom something runs: what rows of a host artefact say about it, or that they do not. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from svc.assistant.log_readers.host.record import TraceKind
from svc.assistant.skills.host_artefacts.findings import ArtefactRow, HostActivity, HostSign, HostSummary
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural

NAMED = 5  # rows in one sentence
CELL_CHARS = 120
WHEN, AS_WHOM = "when", "as whom"
WHETHER_WORKED, BY_WHOM, WHETHER_OPENED = "whether it worked", "by whom", "whether it was opened"
_ASKS = (
    (
        WHEN,
        re.compile(
            r"\bwhen\b|\b(?:what|which) (?:time|day|date|hour)\b|\bat what\b|\bsince when\b|\bhow often\b"
            r"|\bhow frequently\b"
            r"|\bschedule\b|\bfrequency\b|\bintervals?\b|\bhow many times (?:a|per|an)\b",
            re.IGNORECASE,
        ),
    ),
    (
        AS_WHOM,
        re.compile(
            r"\b(?:as|under|with) (?:which|what|whose)\b|\bas who\w*\b|\bas root\b"
            r"|\b(?:which|what) (?:user|account)\b[^?]{0,40}\b(?:run\w*|ran|start\w*|execut\w*)\b"
            r"|\bwho\b[^?]{0,40}\brun(?:s|ning)? (?:it |this |that )?as\b",
            re.IGNORECASE,
        ),
    ),
    (
        WHETHER_WORKED,
        re.compile(
            r"\b(?:did|does|was|were|has|have)\b[^?]{1,60}\b(?:succeed\w*|success\w*|work(?:ed)?|complete(?:d)?"
            r"|go through"
            r"|fail(?:ed)?)\b",
            re.IGNORECASE,
        ),
    ),
    (
        BY_WHOM,
        re.compile(
            r"\bwho (?:has |had )?(?:added|created|made|installed|wrote|changed|edited|modified|set up|put|configured"
            r")\b|\b(?:added|created|made|installed|written|changed|edited|modified|set up|configured) by"
            r" (?:whom|who|which)\b",
            re.IGNORECASE,
        ),
    ),
    (
        WHETHER_OPENED,
        re.compile(
            r"\b(?:was|were|did|has|have)\b[^?]{1,60}\b(?:open(?:ed)?|execut\w+|launch\w*|run|started)\b", re.IGNORECASE
        ),
    ),
)
_OF_BAD = re.compile(r"\b(?:bad|malicious|suspicious|evil|dodgy|shady|odd|strange|weird|dangerous)\b", re.IGNORECASE)
_CRON = "cron "
_ALIASES = {
    "@reboot": "at each start of the system", "@hourly": "every hour", "@daily": "every day at 00:00",
    "@midnight": "every day at 00:00", "@weekly": "every week", "@monthly": "every month", "@yearly": "every year",
    "@annually": "every year",
}  # fmt: skip
_EVERY = re.compile(r"(?:\*|0-59|0)/(\d{1,3})")
_NUMBER = re.compile(r"\d{1,2}")


def circumstances_of(question: str) -> list[str]:
    """Which circumstances a question asks for."""
    return [name for name, asks in _ASKS if asks.search(question)]


def is_about_signs(question: str) -> bool:
    """Whether a question asks about the rows that are signs of an attack: "how often does the bad one run?"."""
    return _OF_BAD.search(question) is not None


def circumstances(
    listed: Mapping[str, HostActivity], summary: HostSummary, chosen: Sequence[ArtefactRow], signs: Sequence[HostSign]
) -> list[str]:
    """What rows say about what the question asks.

    Args:
        listed: The rows, by activity.
        summary: What the artefact is, and what the question asks.
        chosen: The rows that the question names; without any, those of ``signs`` or all.
        signs: The signs of an attack, if the question is about these.
    """
    rows = list(chosen) or _of_signs(listed, signs) or [row for one in listed.values() for row in one.rows]
    told = []
    if WHEN in summary.asks and rows:
        told.append(_when(rows, listed, summary))
    if AS_WHOM in summary.asks and rows:
        told.append(_as_whom(rows, summary))
    if not told:
        told.append(_unrecorded(rows, listed, summary))
    return [one for one in told if one]


def _unrecorded(rows: Sequence[ArtefactRow], listed: Mapping[str, HostActivity], summary: HostSummary) -> str:
    """That an artefact cannot tell what is asked of its rows; "" if it may."""
    has, form = listed.keys(), _form(summary)
    if WHETHER_WORKED in summary.asks and has == {TraceKind.COMMAND}:
        return f"Cannot tell: a {form} does not record whether a command succeeded. It records {_listed(rows)}."
    if BY_WHOM in summary.asks and TraceKind.PERSISTS in has and any(row.where.startswith(_CRON) for row in rows):
        return f"Cannot tell: a {form} does not record who made an entry. It records {_listed(rows)}."
    downloads = [row for row in rows if row in listed[TraceKind.DOWNLOAD].rows] if TraceKind.DOWNLOAD in has else []
    if WHETHER_OPENED in summary.asks and downloads and not has & {TraceKind.OPENED, TraceKind.RAN}:
        return f"Cannot tell: a {form} does not record whether a download was opened. It records {_listed(downloads)}."
    return ""


def _listed(rows: Sequence[ArtefactRow]) -> str:
    return f"{'; '.join(map(_what, rows[:NAMED]))}{_more(len(rows))}"


def _of_signs(listed: Mapping[str, HostActivity], signs: Sequence[HostSign]) -> list[ArtefactRow]:
    shown = {sign.what for sign in signs}
    return [row for one in listed.values() for row in one.rows if row.what in shown]


def _when(rows: Sequence[ArtefactRow], listed: Mapping[str, HostActivity], summary: HostSummary) -> str:
    """The schedules of rows, or that no row states a time; "" if rows have times, which are shown with them."""
    if any(row.time for row in rows):
        return ""
    starts = [(row, words) for row in rows if (words := starts_words(row))]
    if starts and TraceKind.PERSISTS in listed:
        shown = "; ".join(f"{_what(row)} {words}" for row, words in starts[:NAMED])
        return f"Starts: {shown}{_more(len(starts))}. Whether and when it ran is not recorded in the {_form(summary)}."
    return f"Cannot tell: the {_form(summary)} states no time for {_these(rows)}."


def _as_whom(rows: Sequence[ArtefactRow], summary: HostSummary) -> str:
    known = [row for row in rows if row.user]
    if not known:
        return f"Cannot tell: the {_form(summary)} names no account for {_these(rows)}."
    shown = "; ".join(f"{_what(row)} as {code_span(row.user, limit=40)}" for row in known[:NAMED])
    return f"{shown}{_more(len(known))}."


def _these(rows: Sequence[ArtefactRow]) -> str:
    """The row, or how many there are."""
    return _what(rows[0]) if len(rows) == 1 else f"its {plural(len(rows), 'record')}"


def _form(summary: HostSummary) -> str:
    return escape(summary.form)


def _what(row: ArtefactRow) -> str:
    return code_span(defang_text(row.what), limit=CELL_CHARS)


def _more(count: int) -> str:
    return f" and {count - NAMED:,} more" if count > NAMED else ""


def starts_words(row: ArtefactRow) -> str:
    """When cron or systemd starts a row: ``every 5 minutes (cron `*/5 * * * *`)``; "" if the row does not say."""
    if row.where.startswith(_CRON):
        expression = row.where.removeprefix(_CRON)
        words = _cron_words(expression)
        return f"{words} (cron {code_span(expression, limit=80)})" if words else f"by cron {code_span(expression)}"
    return f"by {code_span(row.detail, limit=CELL_CHARS)}" if "=" in row.detail else ""


def _cron_words(expression: str) -> str:
    """The commonest schedules in words; "" for any other."""
    if expression in _ALIASES:
        return _ALIASES[expression]
    fields = expression.split()
    if len(fields) != 5:
        return ""
    minute, hour, *days = fields
    if any(one != "*" for one in days):
        return ""
    if hour == "*":
        return _of_minutes(minute)
    if _NUMBER.fullmatch(minute) and _NUMBER.fullmatch(hour):
        return f"every day at {int(hour):02}:{int(minute):02}"
    every = _EVERY.fullmatch(hour)
    return f"every {every[1]} hours at minute {minute}" if every and _NUMBER.fullmatch(minute) else ""


def _of_minutes(minute: str) -> str:
    every = _EVERY.fullmatch(minute)
    if minute == "*" or (every and every[1] == "1"):
        return "every minute"
    if every:
        return f"every {every[1]} minutes"
    return f"every hour at minute {minute}" if _NUMBER.fullmatch(minute) else ""
