"""Split a question into its clauses, so that the answer can say of each whether it was answered. Pure.

A clause that names a skill is answered by that skill. An open one ("what happened?") is answered by whatever reads the
evidence. Any other asks for something in particular ("were any shadow copies deleted?"); ``particulars`` answers it
from the findings, or says that it cannot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from svc.assistant.analyst.clause_words import GENERAL_WORDS, content_words
from svc.assistant.analyst.languages import YES_OR_NO, gloss, is_foreign, pieces, spaced
from svc.assistant.analyst.matching import LOOK, UNSUPPORTED, WHOLE
from svc.assistant.analyst.questions.spans.reading import joining_and
from svc.assistant.analyst.questions.states import asks_state
from svc.assistant.analyst.questions.time_words import between_times, window_of, without_time
from svc.assistant.skills.logins.questions import named_accounts

CLAUSE_CHARS = 160  # of a clause, in an answer
CLAUSE_END = re.compile(
    r"[;\n](?!dr\b)|[.?!](?=\s|$)|,? (?:as well as|and|then|also|plus)\b"
    r"|, (?=(?:what|who|how|(?:when|where|why) did|did|was|were|is|are|has|have) )",
    re.IGNORECASE,
)
ASKS = re.compile(
    r"\b(?:what|which|who|whose|whom|where|when|why|how|is|are|was|were|am|do|does|did|has|have|had|can|could|should"
    r"|any|anything|tell|say|check|inspect|triage|read|look|show|list|find|explain|review|analy[sz]e|examine|extract"
    r"|summari[sz]e|identify|describe|investigate|report|determine|count|score|rate|map|decode|classify|give|name"
    r"|assess|evaluate|confirm|verify|search|hunt|compare|need|want)\b|\A\W*(?:only|just)\b",
    re.IGNORECASE,
)
"""Words with which a part of a question asks something."""
_YES_NO = re.compile(
    r"\W*(?:(?:please|so|and|then|also|now)\W+){0,3}"
    r"(?:(?:is|are|was|were|did|has|have|had)n['\u2019]t\b"
    r"|(?:is|are|was|were|did|has|have|had|any)\b(?! you\b)|(?:do|does)\b(?! (?:you|i)\b)"
    r"|(?:can|could)\b(?! (?:you|i|we)\b)"
    r"|(?:tell me|say|check|confirm|verify|know|determine|find out|see) (?:if|whether)\b)",
    re.IGNORECASE,
)
_NAMES = re.compile(
    r"[`'\"“”]([^`'\"“”\n]{2,80})[`'\"“”]|(?<!\w)((?=\w)(?=[^\s]{0,120}[\d_\\@]|[^\s]{0,120}\w\.\w)[\w.\[\]\\@:/-]{3,120})"
)


_BEGINS_ASKING = re.compile(r"\W*(?:who|which|what|when|where|how|did|was|were|is|are|any)\b(?: \S+){2}", re.IGNORECASE)
_RUN_ON = re.compile(
    r"(?<! of)(?<! by)(?<! to)(?<! on)(?<! at)(?<! or)(?<! me)(?<! us)(?<! and)(?<! for)(?<! say)(?<! see)(?<! out)"
    r"(?<! from)(?<! with)(?<! know)(?<!known)(?<! tell)(?<! show)(?<! sure)(?<!about)(?<!clear)(?<!which)(?<!check)"
    r" (?=(?:which|what|how many) [\w-]+ (?:is|are|was|were|did|has|have|had)\b)",
    re.IGNORECASE,
)
"""Before a question that has its own verb: "who got in which ips are external"."""
_TERMS = re.compile(r"(?:c2|ipv[46]|md5|sha-?\d{1,3}|base64|utf-?8)(?:-\w{1,40})?", re.IGNORECASE)  # no names
_FRAGMENT = re.compile(
    r"\W*(?:and )?(?:(?:by|from|to|at|on|with|since|for|as|in|via|over|under|through|of) )?"
    r"(?:whom?|where|when|what|why|how|which)(?: (?:many|often|long|much))?(?: [\w-]+)?\W*"
    r"|\W*(?:and )?(?:by|from|to|at|on|with|as|in|via|over|under|through|of|for) (?:which|what) [\w-]+(?: [\w-]+)?\W*",
    re.IGNORECASE,
)  # "by whom", "which accounts": asks about the clause before it
_LINES_WITH = re.compile(
    r"\b(?:lines?|entries|records?|events?|everything|all)\b[^.?!\n]{0,20}\b(?:with|about|on|containing|mentioning"
    r"|that (?:mention|contain)) (?!the\b|this\b|all\b|that\b|it\b)([A-Za-z][\w.-]{2,})",
    re.IGNORECASE,
)


class ClauseKind(StrEnum):
    """How a clause can be answered."""

    NAMED = "named"
    OPEN = "open"
    PARTICULAR = "particular"
    UNSUPPORTED = "unsupported"


class ClauseState(StrEnum):
    """How far a clause of the question is answered."""

    ANSWERED = "answered"
    PARTLY_ANSWERED = "partly answered"
    CANNOT_TELL = "cannot tell"


class Clause(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a question asks: its words, and the names of the skills that they name."""

    text: str
    kind: ClauseKind
    skills: tuple[str, ...] = ()
    gloss: str = ""
    """For a clause in another language: the English words for what it asks, as far as they are known."""
    is_foreign: bool = False

    @property
    def english(self) -> str:
        """The words by which it is understood."""
        return self.gloss or self.text

    @property
    def is_understood(self) -> bool:
        """Whether it is known what a clause in another language asks; English ones are understood by their words."""
        return not self.is_foreign or bool(self.skills) or self.gloss not in ("", YES_OR_NO)

    @property
    def is_yes_no(self) -> bool:
        """Whether it begins as a question that yes or no answers, or is one in another language."""
        return _YES_NO.match(self.text) is not None or self.gloss.endswith(YES_OR_NO)

    @property
    def is_state(self) -> bool:
        """Whether it asks how something is, or is set, which a log does not show."""
        return asks_state(self.text, self.skills)

    @property
    def is_general(self) -> bool:
        """Whether it asks if anything is wrong, without saying what."""
        return GENERAL_WORDS.search(self.english) is not None


