"""A language model behind the analyst: it gets the analyst's tools, and its answer is checked against the evidence.

Decides who answers and what of the model's text is shown: nothing live, every indicator without evidence marked, never
the API key, and the tools' findings in any case. If the model fails, the embedded analyst answers and says so. The
model library is imported when this assistant is created.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from svc.assistant.analyst import Analyst, coverage_step, picture_step
from svc.assistant.analyst.answer_format import RequestedFormat
from svc.assistant.analyst.evidence_scope import usable_history
from svc.assistant.analyst.findings_messages import findings_steps
from svc.assistant.analyst.render import disabled_note
from svc.assistant.analyst.structured_answer import structured_answer
from svc.assistant.instruction_text.answer import instruction_fold, instruction_note
from svc.assistant.model.configuration import KEY_VARIABLE, Configuration, configuration_from
from svc.assistant.model.evidence import check
from svc.assistant.model.tool_verdict import denied, unmentioned, with_findings
from svc.assistant.model.toolbox import Toolbox
from svc.assistant.model.turn_clock import TurnClock
from svc.assistant.response_format import answer_problem, split_required
from svc.assistant.spool import collected
from svc.assistant.turn import Answer, Assistant, Step, ToolCluster, Turn, WorkerLoad
from svc.errors import ConfigError, UpstreamError
from svc.messages import NOTICE_TITLE, AnswerStatus, MessageType, State, Toolset, Usage
from svc.untrusted.model_markdown import harmless

if TYPE_CHECKING:
    from svc.assistant.model.conversation import Conversation, ModelFailureError, Reply, Upstream

__all__ = ["ModelAssistant", "open_upstream"]

log: logging.Logger = logging.getLogger("svc.model")
ACTOR = "model"
MIN_SECRET_CHARS = 6  # a shorter key may occur in ordinary text


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ModelAssistant(Assistant):
    """Answers with the model that SVC_MODEL_URL and SVC_MODEL_NAME name; raises ConfigError if it cannot be used."""

    toolsets: Sequence[Toolset] = Analyst.toolsets

    def __init__(
        self,
        configuration: Configuration | None = None,
        analyst: Analyst | None = None,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._configuration = configuration or configuration_from(os.environ)
        self._upstream = open_upstream(self._configuration)
        self._analyst = analyst or Analyst()
        self._now = now

    def set_workers(self, count: int) -> None:
        """How many tools run at the same time."""
        self._analyst.set_workers(count)

    def set_cluster(self, cluster: ToolCluster) -> None:
        """Let other machines read attached files; raises ConfigError."""
        self._analyst.set_cluster(cluster)

    @property
    def worker_load(self) -> WorkerLoad:
        """What the analyst's workers do now."""
        return self._analyst.worker_load

    async def start(self) -> None:
        """Start the analyst's workers; the model is contacted with the first question."""
        if self._configuration.sends_key_unencrypted:
            log.warning("the model's key is sent unencrypted", extra={"host": self._configuration.host})
        await self._analyst.start()

    async def close(self) -> None:
        """Stop the workers and close the connections."""
        await self._analyst.close()
        await self._upstream.close()

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        """Steps as they happen, one ``source`` with all findings, charts, then the checked Answer."""
        async with aclosing(self._answer(turn)) as steps:
            async for step in steps:
                yield self._redact_key(step)

    async def _answer(self, turn: Turn) -> AsyncGenerator[Step | Answer, None]:
        from svc.assistant.model.conversation import Conversation, ModelFailureError

        steps: asyncio.Queue[Step | None] = asyncio.Queue()  # unbounded: the turn's limits bound what is put into it
        limits, now = self._configuration.limits, self._now()
        clock = TurnClock(limits.seconds)
        usable = (await asyncio.to_thread(usable_history, turn)).turn  # nothing of files that are not asked about
        toolbox = await asyncio.to_thread(  # it reads the findings of earlier questions
            Toolbox, usable, self._analyst, steps.put, max_calls=limits.tool_calls, now=now, clock=clock
        )
        conversation = Conversation(self._upstream, usable, toolbox, steps.put, now=now, clock=clock)
        task = asyncio.create_task(_run(conversation, toolbox))
        task.add_done_callback(lambda _: steps.put_nowait(None))
        try:
            while (step := await steps.get()) is not None:
                yield step
            reply = await task
        except ModelFailureError as failure:
            async with aclosing(self._fallback_answer(turn, failure)) as fallback:
                async for fallback_step in fallback:
                    yield fallback_step
        else:
            async with aclosing(self._last_steps(turn, reply, toolbox)) as last_steps:
                async for last in last_steps:
                    yield last
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, ModelFailureError):
                await task

    async def _last_steps(self, turn: Turn, reply: Reply, toolbox: Toolbox) -> AsyncGenerator[Step | Answer, None]:
        """The model's answer; if the API requires a format that it does not have, the analyst's.

        Data has no room for a mark, so an answer in a required format that names something without evidence, or denies
        what the tools found, is not used either.
        """
        if not split_required(turn.instructions)[1]:
            for step in await self._final_steps(turn, reply, toolbox):
                yield step
            return
        text = _unfenced(reply.text)
        problem = answer_problem(turn.instructions, text)
        checked = await asyncio.to_thread(lambda: check(text, toolbox.evidence_index))
        if not problem and not checked.missing and not denied(text, toolbox.findings):
            for step in await self._final_steps(turn, reply, toolbox):
                yield msgspec.structs.replace(step, markdown=text) if isinstance(step, Answer) else step
            return
        why = f"its answer does not have the required format ({problem})" if problem else checked.summary()
        note = f"the embedded analyst answers: {why}"
        yield Step(content=note, state=State.REVIEWING, actor=ACTOR, title=NOTICE_TITLE)
        async with aclosing(self._analyst.answer(turn)) as steps:
            async for step in steps:
                yield _with_preface(step, "", reply.usage) if isinstance(step, Answer) else step

    async def _final_steps(self, turn: Turn, reply: Reply, toolbox: Toolbox) -> list[Step | Answer]:
        """The last steps of a turn that the model answered, and the Answer."""
        checked = await asyncio.to_thread(lambda: check(harmless(reply.text), toolbox.evidence_index))
        steps: list[Step | Answer] = [Step(content=checked.summary(), state=State.REVIEWING, actor=ACTOR)]
        findings, texts, contract = toolbox.findings, toolbox.instruction_texts, toolbox.contract
        if findings or texts:
            steps += await asyncio.to_thread(findings_steps, collected(findings, texts))
        steps += [picture_step(picture) for picture in toolbox.pictures]
        if contract.inputs:
            steps.append(coverage_step(contract))
        markdown = _complete(checked.markdown, await self._analyst.requested_format(turn), toolbox)
        return [*steps, Answer(markdown=markdown, actor=ACTOR, status=contract.status, usage=reply.usage)]

    async def _fallback_answer(self, turn: Turn, failure: ModelFailureError) -> AsyncGenerator[Step | Answer, None]:
        """The embedded analyst's answer with a note; raises UpstreamError if SVC_MODEL_FALLBACK is off."""
        what = f"the model at {self._configuration.host} did not answer ({failure})"
        log.warning("model did not answer", extra={"host": self._configuration.host, "reason": str(failure)})
        if not self._configuration.limits.fallback:
            raise UpstreamError(f"{what}. Ask again, or set SVC_MODEL_FALLBACK=yes to let the embedded analyst answer")
        note = f"{what}: the embedded analyst answers"
        yield Step(content=note, state=State.PLANNING, actor=ACTOR, title=NOTICE_TITLE)
        is_data = (await self._analyst.requested_format(turn)).is_data
        preface = "" if is_data else f"*{what[0].upper()}{what[1:]}; the embedded analyst answers.*\n\n"
        async with aclosing(self._analyst.answer(turn)) as steps:
            async for step in steps:
                yield _with_preface(step, preface, failure.usage) if isinstance(step, Answer) else step

    def _redact_key(self, step: Step | Answer) -> Step | Answer:
        """The step with the API key replaced, in case the model or a tool repeats it."""
        key = self._configuration.key
        if len(key) < MIN_SECRET_CHARS:
            return step
        if isinstance(step, Answer):
            return msgspec.structs.replace(step, markdown=step.markdown.replace(key, f"[{KEY_VARIABLE}]"))
        if step.message_type is MessageType.SOURCE and not step.mime_type.is_text:
            return step
        return msgspec.structs.replace(step, content=step.content.replace(key, f"[{KEY_VARIABLE}]"))


