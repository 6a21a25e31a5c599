"""Recognize a question's language, and add the English words for what a question in another language asks. Pure.

Answers are whole English sentences, with one line above them in the question's language that says so: answers that are
translated in part are harder to read than English ones. Patterns and sentences are in ``words.toml``.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache

import msgspec

from svc.assistant.analyst.questions.time_words import window_of
from svc.assistant.analyst.questions.translated import parts_asked, translated
from svc.assistant.knowledge import load
from svc.untrusted.characters import on_one_line
from svc.untrusted.markup import code_span

YES_OR_NO = "yes or no"  # stands for a question of another language that yes or no answers
MAX_READ_AS = 200
MAX_CHARS = 2_000  # of a text whose language is recognized
_ENGLISH = "en"
_JAPANESE = re.compile(r"[\u3040-\u30ff]|(?:(?<=\s)|\A)[\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W\d_]+")
_BESIDE_JAPANESE = re.compile(r"(?<=[!-~])(?=[\u3040-\u30ff\u4e00-\u9fff])|(?<=[\u3040-\u30ff\u4e00-\u9fff])(?=[!-~])")
_WHOLE_STORY = re.compile(r"what happened|anything suspicious|analyze this")
_ELISION = re.compile(r"(?<!\w)(?:l|d|qu|s|c|j|n|m|t|jusqu|lorsqu|quelqu)['\u2019]\w", re.IGNORECASE)
_PART_END = re.compile(r"(?<=[.?!;？。])(?:\s+|$)|(?<=[？。])|,?\s(?:und|sowie|et|ainsi que|y|e)\s")  # noqa: RUF001
_LETTERS = {"de": re.compile(r"[äöüß]"), "fr": re.compile(r"[àâçèêëîïôœùû]"), "es": re.compile(r"[¿¡ñáíóú]")}


class _Words(msgspec.Struct, frozen=True):
    """``notices``: by language, the sentence above an answer; ``understood``: how one begins that gives the question in
    English; ``typing_errors``: English words by how they are mistyped. ``questions``: by language, pattern to English
    words.

    ``function_words``: by language, common words. ``interrogatives``: by language, a pattern of the words that ask for
    more than yes or no.
    """

    source: str
    version: str
    date: date
    notices: dict[str, str]
    understood: dict[str, str]
    typing_errors: dict[str, str]
    function_words: dict[str, str]
    questions: dict[str, dict[str, str]]
    interrogatives: dict[str, str]


@cache
def _words() -> _Words:
    return load("words.toml", _Words, __package__)


@cache
def _function_words() -> dict[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in _words().function_words.items()}


def languages() -> list[str]:
    """The languages besides English in which questions are understood."""
    return sorted(_words().questions)


def base_language(tag: str) -> str:
    """The language of a BCP 47 tag: ``de`` of ``de-CH``."""
    return re.split(r"[-_]", tag, maxsplit=1)[0].lower()


def question_language(question: str, session_language: str) -> str:
    """The language in which a question is written, as an ISO 639 code.

    Args:
        question: The question alone, without pasted material; the first ``MAX_CHARS`` count.
        session_language: The session's BCP 47 tag; it decides if the words do not.
    """
    text = question[:MAX_CHARS].lower()
    if _JAPANESE.search(text):
        return "ja"
    words = _WORD.findall(text)
    scores = {language: sum(word in common for word in words) for language, common in _function_words().items()}
    for language, letters in _LETTERS.items():
        scores[language] += len(letters.findall(text))
    scores["fr"] += len(_ELISION.findall(text))
    best = max(scores.values())
    likely = [language for language, score in scores.items() if score == best]
    session = base_language(session_language)
    if best == 0 or session in likely:
        return session
    return _ENGLISH if _ENGLISH in likely else likely[0]


def notice(language: str) -> str:
    """The sentence, in the question's language, that the answer below it is in English; "" if it is not needed."""
    return _words().notices.get(base_language(language), "")


def read_as(english: str, language: str) -> str:
    """The sentence, in the question's language, that says in which English words the question was understood."""
    start = _words().understood[base_language(language)]
    return f"{start} {code_span(on_one_line(english), limit=MAX_READ_AS)}."


