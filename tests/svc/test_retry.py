"""Which operations are retried, and for how long."""

from __future__ import annotations

import pytest

from svc._retry import MAX_DELAY_SECONDS, Backoff, close_meaning, delay_seconds, is_retried_status


@pytest.mark.parametrize(
    ("status", "repeatable", "once"),
    [
        pytest.param(200, False, False, id="done"),
        pytest.param(400, False, False, id="our-fault"),
        pytest.param(409, False, False, id="conflict"),
        pytest.param(410, False, False, id="expired"),
        pytest.param(429, True, True, id="rate"),
        pytest.param(500, False, False, id="their-fault"),
        pytest.param(502, True, False, id="gateway"),
        pytest.param(503, True, True, id="unavailable"),
        pytest.param(504, True, False, id="gateway-timeout"),
    ],
)
def test_only_idempotent_requests_are_sent_again(status: int, repeatable: bool, once: bool):
    assert is_retried_status(status, is_repeatable=True) is repeatable
    assert is_retried_status(status, is_repeatable=False) is once


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        *[pytest.param(c, "lost", id=str(c)) for c in (1000, 1001, 1005, 1006, 1011, 1012, 1013, 1014, 4408)],
        pytest.param(4401, "key", id="4401"),
        pytest.param(4409, "history", id="4409"),
        pytest.param(4410, "session", id="4410"),
        *[pytest.param(c, "broken", id=str(c)) for c in (1002, 1003, 1007, 1008, 1009, 3000, 4000)],
    ],
)
def test_close_codes_map_to_errors(code: int, meaning: str):
    assert close_meaning(code) == meaning


def test_delays_double_up_to_a_cap_and_respect_retry_after():
    assert [delay_seconds(n, 0.5) for n in (1, 2, 3)] == [0.05, 0.1, 0.2]
    assert delay_seconds(10_000, 1.0) == MAX_DELAY_SECONDS
    assert delay_seconds(1, 0.0) == 0.0
    assert delay_seconds(1, 0.5, retry_after=3.0) == 3.05


def test_retrying_is_bounded_from_the_first_failure():
    backoff = Backoff(10.0)

    assert backoff.next_delay(1_000.0, 0.5) == 0.05
    assert backoff.next_delay(1_005.0, 0.5) == 0.1
    assert backoff.next_delay(1_009.95, 0.5) is None


def test_the_retry_time_restarts_after_progress():
    backoff = Backoff(10.0)
    backoff.next_delay(0.0, 0.5)
    backoff.reset()

    assert backoff.next_delay(1_000.0, 0.5) == 0.05


def test_a_retry_after_beyond_the_deadline_stops_retrying_at_once():
    assert Backoff(10.0).next_delay(0.0, 0.5, retry_after=30.0) is None
