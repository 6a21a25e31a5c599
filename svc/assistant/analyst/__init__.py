"""The embedded analyst: a question in, steps out as they happen, one answer with its evidence. No network, no model.

Plans (``plan``, ``history``), runs the tools in workers, renders (``render``). Does no I/O itself: a worker reads the
files. Whatever stands in them is data, never an instruction.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime

from svc.assistant.analyst import history, render
from svc.assistant.analyst.catalogue import SKILLS, section_of, toolsets
from svc.assistant.analyst.history import FollowUp, FollowUpKind
from svc.assistant.analyst.markup import plural, visible
from svc.assistant.analyst.plan import Ask, Call, Plan, plan
from svc.assistant.analyst.render import Part
from svc.assistant.analyst.section import Picture
from svc.assistant.tools import Finding, Gap, Progress, Yielded
from svc.assistant.turn import Answer, Assistant, Step, Turn
from svc.assistant.workers import Job, Workers
from svc.messages import MessageType, MimeType, State

__all__ = ["Analyst"]

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

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        """Steps as they happen, one ``source`` with the findings where there are any, then the Answer."""
        back = history.follow_up(turn.prompt, turn.history)
        planned = plan(
            turn.prompt,
            turn.files,
            use_experimental=turn.use_experimental,
            now=self._now().isoformat(timespec="seconds"),
        )
        steps = self._follow(turn, back) if back is not None else self._investigate(turn, planned)
        async with aclosing(steps):
            async for step in steps:
                yield step

    async def _investigate(self, turn: Turn, planned: Plan) -> AsyncGenerator[Step | Answer, None]:
        yield _say(_plan_in_words(planned, turn), State.PLANNING)
        if not planned.asks:
            yield Answer(markdown=render.cannot(planned, turn.files))
            return
        parts: list[Part] = []
        for ask in planned.asks:
            async with aclosing(self._ask(ask)) as outcomes:
                async for outcome in outcomes:
                    if isinstance(outcome, Part):
                        parts.append(outcome)
                    else:
                        yield outcome
        for step in _told(parts, planned):
            yield step

    async def _ask(self, ask: Ask) -> AsyncGenerator[Step | Part, None]:
        findings: list[Finding] = []
        gaps: list[tuple[str, str]] = []
        for call in ask.calls:
            yield _say(f"{ask.skill.name}: reading {visible(call.name)}", State.CALLING_TOOL, actor=ask.skill.name)
            async with aclosing(self._call(call)) as yields:
                async for item in yields:
                    match item:
                        case Progress(text=text):
                            yield _say(visible(text), State.RUNNING_AGENT, actor=ask.skill.name)
                        case Gap(text=text):
                            gaps.append((call.name, text))
                        case Finding():
                            findings.append(item)
        found = f"{plural(len(findings), 'finding')}" + (f", {plural(len(gaps), 'gap')}" if gaps else "")
        yield _say(f"{ask.skill.name}: {found}", State.TOOL_RESULT, actor=ask.skill.name)
        names = tuple(call.name for call in ask.calls)
        yield Part(skill=ask.skill, findings=tuple(findings), inputs=names, gaps=tuple(gaps))

    def _call(self, call: Call) -> AsyncGenerator[Yielded, None]:
        source = call.input.encode(errors="replace") if isinstance(call.input, str) else call.input.source
        skill = call.skill
        return self._workers.run(
            Job(tool=skill.tool, feed=skill.feed, name=call.name, source=source, options=call.options)
        )

    async def _follow(self, turn: Turn, back: FollowUp) -> AsyncGenerator[Step | Answer, None]:
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
            ask = Ask(skill=calls[0].skill, calls=tuple(calls), because="the earlier log, another time of day")
            async with aclosing(self._investigate(turn, Plan(asks=(ask,)))) as steps:
                async for step in steps:
                    yield step
            return
        if back.kind is FollowUpKind.FILTER and not back.conditions:
            yield Answer(markdown=render.not_understood(turn.prompt, len(findings)))
            return
        kept = history.filtered(turn.prompt, findings) if back.kind is FollowUpKind.FILTER else findings
        yield _say(f"kept {len(kept):,} of {plural(len(findings), 'earlier finding')}", State.REVIEWING)
        yield _source(render.findings_json(kept)[0])
        grouped = history.by_skill(kept)
        yield Answer(markdown=render.refined(turn.prompt, back.conditions, grouped, len(findings)))


def _told(parts: Sequence[Part], planned: Plan) -> list[Step | Answer]:
    """The last messages of a turn that ran tools."""
    encoded, left_out = render.findings_json([finding for part in parts for finding in part.findings])
    drawn = [_drawn(picture) for part in parts for picture in section_of(part.skill).pictures(part.findings)]
    return [_source(encoded), *drawn, Answer(markdown=render.answer(parts, planned, left_out=left_out))]


def _source(findings: str) -> Step:
    return Step(
        content=findings,
        message_type=MessageType.SOURCE,
        mime_type=MimeType.JSON,
        state=State.GROUNDING,
        title=FINDINGS_TITLE,
    )


def _drawn(picture: Picture) -> Step:
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
        + ", ".join(visible(call.name) + sizes.get(call.name, "") for call in ask.calls)
        for ask in planned.asks
    ]
    return f"{plural(len(asks), 'ask')}: " + "; ".join(asks)
