"""The messages of a turn before they are stored: what the end of a turn has in common with its last message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count

import pytest

from svc.assistant.turn import Answer, Step, StepFile
from svc.errors import UpstreamError
from svc.messages import Message, MessageType
from svc.service.settings import Settings
from svc.service.turns.message_builder import MessageBuilder
from svc.service.turns.step_buffer import StepBuffer


async def _save_file(file: StepFile) -> None:
    raise AssertionError(file.name)


@pytest.mark.parametrize("fails", [False, True])
async def test_a_turn_ends_at_the_time_of_its_last_message(*, fails: bool):
    """The session's ``update_time`` is that of the turn's end, and clients know only the messages."""
    seconds = count(100)  # each look at the clock is in another second
    query = Message(message_type=MessageType.QUERY, content="who?", created_at=float(next(seconds)))
    buffer = StepBuffer(
        MessageBuilder(query, Settings()),
        settings=Settings(),
        clock=lambda: float(next(seconds)),
        save_file=_save_file,
    )

    async def answer() -> AsyncIterator[Step | Answer]:
        yield Step(content="looking")
        if fails:
            raise UpstreamError("gone")
        yield Answer(markdown="it was her")

    async def open_steps() -> AsyncIterator[Step | Answer]:
        return answer()

    buffer.start(open_steps)
    while not buffer.has_end:
        await asyncio.sleep(0)
    batch = buffer.next_batch()

    assert batch.turn_end is not None
    assert batch.turn_end.time == batch.end[-1].created_at
    await buffer.aclose()
