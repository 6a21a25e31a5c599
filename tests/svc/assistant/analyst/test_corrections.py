"""A message that only complains about the form of the last answer asks the question before it again."""

import pytest

from svc.assistant.analyst.corrections import asked_again, is_correction
from svc.assistant.turn import Exchange, Turn, TurnFile

OPEN = [
    (
        "Correct your JSON ONLY RESPONSE, based on the following errors:\n1 validation error for Score\nbase_score\n  "
        "Input should be a valid number [type=float_type, input_value=None, input_type=NoneType]"
    ),
    "Validation Error found:\n1 validation error for Finding\nRecall the function correctly, fix the errors",
    "2 validation errors:\n```json\n[{'type': 'missing'}]\n```\n\nFix the errors and try again.",
    "Your previous response was not valid JSON. Return only valid JSON.",
]
HELD = [
    "Validation feedback:\nCWE must start with CWE-\n\nFix the errors and try again.",
    "Your last answer could not be parsed as JSON: Expecting value: line 1 column 1 (char 0). Please try again.",
    "The JSON you returned does not match the schema: 'severity' is a required field. Please correct it.",
    (
        "I was given the following JSON response, which had problems due to incorrect values.\n\n{}\n\nHelp me correct "
        "the incorrect values based on the given error messages."
    ),
    "That is not valid JSON. Respond again with valid JSON only.",
    "Completion did not satisfy the constraints given in the prompt. Please try again:",
    "Failed to parse Finding from your completion: missing field `id`. Fix it and return the JSON object again.",
]
OTHER = [
    "What is a validation error?",
    "Correct the CVSS vector CVSS:3.1/AV:N",
    "Which of these JSON lines is not valid? Fix nothing.",
    "Is my JSON log valid?",
    "What did you find in your last answer?",
    "Try again.",
    "Return the result as JSON",
    "Why was the response of the server 500? Correct the rule.",
]


@pytest.mark.parametrize("prompt", [*OPEN, *HELD])
def test_complaints_of_programs_are_recognized(prompt):
    assert is_correction(prompt)


@pytest.mark.parametrize("prompt", OTHER)
def test_questions_are_no_complaints(prompt):
    assert not is_correction(prompt)


def exchange(prompt, *files):
    return Exchange(prompt=prompt, answer="{}", files=files)


def test_the_first_question_before_a_row_of_complaints_is_asked_again():
    earlier, asked, complaint = exchange("What is T1110?"), exchange("Score this"), exchange(OPEN[0])
    turn = Turn(session_id="s", prompt=OPEN[1], history=(earlier, asked, complaint))
    again = asked_again(turn)
    assert (again.prompt, again.history) == ("Score this", (earlier,))


def test_the_files_of_the_question_are_meant_again():
    file = TurnFile(name="a.log", size=1, sha256="0", mime_type="text/plain", label="txt", source=b"x", is_new=False)
    other = TurnFile(name="b.log", size=1, sha256="1", mime_type="text/plain", label="txt", source=b"y", is_new=False)
    turn = Turn(session_id="s", prompt=OPEN[0], files=(file, other), history=(exchange("Any attacks?", "a.log"),))
    assert [(one.is_new, one.is_meant) for one in asked_again(turn).files] == [(True, True), (False, False)]


@pytest.mark.parametrize("prompt", ["What is T1110?", OPEN[0]])
def test_a_turn_without_an_earlier_question_or_complaint_is_unchanged(prompt):
    history = () if prompt == OPEN[0] else (exchange("Score this"),)
    turn = Turn(session_id="s", prompt=prompt, history=history)
    assert asked_again(turn) is turn
