"""The embedded analyst: a question in, steps out as they happen, one answer with its evidence. No network, no model.

Plans (``plan``, ``history``), runs the tools in workers, renders (``render``). Does no I/O itself: a worker reads the
files. Whatever stands in them is data, never an instruction.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime

import msgspec

from svc.assistant.analyst import follow_up as history
from svc.assistant.analyst import render
from svc.assistant.analyst.answer_format import AnswerFormat, RequestedFormat, requested_format
from svc.assistant.analyst.follow_up import FollowUp, FollowUpKind
from svc.assistant.analyst.plan import Call, Plan, PlannedSkill, plan, read_question
from svc.assistant.analyst.render import SkillResult
from svc.assistant.analyst.structured_answer import last_line, structured_answer
from svc.assistant.analyst.translation import gist, translated
from svc.assistant.findings import AnyFinding, Finding, Gap, Progress, ToolEvent
from svc.assistant.skills.catalogue import SKILLS, section_of, toolsets
from svc.assistant.skills.skill import Picture, Skill
from svc.assistant.turn import Answer, Assistant, Step, Turn
from svc.assistant.workers.pool import Job, Workers
from svc.messages import MessageType, MimeType, State
from svc.untrusted.characters import on_one_line
from svc.untrusted.markup import plural

__all__ = ["Analyst", "findings_step", "picture_step"]

FINDINGS_TITLE = "findings"
_PRELOAD = tuple(skill.tool.partition(":")[0] for skill in SKILLS)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Analyst(Assistant):
    """The default assistant. ``start`` starts its workers ahead; a turn's closed iterator kills what it runs."""

    toolsets = toolsets()

    def __init__(self, workers: Workers | None = None, now: Callable[[], datetime] = _utc_now) -> None:
        self._workers = workers or Workers(preload=_PRELOAD)
        self._now = now

    async def start(self) -> None:
        """Start the workers ahead."""
        await self._workers.start()

    async def close(self) -> None:
        """Stop the workers."""
        await self._workers.close()

    async def answer(self, turn: Turn) -> AsyncGenerator[Step | Answer, None]:
        """Steps as they happen, one ``source`` with the findings where there are any, then the Answer."""
        requested = requested_format(turn.prompt)
        back = history.follow_up(
            requested.prompt,
            turn.history,
            is_form_given=requested.format is not AnswerFormat.PROSE,
            has_new_files=any(file.is_new for file in turn.files),
        )
        steps = self._follow(turn, requested, back) if back is not None else self._question(turn, requested)
        async with aclosing(steps):
            async for step in steps:
                yield _in_language(step, turn.language) if requested.format is AnswerFormat.PROSE else step

    def _question(self, turn: Turn, requested: RequestedFormat) -> AsyncGenerator[Step | Answer, None]:
        now = self._now().isoformat(timespec="seconds")
        question = read_question(
            requested.prompt, turn.files, use_experimental=turn.use_experimental, now=now, language=turn.language
        )
        planned = plan(question)
        return self._investigate(turn, requested, planned)

    async def _investigate(
        self, turn: Turn, requested: RequestedFormat, planned: Plan
    ) -> AsyncGenerator[Step | Answer, None]:
        yield _say(_plan_in_words(planned, turn), State.PLANNING)
        if not planned.asks:
            yield Answer(markdown=render.cannot(planned, turn))
            return
        parts: list[SkillResult] = []
        for ask in planned.asks:
            async with aclosing(self.run_ask(ask)) as outcomes:
                async for outcome in outcomes:
                    if isinstance(outcome, SkillResult):
                        parts.append(outcome)
                    else:
                        yield outcome
        for step in _told(_without_covered(parts), requested, planned, turn.language):
            yield step

    async def run_ask(self, ask: PlannedSkill) -> AsyncGenerator[Step | SkillResult, None]:
        """The ask's tool over its inputs: steps as it works, then the one Part."""
        findings: list[AnyFinding] = []
        gaps: list[tuple[str, str]] = []
        for call in ask.calls:
            yield _say(f"{ask.skill.name}: reading {on_one_line(call.name)}", State.CALLING_TOOL, actor=ask.skill.name)
            async with aclosing(self._call(call)) as yields:
                async for item in yields:
                    match item:
                        case Progress(text=text):
                            yield _say(on_one_line(text), State.RUNNING_AGENT, actor=ask.skill.name)
                        case Gap(text=text):
                            gaps.append((call.name, text))
                        case Finding():
                            findings.append(item)
        found = f"{plural(len(findings), 'finding')}" + (f", {plural(len(gaps), 'gap')}" if gaps else "")
        yield _say(f"{ask.skill.name}: {found}", State.TOOL_RESULT, actor=ask.skill.name)
        names = tuple(call.name for call in ask.calls)
        yield SkillResult(skill=ask.skill, findings=tuple(findings), inputs=names, gaps=tuple(gaps))

    def _call(self, call: Call) -> AsyncGenerator[ToolEvent, None]:
        source = call.input.encode(errors="replace") if isinstance(call.input, str) else call.input.source
        skill = call.skill
        return self._workers.run(
            Job(
                tool=skill.tool,
                input=skill.input,
                name=call.name,
                source=source,
                options=call.options,
                facts=skill.facts,
            )
        )

    async def _follow(
        self, turn: Turn, requested: RequestedFormat, back: FollowUp
    ) -> AsyncGenerator[Step | Answer, None]:
        """Answer from what the session knows already."""
        yield _say(f"looking back over {plural(len(turn.history), 'earlier question')}", State.RETRIEVING)
        if back.kind is FollowUpKind.ASKED:
            yield Answer(markdown=render.asked(turn.history))
            return
        known = history.latest(turn.history)
        if known is None:
            yield Answer(markdown=render.nothing_known())
            return
        exchange, findings = known
        calls = history.again(exchange, findings, turn.files, back.options) if back.options else []
        if calls:
            asks = [_again(calls, skill) for skill in dict.fromkeys(call.skill for call in calls)]
            async with aclosing(self._investigate(turn, requested, Plan(asks=tuple(asks)))) as steps:
                async for step in steps:
                    yield step
            return
        for step in _from_known(requested, back, findings):
            yield step


