"""An assistant that answers a cancelled turn from the part that it has read."""

import asyncio
from collections.abc import AsyncIterator

from svc.assistant.turn import Answer, Assistant, Step, Turn
from svc.assistant.workers.payer import STOP

PARTIAL = "**1 of 2 lines.**\n"


class Stopping(Assistant):
    """Waits to be cancelled; ``is_heeding``: promises an answer, which it gives ``seconds`` after that."""

    def __init__(self, *, is_heeding: bool = True, seconds: float = 0.0) -> None:
        self._is_heeding, self._seconds = is_heeding, seconds

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        stop = STOP.get()
        assert stop is not None
        if self._is_heeding:
            stop.heed()
        yield Step(content="reading")
        await stop.wait()
        await asyncio.sleep(self._seconds)
        yield Step(content="the last step")
        yield Answer(markdown=PARTIAL)
