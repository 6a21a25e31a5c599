"""Sums of what accounts keep: old figures far from a limit only."""

from __future__ import annotations

from svc.service.quotas import kept
from svc.service.quotas.kept import KeptFigures


class Books:
    """A store that counts how often it is asked, and its time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.amount = 0
        self.reads = 0
        self.figures = KeptFigures(100, lambda: self.now)

    async def read(self) -> int:
        self.reads += 1
        return self.amount

    async def ask(self, account: str = "a", limit: int = 1_000) -> int:
        return await self.figures.read(account, limit, self.read)


async def test_far_from_the_limit_the_store_is_asked_once_a_second():
    books = Books()
    assert [await books.ask() for _ in range(5)] == [0] * 5
    books.amount = 7
    assert (await books.ask(), books.reads) == (0, 1)
    books.now = 1.0
    assert (await books.ask(), books.reads) == (7, 2)
    assert (await books.ask("b"), books.reads) == (7, 3)


async def test_near_the_limit_the_store_is_asked_each_time():
    books = Books()
    books.amount = 901
    assert [await books.ask() for _ in range(3)] == [901] * 3
    assert books.reads == 3
    books.amount = 900
    assert [await books.ask() for _ in range(3)] == [900] * 3
    assert books.reads == 4
    small = Books()
    assert [await small.ask(limit=99) for _ in range(3)] == [0] * 3
    assert small.reads == 3


async def test_without_a_limit_the_figure_is_still_read():
    books = Books()
    books.amount = 10**12
    assert [await books.ask(limit=0) for _ in range(2)] == [10**12] * 2
    assert books.reads == 1


async def test_the_figures_of_many_accounts_are_dropped(monkeypatch):
    monkeypatch.setattr(kept, "MAX_ACCOUNTS", 3)
    books = Books()
    for account in "abcd":
        await books.ask(account)
    assert len(books.figures._known) == 1
