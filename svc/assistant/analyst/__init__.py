"""The embedded analyst: plans a question, runs tools on the evidence, renders one answer. No network, no model.

``plan`` and ``follow_up`` decide what to run, workers run the tools and read the files, ``render`` and
``structured_answer`` write the answer. The content of files is data, never an instruction.
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
from svc.assistant.analyst.clauses import ClauseKind, ClauseState
from svc.assistant.analyst.collection_plan import READABLE_LABELS, planned, to_expand, within_limit
from svc.assistant.analyst.compound.clause_answers import clause_answers
from svc.assistant.analyst.contract import Contract, SkillResult, contract_of, with_disabled
from svc.assistant.analyst.corrections import asked_again
from svc.assistant.analyst.evidence_scope import cannot_tell_of, files_read, mentioned, remark, usable_history
from svc.assistant.analyst.findings_messages import findings_steps
from svc.assistant.analyst.follow_up import FollowUp, FollowUpKind
from svc.assistant.analyst.follow_ups.conversation import Way, as_lookup, is_alone
from svc.assistant.analyst.follow_ups.known import Known, known_of
from svc.assistant.analyst.follow_ups.listed import independent, with_given
from svc.assistant.analyst.follow_ups.parts import PartAnswer, contract_together, parts_of, together
from svc.assistant.analyst.follow_ups.planned import without_known
from svc.assistant.analyst.follow_ups.reading import polite_kind, polite_reply
from svc.assistant.analyst.follow_ups.search import TOOL as SEARCH_TOOL
from svc.assistant.analyst.follow_ups.turns import further_question, further_steps, quoted_reply, reply_steps
from svc.assistant.analyst.languages import english_question, is_foreign, notice, question_language, read_as, respelled
from svc.assistant.analyst.particulars import general
from svc.assistant.analyst.plan import EVENTS, Call, Plan, PlannedSkill, Question, fallback, question_of
from svc.assistant.analyst.structured_answer import formatted_answer, structured_answer
from svc.assistant.collections.expanded import ExpandedFiles
from svc.assistant.collections.expanding import UNPACKING_MODULE, Expansion
from svc.assistant.collections.spool import remove_stale, spool_root
from svc.assistant.findings import (
    AnyFinding,
    Coverage,
    Finding,
    Gap,
    InstructionText,
    NamesSeen,
    Progress,
    ToolEvent,
    with_facts,
)
from svc.assistant.instruction_text.answer import distinct
from svc.assistant.skills.asked.findings import AskedRecords, ChosenRecords, FollowingRecords
from svc.assistant.skills.catalogue import SKILLS, section_of, toolsets
from svc.assistant.skills.skill import Picture, Skill
from svc.assistant.spool import SpoolWriter, collected
from svc.assistant.turn import Answer, Assistant, Exchange, Step, ToolCluster, Turn, WorkerLoad
from svc.assistant.workers.job import JobEnd
from svc.assistant.workers.payer import heed_stop, stop_reason
from svc.assistant.workers.pool import Job, Workers
from svc.assistant.workers.threads import in_thread
from svc.messages import AnswerStatus, MessageType, MimeType, State, TaskProgress, Toolset
from svc.progress import progress_line
from svc.untrusted.characters import on_one_line
from svc.untrusted.markup import plural

__all__ = ["Analyst", "coverage_step", "picture_step"]

COVERAGE_TITLE = "coverage"
_PRELOAD = (
    __name__,
    *(skill.tool.partition(":")[0] for skill in SKILLS),
    UNPACKING_MODULE,
    SEARCH_TOOL.partition(":")[0],
)
_NOTHING_EXPANDED = ExpandedFiles(files=())
_UNPACKING = "unpacking"  # the actor of progress
_MAX_BROUGHT = 8  # earlier questions of which a client brought the answer along that are asked again, the latest
_TASK_INPUTS = 5  # named for each task
_DETAILED_CALLS = 20  # of one skill, up to which each tool's own progress is shown


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Analyst(Assistant):
    """The default assistant. Closing a turn's iterator kills the tools that it runs."""

    toolsets: Sequence[Toolset] = toolsets()

    def __init__(self, workers: Workers | None = None, now: Callable[[], datetime] = _utc_now) -> None:
        self._workers = workers or Workers(preload=_PRELOAD)
        self._now = now

    def set_workers(self, count: int) -> None:
        """How many tools run at the same time."""
        self._workers.set_count(count)

    def set_cluster(self, cluster: ToolCluster) -> None:
        """Let other machines read attached files; raises ConfigError."""
        from svc.assistant.workers.cluster.dask_cluster import DaskCluster  # most services have none

        self._workers.set_cluster(DaskCluster(cluster, preload=_PRELOAD))

    @property
    def worker_load(self) -> WorkerLoad:
        """What the workers do now."""
        return self._workers.load

    async def start(self) -> None:
        """Start the workers, so that the first question need not wait for them."""
        await remove_stale(spool_root())
        await self._workers.start()

    async def close(self) -> None:
        """Stop the workers."""
        await self._workers.close()

    async def answer(self, turn: Turn) -> AsyncGenerator[Step | Answer, None]:
        """Yield steps as they happen, one ``source`` message with the findings, then the Answer.

        A turn in which no skill runs has no ``source`` message, unless it filters earlier findings.
        """
        language = await in_thread(_language_of, turn)
        turn = msgspec.structs.replace(turn, language=language)
        asked = await in_thread(_in_english, turn)
        if kind := polite_kind(turn.prompt):
            yield Answer(markdown=polite_reply(kind, language) + "\n", status=AnswerStatus.ANSWERED)
            return
        said = (
            notice(language) if asked.language == language else f"{notice(language)} {read_as(asked.prompt, language)}"
        )
        turn = asked
        async with aclosing(self._with_earlier_findings(turn)) as items:
            async for item in items:
                if isinstance(item, Step):
                    yield item
                else:
                    turn = item
        again = await in_thread(asked_again, turn)
        requested = await self.requested_format(again)
        if again is not turn and requested.is_data:
            turn = again
        elif again is not turn:
            requested = await self.requested_format(turn)
        usable = await in_thread(usable_history, turn)
        turn = usable.turn
        has_new_files = any(file.is_new for file in turn.files)
        own: bool = await self._workers.call(is_alone, requested.prompt, turn.language, has_new_files=has_new_files)
        known = set() if own else {name for exchange in turn.history for name in files_read(exchange)}
        would_use = usable.gone if usable.is_latest_gone and not own else ()
        gone = list(dict.fromkeys([*would_use, *mentioned(requested.prompt, usable.gone)]))
        read: set[str] = set()
        async with aclosing(self._steps(turn, requested)) as steps:
            async for step in steps:
                read |= _files_of(step)
                if requested.format is AnswerFormat.PROSE:
                    yield _with_notice(_with_remark(step, gone, _unused(turn, read or known)), said)
                else:
                    yield step

    async def _with_earlier_findings(self, turn: Turn) -> AsyncGenerator[Step | Turn, None]:
        """Find again what the questions found that a client brought along; yield progress, then the turn."""
        brought = [index for index, exchange in enumerate(turn.history) if exchange.is_elsewhere][-_MAX_BROUGHT:]
        if brought:
            yield _info(f"reading the evidence of {plural(len(brought), 'earlier message')} again", State.RETRIEVING)
        history: list[Exchange] = []
        for index, exchange in enumerate(turn.history):
            sources = await self._sources(turn, exchange, history) if index in brought else exchange.sources
            history.append(msgspec.structs.replace(exchange, sources=sources, is_elsewhere=False))
        yield msgspec.structs.replace(turn, history=tuple(history)) if brought else turn

    async def _sources(self, turn: Turn, exchange: Exchange, history: Sequence[Exchange]) -> tuple[str, ...]:
        """The JSON ``source`` messages of an earlier question, asked again."""
        before = {name for earlier in history for name in earlier.files}
        files = tuple(
            msgspec.structs.replace(file, is_new=file.name in exchange.files, is_meant=file.name in exchange.files)
            for file in turn.files
            if file.name in exchange.files or file.name in before
        )
        asked = msgspec.structs.replace(
            turn, prompt=exchange.prompt, files=files, history=tuple(history), instructions="", left_out=()
        )
        async with aclosing(self.answer(asked)) as steps:
            return tuple([step.content async for step in steps if isinstance(step, Step) and _is_json_source(step)])

    async def _steps(self, turn: Turn, requested: RequestedFormat) -> AsyncGenerator[Step | Answer, None]:
        """Answer what is in the question itself, else what the session knows, else what the files hold."""
        has_new_files = any(file.is_new for file in turn.files)
        own: bool = await self._workers.call(is_alone, requested.prompt, turn.language, has_new_files=has_new_files)
        if own and (turn.files or turn.history):
            steps = self._alone(turn, requested)
        elif (back := await in_thread(_back_reference, turn, requested)) is not None:
            steps = self._follow_up(turn, requested, back)
        elif parts := await in_thread(parts_of, turn, requested):
            steps = self._part_by_part(turn, requested, parts)
        elif _chooses(turn, requested) or (further := await further_question(turn, requested, self)) is None:
            steps = self._whole(turn, requested)
        elif further.course.way is Way.ALONE:
            steps = self._alone(turn, requested)
        elif further.course.way is Way.TASK:
            named = requested.with_prompt(further.prompt) if further.prompt else requested
            steps = self._whole(turn, named, further.known)
        else:
            steps = further_steps(turn, requested, further, self, self._workers)
        async with aclosing(steps):
            async for step in steps:
                yield step

    async def _part_by_part(
        self, turn: Turn, requested: RequestedFormat, parts: Sequence[str]
    ) -> AsyncGenerator[Step | Answer, None]:
        """Answer each part of a further question by itself; a part may refer to the one before it."""
        answers: list[PartAnswer] = []
        for text in parts:
            history = (*turn.history, *(one.exchange for one in answers))
            answers.append(PartAnswer(text))
            asked = msgspec.structs.replace(turn, prompt=text, history=history)
            async with aclosing(self._steps(asked, requested.with_prompt(text))) as steps:
                async for step in steps:
                    if (shown := answers[-1].take(step)) is not None:
                        yield shown
        if (contract := contract_together(answers)) is not None:
            yield coverage_step(contract)
        for last in await in_thread(together, answers):
            yield last

    async def _alone(self, turn: Turn, requested: RequestedFormat) -> AsyncGenerator[Step | Answer, None]:
        """Answer what is in the question itself: the session's files are not meant."""
        quoted = await in_thread(quoted_reply, requested.prompt, turn)
        if quoted is not None and requested.format is AnswerFormat.PROSE:
            for done in reply_steps(quoted):
                yield done
            return
        requested = requested.with_prompt(as_lookup(requested.prompt))
        async with aclosing(self._whole(msgspec.structs.replace(turn, files=()), requested)) as steps:
            async for step in steps:
                yield step

    async def _whole(
        self, turn: Turn, requested: RequestedFormat, known: Known | None = None
    ) -> AsyncGenerator[Step | Answer, None]:
        """Read the evidence for a question of its own; tools whose report is known do not run again."""
        async with aclosing(self._expanded(turn)) as opened:
            async for item in opened:
                if isinstance(item, Step):
                    yield item
                    continue
                whole, expanded = item
                question, plan = await self.plan(whole, requested.prompt, expanded)
                plan = without_known(plan, known) if known is not None else plan
                async with aclosing(self._investigate(whole, requested, question, plan)) as steps:
                    async for step in steps:
                        yield step

    async def with_members(self, turn: Turn) -> AsyncGenerator[Step | Turn, None]:
        """Yield progress, then the turn with the members of its archives; they are deleted when it is closed."""
        async with aclosing(self._expanded(turn)) as opened:
            async for item in opened:
                yield item if isinstance(item, Step) else item[0]

    async def _expanded(self, turn: Turn) -> AsyncGenerator[Step | tuple[Turn, ExpandedFiles], None]:
        """Expand the archives: what was unpacked is deleted however the turn ends."""
        expansion = Expansion(self._workers, labels=READABLE_LABELS, root=spool_root())
        current, earlier = to_expand(turn.files)
        expanded = ExpandedFiles(files=())
        try:
            async with aclosing(expansion.expand(current)) as progress:
                async for item in progress:
                    if isinstance(item, ExpandedFiles):
                        expanded = within_limit(item)
                    elif isinstance(item, TaskProgress):
                        counted = msgspec.structs.replace(item, task=on_one_line(item.task))
                        text = progress_line(_UNPACKING, counted)
                        yield _info(text, State.RETRIEVING, actor=_UNPACKING, progress=counted)
                    else:
                        yield _info(on_one_line(item), State.RETRIEVING)
            yield msgspec.structs.replace(turn, files=(*earlier, *expanded.files)), expanded
        finally:
            await expansion.close()

    async def requested_format(self, turn: Turn) -> RequestedFormat:
        """The format that the turn's prompt or instructions ask for; raises TooLargeError as ``plan`` does."""
        return await self._workers.call(requested_format, turn.prompt, turn.instructions)

    async def plan(
        self, turn: Turn, prompt: str, expanded: ExpandedFiles = _NOTHING_EXPANDED, *, now: datetime | None = None
    ) -> tuple[Question, Plan]:
        """Read a question and decide what to run for it, outside the service's event loop.

        Args:
            turn: The turn, with the members of its archives among the files.
            prompt: Its prompt without words about the answer's format.
            expanded: The archives of the turn.
            now: For tools that compare with the date; the current time by default.

        Raises:
            TooLargeError: Reading it took too long.
        """
        return await self._workers.call(
            planned,
            prompt,
            turn.files,
            use_experimental=turn.use_experimental,
            disabled=turn.disabled_tools,
            now=(now or self._now()).isoformat(timespec="seconds"),
            language=turn.language,
            expanded=expanded,
        )

    async def _investigate(
        self, turn: Turn, requested: RequestedFormat, question: Question, plan: Plan
    ) -> AsyncGenerator[Step | Answer, None]:
        yield _info(_describe(plan, turn), State.PLANNING)
        heed_stop()
        results: list[SkillResult] = []
        async with aclosing(self.run_plan(question, plan, set())) as outcomes:
            async for outcome in outcomes:
                if isinstance(outcome, SkillResult):
                    results.append(outcome)
                else:
                    yield outcome
        kept = _without_covered(results)
        account = await in_thread(_account, plan, results)
        texts = distinct([text for result in results for text in result.instruction_texts])
        for step in await in_thread(_final_steps, kept, requested, plan, turn, account, texts):
            yield step

    async def run_plan(
        self, question: Question, plan: Plan, searched: set[str]
    ) -> AsyncGenerator[Step | SkillResult, None]:
        """Run the planned skills, then others on files that none understood; ``searched`` as in ``run_skills``."""
        results: list[SkillResult] = []
        ran: list[PlannedSkill] = []
        waiting = list(plan.skills)
        while waiting:
            together = [await in_thread(with_given, planned, results, plan) for planned in independent(waiting)]
            del waiting[: len(together)]
            ran += together
            async with aclosing(self.run_skills(together, searched)) as outcomes:
                async for outcome in outcomes:
                    if isinstance(outcome, SkillResult):
                        results.append(outcome)
                    yield outcome
            if not waiting and not stop_reason():
                understood = _understood(results)
                unread = [file for file in plan.files if file.size and file.name not in understood]
                waiting = fallback(question, ran, unread)

    async def run_skills(
        self, together: Sequence[PlannedSkill], searched: set[str]
    ) -> AsyncGenerator[Step | SkillResult, None]:
        """Run the skills' tools on their inputs, all at the same time as far as there are workers.

        Yields steps as the tools work, and the skills' results in their order, the same as one after the other.
        ``searched`` names the inputs that were searched in this turn for text that addresses an analyst or a model; it
        grows with each skill, so that none is searched twice.
        """
        runs = [_SkillRun(planned, searched, _place(planned, together)) for planned in together]
        places = [(run, index) for run in runs for index in range(len(run.jobs))]
        async with aclosing(self._workers.run_all([run.jobs[index] for run, index in places])) as yields:
            async for place, item in yields:
                run, index = places[place]
                if (step := run.take(index, item)) is not None:
                    yield step
                while runs and (result := runs[0].result) is not None:
                    runs.pop(0)
                    yield result

    async def _follow_up(
        self, turn: Turn, requested: RequestedFormat, follow_up: FollowUp
    ) -> AsyncGenerator[Step | Answer, None]:
        """Answer from the earlier questions and findings of the session."""
        yield _info(f"searching {plural(len(turn.history), 'earlier question')}", State.RETRIEVING)
        if follow_up.kind is FollowUpKind.QUESTIONS:
            yield Answer(markdown=render.earlier_questions(turn.history), status=AnswerStatus.ANSWERED)
            return
        known = await in_thread(history.latest, turn.history, turn.made_files)
        if known is None:
            yield Answer(markdown=render.no_earlier_findings(), status=AnswerStatus.NOT_ANSWERED)
            return
        exchange, findings = known
        unknown = history.unknown_count(exchange, findings)
        for step in await in_thread(_filtered_steps, requested, follow_up, findings, unknown):
            yield step


