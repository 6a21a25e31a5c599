"""Versions in ranges: forms of ranges, orders of ecosystems, and which version is in question."""

from __future__ import annotations

import itertools
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Finding, Gap
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.versions.answer import SECTION
from svc.assistant.skills.versions.findings import VersionAffected
from svc.assistant.skills.versions.tool import inspect
from tests.support.sampling import sampled


def found(text: str, question: str = "") -> list[Finding[VersionAffected]]:
    items = inspect(text, source="prompt", question=question)
    return [item for item in items if isinstance(item, Finding)]


def is_affected(text: str) -> bool:
    findings = found(text)
    assert findings, text
    return any(finding.facts.is_affected for finding in findings)


CASES = {
    "signs": ("is log4j-core 2.14.1 affected by >=2.0-beta9,<2.15.0", True),
    "signs, the fix": ("is log4j-core 2.15.0 affected by >=2.0-beta9,<2.15.0", False),
    "signs, before a beta": ("is log4j-core 2.0-beta8 affected by >=2.0-beta9,<2.15.0", False),
    "before": ("Is foo 1.2.2 affected by versions before 1.2.3?", True),
    "before, the same": ("Is foo 1.2.3 affected by versions before 1.2.3?", False),
    "through": ("foo 1.4.2, affected: 1.0 through 1.4.2", True),
    "through, above": ("foo 1.4.3, affected: 1.0 through 1.4.2", False),
    "from up to": ("foo 2.5 is it vulnerable: from 2.0 up to 2.4", False),
    "from before": ("is foo 2.3 vulnerable? from 2.0 before 2.3", False),
    "and earlier": ("is foo 0.9 vulnerable: 1.0 and earlier", True),
    "and later": ("is foo 0.9 vulnerable: 1.0 and later", False),
    "fixed in": ("is foo 1.9 vulnerable: fixed in 2.0", True),
    "an interval": ("org.acme:thing:2.0 in [1.0,2.0)?", False),
    "an interval, closed": ("org.acme:thing:2.0 in [1.0,2.0]?", True),
    "alternatives": ("lodash@3.10.1 affected by <2.0.0 || >=3.0.0 <4.17.19", True),
    "a wildcard": ("is jquery 3.4.1 affected: 3.4.x", True),
    "caret": ("is serde 1.9.0 in ^1.0.50 of cargo", True),
    "caret of a zero": ("is serde 0.3.0 in ^0.2.3 of cargo", False),
    "tilde": ("is thing 1.3.0 in ~1.2.3 of npm", False),
    "pessimistic": ("is rails 5.2.4.2 affected by ~> 5.2.4 rubygems", True),
    "vers": ("vers:pypi/>=1.0|<2.0: is django 1.5 in it?", True),
    "an exception": ("log4j 2.12.2: 2.0-beta9 through 2.15.0 (excluding 2.12.2, 2.12.3)", False),
    "NVD's fields": ("is foo 1.4.2 hit? versionStartIncluding: 1.0 versionEndExcluding: 1.4.2", False),
    "PEP 440's candidate": ("is numpy 1.2.0rc1 on PyPI affected before 1.2.0?", True),
    "PEP 440's post": ("is numpy 1.2.0.post1 on PyPI affected: up to and including 1.2.0", False),
    "semantic candidate": ("is thing 1.2.0-rc.1 of npm affected: <1.2.0", True),
    "numbers, not texts": ("is thing 1.10.0 of npm affected: <1.9.0", False),
    "Debian's tilde": ("is bash 5.1-2~deb11u1 (debian) affected: <5.1-2", True),
    "Debian's epoch": ("is bash 1:1.0-1 (debian) affected: <5.1-2", False),
    "Go": ("golang.org/x/net v0.16.0 affected? versions before v0.17.0", True),
    "Maven's service pack": ("is org.acme:thing:1.0-SP1 in [1.0,1.1)?", True),
    "a letter behind": ("is openssl 1.0.2k affected: 1.0.2 through 1.0.2j", False),
    "a package URL": ("pkg:npm/lodash@4.17.15 affected by <4.17.19", True),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_a_version_is_in_its_range_or_is_not(text: str, expected: bool):
    assert is_affected(text) is expected


OSV = {
    "affected": [
        {
            "package": {"ecosystem": "npm", "name": "lodash"},
            "ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}, {"fixed": "4.17.19"}]}],
        },
        {
            "package": {"ecosystem": "npm", "name": "other"},
            "ranges": [{"type": "SEMVER", "events": [{"introduced": "9"}]}],
        },
    ]
}
NVD = {
    "cpeMatch": [
        {
            "criteria": "cpe:2.3:a:f5:nginx:*:*:*:*:*:*:*:*",
            "versionStartIncluding": "0.6.18",
            "versionEndExcluding": "1.20.1",
        }
    ]
}
RECORD = {
    "affected": [
        {
            "product": "nginx",
            "versions": [{"version": "0.6.18", "lessThan": "1.20.1", "status": "affected", "versionType": "semver"}],
        }
    ]
}


@pytest.mark.parametrize(
    ("question", "advisory", "expected"),
    [
        ("is lodash 4.17.15 affected?", OSV, True),
        ("is lodash 4.17.21 affected?", OSV, False),
        ("is nginx 1.18.0 affected?", NVD, True),
        ("is nginx 1.21.0 affected?", NVD, False),
        ("is nginx 1.18.0 affected?", RECORD, True),
    ],
    ids=["osv", "osv-fixed", "nvd", "nvd-fixed", "cve-record"],
)
def test_advisories_in_json_are_read(question: str, advisory: object, expected: bool):
    assert is_affected(f"{question}\n\n{json.dumps(advisory)}") is expected


def test_an_advisory_as_a_file_is_asked_about_by_the_question():
    [finding] = found(json.dumps(OSV), "is lodash 4.17.15 affected?")
    assert finding.facts.is_affected is True
    assert finding.facts.ecosystem == "npm"


def test_ambiguous_words_say_how_they_were_read():
    [finding] = found("foo 1.4.2 affected: from 1.0 to 1.4.2")
    assert "including 1.4.2" in finding.facts.reading
    assert "including 1.4.2" in SECTION.verdict([finding])


def test_bounds_that_exclude_each_other_are_read_as_alternatives():
    [finding] = found("foo 2.12.1 affected: <2.3.1, >=2.4.0 <2.12.2")
    assert finding.facts.is_affected is True
    assert "alternatives" in finding.facts.reading


def test_the_answer_says_yes_with_the_range_and_the_comparison():
    findings = found("is log4j-core 2.14.1 affected by >=2.0-beta9,<2.15.0")
    assert SECTION.verdict(findings).startswith("**Yes: `log4j-core` `2.14.1` is affected.**")
    assert "2.14.1 < 2.15.0" in as_sections(SECTION.folds(findings))
    assert SECTION.next_steps(findings)


def test_an_order_that_depends_on_the_ecosystem_is_a_doubt():
    [finding] = found("is foo 1.0.0-1 affected: <1.0.0")
    assert finding.facts.doubts


@pytest.mark.parametrize("text", ["is it affected?", "foo 1.2.3", "versions before 2.0", ""])
def test_what_is_missing_is_a_gap(text: str):
    items = list(inspect(text, source="prompt"))
    assert any(isinstance(item, Gap) for item in items)
    assert not [item for item in items if isinstance(item, Finding)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('192.0.2.1 - - [20/Nov/2026:03:12:45 +0000] "GET /a?id=1.2.3 HTTP/1.1" 200 5 "-" "c/8.5"\n' * 9),
        pytest.param("Nov 20 04:00:01 gate kernel: [UFW BLOCK] SRC=203.0.113.9 DST=192.0.2.1 DPT=<1.2.3\n" * 9),
        pytest.param("From: a@b.example\nDate: Tue, 11 Mar 2025 12:00:00\nMessage-ID: <20250311.77@x.example>\n\nhi\n"),
    ],
    ids=["a web log", "a firewall log", "a mail"],
)
def test_addresses_and_times_of_logs_and_mails_are_not_versions(text: str):
    assert not found(text)