def english_question(question: str, language: str) -> str:
    """The question in English words, if these say more of it than the known patterns do; "" otherwise.

    Patterns know whole questions that are often asked, such as whether anyone got in. Words know each part of a
    question: all of several clauses, times, values.
    """
    if not is_foreign(language):
        return ""
    english = translated(question, language)
    asks = parts_asked(question, language)
    is_known = _is_asking(question, language) and not _names_something(question, language)
    return english if english and (asks > 1 or not is_known or window_of(english)) else ""


_VALUE = re.compile(r"(?<=\s)[\w.@\\:-]*[\d@\\_][\w.@\\:-]*|(?<=\w\s)\w+\.\w+")
_CAPITALISED = re.compile(r"(?<=[\w,] )[A-Z]\w{2,}")


def _names_something(question: str, language: str) -> bool:
    """Whether a question names a value or, in a language that writes only names so, begins a word with a capital."""
    is_name = base_language(language) in ("fr", "es") and _CAPITALISED.search(question) is not None
    return is_name or _VALUE.search(question) is not None


def respelled(question: str) -> str:
    """Correct the commonest typing errors of an English question, because a question word decides what is answered."""
    errors = _words().typing_errors
    return _LONE_WORD.sub(lambda found: errors.get(found[0].lower(), found[0]), question)


_LONE_WORD = re.compile(r"(?<![\w@.\\/-])[A-Za-z]{3,14}(?![\w@\\/-]|\.\w)")  # no part of a name


def spaced(text: str) -> str:
    """The text with a space between names and Japanese words, which are written without spaces."""
    return _BESIDE_JAPANESE.sub(" ", text)


def is_foreign(language: str) -> bool:
    """Whether questions in the language are understood by means of English words."""
    return base_language(language) in _words().questions


def gloss(question: str, language: str) -> str:
    """The English words for what a question asks; "" if none are known, or the question is in English.

    Words that ask for the whole story are left out if others ask for something in particular: "did the attacker clear
    the log" is not answered by what happened.
    """
    table = _words().questions.get(base_language(language), {})
    matching = [english for pattern, english in table.items() if re.search(pattern, question, re.IGNORECASE)]
    found = [english for english in matching if not _WHOLE_STORY.search(english)] or matching
    asks_what = _words().interrogatives.get(base_language(language))
    is_asked = question.rstrip().endswith(("?", "？", "か", "か。"))  # noqa: RUF001 - the full-width question mark
    if asks_what and is_asked and not re.search(asks_what, question, re.IGNORECASE):
        found.append(YES_OR_NO)
    return " ".join(found)


def pieces(question: str, language: str) -> list[str]:
    """The parts of a question in another language that ask something each; a part without known words joins others."""
    ending = "?" if question.rstrip().endswith(("?", "？")) else ""  # noqa: RUF001 - the full-width question mark
    found: list[str] = []
    for part in filter(str.strip, _PART_END.split(question)):
        text = part.strip()
        if found and not (_asks(text, language) and _asks(found[-1], language)):
            found[-1] = f"{found[-1]} {text}"
        else:
            found.append(text)
    return [text if text.endswith(("?", "？")) else f"{text}{ending}" for text in found]  # noqa: RUF001


def _asks(text: str, language: str) -> bool:
    """Whether a part asks something by itself, known or not: the answer must name a part that is not understood."""
    asked = _words().interrogatives[base_language(language)]
    is_long = len(text) >= _LEAST_CHARS and (language == "ja" or len(text.split()) >= _LEAST_WORDS)
    return _is_asking(text, language) or (is_long and re.search(asked, text, re.IGNORECASE) is not None)


_LEAST_CHARS, _LEAST_WORDS = 6, 3


def _is_asking(text: str, language: str) -> bool:
    return gloss(text, language) not in ("", YES_OR_NO)


def glossed(question: str, language: str) -> str:
    """The question followed by the English words for what it asks; unchanged if none are known."""
    return f"{question} {gloss(question, language)}".rstrip() if is_foreign(language) else question