def _is_json_source(step: Step) -> bool:
    return (step.message_type, step.mime_type) == (MessageType.SOURCE, MimeType.JSON)


def _job(call: Call, *, looks_for_instructions: bool) -> Job:
    source = call.input.encode(errors="replace") if isinstance(call.input, str) else call.input.source
    skill = call.skill
    return Job(
        tool=skill.tool,
        input=skill.input,
        name=call.name,
        source=source,
        options=call.options,
        facts=skill.facts,
        looks_for_instructions=looks_for_instructions,
        is_prompt=isinstance(call.input, str),
        content="" if isinstance(call.input, str) else call.input.sha256,
        results=None if isinstance(call.input, str) else call.input.results,
        asks=skill.asks,
    )


def _place(planned: PlannedSkill, together: Sequence[PlannedSkill]) -> tuple[int, int]:
    """The number of a tool among those that read the same input in a turn, and how many these are."""
    names = {call.name for call in planned.calls}
    same = [one for one in together if names & {call.name for call in one.calls}]
    return same.index(planned) + 1, len(same)


class _SkillRun:
    """A skill's calls while they run; ``result`` is set when the last one has ended.

    What the calls yield is kept by call, so that the result does not depend on which one was faster.
    """

    def __init__(self, planned: PlannedSkill, searched: set[str], place: tuple[int, int] = (1, 1)) -> None:
        self._skill = planned.skill
        self._place = place
        self._is_fallback = planned.is_fallback
        self._names = tuple(call.name for call in planned.calls)
        self.jobs: list[Job] = [_job(call, looks_for_instructions=call.name not in searched) for call in planned.calls]
        searched.update(self._names)
        self.result: SkillResult | None = None
        self._instruction_texts: list[tuple[int, Finding[InstructionText]]] = []
        self._gaps: list[tuple[int, Gap]] = []
        self._coverage: list[tuple[int, Coverage]] = []
        self._names_seen: list[tuple[int, NamesSeen]] = []
        self._found = [SpoolWriter() for _ in planned.calls]
        self._started = self._ended = 0
        self._is_long = len(planned.calls) > _DETAILED_CALLS

    def take(self, index: int, item: ToolEvent | JobEnd | None) -> Step | None:
        """Keep what a call yielded; returns what the client is shown of it."""
        match item:
            case None:
                return self._begun(self._names[index])
            case JobEnd():
                self._ended += 1
                return self.summed_up() if self._ended == len(self.jobs) else None
            case Progress():
                return self._progress(item)
            case Gap():
                self._gaps.append((index, item))
            case Coverage():
                self._coverage.append((index, item))
            case NamesSeen():
                self._names_seen.append((index, item))
            case Finding(facts=InstructionText()):
                self._instruction_texts += [(index, found) for found in with_facts([item], InstructionText)]
            case Finding():
                self._found[index].add(item)
        return None

    def _begun(self, name: str) -> Step:
        self._started += 1
        total = len(self.jobs)
        text = f"{self._skill.name}: reading {on_one_line(name)}"
        text += f" ({self._started:,} of {total:,})" if self._is_long else ""
        counted = _inputs(self._started - 1, total) if self._is_long else None
        return _info(text, State.CALLING_TOOL, actor=self._skill.name, progress=counted)

    def _progress(self, item: Progress) -> Step | None:
        if self._is_long:  # the inputs themselves are the progress
            return None
        counted, text = item.counted, on_one_line(item.text)
        if isinstance(counted, TaskProgress):
            number, tools = self._place  # each tool reads the input from its start
            of = f" (tool {number:,} of {tools:,})" if tools > 1 else ""
            counted = msgspec.structs.replace(counted, task=f"{on_one_line(counted.task)}{of}")
            text = progress_line(item.text or self._skill.name, counted)
        return _info(text, State.RUNNING_AGENT, actor=self._skill.name, progress=counted)

    def summed_up(self) -> Step:
        """Set the result; returns the step that says how much was found."""
        findings = collected(*(writer.findings() for writer in self._found))
        gaps = [(self._names[index], gap) for index, gap in sorted(self._gaps, key=_call_of)]
        self.result = SkillResult(
            skill=self._skill,
            findings=findings,
            inputs=self._names,
            gaps=tuple((name, gap.text) for name, gap in gaps if not gap.in_headline),
            left_out=tuple((name, gap.text) for name, gap in gaps if gap.in_headline),
            coverage=tuple((self._names[index], one) for index, one in sorted(self._coverage, key=_call_of)),
            names_seen=tuple((self._names[index], one) for index, one in sorted(self._names_seen, key=_call_of)),
            is_fallback=self._is_fallback,
            instruction_texts=tuple(found for _, found in sorted(self._instruction_texts, key=_call_of)),
        )
        summary = f"{plural(len(findings), 'finding')}" + (f", {plural(len(gaps), 'gap')}" if gaps else "")
        return _info(f"{self._skill.name}: {summary}", State.TOOL_RESULT, actor=self._skill.name)


