"""``AsyncSvc`` in a web application: questions that run do not hold up other requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import httpx2

from svc.assistant.turn import Answer, Assistant, Step, Turn
from tests.support.live import StartService, wait_until
from tests.support.web_app import web_app

QUESTIONS = 20


async def test_another_route_answers_while_twenty_questions_run(start_service: StartService):
    is_released = threading.Event()

    class Held(Assistant):
        async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
            while not is_released.is_set():
                await asyncio.sleep(0.01)
            yield Answer(markdown=turn.prompt)

    service = start_service(Held)
    app = web_app(service.key, service.base_url)
    transport = httpx2.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url="http://app") as web:
        asked = [asyncio.create_task(web.get("/ask", params={"prompt": f"q{n}"})) for n in range(QUESTIONS)]
        turns = service.running.service.turns
        await asyncio.to_thread(wait_until, lambda: len(turns.running) == QUESTIONS, "all questions to run")

        assert (await web.get("/ping")).text == "pong"
        assert not any(task.done() for task in asked)

        is_released.set()
        answers = [response.json() for response in await asyncio.gather(*asked)]
    assert [answer["messages"][-2]["content"] for answer in answers] == [f"q{n}" for n in range(QUESTIONS)]
