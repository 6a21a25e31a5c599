"""README is short, and its two commands are where continuous integration reads them."""

from __future__ import annotations

import re

from tests.docs import examples, pages

TEXT = (pages.ROOT / "README.md").read_text("utf-8")


def test_the_first_two_sh_blocks_are_the_two_commands():
    assert [text.strip() for text in examples.texts("README.md", "sh")] == [
        "pip install . && svc report run notebooks/01_ask.ipynb",
        'python -m pip install --upgrade pip && pip install ".[test]" && python tests/browser/chromium.py && pytest',
    ]


def test_readme_is_short():
    assert len(TEXT.encode()) <= 6_000


def test_package_indexes_can_show_readme():
    """They show no file of the repository, so every picture and link is absolute."""
    targets = re.findall(r"\]\(([^)]+)\)", TEXT)

    assert len(targets) >= 10
    assert all(target.startswith("https://") for target in targets)


def test_the_table_of_what_it_can_answer_has_eight_rows():
    section = TEXT.partition("\n## What it can answer\n")[2].partition("\n## ")[0]

    assert len(pages.rows(section)) == 8
