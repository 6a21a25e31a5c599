"""Options stand before the question, and the question is kept to the letter."""

from __future__ import annotations

import pytest

from svc_jupyter.errors import AskError
from svc_jupyter.magics.options import CommandLine, braced_names, fill, parse


@pytest.mark.parametrize(
    "question",
    [
        "explain powershell -enc SQBFAFgA",
        'what does `rm -rf "$HOME"/{a,b}` do?',
        r"is C:\Windows\Temp\x.exe --new 'or not",
        "what is -- here # not a comment",
        "why?",
        "--new is what?",
    ],
)
def test_the_question_is_kept_to_the_letter(question: str):
    line = f"-- {question}" if question.startswith("-") else question

    assert parse(line) == CommandLine(question=question)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("--attach a.log q", CommandLine(question="q", attach=("a.log",)), id="attach"),
        pytest.param("--attach=a.log q", CommandLine(question="q", attach=("a.log",)), id="equals"),
        pytest.param("--attach 'a b.log' q", CommandLine(question="q", attach=("a b.log",)), id="single quotes"),
        pytest.param('--attach "it\'s.log" q', CommandLine(question="q", attach=("it's.log",)), id="double quotes"),
        pytest.param(r"--attach C:\a.log q", CommandLine(question="q", attach=(r"C:\a.log",)), id="backslash"),
        pytest.param("--attach {x} --attach y q", CommandLine(question="q", attach=("{x}", "y")), id="repeated"),
        pytest.param("--into a --new q", CommandLine(question="q", into="a", is_new=True), id="into, new"),
        pytest.param("--model experimental q", CommandLine(question="q", model="experimental"), id="model"),
        pytest.param("--timeout 1.5 q", CommandLine(question="q", timeout_seconds=1.5), id="timeout"),
        pytest.param("--fill q {x}", CommandLine(question="q {x}", is_filled=True), id="fill"),
        pytest.param("--cell q", CommandLine(question="q", is_cell=True), id="cell"),
        pytest.param("--new -- --fill q", CommandLine(question="--fill q", is_new=True), id="end of options"),
        pytest.param("--help", CommandLine(is_help=True), id="help"),
    ],
)
def test_options_are_read(line: str, expected: CommandLine):
    assert parse(line) == expected


def test_a_cell_is_the_question_whole():
    cell = "  first {line}\n\n\tsecond 'line'\n"

    assert parse("--new", cell) == CommandLine(question="  first {line}\n\n\tsecond 'line'", is_new=True)


def test_text_after_the_options_of_a_cell_is_its_first_line():
    assert parse("--new What is this?", "aGVsbG8=\n").question == "What is this?\naGVsbG8="


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("--atach x q", "unknown option --atach. Did you mean --attach? Put -- before", id="near"),
        pytest.param("-enc q", "unknown option -enc. Options: --attach, --all, --into", id="far"),
        pytest.param(
            "", "the question is missing. Write it after the options, for example: Which accounts", id="empty"
        ),
        pytest.param("--new  ", "the question is missing.", id="options alone"),
        pytest.param("--attach", "--attach needs FILE: the value is missing.", id="no value"),
        pytest.param("--attach --new q", "--attach needs FILE, but is followed by --new.", id="option for a value"),
        pytest.param('--attach "a b q', '--attach needs FILE: unclosed quote: "a b q.', id="open quote"),
        pytest.param("--attach '' q", "--attach needs FILE, but it is empty.", id="empty value"),
        pytest.param("--into 1a q", "--into needs a variable name; '1a' is not one.", id="no name"),
        pytest.param("--into class q", "--into needs a variable name; 'class' is not one.", id="keyword"),
        pytest.param("--timeout soon q", "--timeout needs a number of seconds above 0, not 'soon'.", id="no number"),
        pytest.param("--timeout nan q", "--timeout needs a number of seconds above 0, not 'nan'.", id="not a number"),
        pytest.param("--timeout -1 q", "--timeout needs a number of seconds above 0, not '-1'.", id="negative"),
        pytest.param("--new=1 q", "--new takes no value.", id="switch with a value"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_write(line: str, message: str):
    with pytest.raises(AskError) as caught:
        parse(line)

    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert caught.value._render_traceback_() == [f"AskError: {caught.value}"]


def test_filling_looks_at_a_value_once():
    question = "is {a} in {b}? {not a name} {} {{a}}"
    names = {"a": "{b}", "b": "{secret}"}

    assert braced_names(question) == ["a", "b"]
    assert fill(question, names) == "is {b} in {secret}? {not a name} {} {{b}}"
