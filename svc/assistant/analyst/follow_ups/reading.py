"""Read a further question: what it asks of what is known, and of whom. Pure.

Only the words decide, in English or glossed with English words (``words.toml``); what they are about is decided later,
from the findings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from enum import StrEnum
from functools import cache

import msgspec

from svc.assistant.analyst.clause_words import content_words
from svc.assistant.analyst.clauses import particular_names
from svc.assistant.analyst.languages import base_language, spaced
from svc.assistant.analyst.questions.states import asks_state
from svc.assistant.analyst.questions.things import MEASURES, NOUNS, Measure, Noun
from svc.assistant.analyst.questions.time_words import window_of
from svc.assistant.analyst.yes_or_no import is_yes_no_question
from svc.assistant.knowledge import load

MAX_POLITE_CHARS = 80
POLITE_KINDS = ("thanks", "bye", "hello", "ok")
MAX_CHARS = 400  # of a further question; a longer one brings its own material


class AskKind(StrEnum):
    """What a further question asks."""

    COMPARE = "compare"
    TIMELINE = "timeline"
    END = "end"
    START = "start"
    DURATION = "duration"
    WINDOW = "window"
    SAME = "same"
    ORDINAL = "ordinal"
    HOW_MANY = "how many"
    MOST = "most"
    CONTAINS = "contains"
    WHO = "who"
    EVIDENCE = "evidence"
    NEXT = "next"
    SUMMARY = "summary"
    WHY = "why"
    ORIGIN = "origin"
    LIST = "list"
    ABOUT = "about"


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A further question: its kind, what it names, and the sort of thing or figure that it asks for.

    ``names`` are values, whether known or not; ``noun`` and ``measure`` are indexes of ``NOUNS`` and ``MEASURES``.
    ``number`` is that of "the second one" (from 1, -1 for the last), or of sentences; 0 for none.
    """

    kind: AskKind
    text: str
    names: tuple[str, ...] = ()
    noun_index: int | None = None
    measure_index: int | None = None
    number: int = 0
    options: dict[str, str] = {}
    is_least: bool = False

    @property
    def noun(self) -> Noun | None:
        """The sort of thing that is asked for."""
        return None if self.noun_index is None else NOUNS[self.noun_index]

    @property
    def measure(self) -> Measure | None:
        """The figure that is asked for."""
        return None if self.measure_index is None else MEASURES[self.measure_index]


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_LEAD = r"\A\W*(?:(?:and|so|ok(?:ay)?|now|then|please|but|hey|well|great|cool|thanks?|also)\b\W*){0,4}"
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDINAL = re.compile(
    rf"{_LEAD}(?:(?:what|how|tell me|more|show me|details?) (?:about|on|of) )?(?:and )?(?:the )?"
    rf"(?P<which>{'|'.join(_ORDINALS)}|last|other|next|\d{{1,2}}(?:st|nd|rd|th)|(?:number|no\.?|#) ?\d{{1,2}})"
    r"(?: (?:one|item|entry|row|of (?:them|these|those)))?\W*\Z",
    re.IGNORECASE,
)
_SAME = _words(
    r"\b(?:what|how) about\b", rf"{_LEAD}(?:the )?same (?:for|with|of)\b", r"\A\W*and (?:for|of|by|from|with)\b"
)
_COMPARE = _words(
    r"\bcompar\w+", r"\bvs\b", r"\bversus\b", r"\bdifferen(?:ce|t)\b[^?\n]{0,40}\b(?:between|from)\b",
    r"\bside by side\b", r"\b(?:which|who) (?:is|was|did|has|had) \w+,? [^?\n]{1,80} or \b",
)  # fmt: skip
_TIMELINE = _words(
    r"\btime ?-?lines?\b", r"\bchronolog\w*", r"\bsequence of (?:events|actions)", r"\bwhat happened when\b",
    r"\bin (?:the )?order (?:of time|they happened)", r"\border of events\b", r"\bhour by hour\b", r"\bstep[- "
    r"]by[- ]step\b",
    r"\bplay[- ]by[- ]play\b",
)  # fmt: skip
_WHEN = _words(r"\bwhen\b", r"\bwhat (?:time|date|day|hour)\b", r"\bat what\b", r"\bhow long\b", r"\btime of\b",
               r"\bsince when\b", r"\bfirst seen\b", r"\blast seen\b", r"\btime (?:span|range|frame|window)\b",
               r"\b(?:earliest|latest|most recent|first|last) (?:event|line|record|entry|activity|login|request"
               r"|packet)\b",
               )  # fmt: skip
