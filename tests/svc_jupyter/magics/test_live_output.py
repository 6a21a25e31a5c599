"""The live area, on screens that remember what they were given and a clock that the test turns."""

from __future__ import annotations

from itertools import pairwise

import pytest

from svc import TaskProgress
from svc_jupyter.magics.live_output import BatchScreen, Bundle, LiveArea, Screen, Steps, TerminalScreen


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Memory:
    """A screen that keeps what is drawn on it."""

    is_timed = True

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.drawn: list[tuple[float, Bundle]] = []
        self.final: list[Bundle] = []

    def draw(self, bundle: Bundle) -> None:
        self.drawn.append((self.clock.now, bundle))

    def step(self, line: str) -> None:
        pass

    def task(self, line: str) -> None:
        pass

    def finish(self, bundle: Bundle) -> None:
        self.final.append(bundle)


def area_on(screen: Screen, clock: Clock) -> LiveArea:
    return LiveArea(screen, max_lines=3, clock=clock)


def test_eight_thousand_steps_in_a_second_are_drawn_ten_times():
    clock = Clock()
    screen = Memory(clock)
    area = area_on(screen, clock)

    for number in range(8_000):
        clock.now += 1 / 8_000
        area.add(f"step {number}")
        area.tick()
    area.finish()

    assert len(screen.drawn) <= 11
    assert min(later - sooner for (sooner, _), (later, _) in pairwise(screen.drawn)) >= 0.1 - 1e-9
    assert "8,000 steps, 1.0 s" in screen.final[0]["text/plain"]
    assert "step 7999" in screen.final[0]["text/html"]


def test_the_tail_is_bounded_and_says_how_much_came_before():
    steps = Steps()
    for number in range(10):
        steps.add(f"step {number}", float(number))

    assert steps.running(9.2, max_lines=3)["text/plain"].splitlines() == [
        "no answer after 9 s",
        "… 7 earlier",
        "   7.0 s  step 7",
        "   8.0 s  step 8",
        "   9.0 s  step 9",
    ]


def test_the_running_state_is_true_of_a_notebook_that_is_opened_later():
    """A kernel that dies leaves what it drew last."""
    title = Steps(asked=1_700_000_000.0).running(3.4, max_lines=3)["text/plain"]

    assert title == "no answer after 3 s, asked 2023-11-14 22:13:20 UTC"


def test_the_first_step_is_drawn_at_once():
    clock = Clock()
    screen = Memory(clock)
    area = area_on(screen, clock)
    area.tick()
    clock.now += 0.01
    area.add("read 3 lines")
    area.tick()

    assert [bundle["text/plain"].splitlines()[1:] for _, bundle in screen.drawn] == [[], ["   0.0 s  read 3 lines"]]


def test_a_silent_turn_is_drawn_once_a_second():
    clock = Clock()
    screen = Memory(clock)
    area = area_on(screen, clock)

    for _ in range(50):
        area.tick()
        clock.now += 0.1

    assert 5 <= len(screen.drawn) <= 6


def test_an_answered_turn_is_folded_and_a_failed_one_is_open():
    steps = Steps()
    steps.add("read 3 lines", 0.1)

    assert steps.finished("", 1.25)["text/html"].startswith("<details><summary>1 step, 1.2 s</summary>")
    assert steps.finished("failed", 1.25)["text/html"].startswith("<details open><summary>failed after 1 step, 1.2 s")


def test_what_a_log_says_stays_text():
    steps = Steps()
    steps.add("<img src=x onerror=alert(1)>\x1b[2J\nnext", 0.0)

    drawn = steps.finished("", 0.0)["text/html"]

    assert "&lt;img src=x onerror=alert(1)&gt; next" in drawn
    assert "<img" not in drawn
    assert "\x1b" not in drawn


def test_in_batch_nothing_varies_with_the_speed_of_the_machine():
    finals = []
    for seconds in (0.1, 7.0):
        clock = Clock()
        screen = Memory(clock)
        screen.is_timed = False
        area = area_on(screen, clock)
        for number in range(3):
            clock.now += seconds
            area.add(f"step {number}")
            area.tick()
        area.finish()
        finals.append(screen.final)

    assert finals[0] == finals[1]
    assert finals[0][0]["text/plain"] == "3 steps"


def test_a_terminal_gets_lines(capsys: pytest.CaptureFixture[str]):
    clock = Clock()
    area = area_on(TerminalScreen(), clock)
    area.add("one\x1b[31m")
    area.tick()
    clock.now += 0.5
    area.finish()

    assert capsys.readouterr().out == "  one\n1 step, 0.5 s\n"


def progress(done: int, *, task: str = "auth.log", left: int | None = None) -> TaskProgress:
    return TaskProgress(task=task, done=done, total=100, seconds_left=left)


def test_a_task_has_one_line_that_changes_and_is_no_step():
    clock = Clock()
    screen = Memory(clock)
    area = area_on(screen, clock)
    area.add("2 tasks")
    for done in range(0, 100, 10):
        area.update("events", progress(done, left=100 - done))
        area.update("logins", progress(done, left=100 - done))
        clock.now += 1
        area.tick()
        lines = screen.drawn[-1][1]["text/plain"].splitlines()
        assert lines[2:] == [
            f"{who}: {done} % of auth.log, {left}"
            for who in ("events", "logins")
            for left in [lines[2].rpartition(", ")[2]]
        ]
    area.update("events", progress(100))
    area.end_tasks("logins")
    area.finish()

    assert screen.final[0]["text/plain"] == "1 step, 10.0 s"
    assert "%" not in screen.final[0]["text/html"]


def test_the_remaining_time_counts_down_between_two_reports():
    clock = Clock()
    screen = Memory(clock)
    area = area_on(screen, clock)
    area.update("events", progress(43, left=5))
    seen = []
    for _ in range(8):
        area.tick()
        clock.now += 1
        seen.append(screen.drawn[-1][1]["text/plain"].rpartition("about ")[2])

    assert seen == ["5 s left", "4 s left", "3 s left", "2 s left", *["1 s left"] * 4]


@pytest.mark.parametrize("outcome", ["interrupted", "failed"])
def test_what_was_stopped_says_how_far_it_came(outcome: str):
    clock = Clock()
    screen = Memory(clock)
    area = area_on(screen, clock)
    area.update("events", progress(43, left=5))
    area.finish(outcome)

    assert "events: 43 % of auth.log</pre>" in screen.final[0]["text/html"]


def test_a_batch_run_shows_nothing_that_depends_on_the_time(capsys: pytest.CaptureFixture[str]):
    clock = Clock()
    area = area_on(BatchScreen(), clock)
    area.add("one")
    area.update("events", progress(43, left=5))
    area.finish("failed")

    assert "%" not in capsys.readouterr().out


def test_updates_are_drawn_ten_times_a_second_and_hostile_tasks_are_few_lines_of_text():
    clock = Clock()
    screen = Memory(clock)
    area = area_on(screen, clock)
    for number in range(5_000):
        clock.now += 1 / 5_000
        area.update("<b>\x1b[31m", progress(number % 100, task=f"{number}\n<img>\u202e"))
        area.tick()

    assert len(screen.drawn) <= 11
    last = screen.drawn[-1][1]
    assert len(last["text/plain"].splitlines()) <= 9
    assert "\x1b" not in last["text/plain"]
    assert "\u202e" not in last["text/plain"]
    assert "<img>" not in last["text/html"]
