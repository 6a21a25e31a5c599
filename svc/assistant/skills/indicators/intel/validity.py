"""Answer how long indicators of threat intelligence are valid, by what the file states. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, with_facts
from svc.assistant.log_readers.shown_times import time_words
from svc.assistant.skills.indicators.intel.findings import IntelSummary, ListedIndicator
from svc.untrusted.markup import code_span, escape, plural

SHOWN = 5
VALUE_CHARS = 90
_ASKS = re.compile(
    r"\b(?:still|yet|currently|already|is (?:it|this|that)|are (?:they|these|those)|any|which|not) (?:\w+ ){0,4}?"
    r"(?:in)?valid\b"
    r"|\bvalid(?:ity)? (?:until|till|to|from|since|period|date)\b|\bvalidity\b|\bhow long\b[^?]{0,30}\bvalid\b"
    r"|\bvalid\W*\Z|\bexpir\w*|\bout of date\b|\boutdated\b|\bstale\b|\brevoked\b|\bwithdrawn\b|\bup to date\b"
    r"|\bstill (?:active|current|good|relevant|fresh|usable)\b|\buntil when\b",
    re.IGNORECASE,
)


def validity(question: str, findings: Sequence[AnyFinding]) -> str:
    """The sentence that says which indicators are still valid, or that the file does not; "" if it is not asked."""
    if not _ASKS.search(question):
        return ""
    listed = [one.facts for one in with_facts(findings, ListedIndicator)]
    total = sum(one.facts.indicators for one in with_facts(findings, IntelSummary))
    if not listed:
        return ""
    named = [one for one in listed if one.value.lower() in question.lower() or one.defanged in question]
    asked = named or listed
    stated = [one for one in asked if one.revoked or one.valid_until]
    if not stated:
        since = sorted(one.valid_from for one in asked if one.valid_from)
        begins = f" The earliest is valid from {_time(since[0])}." if since else ""
        counted = plural(len(named) if named else total, "indicator")
        return f"**Cannot tell:** the file states for none of {counted} until when it is valid.{begins}"
    over = [one for one in stated if one.expired]
    lead = _lead(len(over), len(asked))
    shown = "; ".join(map(_words, [*over, *(one for one in stated if not one.expired)][:SHOWN]))
    more = f" and {len(stated) - SHOWN:,} more" if len(stated) > SHOWN else ""
    silent = len(asked) - len(stated)
    rest = f" Of {plural(silent, 'indicator')} the file states no end." if silent else ""
    return f"{lead} {shown}{more}, by what the file states.{rest}"


def _lead(over: int, asked: int) -> str:
    if over == asked:
        return (
            "**No longer valid:**" if asked == 1 else f"**None of {plural(asked, 'indicator')} is valid any longer:**"
        )
    if over:
        return f"**{over:,} of {plural(asked, 'indicator')} no longer valid:**"
    return "**Not expired:**"


def _words(one: ListedIndicator) -> str:
    value = code_span(one.defanged, limit=VALUE_CHARS)
    if one.revoked:
        return f"{value} is revoked"
    begun = f" from {_time(one.valid_from)}" if one.valid_from else ""
    return f"{value} is valid{begun} until {_time(one.valid_until)}{' (past)' if one.expired else ''}"


def _time(written: str) -> str:
    return escape(time_words(written[:40]))