_FENCED = re.compile(r"\s*```\w*\n(.*?)\n?```\s*", re.DOTALL)


def _unfenced(text: str) -> str:
    """Data without the code fence that a model put around it against its instructions."""
    match = _FENCED.fullmatch(text)
    return match[1] if match else text.strip()


async def _run(conversation: Conversation, toolbox: Toolbox) -> Reply:
    """Ask the model, then have the tools read what it did not."""
    reply = await conversation.run()
    await toolbox.read_unread()
    return reply


def _complete(markdown: str, requested: RequestedFormat, toolbox: Toolbox) -> str:
    """The model's answer with everything that the tools found and it does not say.

    Data that leaves something out is replaced by the tools' data, because nothing can be added to it.
    """
    if requested.is_data:
        is_whole = not unmentioned(markdown, toolbox.findings)
        return markdown if is_whole else structured_answer(requested, toolbox.groups)
    texts = toolbox.instruction_texts
    blocks = [
        with_findings(markdown, toolbox.findings).rstrip(),
        instruction_note(texts),
        instruction_fold(texts),
    ]
    if toolbox.disabled:
        blocks.insert(0, disabled_note(toolbox.disabled))
    if toolbox.contract.status is AnswerStatus.NOT_EXAMINED and not toolbox.findings:
        blocks.insert(
            0, "**Not examined:** no tool could read the attached evidence; the text below is not based on it."
        )
    return "\n\n".join(block for block in blocks if block) + "\n"


def _with_preface(answer: Answer, preface: str, usage: Usage) -> Answer:
    """The analyst's answer after a first line, with the tokens that the model used before it failed."""
    counted = usage if usage.total_tokens else answer.usage
    return msgspec.structs.replace(answer, markdown=preface + answer.markdown, usage=counted)


def open_upstream(configuration: Configuration) -> Upstream:
    """Create the model's client; raises ConfigError if its library is not installed."""
    try:
        from svc.assistant.model.conversation import Upstream
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"a model is configured, but {error.name} is not installed. Run: pip install 'svc-jupyter[model]', "
            "or unset SVC_MODEL_URL and SVC_MODEL_NAME"
        ) from error
    return Upstream(configuration)
