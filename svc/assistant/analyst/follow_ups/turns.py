"""Run a further question: from what is known, after a search of the files, or by reading logs for a time of day."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Protocol

import msgspec

from svc.assistant.analyst import follow_up as history
from svc.assistant.analyst.contract import SkillResult
from svc.assistant.analyst.findings_messages import findings_steps
from svc.assistant.analyst.follow_up import by_skill
from svc.assistant.analyst.follow_ups import times
from svc.assistant.analyst.follow_ups.conversation import (
    Course,
    Way,
    course_of,
    is_general,
    quoted_answer,
    same_question,
)
from svc.assistant.analyst.follow_ups.ellipsis import completed
from svc.assistant.analyst.follow_ups.known import Known, known_of
from svc.assistant.analyst.follow_ups.planned import lacks_disabled, names_new_task, planned_reply, skills_that_ran
from svc.assistant.analyst.follow_ups.pronouns import with_person
from svc.assistant.analyst.follow_ups.reading import MAX_CHARS, Ask, AskKind
from svc.assistant.analyst.follow_ups.replies import accepted_logins, asks_for_logins, brief, reply_to
from svc.assistant.analyst.follow_ups.scene import Scene, ShortAnswer, cannot_tell
from svc.assistant.analyst.follow_ups.search import NAME_LINE, TOOL, Mentions
from svc.assistant.analyst.follow_ups.wording import bulleted, listed
from svc.assistant.analyst.format_types import AnswerFormat, RequestedFormat
from svc.assistant.analyst.plan import EVENTS, PROMPT, Plan, PlannedSkill, Question, question_of
from svc.assistant.analyst.questions.chosen_answers import chosen_answer
from svc.assistant.analyst.questions.demands import relation_in
from svc.assistant.analyst.questions.following import following_question
from svc.assistant.analyst.questions.places import place_answer
from svc.assistant.analyst.questions.record_answers import record_answer
from svc.assistant.analyst.questions.record_questions import RECORDS
from svc.assistant.analyst.questions.spans.answers import span_answer
from svc.assistant.analyst.questions.spans.reading import span_of
from svc.assistant.analyst.questions.spans.relative import relative_answer, relative_of
from svc.assistant.analyst.questions.states import is_negated
from svc.assistant.analyst.questions.things import SUMMARIES, about
from svc.assistant.analyst.questions.time_words import says_when
from svc.assistant.analyst.render import lost_findings
from svc.assistant.analyst.short_prose import facts_in_sentences
from svc.assistant.analyst.structured_answer import structured_answer
from svc.assistant.analyst.yes_or_no import is_yes_no_question
from svc.assistant.findings import AnyFinding, Finding, InputKind, kind_of, with_facts
from svc.assistant.log_readers.time_window import WITHOUT_DAY, TimeWindow
from svc.assistant.skills.asked.findings import AskedRecords, ChosenRecords
from svc.assistant.spool import of_kind
from svc.assistant.turn import Answer, Step, Turn, TurnFile
from svc.assistant.workers.payer import stop_reason
from svc.assistant.workers.pool import Job, Workers
from svc.assistant.workers.threads import in_thread
from svc.messages import AnswerStatus, State
from svc.untrusted.characters import on_one_line
from svc.untrusted.markup import code_span, escape, plural

MAX_SEARCHED = 1_000  # files of one question


class Tools(Protocol):
    """What a further question needs of the analyst."""

    async def plan(self, turn: Turn, prompt: str) -> tuple[Question, Plan]:
        """Read a question and decide what to run for it."""
        ...

    def run_plan(self, question: Question, plan: Plan, searched: set[str]) -> AsyncGenerator[Step | SkillResult, None]:
        """Run the planned skills."""
        ...

    def with_members(self, turn: Turn) -> AsyncGenerator[Step | Turn, None]:
        """Yield progress, then the turn with the members of its archives; they are deleted when it is closed."""
        ...


class FurtherQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question about what the session knows, and how it is answered; ``prompt`` if logs are read again for it."""

    known: Known
    course: Course
    prompt: str = ""


