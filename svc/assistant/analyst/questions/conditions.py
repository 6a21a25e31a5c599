"""Read the conditions of a question that records must fulfil exactly: "except", "did not", "more than 100 MB". Pure.

A clause with such a condition has a different answer from the same clause without it: never answer it without.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.questions.comparisons import comparison_of
from svc.assistant.analyst.questions.demands import (
    equal_in,
    equal_of,
    least_of,
    often_in,
    only_in,
    other_in,
    rank_in,
    rank_of,
    relation_in,
    spread_in,
)
from svc.assistant.analyst.questions.record_questions import (
    COUNT,
    OUTCOME_LET,
    OUTCOME_STOPPED,
    asks_success,
    column_names,
    columns_named,
    columns_of,
    fails,
    measured_by,
    words_about,
)
from svc.assistant.analyst.questions.states import is_polar
from svc.assistant.analyst.questions.time_words import window_of
from svc.assistant.skills.asked.findings import RecordConditions

CONDITIONS = "conditions"  # the option of the tools for events and for logins
MAX_CLAUSE_CHARS = 300
MAX_GROUPED = 2  # sorts of columns that one noun names
MOST = 3  # values that are shown if the one with the most is asked for
BOTH, IN_FILE = "both", "in "  # a place: all inputs, or one of them, whose name follows
_EXCEPT = re.compile(
    r",?\s?\b(?:except(?:ing)?(?: for)?|other than|besides|apart from|excluding|but not|not (?:from|by|for|on|via))"
    r"\s(?P<what>[^?,;]{1,80})",
    re.IGNORECASE,
)
_ASKED = (
    r"(?:(?:which|what|list|show|name)(?: (?:of|all|the|me|our|us)){0,3}(?: [\w-]{1,20}){1,2}?|who|hosts|machines|users"
    r"|accounts|ips|addresses|computers|servers)"
)
_NEGATED = r"(?:did|do|does|was|were|has|have|had|is|are|could)"
_NOT = re.compile(
    rf"\A\W*(?:(?:and|so|ok|but) )?(?P<asked>{_ASKED})(?P<actor> {_NEGATED}?(?: [\w.@\\-]{{1,60}})?| that| which)??"
    rf" (?:{_NEGATED}(?P<subject> [\w.@\\-]{{1,60}})? not|(?:{_NEGATED}|ca)n['\u2019]?t"
    r"|not|never|without|lacks?|nowhere|(?:ha(?:s|ve|d)|with|got|shows?|showed) (?:no|zero))\b(?P<rest>[^?]*)",
    re.IGNORECASE,
)
_UNITS = {
    "b": 1, "byte": 1, "bytes": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20,
    "gib": 2**30, "k": 10**3, "m": 10**6, "g": 10**9,
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
    "h": 3_600, "hour": 3_600, "hours": 3_600, "day": 86_400, "days": 86_400,
}  # fmt: skip
_OF_TIME = frozenset({"s", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes", "h", "hour", "hours",
                      "day", "days"})  # fmt: skip
_LIMIT = re.compile(
    r"\b(?:(?P<more>more than|over|above|at least|exceeding|(?:larger|bigger|longer|greater) than|beyond)"
    r"|(?P<less>less than|under|below|(?:smaller|shorter) than)|(?P<sign>[<>]=?))"
    rf"\s?(?P<number>\d{{1,9}}(?:\.\d{{1,6}})?)\s?(?P<unit>{'|'.join(sorted(_UNITS, key=len, reverse=True))})\b"
    r"(?! (?:ago|later|before|after))",
    re.IGNORECASE,
)
_SENDS = re.compile(r"\b(?:sent|send|sends|sending|upload\w*|outbound|exfil\w*)\b", re.IGNORECASE)
_RECEIVES = re.compile(r"\b(?:receiv\w*|download\w*|inbound|fetch\w*)\b", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<m>{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_DAYS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:(?:on|at|for) )?(?P<y>\d{4})-(?P<mm>\d\d)-(?P<d>\d\d)\b",
        rf"\b(?:(?:on|at|for|the) ){{0,2}}{_MONTH} (?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)",
        rf"\b(?:(?:on|at|for) )?(?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}\b",
        r"\b(?:(?:on|at|for) )?the (?P<d>\d{1,2})(?:st|nd|rd|th)\b",
    )
)
_PER = re.compile(
    r"\b(?:per|by|each|every|grouped by|for each|for every|an|a) (?P<per>hour|day|date)\b|\b(?P<ly>hourly|daily)\b",
    re.IGNORECASE,
)
_GROUPS = {
    "level": (r"levels?|severit(?:y|ies)|ratings?", ("severity", "level")),
    "status": (
        r"(?:http |response )?(?:status(?:es)?|codes?)(?: codes?)?",
        ("sc-status", "status_?code", "http.status", "status"),
    ),
    "event ID": (r"event[ -]?ids?|event codes?|event numbers?", ("event_?id", "event_?code")),
    "outcome": (r"outcomes?|results?|actions?", ("alert.action", "action", "outcome", "outcome.result", "result")),
}
"""What records are counted by, beside what questions ask for: its words, and the names of the columns."""
_GROUP = re.compile(
    r"\b(?:by|per|for each|for every|grouped by|each) (?:the )?"
    r"(?!whom?\b|which\b|what\b)(?P<noun>[\w-]{2,20}(?: (?:ids?|codes?|address(?:es)?|ips?|agents?))?)"
    r"(?=\W*\Z|,| (?:as|in|with|for|from|on|between|after|before)\b)",
    re.IGNORECASE,
)
_IDS = re.compile(r"\b(?:list|which|what|show|count)\b[^?]{0,20}\bevent[ -]?(?:ids?|codes?)\b", re.IGNORECASE)
_DISTINCT = re.compile(r"\bhow many (?:different|distinct|unique) ", re.IGNORECASE)
_HAPPENED = re.compile(
    r"\bwhat(?:'s| is| was)? (?:all )?"
    r"(?:happen(?:s|ed|ing)?|(?:was )?going on|(?:was )?logged|recorded|(?:was|is) there)\b",
    re.IGNORECASE,
)
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_TOP = re.compile(rf"\btop[ -]?(?P<top>\d{{1,3}}|{'|'.join(_NUMBERS)})\b", re.IGNORECASE)
_NOUNS = (
    r"(?:log-?[io]ns?|sign-?ins?|entr(?:y|ies)|requests?|connections?|events?|records?|quer(?:y|ies)|lookups?|alerts?"
    r"|calls?|access(?:es)?|attempts?|failures?|downloads?|uploads?|visits?|hits?|lines?)"
)
_ENDS = re.compile(
    r"\b(?P<end>first and (?:the )?last|first|last|latest|earliest|most recent|oldest|newest)\b(?: [\w-]{1,20}){0,2}?"
    rf" {_NOUNS}\b",
    re.IGNORECASE,
)
_DONE = (
    r"(?:ran|run|executed|started|launched|happened|occurred|came|logged (?:in|on)|signed in|failed|connected|visited"
    r"|downloaded|blocked|denied|allowed|hit|seen|accessed|created|deleted|changed|used|called|queried|got in|did|do)"
)
_DONE_FIRST = re.compile(
    rf"\b{_DONE}(?: [\w.@:\\-]{{1,60}}){{0,2}}? (?P<end>first|last)\b"
    r"(?=\W*\Z| (?:and|on|in|at|from|by|to|as|via|for|of)\b)"
    r"|\bwho (?:was )?(?P<end3>first|last)\b(?! seen)"
    r"|\b(?P<end2>first|last|latest|earliest) (?:thing|process|program|command|host|machine|user|account|ip|address"
    r"|source|device|file|change|action|domain|site)\b",
    re.IGNORECASE,
)
_ASKED_FIRST = re.compile(r"\A\W*(?:and )?(?P<noun>who|(?:which|what) \w{3,20})\b", re.IGNORECASE)
_OTHER_END = re.compile(r"\band (?:which |who |what |the )?(?:first|last)\W*\Z", re.IGNORECASE)
_DEED = re.compile(r"\b(?:did|do|does|happened|occurred|came|things?)\b", re.IGNORECASE)
"""Asks for a record, whichever columns it has."""
_PORT = re.compile(r"\bports? (?P<port>\d{1,5})\b", re.IGNORECASE)
_BOTH = re.compile(
    r"\b(?:in|on|across) (?:both|all|each|every|several|more than one|multiple|the two|two)(?: of)?(?: the| these)?"
    r"(?: (?:files?|logs?|inputs?|sources?|attachments?|evidence))?\W*\Z"
    r"|\b(?:shared|common)(?: \w+)? (?:between|across|to|in|by)(?: \w+){0,3}\W*\Z",
    re.IGNORECASE,
)
_ONLY_IN = re.compile(r"\bonly in (?:the )?(?:file |log )?[`'\"]?(?P<file>[\w.-]{1,80}\.\w{1,8})\b", re.IGNORECASE)
_IN_FILE = re.compile(
    r"\b(?:in|inside|within) (?:the )?(?:file |log )?[`'\"]?"
    r"(?P<file>[\w.-]{1,80}\.(?:log|jsonl?|ndjson|csv|tsv|txt|evtx|xml))\b",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"\b(?:log(?:ged|s|ging)?[- ]?(?:in|on)s?|sign(?:ed|ing)?[- ]?(?:in|on)s?|authenticat\w*|got in|get in)\b"
    r"|\bfail(?:s|ing|ures?)?\b"
    r"|\bfailed\b(?! (?:to )?(?!log|sign|auth|pass|attempt|for|from|on|at|per|by|and|in|but)\w)",
    re.IGNORECASE,
)
_FAILED = re.compile(r"\bfail\w*|\bunsuccessful\w*|\bwrong passwords?\b|\brejected\b", re.IGNORECASE)
_ACCEPTED = re.compile(
    r"\bsuccess\w*|\baccepted\b|\b(?:logged|signed) ?-?(?:in|on)\b|\bgot in\b|\bget in\b|\blog (?:in|on)\b",
    re.IGNORECASE,
)
_LISTS = re.compile(
    r"\b(?:which|what|who|whom|where|how many|list|show|any|all|every\w*|count|number of|top|first|last|just|only|more"
    r"|fewer|less)\b",
    re.IGNORECASE,
)
_PREMISE = re.compile(
    r"\A\W*(?:(?:and|so|ok|but) )?(?:why|how|when|where|from where|at what time|what time) (?:did|was|has)"
    r" [\w.@\\-]{1,60} (?:able to )?(?:log|sign|get|logged|signed|got)[ -]?(?:in|on|into|onto)\b",
    re.IGNORECASE,
)
"""Takes for granted that somebody got in."""
_MOST = re.compile(
    r"\A\W*(?:and )?(?P<asked>(?:which|what|whose|who)(?: [\w-]{1,20}){0,2}?)"
    r" (?:has|had|have|got|made|makes|saw|shows?|with|caused|produced|received|appears?|failed"
    r"|(?:was|were|is|are|got) \w{2,20}|logged (?:in|on)|connected|tried)(?: the)? (?:most|highest number of)\b",
    re.IGNORECASE,
)
_THE_MOST = re.compile(r"\b(?:the )?(?:most|highest number of)\b", re.IGNORECASE)
_WHO = re.compile(r"\A\W*(?:and )?(?:who|(?:which|what) (?:\w+ )?(?:users?|accounts?|people))\b", re.IGNORECASE)
_COMPARES_DAYS = re.compile(r"\b(?:more|fewer|less|busier|worse|compare\w*|difference|vs|versus|or)\b", re.IGNORECASE)
_OF_ALERTS = re.compile(r"\b(?:everything|alerts?|detections?|all|findings?)\b", re.IGNORECASE)
_JUST = re.compile(r"\A\W*(?:give me |show me |list )?(?:just|only) (?:the |all (?:the )?)?\w+", re.IGNORECASE)
_FORM = re.compile(
    r",?\s?\b(?:one per line|(?:as|in) an? (?:table|list)|comma[- ]separated|nothing else|(?:oldest|newest) first"
    r"|please)\b",
    re.IGNORECASE,
)
_OUTCOME_NOT = re.compile(
    r"\b(?:not|n[o'\u2019]?t|never)(?: (?:been|be|get|got|yet))? (?:allow|accept|permit|approv|let|block|den[yi]|drop"
    r"|reject|prevent|refus|stop|quarantin)",
    re.IGNORECASE,
)
_DURATION = re.compile(r"\W*(?:and )?how (?:long|much time)\b", re.IGNORECASE)
"""Asks for a time between two records, which no condition gives."""
_FILLING = re.compile(
    r"\b(?:what happened|what(?: was|'s| is)? (?:happening|going on|logged|recorded)|how many|counts?|number of|in utc"
    r"|just|only|most|time of|when was|everything|more|fewer|less|busier|worse|list|different|distinct|unique"
    r"|successfully|things?|by failures?|by count|by number|events?|records?|entries|rows?|lines?)\b",
    re.IGNORECASE,
)


def is_strict(asked: RecordConditions) -> bool:
    """Whether an answer that leaves a condition out would be another one; else it only names logins more exactly."""
    return bool(
        asked.excluded or asked.is_complement or asked.days or asked.ports or asked.measure or asked.per or asked.top
        or asked.ends or asked.place or asked.is_grouped or asked.equals or asked.least or asked.rank or asked.other
        or not asked.logins
    )  # fmt: skip


def demands_in(clause: str) -> str:
    """What a clause demands of records, in a few words; "" for what an ordinary answer states by itself."""
    asked = conditions_of(clause)
    if asked is not None and (words := _demand_words(asked)):
        return words
    spread = spread_in(clause)
    is_spread = spread is not None and not columns_named(spread["noun"]).keys().isdisjoint(column_names())
    match = often_in(clause) or (spread if is_spread else None)
    words = match[0] if match is not None else relation_in(clause)
    return f"“{words}”" if words else ""


def _demand_words(asked: RecordConditions) -> str:
    demands = (
        ("not", asked.is_complement), (f"without {', '.join(asked.excluded)}", asked.excluded),
        (f"at least {asked.least}", asked.least), (f"number {asked.rank}", asked.rank),
        (f"the {asked.ends}", asked.ends and asked.needs_value), (f"{asked.measure} limit", asked.measure),
        (f"per {asked.per}", asked.per), (f"the top {asked.top}", asked.top),
        ("only" if asked.other is not None and asked.other[0] == "only" else "a second outcome", asked.other),
    )  # fmt: skip
    return ", ".join(f"“{words}”" for words, is_asked in demands if is_asked)


def takes_for_granted(clause: str) -> bool:
    """Whether a clause takes for granted that somebody got in: "why did root log in?"."""
    return _PREMISE.match(clause) is not None


def conditions_of(clause: str) -> RecordConditions | None:
    """The conditions of a clause; None if it has none that its ordinary answer would leave out."""
    if len(clause) > MAX_CLAUSE_CHARS or measured_by(clause) or _DURATION.match(clause) or comparison_of(clause):
        return None
    read = _ClauseReader(clause)
    found = read.conditions()
    return found if found is not None and read.is_conditioned(found) else None


def side_conditions(text: str) -> RecordConditions:
    """The records that a few words mean of which the time is asked for: "the first failed login of root"."""
    ends = ""
    if (match := _END.search(text)) is not None:
        ends = "last" if match["last"] else "first"
        text = f"{text[: match.start()]} {text[match.end() :]}"
    read = _ClauseReader(_OF_SIDES.sub(" ", text)).conditions() or RecordConditions()
    return RecordConditions(
        words=read.words,
        logins="accepted" if read.logins == "any" else read.logins,
        outcome=read.outcome,
        days=read.days,
        ports=read.ports,
        ends=ends,
        is_timed=True,
    )


def timed_conditions(clause: str) -> RecordConditions | None:
    """The records that a part of a clause asks for, to be compared by their times; None if it names none."""
    found = _ClauseReader(clause).conditions()
    if found is None or found.is_complement or not (found.columns or found.logins or found.words):
        return None
    needs_value = bool(found.columns) and _DEED.search(clause) is None
    return RecordConditions(
        words=found.words, excluded=found.excluded, columns=found.columns, logins=found.logins, outcome=found.outcome,
        ports=found.ports, equals=found.equals, needs_value=needs_value, is_timed=True,
    )  # fmt: skip


_END = re.compile(
    r"\b(?:(?P<first>first|1st|initial|earliest)|(?P<last>last|final|latest|most recent))\b", re.IGNORECASE
)
_OF_SIDES = re.compile(r"\b(?:when|sessions?|activity|seen|recorded|occurrences?|time|able)\b", re.IGNORECASE)
"""Words of the ends of a time that are in no record."""


def conditioned(clauses: Sequence[str]) -> list[tuple[str, RecordConditions]]:
    """The clauses of a question that have conditions."""
    return [(clause, found) for clause in clauses if (found := conditions_of(clause)) is not None]


def encoded_conditions(clauses: Sequence[tuple[str, RecordConditions]]) -> str:
    """As the option of a tool."""
    return msgspec.json.encode([{"clause": clause, "conditions": one} for clause, one in clauses]).decode()


class _ClauseReader:
    """Takes the conditions out of a clause, one after the other; what is left names the records."""

    def __init__(self, clause: str) -> None:
        self.clause = clause
        self.rest = _FORM.sub("", clause)
        self.days: list[str] = []

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        return self._take_match(pattern.search(self.rest))

    def _take_match(self, match: re.Match[str] | None) -> re.Match[str] | None:
        if match is not None:
            self.rest = f"{self.rest[: match.start()]} {self.rest[match.end() :]}"
        return match

    def conditions(self) -> RecordConditions | None:
        """Everything that the clause demands of records; None if it cannot be read."""
        place = self._place()
        ranked = self._take_match(rank_in(self.rest)) if not measured_by(self.clause) else None
        limit, ports = self._take(_LIMIT), tuple(match["port"] for match in _PORT.finditer(self.rest))
        self.rest = _PORT.sub(" ", self.rest)
        self._read_days()
        equals = equal_of(match) if (match := self._take_match(equal_in(self.rest))) is not None else None
        least, owners, spread = self._often()
        is_deed = _DEED.search(self.rest) is not None
        per, top, ends = self._take(_PER), self._take(_TOP), self._ends() or ("first" if ranked is not None else "")
        groups = self._groups() if per is None else {}
        other = self._other()
        excluded = self._excluded()
        most = self._most()
        negated = None if excluded or other or _OUTCOME_NOT.search(self.rest) else _NOT.search(self.rest)
        if negated is not None:
            self.rest = f"{negated['subject'] or ''}{negated['actor'] or ''} {negated['rest']}"
        logins = self._logins(is_negated=negated is not None)
        if negated is not None or most is not None:
            columns = columns_named((negated or most or {"asked": ""})["asked"])
        else:
            columns = groups or self._columns(has_top=top is not None)
        if not columns and _PREMISE.match(self.clause):
            columns = columns_named("who")
        columns = owners or columns | _ranked_column(ranked)
        columns = {} if ends and is_deed else columns
        unit = limit["unit"].lower() if limit is not None else ""
        number = float(limit["number"]) * _UNITS[unit] if limit is not None else -1.0
        is_less = limit is not None and (limit["less"] or (limit["sign"] or "").startswith("<"))
        wants_days = len(self.days) > 1 and _COMPARES_DAYS.search(self.clause) is not None
        return RecordConditions(
            words=tuple(self._words(columns, is_login=bool(logins))),
            excluded=excluded,
            columns=columns,
            is_complement=negated is not None,
            logins=logins,
            outcome="" if logins else self._outcome(),
            days=tuple(self.days),
            ports=ports,
            measure=_measure(unit, self.clause) if limit is not None else "",
            more=-1.0 if is_less else number,
            less=number if is_less else -1.0,
            per=_per(per) or ("day" if wants_days else ""),
            top=_number(top["top"]) if top is not None else MOST if most is not None else 0,
            ends=ends,
            place=place,
            is_grouped=bool(groups),
            equals=equals,
            needs_value=bool(ends and columns),
            rank=rank_of(ranked) if ranked is not None else 0,
            distinct=next(iter(_ranked_column(ranked)), ""),
            is_timed=ranked is not None,
            least=least,
            other=other,
            spread=spread,
        )

    def is_conditioned(self, found: RecordConditions) -> bool:
        """Whether the clause has a different answer from the one without its conditions."""
        if found.is_complement:
            return bool(found.columns and (found.words or found.logins or found.ports))
        if found.excluded or (found.place and not found.place.startswith(IN_FILE)):
            return bool(found.columns or found.logins or _OF_ALERTS.search(self.clause))
        if found.equals is not None:
            return True
        if found.other is not None:
            return bool(found.columns and found.outcome)
        if found.least:
            return bool(found.columns)
        if found.ends:
            return bool(found.words or found.logins or found.columns)
        if found.is_grouped or (_HAPPENED.search(self.clause) and window_of(self.clause)):
            return True
        if found.days or found.per:
            return _LISTS.search(self.clause) is not None or is_polar(self.clause) or bool(found.logins)
        if found.top:
            return bool(found.columns)
        if _PREMISE.match(self.clause):
            return found.logins == "accepted" and bool(found.words)
        if _JUST.match(self.clause):
            return bool(found.columns)
        if _DISTINCT.search(self.clause) and found.columns:
            return True
        counts_logins = COUNT.search(self.clause) is not None and bool(found.logins)
        asks_login = bool(found.logins and found.words) and (
            is_polar(self.clause) or _WHO.match(self.clause) is not None
        )
        return bool(found.measure or found.ports or (counts_logins and (found.words or found.columns)) or asks_login)

    def _other(self) -> tuple[str, str] | None:
        """A second outcome, which is taken out of the clause; "only allowed" leaves the outcome in it."""
        if (match := only_in(self.rest)) is not None:
            return "only", "allowed" if match["let"] else "blocked"
        match = self._take_match(other_in(self.rest))
        if match is None:
            return None
        return "without" if match["without"] else "also", "allowed" if match["let"] else "blocked"

    def _often(self) -> tuple[int, dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        """How often a value must be there; of which columns, and those whose different values count instead."""
        match = spread_in(self.rest)
        spread = columns_named(match["noun"]) if match is not None else {}
        lead = _ASKED_FIRST.match(self.rest)
        asked = columns_named(lead["noun"]) if lead is not None else {}
        if match is not None and spread and asked and next(iter(spread)) not in asked:
            self._take_match(match)
            return least_of(match), asked, spread
        match = often_in(self.rest)
        return (least_of(match), {}, {}) if self._take_match(match) is not None and match is not None else (0, {}, {})

    def _most(self) -> re.Match[str] | None:
        """Who or what has the most of something that is counted; what is measured is asked for otherwise."""
        match = _MOST.match(self.rest)
        if match is not None:
            asks = match["asked"].split(" ", 1)[0]
            self.rest = f"{asks} {_THE_MOST.sub(' ', self.rest[match.end('asked') :], count=1)}"
        return match

    def _groups(self) -> dict[str, tuple[str, ...]]:
        """The column by whose values records are counted."""
        if _IDS.search(self.rest):
            self.rest = re.sub(r"\bevent[ -]?(?:ids?|codes?)\b", " ", self.rest, flags=re.IGNORECASE)
            return {"event ID": _GROUPS["event ID"][1]}
        match = _GROUP.search(self.rest)
        if match is None:
            return {}
        for what, (words, names) in _GROUPS.items():
            if re.fullmatch(words, match["noun"], re.IGNORECASE):
                self._take(_GROUP)
                return {what: names}
        found = columns_named(match["noun"])
        is_unknown = match["noun"].lower() in found.keys() - column_names()
        if not found or len(found) > MAX_GROUPED or is_unknown or _LOGIN.search(match["noun"]):
            return {}  # "by failures" is no column
        self._take(_GROUP)
        return found

    def _place(self) -> str:
        if (only := self._take(_ONLY_IN)) is not None:
            return only["file"]
        if self._take(_BOTH) is not None:
            return BOTH
        return f"{IN_FILE}{file['file']}" if (file := self._take(_IN_FILE)) is not None else ""

    def _ends(self) -> str:
        match = _ENDS.search(self.rest) or _DONE_FIRST.search(self.rest)
        if match is None:
            return ""
        name = next(name for name, words in match.groupdict().items() if words)
        words = match[name].lower()
        start, stop = match.span(name)
        self.rest = f"{self.rest[:start]} {self.rest[stop:]}"
        if "and" in words.split() or _OTHER_END.search(self.rest[stop:]):
            return "both"
        return "last" if words in ("last", "latest", "most recent", "newest") else "first"

    def _read_days(self) -> None:
        for pattern in _DAYS:
            while (match := self._take(pattern)) is not None:
                held = match.groupdict()
                month = held.get("mm") or (f"{_MONTHS.index(held['m'].lower()) + 1:02}" if held.get("m") else "")
                day = f"{int(held['d']):02}"
                year = f"{held['y']}-" if held.get("y") else ""
                self.days.append(f"{year}{month}-{day}")
        if len(self.days) == 1 and (more := re.search(r"\b(?:or|vs\.?|and|than) the (\d{1,2})\b", self.rest)):
            self.days.append(f"-{int(more[1]):02}")

    def _excluded(self) -> tuple[str, ...]:
        match = _EXCEPT.search(self.rest)
        if match is None:
            return ()
        words = words_about(match["what"], is_named=True)
        if not words:
            return ()
        self.rest = f"{self.rest[: match.start()]} {self.rest[match.end() :]}"
        return tuple(words)

    def _logins(self, *, is_negated: bool) -> str:
        if fails(self.clause) or _LOGIN.search(self.rest) is None:
            return ""
        if _PREMISE.match(self.clause):
            return "accepted"
        if _FAILED.search(self.rest):
            return "any" if _ACCEPTED.search(self.rest) and not _LOGIN_NOUN.search(self.rest) else "failed"
        return "accepted" if is_negated or _ACCEPTED.search(self.rest) else "any"

    def _outcome(self) -> str:
        if fails(self.clause):
            return "failed"
        if OUTCOME_STOPPED.search(self.rest):
            return "blocked"
        return "allowed" if OUTCOME_LET.search(self.rest) or asks_success(self.rest) else ""

    def _columns(self, *, has_top: bool) -> dict[str, tuple[str, ...]]:
        just = _JUST.match(self.clause)
        if just is not None:
            found = columns_named(just[0].split()[-1])
            self.rest = self.rest.replace(just[0], " ", 1)
        else:
            found = columns_named(self.rest) if has_top else columns_of(self.rest)
        if not found and _OF_ALERTS.search(self.clause):
            found = columns_named("alerts")
        return {what: names for what, names in found.items() if what != "target account"}

    def _words(self, columns: dict[str, tuple[str, ...]], *, is_login: bool) -> list[str]:
        rest = _FILLING.sub(" ", self.rest)
        if is_login:
            rest = re.sub(r"\b(?:able to|why|how)\b", " ", rest)
            rest = _FAILED.sub(" ", _ACCEPTED.sub(" ", _LOGIN.sub(" ", rest)))
        return words_about(rest, columns)


def _ranked_column(ranked: re.Match[str] | None) -> dict[str, tuple[str, ...]]:
    """What an ordinal counts beside records: the column of "the 2nd account"."""
    noun = re.match(r" (?:different |new |other )?(\w+)", ranked.string[ranked.end() :]) if ranked is not None else None
    if noun is None or re.fullmatch(_NOUNS, noun[1], re.IGNORECASE):
        return {}
    return dict(list(columns_named(noun[1]).items())[:1])


_LOGIN_NOUN = re.compile(r"\b(?:log-?[io]ns?|sign-?ins?)\b", re.IGNORECASE)


def _measure(unit: str, clause: str) -> str:
    if unit in _OF_TIME:
        return "seconds"
    return "sent" if _SENDS.search(clause) else "received" if _RECEIVES.search(clause) else "bytes"


def _per(match: re.Match[str] | None) -> str:
    if match is None:
        return ""
    words = (match["per"] or match["ly"]).lower()
    return "hour" if words.startswith("hour") else "day"


def _number(words: str) -> int:
    return _NUMBERS.get(words.lower()) or int(words)
