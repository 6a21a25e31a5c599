"""Render findings as the answer's Markdown: verdict, facts, next steps, and folds with everything else. Pure.

Each skill renders its own verdict, facts and folds (its ``Section``); this module assembles them and adds what concerns
no single skill.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from svc.assistant.analyst.clauses import CLAUSE_CHARS
from svc.assistant.analyst.contract import (
    OF_PART,
    ClauseOutcome,
    Contract,
    InputOutcome,
    InputState,
    SkillResult,
    extent,
    unread_reason,
)
from svc.assistant.analyst.correlation.story import Story, story
from svc.assistant.analyst.matching import GREETING
from svc.assistant.analyst.plan import DisabledSkill, Plan
from svc.assistant.analyst.questions.subjects import general_answer
from svc.assistant.findings import (
    AnyFinding,
    Confidence,
    Finding,
    InstructionText,
    Severity,
    ToolFailure,
    kind_of,
    with_facts,
)
from svc.assistant.instruction_text.answer import instruction_fold, instruction_note
from svc.assistant.skills.answer_parts import MAX_FACTS, READ, Fold, as_sections, folded
from svc.assistant.skills.catalogue import abilities, section_of
from svc.assistant.skills.skill import Skill
from svc.assistant.spool import of_kind, without_kind
from svc.assistant.turn import Exchange, Turn
from svc.messages import AnswerStatus
from svc.untrusted.markup import bullets, code_span, escape, plural, table

PROMPT_CHARS = 200  # of an earlier question
_RANK = {severity: rank for rank, severity in enumerate(Severity)}
_STATED = re.compile(rf"\*\*[^*]*\*\* \((?:{'|'.join(Severity)}), (?:{'|'.join(Confidence)}) confidence\b")
_CODE_SPAN = re.compile(r"`[^`\n]*`")
NAMED_INPUTS = 5  # in the headline
STEPS = 3  # in the opening
OWN_ROWS = 200  # of limitations and steps, which are not among the findings


def answer(
    results: Sequence[SkillResult],
    plan: Plan,
    contract: Contract | None = None,
    *,
    lead: Sequence[str] = (),
    texts: Sequence[Finding[InstructionText]] = (),
    told: Story | None = None,
) -> str:
    """The whole answer to a question for which at least one skill ran.

    Args:
        results: What ran.
        plan: What was planned.
        contract: The outcome of each input and clause; None if a model reads one result.
        lead: Sentences that answer single clauses, or say that they are not answered; they come first.
        texts: Text in the inputs that addresses an analyst or a model.
        told: The story of the inputs, if it was made before.
    """
    told = told or story_of(results, plan)
    answering = [result for result in results if result.is_examined or result.is_broken]
    led = frozenset[str]().union(*(result.skill.leads for result in answering))
    leading = [result for result in answering if result.skill.name not in led]
    verdicts = [_verdict(result) for result in _worst_first(leading)]
    if len(verdicts) > 1:
        verdicts = [_first_sentence(verdict) for verdict in verdicts]
    others = [result for result in results if result not in answering]
    if others:
        verdicts.append(_not_examined(others, contract))
    steps = _next_steps(leading)
    blocks = [*lead, *(verdicts if len(verdicts) == 1 else [bullets(verdicts)]), bullets(plan.collections)]
    if contract is not None:
        blocks += [_unread_headline(contract), *_read_in_part(contract)]
    blocks += [*_left_out(results), instruction_note(texts), told.links, told.lead]
    facts = _facts(leading)
    if facts and not told.lines and (len(verdicts) > 1 or plan.collections):
        blocks.append("**Facts**")  # between two lists
    blocks += [told.lines or bullets(facts), told.times]
    if steps:
        blocks.append(f"**Do now**: {' '.join(steps[:STEPS])}")
    if any(one.is_cut for result in answering for _, one in result.coverage):
        blocks = [of_part(block) for block in blocks]
    parts = [*told.folds, *_folds(answering)]
    gaps = _gaps(answering, plan)
    parts += [_list("limitation", gaps), _list("further step", steps[STEPS:])]
    if contract is not None:
        parts += _inputs_read(contract)
    return "\n\n".join(block for block in [*blocks, instruction_fold(texts), folded(parts)] if block) + "\n"


def story_of(results: Sequence[SkillResult], plan: Plan) -> Story:
    """The story of all inputs; the members of one archive are one case, whatever connects them."""
    roots = {name.partition("/")[0] for result in results for name in result.inputs}
    return story(results, is_one_case=len(plan.collections) == 1 and len(roots) == 1)


_NEGATIVE = re.compile(r"\b(?:no|none|nothing|nobody|neither|never|not)\b", re.IGNORECASE)
_LINE_START = re.compile(r"(?:[-*] |\d+\. )?(?:\*\*)?")
_ALREADY = (
    "Yes",
    "Incomplete:",
    "Not examined",
    "Not answered",
    "Cannot tell",
    "Read in part",
    "Read**",
    "Do now",
    OF_PART,
)


def of_part(text: str) -> str:
    """The text with each line that denies something limited to the part of the input that was read."""
    return "\n".join(map(_line_of_part, text.split("\n")))


def _line_of_part(line: str) -> str:
    start = _LINE_START.match(line)
    at = start.end() if start is not None else 0
    rest = line[at:]
    if rest.startswith(_ALREADY) or _NEGATIVE.search(_CODE_SPAN.sub("", rest)) is None:
        return line
    is_first = _NEGATIVE.match(rest) is not None
    return f"{line[:at]}{OF_PART}{f', {rest[0].lower()}{rest[1:]}' if is_first else f': {rest}'}"


def _list(noun: str, items: Sequence[str]) -> Fold:
    """A fold with all items, which are not among the findings."""
    return Fold(title=plural(len(items), noun), rows=[(item,) for item in items], limit=OWN_ROWS)


def _facts(results: Sequence[SkillResult]) -> list[str]:
    """The facts of the opening: of several skills the first of each, then the second, MAX_FACTS in all."""
    of_each = [section_of(result.skill).facts(shown(result)) if shown(result) else [] for result in results]
    ranked = [(rank, number, fact) for number, facts in enumerate(of_each) for rank, fact in enumerate(facts)]
    distinct = list(dict.fromkeys(fact for _, _, fact in sorted(ranked, key=lambda one: one[:2])))
    read = [fact for fact in distinct if fact.startswith(READ)][:1]  # another skill read the same
    return [fact for fact in distinct if not fact.startswith(READ)][: MAX_FACTS - len(read)] + read


def _folds(results: Sequence[SkillResult]) -> list[Fold]:
    """The folds of one skill; of several one fold for each skill, with its parts as sections."""
    if len(results) == 1:
        return _parts(results[0])
    made = []
    for result in results:
        verdict = _verdict(result)
        whole = [verdict] if _first_sentence(verdict) != verdict else []
        if text := "\n\n".join([*whole, as_sections(_parts(result))]).strip():
            made.append(Fold(title=result.skill.title, text=text))
    return made


def _worst_first(results: Sequence[SkillResult]) -> list[SkillResult]:
    return sorted(results, key=lambda result: min((_RANK[one.severity] for one in shown(result)), default=len(_RANK)))


_LEAD = re.compile(r"\*\*[^*]+\*\*[^*]*?(?:\.(?=\s)|$)")


def _first_sentence(verdict: str) -> str:
    """The bold words of a verdict, up to the end of their sentence; the whole verdict if it does not begin so."""
    match = _LEAD.match(verdict)
    return match[0] if match is not None else verdict


def cannot_tell(outcome: ClauseOutcome) -> str:
    """The sentence about a clause that is not answered although something was examined."""
    return f"**Cannot tell** {code_span(outcome.text, limit=CLAUSE_CHARS)}: {escape(outcome.reason)}."


def labelled(sentence: str, outcome: ClauseOutcome, contract: Contract) -> str:
    """The sentence that answers a clause, below the words of the clause if several were asked and it quotes none."""
    quoted = code_span(outcome.text, limit=CLAUSE_CHARS)
    if len(contract.clauses) < 2 or not sentence or quoted in sentence:
        return sentence
    return f"{quoted}: {sentence}"


def _unread_headline(contract: Contract) -> str:
    """The inputs that no tool examined, in bold: an answer about the others says nothing about them."""
    unread = [one for one in contract.inputs if one.state is InputState.NOT_EXAMINED]
    if not unread or len(unread) == len(contract.inputs):
        return ""
    listed = "; ".join(f"{code_span(one.name, limit=80)} ({escape(one.reason)})" for one in unread[:NAMED_INPUTS])
    more = f"; {len(unread) - NAMED_INPUTS:,} more, see below" if len(unread) > NAMED_INPUTS else ""
    return f"**{len(unread):,} of {len(contract.inputs):,} inputs not examined:** {listed}{more}."


def _read_in_part(contract: Contract) -> list[str]:
    """A line for each of the first inputs that was read in part: what was not read may hold more."""
    partly = [one for one in contract.inputs if one.state is InputState.PARTLY_READ]
    if not partly:
        return []
    listed = "; ".join(f"{code_span(one.name, limit=80)} ({_how_far(one)})" for one in partly[:NAMED_INPUTS])
    further = f"; {len(partly) - NAMED_INPUTS:,} more, see below" if len(partly) > NAMED_INPUTS else ""
    return [f"**Read in part:** {listed}{further}."]


def _inputs_read(contract: Contract) -> list[Fold]:
    """What was read: as what, how far, and what was looked for; what was not examined comes first."""
    if len(contract.inputs) == 1:
        [one] = contract.inputs
        if one.state is InputState.NOT_EXAMINED:
            return []
        text = f"{code_span(one.name, limit=80)} as {escape(one.read_as)}: {_how_far(one)}; {_search(one)}."
        return [Fold(title="What was read", text=text)]
    rows = [
        (code_span(one.name, limit=120), escape(one.read_as or one.state.value), _how_far(one), f"{one.findings:,}")
        for one in sorted(contract.inputs, key=lambda one: one.state is not InputState.NOT_EXAMINED)
    ]
    title = f"What was read: {plural(len(rows), 'input')}"
    return [Fold(title=title, headers=("Input", "Read as", "How far", "Findings"), rows=rows, rest="answer.coverage")]


def _how_far(one: InputOutcome) -> str:
    """``1,204 of 1,204 lines``, or why the input was not examined."""
    if one.state is InputState.NOT_EXAMINED:
        return f"not examined: {escape(one.reason)}"
    return extent(one)


def _search(one: InputOutcome) -> str:
    not_covered = f"; {escape(one.not_covered)}" if one.not_covered else ""
    return f"looked for {escape(one.looked_for)}{not_covered}"


def _left_out(results: Sequence[SkillResult]) -> list[str]:
    """The lines below the verdict about what a limit left out."""
    return [
        f"**Incomplete:** {code_span(name, limit=80)}: {escape(text)}."
        for name, text in dict.fromkeys(pair for result in results for pair in result.left_out)
    ]


def _next_steps(results: Sequence[SkillResult]) -> list[str]:
    """The next steps of all sections, without repetition."""
    steps = dict.fromkeys(step for result in results for step in section_of(result.skill).next_steps(shown(result)))
    if any(result.is_broken for result in results):
        steps["Keep the file on which the tool failed: it may have been crafted to crash parsers."] = None
    return list(steps)


def shown(result: SkillResult) -> Sequence[AnyFinding]:
    """The findings that the skill's section renders: all but tool failures, which ``_parts`` renders."""
    return without_kind(result.findings, kind_of(ToolFailure))


