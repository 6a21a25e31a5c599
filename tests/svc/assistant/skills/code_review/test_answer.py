"""The answer about code: the count and the worst first, the fixes, evidence in code."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

from svc.assistant.findings import Facts, Finding
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.code_review.answer import SECTION
from svc.assistant.skills.code_review.tool import inspect


def found(text: str, source: str = "a.py") -> list[Finding[Facts]]:
    return [item for item in inspect(text, source=source) if isinstance(item, Finding)]


def test_the_verdict_counts_by_severity_and_names_the_worst():
    verdict = SECTION.verdict(found("import os\neval(input())\nh = hashlib.md5(x)\n"))
    assert "2 weaknesses" in verdict
    assert "CWE-95, line 2" in verdict


def test_code_without_findings_is_not_reported_as_safe():
    verdict = SECTION.verdict(found("import os\n"))
    assert re.match(r"\*\*None of \d+ weakness patterns matched\*\* in 1 line \(Python\)\. Other weaknesses", verdict)


def test_without_code_the_verdict_says_so():
    assert SECTION.verdict([]).startswith("**Not examined:** no code")
    assert as_sections(SECTION.folds([])) == ""


def test_the_body_has_line_reason_and_fix():
    body = as_sections(SECTION.folds(found("import os\nos.system('ping ' + input())\n")))
    for words in ("CWE-78", "Fixes", "without a shell", "from user input"):
        assert words in body


def test_next_steps_follow_from_what_was_found():
    steps = SECTION.next_steps(found("import os\npassword = 'hunter2hunter2'\neval(input())\n"))
    assert any("Rotate every secret" in step for step in steps)
    assert any("logs" in step for step in steps)


def test_code_is_not_rendered():
    evil = 'import os\neval("<img src=x onerror=alert(1)>" + input())  # [x](http://evil.test) `|`\n'
    html = MarkdownIt("js-default").render(as_sections(SECTION.folds(found(evil))))
    assert "<img" not in html
    assert 'href="http' not in html
