"""Patterns of the user's definitions: those that could take more than linear time are refused."""

from __future__ import annotations

import re
import time

import pytest

from svc.assistant.log_readers.tables.bounded_patterns import PatternError, check_pattern
from svc.assistant.log_readers.tables.kinds import shipped_sources
from tests.support.hostile_strings import hostile_to

LINEAR = [
    r"^a+$",
    r"^\d+ \d+$",
    r"foo",
    r"(?i)^process",
    r"^user\.(session\.start|authentication\.(?!sso))",
    r"\bauth\b",
    r"role/([^/]{1,64})$",
    r"x{2,3}y?z",
    r"^(?:a|b)c",
    r"^[^@]+@example\.org$",
    r"^(GET|POST) ",
    r"^.*x",
    r"^(?:ab){2,8}",
    r"login_(success|failure)",
    r"\w{1,64}@\w{1,64}",
    r"^\S+ \S+ [^\]]+\]",
    r"",
    r"^$|^-$",
    r"(?:[a-z]{2}\.){3}",
    r"^a+(?=b)",
]
NOT_LINEAR = [
    r"(a+)+$",
    r"a+b",
    r"^(a|aa)+$",
    r"^\w+\s*\w+$",
    r"(.)\1",
    r"^(\w{1,64}\s?){1,64}$",
    r"a{1,900}a{1,900}x",
    r"(",
    r"^(?:a?){60}x",
    r"(?i)^[a-z]+[A-Z]+$",
    "x" * 2_000,
    r"^(?=(a+)+$)",
    r"\w{0,2000}@",
    r"^(a|b|ab){1,30}$",
    r"(?:a{0,40}){0,40}",
    r"(a?){50}a{50}",
    r"^.*[x1]1+y",
    r"^.*.*x",
    r"\s+$",
    r"^a+|b+c",
    r"^a*b?a*c",
    r"^(?:a+)?(?:a+)?x",
    r"(?:x|^)a+b",
    r"^(?>a+)+b",
    r"(?P<n>a)(?P=n)+",
    r"^(a)?(?(1)b+|c+)+",
    r"^[^a]+\W+x",
    r"^é+É+x",
    r"a{0,99}a{0,99}a{0,99}x",
    r"^a{0,999}a{0,999}x",
    r"(?m)^a+$\n^a+$x",
]


@pytest.mark.parametrize("pattern", LINEAR)
def test_a_linear_pattern_is_accepted(pattern: str):
    check_pattern(pattern)


@pytest.mark.parametrize("pattern", NOT_LINEAR, ids=range(len(NOT_LINEAR)))
def test_a_pattern_that_may_not_be_linear_is_refused(pattern: str):
    with pytest.raises(PatternError):
        check_pattern(pattern)


def test_patterns_of_shipped_definitions_would_be_accepted():
    for source in shipped_sources():
        for line in source.lines:
            check_pattern(line.pattern, is_anchored=True)
        for kind in source.kinds:
            for rule in kind.when:
                for pattern in (rule.matches, *rule.also.values(), *rule.unless.values()):
                    check_pattern(pattern)
            for pattern in (*(one.pattern for one in kind.extract), *(one.matches for one in kind.systems)):
                check_pattern(pattern)


@pytest.mark.parametrize("pattern", LINEAR)
def test_an_accepted_pattern_is_fast_on_hostile_texts(pattern: str):
    compiled = re.compile(pattern)
    for growing in hostile_to(pattern, 0)[:10]:
        times = []
        for size in (2_000, 32_000):
            start = time.thread_time()
            compiled.search(growing.of(size))
            times.append(time.thread_time() - start)
        assert times[1] < max(64 * times[0], 0.2)
