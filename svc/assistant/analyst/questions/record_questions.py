"""Read a question as one about the records of a log: which column it asks for, and which words they must contain. Pure.

"which buckets did deploy touch?" asks for the column of buckets in the records that contain ``deploy``. Whether a word
is a value of the log is known only when it has been read, so all words that are not of the question itself are given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from functools import cache

import msgspec

from svc.assistant.analyst.clause_words import GENERAL_WORDS, content_words
from svc.assistant.analyst.questions.comparisons import Comparison, comparison_of
from svc.assistant.analyst.questions.orders import order_of
from svc.assistant.analyst.questions.places import country_of, words_of
from svc.assistant.analyst.questions.relations import relation_of
from svc.assistant.analyst.questions.states import asks_to_whom, is_polar
from svc.assistant.analyst.questions.time_words import without_time
from svc.assistant.knowledge import load
from svc.assistant.skills.asked.records import RecordQuestion

MAX_WORDS = 6
MAX_QUESTION_CHARS = 300
AT_HOST = "at host"  # where something was done, for a question who did it
RECORDS = "records"  # the option of the events tool


class Column(msgspec.Struct, frozen=True):
    """What a question asks for: its name, its words in a question, and the names of the columns that hold it."""

    what: str
    words: list[str]
    names: list[str]


class _RecordColumns(msgspec.Struct, frozen=True):
    """``record_columns.toml``."""

    source: str
    version: str
    date: date
    columns: list[Column]


@cache
def _names() -> dict[str, tuple[str, ...]]:
    """The names of the columns, by what they hold."""
    return {one.what: tuple(one.names) for one in load("record_columns.toml", _RecordColumns, __package__).columns}


def column_names() -> frozenset[str]:
    """What the columns hold that questions can ask for."""
    return frozenset(_names())


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """The words of a question, by what they ask for."""
    columns = load("record_columns.toml", _RecordColumns, __package__).columns
    return [(one.what, re.compile(rf"\b(?:{'|'.join(one.words)})\b", re.IGNORECASE)) for one in columns]


_ASKS_COLUMN = re.compile(
    r"\b(?:which|what|whats|who|whose|whom|where|list|show|by whom|from where)\b|\A\W*[\w ]{2,24}\?*\W*\Z",
    re.IGNORECASE,
)
OUTCOME_LET = re.compile(
    r"\b(?:allow\w*|accept(?:ed)?|permit\w*|approved?|let (?:in|through)|(?:got|get|gets|go|went) through)\b"
    r"|(?<=\bwho )(?:entered|got into)\b",
    re.IGNORECASE,
)
OUTCOME_STOPPED = re.compile(
    r"\b(?:block\w*|den(?:y|ied|ies)|drop(?:s|ped)?|reject\w*|prevent\w*|refus\w*|stopped|quarantin\w*)\b",
    re.IGNORECASE,
)
SUCCEEDED = re.compile(
    r"\bsuccess\w*|\b(?:get|got|gotten|broke|break|log(?:ged)?|sign(?:ed)?)[ -]?in\b"
    r"|\bsucceed\w*|\bwork(?:ed)?\b|\bmanaged? to\b|\bget (?:the|it|any|to)\b|\A\W*did \w+ (?:get|reach) ",
    re.IGNORECASE,
)
_FAILED = re.compile(r"\bfail\w*|\bunsuccessful\w*", re.IGNORECASE)
LISTS = re.compile(
    r"\b(?:which|what|who|whose|whom|where|how many|list|show|any)\b|\A\W*(?:only|just)\b", re.IGNORECASE
)
COUNT = re.compile(r"\bhow (?:many|often)\b|\bnumber of\b|\brun ?count\b|\bcount\b", re.IGNORECASE)
AMOUNT = re.compile(
    r"\bhow (?:much|big)\b|\bhow many (?:\w+ )?(?:bytes|[kmg]i?b)\b"
    r"|\bmost (?:data|traffic|bytes)\b|\bbiggest\b|\blargest\b|\btop talkers?\b|\bvolume\b",
    re.IGNORECASE,
)
_LARGEST = re.compile(
    r"\b(?:most|highest) (?:data|traffic|bytes|volume|[kmg]i?b)\b|\btop talkers?\b"
    r"|\b(?:biggest|largest|heaviest|longest)\b(?: \w+){0,2}? (?:\w+ )?(?:data|traffic|bytes|transfers?|uploads?"
    r"|downloads?|flows?"
    r"|connections?|talkers?|volumes?|requests?|responses?|sessions?|packets?|amounts?|exfil\w*|calls?|one)\b"
    r"|\b(?:sent|received|uploaded|downloaded|transferred|moved|used|consumed|lasted|took)"
    r" (?:\w+ )?(?:the )?(?:most|longest)\b"
    r"|\b(?:biggest|largest|heaviest|longest)\b(?= (?:by|in|to|from|of)\b|\W*\Z)",
    re.IGNORECASE,
)
_OUTWARD = re.compile(
    r"\b(?:to|towards) (?:the |an? )?(?:outside|internet|external\w*|public)\b|\boutbound\b"
    r"|\bout of the network\b|\boutside\b"
    r"|\bexternal(?:ly)?\b|\bexfil\w*|\bleft (?:the|our) network\b",
    re.IGNORECASE,
)
_SENDS = re.compile(r"\b(?:sent|send|sends|sending|upload\w*|outbound|exfil\w*)\b", re.IGNORECASE)
_RECEIVES = re.compile(r"\b(?:receiv\w*|download\w*|inbound|fetch\w*)\b", re.IGNORECASE)
DURATION = re.compile(r"\bhow long\b|\bduration\b", re.IGNORECASE)
WHEN = re.compile(
    r"\bwhen\b|\bsince when\b|\bwhat time\b|\b(?:first|last) (?:seen|run|executed|time)\b|\bat what\b", re.IGNORECASE
)
EXTERNAL = re.compile(
    r"\b(?:which|what|any|how many)\b[^?]{0,20}\b(?:ips?|address(?:es)?|dsts?|srcs?|destinations?|sources?|hosts?"
    r"|connections?|them|these|those|are|is)\b[^?]{0,20}\b(?:external|public|outside|internet|internal|private)\b"
    r"|\b(?:external|public|internal|private) (?:ips?|address(?:es)?|hosts?)\b",
    re.IGNORECASE,
)
_WORDS_OF_QUESTIONS = """
attached attachment uploaded provided given
account accounts actually entry entries entered enter attempt arrived come came comes only just please utc machine
machines computer computers device devices endpoint endpoints server servers operations actions start starts spawn
spawned launch launched write wrote pull pulled push contact contacted ask requested under over via per different
distinct unique both set then else against web lookup call calls happened attempts attempted he it we i or a an
someone gmt cet cest reach reached tried try made something anything nobody everybody everyone somebody anybody anyone
logs log occurs occur appeared appears appear address addresses agent agents alert alerts allow allowed probed scanned
app apps application applications asked attacker attackers been bad biggest blocked box boxes broken bucket buckets
card client clients command commands connect connected connecting connection connections count counts country
countries data deny denied destination destinations dns dst did does domain domains dropped ever exactly executed
execute execution exec external fail failed failing fails first file files from geo get gets getting got granted group
groups guys hash hashes host hosts how huh instance instances internal internet into ips key keys large largest last
let lets list location logged login logins logon logons long lookups manage managed many member most much name named
names namespace namespaces often okay one ones out outside path paths pid pids pls plz pod pods port ports ppl people
private process processes program programs public query queries quickly ran region regions reject rejected request
requests repo repos resolve resolved role roles row rows rule rules run running runs seen sent service services say
shady show side sig sigs since site sites software source sources started stopped stuff success succeed succeeded
successful successfully such talk talked talker talking target targets tell task tasks threat threats through time
times tool tools top touch touched traffic url urls use used user users using virus visit visited volume was went were
what when where which who whom whose with work worked worst you your yes not there here his her she him they them
their its this that these those for and the any are has had have can could will about all also but
"""
_OWN_WORDS = frozenset(_WORDS_OF_QUESTIONS.split())
_TOKEN = re.compile(r"[\w$@\\/:%+.-]{2,120}")


def record_questions(clauses: Sequence[str]) -> list[RecordQuestion]:
    """The clauses of a question that ask for records, for a column of them, or for their outcome.

    A clause with a pronoun and no words of its own is about the records of the clause before it. The two sides of a
    comparison, or of an order in time, are asked for one by one.
    """
    if sum(map(len, clauses)) > MAX_QUESTION_CHARS:
        return []
    found: list[RecordQuestion] = []
    before: RecordQuestion | None = None
    for clause in clauses:
        if (order := order_of(clause)) is not None:
            found += [RecordQuestion(clause=side, words=tuple(_words_of(side))) for side in (order.first, order.second)]
        if (compared := comparison_of(clause)) is not None:
            found += _compared(clause, compared)
        asked = record_question(clause)
        if before is not None and (_REFERS.search(clause) or _ELLIPSIS.fullmatch(clause)):
            asked = _continued(clause, asked, before)
        if asked is not None:
            found.append(asked)
        before = asked or RecordQuestion(clause=clause, words=tuple(_words_of(clause)))
    return found


_REFERS = re.compile(
    r"\b(?:it|its|that|this|they|them|their|he|she|him|his|her|these|those|one|ones|any)\b", re.IGNORECASE
)


_ELLIPSIS = re.compile(
    r"\W*(?:and )?(?:(?:by|from|to|on|at|as|with|in|via|for) )?(?:whom?|where|when|which|what)(?: [\w-]+)?\W*",
    re.IGNORECASE,
)
"""A question that only has a question word: "by who?"."""
_PERSON = re.compile(r"\b(?:he|she|him|his|her)\b", re.IGNORECASE)


def refers_back(clause: str) -> bool:
    """Whether a clause has no words of its own, but a pronoun for what the clause before it is about."""
    return _REFERS.search(clause) is not None and not _words_of(clause)


def _continued(clause: str, asked: RecordQuestion | None, before: RecordQuestion) -> RecordQuestion | None:
    """What a clause with a pronoun asks of the records of the clause before it."""
    own = asked.words if asked is not None else ()
    persons = [word for word in before.words if word not in _METHODS] if _PERSON.search(clause) else []
    words = tuple(dict.fromkeys([*persons, *own])) or before.words
    columns = asked.columns if asked is not None else columns_of(clause)
    asks = any(asks.search(clause) for asks in _ASKS) or asks_outcome(clause)
    if not (columns or asks) or not (before.words or before.largest or before.outcome):
        return asked
    return msgspec.structs.replace(
        asked or RecordQuestion(clause=clause, columns=columns),
        words=words,
        largest=(asked.largest if asked is not None else "") or before.largest,
        is_outward=before.is_outward,
        outcome=(asked.outcome if asked is not None else "") or ("" if asks_outcome(clause) else before.outcome),
        is_of_logins=before.is_of_logins,
        needs_value=False,
    )


def _compared(clause: str, compared: Comparison) -> list[RecordQuestion]:
    """The questions for the two sides of a comparison."""
    columns = {what: names for what, names in columns_of(clause).items() if what == "action"}
    measure = compared.measure if compared.measure in ("sent", "received") else ""
    return [
        RecordQuestion(clause=side, words=(value,), columns=columns, largest=measure)
        for value, side in zip((compared.first, compared.second), compared.sides, strict=True)
    ]


def without_tail(clause: str) -> str:
    """A question for what came after or before something, without that: records cannot be chosen by it."""
    return clause if is_polar(clause) else _TAIL.sub("", clause)


_TAIL = re.compile(
    r"(?<=\w) (?:after|before|since|once|following|prior to) (?!\d)(?!(?:which|what)\b|that\W*\Z)(?:\w+ ){1,6}\w+\W*\Z",
    re.IGNORECASE,
)


def record_question(clause: str) -> RecordQuestion | None:
    """What a clause asks of records; None if it asks nothing of the kind."""
    head = without_tail(clause)
    asked = _record_question(head)
    return asked if asked is None or head == clause else msgspec.structs.replace(asked, clause=clause)


def _record_question(clause: str) -> RecordQuestion | None:
    if _PORT_SCAN.search(clause):
        return None  # not of the column with the ports
    if (relation := relation_of(clause)) is not None:
        others = {what: _names()[what] for what in ("account", "host") if what != relation.what}
        return RecordQuestion(
            clause=clause, words=(relation.value,), columns={relation.what: relation.columns} | others
        )
    if (country := country_of(clause)) and not country_wanted(clause):
        named = ("country", "account", "source")
        words = [words_of(country), *(word for word in _words_of(clause) if not words_of(country).count(word))]
        return RecordQuestion(clause=clause, words=tuple(words), columns={what: _names()[what] for what in named})
    is_login = _LOGINS.search(clause) is not None and not asks_success(clause) and not fails(clause)
    asks = any(asked.search(clause) for asked in _ASKS) or asks_outcome(clause) or bool(measured_by(clause))
    may_name = asks or _ASKS_COLUMN.search(clause) is not None
    columns = columns_of(clause) if may_name else {}
    is_mention = may_name and not columns and _is_mention(clause)
    if is_mention:
        columns = {what: _names()[what] for what in ("account", "source", "destination")}
    counts = COUNT.search(clause) is not None and bool(_words_of(clause))
    if not columns and not asks:
        return _mention_question(clause)
    if is_login and not counts and _OF_LOGINS.issuperset(columns):
        return None  # logins are counted by themselves, with what belongs together
    largest = measured_by(clause)
    if not largest and AMOUNT.search(clause) and _SENDS.search(clause):
        largest = "sent"
    about = tuple(_words_of(_OUTWARD.sub(" ", _LARGEST.sub(" ", clause)) if largest else clause, columns))
    if _GOT_IN.search(clause) and _METHODS.issuperset(about) and _OF_LOGINS.issuperset(columns):
        return None  # the logins say by which method each was accepted
    if not about and asks_success(clause) and not COUNT.search(clause):
        return None  # whether anybody got in is answered by the logins
    if not asks and not about and _ALL_ADDRESSES.search(clause) and _OF_ADDRESSES.issuperset(columns):
        return None  # addresses are also where no column is named for them
    return RecordQuestion(
        clause=clause,
        words=about,
        outcome=_outcome_of(clause),
        is_not_blocked=_CONNECTED.search(clause) is not None,
        is_of_logins=asks_success(clause) and _LOGINS.search(clause) is not None,
        largest=largest,
        needs_value=not (about or asks) and not _OF_ALL_RECORDS.issuperset(columns),
        is_outward=bool(largest) and _OUTWARD.search(clause) is not None,
        columns=columns,
        is_mention=is_mention,
    )


def _mention_question(clause: str) -> RecordQuestion | None:
    """A yes/no question that may be about what records mention: "was anything uploaded?"."""
    words = _words_of(clause) if is_polar(clause) else []
    return RecordQuestion(clause=clause, words=tuple(words)) if words else None


def country_wanted(clause: str) -> bool:
    """Whether a clause asks for a country itself, which it then does not name."""
    return re.search(r"\bcountr(?:y|ies)\b", clause, re.IGNORECASE) is not None


def asks_success(clause: str) -> bool:
    """Whether a clause asks if something succeeded."""
    return is_polar(clause) and SUCCEEDED.search(clause) is not None


def asks_outcome(clause: str) -> bool:
    """Whether a clause is about what was let through, and what was not."""
    spoken = _without_names(clause)
    is_stated = OUTCOME_LET.search(spoken) or OUTCOME_STOPPED.search(spoken) or fails(spoken)
    return bool(is_stated) or asks_success(spoken)


_THINGS = (
    r"(?:calls?|requests?|lookups?|quer(?:y|ies)|operations?|actions?|commands?|connections?|downloads?|uploads?|jobs?"
    r"|transfers?|apis?|resolutions?)"
)
_OF_FAILING = re.compile(
    rf"\b(?:which|what|list|show|only|just)\b[^?]{{0,30}}\b{_THINGS}\b[^?]{{0,20}}\bfail(?:ed|s|ing)?\b"
    rf"|\bfail(?:ed|ing) {_THINGS}\b",
    re.IGNORECASE,
)


def fails(clause: str) -> bool:
    """Whether a clause is about what failed, other than logins: "which lookups failed"."""
    return _OF_FAILING.search(clause) is not None


_CHUNK = re.compile(r"[\w@\\/:.-]+")
_INNER = re.compile(r"\w[.@\\/]\w")


def _without_names(clause: str) -> str:
    """A clause without names: "drop" of drop.example is no outcome."""
    return _CHUNK.sub(lambda found: " " if _INNER.search(found[0]) else found[0], clause)


_NOT = r"\b(?:not|n[o'\u2019]?t|never)(?: (?:been|be|get|got|yet))?"
_NOT_LET = re.compile(
    rf"(?:{_NOT} |\b\w{{1,12}}n['\u2019]?t (?:been )?)(?:allow\w*|accept\w*|permit\w*|approv\w*"
    r"|let (?:in|through)|get through)\b",
    re.IGNORECASE,
)
_NOT_STOPPED = re.compile(
    rf"(?:{_NOT} |\b\w{{1,12}}n['\u2019]?t (?:been )?)(?:block\w*|den(?:y|ied)|drop(?:ped)?|reject\w*"
    r"|prevent\w*|refus\w*|stopped"
    r"|quarantin\w*)\b",
    re.IGNORECASE,
)


COMES_IN = re.compile(
    r"\b(?:c[oa]me|comes|coming|connect\w*|get|got|reach\w*|traffic|inbound|incoming|enter\w*|contact\w*)\b[^?]{0,30}"
    r"\bfrom (?:the |an? )?(?:outside|internet|external\w*|public)\b"
    r"|\b(?:inbound|incoming)\b[^?]{0,20}\bconnections?\b",
    re.IGNORECASE,
)
_ASKS = (COUNT, AMOUNT, DURATION, WHEN, EXTERNAL, COMES_IN)
_LOGINS = re.compile(
    r"\b(?:log(?:ged|s|ging)?[- ]?(?:in|on)s?|sign(?:ed|ing)?[- ]?(?:in|on)s?|authenticat\w*|fail(?:s|ed|ures?)?)\b"
    r"(?! from (?:which|what|where))",
    re.IGNORECASE,
)


_GOT_IN = re.compile(r"\bwho\b[^?]{0,20}\b(?:got|gets?|logged|signed|broke|came) ?-?(?:in|into|on)\b", re.IGNORECASE)
_METHODS = frozenset({"password", "passwords", "publickey", "ssh"})
_PORT_SCAN = re.compile(r"\bport[- ]?scan\w*", re.IGNORECASE)
_OF_LOGINS = frozenset({"account", "source", "destination", AT_HOST})
_OF_ALL_RECORDS = frozenset({"account", "source", "destination", "host", AT_HOST})
_OF_ADDRESSES = frozenset({"source", "destination"})
_ALL_ADDRESSES = re.compile(r"\b(?:ips?|addresses)\b", re.IGNORECASE)
_CONNECTED = re.compile(r"\bconnected\b|\bwas on\b|\bgot (?:on|onto)\b", re.IGNORECASE)


def measured_by(clause: str) -> str:
    """By what a clause asks for the largest: ``bytes``, ``sent``, ``received`` or ``seconds``; "" if it does not."""
    match = _LARGEST.search(clause)
    if match is None:
        return ""
    if re.search(r"longest", match[0], re.IGNORECASE):
        return "seconds"
    return "sent" if _SENDS.search(clause) else "received" if _RECEIVES.search(clause) else "bytes"


def _outcome_of(clause: str) -> str:
    """The outcome of the records that a question is about: "which were blocked?", not "was it blocked?"."""
    clause = _without_names(clause)
    if is_polar(clause) or (OUTCOME_LET.search(clause) and OUTCOME_STOPPED.search(clause)):
        return ""
    if LISTS.search(clause) and (_NOT_LET.search(clause) or _NOT_STOPPED.search(clause)):
        return "not allowed" if _NOT_LET.search(clause) else "not blocked"
    if fails(clause):
        return "failed"
    if OUTCOME_STOPPED.search(clause) or _FAILED.search(clause):
        return "blocked" if LISTS.search(clause) else ""
    return "allowed" if OUTCOME_LET.search(clause) and LISTS.search(clause) else ""


def columns_of(clause: str) -> dict[str, tuple[str, ...]]:
    """The columns that a clause asks for: the patterns of their names, by what they hold."""
    found = {what: _names()[what] for what, words in _patterns() if words.search(clause)}
    if EXTERNAL.search(clause) or AMOUNT.search(clause) or COMES_IN.search(clause):
        found |= {what: _names()[what] for what in ("source", "destination")}
    if asks_outcome(clause):
        named = ("source", "account", "signature", "destination", "port")
        found |= {what: _names()[what] for what in named}
    if not asks_to_whom(clause):
        found.pop("target account", None)
    if "account" in found and re.search(r"\bwhom?\b", clause, re.IGNORECASE):
        found |= {"source": _names()["source"], AT_HOST: _names()["host"]}
    for word in _ASKED_NOUN.findall(clause):
        name = word.lower()
        if not found and content_words(name):
            found[name] = (rf"{re.escape(name.rstrip('s'))}s?(?:_?(?:name|id))?", rf"{re.escape(name)}\.name")
    return found


def columns_named(words: str) -> dict[str, tuple[str, ...]]:
    """The columns that a few words name, with or without a word that asks: "source ips", "which hosts", "who"."""
    asked = f"which {words}" if not re.match(r"\W*(?:which|what|who)\b", words, re.IGNORECASE) else words
    found = {what: _names()[what] for what, pattern in _patterns() if pattern.search(asked) or pattern.search(words)}
    found.pop("target account", None)
    noun = words.lower().split()[-1] if words.split() else ""
    found |= {what: names for what, names in _names().items() if noun in (what, f"{what}s")}
    for word in _ASKED_NOUN.findall(asked):
        if not found and content_words(word.lower()):
            found[word.lower()] = (rf"{re.escape(word.lower().rstrip('s'))}s?(?:_?(?:name|id))?",)
    return found


def words_about(text: str, columns: Iterable[str] = (), *, is_named: bool = False) -> list[str]:
    """The words of a part of a clause that may be values of records.

    ``is_named``: the part names values, so that words of questions are values, too ("except admin").
    """
    found = _words_of(text, columns)
    if found or not is_named:
        return found
    return [word for word in re.findall(r"[\w.@\\:/-]{2,120}", text.lower()) if word not in _ARTICLES][:MAX_WORDS]


_ARTICLES = frozenset({"the", "an", "for", "from", "by", "of", "our", "my", "any"})


def _is_mention(clause: str) -> bool:
    """Whether a clause only names something: "smb traffic?"."""
    return (
        len(clause.split()) <= MENTION_WORDS
        and bool(_words_of(clause))
        and not (GENERAL_WORDS.search(clause) or _REQUEST.search(clause))
    )


_REQUEST = re.compile(
    r"\b(?:happen(?:s|ed)?|extract|summar\w*|explain|decode|describe|analy[sz]e|analysis|inspect|triage|review|investigate|check|map|score|rate"
    r"|compare|identify|classify|convert|defang|timeline|evidence|next|why|how|hi|hello|thanks?|indicators?|iocs?|report)\b",
    re.IGNORECASE,
)
MENTION_WORDS = 3
_ASKED_NOUN = re.compile(r"\b(?:which|what) ([a-z]{3,20})\b", re.IGNORECASE)


def _words_of(clause: str, columns: Iterable[str] = ()) -> list[str]:
    """The words that may be values: all but those of the question itself."""
    found: dict[str, None] = {}
    nouns = [pattern for what, pattern in _patterns() if what in columns]
    if _EXEC.search(clause):
        found["exec"] = None
    if (subject := _SUBJECT.match(clause)) is not None and not _is_own(subject[1].lower()):
        found[subject[1].lower()] = None  # of any length: "did jo reach 198.51.100.75"
    clause = _NOUN_PHRASES.sub(" ", without_time(clause))
    for token in _TOKEN.findall(_without_outcomes(_LOGINS.sub(" ", clause))):
        word = _PLURAL_NUMBER.sub(r"\1", token.strip(".,:;?!'\"-/").lower())
        if any(noun.fullmatch(word) for noun in nouns) or _is_own(word) or (len(word) < 3 and word.isalpha()):
            continue
        found[word] = None
    return list(found)[:MAX_WORDS]


_PLURAL_NUMBER = re.compile(r"\A(\d{3,5})s\Z")  # of a status or an event: "404s"


def _is_own(word: str) -> bool:
    """Whether a word, or the one of which it is a form, is of questions rather than of records."""
    return word in _OWN_WORDS or (_FORMS.sub("", word) in _OWN_WORDS and word.isalpha())


_SUBJECT = re.compile(r"\W*(?:did|does|has|had) ([A-Za-z][\w.@\\-]*)\b", re.IGNORECASE)


def _without_outcomes(clause: str) -> str:
    """A clause without its words about an outcome; names stay."""
    return _CHUNK.sub(
        lambda found: " " if OUTCOME_LET.fullmatch(found[0]) or OUTCOME_STOPPED.fullmatch(found[0]) else found[0],
        clause,
    )


_EXEC = re.compile(r"\bexec(?:['\u2019]?e?d)?\b[^?]{0,12}\b(?:into|in|on)\b", re.IGNORECASE)
_FORMS = re.compile(r"(?<=\w{3})(?:s|es|ed|ing)\Z")
_NOUN_PHRASES = re.compile(
    r"\b(?:access keys?|api keys?|user[- ]?agents?|client (?:app|software)s?|client apps?)\b", re.IGNORECASE
)


def encoded(questions: list[RecordQuestion]) -> str:
    """As the option of a tool."""
    return msgspec.json.encode(questions).decode()
