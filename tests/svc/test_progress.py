"""Estimates of remaining time stay sane whatever the pace of the work; reports are few and agree with the work."""

from __future__ import annotations

import io
import random
import re
from itertools import pairwise

import msgspec
import pytest

from svc import TaskProgress
from svc.progress import LONGEST_SECONDS, Meter, RemainingTime, percent_of, progress_line
from svc.untrusted.status_line import StatusLine

OPEN_SEEDS, HELD_SEEDS = range(20), range(1_000, 1_020)


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


def work(seed: int) -> tuple[int, list[tuple[float, int]]]:
    """A total, and the times and counts of work whose pace changes: steady, stalling, in bursts, begun again."""
    chance = random.Random(seed)
    total = chance.choice([7, 1_000, 10**6, 10**12])
    now, done, steps = 0.0, 0.0, []
    pace = total / chance.uniform(3, 300)
    while done < total and len(steps) < 2_000:
        if chance.random() < 0.05:
            pace = total / chance.uniform(3, 3_000)
        now += chance.choice([0.0, 0.01, 0.3, 0.5, 5.0])
        done += 0 if chance.random() < 0.2 else pace * 0.5
        if chance.random() < 0.002:
            done = 0
        steps.append((now, min(int(done), total)))
    return total, [*steps, (now + 1, total)]


@pytest.mark.parametrize("seed", [*OPEN_SEEDS, *HELD_SEEDS])
def test_estimates_are_never_negative_nor_absurd_and_end_at_nothing(seed: int):
    total, steps = work(seed)
    clock = Clock()
    estimate = RemainingTime(clock)
    start = clock.now
    last = None
    for seconds, done in steps:
        clock.now = start + seconds
        left = estimate.update(done, total)
        if left is not None:
            assert 0 <= left <= LONGEST_SECONDS
            last = left
    assert last == 0


@pytest.mark.parametrize("seconds", [5.0, 60.0, 1_800.0])
def test_the_estimate_of_steady_work_is_right(seconds: float):
    clock = Clock()
    estimate = RemainingTime(clock)
    start, total = clock.now, 1_000_000
    for step in range(1, 101):
        clock.now = start + seconds * step / 100
        left = estimate.update(total * step // 100, total)
        if left is not None:
            assert left == pytest.approx(seconds * (1 - step / 100), abs=0.02 * seconds)
    assert left == 0


def test_one_slow_moment_does_not_make_the_estimate_jump():
    clock = Clock()
    estimate = RemainingTime(clock)
    start = clock.now
    for step in range(1, 51):
        clock.now = start + step
        before = estimate.update(step, 100)
    clock.now += 1.0  # a second without any progress
    after = estimate.update(50, 100)

    assert before is not None
    assert after is not None
    assert after < before * 1.5


@pytest.mark.parametrize("seed", [*OPEN_SEEDS, *HELD_SEEDS])
def test_reports_are_few_and_agree_with_the_work(seed: int):
    total, steps = work(seed)
    clock = Clock()
    meter = Meter("a.log", "byte", clock=clock)
    start = clock.now
    reports: list[tuple[float, TaskProgress]] = []
    for seconds, done in steps:
        clock.now = start + seconds
        if (report := meter.report(done, total)) is not None:
            assert (report.done, report.total) == (done, total)
            reports.append((seconds, report))

    times = [seconds for seconds, report in reports if report.done < total]
    assert all(later - sooner >= 1.0 - 1e-6 for sooner, later in pairwise(times))
    if reports:
        assert reports[-1][1].done == total


def test_the_pace_does_not_count_what_was_done_before():
    clock = Clock()
    meter = Meter("a.log", "byte", clock=clock, done=1_000)
    clock.now += 2
    report = meter.report(1_010, 2_000)
    assert report is not None
    assert (report.per_second, report.seconds_left) == (5, 198)


def test_short_work_and_work_on_nothing_are_not_reported():
    clock = Clock()
    meter = Meter("a.log", "byte", clock=clock)
    assert [meter.report(done, 100) for done in (0, 50, 100)] == [None] * 3
    clock.now += 100
    assert Meter("empty", "byte", clock=clock).report(0, 0) is None
    assert meter.report(100, 100) is None


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (0, "about 1 s left"),
        (9, "about 9 s left"),
        (11, "about 15 s left"),
        (55, "about 55 s left"),
        (56, "about 1 min left"),
        (3_540, "about 59 min left"),
        (3_541, "about 1 h left"),
        (10**30, "about 24 h left"),
        (-5, "about 1 s left"),
    ],
)
def test_remaining_time_in_words(left: int, words: str):
    progress = TaskProgress(task="auth.log", done=43, total=100, seconds_left=left)
    assert progress_line("events", progress) == f"events: 43 % of auth.log, {words}"


def test_stopped_work_and_unknown_time_have_no_remaining_time():
    progress = TaskProgress(task="auth.log", done=43, total=100, seconds_left=9)
    assert progress_line("events", progress, is_running=False) == "events: 43 % of auth.log"
    assert progress_line("events", TaskProgress(task="a", done=1, total=3)) == "events: 33 % of a"


@pytest.mark.parametrize(
    ("done", "total", "percent"), [(999, 1_000, 99), (1_000, 1_000, 100), (5, 0, 0), (-3, 7, 0), (9, 3, 100)]
)
def test_only_all_is_100_percent_whatever_a_service_sends(done: int, total: int, percent: int):
    assert percent_of(TaskProgress(task="a", done=done, total=total)) == percent


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_one_line_that_changes_and_never_wraps(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    line = StatusLine(stream)
    for number in range(50):
        line.show(f"{number} \x1b]0;x\x07 % of a.log\n" + "x" * 100)
    line.clear()

    written = stream.getvalue()
    assert "\n" not in written
    parts = re.split("\r\x1b\\[2K", written)
    assert max(map(len, parts)) < 40
    assert "\x1b" not in "".join(parts)
    assert parts[-1] == ""


def test_a_log_gets_a_line_now_and_then():
    clock, stream = Clock(), io.StringIO()
    line = StatusLine(stream, clock)
    for number in range(100):
        line.show(f"{number} %")
        clock.now += 1
    line.clear()

    assert len(stream.getvalue().splitlines()) == 10


@pytest.mark.parametrize(
    ("pace", "unit", "said"),
    [
        pytest.param(5_240_000, "byte", " (5.2 MB/s)", id="megabytes"),
        pytest.param(240_000, "byte", " (240 kB/s)", id="kilobytes"),
        pytest.param(1, "event", " (1 event/s)", id="one"),
        pytest.param(31_000, "event", " (31,000 events/s)", id="many"),
        pytest.param(msgspec.UNSET, "byte", "", id="unknown"),
    ],
)
def test_the_pace_is_said(pace, unit, said):
    progress = TaskProgress(task="auth.log", done=43, total=100, unit=unit, seconds_left=12, per_second=pace)
    assert progress_line("events", progress) == f"events: 43 % of auth.log{said}, about 15 s left"


def test_a_meter_reports_the_pace_once_it_is_known():
    now = [0.0]
    meter = Meter("x", "byte", clock=lambda: now[0])
    reports = []
    for second in range(12):
        now[0] = float(second)
        reports.append(meter.report(second * 1_000, 100_000))
    known = [report.per_second for report in reports if report is not None]
    assert known
    assert all(pace == 1_000 for pace in known)