async def further_question(turn: Turn, requested: RequestedFormat, tools: Tools) -> FurtherQuestion | None:
    """Return how a question is answered from what the session knows; None if it is a question of its own."""
    question = question_of(requested.prompt) if len(requested.prompt) <= MAX_CHARS else ""
    is_form = requested.format is not AnswerFormat.PROSE
    if not turn.history or any(file.is_new for file in turn.files) or not (question.strip() or is_form):
        return None
    if len(requested.prompt) > MAX_CHARS or same_question(turn.prompt, turn.history):
        return None
    known = await in_thread(known_of, turn.history, turn.made_files)
    if known is None:
        return None
    named = await in_thread(completed, await in_thread(with_person, question, known), known, turn.history)
    if named != question:
        requested, question = requested.with_prompt(named), named
    if not is_form and any(read(question) is not None for read in (span_of, relative_of, following_question)):
        return FurtherQuestion(known=known, course=Course(way=Way.TASK), prompt=requested.prompt)
    course = await in_thread(_course, question, turn, known)
    if is_form:
        is_whole = not question.strip() or (course.ask is not None and course.ask.kind is AskKind.SUMMARY)
        return FurtherQuestion(known=known, course=Course(way=Way.REPLY)) if is_whole else None
    if turn.disabled_tools:
        is_answered = course.reply is not None and course.reply.status is not AnswerStatus.NOT_ANSWERED
        _, plan = await tools.plan(turn, requested.prompt)
        if lacks_disabled(plan, known, is_answered=is_answered):
            return FurtherQuestion(known=known, course=Course(way=Way.TASK))
    if course.ask is not None and course.ask.kind is AskKind.LIST and course.ask.names and not is_form:
        asked, _ = await tools.plan(turn, requested.prompt)  # a finding that names a thing also names what is not of it
        if RECORDS in asked.options and EVENTS in skills_that_ran(known):
            return FurtherQuestion(known=known, course=Course(way=Way.RECORDS, reply=course.reply), prompt=question)
    if course.way is Way.PLAN or (course.reply is not None and course.reply.status is AnswerStatus.NOT_ANSWERED):
        asked, plan = await tools.plan(turn, requested.prompt)
        if RECORDS in asked.options and EVENTS in skills_that_ran(known):
            reply = course.reply or await in_thread(planned_reply, question, plan, known)
            return FurtherQuestion(known=known, course=Course(way=Way.RECORDS, reply=reply), prompt=requested.prompt)
        if (course.ask is None or course.ask.kind in _LISTS) and names_new_task(plan, known):
            return FurtherQuestion(known=known, course=Course(way=Way.TASK))
        if course.way is Way.PLAN and await in_thread(is_general, question, turn.language, known):
            return FurtherQuestion(known=known, course=Course(way=Way.ALONE))
        if course.way is Way.PLAN:
            reply = await in_thread(planned_reply, question, plan, known)
            course = msgspec.structs.replace(course, reply=reply)
    return FurtherQuestion(known=known, course=course)


_LISTS = (AskKind.LIST, AskKind.HOW_MANY, AskKind.MOST)


def _course(question: str, turn: Turn, known: Known) -> Course:
    if (words := relation_in(question)) and not is_negated(question):
        reply = cannot_tell(question, f"“{escape(words)}” could not be applied to what is known")
        return Course(way=Way.PLAN, reply=reply)
    return course_of(question, turn.language, known, turn.history)


async def further_steps(
    turn: Turn, requested: RequestedFormat, further: FurtherQuestion, tools: Tools, workers: Workers
) -> AsyncGenerator[Step | Answer, None]:
    """Yield the steps of a further question, then its answer."""
    known, course = further.known, further.course
    yield Step(content=f"answering from {plural(len(known.findings), 'known finding')}", state=State.RETRIEVING)
    if requested.format is not AnswerFormat.PROSE:
        for step in await in_thread(_formatted_steps, requested, known):
            yield step
        return
    reply = course.reply
    if course.way in (Way.WINDOW, Way.RECORDS) or (reply is not None and reply.search):
        reply = None
        async with aclosing(_read_again(turn, further, tools, workers)) as again:
            async for item in again:
                if isinstance(item, ShortAnswer):
                    reply = item
                else:
                    yield item
    assert reply is not None
    for done in reply_steps(_without_lost(reply, known.lost)):
        yield done


def _without_lost(reply: ShortAnswer, lost: int) -> ShortAnswer:
    """The answer, which says that earlier findings cannot be read any more."""
    if not lost:
        return reply
    status = AnswerStatus.PARTLY_ANSWERED if reply.status is AnswerStatus.ANSWERED else reply.status
    return msgspec.structs.replace(reply, markdown=f"{lost_findings(lost)}\n\n{reply.markdown}", status=status)


