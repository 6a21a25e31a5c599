"""Questions in other languages are understood; answers are whole English sentences below one that says so."""

# ruff: noqa: RUF001 - Japanese questions end with a full-width question mark

import re

import pytest

from svc.assistant.analyst.answer_format import AnswerFormat, requested_format
from svc.assistant.analyst.languages import _words, gloss, glossed, languages, notice, pieces, question_language
from svc.assistant.analyst.plan import make_plan, read_question
from svc.assistant.turn import TurnFile
from svc.messages import AnswerStatus
from tests.support.foreign_wordings import HELD, OPEN, TOPICS
from tests.support.inline_analyst import Asked, ask
from tests.support.wording_evidence import EVIDENCE

AUTH = TurnFile(name="auth.log", size=1, sha256="", mime_type="text/plain", label="authlog", source=b"")
NOT_UNDERSTOOD = re.compile(r"\*\*(?:Cannot tell|Question not understood|Not answered)")
ALWAYS = (1, 7, 14, 15)  # of each list of questions; the others are the long form
CASES = [
    pytest.param(
        language,
        number,
        question,
        id=f"{half}-{language}-{number}",
        marks=() if number in ALWAYS else pytest.mark.long,
    )
    for half, asked in (("open", OPEN), ("held", HELD))
    for language, questions in asked.items()
    for number, question in enumerate(questions, start=1)
]


def english_of(asked: Asked) -> str:
    """The answer below its first line."""
    return asked.markdown.partition("\n\n")[2]


@pytest.mark.parametrize(("language", "number", "question"), CASES)
async def test_a_question_in_another_language_is_understood(language: str, number: int, question: str):
    evidence, pattern = TOPICS[number - 1]
    asked = await ask(question, EVIDENCE[evidence])
    assert asked.markdown.startswith(f"*{notice(language)}*\n\n"), asked.markdown[:200]
    opening = english_of(asked).partition("\n<details>")[0]
    assert re.search(pattern, opening, re.IGNORECASE), opening
    assert not NOT_UNDERSTOOD.search(opening), opening
    assert asked.answer.status in (AnswerStatus.ANSWERED, AnswerStatus.PARTLY_ANSWERED), asked.coverage


def test_both_halves_are_of_twenty_different_wordings():
    for language in languages():
        assert len({*OPEN[language], *HELD[language]}) == 40
        assert len(OPEN[language]) == len(HELD[language]) == len(TOPICS) == 20


@pytest.mark.parametrize(
    ("question", "english"),
    [
        ("Wer ist eingedrungen?", "Who got in?"),
        ("Qui s'est introduit dans le système ?", "Who got in?"),
        ("¿Quién ha entrado en el sistema?", "Who got in?"),
        ("誰が侵入しましたか？", "Who got in?"),
    ],
)
async def test_below_its_first_line_the_answer_is_that_to_the_english_question(question: str, english: str):
    assert english_of(await ask(question, EVIDENCE["auth"])) == (await ask(english, EVIDENCE["auth"])).markdown


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Wer hat den Kaffee gestohlen?", "de"),
        ("Qui a volé le café ?", "fr"),
        ("¿Quién se comió la tarta?", "es"),
        ("コーヒーは美味しいですか？", "ja"),
        ("Who stole the coffee?", "en"),
    ],
)
async def test_a_question_that_is_not_understood_is_called_so_above_the_verdict(question: str, language: str):
    asked = await ask(question, EVIDENCE["auth"])
    opening = asked.markdown.partition("\n<details>")[0]
    assert f"**Question not understood:** `{question.rstrip('?？ ')}" in opening, opening
    assert "Cannot tell" not in opening
    assert opening.index("not understood") < opening.index("**Compromised account: `mara`")
    assert asked.answer.status is AnswerStatus.NOT_ANSWERED
    assert opening.startswith("**Question" if language == "en" else f"*{notice(language)}*")


async def test_a_question_about_something_else_is_not_answered_by_the_whole_story():
    asked = await ask("Hat der Angreifer das Ereignisprotokoll gelöscht?", EVIDENCE["auth"])
    assert asked.answer.status is not AnswerStatus.ANSWERED, asked.markdown


async def test_a_question_of_two_parts_has_two_clauses():
    asked = await ask("Wer ist eingedrungen und wurde das Ereignisprotokoll gelöscht?", EVIDENCE["windows"])
    assert len(asked.coverage["clauses"]) == 2
    assert "1102" in asked.markdown


@pytest.mark.parametrize(
    ("question", "session", "language"),
    [
        ("What happened?", "de", "en"),
        ("Was there a scan?", "en", "en"),
        ("was war los?", "en", "de"),
        ("did the service die?", "de", "en"),
        ("Was ist passiert?", "en", "de"),
        ("Was ist passiert?", "fr-CH", "de"),
        ("auth.log", "es", "es"),
        ("auth.log", "de-CH", "de"),
        ("LSASS?", "en", "en"),
        ("who got in from la-paz.example?", "en", "en"),
        ("L'attaquant ?", "en", "fr"),
        ("", "ja", "ja"),
        ("解析", "en", "ja"),
        ("What is 解析?", "tlh", "ja"),
    ],
)
def test_the_words_of_a_question_tell_its_language(question: str, session: str, language: str):
    assert question_language(question, session) == language


def test_each_language_has_all_that_it_needs():
    words = _words()
    assert languages() == ["de", "es", "fr", "ja"]
    assert set(words.notices) == set(words.questions) == set(words.interrogatives)
    assert set(words.function_words) == {"en", "de", "fr", "es"}  # Japanese is recognized by its letters


async def test_no_word_of_an_english_answer_is_in_another_language():
    asked = await ask("What happened?", EVIDENCE["auth"], language="de")
    assert asked.markdown == (await ask("What happened?", EVIDENCE["auth"])).markdown


@pytest.mark.parametrize("question", ["Wer ist eingedrungen? As JSON", "¿Quién entró? as CSV"])
async def test_data_has_no_sentence_above_it(question: str):
    assert requested_format(question, "").format is not AnswerFormat.PROSE
    asked = await ask(question, EVIDENCE["auth"])
    assert not asked.markdown.startswith("*")


@pytest.mark.parametrize(
    ("question", "language", "skill"),
    [
        pytest.param("Bitte dekodiere das: aGVsbG8gd29ybGQgMTIz", "de", "decode", id="de"),
        pytest.param("Quelles sont les échecs de connexion ?", "fr", "auth_log", id="fr"),
        pytest.param("¿Qué indicadores hay?", "es", "indicators", id="es"),
        pytest.param("ログイン失敗を教えて", "ja", "auth_log", id="ja"),
    ],
)
def test_questions_find_their_tool(question: str, language: str, skill: str):
    files = () if skill == "decode" else (AUTH,)
    plan = make_plan(read_question(question, files, language=language))
    assert [planned.skill.name for planned in plan.skills] == [skill]


async def test_what_is_missing_is_quoted_in_the_questions_own_words():
    asked = await ask("Hat sich jemand angemeldet?")
    assert "“Hat sich jemand angemeldet?”" in asked.markdown
    assert "yes or no" not in asked.markdown


def test_an_english_question_is_left_alone():
    assert glossed("analyze the vector", "en") == "analyze the vector"
    assert gloss("analyze the vector", "en") == ""


def test_parts_without_known_words_stay_with_their_neighbours():
    assert pieces("Hallo. Wer ist eingedrungen?", "de") == ["Hallo. Wer ist eingedrungen?"]
    assert len(pieces("Wer ist eingedrungen und welche Konten wurden angegriffen?", "de")) == 2
