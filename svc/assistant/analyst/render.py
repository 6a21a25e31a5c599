"""Render findings as the answer's Markdown: verdict, tables, limitations, next steps. Pure.

Each skill renders its own verdict and tables (its ``Section``); this module assembles them and adds what concerns no
single skill. ``findings_json`` encodes the same findings within the size limit of a message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.plan import Plan
from svc.assistant.findings import AnyFinding, Severity, ToolFailure, kind_of, with_facts
from svc.assistant.skills.catalogue import abilities, section_of
from svc.assistant.skills.skill import Skill
from svc.assistant.turn import Exchange, Turn, TurnFile
from svc.untrusted.markup import bullets, code_span, escape, plural, table

MAX_FINDINGS_BYTES = 900_000  # of the JSON: a message's content may have 1,000,000 (docs/wire.md, "Limits")
PROMPT_CHARS = 200  # of an earlier question
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


class SkillResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one skill found in its inputs; ``gaps`` are pairs of an input's name and what was not examined in it."""

    skill: Skill
    findings: tuple[AnyFinding, ...]
    inputs: tuple[str, ...]
    gaps: tuple[tuple[str, str], ...] = ()


def answer(results: Sequence[SkillResult], plan: Plan, *, left_out: int = 0) -> str:
    """The whole answer to a question for which at least one skill ran."""
    verdicts = [_verdict(result) for result in results]
    blocks = verdicts if len(results) == 1 else [bullets(verdicts)]
    for number, result in enumerate(results, start=1):
        if len(results) > 1:
            blocks.append(f"### {number}. {result.skill.title}")
        blocks.append(_body(result))
    gaps = _gaps(results, plan, left_out)
    if gaps:
        blocks.append("**Limitations**\n\n" + bullets(gaps))
    steps = _next_steps(results)
    if steps:
        blocks.append("**Next steps**\n\n" + bullets(steps))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _next_steps(results: Sequence[SkillResult]) -> list[str]:
    """The next steps of all sections, without repetition."""
    steps = dict.fromkeys(step for result in results for step in section_of(result.skill).next_steps(shown(result)))
    if any(with_facts(result.findings, ToolFailure) for result in results):
        steps["Keep the file on which the tool failed: it may have been crafted to make parsers fail."] = None
    return list(steps)


def shown(result: SkillResult) -> list[AnyFinding]:
    """The findings that the skill's section renders: all but tool failures, which ``_body`` renders for every skill."""
    return [finding for finding in result.findings if finding.kind != kind_of(ToolFailure)]


def _verdict(result: SkillResult) -> str:
    where = ", ".join(code_span(name, limit=80) for name in result.inputs[:4])
    failed = len(result.findings) - len(shown(result))
    if not shown(result):
        if failed:
            return f"**No result for {where}:** the tool did not finish (see below)."
        return f"**Nothing found** in {where}. Task: {result.skill.can}."
    note = " *Incomplete: the tool did not finish (see below).*" if failed else ""
    return section_of(result.skill).verdict(shown(result)) + note


def _body(result: SkillResult) -> str:
    broken = with_facts(result.findings, ToolFailure)
    blocks = [section_of(result.skill).body(shown(result))] if shown(result) else []
    if broken:
        rows = [(escape(f.title), code_span(f.facts.reason), code_span(f.facts.where)) for f in broken]
        blocks.append(table(("Did not finish", "Why", "Where"), rows))
    return "\n\n".join(blocks)


def _gaps(results: Sequence[SkillResult], plan: Plan, left_out: int) -> list[str]:
    seen = dict.fromkeys(
        f"{code_span(name, limit=80)}: {escape(gap)}" for result in results for name, gap in result.gaps
    )
    gaps = [
        *seen,
        *(f"{_file(file)}: not read, because none of the tools used supports this file type" for file in plan.unread),
    ]
    gaps += [f"the analyst cannot yet {escape(what)}" for what in plan.unsupported]
    gaps += [
        f"not answered, because nothing to read was attached or pasted: {escape(what)}" for what in plan.unanswered
    ]
    if left_out:
        gaps.append(
            f"{plural(left_out, 'finding')} of the lowest severity omitted from the attached findings (size limit)"
        )
    return gaps


