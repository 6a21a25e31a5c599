"""An analyst whose tools run in this process: many questions in a short time, with everything else as it is."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

import msgspec

from svc.assistant.analyst import COVERAGE_TITLE, Analyst
from svc.assistant.analyst.findings_messages import FINDINGS_TITLE
from svc.assistant.file_types.identify import identify
from svc.assistant.findings import AnyFinding, ToolEvent
from svc.assistant.skills.catalogue import decode_findings
from svc.assistant.turn import Answer, Exchange, Step, Turn, TurnFile
from svc.assistant.workers import process as worker_process
from svc.assistant.workers.frames import MemberFrame
from svc.assistant.workers.pool import Job, Workers

T = TypeVar("T")
P = ParamSpec("P")


class InlineWorkers(Workers):
    """Runs each job and call at once; a tool that raises fails the test."""

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    async def unpack(self, job: Job) -> AsyncGenerator[ToolEvent | MemberFrame, None]:
        module, _, function = job.tool.partition(":")
        tool: Callable[..., Iterator[ToolEvent | MemberFrame]] = getattr(importlib.import_module(module), function)
        content = job.source if isinstance(job.source, bytes) else job.source.read_bytes()
        request = worker_process.JobRequest(
            tool=job.tool,
            input=job.input,
            name=job.name,
            limits=worker_process.Limits(),
            options=job.options,
            looks_for_instructions=job.looks_for_instructions,
            is_prompt=job.is_prompt,
        )
        for item in worker_process._events(tool, request, content, lambda _: None):
            yield item


@dataclass
class Asked:
    """One answer with what was sent beside it."""

    answer: Answer
    steps: list[Step]

    @property
    def markdown(self) -> str:
        return self.answer.markdown

    @property
    def coverage(self) -> dict:
        [step] = [step for step in self.steps if step.title == COVERAGE_TITLE]
        return msgspec.json.decode(step.content)

    @property
    def findings(self) -> list[AnyFinding]:
        return [one for step in self.steps if step.title == FINDINGS_TITLE for one in decode_findings(step.content)]

    @property
    def state_of(self) -> dict[str, str]:
        """The state of each input, by its name."""
        return {one["name"]: one["state"] for one in self.coverage["inputs"]}


def turn_file(name: str, content: bytes, *, is_new: bool = True) -> TurnFile:
    """A file as the service would give it to the analyst."""
    mime_type, label = identify(content, name)
    return TurnFile(
        name=name, size=len(content), sha256="", mime_type=mime_type, label=label, source=content, is_new=is_new
    )


async def ask(
    question: str,
    *files: tuple[str, bytes] | tuple[str, bytes, bool],
    history: Sequence[Exchange] = (),
    language: str = "en",
    model: str = "svc-1.1",
    use_experimental: bool = False,
    instructions: str = "",
    disabled_tools: Sequence[str] = (),
) -> Asked:
    """Ask an analyst of its own."""
    turn = Turn(
        session_id="s",
        prompt=question,
        files=tuple(turn_file(name, content, is_new=not old) for name, content, *old in files),
        history=tuple(history),
        language=language,
        model=model,
        use_experimental=use_experimental,
        disabled_tools=frozenset(disabled_tools),
        instructions=instructions,
    )
    analyst = Analyst(InlineWorkers())
    try:
        steps = [step async for step in analyst.answer(turn)]
    finally:
        await analyst.close()  # the processes that plan
    assert isinstance(steps[-1], Answer)
    return Asked(steps[-1], [step for step in steps[:-1] if isinstance(step, Step)])
