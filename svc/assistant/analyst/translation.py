"""Translate the fixed words of an answer, and add English words to questions in other languages. Pure.

Headings, column names, severities, yes and no are translated, since they do not depend on the evidence. Sentences with
figures stay English; a line above them gives the counts in the session's language. The words are in ``words.toml``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from functools import cache

import msgspec

from svc.assistant.findings import AnyFinding, Severity
from svc.assistant.knowledge import load

YES_OR_NO = "yes or no"  # stands for a question of another language that yes or no answers
_LEAD = re.compile(
    r"^((?:- )?\*\*)((?:Yes|No|Possibly|Found|Mentioned)(?=[:.*])"
    r"|(?:Cannot tell|No sign found of|Nothing found|Not examined|Not answered|Only searched for)(?=[:.* ]))"
)
_LABEL = re.compile(r"^(\*\*|#{2,4} (?:\d+\. )?)([^*#|`]+?)([.:]?)(\*\*|$)")
_ZONED = re.compile(r"(.*) \((UTC|zone not stated|UTC or zone not stated)\)")
_FOLD = re.compile(r"<summary>((?:[\d,]*+ ?+(?=[^<]))?+)([^<]++)</summary>")
_RULE = re.compile(r"\|(?: --- \|)+")


class _Words(msgspec.Struct, frozen=True):
    """``phrases``: by language, English to that language. ``questions``: by language, pattern to English words.

    ``interrogatives``: by language, a pattern of the words that ask for more than yes or no.
    """

    source: str
    version: str
    date: date
    phrases: dict[str, dict[str, str]]
    questions: dict[str, dict[str, str]]
    interrogatives: dict[str, str]


@cache
def _words() -> _Words:
    return load("words.toml", _Words, __package__)


def languages() -> list[str]:
    """The languages with translations, English not included."""
    return sorted(_words().phrases)


def base_language(tag: str) -> str:
    """The language of a BCP 47 tag: ``de`` of ``de-CH``."""
    return re.split(r"[-_]", tag, maxsplit=1)[0].lower()


def glossed(question: str, language: str) -> str:
    """The question followed by the English words for what it asks; unchanged if none are known."""
    table = _words().questions.get(base_language(language), {})
    found = [english for pattern, english in table.items() if re.search(pattern, question, re.IGNORECASE)]
    asks_what = _words().interrogatives.get(base_language(language))
    is_asked = question.rstrip().endswith(("?", "？", "か", "か。"))  # noqa: RUF001 - the full-width question mark
    if asks_what and is_asked and not re.search(asks_what, question, re.IGNORECASE):
        found.append(YES_OR_NO)
    return f"{question} {' '.join(found)}" if found else question


def translated(markdown: str, language: str) -> str:
    """The answer with its fixed words translated; unchanged for a language without translations. Code is left alone."""
    phrases = _words().phrases.get(base_language(language))
    if not phrases:
        return markdown
    lines = markdown.split("\n")
    fence = ""
    for number, line in enumerate(lines):
        opened = re.match(r"`{3,}", line)
        if fence or opened:
            fence = "" if fence and line == fence else fence or (opened[0] if opened else "")
            continue
        if (fold := _FOLD.fullmatch(line)) is not None:
            lines[number] = f"<summary>{fold[1]}{phrases.get(fold[2], fold[2])}</summary>"
            continue
        is_heading_row = number + 1 < len(lines) and _RULE.fullmatch(lines[number + 1]) is not None
        lines[number] = (
            _row(line, phrases, is_heading=is_heading_row) if line.startswith("| ") else _label(line, phrases)
        )
    return "\n".join(lines)


def _row(line: str, phrases: dict[str, str], *, is_heading: bool) -> str:
    """A table's row: in the heading all column names are translated, below it only severities, yes, no and unknown."""
    cells = line[2:-2].split(" | ")
    if is_heading:
        return "| " + " | ".join(_heading(cell, phrases) for cell in cells) + " |"
    known = {word: phrases[word] for word in _CELLS if word in phrases}
    return "| " + " | ".join(known.get(cell, cell) for cell in cells) + " |"


def _heading(cell: str, phrases: dict[str, str]) -> str:
    """A column's name, and the zone of its times in parentheses."""
    match = _ZONED.fullmatch(cell)
    if match is None:
        return phrases.get(cell, cell)
    return f"{phrases.get(match[1], match[1])} ({phrases.get(match[2], match[2])})"


_CELLS = (*(severity.value for severity in Severity), "yes", "no", "unknown")


def _label(line: str, phrases: dict[str, str]) -> str:
    """A heading, or the bold words that open a line."""
    match = _LABEL.match(line)
    if match is None or match[2] not in phrases:
        return _LEAD.sub(lambda lead: f"{lead[1]}{phrases.get(lead[2], lead[2])}", line)
    return f"{match[1]}{phrases[match[2]]}{match[3]}{match[4]}{line[match.end() :]}"


def gist(findings: Sequence[AnyFinding], language: str) -> str:
    """One line above an English verdict: how many findings of which severity, in the language; "" for English."""
    phrases = _words().phrases.get(base_language(language))
    if not phrases:
        return ""
    counts = Counter(finding.severity for finding in findings)
    counted = [f"{phrases[severity.value]}: {counts[severity]:,}" for severity in Severity if counts[severity]]
    return f"*{phrases['Findings']}: {len(findings):,}" + (f" ({', '.join(counted)})" if counted else "") + "*"
