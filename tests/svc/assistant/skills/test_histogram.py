"""Moments are counted once each, in periods of a round length that begin at round times of the log's clock."""

from hypothesis import given
from hypothesis import strategies as st

from svc.assistant.log_readers.timestamps import Stamps
from svc.assistant.skills.charts import histogram
from svc.assistant.skills.charts.histogram import MAX_BINS, Activity


def stamps(*lines):
    reader = Stamps()
    return [reader.read(f"{line} host sshd[1]: x")[0] for line in lines]


def counted(*lines, source="a"):
    activity = Activity()
    for stamp in stamps(*lines):
        activity.add(stamp, source)
    return activity.histogram()


@given(st.lists(st.tuples(st.integers(0, 364 * 86_400), st.sampled_from("abcdef"), st.integers(1, 5)), max_size=100))
def test_every_moment_is_in_one_period(moments):
    activity = Activity()
    (base,) = stamps("2026-01-01T00:00:00Z")
    for seconds, source, count in moments:
        activity.add(base._replace(seconds=base.seconds + seconds, of_day=seconds % 86_400), source, count)
    made = activity.histogram()
    assert sum(made.total) == sum(count for _, _, count in moments)
    assert len(made.total) <= MAX_BINS
    totals = sorted(
        (sum(c for _, s, c in moments if s == source) for source in {s for _, s, _ in moments}), reverse=True
    )
    assert [sum(one.counts) for one in made.by_source] == totals[:3]


def test_periods_begin_at_round_times_of_the_logs_clock():
    made = counted("2026-11-20T02:13:05+05:30", "2026-11-20T06:44:00+05:30")
    assert (made.start, made.seconds) == ("2026-11-20T02:10:00", 300)


def test_a_log_without_years_keeps_its_notation():
    made = counted("Nov 20 02:13:05", "Nov 20 02:13:45")
    assert (made.start, made.seconds, sum(made.total)) == ("--11-20T02:13:05", 1, 2)


def test_a_log_over_the_new_year_is_in_order():
    made = counted("Dec 31 23:50:00", "Jan  1 00:10:00")
    assert (made.start, made.total[0], made.total[-1]) == ("--12-31T23:50:00", 1, 1)


def test_earlier_lines_may_come_later():
    made = counted("2026-11-20T02:00:10", "2026-11-20T02:00:00", "2026-11-20T02:00:10")
    assert (made.start, made.total[0], made.total[-1]) == ("2026-11-20T02:00:00", 1, 2)


def test_nothing_counted():
    assert Activity().histogram().total == []


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(histogram, "MAX_CELLS", 100)
    monkeypatch.setattr(histogram, "MAX_SOURCES", 20)
    activity = Activity()
    (base,) = stamps("2026-01-01T00:00:00Z")
    for number in range(3_000):
        activity.add(base._replace(seconds=base.seconds + number * 61), f"source {number % 50}")
        assert len(activity._cells) <= 101
    assert sum(activity.histogram().total) == 3_000
