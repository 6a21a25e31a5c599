"""A client receives messages in order without gaps, including those published while it catches up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from svc.service.store.records import StoredMessage
from svc.service.stream.outbox import Outbox


def batch(*seqs: int) -> list[StoredMessage]:
    return [StoredMessage(seq, f"m{seq}".encode()) for seq in seqs]


def outbox(position: int = 0, messages: int = 1_000, size: int = 10_000) -> Outbox:
    return Outbox(position, limit_messages=messages, limit_bytes=size)


def live(position: int = 0, **limits: int) -> Outbox:
    box = outbox(position, **limits)
    assert box.try_live()
    return box


def test_messages_published_during_catch_up_are_read_from_the_store():
    box = outbox()
    box.offer(batch(1, 2))
    assert (box.try_live(), box.pop(99)) == (False, [])
    box.position = 2
    assert box.try_live()


def test_a_live_client_receives_published_messages():
    box = live(2)
    box.offer(batch(3, 4))
    assert [box.pop(99), box.pop(99)] == [batch(3, 4), []]
    assert box.position == 4


def test_a_batch_reaches_the_limit_and_has_at_least_one_message():
    box = live(0)
    box.offer(batch(1, 2, 3, 4))
    assert [[message.seq for message in box.pop(limit)] for limit in (1, 3, 99)] == [[1], [2, 3], [4]]


def test_messages_already_sent_are_not_sent_again():
    box = live(2)
    box.offer(batch(1, 2, 3))
    assert [box.pop(99), box.pop(99)] == [batch(3), []]


def test_a_gap_returns_to_reading_from_the_store():
    box = live(2)
    box.offer(batch(3))
    box.offer(batch(5))
    assert not box.is_live
    assert (box.pop(99), box.position) == ([], 2)


def test_too_many_messages_behind_is_too_slow():
    box = live(0, messages=2)
    box.offer(batch(1, 2))
    assert box.close_code is None
    box.offer(batch(3))
    assert (box.close_code, box.closes_at_once.is_set()) == (4408, True)


def test_too_many_bytes_behind_is_too_slow():
    box = live(0, size=3)
    box.offer(batch(1, 2))
    assert box.close_code == 4408


def test_a_client_that_is_catching_up_is_never_too_slow():
    box = outbox(0, messages=2)
    box.offer(batch(*range(1, 100)))
    assert box.close_code is None


def test_the_first_reason_to_close_counts():
    box = live()
    box.end(4410, "deleted")
    box.end(1001, "stopping")
    assert (box.close_code, box.close_reason) == (4410, "deleted")


@given(st.data())
def test_any_order_of_storing_publishing_reading_and_losing_gives_every_message_once(data: st.DataObject):
    stored = told = 0
    box = outbox()
    sent: list[int] = []
    for action in data.draw(st.lists(st.sampled_from(["store", "tell", "lose", "send"]), max_size=60)):
        if action == "store":
            stored += data.draw(st.integers(1, 3))
        elif action == "tell" and told < stored:
            box.offer(batch(*range(told + 1, stored + 1)))
            told = stored
        elif action == "lose":
            told = stored
        elif action == "send":
            sent += step(box, stored)
    box.offer(batch(stored + 1))  # a new message repairs any loss
    stored += 1
    while taken := step(box, stored):
        sent += taken
    assert sent == list(range(1, stored + 1))


def step(box: Outbox, stored: int) -> list[int]:
    """What the sender does once: a page from the store, or what is queued."""
    if box.is_live and (batch := box.pop(4)):
        return [message.seq for message in batch]
    if box.is_live:
        return []
    page = list(range(box.position + 1, min(stored, box.position + 3) + 1))
    if page:
        box.position = page[-1]
    else:
        assert box.try_live()
    return page or step(box, stored)


def test_a_message_that_is_not_stored_is_sent_after_those_that_are_and_once():
    box = live(2)
    box.notify(b"cannot be stored")
    box.offer(batch(3))
    assert box.has_queued
    assert (box.pop(99), box.pop_notices(), box.pop_notices()) == (batch(3), [b"cannot be stored"], [])
    assert (box.position, box.has_queued) == (3, False)
