"""Run a job, or yield what it yielded for an earlier question about the same file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

import msgspec

from svc.assistant import knowledge
from svc.assistant.findings import Coverage, Finding, Gap, InstructionText, NamesSeen, Progress, ToolEvent
from svc.assistant.turn import KeptResults
from svc.assistant.workers.frames import InputSearched
from svc.assistant.workers.job import Job, WorkerItem, frame_decoder
from svc.assistant.workers.kept_results import KeptRun, Recording, ResultName, for_question, program_state
from svc.assistant.workers.process import Done

EVENTS_AT_ONCE = 256  # of a kept result, decoded before others are served
T = TypeVar("T")
P = ParamSpec("P")


class Pool(Protocol):
    """What is needed of ``Workers``."""

    def unpack(self, job: Job) -> AsyncGenerator[WorkerItem, None]:
        """Run a job."""
        ...

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function on a user's text in another process."""
        ...


class RunNames(msgspec.Struct, frozen=True):
    """The names under which the parts of a run are kept.

    ``findings`` are those that may answer it, the first the run's own: a tool whose findings were also searched for
    text that addresses an analyst or a model yields the same, and these texts.
    """

    texts: str
    findings: tuple[str, ...]


def names_of(job: Job, own_tables: Path) -> RunNames:
    """The names of a job. Reads folders, so it belongs into a thread."""
    texts = ResultName(program=program_state(own_tables), content=job.content, source=job.name)
    options = {name: value for name, value in job.options.items() if name != "question" or job.asks is None}
    findings = msgspec.structs.replace(texts, tool=job.tool, input=job.input.value, options=options)
    also = msgspec.structs.replace(findings, looks_for_instructions=True)
    kept = (also,) if job.looks_for_instructions else (findings, also)
    return RunNames(texts.digest(), tuple(name.digest() for name in kept))


async def kept_run(pool: Pool, job: Job, results: KeptResults) -> AsyncGenerator[WorkerItem, None]:
    """Yield what is kept of the job's run; what is not is run, and kept."""
    names = await asyncio.to_thread(names_of, job, knowledge.user_folder())
    if job.looks_for_instructions and (texts := await KeptRun.find(results, names.texts)) is not None:
        known: list[str] = []
        async for event in _events(texts, job):
            if isinstance(event, Finding) and isinstance(event.facts, InstructionText):
                known.append(event.facts.hidden_text or event.facts.text)
            yield event
        job = msgspec.structs.replace(job, known_texts=tuple(known))
    is_searched = job.known_texts is not None or not job.looks_for_instructions
    earlier = await KeptRun.find(results, *names.findings) if is_searched else None
    items = _recorded(pool, job, results, names) if earlier is None else _repeated(pool, job, earlier)
    async with aclosing(items):
        async for item in items:
            yield item


async def _recorded(pool: Pool, job: Job, results: KeptResults, names: RunNames) -> AsyncGenerator[WorkerItem, None]:
    recording = Recording()
    async with aclosing(pool.unpack(job)) as items:
        async for item in items:
            match item:
                case InputSearched():
                    await recording.keep(results, names.texts)
                    recording = Recording()
                case Done():
                    await recording.keep(results, names.findings[0])
                case Gap() | Coverage() | NamesSeen() | Finding():
                    recording.add(item)
            yield item


async def _repeated(pool: Pool, job: Job, earlier: KeptRun) -> AsyncGenerator[WorkerItem, None]:
    yield Progress(text=f"{job.name}: already read for an earlier question, using those findings")
    question = job.options.get("question")
    answers = {} if job.asks is None or question is None else await pool.call(job.asks, question)
    async for event in _events(earlier, job):
        yield for_question(event, answers) if isinstance(event, Finding) else event


async def _events(run: KeptRun, job: Job) -> AsyncGenerator[ToolEvent, None]:
    decoder = frame_decoder(job.facts)
    for number, body in enumerate(run.events(), start=1):
        event = decoder.decode(body)
        is_text = isinstance(event, Finding) and isinstance(event.facts, InstructionText)
        if isinstance(event, Gap | Coverage | NamesSeen | Finding) and (job.looks_for_instructions or not is_text):
            yield event
        if number % EVENTS_AT_ONCE == 0:
            await asyncio.sleep(0)
