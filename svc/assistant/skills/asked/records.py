"""Collect the records that a question is about: by the words that they contain, with the columns that it asks for.

Which words of a question are values of the log is known only when it has been read. So records are counted by the set
of words that each contains, and at the end those with the most words are taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from svc.assistant.findings import Confidence, Facts, Finding, Severity
from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.evidence import Place, Span
from svc.assistant.skills.asked.findings import AskedRecords, RecordTime, RecordValue
from svc.assistant.skills.asked.largest import LargestRecords
from svc.untrusted.markup import plural

MAX_GROUPS = 64  # sets of words; the words of a question are few
MAX_VALUES = 500  # different ones of a column in a group
SHOWN = 50
MAX_VALUE_CHARS = 300
MAX_TIMES = 12
MAX_LAYOUTS = 1_000  # sets of columns; logs have a few
_ALLOWED = re.compile(
    r"\b(?:allow\w*|accept\w*|grant\w*|approv\w*|pass(?:ed)?|permit\w*|success\w*|succeeded|tunnel-?up|detect(?:ed)?|alert(?:ed)?|monitor\w*"
    r"|built|tcp_(?:miss|hit|tunnel|mem_hit|refresh\w*))\b",
    re.IGNORECASE,
)
_BLOCKED = re.compile(
    r"\b(?:block\w*|den(?:y|ied|ies)|drop\w*|reject\w*|rej|reset\w*|(?:not[ -]?|un|dis)approv\w*|declin\w*"
    r"|refus\w*|prevent\w*|quarantin\w*|delet\w*|clean\w*|fail\w*"
    r"|tcp_denied|permission_denied|forbidden|nxdomain|servfail)\b",
    re.IGNORECASE,
)
_ACTIONS = (
    r"(?:^|\.)alert\.action", r"(?:^|\.)(?:action|act|disposition|squidresult|decision|verdict|policyaction)",
    r"outcome(?:\.result)?", r"(?:^|\.)status\.message", r"(?:^|\.)(?:result|res|status)", r"(?:^|\.)errorcode",
    r"(?:^|\.)(?:scstatus|statuscode|httpstatus)", r"(?:^|\.)(?:rcodename|rcode|responsecodename)",
)  # fmt: skip
_BYTES = re.compile(
    r"(?:^|\.)(?:origbytes|sentbytes?|bytessent|bytestransferredout|requestsize|bytestoserver|outbytes|ibyt|bytes|scbytes"
    r"|bytesout|respbytes|receivedbytes?|rcvdbytes?|bytesreceived|bytestransferredin|responsesize|bytestoclient|inbytes"
    r"|bytesin|obyt|bytesrcv|bytesxmt)$"
)
_SECONDS = re.compile(r"(?:^|\.)(?:duration|elapsedtime|durationseconds|sessionduration)$")
_TIME_COLUMN = re.compile(
    r"(?:^|\.)(?:lastrun|previousrun\d*|runcount|created(?:0x[13]0|on)?|sourcecreated|lastmodified0x10"
    r"|filekeylastwritetimestamp|lastexecuted|executiontime|runtimes?|eventfirstseen|eventlastseen|updatetimestamp)$"
)
_PORTS = {
    "rdp": "3389", "ssh": "22", "smb": "445", "telnet": "23", "https": "443", "ftp": "21", "ldap": "389",
    "winrm": "5985",
    "vnc": "5900", "mssql": "1433", "mysql": "3306",
}  # fmt: skip
_METHODS = {"upload": ("PUT", "POST"), "delete": ("DELETE",)}
"""By the first letters of a word: the methods of requests that mean the same."""
_METHOD_COLUMN = re.compile(r"(?:^|\.)(?:csmethod|method|httpmethod|requestmethod|verb)$")
_PORT_COLUMN = re.compile(r"^(?:dstport|destinationport|id\.respp|dport|dpt|dp|destination\.port|destport)$")


_HAS_VALUE = ""  # in place of a word, in the key of a group
COUNTRY_IS = "country="
"""Begins a word that a column with a country must equal: ``country=ru,russia``."""
_COUNTRY_COLUMN = re.compile(
    r"(?:^|\.)(?:countryorregion|(?:src|source|dst)country(?:name|code)?|country(?:name|code|isocode)?|land|pays"
    r"|pa[ií]s|srcloc|sourcelocation)$"
)


class RecordQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A clause of a question: the words that may be in records, and the columns that it asks for.

    ``columns`` are patterns of the names of columns by what they hold, the best first. ``outcome``: only records
    that say ``allowed`` or ``blocked``, or that say anything else (``not allowed``); "" for all.
    ``is_not_blocked``: not those that say ``blocked``. ``is_of_logins``: only logins. ``largest``: ``bytes``,
    ``sent``, ``received`` or ``seconds``, of which the records with the most are asked for; ``is_outward``: only
    those to the Internet. ``needs_value``: records with a value of one of the columns go before those without.
    ``is_mention``: the clause only names something ("smb traffic?"), and ``columns`` are those that every log may
    have.
    """

    clause: str
    words: tuple[str, ...] = ()
    outcome: str = ""
    is_not_blocked: bool = False
    is_of_logins: bool = False
    largest: str = ""
    is_outward: bool = False
    needs_value: bool = False
    is_mention: bool = False
    columns: dict[str, tuple[str, ...]] = {}


