"""Every regular expression of the product takes linear time on hostile text."""

import json
import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.support.pattern_sites import ROOT
from tests.support.sampling import sampled

LIMIT_SECONDS = 1_500  # an interpreter that hangs is killed


def measured(share: int, of: int, size: int, *more: str) -> list[dict]:
    """What ``pattern_times`` prints; a pattern that holds the interpreter ends it."""
    command = [sys.executable, "-m", "tests.support.pattern_times", str(share), str(of), str(size), *more]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    return [json.loads(line) for line in run.stdout.splitlines()]


def described(lines: Sequence[dict]) -> list[str]:
    return [
        f"{', '.join(one['places'])}: {one['pattern'][:200]!r} grows {one['ratio']:.0f} times on {one['input']!r}"
        for one in lines
        if "pattern" in one
    ]


SHARES = 6  # of the patterns: each run measures every sixth; it first compiles all of them


@pytest.mark.parametrize("share", sampled(range(SHARES), 1))
def test_no_pattern_is_super_linear(share: int):
    lines = measured(share, SHARES, 1_000, "--short")
    assert [one["missed"] for one in lines if "missed" in one] == []
    assert described(lines) == []
    assert lines[-1]["measured"] > 3_000 / SHARES


@pytest.mark.long
@pytest.mark.parametrize("share", range(4))
def test_no_pattern_is_super_linear_on_more_and_longer_texts(share: int):
    assert described(measured(share, 4, 4_000)) == []


TOLD_APART = {
    r"\s+x": False,
    r"(?:a|aa)+b": False,
    r"\w+@\w+": False,
    r"<.*?>": False,
    r"\d+(?:\.\d+)*(?:-\w+)*z": False,
    r"\b\w+\s+\w+\s*:": True,
    r"(?<!\s)\s++x": True,
    r"\w{1,40}@\w": True,
    r"x|y|z": True,
}


@pytest.fixture(scope="module")
def super_linear() -> set[str]:
    """Those of TOLD_APART that grow too fast."""
    lines = measured(0, 1, 1_000, *(word for pattern in TOLD_APART for word in ("--pattern", pattern)))
    assert lines[-1]["measured"] == len(TOLD_APART)
    return {one["pattern"] for one in lines if "pattern" in one}


@pytest.mark.parametrize(("pattern", "is_linear"), TOLD_APART.items())
def test_the_measure_tells_linear_patterns_from_others(pattern: str, is_linear: bool, super_linear: set[str]):
    assert (pattern not in super_linear) == is_linear