def _call_of(one: tuple[int, object]) -> int:
    return one[0]


class _Outcomes(msgspec.Struct, frozen=True):
    """The outcomes of a question, and the sentences that answer its clauses."""

    contract: Contract
    sentences: tuple[str, ...]


def _account(plan: Plan, results: Sequence[SkillResult]) -> _Outcomes:
    examined = _examined(results)
    everything = collected(*(result.findings for result in examined))
    findings = collected(
        one for one in everything if not isinstance(one.facts, AskedRecords | ChosenRecords | FollowingRecords)
    )
    particulars = clause_answers(plan, examined, everything) if examined else {}
    contract = contract_of(
        results, plan.clauses, list(particulars.values()), plan.files, plan.unread, has_paste=plan.has_paste
    )
    contract = with_disabled(contract, plan.disabled)
    sentences: list[str] = [render.disabled_note(plan.disabled)] if plan.disabled else []
    for clause, outcome in zip(plan.clauses, contract.clauses, strict=True):
        if clause in particulars:
            sentence = particulars[clause].sentence
            named = [result for result in examined if result.skill.name in clause.skills]
            is_told = any(render.says_the_same(result, sentence) for result in named)
            if not is_told and not any(render.repeats(result, sentence) for result in examined):
                sentences.append(render.labelled(sentence, outcome, contract))
        elif outcome.state is ClauseState.CANNOT_TELL and any(result.is_examined for result in results):
            sentences.append(render.cannot_tell(outcome))
        elif clause.kind is ClauseKind.OPEN and clause.is_yes_no and clause.is_general and examined:
            sentences.append(render.labelled(general(clause, findings, render.searched(examined)), outcome, contract))
    return _Outcomes(contract, tuple(filter(None, sentences)))