def _failures(result: SkillResult) -> list[Finding[ToolFailure]]:
    return with_facts(of_kind(result.findings, kind_of(ToolFailure)), ToolFailure)


def _verdict(result: SkillResult) -> str:
    """The headline of one result: found, or looked and found nothing."""
    where = ", ".join(code_span(name, limit=80) for name in result.inputs[:4])
    failed = len(result.findings) - len(shown(result))
    note = " *Incomplete: the tool did not finish (see below).*" if failed else ""
    if failed and not shown(result):
        return f"**No result for {where}:** the tool did not finish (see below)."
    text = rated(section_of(result.skill).verdict(shown(result)), shown(result)) if shown(result) else ""
    if result.is_fallback:
        return f"**Only searched for {_searched(result)}:** {where}. {text or 'None found.'}{note}"
    return (text or _nothing_found(result, where)) + note


def rated(text: str, findings: Sequence[AnyFinding]) -> str:
    """The verdict with the severity and confidence of the worst finding in or after its bold words.

    Code spans quote the evidence, so their words do not count; nor does "rated medium or higher".
    """
    ranked = [finding for finding in findings if finding.severity is not Severity.INFO]
    end = text.find("**", 2)
    if not ranked or not text.startswith("**") or end < 0 or _STATED.match(_CODE_SPAN.sub("", text)):
        return text
    worst = min(ranked, key=lambda finding: _RANK[finding.severity])
    is_said = re.search(rf"\b{worst.severity.value}\b(?! or higher)", _CODE_SPAN.sub("", text[:end]), re.IGNORECASE)
    rating = f" ({'' if is_said else f'{worst.severity.value}, '}{worst.confidence.value} confidence)"
    at = end - 1 if text[end - 1] == ":" else end + 2  # "**1 detection (high, low confidence):** …"
    return f"{text[:at]}{rating}{text[at:]}"


