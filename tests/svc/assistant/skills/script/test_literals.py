"""Strings and comments of scripts: code is never taken for a comment, even if the script is cut."""

from __future__ import annotations

import pytest

from svc.assistant.skills.script.language import Language
from svc.assistant.skills.script.literals import marked, unmarked


@pytest.mark.parametrize(
    ("text", "language", "code"),
    [
        ("/* one */ a = 'x'; /* never closed\nb = 'y'", Language.JAVASCRIPT, ' a = "x"; /* never closed\nb = "y"'),
        ("a = /[/*]/; b = `y` /* c", Language.JAVASCRIPT, 'a = /[/*]/; b = "y" /* c'),
        ("<# one #> a 'x' <# never closed\nb 'y'", Language.POWERSHELL, ' a "x" <\nb "y"'),
        ("@'\nnever closed'\n$a = 'x'", Language.POWERSHELL, '@"\nnever closed"\n$a = "x"'),
    ],
    ids=["comment", "regular-expression", "block-comment", "here-string"],
)
def test_what_follows_an_opening_that_nothing_closes_is_code(text: str, language: Language, code: str):
    assert unmarked(marked(text, language)) == code