def _examined(results: Sequence[SkillResult]) -> list[SkillResult]:
    """What was examined for the question; if nothing was, the logs that were read instead."""
    read = [result for result in results if result.is_examined]
    return [one for one in read if not one.is_fallback] or [one for one in read if one.skill.name == EVENTS]


def _understood(results: Sequence[SkillResult]) -> set[str]:
    """The names of the inputs of which any tool understood anything."""
    return {name for result in results for name in result.understood}


def _without_covered(results: Sequence[SkillResult]) -> list[SkillResult]:
    """Drop results that add nothing: without findings where another skill covers them, and readings of inputs that
    only another skill understood.
    """
    covered = {name for result in results if result.findings and result.is_examined for name in result.skill.covers}
    kept = [result for result in results if result.findings or result.skill.name not in covered]
    understood = _understood(kept)
    return [
        result for result in kept if result.is_examined or result.is_broken or not understood.issuperset(result.inputs)
    ]


def _back_reference(turn: Turn, requested: RequestedFormat) -> FollowUp | None:
    """What the prompt asks of the questions and findings of the session as they are, or in data."""
    is_form_given = requested.format is not AnswerFormat.PROSE
    back = history.follow_up(
        requested.prompt,
        turn.history,
        made_files=turn.made_files,
        is_form_given=is_form_given,
        has_new_files=any(file.is_new for file in turn.files),
    )
    if back is None or back.kind is FollowUpKind.QUESTIONS:
        return back
    is_known = known_of(turn.history) is not None
    if back.kind is FollowUpKind.FINDINGS:
        return None if is_known else back
    return None if back.options or (is_known and not is_form_given) else back


