"""Questions that compare two values: "how many requests did tom make vs rosa", "did A send more than B". Pure.

Each side is counted or measured by itself in the records that contain it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from svc.assistant.findings import AnyFinding, kind_of, with_facts
from svc.assistant.skills.answer_parts import place_words
from svc.assistant.skills.asked.findings import AskedRecords
from svc.assistant.skills.events.findings import LogonAccount
from svc.assistant.skills.logins.findings import AuthAccount
from svc.assistant.spool import of_kind
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, plural

_BETWEEN = re.compile(r"\b(?:vs\.?|versus|compared (?:to|with)|than|and how many (?:did|does|has))\s", re.IGNORECASE)
_MORE = re.compile(r"\b(more|less|fewer|larger|bigger|smaller)\b[^?]{0,40}\bthan\b", re.IGNORECASE)
_WHICH_OF = re.compile(
    r"\A\W*(?:and )?(?:who|which|what)\b(?P<asked>[^?]{0,60}\b(?P<more>more|less|fewer|most|least)\b[^?]{0,40}?)[,:;]"
    r" ?(?P<one>[\w$@\\:.-]{2,60}) or (?P<other>[\w$@\\:.-]{2,60})\W*\Z",
    re.IGNORECASE,
)
_BYTES = re.compile(r"\b(?:send|sent|upload\w*|transfer\w*|receiv\w*|download\w*|bytes|data|traffic)\b", re.IGNORECASE)
_RECEIVES = re.compile(r"\b(?:receiv\w*|download\w*)\b", re.IGNORECASE)
_FAILED = re.compile(r"\bfail\w*", re.IGNORECASE)
_WORD = re.compile(r"[\w$@\\:.-]+")
_OWN_WORDS = """
anyone someone anything kb mb gb tb kib mib gib minutes hours seconds days one two three
how many much did does do was were is are have has had the a an of in on to by from for with and or more less fewer
than vs versus compared number count make made send sent get got requests request connections connection records
events event logins login logons logon failed failures failure fail failing bytes data times traffic user users
account accounts host hosts ip address there what who which between difference show list upload uploaded download
downloaded receive received transfer transferred larger bigger smaller compare it they he she please his her
commands command alerts alert hits hit queries query errors error denied blocked allowed sessions session run ran
start started use used see seen try tried attempts attempt visits visit total in
"""
_OWN = frozenset(_OWN_WORDS.split())


class Comparison(msgspec.Struct, frozen=True):
    """The two values that a question compares, and by what: ``sent``, ``received``, ``failures`` or ``records``."""

    first: str
    second: str
    measure: str
    asks_more: str = ""
    """``more`` or ``less``, if it asks whether the first is so; ``which``, if it asks which of them has more."""

    @property
    def sides(self) -> tuple[str, str]:
        """The names of the questions for the records of each side."""
        return f"{self.first} (compared)", f"{self.second} (compared)"


def comparison_of(clause: str) -> Comparison | None:
    """What a clause compares; None if it compares no two values."""
    if (either := _WHICH_OF.match(clause)) is not None:
        of_what = f"{either['asked']} ".lower()
        names = tuple(either[name].strip(".:,").lower() for name in ("one", "other"))
        return Comparison(names[0], names[1], _measure(of_what), "which")
    match = _BETWEEN.search(f"{clause} ")
    if match is None or (match[0].strip().lower() == "than" and not _MORE.search(clause)):
        return None
    left, right = (_named(part) for part in (clause[: match.start()], clause[match.end() - 1 :]))
    if not left or not right or left[-1] == right[0]:
        return None
    more = _MORE.search(clause)
    asks = "" if more is None else "less" if more[1].lower() in ("less", "fewer", "smaller") else "more"
    measure = _measure(clause)
    first = next((one for one in left if re.search(r"[\d@\\.]", one)), left[0])
    return Comparison(first, right[0], measure, asks)


def _measure(clause: str) -> str:
    if _FAILED.search(clause):
        return "failures"
    if _BYTES.search(clause):
        return "received" if _RECEIVES.search(clause) else "sent"
    return "records"


def _named(text: str) -> list[str]:
    words = [word.strip(".:,").lower() for word in _WORD.findall(text)]
    return [word for word in words if word and word not in _OWN and not word.isdigit()]


def comparison_answer(clause: str, findings: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    """The sentence with both figures, and whether both are known; None if the clause compares nothing."""
    asked = comparison_of(clause)
    if asked is None:
        return None
    if asked.measure == "failures" and (told := _failures(asked, findings)):
        return told
    held = with_facts(of_kind(findings, kind_of(AskedRecords)), AskedRecords)
    figures: list[int] = []
    shown: list[str] = []
    for value, side in zip((asked.first, asked.second), asked.sides, strict=True):
        mine = next((one for one in held if one.facts.clause == side), None)
        if mine is None:
            return None
        facts = mine.facts
        found = facts.count if facts.words else 0
        place = f" ({place_words(mine.evidence[0])})" if found and mine.evidence else ""
        if asked.measure in ("sent", "received") and found:
            amount = next((one.count for one in facts.by_source if one.value.lower() == value), None)
            if amount is None:
                return None
            figures.append(amount)
            shown.append(f"{_value(value)} {plural(amount, 'byte')}{place}")
            continue
        figures.append(found)
        shown.append(f"{_value(value)} {plural(found, 'record')}{place}")
    what = f" {asked.measure}" if asked.measure in ("sent", "received") else ""
    return f"**{_lead(asked, figures)}{shown[0]}; {shown[1]}**{what}.", True


def _lead(asked: Comparison, figures: Sequence[int]) -> str:
    if not asked.asks_more:
        return ""
    if asked.asks_more == "which":
        most = asked.first if figures[0] > figures[1] else asked.second
        return "The same: " if figures[0] == figures[1] else f"{_value(most)} has more: "
    is_so = figures[0] > figures[1] if asked.asks_more == "more" else figures[0] < figures[1]
    return "Yes: " if is_so else "No: "


def _failures(asked: Comparison, findings: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    """The failed logins of two accounts; None if the logins are of neither."""
    counts: dict[str, int] = {}
    linux = [(one.facts.account, one.facts.failures) for one in with_facts(findings, AuthAccount)]
    windows = [(one.facts.account, one.facts.failures) for one in with_facts(findings, LogonAccount)]
    for name, failures in linux or windows:
        counts[name.lower()] = counts.get(name.lower(), 0) + failures
    if not {asked.first, asked.second} & counts.keys():
        return None
    figures = [counts.get(name, 0) for name in (asked.first, asked.second)]
    told = "; ".join(
        f"{_value(name)} {plural(figure, 'failed login')}"
        for name, figure in zip((asked.first, asked.second), figures, strict=True)
    )
    return f"**{_lead(asked, figures)}{told}.**", True


def _value(value: str) -> str:
    return code_span(defang_text(value), limit=80)