def _not_examined(results: Sequence[SkillResult], contract: Contract | None) -> str:
    """One line for all inputs that tools could make nothing of, with each tool's reason."""
    names = ", ".join(code_span(name, limit=80) for name in dict.fromkeys(n for one in results for n in one.inputs))
    reasons = "; ".join(dict.fromkeys(map(_why_not, results)))
    if contract is not None and contract.status is AnswerStatus.NOT_ANSWERED:
        return f"**Not answered:** {reasons}."
    return f"**Not examined:** {names}, because {reasons}."


def _why_not(result: SkillResult) -> str:
    gaps = [text for _, text in result.gaps]
    if gaps:
        return escape(gaps[0])
    read = next((one for _, one in result.coverage), None)
    return escape(unread_reason(read)) if read else "the tool did not report what it read"


_ANSWER_WORD = re.compile(r"\*\*Yes\b")


def says_the_same(result: SkillResult, sentence: str) -> bool:
    """Whether the verdict of the skill answers yes as the sentence does, which then repeats it."""
    word = _ANSWER_WORD.match(sentence)
    return word is not None and section_of(result.skill).verdict(shown(result)).startswith(word[0])


def repeats(result: SkillResult, sentence: str) -> bool:
    """Whether the verdict of the skill begins with the sentence, as a host artefact's does."""
    plain = section_of(result.skill).verdict(shown(result)).replace("**", "")
    return plain.startswith(sentence.replace("**", ""))