def _filtered_steps(
    requested: RequestedFormat, follow_up: FollowUp, findings: Sequence[AnyFinding], unknown: int
) -> list[Step | Answer]:
    """The last messages of a turn that only filters earlier findings, ``unknown`` of which cannot be read any more."""
    keeps_all = follow_up.kind is FollowUpKind.FINDINGS
    has_filter = bool(follow_up.conditions) or follow_up.limit is not None or follow_up.kind is FollowUpKind.COUNT
    if not keeps_all and not has_filter:
        markdown = render.unknown_filter(requested.prompt, len(findings))
        return [Answer(markdown=markdown, status=AnswerStatus.NOT_ANSWERED)]
    kept = findings if keeps_all else history.filtered(requested.prompt, findings)
    if follow_up.limit is not None:
        kept = kept[: follow_up.limit]  # they are stored worst first
    steps: list[Step | Answer] = [
        _info(f"kept {len(kept):,} of {plural(len(findings), 'earlier finding')}", State.REVIEWING),
        *findings_steps(kept),
    ]
    grouped = history.by_skill(kept)
    if requested.format is not AnswerFormat.PROSE:
        return [*steps, Answer(markdown=structured_answer(requested, grouped), status=AnswerStatus.ANSWERED)]
    markdown = render.filtered_findings(requested.prompt, follow_up.conditions, grouped, len(findings), unknown=unknown)
    return [*steps, Answer(markdown=markdown, status=AnswerStatus.ANSWERED)]


