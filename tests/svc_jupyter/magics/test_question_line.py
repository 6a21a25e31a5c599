"""A %svc line reaches the magic to the letter, whatever IPython would make of its end."""

from __future__ import annotations

import ast

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from svc_jupyter.magics.question_line import QuestionLine


def transform(cell: str) -> str:
    manager = TransformerManager()
    manager.token_transformers.append(QuestionLine)
    return manager.transform_cell(cell)


@pytest.mark.parametrize(
    "question",
    [
        "what did I ask before?",
        "is evil.com known??",
        "what is in C:\\",
        "what's this?",
        'it says "no',
        "decode (abc",
        "explain {a} and $b # c",
        "explain '''",
        "--new -- -x",
    ],
)
def test_a_question_is_kept_to_its_end(question: str):
    assert transform(f"%svc {question}") == f"get_ipython().run_line_magic('svc', {question!r})\n"


def test_questions_stand_among_code():
    cell = "for host in hosts:\n    %svc --fill is {host} external?\nx = 1\n%svc and now?"

    code = transform(cell)

    ast.parse(code)
    assert "    get_ipython().run_line_magic('svc', '--fill is {host} external?')\nx = 1\n" in code
    assert code.endswith("get_ipython().run_line_magic('svc', 'and now?')\n")


def test_the_line_after_a_last_backslash_is_its_own():
    assert transform("%svc what is in C:\\\nprint(1)").splitlines()[1] == "print(1)"


@pytest.mark.parametrize("line", ["%svc?", "%svc??"])
def test_help_is_still_help(line: str):
    assert "pinfo" in transform(line)


def test_a_question_inside_a_string_is_text():
    cell = "text = '''\n%svc really?\n'''\n"

    assert transform(cell) == cell


def test_other_magics_are_left_alone():
    assert transform("%svcx why?") == TransformerManager().transform_cell("%svcx why?")
    assert transform("len?") == TransformerManager().transform_cell("len?")