def test_an_advisory_in_a_mail_is_read():
    mail = "From: a@b.example\nSubject: advisory\nDate: Tue, 11 Mar 2025 12:00:00\n\nfoo 1.2.3 is in >=1.0,<1.3\n"
    assert [finding.facts.is_affected for finding in found(mail)] == [True]


def test_identifiers_and_dates_are_not_ranges():
    assert found("CVE-2021-44228 of 2021-12-10") == []


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="0123456789.-<>=,|[]()vxab ^~:{}\"' @", max_size=120))
def test_any_text_is_read(text: str):
    findings = found(text)
    as_sections(SECTION.folds(findings))
    assert SECTION.verdict(findings) or not findings


LONG = {
    "ranges": "foo 1.2.3 " + ">= 1.0, < 2.0 " * 10_000,
    "one word": "is foo 1.2.3 affected? before 2.0 " + "1.2-" * 20_000,
    "names": "is foo 1.2.3 affected? before 2.0 " + "a@" * 20_000,
    "brackets": "is foo 1.2.3 affected? before 2.0 " + '{"a":' * 5_000,
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_long_text_is_read_in_time(text: str):
    assert found(text)


@pytest.mark.parametrize(
    ("blank", "piece"),
    sampled(
        itertools.product([" ", "x", "1"], ["[", "(1.0", ">= 1.0", "1.0", "1.0,", "between 1.0", "from 1.0", "before"]),
        7,
    ),
)
def test_endless_words_and_blanks_are_skipped_quickly(piece, blank):
    started = time.process_time()
    list(inspect(f"is a 1.2.3 affected by {piece}{blank * 400_000}, 2.0)", source="a"))
    assert time.process_time() - started < 3