def _final_steps(
    results: Sequence[SkillResult],
    requested: RequestedFormat,
    plan: Plan,
    turn: Turn,
    account: _Outcomes,
    texts: Sequence[Finding[InstructionText]],
) -> list[Step | Answer]:
    """The last messages of a turn: findings, pictures, what was examined, and the answer."""
    contract = account.contract
    coverage = coverage_step(contract)
    if not results and requested.is_given and not requested.is_required and not requested.prompt.strip():
        unanswered = msgspec.structs.replace(contract, status=AnswerStatus.NOT_ANSWERED)
        markdown = render.nothing_to_format(requested.format)
        return [coverage_step(unanswered), Answer(markdown=markdown, status=AnswerStatus.NOT_ANSWERED)]
    if not results:
        prose = render.not_answered(plan, contract, turn)
        return [
            coverage,
            Answer(markdown=formatted_answer(requested, prose, (), is_examined=False), status=contract.status),
        ]
    findings = collected(*(result.findings for result in results if result.is_examined or result.is_broken))
    told = render.story_of(results, plan)
    pictures = [picture_step(picture) for picture in told.pictures]
    pictures += [
        picture_step(picture)
        for result in results
        for picture in section_of(result.skill).pictures(render.shown(result))
    ]
    steps: list[Step | Answer] = [*findings_steps(collected(findings, texts)), *pictures, coverage]
    prose = render.answer(results, plan, contract, lead=account.sentences, texts=texts, told=told)
    if not findings and plan.clauses and all(one.kind is ClauseKind.UNSUPPORTED for one in plan.clauses):
        prose = "\n\n".join(account.sentences) + "\n"  # that nothing was found would be read as an answer
    asked, is_examined = _asked(results)
    markdown = formatted_answer(requested, prose, asked, is_examined=is_examined)
    return [*steps, Answer(markdown=markdown, status=contract.status)]