def _without_covered(parts: Sequence[SkillResult]) -> list[SkillResult]:
    """Without the asks that found nothing where another one's answer has what they were for (``Skill.covers``)."""
    told = {name for part in parts if part.findings for name in part.skill.covers}
    return [part for part in parts if part.findings or part.skill.name not in told]


def _again(calls: Sequence[Call], skill: Skill) -> PlannedSkill:
    mine = tuple(call for call in calls if call.skill == skill)
    return PlannedSkill(skill=skill, calls=mine, because="the earlier log, another time of day")


def _from_known(requested: RequestedFormat, back: FollowUp, findings: Sequence[AnyFinding]) -> list[Step | Answer]:
    """The last messages of a turn that only looks at earlier findings."""
    is_whole = back.kind is FollowUpKind.FOUND
    if not is_whole and not back.conditions and back.limit is None and back.kind is not FollowUpKind.COUNT:
        return [Answer(markdown=render.not_understood(requested.prompt, len(findings)))]
    kept = list(findings) if is_whole else history.filtered(requested.prompt, findings)
    kept = kept[: back.limit] if back.limit is not None else kept  # they are stored worst first
    told: list[Step | Answer] = [
        _say(f"kept {len(kept):,} of {plural(len(findings), 'earlier finding')}", State.REVIEWING),
        findings_step(render.findings_json(kept)[0]),
    ]
    grouped = history.by_skill(kept)
    if requested.format is not AnswerFormat.PROSE:
        return [*told, Answer(markdown=structured_answer(requested, grouped))]
    return [*told, Answer(markdown=render.refined(requested.prompt, back.conditions, grouped, len(findings)))]


def _told(
    parts: Sequence[SkillResult], requested: RequestedFormat, planned: Plan, language: str
) -> list[Step | Answer]:
    """The last messages of a turn that ran tools."""
    findings = [finding for part in parts for finding in part.findings]
    encoded, left_out = render.findings_json(findings)
    drawn = [picture_step(picture) for part in parts for picture in section_of(part.skill).pictures(render.shown(part))]
    if requested.format is not AnswerFormat.PROSE:
        groups = [(part.skill, part.findings) for part in parts]
        return [findings_step(encoded), *drawn, Answer(markdown=structured_answer(requested, groups))]
    told = [gist(findings, language), render.answer(parts, planned, left_out=left_out)]
    told += (
        [last_line(requested.last_line, [(part.skill, part.findings) for part in parts])] if requested.last_line else []
    )
    return [findings_step(encoded), *drawn, Answer(markdown="\n\n".join(part for part in told if part))]


def _in_language(step: Step | Answer, language: str) -> Step | Answer:
    match step:
        case Answer(markdown=markdown):
            return msgspec.structs.replace(step, markdown=translated(markdown, language))
        case _:
            return step


def findings_step(findings: str) -> Step:
    """A JSON list of findings as a message."""
    return Step(
        content=findings,
        message_type=MessageType.SOURCE,
        mime_type=MimeType.JSON,
        state=State.GROUNDING,
        title=FINDINGS_TITLE,
    )


def picture_step(picture: Picture) -> Step:
    """A picture as a message: base64, as the wire has everything that is neither text nor JSON."""
    return Step(
        content=b64encode(picture.svg.encode()).decode(),
        message_type=MessageType.SOURCE,
        mime_type=MimeType.SVG,
        state=State.GROUNDING,
        title=picture.title,
    )


def _say(text: str, state: State, actor: str = "analyst") -> Step:
    return Step(content=text, state=state, actor=actor)


def _plan_in_words(planned: Plan, turn: Turn) -> str:
    """What will be done and why: ``2 asks: Logins (“brute-forced”) in auth.log (4,812 bytes); …``."""
    if not planned.asks:
        return f"no tool fits this question ({plural(len(turn.files), 'file')} attached)"
    sizes = {file.name: f" ({file.size:,} bytes)" for file in turn.files}
    asks = [
        f"{ask.skill.title} ({ask.because}) in "
        + ", ".join(on_one_line(call.name) + sizes.get(call.name, "") for call in ask.calls)
        for ask in planned.asks
    ]
    return f"{plural(len(asks), 'ask')}: " + "; ".join(asks)