class _RecordGroup:
    """The records with the same words."""

    def __init__(self, question: RecordQuestion) -> None:
        self.largest = LargestRecords(question.largest, is_outward=question.is_outward)
        self.span = Span(limit=3, is_slim=True)
        self.values: dict[str, Counter[str]] = {}
        self.outcomes: Counter[str] = Counter()
        self.amounts: Counter[str] = Counter()
        self.times: list[RecordTime] = []

    def merge(self, other: _RecordGroup) -> None:
        self.span.merge(other.span)
        self.largest.merge(other.largest)
        for what, counts in other.values.items():
            self.values.setdefault(what, Counter()).update(counts)
        self.outcomes.update(other.outcomes)
        self.amounts.update(other.amounts)
        self.times = (self.times + other.times)[:MAX_TIMES]


class HeldBy:
    """Which columns of records with the same columns hold what, the best first: found once for all of them."""

    def __init__(self, names: Sequence[str], wanted: Mapping[str, Sequence[re.Pattern[str]]]) -> None:
        named = [(name, _plain(name)) for name in names]
        self.named: list[tuple[str, str]] = named
        self.columns: dict[str, list[str]] = {
            what: [
                name
                for pattern in patterns
                for name, column in named
                if _is_column(pattern, column) and not (what == "target account" and name == _ACTOR)
            ]
            for what, patterns in wanted.items()
        }
        self.actions: list[str] = [
            name for pattern in _ACTION_COLUMNS for name, column in named if pattern.search(column)
        ]
        self.sums: list[str] = [name for name, column in named if _BYTES.search(column) or _SECONDS.search(column)]
        self.times: list[str] = [name for name, column in named if _TIME_COLUMN.search(column)]
        self.countries: list[str] = [name for name, column in named if _COUNTRY_COLUMN.search(column)]
        self.methods: list[str] = [name for name, column in named if _METHOD_COLUMN.search(column)]
        self.errors: frozenset[str] = frozenset(name for name, column in named if column.endswith("errorcode"))
        self.ports: list[str] = [name for name, column in named if _PORT_COLUMN.match(column)]

    def values(self, event: Event, what: str, names: Sequence[str]) -> list[str]:
        """The values that a record has of one thing."""
        return _values(event, what, names)


