"""A cancelled question shows what was found until then, in the terminal too."""

import asyncio

import pytest

from svc import AsyncSvc, TurnTimeoutError
from svc.cli.activity import Activity
from svc.cli.conversation import ask_in
from tests.support.assistants.stopping import PARTIAL, Stopping


@pytest.fixture
async def session(start_service):
    service = start_service(Stopping)
    async with AsyncSvc(service.key, service.base_url) as client:
        yield await client.create_session()


async def test_an_interrupt_shows_the_partial_answer(session):
    shown, has_begun = [], asyncio.Event()
    with session.watch(lambda message: has_begun.set()), Activity(is_quiet=True) as activity:
        asking = asyncio.create_task(ask_in(session, "q", (), activity, show_partial=shown.append))
        await has_begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert shown == [PARTIAL]
    assert [message.status_message for message in await session.history()][-1] == "cancelled"


async def test_a_time_limit_shows_the_partial_answer(session):
    shown = []
    with Activity(is_quiet=True) as activity, pytest.raises(TurnTimeoutError):
        await ask_in(session, "q", (), activity, 0.5, show_partial=shown.append)
    assert shown == [PARTIAL]