def searched(results: Sequence[SkillResult]) -> str:
    """What tools looked for, and in how much: "failed and accepted logins in 41 of 41 lines; …"."""
    read = [one for result in results for _, one in result.coverage if one.understood]
    listed = dict.fromkeys(f"{one.looked_for} in {extent(one)}" for one in read)
    return "; ".join(list(listed)[:NAMED_INPUTS])


def _searched(result: SkillResult) -> str:
    return escape("; ".join(dict.fromkeys(one.looked_for for _, one in result.coverage if one.understood)))


def _nothing_found(result: SkillResult, where: str) -> str:
    read = [one for _, one in result.coverage if one.understood]
    how_far = ", ".join(map(extent, read[:4]))
    limits = "; ".join(dict.fromkeys(escape(one.not_covered) for one in read if one.not_covered))
    return f"**Nothing found** in {where}: looked for {_searched(result)} in {how_far}" + (
        f"; {limits}." if limits else "."
    )


def _parts(result: SkillResult) -> list[Fold]:
    """The folds of one skill, after the failures of its tool."""
    parts = []
    if broken := _failures(result):
        rows = [(escape(f.title), code_span(f.facts.reason), code_span(f.facts.where)) for f in broken]
        title = plural(len(rows), "tool that did not finish", "tools that did not finish")
        parts.append(Fold(title=title, headers=("Did not finish", "Why", "Where"), rows=rows))
    return parts + (section_of(result.skill).folds(shown(result)) if shown(result) else [])


def _gaps(results: Sequence[SkillResult], plan: Plan) -> list[str]:
    seen = dict.fromkeys(
        f"{code_span(name, limit=80)}: {escape(gap)}"
        for name, gap in [*plan.notes, *(gap for result in results for gap in result.gaps)]
    )
    return [*seen, *(f"the analyst cannot yet {escape(what)}" for what in plan.unsupported)]


def disabled_note(disabled: Sequence[DisabledSkill]) -> str:
    """What was left out because the session's client disabled it."""
    names = [f"{escape(one.skill.title)} ({code_span(one.skill.name)})" for one in disabled]
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    are_disabled = f"the tool {listed} is disabled" if len(names) == 1 else f"the tools {listed} are disabled"
    return (
        f"**Left out:** {are_disabled} in this session and did not run. Ask in a session in which all toolsets are "
        "enabled."
    )