def quoted_reply(prompt: str, turn: Turn) -> ShortAnswer | None:
    """The answer to a prompt that pastes an answer of this session; None if it pastes something else."""
    exchange = quoted_answer(prompt, turn.history)
    if exchange is None:
        return None
    findings = history.findings_of(exchange, turn.made_files)
    asked = code_span(" ".join(exchange.prompt.split()), limit=120)
    names = list(dict.fromkeys(one.evidence[0].source for one in findings if one.evidence))
    told = facts_in_sentences(by_skill(findings), brief(findings, names), count=2) if findings else []
    severe = [one for one in findings if one.severity.value != "info"]
    lines = [f"**This is the answer to** {asked}.", " ".join(told), "\n".join(bulleted(severe, 3)) if severe else ""]
    return ShortAnswer(markdown="\n\n".join(line for line in lines if line), findings=severe)


def reply_steps(reply: ShortAnswer) -> list[Step | Answer]:
    """The findings of a reply, then the answer."""
    steps: list[Step | Answer] = [*findings_steps(reply.findings)] if reply.findings else []
    return [*steps, Answer(markdown=reply.markdown.rstrip() + "\n", status=reply.status)]


def _formatted_steps(requested: RequestedFormat, known: Known) -> list[Step | Answer]:
    """All that is known in the requested format: sentences, bullets, a table, data."""
    prose = brief(known.findings, known.names)
    markdown = structured_answer(requested, by_skill(known.findings), prose=prose)
    status = AnswerStatus.PARTLY_ANSWERED if known.lost else AnswerStatus.ANSWERED
    return [*findings_steps(known.findings), Answer(markdown=markdown, status=status)]


async def _read_again(
    turn: Turn, further: FurtherQuestion, tools: Tools, workers: Workers
) -> AsyncGenerator[Step | ShortAnswer, None]:
    """Open the archives, then search the files or run the tools of logs for a time of day."""
    whole = turn
    async with aclosing(tools.with_members(turn)) as opened:
        async for item in opened:
            if isinstance(item, Step):
                yield item
                continue
            whole = item
            if further.course.way is Way.WINDOW:
                work = _window(whole, further, tools)
            elif further.course.way is Way.RECORDS:
                work = _records(whole, further, tools)
            else:
                work = _search(whole, further, workers)
            async with aclosing(work) as steps:
                async for step in steps:
                    yield step


async def _search(turn: Turn, further: FurtherQuestion, workers: Workers) -> AsyncGenerator[Step | ShortAnswer, None]:
    """Search every file that was an input of the session's reports."""
    known, reply = further.known, further.course.reply
    assert reply is not None
    files = _inputs(turn, known)
    count, names = plural(len(files), "file"), ", ".join(map(on_one_line, reply.search))
    yield Step(content=f"searching {count} again for {names}", state=State.CALLING_TOOL)
    jobs = [
        Job(
            tool=TOOL, input=InputKind.BINARY, name=file.name, source=file.source, content=file.sha256,
            options={"names": NAME_LINE.join(reply.search)}, facts=(Mentions,),
        )
        for file in files
    ]  # fmt: skip
    hits: dict[str, list[tuple[int, Finding[Mentions]]]] = {name: [] for name in reply.search}
    async with aclosing(workers.run_all(jobs)) as yields:
        async for index, item in yields:
            for found in with_facts([item], Mentions) if isinstance(item, Finding) else []:
                hits[found.facts.name].append((index, found))
    read = {files[index].name for found in hits.values() for index, _ in found}
    inputs = {one.name for one in known.inputs} - {PROMPT}
    scene = Scene(
        known=known,
        hits={name: [one for _, one in sorted(found, key=lambda pair: pair[0])] for name, found in hits.items()},
        missing=tuple(sorted(inputs - read - _opened(turn, inputs))),
    )
    yield await in_thread(_searched_reply, further.course, scene)


def _opened(turn: Turn, inputs: set[str]) -> set[str]:
    """Archives whose members were searched instead."""
    return {name for name in inputs if any(file.name.startswith(f"{name}/") for file in turn.files)}


def _searched_reply(course: Course, scene: Scene) -> ShortAnswer:
    if course.ask is not None:
        return reply_to(course.ask, scene)
    assert course.reply is not None
    names = course.reply.search
    return reply_to(Ask(kind=AskKind.ABOUT, text="", names=names), scene)


def _inputs(turn: Turn, known: Known) -> list[TurnFile]:
    """The files that were inputs; the pasted text that was one, too."""
    names = {one.name for one in known.inputs}
    files = [file for file in turn.files if file.name in names and file.size]
    opened = {name for name in names if any(file.name.startswith(f"{name}/") for file in files)}
    files = [file for file in files if file.name not in opened]
    if known.prompt:
        pasted = known.prompt.encode(errors="replace")
        files.append(
            TurnFile(
                name=PROMPT,
                size=len(pasted),
                sha256="",
                mime_type="text/plain",
                label="txt",
                source=pasted,
                is_new=False,
            )
        )
    return files[:MAX_SEARCHED]


