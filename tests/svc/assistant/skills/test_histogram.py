"""Moments are counted once each, in spans of equal length."""

from hypothesis import given
from hypothesis import strategies as st

from svc.assistant.skills.histogram import BINS, Activity


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(1, 5)), max_size=200))
def test_every_moment_is_in_one_span(moments):
    activity = Activity()
    for seconds, count in moments:
        activity.add(seconds, str(seconds), count)
    assert sum(activity.spans()) == sum(count for _, count in moments)
    assert len(activity.spans()) <= BINS
    assert activity.ends == ((str(min(moments)[0]), str(max(moments)[0])) if moments else ("", ""))


def test_spans_follow_the_order_of_time_rather_than_of_the_log():
    activity = Activity()
    for minute, count in ((2, 5), (0, 1)):
        activity.add(minute * 60.0, f"{minute}", count)
    assert (activity.spans(), activity.ends) == ([1, 0, 5], ("0", "2"))