def _asked(results: Sequence[SkillResult]) -> tuple[list[tuple[Skill, Sequence[AnyFinding]]], bool]:
    """The findings that may answer the question, and whether their tools examined anything.

    A search that ran because no tool for the question could read the input does not answer it.
    """
    asked = [result for result in results if not result.is_fallback] or results
    examined = [result for result in asked if result.is_examined]
    return [(result.skill, result.findings) for result in examined], bool(examined)


def _chooses(turn: Turn, requested: RequestedFormat) -> bool:
    """Whether the question names some of several files: these are read, as their names are no values of findings."""
    return len(turn.files) > 1 and len(mentioned(requested.prompt, [file.name for file in turn.files])) > 0


def _files_of(step: Step | Answer) -> set[str]:
    """The attached files whose findings are in a ``source`` message."""
    if isinstance(step, Answer) or step.message_type is not MessageType.SOURCE or step.mime_type is not MimeType.JSON:
        return set()
    return files_read(Exchange(prompt="", answer="", sources=(step.content,)))


def _unused(turn: Turn, read: set[str]) -> list[str]:
    """The session's other files, if the answer is about some of them."""
    names = dict.fromkeys(file.name for file in (*turn.files, *turn.left_out))
    return [name for name in names if name not in read] if read else []


def _with_remark(step: Step | Answer, gone: Sequence[str], unused: Sequence[str]) -> Step | Answer:
    """The answer with what it says about files that it does not use; if these alone could answer, only that."""
    text = remark(gone, unused)
    if not isinstance(step, Answer) or not text:
        return step
    if gone and step.status is AnswerStatus.NOT_ANSWERED:
        return msgspec.structs.replace(step, markdown=f"{cannot_tell_of(gone)}\n")
    return msgspec.structs.replace(step, markdown=f"{step.markdown.rstrip()}\n\n{text}\n")