def clauses_of(text: str, language: str, skills_named_in: Callable[[str], Sequence[str]]) -> tuple[Clause, ...]:
    """Return the clauses that ask something.

    Args:
        text: The question.
        language: Its BCP 47 tag.
        skills_named_in: Returns the names of the skills that the words of a text name.
    """
    if not text.strip():
        return ()
    if is_foreign(language):
        parts = [(part, gloss(part, language)) for part in pieces(text, language)]
        return tuple(
            _clause(part, words, skills_named_in(_asking(f"{part} {words}")), is_foreign=True) for part, words in parts
        )
    english = [text[start:stop] for start, stop in pieces_of(text)]
    clauses = [_clause(piece, "", skills_named_in(_asking(piece))) for piece in english]
    asking = [
        clause
        for clause in clauses
        if clause.skills or clause.kind is ClauseKind.UNSUPPORTED or ASKS.search(clause.text)
    ]
    return tuple(asking or clauses[:1])


def asks_something(text: str) -> bool:
    """Whether a part of a question has a word that asks."""
    return ASKS.search(text) is not None


def pieces_of(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence, or of each part of one that asks something by itself."""
    pieces: list[tuple[int, int]] = []
    start, is_sentence = 0, True
    joined = {stop for _, stop in joining_and(text)}
    times = between_times(text)
    ends = [
        end
        for end in CLAUSE_END.finditer(text)
        if end.end() not in joined and not any(begun < end.start() < stopped for begun, stopped in times)
    ]
    for end in [*ends, None]:
        stop = end.start() if end else len(text)
        if text[start:stop].strip():
            piece = text[start:stop]
            if pieces and not is_sentence and (not ASKS.search(piece) or _FRAGMENT.fullmatch(piece)):
                pieces[-1] = (pieces[-1][0], stop)
            else:
                pieces.append((start, stop))
            is_sentence = False
        if end is not None:
            start, is_sentence = end.end(), is_sentence or end.group()[0] in ".?!;\n"
    parts = [part for piece in pieces for part in _run_on(text, *piece)]
    return [(start, start + len(text[start:stop].rstrip(" ,"))) for start, stop in parts]


def _run_on(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """The parts of a piece in which a second question follows the first without a word or a mark between them."""
    if not _BEGINS_ASKING.match(text, start, stop):
        return [(start, stop)]
    ends = [found.start() for found in _RUN_ON.finditer(text, start + 1, stop)]
    return list(zip([start, *ends], [*ends, stop], strict=True))


def _clause(text: str, words: str, skills: Sequence[str], *, is_foreign: bool = False) -> Clause:
    glossed = f"{text} {words}"
    if any(words.search(glossed) for _, words in UNSUPPORTED):
        kind = ClauseKind.UNSUPPORTED
    elif asks_state(text, skills):
        kind = ClauseKind.PARTICULAR
    elif skills and not WHOLE.search(text):
        kind = ClauseKind.NAMED
    elif (
        LOOK.search(glossed)
        or (GENERAL_WORDS.search(glossed) and not _names_something(text))
        or _is_bare(text)
        or (window_of(text) and _ACTIVITY.issuperset(content_words(without_time(text))))
    ):
        kind = ClauseKind.OPEN
    else:
        kind = ClauseKind.PARTICULAR
    return Clause(
        text=" ".join(text.split())[:CLAUSE_CHARS],
        kind=kind,
        skills=tuple(dict.fromkeys(skills)),
        gloss=words,
        is_foreign=is_foreign,
    )


_ACTIVITY = frozenset(["active", "activity", "activities", "seen", "work", "working", "online", "awake", "busy"])


def _is_bare(text: str) -> bool:
    """Whether a clause names nothing in particular: "what do I need to know?"."""
    return not (content_words(text) or particular_names(text)) and text.isascii()


_INPUT_NAME = re.compile(
    r"[\w./-]{1,200}\.(?:log|txt|csv|tsv|jsonl?|ndjson|evtx|pcapng|pcap|eml|mbox|xml|parquet)(?:\.(?:gz|bz2|xz|zst))?",
    re.I,
)


def _names_something(text: str) -> bool:
    """Whether a clause names a value or an account, beside the evidence itself."""
    return bool(set(particular_names(text)) - set(input_names(text)) or named_accounts(text))


def _asking(text: str) -> str:
    """The words that ask: whether anything is wrong in ``auth.log`` is not only a question about logins."""
    if GENERAL_WORDS.search(text):
        for name in input_names(text):
            text = text.replace(name, " ")
    return text


def input_names(text: str) -> list[str]:
    """The names in a clause that look like those of attached evidence: "is anything wrong in auth.log?"."""
    return [name for name in particular_names(text) if _INPUT_NAME.fullmatch(name)]


def particular_names(text: str) -> list[str]:
    """Addresses, file names, accounts and quoted words in a clause, as evidence may contain them; no times of day."""
    text = without_time(text) if window_of(text) else text
    found = [(match[1] or match[2]).strip(".,:;?!").replace("[.]", ".") for match in _NAMES.finditer(spaced(text))]
    found = [name for name in found if not _TERMS.fullmatch(name)]
    found += [match[1].rstrip(".") for match in _LINES_WITH.finditer(text) if content_words(match[1])]
    return list(dict.fromkeys(name for name in found if len(name) >= 3))