class RecordColumns:
    """The columns of the records of a log that hold what a question asks for.

    ``wanted`` are patterns of the names of columns by what they hold, the best first.
    """

    def __init__(self, wanted: Mapping[str, Sequence[str]]) -> None:
        self._wanted = {
            what: tuple(re.compile(rf"(?:{_joined(one)})$") for one in patterns) for what, patterns in wanted.items()
        }
        self._layouts: dict[tuple[str, ...], HeldBy] = {}

    def of(self, event: Event) -> HeldBy:
        """The columns of a record."""
        names = tuple(event.fields)
        found = self._layouts.get(names)
        if found is None:
            if len(self._layouts) >= MAX_LAYOUTS:
                self._layouts.clear()
            found = self._layouts[names] = HeldBy(names, self._wanted)
        return found


class AskedCollector:
    """Collects the records of one clause."""

    def __init__(self, question: RecordQuestion) -> None:
        self._question = question
        self._words = [(word, word_pattern(word)) for word in question.words if not word.startswith(COUNTRY_IS)]
        self._countries = {
            word: frozenset(word.removeprefix(COUNTRY_IS).split(","))
            for word in question.words
            if word.startswith(COUNTRY_IS)
        }
        self._columns = RecordColumns(question.columns)
        self._groups: dict[frozenset[str], _RecordGroup] = {}
        self._total = 0
        self._stated: Counter[str] = Counter()

    def add(self, event: Event) -> None:
        """Count a record with the words that it contains."""
        if self._question.is_of_logins and event.category != "authentication":
            return
        self._total += 1
        layout = self._columns.of(event)
        outcome = outcome_of(event, layout)
        state = outcome.partition(":")[0]
        if outcome and self._question.outcome:
            self._stated[state] += 1
        if not _is_wanted(self._question.outcome, state, event, layout) or (
            self._question.is_not_blocked and state == "blocked"
        ):
            return
        text = "\n".join((*event.fields.values(), event.host, event.excerpt))
        found = frozenset(word for word, pattern in self._words if has_word(word, pattern, text, event, layout))
        countries = {event.fields[name].lower() for name in layout.countries}
        found |= {word for word, names in self._countries.items() if names & countries}
        held = [(what, value) for what, names in layout.columns.items() for value in _values(event, what, names)]
        if held and self._question.needs_value:
            found |= {_HAS_VALUE}
        group = self._groups.get(found)
        if group is None:
            if len(self._groups) >= MAX_GROUPS:
                return
            group = self._groups[found] = _RecordGroup(self._question)
        group.span.add(event)
        for what, value in held:
            counts = group.values.setdefault(what, Counter())
            if len(counts) < MAX_VALUES or value in counts:
                counts[value] += 1
        if outcome:
            group.outcomes[outcome] += 1
        if self._question.largest:
            group.largest.add(event, layout.named, [RecordValue(what, value, 1) for what, value in held])
        _add_amounts(group, event, layout)

    def findings(self, place: Place) -> Iterator[Finding[Facts]]:
        """Yield what the records with the most words hold."""
        if not self._groups:
            if self._question.outcome and self._total:
                yield self._none()
            return
        best = max(map(len, self._groups))
        if not best and self._question.words and not (self._countries or self._question.columns):
            return  # no record has a word of the question
        chosen = _RecordGroup(self._question)
        for words, group in self._groups.items():
            if len(words) == best:
                chosen.merge(group)
        shared = {word for one in self._groups if len(one) == best for word in one}
        used = [word for word in self._question.words if word in shared]
        is_any = len({words for words in self._groups if len(words) == best}) > 1
        count = chosen.span.count
        facts = AskedRecords(
            clause=self._question.clause,
            total=self._total,
            count=count,
            words=used,
            is_any=is_any,
            outcome=self._question.outcome,
            absent=[word for word in self._question.words if word not in shared],
            first=chosen.span.first or None,
            last=chosen.span.last or None,
            values=[RecordValue(what, value, n) for what, each in chosen.values.items() for value, n in _top(each)],
            outcomes=[RecordValue(*one.partition(": ")[::2], n) for one, n in _top(chosen.outcomes)],
            amounts=[RecordValue("sum", column, n) for column, n in _top(chosen.amounts)],
            times=chosen.times,
            largest=chosen.largest.records,
            by_source=chosen.largest.by_source,
        )
        shown = chosen.largest.events or chosen.span.events
        about = f" with {', '.join(used)}" if used else ""
        yield Finding(
            title=f"{plural(count, 'record')}{about}",
            severity=Severity.INFO,
            confidence=Confidence.HIGH,
            why="the question asks for these records",
            evidence=tuple(place.evidence(event) for event in shown),
            facts=facts,
        )

    def _none(self) -> Finding[Facts]:
        """That no record has the outcome that is asked for, with the outcomes that records state."""
        facts = AskedRecords(
            clause=self._question.clause, total=self._total, count=0, words=[], absent=list(self._question.words),
            first=None, last=None, values=[], outcome=self._question.outcome, amounts=[], times=[], largest=[],
            outcomes=[RecordValue(state, state, count) for state, count in _top(self._stated)], by_source=[],
        )  # fmt: skip
        return Finding(
            title=f"no record that is {self._question.outcome}",
            severity=Severity.INFO,
            confidence=Confidence.HIGH,
            why="the question asks for these records",
            evidence=(),
            facts=facts,
        )


