"""Questions by country: "any logins from nigeria?", "is 203.0.113.7 russian?". Pure.

Only a log's own column says in which country an address is: nothing offline does, and an answer never guesses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache

import msgspec

from svc.assistant.findings import AnyFinding, Finding, kind_of, with_facts
from svc.assistant.knowledge import load
from svc.assistant.skills.answer_parts import place_words
from svc.assistant.skills.asked.findings import AskedRecords, RecordValue
from svc.assistant.skills.asked.records import COUNTRY_IS
from svc.assistant.spool import of_kind
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, plural

SHOWN = 5
_ASKS_ORIGIN = re.compile(
    r"\b(?:from|in|by|out of|based in|located in|to|with|via) (?:the )?\Z"
    r"|\b(?:is|are|was|were|any|an?)\b[^?\n]{0,60}\Z",
    re.IGNORECASE,
)


class _Countries(msgspec.Struct, frozen=True):
    """``places.toml``: by code, the names of each country."""

    source: str
    version: str
    date: date
    countries: dict[str, list[str]]


def country_of(clause: str) -> str:
    """The code of the country that a clause asks about; "" if it names none."""
    for pattern, code in _patterns():
        if (match := pattern.search(clause)) is not None and _ASKS_ORIGIN.search(clause[: match.start()]):
            return code
    return ""


def words_of(code: str) -> str:
    """The word of a question about records: the values by which a log's own column names a country."""
    return COUNTRY_IS + ",".join([code.lower(), *_names()[code]])


def place_answer(clause: str, findings: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    """The sentence about a country, from the column of the log that states it; None if the clause is about none."""
    code = country_of(clause)
    if not code:
        return None
    held = with_facts(of_kind(findings, kind_of(AskedRecords)), AskedRecords)
    mine = [one for one in held if one.facts.clause == clause]
    country = _names()[code][0].title() if len(_names()[code][0]) > 3 else _names()[code][0].upper()
    stated = [one for found in mine for one in found.facts.values if one.what == "country"]
    if not stated:
        quoted = code_span(clause, limit=160)
        reason = "what was read states no country, and in which country an address is, is not known offline"
        return f"**Cannot tell** {quoted}: {reason}.{_sources(mine)}", False
    hits = [one for one in mine if any(word.startswith(COUNTRY_IS) for word in one.facts.words)]
    if not hits:
        counted = sum(one.count for one in stated)
        total = sum(one.facts.total for one in mine)
        rest = "" if counted == total else f"; {total - counted:,} state none"
        of_all = f"{counted:,} of {plural(total, 'record')} state a country"
        return f"**No record names {country}:** {of_all} ({_listed(stated)}){rest}.", True
    return " ".join(
        _hit(one.facts, country, place_words(one.evidence[0])) for one in hits[:SHOWN] if one.evidence
    ), True


def _hit(facts: AskedRecords, country: str, place: str) -> str:
    by = {what: [one for one in facts.values if one.what == what] for what in ("account", "source", "country")}
    parts = [f"{what} {_listed(values)}" for what, values in by.items() if values]
    outcomes = [f"{one.count:,} {one.what} ({code_span(one.value)})" for one in facts.outcomes]
    told = "; ".join([*parts, *([", ".join(outcomes)] if outcomes else [])])
    missing = [one for one in facts.absent if not one.startswith(COUNTRY_IS)]
    not_used = f" They do not contain {', '.join(code_span(one) for one in missing)}." if missing else ""
    lead = f"**Yes: {plural(facts.count, 'record')} from {country}**"
    return f"{lead}, by the log's own column: {told} ({place}).{not_used}"


def _sources(found: Sequence[Finding[AskedRecords]]) -> str:
    values = [one for each in found for one in each.facts.values if one.what == "source"]
    return f" Sources: {_listed(values)}." if values else ""


def _listed(values: Sequence[RecordValue]) -> str:
    shown = ", ".join(code_span(defang_text(one.value), limit=80) for one in values[:SHOWN])
    return shown + (f" and {len(values) - SHOWN:,} more" if len(values) > SHOWN else "")


@cache
def _names() -> Mapping[str, Sequence[str]]:
    return load("places.toml", _Countries, __package__).countries


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Each name, the longest first, with the code."""
    named = sorted(((name, code) for code, names in _names().items() for name in names), key=lambda one: -len(one[0]))
    return tuple((re.compile(rf"\b{re.escape(name)}s?\b", re.IGNORECASE), code) for name, code in named)
