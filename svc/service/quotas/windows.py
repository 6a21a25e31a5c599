"""Amounts in a sliding window of time, counted in sixtieths of it. Pure; the time is an argument, in seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

SLOTS = 60  # so a minute is counted by the second, a day by 24 minutes


class Window:
    """What was used within the last ``seconds``."""

    def __init__(self, seconds: float, slots: Iterable[tuple[int, float]] = ()) -> None:
        self._step = seconds / SLOTS
        self._slots: deque[tuple[int, float]] = deque(slots)  # number and amount, oldest first
        self._used = sum(amount for _, amount in self._slots)

    def used(self, now: float) -> float:
        """The sum of the amounts that still count."""
        oldest = int(now // self._step) - SLOTS + 1
        while self._slots and self._slots[0][0] < oldest:
            self._used -= self._slots.popleft()[1]
        if not self._slots:
            self._used = 0.0  # no rounding errors of many additions
        return self._used

    def add(self, now: float, amount: float) -> None:
        """Count an amount."""
        self.used(now)
        slot = int(now // self._step)
        if self._slots and self._slots[-1][0] >= slot:
            slot, before = self._slots.pop()
            amount_in_slot = before + amount
        else:
            amount_in_slot = amount
        self._slots.append((slot, amount_in_slot))
        self._used += amount

    def seconds_until(self, now: float, room: float) -> float:
        """How long it takes until at most ``room`` still counts, or nothing does, if nothing is added."""
        excess, until = self.used(now) - room, now
        for slot, amount in self._slots:
            if excess <= 0:
                break
            excess -= amount
            until = (slot + SLOTS) * self._step
        return until - now
