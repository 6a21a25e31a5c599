"""Keys and named secrets are taken out of everything that is written, in each way they may be written."""

from __future__ import annotations

import html
import json
from urllib.parse import quote

import nbformat
import pytest

from svc_jupyter.answers.redaction import REDACTED, redact, redact_all

SECRET = "p&ss \"w<o>rd'\n"
KEY = "svc_" + "Ab9" * 16 + "z"


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(SECRET, id="as it is"),
        pytest.param(html.escape(SECRET), id="HTML"),
        pytest.param(json.dumps(SECRET), id="JSON"),
        pytest.param(repr(SECRET), id="Python"),
        pytest.param(quote(SECRET, safe=""), id="an address"),
    ],
)
def test_a_secret_is_found_in_each_form(written: str):
    assert "ss" not in redact(f"x {written} y", (SECRET,)).replace("redacted", "")


@pytest.mark.parametrize("secret", ["", "a", "abc"])
def test_a_secret_that_stands_in_every_word_is_left(secret: str):
    assert redact("a table, abc", (secret,)) == "a table, abc"


def test_the_longer_of_two_secrets_goes_first():
    assert redact("hush-hush", ("hush", "hush-hush")) == REDACTED


def test_a_notebook_is_redacted_everywhere():
    notebook = nbformat.v4.new_notebook(metadata={"widgets": {"state": {KEY: KEY}}})
    cell = nbformat.v4.new_code_cell(f"k = '{KEY}'", metadata={"x": [KEY]})
    cell.outputs = [nbformat.v4.new_output("error", ename="E", evalue=KEY, traceback=[KEY])]
    notebook.cells = [cell, nbformat.v4.new_markdown_cell(KEY)]

    clean = redact_all(notebook)

    assert KEY not in json.dumps(clean)
    assert KEY in json.dumps(notebook)
    nbformat.validate(clean)