_END = _words(r"\b(?:end|ended|ends|ending|stop|stopped|stops|last|latest|finish\w*|over|recent|until|cease\w*)\b")
_HOW_LONG = _words(r"\bhow long\b", r"\bduration\b")
_HOW_MANY = _words(r"\bhow (?:many|much|often)\b", r"\bnumber of\b", r"\b(?:total )?count\b", r"\bin total\b",
                   r"\btotal (?:number|of)\b")  # fmt: skip
_MOST = _words(
    r"\b(?:the )?most\b(?! (?:important|likely))",
    r"\bbusiest\b",
    r"\b(?:highest|biggest|largest|top)\b",
    r"\bmore \w+ than any\b",
)
_LEAST = _words(r"\b(?:least|fewest|lowest|smallest)\b")
_CONTAINS = _words(
    r"\b(?:is|are|was|were) [^?\n]{1,120}\b(?:in|inside|within|part of) (?:it|there|here|this|that|them|the|my|any"
    r"|these|those)\b",
    r"\b(?:does|do|did|is|are) [^?\n]{1,120}\b(?:appear|occur|show up|come up|present|mentioned|included|contained"
    r"|listed|turn up)\b",
    r"\b(?:does|do|did) (?:it|this|that|they|the [\w.-]+) (?:contain|mention|include|have|show|list)\b",
    r"\bany (?:mention|trace|sign|occurrence|sight|reference|entr(?:y|ies)|lines?|hits?)s? (?:of|to|for|with|about)\b",
    r"\b(?:search|grep|look) (?:for|up)?\b", r"\bis there (?:an? |any(?:thing (?:about|from|with|on))? )?",
    r"\b(?:can|do|could) (?:you|we|i) (?:find|see)\b", r"\bfind\b", r"\bhave we seen\b", r"\bever seen\b",
)  # fmt: skip
_IN = _words(r"\bin (?:it|there|here|this|that|them|the (?:file|log|logs|capture|report|mail|archive|data|evidence))\b",
             r"\b(?:appear|occur|mention|contain|present|grep|search|anywhere)")  # fmt: skip