def _is_wanted(outcome: str, state: str, event: Event, layout: HeldBy) -> bool:
    """Whether a record has the outcome that is asked for; one that states none has no opposite either."""
    if not outcome.startswith("not "):
        return not outcome or state in STATES[outcome]
    return state != outcome.removeprefix("not ") and any(event.fields[name] for name in layout.actions)


STATES: dict[str, tuple[str, ...]] = {
    "allowed": ("allowed", "failed"),
    "blocked": ("blocked",),
    "failed": ("failed", "blocked", "error"),
}
"""By the outcome that is asked for: those that a record may state."""


def _top(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:SHOWN]


def word_pattern(word: str) -> re.Pattern[str]:
    """A word where a word begins; a longer one anywhere, as in the names of actions: ``FileDownloaded``."""
    if _PLAIN_WORD.match(word) and len(word) >= LONG_WORD:
        word = _ENDING.sub("", word)
    start = r"(?<![a-z0-9])" if len(word) < LONG_WORD or word[0].isdigit() else ""
    end = r"(?![a-z0-9])" if len(word) < LONG_WORD - 1 else r"(?![\d])" if word[-1].isdigit() else ""
    return re.compile(start + re.escape(word) + end, re.IGNORECASE)


LONG_WORD = 5  # letters; a shorter one is in too many others
_PLAIN_WORD = re.compile(r"[a-z]+\Z")
_ENDING = re.compile(r"(?:ed|ing|es|s|e)\Z")


def has_word(word: str, pattern: re.Pattern[str], text: str, event: Event, layout: HeldBy) -> bool:
    """Whether a record has a word in its text, or what it stands for in its columns: ``rdp`` in that of the port."""
    if pattern.search(text):
        return True
    port = _PORTS.get(word)
    if port is not None and any(event.fields[name] == port for name in layout.ports):
        return True
    method = _METHODS.get(word[:6])
    return method is not None and any(event.fields[name] in method for name in layout.methods)


def _plain(name: str) -> str:
    """The name of a column in lower case, without what stands between its words."""
    return _BETWEEN.sub("", name.lower())


_BETWEEN = re.compile(r"[ _-]")


def _joined(pattern: str) -> str:
    """A pattern of the name of a column, for names as ``plain`` gives them."""
    return re.sub(r"[_-]\??", "", pattern)


