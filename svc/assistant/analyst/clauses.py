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

from svc.assistant.analyst.matching import LOOK, UNSUPPORTED

CLAUSE_CHARS = 160  # of a clause, in an answer
CLAUSE_END = re.compile(r"[;\n]|[.?!](?=\s|$)|,? (?:and|then|also|plus)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"\b(?:what|which|who|whose|whom|where|when|why|how|is|are|was|were|am|do|does|did|has|have|had|can|could|should"
    r"|any|anything|tell|say|check|inspect|triage|read|look|show|list|find|explain|review|analy[sz]e|examine|extract"
    r"|summari[sz]e|identify|describe|investigate|report|determine|count|score|rate|map|decode|classify|give|name"
    r"|assess|evaluate|confirm|verify|search|hunt|compare|need|want)\b",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"\W*(?:(?:please|so|and|then|also|now)\W+){0,3}"
    r"(?:(?:is|are|was|were|do|does|did|has|have|had|can|could|any)\b(?! (?:you|i|we)\b)"
    r"|(?:tell me|say|check|confirm|verify|know|determine|find out|see) (?:if|whether)\b)",
    re.IGNORECASE,
)
_GENERAL = re.compile(
    r"\b(?:compromis\w+|malicious|suspicious|attack(?:s|ed|er|ers)?|infect\w+|hack\w*|breach\w*|intru\w+|unusual"
    r"|abnormal|anomal\w+|odd|strange|weird|dangerous|harmful|wrong|bad|phish\w*|safe|clean|interesting|notable|worr\w+"
    r"|concern\w*|incidents?|threats?|malware|evil)\b",
    re.IGNORECASE,
)
_NAMES = re.compile(r"[`'\"“”]([^`'\"“”\n]{2,80})[`'\"“”]|(?<!\w)((?=[^\s]*[\d._\\@-])[\w][\w.\[\]\\@:/-]{3,120})")


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

    @property
    def is_yes_no(self) -> bool:
        """Whether it begins as a question that yes or no answers."""
        return _YES_NO.match(self.text) is not None

    @property
    def is_general(self) -> bool:
        """Whether it asks if anything is wrong, without saying what."""
        return _GENERAL.search(self.text) is not None


def clauses_of(text: str, glossed: str, skills_named_in: Callable[[str], Sequence[str]]) -> tuple[Clause, ...]:
    """Return the clauses that ask something.

    Args:
        text: The question.
        glossed: The question with English words added; it differs from ``text`` in another language, whose sentences
            are not split.
        skills_named_in: Returns the names of the skills that the words of a text name.
    """
    if not text.strip():
        return ()
    if glossed != text:
        return (_clause(text, glossed, skills_named_in(glossed)),)
    pieces = [text[start:stop] for start, stop in _pieces(text)]
    clauses = [_clause(piece, piece, skills_named_in(piece)) for piece in pieces]
    asking = [
        clause
        for clause in clauses
        if clause.skills or clause.kind is ClauseKind.UNSUPPORTED or _ASKS.search(clause.text)
    ]
    return tuple(asking or clauses[:1])


def _pieces(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence, or of each part of one that asks something by itself."""
    pieces: list[tuple[int, int]] = []
    start, is_sentence = 0, True
    for end in [*CLAUSE_END.finditer(text), None]:
        stop = end.start() if end else len(text)
        if text[start:stop].strip():
            if pieces and not is_sentence and not _ASKS.search(text[start:stop]):
                pieces[-1] = (pieces[-1][0], stop)
            else:
                pieces.append((start, stop))
            is_sentence = False
        if end is not None:
            start, is_sentence = end.end(), is_sentence or end.group()[0] in ".?!;\n"
    return pieces


def _clause(text: str, glossed: str, skills: Sequence[str]) -> Clause:
    if any(words.search(glossed) for _, words in UNSUPPORTED):
        kind = ClauseKind.UNSUPPORTED
    elif skills:
        kind = ClauseKind.NAMED
    elif LOOK.search(glossed) or (_GENERAL.search(glossed) and not particular_names(text)):
        kind = ClauseKind.OPEN
    else:
        kind = ClauseKind.PARTICULAR
    return Clause(text=" ".join(text.split())[:CLAUSE_CHARS], kind=kind, skills=tuple(dict.fromkeys(skills)))


def particular_names(text: str) -> list[str]:
    """Addresses, file names, accounts and quoted words in a clause, as evidence may contain them."""
    found = [(match[1] or match[2]).strip(".,:;?!").replace("[.]", ".") for match in _NAMES.finditer(text)]
    return list(dict.fromkeys(name for name in found if len(name) >= 3))
