"""Texts that people read are in idiomatic English: known slips are found in code, comments, pages and tables."""

import pytest

from tests.support.english import FORMS, ROOT, Form, hits_in, our_files

EXCEPTIONS = {
    ("tests/svc/assistant/instruction_text/wordings.toml", "is told"): "quotes what attackers write",
    ("tests/svc/assistant/sigma/test_shipped.py", "another than"): "a pattern of the same slips, for rules",
    ("tests/svc/assistant/skills/test_mail_archive_token_answers.py", "is none"): "the algorithm `none` of a token",
    ("docs/rule_titles.md", "is none"): "lists old titles",
}
"""Reviewed hits that stay, and why."""
EXAMPLES = ("tests/support/english.py", "tests/docs/test_english.py")  # the slips themselves


def test_no_text_has_a_known_slip():
    found = [
        f"{hit.path}:{hit.line}: {hit.form}: …{hit.text}…"
        for path in our_files()
        if path not in EXAMPLES
        for hit in hits_in(path, (ROOT / path).read_text(encoding="utf-8"))
        if (path, hit.form) not in EXCEPTIONS
    ]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_each_form_finds_its_slip_and_no_correct_sentence(form: Form):
    assert [hit.form for hit in hits_in("a", form.wrong)] == [form.name]
    assert list(hits_in("a", form.right)) == []
    assert list(hits_in("a", form.instead)) == []


def test_a_slip_across_lines_of_a_comment_is_found():
    assert [hit.line for hit in hits_in("a.py", "x = 1\n# It is made where\n# there is none.\n")] == [2]


@pytest.mark.parametrize(
    "sentence",
    [
        "The line where it was found is shown.",
        "It is checked at the place where it runs.",
        "There is none.",
        "None is left, and it is None.",
        "He said that she had told us.",
        "Nothing stands out. It stands for an address.",
        "What can be done? There is no tool.",
        "The user wants a table.",
        "It goes without saying; the panel goes away with it closed.",
        "The beginning of the log is missing.",
        "Readers of a log see it. A slow client is disconnected.",
        "What is no longer kept is deleted.",
        "The life of a malware sample.",
        "Another answer is better than this one.",
    ],
)
def test_correct_sentences_pass(sentence: str):
    assert list(hits_in("a", sentence)) == []
