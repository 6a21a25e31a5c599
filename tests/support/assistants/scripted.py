"""Assistants with a script, for tests: what each does is in its docstring."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

from svc.assistant.turn import Answer, Assistant, Step, Turn
from svc.errors import UpstreamError
from svc.messages import AnswerStatus, MessageType, MimeType, State, Toolset


class Echo(Assistant):
    """Two INFOs, a source, and the prompt as the answer; then how many files and earlier questions there are."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        yield Step(content=f"read {len(turn.prompt)} characters")
        yield Step(content=json.dumps({"files": [f.name for f in turn.files]}), message_type=MessageType.SOURCE,
                   mime_type=MimeType.JSON)  # fmt: skip
        yield Step(content="done reading", state=State.GENERATING)
        yield Answer(markdown=f"{turn.prompt}\n\n{len(turn.files)} files, {len(turn.history)} earlier")


class Unread(Assistant):
    """Reads nothing and says so: the status ``not_examined``, with its coverage."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        inputs = [{"name": "conn.log", "state": "not examined", "reason": "no tool reads it"}]
        content = json.dumps({"status": AnswerStatus.NOT_EXAMINED, "inputs": inputs, "clauses": []})
        yield Step(content=content, message_type=MessageType.SOURCE, mime_type=MimeType.JSON, title="coverage")
        yield Answer(markdown="**No scan found.**", status=AnswerStatus.NOT_EXAMINED)


class Remembering(Assistant):
    """Answers with the history that it was given, as JSON."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        yield Step(
            content=json.dumps({"prompt": turn.prompt}), message_type=MessageType.SOURCE, mime_type=MimeType.JSON
        )
        yield Answer(markdown=json.dumps([[e.prompt, e.answer, list(e.sources)] for e in turn.history]))


class Reading(Assistant):
    """Answers with where each file's bytes are and what they say."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        lines = []
        for file in turn.files:
            is_on_disk = isinstance(file.source, Path)
            data = file.source.read_bytes() if isinstance(file.source, Path) else file.source
            lines.append(f"{file.name} {'disk' if is_on_disk else 'memory'} {data.decode()}")
        yield Answer(markdown="\n".join(lines))


class Chatty(Assistant):
    """As many INFOs as the prompt says, as fast as they can be made."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        for number in range(int(turn.prompt)):
            yield Step(content=f"step {number}")
        yield Answer(markdown=f"{turn.prompt} steps")


class Configured(Assistant):
    """Two toolsets, one of them experimental; answers with what the registration asks for, as JSON."""

    toolsets = (Toolset(name="plain"), Toolset(name="other"), Toolset(name="new", is_experimental=True))

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        offered = () if turn.local_tools is None else turn.local_tools.offered
        told = {
            "instructions": turn.instructions,
            "disabled": sorted(turn.disabled_tools),
            "tools": [[tool.name, tool.description, tool.parameters, tool.version] for tool in offered],
        }
        yield Answer(markdown=json.dumps(told))


class Slow(Assistant):
    """One INFO, then ten minutes of waiting; ``closed`` counts the turns that were closed on the way."""

    closed = 0

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        try:
            yield Step(content="waiting")
            await asyncio.sleep(600)
            yield Answer(markdown="waited")
        finally:
            type(self).closed += 1


class Crash(Assistant):
    """Fails in the way the prompt names: ``raise``, ``upstream``, ``silent``, ``early``, ``long``, ``exit``."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        yield Step(content="about to fail")
        match turn.prompt:
            case "upstream":
                raise UpstreamError("the model answered 500 three times")
            case "silent":
                return
            case "exit":
                os._exit(1)
            case "type":
                yield Step(content="not mine to say", message_type=MessageType.RESULT)
            case "end":
                yield Step(content="not the end", state=State.END)
                yield Answer(markdown="fine")
            case _:
                raise ValueError(f"a secret that must not leak: {turn.prompt}")


class Long(Assistant):
    """An answer of as many bytes as the prompt says, made of three-byte characters and line ends."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        yield Answer(markdown="€" * (int(turn.prompt) // 3 - 1) + "\nEND")


class Steady(Assistant):
    """An INFO every millisecond, as many as the prompt says: time for a kill in the middle."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        for number in range(int(turn.prompt)):
            yield Step(content=f"step {number}")
            await asyncio.sleep(0.001)
        yield Answer(markdown=f"{turn.prompt} steps")


class Ticking(Assistant):
    """As many INFOs as the prompt says, each after so many milliseconds: ``COUNT [MILLISECONDS]``, five by default."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        count, _, milliseconds = turn.prompt.partition(" ")
        seconds = float(milliseconds or 5) / 1_000
        for number in range(int(count)):
            yield Step(content=f"step {number}")
            if seconds:
                await asyncio.sleep(seconds)
        yield Answer(markdown=f"{turn.prompt} steps")


class Calling(Assistant):
    """Calls the client's tools that the prompt names, one after the other or (``both``) at once; answers with results.

    A word ``NAME=TEXT`` calls NAME with ``{"text": TEXT}``.
    """

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        yield Step(content="looking")
        words = turn.prompt.split()
        if turn.local_tools is None:
            yield Answer(markdown="no tools")
            return
        wanted = [word.partition("=") for word in words if "=" in word]
        calls = [turn.local_tools.call(name, {"text": text}) for name, _, text in wanted]
        if words[0] == "both":
            results = await asyncio.gather(*calls)
        else:
            results = [await call for call in calls]
        yield Answer(markdown="\n".join(bytes(r.value).decode() if r.ok else f"error: {r.error}" for r in results))