def _values(event: Event, what: str, names: Sequence[str]) -> list[str]:
    """The values of the first column that has one; addresses also from a message."""
    if what == "event ID" and event.event_id is not None:
        return [str(event.event_id)]
    if what == "level" and event.verdict is not None and event.verdict.level:
        return [event.verdict.level[:MAX_VALUE_CHARS]]
    if what == "signature" and event.verdict is not None and event.verdict.name:
        return [event.verdict.name[:MAX_VALUE_CHARS]]
    for name in names:
        if what == "host" and event.host and _SENDER.search(name):
            break  # the log names its host
        value = event.fields[name]
        if value and value not in _UNSET and not (what == "domain" and value == event.host):
            return [one[:MAX_VALUE_CHARS] for one in value.split("\n") if one]
    if what == "host" and event.host:
        return [event.host]
    in_text = _IN_TEXTS.get(what)
    if in_text is None:
        return []
    text = event.fields.get("message", "") or (event.excerpt if what == "domain" else "")
    return list(dict.fromkeys(in_text.findall(text[:MAX_VALUE_CHARS])))


_ACTOR = "User"  # who did it, as readers map it
_SENDER = re.compile(r"src|source|orig", re.IGNORECASE)  # columns of the address that a record about traffic is from
_UNSET = frozenset({"-", "N/A", "None"})
_IN_TEXTS = {
    "source": re.compile(r"(?<![\w./])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\w)"),
    "domain": re.compile(r"\b(?:https?|ftp)://[^\s'\"<>,]{1,250}"),
}
"""What a message tells without a column of its own."""


def _is_column(pattern: re.Pattern[str], column: str) -> bool:
    return pattern.match(column) is not None or any(
        pattern.match(column[at + 1 :]) is not None for at, char in enumerate(column) if char == "."
    )


_ACTION_COLUMNS = tuple(re.compile(rf"(?:{one})$") for one in _ACTIONS)


def outcome_of(event: Event, layout: HeldBy) -> str:
    """``allowed: accept``, ``blocked: deny`` or ``failed: allowed, 404``; "" if a record says none of these."""
    for name in layout.actions:
        value = event.fields[name]
        if name in layout.errors and value.lower() not in _NO_ERRORS:
            return f"{'blocked' if _REFUSES.search(value) else 'error'}: {value[:60]}"
        if _BLOCKED.search(value) or _is_error(value):
            return f"blocked: {value[:60]}"
        if _ALLOWED.search(value):
            status = next((code for one in layout.actions if _is_error(code := event.fields[one])), "")
            return f"failed: {value[:60]}, {status}" if status else f"allowed: {value[:60]}"
    return "allowed: no error code" if event.service == "cloudtrail" else ""  # it has one if a call fails


_NO_ERRORS = frozenset({"", "-", "0", "none", "null", "success", "ok"})
_REFUSES = re.compile(
    r"denied|unauthori[sz]ed|forbidden|not ?authori[sz]ed|accessdenied|expiredtoken|invalidclient", re.IGNORECASE
)


def _is_error(value: str) -> bool:
    """Whether a value is an HTTP status that refuses, or a code of AWS that does."""
    return (len(value) == 3 and value.isdigit() and value >= "400") or value.startswith(
        ("AccessDenied", "Unauthorized")
    )


MAX_NUMBER_CHARS = 40
MAX_MESSAGE_CHARS = 2_000
_RUN_COUNT = re.compile(r"\brun count:? (\d{1,9})\b")


def _add_amounts(group: _RecordGroup, event: Event, layout: HeldBy) -> None:
    for name in layout.sums:
        value = event.fields[name]
        if len(value) <= MAX_NUMBER_CHARS and value.replace(".", "", 1).isdecimal():
            group.amounts[name] += round(float(value))
    if group.span.count > 1:
        return
    group.times += [RecordTime(name, event.fields[name]) for name in layout.times[:MAX_TIMES] if event.fields[name]]
    message = event.fields.get("message", "")
    if (stated := _RUN_COUNT.search(message[:MAX_MESSAGE_CHARS])) is not None:  # plaso's, about a prefetch file
        group.times.append(RecordTime("run count", stated[1]))
