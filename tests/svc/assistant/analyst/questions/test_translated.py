"""Questions of other languages in English words: phrase by phrase, and nothing if too little is known."""

# ruff: noqa: RUF001 - Japanese questions end with a full-width question mark

from __future__ import annotations

import pytest

from svc.assistant.analyst.languages import english_question, pieces
from svc.assistant.analyst.questions.translated import translated


@pytest.mark.parametrize(
    ("language", "question", "english"),
    [
        ("de", "Wer hat sich angemeldet, und welches MFA wurde benutzt?", "who logged in, and which MFA was used?"),
        ("de", "Welcher Benutzer gehört zu 10.0.0.5?", "which user owns 10.0.0.5?"),
        ("de", "Was hat SRV-81 gemacht?", "what did SRV-81 do?"),
        ("de", "Welche Anmeldungen gab es nach 03:00?", "which logins was there after 03:00?"),
        ("fr", "Quel compte a été créé, et par qui ?", "which user was created, and by whom?"),
        ("fr", "De quelle adresse IP ?", "from which ip?"),
        ("es", "¿Quién inició sesión y desde qué país?", "who logged in and from which country?"),
        ("ja", "誰がアップロードし、どのサイトに送りましたか？", "who uploaded, and which sites sent?"),
        ("de", "Hallo zusammen, schöne Grüße", ""),  # asks nothing
        ("de", "Welche Frobnikation verquast der Quux?", ""),  # its meaning is in words that are not known
        ("en", "who logged in?", ""),
    ],
)
def test_a_question_is_put_into_english_words_or_left_alone(language: str, question: str, english: str):
    assert translated(question, language) == english


def test_a_question_that_a_pattern_knows_as_a_whole_is_not_translated():
    assert english_question("Welche Konten wurden angegriffen?", "de") == ""
    assert english_question("Welche Konten wurden angegriffen und wann?", "de") != ""


def test_a_part_that_is_not_understood_stays_a_part():
    assert len(pieces("Wer ist eingedrungen und welche Frobnikation wurde verquast?", "de")) == 2


def test_very_long_questions_are_not_translated():
    assert translated("Wer hat sich angemeldet? " * 40, "de") == ""