async def _records(turn: Turn, further: FurtherQuestion, tools: Tools) -> AsyncGenerator[Step | ShortAnswer, None]:
    """Read the logs again for the records that the question is about; without such, what is known answers."""
    question, plan = await tools.plan(turn, further.prompt)
    events = Plan(skills=tuple(one for one in plan.skills if one.skill.name == EVENTS))
    found: list[AnyFinding] = []
    async with aclosing(tools.run_plan(question, events, {file.name for file in turn.files})) as outcomes:
        async for outcome in outcomes:
            if isinstance(outcome, SkillResult):
                found += outcome.findings
            else:
                yield outcome
    ways = (span_answer, relative_answer, chosen_answer, place_answer, record_answer)
    answers = [next(filter(None, (way(one.text, found) for way in ways)), None) for one in plan.clauses]
    said = [one for one in answers if one is not None]
    assert further.course.reply is not None
    if not said:
        yield further.course.reply
        return
    status = AnswerStatus.ANSWERED if all(is_told for _, is_told in said) else AnswerStatus.PARTLY_ANSWERED
    records = of_kind(found, kind_of(AskedRecords), kind_of(ChosenRecords))
    text = "\n\n".join(text for text, _ in said)
    yield ShortAnswer(markdown=f"{text}\n\nThe log was read again for it.", findings=list(records), status=status)


async def _window(turn: Turn, further: FurtherQuestion, tools: Tools) -> AsyncGenerator[Step | ShortAnswer, None]:
    """Run the tools that take a time of day again; of other findings, keep those of that time."""
    known, ask = further.known, further.course.ask
    assert ask is not None
    calls = history.rerun_calls(known.prompt, known.findings, turn.files, ask.options)
    skills = [
        PlannedSkill(skill=skill, calls=tuple(call for call in calls if call.skill == skill), reason="a time of day")
        for skill in dict.fromkeys(call.skill for call in calls)
    ]
    found: list[AnyFinding] = []
    unknown: list[str] = []
    if skills:
        question, _ = await tools.plan(turn, ask.text)
        plan = Plan(skills=tuple(skills))
        async with aclosing(tools.run_plan(question, plan, {file.name for file in turn.files})) as outcomes:
            async for outcome in outcomes:
                if isinstance(outcome, SkillResult):
                    found += outcome.findings
                    unknown += [name for name, text in outcome.left_out if text == WITHOUT_DAY]
                else:
                    yield outcome
    again = {planned.skill.name for planned in skills}
    if skills and (reason := stop_reason()):
        yield cannot_tell(ask.text, reason)
        return
    if unknown:
        yield cannot_tell(ask.text, f"{listed(unknown)} states no year, so the day of the week is not known")
        return
    yield await in_thread(_window_reply, known, ask, found, again)


def _window_reply(known: Known, ask: Ask, found: Sequence[AnyFinding], again: set[str]) -> ShortAnswer:
    """What happened in a part of the time; the accepted logins alone if these are asked for."""
    rest = [one for skill, mine in by_skill(known.findings) if skill.name not in again for one in mine]
    if not found and not any(times.span_of(one) for one in rest):
        return cannot_tell(
            ask.text, "no finding has a time, and no log that can be read again for a time of day is attached"
        )
    kept = [one for one in rest if _is_within(one, TimeWindow(**ask.options))]
    inside = [one for one in [*found, *kept] if one.kind not in SUMMARIES]
    if ask.names:
        inside = [one for name in ask.names for one in about(inside, name)]
    summaries = [one for one in found if one.kind in SUMMARIES]
    words = f"{says_when(ask.options)}, in the log's own time"
    note = " The log was read again for it." if again else ""
    noun, count = "finding", len(inside)
    if asks_for_logins(ask.text):
        inside = accepted_logins(inside)
        noun, count = "accepted login", sum(getattr(one.facts, "count", 1) for one in inside)
    yes = is_yes_no_question(ask.text) and not is_negated(ask.text)
    if not inside:
        head = f"**{'No: n' if yes else 'N'}o {noun} {words}.**"
        return ShortAnswer(markdown=f"{head}{note}", findings=summaries)
    head = f"**{'Yes: ' if yes else ''}{plural(count, noun)} {words}.**{note}"
    return ShortAnswer(markdown="\n".join([head, "", *bulleted(inside, 12)]), findings=[*inside, *summaries])


def _is_within(finding: AnyFinding, window: TimeWindow) -> bool:
    """Whether a finding begins or ends in the part of the time that was asked for."""
    span = times.span_of(finding)
    return span is not None and any(map(window.has, span))
