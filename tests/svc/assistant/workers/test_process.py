"""What a limit cuts off before a tool sees it counts in the tool's coverage and reported at the top of the answer."""

from __future__ import annotations

import gzip
import io
import random

import pytest

from svc.assistant.analyst import render
from svc.assistant.analyst.contract import SkillResult, extent
from svc.assistant.analyst.plan import Plan
from svc.assistant.findings import Coverage, Gap, InputKind
from svc.assistant.skills.catalogue import SKILLS
from svc.assistant.workers import process


def coverage(unit: str, total: int) -> Coverage:
    return Coverage(read_as="text", unit=unit, understood=total, total=total, looked_for="x")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("unit", "total"), [("line", 150), ("byte", 1_500), ("character", 1_500), ("mail", 101)])
def test_coverage_counts_what_was_cut_off(monkeypatch: pytest.MonkeyPatch, unit: str, total: int, packed: bool):
    monkeypatch.setattr(process, "MAX_TEXT_BYTES", 1_000)
    content = b"123456789\n" * 150
    source = process._InputFile(io.BytesIO(gzip.compress(content) if packed else content))
    text = source.content(InputKind.TEXT)
    assert isinstance(text, str)
    seen = {"line": 100, "byte": 1_000, "character": 1_000, "mail": 100}[unit]

    completed = source.complete(coverage(unit, seen))

    assert (completed.understood, abs(completed.total - total) <= 1) == (seen, True)
    assert completed.total_is_minimum == (unit == "mail")  # which only reading would count
    assert list(source.gaps()) == [Gap(text="only the first 1,000 bytes were examined", in_headline=True)]


def test_what_could_not_be_counted_to_its_end_is_the_least(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process, "MAX_TEXT_BYTES", 1_000)
    damaged = gzip.compress(random.Random(0).randbytes(200_000).hex().encode())[:100_000]
    source = process._InputFile(io.BytesIO(damaged))
    assert isinstance(source.content(InputKind.TEXT), str)

    completed = source.complete(coverage("byte", 1_000))

    assert completed.total > 1_000
    assert completed.total_is_minimum
    assert extent(completed) == f"1,000 of at least {completed.total:,} bytes"


def test_coverage_of_a_whole_file_stays():
    source = process._InputFile(io.BytesIO(b"a\nb\n"))
    assert source.content(InputKind.TEXT) == "a\nb\n"
    assert source.complete(coverage("line", 2)) == coverage("line", 2)
    assert not list(source.gaps())


def test_what_was_left_out_follows_the_verdict():
    result = SkillResult(
        skill=next(skill for skill in SKILLS if skill.name == "indicators"),
        findings=[],
        inputs=("a.txt",),
        gaps=(("a.txt", "a detail"),),
        left_out=(("a.txt", "only the first 1,000 bytes were examined"),),
        coverage=(("a.txt", coverage("line", 2)),),
    )
    first, second, *rest = render.answer([result], Plan()).split("\n\n")
    assert first.startswith("**Nothing found**")
    assert second == "**Incomplete:** `a.txt`: only the first 1,000 bytes were examined."
    assert "a detail" in "".join(rest)
