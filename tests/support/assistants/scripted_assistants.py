"""An assistant with a script, for the tests of the SDK: ``--assistant scripted_assistants:Scripted``, by PYTHONPATH.

The first word of the prompt is the script: ``echo …``; ``count N [MILLISECONDS]``: as many INFOs, each taking that
long; ``wait``: until cancelled; ``stop``: the same, but answers from what it has read when it is cancelled;
``break``: by a fault of its own; ``fail …``: with that text; ``files``: what is attached; ``call NAME {ARGUMENTS}``:
the client's tool of that name, and what came of it; ``status NAME TEXT``: that text as an answer of that status, with
its coverage; ``lines N``: an answer of as many paragraphs, after a while.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from svc.assistant.turn import Answer, Assistant, Step, Turn
from svc.assistant.workers.payer import STOP
from svc.errors import UpstreamError
from svc.messages import AnswerStatus, MessageType, MimeType


class Scripted(Assistant):
    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        word, *rest = turn.prompt.split()
        match word:
            case "count":
                async for step in count(int(rest[0]), float(rest[1]) / 1000 if rest[1:] else 0.0):
                    yield step
            case "wait":
                yield Step(content="waiting")
                await asyncio.Event().wait()
            case "stop":
                async for step in stop():
                    yield step
                return
            case "fail":
                yield Step(content="failing")
                raise UpstreamError(" ".join(rest))
            case "break":
                raise ZeroDivisionError
            case "call":
                yield Answer(markdown=await call(turn, rest[0], " ".join(rest[1:])))
                return
            case "status":
                yield coverage(turn, rest[0])
                yield Answer(markdown=turn.prompt.split(maxsplit=2)[2], status=AnswerStatus(rest[0]))
                return
            case "lines":
                async for step in count(5, 0.1):
                    yield step
                yield Answer(markdown="\n\n".join(f"paragraph {i}" for i in range(int(rest[0]))))
                return
            case "files":
                yield Answer(markdown=", ".join(f"{file.name} ({file.size})" for file in turn.files))
                return
        yield Answer(markdown=f"{turn.prompt} (after {len(turn.history)})")


async def stop() -> AsyncIterator[Step | Answer]:
    """What was found until the question was cancelled, with one finding."""
    asked = STOP.get()
    assert asked is not None
    asked.heed()
    yield Step(content="waiting")
    await asked.wait()
    yield Answer(
        markdown="**1 failed login** in 2 of 9 lines: `203[.]0[.]113[.]7`.", status=AnswerStatus.PARTLY_ANSWERED
    )


def coverage(turn: Turn, status: str) -> Step:
    """The ``coverage`` source: every file was read as its status says."""
    is_read = status not in ("not_examined", "not_answered")
    inputs = [
        {
            "name": file.name, "state": "read" if is_read else "not examined", "read_as": file.label, "unit": "byte",
            "understood": file.size if is_read else 0, "total": file.size, "looked_for": "logins",
            "reason": "" if is_read else "no line of it is known", "skill": "logins", "unknown": 1,
        }
        for file in turn.files
    ]  # fmt: skip
    clause = {"text": "who?", "state": "answered" if is_read else "cannot tell"}
    content = json.dumps({"status": status, "inputs": inputs, "clauses": [clause]})
    return Step(content=content, message_type=MessageType.SOURCE, mime_type=MimeType.JSON, title="coverage")


async def call(turn: Turn, name: str, arguments: str) -> str:
    if turn.local_tools is None:
        return "no tools"
    result = await turn.local_tools.call(name, json.loads(arguments or "{}"))
    return bytes(result.value).decode() if result.ok else f"error: {result.error}"


async def count(number: int, seconds: float) -> AsyncIterator[Step]:
    for i in range(1, number + 1):
        await asyncio.sleep(seconds)
        yield Step(content=str(i))