def _language_of(turn: Turn) -> str:
    """The language of the turn's question, by its own words if they tell it."""
    return question_language(question_of(turn.prompt), turn.language)


def _in_english(turn: Turn) -> Turn:
    """The turn with its question in English words, if these say more than what is known of the question otherwise."""
    question = question_of(turn.prompt)
    if not is_foreign(turn.language):
        spelled = respelled(question)
        return (
            msgspec.structs.replace(turn, prompt=turn.prompt.replace(question, spelled, 1))
            if spelled != question
            else turn
        )
    english = english_question(question, turn.language)
    if not english:
        return turn
    return msgspec.structs.replace(turn, prompt=turn.prompt.replace(question, english, 1), language="en")


def _with_notice(step: Step | Answer, text: str) -> Step | Answer:
    """The answer below a sentence in the question's language that says that it is in English."""
    if not isinstance(step, Answer) or not text:
        return step
    return msgspec.structs.replace(step, markdown=f"*{text}*\n\n{step.markdown}")


def coverage_step(contract: Contract) -> Step:
    """What was examined, and how far each clause is answered, as a message (docs/wire.md, "Answer status")."""
    return Step(
        content=msgspec.json.encode(contract).decode(),
        message_type=MessageType.SOURCE,
        mime_type=MimeType.JSON,
        state=State.GROUNDING,
        title=COVERAGE_TITLE,
    )


def picture_step(picture: Picture) -> Step:
    """A picture as a message, in base64 like all content that is neither text nor JSON (docs/wire.md)."""
    return Step(
        content=b64encode(picture.svg.encode()).decode(),
        message_type=MessageType.SOURCE,
        mime_type=MimeType.SVG,
        state=State.GROUNDING,
        title=picture.title,
    )


def _info(text: str, state: State, actor: str = "analyst", progress: TaskProgress | None = None) -> Step:
    return Step(content=text, state=state, actor=actor, progress=progress)


def _inputs(done: int, total: int) -> TaskProgress:
    return TaskProgress(task=f"{total:,} inputs", done=done, total=total, unit="input")


def _describe(plan: Plan, turn: Turn) -> str:
    """What will be done and why: ``2 tasks: Logins (“brute-forced”) in auth.log (4,812 bytes); …``."""
    if not plan.skills:
        return f"no tool matches this question ({plural(len(turn.files), 'file')} attached)"
    sizes = {file.name: f" ({file.size:,} bytes)" for file in turn.files}
    tasks = [
        f"{planned.skill.title} ({planned.reason}) in "
        + ", ".join(on_one_line(call.name) + sizes.get(call.name, "") for call in planned.calls[:_TASK_INPUTS])
        + (f" and {len(planned.calls) - _TASK_INPUTS:,} more" if len(planned.calls) > _TASK_INPUTS else "")
        for planned in plan.skills
    ]
    return f"{plural(len(tasks), 'task')}: " + "; ".join(tasks)
