"""The page about skills is the one that the code gives."""

from __future__ import annotations

from tests.docs.skills_page import PAGE, page


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.docs.skills_page"