def not_answered(plan: Plan, contract: Contract, turn: Turn) -> str:
    """The answer to a question for which no skill ran: the reason, and what the analyst can do."""
    if plan.is_general and not contract.inputs and not GREETING.fullmatch(turn.prompt):
        return general_answer(turn.prompt)
    leads = [f"**Not answered.** {disabled_note(plan.disabled)}"] if plan.disabled else []
    if plan.unsupported:
        unsupported = "; it also cannot ".join(map(escape, plan.unsupported))
        leads.append(f"**Not answered.** This analyst works offline and cannot yet {unsupported}.")
    if contract.inputs:
        listed = "; ".join(
            f"{code_span(one.name, limit=80)} ({code_span(one.label)}, {one.size:,} bytes): {escape(one.reason)}"
            for one in contract.inputs[:NAMED_INPUTS]
        )
        leads.append(f"**Not examined:** {listed}.")
    if plan.unanswered and not contract.inputs:
        asked = "; ".join(map(escape, plan.unanswered))
        leads.append(f"**Not answered:** nothing that can be read for it was attached or pasted: {asked}.")
    if not leads and GREETING.fullmatch(turn.prompt):
        leads.append(
            "**This analyst works offline.** It runs tools on the evidence that you attach or paste; "
            "it uses no language model."
        )
    lead = " ".join(leads) or (
        "**Not answered.** The question matches nothing that this analyst can do, and no file is attached."
    )
    return f"{lead}\n\n{can_do()}\n"


def can_do() -> str:
    """What the analyst can do, as a list."""
    return (
        "It can:\n\n" + bullets(abilities()) + "\n\nAttach the file or paste the text, and say which of these you want."
    )


def earlier_questions(history: Sequence[Exchange]) -> str:
    """The session's earlier questions, oldest first, each with the first line of its answer."""
    if not history:
        return "**No earlier questions in this session.**\n"
    rows = [
        (str(number), code_span(exchange.prompt, limit=PROMPT_CHARS), _first_line(exchange.answer))
        for number, exchange in enumerate(history, start=1)
    ]
    last = code_span(history[-1].prompt, limit=PROMPT_CHARS)
    lead = f"**{plural(len(history), 'earlier question')}.** The last was {last}."
    return f"{lead}\n\n{table(('', 'Question', 'Answer'), rows[-50:], limit=50)}\n"


def _first_line(markdown: str) -> str:
    """The first line of an earlier answer, as evidence: another assistant may have written it."""
    line = next((line for line in markdown.splitlines() if line.strip() and not line.startswith("```")), "")
    return code_span(line.replace("**", "").replace("`", "").lstrip("- "), limit=PROMPT_CHARS) if line else "no answer"


def filtered_findings(
    question: str,
    conditions: Sequence[str],
    kept: Sequence[tuple[Skill, Sequence[AnyFinding]]],
    total: int,
    *,
    unknown: int = 0,
) -> str:
    """The answer to a follow-up that selects some of the earlier findings, ``unknown`` more of which cannot be read."""
    count = sum(len(findings) for _, findings in kept)
    terms = ", ".join(escape(condition) for condition in conditions)
    blocks = [f"**{count:,} of the {plural(total, 'earlier finding')}**" + (f" ({terms})." if terms else ".")]
    if unknown:
        blocks.append(lost_findings(unknown))
    blocks += [as_sections(section_of(skill).folds(findings)) for skill, findings in kept]
    if not count:
        blocks.append(
            f"No earlier finding matches: {terms}. The question was {code_span(question, limit=PROMPT_CHARS)}."
        )
    return "\n\n".join(blocks) + "\n"


def lost_findings(count: int) -> str:
    """The line about earlier findings that cannot be read any more."""
    return (
        f"**Incomplete:** {plural(count, 'more earlier finding')} cannot be read any more, because the file with "
        "them was detached. Ask the first question again."
    )


def unknown_filter(prompt: str, total: int) -> str:
    """The answer to a follow-up that contains no filter that the analyst supports."""
    return (
        f"**Not answered.** The question {code_span(prompt, limit=PROMPT_CHARS)} refers to "
        f"{plural(total, 'earlier finding')}, but contains no filter that this analyst supports.\n\n"
        "Supported filters: external or internal; severity; type (IP addresses, domains, URLs, hashes, mail addresses, "
        "CVEs, files); a named account or address; successful logins; time of day (“only the failures after 03:00”).\n"
    )


def nothing_to_format(form: str) -> str:
    """The answer to a request for a form alone if no earlier answer has findings that could be given in it."""
    return (
        f"**Not answered:** there is nothing to give as {'a table' if form == 'table' else form.upper()}, because no "
        "earlier answer of this session has findings. Attach or paste evidence and ask about it first.\n"
    )


def no_earlier_findings() -> str:
    """The answer to a question about earlier findings in a session that has none."""
    return f"**No earlier findings in this session.**\n\n{can_do()}\n"