def _file(file: TurnFile) -> str:
    return f"{code_span(file.name, limit=80)} ({code_span(file.label)}, {file.size:,} bytes)"


_GREETING = re.compile(
    r"\s*(?:hi|hello|hey|thanks?(?: you)?|help|good (?:morning|afternoon|evening))\b[^?\n]{0,30}\??\s*"
    r"|.{0,20}\b(?:what can (?:you|i)\b|who are you|what are you\b|how do (?:you|i use)\b).{0,60}",
    re.IGNORECASE,
)


def not_answered(plan: Plan, turn: Turn) -> str:
    """The answer to a question for which no skill ran: the reason, and what the analyst can do."""
    if plan.unsupported:
        lead = (
            "**Not answered.** This analyst works offline and cannot yet "
            + "; it also cannot ".join(map(escape, plan.unsupported))
            + "."
        )
    elif plan.unread and not any(file.size for file in plan.unread):
        names = ", ".join(code_span(file.name, limit=80) for file in plan.unread)
        lead = f"**Nothing to read:** {names} {'is' if len(plan.unread) == 1 else 'are'} empty (0 bytes)."
    elif plan.unread:
        lead = "**Not answered.** No tool supports " + ", ".join(_file(file) for file in plan.unread) + "."
    elif _GREETING.fullmatch(turn.prompt):
        lead = (
            "**This analyst works offline.** It runs tools on the evidence that you attach or paste; "
            "it uses no language model."
        )
    elif turn.files:
        lead = "**Not answered.** Neither the question nor the files indicate what to look for."
    else:
        lead = "**Not answered.** The question matches nothing that this analyst can do, and no file is attached."
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
    question: str, conditions: Sequence[str], kept: Sequence[tuple[Skill, Sequence[AnyFinding]]], total: int
) -> str:
    """The answer to a follow-up that selects some of the earlier findings."""
    count = sum(len(findings) for _, findings in kept)
    terms = ", ".join(escape(condition) for condition in conditions)
    blocks = [f"**{count:,} of the {plural(total, 'earlier finding')}**" + (f" ({terms})." if terms else ".")]
    blocks += [section_of(skill).body(findings) for skill, findings in kept]
    if not count:
        blocks.append(
            f"No earlier finding matches: {terms}. The question was {code_span(question, limit=PROMPT_CHARS)}."
        )
    return "\n\n".join(blocks) + "\n"


def unknown_filter(prompt: str, total: int) -> str:
    """The answer to a follow-up that contains no filter that the analyst supports."""
    return (
        f"**Not answered.** The question {code_span(prompt, limit=PROMPT_CHARS)} refers to "
        f"{plural(total, 'earlier finding')}, but contains no filter that this analyst supports.\n\n"
        "Supported filters: external or internal; severity; type (IP addresses, domains, URLs, hashes, mail addresses, "
        "CVEs, files); a named account or address; successful logins; time of day (“only the failures after 03:00”).\n"
    )


def no_earlier_findings() -> str:
    """The answer to a question about earlier findings in a session that has none."""
    return f"**No earlier findings in this session.**\n\n{can_do()}\n"


def findings_json(findings: Sequence[AnyFinding]) -> tuple[str, int]:
    """The findings as a JSON list, worst first, and the number omitted because a message may hold no more."""
    ranked = sorted(findings, key=lambda finding: _RANK[finding.severity])  # stable: a tool's own order within
    encoded: list[bytes] = []
    size = 2
    for finding in ranked:
        piece = msgspec.json.encode(finding)
        if size + len(piece) + 1 > MAX_FINDINGS_BYTES:
            break
        encoded.append(piece)
        size += len(piece) + 1
    return (b"[" + b",".join(encoded) + b"]").decode(), len(ranked) - len(encoded)