_WHO = _words(
    r"\bwh(?:o|ich \w+)\b[^?\n]{0,40}\b(?:got|gets?|log(?:ged)?|sign(?:ed)?|broke|made it|let) ?-?(?:in|on|into"
    r"|inside)\b",
    r"\bwh(?:o|ich|at)\b[^?\n]{0,30}\b(?:succe\w+|accepted|authenticated|gained access|entered)\b",
    r"\b(?:any|some)(?:one|body)\b[^?\n]{0,20}\b(?:get|got|log(?:ged)?|sign(?:ed)?|break|broke"
    r"|made?) ?-?(?:it )?(?:in|on|into|inside)\b",
    r"\b(?:successful|accepted|valid) (?:log|sign|authenti)[- ]?\w+", r"\b(?:attack\w*|it"
    r"|they)\b[^?\n]{0,30}\bsucce\w+",
    r"\b(?:log|sign)[- ]?(?:in|on)s? (?:that )?(?:succe\w+|worked|accepted)",
)  # fmt: skip
_DID = _words(
    r"\b(?:did|has|have|had|was|were|could|is)\b[^?\n]{0,20}\b(?:get|got|gotten|log(?:ged)?|sign(?:ed)?|break"
    r"|broke|broken|ma[dk]e)"
    r" ?-?(?:it )?(?:in|on|into|inside)\b", r"\bsucce\w+", r"\blog[- ]?ins? (?:of|by|from"
    r"|for)\b[^?\n]{0,30}\baccepted\b",
)  # fmt: skip
_FAILED = _words(r"\bfail\w*", r"\battempt\w*", r"\brejected\b", r"\bunusual\b")
_EVIDENCE = _words(
    r"\bevidence\b", r"\bproof\b", r"\bproves?\b", r"\bwhich (?:lines?|records?|packets?)\b", r"\bline numbers?\b",
    r"\bwhere (?:is|was|are|were|does|do|in|exactly|can i see)\b", r"\bshow (?:me )?(?:the )?(?:raw "
    r"|original )?(?:lines?|records?|log entr\w+|excerpts?)\b",
    r"\bquotes?\b", r"\braw (?:lines?|log|data|events?)\b",
)  # fmt: skip
_NEXT = _words(
    r"\bwhat(?:'s| is| comes| happens)? (?:next|now)\b", r"\bnext steps?\b", r"(?<!\bdo )\bnext\W*\Z",
    r"\b(?:i|we|one) do next\b",
    r"\b(?:what|how) (?:should|can|must|shall|could|do|would|ought) (?:i|we|you|one|they|to)\b[^?\n]{0,40}\b(?:do"
    r"|respond|react|fix|stop|contain|check|look|act|proceed|mitigate|remediate|recommend|prevent|block"
    r"|investigate|start|handle)\b",
    r"\bwhat to do\b", r"\brecommend\w*", r"\bremediat\w*", r"\bcontain(?:ment)\b", r"\bmitigat\w*", r"\baction "
    r"items?\b",
    r"\bwhat(?:'s| is) to be done\b", r"\bhow (?:do|to) (?:i|we)? ?(?:respond|fix|stop|contain|mitigate|remediate)\b",
    r"\bto-?do\b", r"\bwhere (?:do|should) (?:i|we) (?:go|start)\b", r"\badvice\b|\badvise\b",
)  # fmt: skip
_SUMMARY = _words(
    r"\bsumm?ar\w*", r"\btl;? ?dr\b", r"\bin short\b", r"\bshort version\b", r"\brecap\b", r"\bbottom line\b",
    r"\b(?:main|key) (?:points?|facts?|findings?|takeaways?)\b", r"\bfor (?:my|the|our) (?:boss|manager|board|ciso"
    r"|management|executives?)\b",
    r"\bgist\b", r"\bin a nutshell\b", r"\boverview\b", r"\bwhat (?:did|have|had) (?:you|we) (?:already )?(?:find"
    r"|found|learn\w*|see|seen|tell|told|say|said)\b", r"\bbriefly\b",
    r"\bwhat happened\b", r"\bwhat(?:'s| is| was) going on\b", r"\b(?:most|worst) (?:important|severe|serious)\b",
    r"\bhow (?:bad|serious|severe|critical|dangerous|worried)\b", r"\bverdict\b", r"\bshould (?:i|we) (?:worry"
    r"|be worried|panic)\b",
)  # fmt: skip
_WHY = _words(r"\bwhy\b", r"\bwhat makes\b", r"\bhow (?:do you|can you|come)\b", r"\breasons?\b", r"\bhow (?:sure"
r"|certain|confident)\b",
              r"\bexplain (?:that|this|it|why|your)\b", r"\bwhat (?:does|do) (?:that|this|it|the|these"
              r"|those)(?: \w+)? mean\b", r"\bjustify\b")  # fmt: skip
