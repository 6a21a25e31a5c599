"""Amounts in a sliding window."""

from __future__ import annotations

import random

import pytest

from svc.service.quotas.windows import Window


def test_an_amount_counts_for_the_length_of_the_window():
    window = Window(60)
    window.add(100.0, 3)
    assert window.used(100.0) == 3
    window.add(130.0, 4)
    assert [window.used(now) for now in (130, 159.9, 160, 189.9, 190)] == [7, 7, 4, 4, 0]


def test_when_there_is_room_again():
    window = Window(60)
    window.add(100.5, 3)
    window.add(130.0, 4)
    assert window.seconds_until(140.0, 7) == 0
    assert window.seconds_until(140.0, 4) == 20
    assert window.seconds_until(140.0, 3) == 50
    assert window.seconds_until(140.0, -1) == 50
    assert Window(60).seconds_until(140.0, -1) == 0


def test_a_window_of_a_day_holds_few_numbers():
    window = Window(86_400)
    for second in range(0, 200_000, 10):
        window.add(second, 1)
    assert len(window._slots) <= 60
    assert window.used(200_000) == pytest.approx(8_640, rel=0.02)


@pytest.mark.parametrize("seed", range(20))
def test_it_agrees_with_a_plain_sum(seed: int):
    choose = random.Random(seed)
    window, amounts, now = Window(60), [], 1_000.0
    for _ in range(500):
        now += choose.choice([0, 0.1, 1, 7, 30, 100]) * choose.random()
        amount = choose.randrange(1, 50)
        window.add(now, amount)
        amounts.append((now, amount))
        exact = sum(amount for when, amount in amounts if when > now - 60)
        shorter = sum(amount for when, amount in amounts if when > now - 59)
        assert shorter <= window.used(now) <= exact
        room = choose.randrange(100)
        wait = window.seconds_until(now, room)
        assert 0 <= wait <= 60
        assert window.used(now + wait + 1e-6) <= room  # also forgets, as the time has come
        now += wait + 1e-6