_ORIGIN = _words(
    r"\bwho (?:is|was|were|are) (?:the |behind )", r"\bwho (?:did|attacked|is responsible|is behind|was behind)\b",
    r"\bwhere (?:did|does|do) [^?\n]{1,60}\bcom(?:e|ing) from\b", r"\bfrom where\b", r"\bwhere from\b", r"\borigin\b",
)  # fmt: skip
_LIST = _words(
    r"\blist\b", r"\bshow\b", r"\bwhich\b", r"\bwhat\b", r"\bgive\b", r"\bname\b", r"\benumerate\b", r"\bdisplay\b",
    r"\bprint\b", r"\ball\b", r"\bwho\b", r"\bwhose\b", r"\btell\b", r"\bextract\b", r"\bany\b", r"\bthe\b",
)  # fmt: skip
_ABOUT = _words(
    r"\bwhat(?:'s| is| are| was| were| did| does| do| has| had)\b", r"\b(?:tell me|know|everything|anything"
    r"|something|more|details?|info\w*|all) (?:more |everything |anything )?(?:about|on|of|for)\b",
    r"\bwho(?:'s| is| was)\b", r"\bactivit(?:y|ies)\b", r"\bactions?\b", r"\bdid\b", r"\bbehaviou?r\b", r"\bdescribe\b",
    r"\bexplain\b", r"\bprofile\b", r"\bup to\b", r"\bshow\b", r"\bonly\b", r"\binvestigate\b", r"\bzoom in\b",
    r"\bfocus\b",
    r"\blook (?:at|into|closer)\b", r"\bdrill\b",
)  # fmt: skip
_GREP = re.compile(
    r"\b(?:is|are|was|were|does|do|did|mention of|mentions of|trace of|sign of|search for|grep(?: for)?|look for"
    r"|look up|find|"
    r"contain|mention|include|have|see|about|with|for|on|of|by|called|named) (?:the |an? |any |user |account "
    r"|host |domain |word |string |name )?"
    r"(?P<name>[\w][\w.@:/\\$-]{1,119})",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\d{1,2}(?::\d\d){0,2} ?(?:am|pm|h|Z|UTC)?", re.IGNORECASE)
_NO_NAMES = frozenset(
    ["the", "any", "it", "them", "this", "that", "there", "here", "these", "those", "all", "me", "my", "you",
    "your", "only", "just", "more", "everything", "anything", "board", "manager", "boss", "log", "logs", "file",
    "files", "list", "first", "second", "third", "last", "one", "ones", "two", "time", "times", "each", "total",
    "line", "lines", "record", "records", "event", "events", "what", "who", "where", "when", "which", "why",
    "how", "was", "were", "is", "are", "did", "does", "do", "has", "have", "had", "and", "or", "not", "no",
    "yes", "now", "next", "happened", "attack", "attacks", "attacker", "attackers", "log-in", "logins", "login",
    "evidence"]
)  # fmt: skip


def glossed(question: str, language: str) -> str:
    """The question followed by the English words for what it asks, for a question in another language."""
    table = _glossary().questions.get(base_language(language), {})
    found = [english for pattern, english in table.items() if re.search(pattern, question, re.IGNORECASE)]
    return f"{question} {' '.join(found)}" if found else question


class _Glossary(msgspec.Struct, frozen=True):
    """``questions``: by language, pattern to English words; ``polite``: words by what they express, and words that may
    accompany them; ``replies``: by language, the line that answers them.
    """

    source: str
    version: str
    date: date
    questions: dict[str, dict[str, str]]
    polite: dict[str, str]
    replies: dict[str, dict[str, str]]


@cache
def _glossary() -> _Glossary:
    return load("words.toml", _Glossary, __package__)


def polite_kind(prompt: str) -> str:
    """``thanks``, ``bye``, ``hello`` or ``ok`` if the prompt is nothing else, in any of the languages; else ""."""
    if len(prompt) > MAX_POLITE_CHARS:
        return ""
    words = set(re.sub(r"[^\w'\u2019]+", " ", prompt).lower().split())
    tables = {kind: frozenset(listed.split()) for kind, listed in _glossary().polite.items()}
    if not words or not words <= frozenset().union(*tables.values()):
        return ""
    return next((kind for kind in POLITE_KINDS if words & tables[kind]), "")


def polite_reply(kind: str, language: str) -> str:
    """The short line that answers words of a kind, in the language if it is known."""
    replies = _glossary().replies
    return replies.get(base_language(language), replies["en"])[kind]


def read_ask(question: str, language: str, is_known: Callable[[str], bool]) -> Ask | None:
    """What a question asks; None if it is not one of those that are answered from what is known.

    Args:
        question: The question alone, at most ``MAX_CHARS``.
        language: The question's.
        is_known: Whether a word names something in the findings.
    """
    question = spaced(question)
    text = glossed(question, language)
    names = names_in(question, is_known)
    without = _without(text, names)
    if asks_state(question):
        return None  # "is root login disabled?": what happened does not show how something is set
    noun = _index(NOUNS, without)
    measure = _index(MEASURES, without)
    kind = _kind_of(text, without, names, has_noun=noun is not None, has_measure=measure is not None)
    if kind is None:
        return None
    if kind is AskKind.HOW_MANY and not names and measure is None and noun is not None:
        if qualifier_of(without):
            kind = AskKind.LIST  # which begins with how many there are
        elif (state := _PASSIVE.search(without)) is not None and state[1].lower() not in _PLAIN:
            return None  # "how many accounts were locked?": neither all accounts nor mentions of the word
    if kind in (AskKind.CONTAINS, AskKind.ABOUT, AskKind.HOW_MANY, AskKind.SAME, AskKind.EVIDENCE) and not names:
        names = _slot_names(question) if kind is not AskKind.HOW_MANY or noun is None else []
    if kind is AskKind.EVIDENCE and (numbered := _NUMBERED.search(text)) is not None:
        names = [f"#{numbered[1].replace(',', '')}"]
    if kind is AskKind.LIST and not qualifier_of(without) and _unknown_qualifier(without):
        return None
    if kind is AskKind.LIST and is_yes_no_question(question) and qualifier_of(without) in ("compromised", "succeeded"):
        return None  # "was the root account compromised?": a list of accounts does not answer it
    if kind in (AskKind.LIST, AskKind.HOW_MANY) and not names and _NEGATED.search(without) is not None:
        return None  # "which files were not read?": the things themselves do not answer it
    if kind is AskKind.HOW_MANY and None not in (noun, measure) and _DISTINCT.search(without) is not None:
        return None  # "how many different addresses failed?": neither all addresses nor all failures
    if kind is AskKind.CONTAINS and not names:
        kind_again = AskKind.LIST if noun is not None else None
        if kind_again is None:
            return None
        kind = kind_again
    return Ask(
        kind=kind,
        text=question,
        names=tuple(names),
        noun_index=noun,
        measure_index=measure,
        number=_number(text, kind),
        options=window_of(text) if kind is AskKind.WINDOW else {},
        is_least=_LEAST.search(without) is not None,
    )


_NUMBERED = re.compile(r"\b(?:lines?|records?|packets?)(?: number| no\.?)? ?#?(\d[\d,]{0,12})\b", re.IGNORECASE)
_QUALIFIERS = {
    "attacked": re.compile(r"\bbrut\w*|\battacked\b|\btarget\w*|\bfail\w*|\bguess\w*|\bspray\w*", re.IGNORECASE),
    "compromised": re.compile(
        r"\bcompromis\w*|\bbroken into\b|\bhacked\b|\bbreached\b|\bhijacked\b|\btaken over\b", re.IGNORECASE
    ),
    "succeeded": re.compile(r"\bsucce\w*|\b(?:g[eo]t|logged) in\b|\baccepted\b", re.IGNORECASE),
    "notable": re.compile(r"\bsuspicious\b|\bmalicious\b|\bbad\b|\bunusual\b|\bdangerous\b|\bnotable\b", re.IGNORECASE),
}
_PLAIN = frozenset(
    [
        "involved",
        "requested",
        "visited",
        "called",
        "queried",
        "opened",
        "different",
        "unique",
        "distinct",
        "affected",
        "present",
        "active",
        "appear",
        "appears",
        "appeared",
        "mentioned",
        "contained",
        "named",
        "observed",
        "connected",
        "contacted",
        "contact",
        "talked",
        "talk",
        "spoke",
        "names",
        "tried",
        "try",
        "used",
        "attack",
        "attacks",
        "attacker",
        "attackers",
        "list",
        "enumerate",
        "display",
        "print",
        "table",
        "column",
        "raised",
        "triggered",
        "matched",
        "fired",
        "occurred",
        "ran",
        "run",
        "executed",
        "started",
    ]
)


_NEGATED = _words(r"\b(?:not|never|without|except|excluding|unread|unknown)\b", r"n['\u2019]t\b")
_DISTINCT = _words(r"\b(?:unique|different|distinct)\b")


_PASSIVE = re.compile(
    r"\b(?:were|was|are|is|got|get|been|being) (?:\w{1,20}ly )?(?!seen\b)(\w{2,20}(?:ed|en|wn))\b", re.IGNORECASE
)


def qualifier_of(text: str) -> str:
    """Which of the things a list is asked for: ``attacked``, ``succeeded``, ``notable``; "" for all."""
    return next((name for name, words in _QUALIFIERS.items() if words.search(text)), "")


def _unknown_qualifier(text: str) -> bool:
    """Whether a list is asked for of things that only a reader of the words can tell: "the disabled accounts"."""
    for one in (*NOUNS, *MEASURES):
        text = one.words.sub(" ", text)
    return any(word not in _PLAIN for word in content_words(text)) and text.isascii()


def _kind_of(text: str, without: str, names: list[str], *, has_noun: bool, has_measure: bool) -> AskKind | None:
    """The kind of the question: the first in this order whose words it has and that has what it needs."""
    is_thing = has_noun or has_measure
    tests: tuple[tuple[AskKind, bool], ...] = (
        (AskKind.WINDOW, bool(window_of(text))),
        (AskKind.ORDINAL, _ORDINAL.search(text) is not None),
        (AskKind.SAME, len(text) < 80 and (_SAME.search(text) is not None or _is_bare_and(without, names))),
        (AskKind.COMPARE, _COMPARE.search(without) is not None and (len(names) > 1 or has_noun)),
        (AskKind.NEXT, _NEXT.search(without) is not None),
        (AskKind.TIMELINE, _TIMELINE.search(without) is not None),
        (AskKind.HOW_MANY, _HOW_MANY.search(without) is not None and (bool(names) or is_thing)),
        (AskKind.DURATION, _HOW_LONG.search(without) is not None),
        (AskKind.END, _WHEN.search(without) is not None and _END.search(without) is not None),
        (AskKind.START, _WHEN.search(without) is not None),
        (AskKind.MOST, (_MOST.search(without) or _LEAST.search(without)) is not None and is_thing),
        (AskKind.WHO, (_DID if names else _WHO).search(without) is not None and _FAILED.search(without) is None),
        (AskKind.EVIDENCE, _EVIDENCE.search(without) is not None),
        (AskKind.CONTAINS, _CONTAINS.search(without) is not None and (bool(names) or _IN.search(without) is not None)),
        (AskKind.WHY, _WHY.search(without) is not None),
        (AskKind.SUMMARY, _SUMMARY.search(without) is not None and not names),
        (AskKind.ORIGIN, _ORIGIN.search(without) is not None and not names),
        (AskKind.LIST, has_noun and _LIST.search(without) is not None),
        (AskKind.ABOUT, bool(names) and (_ABOUT.search(without) is not None or not content_words(without))),
    )
    return next((kind for kind, holds in tests if holds), None)


def _is_bare_and(without: str, names: list[str]) -> bool:
    """Whether a question only names something after "and": "and bob?"."""
    return bool(names) and re.fullmatch(r"\W*(?:and|or)\b\W*(?:for |the )?\W*", without, re.IGNORECASE) is not None


def names_in(question: str, is_known: Callable[[str], bool]) -> list[str]:
    """The values that a question names: addresses, files, quoted words, and words that are values of the findings."""
    particular = [name for name in particular_names(question) if not _CLOCK.fullmatch(name)]
    found = [(question.find(name), name) for name in particular if not any(one.words.fullmatch(name) for one in NOUNS)]
    taken = " ".join(name for _, name in found)
    for match in re.finditer(r"[\w.@$-]{2,}(?:\\[\w.$-]+)?", question):
        word = match[0].strip(".-")
        if len(word) > 1 and word not in taken and word.lower() not in _NO_NAMES and is_known(word):
            found.append((match.start(), word))
    return list(dict.fromkeys(name for _, name in sorted(found)))


def _slot_names(question: str) -> list[str]:
    """A word at the place of a name ("any mention of Nightjar"), although nothing that is known has it."""
    for match in _GREP.finditer(question):
        name = match["name"].strip(".,:-")
        if name.lower() not in _NO_NAMES and not any(noun.words.fullmatch(name) for noun in NOUNS) and len(name) > 2:
            return [name]
    return []


def _without(text: str, names: list[str]) -> str:
    for name in names:
        text = text.replace(name, " ")
    return text


def _index(entries: Sequence[Noun | Measure], text: str) -> int | None:
    """The entry whose word comes first in the text; of several there, the longest."""
    matches = [(one.words.search(text), number) for number, one in enumerate(entries)]
    found = [(match.start(), -match.end(), number) for match, number in matches if match]
    return min(found)[2] if found else None


_SENTENCES = re.compile(
    r"\b(?P<number>one|a|two|three|four|five|six|\d)\W{1,3}(?:\w{1,20}\W{1,3})?sentences?\b", re.IGNORECASE
)
_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}


def _number(text: str, kind: AskKind) -> int:
    if kind is AskKind.SUMMARY and (match := _SENTENCES.search(text)):
        return _NUMBERS.get(match["number"].lower()) or int(match["number"])
    match = _ORDINAL.search(text)
    if kind is not AskKind.ORDINAL or match is None:
        return 0
    which = match["which"].lower()
    if which in _ORDINALS:
        return _ORDINALS.index(which) + 1
    if which in ("last", "other", "next"):
        return {"last": -1, "other": 2, "next": 2}[which]
    return int(re.sub(r"\D", "", which)) or 1
